"""Where counts come from: arrays, data frames, CSV and Parquet files, the database's records.

Counts of reports are sufficient for every estimate of shares, so whatever the source, the result is one small
`Tally`. Sources are read in blocks; memory does not grow with the number of respondents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.delivery.record import RecordFormat
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.survey import Question
from hushpoll_client.survey.group import FIELD

from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.arrow import are_many, arrow, files_at
from hushpoll_analysis.sample.columns import check_once
from hushpoll_analysis.sample.engine_sums import is_engine_table
from hushpoll_analysis.sample.link_groups import by_link, folded_frame, folded_tally
from hushpoll_analysis.sample.members import member_codes, with_member_counts
from hushpoll_analysis.sample.tally import (
    Counts,
    Tally,
    check_columns,
    column_of,
    foreign_code,
    group_names,
    grouping_column,
    grouping_names,
    grouping_question,
    option_groups,
    question_of,
    report_names,
)

# Key of the survey's hash in the metadata of Parquet files that hushpoll writes.
HASH_KEY = b"hushpoll_survey"
BLOCK_ROWS = 1 << 18
_EMPTY = ["", "NA", "N/A", "NaN", "nan", "null", "None"]

Progress = Callable[[int], object]
Codes = Mapping[str, npt.NDArray[Any]]
Blocks = Generator[Codes, None, None]


def tally(
    survey: Survey,
    data: Any,
    by: str | None = None,
    progress: Progress | None = None,
    fewest: int = FEWEST_REPORTS,
) -> Tally:
    """Count the reports in `data`.

    `data` is a tally, a table or mapping with columns named `<question id>_reported`, a path (.csv, .csv.gz, .parquet
    or a folder of Parquet files), a query engine's table, or the database's records in blocks of bytes. `by` is a
    question's id, or a column that was not randomized, such as the `group` of a survey with groups: reports are counted
    jointly with it too. Of a survey's own groups those with fewer than `fewest` reports are put together as `other`.
    `progress` is called with the number of reports read since the last call.
    """
    if isinstance(data, Tally):
        return _same_survey(data, survey, by)
    if isinstance(data, bytes | bytearray | memoryview):
        data = [data]
    if is_engine_table(data):
        from hushpoll_analysis.sample.engines import tally_table

        counted = tally_table(survey, data, by)
        if by_link(survey, by):
            return folded_tally(counted, fewest)
        return counted
    grouping = grouping_column(survey, by)
    if isinstance(data, pd.DataFrame | Mapping):
        where = "data"
        blocks: Blocks = (block for block in [_frame_columns(survey, data, grouping)])
    elif isinstance(data, str | Path):
        where = Path(data).name
        blocks = _file_blocks(survey, Path(data), grouping)
    elif isinstance(data, Iterable):
        return tally_records(survey, data, [by], progress, fewest)[0]
    else:
        raise AnalysisError(
            f"cannot count reports in a {type(data).__name__}", "give a data frame, a file or records"
        )
    # Closing matters when a block is refused: a file half read must not stay open.
    with closing(blocks):
        return _count(survey, blocks, where, [by], progress, fewest)[0]


def tally_records(
    survey: Survey,
    records: Iterable[Any],
    groupings: Sequence[str | None],
    progress: Progress | None = None,
    fewest: int = FEWEST_REPORTS,
) -> list[Tally]:
    """Count the database's records by each of these, None for no groups, in one pass: they can be read once."""
    for by in groupings:
        if grouping_column(survey, by) and not by_link(survey, by):
            raise AnalysisError(
                f'"{by}" is not a question of the survey', "the database holds nothing else to group by"
            )
    return _count(survey, _record_blocks(survey, records), "database", groupings, progress, fewest)


def read_frame(survey: Survey, data: Any, fewest: int = FEWEST_REPORTS) -> pd.DataFrame:
    """Read the reports as a data frame with one row per respondent, checked like `tally` does.

    Where the survey has groups, a column `group` names them; small ones are put together.
    """
    columns = report_names_of(survey)
    if isinstance(data, pd.DataFrame):
        check_columns(data.columns, columns, None, "data")
        check_once(data, columns)
        _written(survey, {name: data[name].to_numpy() for name in columns}, "data", 0)
        return folded_frame(survey, data, fewest)
    group = None
    if survey.groups and (not isinstance(data, str | Path) or FIELD in column_names(Path(data))):
        group = FIELD
    where, blocks = "database", _record_blocks(survey, data)
    if isinstance(data, str | Path):
        where, blocks = Path(data).name, _file_blocks(survey, Path(data), group)
    frames, n = [], 0
    for block in blocks:
        named = {}
        if group is not None:
            named = {group: block[group]}
        frames.append(pd.DataFrame(named | _written(survey, block, where, n)))
        n += len(frames[-1])
    empty = pd.DataFrame(columns=columns if group is None else [group, *columns])
    if frames:
        return folded_frame(survey, pd.concat(frames, ignore_index=True), fewest)
    return empty


