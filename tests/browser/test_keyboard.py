"""Three people with nothing but keys: a designer, a respondent and a reader, without a mouse and without a trap."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hushpoll_client import Report
from hushpoll_server.collect import closing
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.respondent import AGREE, CHEATED, HOURS, REASON, USED, address, draft
from tests.browser.waiting import saved
from tests.browser.workspace_kit import PASSWORD, watched
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
MOST_TABS = 80


@pytest.fixture
def page(browser: Browser, server: LiveServer) -> Iterator[Page]:
    """A page at the sign-in, with nothing but keys."""
    with watched(browser) as page:
        page.goto(f"{server.url}/sign-in")
        yield page


def reach(page: Page, target: Locator) -> None:
    """Press Tab until an element has the focus, and see that the focus shows."""
    expect(target).to_be_visible()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if target.evaluate("(one) => one === document.activeElement"):
            # Of a small control its label shows the focus.
            outlines = target.evaluate(
                """(one) => [one, one.closest("label") ?? one].map((at) => {
                  const { outlineStyle, boxShadow } = getComputedStyle(at);
                  return outlineStyle + boxShadow;
                })"""
            )
            assert set(outlines) != {"nonenone"}, "the focus can be seen"
            return
    raise AssertionError(f"{MOST_TABS} times Tab do not lead to {target}")


def press(page: Page, role: str, name: str, key: str = "Enter", exact: bool = False) -> None:
    reach(page, page.get_by_role(role, name=name, exact=exact))  # type: ignore[arg-type]
    page.keyboard.press(key)


def follow(page: Page, name: str, to: str) -> None:
    """Press a link, and wait for its page: the one before may have a link or a heading of the same name."""
    press(page, "link", name)
    page.wait_for_url(to)


def write(page: Page, name: str, text: str) -> None:
    reach(page, page.get_by_role("textbox", name=name))
    page.keyboard.type(text)


def enter(page: Page) -> None:
    """Sign in by keys."""
    reach(page, page.get_by_label("Name"))
    page.keyboard.type("ines")
    reach(page, page.get_by_label("Password"))
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Surveys", exact=True)).to_be_visible()


def test_from_signing_in_to_published_without_a_mouse(page: Page, server: LiveServer) -> None:
    enter(page)
    press(page, "link", "New survey")
    press(page, "button", "Blank survey")
    expect(page.get_by_role("heading", name="Add a question")).to_be_visible()
    reach(page, page.get_by_role("textbox", name="Title"))
    page.keyboard.press("Control+A")
    page.keyboard.type("By keys")
    write(page, "Who asks", "University of Somewhere")
    saved(page)
    write(page, "Question", "Have you?")
    press(page, "button", "Yes or no")
    expect(page.get_by_role("heading", name="Have you?")).to_be_visible()
    follow(page, "Around the questions", "**/presentation")
    write(page, "Consent to tick before Start", "I am 18 or older.")
    press(page, "button", "Save", exact=True)
    expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    follow(page, "Privacy and accuracy", "**/privacy")
    expect(page.get_by_role("heading", name="By keys")).to_be_visible()
    follow(page, "Publish", "**/publish")
    press(page, "checkbox", "I understand that a published survey cannot be changed", " ")
    press(page, "button", "Publish for good")
    expect(page.get_by_text("Published. Below is the link to hand out.")).to_be_visible()
    expect(page.get_by_role("heading", name="By keys")).to_be_visible()
    (state,) = [state for state in server.store.list_surveys() if state.title == "By keys"]
    survey = server.store.get_survey(state.hash)
    assert survey is not None
    assert survey.presentation["asked_by"]["name"] == "University of Somewhere"


def test_a_respondent_answers_every_kind_without_a_mouse(page: Page, server: LiveServer) -> None:
    survey = draft(CHEATED, REASON, AGREE, HOURS, USED, title="By keys alone")
    page.goto(address(server, survey))
    press(page, "button", "How it works")
    expect(page.get_by_role("heading", name="How it works")).to_be_visible()
    press(page, "button", "Back")
    press(page, "button", "Start")
    page.locator("form").wait_for()
    for group in page.get_by_role("group").all():
        reach(page, group.locator("input").first)
        if group.locator("input[type=radio], input[type=checkbox]").count():
            page.keyboard.press(" ")
        else:
            page.keyboard.type("12.5")
    press(page, "button", "About 75 in 100 answers are sent unchanged")
    expect(page.get_by_text("Of 100 who choose Yes, about 75 send Yes.").first).to_be_visible()
    press(page, "button", "Send", exact=True)
    expect(page.get_by_role("heading", name="Sent", exact=True)).to_be_visible()
    reach(page, page.locator("summary").first)
    page.keyboard.press("Enter")
    expect(page.locator("details pre")).to_be_visible()
    assert server.store.count(survey.hash) == 1


def test_a_reader_finds_folds_tables_and_files_without_a_mouse(page: Page, server: LiveServer) -> None:
    survey = draft(CHEATED, REASON, title="Read by keys")
    server.store.publish(survey, "ines", target_n=100)
    for number in range(60):
        body = Report.new(survey, [number % 2, number % 4]).to_bytes()
        path = f"{server.url}/api/surveys/{survey.hash}/reports"
        page.request.post(path, data=body, headers={"Content-Type": "application/json"})
    closing.close(server.store, survey.hash)
    enter(page)
    follow(page, "Read by keys", f"**/surveys/{survey.hash}")
    follow(page, "Report", "**/report")
    expect(page.get_by_role("heading", name="Read by keys")).to_be_visible()
    reach(page, page.locator("summary").first)
    page.keyboard.press("Enter")
    expect(page.locator("details").first).to_have_attribute("open", "")
    reach(page, page.get_by_label("By", exact=True))
    page.keyboard.press("ArrowDown")
    press(page, "button", "Cross-table and comparison")
    page.wait_for_url("**/report/table?**")
    expect(page.get_by_role("table").first).to_be_visible()
    page.go_back()
    page.wait_for_url("**/report")
    reach(page, page.get_by_role("link", name="Table (CSV)"))
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".csv")
