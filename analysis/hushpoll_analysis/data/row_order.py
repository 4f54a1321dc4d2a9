"""Columns given beside a table: what carries the table's labels is read by them, everything else by place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_analysis.errors import AnalysisError

__all__ = ["in_row_order", "value_at"]


def in_row_order(values: Any, rows: Any, what: str = "values") -> npt.NDArray[Any]:
    """Return values in the order of the table (or of its column) `rows`, as pandas would align them."""
    if isinstance(values, pd.Series | pd.DataFrame) and isinstance(rows, pd.Series | pd.DataFrame):
        own, wanted = values.index, rows.index
        if len(own) == len(wanted) and not own.equals(wanted):
            known = own.isin(wanted)
            if known.all() and own.is_unique and wanted.is_unique:
                values = values.reindex(wanted)
            elif known.any():
                raise AnalysisError(
                    f"{what}: some labels of its index are rows of the table, and some are not, or occur twice",
                    "give it the table's index, or values without labels (.to_numpy()) in the order of the rows",
                )
    return np.asarray(values)


def value_at(column: pd.Series[Any], row: int) -> Any:
    """Return one value as a message writes it: 2, not np.int64(2)."""
    value = column.iloc[row]
    return value.item() if isinstance(value, np.generic) else value