def _written(survey: Survey, block: Codes, where: str, offset: int) -> dict[str, npt.NDArray[Any]]:
    """Check a block and give its reports as they are exported."""
    return {
        column_of(entry.id): sampler(entry.channel).write(
            _checked_codes(entry, block[column_of(entry.id)], where, offset)
        )
        for entry in survey.entries
    }


def column_names(path: Path) -> list[str]:
    """Return the names of a .csv or .parquet file's columns."""
    try:
        if path.suffix.lower() == ".parquet":
            return [str(name) for name in arrow(path.name).parquet.read_schema(path).names]
        return [str(name) for name in pd.read_csv(path, nrows=0).columns]
    except (OSError, ValueError) as error:
        raise AnalysisError(f"{path.name}: cannot be read ({str(error).splitlines()[0]})") from None


def column_blocks(
    survey: Survey, data: Any, names: list[str], texts: Collection[str] = (), omit: bool = False
) -> Iterator[tuple[Codes, int]]:
    """Go through a CSV file or the database's records block by block: some columns, reports checked and as exported.

    The columns `texts` of a file are text whatever they look like. With `omit` rows that lack a value are left out;
    each block comes with their number.
    """
    entries = {column_of(entry.id): entry for entry in survey.entries}
    if isinstance(data, str | Path):
        where, blocks = Path(data).name, _csv_blocks(survey, Path(data), None, names, texts)
    else:
        where, blocks = "database", _record_blocks(survey, data)
    n = 0
    for block in blocks:
        columns = {name: block[name] for name in names}
        rows = len(columns[names[0]])
        if omit:
            complete_rows = np.flatnonzero(~pd.DataFrame(columns).isna().any(axis=1))
        else:
            complete_rows = np.arange(rows)
        for name in names:
            columns[name] = columns[name][complete_rows]
            if name in entries:
                codes = _checked_codes(entries[name], columns[name], where, n, complete_rows)
                columns[name] = sampler(entries[name].channel).write(codes)
        n += rows
        yield columns, rows - len(complete_rows)


def record_type(survey: Survey) -> np.dtype[np.void]:
    """Return the layout of one stored report, without padding."""
    record_format = RecordFormat.of(survey)
    names = [column_of(name) for name in record_format.names]
    if record_format.groups:
        names[0] = FIELD
    return np.dtype(
        [(name, kind) for name, (_, kind) in zip(names, record_format.dtype, strict=True)], align=False
    )


def _count(
    survey: Survey,
    blocks: Blocks,
    where: str,
    groupings: Sequence[str | None],
    progress: Progress | None,
    fewest: int,
) -> list[Tally]:
    entries = survey.entries
    totals = {entry.id: np.zeros(sampler(entry.channel).cells, dtype=np.int64) for entry in entries}
    joints = {by: _joint_counts(survey, by) for by in groupings}
    n = 0
    for block in blocks:
        codes = {entry.id: _checked_codes(entry, block[column_of(entry.id)], where, n) for entry in entries}
        for entry in entries:
            totals[entry.id] += sampler(entry.channel).tally(codes[entry.id])
        for joint in (joint_counts for some in joints.values() for joint_counts in some):
            joint.add(codes, block, where)
        rows = len(next(iter(codes.values())))
        n += rows
        if progress is not None:
            progress(rows)
    alone = Tally(survey, n, with_member_counts(survey, totals))
    counted = {by: _combine(alone, by, some) for by, some in joints.items()}
    return [folded_tally(counted[by], fewest) if by_link(survey, by) else counted[by] for by in groupings]


def _joint_counts(survey: Survey, by: str | None) -> list[_JointCounts]:
    if by is None:
        return []
    return [_JointCounts(survey, name, grouping_column(survey, by)) for name in grouping_names(survey, by)]


def _combine(alone: Tally, by: str | None, joints: list[_JointCounts]) -> Tally:
    tallies = [joint.added_to(alone) for joint in joints]
    if not tallies or tallies[0].by == by:
        if tallies:
            return tallies[0]
        return alone
    return replace(alone, by=by, by_option=tuple(tallies))


