"""The page as people meet it: words, groups, keyboard, contrast, narrow screens, languages, weight, pictures."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from typing import Any

import pytest
from hushpoll_client import Survey, mechanisms
from hushpoll_client.delivery.link import survey_link
from hushpoll_client.exact import exp_below
from hushpoll_server.collect.invitations import invite
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.respondent import (
    ARTEFACTS,
    BRITTANY,
    CHEATED,
    EVERY_KIND,
    REASON,
    TAX,
    address,
    axe,
    begin,
    draft,
    explanation_text,
    heading,
    open_page,
    press_send,
    show_all,
)
from tests.browser.waiting import patient, until
from tests.serving import LiveServer
from tests.vectors.surveys import drafts

pytestmark = pytest.mark.browser
REPORTS = re.compile(r"/api/surveys/[0-9a-f]{64}/reports$")
MAY = {"decoy": "Was your mother born in May?", "decoy_share": "1/12"}

D = 2**53
SQUARE = {"form": "matrix", "rows": [[D // 4 * 3, D // 4], [D // 4, D // 4 * 3]]}
# Two answers, four reports; the largest ratio is a hair above 4.
WIDE = {
    "form": "matrix",
    "rows": [[D // 2, D // 4, D // 8, D // 8], [D // 8 - 1, D // 8 + 1, D // 4, D // 2]],
}


def question(mechanism: dict[str, Any], **more: Any) -> Survey:
    return draft({**CHEATED, "mechanism": mechanism, **more}, title="Words")


@pytest.mark.parametrize(
    ("survey", "expected", "unsaid"),
    [
        (
            question({"name": "warner", "truth": "3/4"}),
            [
                "From what is sent, no one can tell for certain what you chose.",
                "Of 100 who choose Yes, about 75 send Yes.",
                "Of 100 who choose No, about 25 send Yes.",
                "So a Yes that is sent does not mean you chose Yes.",
                "Only the mixed answer",
            ],
            ["does reveal", "see the exceptions"],
        ),
        (
            question({"name": "krr", "epsilon": "1"}, kind="choice", options=["A", "B", "C", "D"]),
            [
                "Of 100 who choose A, about 48 send A.",
                "Of 100 who choose B, about 17 send A.",
                "So an option that is sent need not be the one you chose.",
            ],
            ["does reveal"],
        ),
        (
            question({"name": "or_poll", **BRITTANY}),
            [
                "this device sends Yes if at least one of your two answers is Yes, and No if both are No.",
                "Of 100 who choose Yes, all 100 send Yes.",
                "Of 100 who choose No, about 41 send Yes.",
                "A No does reveal your No. It is sent only if both of your answers are No.",
                "Possibly your own answer",
            ],
            ["no one can tell for certain"],
        ),
        (
            question({"name": "or_poll", "epsilon": "1", **BRITTANY}),
            ["this result is mixed with chance as well.", "From what is sent, no one can tell for certain"],
            ["does reveal", "Possibly your own answer"],
        ),
        (
            question({"name": "forced", "forced": ["0", "1/2"]}),
            [
                "A No does reveal your No.",
                "So a Yes that is sent does not mean you chose Yes.",
                "see the exceptions above",
            ],
            ["no one can tell for certain", "second question"],
        ),
        (
            question({"name": "forced", "forced": ["1/2", "0"]}),
            ["A Yes does reveal your Yes.", "So a No that is sent does not mean you chose No."],
            ["A No does reveal"],
        ),
        (
            question(
                {"name": "forced", "forced": ["1/10", "1/5", "0"]}, kind="choice", options=["A", "B", "C"]
            ),
            ["Of 100 who choose A, about 80 send A.", "A C does reveal your C."],
            ["A A does reveal"],
        ),
        (
            question({"name": "crosswise", **MAY}),
            [
                "this device sends only whether your two answers are the same or different.",
                "Of 100 who choose Yes, about 8 send same.",
                "Someone who knows your answer to the second question can learn more, up to your own answer.",
            ],
            ["no one can tell for certain", "does not mean you chose"],
        ),
        (
            question({"name": "matrix", "epsilon": "1.1"}, channel=SQUARE),
            [
                "Of 100 who choose Yes, about 75 send Yes.",
                "From what is sent, no one can tell for certain what you chose.",
            ],
            ["does reveal"],
        ),
        (
            question({"name": "matrix", "epsilon": "1.5"}, channel=WIDE),
            [
                "What is sent could come from any answer; it is at most 4.01 times likelier from yours.",
                "What is sent can hint at what you chose.",
            ],
            ["does reveal", "00 who choose"],
        ),
        (
            question({"name": "unrelated", "truth": "2/3", **MAY}),
            [
                "the first one in about 67 of 100 cases",
                "Of 100 who choose No, about 3 send Yes.",
            ],
            ["no one can tell for certain"],
        ),
    ],
    ids=lambda value: f"{value.questions[0].mechanism.parameters}" if isinstance(value, Survey) else "",
)
def test_the_odds_and_the_one_sided_truth_are_explained(
    page: Page, page_server: LiveServer, survey: Survey, expected: list[str], unsaid: list[str]
) -> None:
    open_page(page, address(page_server, survey))
    text = explanation_text(page)
    for sentence in expected:
        assert sentence in text
    for sentence in [*unsaid, "nonym", "{", "undefined", "NaN"]:
        assert sentence not in text


def test_how_we_know_shows_epsilon_hash_and_scripts(page: Page, page_server: LiveServer) -> None:
    survey = draft(
        CHEATED,
        REASON,
        {**TAX, "id": "c", "mechanism": {"name": "crosswise", **MAY}},
        TAX,
        title="How we know",
    )
    open_page(page, address(page_server, survey))
    expect(page.locator("details:not(.languages)")).to_have_count(0)
    show_all(page)
    details = page.locator("details")
    assert details.get_attribute("open") is None
    details.locator("summary").click()
    text = details.inner_text()
    assert "unbounded, because of Question 3 and Question 4. All other questions together: 2.1." in text
    assert "unbounded; 2.4 if no one knows your answer to the second question" in text
    assert survey.hash in text
    fingerprint = (
        f"begins with {survey.hash[:8]}. It equals the one in the address bar; compare these 8 characters"
    )
    expect(page.locator("main > p.small")).to_contain_text(fingerprint)
    assert len(re.findall(r"^(client|respond)/\w+\.js [0-9a-f]{64}$", text, re.MULTILINE)) == 13
    bounded = draft(CHEATED, REASON, title="How we know, bounded")
    open_page(page, address(page_server, bounded).partition("#")[0])
    show_all(page)
    details.locator("summary").click()
    text = details.inner_text()
    assert "(total epsilon): 2.1." in text
    assert "by a factor of 8.16 at most" in text
    fingerprint = f"begins with {bounded.hash[:8]}. Your link contains none; compare these 8 characters"
    expect(page.locator("main > p.small")).to_contain_text(fingerprint)


def test_no_bound_is_printed_below_its_value(page: Page, page_server: LiveServer) -> None:
    """The one formatter of the page, over epsilons from .1 to 10 and odd ratios, against the exact ratio."""
    open_page(page, address(page_server, question({"name": "warner", "epsilon": "1.1"}, id="bounds")))
    show_all(page)
    page.locator("summary").click()
    text = page.locator("details").inner_text()
    assert "(total epsilon): 1.1. " in text
    assert "by a factor of 3.01 at most" in text  # e^1.1 is 3.004
    channels = [mechanisms.krr(options, f"{n / 10}").device for n in range(1, 101) for options in (2, 5)]
    odd = ["0.500001", "3/4", "2/3", "0.999999", "1/1000", "0.9995", "0.5000000000001"]
    channels += [mechanisms.warner(truth=truth).device for truth in odd]
    ratios = [channel.ratio for channel in channels] + [Fraction(1), Fraction(1000), Fraction(999_001, 1000)]
    printed = page.evaluate(
        """async (ratios) => {
          const { epsilonAtMost, factorAtMost } = await import("/static/respond/explain.js");
          const read = ratios.map((pair) => pair.map(BigInt));
          return read.map((ratio) => [epsilonAtMost(ratio), factorAtMost(ratio)]);
        }""",
        [[str(ratio.numerator), str(ratio.denominator)] for ratio in ratios],
    )
    for ratio, (epsilon, factor) in zip(ratios, printed, strict=True):
        printed_factor = Fraction(factor.replace(",", ""))
        assert ratio <= printed_factor <= ratio * Fraction(101, 100)
        assert ratio <= exp_below(Fraction(epsilon))
        assert float(epsilon) <= math.log(ratio) * 1.01 + 1e-15
    stated = [epsilon for epsilon, _ in printed[:200:2]]
    assert stated == [f"{n / 10:g}" for n in range(1, 101)]  # what was asked for, not a hundredth more


def test_a_table_with_more_reports_than_answers_is_explained(
    browser: Browser, page_server: LiveServer
) -> None:
    survey = draft(
        {**CHEATED, "mechanism": {"name": "matrix", "epsilon": "1.5"}, "channel": WIDE}, title="Wide"
    )
    link = address(page_server, survey)
    bound = {"en": "at most 4.01 times", "fr": "au plus 4,01 fois", "de": "höchstens 4,01-mal"}
    bound |= {"es": "como mucho 4,01 veces", "ar": "لا يزيد على 4.01 ضعفًا"}
    for language, words in bound.items():
        context = browser.new_context()
        page = context.new_page()
        open_page(page, link.replace("#", f"?lang={language}#"))
        assert page.locator("svg.icons").count() == 0
        assert words in explanation_text(page).replace("٫", ".")
        page.locator(".bar button").click()
        assert words in page.locator("form").inner_text().replace("٫", ".")
        page.get_by_role("group").locator("input").last.check()
        with page.expect_request(REPORTS) as sent:
            page.locator("button[type=submit]").click()
        report = re.search(r'"reports":\[([0-3])\]', sent.value.post_data or "")
        assert report
        page.locator(".done").wait_for()
        page.locator("summary").first.click()
        line = page.locator("details li").inner_text().replace("٫", ".")
        assert words in line
        assert report[1] in line
        context.close()


def test_the_picture_is_grouped(page: Page, page_server: LiveServer) -> None:
    open_page(page, address(page_server, draft(CHEATED, title="Grouped")))
    classes = page.locator("svg.icons circle").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('class'))"
    )
    assert classes == ["kept"] * 75 + ["other"] * 25 + ["kept"] * 25 + ["other"] * 75


def test_axe_finds_nothing_in_any_state(reader: Page, page_server: LiveServer) -> None:
    page = reader
    patient(page)  # it would send again by itself while axe looks
    survey = draft(CHEATED, REASON, TAX, title="Axe")
    open_page(page, address(page_server, survey))
    axe(page)
    show_all(page)
    axe(page)
    page.locator(".bar button").click()
    page.locator(".promise").wait_for()
    begin(page)
    for fold in page.locator(".fold").all():
        fold.click()
    groups = page.get_by_role("group").all()
    assert len(groups) == 4
    for group, text in zip(
        groups, [CHEATED["text"], REASON["text"], TAX["text"], BRITTANY["decoy"]], strict=True
    ):
        expect(group).to_have_accessible_name(str(text))
    axe(page)
    page.locator("button[type=submit]").click()
    expect(page.get_by_role("alert")).to_be_focused()
    axe(page)
    held: list[Route] = []
    page.route(REPORTS, lambda route: held.append(route), times=1)
    for group in groups:
        group.locator("input").first.check()
    page.locator("button[type=submit]").click()
    page.wait_for_function("() => !document.querySelector('form')")
    until(page, lambda: held)
    axe(page)  # sending
    held[0].abort()
    page.locator("#problem").wait_for()
    axe(page)
    page.locator(".bar button").click()
    page.locator(".done").wait_for()
    axe(page)
    page.goto(page.url.partition("#")[0] + "#" + "0" * 64)  # another fragment: the page loads itself anew
    page.locator(".notice").wait_for()
    axe(page)


def test_axe_finds_nothing_on_paper(reader: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, TAX, title="Axe on paper", invitation=True)
    address(page_server, survey)
    reader.goto(f"{page_server.url}/s/{survey.hash}/paper")
    axe(reader)
    reader.locator("button").click()
    reader.get_by_role("alert").wait_for()
    axe(reader)


def test_open_questions_are_named_linked_and_announced(page: Page, page_server: LiveServer) -> None:
    open_page(page, address(page_server, draft(CHEATED, REASON, title="Open questions")))
    link = page.url
    page.get_by_role("button", name="Start").click()
    press_send(page)
    alert = page.get_by_role("alert")
    expect(alert).to_be_focused()
    expect(alert).to_contain_text("2 answers are still missing:")
    group = page.get_by_role("group", name=REASON["text"])  # type: ignore[arg-type]
    expect(group).to_have_accessible_description(re.compile("^Please choose an answer. About 48 in 100"))
    alert.get_by_role("link", name=str(REASON["text"])).click()
    expect(group.get_by_label("Time")).to_be_focused()
    assert page.url == link  # the fragment carries the hash: it must stay
    group.get_by_label("Time").check()
    expect(group).to_have_accessible_description(re.compile("^About 48 in 100"))
    press_send(page)
    expect(alert).to_contain_text("One answer is still missing:")


def test_a_keyboard_is_enough(page: Page, page_server: LiveServer) -> None:
    open_page(page, address(page_server, draft(CHEATED, REASON, title="Keyboard")))
    page.get_by_role("button", name="Start").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")  # No -> Yes
    expect(page.get_by_role("group").nth(0).get_by_label("Yes")).to_be_checked()
    page.keyboard.press("Tab")
    fold = page.get_by_role("button", name="About 75 in 100 answers are sent unchanged")
    expect(fold).to_be_focused()
    expect(fold).to_have_attribute("aria-expanded", "false")
    expect(page.get_by_text("Of 100 who choose Yes")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(fold).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_text("Of 100 who choose Yes")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Try it").first).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowUp")  # around the corner
    second = page.get_by_role("group").nth(1)
    expect(second.get_by_label("Prefer not to say")).to_be_checked()
    expect(second.get_by_label("Prefer not to say")).to_be_focused()
    assert second.locator("input:checked").count() == 1
    for _ in ("the odds", "Try it", "Back"):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Back")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    page.go_forward()
    expect(second.get_by_label("Prefer not to say")).to_be_checked()
    page.get_by_role("button", name="Send", exact=True).focus()
    page.keyboard.press("Enter")
    heading(page, "Sent")


def test_an_unencrypted_page_of_another_machine_warns(page: Page, page_server: LiveServer) -> None:
    survey = draft(CHEATED, title="Unencrypted")
    link = address(page_server, survey)
    warning = "This page came over an unencrypted connection."
    open_page(page, link)
    assert page.get_by_text(warning).count() == 0

    def relay(route: Route) -> None:
        route.fulfill(
            response=route.fetch(url=route.request.url.replace("http://survey.test", page_server.url))
        )

    page.route("http://survey.test/**", relay)
    open_page(page, link.replace(page_server.url, "http://survey.test"))
    expect(page.get_by_text(warning)).to_be_visible()


@pytest.mark.parametrize("language", ["en", "fr", "de", "es", "ar"])
def test_every_language_fits_320_pixels_and_sends_the_same_shape(
    browser: Browser, page_server: LiveServer, language: str
) -> None:
    survey = draft(CHEATED, REASON, TAX, title="Languages")
    context = browser.new_context(viewport={"width": 320, "height": 700})
    page = context.new_page()
    open_page(page, address(page_server, survey).replace("#", f"?lang={language}#"))
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.locator("html")).to_have_attribute("dir", "rtl" if language == "ar" else "ltr")
    yes = {"en": "Yes", "fr": "Oui", "de": "Ja", "es": "Sí", "ar": "نعم"}[language]
    wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wide) == 0
    assert page.locator("nav a").evaluate_all("(all) => all.every((one) => one.hash === location.hash)")
    show_all(page)
    page.locator("summary").click()
    assert page.evaluate(wide) == 0
    page.locator(".bar button").click()
    page.locator(".promise").wait_for()
    begin(page)
    for fold in page.locator(".fold").all():
        fold.click()
    for group in page.get_by_role("group").all():
        assert group.get_by_text(yes, exact=True).count() == (0 if group.get_by_text("Habit").count() else 1)
        group.locator("input").last.check()
    assert page.evaluate(wide) == 0
    with page.expect_request(REPORTS) as sent:
        page.locator("button[type=submit]").click()
    assert re.fullmatch(r'\{"id":"[0-9a-f]{32}","reports":\[\d,\d,1\]\}', sent.value.post_data or "")
    page.locator(".done").wait_for()
    page.locator("summary").first.click()
    assert page.evaluate(wide) == 0
    context.close()


def test_going_back_before_the_questions_are_loaded_stays_at_the_start(
    page: Page, page_server: LiveServer
) -> None:
    """On a slow line: the questions do not come up below what the history calls the start."""
    held: list[Route] = []
    page.route("**/respond/form.js", lambda route: held.append(route))
    survey = draft(CHEATED, title="On a slow line")
    page.goto(address(page_server, survey), wait_until="commit")
    start = page.get_by_role("button", name="Start")
    start.click()
    page.wait_for_function("() => history.state?.during")
    page.evaluate("() => history.back()")
    page.wait_for_function("() => !history.state?.during")
    for route in held:
        route.continue_()
    page.wait_for_load_state("networkidle")
    page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
    expect(start).to_be_visible()
    assert page.locator("form").count() == 0
    start.click()
    page.locator("form").wait_for()
    page.go_back()
    expect(start).to_be_visible()


def test_questions_that_cannot_be_shown_are_reported_as_a_fault(page: Page, page_server: LiveServer) -> None:
    page.add_init_script("HTMLFormElement.prototype.addEventListener = () => { throw new Error('broken'); }")
    open_page(page, address(page_server, draft(CHEATED, title="Broken")))
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".notice")).to_have_text(
        "This is an error in this page, not yours: please tell the person who sent you the link."
    )


HEART = draft(CHEATED, REASON, TAX, title="Weight")
ALL_KINDS = draft(*EVERY_KIND, TAX, title="Weight of every kind", invitation=True)
STEPS = Survey.from_draft(HEART.as_document(published=False) | {"look": {"layout": "steps"}})


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize(
    ("survey", "limit", "most", "in_all"),
    [(HEART, 46_000, 11, 61_000), (STEPS, 46_000, 12, 65_000), (ALL_KINDS, 60_000, 14, 85_000)],
    ids=["heart", "steps", "every kind"],
)
def test_everything_over_the_wire_stays_below_its_limit(
    page: Page, page_server: LiveServer, survey: Survey, limit: int, most: int, in_all: int, language: str
) -> None:
    """Before Start can be pressed, and in all: the rest comes after the first paint."""
    link = address(page_server, survey).replace("#", f"?lang={language}#")
    if survey.settings.invitation:
        link += f".{invite(page_server.store, survey.hash, 1)[0]}"
        patient(page)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    urls: dict[str, str] = {}
    finished: dict[str, float] = {}
    session.on(
        "Network.requestWillBeSent", lambda event: urls.update({event["requestId"]: event["request"]["url"]})
    )
    session.on(
        "Network.loadingFinished",
        lambda event: finished.update({urls[event["requestId"]]: event["encodedDataLength"]}),
    )
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    open_page(page, link)
    page.wait_for_load_state("networkidle")
    until(page, lambda: len(finished) == len(requests))
    data = page.evaluate("JSON.parse(document.getElementById('page-data').textContent)")
    after_paint = (*data["later"], data["words"])
    first = {url: size for url, size in finished.items() if not url.endswith(after_paint)}
    print(f"{sum(first.values()):.0f} of {sum(finished.values()):.0f} bytes with headers before Start")
    assert len(first) <= most
    assert sum(first.values()) <= limit
    assert sum(finished.values()) <= in_all
    assert len(finished) == len(first) + len(after_paint)
    assert all(url.startswith(page_server.url) for url in requests)
    loaded = {"/".join(url.split("/")[-2:]) for url in requests if url.endswith(".js")}
    extra = {"client/extra_channels.js", "client/extra_kinds.js", "respond/search.js", "respond/widgets.js"}
    assert loaded & extra == (extra if survey is ALL_KINDS else set())


@pytest.mark.long
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_pictures_of_every_state_are_written(browser: Browser, page_server: LiveServer, width: int) -> None:
    """Not a check by itself: the pictures go to artefacts/ for a person to look at."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    survey = draft(CHEATED, REASON, TAX, title="Exam honesty")
    link = address(page_server, survey)
    for scheme, language in [("light", "en"), ("dark", "en"), ("light", "ar")]:
        size = {"width": width, "height": 844 if width < 800 else 900}
        context = browser.new_context(color_scheme=scheme, locale=language, viewport=size)
        page = context.new_page()

        def picture(name: str, page: Page = page, prefix: str = f"{width}-{scheme}-{language}") -> None:
            file = ARTEFACTS / f"{prefix}-{name}.png"
            page.screenshot(path=file, full_page=True)
            assert file.stat().st_size > 5_000

        open_page(page, link)
        picture("before")
        begin(page)
        picture("during")
        for group in page.get_by_role("group").all():
            group.locator("input").first.check()
        page.locator("button[type=submit]").click()
        page.locator(".done").wait_for()
        picture("after")
        context.close()


