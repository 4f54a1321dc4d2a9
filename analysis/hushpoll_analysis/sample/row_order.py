"""Columns given with a table: values with the table's labels are matched by them, all others by position."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_analysis.errors import AnalysisError


def in_row_order(values: Any, rows: Any, what: str = "values") -> npt.NDArray[Any]:
    """Return values in the order of the table (or of its column) `rows`, as pandas would align them."""
    if isinstance(values, pd.Series | pd.DataFrame) and isinstance(rows, pd.Series | pd.DataFrame):
        index, row_index = values.index, rows.index
        if len(index) == len(row_index) and not index.equals(row_index):
            is_row = index.isin(row_index)
            if is_row.all() and index.is_unique and row_index.is_unique:
                values = values.reindex(row_index)
            elif is_row.any():
                raise AnalysisError(
                    f"{what}: some labels of its index are rows of the table, and some are not, or occur twice",
                    "give it the table's index, or values without labels (.to_numpy()) in the order of the rows",
                )
    return np.asarray(values)


def value_at(column: pd.Series[Any], row: int) -> Any:
    """Return one value as a message writes it: 2, not np.int64(2)."""
    value = column.iloc[row]
    if isinstance(value, np.generic):
        return value.item()
    return value
