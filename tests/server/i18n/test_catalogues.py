"""The catalogues hold every sentence of the sources, and every sentence that pages receive can be translated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hushpoll_analysis
import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import read_mo
from flask import Flask
from flask_babel import force_locale
from hushpoll_analysis import AnalysisError, report
from hushpoll_analysis.interval.registry import METHODS
from hushpoll_analysis.planning.budgets import budget
from hushpoll_analysis.planning.recommendation import recommend
from hushpoll_analysis.results.method import percent
from hushpoll_analysis.results.rendering import as_body
from hushpoll_analysis.results.survey import SurveyResults
from hushpoll_analysis.sample.tally import column_of
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import HushpollError, Survey, SurveyError, strict_json
from hushpoll_client.errors import DocumentError
from hushpoll_client.formatting import at_most
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_client.messages import Message, msg, sentence
from hushpoll_server.i18n import translation
from hushpoll_server.i18n.catalogues import (
    FOLDER,
    extracted,
    has_words,
    path_of,
    places,
    problems,
    read_catalogue,
    translated_languages,
)
from hushpoll_server.i18n.languages import LANGUAGES, WORKSPACE_LANGUAGES
from hushpoll_server.i18n.method_names import METHOD_NAMES
from hushpoll_server.i18n.speech import speech

from tests.client.documents import one_question
from tests.client.test_hostile import assemble, corpus

Key = tuple[str | None, str | tuple[str, ...]]


@cache
def sentences(every_language: bool = False) -> frozenset[Key]:
    """What Babel finds in the sources."""
    return keys(extracted(every_language))


def keys(catalog: Catalog) -> frozenset[Key]:
    return frozenset((entry.context, entry.id) for entry in catalog if entry.id)


def catalogue(language: str) -> Catalog:
    return read_catalogue(language)


def texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def test_every_language_but_english_has_a_catalogue() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == set(translated_languages())
    assert {*translated_languages(), "en"} == set(LANGUAGES)
    assert "de" in WORKSPACE_LANGUAGES


@pytest.mark.parametrize("language", translated_languages())
def test_every_sentence_is_translated(language: str) -> None:
    catalog = catalogue(language)
    expected = sentences(every_language=language not in WORKSPACE_LANGUAGES)
    assert keys(catalog) == expected, "run python -m hushpoll_server.i18n.catalogues"
    assert len(catalog) > (2500 if language in WORKSPACE_LANGUAGES else 240)
    assert not catalog.obsolete
    assert [(entry.id, problem) for entry, problem in problems(catalog)] == []
    for entry in catalog:
        for translated in texts(entry.string) if entry.id else ():
            assert not re.search("anonym", translated, re.IGNORECASE), translated
            # It may stand in an attribute.
            assert ('"' in translated) <= ('"' in texts(entry.id)[0]), entry.id


@pytest.mark.parametrize("language", translated_languages())
def test_it_is_compiled(language: str) -> None:
    """By the hook of the build, or by these tests' own preparation."""
    with path_of(language, ".mo").open("rb") as file:
        compiled = read_mo(file)
    assert forms(compiled) == forms(catalogue(language))


def forms(catalog: Catalog) -> dict[str, tuple[str, ...]]:
    """The translations of each sentence without a context, by its singular: compiled contexts are bytes."""
    entries = (entry for entry in catalog if entry.id and not entry.context)
    return {texts(entry.id)[0]: texts(entry.string) for entry in entries}


def test_every_module_that_words_messages_is_read() -> None:
    """A module of the analysis that is moved must be named in babel.cfg anew."""
    locations = {name for entry in extracted() for name, _ in entry.locations}
    package = Path(hushpoll_analysis.__file__).parent
    calls = re.compile(r"\b(?:msg|plural)\(\s*[\"']")
    users = {
        path.relative_to(package.parents[1]).as_posix()
        for path in package.rglob("*.py")
        if calls.search(path.read_text("utf-8"))
    }
    assert users - locations == set()


