"""Reports in many Parquet files: written part by part in constant memory, read by DuckDB or by Spark.

A part that is whole is not written again, so an interrupted export resumes where it stopped. What a part was made
from stands in it as a digest, which decides.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.delivery.record import RecordFormat
from hushpoll_client.survey.group import FIELD, OTHER

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.arrow import arrow, files_at
from hushpoll_analysis.sample.engine_codes import engine_suffices
from hushpoll_analysis.sample.files import HASH_KEY, Progress, check_hash, read_frame, tally
from hushpoll_analysis.sample.released import metadata_of
from hushpoll_analysis.sample.tally import COLUMN_SUFFIX, Tally

ROWS = 1_000_000
"""Reports of one part, unless another number is asked for."""
ENGINES = ("duckdb", "spark")
_SOURCE_KEY = b"hushpoll_source"


def write_parts(
    survey: Survey,
    records: Iterable[bytes],
    folder: Path,
    rows: int = ROWS,
    progress: Progress | None = None,
    shown_groups: Sequence[str] | None = None,
    batch: float | None = None,
) -> list[Path]:
    """Write the database's records as Parquet parts of `rows` reports each; return their paths.

    Memory holds one part. Rows are shuffled within a part; across parts they come in the order of random keys. Of a
    survey with groups those in `shown_groups` are named, as `tally` by group names them; the others are put together.
    Each part says how few reports were released together (`batch`), where that is known.
    """
    if rows < 1:
        raise AnalysisError(f"a part of {rows} reports", "give a whole number of 1 or more")
    if survey.groups and shown_groups is None:
        # Which groups are large enough to be named depends on all reports, not on those of a part.
        raise AnalysisError(
            "a part does not know how many reports each group has", "say which groups are shown on their own"
        )
    named = {name: name if name in (shown_groups or ()) else OTHER for name in survey.groups}
    beside = repr(sorted(named.items()) or "") + ("" if batch is None else repr(batch))
    paths = []
    for number, records_of_part in enumerate(_cut(records, RecordFormat.of(survey).size, rows)):
        path = folder / f"part-{number:05d}.parquet"
        source = hashlib.sha256(records_of_part + beside.encode()).hexdigest().encode()
        if _source_of(path) != source:
            _write(survey, records_of_part, {_SOURCE_KEY: source, **metadata_of(batch)}, path, named)
        paths.append(path)
        if progress is not None:
            progress(len(records_of_part) // RecordFormat.of(survey).size)
    for left in sorted(set(folder.glob("part-*.parquet")) - set(paths)):
        left.unlink()  # of an earlier export with smaller parts
    return paths


def _cut(records: Iterable[bytes], size: int, rows: int) -> Iterator[bytes]:
    """Yield the records in parts of `rows`, the last one shorter; one empty part where there are none."""
    waiting, any_yet = bytearray(), False
    for block in records:
        waiting += block
        while len(waiting) >= rows * size:
            yield bytes(waiting[: rows * size])
            del waiting[: rows * size]
            any_yet = True
    if waiting or not any_yet:
        yield bytes(waiting)


def _source_of(path: Path) -> bytes:
    """Return the digest of what a part was made from; empty where it is absent or not whole."""
    pyarrow = arrow(path.name)
    try:
        metadata: dict[bytes, bytes] = pyarrow.parquet.read_schema(path).metadata or {}
    except (OSError, pyarrow.ArrowException):
        return b""
    return metadata.get(_SOURCE_KEY, b"")


def _write(
    survey: Survey, records: bytes, metadata: Mapping[bytes, bytes], path: Path, named: Mapping[str, str]
) -> None:
    """Write one part under another name first: what has the name of a part is whole."""
    pyarrow = arrow(path.name)
    frame = shuffled(read_frame(survey, [records], 0))
    if named:
        frame[FIELD] = frame[FIELD].map(named)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({HASH_KEY: survey.hash.encode(), **metadata})
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        pyarrow.parquet.write_table(table, unfinished, compression="zstd")
        os.replace(unfinished, path)
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise AnalysisError(
            f"{path}: cannot be written ({reason})", "make room or choose another place, and run it again"
        ) from None


def shuffled(frame: pd.DataFrame) -> pd.DataFrame:
    """Put the rows in a random order that the operating system's generator chose."""
    keys = np.frombuffer(os.urandom(8 * len(frame)), dtype=np.uint64)
    return frame.iloc[np.argsort(keys, kind="stable")].reset_index(drop=True)


def find_parts(survey: Survey, where: str | Path) -> list[Path]:
    """Find the files of a folder or of a pattern such as parts/*.parquet, each of them of this survey."""
    pyarrow = arrow(where)
    paths = [path for path in files_at(where) if path.exists()]
    if not paths:
        raise AnalysisError(
            f"{where}: no file is found there", "give a folder of Parquet files or a pattern in quotes"
        )
    first: list[str] | None = None
    for path in paths:
        try:
            schema = pyarrow.parquet.read_schema(path)
        except (OSError, pyarrow.ArrowException) as error:
            raise AnalysisError(
                f"{path.name}: is not a Parquet file ({str(error).splitlines()[0]})"
            ) from None
        check_hash(survey, schema.metadata or {}, path.name)
        if first is None:
            first = schema.names
        _check_alike(first, schema.names, paths[0].name, path.name)
    return paths


