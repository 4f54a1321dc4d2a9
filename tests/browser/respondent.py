"""Live servers and a respondent's hands for the tests of the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hushpoll_client import Survey
from playwright.sync_api import Locator, Page, Request, expect

from tests.browser.accessibility import violations
from tests.client.documents import question
from tests.serving import ON_ONE_DATABASE, LiveServer, Postgres, running_server, waiting_records
from tests.vectors.surveys import two_valued

TOWN_NAMES = (
    "Ålesund", "Brest", "Córdoba", "Dover", "Évora", "Faro", "Genoa", "Haifa", "İzmir", "Jena", "Kraków", "Łódź",
    "Malmö", "Nîmes", "Olomouc", "Porto", "Quimper", "Reims", "São Paulo", "Tórshavn",
)  # fmt: skip
ARTEFACTS = Path(__file__).parent.parent.parent / "artefacts" / "respond"
CHEATED = question("cheated", mechanism={"name": "warner", "truth": "3/4"})
REASON = question(
    "reason", text="What was the main reason?", options=["Time", "Fear", "Habit", "Prefer not to say"]
)
TAX = question("tax")
BRITTANY = {key: TAX["mechanism"][key] for key in ("decoy", "decoy_counts")}
# Newer kinds, each with a mechanism that needs no solver.
REST = {"question": "cheated", "answers": ["Yes"]}
WHY = {
    "id": "why",
    "kind": "choice",
    "text": "Why did you do it?",
    "options": ["No time to study", "Fear of failing", "Everybody does it"],
    "after": REST,
    "mechanism": {"name": "krr", "epsilon": "1"},
}
AGAIN = {
    "id": "again",
    "kind": "yes_no",
    "text": "Would you do it again?",
    "after": {"question": "why", "answers": ["No time to study", "Everybody does it"]},
    "mechanism": {"name": "krr", "epsilon": "1"},
}
MOOD = {
    "id": "mood",
    "kind": "scale",
    "text": "How often do you feel calm before an exam?",
    "points": 11,
    "labels": ["Never", "Always"],
    "mechanism": {"name": "designed", "epsilon": "1", "target": "cumulative"},
    "channel": two_valued(11, 20, "1"),
}
AGREE = {
    "id": "agree",
    "kind": "scale",
    "text": "The exam was fair.",
    "points": 5,
    "labels": ["Strongly disagree", "Disagree", "Neither", "Agree", "Strongly agree"],
    "mechanism": {"name": "krr", "epsilon": "1", "target": "shares"},
}
HOURS = {
    "id": "hours",
    "kind": "number",
    "text": "How many hours did you study last week?",
    "min": 0,
    "max": 80,
    "step": 0.5,
    "unit": "hours",
    "mechanism": {"name": "designed", "epsilon": "1", "target": "mean"},
    "channel": two_valued(21, 12, "1"),
}
USED = {
    "id": "used",
    "kind": "multiple",
    "text": "Which of these have you used in an exam?",
    "options": ["A phone", "Notes on paper", "A friend’s answers", "An earlier exam", "Something else"],
    "at_most": 2,
    "mechanism": {"name": "padded", "epsilon": "2"},
}
TRIED = {
    "id": "tried",
    "kind": "multiple",
    "text": "What have you tried against stress?",
    "options": ["Sport", "Sleep", "Music", "Alcohol", "Pills", "Talking"],
    "mechanism": {"name": "sampled", "epsilon": "2", "ask": 2},
}
TOWNS = [f"{name} {direction}" for name in TOWN_NAMES for direction in ("North", "South", "East", "West")]
TOWN = {
    "id": "town",
    "kind": "choice",
    "text": "Where did you grow up?",
    "options": TOWNS,
    "mechanism": {"name": "subset", "epsilon": "1", "size": 22},
}
EVERY_KIND = (CHEATED, WHY, AGAIN, MOOD, AGREE, HOURS, USED, TRIED, TOWN)


def draft(*questions: dict[str, Any], title: str = "Exam honesty", **settings: bool) -> Survey:
    """A survey of these questions."""
    intro = "A few questions about the last exam. It takes one minute."
    return Survey.from_draft(
        {"hushpoll": 1, "title": title, "intro": intro, "questions": list(questions), "settings": settings}
    )


# It would publish what clients refuse, and logs everything.
RESPONDENTS = {"SEAL_EVERY": "86400", "LOG_LEVEL": "debug", "EPSILON_CAP": "50"}


@pytest.fixture(scope="session")
def page_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """One server on SQLite for all tests of the page."""
    with running_server(tmp_path_factory.mktemp("page"), **RESPONDENTS) as server:
        yield server


@pytest.fixture(scope="session", params=ON_ONE_DATABASE)
def either_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveServer]:
    """The same on each kind of database; the page cannot tell which, so that PostgreSQL's turn comes with --long."""
    if request.param == "sqlite":
        yield request.getfixturevalue("page_server")
        return
    cluster: Postgres = request.getfixturevalue("postgres")
    url = cluster.create("respondents", "migrated")
    with running_server(tmp_path_factory.mktemp("page"), url, **RESPONDENTS) as server:
        yield server
    cluster.drop("respondents")


def address(server: LiveServer, survey: Survey, code: str | None = None) -> str:
    """Publish a survey and give its link."""
    server.store.publish(survey)
    return f"{server.url}/s/{survey.hash}#{survey.hash}" + (f".{code}" if code else "")


