"""Scales, numbers, ticks, long lists and skip rules on the page: by hand, by keyboard, by ear, and on the wire."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from hushpoll_client import Survey
from playwright.sync_api import Browser, Locator, Page, Request, Route, expect

from tests.browser.respondent import (
    AGAIN,
    AGREE,
    ARTEFACTS,
    CHEATED,
    EVERY_KIND,
    HOURS,
    MOOD,
    TOWN,
    TOWNS,
    TRIED,
    USED,
    WHY,
    Posts,
    address,
    all_told,
    draft,
    heading,
    kept,
    kept_id,
    open_page,
    press_send,
    sent_by,
    show_all,
    stored,
)
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
REPORTS = re.compile(r"/api/surveys/[0-9a-f]{64}/reports$")
WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Every draw is 0, and the id is ones: K-ary response then keeps the answer, so that a report shows what was drawn from.
TRUTHFUL_COINS = """Crypto.prototype.getRandomValues = (array) => {
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength).fill(array.length === 16 ? 1 : 0);
  return array;
}"""
# Every draw is just below the last, incomplete round: the largest that no uniform integer draws again.
UNTRUTHFUL_COINS = """Crypto.prototype.getRandomValues = (array) => {
  const words = [0xffffffff, 0xfff00000];
  array.forEach((_, place) => (array[place] = words[place % 2]));
  return array;
}"""


def group(page: Page, question: dict[str, Any]) -> Locator:
    return page.get_by_role("group", name=question["text"], exact=True)


def start(page: Page, server: LiveServer, *questions: dict[str, Any], title: str, **settings: bool) -> Survey:
    """Publish a survey of these questions and go to its form."""
    survey = draft(*questions, title=title, **settings)
    open_page(page, address(server, survey))
    page.locator(".bar button").click()
    return survey


def fill_every_kind(page: Page) -> None:
    """Answer every question of EVERY_KIND, by the elements' ids so that it works in each language."""
    page.locator("#q0-1").check()
    page.locator("#q1-0").check()
    page.locator("#q2-1").check()
    page.locator("#q3-6").check()
    page.locator("#q4-3").check()
    page.locator("#q5-0").fill("12,5")
    page.locator("#q6-1").check()
    page.locator("#q7-none").check()
    page.locator("#q8-search").fill("evora")
    page.locator(f"#q8-{TOWNS.index('Évora North')}").check()


# On the wire ------------------------------------------------------------------------------------------------------


def test_a_survey_of_every_kind_is_sent_whole_and_stored_as_it_was_sent(
    page: Page, either_server: LiveServer
) -> None:
    survey = start(page, either_server, *EVERY_KIND, title="Every kind")
    requests: list[Request] = []
    page.on("request", lambda request: requests.append(request))
    fill_every_kind(page)
    assert requests == []  # searching a list and showing a question ask nobody
    press_send(page)
    heading(page, "Sent")
    (request,) = sent_by(requests)
    body = json.loads(request.post_data or "")
    assert stored(either_server, survey) == {
        kept_id(either_server, survey, body["id"]): tuple(body["reports"])
    }
    for report, question in zip(body["reports"], survey.questions, strict=True):
        assert question.channel.wire.legal(report)
    assert kept(page, survey) == {**body, "state": "sent"}
    page.locator("summary").first.click()
    told = page.locator("details li").all_inner_texts()
    assert "Recorded as: a set of 22 of 80 options. What is sent could come from any answer;" in told[8]
    assert re.search(
        r"Recorded as: asked about \w+ and \w+; ticked: (\w+ and \w+|\w+|–)\. What is sent", told[7]
    )
    assert re.search(r"Recorded as: (.+)\. What is sent could come from any answer", told[6])


