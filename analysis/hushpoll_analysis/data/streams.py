"""Tables and models of more respondents than memory holds: read block by block, rows that are alike put together.

What a table or a model needs of ten million reports is how often each combination of reports and covariates came. A
query engine counts Parquet files; the database's records and CSV files are counted block by block.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.group import FIELD
from tqdm import tqdm

from hushpoll_analysis.errors import AnalysisError

from .alike import SQUARES, TIMES, WEIGHTS
from .files import column_names, wanted_blocks
from .link_groups import folded_frame
from .missing import names_in
from .parts import engine_tables
from .tally import column_of

__all__ = ["MOST_ROWS", "combinations", "takes_streams"]

MOST_ROWS = 200_000
"""Different rows that are kept: a logit of so many, with three covariates, takes 70 MB beside the program."""
_LEAST, _POSITIVE = "(least)", "(positive)"
_HOW_TO_SUM = {TIMES: "sum", WEIGHTS: "sum", SQUARES: "sum", _LEAST: "min", _POSITIVE: "sum"}
_NEEDS_ROWS = ("clusters", "margins", "population", "replicates", "designs")

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
    return isinstance(data, str | Path | Iterator) or type(data).__module__.startswith("ibis.")


def _read(given: Mapping[str, Any], data: str, mechanisms: str) -> dict[str, Any]:
    """Give the arguments of a call with a table of different rows in place of what is read."""
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
            (key for key in ("weights", "strata") if not isinstance(given.get(key), str | None)), None
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
    )
    if weights is not None:
        arguments["weights"] = WEIGHTS
    return arguments


def combinations(survey: Survey, data: Any, names: Sequence[str], weights: str | None = None) -> pd.DataFrame:
    """Give every different row of reports once, with the column `(times)`: for how many respondents it stands.

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
    """
    parts: list[pd.DataFrame] = []
    for part in _counted(survey, data, set(names), weights):
        parts.append(part)
        if sum(map(len, parts)) > MOST_ROWS or len(parts) > 32:
            parts = [_added(parts)]
        if len(parts[0]) > MOST_ROWS:
            raise _too_many(parts[0])
    if not parts:
        raise AnalysisError("there are no reports", "there is nothing to estimate")
    found = _added(parts)
    if len(found) > MOST_ROWS:
        raise _too_many(found)
    if weights is not None:
        _check_weights(found, weights)
    return folded_frame(survey, found.drop(columns=[_LEAST, _POSITIVE], errors="ignore"))


def _too_many(found: pd.DataFrame) -> AnalysisError:
    columns = [name for name in found.columns if name not in _HOW_TO_SUM]
    most = max(columns, key=lambda name: found[name].nunique())
    return AnalysisError(
        f"{', '.join(columns)} have more than {MOST_ROWS:,} different combinations, too many to put together",
        f"put the values of {most} into classes, or read the table and give that: a logit of a million different rows "
        "with three covariates takes some 600 MB",
    )


def _check_weights(found: pd.DataFrame, weights: str) -> None:
    if not np.isfinite(found[[WEIGHTS, _LEAST]].to_numpy(dtype=np.float64)).all():
        raise AnalysisError(f"{weights}: some weights are missing or no numbers", "give each row one")
    if found[_LEAST].min() < 0:
        raise AnalysisError(f"weight {found[_LEAST].min():g} is negative", "weights must be 0 or more")
    if not found[WEIGHTS].sum() > 0:
        raise AnalysisError("all weights are 0", "give at least some people a weight")
    if found[_POSITIVE].sum() < 2:
        raise AnalysisError(
            f"{weights}: all weights but one are 0, so there is one respondent and no standard error",
            "give at least two people a weight",
        )


def _added(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Add up parts that were counted by themselves."""
    whole = pd.concat(parts, ignore_index=True)
    sums = {key: how for key, how in _HOW_TO_SUM.items() if key in whole.columns}
    columns = [name for name in whole.columns if name not in sums]
    return whole.groupby(columns, dropna=False, observed=True, as_index=False).agg(sums)


