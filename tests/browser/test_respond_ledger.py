"""The ledger on the respondent's device: what surveys of one server add up to, shown before Start."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from hushpoll_client import Survey
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.pictures import keep_picture
from tests.browser.respondent import (
    ARTEFACTS,
    CHEATED,
    TAX,
    address,
    draft,
    fill,
    heading,
    open_page,
    press_send,
)
from tests.browser.waiting import until
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
KEY = "hushpoll:ledger"


def ledger(page: Page) -> Any:
    return page.evaluate("(key) => JSON.parse(localStorage.getItem(key))", KEY)


def answered(page: Page, server: LiveServer, survey: Survey) -> None:
    """Answer a survey and wait until its line stands in the ledger."""
    lines = len((ledger(page) or {"entries": []})["entries"]) if page.url.startswith("http") else 0
    open_page(page, address(server, survey))
    fill(page, "Yes")
    press_send(page)
    heading(page, "Sent")
    page.wait_for_function(
        "([key, lines]) => (JSON.parse(localStorage.getItem(key))?.entries.length ?? 0) > lines",
        arg=[KEY, lines],
    )


def test_renamed_copies_of_one_question_add_up_before_start(page: Page, page_server: LiveServer) -> None:
    """Three copies under three titles: each has its own hash, and each costs ln 3 again."""
    copies = [draft(CHEATED, title=f"Copy {number}") for number in range(3)]
    open_page(page, address(page_server, copies[0]))
    expect(page.get_by_text("Surveys answered on this device before")).to_have_count(0)
    for number, survey in enumerate(copies[:2], 1):
        answered(page, page_server, survey)
        assert len(ledger(page)["entries"]) == number
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    open_page(page, address(page_server, copies[2]))
    notice = page.get_by_text("Surveys answered on this device before: 2;")
    expect(notice).to_be_visible()
    total = math.ceil(100 * 3 * math.log(3)) / 100
    expect(notice).to_contain_text(f"with this one, epsilon adds up to {total:g}.")
    assert "notice" not in (notice.get_attribute("class") or ""), "a warning colour only above 5"
    page.set_viewport_size({"width": 390, "height": 844})
    keep_picture(page, ARTEFACTS / "ledger-390.png")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # Between loading and Send nothing is requested, also with a ledger.
    page.wait_for_load_state("networkidle")
    requests.clear()
    fill(page, "No")
    assert requests == []


def test_a_ledger_of_an_earlier_version_counts(page: Page, page_server: LiveServer) -> None:
    """Written on 18 November 2026, after a survey with an epsilon of 1."""
    old = {
        "salt": "f9645a3f9084fc4a883f8adfbd031217",
        "entries": [["3ff3ba5d3a8cb863", 0.9999999999999994, "2026-11-18"]],
    }
    page.goto(f"{page_server.url}/healthz")
    page.evaluate("([key, value]) => localStorage.setItem(key, value)", [KEY, json.dumps(old)])
    answered(page, page_server, draft(CHEATED))
    now = ledger(page)
    assert now["salt"] == old["salt"]
    assert now["entries"][:1] == old["entries"]
    assert len(now["entries"]) == 2


def test_the_ledger_names_no_survey_and_holds_no_answer(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Named nowhere")
    answered(page, page_server, survey)
    stored = ledger(page)
    assert set(stored) == {"salt", "entries"}
    assert re.fullmatch("[0-9a-f]{32}", stored["salt"])
    ((digest, epsilon, day),) = stored["entries"]
    assert re.fullmatch("[0-9a-f]{16}", digest)
    assert digest not in survey.hash
    assert survey.hash[:8] not in json.dumps(stored)
    assert epsilon == pytest.approx(math.log(3))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    page.reload()
    heading(page, "Sent")
    assert ledger(page) == stored, "seen again is not sent again"


def test_a_report_that_two_tabs_deliver_is_one_line(context: BrowserContext, page_server: LiveServer) -> None:
    """Once, each tab added a line and the next survey showed twice the cost."""
    link, held = address(page_server, draft(CHEATED, title="In two tabs")), list[Route]()
    context.route("**/api/surveys/*/reports", lambda route: held.append(route))
    tabs = [context.new_page(), context.new_page()]
    open_page(tabs[0], link)
    fill(tabs[0], "Yes")
    press_send(tabs[0])
    until(tabs[0], lambda: len(held) == 1)
    open_page(tabs[1], link)
    tabs[1].get_by_role("button", name="Send now").click()
    until(tabs[1], lambda: len(held) == 2)
    for route in held:
        route.continue_()
    for tab in tabs:
        heading(tab, "Sent")
        # Here after the page's own, which was asked for first and then noted.
        tab.evaluate(
            "() => import(new URL('ledger.js', document.querySelector('script[src]').src)).then(() => 0)"
        )
    assert len(ledger(tabs[0])["entries"]) == 1


def test_clearing_the_device_empties_the_ledger(page: Page, page_server: LiveServer) -> None:
    answered(page, page_server, draft(CHEATED, title="Cleared"))
    page.locator("summary", has_text="Clear this device").click()
    page.get_by_role("button", name="Clear this device").click()
    assert page.evaluate("() => localStorage.length") == 0
    open_page(page, address(page_server, draft(CHEATED, title="After clearing")))
    expect(page.get_by_text("Surveys answered on this device before")).to_have_count(0)


def test_a_pending_entry_is_not_added_after_clearing(page: Page, page_server: LiveServer) -> None:
    """What writes it is brought after the report has arrived, which over a slow line takes as long as clearing."""
    held: list[Route] = []
    page.route("**/respond/ledger.js", lambda route: held.append(route))
    open_page(page, address(page_server, draft(CHEATED, title="Cleared at once")))
    fill(page, "Yes")
    press_send(page)
    heading(page, "Sent")
    until(page, lambda: held)
    page.locator("summary", has_text="Clear this device").click()
    page.get_by_role("button", name="Clear this device").click()
    with page.expect_response("**/respond/ledger.js"):
        held[0].continue_()
    page.wait_for_timeout(500)  # time enough for a line that must not come
    assert page.evaluate("() => localStorage.length") == 0


def test_a_shared_device_has_no_ledger(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Kiosk without a ledger", kiosk=True)
    open_page(page, address(page_server, survey))
    fill(page, "Yes")
    press_send(page)
    heading(page, "Sent")
    page.wait_for_timeout(500)  # time enough for a line that must not come
    assert page.evaluate("() => localStorage.length") == 0


def test_a_survey_without_a_limit_is_shown_as_unbounded(page: Page, page_server: LiveServer) -> None:
    answered(page, page_server, draft(CHEATED, title="Bounded"))
    open_page(page, address(page_server, draft(TAX, title="Unbounded")))
    expect(page.locator(".notice", has_text="epsilon adds up to unbounded")).to_be_visible()


def test_a_total_above_five_has_a_warning_colour(page: Page, page_server: LiveServer) -> None:
    costly = {**CHEATED, "mechanism": {"name": "warner", "epsilon": "4"}}
    answered(page, page_server, draft(costly, title="Four"))
    open_page(page, address(page_server, draft(CHEATED, title="And ln 3")))
    expect(page.locator(".notice", has_text="epsilon adds up to 5.1.")).to_be_visible()


@pytest.mark.parametrize(
    "damage", ["", "null", "[]", '{"salt":1,"entries":[]}', '{"salt":"' + "0" * 32 + '","entries":[[1]]}']
)
def test_a_damaged_ledger_is_ignored(page: Page, page_server: LiveServer, damage: str) -> None:
    survey = draft(CHEATED, title=f"Damaged {damage}")
    open_page(page, address(page_server, survey))
    page.evaluate("([key, value]) => localStorage.setItem(key, value)", [KEY, damage])
    page.reload()
    fill(page, "Yes")
    press_send(page)
    heading(page, "Sent")
    page.wait_for_function(
        "(key) => JSON.parse(localStorage.getItem(key) || null)?.entries?.length === 1", arg=KEY
    )


NOTICES = {
    "fr": "Enquêtes déjà remplies sur cet appareil",
    "de": "Auf diesem Gerät schon beantwortete Umfragen",
    "es": "Encuestas ya respondidas en este dispositivo",
    "ar": "أُجيب عنها على هذا الجهاز",
}


@pytest.mark.parametrize("language", NOTICES)
def test_the_notice_is_shown_in_every_language(page: Page, page_server: LiveServer, language: str) -> None:
    answered(page, page_server, draft(CHEATED, title=f"First {language}"))
    survey = draft(CHEATED, title=f"Second {language}")
    link = address(page_server, survey)
    page.goto(link.replace("#", f"?lang={language}#"))
    notice = page.get_by_text(NOTICES[language])
    expect(notice).to_be_visible()
    assert "{" not in (notice.text_content() or "")