def test_reload_back_and_double_click_are_one_randomization(page: Page, page_server: LiveServer) -> None:
    survey = start(page, page_server, *EVERY_KIND, title="Every kind, once")
    posts = Posts(page)
    page.route(REPORTS, lambda route: route.abort())
    fill_every_kind(page)
    page.get_by_role("button", name="Send", exact=True).dblclick()
    heading(page, "Not sent yet")
    waiting = kept(page, survey)
    assert waiting is not None
    page.go_back()
    heading(page, "Not sent yet")
    page.reload()
    heading(page, "Not sent yet")
    assert kept(page, survey) == waiting  # bitmaps and joint reports are recalled as legal ones
    page.unroute(REPORTS)
    page.get_by_role("button", name="Send now").click()
    heading(page, "Sent")
    assert len(set(posts.bodies)) == 1
    assert json.loads(posts.bodies[0]) == {"id": waiting["id"], "reports": waiting["reports"]}
    assert list(stored(page_server, survey)) == [kept_id(page_server, survey, waiting["id"])]


def test_offline_after_loading_only_delays_the_report(page: Page, page_server: LiveServer) -> None:
    survey = start(page, page_server, *EVERY_KIND, title="Every kind, offline")
    posts = Posts(page)
    page.context.set_offline(True)
    fill_every_kind(page)
    press_send(page)
    heading(page, "Not sent yet")
    page.context.set_offline(False)
    heading(page, "Sent")
    assert len(set(posts.bodies)) == 1
    assert len(stored(page_server, survey)) == 1


@pytest.mark.parametrize("tampered", ["shortened", "duplicated", "number"])
def test_a_kept_record_that_no_answer_could_have_led_to_is_not_sent(
    page: Page, page_server: LiveServer, tampered: str
) -> None:
    survey = start(page, page_server, TOWN, title=f"Tampered {tampered}")
    page.route(REPORTS, lambda route: route.abort())
    page.locator("#q0-3").check()
    press_send(page)
    heading(page, "Not sent yet")
    record = kept(page, survey)
    assert record is not None
    bitmap = record["reports"][0]
    bad = {"shortened": bitmap[1:], "duplicated": "f" * len(bitmap), "number": 5}[tampered]
    page.evaluate(
        "([key, value]) => localStorage.setItem(key, value)",
        [f"hushpoll:{survey.hash}", json.dumps({**record, "reports": [bad]})],
    )
    page.reload()
    heading(page, survey.title)


def canaries() -> Survey:
    """Answers whose traces could not be mistaken for anything else."""
    town = {**TOWN, "options": [f"Quixotic kelp {number}" for number in range(40)]}
    town["mechanism"] = {"name": "subset", "epsilon": "1", "size": 11}
    ticks = {**USED, "options": ["Velvet anvil", "Marmot dirigible", "Zanzibar plum"]}
    hours = {**HOURS, "min": 0, "max": 99_999, "step": 1, "mechanism": {"name": "krr", "epsilon": 1}}
    del hours["channel"]
    return draft(CHEATED, WHY, town, ticks, hours, title="Canaries of every kind")


def test_what_was_chosen_is_found_nowhere_but_on_the_screen(page: Page, either_server: LiveServer) -> None:
    survey = canaries()
    page.add_init_script(UNTRUTHFUL_COINS)
    open_page(page, address(either_server, survey))
    requests: list[Request] = []
    page.on("request", lambda request: requests.append(request))
    page.locator(".bar button").click()
    page.locator("#q0-0").check()
    page.locator("#q2-search").fill("quixotic 17")
    page.locator("#q2-17").check()
    page.locator("#q3-1").check()
    page.locator("#q4-0").fill("73519")
    press_send(page)
    heading(page, "Sent")
    (sent,) = sent_by(requests)
    body = json.loads(sent.post_data or "")
    # The largest draws: warner and krr report another answer, the set leaves the true one out, the item is another.
    assert body["reports"][0] == 1
    assert body["reports"][1] != 3
    assert int(body["reports"][2], 16) >> 17 & 1 == 0
    assert body["reports"][3] != 1
    assert body["reports"][4] != 73519 * 20 // 99_999
    traffic = "\n".join([sent.url, sent.post_data or "", *sent.all_headers().values()])
    storage = json.dumps(page.context.storage_state(indexed_db=True))
    for where in (traffic, storage, either_server.log.read_text()):
        for needle in ("Quixotic", "quixotic", "Marmot", "Velvet", "73519"):
            assert needle not in where
    assert page.locator("input").count() == 0


