"""Rows of a report's data that have a value everywhere: the others are refused, or left out and counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import pandas as pd
from hushpoll_client import Survey

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.arrow import are_many
from hushpoll_analysis.sample.engine_reports import EngineReports
from hushpoll_analysis.sample.engine_sums import is_engine_table
from hushpoll_analysis.sample.missing import OMIT, check_action, chosen_rows, complete, names_in
from hushpoll_analysis.sample.tally import column_of

from .respondents import MOST_READ, rows_of_file, rows_of_parts, too_many_to_read

_NAMED = ("weights", "strata", "clusters", "population")
CSV = (".csv", ".csv.gz")


def complete_rows(
    survey: Survey, data: Any, na_action: str, beside: Sequence[Any]
) -> tuple[Any, tuple[Any, ...], int]:
    """Leave out rows with a missing report, group or value of the sample design, if that is wanted.

    `beside` are names of columns, or values that are not in the data; they are given back with the rows that remain,
    and how many were left out. Counts and the database's records have no missing values. Of many files that rows are
    needed of, the columns that are named are read; rows that are too many for that, or that a query engine has, are
    left to it.
    """
    check_action(na_action)
    if na_action == OMIT or _needs_rows(beside):
        if is_engine_table(data) or too_many_to_read(survey, data):
            return _of_engine(survey, data, na_action, beside)
        if isinstance(data, str | Path) and are_many(data):
            data = rows_of_parts(survey, data, list(_names(beside)))
        elif isinstance(data, str | Path) and str(data).endswith(CSV):
            data = rows_of_file(survey, Path(data), _texts(beside))
    if na_action != OMIT or not isinstance(data, pd.DataFrame | Mapping | str | Path):
        return data, tuple(beside), 0
    if isinstance(data, str | Path):
        frame = rows_of_file(survey, Path(data))
    else:
        frame = pd.DataFrame(data)
    is_complete = complete(frame, _used(survey, frame.columns, beside), beside)
    rest = frame[is_complete].reset_index(drop=True)
    return rest, tuple(chosen_rows(value, frame, is_complete) for value in beside), int((~is_complete).sum())


def _of_engine(
    survey: Survey, data: Any, na_action: str, beside: Sequence[Any]
) -> tuple[EngineReports, tuple[Any, ...], int]:
    """Leave the rows to a query engine, which puts those together that are alike."""
    *design, replicates, _ = beside
    if replicates is not None:
        raise AnalysisError(
            "replicate weights need a row for each respondent, and these reports are put together while they are read",
            f"give at most {MOST_READ:,} reports in Parquet files, a random part of the clusters, without an engine",
        )
    for key, value in zip(_NAMED, design, strict=True):
        if not isinstance(value, str | Real | Mapping | None):
            raise AnalysisError(
                f"{key} needs a row for each respondent, and these reports are put together while they are read",
                "name a column",
            )
    reports = EngineReports(survey, data)
    if na_action == OMIT:
        reports = EngineReports(survey, data, tuple(_used(survey, reports.columns, beside)))
    return reports, tuple(beside), reports.left_out()


def _used(survey: Survey, columns: Iterable[Any], beside: Sequence[Any]) -> list[Any]:
    """Name the columns in which a row needs a value: reports, and those that are named."""
    named = {*(column_of(entry.id) for entry in survey.entries), *_names(beside)}
    return [name for name in columns if name in named]


def _names(beside: Sequence[Any]) -> Iterator[str]:
    """Name the columns that a sample design and groups are in."""
    *design, (by, margins) = beside
    return names_in({"design": design, "by": by, "margins": margins})


def _texts(beside: Sequence[Any]) -> list[str]:
    """Name the column of the groups, which is text in counting too, unless the sample design needs what it holds."""
    *design, (by, margins) = beside
    if by is None or by in set(_names([*design, (None, margins)])):
        return []
    return [by]


def _needs_rows(beside: Sequence[Any]) -> bool:
    """Return whether a sample design was given that counts do not tell."""
    *design, (by, margins) = beside
    population = design[3]
    alone = isinstance(population, Real) and by is None
    keywords = [*design[:3], design[4], margins, *([] if alone else [population])]
    return any(keyword is not None for keyword in keywords)
