"""Raking: weights that agree with what is known of the population."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.arguments import number, whole_number
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import check_frame, read_column
from hushpoll_analysis.sample.distinct_rows import times_of
from hushpoll_analysis.sample.weights import Column, read_weights

Margins = Mapping[str, Mapping[Any, float]]


def rake(
    data: pd.DataFrame, margins: Margins, weights: Column = None, tolerance: float = 1e-10, rounds: int = 1000
) -> pd.Series[float]:
    """Rake weights to known margins (iterative proportional fitting; one margin alone is post-stratification).

    Parameters
    ----------
    data
        One row for each respondent; the margins' columns must be exact ones.
    margins
        For each column the known share of each of its values, as in ``{"sex": {"f": .52, "m": .48}}``; or how many
        people have it, as R's rake takes it, with the same total in every column.
    weights
        Weights to start from: a column's name or values; all equal by default.

    Returns
    -------
    pandas.Series
        Weights with the sum of the first ones, so that totals stand for the same population; without any, mean 1. Where
        numbers of people are known, they sum to these.

    References
    ----------
    Deming, Stephan, "On a least squares adjustment of a sampled frequency table", Ann. Math. Stat. 11 (1940).
    """
    check_frame(data)
    _check_margins(margins)
    if data.empty:
        raise AnalysisError("data: there are no respondents", "nothing can be raked")
    weight = read_weights(data, weights)
    number(tolerance, "tolerance", 0.0)
    raked = weight * raking_factors(data, margins, weight, tolerance, whole_number(rounds, "rounds", 1))
    return pd.Series(raked, index=data.index, name="weight")


def raking_factors(
    data: pd.DataFrame, margins: Margins, weights: Floats, tolerance: float = 1e-10, rounds: int = 1000
) -> Floats:
    """Return what raking multiplies the weight of each row by: it is the same for all who are alike in the margins."""
    total = float(weights.sum())
    people = people_of(data, margins)
    margin_columns = [_dummies(data, name, shares) for name, shares in margins.items()]
    factors = np.ones(len(data))
    for _ in range(rounds):
        worst = 0.0
        for dummies, target in margin_columns:
            current = (weights * factors) @ dummies / total
            worst = max(worst, float(np.max(np.abs(current - target))))
            factors = factors * (dummies @ (target / current))
        if worst < tolerance:
            if people is None:
                return factors
            return factors * (people / total)
    raise AnalysisError(
        f"raking did not settle in {rounds} rounds (margins are off by {worst:.2g})",
        "the known shares contradict each other in this sample, merge small groups",
    )


def margin_dummies(data: pd.DataFrame, margins: Margins) -> Floats:
    """Return a column for each value of each margin, 1 where a row has it."""
    return np.concatenate([_dummies(data, name, shares)[0] for name, shares in margins.items()], axis=1)


def _check_margins(margins: Margins) -> None:
    """Refuse what is not a mapping of columns to known shares."""
    if margins is None or (isinstance(margins, Mapping) and not margins):
        raise AnalysisError("no margins given", "name at least one column with its known shares")
    kinds = (margins, *margins.values()) if isinstance(margins, Mapping) else (margins,)
    wrong = [kind for kind in kinds if not isinstance(kind, Mapping)]
    if wrong:
        raise AnalysisError(
            f"margins: expected known shares for each column, as in {{'sex': {{'f': .52, 'm': .48}}}}, got {wrong[0]!r}"
        )


def _numbers(shares: Mapping[Any, float]) -> Floats:
    return pd.to_numeric(pd.Series(list(shares.values())), errors="coerce").to_numpy(dtype=np.float64)


def people_of(data: pd.DataFrame, margins: Margins) -> float | None:
    """Return how many people the margins are of, where they are numbers of people; None where they are shares."""
    _check_margins(margins)
    totals = {name: float(_numbers(shares).sum()) for name, shares in margins.items()}
    first, people = next(iter(totals.items()))
    if not people >= _respondents(data) > 1:
        return None
    other = next((name for name, total in totals.items() if abs(total - people) > 1e-6 * people), None)
    if other is not None:
        raise AnalysisError(
            f"margins {first!r} and {other!r} are of {people:g} and {totals[other]:g} people",
            "give shares, or numbers of the same population",
        )
    return people


def _dummies(data: pd.DataFrame, name: str, shares: Mapping[Any, float]) -> tuple[Floats, Floats]:
    column = read_column(data, name)
    target = _numbers(shares)
    if target.sum() >= _respondents(data) > 1:
        target = target / target.sum()
    if not (np.all(np.isfinite(target)) and np.all(target > 0) and abs(target.sum() - 1.0) < 1e-6):
        raise AnalysisError(
            f"margin {name!r}: the known shares must be positive and sum to 1, got {dict(shares)}",
            "numbers of people sum to at least the respondents",
        )
    codes = pd.Index(list(shares)).get_indexer(pd.Index(column))
    if (codes < 0).any():
        value = column.to_numpy()[int(np.flatnonzero(codes < 0)[0])]
        raise AnalysisError(f"margin {name!r} has no share for the value {value} in the data", "add it")
    dummies = np.eye(len(shares))[codes]
    empty = [key for key, count in zip(shares, dummies.sum(axis=0), strict=True) if count == 0]
    if empty:
        raise AnalysisError(
            f"margin {name!r}: nobody in the data has {empty[0]!r}", "merge it with another group"
        )
    return dummies, target / target.sum()


def _respondents(data: pd.DataFrame) -> float:
    """Return how many respondents the rows stand for."""
    return float(times_of(data).sum())
