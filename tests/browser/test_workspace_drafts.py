"""The editor in a real Chromium: what is typed is shown, checked and kept at once; questions move; all is undone."""

from __future__ import annotations

import re

import pytest
from hushpoll_server.workspace.drafts.draft import Draft
from playwright.sync_api import Page, Route, expect

from tests.browser.waiting import patient, saved, until
from tests.browser.workspace_kit import axe, make_draft, now
from tests.serving import LiveServer

FIRST = {"id": "q1", "kind": "yes_no", "text": "Have you?", "mechanism": {"epsilon": "1"}}
SECOND = {**FIRST, "id": "q2", "text": "Would you?"}
THIRD = {**FIRST, "id": "q3", "text": "Could you?"}


@pytest.fixture
def page(designer: Page) -> Page:
    """A signed-in designer at a desk."""
    return designer


def order(server: LiveServer, draft: Draft) -> list[str]:
    return [question["id"] for question in now(server, draft).questions]


def test_the_preview_shows_the_question_as_it_is_typed(page: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Preview", FIRST)
    page.goto(f"{server.url}/drafts/{draft.id}/questions/new?kind=choice")
    preview = page.frame_locator("#live-preview iframe")
    expect(preview.get_by_text("Your question")).to_be_visible()
    page.get_by_label("Question", exact=True).fill("Where did")
    page.get_by_label("Options", exact=True).fill("Here")
    expect(preview.get_by_text("Where did")).to_be_visible()
    expect(preview.get_by_label("Here")).to_be_visible()
    expect(preview.get_by_label("Option 1")).to_be_visible()
    expect(page.locator(".field-error")).to_have_count(0)
    assert len(now(server, draft).questions) == 1, "it is not complete: not saved"
    expect(page.locator("[data-saved-state]")).to_have_text(re.compile("Not saved yet"))


def test_changes_are_saved_automatically_and_undone_in_one_step(page: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Autosave", FIRST)
    page.goto(f"{server.url}/drafts/{draft.id}/questions/new?kind=yes_no")
    page.get_by_label("Question", exact=True).fill("Did you")
    saved(page)
    expect(page.locator("[data-margin]")).to_have_text(re.compile(r"With 500 answers: ±[\d.]+ points"))
    # Loading the page again shows this question.
    expect(page).to_have_url(re.compile("/questions/q2$"))
    held: list[Route] = []
    page.route("**/live.json", lambda route: held.append(route), times=1)
    page.get_by_label("Question", exact=True).fill("Did you ever?")
    expect(page.locator("[data-saved-state]")).to_have_text("Saving…")
    until(page, lambda: held)  # the request is on its way
    held[0].continue_()
    saved(page)
    assert [question["text"] for question in now(server, draft).questions] == ["Have you?", "Did you ever?"]
    page.reload()
    expect(page.get_by_label("Question", exact=True)).to_have_value("Did you ever?")
    page.get_by_role("button", name="Undo the last change").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    assert order(server, draft) == ["q1"]
    page.get_by_label("Title", exact=True).fill("A better title")
    saved(page)
    expect(page.get_by_role("heading", name="A better title")).to_be_visible()
    assert now(server, draft).title == "A better title"
    # Saving by itself does not get into the way of the other buttons of the page.
    page.get_by_role("button", name="Duplicate question 1").click()
    expect(page.get_by_text("Copied.")).to_be_visible()


def test_changes_made_before_the_scripts_load_are_saved(page: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Early", FIRST)
    held: list[Route] = []
    page.route("**/autosave.js", lambda route: held.append(route))
    for path, label in (("/questions/new?kind=yes_no", "Question"), ("", "Title")):
        page.goto(f"{server.url}/drafts/{draft.id}{path}", wait_until="commit")
        page.get_by_label(label, exact=True).fill("Did you")
        until(page, lambda: held)
        held.pop().continue_()
        saved(page)
        expect(page.get_by_role("button", name="Undo the last change")).to_be_visible()
    expect(page.get_by_role("heading", name="Did you", level=1)).to_be_visible()
    assert now(server, draft).title == "Did you"
    assert [question["text"] for question in now(server, draft).questions] == ["Have you?", "Did you"]


def test_unsaved_changes_are_not_shown_as_saved(page: Page, server: LiveServer) -> None:
    patient(page, 500)  # nothing that is typed here is ever sent
    draft = make_draft(server.store, "Not yet", FIRST, SECOND)
    page.goto(f"{server.url}/drafts/{draft.id}")
    page.get_by_role("button", name="Move question 1 down").click()
    expect(page.locator("#question-q1 .eyebrow")).to_contain_text("Question 2")
    page.reload()
    saved(page)
    title = page.get_by_label("Title", exact=True)
    title.fill("Not yet saved")
    expect(page.locator("[data-saved-state]")).to_have_text("Saving…")
    title.fill("Not yet")
    saved(page)
    assert now(server, draft).title == "Not yet"


def test_plans_and_corrections_made_before_the_scripts_load_count(page: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Early plan", FIRST)
    held: list[Route] = []
    page.route("**/workspace/privacy.js", lambda route: held.append(route))
    page.goto(f"{server.url}/drafts/{draft.id}/privacy", wait_until="commit")
    margin = page.locator("[data-readout=margin]")
    before = margin.text_content()
    page.get_by_label("How many answers do you expect?").fill("20000")
    until(page, lambda: held)
    held.pop().continue_()
    expect(margin).not_to_have_text(before or "")
    saved(page)
    page.goto(f"{server.url}/drafts/{draft.id}/publish")
    page.route("**/workspace/errors.js", lambda route: held.append(route))
    page.get_by_role("button", name="Publish for good").click()
    expect(page.locator("#frozen-error")).to_be_visible()
    page.get_by_label(re.compile("^I understand")).check()
    until(page, lambda: held)
    held.pop().continue_()
    expect(page.locator("#frozen-error")).to_be_hidden()
    expect(page.locator(".error-summary")).to_be_hidden()


def test_a_pressed_button_stays_under_the_pointer(page: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Pressed", FIRST)
    with page.expect_response("**/live.json"):  # what the page asks when it comes, and not what is typed
        page.goto(f"{server.url}/drafts/{draft.id}/questions/new?kind=yes_no")
    expect(page.locator("[data-margin]")).to_have_text("")
    held: list[Route] = []
    page.route("**/live.json", lambda route: held.append(route))
    page.get_by_label("Question", exact=True).fill("Did you")
    until(page, lambda: held)  # it is being saved
    button = page.get_by_role("button", name="Add the question")
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box
    page.mouse.move(box["x"] + 20, box["y"] + 5)
    page.mouse.down()
    with page.expect_response("**/live.json"):
        held.pop().continue_()
    page.wait_for_timeout(300)  # time to write the margin above the button
    page.mouse.up()
    # "Saved." where the page had kept it before, "Added." where not: the click counted.
    expect(page.get_by_text(re.compile(r"^(Saved|Added)\.$"))).to_be_visible()
    expect(page).to_have_url(f"{server.url}/drafts/{draft.id}#question-q2")
    assert [question["text"] for question in now(server, draft).questions] == [FIRST["text"], "Did you"]


def test_errors_next_to_fields_disappear_when_corrected(page: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Errors", FIRST)
    page.goto(f"{server.url}/drafts/{draft.id}/questions/new?kind=scale")
    page.get_by_label("Question", exact=True).fill("How?")
    page.get_by_label("Number of points").fill("99")
    page.get_by_role("button", name="Add the question").click()
    error = page.locator("#points-error")
    expect(error).to_be_visible()
    expect(page.locator(".error-summary")).to_be_visible()
    page.get_by_label("Number of points").fill("98")
    expect(page.locator("[data-saved-state]")).to_have_text(re.compile("Not saved yet"))
    expect(error).to_be_visible()
    page.get_by_label("Number of points").fill("7")
    expect(error).to_be_hidden()
    expect(page.locator(".error-summary")).to_be_hidden()
    expect(page.get_by_label("Number of points")).not_to_have_attribute("aria-invalid", re.compile(""))
    # A form that is checked only when it is sent.
    page.goto(f"{server.url}/drafts/{draft.id}/publish")
    page.get_by_role("button", name="Publish for good").click()
    expect(page.locator("#frozen-error")).to_be_visible()
    axe(page)
    page.get_by_label(re.compile("^I understand")).check()
    expect(page.locator("#frozen-error")).to_be_hidden()
    expect(page.locator(".error-summary")).to_be_hidden()


def test_moving_a_question_keeps_scroll_position_and_focus(page: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Order", FIRST, SECOND, THIRD)
    page.goto(f"{server.url}/drafts/{draft.id}")
    page.get_by_role("button", name="Move question 1 down").click()
    focused = page.locator(":focus")
    expect(focused).to_have_attribute("aria-label", "Move question 2 down")
    assert order(server, draft) == ["q2", "q1", "q3"]
    expect(page.locator("[data-moved]")).to_have_text("Question 2 of 3.")
    handle = page.locator("#question-q1 [data-drag]")
    handle.focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#question-q1 .eyebrow")).to_contain_text("Question 1")
    expect(handle).to_be_focused()
    assert order(server, draft) == ["q1", "q2", "q3"]
    page.keyboard.press("End")
    expect(page.locator("#question-q1 .eyebrow")).to_contain_text("Question 3")
    assert order(server, draft) == ["q2", "q3", "q1"]
    top = page.locator("#question-q1").bounding_box()
    assert top
    assert 0 <= top["y"] < 900, "it is still in sight"


def test_a_question_is_dragged_to_another_place(page: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Drag", FIRST, SECOND, THIRD)
    page.set_viewport_size({"width": 1280, "height": 2400})
    page.goto(f"{server.url}/drafts/{draft.id}")
    handle = page.locator("#question-q1 [data-drag]").bounding_box()
    last = page.locator("#question-q3").bounding_box()
    assert handle
    assert last
    page.mouse.move(handle["x"] + 8, handle["y"] + 8)
    page.mouse.down()
    page.mouse.move(handle["x"] + 8, last["y"] + last["height"] - 10, steps=25)
    page.mouse.up()
    expect(page.locator("#question-q1 .eyebrow")).to_contain_text("Question 3")
    assert order(server, draft) == ["q2", "q3", "q1"]
    page.get_by_role("button", name="Undo the last change").click()
    expect(page.get_by_text("Undone.")).to_be_visible()
    assert order(server, draft) == ["q1", "q2", "q3"]


def test_shares_of_the_rehearsal_balance_while_they_are_typed(page: Page, server: LiveServer) -> None:
    choice = {**FIRST, "kind": "choice", "options": ["a", "b", "c"]}
    draft = make_draft(server.store, "Rehearsal", choice)
    page.goto(f"{server.url}/drafts/{draft.id}/rehearsal")
    page.get_by_label("a, in %").fill("50,5")
    page.get_by_label("a, in %").blur()
    values = [page.get_by_label(f"{name}, in %").input_value() for name in "abc"]
    assert values[0] == "50,5"
    assert sum(float(value.replace(",", ".")) for value in values) == pytest.approx(100)
    page.get_by_role("button", name="Rehearse again").click()
    expect(page.get_by_label("a, in %")).to_have_value("50.5")