class _JointCounts:
    """Joint counts of every entry and the groups, added up block by block."""

    def __init__(self, survey: Survey, by: str, grouping: str | None) -> None:
        self._survey, self._by, self._grouping = survey, by, grouping
        grouping_id = None
        if not grouping:
            grouping_id = grouping_question(survey, by).id
        self._tables: dict[str, dict[str, Counts]] = {
            entry.id: {} for entry in survey.entries if entry.id != grouping_id
        }

    def add(self, codes: Codes, block: Codes, where: str) -> None:
        """Count one block."""
        groups, labels = _block_groups(self._survey, codes, block, self._by, self._grouping, where)
        # Of a block's question only those who were asked it are in a group.
        chosen = groups >= 0
        for entry in self._survey.entries:
            if entry.id in self._tables:
                _add_joint(self._tables[entry.id], labels, groups[chosen], codes[entry.id][chosen], entry)

    def added_to(self, alone: Tally) -> Tally:
        """Return a tally with these joint counts."""
        names = _group_names(self._survey, self._by, self._grouping, self._tables)
        width = {entry.id: sampler(entry.channel).cells for entry in self._survey.entries}
        tables = {
            name: np.array([table.get(label, np.zeros(width[name], dtype=np.int64)) for label in names])
            for name, table in self._tables.items()
        }
        joint = with_member_counts(self._survey, tables)
        return replace(alone, by=self._by, joint=joint, groups=tuple(names) if self._grouping else None)


def _block_groups(
    survey: Survey, codes: Codes, block: Codes, by: str, grouping: str | None, where: str
) -> tuple[npt.NDArray[np.int64], list[str]]:
    if grouping is None:
        option_codes = option_groups(survey, by, codes)
        if option_codes is None:
            option_codes = member_codes(survey, question_of(survey, by), codes)
        return (codes[by].astype(np.int64) if option_codes is None else option_codes), report_names(
            survey, by
        )
    values = pd.Series(block[grouping])
    if values.isna().any():
        raise AnalysisError(
            f'{where}: column "{grouping}" has empty cells', "fill them before grouping by it"
        )
    groups, labels = pd.factorize(group_names(values))
    return groups.astype(np.int64), [str(label) for label in labels]


def _add_joint(
    table: dict[str, Counts],
    labels: list[str],
    groups: npt.NDArray[np.int64],
    codes: npt.NDArray[Any],
    question: Question | Block,
) -> None:
    report_sampler = sampler(question.channel)
    if report_sampler.parts:
        rows = [report_sampler.tally(codes[groups == group]) for group in range(len(labels))]
    else:
        width = report_sampler.cells
        counted = np.bincount(groups * width + codes, minlength=len(labels) * width)
        rows = list(counted.reshape(len(labels), width))
    for label, row in zip(labels, rows, strict=True):
        table[label] = table[label] + row if label in table else row


def _group_names(
    survey: Survey, by: str, grouping: str | None, joint: Mapping[str, Mapping[str, Counts]]
) -> list[str]:
    if grouping is None:
        return report_names(survey, by)
    seen = {label for table in joint.values() for label in table}
    if len(seen) > 1000:
        raise AnalysisError(f'column "{by}" has {len(seen)} different values', "group by a column with few")
    return sorted(seen)


def report_names_of(survey: Survey, grouping: str | None = None) -> list[str]:
    """Name the columns of a survey's reports, and the one to group by."""
    return [*(column_of(entry.id) for entry in survey.entries), *([grouping] if grouping else [])]


def _frame_columns(survey: Survey, data: pd.DataFrame | Mapping[str, Any], grouping: str | None) -> Codes:
    check_columns(list(data.keys()), report_names_of(survey), grouping, "data")
    names = report_names_of(survey, grouping)
    if isinstance(data, pd.DataFrame):
        check_once(data, names)
    arrays = {name: np.asarray(data[name]) for name in names}
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise AnalysisError(f"columns have different lengths: {lengths}", "every report is complete")
    return arrays


def _file_blocks(survey: Survey, path: Path, grouping: str | None) -> Blocks:
    if not path.is_dir() and not any(file.exists() for file in files_at(path)):
        raise AnalysisError(f"{path.name}: no such file", "give a .csv or .parquet file of reports")
    if are_many(path) or path.suffix == ".parquet":
        return _parquet_blocks(survey, path, grouping)
    if path.suffix == ".csv" or path.name.endswith(".csv.gz"):
        return _csv_blocks(survey, path, grouping, report_names_of(survey, grouping))
    raise AnalysisError(f"{path.name}: cannot tell its format", "name it .csv, .csv.gz or .parquet")


