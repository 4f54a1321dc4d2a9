"""The browser's memory and its sender without a page around them: drawn once, kept, and sent as the same bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hushpoll_client import Survey
from playwright.sync_api import Page, Route

from tests.browser.respondent import CHEATED, REASON, draft

pytestmark = pytest.mark.browser
SURVEY = draft(CHEATED, REASON, title="Kept")
RECORD = {"id": "4f" * 16, "reports": [1, 3]}

# `run` gets the survey's memory, the store beneath it as an object, and the modules.
RUN = """
async ([published, stored, run]) => {
  const { loadSurvey } = await import("/survey.js");
  const modules = await import("/report.js");
  const survey = loadSurvey(new TextEncoder().encode(published));
  const storage = {
    getItem: (key) => stored[key] ?? null,
    setItem: (key, value) => { stored[key] = value; },
    removeItem: (key) => { delete stored[key]; },
    length: 0,
  };
  const tab = {};
  const session = {
    getItem: (key) => tab[key] ?? null,
    setItem: (key, value) => { tab[key] = value; },
    removeItem: (key) => { delete tab[key]; },
  };
  const memory = new modules.Memory(survey, () => storage, () => session);
  return (0, eval)(run)({ ...modules, survey, memory, stored, tab });
}
"""


def run(js: Page, work: str, stored: dict[str, str] | None = None, survey: Survey = SURVEY) -> Any:
    return js.evaluate(RUN, [survey.canonical.decode(), stored or {}, work])


def test_a_stored_report_is_recalled_and_forgotten(js: Page) -> None:
    states = run(
        js,
        """({ Memory, memory, survey, stored, tab }) => {
          const record = { id: "4f".repeat(16), reports: [1, 3] };
          const before = memory.recall();
          memory.keep({ ...record, answers: ["never kept"] });
          const waiting = [JSON.stringify(stored), new Memory(survey, memory.storage).recall()];
          memory.keep(record, "sent");
          const sent = memory.recall();
          const noted = JSON.parse(Object.values(stored)[0]);
          const later = new Memory(survey, memory.storage, () => ({ getItem: () => null })).recall();
          memory.forget();
          const left = [...Object.keys(stored), ...Object.keys(tab)];
          return { before, waiting, sent, noted, later, after: memory.recall(), left, works: memory.works };
        }""",
    )
    key = f"hushpoll:{SURVEY.hash}"
    assert json.loads(states["waiting"][0]) == {
        key: json.dumps({**RECORD, "state": "waiting"}, separators=(",", ":"))
    }
    assert states["waiting"][1] == {**RECORD, "group": None, "state": "waiting"}
    assert states["sent"] == {**RECORD, "state": "sent"}
    # What is left when the tab is closed: that it was sent, and not what.
    assert states["noted"] == {"id": RECORD["id"], "state": "sent"}
    assert states["later"] == {"id": RECORD["id"], "reports": None, "state": "sent"}
    assert (states["before"], states["after"], states["left"], states["works"]) == (None, None, [], True)


@pytest.mark.parametrize(
    "record",
    [
        {**RECORD, "reports": [1]},
        {**RECORD, "reports": [1, 4]},
        {**RECORD, "reports": [1, -1]},
        {**RECORD, "reports": [1, 0.5]},
        {**RECORD, "reports": [1, "3"]},
        {**RECORD, "reports": [True, 3]},
        {**RECORD, "reports": {"0": 1, "1": 3, "length": 2}},
        {**RECORD, "id": "4F" * 16},
        {**RECORD, "id": "4f" * 16 + "\n"},
        {**RECORD, "state": "drawn"},
        {"id": RECORD["id"], "state": "waiting"},
        {"id": RECORD["id"], "state": "sent", "reports": [1]},
        [],
        None,
    ],
)
def test_damaged_records_are_ignored(js: Page, record: Any) -> None:
    value = {"state": "waiting", **record} if isinstance(record, dict) else record
    stored = {f"hushpoll:{SURVEY.hash}": json.dumps(value)}
    assert run(js, "({ memory }) => memory.recall()", stored) is None


def test_without_storage_the_report_lives_as_long_as_the_page(js: Page) -> None:
    states = run(
        js,
        """({ Memory, survey }) => {
          const memory = new Memory(survey, () => { throw new Error("no storage"); });
          const works = memory.works;
          memory.keep({ id: "4f".repeat(16), reports: [1, 3] });
          const held = [memory.isVolatile, memory.recall().state];
          memory.forget();
          return { works, held, after: memory.recall() };
        }""",
    )
    assert states == {"works": False, "held": [True, "waiting"], "after": None}


SEND = """async ({ Sender, memory }) => {
  memory.keep({ id: "4f".repeat(16), reports: [1, 3] });
  const sender = new Sender({ url: "/reports", memory, invitation: null, retry: () => {} });
  const found = [];
  for (let attempt = 0; attempt < %d; attempt++) found.push({ ...(await sender.send()), waits: sender.isWaiting });
  sender.stop();
  return { found, kept: memory.recall(), waits: sender.isWaiting };
}"""


def answered(js: Page, attempts: int = 1, survey: Survey = SURVEY, **answer: Any) -> tuple[Any, list[str]]:
    """Send to a server that always answers with this; return the outcomes and the bodies."""
    bodies: list[str] = []

    def reply(route: Route) -> None:
        bodies.append(route.request.post_data or "")
        if answer:
            route.fulfill(**answer)
        else:
            route.abort()

    js.route("**/reports", reply)
    return run(js, SEND % attempts, survey=survey), bodies


@pytest.mark.parametrize(
    ("status", "reason", "again", "waits"),
    [
        (403, "uninvited", True, False),
        (404, "unknown", True, False),
        (409, "other", False, False),
        (410, "closed", False, False),
        (422, "refused", True, False),
        (429, "busy", True, True),
        (408, "busy", True, True),
        (503, "busy", True, True),
    ],
)
def test_each_status_has_a_reason(js: Page, status: int, reason: str, again: bool, waits: bool) -> None:
    result, bodies = answered(js, status=status)
    (attempt,) = result["found"]
    assert (attempt["reason"], attempt["again"], attempt["waits"]) == (reason, again, waits)
    assert result["kept"]["state"] == "waiting"
    assert result["waits"] is False  # stopped
    assert bodies == [json.dumps(RECORD, separators=(",", ":"))]


@pytest.mark.parametrize("status", [200, 201])
@pytest.mark.parametrize("kiosk", [False, True])
def test_an_arrived_report_is_noted_or_on_a_shared_device_forgotten(
    js: Page, status: int, kiosk: bool
) -> None:
    survey = draft(CHEATED, REASON, title="Arrived", kiosk=kiosk)
    result, _ = answered(js, survey=survey, status=status)
    assert result["found"][0]["sent"]["reports"] == [1, 3]
    assert result["kept"] == (None if kiosk else {**RECORD, "state": "sent"})


def test_attempts_send_the_same_bytes_at_growing_intervals(js: Page) -> None:
    result, bodies = answered(js, attempts=7)
    assert bodies == [bodies[0]] * 7
    assert {attempt["reason"] for attempt in result["found"]} == {"offline"}
    spread = 1 + 0x4F / 512  # by the random id, so that a classroom does not come back at once
    seconds = [-int(-base * spread // 1) for base in (5, 10, 20, 40, 60, 60, 60)]
    assert [attempt["seconds"] for attempt in result["found"]] == seconds


def test_the_server_may_ask_for_a_longer_wait(js: Page) -> None:
    result, _ = answered(js, status=503, headers={"Retry-After": "90"})
    assert result["found"][0]["seconds"] >= 90


def test_a_page_of_another_server_is_not_a_receipt(js: Page) -> None:
    result, _ = answered(js, status=200, content_type="text/html; charset=utf-8", body="Sign in!")
    assert result["found"][0]["reason"] == "offline"
    assert result["kept"]["state"] == "waiting"


def test_without_a_stored_report_nothing_is_sent(js: Page) -> None:
    js.route("**/reports", lambda route: None)  # no answer for long
    outcome = run(
        js,
        """async ({ Sender, memory }) => {
          const sender = new Sender({ url: "/reports", memory, invitation: null, retry: () => {} });
          const nothing = await sender.send();
          memory.keep({ id: "4f".repeat(16), reports: [1, 3] });
          const [first, second] = [sender.send(), sender.send()];
          const atOnce = await second;
          sender.stop();
          return [nothing, atOnce, await first];
        }""",
    )
    assert outcome == [None, None, None]