def test_a_module_that_was_changed_on_the_way_is_refused(page: Page, page_server: LiveServer) -> None:
    survey = draft(MOOD, HOURS, title="Changed module")
    link = address(page_server, survey)
    for name in ("client/more.js", "respond/widgets.js"):

        def changed(route: Route) -> None:
            found = route.fetch()
            route.fulfill(response=found, body=found.text() + "\n// one byte more")

        page.route(f"**/static/*/{name}", changed)
        open_page(page, link)
        heading(page, "This survey cannot be answered here")
        assert page.locator("form, fieldset").count() == 0
        page.unroute(f"**/static/*/{name}")
        page.goto("about:blank")
    open_page(page, link)
    heading(page, survey.title)
    show_all(page)
    page.locator("summary").click()
    scripts = page.locator(".scripts li").all_inner_texts()
    assert {line.split()[0] for line in scripts} >= {"client/more.js", "respond/widgets.js"}
    assert all(re.fullmatch(r"\S+ [0-9a-f]{64}", line) for line in scripts)


def test_a_report_for_a_thousand_options_is_drawn_in_no_time(js: Page) -> None:
    options = [f"Option {number}" for number in range(1000)]
    asked = {**TOWN, "options": options, "mechanism": {"name": "subset", "epsilon": "1", "size": 269}}
    survey = draft(asked, title="A thousand options")
    times = js.evaluate(
        """async ([text, hash]) => {
          await import("/more.js");
          const { loadSurvey } = await import("/survey.js");
          const { newReport } = await import("/report.js");
          const survey = loadSurvey(new TextEncoder().encode(text), hash);
          return [...Array(50).keys()].map((answer) => {
            const before = performance.now();
            newReport(survey, [answer * 20]);
            return performance.now() - before;
          });
        }""",
        [survey.canonical.decode(), survey.hash],
    )
    print(f"a report for 1,000 options: the first {times[0]:.2f} ms, then {statistics.median(times):.2f} ms")
    assert statistics.median(times) < 50


# Skip rules -------------------------------------------------------------------------------------------------------


def test_questions_come_and_go_with_the_answers_without_moving_the_focus(
    page: Page, page_server: LiveServer
) -> None:
    start(page, page_server, CHEATED, WHY, AGAIN, MOOD, title="Rules")
    cheated, why, again = group(page, CHEATED), group(page, WHY), group(page, AGAIN)
    announcer = page.locator("#announcer")
    expect(why).to_be_hidden()
    expect(again).to_be_hidden()
    cheated.get_by_label("Yes").check()
    expect(why).to_be_visible()
    expect(again).to_be_hidden()
    expect(cheated.get_by_label("Yes")).to_be_focused()
    expect(announcer).to_have_text("Now also asked: Question 2.")
    # Numbers stay with their questions, so that the explanation and what was sent speak of the same ones.
    assert page.locator(".eyebrow:visible").all_inner_texts() == [f"Question {n} of 4" for n in (1, 2, 4)]
    before = cheated.bounding_box()
    why.get_by_label("Everybody does it").check()
    expect(again).to_be_visible()
    again.get_by_label("No").check()
    page.keyboard.press("Tab")
    cheated.get_by_label("No").check()
    assert cheated.bounding_box() == before
    expect(why).to_be_hidden()
    expect(again).to_be_hidden()  # its own rule holds, but the question it asks about is not shown
    expect(announcer).to_have_text("No longer asked: Question 2 and Question 3.")
    cheated.get_by_label("Yes").check()
    expect(why.get_by_label("Everybody does it")).to_be_checked()
    expect(again.get_by_label("No")).to_be_checked()


@pytest.mark.parametrize(
    ("choices", "reports"),
    [
        (["#q0-0"], [0, 3, 2]),
        (["#q0-1", "#q1-1"], [1, 1, 2]),
        (["#q0-1", "#q1-2", "#q2-0"], [1, 2, 0]),
        # What was chosen before the question went away does not count.
        (["#q0-1", "#q1-2", "#q2-0", "#q0-0"], [0, 3, 2]),
    ],
)
def test_hidden_questions_report_that_they_do_not_apply(
    page: Page, page_server: LiveServer, choices: list[str], reports: list[int]
) -> None:
    page.add_init_script(TRUTHFUL_COINS)
    start(page, page_server, CHEATED, WHY, AGAIN, title="Hidden questions")
    posts = Posts(page)
    page.route(REPORTS, lambda route: route.abort())
    for choice in choices:
        page.locator(choice).check()
    press_send(page)
    heading(page, "Not sent yet")
    assert json.loads(posts.bodies[0])["reports"] == reports
    page.unroute(REPORTS)