def _wanted(survey: Survey, present: Iterable[str], names: set[str]) -> list[str]:
    """Give the columns of the data that are needed: those of questions, of their blocks, and exact ones."""
    told: dict[str, set[str]] = {column_of(one.id): {one.id} for one in survey.entries}
    for block in survey.blocks:
        told[column_of(block.id)] |= set(block.questions)
    present = list(present)
    found = [one for one in present if ({one} | told.get(one, set())) & names]
    if not found:
        raise AnalysisError(
            "none of the columns that are asked for is in the data", f"these have {', '.join(present)}"
        )
    return found


def _counted(survey: Survey, data: Any, names: set[str], weights: str | None) -> Iterator[pd.DataFrame]:
    """Count the combinations of each block of the data."""
    if type(data).__module__.startswith("ibis."):
        yield _grouped(data, _wanted(survey, data.columns, names), weights)
        return
    path = Path(data) if isinstance(data, str | Path) else None
    if path is not None and not str(path).endswith((".csv", ".csv.gz")):
        yield from _counted_parts(survey, path, names, weights)
        return
    present = [*([FIELD] if survey.groups else []), *(column_of(one.id) for one in survey.entries)]
    present = present if path is None else column_names(path)
    wanted = _wanted(survey, present, names)
    _check_present(weights, present, "database" if path is None else path.name)
    columns = list(dict.fromkeys([*wanted, *([] if weights is None else [weights])]))
    texts = [] if path is None else _mixed(survey, path, wanted)
    with tqdm(unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
        for block in wanted_blocks(survey, data, columns, texts):
            yield _added([_alone(pd.DataFrame(block), wanted, weights)])
            bar.update(len(next(iter(block.values()))))


def _mixed(survey: Survey, path: Path, wanted: Sequence[str]) -> list[str]:
    """Name the columns of a file that are numbers in one block and text in another: 1 and "1" would be two values."""
    exact = [name for name in wanted if name not in {column_of(one.id) for one in survey.entries}]
    kinds: dict[str, set[bool]] = {name: set() for name in exact}
    for block in wanted_blocks(survey, path, exact) if exact else ():
        for name, values in block.items():
            kind = pd.api.types.infer_dtype(values, skipna=True)
            kinds[name] |= {True, False} if kind.startswith("mixed") else {kind == "string"}
    return [name for name, found in kinds.items() if len(found) > 1]


def _check_present(weights: str | None, present: Sequence[str], where: str) -> None:
    if weights is not None and weights not in present:
        raise AnalysisError(f'{where}: no column "{weights}"', "name the column of the weights")


def _alone(block: pd.DataFrame, wanted: list[str], weights: str | None) -> pd.DataFrame:
    """Give the wanted columns of a block with what is added up of each row."""
    sums: dict[str, Any] = {TIMES: 1}
    if weights is not None:
        each = pd.to_numeric(block[weights], errors="coerce").astype(np.float64).fillna(np.inf)
        sums |= {WEIGHTS: each, SQUARES: each**2, _LEAST: each, _POSITIVE: (each > 0.0).astype(np.int64)}
    return block[wanted].assign(**sums)


def _counted_parts(
    survey: Survey, path: Path, names: set[str], weights: str | None
) -> Iterator[pd.DataFrame]:
    """Count Parquet files by DuckDB, some at a time, so that there is something to tell of how far it is."""
    with (
        engine_tables(survey, path) as (tables, total),
        tqdm(total=total, unit=" reports", unit_scale=True, disable=None, leave=False) as bar,
    ):
        for table, rows in tables:
            yield _grouped(table, _wanted(survey, table.columns, names), weights)
            bar.update(rows)


def _grouped(table: Any, columns: Sequence[str], weights: str | None) -> pd.DataFrame:
    """Group a query engine's table."""
    sums: dict[str, Any] = {TIMES: table.count()}
    if weights is not None:
        _check_present(weights, table.columns, "table")
        each = table[weights].cast("float64").fill_null(float("inf"))
        sums |= {WEIGHTS: each.sum(), SQUARES: (each * each).sum(), _LEAST: each.min()}
        sums |= {_POSITIVE: (each > 0.0).cast("int64").sum()}
    found: pd.DataFrame = table.group_by(list(columns)).agg(**sums).execute()
    return found
