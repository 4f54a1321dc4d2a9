"""Results in the survey's own languages: every text of the designer's translated and marked, our own words in ours."""

from __future__ import annotations

import re

import pytest
from hushpoll_analysis import report
from hushpoll_analysis.results.picture import as_svg
from hushpoll_analysis.results.rendering import as_body, as_html
from hushpoll_analysis.results.survey import SurveyResults
from hushpoll_analysis.results.texts import texts_of
from hushpoll_analysis.results.wording import LANGUAGES, wording
from hushpoll_analysis.sample.tally import Tally
from hushpoll_client import Survey

from tests.vectors.surveys import about_draft

FIXED = ("Yes", "No", "Prefer not to say")


def results(**changes: object) -> SurveyResults:
    survey = Survey.from_draft(about_draft() | changes)
    counts = {"a": [300, 200], "b": [260, 240], "c": [100] * 5, "d": [250, 250]}
    return report(survey, Tally.from_counts(survey, counts))


def labels(html: str) -> list[tuple[str, str]]:
    """Options in the pictures: the language they are marked with, and the text."""
    return re.findall(r'<div class="forest-label" ?([^>]*)>([^<]*)</div>', html)


@pytest.mark.parametrize(("language", "direction"), [("fr", "ltr"), ("ar", "rtl")])
def test_every_text_is_translated_and_marked(language: str, direction: str) -> None:
    translated = results()
    page = as_html(translated, language)
    say = wording(language)
    marked = f'lang="{language}" dir="{direction}"'
    assert f"<h1 {marked}>Title {language}</h1>" in page
    assert f"<title>Title {language}</title>" in page
    for name in "ABCD":
        assert f"{marked}>{name} {language}</h2>" in page
        assert f"{marked}>{name} {language}</a>" in page
    marked_labels = labels(page)
    assert (marked, f"x {language}") in marked_labels
    assert (marked, f"y {language}") in marked_labels
    assert ("", say("yes")) in marked_labels
    assert not {text for _, text in marked_labels} & set(FIXED)
    findings = {finding.id: finding for finding in translated.findings(language)}
    assert findings["a"].question == f"A {language}"
    assert say("yes") in findings["a"].text
    assert f"x {language}" in findings["b"].text.casefold()
    assert say("made_with", version="")[-20:] in page
    picture = as_svg(translated, "b", language)
    assert f"B {language}" in picture
    assert f"x {language}" in picture


def test_another_language_shows_the_surveys_own_and_says_so() -> None:
    page = as_body(results(), language="de")
    assert 'lang="en" dir="ltr">Did you?</h2>' in page
    assert ('lang="en" dir="ltr"', "x") in labels(page)
    # Words that are the same in every survey are the page's own.
    assert ("", wording("de")("prefer_not")) in labels(page)
    assert ("", "Ja") in labels(page)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_survey_without_languages_is_left_to_the_browser(language: str) -> None:
    document = about_draft()
    del document["translations"], document["language"]
    survey = Survey.from_draft(document)
    texts = texts_of(survey, language)
    assert (texts.own.tag, texts.title, texts.attributes) == (None, "Around", 'dir="auto"')
    assert texts.options(survey.questions[0]) == [wording(language)("no"), wording(language)("yes")]
    assert texts.options(survey.questions[1]) == ["x", wording(language)("prefer_not")]


def test_names_that_look_like_markup_stay_text() -> None:
    translated = about_draft()["translations"]
    translated["fr"]["questions"]["b"]["options"] = ["<b>x</b>", '" onload="']
    page = as_html(results(translations=translated), "fr")
    assert "<b>x</b>" not in page
    assert '" onload="' not in page


def test_words_of_results_are_those_of_the_respondents_page() -> None:
    """Results show options in the words that respondents ticked."""
    from hushpoll_server.i18n.catalogues import read_catalogue, translated_languages

    for language in translated_languages():
        catalog = read_catalogue(language)
        say = wording(language)
        words = {
            "Yes": "yes",
            "No": "no",
            "Prefer not to say": "prefer_not",
            "does not apply": "does_not_apply",
        }
        for source, key in words.items():
            entry = catalog.get(source)
            assert entry is not None
            assert entry.string == say(key)