def unknown(text: str, translations: Catalog) -> Iterator[str]:
    """The parts of a text without a translation: sentences that were not collected, at any depth."""
    if not isinstance(text, Message):
        if text and translations.get(text) is None:
            yield text
        return
    words = re.sub(r"\{[^}]*\}", "", text.template)
    if any(map(str.isalpha, words)) and translations.get(text.template) is None:
        yield text.template
    for value in text.values.values():
        if isinstance(value, Message):
            yield from unknown(value, translations)


def parts(error: HushpollError) -> Iterator[str]:
    yield from (error.problem, error.remedy)
    if isinstance(error, SurveyError) and isinstance(error.where, Message):
        yield error.where


def test_whatever_a_hostile_document_is_refused_with_can_be_translated() -> None:
    translations, checked = catalogue("de"), 0
    for document in corpus("hostile.json"):
        with pytest.raises(SurveyError) as refused:
            Survey.from_published(assemble(document["parts"]), document["hash"], document["cap"])
        for sentence_part in parts(refused.value):
            assert not list(unknown(sentence_part, translations)), (document["fault"], sentence_part)
            checked += 1
    assert checked > 500


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[1", '{"a" 1}', '{"a":1 "b"}', '{"a":1,}', "[1,]", "1 2"),
        *('"a', '"\x01"', '"\\x"', '"\\uZZ"', "\ufeff1", "[" * 5000),
    ],
)
def test_whatever_broken_json_is_refused_with_can_be_translated(text: str) -> None:
    translations = catalogue("de")
    with pytest.raises(DocumentError) as refused:
        strict_json.loads(text)
    for sentence_part in (refused.value.problem, refused.value.remedy):
        assert not list(unknown(sentence_part, translations))
        assert all(
            value in translations
            for value in getattr(sentence_part, "values", {}).values()
            if isinstance(value, str)
        )


def test_what_the_planner_and_the_editor_say_can_be_translated() -> None:
    translations = catalogue("de")
    question = {**one_question()["questions"][0], "mechanism": {"epsilon": 1.0}}
    for margin, n in ((0.05, 1000), (0.01, 300), (0.2, 5000)):
        planned = budget(Survey.from_draft({**one_question(), "questions": [question]}), n, margin=margin)
        assert planned.advice
        for text in (*planned.advice, *planned.problems):
            assert isinstance(text, Message)
            assert not list(unknown(text, translations))
    for kind, options in (("yes_no", 2), ("choice", 9), ("choice", 200), ("scale", 5), ("multiple", 8)):
        recommendation = recommend(kind, options)
        for text in (
            recommendation.reason,
            recommendation.criterion,
            recommendation.proof,
            *(candidate.label for candidate in recommendation.candidates),
        ):
            assert not list(unknown(text, translations)), text
    with pytest.raises(AnalysisError) as refused:
        recommend("essay")
    assert not list(unknown(refused.value.problem, translations))


def test_what_mechanisms_kinds_and_parameters_declare_is_collected() -> None:
    collected = {text for _, text in sentences()}
    for entry in (*MECHANISMS.values(), *KINDS.values()):
        assert entry.label in collected
        assert entry.help in collected
    for parameter in (
        parameter for mechanism in MECHANISMS.values() for parameter in mechanism.declared_parameters
    ):
        assert parameter.help in collected


@pytest.fixture(scope="module")
def results() -> SurveyResults:
    """Results with everything that has details: groups, an anchor, a number and a tick list."""
    listed = [
        {"id": "a", "kind": "yes_no", "text": "A?", "mechanism": {"name": "warner", "epsilon": "2"}},
        {"id": "b", "kind": "scale", "text": "B", "points": 4, "mechanism": {"name": "krr", "epsilon": "2"}},
        {"id": "c", "kind": "multiple", "text": "C", "options": ["x", "y", "z"]},
    ]
    listed[2]["mechanism"] = {"name": "sampled", "ask": 2, "epsilon": "2"}
    survey = Survey.from_draft({"hushpoll": 1, "title": "Said", "questions": listed})
    truth = {"a": [0.9, 0.1], "b": [0.25] * 4, "c": [0.3, 0.5, 0.2]}
    simulated = {column_of(name): reports for name, reports in simulate_survey(survey, 900, truth, seed=1)}
    return report(survey, simulated, by="a", anchor=("a", 0.1))


