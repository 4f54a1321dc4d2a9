"""Findings in words: no sentence claims more than its numbers, in any language."""

from __future__ import annotations

import html
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from string import Formatter
from typing import Any

import numpy as np
import pytest
from hushpoll_analysis import AnalysisError, report, resolve
from hushpoll_analysis.results.findings import reached_margin
from hushpoll_analysis.results.group_findings import group_findings
from hushpoll_analysis.results.survey import SurveyResults
from hushpoll_analysis.results.wording import LANGUAGES, wording
from hushpoll_analysis.sample.tally import Tally
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey

from tests.client.documents import question

MOOD = {
    "id": "mood",
    "kind": "scale",
    "text": "How often?",
    "points": 5,
    "labels": ["Never", "Always"],
    "mechanism": {"name": "krr", "epsilon": 1, "target": "cumulative"},
}
HOURS = {
    "id": "hours",
    "kind": "number",
    "text": "Hours?",
    "min": 0,
    "max": 80,
    "step": 1,
    "unit": "hours",
    "mechanism": {"name": "one_bit", "epsilon": 2, "target": "mean"},
}
USED = {
    "id": "used",
    "kind": "multiple",
    "text": "Which of these?",
    "options": ["a", "b", "c", "d"],
    "mechanism": {"name": "sampled", "epsilon": 3, "ask": 2},
}
YES = Survey.from_draft({"hushpoll": 1, "title": "One", "questions": [question("cheated")]})
REASON = Survey.from_draft({"hushpoll": 1, "title": "One", "questions": [question("reason")]})
KINDS = Survey.from_draft(
    {"hushpoll": 1, "title": "All", "questions": [question("cheated"), question("reason"), MOOD, HOURS, USED]}
)
TRUTH = {
    "cheated": [0.75, 0.25],
    "reason": [0.4, 0.3, 0.2, 0.1],
    "mood": [0.4, 0.3, 0.15, 0.1, 0.05],
    "hours": {"values": [0, 20, 60], "shares": [0.5, 0.3, 0.2]},
    "used": [0.5, 0.2, 0.1, 0.05],
}


def results_of(survey: Survey = KINDS, n: int = 3000, seed: int = 5, **keys: object) -> SurveyResults:
    truth = {question.id: TRUTH[question.id] for question in survey.questions}
    columns = {f"{name}_reported": codes for name, codes in simulate_survey(survey, n, truth, seed=seed)}
    return report(survey, columns, **keys)  # type: ignore[arg-type]


def numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in re.findall(r"[0-9][0-9,]*\.?[0-9]*", text)]


def places(phrase: str) -> set[str | None]:
    return {name for _, name, _, _ in Formatter().parse(phrase) if name is not None}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_phrase_with_the_same_places(language: str) -> None:
    english, other = wording("en").phrases, wording(language).phrases
    assert set(other) == set(english)
    for name, phrase in english.items():
        assert places(other[name]) == places(phrase), name
        assert (
            language == "en"
            or (language, name) == ("es", "no")
            or name in ("percent", "sentence", "measured", "point", "points", "facts_questions")
            or (other[name] != phrase)
        ), name


def test_numbers_are_written_as_the_language_writes_them() -> None:
    assert wording("de").number(1234.55, 1) == "1.234,6"
    assert wording("en").number(-0.04, 1) == "0.0"
    assert wording("en").number(-3.25, 1) == "−3.3"
    assert wording("xx") is wording("xx")
    assert wording("xx").language == "en"


