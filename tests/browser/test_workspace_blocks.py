"""What a survey with a block shows in a real Chromium: results, tables, trend, rehearsal, budget and paper."""

from __future__ import annotations

import json
import re
import secrets
import urllib.request
from typing import Any

import numpy as np
import pytest
from hushpoll_analysis import simulate
from hushpoll_client import Survey
from hushpoll_server.collect import closing
from hushpoll_server.workspace.drafts import documents, storage
from playwright.sync_api import Page, expect

from tests.browser.workspace_kit import check_readable, unfold
from tests.serving import LiveServer, bearer

pytestmark = pytest.mark.browser
QUESTIONS: list[dict[str, Any]] = [
    {"id": f"q{number}", "kind": "yes_no", "text": f"Did you do thing {number}?"} for number in range(1, 5)
]
BLOCK = {"questions": [question["id"] for question in QUESTIONS], "ask": 2, "epsilon": "3"}


def document(title: str, **more: Any) -> dict[str, Any]:
    return {**documents.blank(title), "questions": QUESTIONS, "blocks": [BLOCK], **more}


@pytest.fixture(scope="module")
def survey(server: LiveServer) -> Survey:
    """A closed survey with a block, answered by 900 people."""
    survey = Survey.from_draft(document("Things done"))
    assert server.store.publish(survey, "ines", target_n=900)
    answers = (np.random.default_rng(4).random((900, 4)) < [0.2, 0.5, 0.7, 0.1]).astype(np.uint8)
    codes = simulate(survey.blocks[0].channel, answers, 5).tolist()
    lines = [json.dumps({"id": secrets.token_hex(16), "reports": [code]}) for code in codes]
    request = urllib.request.Request(
        f"{server.url}/api/surveys/{survey.hash}/reports/batch",
        "\n".join(lines).encode(),
        {"Content-Type": "application/x-ndjson", **bearer(server.store)},
    )
    urllib.request.urlopen(request).close()
    closing.close(server.store, survey.hash)
    return survey


@pytest.fixture
def page(designer: Page) -> Page:
    """A signed-in designer; the test fails on any error of the page."""
    return designer


def test_results_and_a_table_of_two_questions_of_a_block(
    page: Page, server: LiveServer, survey: Survey
) -> None:
    page.goto(f"{server.url}/surveys/{survey.hash}/report")
    unfold(page)
    expect(page.get_by_text("people were asked this").first).to_be_visible()
    for question in QUESTIONS:
        expect(page.get_by_role("heading", name=question["text"]).first).to_be_visible()
    check_readable(page, "block-results")
    page.goto(f"{server.url}/surveys/{survey.hash}/report/table?outcome=q1&by=q2")
    expect(page.get_by_text("randomized together").first).to_be_visible()
    check_readable(page, "block-table")


def test_the_budget_of_a_block_has_margins_and_locks(page: Page, server: LiveServer) -> None:
    draft = storage.create(server.store, "ines", document("Things to ask"), expected_n=4000, margin=0.08)
    page.goto(f"{server.url}/drafts/{draft.id}/privacy")
    rows = page.locator(".plan-question")
    expect(rows).to_have_count(4)
    page.get_by_text("Details for experts").click()
    for row in rows.all():
        expect(row.get_by_label("Lock")).to_be_visible()
        expect(row.get_by_label("± margin")).to_be_visible()
    page.get_by_role("button", name="Find the privacy that fits").click()
    expect(page.locator(".notice-done")).to_contain_text("for the block of questions 1 to 4")
    check_readable(page, "block-budget")
    rows.nth(2).get_by_label("Lock").fill("0.4")
    with page.expect_navigation():
        page.get_by_role("button", name="Search again").click()
    expect(page.locator(".notice-problem").first).to_contain_text(
        "The block of questions 1 to 4 is locked at epsilon 0.4"
    )


def test_a_rehearsal_with_a_block_and_groups_and_paper_that_refuses_it(
    page: Page, server: LiveServer
) -> None:
    definition = document(f"Groups {secrets.token_hex(2)}", groups=["Science", "Arts"])
    draft = storage.create(server.store, "ines", definition)
    page.goto(f"{server.url}/drafts/{draft.id}/rehearsal")
    page.get_by_role("button", name=re.compile("^Rehearse")).click()
    expect(page.locator(".rehearsal-table").first).to_be_visible()
    check_readable(page, "block-rehearsal")
    survey = Survey.from_draft(definition)
    server.store.publish(survey, "ines")
    page.goto(f"{server.url}/s/{survey.hash}/paper")
    expect(page.get_by_text("cannot be answered on paper").first).to_be_visible()
    check_readable(page, "block-paper")
