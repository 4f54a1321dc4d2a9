"""From the choice to the bytes on the wire: does the time reveal the answer?

A real Chromium answers again and again, with answers drawn by chance, and notes when Send was pressed, when the request
was made and when its first byte left. Ranks of these times are compared between the true answers (Kruskal and Wallis);
where the survey's answer cannot be inferred from it, p is spread evenly. A planted delay for one answer must be caught.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright
from scipy.stats import kruskal

from tests.browser.conftest import FLAGS, chromium_path
from tests.browser.respondent import CHEATED, REASON, USED, address, draft, open_page
from tests.serving import LiveServer, Postgres

# One submission after the other through the real page: start, choose, send, clear; the answers are drawn here.
REPEAT = """async ([times, plant]) => {
  const until = async (found) => {
    for (;;) {
      const element = found();
      if (element) return element;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const rows = [];
  const real = globalThis.fetch;
  let made = 0;
  let secret = 0;
  globalThis.fetch = (...request) => {
    if (plant && secret === 1) for (const end = performance.now() + plant; performance.now() < end; );
    made = performance.now();
    const answer = real(...request);
    answer.then((found) => found.clone().arrayBuffer()); // read to its end, the request gets its entry
    return answer;
  };
  for (let i = 0; i < times; i++) {
    (await until(() => document.querySelector(".bar button[type=button]"))).click();
    await until(() => document.querySelector("button[type=submit]"));
    const groups = [...document.querySelectorAll("fieldset")];
    const chosen = groups.map((group) => {
      const inputs = [...group.querySelectorAll("input:not([type=search])")];
      const choice = Math.floor(Math.random() * inputs.length);
      inputs[choice].click();
      return choice;
    });
    secret = chosen[0];
    performance.clearResourceTimings();
    await new Promise((resolve) => setTimeout(resolve, 2));
    const pressed = performance.now();
    document.querySelector("button[type=submit]").click();
    const clear = await until(() => document.querySelector(".done ~ details button"));
    const entries = () => performance.getEntriesByType("resource");
    const entry = await until(() => entries().find(({ name }) => name.endsWith("/reports")));
    rows.push([...chosen, made - pressed, entry.requestStart - pressed]);
    clear.click();
  }
  globalThis.fetch = real;
  return rows;
}"""

ALPHA = 1e-4


def times(page: Page, server: LiveServer, n: int, plant: float = 0.0) -> np.ndarray[Any, Any]:
    """Answer n times; rows of the choices, the milliseconds to the request and to its first byte."""
    survey = draft(CHEATED, REASON, USED, title=f"Timed {n} {plant}")
    open_page(page, address(server, survey))
    rows: list[list[float]] = page.evaluate(REPEAT, [n, plant])
    return np.array(rows)


def p_values(rows: np.ndarray[Any, Any]) -> dict[str, float]:
    """Compare the ranks of each time between the answers of each question."""
    by_time = {}
    for question in range(rows.shape[1] - 2):
        for name, column in (("request", -2), ("first byte", -1)):
            groups = [rows[rows[:, question] == answer, column] for answer in np.unique(rows[:, question])]
            by_time[f"question {question + 1}, {name}"] = float(kruskal(*groups).pvalue)
    return by_time


def confirmed_p_values(measured: Callable[[int], np.ndarray[Any, Any]], n: int) -> dict[str, float]:
    """Return p of each comparison; if one looks like a leak, measure again, twice as often, and take the larger p.

    Chance looks like a leak in one of 10,000 measurements, and twice in a row in one of 600 million.
    """
    once = p_values(measured(n))
    if min(once.values()) > ALPHA / len(once):
        return once
    again = p_values(measured(2 * n))
    return {name: max(p, again[name]) for name, p in once.items()}


def planted(measured: Callable[[int], np.ndarray[Any, Any]], n: int) -> float:
    """Return p of a planted delay, from up to four times n answers if the machine is too busy for a clear result."""
    rows = measured(n)
    for _ in range(3):
        if _of_planted(rows) < ALPHA:
            break
        rows = np.concatenate([rows, measured(n)])
    return _of_planted(rows)


def _of_planted(rows: np.ndarray[Any, Any]) -> float:
    return p_values(rows)["question 1, request"]


def measure(
    n: int, server: LiveServer, tell: Callable[[str], None] = lambda _: None
) -> tuple[dict[str, float], float, float]:
    """Return p of each comparison, p of a planted delay of a millisecond, and the median time in milliseconds."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        page = chromium.new_page()
        page.set_default_timeout(600_000)
        medians = []

        def measured(count: int) -> np.ndarray[Any, Any]:
            parts, step = [], min(count, 100)
            for done in range(0, count, step):
                parts.append(times(page, server, step))
                page.reload()
                tell(f"{done + step:,}/{count:,} submissions")
            rows = np.concatenate(parts)
            medians.append(float(np.median(rows[:, -1])))
            return rows

        confirmed = confirmed_p_values(measured, n)
        caught = planted(lambda count: times(page, server, count, plant=3.0), min(n, 400))
        chromium.close()
    return confirmed, caught, medians[0]


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Answer 2,000 times."""
    n = max(60, round(2_000 * size))
    with tempfile.TemporaryDirectory() as folder:
        server = LiveServer(Path(folder), SEAL_EVERY="86400")
        server.start()
        try:
            confirmed, caught, median = measure(n, server, tell)
        finally:
            server.close()
    worst = min(confirmed.values())
    assert worst > ALPHA / len(confirmed), f"the time reveals the answer: p {worst:.2g} ({confirmed})"
    assert caught < ALPHA, f"a planted delay was not caught: p {caught:.2g}"
    return (
        f"{n:,} submissions, {len(confirmed)} comparisons, median {median:.1f} ms: smallest p {worst:.3f}"
        f" (expected about {1 / (len(confirmed) + 1):.2f}); planted delay caught, p {caught:.0e}"
    )
