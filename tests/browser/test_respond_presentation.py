"""Around the questions: who asks, consent, steps, sections, thanks, help, a quick exit, a logo, languages."""

from __future__ import annotations

import colorsys
import datetime
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hushpoll_client import Survey
from hushpoll_client.survey.presentation import PAPER, contrast
from hushpoll_server.collect import closing
from hushpoll_server.collect.retention import set_day
from hushpoll_server.respond import logos
from hushpoll_server.store.surveys import today
from playwright.sync_api import Browser, Page, expect

from tests.browser.pictures import png
from tests.browser.respondent import (
    AGREE,
    CHEATED,
    HOURS,
    REASON,
    USED,
    WHY,
    address,
    axe,
    begin,
    draft,
    fill,
    heading,
    open_page,
    press_send,
    show_all,
)
from tests.browser.waiting import patient, width_of
from tests.serving import LiveServer
from tests.vectors.surveys import about_draft

pytestmark = pytest.mark.browser
EXIT = re.compile(r"https://\w+\.wikipedia\.org/")


def full_survey(title: str, **more: Any) -> Survey:
    """The survey that has everything, under another title; None takes something away."""
    document = about_draft() | {"title": title}
    del document["look"]["logo"]
    document |= more
    return Survey.from_draft({key: value for key, value in document.items() if value is not None})


@pytest.fixture(params=["light", "dark"])
def reader(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(color_scheme=request.param, viewport={"width": 390, "height": 844})
    yield context.new_page()
    context.close()


def test_step_by_step_with_consent_review_and_thanks(reader: Page, page_server: LiveServer) -> None:
    page = reader
    open_page(page, address(page_server, full_survey("Step by step")))
    expect(page.locator("p.asked-by")).to_have_text("University of Somewhere")
    axe(page)
    expect(page.get_by_text("Ms Nobody, nobody@example.org")).to_be_visible()
    notice = page.get_by_role("link", name="https://example.org/privacy?survey=1#top")
    expect(notice).to_have_attribute("rel", "noreferrer")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("Please tick this to start.")).to_be_visible()
    expect(page.get_by_label("I am 18 or older")).to_be_focused()
    axe(page)
    page.get_by_label("I am 18 or older").check()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", name="You")).to_be_visible()
    expect(page.get_by_role("group")).to_have_count(1)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("Please choose an answer.")).to_be_visible()  # no step over an open question
    axe(page)
    # A tap on a single choice is enough to go on, once all of its card is answered.
    page.get_by_role("radio", name="Yes").check()
    expect(page.get_by_role("heading", name="You")).to_be_hidden()
    expect(page.locator("progress")).to_have_js_property("value", 2)
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_role("radio", name="Yes")).to_be_checked()
    page.get_by_role("button", name="Next").click()
    page.get_by_label("Prefer not to say").check()
    expect(page.get_by_role("heading", name="Often")).to_be_visible()
    page.get_by_role("group").locator("input").first.check()
    expect(page.get_by_role("group")).to_have_count(2)
    for group in page.get_by_role("group").all():
        expect(page.get_by_role("button", name="Send", exact=True)).to_be_hidden()
        group.get_by_label("No").check()
    review = page.locator(".review")
    expect(review).to_be_focused()
    expect(review.locator("dd")).to_have_text(
        [f"{answer} Change" for answer in ("Yes", "Prefer not to say", "1", "No", "No")]
    )
    axe(page)
    review.get_by_role("button", name="Change").first.click()
    page.get_by_role("radio", name="No").check()
    expect(page.get_by_label("Prefer not to say")).to_be_visible()
    for _ in range(3):
        page.get_by_role("button", name="Next").click()
    expect(review.locator("dd").first).to_have_text("No Change")
    press_send(page)
    heading(page, "Sent")
    expect(page.locator(".thanks")).to_have_text("Thank you.\nTake care.", use_inner_text=True)
    links = page.locator(".help a").evaluate_all("(all) => all.map((one) => one.getAttribute('href'))")
    assert links == ["tel:+498001110111", "mailto:help@example.org", "https://help.example.org:8443/now"]
    axe(page)


def test_the_steps_work_with_a_keyboard(page: Page, page_server: LiveServer) -> None:
    survey = full_survey("Keys", consent=None, sections=None, translations=None, look={"layout": "steps"})
    open_page(page, address(page_server, survey))
    page.get_by_role("button", name="Start").focus()
    page.keyboard.press("Enter")
    for _ in range(4):
        page.get_by_role("group").first.locator("input").first.focus()
        page.keyboard.press("Space")
        for second in page.get_by_role("group").all()[1:]:
            second.locator("input").first.focus()
            page.keyboard.press("Space")
        page.get_by_role("button", name="Next").focus()
        page.keyboard.press("Enter")
    page.get_by_role("button", name="Send", exact=True).focus()
    page.keyboard.press("Enter")
    heading(page, "Sent")


