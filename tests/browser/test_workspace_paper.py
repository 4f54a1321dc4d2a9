"""Paper in the workspace in a real Chromium: odds to snap to, slips, and a stack of sheets typed in by number keys."""

from __future__ import annotations

from typing import Any

import pytest
from hushpoll_client import Survey
from hushpoll_server.workspace.drafts import documents
from playwright.sync_api import Page, expect

from tests.browser.workspace_kit import QUESTION, axe, make_draft
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
COINS = {"id": "w", "kind": "yes_no", "text": "Did you?", "mechanism": {"name": "warner", "truth": "3/4"}}
SHARES = ["1/36"] * 12
DICE = {"id": "c", "kind": "choice", "text": "Which?", "mechanism": {"name": "forced", "forced": SHARES}}


@pytest.fixture
def page(either_designer: Page) -> Page:
    """A signed-in designer, at a desk and on a phone."""
    return either_designer


def published(server: LiveServer, title: str, **more: Any) -> Survey:
    listed = {**DICE, "options": [f"Option {number}" for number in range(1, 13)]}
    survey = Survey.from_draft(
        {**documents.blank(title), "questions": [COINS, listed, COINS | {"id": "v"}], **more}
    )
    server.store.publish(survey, "ines")
    return survey


def test_a_stack_of_sheets_is_typed_in_by_number_keys(page: Page, server: LiveServer) -> None:
    survey = published(server, f"Sheets {page.viewport_size}")
    page.goto(f"{server.url}/surveys/{survey.hash}/enter")
    expect(page.get_by_label("Question 1")).to_be_focused()
    axe(page)
    before = server.store.count(survey.hash)
    # 2, then 1 which could become 12, then 1: the last number goes on to the button.
    for keys in (["2", "1", "Tab", "1"], ["1", "1", "2", "2"]):
        for key in keys:
            page.keyboard.press(key)
        expect(page.get_by_role("button", name="Store this sheet")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_label("Question 1")).to_be_focused()
        expect(page.get_by_label("Question 1")).to_have_value("")
        page.wait_for_load_state()  # with the script that takes the keys on to the next question
    expect(page.get_by_text("2 sheets entered since you opened this page")).to_be_visible()
    assert server.store.count(survey.hash) == before + 2
    page.keyboard.press("9")
    page.keyboard.press("Enter")
    expect(page.locator("#q0-error")).to_have_text("Error: Type a whole number from 1 to 2.")
    axe(page)


def test_slips_and_odds_for_paper_can_be_read_by_everybody(page: Page, server: LiveServer) -> None:
    survey = published(server, f"Slips {page.viewport_size}", settings={"kiosk": False, "invitation": True})
    page.goto(f"{server.url}/surveys/{survey.hash}")
    page.get_by_role("link", name="Slips to print").click()
    page.wait_for_url("**/slips")
    axe(page)
    page.get_by_label("Number of slips").fill("4")
    page.get_by_role("button", name="Make the invitations").click()
    expect(page.get_by_role("img", name="QR code of the survey's link (4)")).to_be_visible()
    axe(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
        "nothing is wider than the page"
    )
    draft = make_draft(server.store, "For paper", QUESTION)
    page.goto(f"{server.url}/drafts/{draft.id}")
    page.get_by_role("link", name="On paper").click()
    page.wait_for_url("**/paper")
    axe(page)
    page.get_by_label("Question 1").select_option(
        label="works with two coins: 75 of 100 recorded as chosen, epsilon 1.1"
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("All questions of this survey can be answered on paper.")).to_be_visible()
