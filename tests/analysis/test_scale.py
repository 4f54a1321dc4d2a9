"""One count expression, run on DuckDB and compiled for Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis.channel.population import simulate_survey
from hushpoll_analysis.data.engines import count_expression
from hushpoll_analysis.data.files import tally
from hushpoll_client import HushpollError, Survey

# Ibis 12 itself calls names that DuckDB 2 and pandas 3 have deprecated.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:fetch_arrow_table\(\) is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated"),
]

DRAFT: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Two questions",
    "questions": [
        {"id": "a", "kind": "yes_no", "text": "A?", "mechanism": {"name": "warner", "epsilon": 1}},
        {
            "id": "b",
            "kind": "choice",
            "text": "B?",
            "options": ["x", "y", "z"],
            "mechanism": {"name": "krr", "epsilon": 1},
        },
    ],
}


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey.from_draft(DRAFT)


@pytest.fixture(scope="module")
def frame(survey: Survey) -> pd.DataFrame:
    truth = {"a": [0.7, 0.3], "b": [0.5, 0.5, 0.0]}
    data = pd.DataFrame(
        {f"{name}_reported": codes for name, codes in simulate_survey(survey, 5000, truth, seed=2)}
    )
    return data.assign(region=np.where(np.arange(5000) % 4 == 0, "north", "south"))


@pytest.mark.parametrize("by", [None, "b", "region"])
def test_duckdb_counts_as_pandas_does(
    survey: Survey, frame: pd.DataFrame, tmp_path: Path, by: str | None
) -> None:
    frame[:3000].to_parquet(tmp_path / "one.parquet")
    frame[3000:].to_parquet(tmp_path / "two.parquet")
    expected = tally(survey, frame, by)
    connection = ibis.duckdb.connect()
    found = tally(survey, connection.read_parquet(tmp_path / "*.parquet"), by)
    connection.disconnect()
    assert found.n == 5000
    assert found.groups == expected.groups
    for name in expected.counts:
        assert np.array_equal(found.counts[name], expected.counts[name])
    assert found.joint.keys() == expected.joint.keys()
    for name in expected.joint:
        assert np.array_equal(found.joint[name], expected.joint[name])


def test_the_same_expression_compiles_for_spark() -> None:
    table = ibis.table({"a_reported": "uint8", "b_reported": "uint8", "region": "string"}, name="reports")
    expression = count_expression(table, {"a_reported": 0, "b_reported": 0}, "region")
    spark = ibis.to_sql(expression, dialect="pyspark")
    assert spark.count("GROUP BY") == 2
    assert spark.count("UNION ALL") == 1
    assert "`a_reported`" in spark
    assert "`region`" in spark


@pytest.mark.parametrize(("column", "value"), [("b_reported", 3), ("a_reported", None)])
def test_foreign_codes_are_named(survey: Survey, frame: pd.DataFrame, column: str, value: object) -> None:
    wrong = frame.astype({column: "Int64"})
    wrong.loc[5, column] = value
    with pytest.raises(HushpollError, match=f'column "{column}" holds'):
        tally(survey, ibis.memtable(wrong))


def test_columns_that_do_not_fit_are_named(survey: Survey, frame: pd.DataFrame) -> None:
    with pytest.raises(HushpollError, match='no column "b_reported"'):
        tally(survey, ibis.memtable(frame[["a_reported"]]))
    with pytest.raises(HushpollError, match='"a_reported" has type string'):
        tally(survey, ibis.memtable(frame.assign(a_reported="No")))
