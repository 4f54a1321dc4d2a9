"""The designer's way in a real Chromium: from signing in to the closed survey, with and without JavaScript."""

from __future__ import annotations

import datetime
import re
from itertools import product

from hushpoll_client import Report
from hushpoll_server.i18n.languages import WORKSPACE_LANGUAGES
from hushpoll_server.i18n.translation import LANGUAGE_COOKIE
from hushpoll_server.people import sharing
from hushpoll_server.workspace.drafts import documents, storage
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect

from tests.browser.waiting import patient, width_of
from tests.browser.workspace_kit import (
    QUESTION,
    axe,
    check_readable,
    make_draft,
    shoot,
    sign_in,
    watched,
)
from tests.serving import LiveServer

DECOY = {
    "id": "q2",
    "kind": "yes_no",
    "text": "Did you?",
    "mechanism": {"name": "or_poll", "decoy": "Born in spring?", "decoy_share": "0.25", "epsilon": "1"},
}


# The whole way --------------------------------------------------------------------------------------------------


def test_from_signing_in_to_the_closed_survey(
    designer: Page, server: LiveServer, context: BrowserContext
) -> None:
    page = designer
    page.get_by_role("link", name=re.compile("first survey|New survey")).first.click()
    page.get_by_role("button", name="Blank survey").click()

    # Questions: one of each kind, the second moved up.
    page.get_by_label("Title", exact=True).fill("How we work")
    page.get_by_label(re.compile("^Introduction")).fill("Two questions about last month.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice-done")).to_have_text("Saved.")
    page.get_by_role("link", name="Around the questions").click()
    expect(page.get_by_label("One at a time")).to_be_checked()
    page.get_by_label("All on one page").check()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Back to the questions").click()
    page.get_by_role("button", name="Yes or no").click()
    page.get_by_label("Question", exact=True).fill("Did you work unpaid hours?")
    preview = page.frame_locator("#live-preview iframe")
    expect(preview.get_by_text("Did you work unpaid hours?")).to_be_visible()
    page.get_by_role("button", name="Add the question").click()
    page.get_by_role("button", name="One choice out of several").click()
    page.get_by_label("Question", exact=True).fill("Would you say so openly?")
    page.get_by_label("Options", exact=True).fill("Yes, always\nOnly to friends\nNo")
    page.get_by_label("Offer “Prefer not to say”").check()
    page.get_by_role("button", name="Add the question").click()
    page.get_by_role("button", name="Move question 2 up").click()
    expect(page.locator(".question-card h3").first).to_have_text("Would you say so openly?")

    # Privacy and accuracy: the slider moves the figures, a margin gives each question the epsilon that it needs.
    page.get_by_role("link", name="Next: privacy and accuracy").click()
    slider = page.get_by_role("slider")
    expect(slider).to_be_visible()
    page.get_by_text("Details for experts").click()
    margin = page.locator("[data-readout=margin]")
    before = margin.text_content()
    page.get_by_label("How many answers do you expect?").fill("2000")
    expect(margin).not_to_have_text(before or "")
    total = page.locator("[data-readout=total]")
    slider.focus()
    page.keyboard.press("End")
    expect(total).to_have_text("11.2")
    expect(page.locator("[data-warning]")).to_be_visible()
    expect(slider).to_have_attribute("aria-valuetext", "epsilon 5.6")
    page.keyboard.press("Home")
    expect(total).to_have_text("0.5")
    expect(page.locator("[data-warning]")).to_be_hidden()
    page.get_by_label("What margin do you need?").fill("6")
    expect(page.locator("[data-readout=sentence]")).to_contain_text("About 2,000 people, ±6 points")
    expect(page.locator("[data-readout=verdict]")).to_have_text("This is as precise as you need.")
    expect(slider).to_have_attribute("aria-valuetext", "each question its own epsilon")

    # Preview, rehearsal, publish.
    page.get_by_role("link", name="Next: preview").click()
    phone = page.frame_locator(".phone iframe")
    phone.get_by_role("button", name="Start").click()
    for choice in ("No", "Yes"):
        phone.get_by_label(choice, exact=True).last.check()
    phone.get_by_label("No", exact=True).first.check()
    phone.get_by_role("button", name="Send").click()
    expect(phone.get_by_text("This is a preview. Nothing can be sent from here.").last).to_be_attached()
    page.get_by_role("link", name="Next: rehearse the report").click()
    expect(page.locator(".rehearsal-table .whisker")).to_have_count(5)
    page.get_by_role("link", name="Next: publish").click()
    page.get_by_label("I understand that a published survey cannot be changed").check()
    page.get_by_role("button", name="Publish for good").dblclick()

    # Share and monitor.
    expect(page.get_by_role("heading", name="How we work")).to_be_visible()
    link = page.get_by_label("The link").input_value()
    survey_hash = link.rpartition("#")[2]
    assert link == f"{server.url}/s/{survey_hash[:12]}#{survey_hash}"
    survey = server.store.get_survey(survey_hash)
    assert survey is not None
    assert sum(state.title == "How we work" for state in server.store.list_surveys()) == 1
    assert server.store.count(survey_hash) == 0, "the preview sent nothing"
    expect(page.get_by_alt_text("QR code of the survey's link")).to_be_visible()
    assert width_of(page.get_by_alt_text("QR code of the survey's link")) > 0
    page.get_by_label("Account name").fill("olu")
    page.get_by_role("button", name="Share with this account").click()
    expect(page.get_by_role("button", name="Remove olu")).to_be_visible()

    # A respondent answers through the link.
    respondent = context.new_page()
    respondent.goto(link)
    respondent.get_by_role("button", name="Start").click()
    respondent.get_by_label("No", exact=True).first.check()
    respondent.get_by_label("Yes", exact=True).last.check()
    respondent.get_by_role("button", name="Send").click()
    expect(respondent.get_by_role("heading", name="Sent")).to_be_visible()
    page.reload()
    expect(page.locator(".big-number")).to_contain_text("1 of 2,000 expected")

    # Close: planned first, then now.
    last = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=2)
    page.get_by_label("After a date").check()
    page.get_by_label("Last day (UTC)").fill(last.isoformat())
    page.locator("#close").get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".notice-done")).to_be_visible()
    expect(page.get_by_label("Last day (UTC)")).to_have_value(last.isoformat())
    page.get_by_role("link", name="Close now").click()
    page.get_by_role("button", name="Close the survey").click()
    expect(page.get_by_text("takes no more reports")).to_be_visible()
    late = Report.new(survey, [0, 0]).to_bytes()
    answer = respondent.request.post(
        f"{server.url}/api/surveys/{survey_hash}/reports",
        data=late,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status == 410


# Every page -----------------------------------------------------------------------------------------------------


def every_page(server: LiveServer) -> dict[str, str]:
    """The pages of the workspace, each with its path, on a store that has something of everything."""
    store = server.store
    draft = make_draft(store, "Two questions", QUESTION, DECOY)
    empty = make_draft(store, "Nothing yet")
    survey = make_draft(store, "Published", QUESTION, DECOY).survey()
    store.publish(survey, "ines", target_n=500)
    invited = {
        **documents.blank("Invited"),
        "questions": [QUESTION],
        "settings": {"invitation": True, "kiosk": False},
    }
    by_invitation = storage.create(store, "ines", invited).survey()
    store.publish(by_invitation, "ines")
    at, of = f"/drafts/{draft.id}", f"/surveys/{survey.hash}"
    return {
        "home": "/surveys",
        "new": "/surveys/new",
        "draft": at,
        "draft-empty": f"/drafts/{empty.id}",
        "question-new": f"{at}/questions/new",
        "question": f"{at}/questions/q2",
        "privacy": f"{at}/privacy",
        "privacy-empty": f"/drafts/{empty.id}/privacy",
        "phone": f"{at}/phone",
        "rehearsal": f"{at}/rehearsal",
        "publish": f"{at}/publish",
        "delete": f"{at}/delete",
        "edit-question": f"{at}?edit=q1",
        "add-question": f"{at}?add=0",
        "survey": of,
        "survey-invited": f"/surveys/{by_invitation.hash}",
        "close": f"{of}/close",
        "poster": f"{of}/poster",
        "search": "/surveys?q=nowhere",
        "archive": "/surveys?archived=yes",
        "manual": "/docs/designers",
        "account": "/account",
        "accounts": "/accounts",
        "audit-log": "/audit-log",
    }


def test_pages_are_light_the_first_time_and_lighter_after(browser: Browser, server: LiveServer) -> None:
    """What goes over the wire, headers included. The preview is the respondent's own page, which has its own limits."""
    pages = every_page(server)
    with browser.new_context() as context:
        page = context.new_page()
        sign_in(page, server, "root")
        names = ("home", "draft", "question", "privacy", "rehearsal", "survey")
        for language, name in product(WORKSPACE_LANGUAGES, names):
            context.add_cookies([{"name": LANGUAGE_COOKIE, "value": language, "url": server.url}])
            context.new_cdp_session(page).send("Network.clearBrowserCache")
            first, after = (weight(page, server.url + pages[name]) for _ in range(2))
            print(f"{name} ({language}): {first:.0f} bytes the first time, {after:.0f} after")
            assert 30_000 < first <= 70_000, name
            assert after <= 15_000, name


def weight(page: Page, url: str) -> float:
    """Load a page; return the bytes that came over the wire for itself, not for a page inside it."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    frames: dict[str, str] = {}
    sizes: dict[str, float] = {}
    session.on(
        "Network.requestWillBeSent", lambda event: frames.update({event["requestId"]: event["frameId"]})
    )
    session.on(
        "Network.loadingFinished",
        lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}),
    )
    page.goto(url)
    page.wait_for_load_state("networkidle")
    main_frame = session.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
    session.detach()
    # What the page before had begun to ask for is not its own either.
    return sum(size for request, size in sizes.items() if frames.get(request) == main_frame)


def test_axe_finds_nothing_and_nothing_overflows_on_any_page(browser: Browser, server: LiveServer) -> None:
    with watched(browser) as page:
        page.goto(f"{server.url}/sign-in")
        check_readable(page, "sign-in")
        sign_in(page, server, "root")
        for name, path in every_page(server).items():
            page.goto(server.url + path)
            check_readable(page, name)


def test_a_refused_form_is_announced_linked_and_free_of_violations(
    designer: Page, server: LiveServer
) -> None:
    page = designer
    draft = make_draft(server.store, "Refused", QUESTION)
    page.goto(f"{server.url}/drafts/{draft.id}/questions/new")
    page.get_by_label("Question", exact=True).fill("With a decoy?")
    page.get_by_text("How the answer is randomized").click()
    page.get_by_label("OR-poll").check()
    page.get_by_role("button", name="Add the question").click()
    summary = page.get_by_role("alert")
    expect(summary).to_be_focused()
    summary.get_by_role("link", name="Share").click()
    field = page.get_by_label("Share", exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Question", exact=True)).to_have_value("With a decoy?")
    axe(page)
    shoot(page, "question-refused")


def test_everything_works_without_javascript(browser: Browser, server: LiveServer) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = context.new_page()
    sign_in(page, server, "ines")
    page.goto(f"{server.url}/surveys/new")
    page.get_by_role("button", name="Use this template").first.click()
    page.get_by_role("button", name="Duplicate question 1").click()
    page.get_by_role("button", name="Delete question 2").click()
    expect(page.get_by_text("Question deleted. You can undo this.")).to_be_visible()
    page.get_by_role("link", name="Edit question 1").click()
    page.get_by_role("link", name="All settings of question 1").click()
    page.get_by_text("How the answer is randomized").click()
    page.get_by_label("Warner's randomized response").check()
    page.get_by_label("Its epsilon follows").uncheck()
    page.get_by_label("Epsilon of this question").fill("0.5")
    page.get_by_role("button", name="Save the question").click()
    page.get_by_role("link", name="Next: privacy and accuracy").click()
    page.get_by_label("Privacy level").select_option("2.8")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Details for experts").click()
    expect(page.locator("[data-readout=total]")).to_have_text("3.3")
    shoot(page, "privacy-without-javascript")
    page.get_by_role("link", name="Next: preview").click()
    page.get_by_role("link", name="Next: rehearse the report").click()
    with page.expect_navigation():
        page.get_by_role("button", name="Rehearse again").click()
    page.get_by_role("link", name="Next: publish").click()
    page.get_by_label("I understand").check()
    page.get_by_label("To publish it anyway, type: this protects little").fill("this protects little")
    page.get_by_role("button", name="Publish for good").click()
    expect(page.get_by_label("The link")).to_have_value(re.compile(r"/s/([0-9a-f]{12})#\1[0-9a-f]{52}$"))
    context.close()


def test_two_tabs_cannot_overwrite_each_other(designer: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Tabs", QUESTION)
    first, second = designer, designer.context.new_page()
    for tab in (first, second):
        tab.goto(f"{server.url}/drafts/{draft.id}")
    first.get_by_label("Title", exact=True).fill("From the first tab")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_role("heading", level=1)).to_have_text("From the first tab")
    second.get_by_label("Title", exact=True).fill("From the second tab")
    second.get_by_role("button", name="Save").click()
    expect(second.get_by_role("alert")).to_contain_text("changed in another tab")
    expect(second.get_by_label("Title", exact=True)).to_have_value("From the second tab")
    stored = storage.find(server.store, draft.id)
    assert stored is not None
    assert stored.title == "From the first tab"


def test_leaving_with_an_unsaved_title_asks_first(designer: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Unsaved", QUESTION)
    patient(designer, 500)  # nothing is saved by itself before somebody leaves
    dialogs: list[str] = []
    designer.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.dismiss()))
    designer.goto(f"{server.url}/drafts/{draft.id}")
    designer.get_by_label("Title", exact=True).fill("Typed")
    designer.get_by_role("link", name="Next: privacy and accuracy").click(no_wait_after=True)
    expect(designer.get_by_label("Title", exact=True)).to_have_value("Typed")
    designer.get_by_role("button", name="Save").click()
    expect(designer.get_by_role("heading", name="Typed")).to_be_visible()
    designer.get_by_role("link", name="Next: privacy and accuracy").click()
    expect(designer.get_by_role("slider")).to_be_visible()
    assert dialogs == ["beforeunload"]


def test_leaving_with_an_unsaved_question_asks_first(designer: Page, server: LiveServer) -> None:
    draft = make_draft(server.store, "Unsaved question", QUESTION)
    patient(designer, 500)
    dialogs: list[str] = []
    designer.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.dismiss()))
    with designer.expect_response("**/live.json"):  # what the page sends when it comes is not what is typed
        designer.goto(f"{server.url}/drafts/{draft.id}/questions/{QUESTION['id']}")
    text = designer.get_by_label("Question", exact=True)
    text.fill("Have you ever?")
    designer.get_by_role("link", name="Back to the questions").click(no_wait_after=True)
    expect(text).to_have_value("Have you ever?")
    designer.get_by_role("button", name="Save the question").click()
    expect(designer.get_by_role("heading", name="Have you ever?")).to_be_visible()
    assert dialogs == ["beforeunload"]


def test_an_analyst_reads_shared_surveys_and_can_change_nothing(browser: Browser, server: LiveServer) -> None:
    survey = make_draft(server.store, "For olu", QUESTION).survey()
    server.store.publish(survey, "ines", target_n=100)
    sharing.share(server.store, survey.hash, "olu", actor="ines")
    context = browser.new_context()
    page = context.new_page()
    sign_in(page, server, "olu")
    expect(page.get_by_role("link", name="New survey")).to_have_count(0)
    page.get_by_role("link", name="For olu").click()
    expect(page.get_by_role("heading", name="So far")).to_be_visible()
    expect(page.get_by_role("heading", name="Hand it out")).to_have_count(0)
    expect(page.get_by_role("link", name="Close now")).to_have_count(0)
    axe(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.go_back()
    page.reload()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    context.close()


def test_no_page_asks_another_machine_or_opens_a_dialog(designer: Page, server: LiveServer) -> None:
    hosts: set[str] = set()
    dialogs: list[Dialog] = []
    designer.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    designer.on("dialog", lambda dialog: dialogs.append(dialog))
    for path in ("/surveys", "/surveys/new", "/account"):
        designer.goto(server.url + path, wait_until="networkidle")
    assert hosts == {server.url.removeprefix("http://")}
    assert dialogs == []
