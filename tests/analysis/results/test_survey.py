"""The report says everything a statistician needs, the same in every form, and never more than the data allow."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import compare, crosstab, estimate, report
from hushpoll_analysis.estimates import Estimate
from hushpoll_analysis.results.export import write_export, write_reports
from hushpoll_analysis.results.figures import axis_for
from hushpoll_analysis.results.method import percent
from hushpoll_analysis.results.rendering import stylesheet
from hushpoll_analysis.results.survey import SurveyResults
from hushpoll_analysis.sample.released import released_together
from hushpoll_analysis.sample.tally import Tally
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import HushpollError, Survey
from hushpoll_client.formatting import epsilon_text
from hushpoll_client.mechanism import MECHANISMS, Mechanism

from tests.client.documents import exam

DRAFT: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Exam honesty",
    "questions": [
        {
            "id": "cheated",
            "kind": "yes_no",
            "text": "Did you cheat?",
            "mechanism": {"name": "warner", "epsilon": 1},
        },
        {
            "id": "reason",
            "kind": "choice",
            "text": "Why?",
            "options": ["Time", "Fear", "Habit", "=SUM(A1)"],
            "mechanism": {"name": "krr", "epsilon": 1.5},
        },
        {
            "id": "tax",
            "kind": "yes_no",
            "text": "Tax?",
            "mechanism": {"name": "or_poll", "decoy": "Brittany?", "decoy_counts": [412, 1000]},
        },
        {
            "id": "drugs",
            "kind": "yes_no",
            "text": "Drugs?",
            "mechanism": {"name": "crosswise", "decoy": "Born in spring?", "decoy_share": "0.25"},
        },
    ],
}
TRUTH = {"cheated": [0.7, 0.3], "reason": [0.5, 0.3, 0.2, 0.0], "tax": [0.9, 0.1], "drugs": [0.95, 0.05]}


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey.from_draft(DRAFT)


@pytest.fixture(scope="module")
def frame(survey: Survey) -> pd.DataFrame:
    return pd.DataFrame(
        {f"{name}_reported": codes for name, codes in simulate_survey(survey, 2000, TRUTH, seed=6)}
    )


@pytest.fixture(scope="module")
def results(survey: Survey, frame: pd.DataFrame) -> SurveyResults:
    return report(survey, frame, by="cheated")


def test_every_number_is_the_estimators(survey: Survey, frame: pd.DataFrame, results: SurveyResults) -> None:
    for question in survey.questions:
        counts = np.bincount(frame[f"{question.id}_reported"], minlength=question.channel.outcomes)
        labels = question.options if question.kind.name == "choice" else None
        result = estimate(counts, question.mechanism, options=labels)
        both = estimate(counts, question.mechanism, options=labels, simultaneous=True)
        answers = results[question.id]
        assert [Estimate.to_dict(share) for share in answers.shares] == [
            entry.to_dict() for entry in result.estimates
        ]
        assert [line.simultaneous for line in answers.shares] == list(both.estimates)
        assert answers.counts == tuple(counts)
        shares = result.constrained().shares
        assert sum(shares) == pytest.approx(1)
        assert answers.shares[-1].constrained == pytest.approx(shares[-1])


def test_json_has_the_shape_of_the_contract(results: SurveyResults, survey: Survey) -> None:
    value = json.loads(results.to_json())
    assert value["hash"] == survey.hash
    assert value["n"] == 2000
    assert value["level"] == 0.95
    assert value["epsilon_total"] is None
    assert [question["id"] for question in value["questions"]] == ["cheated", "reason", "tax", "drugs"]
    for question in value["questions"]:
        assert {"id", "text", "mechanism", "epsilon", "estimates"} <= set(question)
        for entry in question["estimates"]:
            assert {"option", "reported", "estimate", "se", "low", "high", "shown", "se_privacy"} <= set(
                entry
            )
            assert set(entry["shown"]) == {"estimate", "low", "high"}
            assert 0 <= entry["shown"]["low"] <= entry["shown"]["high"] <= 1
    assert [len(question["estimates"]) for question in value["questions"]] == [1, 4, 1, 1]
    assert value["questions"][0]["epsilon"] == pytest.approx(1, abs=1e-9)
    assert value["questions"][2]["epsilon"] is None
    assert "unbounded" in value["questions"][2]["epsilon_note"]


def test_two_finite_epsilons_add_up() -> None:
    survey = Survey.from_draft({**DRAFT, "questions": DRAFT["questions"][:2]})
    results = report(survey, Tally.from_counts(survey, {"cheated": [60, 40], "reason": [40, 30, 20, 10]}))
    assert json.loads(results.to_json())["epsilon_total"] == pytest.approx(2.5, abs=1e-9)
    assert "add up to ε = 2.5" in results.privacy


def test_poisoning_figures_are_what_dishonest_people_can_reach(
    survey: Survey, results: SurveyResults
) -> None:
    # 1 % replaced by the worst report, in expectation, against the same shares without it.
    line = results["cheated"].shares[0]
    channel = survey.questions[0].channel
    phi = channel.truth_weight / 2**53
    p = line.shown_estimate
    honest = p * phi + (1 - p) * (1 - phi)
    moved = [((0.99 * honest + 0.01 * bad) - (1 - phi)) / (2 * phi - 1) - p for bad in (0, 1)]
    assert line.dishonest_shift == pytest.approx(max(abs(value) for value in moved))
    k, e = 4, math.exp(1.5)
    assert results["reason"].dishonest_weight == pytest.approx(1 + (k - 1) / (e - 1), rel=1e-9)
    assert "If 1 % of the respondents were dishonest" in " ".join(results["cheated"].remarks)
    for question in results.questions:
        remarks = " ".join(question.remarks)
        shift, weight = re.findall(r"could move by ([\d.]+) .* weighs up to (an|[\d.]+) honest", remarks)[0]
        assert float(shift) >= 100 * max(line.dishonest_shift for line in question.shares)
        assert (1.0 if weight == "an" else float(weight)) >= question.dishonest_weight


def test_design_effect_is_variance_over_that_of_direct_answers(results: SurveyResults) -> None:
    question = results["cheated"]
    entry = question.shares[0]
    direct = entry.estimate * (1 - entry.estimate) / (results.n - 1)
    assert question.design_effect == pytest.approx(entry.se**2 / direct)
    assert question.n_effective == pytest.approx(results.n / question.design_effect)


def test_both_kinds_of_error_and_negative_estimates_are_explained(results: SurveyResults) -> None:
    text = results.to_text()
    assert "SE privacy" in text
    assert "reported, not true" in text
    assert results["reason"].shares[3].outside
    assert "unclipped estimate −" in text
    assert "unclipped estimate 0.0" not in text
    assert "is chance, not an error" in text
    # A crosswise report is not a Yes: its counts stand apart.
    assert re.search(r"reported, not true: different [\d,]+, same [\d,]+", text)


def test_groups_agree_with_crosstab_and_compare(
    survey: Survey, frame: pd.DataFrame, results: SurveyResults
) -> None:
    assert [table.id for table in results.groups] == ["reason", "tax", "drugs"]
    table = results.groups[0]
    cross = crosstab(frame, survey, "cheated", "reason")
    assert table.cross is not None
    assert table.cross.estimate == pytest.approx(cross.estimate)
    assert table.cross.test is not None
    assert cross.test is not None
    assert table.cross.test.p_value == pytest.approx(cross.test.p_value)
    expected = compare(frame, survey, "reason", "cheated", reference="No").to_frame()
    assert [entry.difference for entry in table.differences] == pytest.approx(expected["difference"].tolist())
    value = json.loads(results.to_json())["groups"][0]
    assert value["independence"]["p_value"] == pytest.approx(cross.test.p_value)
    assert [len(table.shares) for table in results.groups] == [2 * 4, 2, 2]


def test_exact_groups_too_small_to_show_are_named(survey: Survey, frame: pd.DataFrame) -> None:
    region = np.where(np.arange(2000) < 30, "tiny", np.where(np.arange(2000) % 2, "north", "south"))
    regional = report(survey, frame.assign(region=region), by="region")
    table = regional.groups[0]
    assert table.groups == ("north", "south")
    assert "fewer than 50 reports: tiny" in table.notes[0]
    north = frame["cheated_reported"][region == "north"]
    alone = estimate(np.bincount(north, minlength=2), survey.questions[0].mechanism)["Yes"]
    assert table.of_option("Yes")[0].estimate == pytest.approx(alone.estimate)
    assert table.of_option("Yes")[0].se == pytest.approx(alone.se)


def test_a_single_group_is_refused_in_words(survey: Survey, frame: pd.DataFrame) -> None:
    results = report(survey, frame.assign(region="north"), by="region")
    assert "needs two groups" in results.groups[0].notes[0]
    # Ten Yes of sixty at epsilon 1 are below chance: no share within them, no difference, and no table without rows.
    reports = frame[:60].assign(cheated_reported=[1] * 10 + [0] * 50)
    faint = report(survey, reports, by="cheated")
    assert faint.groups[0].differences
    assert not any(table.told_differences for table in faint.groups)
    assert "Differences between groups" not in faint.to_html()
    assert results.to_html()
    alone = Survey.from_draft({**DRAFT, "questions": DRAFT["questions"][:1]})
    with pytest.raises(HushpollError, match="the only question"):
        report(alone, frame[["cheated_reported"]], by="cheated")
    with pytest.raises(HushpollError, match="not a group of cheated"):
        report(survey, frame, by="cheated", reference="Maybe")


@pytest.mark.parametrize("n", [0, 1, 49])
def test_too_few_reports_give_no_number_in_any_form(survey: Survey, frame: pd.DataFrame, n: int) -> None:
    results = report(survey, frame[:n], by="cheated")
    reasons = {
        0: "no report is counted, and it takes 50.",
        1: "1 report is fewer than the minimum of 50.",
        49: "49 reports are fewer than the minimum of 50.",
    }
    assert results.too_few == f"No estimates: {reasons[n]}"
    # Nothing is said of an estimate that nobody made, nor of noise that a high epsilon does not have.
    assert "were randomized on the respondents' devices" in results.method.paragraph
    assert "estimated" not in results.method.paragraph
    assert results.to_html().count("<details") == 1, "the method; no fold opens on nothing"
    value = json.loads(results.to_json())
    assert value["n"] == n
    assert value["note"] == results.too_few
    assert all(question["estimates"] == [] for question in value["questions"])
    assert results.to_csv().count("\r\n") == 1
    assert len(results.to_frame()) == 0
    assert "No estimates" in results.to_text()
    assert "<svg" not in results.to_html()
    with pytest.raises(HushpollError, match="nothing to draw"):
        results.plot()


def test_the_minimum_can_be_changed_but_one_report_has_no_variance(
    survey: Survey, frame: pd.DataFrame
) -> None:
    assert report(survey, frame[:10], minimum=10).is_shown
    assert not report(survey, frame[:1], minimum=0).is_shown
    with pytest.raises(HushpollError, match="minimum"):
        report(survey, frame, minimum=-1)


def test_all_reports_in_one_cell_have_numbers_and_a_warning(survey: Survey) -> None:
    counts = {"cheated": [100, 0], "reason": [100, 0, 0, 0], "tax": [100, 0], "drugs": [0, 100]}
    results = report(survey, Tally.from_counts(survey, counts))
    assert "one cell" in results.to_text()
    json.loads(results.to_json())  # no nan anywhere
    assert results.to_html()


def test_csv_cells_cannot_act_as_formulas(results: SurveyResults) -> None:
    lines = list(csv.DictReader(io.StringIO(results.to_csv(), newline="")))
    rows = [line for line in lines if not line["group"]]
    assert len(rows) == 7
    assert len(lines) == 7 + 2 * (4 + 1 + 1)  # every option but No, within two groups
    assert rows[4]["option"] == "'=SUM(A1)"
    # Numbers stay numbers, also negative ones: a guard would make text of them.
    assert float(rows[4]["estimate"]) < 0
    assert rows[5]["epsilon"] == "unbounded"
    assert float(rows[0]["estimate"]) == results["cheated"].shares[0].estimate


def test_frame_has_every_estimate(results: SurveyResults) -> None:
    frame = results.to_frame()
    assert frame["question"].tolist() == ["cheated", *["reason"] * 4, "tax", "drugs"]
    assert frame.loc[0, "estimate"] == results["cheated"].shares[0].estimate
    assert (frame["shown_low"] >= 0).all()


class Outline(HTMLParser):
    """Checks that tags nest, and keeps what a reader's program would load or run."""

    VOID = frozenset({"meta", "link", "br", "img", "input", "line", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.headings: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if (
            tag == "script"
            or any(name in names for name in ("src", "style"))
            or not (names.get("href") or "#").startswith("#")
            or any(name.startswith("on") for name in names)
        ):
            self.loads.append(tag)
        if re.fullmatch(r"h\d", tag):
            self.headings.append(tag)
        if names.get("id"):
            self.ids.append(str(names["id"]))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_html_is_one_file_that_loads_and_runs_nothing(results: SurveyResults) -> None:
    text = results.to_html()
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    assert outline.loads == []
    assert outline.headings[0] == "h1"
    assert outline.headings.count("h1") == 1
    assert len(set(outline.ids)) == len(outline.ids)
    assert "http" not in re.sub(r'http-equiv="[^"]*"', "", text)
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert text.count('class="dot') > 7
    assert "Reported, not true" in text


def test_the_report_does_not_promise_what_unbounded_questions_cannot_keep(results: SurveyResults) -> None:
    assert results.revealing == ("tax", "drugs")
    texts = [results[name].question.text for name in results.revealing]
    assert f"A single report can reveal the answer to: {' · '.join(texts)}" in results.to_html()
    assert "No single report says" not in results.to_html()
    survey = Survey.from_draft({**DRAFT, "questions": DRAFT["questions"][:1]})
    bounded = report(survey, Tally.from_counts(survey, {"cheated": [60, 40]})).to_html()
    assert "A single report can reveal" not in bounded


@pytest.mark.parametrize(
    ("epsilons", "sentence"),
    [
        (["0.1"], "No single report says what a person chose."),
        (["1"], "No single report says what a person chose."),
        (["1.2"], "A single report can hint at what a person chose"),
        (["2"], "A single report can hint at what a person chose"),
        (["2.4"], "a single report can come close to saying what a person chose."),
        (["19.9"], "a single report can come close to saying what a person chose."),
        (["1"] * 5, "No single report says what a person chose."),
        (["1"] * 6, "A single report can hint at what a person chose"),
        (["1"] * 11, "a single report can come close to saying what a person chose."),
    ],
)
def test_what_a_single_report_shows_follows_the_odds(epsilons: list[str], sentence: str) -> None:
    questions = [
        {**DRAFT["questions"][0], "id": f"q{index}", "mechanism": {"name": "warner", "epsilon": epsilon}}
        for index, epsilon in enumerate(epsilons)
    ]
    survey = Survey.from_draft({**DRAFT, "questions": questions})
    counts = {question.id: [60, 40] for question in survey.questions}
    html = report(survey, Tally.from_counts(survey, counts)).to_html()
    assert sentence in html
    sentences = ("No single report says", "A single report can hint", "a single report can come close")
    assert sum(sentence in html for sentence in sentences) == 1


def test_figures_place_shares_on_an_axis_that_holds_them() -> None:
    assert axis_for([0.04, 0.09]).end == 0.1
    assert axis_for([0.04, 0.51]).end == 0.6
    assert axis_for([0.04, 0.81]).end == 1.0
    assert axis_for([]).end == 1.0
    axis = axis_for([0.45])
    assert axis.place(0.25) == "50.00%"
    assert axis.place(-0.1) == "0.00%"
    assert axis.place(0.7) == "100.00%"
    assert [text for _, text in axis.ticks] == ["0 %", "10 %", "20 %", "30 %", "40 %", "50 %"]


def test_notebook_shows_the_report_and_its_style_stays_inside(results: SurveyResults) -> None:
    html = results._repr_html_()
    assert 'class="report"' in html
    assert "\nbody {" not in html
    assert "\nh1 {" not in html


def test_plot_draws_every_question(results: SurveyResults) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    figure = results.plot()
    assert len(figure.axes) == 4
    assert [text.get_text() for text in figure.axes[1].get_yticklabels()] == [
        "Time",
        "Fear",
        "Habit",
        "=SUM(A1)",
    ]
    pyplot.close(figure)


def test_method_names_every_design_it_used(results: SurveyResults) -> None:
    for word in (
        "Warner",
        "K-ary",
        "OR-poll",
        "crosswise",
        "Wilson",
        "Bonferroni",
        results.survey.hash,
        "2,000",
    ):
        assert word in results.method.paragraph
    assert "quantiles" not in results.method.paragraph  # no question of this survey has any
    assert len(results.method.formulas) == 4 + 6  # a decoy share of this survey was estimated
    assert results.method.references == tuple(sorted(results.method.references))
    assert any(work.startswith("Warner") for work in results.method.references)


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=lambda mechanism: mechanism.name)
def test_every_mechanism_says_what_a_paper_needs(mechanism: type[Mechanism]) -> None:
    assert "=" in mechanism.formula
    for letter in set(mechanism.symbols.split(":")[0]) - set(" ₖ"):
        assert letter in mechanism.formula
    assert re.search(r"\((19|20)\d\d\)", mechanism.citation)
    assert mechanism.design.endswith(")")


def test_figures_are_written_for_people() -> None:
    assert percent(-0.0123) == "−1.2 %"
    assert percent(-0.0001) == "0.0 %"
    assert epsilon_text(0.9999999999999994) == "1"
    assert epsilon_text(math.log(3)) == "1.0987"  # never less than it is
    assert epsilon_text(math.inf) == "unbounded"


def test_the_palette_of_the_file_is_that_of_the_pages() -> None:
    root = Path(__file__).parents[3]
    pages = (root / "server" / "hushpoll_server" / "static" / "palette.css").read_text()
    for color in re.findall(r"--hush-[a-z-]+: #[0-9a-f]{6};", stylesheet(alone=True)):
        assert color in pages


def test_snippet_names_what_was_asked(results: SurveyResults, survey: Survey, frame: pd.DataFrame) -> None:
    assert "by='cheated'" in results.snippet
    assert "by=" not in report(survey, frame).snippet
    assert (
        "minimum=20" in report(survey, frame, minimum=20).snippet
    )  # else it would show nothing for few reports
    compile(results.snippet, "snippet", "exec")


def test_totals_have_a_shuffled_epsilon_beside_the_local_one() -> None:
    """Never in place of the local epsilon, never where unbounded, and also for few reports."""
    survey = Survey.from_draft(exam())
    frame = pd.DataFrame(
        {f"{q.id}_reported": np.arange(10_000) % q.channel.outcomes for q in survey.questions}
    )
    results = report(survey, frame, batch=math.inf)
    entry = results["cheated"].to_dict()
    assert entry["epsilon"] == pytest.approx(1)
    assert entry["epsilon_shuffled"] == pytest.approx(0.0432, abs=2e-4)
    assert entry["epsilon_shuffled_delta"] == 1e-6
    (remark,) = (text for text in results["cheated"].remarks if "shuffling" in text)
    # Who follows results while reports come, as their owner may, sees more.
    assert "totals by themselves, read once, after the last report, reveal less" in remark
    assert "ε = 0.044 (δ = 10⁻⁶" in remark
    assert results["tax"].to_dict()["epsilon_shuffled"] is None
    few = report(survey, frame.head(100), batch=math.inf)["cheated"]
    assert 0.043 < few.to_dict()["epsilon_shuffled"] < 1
    assert any("shuffling" in remark for remark in few.remarks)


def test_a_table_that_does_not_say_how_it_was_released_claims_nothing_without_a_condition() -> None:
    survey = Survey.from_draft(exam())
    frame = pd.DataFrame(
        {f"{q.id}_reported": np.arange(10_000) % q.channel.outcomes for q in survey.questions}
    )
    question = report(survey, frame)["cheated"]
    assert question.to_dict()["epsilon_shuffled"] is None
    assert question.to_dict()["epsilon_shuffled_delta"] is None
    (remark,) = (text for text in question.remarks if "shuffling" in text)
    assert "totals by themselves, if they were released once, after the last report, reveal less" in remark
    assert "ε = 0.044" in remark


@pytest.mark.parametrize("batch", [50, math.inf, None])
def test_an_export_says_how_its_reports_were_released(tmp_path: Path, batch: float | None) -> None:
    survey = Survey.from_draft(exam())
    frame = pd.DataFrame(
        {f"{q.id}_reported": np.arange(10_000) % q.channel.outcomes for q in survey.questions}
    )
    expected = report(survey, frame, batch=batch).to_dict()
    write_export(survey, frame, tmp_path, batch=batch)
    for name in ("reports.csv", "reports.parquet"):
        assert report(survey, tmp_path / name).to_dict() == expected
    assert ("- Released" in (tmp_path / "codebook.md").read_text("utf-8")) is (batch is not None)
    # A file that the description beside it does not speak of says nothing.
    (tmp_path / "reports.csv").rename(tmp_path / "others.csv")
    assert report(survey, tmp_path / "others.csv")["cheated"].batch is None


def test_parts_of_which_one_does_not_say_how_it_was_released(tmp_path: Path) -> None:
    survey = Survey.from_draft(exam())
    frame = pd.DataFrame({f"{q.id}_reported": np.arange(60) % q.channel.outcomes for q in survey.questions})
    for name, batch in (("a", 50), ("b", math.inf), ("c", None)):
        write_reports(survey, frame, tmp_path / f"{name}.parquet", batch=batch)
    assert released_together(survey, str(tmp_path / "[ab].parquet")) == 50
    assert released_together(survey, tmp_path) is None


def test_a_document_in_place_of_a_survey_is_explained(frame: pd.DataFrame) -> None:
    with pytest.raises(HushpollError, match=r"expected a Survey.*got dict.*Survey\.load"):
        report(DRAFT, frame)