def open_page(page: Page, link: str) -> None:
    """Open a link and wait until the page has decided what to show, and loaded what comes after the first paint."""
    page.goto(link)
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator(".promise:not(.complete)")).to_have_count(0)


def show_all(page: Page) -> None:
    """Ask for the whole explanation."""
    page.locator("main > button.plain").click()
    page.locator("main table").first.wait_for()


def explanation_text(page: Page) -> str:
    """What the first view says and, one tap away, the whole explanation."""
    first = page.locator("main").inner_text()
    show_all(page)
    explanation = page.locator("main").inner_text()
    page.locator(".bar button").click()
    page.locator(".promise").wait_for()
    return f"{first}\n{explanation}"


def begin(page: Page) -> None:
    """Start, and wait for the questions: the page may still be bringing what draws them."""
    page.locator(".bar button").click()
    page.locator("form").wait_for()


def fill(page: Page, *choices: str) -> None:
    """Start, and choose these options, group by group."""
    page.get_by_role("button", name="Start").click()
    page.locator("form").wait_for()
    groups = page.get_by_role("group").all()
    assert len(groups) == len(choices)
    for group, choice in zip(groups, choices, strict=True):
        group.get_by_label(choice, exact=True).check()


def axe(page: Page) -> None:
    """No violation, with everything unfolded."""
    page.locator("details").evaluate_all("(all) => all.forEach((one) => (one.open = true))")
    assert violations(page) == []


def press_send(page: Page) -> None:
    page.get_by_role("button", name="Send", exact=True).click()


def heading(page: Page, text: str) -> None:
    """Wait for a view by its heading."""
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def local_record(page: Page, survey: Survey) -> dict[str, Any] | None:
    """What the browser keeps of a survey, and nothing else; the report of what was sent in the tab only."""
    key = f"hushpoll:{survey.hash}"
    storage, session = page.evaluate("() => [{...localStorage}, {...sessionStorage}]")
    assert {*storage, *session} <= {key, "hushpoll:ledger"}
    assert page.context.cookies() == []
    if key not in storage:
        assert not session
        return None
    record = json.loads(storage[key])
    assert isinstance(record, dict)
    if record["state"] == "waiting":
        assert list(record) == ["id", "reports", "state"]
        assert not session
        return record
    assert list(record) == ["id", "state"]
    if key not in session:
        return record
    sent = json.loads(session[key])
    assert isinstance(sent, dict)
    assert sent.items() >= record.items()
    assert list(sent) == ["id", "reports", "state"]
    return sent


def sent_by(requests: list[Request]) -> list[Request]:
    """Leave out the one module that the page may bring after a report has arrived, to note it in the ledger."""
    brought = [request for request in requests if request.url.endswith("/respond/ledger.js")]
    assert len(brought) <= 1
    for request in brought:
        assert request.method == "GET"
        assert requests.index(request) > 0, "not before the first report"
    return [request for request in requests if request not in brought]


class Posts:
    """The reports that a page sends, as they go over the network."""

    def __init__(self, page: Page) -> None:
        self.requests: list[Request] = []
        page.on(
            "request",
            lambda request: self.requests.append(request) if request.url.endswith("/reports") else None,
        )

    @property
    def bodies(self) -> list[str]:
        return [request.post_data or "" for request in self.requests]


def stored(server: LiveServer, survey: Survey) -> dict[bytes, tuple[int, ...]]:
    """What the server keeps of a survey: reports by what it keeps of their ids."""
    layout = server.store.record_format(survey.hash)
    rows = waiting_records(server.store, survey.hash)
    return {digest: layout.unpack(record) for digest, record in rows.items()}


def stored_id(server: LiveServer, survey: Survey, report_id: str) -> bytes:
    """What the server keeps of an id."""
    return server.store.id_digest(survey.hash, bytes.fromhex(report_id))


WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Every draw is 0, and the id is ones: K-ary response then keeps the answer, so that a report shows what was drawn from.
TRUTHFUL_COINS = """Crypto.prototype.getRandomValues = (array) => {
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength).fill(array.length === 16 ? 1 : 0);
  return array;
}"""
# Every draw is just below the last, incomplete round: the largest that no uniform integer draws again.
UNTRUTHFUL_COINS = """Crypto.prototype.getRandomValues = (array) => {
  const words = [0xffffffff, 0xfff00000];
  array.forEach((_, place) => (array[place] = words[place % 2]));
  return array;
}"""


def group(page: Page, question: dict[str, Any]) -> Locator:
    return page.get_by_role("group", name=question["text"], exact=True)


def start(page: Page, server: LiveServer, *questions: dict[str, Any], title: str, **settings: bool) -> Survey:
    """Publish a survey of these questions and go to its form."""
    survey = draft(*questions, title=title, **settings)
    open_page(page, address(server, survey))
    begin(page)
    return survey


def fill_every_kind(page: Page) -> None:
    """Answer every question of EVERY_KIND, by the elements' ids so that it works in each language."""
    page.locator("#q0-1").check()
    page.locator("#q1-0").check()
    page.locator("#q2-1").check()
    page.locator("#q3-6").check()
    page.locator("#q4-3").check()
    page.locator("#q5-0").fill("12,5")
    page.locator("#q6-1").check()
    page.locator("#q7-none").check()
    page.locator("#q8-search").fill("evora")
    page.locator(f"#q8-{TOWNS.index('Évora North')}").check()
