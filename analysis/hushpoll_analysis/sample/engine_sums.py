"""What a query engine adds up of respondents who are alike: how many, their weights, and the squares of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.distinct_rows import LEAST, MOST, POSITIVE, SQUARES, TIMES, WEIGHTS

_WEIGHT = "(weight)"


def is_engine_table(data: Any) -> bool:
    """Return whether this is a query engine's table."""
    return type(data).__module__.startswith("ibis.")


def weighed(table: Any, keys: Mapping[str, Any], weights: str | None) -> Any:
    """Return a table of these expressions, by name, and the weights as numbers."""
    if weights is None:
        return table.select(**keys)
    check_present(weights, table.columns, "table")
    column = table[weights]
    # Text that is no number, and no weight at all, are found in the sums.
    if column.type().is_string():
        number = column.try_cast("float64")
    else:
        number = column.cast("float64")
    return table.select(**keys, **{_WEIGHT: number.fill_null(float("inf"))})


def engine_sums(chosen: Any, keys: Sequence[str], most: int) -> pd.DataFrame:
    """Group a table that `weighed` gave; not more than one row beyond `most` leaves the engine."""
    sums: dict[str, Any] = {TIMES: chosen.count()}
    if _WEIGHT in chosen.columns:
        weight = chosen[_WEIGHT]
        sums |= {
            WEIGHTS: weight.sum(),
            SQUARES: (weight * weight).sum(),
            POSITIVE: (weight > 0).sum(),
            LEAST: weight.min(),
            MOST: weight.max(),
        }
    sums_table: pd.DataFrame = chosen.group_by(list(keys)).agg(**sums).limit(most + 1).execute()
    return sums_table


def without_gaps(table: Any, names: Sequence[str], reports: Sequence[str]) -> Any:
    """Leave out the rows that lack a value in one of these columns; `reports` are those of codes."""
    for name in names:
        table = table.filter(table[name].notnull())
        if table[name].type().is_floating():
            table = table.filter(~table[name].isnan())
    # A column of numbers with gaps was often written as fractions; what is none is refused as a report.
    numbers = {name: table[name] for name in reports if table[name].type().is_floating()}
    cast = {
        name: (column == column.floor()).ifelse(column, -1.0).cast("int64")
        for name, column in numbers.items()
    }
    if cast:
        return table.mutate(**cast)
    return table


def check_present(weights: str | None, present: Sequence[str], where: str) -> None:
    """Refuse weights that no column has."""
    if weights is not None and weights not in present:
        raise AnalysisError(f'{where}: no column "{weights}"', "name the column of the weights")


def check_sums(sums: pd.DataFrame, weights: str) -> None:
    """Refuse weights that are missing, negative or 0 for all but one, from their sums."""
    if not np.isfinite(sums[[WEIGHTS, LEAST]].to_numpy(dtype=np.float64)).all():
        raise AnalysisError(f"{weights}: some weights are missing or no numbers", "give each row one")
    if sums[LEAST].min() < 0:
        raise AnalysisError(f"weight {sums[LEAST].min():g} is negative", "weights must be 0 or more")
    if not sums[WEIGHTS].sum() > 0:
        raise AnalysisError("all weights are 0", "give at least some people a weight")
    if sums[POSITIVE].sum() < 2:
        raise AnalysisError(
            f"{weights}: all weights but one are 0, so there is one respondent and no standard error",
            "give at least two people a weight",
        )


def digit_rows(ibis: Any, column: Any, start: int, stop: int) -> dict[str, Any]:
    """Return one row for each of these digits of a bitmap."""
    # Not cast here: Spark takes no expression around what makes rows.
    return {"text": column, "place": ibis.range(start, stop).unnest()}


def digit_at(ibis: Any, text: Any, position: Any) -> Any:
    """Return which digit stands at a place: where it stands in the list of all, or -1."""
    return ibis.literal("0123456789abcdef").find(text.substr(position, 1)).cast("int64")
