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

from .distinct_rows import COMPLETE, HOW_TO_ADD, LEAST, MOST, POSITIVE, SQUARES, TIMES, WEIGHTS, added
from .engine_sums import check_present, check_sums, engine_sums, is_engine_table, weighed, without_gaps
from .files import column_names, wanted_blocks
from .link_groups import folded_frame
from .missing import OMIT, names_in
from .parts import engine_tables
from .tally import column_of

__all__ = ["MOST_ROWS", "combinations", "takes_streams"]

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
        known = inspect.signature(function)

        @wraps(function)
        def whole(*args: Any, **keys: Any) -> Result:
            try:
                given = known.bind(*args, **keys).arguments
            except TypeError:
                return function(*args, **keys)  # which says what is wrong
            if not _is_stream(given.get(data)):
                return function(*args, **keys)
            return function(**_read(given, data, mechanisms))

        whole.__signature__ = known  # type: ignore[attr-defined]
        return whole

    return decorate


def _is_stream(data: Any) -> bool:
    if isinstance(data, list | tuple):
        return bool(data) and isinstance(data[0], bytes | bytearray | memoryview)
    return isinstance(data, str | Path | Iterator) or is_engine_table(data)


def _read(given: Mapping[str, Any], data: str, mechanisms: str) -> dict[str, Any]:
    """Return the arguments of a call with a table of different rows in place of what is read."""
    survey, arguments = given[mechanisms], dict(given)
    if not isinstance(survey, Survey):
        raise AnalysisError(
            f"{data}: reports that are read in blocks need the survey, not mechanisms by themselves",
            "give the survey, or read the table (pandas.read_parquet, pandas.read_csv) and give the DataFrame",
        )
    wrong = next((key for key in _NEEDS_ROWS if given.get(key) is not None), None)
    weights = given.get("weights")
    if wrong is None:
        wrong = next(
            (key for key in _NAMED if not isinstance(given.get(key), str | Real | Mapping | None)), None
        )
    if wrong is not None:
        raise AnalysisError(
            f"{wrong} needs a row for each respondent, and these reports are put together while they are read",
            "read the table (pandas.read_parquet, pandas.read_csv) and give that"
            if wrong in _NEEDS_ROWS
            else "name a column",
        )
    named = {key: one for key, one in given.items() if key not in (data, mechanisms, "weights")}
    # Of `question[option]` the question's column is needed.
    arguments[data] = combinations(
        survey,
        given[data],
        [part for name in names_in(named) for part in (name, name.split("[")[0])],
        weights,
        given.get("na_action") == OMIT,
    )
    if weights is not None:
        arguments["weights"] = WEIGHTS
    return arguments


def combinations(
    survey: Survey, data: Any, names: Sequence[str], weights: str | None = None, omit: bool = False
) -> pd.DataFrame:
    """Return every different row of reports once, with the column `(times)`: for how many respondents it stands.

    Parameters
    ----------
    survey : Survey
        What was asked.
    data : path, pattern, Ibis table, or iterable of bytes
        A .csv, Parquet files (a folder, or a pattern such as `parts/*.parquet`), a query engine's table, or the
        database's records.
    names : sequence of str
        Questions and columns that are needed; what the data do not have is left to who asks for it.
    weights : str, optional
        A column of weights: `(weights)` and `(squares)` are then the sums of them and of their squares.
    omit : bool
        Put those who lack a value together in a last row that has none in `(complete)`.
    """
    parts: list[pd.DataFrame] = []
    left_out = 0
    for part, lacking in _counted(survey, data, set(names), weights, omit):
        parts.append(part)
        left_out += lacking
        if sum(map(len, parts)) > MOST_ROWS or len(parts) > 32:
            parts = [added(parts)]
        if len(parts[0]) > MOST_ROWS:
            raise _too_many(parts[0])
    if not parts:
        raise AnalysisError("there are no reports", "there is nothing to estimate")
    found = added(parts)
    if len(found) > MOST_ROWS:
        raise _too_many(found)
    if weights is not None:
        check_sums(found, weights)
    found = folded_frame(survey, found)
    if not left_out or found.empty:
        return found
    # Whoever takes `na_action` leaves this row out, and says for how many it stands.
    last = found.iloc[[0]].assign(**{TIMES: left_out, COMPLETE: np.nan})
    return pd.concat([found.assign(**{COMPLETE: 1.0}), last], ignore_index=True)


