"""From the choice to the bytes on the wire: does the time tell the answer?

A real Chromium answers again and again, with answers drawn by chance, and notes when Send was pressed, when the request
was made and when its first byte left. Ranks of these times are compared between the true answers (Kruskal and Wallis);
where the survey's answer cannot be told, p is spread evenly. A planted delay for one answer must be caught.
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
    found = {}
    for question in range(rows.shape[1] - 2):
        for name, column in (("request", -2), ("first byte", -1)):
            groups = [rows[rows[:, question] == answer, column] for answer in np.unique(rows[:, question])]
            found[f"question {question + 1}, {name}"] = float(kruskal(*groups).pvalue)
    return found


def told(measured: Callable[[int], np.ndarray[Any, Any]], n: int) -> dict[str, float]:
    """Give p of each comparison; what looks told is measured anew, twice as often, and then the larger p counts.

    Chance, which looks like a leak in one of 10,000 measurements, does so twice in one of 600 millions.
    """
    found = p_values(measured(n))
    if min(found.values()) > ALPHA / len(found):
        return found
    again = p_values(measured(2 * n))
    return {name: max(p, again[name]) for name, p in found.items()}


def planted(measured: Callable[[int], np.ndarray[Any, Any]], n: int) -> float:
    """Give p of a planted delay, of as many as four times n answers where the machine is too busy to tell at once."""
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
    """Give p of each comparison, p of a planted delay of a millisecond, and the median of the time in milliseconds."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        page = chromium.new_page()
        page.set_default_timeout(600_000)
        medians = []

        def measured(wanted: int) -> np.ndarray[Any, Any]:
            parts, step = [], min(wanted, 100)
            for done in range(0, wanted, step):
                parts.append(times(page, server, step))
                page.reload()
                tell(f"{done + step:,}/{wanted:,} submissions")
            rows = np.concatenate(parts)
            medians.append(float(np.median(rows[:, -1])))
            return rows

        found = told(measured, n)
        caught = planted(lambda wanted: times(page, server, wanted, plant=3.0), min(n, 400))
        chromium.close()
    return found, caught, medians[0]


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Answer 2,000 times."""
    n = max(60, round(2_000 * size))
    with tempfile.TemporaryDirectory() as folder:
        server = LiveServer(Path(folder), SEAL_EVERY="86400")
        server.start()
        try:
            found, caught, median = measure(n, server, tell)
        finally:
            server.close()
    worst = min(found.values())
    assert worst > ALPHA / len(found), f"the time tells the answer: p {worst:.2g} ({found})"
    assert caught < ALPHA, f"a planted delay was not caught: p {caught:.2g}"
    return (
        f"{n:,} submissions, {len(found)} comparisons, median {median:.1f} ms: smallest p {worst:.3f}"
        f" (expected about {1 / (len(found) + 1):.2f}); planted delay caught, p {caught:.0e}"
    )