@pytest.mark.parametrize("n", [60, 300, 3000, 10**6])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1.0])
def test_what_is_said_of_a_share_lies_inside_its_interval(n: int, share: float) -> None:
    truth = np.exp(1) / (1 + np.exp(1))  # of Warner's design at epsilon 1
    yes = round(n * (share * truth + (1 - share) * (1 - truth)))
    results = report(YES, Tally.from_counts(YES, {"cheated": [n - yes, yes]}))
    displayed, text = results["cheated"].shares[0].shown, results.findings()[0].text
    figures = numbers(text)
    rounding = 0.05 + 1e-9  # half of the one decimal that figures show too
    if "to" in text or "between" in text:
        assert figures[-2:] == pytest.approx([100 * displayed.low, 100 * displayed.high], abs=rounding)
    if "at most" in text:
        assert displayed.low == 0.0
        assert figures[0] == pytest.approx(100 * displayed.high, abs=rounding)
    if "at least" in text:
        assert displayed.high == 1.0
        assert figures[0] == pytest.approx(100 * displayed.low, abs=rounding)
    if " in " in text:
        half = (displayed.high - displayed.low) / 2
        assert abs(figures[0] / figures[1] - displayed.estimate) <= half / 4 + 1e-9
        assert displayed.low <= figures[0] / figures[1] <= displayed.high
    if "somewhere" in text:
        assert displayed.high - displayed.low > 0.4


def test_nothing_is_called_most_often_that_is_not_ahead_beyond_chance() -> None:
    """With four equal shares one is always first; it may be called so in 5 of 100 surveys at most."""
    rng = np.random.default_rng(8)
    called = 0
    for _ in range(400):
        counts = rng.multinomial(1000, [0.25] * 4)
        text = report(REASON, Tally.from_counts(REASON, {"reason": counts.tolist()})).findings()[0].text
        called += text.startswith("Most often")
        assert text.startswith("Most often") or "cannot be told yet" in text
    assert called / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
    clear = report(REASON, Tally.from_counts(REASON, {"reason": [600, 250, 100, 50]})).findings()[0].text
    assert clear.startswith("Most often ")


@pytest.mark.parametrize(
    ("counts", "is_second"), [([900, 400, 390, 310], False), ([9000, 5500, 3500, 2000], True)]
)
def test_nothing_is_called_second_that_is_not_ahead_beyond_chance(counts: list[int], is_second: bool) -> None:
    text = report(REASON, Tally.from_counts(REASON, {"reason": counts})).findings()[0].text
    assert text.startswith("Most often ")
    assert ("Then " in text) == is_second


def test_every_kind_has_its_sentence() -> None:
    texts = {finding.id: finding.text for finding in results_of().findings()}
    assert texts["cheated"].startswith("Yes: ")
    assert re.match(r"On average 2\.\d+ on a scale from 1 to 5 \(", texts["mood"])
    assert re.search(r"The median answer is \d", texts["mood"])
    assert "“4 or more”: " in texts["mood"], "the designer chose shares from each point upwards"
    assert re.match(r"On average \d+\.?\d* hours \(", texts["hours"])
    assert texts["used"].startswith("Most often “a”: ")


def test_a_median_without_doubt_has_no_range() -> None:
    survey = Survey.from_draft({"hushpoll": 1, "title": "T", "questions": [MOOD]})
    counts = [10, 20, 1_000_000, 20, 10]
    text = report(survey, Tally.from_counts(survey, {"mood": counts})).findings()[0].text
    assert "The median answer is 3." in text
    assert "3 to 3" not in text


def test_the_verdict_compares_with_the_plan_and_counts_what_is_missing() -> None:
    results = results_of(needed={"cheated": 0.02, "reason": 0.3, "hours": 0.01})
    verdicts = {finding.id: finding.verdict for finding in results.findings()}
    short, enough = verdicts["cheated"], verdicts["reason"]
    assert verdicts["mood"] is None
    assert short is not None
    assert enough is not None
    assert enough.met
    assert enough.more == 0
    entry = results["cheated"].shares[0]
    assert short.reached == pytest.approx((entry.high - entry.low) / 2)
    exact = results.n * ((short.reached / 0.02) ** 2 - 1)
    assert exact <= short.more <= exact * 1.1
    # So many more answers with the same shares would be enough.
    factor = (results.n + short.more) / results.n
    more = [round(count * factor) for count in results["cheated"].counts]
    grown = report(YES, Tally.from_counts(YES, {"cheated": more}))
    assert reached_margin(grown["cheated"]) <= 0.02 * 1.01  # type: ignore[operator]
    figures = numbers(short.text)
    assert figures[0] == 2
    assert figures[1] >= 100 * short.reached
    assert "hours" in verdicts["hours"].text  # type: ignore[union-attr]
    value = json.loads(results.to_json())["questions"][0]
    assert value["margin"]["met"] is False
    assert value["finding"].startswith("Yes: ")