def test_arrow_keys_and_numbers_choose_and_never_go_on(page: Page, page_server: LiveServer) -> None:
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": "Numbers",
            "questions": [REASON, AGREE, USED, HOURS],
            "look": {"layout": "steps"},
        }
    )
    open_page(page, address(page_server, survey))
    page.get_by_role("button", name="Start").focus()
    page.keyboard.press("Enter")
    progress = page.locator("progress")
    expect(progress).to_have_js_property("max", 5)
    page.keyboard.press("2")
    expect(page.get_by_label("Fear")).to_be_checked()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Habit")).to_be_checked()
    page.wait_for_timeout(500)  # longer than the pause after a tap: what must not happen has no event
    expect(progress).to_have_js_property("value", 1)
    # In "Try it" a number is no answer: examples are for show.
    page.locator("form .fold:visible").click()
    page.get_by_role("button", name="Try it").click()
    page.locator(".examples:visible button").first.click()
    page.keyboard.press("1")
    expect(page.get_by_label("Habit")).to_be_checked()
    page.locator("form .fold:visible").click()
    page.get_by_label("Habit").focus()
    page.keyboard.press("Enter")
    expect(progress).to_have_js_property("value", 2)
    page.keyboard.press("5")
    expect(page.get_by_role("radio", name="Strongly agree", exact=True)).to_be_checked()
    page.keyboard.press("Enter")
    expect(progress).to_have_js_property("value", 3)
    page.keyboard.press("1")
    page.keyboard.press("3")
    expect(page.locator("input:checked:visible")).to_have_count(2)
    page.get_by_label(str(USED["options"][0])).click()
    page.wait_for_timeout(500)  # a tick is no single choice
    expect(progress).to_have_js_property("value", 3)
    page.get_by_role("button", name="Next").click()
    expect(progress).to_have_js_property("value", 4)
    page.get_by_role("textbox").fill("12.5")
    page.keyboard.press("Enter")
    expect(page.locator(".review")).to_be_focused()
    expect(progress).to_have_js_property("value", 5)


def test_all_on_one_page_has_its_sections(page: Page, page_server: LiveServer) -> None:
    survey = full_survey("Sections", consent=None, translations=None, look={"layout": "page"})
    open_page(page, address(page_server, survey))
    begin(page)
    titles = page.locator("form h2, form legend").all_inner_texts()
    assert titles == ["", "You", "Did you?", "Which one?", "Often", "How often?", "Did you?", "Brittany?"][1:]
    expect(page.get_by_role("button", name="Next")).to_have_count(0)


@pytest.mark.parametrize("layout", ["page", "steps"])
def test_a_heading_is_hidden_with_its_questions(page: Page, page_server: LiveServer, layout: str) -> None:
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": f"Hidden with its heading, {layout}",
            "questions": [CHEATED, WHY, REASON],
            "sections": [{"before": "why", "title": "If you did"}],
            "look": {"layout": layout},
        }
    )
    open_page(page, address(page_server, survey))
    begin(page)
    steps = layout == "steps"
    heads = page.locator("h2:visible")
    # Of the section one question is hidden, the other is not.
    page.get_by_label("No", exact=True).check()
    expect(page.locator(".card:visible legend").last).to_have_text(REASON["text"])
    expect(heads).to_have_text(["If you did"])
    if steps:
        page.get_by_role("button", name="Back").click()
    page.get_by_label("Yes", exact=True).check()
    if steps:
        expect(page.locator(".card:visible legend")).to_have_text(WHY["text"])
        expect(heads).to_have_text(["If you did"])
        page.get_by_label(WHY["options"][0]).check()
        expect(page.locator(".card:visible legend")).to_have_text(REASON["text"])
    expect(heads).to_have_text([] if steps else ["If you did"])


@pytest.mark.parametrize("layout", ["page", "steps"])
def test_a_section_whose_questions_are_all_hidden_has_no_heading(
    page: Page, page_server: LiveServer, layout: str
) -> None:
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": f"Hidden whole, {layout}",
            "questions": [CHEATED, WHY],
            "sections": [{"before": "why", "title": "If you did"}],
            "look": {"layout": layout},
        }
    )
    open_page(page, address(page_server, survey))
    begin(page)
    expect(page.locator("h2:visible")).to_have_text([])
    page.get_by_label("Yes", exact=True).check()
    expect(page.locator("h2:visible")).to_have_text(["If you did"])
    if layout == "steps":
        page.get_by_role("button", name="Back").click()
    page.get_by_label("No", exact=True).check()
    expect(page.locator("h2:visible")).to_have_text(["Review before sending"] if layout == "steps" else [])


