"""Values that are not reports of the survey are refused, with pandas and with DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.sample import engines
from hushpoll_analysis.sample.files import tally
from hushpoll_analysis.sample.parts import engine_table, tally_parts
from hushpoll_analysis.simulation.respondents import simulate_survey

SURVEY = read_draft(
    {
        "hushpoll": 1,
        "title": "T",
        "questions": [
            {"id": "a", "kind": "yes_no", "text": "?", "mechanism": {"epsilon": 1}},
            {
                "id": "town",
                "kind": "choice",
                "text": "?",
                "options": [f"t{k}" for k in range(39)],
                "mechanism": {"name": "subset", "epsilon": 1},
            },
        ],
    }
)
N = 300


@pytest.fixture(scope="module")
def reports() -> pd.DataFrame:
    truth = {"a": [0.5, 0.5], "town": [1 / 39] * 39}
    columns = {f"{name}_reported": column for name, column in simulate_survey(SURVEY, N, truth, 1)}
    return pd.DataFrame(columns).assign(w=1.5)


def in_parts(frame: pd.DataFrame, folder: Path) -> Path:
    frame.iloc[:150].to_parquet(folder / "p0.parquet", index=False)
    frame.iloc[150:].to_parquet(folder / "p1.parquet", index=False)
    return folder


def weighted(folder: Path) -> Any:
    with engine_table(SURVEY, folder) as table:
        return engines.weighted_counts(SURVEY, table, "w")


def test_sets_of_the_survey_are_counted(reports: pd.DataFrame, tmp_path: Path) -> None:
    folder = in_parts(reports, tmp_path)
    combined = tally_parts(SURVEY, folder)
    assert combined.counts["town"].tolist() == tally(SURVEY, reports).counts["town"].tolist()
    assert weighted(folder)["n"].sum() == N * 40


TEXTS = {
    "all options": "7fffffffff",
    "no option": "0000000000",
    "beyond the last option": None,
    "capital letters": "upper",
    "too short": "fff",
    "no digit": "zzzzzzzzzz",
    "with an end of line": "line",
}


@pytest.mark.parametrize("name", TEXTS)
def test_sets_that_are_no_reports_are_refused_by_the_engine(
    reports: pd.DataFrame, tmp_path: Path, name: str
) -> None:
    bad = reports.copy()
    size = int(bad["town_reported"].iloc[0], 16).bit_count()
    # As many bits as a report has, and one of them of a fortieth option.
    beyond = f"{(1 << 39) | ((1 << (size - 1)) - 1):010x}"
    text_of_set = next(text for text in bad["town_reported"] if text != text.upper())
    variants = {"upper": text_of_set.upper(), "line": text_of_set + "\n", None: beyond}
    text = variants.get(TEXTS[name], TEXTS[name])
    bad.loc[200, "town_reported"] = text
    folder = in_parts(bad, tmp_path)
    for call in (lambda: tally(SURVEY, bad), lambda: tally_parts(SURVEY, folder), lambda: weighted(folder)):
        with pytest.raises(AnalysisError, match=r'column "town_reported" holds .* of 39 bits set'):
            call()


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("a_reported", 7, r'column "a_reported" holds .7.*integers 0\.\.1'),
        ("w", np.nan, "w: 1 weights are missing or no numbers"),
        ("w", -5.0, "w: weight -5 is negative"),
    ],
)
def test_sums_of_weights_refuse_what_is_none(
    reports: pd.DataFrame, tmp_path: Path, column: str, value: float, words: str
) -> None:
    bad = reports.copy()
    bad.loc[3, column] = value
    with pytest.raises(AnalysisError, match=words):
        weighted(in_parts(bad, tmp_path))