def test_only_questions_that_are_shown_can_be_missing(page: Page, page_server: LiveServer) -> None:
    start(page, page_server, CHEATED, WHY, title="Missing")
    press_send(page)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("One answer is still missing:")
    group(page, CHEATED).get_by_label("Yes").check()
    press_send(page)
    expect(alert.get_by_role("link")).to_have_text(str(WHY["text"]))


# Widgets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", range(3, 12))
def test_every_point_of_a_scale_is_within_reach_of_a_thumb(
    browser: Browser, page_server: LiveServer, points: int
) -> None:
    context = browser.new_context(viewport={"width": 320, "height": 700})
    page = context.new_page()
    scale = {**MOOD, "points": points, "mechanism": {"name": "krr", "epsilon": "1"}}
    del scale["channel"]
    start(page, page_server, scale, title=f"Scale of {points}")
    boxes = [point.bounding_box() for point in page.locator(".point").all()]
    assert len(boxes) == points
    for box in boxes:
        assert box is not None
        assert box["width"] >= 32
        assert box["height"] >= 48
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 320
    expect(page.locator("#q0-0")).to_have_accessible_name("1 Never")
    expect(page.locator(f"#q0-{points - 1}")).to_have_accessible_name(f"{points} Always")
    expect(page.locator(".ends")).to_have_text(f"1 = Never{points} = Always")
    assert page.evaluate(WIDE) == 0
    context.close()


def test_a_scale_with_short_labels_of_its_own_shows_these(page: Page, page_server: LiveServer) -> None:
    scale = {**AGREE, "points": 11, "labels": [str(point) for point in range(11)]}
    start(page, page_server, scale, title="Zero to ten")
    assert page.locator(".point").all_inner_texts() == [str(point) for point in range(11)]
    expect(page.locator(".ends")).to_have_count(0)


def test_a_keyboard_is_enough_for_every_kind(page: Page, page_server: LiveServer) -> None:
    page.add_init_script(TRUTHFUL_COINS)
    krr = {"name": "krr", "epsilon": "1", "target": "shares"}
    scale = {key: value for key, value in MOOD.items() if key != "channel"} | {"mechanism": krr}
    survey = start(page, page_server, CHEATED, WHY, scale, HOURS, USED, TOWN, title="Keyboard for every kind")
    posts = Posts(page)
    press = page.keyboard.press

    def leave() -> None:
        """Go on past the line about the odds, which is a button."""
        press("Tab")
        expect(page.locator(".fold:focus")).to_have_count(1)
        press("Tab")

    press("Tab")
    press("ArrowDown")  # No -> Yes, which shows the next question
    leave()
    press("Space")
    expect(group(page, WHY).get_by_label("No time to study")).to_be_checked()
    leave()
    press("ArrowLeft")  # around the corner
    expect(page.locator("#q2-10")).to_be_checked()
    leave()
    page.keyboard.type("12.5")
    press("Enter")  # only Send sends
    expect(page.locator("form")).to_be_visible()
    leave()
    press("Tab")
    press("Space")
    expect(page.locator("#q4-1")).to_be_checked()
    for _ in range(4):
        press("Tab")
    leave()
    page.keyboard.type("evora s")
    expect(page.get_by_role("status").filter(has_text="options shown")).to_have_text("1 of 80 options shown")
    press("Enter")
    expect(page.get_by_label("Évora South", exact=True)).to_be_checked()
    expect(page.get_by_label("Évora South", exact=True)).to_be_focused()
    leave()
    press("Tab")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_focused()
    press("Enter")
    heading(page, "Sent")
    reports = json.loads(posts.bodies[0])["reports"]
    assert reports[:3] == [1, 0, 10]
    assert reports[4] == 1  # the one that was ticked
    assert int(reports[5], 16) >> TOWNS.index("Évora South") & 1
    assert len(stored(page_server, survey)) == 1