@pytest.mark.parametrize(
    ("language", "details", "there", "absent"),
    [
        (
            "de",
            "de",
            ["Schätzung, unbeschnitten", "Designeffekt", "Achtlose Antworten", "das Verfahren nach Warner ("],
            ["unclipped", "SE,", "were randomized", "the device", "reported frequency"],
        ),
        ("en", "en", ["Estimate, unclipped", "Careless answers", "Warner&#39;s design ("], ["Schätzung"]),
        ("fr", "en", ["Estimate, unclipped", "Careless answers", "Warner&#39;s design ("], ["Schätzung"]),
    ],
)
def test_the_details_of_results_are_in_the_readers_language_where_it_is_the_workspaces(
    results: SurveyResults, language: str, details: str, there: list[str], absent: list[str]
) -> None:
    app = Flask("hushpoll_server")
    translation.init_app(app)
    with app.test_request_context("/", headers={"Accept-Language": language}), force_locale(language):
        page = as_body(results, language=language, speech=speech())
    assert f'<details class="report-details" lang="{details}" dir="ltr">' in page
    assert all(words in page for words in there)
    assert not any(words in page for words in absent)
    assert page == as_body(results, language=language) or details != "en"


def test_a_sentence_of_its_own_begins_with_a_capital_in_both_languages() -> None:
    app = Flask("hushpoll_server")
    translation.init_app(app)
    translated = sentence(
        msg("{payer} costs most: epsilon {epsilon}", payer=msg("question {number}", number=2), epsilon="1")
    )
    for language, words in (
        ("en", "Question 2 costs most: epsilon 1."),
        ("de", "Frage 2 kostet am meisten: Epsilon 1."),
    ):
        with app.test_request_context("/", headers={"Accept-Language": language}):
            assert translation.translate(translated) == words


def test_a_german_sentence_has_german_numbers() -> None:
    app = Flask("hushpoll_server")
    translation.init_app(app)
    with app.test_request_context("/", headers={"Accept-Language": "de"}):
        assert translation.translate(at_most(1234.5, 6)) == "1.234,5"
        assert translation.translate(percent(-0.0123)) == "−1,2 %"
        assert translation.translate(percent(-0.0001)) == "0,0 %"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at most {most:,} of {n}", ["{most:,}", "{n}"]),
        ("{name!r} is {{odd}}", ["{name!r}"]),
        # Braces of a text without values are kept as they are.
        ('write {"fr": {...}}, please', ['{"fr": {...}}']),
        ("±{points:.1f}", ["{points:.1f}"]),
        ("<b>%(n)s</b> of %(all)s, 5 %%", ["%%", "%(all)s", "%(n)s", "</b>", "<b>"]),
        ("95 % of people", []),
    ],
)
def test_places_are_what_is_filled_in(text: str, expected: list[str]) -> None:
    assert places(text) == expected


def test_only_sentences_with_words_are_translated() -> None:
    assert has_words("{n} of {all}")
    assert not has_words("{place}: {problem}")
    assert not has_words("{low:.1%} – {high:.1%}")


def test_wrong_translations_are_named() -> None:
    catalog = Catalog(locale="de")
    catalog.add("{n} rows", "{m} Zeilen")
    catalog.add("empty", "")
    catalog.add("95 % of {n} people", "95 % der {n} Personen")
    catalog.add("%(n)s people", "%(m)s Personen")
    catalog.add("guessed", "geraten", flags=["fuzzy"])
    wrong = {str(entry.id) for entry, _ in problems(catalog)}
    assert wrong == {"{n} rows", "empty", "%(n)s people", "guessed"}


def test_every_method_name_of_the_analysis_is_translated() -> None:
    assert set(METHOD_NAMES) == set(METHODS[1:])