def _parquet_blocks(survey: Survey, path: Path, grouping: str | None) -> Blocks:
    columns, names = report_names_of(survey), report_names_of(survey, grouping)
    pyarrow = arrow(path.name)
    files = files_at(path)
    if not files:
        raise AnalysisError(f"{path.name}: the folder holds no .parquet file")
    for name in files:
        try:
            file = pyarrow.parquet.ParquetFile(name)
        except (pyarrow.ArrowException, OSError) as error:
            raise AnalysisError(
                f"{name.name}: is not a Parquet file ({str(error).splitlines()[0]})"
            ) from None
        with file:
            check_hash(survey, file.schema_arrow.metadata or {}, name.name)
            check_columns(file.schema_arrow.names, columns, grouping, name.name)
            for batch in file.iter_batches(batch_size=BLOCK_ROWS, columns=names):
                yield {column: _arrow_codes(batch.column(column)) for column in names}


def _arrow_codes(column: Any) -> npt.NDArray[Any]:
    # Nulls would turn integers into floats: keep them visible as None for the check that follows.
    if column.null_count:
        return np.array(column.to_pylist(), dtype=object)
    values: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def check_hash(survey: Survey, metadata: Mapping[bytes, bytes], where: str) -> None:
    """Refuse a file that says it belongs to another survey."""
    file_hash = metadata.get(HASH_KEY, b"").decode("ascii", "replace")
    if file_hash and file_hash != survey.hash:
        raise AnalysisError(
            f"{where}: holds reports of survey {file_hash[:12]}…, not of {survey.hash[:12]}…",
            "give its own survey",
        )


def text_columns(survey: Survey) -> dict[str, type[str]]:
    return {column_of(entry.id): str for entry in survey.entries if sampler(entry.channel).digits}


def read_table(survey: Survey, path: Path, **options: Any) -> Any:
    """Read a CSV file with pandas; the name of a group is text whatever it looks like, also 1 or NA."""
    names = list(pd.read_csv(path, nrows=0).columns)
    if not survey.groups or FIELD not in names:
        return pd.read_csv(path, **options)
    empty = {name: _EMPTY for name in names if name != FIELD}
    options["dtype"] = {**options.get("dtype", {}), FIELD: str}
    return pd.read_csv(path, keep_default_na=False, na_values=empty, **options)


def _csv_blocks(
    survey: Survey, path: Path, grouping: str | None, names: list[str], texts: Collection[str] = ()
) -> Blocks:
    try:
        header = pd.read_csv(path, nrows=0)
        check_columns(header.columns, report_names_of(survey), grouping, path.name)
        # Bitmaps are text, also where all their digits are decimal ones. So are groups: 01 in one block and 2A in
        # another would be a number here and text there.
        spelled = text_columns(survey) | dict.fromkeys([*texts, *([grouping] if grouping else [])], str)
        with read_table(survey, path, usecols=names, chunksize=BLOCK_ROWS, dtype=spelled) as reader:
            for frame in reader:
                yield {name: frame[name].to_numpy() for name in names}
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError, OSError) as error:
        raise AnalysisError(f"{path.name}: is not a CSV file ({' '.join(str(error).split())})") from None


def _record_blocks(survey: Survey, blocks: Iterable[Any]) -> Blocks:
    layout = record_type(survey)
    for block in blocks:
        if not isinstance(block, bytes | bytearray | memoryview):
            raise AnalysisError(
                f"data: {type(block).__name__} is not a block of records",
                "give a data frame, counts for each question, a file, or the database's records",
            )
        if len(block) % layout.itemsize:
            raise AnalysisError(
                f"database: a block of {len(block)} bytes is not a whole number of {layout.itemsize}-byte records",
                "these records belong to another survey",
            )
        records = np.frombuffer(block, dtype=layout)
        named = {}
        if survey.groups:
            named = {FIELD: np.array(survey.groups, dtype=object)[records[FIELD]]}
        yield named | {column_of(entry.id): records[column_of(entry.id)] for entry in survey.entries}


def _checked_codes(
    question: Question | Block,
    values: npt.NDArray[Any],
    where: str,
    offset: int,
    rows: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[Any]:
    """Return the codes of one block as they are counted, or say which row is wrong; `rows` are those of the block."""
    codes, at = sampler(question.channel).read(np.asarray(values))
    if at is not None:
        raise foreign_code(question, values[at], where, offset + int(at if rows is None else rows[at]))
    return codes


def _same_survey(data: Tally, survey: Survey, by: str | None) -> Tally:
    if data.survey.hash != survey.hash:
        raise AnalysisError(
            f"the counts belong to survey {data.survey.hash[:12]}…, not to {survey.hash[:12]}…"
        )
    if by is not None and data.by != by:
        raise AnalysisError(
            f'these counts were not made by "{by}"', f'count the reports again with by="{by}"'
        )
    return data
