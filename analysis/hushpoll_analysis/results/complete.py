"""Rows of a report's data that have a value everywhere: the others are refused, or left out and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import pandas as pd
from hushpoll_client import Survey

from hushpoll_analysis.data.arrow import are_many
from hushpoll_analysis.data.missing import OMIT, check_action, chosen_rows, complete, names_in
from hushpoll_analysis.data.tally import column_of

from .sampled import rows_of_file, rows_of_parts

__all__ = ["complete_rows"]

CSV = (".csv", ".csv.gz")


def complete_rows(
    survey: Survey, data: Any, na_action: str, beside: Sequence[Any]
) -> tuple[Any, tuple[Any, ...], int]:
    """Leave out rows with a missing report, group or value of the sample design, if that is wanted.

    `beside` are names of columns, or values beside the data; they are given back with the rows that remain, and how
    many were left out. Counts and the database's records have no missing values. Of many files that rows are needed of,
    the columns that are named are read.
    """
    check_action(na_action)
    if isinstance(data, str | Path) and are_many(data) and (na_action == OMIT or _needs_rows(beside)):
        data = rows_of_parts(survey, data, list(names_in(list(beside))))
    if (
        isinstance(data, str | Path)
        and str(data).endswith(CSV)
        and (na_action == OMIT or _needs_rows(beside))
    ):
        data = rows_of_file(survey, Path(data), _texts(beside))
    if na_action != OMIT or not isinstance(data, pd.DataFrame | Mapping | str | Path):
        return data, tuple(beside), 0
    frame = rows_of_file(survey, Path(data)) if isinstance(data, str | Path) else pd.DataFrame(data)
    asked = [column_of(entry.id) for entry in survey.entries]
    named = {*asked, *names_in(list(beside))}
    used = [name for name in frame.columns if name in named]
    kept = complete(frame, used, beside)
    rest = frame[kept].reset_index(drop=True)
    return rest, tuple(chosen_rows(one, frame, kept) for one in beside), int((~kept).sum())


def _texts(beside: Sequence[Any]) -> list[str]:
    """Name the column of the groups, which is text in counting too, unless the sample design needs what it holds."""
    *design, (by, margins) = beside
    return [] if by is None or by in set(names_in([design, margins])) else [by]


def _needs_rows(beside: Sequence[Any]) -> bool:
    """Say whether a sample design was given that counts do not tell."""
    *design, (by, margins) = beside
    population = design[3]
    alone = isinstance(population, Real) and by is None
    given = [*design[:3], design[4], margins, *([] if alone else [population])]
    return any(one is not None for one in given)
