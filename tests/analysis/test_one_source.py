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
from hushpoll_analysis.data import files
from hushpoll_analysis.errors import AnalysisError
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
