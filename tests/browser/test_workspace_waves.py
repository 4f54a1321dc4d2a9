"""The next wave of a series and what changed, in a real Chromium."""

from __future__ import annotations

import json
import secrets
import urllib.request
from pathlib import Path

import numpy as np
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey
from hushpoll_server.collect import closing
from hushpoll_server.workspace.drafts import documents
from playwright.sync_api import Browser, expect

from tests.browser.pictures import keep_picture
from tests.browser.waiting import resize
from tests.browser.workspace_kit import QUESTION, axe, sign_in, watch
from tests.serving import LiveServer, bearer

ARTEFACTS = Path(__file__).parent.parent.parent / "artefacts" / "workspace"
REASON = {
    "id": "reason",
    "kind": "choice",
    "text": "What was the main reason?",
    "options": ["Time", "Fear of failing", "Habit"],
    "mechanism": {"epsilon": "2"},
}


def fill(server: LiveServer, survey: Survey, yes: float, seed: int) -> None:
    truth = {"q1": [1 - yes, yes], "reason": [0.5, 0.3, 0.2]}
    columns = [codes.tolist() for _, codes in simulate_survey(survey, 300, truth, seed)]
    rows = np.array(columns).T.tolist()
    lines = [json.dumps({"id": secrets.token_hex(16), "reports": row}) for row in rows]
    request = urllib.request.Request(
        f"{server.url}/api/surveys/{survey.hash}/reports/batch",
        "\n".join(lines).encode(),
        {"Content-Type": "application/x-ndjson", **bearer(server.store)},
    )
    urllib.request.urlopen(request).close()
    closing.close(server.store, survey.hash)


def test_a_survey_is_run_again_and_compared(browser: Browser, server: LiveServer) -> None:
    document = {
        **documents.blank("Exam honesty"),
        "questions": [{**QUESTION, "mechanism": {"epsilon": "2"}}, REASON],
    }
    first = documents.compiled(document)
    assert server.store.publish(first, "ines", target_n=300)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    faults = watch(page)
    sign_in(page, server, "ines")
    page.goto(f"{server.url}/surveys/{first.hash}")
    page.get_by_role("button", name="Run again: next wave").click()
    expect(page.get_by_text("This is wave 2. Its questions must stay as they are")).to_be_visible()
    page.goto(f"{page.url}/publish")
    expect(page.get_by_text("Wave 2 of “Exam honesty”, with the same questions as before.")).to_be_visible()
    page.get_by_label("I understand that a published survey cannot be changed").check()
    page.get_by_role("button", name="Publish for good").click()
    expect(page.get_by_text("Waves of this series")).to_be_visible()
    second = server.store.get_survey(server.store.waves(first.hash)[-1].hash)
    assert second is not None
    fill(server, first, 0.2, 1)
    fill(server, second, 0.8, 2)
    page.get_by_role("link", name="See what changed").click()
    expect(page.locator("table").first).to_contain_text("Change, 1 to 2")
    expect(page.locator('[data-clear="yes"]').first).to_be_visible()
    for width in (1280, 390):
        resize(page, width)
        keep_picture(page, ARTEFACTS / f"waves-{width}.png")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for language in ("de", "en"):
        page.goto(f"{server.url}/language/{language}?next=/surveys/{second.hash}/report/trend")
        # Values wrap: whoever reads on a phone need not find out that a table can be moved.
        assert page.locator(".table-responsive").evaluate_all(
            "all => all.every((one) => one.scrollWidth <= one.clientWidth)"
        )
    axe(page)
    page.goto(f"{server.url}/surveys/{second.hash}")
    keep_picture(page, ARTEFACTS / "wave-survey-390.png")
    context.close()
    assert faults == []


def test_three_waves_fit_the_table(browser: Browser, server: LiveServer) -> None:
    """With two columns of changes and three waves the last column was cut on a screen of 1280 pixels."""
    document = {
        **documents.blank("Three waves"),
        "questions": [{**QUESTION, "mechanism": {"epsilon": "2"}}, REASON],
    }
    waves = [documents.compiled(document)]
    for wave in (2, 3):
        series = {"name": "Three waves", "wave": wave, "previous": waves[-1].hash}
        waves.append(documents.compiled({**document, "series": series}))
    for number, survey in enumerate(waves):
        assert server.store.publish(survey, "ines")
        fill(server, survey, 0.2, number)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    sign_in(page, server, "ines")
    page.goto(f"{server.url}/surveys/{waves[-1].hash}/report/trend")
    expect(page.get_by_text("Wave 3:")).to_be_visible()
    tables = page.locator(".table-responsive")
    assert tables.evaluate_all("all => all.map((one) => one.scrollWidth - one.clientWidth)") == [0, 0]
    context.close()
