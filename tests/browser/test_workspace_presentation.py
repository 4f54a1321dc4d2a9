"""Around the questions and languages in a real Chromium: kept while they are typed, and seen in the preview."""

from __future__ import annotations

from pathlib import Path

import pytest
from hushpoll_server.workspace.drafts import documents, storage
from playwright.sync_api import Page, expect

from tests.browser.pictures import png
from tests.browser.waiting import saved
from tests.browser.workspace_kit import QUESTION, axe, make_draft, now, shoot
from tests.serving import LiveServer
from tests.vectors.surveys import about_draft

pytestmark = pytest.mark.browser
OPTIONS = ["never", "once", "often"]


@pytest.fixture
def page(either_designer: Page) -> Page:
    """A signed-in designer, at a desk and on a phone."""
    return either_designer


def test_asked_by_consent_and_logo_appear_in_the_preview(
    page: Page, server: LiveServer, tmp_path: Path
) -> None:
    draft = make_draft(server.store, "Around", QUESTION)
    page.goto(f"{server.url}/drafts/{draft.id}")
    page.get_by_role("textbox", name="Who asks").fill("University of Somewhere")
    saved(page)
    page.get_by_role("link", name="Around the questions").click()
    page.wait_for_url("**/presentation")
    expect(page.get_by_role("textbox", name="Who asks")).to_have_value("University of Somewhere")
    preview = page.frame_locator("iframe[data-follows]")
    page.get_by_label("Consent to tick before Start").fill("I am 18 or older.")
    saved(page)
    page.locator("iframe[data-follows]").scroll_into_view_if_needed()
    expect(preview.get_by_label("I am 18 or older.")).to_be_visible()
    expect(preview.get_by_text("University of Somewhere")).to_be_visible()
    page.get_by_label("Accent colour").fill("#ffee00")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#accent-error")).to_contain_text("choose a darker colour")
    axe(page)
    page.get_by_label("Accent colour").fill("#5b2a86")
    expect(page.locator("#accent-error")).to_be_hidden()
    page.get_by_label("Pick a colour").fill("#0b5394")
    expect(page.get_by_label("Accent colour")).to_have_value("#0b5394")
    saved(page)
    state = page.locator("[data-logo-state]")
    large, text = tmp_path / "large.png", tmp_path / "text.png"
    text.write_bytes(b"no picture " * 2_000)
    page.get_by_label("Picture").set_input_files(text)
    expect(state).to_contain_text("cannot be made small enough")
    page.get_by_role("button", name="Save this picture").click()
    large.write_bytes(png(900, noise=True))
    page.get_by_label("Picture").set_input_files(large)
    expect(state).to_contain_text("The picture was made smaller")
    page.get_by_role("button", name="Save this picture").click()
    expect(page.get_by_role("img", name="The saved logo")).to_be_visible()
    page.locator("iframe[data-follows]").scroll_into_view_if_needed()
    expect(preview.locator("img.logo")).to_be_visible()
    look = now(server, draft).document["look"]
    assert look.keys() == {"accent", "logo"}
    assert look["accent"] == "#0b5394"
    axe(page)


def test_an_upload_of_fifty_megabytes_is_refused_with_a_page(
    page: Page, server: LiveServer, tmp_path: Path
) -> None:
    draft = make_draft(server.store, "Large", QUESTION)
    page.goto(f"{server.url}/drafts/{draft.id}/presentation")
    large = tmp_path / "large.png"
    large.write_bytes(bytes(50 << 20))
    page.get_by_label("Picture").set_input_files(large)
    # As without a script, which would have told it before.
    page.evaluate("document.querySelector('form[data-largest]').submit()")
    expect(page.get_by_text("This file is larger than 4 MB and nothing was kept of it")).to_be_visible()


def test_a_translation_is_written_next_to_the_original_and_previewed(page: Page, server: LiveServer) -> None:
    document = {**documents.blank(), **about_draft()}
    del document["look"]["logo"], document["look"]["quick_exit"]
    document["translations"]["fr"]["questions"]["a"]["text"] = ""
    draft = storage.create(server.store, "ines", document)
    page.goto(f"{server.url}/drafts/{draft.id}")
    expect(page.get_by_text("en, fr 16 of 17, ar 17 of 17.")).to_be_visible()
    page.get_by_role("link", name="Languages").click()
    page.wait_for_url("**/languages")
    axe(page)
    page.get_by_role("link", name="French", exact=True).click()
    page.wait_for_url("**/languages/fr")
    axe(page)
    page.get_by_label("Question 1, text").fill("Et vous ?")
    saved(page)
    page.goto(f"{server.url}/drafts/{draft.id}/phone")
    page.get_by_role("link", name="French", exact=True).click()
    expect(page.frame_locator("iframe").get_by_role("heading", name="Title fr")).to_be_visible()
    axe(page)


def test_an_instructed_answer_is_chosen_and_saved(page: Page, server: LiveServer) -> None:
    instructed = {
        **QUESTION,
        "id": "told",
        "kind": "choice",
        "text": "Please choose “often” here.",
        "options": OPTIONS,
    }
    draft = make_draft(server.store, "Attention", QUESTION, instructed)
    page.goto(f"{server.url}/drafts/{draft.id}")
    page.get_by_text("Settings: who may answer").click()
    chosen = page.get_by_label("Check for careless answers with")
    page.get_by_label("Its true share").fill("1")
    chosen.select_option(label="Please choose “often” here. – often")
    saved(page)
    expect(chosen).to_have_value("told:2")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shoot(page, f"anchor-{page.viewport_size['width'] if page.viewport_size else 0}")
    axe(page)
    assert now(server, draft).document["anchor"] == {"question": "told", "share": "1", "answer": "often"}
