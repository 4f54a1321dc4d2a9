"""Pictures of what is sent, "Try it", and how well the first view and every question's fold read."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hushpoll_client import Survey
from playwright.sync_api import Page, expect

from tests.browser.respondent import (
    AGREE,
    BRITTANY,
    CHEATED,
    EVERY_KIND,
    HOURS,
    MOOD,
    REASON,
    TAX,
    TOWN,
    TRIED,
    USED,
    address,
    begin,
    draft,
    open_page,
)
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
WORDS = 90
FLESCH = 70

# Every report of the survey's one question, drawn many times for each example answer, as the page says it.
DRAWN = """async (times) => {
  const base = document.querySelector("script[src]").src;
  const { tryIt } = await import(new URL("examples.js", base));
  const { loadSurvey } = await import(new URL("../client/survey.js", base));
  const response = await fetch(document.querySelector("link[as=fetch]").href);
  const survey = loadSurvey(new Uint8Array(await response.arrayBuffer()));
  const box = tryIt(survey.questions[0]);
  box.querySelector("button").click();
  const counts = {};
  for (const button of box.querySelectorAll(".examples button")) {
    const row = (counts[button.textContent] = {});
    for (let i = 0; i < times; i++) {
      button.click();
      for (const { textContent: text } of box.querySelectorAll(".draws li")) row[text] = (row[text] ?? 0) + 1;
    }
  }
  return counts;
}"""
TIMES = 200  # ten draws each


def near(count: float, draws: int, share: float) -> bool:
    """Six standard deviations: chance fails this once in 500 million times."""
    return abs(count - draws * share) <= 6 * math.sqrt(draws * share * (1 - share)) + 1e-9


def count_reports(
    page: Page, server: LiveServer, question: dict[str, Any]
) -> tuple[Survey, dict[str, dict[str, int]]]:
    survey = draft(question, title=f"Try {question['id']} {question['mechanism']['name']}")
    open_page(page, address(server, survey))
    return survey, page.evaluate(DRAWN, TIMES)


@pytest.mark.parametrize("question", [CHEATED, REASON, AGREE, MOOD], ids=lambda question: question["id"])
def test_try_it_draws_from_the_channel(page: Page, page_server: LiveServer, question: dict[str, Any]) -> None:
    survey, counts = count_reports(page, page_server, question)
    channel = survey.questions[0].channel
    labels = survey.questions[0].options
    codes = [str(code) for code in range(channel.outcomes)] if question is MOOD else labels
    assert len(counts) == len(labels)
    for answer, label in enumerate(counts):
        row = channel.row(answer)
        for code, weight in zip(codes, row, strict=True):
            assert near(counts[label].get(code, 0), 10 * TIMES, weight / 2**53), (label, code)


def test_no_code_is_marked_as_the_answer(page: Page, page_server: LiveServer) -> None:
    """A code 3 says nothing of point 3; an answer that is sent unchanged is marked."""
    for question, marked in ((MOOD, False), (CHEATED, True)):
        open_page(page, address(page_server, draft(question, title=f"Marked {question['id']}")))
        page.get_by_role("button", name="Try it").click()
        chips = 0
        for example in page.locator(".examples button").all():
            for _ in range(3):
                example.click()
                chips += page.locator(".draws .same").count()
        assert bool(chips) == marked


def test_try_it_shows_both_answers_of_a_harmless_question(page: Page, page_server: LiveServer) -> None:
    question = {**TAX, "mechanism": {"name": "or_poll", **BRITTANY}}
    _, counts = count_reports(page, page_server, question)
    assert counts == {
        "Yes, second question Yes": {"Yes": 10 * TIMES},
        "Yes, second question No": {"Yes": 10 * TIMES},
        "No, second question Yes": {"Yes": 10 * TIMES},
        "No, second question No": {"No": 10 * TIMES},
    }


@pytest.mark.parametrize("question", [TOWN, USED, TRIED], ids=lambda question: question["id"])
def test_the_chance_that_an_option_is_in_what_is_sent_is_the_one_drawn(
    page: Page, page_server: LiveServer, question: dict[str, Any]
) -> None:
    _, counts = count_reports(page, page_server, question)
    chosen, other = (
        int(re.search(r"about (\d+) of 100", text)[1])  # type: ignore[index]
        for text in page.locator(".promise figcaption").all_inner_texts()
    )
    filled = [figure.locator(".kept").count() for figure in page.locator(".promise figure").all()]
    assert filled == [chosen, other]
    if question is TOWN:
        return  # sets of 22 towns are not spelled out
    first, second = question["options"][:2]
    sent = {
        option: sum(times for text, times in counts[first].items() if option in text.split("ticked: ")[-1])
        for option in (first, second)
    }
    for option, percent in ((first, chosen), (second, other)):
        share = sent[option] / (10 * TIMES)
        assert abs(share - percent / 100) < 0.005 + 6 * math.sqrt(share * (1 - share) / (10 * TIMES))


def test_every_kind_has_its_picture(page: Page, page_server: LiveServer) -> None:
    """Icons for two answers, bars for a low and a high one; the numbers of each are those of its channel."""
    kinds = (CHEATED, REASON, TAX, MOOD, AGREE, HOURS, USED, TRIED, TOWN)
    survey = draft(*kinds, title="Pictures")
    open_page(page, address(page_server, survey))
    begin(page)
    for fold in page.locator(".fold").all():
        fold.click()
    for card, question in zip(page.locator("form .card").all(), survey.questions, strict=True):
        figures = card.locator("figure").all()
        assert len(figures) == 2
        bars = card.locator("svg.bars").all()
        assert bool(bars) == (question.kind.name in ("scale", "number"))
        if question.id == "agree":
            for answer, svg in zip((0, 4), bars, strict=True):
                label = svg.get_attribute("aria-label") or ""
                shares = [round(100 * weight / 2**53) for weight in question.channel.row(answer)]
                assert [int(n) for n in re.findall(r"(\d+)(?:,|$| and)", label)] == shares
        for svg in bars:
            label = svg.get_attribute("aria-label") or ""
            assert abs(sum(int(n) for n in re.findall(r"\d+", label)) - 100) <= 3
        if question.mechanism.name == "warner":
            filled = [figure.locator(".kept").count() for figure in figures]
            assert filled == [75, 25]


def test_an_example_is_never_the_own_report(page: Page, page_server: LiveServer) -> None:
    """No answer is read and no answer is drawn for: the form stays empty, storage too, and nothing is sent."""
    open_page(page, address(page_server, draft(CHEATED, MOOD, USED, title="Own draws")))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.get_by_role("button", name="Try it").click()
    panel = page.locator(".trial")
    expect(panel).to_contain_text(
        "Only an example: it does not use your answer. Nothing here is sent or kept."
    )
    panel.get_by_role("button", name="Yes").click()
    expect(panel.locator(".draws li")).to_have_count(10)
    expect(panel.get_by_role("status")).to_contain_text("Ten times, this would be sent:")
    begin(page)
    for fold in page.locator(".fold").all():
        fold.click()
    for opener in page.locator("form").get_by_role("button", name="Try it").all():
        opener.click()
    for example in page.locator(".examples button").all():
        example.click()
    expect(page.locator("input:checked")).to_have_count(0)
    assert page.evaluate("() => [localStorage.length, sessionStorage.length]") == [0, 0]
    assert page.context.cookies() == []
    assert requests == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def syllables(word: str) -> int:
    """Count groups of vowels; a silent e at the end is none."""
    groups = len(re.findall(r"[aeiouy]+", word.lower()))
    if re.search(r"[^aeiouyl]e$", word.lower()):
        groups -= 1
    return max(groups, 1)


def flesch(text: str) -> float:
    """Return Flesch's reading ease; a line without a full stop is a sentence too."""
    sentences = [part for part in re.split(r"[.!?:;]\s|\n+", text) if re.search(r"[A-Za-z]", part)]
    words = [word for part in sentences for word in re.findall(r"[A-Za-z’'-]+", part)]
    mean_syllables = sum(map(syllables, words)) / len(words)
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * mean_syllables


