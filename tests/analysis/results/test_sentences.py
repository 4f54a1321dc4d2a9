"""Sentences next to the numbers they are about: groups, waves, follow-up questions, margins of one point."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hushpoll_analysis import report
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.planning.margin_text import margin_words
from hushpoll_analysis.results.group_findings import group_findings
from hushpoll_analysis.results.survey import SurveyResults
from hushpoll_analysis.results.texts import texts_of
from hushpoll_analysis.results.waves import OUTSIDE, follow
from hushpoll_analysis.results.wording import LANGUAGES, wording
from hushpoll_analysis.sample.tally import Tally
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey

CHEATED = {"id": "cheated", "kind": "yes_no", "text": "Did you cheat?", "mechanism": {"epsilon": 2}}
WHY = {
    "id": "why",
    "kind": "choice",
    "text": "Why?",
    "options": ["Time", "Fear", "Habit"],
    "after": {"question": "cheated", "answers": ["Yes"]},
    "mechanism": {"epsilon": 2},
}
STRESS = {
    "id": "stress",
    "kind": "scale",
    "text": "How stressed?",
    "points": 5,
    "mechanism": {"epsilon": 2, "target": "cumulative"},
}
LITRES = {
    "id": "litres",
    "kind": "number",
    "text": "How many litres?",
    "min": "0",
    "max": "2.5",
    "step": "0.1",
    "unit": "litres",
    "mechanism": {"epsilon": 1, "target": "mean"},
}
TRUTH: dict[str, Any] = {
    "cheated": [0.6, 0.4],
    "why": [0.6, 0.3, 0.1],
    "stress": [0.1, 0.2, 0.3, 0.25, 0.15],
    "litres": {"values": ["0", "2.5"], "shares": [0.5, 0.5]},
}


def survey_of(*questions: dict[str, Any]) -> Survey:
    return read_draft({"hushpoll": 1, "title": "T", "questions": list(questions)})


def results(survey: Survey, n: int = 600, seed: int = 1, **options: Any) -> SurveyResults:
    truth = {question.id: TRUTH[question.id] for question in survey.questions}
    columns = {f"{name}_reported": codes for name, codes in simulate_survey(survey, n, truth, seed=seed)}
    return report(survey, columns, **options)


def by_site(yes: list[int]) -> SurveyResults:
    """Return 200 reports of each site with the given numbers of Yes."""
    codes = np.concatenate([np.repeat([1, 0], [count, 200 - count]) for count in yes])
    site = np.repeat([f"site {number}" for number in range(len(yes))], 200)
    return report(survey_of(CHEATED), {"cheated_reported": codes, "site": site}, by="site")


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def test_a_number_with_ends_that_are_not_whole_is_compared_and_followed() -> None:
    """The published end "5/2" is a fraction wherever it is read, not in the picture of the whole alone."""
    survey = survey_of(CHEATED, LITRES)
    by_answer = results(survey, by="cheated")
    assert "Means within groups" in by_answer.to_html()
    assert by_answer.to_text()
    waves = {wave: results(survey, seed=wave) for wave in (1, 2)}
    litres = next(question for question in follow(waves) if question.id == "litres")
    assert [row.average for row in litres.rows] == [True]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_range_without_0_that_may_be_chance_is_explained(language: str) -> None:
    """“Differ by 15.5 points (1.9 to 29.6), which may be chance” needs a reason."""
    note = wording(language)("chance_note")
    doubtful, plain = by_site([60, 84, 70, 72, 68, 71]), by_site([60, 72, 70, 72, 68, 71])
    (table,) = doubtful.groups
    assert not table.is_supported
    assert table.told_differences[0].low > 0
    assert note in doubtful.to_html(language)
    assert note not in plain.to_html(language)
    assert wording("en")("chance_note") in on_one_line(doubtful.to_text())
    assert wording("en")("chance_note") not in on_one_line(plain.to_text())


@pytest.mark.parametrize("language", LANGUAGES)
def test_shares_of_a_follow_up_question_by_groups_say_whose_they_are(language: str) -> None:
    page = results(survey_of(CHEATED, WHY), by="cheated").to_html(language)
    note = wording(language)("everybody_note")
    assert page.count(note) == 1
    assert note not in results(survey_of(CHEATED, STRESS), by="cheated").to_html(language)


def test_changes_of_a_follow_up_question_say_whose_shares_they_are() -> None:
    survey = survey_of(CHEATED, WHY)
    cheated, why = follow({wave: results(survey, seed=wave) for wave in (1, 2)})
    note = "Shares are of everybody, including people who were not asked this question."
    assert note in why.notes
    assert note not in cheated.notes


def test_waves_follow_the_upper_half_of_a_scale_where_the_designer_chose_it() -> None:
    survey = survey_of(STRESS)
    waves = {wave: results(survey, seed=wave) for wave in (1, 2)}
    (stress,) = follow(waves)
    row = next(row for row in stress.rows if row.label == "4 or more")
    for point, wave in zip(row.points, waves.values(), strict=True):
        entry = next(entry for entry in wave.to_dict()["questions"][0]["at_least"] if entry["option"] == "4")
        assert (point.shown_estimate, point.shown_low, point.shown_high) == pytest.approx(
            (entry["estimate"], entry["low"], entry["high"])
        )
    change = row.changes[0].estimate
    assert change == pytest.approx(row.points[1].shown_estimate - row.points[0].shown_estimate)
    shares = survey_of(STRESS | {"mechanism": {"epsilon": 2, "target": "shares"}})
    (plain,) = follow({wave: results(shares, seed=wave) for wave in (1, 2)})
    assert "4 or more" not in [row.label for row in plain.rows]


def test_waves_write_one_minus_sign() -> None:
    """“[-5.2, 12.6]” stood next to “[−6.0, +19.1]”."""
    survey = survey_of({**CHEATED, "mechanism": {"epsilon": 1}})
    rare = {"cheated": [430, 170]}
    few = report(survey, Tally.from_counts(survey, rare))
    (cheated,) = follow({1: few, 2: few})
    estimates = cheated.rows[0].estimates
    assert any("−" in estimate for estimate in estimates)
    assert not any("-" in estimate for estimate in estimates)


def test_a_sentence_does_not_begin_with_a_number_after_a_number() -> None:
    """“The median answer is 3. 4 or more: …” read as 3.4."""
    finding = results(survey_of(STRESS), 3000).findings()[0].text
    assert "The median answer is 3. “4 or more”: " in finding


def test_text_gives_each_number_one_interval() -> None:
    text = results(survey_of(CHEATED, WHY, STRESS), 800)
    page = text.to_html()
    tables = re.findall(r"<table.*?</table>", page, re.S)
    assert not any("imultaneous" in table and "SE, sampling" in table for table in tables)
    folds = page.split("Intervals that hold for all options at once</summary>")[1:]
    assert [fold.split("</details>")[0].count("% interval, simultaneous") for fold in folds] == [2, 1]
    assert "  simultaneous" not in text.to_text(), "no column of its own"
    assert "simultaneous" in text.to_json(), "files have what holds together, marked"


@pytest.mark.parametrize(
    ("language", "single"),
    [("en", "±1 point,"), ("de", "±1 Punkt,"), ("es", "±1 punto,"), ("fr", "±1 point,")],
)
def test_a_margin_of_one_is_one_point(language: str, single: str) -> None:
    survey = survey_of(CHEATED)
    finding = results(survey, needed={"cheated": 0.01}).findings(language)[0]
    assert finding.verdict is not None
    assert single in finding.verdict.text
    assert margin_words(survey.questions[0], 0.01) == "±1 point"
    assert margin_words(survey.questions[0], 0.02) == "±2 points"


def test_the_margin_that_was_needed_is_the_planned_one() -> None:
    """The plan said ±0.12 litres and the report "Needed ±0.13 litres": 5 % of 2.5 is 0.125."""
    survey = survey_of(LITRES)
    verdict = results(survey, needed={"litres": 0.05}).findings()[0].verdict
    assert verdict is not None
    assert verdict.text.startswith("Needed ±0.125 litres, reached ±0.")
    assert margin_words(survey.questions[0], 0.05) == "±0.125 litres"


def test_nobody_is_told_to_find_one_more_answers() -> None:
    survey = survey_of(CHEATED)
    counts = Tally.from_counts(survey, {"cheated": [300, 300]})
    reached = report(survey, counts, needed={"cheated": 0.5}).findings()[0].verdict
    assert reached is not None
    verdict = report(survey, counts, needed={"cheated": reached.reached / 1.0006}).findings()[0].verdict
    assert verdict is not None
    assert not verdict.met
    assert verdict.more >= 2
    assert f"about {verdict.more} more answers would do" in verdict.text


def test_an_epsilon_has_two_decimals_in_reports() -> None:
    text = results(survey_of({**CHEATED, "mechanism": {"epsilon": "5.4679"}})).to_text()
    assert "ε = 5.47:" in text
    assert "5.4679" not in text


def test_changes_are_those_of_the_shares_next_to_them() -> None:
    """“0.0 → 4.4 %, change +7.4”: shares were cut at 0, changes were not."""
    survey = survey_of({**CHEATED, "mechanism": {"epsilon": 1}})
    low, high = (
        report(survey, Tally.from_counts(survey, {"cheated": counts})) for counts in ([450, 150], [428, 172])
    )
    (cheated,) = follow({1: low, 2: high})
    (row,) = cheated.rows
    first, second = (point.shown_estimate for point in row.points)
    assert first < 0 < second
    assert row.changes[0].estimate == pytest.approx(second - first)
    assert row.estimates[0].startswith("−")
    assert OUTSIDE in cheated.notes
    inside = follow({1: high, 2: high})[0]
    assert OUTSIDE not in inside.notes
    # A page about one question shows what is possible, and the file both.
    entry = low.to_dict()["questions"][0]["estimates"][0]
    assert entry["shown"]["estimate"] == 0.0 > entry["estimate"]
    assert "0.0 %" in low.to_html()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_difference_of_one_point_has_its_decimal(language: str) -> None:
    """“Differ by 1 points” is no English; 1.0 points is, in every language that has them."""
    codes = np.concatenate([np.repeat([1, 0], [160, 240]), np.repeat([1, 0], [163, 237])])
    data = {"cheated_reported": codes, "site": np.repeat(["a", "b"], 400)}
    (table,) = report(survey_of(CHEATED), data, by="site").groups
    assert round(100 * table.told_differences[0].difference, 1) == 1.0
    (sentence,) = group_findings(table, texts_of(survey_of(CHEATED), language))
    assert wording(language).number(1.0, 1) in sentence
    assert wording(language).number(1.0, 1) in ("1.0", "1,0")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_difference_that_rounding_moves_is_explained(language: str) -> None:
    """“43.8 points more” stood next to 0.9 % and 44.6 %."""
    note = wording(language)("rounding_note")
    apart = [yes for yes in range(60, 80) if by_site([yes, 84]).groups[0].rounds_apart]
    assert 0 < len(apart) < 20
    for yes in (apart[0], next(yes for yes in range(60, 80) if yes not in apart)):
        data = by_site([yes, 84])
        low, high = (round(100 * share.estimate, 1) for share in data.groups[0].of_option("Yes"))
        agrees = round(high - low, 1) == round(100 * data.groups[0].told_differences[-1].difference, 1)
        assert agrees == (yes not in apart)
        assert (note in data.to_html(language)) != agrees
        assert (wording("en")("rounding_note") in on_one_line(data.to_text())) != agrees


def test_pairs_that_do_not_add_up_are_explained() -> None:
    """Of options that people were asked about together, fewer reports tell: “only the second” was not the rest."""
    used = {"id": "used", "kind": "multiple", "text": "Used?", "options": ["a", "b", "c", "d"]}
    sampled, complete = (
        survey_of({**used, "mechanism": {"name": "sampled", "epsilon": 2, "ask": ask}}) for ask in (2, 4)
    )
    sentence = "Pairs are estimated from the reports that speak of both options"
    for survey, explained in ((sampled, True), (complete, False)):
        columns = dict(simulate_survey(survey, 400, {"used": [0.4, 0.3, 0.2, 0.1]}, seed=1))
        text = on_one_line(
            report(survey, {f"{key}_reported": codes for key, codes in columns.items()}).to_text()
        )
        assert (sentence in text) == explained
        assert ("50 % of the reports speak of any one of them" in text) == explained


def test_one_report_weighs_as_much_as_an_honest_one() -> None:
    """“Could move by 1 percentage points; one dishonest report weighs up to 1 honest ones.”"""
    harmless = {"name": "or_poll", "decoy": "Born in January?", "decoy_share": "0.2"}
    survey = survey_of({**CHEATED, "mechanism": harmless})
    text = on_one_line(report(survey, Tally.from_counts(survey, {"cheated": [300, 300]})).to_text())
    assert "one dishonest report weighs up to an honest one." in text
    assert "1 honest ones" not in text
    plain = on_one_line(results(survey_of(CHEATED)).to_text())
    assert re.search(
        r"could move by 0\.\d+ percentage points; one dishonest report weighs up to 1\.\d+ honest ones", plain
    )
