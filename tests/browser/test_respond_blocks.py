"""Blocks in a real Chromium: the page asks what was drawn and nothing else; the editor makes and compares them."""

from __future__ import annotations

import json
import re

import pytest
from hushpoll_client import Survey
from playwright.sync_api import Browser, Page, expect

from tests.browser.pictures import keep_picture
from tests.browser.respondent import (
    ARTEFACTS,
    Posts,
    explanation_text,
    heading,
    open_page,
    press_send,
    stored,
)
from tests.browser.workspace_kit import axe, make_draft, shoot
from tests.serving import LiveServer
from tests.vectors.surveys import member, survey, yes_no

pytestmark = pytest.mark.browser
OPTIONS = {
    "id": "why",
    "kind": "choice",
    "text": "What was the main reason?",
    "options": ["Time", "Fear", "Habit"],
}
POINTS = {
    "id": "calm",
    "kind": "scale",
    "text": "How often are you calm?",
    "points": 5,
    "labels": ["Never", "Always"],
}
TEXTS = {
    "stole": "Have you ever stolen?",
    "lied": "Have you lied to a friend?",
    "drove": "Have you driven drunk?",
}


def block_survey(title: str, **settings: bool) -> Survey:
    members = [member(name) | {"text": text} for name, text in TEXTS.items()] + [OPTIONS, POINTS]
    return Survey.from_draft(
        survey(yes_no("cheated", {"name": "warner", "epsilon": 1}), *members, title=title)
        | {
            "blocks": [{"questions": [question["id"] for question in members], "ask": 2, "epsilon": 2}],
            "settings": settings,
        }
    )


def address(server: LiveServer, survey: Survey) -> str:
    server.store.publish(survey)
    return f"{server.url}/s/{survey.hash}#{survey.hash}"


def start(page: Page) -> list[str]:
    """Begin, and return the questions that are shown."""
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
    return [legend.inner_text() for legend in page.locator("legend").all()]


