"""Scales, numbers, ticks, long lists and skip rules on the page: on the wire, and what comes and goes."""

from __future__ import annotations

import json
import re
import statistics

import pytest
from hushpoll_client import Survey
from playwright.sync_api import Page, Request, Route, expect

from tests.browser.respondent import (
    AGAIN,
    CHEATED,
    EVERY_KIND,
    HOURS,
    MOOD,
    TOWN,
    TRUTHFUL_COINS,
    UNTRUTHFUL_COINS,
    USED,
    WHY,
    Posts,
    address,
    draft,
    fill_every_kind,
    group,
    heading,
    local_record,
    open_page,
    press_send,
    sent_by,
    show_all,
    start,
    stored,
    stored_id,
)
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
REPORTS = re.compile(r"/api/surveys/[0-9a-f]{64}/reports$")


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
        stored_id(either_server, survey, body["id"]): tuple(body["reports"])
    }
    for report, question in zip(body["reports"], survey.questions, strict=True):
        assert question.channel.wire.legal(report)
    assert local_record(page, survey) == {**body, "state": "sent"}
    page.locator("summary").first.click()
    lines = page.locator("details li").all_inner_texts()
    assert "Recorded as: a set of 22 of 80 options. What is sent could come from any answer;" in lines[8]
    assert re.search(
        r"Recorded as: asked about \w+ and \w+; ticked: (\w+ and \w+|\w+|–)\. What is sent", lines[7]
    )
    assert re.search(r"Recorded as: (.+)\. What is sent could come from any answer", lines[6])
    # A bare “5” below a scale from 1 to 5 would read as the fifth point.
    for index in (3, 5):
        told_number = (
            f"Recorded as: the number {body['reports'][index]}, which is not an answer. What is sent could"
        )
        assert told_number in lines[index]


def test_reload_back_and_double_click_are_one_randomization(page: Page, page_server: LiveServer) -> None:
    survey = start(page, page_server, *EVERY_KIND, title="Every kind, once")
    posts = Posts(page)
    page.route(REPORTS, lambda route: route.abort())
    fill_every_kind(page)
    page.get_by_role("button", name="Send", exact=True).dblclick()
    heading(page, "Not sent yet")
    waiting = local_record(page, survey)
    assert waiting is not None
    page.go_back()
    heading(page, "Not sent yet")
    page.reload()
    heading(page, "Not sent yet")
    assert local_record(page, survey) == waiting  # bitmaps and joint reports are recalled as legal ones
    page.unroute(REPORTS)
    page.get_by_role("button", name="Send now").click()
    heading(page, "Sent")
    assert len(set(posts.bodies)) == 1
    assert json.loads(posts.bodies[0]) == {"id": waiting["id"], "reports": waiting["reports"]}
    assert list(stored(page_server, survey)) == [stored_id(page_server, survey, waiting["id"])]


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
def test_a_stored_record_that_is_impossible_is_not_sent(
    page: Page, page_server: LiveServer, tampered: str
) -> None:
    survey = start(page, page_server, TOWN, title=f"Tampered {tampered}")
    page.route(REPORTS, lambda route: route.abort())
    page.locator("#q0-3").check()
    press_send(page)
    heading(page, "Not sent yet")
    record = local_record(page, survey)
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


def test_answers_exist_only_on_the_screen(page: Page, either_server: LiveServer) -> None:
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
    for name in ("client/extra_kinds.js", "respond/widgets.js"):
        before_start = name.startswith("client/")

        def changed(route: Route) -> None:
            response = route.fetch()
            route.fulfill(response=response, body=response.text() + "\n// one byte more")

        page.route(f"**/static/*/{name}", changed)
        page.goto(link)
        if before_start:
            heading(page, "This survey cannot be answered here")
        else:
            page.get_by_role("button", name="Start").click()
            expect(page.locator(".notice")).to_contain_text("could not be loaded")
        assert page.locator("form, fieldset").count() == 0
        page.unroute_all(behavior="wait")
        page.goto("about:blank")
    open_page(page, link)
    heading(page, survey.title)
    show_all(page)
    page.locator("summary").click()
    scripts = page.locator(".scripts li").all_inner_texts()
    assert {line.split()[0] for line in scripts} >= {"client/extra_kinds.js", "respond/widgets.js"}
    assert all(re.fullmatch(r"\S+ [0-9a-f]{64}", line) for line in scripts)


def test_a_report_for_a_thousand_options_is_drawn_in_no_time(js: Page) -> None:
    options = [f"Option {number}" for number in range(1000)]
    town = {**TOWN, "options": options, "mechanism": {"name": "subset", "epsilon": "1", "size": 269}}
    survey = draft(town, title="A thousand options")
    times = js.evaluate(
        """async ([text, hash]) => {
          await import("/extra_kinds.js");
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


def test_questions_appear_and_disappear_without_moving_the_focus(page: Page, page_server: LiveServer) -> None:
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


def test_hidden_questions_need_no_answer(page: Page, page_server: LiveServer) -> None:
    start(page, page_server, CHEATED, WHY, title="Missing")
    press_send(page)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("One answer is still missing:")
    group(page, CHEATED).get_by_label("Yes").check()
    press_send(page)
    expect(alert.get_by_role("link")).to_have_text(str(WHY["text"]))