@pytest.mark.parametrize("way", ["button", "Escape"])
def test_the_quick_exit_leaves_no_entry_behind(page: Page, page_server: LiveServer, way: str) -> None:
    page.route(EXIT, lambda route: route.fulfill(body="<title>Elsewhere</title>", content_type="text/html"))
    page.goto(f"{page_server.url}/healthz")
    survey = full_survey(f"Exit by {way}", consent=None, translations=None)
    open_page(page, address(page_server, survey))
    assert page.title() == "Page"
    page.get_by_role("button", name="How it works").click()
    page.locator("main table").first.wait_for()
    page.locator(".bar").get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Start").click()
    page.get_by_role("radio", name="Yes").check()
    if way == "button":
        page.get_by_role("button", name="Leave this page").click()
    else:
        page.keyboard.press(way)
    page.wait_for_url(EXIT)
    page.go_back()
    expect(page).to_have_url(f"{page_server.url}/healthz")


def test_a_survey_with_a_quick_exit_is_not_in_the_ledger(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="No ledger")
    quick = Survey.from_draft(survey.as_document(published=False) | {"look": {"quick_exit": True}})
    open_page(page, address(page_server, quick))
    fill(page, "Yes")
    press_send(page)
    heading(page, "Sent")
    page.wait_for_timeout(500)
    assert page.evaluate(STORED_KEYS) == [[], []]


STORED_KEYS = "() => [Object.keys(localStorage), Object.keys(sessionStorage)]"


def test_leaving_by_the_quick_exit_forgets_a_report_that_waits(page: Page, page_server: LiveServer) -> None:
    """The record under the survey's hash would show that this person answered, and what."""
    survey = draft(CHEATED, title="Forgets what waits")
    quick = Survey.from_draft(survey.as_document(published=False) | {"look": {"quick_exit": True}})
    stays = f"{page_server.url}/healthz"
    page.route(EXIT, lambda route: route.fulfill(body="<title>Elsewhere</title>", content_type="text/html"))
    page.route("**/reports", lambda route: route.abort())
    patient(page)
    open_page(page, address(page_server, quick))
    fill(page, "Yes")
    press_send(page)
    heading(page, "Not sent yet")
    assert page.evaluate(STORED_KEYS)[0] == [f"hushpoll:{quick.hash}"], "sent once, also after a reload"
    page.keyboard.press("Escape")
    page.wait_for_url(EXIT)
    page.goto(stays)
    assert page.evaluate(STORED_KEYS) == [[], []]


@pytest.mark.parametrize(
    ("preferred", "tag", "direction"), [("fr", "fr", "ltr"), ("ar", "ar", "rtl"), ("de", "en", "ltr")]
)
def test_every_text_is_in_the_preferred_language(
    browser: Browser, page_server: LiveServer, preferred: str, tag: str, direction: str
) -> None:
    with browser.new_context(locale="de") as context:
        _check_language(context.new_page(), page_server, preferred, tag, direction)


def _check_language(page: Page, page_server: LiveServer, preferred: str, tag: str, direction: str) -> None:
    survey = full_survey(f"Languages for {preferred}", look={"layout": "page"})
    open_page(page, address(page_server, survey).replace("#", f"?lang={preferred}#"))
    untranslated = tag == "en"
    title = page.locator("h1")
    expect(title).to_have_text(survey.title if untranslated else f"Title {tag}")
    expect(title).to_have_attribute("lang", tag)
    expect(title).to_have_attribute("dir", direction)
    expect(page.locator("html")).to_have_attribute("lang", preferred)
    expect(page.locator("nav [aria-current]")).to_have_attribute("lang", tag)
    assert page.locator("nav a").evaluate_all("(all) => all.map((one) => one.lang)") == ["en", "ar", "fr"]
    page.locator("#consent").check()
    begin(page)
    words = page.locator("form legend, form h2, form .option span, form .ends span").evaluate_all(
        "(all) => all.map((one) => [one.textContent, one.lang])"
    )
    theirs = [text for text, lang in words if lang == tag]
    expected = [f"A {tag}", f"x {tag}", f"y {tag}", f"Decoy {tag}"]
    if untranslated:
        asks = [question.text for question in survey.questions]
        expected = [text for question in survey.questions for text in (question.text, question.decoy) if text]
        assert set(asks) <= set(theirs)
    assert [text for text in theirs if text in expected] == expected
    assert untranslated or any(f"low {tag}" in text for text in theirs)
    # Our own words are in the page's language, which the page itself names: "Did you?" twice, and the decoy's.
    yes = {"fr": "Oui", "ar": "نعم", "de": "Ja"}[preferred]
    assert [lang for text, lang in words if text == yes] == ["", "", ""]


