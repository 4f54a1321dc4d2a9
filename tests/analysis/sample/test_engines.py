"""One count expression, run on DuckDB and compiled for Spark."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis.sample.engines import count_expression, weighted_counts
from hushpoll_analysis.sample.files import read_frame, tally
from hushpoll_analysis.sample.parts import engine_table, tally_parts, write_parts
from hushpoll_analysis.sample.tally import Tally
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import HushpollError, Survey
from hushpoll_client.delivery.record import RecordFormat

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


@pytest.mark.parametrize("by", [None, "b", "region", "n", "code"])
def test_duckdb_counts_as_pandas_does(
    survey: Survey, frame: pd.DataFrame, tmp_path: Path, by: str | None
) -> None:
    frame = frame.rename(columns={"region": by}) if by in ("n", "code") else frame
    frame[:3000].to_parquet(tmp_path / "one.parquet")
    frame[3000:].to_parquet(tmp_path / "two.parquet")
    expected = tally(survey, frame, by)
    connection = ibis.duckdb.connect()
    counted = tally(survey, connection.read_parquet(tmp_path / "*.parquet"), by)
    connection.disconnect()
    assert counted.n == 5000
    assert counted.groups == expected.groups
    for name in expected.counts:
        assert np.array_equal(counted.counts[name], expected.counts[name])
    assert counted.joint.keys() == expected.joint.keys()
    for name in expected.joint:
        assert np.array_equal(counted.joint[name], expected.joint[name])


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


# Many files ------------------------------------------------------------------------------------------------------

LONG_LIST = {
    "id": "long",
    "kind": "choice",
    "text": "Which?",
    "options": [f"option {number}" for number in range(30)],
    "mechanism": {"name": "subset", "epsilon": 1, "size": 8},
}


@pytest.fixture(scope="module")
def wide() -> Survey:
    """A survey with codes and with bitmaps."""
    return Survey.from_draft({**DRAFT, "questions": [*DRAFT["questions"], LONG_LIST]})


@pytest.fixture(scope="module")
def records(wide: Survey) -> list[bytes]:
    """5,500 reports as the database gives them, in blocks that fit no part."""
    truth = {"a": [0.7, 0.3], "b": [0.5, 0.5, 0.0], "long": [1 / 30] * 30}
    columns = [codes.tolist() for _, codes in simulate_survey(wide, 5500, truth, seed=4)]
    layout = RecordFormat.of(wide)
    packed = [layout.pack(row) for row in zip(*columns, strict=True)]
    return [b"".join(packed[start : start + 700]) for start in range(0, 5500, 700)]


def same_counts(actual: Tally, expected: Tally) -> None:
    assert actual.n == expected.n
    assert actual.groups == expected.groups
    for name in expected.counts:
        assert np.array_equal(actual.counts[name], expected.counts[name]), name
    assert actual.joint.keys() == expected.joint.keys()
    for name in expected.joint:
        assert np.array_equal(actual.joint[name], expected.joint[name]), name
    assert [groups.by for groups in actual.by_option] == [groups.by for groups in expected.by_option]
    for groups, other in zip(actual.by_option, expected.by_option, strict=True):
        same_counts(groups, other)


@pytest.mark.parametrize("by", [None, "b"])
def test_parts_hold_every_report_once_in_another_order(
    wide: Survey, records: list[bytes], tmp_path: Path, by: str | None
) -> None:
    seen: list[int] = []
    paths = write_parts(wide, records, tmp_path, 2000, seen.append)
    assert [path.name for path in paths] == ["part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    assert seen == [2000, 2000, 1500]
    expected = tally(wide, records, by)
    same_counts(tally_parts(wide, tmp_path, by), expected)
    same_counts(tally_parts(wide, str(tmp_path / "part-*.parquet"), by), expected)
    same_counts(tally(wide, tmp_path, by), expected)
    first = pd.read_parquet(paths[0])
    straight = read_frame(wide, [b"".join(records)]).iloc[:2000].reset_index(drop=True)
    assert not first.equals(straight)
    keys = list(first.columns)
    assert first.sort_values(keys, ignore_index=True).equals(straight.sort_values(keys, ignore_index=True))


def test_an_export_that_was_cut_off_goes_on(wide: Survey, records: list[bytes], tmp_path: Path) -> None:
    paths = write_parts(wide, records, tmp_path, 2000)
    content = paths[0].read_bytes()
    paths[1].write_bytes(paths[1].read_bytes()[:500])
    paths[2].unlink()
    assert write_parts(wide, records, tmp_path, 2000) == paths
    assert paths[0].read_bytes() == content
    same_counts(tally_parts(wide, tmp_path), tally(wide, records))
    # Other reports, or other sizes, are other parts, and nothing of the old ones is left.
    assert len(write_parts(wide, records[:2], tmp_path, 4000)) == 1
    assert tally_parts(wide, tmp_path).n == 1400


def test_parts_of_nothing_and_of_another_survey(
    wide: Survey, survey: Survey, records: list[bytes], tmp_path: Path
) -> None:
    with pytest.raises(HushpollError, match="no file is found there"):
        tally_parts(wide, str(tmp_path / "*.parquet"))
    assert len(write_parts(wide, [], tmp_path)) == 1
    assert tally_parts(wide, tmp_path).n == 0
    with pytest.raises(HushpollError, match="holds reports of survey"):
        tally_parts(survey, tmp_path)
    (tmp_path / "part-00009.parquet").write_bytes(b"no")
    with pytest.raises(HushpollError, match="is not a Parquet file"):
        tally_parts(wide, tmp_path)
    with pytest.raises(HushpollError, match="there is no engine"):
        tally_parts(wide, tmp_path, engine="abacus")
    with pytest.raises(HushpollError, match="a part of 0 reports"):
        write_parts(wide, records, tmp_path, 0)


@pytest.mark.parametrize("by", [None, "b", "region"])
def test_weights_are_added_up_by_the_engine(survey: Survey, frame: pd.DataFrame, by: str | None) -> None:
    heavy = frame.assign(w=1.0 + np.arange(5000) % 3)
    sums = weighted_counts(survey, ibis.memtable(heavy), "w", by)
    group = "" if by is None else heavy["region" if by == "region" else "b_reported"].astype(str)
    for name in ("a", "b"):
        coded = heavy.assign(group=group, code=heavy[f"{name}_reported"], square=heavy["w"] ** 2)
        expected = coded.groupby(["group", "code"])[["w", "square"]].sum()
        mine = sums[sums["question"] == name]
        assert mine["weight"].tolist() == expected["w"].tolist()
        assert mine["weight_squared"].tolist() == expected["square"].tolist()
        assert mine["n"].sum() == 5000
    with pytest.raises(HushpollError, match='no column "heavy"'):
        weighted_counts(survey, ibis.memtable(frame), "heavy")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::FutureWarning:pyspark")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("master", [None, "local-cluster[2,1,1024]"])
def test_spark_counts_the_same_to_the_last_digit(
    wide: Survey, survey: Survey, records: list[bytes], tmp_path: Path, master: str | None
) -> None:
    """Needs requirements/spark.txt and Java, as `make prove` installs them."""
    write_parts(wide, records, tmp_path, 2000)
    for by in (None, "b"):
        same_counts(tally_parts(wide, tmp_path, by, "spark", master), tally(wide, records, by))
    with engine_table(wide, tmp_path, "spark", master) as table:
        heavy = table.mutate(w=table["a_reported"].cast("float64") + 1.0)
        summed = weighted_counts(survey, heavy.drop("long_reported"), "w", "b")
    with engine_table(wide, tmp_path) as table:
        heavy = table.mutate(w=table["a_reported"].cast("float64") + 1.0)
        assert summed.equals(weighted_counts(survey, heavy.drop("long_reported"), "w", "b"))


# A cluster of its own processes ----------------------------------------------------------------------------------


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def spark_process(folder: Path, kind: str, ready: str, *arguments: str) -> Iterator[None]:
    """Run one of Spark's own programs until its log says that it is ready, and end it afterwards by its process."""
    import pyspark

    home = Path(pyspark.__file__).parent
    log = folder / f"{kind.rsplit('.', 1)[-1]}.log"
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [str(home / "bin" / "spark-class"), kind, "--host", "127.0.0.1", *arguments]
    with log.open("w") as sink:
        process = subprocess.Popen(command, env=environment, stdout=sink, stderr=sink)
    try:
        until = time.monotonic() + 120
        while ready not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.2)
        yield
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def spark_address(tmp_path: Path) -> Iterator[str]:
    """The address of a standalone master with one worker, both on this machine."""
    port, page, other = _free_port(), str(_free_port()), str(_free_port())
    address = f"spark://127.0.0.1:{port}"
    begun = "org.apache.spark.deploy"
    with (
        spark_process(
            tmp_path,
            f"{begun}.master.Master",
            "Starting Spark master",
            "--port",
            str(port),
            "--webui-port",
            page,
        ),
        spark_process(
            tmp_path,
            f"{begun}.worker.Worker",
            "Successfully registered with master",
            *("--cores", "1", "--memory", "1g", "--webui-port", other),
            *("--work-dir", str(tmp_path / "work"), address),
        ),
    ):
        yield address


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::FutureWarning:pyspark")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_command_counts_on_a_master_and_a_worker(
    wide: Survey, survey: Survey, records: list[bytes], tmp_path: Path, spark_address: str
) -> None:
    """Needs requirements/spark.txt and Java, as `make prove` installs them."""
    parts = tmp_path / "parts"
    parts.mkdir()
    write_parts(wide, records, parts, 2000)
    (tmp_path / "survey.json").write_bytes(wide.canonical)
    begin = [sys.executable, "-c", "import sys; from hushpoll_client.cli import main; main(sys.argv[1:])"]
    for by in ([], ["--by", "b"]):
        outputs = []
        for engine in (["--engine", "spark", "--master", spark_address], ["--engine", "duckdb"]):
            command = ["report", "survey.json", "--data", "parts/*.parquet", "--json", *by, *engine]
            done = subprocess.run(
                [*begin, *command], cwd=tmp_path, capture_output=True, text=True, timeout=300
            )
            assert done.returncode == 0, done.stderr
            outputs.append(json.loads(done.stdout))
        assert outputs[0] == outputs[1]
        assert outputs[0]["n"] == 5500
    # The worker did it: its folder has what it ran.
    assert [entry for entry in (tmp_path / "work").iterdir() if entry.name.startswith("app-")]
    sums = []
    for engine, master in (("spark", spark_address), ("duckdb", None)):
        with engine_table(wide, parts, engine, master) as table:
            heavy = table.mutate(w=table["a_reported"].cast("float64") + 1.0)
            sums.append(weighted_counts(survey, heavy.drop("long_reported"), "w", "b"))
    assert sums[0].equals(sums[1])