READ = {
    "12.5": 25,
    "12,5": 25,
    " 12,50 ": 25,
    "0": 0,
    "80": 160,
    "+3": 6,
    "1 2": 24,
    "١٢٫٥": 25,
    "۱۲": 24,
    "１２": 24,
    "80.5": None,
    "-1": None,
    "12.25": None,
    "12,000": None,  # twelve thousand to some
    "1.2.3": None,
    "": None,
    "e": None,
    "1e1": None,
    "twelve": None,
    "0x10": None,
    "5 hours": None,
}


def test_numbers_are_read_as_people_write_them(page: Page, page_server: LiveServer) -> None:
    start(page, page_server, HOURS, title="Read")
    found = page.evaluate(
        """async (texts) => {
          const beside = document.querySelector("script[src]").src; // the modules that the page itself runs
          const { readNumber } = await import(new URL("widgets.js", beside));
          const { loadSurvey } = await import(new URL("../client/survey.js", beside));
          const bytes = await (await fetch(document.querySelector("[rel=preload]").href)).arrayBuffer();
          const { stepsTo } = loadSurvey(new Uint8Array(bytes)).questions[0].answers;
          return texts.map((text) => {
            const read = readNumber(text, 1);
            return read && stepsTo(read);
          });
        }""",
        list(READ),
    )
    assert dict(zip(READ, found, strict=True)) == READ


def test_a_number_off_the_grid_is_refused_beside_the_field(page: Page, page_server: LiveServer) -> None:
    start(page, page_server, HOURS, title="Off the grid")
    field = page.get_by_role("textbox")
    expect(field).to_have_accessible_name(f"{HOURS['text']} hours")
    expect(field).to_have_attribute("inputmode", "decimal")
    expect(field).to_have_accessible_description(
        re.compile("^A number from 0 to 80, in steps of 0.5 What is sent")
    )
    field.fill("12.3")
    field.blur()
    problem = "Please write a number from 0 to 80, in steps of 0.5."
    expect(page.get_by_text(problem)).to_be_visible()
    expect(field).to_have_accessible_description(re.compile("^" + re.escape(problem)))
    expect(field).to_have_attribute("aria-invalid", "true")
    posts = Posts(page)
    press_send(page)
    expect(page.get_by_role("alert")).to_contain_text("One answer is still missing:")
    page.get_by_role("alert").get_by_role("link").click()
    expect(field).to_be_focused()
    field.fill("12.5")
    expect(page.get_by_text(problem)).to_be_hidden()
    expect(field).to_have_attribute("aria-invalid", "false")
    assert posts.bodies == []
    press_send(page)
    heading(page, "Sent")


@pytest.mark.parametrize(
    ("more", "mode", "said"),
    [
        ({"min": 0, "max": 9, "step": 1}, "numeric", "A whole number from 0 to 9"),
        ({"min": -5, "max": 5, "step": 1}, "text", "A whole number from \u200e-5 to 5"),
        ({"min": 0, "max": 100, "step": 5}, "numeric", "A number from 0 to 100, in steps of 5"),
    ],
)
def test_a_number_says_its_range_and_gets_the_right_keys(
    page: Page, page_server: LiveServer, more: dict[str, int], mode: str, said: str
) -> None:
    number = {**HOURS, **more, "mechanism": {"name": "krr", "epsilon": "1"}}
    del number["channel"]
    start(page, page_server, number, title=f"Range {more}")
    expect(page.get_by_role("textbox")).to_have_attribute("inputmode", mode)
    expect(page.locator("#q0-hint")).to_have_text(said)
    page.get_by_role("textbox").fill(str(more["min"]).replace("-", "\u2212"))
    press_send(page)
    heading(page, "Sent")