def _too_many(found: pd.DataFrame) -> AnalysisError:
    columns = [name for name in found.columns if name not in HOW_TO_ADD]
    most = max(columns, key=lambda name: found[name].nunique())
    return AnalysisError(
        f"{', '.join(columns)} have more than {MOST_ROWS:,} different combinations, too many to put together",
        f"put the values of {most} into classes, or read the table and give that: a logit of a million different rows "
        "with three covariates takes some 600 MB",
    )


def _wanted(survey: Survey, present: Iterable[str], names: set[str]) -> list[str]:
    """Return the columns of the data that are needed: those of questions, of their blocks, and exact ones."""
    told: dict[str, set[str]] = {column_of(entry.id): {entry.id} for entry in survey.entries}
    for block in survey.blocks:
        told[column_of(block.id)] |= set(block.questions)
    present = list(present)
    found = [one for one in present if ({one} | told.get(one, set())) & names]
    if not found:
        raise AnalysisError(
            "none of the columns that are asked for is in the data", f"these have {', '.join(present)}"
        )
    return found


def _counted(
    survey: Survey, data: Any, names: set[str], weights: str | None, omit: bool
) -> Iterator[tuple[pd.DataFrame, int]]:
    """Count the combinations of each block of the data, and those who lack a value, where they are to be left out."""
    if is_engine_table(data):
        yield _summed(survey, data, names, weights, omit)
        return
    path = Path(data) if isinstance(data, str | Path) else None
    if path is not None and not str(path).endswith((".csv", ".csv.gz")):
        yield from _counted_parts(survey, path, names, weights, omit)
        return
    present = [*([FIELD] if survey.groups else []), *(column_of(entry.id) for entry in survey.entries)]
    present = present if path is None else column_names(path)
    wanted = _wanted(survey, present, names)
    check_present(weights, present, "database" if path is None else path.name)
    columns = list(dict.fromkeys([*wanted, *([] if weights is None else [weights])]))
    texts = [] if path is None else _mixed(survey, path, wanted)
    with tqdm(unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
        for block, lacking in wanted_blocks(survey, data, columns, texts, omit):
            yield added([_alone(pd.DataFrame(block), wanted, weights)]), lacking
            bar.update(len(next(iter(block.values()))) + lacking)


def _mixed(survey: Survey, path: Path, wanted: Sequence[str]) -> list[str]:
    """Name the columns of a file that are numbers in one block and text in another: 1 and "1" would be two values."""
    exact = [name for name in wanted if name not in {column_of(entry.id) for entry in survey.entries}]
    kinds: dict[str, set[bool]] = {name: set() for name in exact}
    for block, _ in wanted_blocks(survey, path, exact) if exact else ():
        for name, values in block.items():
            kind = pd.api.types.infer_dtype(values, skipna=True)
            kinds[name] |= {True, False} if kind.startswith("mixed") else {kind == "string"}
    return [name for name, found in kinds.items() if len(found) > 1]


def _alone(block: pd.DataFrame, wanted: list[str], weights: str | None) -> pd.DataFrame:
    """Return the wanted columns of a block with what is added up of each row."""
    sums: dict[str, Any] = {TIMES: 1}
    if weights is not None:
        each = pd.to_numeric(block[weights], errors="coerce").astype(np.float64).fillna(np.inf)
        sums |= {
            WEIGHTS: each,
            SQUARES: each**2,
            POSITIVE: (each > 0).astype(np.int64),
            LEAST: each,
            MOST: each,
        }
    return block[wanted].assign(**sums)


def _counted_parts(
    survey: Survey, path: Path, names: set[str], weights: str | None, omit: bool
) -> Iterator[tuple[pd.DataFrame, int]]:
    """Count Parquet files by DuckDB, some at a time, so that there is something to tell of how far it is."""
    with (
        engine_tables(survey, path) as (tables, total),
        tqdm(total=total, unit=" reports", unit_scale=True, disable=None, leave=False) as bar,
    ):
        for table, rows in tables:
            yield _summed(survey, table, names, weights, omit)
            bar.update(rows)


def _summed(
    survey: Survey, table: Any, names: set[str], weights: str | None, omit: bool
) -> tuple[pd.DataFrame, int]:
    """Group a query engine's table."""
    columns, lacking = _wanted(survey, table.columns, names), 0
    check_present(weights, table.columns, "table")
    if omit:
        reports = {column_of(entry.id) for entry in survey.entries} & set(columns)
        needed = dict.fromkeys([*columns, *([] if weights is None else [weights])])
        complete = without_gaps(table, list(needed), list(reports))
        lacking = int(table.count().execute()) - int(complete.count().execute())
        table = complete
    chosen = weighed(table, {name: table[name] for name in columns}, weights)
    return engine_sums(chosen, columns, MOST_ROWS), lacking
