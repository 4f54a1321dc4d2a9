"""Scales, numbers, ticks and long lists in the hand: by thumb, by keyboard, as people write them."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.respondent import (
    AGREE,
    CHEATED,
    HOURS,
    MOOD,
    TOWN,
    TOWNS,
    TRIED,
    TRUTHFUL_COINS,
    USED,
    WHY,
    WIDE,
    Posts,
    group,
    heading,
    press_send,
    start,
    stored,
)
from tests.serving import LiveServer

pytestmark = pytest.mark.browser


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


def test_a_scale_with_short_labels_shows_them(page: Page, page_server: LiveServer) -> None:
    scale = {**AGREE, "points": 11, "labels": [str(point) for point in range(11)]}
    start(page, page_server, scale, title="Zero to ten")
    assert page.locator(".point").all_inner_texts() == [str(point) for point in range(11)]
    expect(page.locator(".ends")).to_have_count(0)


def test_a_keyboard_is_enough_for_every_kind(page: Page, page_server: LiveServer) -> None:
    page.add_init_script(TRUTHFUL_COINS)
    krr = {"name": "krr", "epsilon": "1", "target": "shares"}
    scale = {key: value for key, value in MOOD.items() if key != "channel"} | {"mechanism": krr}
    questions = [CHEATED, WHY, scale, HOURS, USED, TOWN]
    survey = start(page, page_server, *questions, title="Keyboard for every kind")
    posts = Posts(page)
    press = page.keyboard.press

    def leave() -> None:
        """Go on past the line about the odds and "Try it", which are buttons."""
        press("Tab")
        expect(page.locator(".fold:focus")).to_have_count(1)
        press("Tab")
        expect(page.locator(":focus")).to_have_text("Try it")
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
    values = page.evaluate(
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
    assert dict(zip(READ, values, strict=True)) == READ


def test_a_number_off_the_grid_is_refused_next_to_its_field(page: Page, page_server: LiveServer) -> None:
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
    ("more", "mode", "hint"),
    [
        ({"min": 0, "max": 9, "step": 1}, "numeric", "A whole number from 0 to 9"),
        ({"min": -5, "max": 5, "step": 1}, "text", "A whole number from \u200e-5 to 5"),
        ({"min": 0, "max": 100, "step": 5}, "numeric", "A number from 0 to 100, in steps of 5"),
    ],
)
def test_a_number_shows_its_range_and_the_right_keyboard(
    page: Page, page_server: LiveServer, more: dict[str, int], mode: str, hint: str
) -> None:
    number = {**HOURS, **more, "mechanism": {"name": "krr", "epsilon": "1"}}
    del number["channel"]
    start(page, page_server, number, title=f"Range {more}")
    expect(page.get_by_role("textbox")).to_have_attribute("inputmode", mode)
    expect(page.locator("#q0-hint")).to_have_text(hint)
    page.get_by_role("textbox").fill(str(more["min"]).replace("-", "\u2212"))
    press_send(page)
    heading(page, "Sent")


def test_ticks_are_limited_and_none_is_an_explicit_choice(page: Page, page_server: LiveServer) -> None:
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
    radios = town.get_by_role("radio")
    expect(radios).to_have_count(80)
    for typed, matches in [
        ("sao", 4),
        ("SÃO paulo e", 1),
        ("west łódź", 1),
        ("  nimes   s ", 1),
        ("south", 20),
    ]:
        search.fill(typed)
        expect(radios).to_have_count(matches)
        expect(town.get_by_role("status")).to_have_text(f"{matches} of 80 options shown")
    search.fill("atlantis")
    expect(radios).to_have_count(0)
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
    assert [url for url in requests if not url.endswith(("/reports", "/ledger.js"))] == []
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