def test_ticks_are_limited_and_none_is_said_aloud(page: Page, page_server: LiveServer) -> None:
    page.add_init_script(TRUTHFUL_COINS)
    start(page, page_server, USED, TRIED, title="Ticks")
    posts = Posts(page)
    used, tried = group(page, USED), group(page, TRIED)
    expect(used).to_have_accessible_description(
        re.compile("^Tick at most 2. What is sent could come from any answer")
    )
    expect(tried).to_have_accessible_description(
        re.compile("^Tick all that apply. What is sent could come from any answer")
    )
    press_send(page)
    expect(page.get_by_role("alert")).to_contain_text("2 answers are still missing:")
    expect(used).to_have_accessible_description(re.compile("^Please tick what applies, or “None of these”."))
    for index in range(3):
        used.get_by_role("checkbox").nth(index).check()
    over = "3 are ticked. Please tick at most 2."
    expect(used.get_by_text(over)).to_be_visible()
    expect(page.locator("#announcer")).to_have_text(over)
    press_send(page)
    expect(page.get_by_role("alert")).to_contain_text("2 answers are still missing:")
    used.get_by_label("None of these").check()
    assert used.get_by_role("checkbox", checked=True).count() == 1
    expect(used.get_by_text(over)).to_be_hidden()
    used.get_by_label("An earlier exam").check()
    expect(used.get_by_label("None of these")).not_to_be_checked()
    tried.get_by_label("None of these").check()
    press_send(page)
    heading(page, "Sent")
    # Draw 0: of the padded set its first item; of the ticks the first two, neither of them ticked.
    assert json.loads(posts.bodies[0])["reports"] == [3, 0]


def test_a_long_list_is_searched_on_the_device(page: Page, page_server: LiveServer) -> None:
    start(page, page_server, TOWN, title="Long list")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    town = group(page, TOWN)
    search = page.get_by_label("Search in 80 options")
    shown = town.get_by_role("radio")
    expect(shown).to_have_count(80)
    for typed, found in [
        ("sao", 4),
        ("SÃO paulo e", 1),
        ("west łódź", 1),
        ("  nimes   s ", 1),
        ("south", 20),
    ]:
        search.fill(typed)
        expect(shown).to_have_count(found)
        expect(town.get_by_role("status")).to_have_text(f"{found} of 80 options shown")
    search.fill("atlantis")
    expect(shown).to_have_count(0)
    expect(town.get_by_role("status")).to_have_text("No option matches. Try other words.")
    search.press("Enter")
    expect(search).to_be_focused()
    search.fill("jena")
    search.press("ArrowDown")
    expect(town.get_by_label("Jena North")).to_be_focused()
    expect(town.get_by_label("Jena North")).not_to_be_checked()
    page.keyboard.press("ArrowDown")  # only among those that are shown
    expect(town.get_by_label("Jena South")).to_be_checked()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(town.get_by_label("Jena West")).to_be_checked()
    expect(town.get_by_label("Jena West")).to_have_attribute("aria-setsize", "4")
    search.fill("faro")
    expect(town.get_by_text("Chosen: Jena West")).to_be_visible()  # out of sight, and still chosen
    press_send(page)
    heading(page, "Sent")
    assert [url for url in requests if not url.endswith(("/reports", "/widgets.js"))] == []
    assert requests[0].endswith("/reports"), "nothing before Send"


def test_ticks_of_a_long_list_can_be_searched_too(page: Page, page_server: LiveServer) -> None:
    start(page, page_server, {**USED, "options": TOWNS, "at_most": 3}, title="Long ticks")
    search = page.get_by_label("Search in 80 options")
    for typed in ("dover n", "haifa s"):
        search.fill(typed)
        search.press("Enter")
    expect(page.get_by_text("Chosen: Dover North and Haifa South")).to_be_visible()
    page.get_by_label("None of these").check()
    expect(page.get_by_text("Chosen:")).to_be_hidden()
    assert page.get_by_role("checkbox", checked=True).count() == 1