def _check_alike(first: Sequence[str], names: Sequence[str], first_name: str, second_name: str) -> None:
    """Refuse a file that has not all columns of the first, or reports that the first has not."""
    missing = next((name for name in first if name not in names), None)
    foreign = next((name for name in names if name.endswith(COLUMN_SUFFIX) and name not in first), None)
    if missing is not None or foreign is not None:
        where = second_name
        if missing is None:
            where = first_name
        raise AnalysisError(
            f'{where}: no column "{missing or foreign}", which other files have',
            "give files with the same columns",
        )


def tally_parts(
    survey: Survey,
    where: str | Path,
    by: str | None = None,
    engine: str = "duckdb",
    master: str | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Count the reports of many Parquet files (a folder, or a pattern such as `parts/*.parquet`) by a query engine.

    What DuckDB cannot group by, such as an option that very many different reports hold, is read block by block, and
    `progress` called with the number of reports read since the last call. `master` is Spark's address, such as
    `spark://host:7077`; by default this machine.
    """
    if engine == ENGINES[0] and not engine_suffices(survey, by):
        find_parts(survey, where)
        return tally(survey, where, by, progress)
    with engine_table(survey, where, engine, master) as table:
        return tally(survey, table, by)


@contextmanager
def engine_table(
    survey: Survey, where: str | Path, engine: str = "duckdb", master: str | None = None
) -> Iterator[Any]:
    """Open many Parquet files as one Ibis table of an engine, for the time of a count."""
    if engine not in ENGINES:
        raise AnalysisError(f"there is no engine {engine!r}", f"use one of {', '.join(ENGINES)}")
    files = find_parts(survey, where)
    if engine == "spark":
        with _spark(master, files) as table:
            yield table
        return
    with _duckdb() as connection:
        yield connection.read_parquet([str(path) for path in files])


@contextmanager
def engine_tables(
    survey: Survey, where: str | Path, rows: int = 4 * ROWS
) -> Iterator[tuple[Iterator[tuple[Any, int]], int]]:
    """Open many Parquet files as Ibis tables of DuckDB, of about `rows` reports each; yield the total too."""
    files = find_parts(survey, where)
    sizes = [int(arrow().parquet.read_metadata(file).num_rows) for file in files]
    # A file is in the bunch in which it begins.
    bunches = np.unique(np.cumsum([0, *sizes[:-1]]) // rows, return_inverse=True)[1]

    def tables(connection: Any) -> Iterator[tuple[Any, int]]:
        for bunch in range(int(bunches.max()) + 1):
            mine = np.flatnonzero(bunches == bunch)
            table = connection.read_parquet([str(files[number]) for number in mine])
            yield table, sum(sizes[number] for number in mine)

    with _duckdb() as connection:
        yield tables(connection), sum(sizes)


@contextmanager
def _duckdb() -> Iterator[Any]:
    """Open a database of DuckDB in memory, for the time of a count."""
    try:
        import ibis

        connection = ibis.duckdb.connect()
    except (ImportError, AttributeError):
        raise AnalysisError(
            "DuckDB is not installed", 'run pip install "hushpoll[scale]", or read one file'
        ) from None
    try:
        yield connection
    finally:
        connection.disconnect()


@contextmanager
def _spark(master: str | None, files: list[Path]) -> Iterator[Any]:
    """Start a session of Spark, at `master` or on this machine, and stop it afterwards."""
    try:
        import ibis
        from pyspark.sql import SparkSession

        ibis.pyspark  # noqa: B018 - asks whether Ibis has it
    except (ImportError, AttributeError):
        raise AnalysisError(
            "Spark is not installed", 'run pip install "hushpoll[spark]", and have Java 17 or newer'
        ) from None
    settings: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        # Counts are few, however many the reports.
        "spark.sql.shuffle.partitions": "8",
        "spark.log.level": "ERROR",
    }
    settings["spark.ui.showConsoleProgress"] = str(sys.stderr.isatty()).lower()
    if master is None or master.startswith(("local", "spark://127.0.0.1:", "spark://localhost:")):
        # Nothing of a count on one machine goes past it.
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    builder = SparkSession.builder.appName("hushpoll").master(master or "local[*]")
    try:
        session = builder.config(map=settings).getOrCreate()
    except Exception as error:
        raise AnalysisError(
            f"Spark did not start at {master or 'this machine'} ({str(error).splitlines()[0][:200]})",
            "check the address, and that Java 17 or newer is installed",
        ) from None
    try:
        session.read.parquet(*(str(path.resolve()) for path in files)).createOrReplaceTempView("reports")
        yield ibis.pyspark.connect(session).table("reports")
    finally:
        session.stop()
