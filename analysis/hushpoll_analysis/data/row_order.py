"""Columns given beside a table: a Series that carries the table's labels is read by them, everything else by place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

__all__ = ["in_row_order", "value_at"]


def in_row_order(values: Any, rows: Any) -> npt.NDArray[Any]:
    """Give values in the order of the table (or of its column) `rows`, as pandas would align them."""
    if isinstance(values, pd.Series) and isinstance(rows, pd.Series | pd.DataFrame):
        own, wanted = values.index, rows.index
        same = len(own) == len(wanted) and own.is_unique and wanted.is_unique
        if same and not own.equals(wanted) and bool(own.isin(wanted).all()):
            values = values.reindex(wanted)
    return np.asarray(values)


def value_at(column: pd.Series[Any], row: int) -> Any:
    """Give one value as a message writes it: 2, not np.int64(2)."""
    value = column.iloc[row]
    return value.item() if isinstance(value, np.generic) else value
