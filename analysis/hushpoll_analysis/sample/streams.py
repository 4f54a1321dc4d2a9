"""Tables and models of more respondents than memory holds: read block by block, rows that are alike put together.

What a table or a model needs of ten million reports is how often each combination of reports and covariates came. A
query engine counts Parquet files; the database's records and CSV files are counted block by block.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey.group import FIELD
from tqdm import tqdm

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.distinct_rows import (
    COMPLETE,
    HOW_TO_ADD,
    LEAST,
    MOST,
    POSITIVE,
    SQUARES,
    TIMES,
    WEIGHTS,
    add_up,
)
from hushpoll_analysis.sample.engine_sums import (
    check_present,
    check_sums,
    engine_sums,
    is_engine_table,
    weighed,
    without_gaps,
)
from hushpoll_analysis.sample.files import column_blocks, column_names
from hushpoll_analysis.sample.link_groups import folded_frame
from hushpoll_analysis.sample.missing import OMIT, names_in
from hushpoll_analysis.sample.parts import engine_tables
from hushpoll_analysis.sample.tally import column_of

MOST_ROWS = 200_000
"""Different rows that are kept: a logit of so many, with three covariates, takes 70 MB beside the program."""
_NEEDS_ROWS = ("replicates", "designs")
_NAMED = ("weights", "strata", "clusters", "population")

Result = TypeVar("Result")


def takes_streams(data: str, mechanisms: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Let a function of a table take more than memory holds: files, a query engine's table, the database's records.

    `data` and `mechanisms` are the names of its parameters. What it reads are the columns that the call names.
    """

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        signature = inspect.signature(function)

        @wraps(function)
        def wrapper(*args: Any, **keys: Any) -> Result:
            try:
                call_arguments = signature.bind(*args, **keys).arguments
            except TypeError:
                return function(*args, **keys)  # which says what is wrong
            if not _is_stream(call_arguments.get(data)):
                return function(*args, **keys)
            return function(**_read(call_arguments, data, mechanisms))

        wrapper.__signature__ = signature  # type: ignore[attr-defined]
        return wrapper

    return decorate


def _is_stream(data: Any) -> bool:
    if isinstance(data, list | tuple):
        return bool(data) and isinstance(data[0], bytes | bytearray | memoryview)
    return isinstance(data, str | Path | Iterator) or is_engine_table(data)


def _read(call_arguments: Mapping[str, Any], data: str, mechanisms: str) -> dict[str, Any]:
    """Return the arguments of a call with a table of different rows in place of what is read."""
    survey, arguments = call_arguments[mechanisms], dict(call_arguments)
    if not isinstance(survey, Survey):
        raise AnalysisError(
            f"{data}: reports that are read in blocks need the survey, not mechanisms by themselves",
            "give the survey, or read the table (pandas.read_parquet, pandas.read_csv) and give the DataFrame",
        )
    wrong = next((key for key in _NEEDS_ROWS if call_arguments.get(key) is not None), None)
    weights = call_arguments.get("weights")
    if wrong is None:
        wrong = next(
            (key for key in _NAMED if not isinstance(call_arguments.get(key), str | Real | Mapping | None)),
            None,
        )
    if wrong is not None:
        raise AnalysisError(
            f"{wrong} needs a row for each respondent, and these reports are put together while they are read",
            "read the table (pandas.read_parquet, pandas.read_csv) and give that"
            if wrong in _NEEDS_ROWS
            else "name a column",
        )
    named = {key: value for key, value in call_arguments.items() if key not in (data, mechanisms, "weights")}
    # Of `question[option]` the question's column is needed.
    arguments[data] = combinations(
        survey,
        call_arguments[data],
        [column for name in names_in(named) for column in (name, name.split("[")[0])],
        weights,
        call_arguments.get("na_action") == OMIT,
    )
    if weights is not None:
        arguments["weights"] = WEIGHTS
    return arguments


def combinations(
    survey: Survey, data: Any, names: Sequence[str], weights: str | None = None, omit: bool = False
) -> pd.DataFrame:
    """Return every different row of reports once, with the column `(times)`: for how many respondents it stands.

    `data` is a .csv, Parquet files (a folder, or a pattern), a query engine's table, or the database's records. `names`
    are the questions and columns that are needed; what the data do not have is left to who asks for it. With a column
    of `weights`, `(weights)` and `(squares)` are the sums of them and of their squares. With `omit` those who lack a
    value are put together in a last row that has none in `(complete)`.
    """
    parts: list[pd.DataFrame] = []
    left_out = 0
    for table, lacking in _count_blocks(survey, data, set(names), weights, omit):
        parts.append(table)
        left_out += lacking
        if sum(map(len, parts)) > MOST_ROWS or len(parts) > 32:
            parts = [add_up(parts)]
        if len(parts[0]) > MOST_ROWS:
            raise _too_many(parts[0])
    if not parts:
        raise AnalysisError("there are no reports", "there is nothing to estimate")
    rows = add_up(parts)
    if len(rows) > MOST_ROWS:
        raise _too_many(rows)
    if weights is not None:
        check_sums(rows, weights)
    rows = folded_frame(survey, rows)
    if not left_out or rows.empty:
        return rows
    # Whoever takes `na_action` leaves this row out, and says for how many it stands.
    last = rows.iloc[[0]].assign(**{TIMES: left_out, COMPLETE: np.nan})
    return pd.concat([rows.assign(**{COMPLETE: 1.0}), last], ignore_index=True)


