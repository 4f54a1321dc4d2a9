"""From `make run` to a phone: a first survey from a template takes at most six clicks, one of one's own twelve.

Words are those of the main part of each page that can be seen without opening anything; a text that stands on two
pages is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import pytest
from hushpoll_server.serve.demo import ACCOUNT, first_start
from hushpoll_server.workspace.privacy.question_plan import margin_at
from playwright.sync_api import Browser, Page, Response, expect

from tests.browser.waiting import saved
from tests.browser.workspace_kit import watch
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
MOST_CLICKS = 6
OWN_CLICKS, OWN_FIELDS, OWN_WORDS = 12, 12, 700
_TEXTS = """() => {
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const { parentElement, textContent } = walker.currentNode;
    const hidden = parentElement.closest("script, option, datalist, .visually-hidden");
    if (!hidden && parentElement.checkVisibility({ visibilityProperty: true })) texts.push(textContent.trim());
  }
  return texts.filter(Boolean);
}"""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, str]]:
    """A server as `make run` leaves it at its first start, and the password that it prints."""
    live = LiveServer(tmp_path_factory.mktemp("first"), SEAL_EVERY="86400")
    _, password = first_start(live.store)
    assert password is not None
    live.start()
    yield live, password
    live.close()


def counting(page: Page) -> list[str]:
    """Count real clicks, whichever page they are made on; not those that a key or a label makes of another."""
    clicks: list[str] = []
    page.expose_function("clicked", lambda target: clicks.append(target))
    page.add_init_script("addEventListener('pointerdown', (event) => clicked(event.target.outerHTML), true)")
    return clicks


def test_a_first_survey_is_on_a_phone_after_six_clicks(
    browser: Browser, started: tuple[LiveServer, str]
) -> None:
    server, password = started
    desk = browser.new_context(viewport={"width": 1280, "height": 900})
    page = desk.new_page()
    faults, clicks = watch(page), counting(page)
    page.goto(f"{server.url}/sign-in")
    page.get_by_label("Name").fill(ACCOUNT)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="New survey").click()
    page.get_by_role("button", name="Use this template").first.click()
    page.get_by_role("link", name="Publish").click()
    page.get_by_label("I understand that a published survey cannot be changed").click()
    page.get_by_role("button", name="Publish for good").click()
    link = page.get_by_label("The link").input_value()
    assert 0 < len(clicks) <= MOST_CLICKS, clicks
    title = page.get_by_role("heading", level=1).inner_text()
    desk.close()
    phone = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    respondent = phone.new_page()
    dialogs = watch(respondent)
    respondent.goto(link)
    expect(respondent.get_by_role("heading", name=title)).to_be_visible()
    respondent.get_by_role("button", name="Start").tap()
    expect(respondent.get_by_role("group").first).to_be_visible()
    phone.close()
    assert faults + dialogs == []


class Walk:
    """A designer's way through the workspace: what was clicked, filled in and read, and where it did not go on."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = counting(page)
        self.fields: list[str] = []
        self.texts: set[str] = set()
        self.dead_ends: list[str] = []
        page.on("response", self._note)

    def _note(self, response: Response) -> None:
        if response.status >= 400:
            self.dead_ends.append(response.url)

    def click(self, role: Literal["link", "button", "checkbox"], name: str) -> None:
        """Read the page, then press something of it."""
        self.read()
        self.page.get_by_role(role, name=name).last.click()

    def fill(self, label: str, text: str) -> None:
        """Read the page, then fill in a field."""
        self.read()
        self.page.get_by_label(label, exact=True).last.fill(text)
        self.fields.append(label)

    def read(self) -> None:
        """Add the texts that can be seen now."""
        self.page.wait_for_load_state()
        self.texts.update(self.page.evaluate(_TEXTS))

    @property
    def words(self) -> int:
        """How many words were read; numbers are words."""
        return sum(len(re.findall(r"\w[^\s]*", text)) for text in self.texts)


def test_an_own_survey_of_four_kinds_takes_few_clicks_fields_and_words(
    browser: Browser, started: tuple[LiveServer, str]
) -> None:
    server, password = started
    desk = browser.new_context(viewport={"width": 1280, "height": 900})
    page = desk.new_page()
    page.goto(f"{server.url}/sign-in")
    page.get_by_label("Name").fill(ACCOUNT)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("link", name="New survey")).to_be_visible()
    walk = Walk(page)
    page.reload()  # from here on clicks are counted
    walk.click("link", "New survey")
    walk.click("button", "Blank survey")
    walk.fill("Title", "Betting")
    saved(page)
    walk.fill("Question", "Have you bet money online in the last month?")
    walk.click("button", "Yes or no")
    walk.fill("Question", "What do you bet on most?")
    walk.click("button", "One choice out of several")
    expect(page.locator(".quick-edit")).to_be_visible()
    page.locator(".quick-edit").get_by_label("Options").fill("Sport\nCasino\nPoker\nLottery\nNothing")
    walk.fields.append("Options")
    page.locator(".quick-edit").get_by_role("button", name="Save").click()
    walk.fill("Question", "How often do you lose more than you planned?")
    walk.click("button", "A point on a scale")
    walk.fill("Question", "How many hours a week?")
    walk.click("button", "A number")
    expect(page.locator(".quick-edit").get_by_label("Largest")).to_be_visible()
    page.locator(".quick-edit").get_by_label("Largest").fill("40")
    walk.fields.append("Largest")
    walk.read()
    page.locator(".quick-edit").get_by_role("button", name="Save").click()
    walk.click("link", "Next: privacy and accuracy")
    walk.fill("How many answers do you expect?", "800")
    page.get_by_label("What margin do you need?").fill("8")
    walk.fields.append("What margin do you need?")
    expect(page.locator("[data-readout=sentence]")).to_contain_text("About 800 people, ±8 points")
    saved(page)
    walk.click("link", "Publish")
    walk.click("checkbox", "I understand that a published survey cannot be changed")
    walk.click("button", "Publish for good")
    expect(page.get_by_label("The link")).to_be_visible()
    survey = server.store.get_survey(page.get_by_label("The link").input_value().rpartition("#")[2])
    assert survey is not None
    assert [question.kind.name for question in survey.questions] == ["yes_no", "choice", "scale", "number"]
    assert all(margin_at(question, 800) <= 0.08 * 1.0005 for question in survey.questions)
    assert walk.dead_ends == []
    assert 0 < len(walk.clicks) <= OWN_CLICKS, walk.clicks
    assert len(walk.fields) <= OWN_FIELDS
    assert 0 < walk.words <= OWN_WORDS, sorted(walk.texts, key=len)
    desk.close()
