"""A study gives the numbers of the package's functions, whatever form its data have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    AnalysisError,
    EstimateTable,
    Study,
    compare,
    correlate,
    crosstab,
    cumulative,
    estimate,
    linear,
    logit,
    mean,
    multinomial,
    ordinal,
    quantiles,
    report,
    trend,
    weighted_estimate,
)
from hushpoll_analysis.documents import parse_survey
from hushpoll_analysis.sample.parts import engine_table
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey

KRR = {"name": "krr", "epsilon": 2}
DRAFT: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Exam",
    "questions": [
        {"id": "cheated", "kind": "yes_no", "text": "A?", "mechanism": {"name": "warner", "epsilon": 2}},
        {"id": "reason", "kind": "choice", "text": "Why?", "options": ["x", "y", "z"], "mechanism": KRR},
        {"id": "stress", "kind": "scale", "text": "How?", "points": 4, "mechanism": KRR},
    ],
}
TRUTH = {"cheated": [0.6, 0.4], "reason": [0.5, 0.3, 0.2], "stress": [0.25] * 4}
N = 900
DESIGN: dict[str, Any] = {"weights": "w", "strata": "town"}
FORMS = ("frame", "csv", "parquet", "folder", "pattern", "engine")


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey.from_draft(DRAFT)


@pytest.fixture(scope="module")
def frame(survey: Survey) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {f"{name}_reported": codes for name, codes in simulate_survey(survey, N, TRUTH, seed=1)}
    )
    table["town"] = rng.choice(["u", "v"], N)
    table["w"] = rng.choice([0.5, 1.0, 2.0], N)
    table["age"] = rng.integers(20, 30, N).astype(float)
    return table


@pytest.fixture(scope="module")
def sources(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("reports")
    (folder / "parts").mkdir()
    frame.to_csv(folder / "reports.csv", index=False)
    frame.to_parquet(folder / "reports.parquet")
    frame.iloc[:500].to_parquet(folder / "parts" / "1.parquet")
    frame.iloc[500:].to_parquet(folder / "parts" / "2.parquet")
    return {
        "frame": frame,
        "csv": folder / "reports.csv",
        "parquet": str(folder / "reports.parquet"),
        "folder": folder / "parts",
        "pattern": str(folder / "parts" / "*.parquet"),
        "engine": ibis.memtable(frame),
    }


def counts_of(frame: pd.DataFrame, question: str, answers: int) -> list[int]:
    return np.bincount(frame[f"{question}_reported"], minlength=answers).tolist()


def same(result: Any, expected: Any) -> None:
    """Check that two results show the same numbers."""
    pd.testing.assert_frame_equal(result.to_frame(), expected.to_frame(), check_dtype=False, rtol=1e-7)


def question(survey: Survey, name: str) -> Any:
    return next(question for question in survey.questions if question.id == name)


@pytest.mark.parametrize("form", [*FORMS, "counts"])
def test_shares_means_and_quantiles_are_those_of_the_functions(
    survey: Survey, frame: pd.DataFrame, sources: dict[str, Any], form: str
) -> None:
    counts = {"cheated": 2, "reason": 3, "stress": 4}
    counts_by_name = {name: counts_of(frame, name, answers) for name, answers in counts.items()}
    study = Study(survey, counts_by_name if form == "counts" else sources[form])
    warner, scale = question(survey, "cheated"), question(survey, "stress")
    shares = study.share("cheated")
    assert isinstance(shares, EstimateTable)
    same(shares, estimate(counts_by_name["cheated"], warner.mechanism))
    same(
        study.share("reason", level=0.9, interval="wald"),
        estimate(
            counts_by_name["reason"],
            question(survey, "reason").mechanism,
            0.9,
            "wald",
            options=["x", "y", "z"],
        ),
    )
    same(study.mean("stress"), mean(counts_by_name["stress"], scale.mechanism, [1, 2, 3, 4]))
    labels = scale.options
    same(study.cumulative("stress"), cumulative(counts_by_name["stress"], scale.mechanism, labels))
    same(
        study.quantiles("stress", [0.3, 0.6]),
        quantiles(counts_by_name["stress"], scale.mechanism, [0.3, 0.6]),
    )
    assert study.report().to_dict() == report(survey, frame).to_dict()


def tables_and_models(frame: pd.DataFrame, survey: Survey, design: dict[str, Any]) -> dict[str, Any]:
    """Return what the functions give for the calls of `CALLS`."""
    return {
        "compare": compare(frame, survey, "cheated", "town", **design),
        "compare options": compare(frame, survey, "reason", "cheated", option="x", level=0.9, **design),
        "crosstab": crosstab(frame, survey, "cheated", "reason", **design),
        "correlate": correlate(frame, survey, ["cheated", "stress"], **design),
        "logit": logit("cheated ~ age", frame, survey, **design),
        "linear": linear("stress ~ age", frame, survey, **design),
        "ordinal": ordinal("stress ~ age", frame, survey, **design),
        "multinomial": multinomial("reason ~ age", frame, survey, **design),
    }


CALLS: dict[str, Callable[[Study], Any]] = {
    "compare": lambda study: study.compare("cheated", by="town"),
    "compare options": lambda study: study.compare("reason", by="cheated", option="x", level=0.9),
    "crosstab": lambda study: study.crosstab("cheated", "reason"),
    "correlate": lambda study: study.correlate("cheated", "stress"),
    "logit": lambda study: study.logit("cheated ~ age"),
    "linear": lambda study: study.linear("stress ~ age"),
    "ordinal": lambda study: study.ordinal("stress ~ age"),
    "multinomial": lambda study: study.multinomial("reason ~ age"),
}


@pytest.mark.parametrize("design", [{}, DESIGN], ids=["plain", "weighted"])
def test_tables_and_models_are_those_of_the_functions(
    survey: Survey, frame: pd.DataFrame, sources: dict[str, Any], design: dict[str, Any]
) -> None:
    expected = tables_and_models(frame, survey, design)
    assert expected.keys() == CALLS.keys()
    for form in FORMS:
        study = Study(survey, sources[form], **design)
        # Files are read as one table, so their models are that table's.
        names = CALLS if form in ("frame", "engine") else ("compare", "crosstab", "correlate", "logit")
        for name in names:
            same(CALLS[name](study), expected[name])


@pytest.mark.parametrize("form", FORMS)
def test_a_sample_design_is_used_for_shares_and_means(
    survey: Survey, frame: pd.DataFrame, sources: dict[str, Any], form: str
) -> None:
    study = Study(survey, sources[form], **DESIGN)
    expected = weighted_estimate(frame, survey, "reason", **DESIGN)
    columns = ["estimate", "se", "low", "high"]
    pd.testing.assert_frame_equal(
        study.share("reason").to_frame()[columns], expected.to_frame()[columns], rtol=1e-7
    )
    results = report(survey, frame, **DESIGN)
    same(study.mean("stress"), results["stress"].numbers.mean)  # type: ignore[union-attr]
    same(study.cumulative("stress"), results["stress"].numbers.cumulative)  # type: ignore[union-attr]
    same(study.quantiles("stress"), results["stress"].numbers.quantiles)  # type: ignore[union-attr]
    same(study.report("town"), report(survey, frame, "town", **DESIGN))


def test_a_finite_population_needs_no_rows(survey: Survey, frame: pd.DataFrame) -> None:
    counts = {
        name: counts_of(frame, name, size) for name, size in (("cheated", 2), ("reason", 3), ("stress", 4))
    }
    study = Study(survey, counts, population=2_000)
    expected = estimate(counts["cheated"], question(survey, "cheated").mechanism, population=2_000)
    same(study.share("cheated"), expected)
    assert expected["Yes"].se < Study(survey, counts).share("cheated")["Yes"].se


def test_a_trend_follows_studies_in_their_order(survey: Survey, frame: pd.DataFrame) -> None:
    first, second = frame.iloc[:400].reset_index(drop=True), frame.iloc[400:].reset_index(drop=True)
    result = Study(survey, first).trend("cheated", Study(survey, second))
    expected = trend([report(survey, first), report(survey, second)], question="cheated")
    same(result, expected)


def test_data_are_read_once(survey: Survey, sources: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    study = Study(survey, sources["csv"])
    shares = study.share("cheated")
    table = study.crosstab("cheated", "reason")
    monkeypatch.setattr(pd, "read_csv", None)
    same(study.share("cheated"), shares)
    same(study.crosstab("cheated", "reason"), table)


def test_a_survey_may_be_a_path(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    path.write_bytes(survey.canonical)
    same(Study(path, frame).share("cheated"), Study(survey, frame).share("cheated"))


def test_a_path_may_be_that_of_a_draft_whose_channel_is_computed(tmp_path: Path) -> None:
    scale = {"id": "stress", "kind": "scale", "text": "How?", "points": 4, "mechanism": {"epsilon": 2}}
    path = tmp_path / "draft.json"
    path.write_text(json.dumps({**DRAFT, "questions": [scale]}), "utf-8")
    study = Study(path, pd.DataFrame({"stress_reported": [0, 1, 2, 3] * 50}))
    assert study.survey == parse_survey(path.read_bytes())
    assert study.share("stress").n == 200


def test_reports_in_a_mapping_of_columns_are_rows(survey: Survey, frame: pd.DataFrame) -> None:
    study = Study(survey, {name: frame[name].tolist() for name in frame.columns})
    same(study.crosstab("cheated", "reason"), crosstab(frame, survey, "cheated", "reason"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda study: study.share("cheeted"), "no question 'cheeted'.*did you mean 'cheated'"),
        (lambda study: study.share("zzz"), "choose one of cheated, reason, stress"),
        (lambda study: study.compare("cheated", by="twon"), "neither a question nor a column.*'town'"),
        (lambda study: study.crosstab("cheated", "resaon"), "did you mean 'reason'"),
        (lambda study: study.correlate("cheated", "stres"), "did you mean 'stress'"),
        (lambda study: study.logit("cheeted ~ age"), "did you mean 'cheated'"),
        (lambda study: study.trend("cheeted", study), "did you mean 'cheated'"),
        (lambda study: study.mean("reason"), "reason: its answers are not numbers.*share"),
        (lambda study: study.quantiles("reason"), "reason: its answers have no order.*share"),
        (lambda study: study.cumulative("cheated"), "cheated: its answers have no order.*share"),
    ],
)
def test_what_cannot_be_estimated_is_refused_with_a_remedy(
    survey: Survey, frame: pd.DataFrame, call: Any, message: str
) -> None:
    with pytest.raises(AnalysisError, match=message):
        call(Study(survey, frame))


def test_the_shares_of_a_mean_only_question_are_refused() -> None:
    mechanism = {"name": "one_bit", "epsilon": 1}
    draft = {
        "hushpoll": 1,
        "title": "Hours",
        "questions": [
            {
                "id": "hours",
                "kind": "number",
                "text": "?",
                "min": 0,
                "max": 10,
                "step": 1,
                "mechanism": mechanism,
            }
        ],
    }
    study = Study(Survey.from_draft(draft), {"hours": [300, 200]})
    with pytest.raises(AnalysisError, match=r"the mean only.*mean\('hours'\)"):
        study.share("hours")
    assert 0 < study.mean("hours").estimate < 10


def test_counts_are_refused_where_rows_are_needed(survey: Survey) -> None:
    counts = {"cheated": [500, 400], "reason": [300, 300, 300], "stress": [225] * 4}
    study = Study(survey, counts)
    for call in (
        lambda: study.compare("cheated", by="reason"),
        lambda: study.crosstab("cheated", "reason"),
        lambda: study.correlate("cheated", "stress"),
        lambda: study.logit("cheated ~ 1"),
    ):
        with pytest.raises(AnalysisError, match=r"needs one row per respondent.*DataFrame"):
            call()
    with pytest.raises(AnalysisError, match="cannot be weighted"):
        Study(survey, counts, weights="w")


def test_data_of_no_known_form_are_refused(survey: Survey) -> None:
    with pytest.raises(AnalysisError, match=r"cannot read reports from a int.*path"):
        Study(survey, 5)
    with pytest.raises(AnalysisError, match="path of its file"):
        Study(5, {})  # type: ignore[arg-type]


def test_an_engine_reads_many_files(survey: Survey, frame: pd.DataFrame, sources: dict[str, Any]) -> None:
    with engine_table(survey, sources["folder"]) as table:
        same(Study(survey, table).share("cheated"), Study(survey, frame).share("cheated"))


def test_reports_may_come_one_by_one(survey: Survey, frame: pd.DataFrame) -> None:
    expected = Study(survey, frame).share("cheated").to_frame()
    columns = [f"{question.id}_reported" for question in survey.questions]
    rows = frame[columns].to_numpy().tolist()
    for reports in (
        iter(rows),
        ({"reports": row} for row in rows),
        (dict(zip(columns, row, strict=True)) for row in rows),
    ):
        pd.testing.assert_frame_equal(Study(survey, reports).share("cheated").to_frame(), expected)


def test_a_report_of_another_length_is_refused(survey: Survey) -> None:
    with pytest.raises(AnalysisError, match="report 1 is"):
        Study(survey, [[0, 1, 2], [0, 1]])
    with pytest.raises(AnalysisError, match="no reports"):
        Study(survey, iter(()))