def test_fixed_words_are_translated(page: Page, page_server: LiveServer) -> None:
    document = about_draft()
    for key in ("translations", "language", "look", "consent"):
        del document[key]
    survey = Survey.from_draft(document | {"title": "Fixed words"})
    open_page(page, address(page_server, survey).replace("#", "?lang=fr#"))
    page.locator(".bar button").click()
    expect(page.get_by_label("Je préfère ne pas répondre")).to_be_visible()


def test_only_the_logo_with_the_published_hash_is_shown(page: Page, page_server: LiveServer) -> None:
    name = logos.keep(page_server.store, png())
    survey = full_survey("Logo", look={"logo": name})
    link = address(page_server, survey)
    open_page(page, link)
    assert width_of(page.locator("img.logo")) == 8
    axe(page)
    page.route("**/logos/*", lambda route: route.fulfill(body=png(9), content_type="image/png"))
    page.goto("about:blank")
    open_page(page, link)
    assert page.locator("img.logo").count() == 0  # another picture is not shown


def test_a_closed_survey_shows_title_thanks_and_results(page: Page, page_server: LiveServer) -> None:
    survey = full_survey("Closed with thanks", look=None)
    link = address(page_server, survey)
    page_server.store.set_results_public(survey.hash, True, False)
    closing.close(page_server.store, survey.hash)
    open_page(page, link)
    heading(page, "Closed with thanks")
    expect(page.locator("main .notice")).to_have_text("This survey is closed")
    expect(page.locator(".thanks")).to_be_visible()
    expect(page.get_by_role("link", name="See the results")).to_have_attribute(
        "href", re.compile(survey.hash)
    )
    axe(page)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "All reports are deleted on March 9, {year}."),
        ("fr", "Tous les envois seront supprimés le 9 mars {year}."),
        ("de", "Alle Sendungen werden am 9. März {year} gelöscht."),
        ("es", "Todos los envíos se eliminarán el 9 de marzo de {year}."),
        ("ar", "تُحذف كل الإرسالات في 9 مارس {year}."),
    ],
)
def test_the_day_of_deletion_is_shown_before_the_first_question(
    page: Page, page_server: LiveServer, language: str, sentence: str
) -> None:
    day = datetime.date(today().year + 1, 3, 9)
    survey = draft(CHEATED, title=f"Deleted, told in {language}")
    link = address(page_server, survey).replace("#", f"?lang={language}#")
    set_day(page_server.store, survey.hash, day, "test")
    open_page(page, link)
    expect(page.get_by_text(sentence.format(year=day.year), exact=True)).to_be_visible()
    show_all(page)
    expect(page.get_by_text(sentence.format(year=day.year), exact=True)).to_be_visible()


def lightest(hue: float) -> str:
    """The lightest colour of a hue that a survey may have as its accent."""
    for value in range(255, 0, -1):
        parts = colorsys.hsv_to_rgb(hue, 1, value / 255)
        accent = "#" + "".join(f"{round(255 * share):02x}" for share in parts)
        if contrast(accent, PAPER) >= 4.5:
            return accent
    raise AssertionError("black can be read on paper")


@pytest.mark.parametrize("hue", [0, 60, 120, 180, 240, 300])
def test_every_accepted_accent_is_readable_also_on_hover(
    reader: Page, page_server: LiveServer, hue: int
) -> None:
    """The accents with the least contrast that is allowed: links and buttons, also while a pointer is on them."""
    page = reader
    survey = full_survey(f"Accent {hue}", look={"accent": lightest(hue / 360)})
    open_page(page, address(page_server, survey))
    colours = """(one) => {
      const ground = (at) => {
        const found = getComputedStyle(at).backgroundColor;
        return found === "rgba(0, 0, 0, 0)" && at.parentElement ? ground(at.parentElement) : found;
      };
      return [getComputedStyle(one).color, ground(one)];
    }"""
    for control in page.locator("main a:visible, main button:visible").all():
        for pointed in (False, True):
            if pointed:
                control.hover()
            text, ground = (
                "#" + "".join(f"{int(channel):02x}" for channel in re.findall(r"\d+", colour)[:3])
                for colour in control.evaluate(colours)
            )
            assert contrast(text, ground) >= 4.5, (control.inner_text(), pointed, text, ground)
