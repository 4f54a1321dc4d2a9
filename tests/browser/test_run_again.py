"""The next wave of a series and what changed, in a real Chromium."""

from __future__ import annotations

import json
import secrets
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from hushpoll_analysis.channel.population import simulate_survey
from hushpoll_client import Survey
from hushpoll_server.collect import closing
from hushpoll_server.people import accounts
from hushpoll_server.workspace import drafts
from playwright.sync_api import Browser, expect

from tests.serving import LiveServer, bearer

from .test_workspace import PASSWORD, QUESTION, sign_in, watch

ARTEFACTS = Path(__file__).parent.parent.parent / "artefacts" / "workspace"
REASON = {
    "id": "reason",
    "kind": "choice",
    "text": "What was the main reason?",
    "options": ["Time", "Fear of failing", "Habit"],
    "mechanism": {"epsilon": "2"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    live = LiveServer(tmp_path_factory.mktemp("waves"), SEAL_EVERY="86400")
    accounts.add_user(live.store, "ines", "designer", PASSWORD)
    live.start()
    yield live
    live.close()


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


def test_run_again_and_see_what_changed(browser: Browser, server: LiveServer) -> None:
    document = {
        **drafts.blank("Exam honesty"),
        "questions": [{**QUESTION, "mechanism": {"epsilon": "2"}}, REASON],
    }
    first = drafts.compiled(document)
    assert server.store.publish(first, "ines", target_n=300)
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(30_000)
    page = context.new_page()
    faults = watch(page)
    sign_in(page, server, "ines")
    page.goto(f"{server.url}/surveys/{first.hash}")
    page.get_by_role("button", name="Run again: next wave").click()
    expect(page.get_by_text("This is wave 2. Its questions must stay as they are")).to_be_visible()
    draft = page.url
    page.goto(f"{draft}/publish")
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
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=ARTEFACTS / f"waves-{width}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.goto(f"{server.url}/surveys/{second.hash}")
    page.screenshot(path=ARTEFACTS / "wave-survey-390.png", full_page=True)
    context.close()
    assert faults == []
