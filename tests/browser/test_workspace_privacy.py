"""The privacy screen question by question, in a real Chromium."""

from __future__ import annotations

from pathlib import Path

from hushpoll_server.workspace.drafts import documents, storage
from playwright.sync_api import Browser, expect

from tests.browser.pictures import keep_picture
from tests.browser.waiting import resize, saved
from tests.browser.workspace_kit import QUESTION, axe, sign_in, watch
from tests.serving import LiveServer

ARTEFACTS = Path(__file__).parent.parent.parent / "artefacts" / "workspace"
FACULTY = {
    "id": "faculty",
    "kind": "choice",
    "text": "What do you study?",
    "options": [f"Subject {number}" for number in range(12)],
    "mechanism": {"epsilon": "1"},
}


def test_a_lock_holds_while_the_other_questions_are_planned(browser: Browser, server: LiveServer) -> None:
    document = {**documents.blank("Budget"), "questions": [QUESTION, FACULTY, {**FACULTY, "id": "again"}]}
    draft = storage.create(server.store, "ines", document)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    faults = watch(page)
    sign_in(page, server, "ines")
    page.goto(f"{server.url}/drafts/{draft.id}/privacy")
    rows = page.locator(".plan-question")
    expect(rows).to_have_count(3)
    expect(rows.first).to_be_hidden()
    page.get_by_text("Details for experts").click()

    # Figures follow while one types; what is sound is kept by itself, what is not never is.
    rows.nth(0).get_by_label("Lock").fill("3-fold")
    expect(rows.nth(0).locator("[data-cell=epsilon]")).to_have_text("1.1")
    expect(rows.nth(0).locator("[data-cell=odds]")).to_have_text("× 3")
    page.get_by_label("What margin do you need?").fill("8")
    expect(page.locator("[data-readout=advice]")).to_contain_text("2.75 for question 2")
    rows.nth(1).get_by_label("Lock").fill("nonsense")
    expect(page.locator("[data-readout=verdict]")).to_contain_text("Question 2, lock:")
    rows.nth(1).get_by_label("Lock").fill("")
    expect(page.locator("[data-readout=advice]")).to_contain_text("2.75 for question 2")
    saved(page)
    stored = storage.find(server.store, draft.id)
    assert stored is not None
    assert stored.locks == {"q1": "3-fold"}

    # Found: the locked one stays, the total is in the red and nothing is green.
    with page.expect_navigation():
        page.get_by_role("button", name="Search again").click()
    expect(page.locator(".notice-problem").first).to_be_visible()
    expect(rows.nth(0).locator("[data-cell=epsilon]")).to_have_text("1.1")
    expect(rows.nth(1).locator("[data-cell=epsilon]")).to_have_text("2.75")
    expect(page.locator("[data-warning]")).to_be_visible()
    expect(page.locator('[data-met="yes"]')).to_have_count(0)
    expect(page.locator("[data-advice-list]")).to_contain_text("Merging its 12 answers to 5")
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "each question its own epsilon")
    expect(page.get_by_role("link", name="Merge the 12 answers of question 2 to 5")).to_be_visible()
    for width in (1280, 390, 320):
        resize(page, width)
        keep_picture(page, ARTEFACTS / f"budget-{width}.png")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    axe(page)

    # A wider margin of its own brings the total down, and green comes back.
    for number in (1, 2):
        rows.nth(number).get_by_label("± margin").fill("15")
    with page.expect_navigation():
        page.get_by_role("button", name="Search again").click()
    expect(page.locator("[data-warning]")).to_be_hidden()
    expect(rows.nth(1)).to_have_attribute("data-met", "yes")
    expect(rows.nth(0).locator("[data-cell=state]")).to_have_text("needs ±8 points")
    stored = storage.find(server.store, draft.id)
    assert stored is not None
    assert (dict(stored.locks), dict(stored.margins)) == ({"q1": "3-fold"}, {"faculty": 0.15, "again": 0.15})
    context.close()
    assert faults == []
