"""What the respondent page claims about privacy, next to what is true, and links and folds that lead somewhere."""

from __future__ import annotations

import pytest
from hushpoll_client import Survey
from playwright.sync_api import Browser, Page, expect

from tests.browser.respondent import (
    AGREE,
    CHEATED,
    HOURS,
    MOOD,
    REASON,
    TOWN,
    TRIED,
    USED,
    address,
    begin,
    draft,
    explanation_text,
    fill,
    heading,
    open_page,
    press_send,
    show_all,
)
from tests.serving import LiveServer

pytestmark = pytest.mark.browser


def test_no_fold_opens_empty(page: Page, page_server: LiveServer) -> None:
    kinds = (CHEATED, REASON, MOOD, AGREE, HOURS, USED, TRIED, TOWN)
    open_page(page, address(page_server, draft(*kinds, title="Folds")))
    begin(page)
    folds = page.locator("button.fold").all()
    assert len(folds) == len(kinds)
    for fold in folds:
        content = page.locator(f"#{fold.get_attribute('aria-controls')}")
        assert (content.text_content() or "").strip(), fold.text_content()


def test_the_strongest_promise_is_about_what_a_report_reveals(page: Page, page_server: LiveServer) -> None:
    """About 75 in 100 reports are the answer itself: the page must not promise that it is not received."""
    open_page(page, address(page_server, draft(CHEATED, title="Promise")))
    text = explanation_text(page)
    assert "receives what you" not in text
    assert "no one can tell for certain what you chose" in text


def test_the_table_names_the_operator_who_could_change_the_code(page: Page, page_server: LiveServer) -> None:
    open_page(page, address(page_server, draft(CHEATED, title="Operator")))
    show_all(page)
    row = page.locator("tr", has_text="The operator of this page, who could send changed code")
    expect(row).to_contain_text(
        "Yes, your own answer. To check: “hushpoll verify”, or answer with the Python client."
    )
    expect(page.locator("tr", has_text="The network")).to_contain_text("That you take part")
    expect(page.get_by_role("link", name="Read more in plain language")).to_have_attribute(
        "href", "/docs/respondents"
    )


