"""The designer's way by keyboard alone: from signing in to a published survey, without a mouse and without a trap."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hushpoll_server.people import accounts
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.test_workspace import PASSWORD, watch
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
MOST_TABS = 80


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with a designer."""
    live = LiveServer(tmp_path_factory.mktemp("keyboard"), SEAL_EVERY="86400")
    accounts.add_user(live.store, "ines", "designer", PASSWORD)
    live.start()
    yield live
    live.close()


@pytest.fixture
def page(browser: Browser, server: LiveServer) -> Iterator[Page]:
    """A page at the sign-in, with nothing but keys."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(30_000)
    page = context.new_page()
    faults = watch(page)
    page.goto(f"{server.url}/sign-in")
    yield page
    context.close()
    assert faults == []


def reach(page: Page, wanted: Locator) -> None:
    """Press Tab until an element has the focus, and see that the focus shows."""
    expect(wanted).to_be_visible()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if wanted.evaluate("(one) => one === document.activeElement"):
            outline = wanted.evaluate(
                "(one) => getComputedStyle(one).outlineStyle + getComputedStyle(one).boxShadow"
            )
            assert outline != "nonenone", "the focus can be seen"
            return
    raise AssertionError(f"{MOST_TABS} times Tab do not lead to {wanted}")


def press(page: Page, role: str, name: str, key: str = "Enter", exact: bool = False) -> None:
    reach(page, page.get_by_role(role, name=name, exact=exact))  # type: ignore[arg-type]
    page.keyboard.press(key)


def write(page: Page, name: str, text: str) -> None:
    reach(page, page.get_by_role("textbox", name=name))
    page.keyboard.type(text)


def test_from_signing_in_to_published_without_a_mouse(page: Page, server: LiveServer) -> None:
    reach(page, page.get_by_label("Name"))
    page.keyboard.type("ines")
    reach(page, page.get_by_label("Password"))
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    press(page, "link", "New survey")
    press(page, "button", "Blank survey")
    expect(page.get_by_role("heading", name="Add a question")).to_be_visible()
    reach(page, page.get_by_role("textbox", name="Title"))
    page.keyboard.press("Control+A")
    page.keyboard.type("By keys")
    write(page, "Who asks", "University of Somewhere")
    expect(page.locator("[data-saved-state]")).to_have_text("All changes are saved.", timeout=60_000)
    press(page, "link", "Yes or no")
    write(page, "Question", "Have you?")
    press(page, "button", "Add the question")
    expect(page.get_by_role("heading", name="Have you?")).to_be_visible()
    press(page, "link", "Around the questions")
    write(page, "Consent to tick before Start", "I am 18 or older.")
    press(page, "button", "Save", exact=True)
    expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    press(page, "link", "Privacy and accuracy")
    expect(page.get_by_role("heading", name="By keys")).to_be_visible()
    press(page, "link", "Publish")
    press(page, "checkbox", "I understand that a published survey cannot be changed", " ")
    press(page, "button", "Publish for good")
    expect(page.get_by_text("Published. Below is the link to hand out.")).to_be_visible()
    expect(page.get_by_role("heading", name="By keys")).to_be_visible()
    (state,) = [one for one in server.store.list_surveys() if one.title == "By keys"]
    survey = server.store.get_survey(state.hash)
    assert survey is not None
    assert survey.about["asked_by"]["name"] == "University of Somewhere"