@pytest.mark.parametrize("margins", [{"nothing": 0.1}, {"cheated": 5}, 0, "much", True])
def test_margins_that_make_no_sense_are_refused(margins: object) -> None:
    with pytest.raises(AnalysisError):
        results_of(needed=margins)


def test_groups_are_compared_in_words() -> None:
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": "Two",
            "questions": [question("cheated", mechanism={"name": "warner", "epsilon": 4})],
        }
    )
    rng = np.random.default_rng(2)
    site = np.repeat(["north", "south", "west"], 800)
    share = np.repeat([0.2, 0.5, 0.21], 800)
    truth = rng.random(2400) < share
    truthful = rng.random(2400) < np.exp(4) / (1 + np.exp(4))
    data = {"cheated_reported": np.where(truthful, truth, ~truth).astype(int), "site": site}
    table = report(survey, data, by="site").groups[0]
    more, chance = group_findings(table)
    assert more.startswith("Yes: in “south” ")
    assert "points more than in “north”" in more
    assert "may be chance" in chance
    gap = table.differences[-2]
    figures = numbers(more)
    assert figures == pytest.approx([100 * gap.difference, 100 * gap.low, 100 * gap.high], abs=0.051)
    turned = report(survey, data, by="site", reference="south").groups[0]
    assert "points less than in “south”" in group_findings(turned)[0]


def randomized_groups(n: int, seed: int) -> Any:
    """A scale by a randomized yes/no question that one in ten answers with Yes."""
    scale = {"id": "often", "kind": "scale", "text": "How often?", "points": 5, "mechanism": {"epsilon": 1}}
    cheated = question("cheated", mechanism={"name": "warner", "epsilon": 1})
    survey = Survey.from_draft(resolve({"hushpoll": 1, "title": "Two", "questions": [cheated, scale]}))
    truth = {"cheated": [0.9, 0.1], "often": [0.6, 0.1, 0.1, 0.1, 0.1]}
    columns = dict(simulate_survey(survey, n, truth, seed=seed))
    return report(survey, {f"{name}_reported": codes for name, codes in columns.items()}, by="cheated")


def test_differences_agree_with_the_shares_above_them() -> None:
    """“60 points less” stood above shares of 47.5 % and 0.0 %: those were cut, the difference was not."""
    outside = 0
    for seed in range(4):
        results = randomized_groups(150, seed)
        page, text = results.to_html(), results.to_text()
        for table in results.groups:
            for share in table.shares:
                if not math.isnan(share.estimate):
                    outside += share.outside
                    assert f"<strong>{wording('en').percent(share.estimate)}</strong>" in page
                    assert f"{100 * share.estimate:.1f} %" in text.replace("−", "-")
            for gap in table.told_differences:
                shares = {share.group: share.estimate for share in table.of_option(gap.option)}
                assert gap.difference == pytest.approx(shares[gap.group] - shares[gap.reference])
            assert table.has_outside == (wording("en")("outside_note") in page)
    assert outside