def test_the_page_says_that_an_invitation_waits_with_the_answers(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Waiting", invitation=True)
    open_page(page, address(page_server, survey, "a-code"))
    page.goto(address(page_server, survey))
    show_all(page)
    stored = page.locator("section", has_text="What is stored")
    expect(stored).to_contain_text("Your invitation code waits with your answers until they are shuffled")
    expect(stored).not_to_contain_text("not kept with your answers")
    expect(page.locator("main")).to_contain_text("What has been sent cannot be taken back.")
    expect(page.locator("main")).not_to_contain_text("which answers were yours")


@pytest.mark.parametrize("kiosk", [False, True])
def test_after_sending_the_page_does_not_contradict_itself(
    page: Page, page_server: LiveServer, kiosk: bool
) -> None:
    open_page(page, address(page_server, draft(CHEATED, title="After", kiosk=kiosk)))
    fill(page, "Yes")
    press_send(page)
    heading(page, "Sent")
    text = page.locator("main").inner_text()
    assert "stayed on this device" not in text
    assert ("This device has stored nothing of your answers." in text) == kiosk
    assert ("This page has forgotten what you chose." in text) != kiosk


@pytest.mark.parametrize("length", [1, 12, 63])
def test_a_truncated_link_is_reported_as_incomplete(page: Page, page_server: LiveServer, length: int) -> None:
    survey = draft(CHEATED, title="Cut link")
    link = address(page_server, survey)
    open_page(page, link[: len(link) - 64 + length])
    expect(page.locator(".notice")).to_contain_text("This link is incomplete")
    assert "changed" not in page.locator("main").inner_text()


def test_another_fingerprint_is_reported_as_a_change(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Changed link")
    link = address(page_server, survey)
    open_page(page, link[:-1] + ("0" if link[-1] != "0" else "1"))
    expect(page.locator(".notice")).to_contain_text("does not match the fingerprint in the link")


def test_odds_read_well_when_one_of_a_hundred_is_left(page: Page, page_server: LiveServer) -> None:
    """99 of 100 recorded as chosen: no sentence may say "The other 1 are"."""
    likely = {"name": "krr", "epsilon": "5.4"}
    options = ["Train", "Bus", "Car"]
    survey = draft({**REASON, "options": options, "mechanism": likely}, title="One left")
    open_page(page, address(page_server, survey))
    text = explanation_text(page)
    assert "Of 100 who choose Train, about 99 send Train." in text
    assert "Of 100 who choose Bus, fewer than 1 sends Train." in text


def test_the_share_of_a_harmless_question_is_a_whole_number(page: Page, page_server: LiveServer) -> None:
    """“About 20.04 of 100” is more precise than anything known."""
    harmless = {"name": "or_poll", "decoy": "Born in January?", "decoy_share": "0.2004"}
    open_page(page, address(page_server, draft({**CHEATED, "mechanism": harmless}, title="Harmless")))
    text = explanation_text(page)
    assert "about 20 of 100 people" in text
    assert "20.04" not in text


def test_what_is_shown_works_offline(page: Page, page_server: LiveServer) -> None:
    open_page(page, address(page_server, draft(CHEATED, MOOD, title="Offline")))
    page.context.set_offline(True)
    page.get_by_role("button", name="Try it").click()
    page.locator(".examples").get_by_role("button", name="Yes").click()
    expect(page.locator(".draws li")).to_have_count(10)
    page.get_by_role("button", name="How it works").click()
    expect(page.locator("main table").first).to_be_visible()
    page.locator(".bar button").click()
    begin(page)
    expect(page.get_by_role("group")).to_have_count(2)


def test_a_connection_that_is_lost_at_once_is_reported_and_start_stays(
    page: Page, page_server: LiveServer
) -> None:
    page.route("**/respond/form.js", lambda route: route.abort())
    page.goto(address(page_server, draft(CHEATED, title="Lost")))
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".notice")).to_contain_text("could not be loaded")
    page.get_by_role("button", name="How it works").click()
    expect(page.locator(".notice")).to_contain_text("could not be loaded")
    page.unroute_all()
    begin(page)


@pytest.mark.parametrize("touch", [False, True])
def test_the_quick_exit_differs_from_start_and_names_esc_on_keyboards_only(
    browser: Browser, page_server: LiveServer, touch: bool
) -> None:
    document = draft(CHEATED, title=f"Exit {touch}").as_document(published=False)
    survey = Survey.from_draft(document | {"look": {"quick_exit": True}})
    context = browser.new_context(has_touch=touch, is_mobile=touch, viewport={"width": 390, "height": 800})
    page = context.new_page()
    open_page(page, address(page_server, survey))
    leave, start = (page.get_by_role("button", name=name) for name in ("Leave this page", "Start"))
    assert ("Esc" in (leave.text_content() or "")) != touch
    colours = [button.evaluate("(it) => getComputedStyle(it).backgroundColor") for button in (leave, start)]
    assert colours[0] != colours[1]
    context.close()


@pytest.mark.parametrize("width", [195, 390])
def test_large_text_breaks_no_word_of_a_scale(browser: Browser, page_server: LiveServer, width: int) -> None:
    """A phone of 390 px at 200 % lays pages out on 195 px."""
    often = {**AGREE, "id": "often", "labels": ["Never", "Rarely", "Sometimes", "Often", "Always"]}
    survey = draft(MOOD, often, title="Large text")
    context = browser.new_context(viewport={"width": width, "height": 800})
    page = context.new_page()
    open_page(page, address(page_server, survey))
    begin(page)
    broken = page.evaluate(
        """() => [...document.querySelectorAll(".option span:not(.unseen)")].filter((label) => {
          const range = document.createRange();
          range.selectNodeContents(label);
          const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
          return lines.size > label.textContent.split(" ").length;
        }).map((label) => label.textContent)"""
    )
    assert broken == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.go_back()
    show_all(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