def choose_first(page: Page) -> None:
    for group in page.get_by_role("group").all():
        group.get_by_role("radio").first.check(force=True)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_drawn_questions_are_asked_and_stored(
    browser: Browser, page_server: LiveServer, width: int
) -> None:
    survey = block_survey(f"Drawn at {width}")
    context = browser.new_context(viewport={"width": width, "height": 844})
    page = context.new_page()
    posts = Posts(page)
    open_page(page, address(page_server, survey))
    text = explanation_text(page)
    assert "This device draws 2 of 5 questions by chance. It sends openly which ones" in text
    assert "Questions 2 and 3\n" in text
    assert "at most 7.39 times likelier from yours" in text
    keep_picture(page, ARTEFACTS / f"block-start-{width}.png")
    questions = start(page)
    assert len(questions) == 3
    assert page.locator(".eyebrow").all_inner_texts() == [f"Question {n} of 3" for n in (1, 2, 3)]
    keep_picture(page, ARTEFACTS / f"block-during-{width}.png")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    for _ in range(3):
        page.reload()
        assert start(page) == questions, "a reload asks the same"
    page.go_back()
    assert start(page) == questions
    press_send(page)
    expect(page.locator(".summary")).to_contain_text("3")
    choose_first(page)
    press_send(page)
    heading(page, "Sent")
    assert len(posts.bodies) == 1
    record = json.loads(posts.bodies[0])
    assert set(record) == {"id", "reports"}
    assert len(record["reports"]) == 2
    assert list(stored(page_server, survey).values()) == [tuple(record["reports"])]
    block = survey.blocks[0]
    channel = block.channel
    ids = block.questions_at(record["reports"][1] // channel.largest)  # type: ignore[attr-defined]
    texts = {question.id: question.text for question in survey.questions}
    assert [texts[name] for name in ids] == questions[1:]
    page.get_by_text("See exactly what was sent").click()
    lines = page.locator("details ul li").all_inner_texts()
    assert lines[1].startswith("Questions 2 and 3. Recorded as")
    keep_picture(page, ARTEFACTS / f"block-sent-{width}.png")
    # Which questions were asked is not needed any more, and is nobody else's business.
    assert page.evaluate("() => Object.keys(localStorage).filter((key) => key.endsWith('drawn'))") == []
    page.reload()
    heading(page, "Sent")
    context.close()


def counted_survey() -> Survey:
    """Ask two of five, then a question whose answer decides about another one, then the last, all step by step."""
    members = [member(name) | {"text": text} for name, text in TEXTS.items()] + [OPTIONS, POINTS]
    warner = {"name": "warner", "epsilon": 1}
    rule = {"question": "worked", "answers": ["Yes"]}
    later = [
        yes_no("worked", warner),
        yes_no("tired", {"epsilon": 1}) | {"after": rule},
        yes_no("well", warner),
    ]
    open_one = yes_no("open", {"name": "mangat", "truth": "0.7"})
    return Survey.from_draft(
        survey(*members, *later, open_one, title="One count")
        | {
            "blocks": [{"questions": [question["id"] for question in members], "ask": 2, "epsilon": 2}],
            "look": {"layout": "steps"},
            "sections": [
                {"before": "stole", "title": "What you did"},
                {"before": "worked", "title": "Your work"},
            ],
        }
    )


def test_numbers_count_the_questions_that_are_asked(browser: Browser, page_server: LiveServer) -> None:
    """One to six, as drawn: before, on the cards, aloud, and in what was sent; a hidden question keeps its number."""
    link = address(page_server, counted_survey())
    context = browser.new_context()
    page = context.new_page()
    open_page(page, link)
    expect(page.locator("header")).to_contain_text("6 questions, about")
    expect(page.locator("main > div .eyebrow")).to_have_text("Question 6")
    text = explanation_text(page)
    assert "Questions 1 and 2\n" in text
    assert "Question 7" not in text
    page.get_by_role("button", name="How it works").click()
    page.get_by_text("How we know").click()
    rows = page.locator("details tbody th").all_inner_texts()
    assert rows == ["1–2", "3", "4", "5", "6"]
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Start").click()
    expect(page.locator("h2:visible")).to_have_text("What you did")
    aloud = []
    for number in (1, 2, 3, 5, 6):
        expect(page.locator(".card:visible .eyebrow")).to_have_text(f"Question {number} of 6")
        aloud.append(page.locator("#announcer").inner_text())
        page.locator(".card:visible").get_by_role("radio").first.check(force=True)
        page.get_by_role("button", name="Next").click()
    assert aloud[1:] == [f"Question {number} of 6" for number in (2, 3, 5, 6)]
    press_send(page)
    heading(page, "Sent")
    page.get_by_text("See exactly what was sent").click()
    labels = [line.split(".")[0] for line in page.locator("details ul li").all_inner_texts()]
    assert labels == ["Questions 1 and 2", *(f"Question {number}" for number in (3, 4, 5, 6))]
    context.close()


@pytest.mark.parametrize("layout", ["page", "steps"])
@pytest.mark.parametrize("rank", [0, 1, 2])
def test_a_section_without_drawn_questions_has_no_heading(
    page: Page, page_server: LiveServer, rank: int, layout: str
) -> None:
    """Whatever was drawn can be answered: sections begin in the middle of a block and at its last question."""
    members = [member(name) | {"text": text} for name, text in TEXTS.items()]
    document = survey(*members, title=f"Sections at {rank}, {layout}") | {
        "blocks": [{"questions": list(TEXTS), "ask": 1, "epsilon": 1}],
        "sections": [{"before": "lied", "title": "Friends"}, {"before": "drove", "title": "On the road"}],
        "look": {"layout": layout},
    }
    published = Survey.from_draft(document)
    link = address(page_server, published)
    page.add_init_script(f"localStorage.setItem('hushpoll:{published.hash}:drawn', '[{rank}]')")
    open_page(page, link)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("legend")).to_have_text(list(TEXTS.values())[rank])
    expect(page.locator("h2:visible")).to_have_text([[], ["Friends"], ["On the road"]][rank])
    choose_first(page)
    if layout == "steps":
        page.get_by_role("button", name="Next").click()
        expect(page.locator("h2:visible")).to_have_text(["Review before sending"])
    press_send(page)
    heading(page, "Sent")


def test_every_question_of_a_block_is_drawn_sometimes(browser: Browser, page_server: LiveServer) -> None:
    link = address(page_server, block_survey("Everybody another"))
    seen: set[str] = set()
    # Twelve people most often do; that sixty leave one out, chance does not bring about (5 * .6^60 is 2e-13).
    for _ in range(60):
        context = browser.new_context()
        page = context.new_page()
        open_page(page, link)
        seen |= set(start(page)[1:])
        context.close()
        if len(seen) == 5:
            break
    assert len(seen) == 5