def test_a_difference_is_claimed_only_if_the_test_across_groups_supports_it() -> None:
    """The only flat claim of five comparisons stood next to p = .068 of the test across all groups."""
    survey = Survey.from_draft(
        {"hushpoll": 1, "title": "T", "questions": [question("cheated", mechanism={"epsilon": 4})]}
    )
    site = np.repeat(["a", "b", "c", "d", "e", "f"], 200)
    claims = unadjusted = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        data = {"cheated_reported": (rng.random(1200) < 0.4).astype(int), "site": site}
        table = report(survey, data, by="site").groups[0]
        assert table.cross is not None
        assert table.cross.test is not None
        sentences = [sentence for sentence in group_findings(table) if "may be chance" not in sentence]
        claims += bool(sentences)
        unadjusted += any(gap.low > 0 or gap.high < 0 for gap in table.told_differences)
        if table.cross.test.p_value >= 0.05:
            assert sentences == []
    assert claims <= 4, "in about 5 of 100 surveys without any difference"
    assert unadjusted > claims, "one by one, intervals exclude no difference more often"


@pytest.mark.parametrize("language", LANGUAGES)
def test_pictures_are_whole_files(language: str) -> None:
    results = results_of()
    for question_results in results.questions:
        root = ElementTree.fromstring(results.to_svg(question_results.id, language))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("lang") == language
        assert question_results.question.text in "".join(root.itertext())
        assert not [
            element for element in root.iter() if element.tag.endswith(("script", "image", "foreignObject"))
        ]


def test_a_picture_needs_reports_and_a_question() -> None:
    few = report(YES, Tally.from_counts(YES, {"cheated": [5, 5]}))
    with pytest.raises(AnalysisError, match="no estimates to draw"):
        few.to_svg("cheated")
    with pytest.raises(AnalysisError):
        few.to_svg("nothing")


def test_shares_are_shown_by_size_and_scales_in_their_order() -> None:
    results = results_of()
    reason = [line.estimate for line in results["reason"].ranked]
    assert reason == sorted(reason, reverse=True)
    assert results["mood"].ranked == results["mood"].shares


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_file_speaks_the_language(language: str) -> None:
    text = results_of().to_html(language)
    assert f'<html lang="{language}" dir="{wording(language).direction}">' in text
    assert wording(language)("findings") in text


def test_options_are_said_as_the_designer_wrote_them() -> None:
    document = {
        "hushpoll": 1,
        "title": "Phones",
        "questions": [
            {
                "id": "phone",
                "kind": "choice",
                "text": "Which?",
                "options": ["iPhone", "y", "other"],
                "mechanism": {"name": "krr", "epsilon": 1},
            }
        ],
    }
    survey = Survey.from_draft(document)
    for counts in ([420, 410, 170], [200, 600, 200]):
        for language in LANGUAGES:
            text = report(survey, Tally.from_counts(survey, {"phone": counts})).findings(language)[0].text
            assert "IPhone" not in text
            assert not re.search(r"\bY\b ?:", text)
            assert "iPhone" in text or "y" in text


def test_a_finding_its_figure_and_its_file_show_the_same_interval() -> None:
    options = [f"option {k}" for k in range(12)]
    faculty = {"id": "faculty", "kind": "choice", "text": "Which?", "options": options}
    survey = Survey.from_draft(
        {"hushpoll": 1, "title": "t", "questions": [faculty | {"mechanism": {"name": "krr", "epsilon": 3}}]}
    )
    counts = [400, 150, *[50] * 10]
    results = report(survey, Tally.from_counts(survey, {"faculty": counts}))
    largest = max(results["faculty"].shares, key=lambda share: share.estimate)
    assert largest.low == pytest.approx(results["faculty"].estimate["option 0"].low), "each holds by itself"
    low, high = f"{100 * largest.shown.low:.1f}", f"{100 * largest.shown.high:.1f} %"
    assert f"(95 % interval {low} to {high})" in results.findings()[0].text
    page = results.to_html()
    assert f"(95 % interval {low} to {high})" in page
    assert f"{low} – {high}" in page
    assert "They are chosen by the data, so their intervals miss more often." in page
    entry = next(row for row in results.to_dict()["questions"][0]["estimates"] if row["option"] == "option 0")
    assert (entry["low"], entry["high"]) == pytest.approx((largest.low, largest.high))