def _too_many(rows: pd.DataFrame) -> AnalysisError:
    columns = [name for name in rows.columns if name not in HOW_TO_ADD]
    most = max(columns, key=lambda name: rows[name].nunique())
    return AnalysisError(
        f"{', '.join(columns)} have more than {MOST_ROWS:,} different combinations, too many to put together",
        f"put the values of {most} into classes, or read the table and give that: a logit of a million different rows "
        "with three covariates takes some 600 MB",
    )


def _needed_columns(survey: Survey, present: Iterable[str], names: set[str]) -> list[str]:
    """Return the columns of the data that are needed: those of questions, of their blocks, and exact ones."""
    questions_of: dict[str, set[str]] = {column_of(entry.id): {entry.id} for entry in survey.entries}
    for block in survey.blocks:
        questions_of[column_of(block.id)] |= set(block.questions)
    present = list(present)
    columns = [column for column in present if ({column} | questions_of.get(column, set())) & names]
    if not columns:
        raise AnalysisError(
            "none of the columns that are asked for is in the data", f"these have {', '.join(present)}"
        )
    return columns


def _count_blocks(
    survey: Survey, data: Any, names: set[str], weights: str | None, omit: bool
) -> Iterator[tuple[pd.DataFrame, int]]:
    """Count the combinations of each block of the data, and those who lack a value, where they are to be left out."""
    if is_engine_table(data):
        yield _sum_table(survey, data, names, weights, omit)
        return
    path = None
    if isinstance(data, str | Path):
        path = Path(data)
    if path is not None and not str(path).endswith((".csv", ".csv.gz")):
        yield from _count_parts(survey, path, names, weights, omit)
        return
    present = [*([FIELD] if survey.groups else []), *(column_of(entry.id) for entry in survey.entries)]
    if path is not None:
        present = column_names(path)
    needed_columns = _needed_columns(survey, present, names)
    check_present(weights, present, "database" if path is None else path.name)
    columns = list(dict.fromkeys([*needed_columns, *([] if weights is None else [weights])]))
    texts = []
    if path is not None:
        texts = _mixed_columns(survey, path, needed_columns)
    with tqdm(unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
        for block, lacking in column_blocks(survey, data, columns, texts, omit):
            yield add_up([_with_sums(pd.DataFrame(block), needed_columns, weights)]), lacking
            bar.update(len(next(iter(block.values()))) + lacking)


def _mixed_columns(survey: Survey, path: Path, names: Sequence[str]) -> list[str]:
    """Name the columns of a file that are numbers in one block and text in another: 1 and "1" would be two values."""
    exact = [name for name in names if name not in {column_of(entry.id) for entry in survey.entries}]
    kinds: dict[str, set[bool]] = {name: set() for name in exact}
    for block, _ in column_blocks(survey, path, exact) if exact else ():
        for name, values in block.items():
            kind = pd.api.types.infer_dtype(values, skipna=True)
            kinds[name] |= {True, False} if kind.startswith("mixed") else {kind == "string"}
    return [name for name, types in kinds.items() if len(types) > 1]


def _with_sums(block: pd.DataFrame, names: list[str], weights: str | None) -> pd.DataFrame:
    """Return the wanted columns of a block with what is add_up up of each row."""
    sums: dict[str, Any] = {TIMES: 1}
    if weights is not None:
        values = pd.to_numeric(block[weights], errors="coerce").astype(np.float64).fillna(np.inf)
        sums |= {
            WEIGHTS: values,
            SQUARES: values**2,
            POSITIVE: (values > 0).astype(np.int64),
            LEAST: values,
            MOST: values,
        }
    return block[names].assign(**sums)


def _count_parts(
    survey: Survey, path: Path, names: set[str], weights: str | None, omit: bool
) -> Iterator[tuple[pd.DataFrame, int]]:
    """Count Parquet files by DuckDB, some at a time, so that there is something to tell of how far it is."""
    with (
        engine_tables(survey, path) as (tables, total),
        tqdm(total=total, unit=" reports", unit_scale=True, disable=None, leave=False) as bar,
    ):
        for table, rows in tables:
            yield _sum_table(survey, table, names, weights, omit)
            bar.update(rows)


def _sum_table(
    survey: Survey, table: Any, names: set[str], weights: str | None, omit: bool
) -> tuple[pd.DataFrame, int]:
    """Group a query engine's table."""
    columns, lacking = _needed_columns(survey, table.columns, names), 0
    check_present(weights, table.columns, "table")
    if omit:
        reports = {column_of(entry.id) for entry in survey.entries} & set(columns)
        required = dict.fromkeys([*columns, *([] if weights is None else [weights])])
        complete = without_gaps(table, list(required), list(reports))
        lacking = int(table.count().execute()) - int(complete.count().execute())
        table = complete
    chosen = weighed(table, {name: table[name] for name in columns}, weights)
    return engine_sums(chosen, columns, MOST_ROWS), lacking