def test_a_shared_device_draws_again_for_the_next_person(page: Page, page_server: LiveServer) -> None:
    survey = block_survey("Kiosk", kiosk=True)
    open_page(page, address(page_server, survey))
    seen = set()
    for _ in range(10):
        questions = start(page)
        seen.add(tuple(questions[1:]))
        assert page.evaluate("() => localStorage.length") == 0
        choose_first(page)
        press_send(page)
        heading(page, "Sent")
        page.get_by_role("button", name=re.compile("next", re.I)).click()
    assert len(seen) > 1


def test_clearing_the_device_clears_the_draw(page: Page, page_server: LiveServer) -> None:
    survey = block_survey("Cleared")
    open_page(page, address(page_server, survey))
    start(page)
    assert page.evaluate("() => Object.keys(localStorage)") == [f"hushpoll:{survey.hash}:drawn"]
    ranks = page.evaluate("() => localStorage.getItem(Object.keys(localStorage)[0])")
    assert re.fullmatch(r"\[\d\]", ranks), "the draw, never an answer"
    choose_first(page)
    press_send(page)
    heading(page, "Sent")
    page.locator("summary", has_text="Clear this device").click()
    page.get_by_role("button", name="Clear this device").click()
    assert page.evaluate("() => localStorage.length") == 0


@pytest.mark.parametrize("language", ["fr", "de", "es", "ar"])
def test_the_block_is_explained_in_every_language(page: Page, page_server: LiveServer, language: str) -> None:
    survey = block_survey(f"In {language}")
    page_server.store.publish(survey)
    open_page(page, f"{page_server.url}/s/{survey.hash}?lang={language}#{survey.hash}")
    text = explanation_text(page)
    assert "This device" not in text
    words = {"fr": "tire au sort 2 de 5 questions", "de": "lost 2 von 5 Fragen aus"}
    words |= {"es": "sortea 2 de 5 preguntas", "ar": "يختار هذا الجهاز بالقرعة 2"}
    assert words[language] in text


def test_the_designer_makes_a_block(designer: Page, server: LiveServer) -> None:
    page = designer
    questions = [
        {
            "id": f"q{number}",
            "kind": "yes_no",
            "text": f"Did you do thing {number}?",
            "mechanism": {"epsilon": "1"},
        }
        for number in range(1, 7)
    ]
    draft = make_draft(server.store, "A block", *questions)
    page.goto(f"{server.url}/drafts/{draft.id}")
    page.get_by_role("link", name="Make a block").click()
    page.get_by_role("button", name="Save the block").click()
    expect(page.get_by_role("alert")).to_contain_text("A block needs at least two questions")
    for number in range(2, 7):
        page.get_by_label(f"{number}. Did you do thing {number}?").check()
    page.get_by_label("Epsilon of the block").fill("2")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".plan-advice")).to_contain_text("Ask each person 2 of the 5 questions.")
    expect(page.locator("tr", has_text="recommended")).to_contain_text("2 of 5 questions")
    axe(page)
    shoot(page, "block-editor")
    page.get_by_label(re.compile("^How many of them each person")).fill("9")
    page.get_by_role("button", name="Save the block").click()
    expect(page.locator("#ask-error")).to_contain_text("9 is not a number of its 5 questions")
    page.get_by_label(re.compile("^How many of them each person")).fill("")
    page.get_by_label("I want cross-tables inside it").check()
    page.get_by_role("button", name="Save the block").click()
    expect(page.get_by_role("status").filter(has_text="Saved. Each")).to_be_visible()
    expect(page.get_by_text("Each person is asked 2 of the 5 questions 2 to 6")).to_be_visible()
    axe(page)
    shoot(page, "block-draft")
    page.get_by_role("link", name="Next: privacy and accuracy").click()
    page.get_by_text("Details for experts").click()
    expect(page.locator(".plan-question", has_text="Did you do thing 2?")).to_contain_text("2, the block")
    expect(page.locator(".plan-question", has_text="Did you do thing 3?")).to_contain_text("in the block")
    shoot(page, "block-privacy")


def test_a_survey_with_an_anchor_loads_its_module(page: Page, page_server: LiveServer) -> None:
    """What only few surveys have is checked by a module that only these load."""
    moon = yes_no("moon", {"name": "warner", "epsilon": 1})
    anchored = Survey.from_draft(survey(moon, title="Moon", anchor={"question": "moon", "share": 0}))
    open_page(page, address(page_server, anchored))
    assert len(start(page)) == 1