def test_a_scale_shows_the_shares_from_each_point_upwards() -> None:
    survey = Survey.from_draft({"hushpoll": 1, "title": "T", "questions": [MOOD]})
    results = report(survey, Tally.from_counts(survey, {"mood": [400, 300, 200, 300, 400]}))
    question = results.to_dict()["questions"][0]
    at_least = {entry["option"].split(" ")[0]: entry for entry in question["at_least"]}
    at_most = {entry["option"].split(" ")[0]: entry for entry in question["cumulative"]}
    assert at_least["4"]["estimate"] == pytest.approx(1 - at_most["3"]["estimate"])
    assert at_least["4"]["low"] == pytest.approx(1 - at_most["3"]["high"])
    direct = results["mood"].numbers.cumulative.at_least(3)
    assert (at_least["4"]["low"], at_least["4"]["high"]) == pytest.approx((direct.low, direct.high), abs=1e-9)
    displayed = at_least["4"]["shown"]
    limits = f"({100 * displayed['low']:.1f} to {100 * displayed['high']:.1f} %)"
    assert f"“4 or more”: 54.7 % (95 % interval {limits[1:]}" in results.findings()[0].text
    page = results.to_html()
    assert "This or more" in page
    assert "Share of this answer or more" in page
    assert "this or more" in results.to_text()


def test_a_mean_that_careless_answers_would_move_stays_a_possible_one() -> None:
    survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [HOURS]})
    text = report(survey, Tally.from_counts(survey, {"hours": [20, 180]})).to_text()
    assert "the mean would be 80.0 hours" in " ".join(text.split())


@pytest.mark.parametrize(("n", "stated"), [(20, False), (200, True)])
def test_totals_reveal_less_only_where_the_figures_say_so(n: int, stated: bool) -> None:
    """For 20 reports the bound is written 1.099, and that of one report 1.0986."""
    cheated = question("cheated") | {"mechanism": {"name": "warner", "epsilon": "1.0986"}}
    survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [cheated]})
    text = report(survey, Tally.from_counts(survey, {"cheated": [n // 2, n // 2]}), minimum=0).to_text()
    assert ("reveal less of one person" in " ".join(text.split())) is stated


@pytest.mark.parametrize("language", LANGUAGES)
def test_ranges_are_called_intervals_where_nothing_stands_in_brackets(language: str) -> None:
    """A wide range, or one that reaches an end, has no brackets; it is an interval all the same."""
    brackets = {"en": "brackets", "de": "Klammern", "fr": "parenthèses", "es": "paréntesis", "ar": "القوسين"}
    note = wording(language)("ranges", level="95")
    assert "95" in note
    assert brackets[language] not in note
    faint = report(YES, Tally.from_counts(YES, {"cheated": [30, 30]}))
    assert "(" not in faint.findings(language)[0].text
    assert note in html.unescape(faint.to_html(language=language))


def test_fewer_than_one_direct_answer_is_not_called_none() -> None:
    cheated = question("cheated", mechanism={"name": "warner", "epsilon": "0.1"})
    faint = Survey.from_draft({"hushpoll": 1, "title": "Faint", "questions": [cheated]})
    results = report(faint, Tally.from_counts(faint, {"cheated": [102, 98]}))
    assert 0 < (results["cheated"].n_effective or 0) < 1
    text = results.to_text()
    assert "200 randomized reports are less precise than one direct answer would be." in " ".join(
        text.split()
    )
    page = results.to_html()
    assert "less precise than one direct answer" in page
    assert "<td>&lt; 1</td>" in page
    assert "as 0 direct" not in page
    clear = report(YES, Tally.from_counts(YES, {"cheated": [102, 98]})).to_text()
    assert "randomized reports are as precise as" in " ".join(clear.split())
