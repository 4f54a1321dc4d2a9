"""From `make run` to a phone: a first survey from a template takes at most six clicks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hushpoll_server.serve.demo import ACCOUNT, first_start
from playwright.sync_api import Browser, Page, expect

from tests.browser.workspace_kit import watch
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
MOST_CLICKS = 6


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