def test_the_first_view_has_at_most_90_easy_words(page: Page, page_server: LiveServer) -> None:
    """With the designer's title, who asks and one sentence of what it is about."""
    for epsilon in ("0.1", "1", "3", "10"):
        question = {**CHEATED, "mechanism": {"name": "warner", "epsilon": epsilon}}
        document = draft(question, REASON, title="Exam honesty").as_document(published=False)
        document["asked_by"] = {"name": "University of Somewhere", "contact": "study@example.org"}
        open_page(page, address(page_server, Survey.from_draft(document)))
        text = page.locator("main").inner_text()
        ours = re.sub(r"Fingerprint \w+", "", text)
        print(f"epsilon {epsilon}: {len(text.split())} words, reading ease {flesch(ours):.0f}")
        assert len(text.split()) <= WORDS
        assert flesch(ours) >= FLESCH


def test_every_fold_has_at_most_90_easy_words(page: Page, page_server: LiveServer) -> None:
    """Warnings about answers that are revealed are apart: they are never folded."""
    open_page(page, address(page_server, draft(*EVERY_KIND, TAX, title="Folds to read")))
    begin(page)
    page.locator("#q0-1").check()
    page.locator("#q1-0").check()
    for fold in page.locator(".odds-of").all():
        fold.locator(".fold").click()
        text = fold.inner_text()
        for warning in fold.locator(".warning").all_inner_texts():
            text = text.replace(warning, "")
        print(f"{len(text.split())} words, reading ease {flesch(text):.0f}: {text.splitlines()[0]}")
        assert len(text.split()) <= WORDS
        assert flesch(text) >= FLESCH, text


def test_the_picture_of_a_question_in_a_block_is_what_is_drawn(page: Page, page_server: LiveServer) -> None:
    """Members with different numbers of options: the joint answer they share has different sizes."""
    members = [
        {"id": "a", "kind": "yes_no", "text": "A?"},
        {"id": "b", "kind": "choice", "text": "B?", "options": ["x", "y", "z"]},
        {"id": "c", "kind": "scale", "text": "C?", "points": 5},
    ]
    blocks = [{"questions": ["a", "b", "c"], "ask": 2, "epsilon": 2}]
    survey = Survey.from_draft({"hushpoll": 1, "title": "In a block", "questions": members, "blocks": blocks})
    open_page(page, address(page_server, survey))
    counts = page.evaluate(DRAWN, 10 * TIMES)
    kept, other = (
        int(text) for text in re.findall(r"about (\d+) send", page.locator(".promise").inner_text())
    )
    for answer, percent in ((survey.questions[0].options[1], kept), (survey.questions[0].options[0], other)):
        share = counts[answer]["Yes"] / (100 * TIMES)
        assert abs(share - percent / 100) < 0.006 + 6 * math.sqrt(share * (1 - share) / (100 * TIMES))
