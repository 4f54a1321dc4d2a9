"""The same counts from every source, and a message that says what and where for data that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hushpoll_analysis.sample.files import HASH_KEY, read_frame, record_type, tally
from hushpoll_analysis.sample.tally import Tally
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import HushpollError, Survey

DRAFT: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Exam honesty",
    "questions": [
        {
            "id": "cheated",
            "kind": "yes_no",
            "text": "Cheated?",
            "mechanism": {"name": "warner", "epsilon": 1},
        },
        {
            "id": "reason",
            "kind": "choice",
            "text": "Why?",
            "options": ["Time", "Fear", "Habit", "None"],
            "mechanism": {"name": "krr", "epsilon": 2},
        },
        {
            "id": "town",
            "kind": "choice",
            "text": "Town?",
            "options": [f"Town {number}" for number in range(300)],
            "mechanism": {"name": "krr", "epsilon": 6},
        },
    ],
}
TRUTH = {"cheated": [0.7, 0.3], "reason": [0.4, 0.3, 0.2, 0.1], "town": [1 / 300] * 300}


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey.from_draft(DRAFT)


@pytest.fixture(scope="module")
def frame(survey: Survey) -> pd.DataFrame:
    return pd.DataFrame(
        {f"{name}_reported": codes for name, codes in simulate_survey(survey, 3000, TRUTH, seed=1)}
    )


def same(first: Tally, other: Tally) -> bool:
    return (
        first.n == other.n
        and first.groups == other.groups
        and all(np.array_equal(first.counts[name], other.counts[name]) for name in first.counts)
        and first.joint.keys() == other.joint.keys()
        and all(np.array_equal(first.joint[name], other.joint[name]) for name in first.joint)
    )


def records(survey: Survey, frame: pd.DataFrame) -> bytes:
    layout = record_type(survey)
    table = np.empty(len(frame), dtype=layout)
    for name in layout.names or ():
        table[name] = frame[name]
    return table.tobytes()


@pytest.mark.parametrize("by", [None, "reason", "cheated"])
def test_every_source_gives_the_same_counts(
    survey: Survey, frame: pd.DataFrame, tmp_path: Path, by: str | None
) -> None:
    expected = tally(survey, frame, by)
    frame.to_csv(tmp_path / "reports.csv", index=False)
    frame.to_csv(tmp_path / "reports.csv.gz", index=False)
    frame.to_parquet(tmp_path / "reports.parquet", row_group_size=700)
    folder = tmp_path / "parts"
    folder.mkdir()
    frame[:1000].to_parquet(folder / "a.parquet")
    frame[1000:].to_parquet(folder / "b.parquet")
    raw = records(survey, frame)
    size = record_type(survey).itemsize
    assert expected.n == 3000
    for source in (
        dict(frame.items()),
        tmp_path / "reports.csv",
        str(tmp_path / "reports.csv.gz"),
        tmp_path / "reports.parquet",
        folder,
        raw,
        [raw[: 100 * size], b"", raw[100 * size :]],
        expected,
    ):
        assert same(tally(survey, source, by), expected)


def test_counts_are_those_of_pandas(survey: Survey, frame: pd.DataFrame) -> None:
    counted = tally(survey, frame, "cheated")
    table = pd.crosstab(frame["cheated_reported"], frame["reason_reported"])
    assert counted.joint["reason"].tolist() == table.to_numpy().tolist()
    assert counted.counts["town"].sum() == 3000
    assert "cheated" not in counted.joint


def test_an_exact_column_groups_by_its_values(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    data = frame.assign(region=np.where(np.arange(3000) % 3 == 0, "north", "south"))
    counted = tally(survey, data, "region")
    assert counted.groups == ("north", "south")
    assert counted.joint["cheated"].sum(axis=1).tolist() == [1000, 2000]
    data.to_csv(tmp_path / "reports.csv", index=False)
    assert same(tally(survey, tmp_path / "reports.csv", "region"), counted)


def test_records_are_little_endian_without_padding(survey: Survey) -> None:
    assert record_type(survey).itemsize == 4
    counted = tally(survey, [bytes([1, 3, 0x2A, 0x01])])
    assert counted.counts["town"][0x12A] == 1


def test_counts_made_elsewhere(survey: Survey) -> None:
    counts = {"cheated": [6, 4], "reason": [1, 2, 3, 4], "town": [10] + [0] * 299}
    assert Tally.from_counts(survey, counts).n == 10
    for wrong, message in [
        ({"cheated": [6, 4, 0]}, "has 2 reports"),
        ({"cheated": [6, -4]}, "whole numbers"),
        ({"cheated": [6, 3.5]}, "whole numbers"),
        ({"cheated": [6, 5]}, "different numbers of respondents"),
    ]:
        with pytest.raises(HushpollError, match=message):
            Tally.from_counts(survey, {**counts, **wrong})
    with pytest.raises(HushpollError, match='no counts for question "town"'):
        Tally.from_counts(survey, {"cheated": [1, 0], "reason": [1, 0, 0, 0]})


def put(frame: pd.DataFrame, column: str, row: int, value: object) -> pd.DataFrame:
    changed = frame.copy()
    changed[column] = changed[column].astype(object)
    changed.loc[row, column] = value
    return changed


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (4, "column \"reason_reported\" holds '4' in row 8; reports of this question are the integers 0..3"),
        (-1, "holds '-1' in row 8"),
        (1.5, "holds '1.5' in row 8"),
        (None, "holds nothing in row 8"),
        ("Fear", "holds 'Fear' in row 8"),
    ],
)
@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_foreign_codes_are_named_with_their_place(
    survey: Survey, frame: pd.DataFrame, tmp_path: Path, value: object, message: str, kind: str
) -> None:
    data: Any = put(frame, "reason_reported", 7, value)
    if kind == "csv":
        data.to_csv(tmp_path / "reports.csv", index=False)
        data = tmp_path / "reports.csv"
        message = message.replace("'4'", "'4(.0)?'").replace("'-1'", "'-1(.0)?'")
    elif kind == "parquet":
        if value == "Fear":
            data["reason_reported"] = data["reason_reported"].astype(str)
        data.to_parquet(tmp_path / "reports.parquet")
        data = tmp_path / "reports.parquet"
    with pytest.raises(HushpollError, match=message.replace("..3", r"\.\.3")) as caught:
        tally(survey, data)
    where = {"frame": "data", "csv": "reports.csv", "parquet": "reports.parquet"}[kind]
    assert str(caught.value).startswith(where)


def test_columns_that_are_missing_or_foreign_are_named(
    survey: Survey, frame: pd.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(HushpollError, match='no column "town_reported"'):
        tally(survey, frame.drop(columns="town_reported"))
    with pytest.raises(HushpollError, match='"tax_reported" is not a question of this survey'):
        tally(survey, frame.assign(tax_reported=0))
    with pytest.raises(HushpollError, match='"region" is neither'):
        tally(survey, frame, "region")
    with pytest.raises(HushpollError, match="no such file"):
        tally(survey, tmp_path / "absent.csv")
    (tmp_path / "reports.xls").write_text("x")
    with pytest.raises(HushpollError, match=r"name it \.csv"):
        tally(survey, tmp_path / "reports.xls")
    (tmp_path / "broken.parquet").write_bytes(b"not parquet")
    with pytest.raises(HushpollError, match=r"broken\.parquet: is not a Parquet file"):
        tally(survey, tmp_path / "broken.parquet")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(HushpollError, match=r"empty\.csv: is not a CSV file"):
        tally(survey, tmp_path / "empty.csv")


def test_data_of_another_survey_are_refused(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata({HASH_KEY: "ab" * 32})
    pq.write_table(table, tmp_path / "reports.parquet")
    with pytest.raises(HushpollError, match="holds reports of survey abababababab…"):
        tally(survey, tmp_path / "reports.parquet")
    other = Survey.from_draft({**DRAFT, "title": "Another"})
    with pytest.raises(HushpollError, match="the counts belong to survey"):
        tally(other, tally(survey, frame))
    with pytest.raises(HushpollError, match="not a whole number of 4-byte records"):
        tally(survey, [b"12345"])


def test_read_frame_gives_back_every_row(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_parquet(tmp_path / "reports.parquet")
    for source in (frame, tmp_path / "reports.parquet", [records(survey, frame)]):
        assert np.array_equal(read_frame(survey, source).to_numpy(), frame.to_numpy())
    assert len(read_frame(survey, [])) == 0


def test_progress_counts_every_report(survey: Survey, frame: pd.DataFrame) -> None:
    seen: list[int] = []
    raw = records(survey, frame)
    tally(survey, [raw[:2000], raw[2000:]], progress=seen.append)
    assert seen == [500, 2500]


def test_no_reports_at_all(survey: Survey) -> None:
    empty = tally(survey, [])
    assert empty.n == 0
    assert empty.counts["reason"].tolist() == [0, 0, 0, 0]
