"""Rows that are alike, put together: ten million respondents are often a few thousand different rows.

A table may carry a column `TIMES`: each of its rows then stands for that number of respondents. Where they were
weighted, `WEIGHTS` and `SQUARES` have the sums of their weights and of the squares of these, `LEAST` and `MOST` the
smallest and the largest, and `POSITIVE` how many are above 0. A row without a value in `COMPLETE` stands for those who
lack one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

TIMES, WEIGHTS, SQUARES = "(times)", "(weights)", "(squares)"
LEAST, MOST, POSITIVE = "(least)", "(most)", "(positive)"
COMPLETE = "(complete)"
HOW_TO_ADD = {TIMES: "sum", WEIGHTS: "sum", SQUARES: "sum", POSITIVE: "sum", LEAST: "min", MOST: "max"}
FEWER = 0.5
"""What is left of the rows where putting them together pays."""

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Different rows, and for how many respondents each stands."""

    frame: pd.DataFrame
    times: npt.NDArray[np.float64]
    index: pd.Index[Any]
    """Names of the respondents' rows in the table that was given; of the different rows where that is not known."""
    of_row: Codes | None = None
    """Which of the rows is each respondent's; None where every row is its own."""

    def of_each(self, values: Any) -> Any:
        """Return what belongs to each respondent, from a table or array with an entry for each of the rows."""
        if self.of_row is None:
            return values
        if isinstance(values, pd.DataFrame | pd.Series):
            return values.iloc[self.of_row]
        return values[self.of_row]


def times_of(data: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return for how many respondents each row stands."""
    if TIMES in data.columns:
        return data[TIMES].to_numpy(dtype=np.float64)
    return np.ones(len(data))


def add_up(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Add up tables of rows that were put together by themselves."""
    table = pd.concat(parts, ignore_index=True)
    sums = {key: how for key, how in HOW_TO_ADD.items() if key in table.columns}
    columns = [name for name in table.columns if name not in sums]
    return table.groupby(columns, dropna=False, observed=True, as_index=False).agg(sums)


def each_row(data: pd.DataFrame) -> DistinctRows:
    """Return the rows as they are."""
    return DistinctRows(data, times_of(data), data.index)


def merge_equal_rows(
    data: pd.DataFrame, columns: Sequence[str], beside: Sequence[Codes] = ()
) -> DistinctRows | None:
    """Put rows together that are alike in these columns and codes; None where that leaves more than half of them."""
    has_labels = TIMES not in data.columns
    numbered = _number_combinations(
        [*(data[name] for name in columns), *beside], (FEWER if has_labels else 1.0) * len(data)
    )
    if numbered is None:
        return None
    of_row, first = numbered
    frame = data.iloc[first]
    times = np.asarray(np.bincount(of_row, weights=times_of(data), minlength=len(first)), dtype=np.float64)
    # Where nobody knows any more whose row was which, a row is called by what it holds.
    index = data.index
    if not has_labels:
        index = pd.MultiIndex.from_frame(frame[list(columns)])
    return DistinctRows(frame, times, index, of_row)


def _number_combinations(columns: Sequence[Any], most: float) -> tuple[Codes, Codes] | None:
    """Return the number of each row's combination, and where each combination first stands."""
    if columns:
        codes = np.zeros(len(columns[0]), dtype=np.int64)
    else:
        codes = np.zeros(0, dtype=np.int64)
    size = 1
    for column in columns:
        try:
            column_codes, values = pd.factorize(column, use_na_sentinel=False)
        except TypeError:  # values that cannot be compared
            return None
        codes = codes * len(values) + column_codes
        codes, combinations = pd.factorize(codes)
        size = len(combinations)
        if size > most:
            return None
    first = np.empty(size, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes.astype(np.int64, copy=False), first
