"""Sentences about scales, numbers, ticks and long lists, in every language, and their accessibility."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.respondent import (
    AGAIN,
    AGREE,
    ARTEFACTS,
    CHEATED,
    EVERY_KIND,
    HOURS,
    MOOD,
    TOWN,
    TRIED,
    USED,
    WHY,
    WIDE,
    address,
    axe,
    begin,
    draft,
    explanation_text,
    fill_every_kind,
    heading,
    open_page,
    press_send,
    show_all,
)
from tests.serving import LiveServer

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("questions", "expected", "unsaid"),
    [
        (
            [TOWN],
            [
                "it is in what is sent in about 51 of 100 cases.",
                "This device sends a set of 22 of the 80 options, drawn by chance.",
                "What is sent could come from any answer; it is at most 2.72 times likelier from yours.",
                "From what is sent, no one can tell for certain what you chose.",
            ],
            ["00 who choose"],
        ),
        (
            [TRIED],
            [
                "This device draws 2 of the 6 options by chance and sends only which of these you ticked,",
                "at most 7.39 times likelier",
            ],
            ["00 who choose"],
        ),
        (
            [USED],
            ["or a placeholder that is not an option.", "at most 7.39 times likelier"],
            ["00 who choose"],
        ),
        (
            # Geometric noise on five points at epsilon 1: the ends keep their answer more often than the middle.
            [{**AGREE, "mechanism": {"name": "geometric", "epsilon": "1", "target": "mean"}}],
            ["Of 100 who choose Strongly disagree, about 56 send Strongly disagree."],
            ["could come from any answer", "equally often"],
        ),
        (
            [{**AGREE, "mechanism": {"name": "one_bit", "epsilon": "1", "target": "mean"}}],
            ["What is sent could come from any answer; it is at most 2.72 times likelier from yours."],
            ["00 who choose"],
        ),
        ([MOOD], ["What is sent could come from any answer; it is at most"], ["This device sends"]),
        (
            [AGREE],
            [
                "What 100 people send who choose Strongly agree",
            ],
            ["could come from any answer", "does not apply"],
        ),
        (
            # e^1/(e^1 + 2) is 57.6 %: two answers that are shown, and a third one.
            [CHEATED, {**AGAIN, "after": {"question": "cheated", "answers": ["Yes"]}}],
            [
                "Of 100 who choose No, about 58 send No.",
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
def test_sentences_about_every_kind_are_true(
    page: Page,
    page_server: LiveServer,
    questions: list[dict[str, Any]],
    expected: list[str],
    unsaid: list[str],
) -> None:
    survey = draft(*questions, title=f"Words for {questions[-1]['id']} {questions[-1]['mechanism']['name']}")
    open_page(page, address(page_server, survey))
    text = explanation_text(page)
    for sentence in expected:
        assert sentence in text
    for sentence in [*unsaid, "nonym", "{", "undefined", "NaN"]:
        assert sentence not in text
    for factor in re.findall(r"at most ([\d.,]+) times likelier", text):
        ratios = [question.channel.ratio for question in survey.questions]
        assert any(ratio and ratio <= float(factor) <= float(ratio) * 1.01 for ratio in ratios)


def test_a_number_is_never_described_as_recorded_as_chosen(page: Page, page_server: LiveServer) -> None:
    """Numbers are rounded or put into bins first: what is recorded is not what was chosen, even by K-ary response."""
    number = {**HOURS, "mechanism": {"name": "krr", "epsilon": "1", "target": "distribution", "bins": 4}}
    del number["channel"]
    survey = draft(number, title="A number in bins")
    open_page(page, address(page_server, survey))
    text = explanation_text(page)
    assert "at most 2.72 times likelier from yours" in text
    assert "recorded as that option" not in text
    page.locator(".bar button").click()
    page.get_by_role("textbox").fill("0")
    press_send(page)
    heading(page, "Sent")
    page.locator("summary").first.click()
    recorded = page.locator("details li").inner_text()
    assert re.search(r"Recorded as: (0 – 20|20\.5 – 40|40\.5 – 60|60\.5 – 80)\.", recorded)


def try_every_example(page: Page) -> None:
    """Open every "Try it" that is visible, and press its last example."""
    for panel in page.locator(".trial").all():
        opener = panel.locator("xpath=preceding-sibling::button")
        if opener.is_visible():
            opener.click()
            panel.locator(".examples button").last.click()
            expect(panel.locator(".draws li")).to_have_count(10)


# Everybody --------------------------------------------------------------------------------------------------------


def test_axe_finds_nothing_in_any_state_of_any_kind(reader: Page, page_server: LiveServer) -> None:
    page = reader
    survey = draft(*EVERY_KIND, title="Axe for every kind")
    open_page(page, address(page_server, survey))
    try_every_example(page)
    axe(page)
    show_all(page)
    axe(page)
    page.locator(".bar button").click()
    page.locator(".promise").wait_for()
    begin(page)
    for fold in page.locator(".fold:visible").all():
        fold.click()
    try_every_example(page)
    assert page.evaluate(WIDE) == 0
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
def test_every_kind_fits_320_pixels_in_every_language(
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

    try_every_example(page)
    read()
    page.locator(".bar button").click()
    page.locator("button[type=submit]").click()
    page.locator("#q0-1").check()
    for fold in page.locator(".fold:visible").all():
        fold.click()
    try_every_example(page)
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


@pytest.mark.long
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_pictures_of_every_state_are_written(browser: Browser, page_server: LiveServer, width: int) -> None:
    """Not a check by itself: the pictures go to artefacts/ for a person to look at."""
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    link = address(page_server, draft(*EVERY_KIND, title="Exam honesty, in every kind"))
    for scheme, language in [("light", "en"), ("dark", "en"), ("light", "ar")]:
        size = {"width": width, "height": 844 if width < 800 else 900}
        context = browser.new_context(color_scheme=scheme, locale=language, viewport=size)
        page = context.new_page()
        open_page(page, link)
        begin(page)
        for name in ("empty", "filled"):
            file = ARTEFACTS / f"{width}-{scheme}-{language}-kinds-{name}.png"
            page.screenshot(path=file, full_page=True)
            assert file.stat().st_size > 5_000
            fill_every_kind(page)
        context.close()


def test_a_yes_no_question_that_may_be_declined_is_answered_in_the_readers_words(
    page: Page, page_server: LiveServer
) -> None:
    declined = {**WHY, "options": ["No", "Yes", "Prefer not to say"], "mechanism": {"epsilon": "1"}}
    designers = {**declined, "id": "own", "options": ["Yes", "No", "Maybe"]}
    for question in (declined, designers):
        question.pop("after", None)
    survey = draft(declined, designers, title="Declined in German")
    open_page(page, address(page_server, survey).replace("#", "?lang=de#"))
    page.get_by_role("button", name="Beginnen").click()
    for label in ("Nein", "Ja", "Keine Angabe"):
        expect(page.get_by_label(label, exact=True)).to_have_count(1)
    for label in ("Yes", "No", "Maybe"):
        expect(page.get_by_label(label, exact=True)).to_have_count(1)