# Words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "said", "unsaid"),
    [
        (
            [TOWN],
            [
                "This device sends a set of 22 of the 80 options, drawn by chance.",
                "What is sent could come from any answer; it is at most 2.72 times likelier from yours.",
                "Nobody, including us, receives what you actually chose.",
            ],
            ["Of 100 people"],
        ),
        (
            [TRIED],
            [
                "This device draws 2 of the 6 options by chance and sends only which of these you ticked,",
                "at most 7.39 times likelier",
            ],
            ["Of 100 people"],
        ),
        ([USED], ["or a placeholder that is no option.", "at most 7.39 times likelier"], ["Of 100 people"]),
        (
            # Geometric noise on five points at epsilon 1: the ends keep their answer more often than the middle.
            [{**AGREE, "mechanism": {"name": "geometric", "epsilon": "1", "target": "mean"}}],
            ["Of 100 people who choose Strongly disagree, about 56 are recorded as Strongly disagree."],
            ["could come from any answer", "spread evenly"],
        ),
        (
            [{**AGREE, "mechanism": {"name": "one_bit", "epsilon": "1", "target": "mean"}}],
            ["What is sent could come from any answer; it is at most 2.72 times likelier from yours."],
            ["Of 100 people"],
        ),
        ([MOOD], ["What is sent could come from any answer; it is at most"], ["This device sends"]),
        (
            [AGREE],
            [
                "Of 100 people who choose any one option, about 40 are recorded as that option.",
                "spread evenly over the 4 other options",
            ],
            ["could come from any answer", "does not apply"],
        ),
        (
            # e^1/(e^1 + 2) is 57.6 %: two answers that are shown, and a third one.
            [CHEATED, {**AGAIN, "after": {"question": "cheated", "answers": ["Yes"]}}],
            [
                "about 58 are recorded as that option. The other 42 are spread evenly over the 2 other options.",
                "“does not apply” counts as one more option: people who are not asked this question send it,",
                "So what is sent does not tell for certain whether you were asked.",
            ],
            ["does reveal"],
        ),
        (
            # Nobody is forced to say that the question does not apply: whoever reports that, was not asked.
            [
                CHEATED,
                {**WHY, "mechanism": {"name": "forced", "forced": ["1/10", "1/10", "1/10", "0"]}},
            ],
            ["A does not apply does reveal your does not apply."],
            ["does not tell for certain"],
        ),
    ],
    ids=[
        "subset",
        "sampled",
        "padded",
        "geometric",
        "one bit",
        "designed",
        "scale",
        "skipped",
        "skipped and one-sided",
    ],
)
def test_what_is_said_of_the_newer_kinds_is_true(
    page: Page, page_server: LiveServer, asked: list[dict[str, Any]], said: list[str], unsaid: list[str]
) -> None:
    survey = draft(*asked, title=f"Words for {asked[-1]['id']} {asked[-1]['mechanism']['name']}")
    open_page(page, address(page_server, survey))
    text = all_told(page)
    for sentence in said:
        assert sentence in text
    for sentence in [*unsaid, "nonym", "{", "undefined", "NaN"]:
        assert sentence not in text
    for factor in re.findall(r"at most ([\d.,]+) times likelier", text):
        ratios = [question.channel.ratio for question in survey.questions]
        assert any(ratio and ratio <= float(factor) <= float(ratio) * 1.01 for ratio in ratios)


def test_a_number_is_never_said_to_be_recorded_as_chosen(page: Page, page_server: LiveServer) -> None:
    """Numbers are rounded or put into bins first: what is recorded is not what was chosen, even by K-ary response."""
    number = {**HOURS, "mechanism": {"name": "krr", "epsilon": "1", "target": "distribution", "bins": 4}}
    del number["channel"]
    survey = draft(number, title="A number in bins")
    open_page(page, address(page_server, survey))
    told = all_told(page)
    assert "at most 2.72 times likelier from yours" in told
    assert "recorded as that option" not in told
    page.locator(".bar button").click()
    page.get_by_role("textbox").fill("0")
    press_send(page)
    heading(page, "Sent")
    page.locator("summary").first.click()
    recorded = page.locator("details li").inner_text()
    assert re.search(r"Recorded as: (0 – 20|20\.5 – 40|40\.5 – 60|60\.5 – 80)\.", recorded)


