"""What the page promises follows the odds: every sentence held against its number, in every language."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_babel import force_locale
from hushpoll_client import Survey
from hushpoll_server.respond import languages
from hushpoll_server.respond.languages import GROUPS, LANGUAGES
from playwright.sync_api import Page, expect

from tests.browser.respondent import (
    CHEATED,
    EVERY_KIND,
    REASON,
    TAX,
    address,
    draft,
    explanation_text,
    fill,
    heading,
    open_page,
    press_send,
)
from tests.serving import LiveServer

pytestmark = pytest.mark.browser
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "assurance.json").read_text(encoding="ascii"))
# Leads, ends and the rows of the table, and the tiers in which each may be said; "open" is a one-sided survey.
MAY = {
    "lead": {"strong"},
    "lead_fair": {"fair"},
    "weak_kept": {"weak"},
    "weak_any": {"weak"},
    "weak_total": {"weak"},
    "only_mixed": {"strong"},
    "only_mixed_fair": {"fair"},
    "only_mixed_weak": {"weak"},
    "lead_open": {"open"},
    "not_stored": {"strong", "fair"},
    "not_stored_weak": {"weak", "open"},
    "sent_stayed": {"strong", "fair"},
}
STRONGEST = "From what is sent, no one can tell for certain what you chose."


def sentences(language: str) -> dict[str, str]:
    app = Flask("hushpoll_server")
    languages.init_app(app)
    with app.test_request_context("/"), force_locale(language):
        return {key: str(text) for words in GROUPS.values() for key, text in words.items()}


def pattern(sentence: str) -> re.Pattern[str]:
    return re.compile(re.escape(sentence).replace(r"\{n\}", r"(?P<n>[\d.,٫٬\s\u202f\u00a0]+)"))


def number(text: str, language: str) -> Fraction:
    plain = re.sub(r"[\s\u202f\u00a0٬]", "", text).replace("٫", ".")
    grouped = plain.replace(".", "").replace(",", ".") if language in ("de", "es") else plain
    plain = {"fr": plain.replace(",", "."), "en": plain.replace(",", ""), "ar": plain.replace(",", "")}.get(
        language, grouped
    )
    return Fraction(plain)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_lead_is_as_strong_as_the_odds_allow(page: Page, page_server: LiveServer, language: str) -> None:
    link = address(page_server, draft(*EVERY_KIND, title="Assurance", kiosk=True)).replace(
        "#", f"?lang={language}#"
    )
    open_page(page, link)
    sentences_of = page.evaluate(
        """async (documents) => {
          await import("/static/client/extra_kinds.js");
          for (const name of ["block", "anchor", "group", "series"]) await import(`/static/client/${name}.js`);
          await import("/static/client/presentation.js");
          const { loadSurvey } = await import("/static/client/survey.js");
          const { explain, lead } = await import("/static/respond/explain.js");
          return documents.map((text) => {
            const survey = loadSurvey(new TextEncoder().encode(text));
            return [lead(survey), survey.questions.map((question) => explain(question).so || "")];
          });
        }""",
        [vector["document"] for vector in VECTORS],
    )
    words = sentences(language)
    seen = set()
    for vector, (lead, ends) in zip(VECTORS, sentences_of, strict=True):
        assert "{" not in lead
        seen.add((vector["tier"], vector["one_sided"]))
        check_lead(vector, lead, words, language)
        survey = Survey.from_published(vector["document"].encode())
        for question, tier, end in zip(survey.questions, vector["tiers"], ends, strict=True):
            fair, weak = words["so_fair"] in end, pattern(words["so_weak"]).search(end)
            assert fair == (tier == "fair" and bool(end))
            assert bool(weak) == (tier == "weak" and bool(end))
            if weak:
                ratio = question.channel.ratio
                assert ratio is not None
                assert ratio <= number(weak["n"], language) <= ratio * Fraction(101, 100)
    assert {"strong", "fair", "weak"} == {tier for tier, _ in seen}


def check_lead(vector: dict[str, Any], lead: str, words: dict[str, str], language: str) -> None:
    for key, tiers in MAY.items():
        match = pattern(words[key]).search(lead) if key.startswith(("lead", "weak")) else None
        if not match:
            continue
        now = {vector["tier"], "open"} if vector["one_sided"] else {vector["tier"]}
        assert now & tiers, (vector["name"], key)
        if "n" in match.groupdict():
            printed, factor = number(match["n"], language), Fraction(*map(int, vector["factor"]))
            if key == "weak_kept":
                assert printed == vector["kept"]
            else:
                assert factor <= printed <= factor * Fraction(101, 100)
    assert (words["lead"] in lead) == (vector["tier"] == "strong" and not vector["one_sided"])
    assert (words["lead_open"] in lead) == vector["one_sided"]
    weak = any(pattern(words[key]).search(lead) for key in ("weak_kept", "weak_any", "weak_total"))
    assert weak == (vector["tier"] == "weak")


def test_every_sentence_about_your_choice_has_its_tiers() -> None:
    keys = {
        key for key, text in sentences("en").items() if re.search(r"what you( actually)? chose", text, re.I)
    }
    assert "not_stored" in keys
    assert keys <= set(MAY)


def at(*epsilons: str) -> Survey:
    questions = [
        {**CHEATED, "id": f"q{index}", "mechanism": {"name": "warner", "epsilon": epsilon}}
        for index, epsilon in enumerate(epsilons)
    ]
    return draft(*questions, title=f"At {' '.join(epsilons)}")


@pytest.mark.parametrize(
    ("survey", "tier", "lead"),
    [
        (at("1"), "strong", STRONGEST),
        (at("2"), "fair", "What is sent can hint at what you chose."),
        (at("10"), "weak", "In at least 99 of 100 cases what is sent is your answer. This protects little."),
        (at("1", "2.4"), "weak", "Question 2. In at least 91 of 100 cases what is sent is your answer."),
        (
            at(*["1"] * 11),
            "weak",
            "Together, your answers can change anyone’s odds about you by a factor of up to 59,900.",
        ),
        (draft(TAX, title="One-sided"), "open", "For some answers what is sent shows what you chose."),
    ],
    ids=["1", "2", "10", "one of two", "eleven", "one-sided"],
)
def test_at_high_epsilon_nothing_on_the_page_reassures(
    page: Page, page_server: LiveServer, survey: Survey, tier: str, lead: str
) -> None:
    open_page(page, address(page_server, survey))
    text = explanation_text(page)
    assert lead in text
    words = sentences("en")
    for key, tiers in MAY.items():
        if "{" not in words[key] and key.startswith("only"):
            assert (f"\t{words[key]}\n" in text + "\n") == (tier in tiers), key
        if key.startswith("not_stored"):
            assert (words[key] in text) == (tier in tiers), key
    assert (STRONGEST in text) == (tier == "strong")
    fill(page, *["Yes"] * sum(2 if question.decoy else 1 for question in survey.questions))
    press_send(page)
    heading(page, "Sent")
    assert (words["sent_stayed"] in page.locator("main").inner_text()) == (tier in MAY["sent_stayed"])


def ours(page: Page) -> int:
    """Count our words before Start; the designer's own, and one-sided warnings, are apart."""
    text = page.locator("body").inner_text()
    for apart in page.locator("main h1, .intro, .warning, .asked-by, .consent").all_inner_texts():
        text = text.replace(apart, "", 1)
    return len(text.split())


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_has_at_most_90_words_before_start(
    page: Page, page_server: LiveServer, language: str
) -> None:
    surveys = [
        draft(CHEATED, REASON, TAX, title="Ninety"),
        draft(*EVERY_KIND, title="Ninety of every kind"),
        at("1", "10"),
        at(*["1"] * 11),
    ]
    # With what earlier surveys add up to, for somebody who has answered one: without it there are fewer words.
    open_page(page, address(page_server, draft(CHEATED, title="Before")).replace("#", f"?lang={language}#"))
    assert ours(page) <= 90
    page.locator(".bar button").click()
    page.locator("input").first.check()
    page.locator("button[type=submit]").click()
    page.locator(".done").wait_for()
    page.wait_for_function("() => localStorage.getItem('hushpoll:ledger')")
    for survey in surveys:
        open_page(page, address(page_server, survey).replace("#", f"?lang={language}#"))
        assert page.locator(".bar button").is_visible()
        expect(page.locator(".earlier, .notice")).to_have_count(1)
        count = ours(page)
        print(language, survey.title, count, "with the ledger")
        assert count <= 90