def test_every_module_of_a_page_is_preloaded(page: Page, page_server: LiveServer) -> None:
    """Module after module would take a round trip each: the page itself names what its survey needs, and no more."""
    for name, definition in drafts():
        if "series" in definition:
            continue  # published only after the wave before; its page is that of an anchor
        survey = Survey.from_draft(definition)
        code, group = None, 0 if survey.groups else None
        page_server.store.publish(survey)
        if survey.settings.invitation:
            code = invite(page_server.store, survey.hash, 1, group)[0]
        link = survey_link(page_server.url, survey.hash, code, group)
        text = page.request.get(link).text()
        named = re.findall(r'rel="modulepreload" href="([^"]+)"', text)
        folder = named[0].rsplit("/", 2)[0]
        later = json.loads(re.findall(r'id="page-data">(.*?)</script>', text)[0])["later"]
        named += [f"{folder}/{path}" for path in later]
        page.goto("about:blank")
        open_page(page, link)
        expect(page.locator("main")).not_to_have_attribute("aria-busy", "true")
        # What has been asked for stands there once it has come, also what comes after the first paint.
        page.wait_for_function(
            "(named) => named.every((path) => performance.getEntriesByName(location.origin + path).length)",
            arg=named,
        )
        used = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
        assert {url for url in used if url.endswith(".js")} == {page_server.url + path for path in named}, (
            name
        )