# Everybody --------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["light en", "dark en", "light ar"])
def reader(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """Readers with different screens and languages."""
    scheme, language = request.param.split()
    size = {"width": 390, "height": 844}
    context = browser.new_context(color_scheme=scheme, locale=language, viewport=size)
    yield context.new_page()
    context.close()


def axe(page: Page) -> None:
    page.locator("details").evaluate_all("(all) => all.forEach((one) => (one.open = true))")
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def test_axe_finds_nothing_in_any_state_of_any_kind(reader: Page, page_server: LiveServer) -> None:
    page = reader
    survey = draft(*EVERY_KIND, title="Axe for every kind")
    open_page(page, address(page_server, survey))
    axe(page)
    show_all(page)
    axe(page)
    page.locator(".bar button").click()
    page.locator(".promise").wait_for()
    page.locator(".bar button").click()
    for fold in page.locator(".fold:visible").all():
        fold.click()
    axe(page)
    page.locator("button[type=submit]").click()
    axe(page)
    page.locator("#q5-0").fill("12.3")
    page.locator("#q5-0").blur()
    for index in range(3):
        page.locator(f"#q6-{index}").check()
    page.locator("#q8-search").fill("nowhere at all")
    page.locator("#q0-1").check()
    axe(page)
    page.locator("#q6-0").uncheck()
    page.locator("#q6-2").uncheck()
    fill_every_kind(page)
    axe(page)
    page.locator("button[type=submit]").click()
    page.locator(".done").wait_for()
    axe(page)


def test_axe_finds_nothing_on_paper_with_rules_or_without_steps(
    reader: Page, page_server: LiveServer
) -> None:
    forced = {**WHY, "mechanism": {"name": "forced", "forced": ["1/10", "1/10", "1/10", "1/10"]}}
    for survey in (
        draft(CHEATED, forced, title="Rules on paper"),
        draft(*EVERY_KIND, title="Every kind on paper"),
    ):
        address(page_server, survey)
        reader.goto(f"{page_server.url}/s/{survey.hash}/paper")
        expect(reader.locator("fieldset")).to_have_count(2 if len(survey.questions) == 2 else 0)
        axe(reader)


@pytest.mark.parametrize("language", ["en", "fr", "de", "es", "ar"])
def test_every_kind_speaks_every_language_within_320_pixels(
    browser: Browser, page_server: LiveServer, language: str
) -> None:
    survey = draft(*EVERY_KIND, title="Languages of every kind")
    context = browser.new_context(viewport={"width": 320, "height": 700})
    page = context.new_page()
    open_page(page, address(page_server, survey).replace("#", f"?lang={language}#"))
    texts = []

    def read() -> None:
        assert page.evaluate(WIDE) == 0
        texts.append(page.locator("main").inner_text())

    read()
    page.locator(".bar button").click()
    page.locator("button[type=submit]").click()
    page.locator("#q0-1").check()
    read()
    fill_every_kind(page)
    mark = {"en": ".", "ar": "."}.get(language, ",")
    assert f"0{mark}5" in page.locator("#q5-hint").inner_text().replace("٫", ".")
    page.locator("button[type=submit]").click()
    page.locator(".done").wait_for()
    page.locator("summary").first.click()
    read()
    for text in texts:
        assert not re.search(r"undefined|NaN|\{(?!\"id\")\w+\}", text)
        if language != "en":
            assert not re.search(
                r"This device|Tick |None of these|does not apply|Search in|drawn by chance", text
            )
    context.close()


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_pictures_for_whoever_looks(browser: Browser, page_server: LiveServer, width: int) -> None:
    """Not a check by itself: the pictures go to artefacts/ for a person to look at."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    link = address(page_server, draft(*EVERY_KIND, title="Exam honesty, in every kind"))
    for scheme, language in [("light", "en"), ("dark", "en"), ("light", "ar")]:
        size = {"width": width, "height": 844 if width < 800 else 900}
        context = browser.new_context(color_scheme=scheme, locale=language, viewport=size)
        page = context.new_page()
        open_page(page, link)
        page.locator(".bar button").click()
        for name in ("empty", "filled"):
            file = ARTEFACTS / f"{width}-{scheme}-{language}-kinds-{name}.png"
            page.screenshot(path=file, full_page=True)
            assert file.stat().st_size > 5_000
            fill_every_kind(page)
        context.close()
