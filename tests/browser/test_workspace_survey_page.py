"""The page of a published survey in a real Chromium: invitations after a refusal, and room between its parts."""

from __future__ import annotations

import json
import secrets
import urllib.request
from typing import Any

import pytest
from hushpoll_client import Survey
from hushpoll_server.collect.closing import close
from playwright.sync_api import Page, expect

from tests.browser.workspace_kit import QUESTION
from tests.serving import LiveServer, bearer

pytestmark = pytest.mark.browser


def published(server: LiveServer, title: str, **more: Any) -> Survey:
    survey = Survey.from_draft({"hushpoll": 1, "title": title, "questions": [QUESTION], **more})
    server.store.publish(survey, "ines")
    return survey


def test_invitations_are_counted_after_a_refused_number(designer: Page, server: LiveServer) -> None:
    """The page went on saying "0 made, 0 used", and a reload led to a 405."""
    survey = published(server, "Invited", settings={"kiosk": False, "invitation": True})
    designer.goto(f"{server.url}/surveys/{survey.hash}")
    make = designer.get_by_role("button", name="Make invitations and download the list")
    designer.get_by_label("Number of codes").fill("100000000")
    make.click()
    expect(designer.locator(".error-summary")).to_be_visible()
    designer.get_by_label("Number of codes").fill("5")
    with designer.expect_download():
        make.click()
    expect(designer.locator("#codes-count")).to_have_text("5 made, 0 used.")
    answer = designer.goto(f"{server.url}/surveys/{survey.hash}/invitations")
    assert answer is not None
    assert answer.status == 200
    expect(designer.locator("#codes-count")).to_have_text("5 made, 0 used.")


def send_reports(server: LiveServer, survey: Survey, number: int) -> None:
    """Send reports of two groups, half of them Yes."""
    lines = [
        json.dumps({"id": secrets.token_hex(16), "reports": [index // 2 % 2], "group": index % 2})
        for index in range(number)
    ]
    request = urllib.request.Request(
        f"{server.url}/api/surveys/{survey.hash}/reports/batch",
        "\n".join(lines).encode(),
        {"Content-Type": "application/x-ndjson", **bearer(server.store)},
    )
    urllib.request.urlopen(request).close()


def gap(page: Page, above: str, below: str) -> float:
    """The room between two parts of a page, in pixels."""
    first, second = page.locator(above).first.bounding_box(), page.locator(below).first.bounding_box()
    assert first is not None
    assert second is not None
    return second["y"] - first["y"] - first["height"]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_choice_of_a_group_is_separate_from_the_waves(
    designer: Page, server: LiveServer, width: int
) -> None:
    groups = ["North", "South"]
    first = published(server, f"Waves {width}", groups=groups)
    series = {"name": f"Waves {width}", "wave": 2, "previous": first.hash}
    second = published(server, f"Waves {width}", groups=groups, series=series)
    for survey in (first, second):
        send_reports(server, survey, 200)
        close(server.store, survey.hash)
    designer.set_viewport_size({"width": width, "height": 900})
    designer.goto(f"{server.url}/surveys/{second.hash}/report/trend")
    expect(designer.get_by_role("heading", name="Have you?")).to_be_visible()
    assert gap(designer, "form.report-tool", "section.card-plain") >= 12


@pytest.mark.parametrize("width", [390, 1280])
def test_the_text_below_the_codes_has_room(designer: Page, server: LiveServer, width: int) -> None:
    survey = published(server, f"Handed out {width}", groups=["North", "South"])
    designer.set_viewport_size({"width": width, "height": 900})
    designer.goto(f"{server.url}/surveys/{survey.hash}")
    assert gap(designer, ".qr-row:last-of-type", ".qr-row:last-of-type + *") >= 8
