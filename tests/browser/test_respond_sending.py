"""Randomize once: whatever happens on the way, the same bytes are sent, and they count once."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hushpoll_client import Survey
from hushpoll_server.collect.closing import close
from hushpoll_server.collect.invitations import invite
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.respondent import (
    CHEATED,
    REASON,
    Posts,
    address,
    begin,
    draft,
    fill,
    heading,
    local_record,
    open_page,
    press_send,
    stored,
    stored_id,
)
from tests.browser.waiting import patient, until
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
REPORTS = re.compile(r"/api/surveys/[0-9a-f]{64}/reports$")


def assert_one_draw(server: LiveServer, survey: Survey, posts: Posts) -> None:
    """Every attempt had the same bytes, and the server has them once."""
    assert posts.bodies
    assert set(posts.bodies) == {posts.bodies[0]}
    record = json.loads(posts.bodies[0])
    assert stored(server, survey) == {stored_id(server, survey, record["id"]): tuple(record["reports"])}


def test_a_double_click_sends_once(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, REASON, title="Double click")
    open_page(page, address(page_server, survey))
    posts = Posts(page)
    fill(page, "Yes", "Fear")
    page.get_by_role("button", name="Send", exact=True).dblclick()
    heading(page, "Sent")
    assert len(posts.bodies) == 1
    assert_one_draw(page_server, survey, posts)
    assert local_record(page, survey) == {**json.loads(posts.bodies[0]), "state": "sent"}


def test_sending_twice_in_the_same_instant_draws_once(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, REASON, title="Same instant")
    open_page(page, address(page_server, survey))
    posts = Posts(page)
    fill(page, "Yes", "Fear")
    page.evaluate("() => { const b = document.querySelector('button[type=submit]'); b.click(); b.click(); }")
    heading(page, "Sent")
    assert len(posts.bodies) == 1
    assert_one_draw(page_server, survey, posts)


def test_reload_and_back_offer_the_same_report_again(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, REASON, title="Reload")
    patient(page)
    open_page(page, address(page_server, survey))
    posts = Posts(page)
    page.route(REPORTS, lambda route: route.abort())
    fill(page, "Yes", "Fear")
    press_send(page)
    heading(page, "Not sent yet")
    waiting = local_record(page, survey)
    assert waiting is not None
    assert waiting["state"] == "waiting"
    page.go_back()
    heading(page, "Not sent yet")
    page.reload()
    heading(page, "Not sent yet")
    page.unroute(REPORTS)
    page.get_by_role("button", name="Send now").click()
    heading(page, "Sent")
    assert len(posts.bodies) == 2
    assert_one_draw(page_server, survey, posts)
    page.reload()
    heading(page, "Sent")
    page.goto("about:blank")
    page.go_back()
    heading(page, "Sent")
    assert local_record(page, survey) == {**waiting, "state": "sent"}
    assert len(posts.bodies) == 2


def test_a_tab_that_is_lost_in_the_middle_of_sending_loses_nothing(
    context: BrowserContext, page_server: LiveServer
) -> None:
    survey = draft(CHEATED, title="Lost tab")
    link = address(page_server, survey)
    first = context.new_page()
    open_page(first, link)
    posts = Posts(first)
    held: list[Route] = []
    first.route(REPORTS, lambda route: held.append(route))
    fill(first, "No")
    press_send(first)
    expect(first.get_by_role("heading", level=1)).to_have_text("Sending…")
    first.wait_for_function("() => localStorage.length === 1")
    until(first, lambda: held)
    first.close()
    second = context.new_page()
    again = Posts(second)
    open_page(second, link)
    heading(second, "Not sent yet")
    second.get_by_role("button", name="Send now").click()
    heading(second, "Sent")
    assert again.bodies == posts.bodies
    assert_one_draw(page_server, survey, again)


def test_two_tabs_draw_once(context: BrowserContext, page_server: LiveServer) -> None:
    survey = draft(CHEATED, REASON, title="Two tabs")
    link = address(page_server, survey)
    tabs = [context.new_page(), context.new_page()]
    posts = [Posts(tab) for tab in tabs]
    for tab, choices in zip(tabs, [("Yes", "Fear"), ("No", "Time")], strict=True):
        open_page(tab, link)
        fill(tab, *choices)
    key = f"hushpoll:{survey.hash}"
    for tab in tabs:
        press_send(tab)
        heading(tab, "Sent")
        # What one tab keeps comes to the other a moment later, before anybody can have gone there.
        for open_tab in tabs:
            open_tab.wait_for_function(
                "(key) => localStorage.getItem(key)?.includes('sent')", arg=key, polling=50
            )
    assert posts[1].bodies == []  # the first tab's report counts, and has arrived
    assert_one_draw(page_server, survey, posts[0])


def test_airplane_mode_after_loading_only_delays_the_report(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Airplane")
    open_page(page, address(page_server, survey))
    posts = Posts(page)
    page.context.set_offline(True)
    fill(page, "Yes")
    press_send(page)
    heading(page, "Not sent yet")
    expect(page.locator("#problem")).to_contain_text("There is no connection.")
    assert stored(page_server, survey) == {}
    page.context.set_offline(False)  # the page notices by itself
    heading(page, "Sent")
    assert_one_draw(page_server, survey, posts)


@pytest.mark.parametrize("moment", ["before it was stored", "after it was stored"])
def test_a_server_that_dies_while_sending_loses_and_doubles_nothing(
    page: Page, either_server: LiveServer, moment: str
) -> None:
    survey = draft(CHEATED, REASON, title=f"Dies {moment}")
    open_page(page, address(either_server, survey))
    posts = Posts(page)

    died = False

    def die(route: Route) -> None:
        nonlocal died
        if died:  # what the page sends again waits until the stored reports have been looked at
            route.continue_()
            return
        died = True
        if moment == "after it was stored":
            assert route.fetch().status == 201
        either_server.kill()
        route.abort("connectionreset")

    page.route(REPORTS, die)
    fill(page, "Yes", "Habit")
    press_send(page)
    heading(page, "Not sent yet")
    either_server.start()
    assert len(stored(either_server, survey)) == (1 if moment == "after it was stored" else 0)
    # The page tries again by itself.
    expect(page.get_by_role("heading", level=1)).to_have_text("Sent")
    assert_one_draw(either_server, survey, posts)


@pytest.mark.parametrize(
    ("status", "words", "again"),
    [
        (403, "needs an invitation", True),
        (404, "does not know the survey", True),
        (409, "already holds another report", False),
        (410, "This survey is closed.", False),
        (422, "refused the report as invalid", True),
        (429, "The server is busy.", True),
        (503, "The server is busy.", True),
    ],
)
def test_every_refusal_is_explained_and_the_report_stored(
    page: Page, page_server: LiveServer, status: int, words: str, again: bool
) -> None:
    survey = draft(CHEATED, title=f"Refused {status}")
    open_page(page, address(page_server, survey))
    headers = {"Retry-After": "90"} if status in (429, 503) else {}
    page.route(REPORTS, lambda route: route.fulfill(status=status, headers=headers))
    fill(page, "Yes")
    press_send(page)
    heading(page, "Not sent yet")
    problem = page.locator("#problem")
    expect(problem).to_contain_text(words)
    expect(page.locator("#announcer")).to_have_text(problem.inner_text())
    wait = re.search(r"(\d+) seconds", problem.inner_text())
    if status in (429, 503):
        assert wait
        assert int(wait[1]) >= 90
    assert page.get_by_role("button", name="Send now").count() == int(again)
    record = local_record(page, survey)
    assert record is not None
    assert record["state"] == "waiting"


def test_a_page_of_another_server_is_not_a_receipt(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="In between")
    patient(page)
    open_page(page, address(page_server, survey))
    posts = Posts(page)
    page.route(
        REPORTS, lambda route: route.fulfill(status=200, content_type="text/html", body="Sign in!"), times=1
    )
    fill(page, "Yes")
    press_send(page)
    heading(page, "Not sent yet")
    page.get_by_role("button", name="Send now").click()
    heading(page, "Sent")
    assert_one_draw(page_server, survey, posts)


def test_clearing_this_device_removes_everything(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Clear")
    open_page(page, address(page_server, survey))
    fill(page, "Yes")
    press_send(page)
    heading(page, "Sent")
    page.locator("summary", has_text="Clear this device").click()
    expect(page.get_by_text("count you twice")).to_be_visible()
    page.get_by_role("button", name="Clear this device").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    expect(page.locator("#announcer")).to_have_text("This device is cleared.")
    assert local_record(page, survey) is None
    page.get_by_role("button", name="Start").click()
    page.locator("form").wait_for()
    assert page.locator("input:checked").count() == 0


def test_a_kiosk_stores_nothing_after_each_person(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Kiosk", kiosk=True)
    open_page(page, address(page_server, survey))
    for number, choice in enumerate(["Yes", "No"], 1):
        fill(page, choice)
        press_send(page)
        heading(page, "Sent")
        assert local_record(page, survey) is None
        assert page.get_by_text("See exactly what was sent").count() == 0
        assert len(stored(page_server, survey)) == number
        page.get_by_role("button", name="Next person").click()
    page.get_by_role("button", name="Start").click()
    page.locator("form").wait_for()
    assert page.locator("input:checked").count() == 0


@pytest.mark.parametrize("kiosk", [True, False])
def test_leaving_the_questions_of_a_kiosk_clears_the_answers(
    page: Page, page_server: LiveServer, kiosk: bool
) -> None:
    """The next person presses Start, or the browser's forward button; on one's own device the answers stay."""
    open_page(page, address(page_server, draft(CHEATED, title=f"Left, {kiosk}", kiosk=kiosk)))
    for leave in (page.get_by_role("button", name="Back").click, page.go_back):
        fill(page, "Yes")
        leave()
        expect(page.get_by_role("button", name="Start")).to_be_visible()
        # And nothing is requested once a question was seen: what explains it is here already.
        requests: list[str] = []
        page.on("request", lambda request, requests=requests: requests.append(request.url))
        page.get_by_role("button", name="How it works").click()
        page.locator("main table").first.wait_for()
        page.locator(".bar button").click()
        page.locator(".promise").wait_for()
        assert requests == []
        for again in (page.get_by_role("button", name="Start").click, page.go_forward):
            again()
            page.locator("form").wait_for()
            expect(page.locator("input:checked")).to_have_count(0 if kiosk else 1)
            page.go_back()
            expect(page.get_by_role("button", name="Start")).to_be_visible()


def test_an_attempt_under_way_does_not_touch_the_next_person(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Handed on", kiosk=True)
    patient(page)
    open_page(page, address(page_server, survey))
    posts = Posts(page)
    page.route(REPORTS, lambda route: route.abort(), times=1)
    fill(page, "Yes")
    press_send(page)
    heading(page, "Not sent yet")
    page.route(REPORTS, lambda route: None, times=1)  # the second attempt gets no answer for long
    page.evaluate("dispatchEvent(new Event('online'))")
    page.locator("summary", has_text="Clear this device").click()
    page.get_by_role("button", name="Clear this device").click()
    fill(page, "No")
    press_send(page)
    heading(page, "Sent")
    assert list(stored(page_server, survey)) == [
        stored_id(page_server, survey, json.loads(posts.bodies[-1])["id"])
    ]


def test_an_invitation_is_read_from_the_fragment(context: BrowserContext, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Invited", invitation=True)
    page = context.new_page()
    posts = Posts(page)
    link = address(page_server, survey)
    (code,) = invite(page_server.store, survey.hash, 1)
    open_page(page, link)
    expect(
        page.get_by_text("This link contains no invitation.")
    ).to_be_visible()  # before anything is answered
    expect(page.get_by_role("button", name="Start")).to_have_count(0)
    page.goto(f"{link}.{code}")  # only the fragment differs: the page has to notice
    fill(page, "Yes")
    press_send(page)
    heading(page, "Sent")
    record = local_record(page, survey)
    assert record is not None
    assert json.loads(posts.bodies[-1]) == {
        "id": record["id"],
        "reports": record["reports"],
        "invitation": code,
    }
    assert code not in json.dumps(context.storage_state(indexed_db=True))
    assert list(stored(page_server, survey)) == [stored_id(page_server, survey, record["id"])]


CODES = re.compile(r"/api/surveys/[0-9a-f]{64}/invitations/check$")


def test_an_unknown_code_is_refused_before_anything_is_typed(page: Page, page_server: LiveServer) -> None:
    """One whose report waits is not: that would show others who has answered, and when."""
    survey = draft(CHEATED, title="Told before", invitation=True)
    link = address(page_server, survey)
    (code,) = invite(page_server.store, survey.hash, 1)
    posts = Posts(page)
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url.partition("#")[0]))
    patient(page)  # the code is looked up, however long it takes
    open_page(page, f"{link}.{code}")
    fill(page, "Yes")
    press_send(page)
    heading(page, "Sent")
    assert [json.loads(body)["invitation"] for body in posts.bodies] == [code]
    assert all(code not in address for address in requested)
    page.reload()
    heading(page, "Sent")  # who has answered is not told that the code is spent
    page.locator("summary", has_text="Clear this device").click()
    page.get_by_role("button", name="Clear this device").click()
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    unknown, too_short = "unknown here, or it has been used", "This link is incomplete"
    for bad_code, message in (("x" * 20, unknown), ("a?b#c" * 4, unknown), (code[:12], too_short)):
        page.goto("about:blank")
        open_page(page, f"{link}.{bad_code}")
        heading(page, "This survey cannot be answered here")
        expect(page.locator(".notice").first).to_contain_text(message)
        assert page.get_by_role("button").count() == 0
    assert len(posts.bodies) == 1


@pytest.mark.parametrize("status", [429, 503, None])
def test_answering_works_if_a_code_cannot_be_checked(
    page: Page, page_server: LiveServer, status: int | None
) -> None:
    survey = draft(CHEATED, title=f"Looked up {status}", invitation=True)
    link = address(page_server, survey)
    (code,) = invite(page_server.store, survey.hash, 1)
    page.route(CODES, lambda route: route.fulfill(status=status) if status else route.abort())
    open_page(page, f"{link}.{code}")
    fill(page, "Yes")
    press_send(page)
    heading(page, "Sent")


def test_without_storage_the_page_warns_and_sends_once(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Keeps nothing")
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no') } })")
    patient(page)
    open_page(page, address(page_server, survey))
    posts = Posts(page)
    page.route(REPORTS, lambda route: route.abort(), times=1)
    fill(page, "Yes")
    expect(page.get_by_text("Stay on this page until it says")).to_be_visible()
    press_send(page)
    heading(page, "Not sent yet")
    page.get_by_role("button", name="Send now").click()
    heading(page, "Sent")
    assert len(posts.bodies) == 2
    assert_one_draw(page_server, survey, posts)


def test_something_else_under_our_name_is_ignored(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Damaged")
    open_page(page, address(page_server, survey))
    for damage in ["nonsense", "{}", '{"id":"x","reports":[1],"state":"sent"}', "null", '[["a"]]']:
        page.evaluate(
            "([key, value]) => localStorage.setItem(key, value)", [f"hushpoll:{survey.hash}", damage]
        )
        page.reload()
        expect(page.get_by_role("button", name="Start")).to_be_visible()


def test_a_closed_survey_asks_nothing_but_accepts_waiting_reports(
    page: Page, page_server: LiveServer
) -> None:
    survey = draft(CHEATED, title="Closes")
    patient(page)
    open_page(page, address(page_server, survey))
    posts = Posts(page)
    # Stored, but nobody hears of it.
    page.route(REPORTS, lambda route: (route.fetch(), route.abort()), times=1)
    fill(page, "Yes")
    press_send(page)
    heading(page, "Not sent yet")
    close(page_server.store, survey.hash)
    page.reload()
    heading(page, "Not sent yet")
    page.get_by_role("button", name="Send now").click()
    heading(page, "Sent")
    assert set(posts.bodies) == {posts.bodies[0]}
    page.locator("summary", has_text="Clear this device").click()
    page.get_by_role("button", name="Clear this device").click()
    page.reload()
    heading(page, "Closes")
    expect(page.locator("main .notice")).to_have_text("This survey is closed")
    assert page.get_by_role("button").count() == 0


def test_a_waiting_report_of_an_older_release_is_sent_unchanged(page: Page, page_server: LiveServer) -> None:
    """The document, its hash and the record as a browser kept them before forms and mechanisms became objects."""
    old = json.loads((Path(__file__).parent / "waiting_record.json").read_text(encoding="ascii"))
    survey = Survey.from_published(old["document"].encode(), old["hash"])
    link = address(page_server, survey)
    page.goto(f"{page_server.url}/healthz")
    page.evaluate("([key, value]) => localStorage.setItem(key, value)", [old["key"], old["value"]])
    open_page(page, link)
    heading(page, "Not sent yet")
    posts = Posts(page)
    page.get_by_role("button", name="Send now").click()
    heading(page, "Sent")
    assert posts.bodies == [old["body"]]
    assert_one_draw(page_server, survey, posts)
    assert local_record(page, survey) == {**json.loads(old["value"]), "state": "sent"}
    page.locator("summary", has_text="See exactly").click()
    assert "Recorded as: Habit" in page.locator("main").inner_text()


def test_a_waiting_report_with_a_block_and_a_group_is_sent_unchanged(
    page: Page, page_server: LiveServer
) -> None:
    """Written on 18 November 2026: the drawn questions of a block, a group, a rank and a bitmap."""
    old = json.loads((Path(__file__).parent / "waiting_block_record.json").read_text(encoding="ascii"))
    survey = Survey.from_published(old["document"].encode(), old["hash"])
    link = address(page_server, survey) + ".g1"
    page.goto(f"{page_server.url}/healthz")
    page.evaluate("(items) => Object.assign(localStorage, items)", old["storage"])
    open_page(page, link)
    heading(page, "Not sent yet")
    posts = Posts(page)
    page.get_by_role("button", name="Send now").click()
    heading(page, "Sent")
    assert posts.bodies == [old["body"]]
    page.locator("summary", has_text="See exactly").click()
    expect(page.locator("main")).to_contain_text("t6")


def test_a_sent_report_stored_by_an_older_release_is_removed_with_the_tab(
    context: BrowserContext, page_server: LiveServer
) -> None:
    old = json.loads((Path(__file__).parent / "waiting_record.json").read_text(encoding="ascii"))
    survey = Survey.from_published(old["document"].encode(), old["hash"])
    sent = {**json.loads(old["value"]), "state": "sent"}
    page = context.new_page()
    link = address(page_server, survey)
    page.goto(f"{page_server.url}/healthz")
    page.evaluate("([key, value]) => localStorage.setItem(key, value)", [old["key"], json.dumps(sent)])
    open_page(page, link)
    heading(page, "Sent")
    assert page.get_by_text("See exactly what was sent").count() == 1
    assert local_record(page, survey) == sent
    page.reload()
    heading(page, "Sent")
    assert page.get_by_text("See exactly what was sent").count() == 1
    page.close()
    later = context.new_page()
    open_page(later, link)
    heading(later, "Sent")
    assert later.get_by_text("See exactly what was sent").count() == 0
    assert local_record(later, survey) == {"id": sent["id"], "state": "sent"}


FAULT = {
    "en": ["This is an error in this page, not yours", "Nothing was sent."],
    "fr": ["La faute vient de cette page, pas de vous", "Rien n’a été envoyé."],
    "de": ["Das ist ein Fehler dieser Seite, nicht Ihrer", "Es wurde nichts gesendet."],
    "es": ["Es un fallo de esta página, no suyo", "No se ha enviado nada."],
    "ar": ["هذا خطأ في هذه الصفحة وليس منك", "لم يُرسَل شيء."],
}


@pytest.mark.parametrize("language", FAULT)
def test_a_fault_of_the_page_is_reported_and_the_form_stays(
    page: Page, page_server: LiveServer, language: str
) -> None:
    survey = draft(CHEATED, REASON, title=f"Fault {language}")
    open_page(page, address(page_server, survey).replace("#", f"?lang={language}#"))
    posts = Posts(page)
    begin(page)
    for group in page.get_by_role("group").all():
        group.locator("input").last.check()
    page.evaluate(
        "() => { globalThis.pad = String.prototype.padStart; String.prototype.padStart = () => { throw new Error() } }"
    )
    send = page.locator("button[type=submit]")
    send.click()
    alert = page.get_by_role("alert")
    expect(alert).to_be_focused()
    for words in FAULT[language]:
        expect(alert).to_contain_text(words)
    assert posts.bodies == []
    assert local_record(page, survey) is None
    assert page.locator("input:checked").count() == 2  # nothing has to be filled in again
    page.evaluate("() => { String.prototype.padStart = globalThis.pad }")
    send.click()
    page.locator(".done").wait_for()
    assert_one_draw(page_server, survey, posts)


def test_a_fault_while_loading_shows_a_message(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Fault while loading")
    page.add_init_script("Number.prototype.toLocaleString = () => { throw new Error('none') }")
    open_page(page, address(page_server, survey))
    heading(page, "This survey cannot be answered here")
    assert "This is an error in this page, not yours" in page.locator("main").inner_text()
    assert page.locator("form, fieldset").count() == 0


def test_nothing_is_drawn_without_a_safe_source_of_chance(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="No chance")
    page.add_init_script("Crypto.prototype.getRandomValues = () => { throw new Error('none') }")
    open_page(page, address(page_server, survey))
    posts = Posts(page)
    fill(page, "Yes")
    press_send(page)
    heading(page, "This survey cannot be answered here")
    assert "no secure random numbers" in page.locator("main").inner_text()
    assert posts.bodies == []
    assert local_record(page, survey) is None
