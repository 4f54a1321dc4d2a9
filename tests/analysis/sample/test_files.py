"""A table, one file and many files are the same data: what one refuses all refuse, and groups have the same names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hushpoll_analysis import compare, logit, report
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample import files, parts
from hushpoll_client import Survey

SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "T",
        "questions": [
            {"id": name, "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 2}}
            for name in ("a", "b")
        ],
    }
)
N = 400


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "a_reported": rng.integers(0, 2, N),
            "b_reported": rng.integers(0, 2, N),
            "w": rng.gamma(2.0, 0.5, N),
            "x": rng.normal(size=N),
            "site": ["01"] * 100 + ["02"] * 100 + ["01"] * 100 + ["2A"] * 100,
            "number": [1] * 200 + [2] * 200,
            "half": [1.0] * 200 + [2.5] * 200,
            "flag": rng.random(N) < 0.5,
            "day": pd.to_datetime(["2020-01-01"] * 200 + ["2021-05-06"] * 200),
        }
    )


@pytest.fixture
def sources(table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(files, "BLOCK_ROWS", 200)
    (tmp_path / "parts").mkdir()
    table.to_csv(tmp_path / "r.csv", index=False)
    table.to_csv(tmp_path / "r.csv.gz", index=False)
    table.to_parquet(tmp_path / "r.parquet", index=False)
    table.iloc[:150].to_parquet(tmp_path / "parts" / "p0.parquet", index=False)
    table.iloc[150:].to_parquet(tmp_path / "parts" / "p1.parquet", index=False)
    names = {name: str(tmp_path / name) for name in ("r.csv", "r.csv.gz", "r.parquet", "parts")}
    return {"table": table, **names}


def test_a_file_of_another_survey_is_refused_also_where_its_rows_are_read(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    foreign = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(
        {files.HASH_KEY: b"f" * 64}
    )
    path = tmp_path / "foreign.parquet"
    pq.write_table(foreign, path)
    for keys in ({}, {"weights": "w"}, {"na_action": "omit"}):
        with pytest.raises(AnalysisError, match="holds reports of survey ffffffffffff"):
            report(SURVEY, str(path), **keys)


@pytest.mark.parametrize("name", ["one.csv", "one.parquet", "parts"])
def test_one_weight_above_zero_is_one_respondent_also_in_a_file(
    table: pd.DataFrame, tmp_path: Path, name: str
) -> None:
    alone = table.assign(w=np.where(np.arange(N) == 7, 1.0, 0.0))
    path = tmp_path / name
    if name == "parts":
        path.mkdir()
        alone.iloc[:200].to_parquet(path / "p0.parquet")
        alone.iloc[200:].to_parquet(path / "p1.parquet")
    elif name.endswith("csv"):
        alone.to_csv(path, index=False)
    else:
        alone.to_parquet(path)
    for call in (
        lambda: compare(str(path), SURVEY, "a", "site", weights="w"),
        lambda: logit("a ~ number", str(path), SURVEY, weights="w"),
    ):
        with pytest.raises(AnalysisError, match="all weights but one are 0"):
            call()


GROUPS = {
    "site": ["01", "02", "2A"],
    "number": ["1", "2"],
    "half": ["1.0", "2.5"],
    "flag": ["False", "True"],
    "day": ["2020-01-01", "2021-05-06"],
}


@pytest.mark.parametrize("by", GROUPS)
def test_groups_have_the_same_names_and_people_wherever_they_are_read(
    sources: dict[str, Any], by: str
) -> None:
    expected = files.tally(SURVEY, sources["table"], by)
    assert list(expected.groups or ()) == GROUPS[by]
    for name, source in sources.items():
        counted = (parts.tally_parts if name == "parts" else files.tally)(SURVEY, source, by)
        assert counted.groups == expected.groups, name
        assert counted.joint["a"].tolist() == expected.joint["a"].tolist(), name


@pytest.mark.parametrize("by", GROUPS)
def test_groups_of_a_weighted_report_have_the_names_of_an_unweighted_one(
    sources: dict[str, Any], by: str
) -> None:
    for source in sources.values():
        for keys in ({}, {"weights": "w"}, {"na_action": "omit"}):
            groups = report(SURVEY, source, by=by, only="a", **keys).groups[0]
            assert sorted({share.group for share in groups.shares}) == GROUPS[by]


def test_groups_that_are_numbers_with_zeros_before_them_keep_these(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "r.csv"
    table.assign(site=["01"] * 200 + ["02"] * 200).to_csv(path, index=False)
    for keys in ({}, {"weights": "w"}, {"na_action": "omit"}):
        groups = report(SURVEY, str(path), by="site", only="a", **keys).groups[0]
        assert {share.group for share in groups.shares} == {"01", "02"}


def test_a_table_or_file_without_a_column_of_reports_is_refused_with_its_name(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    short = table.drop(columns="a_reported")
    short.to_csv(tmp_path / "r.csv", index=False)
    for source in (short, str(tmp_path / "r.csv")):
        for keys in ({}, {"weights": "w"}, {"na_action": "omit"}):
            with pytest.raises(AnalysisError, match='no column "a_reported"'):
                report(SURVEY, source, **keys)


def test_parts_with_other_columns_are_refused_with_their_names(table: pd.DataFrame, tmp_path: Path) -> None:
    table.iloc[:200].to_parquet(tmp_path / "p0.parquet")
    table.iloc[200:].drop(columns="b_reported").to_parquet(tmp_path / "p1.parquet")
    with pytest.raises(AnalysisError, match=r'p1.parquet: no column "b_reported", which other files have'):
        parts.tally_parts(SURVEY, tmp_path)
    table.iloc[200:].assign(c_reported=1).to_parquet(tmp_path / "p1.parquet")
    with pytest.raises(AnalysisError, match=r'p0.parquet: no column "c_reported", which other files have'):
        parts.tally_parts(SURVEY, tmp_path)


def test_a_population_of_strata_that_stand_beside_the_table_is_taken_with_groups_too(
    table: pd.DataFrame,
) -> None:
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": "T",
            "questions": [
                {"id": "a", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 2}}
            ],
            "groups": ["X", "Y"],
        }
    )
    data = table[["a_reported"]].assign(group=np.where(table["flag"], "X", "Y"), stratum=table["site"])
    sizes = {"01": 3000, "02": 2000, "2A": 1000}
    expected = report(survey, data, strata="stratum", population=sizes).to_frame()
    beside = report(survey, data, strata=data["stratum"].to_numpy(), population=sizes).to_frame()
    assert beside["se"].tolist() == expected["se"].tolist()


def test_two_columns_of_one_name_are_refused_where_it_is_used(table: pd.DataFrame) -> None:
    twice = pd.concat([table, table[["x", "site", "a_reported"]]], axis=1)
    calls = {
        "x": lambda: logit("b ~ x", twice, SURVEY),
        "site": lambda: compare(twice, SURVEY, "b", "site"),
        "a_reported": lambda: report(SURVEY, twice),
        "a_reported ": lambda: report(SURVEY, twice, weights="w"),
        "a_reported  ": lambda: report(SURVEY, twice, na_action="omit"),
    }
    for name, call in calls.items():
        with pytest.raises(AnalysisError, match=f"the data have two columns '{name.strip()}'"):
            call()
    assert logit("b ~ number", twice, SURVEY).n == N
