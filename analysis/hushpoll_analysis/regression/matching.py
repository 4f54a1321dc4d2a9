"""Matching a table with the rows that a model was fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import find_column
from hushpoll_analysis.sample.row_order import value_at

if TYPE_CHECKING:
    from .fit import ModelFit

REMEDY = "give the table that was fitted, with its index"


def matched_rows(fit: ModelFit, data: pd.DataFrame) -> pd.DataFrame:
    """Return `data` in the order of the fitted rows, matched by index.

    Raises AnalysisError if the index is another one and no column of the model shows that the rows are the same, or if
    a column of the model has other values than the fit. `data` has as many rows as the fit.
    """
    fitted = fit.data.rows.index
    is_matched = len(fitted) == fit.n and fitted.is_unique and data.index.is_unique
    same_names = data.index.equals(fitted)
    if is_matched and not same_names and fitted.isin(data.index).all():
        data, same_names = data.loc[fitted], True
    compared = [_agrees(fit, data, name) for name in (*fit.data.terms.frame.columns, fit.data.outcome_name)]
    if not same_names and not any(compared):
        raise AnalysisError(
            "the index of data is not the one that was fitted, and no column of the model is there to compare",
            REMEDY,
        )
    return data


def _agrees(fit: ModelFit, data: pd.DataFrame, name: str) -> bool:
    """Return whether a column of the model could be compared; raise AnalysisError if it has other values."""
    rows = fit.data.rows
    randomized = name in fit.data.randomized
    fitted_name, given_name = (find_column(frame, name, randomized) for frame in (rows.frame, data))
    if fitted_name is None or fitted_name != given_name:
        return False
    if rows.of_row is None:
        fitted = rows.frame[fitted_name]
    else:
        fitted = rows.frame[fitted_name].iloc[rows.of_row]
    fitted, column = (values.reset_index(drop=True) for values in (fitted, data[given_name]))
    if len(fitted) != len(column):
        return False
    unequal = np.flatnonzero(fitted.to_numpy() != column.to_numpy())
    if len(unequal):
        row = int(unequal[0])
        raise AnalysisError(
            f"data has other rows than the fit: {fitted_name!r} is {value_at(column, row)!r} in row {row}, "
            f"and the fit had {value_at(fitted, row)!r} there",
            REMEDY,
        )
    return True
