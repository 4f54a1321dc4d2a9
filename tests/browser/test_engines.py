"""WebKit and Firefox: every vector, every hostile document, and a whole submission with reload, offline and resend."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hushpoll_client import Survey

from tests.browser import test_vectors_js
from tests.browser.engines import ENGINES, Engine
from tests.browser.redirecting import Redirecting
from tests.browser.respondent import EVERY_KIND, TAX, address, draft, stored, stored_id
from tests.serving import LONGEST, LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module", params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """One browser of each kind; where it is missing, this fails."""
    with ENGINES[request.param]() as started:
        yield started


@pytest.fixture
def js(engine: Engine, js_server: str) -> Engine:
    """A page of the js server, as for Chromium."""
    engine.goto(f"{js_server}/")
    return engine


# The same tests as for Chromium: they know their page by `evaluate` alone.
globals().update({name: test for name, test in vars(test_vectors_js).items() if name.startswith("test_")})

CHOOSE = """() => {
  for (const group of document.querySelectorAll("fieldset")) {
    const inputs = [...group.querySelectorAll("input:not([type=search])")];
    const field = inputs.find(({ type }) => type !== "radio" && type !== "checkbox");
    if (!field) inputs[0].click();
    else {
      field.value = "12";
      for (const name of ["input", "change"]) field.dispatchEvent(new Event(name, { bubbles: true }));
    }
  }
}"""
HEADING = "() => document.querySelector('h1')?.textContent"
CLICK = "(selector) => { document.querySelector(selector).click(); }"
CLICK_IF_WAITING = """(selector) => {
  if (document.querySelector("h1")?.textContent === "Not sent yet") document.querySelector(selector).click();
}"""


def wait_for(engine: Engine, heading: str) -> None:
    """Wait for a view by its heading."""
    deadline = time.monotonic() + LONGEST
    while (current := engine.evaluate(HEADING)) != heading:
        assert time.monotonic() < deadline, (
            heading,
            current,
            engine.evaluate("() => document.body.innerText"),
        )
        time.sleep(0.1)


def open_questions(engine: Engine) -> None:
    """Press Start, and wait until the questions stand there."""
    engine.evaluate(CLICK, ".bar button")
    deadline = time.monotonic() + LONGEST
    while not engine.evaluate("() => Boolean(document.querySelector('button[type=submit]'))"):
        assert time.monotonic() < deadline, engine.evaluate("() => document.body.innerText")
        time.sleep(0.1)


def record(engine: Engine, key: str) -> Any:
    return engine.evaluate("(key) => JSON.parse(localStorage.getItem(key))", key)


def test_a_redirect_to_another_survey_is_refused(engine: Engine, page_server: LiveServer) -> None:
    name = type(engine).__name__
    survey, other = draft(TAX, title=f"Invited to {name}"), draft(TAX, title=f"Led to {name}")
    link, away = address(page_server, survey), address(page_server, other).removeprefix(page_server.url)
    with Redirecting(
        page_server.url, {f"/s/{survey.hash}?lang=en": f"/s/{other.hash}?lang=en#{other.hash}"}
    ) as front:
        engine.goto(link.replace(page_server.url, front).replace("#", "?lang=en#"))
        wait_for(engine, "This survey cannot be answered here")
        assert "redirect" in engine.evaluate("() => document.querySelector('.notice').textContent")
        engine.goto(front + away.replace("#", "?lang=en#"))
        wait_for(engine, other.title)


def packed(server: LiveServer, survey: Survey) -> dict[bytes, bytes]:
    """The records of all stored reports by the digest of their id."""
    layout = server.store.record_format(survey.hash)
    return {name: layout.pack(report) for name, report in stored(server, survey).items()}


def test_a_whole_submission_with_reload_offline_and_resend(engine: Engine, page_server: LiveServer) -> None:
    survey = draft(*EVERY_KIND, TAX, title=f"Engine {type(engine).__name__}")
    link, key = address(page_server, survey), f"hushpoll:{survey.hash}"
    engine.goto(link)
    wait_for(engine, survey.title)
    open_questions(engine)
    engine.evaluate(CHOOSE)
    page_server.kill()  # offline
    engine.evaluate(CLICK, "button[type=submit]")
    wait_for(engine, "Not sent yet")
    waiting = record(engine, key)
    assert (waiting["state"], len(waiting["reports"])) == ("waiting", len(survey.questions))
    engine.goto("about:blank")  # closed, before it tries again by itself
    page_server.start()
    engine.goto(link)  # and opened again
    wait_for(engine, "Not sent yet")
    assert record(engine, key) == waiting
    layout = page_server.store.record_format(survey.hash)
    sent = {stored_id(page_server, survey, waiting["id"]): layout.pack(tuple(waiting["reports"]))}
    # The page tries again by itself too, and may have been closed before it read the answer.
    assert packed(page_server, survey).items() <= sent.items()
    engine.evaluate(CLICK_IF_WAITING, ".bar button")
    wait_for(engine, "Sent")
    assert packed(page_server, survey) == sent
    engine.goto(link)
    wait_for(engine, "Sent")
    assert record(engine, key) == {"id": waiting["id"], "state": "sent"}
    # The same bytes once more are the same report.
    status = engine.evaluate(
        """async ([url, body]) => {
          const headers = { "Content-Type": "application/json" };
          return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
        }""",
        [f"/api/surveys/{survey.hash}/reports", {"id": waiting["id"], "reports": waiting["reports"]}],
    )
    assert status == 200
    assert len(stored(page_server, survey)) == 1
