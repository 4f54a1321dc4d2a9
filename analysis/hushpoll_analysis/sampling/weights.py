"""Weights, strata and clusters: with-replacement linearisation, effective sample size, raking to known margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.columns import Codes, check_frame, column_of
from hushpoll_analysis.data.row_order import in_row_order
from hushpoll_analysis.errors import AnalysisError

from .population import Population, sampling_fractions
from .replicates import ReplicateWeights, read_replicates

__all__ = ["Column", "Margins", "SampleDesign", "rake", "read_sample_design", "row_values"]

Column = str | Sequence[Any] | npt.NDArray[Any] | pd.Series | None
Margins = Mapping[str, Mapping[Any, float]]


@dataclass(frozen=True, eq=False)
class SampleDesign:
    """How the respondents were sampled.

    Variances are those of the linearised statistic with primary units drawn with replacement inside strata (Binder
    1983; the usual "ultimate cluster" estimator): sum over strata of n_h/(n_h - 1) sum_c (T_hc - mean_h)^2, where
    T_hc is the sum over cluster c of weight times influence. Intervals use t with clusters minus strata degrees
    of freedom. In a finite population a stratum's part shrinks by 1 - f_h, but what the randomization adds does not:
    sum over respondents of f_h w^2 Var(value | truth) is added again.
    """

    weights: Floats
    strata: Codes
    clusters: Codes
    adjusted: Floats | None = field(default=None, repr=False)
    """Dummies of the margins that the weights were raked to: their variance is regressed out."""
    fractions: Floats | None = field(default=None, repr=False)
    """The fraction sampled of each stratum of a finite population."""
    replicates: ReplicateWeights | None = field(default=None, repr=False)
    """Replicate weights: the variance comes from them, not from strata and clusters."""

    @property
    def n(self) -> int:
        """Number of respondents."""
        return len(self.weights)

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    @property
    def effective_n(self) -> float:
        """Kish's effective sample size, (sum w)^2 / sum w^2."""
        return self.total**2 / float(np.sum(self.squared))

    @property
    def squared(self) -> Floats:
        """Squares of the weights."""
        return self.weights**2

    @cached_property
    def _units(self) -> tuple[Codes, Codes, Codes]:
        """Primary unit of each respondent, stratum of each unit, units in each stratum."""
        pairs = np.stack([self.strata, self.clusters], axis=1)
        units, unit_of = np.unique(pairs, axis=0, return_inverse=True)
        stratum_of = units[:, 0]
        per_stratum = np.bincount(stratum_of)
        return unit_of.reshape(-1).astype(np.int64), stratum_of, per_stratum.astype(np.int64)

    @property
    def degrees_of_freedom(self) -> int:
        """Number of clusters minus number of strata; of replicate weights their rank minus one."""
        if self.replicates is not None:
            return self.replicates.degrees_of_freedom
        _, stratum_of, per_stratum = self._units
        return len(stratum_of) - int((per_stratum > 0).sum())

    def mean(self, values: Floats) -> Floats:
        """Weighted mean of each column."""
        return np.asarray(self.weights @ values / self.total, dtype=np.float64)

    @property
    def without_population(self) -> SampleDesign:
        """The same design from a population without end."""
        return self if self.fractions is None else replace(self, fractions=None)

    def among(self, chosen: npt.NDArray[np.bool_], share: float) -> SampleDesign:
        """Give the design of a random part of the respondents; the others weigh nothing, but their clusters count.

        Of a finite population the fraction that takes part is smaller by the share.
        """
        return replace(
            self,
            weights=self.weights * chosen,
            fractions=None if self.fractions is None else self.fractions * share,
            replicates=None if self.replicates is None else self.replicates.among(chosen),
        )

    def total_covariance(self, values: Floats, noise: Floats | None = None) -> Floats:
        """Covariance of the weighted totals of the columns of `values` (n x q).

        `noise` (n x q x q) is an unbiased estimate of what the randomization of each respondent's report adds.
        """
        values = values.reshape(self.n, -1)
        if self.replicates is not None:
            totals = self.replicates.weights.T @ values
            return self.replicates.spread(totals, self.weights @ values)
        if self.adjusted is not None:
            values = self._residuals(values)
        unit_of, stratum_of, per_stratum = self._units
        contributions = self.weights[:, None] * values
        totals = np.zeros((len(stratum_of), values.shape[1]))
        np.add.at(totals, unit_of, contributions)
        sums = np.zeros((len(per_stratum), values.shape[1]))
        np.add.at(sums, stratum_of, totals)
        centred = totals - (sums / np.maximum(per_stratum, 1)[:, None])[stratum_of]
        factor = per_stratum / np.maximum(per_stratum - 1, 1)
        if self.fractions is not None:
            factor = factor * (1.0 - self.fractions)
        result = (centred * factor[stratum_of][:, None]).T @ centred
        if self.fractions is not None and noise is not None:
            share = self.fractions[self.strata] * self.weights**2
            result = result + np.einsum("n,nab->ab", share, noise.reshape(self.n, values.shape[1], -1))
        return np.asarray(result, dtype=np.float64)

    def covariance(self, influence: Floats, noise: Floats | None = None) -> Floats:
        """Covariance of means (or ratios) whose influence values, one row per respondent, have weighted mean zero."""
        if self.replicates is not None:
            weights = self.replicates.weights
            means = weights.T @ influence.reshape(self.n, -1) / weights.sum(axis=0)[:, None]
            return self.replicates.spread(means, np.zeros(means.shape[1]))
        return self.total_covariance(influence, noise) / self.total**2

    def _residuals(self, values: Floats) -> Floats:
        """Give what the raked margins do not explain (calibration residuals; Deville and Särndal 1992)."""
        assert self.adjusted is not None
        root = np.sqrt(self.weights)[:, None]
        beta, *_ = np.linalg.lstsq(self.adjusted * root, values * root, rcond=None)
        return np.asarray(values - self.adjusted @ beta, dtype=np.float64)


def read_sample_design(
    data: pd.DataFrame,
    weights: Column = None,
    strata: Column = None,
    clusters: Column = None,
    margins: Margins | None = None,
    population: Population = None,
    replicates: Any = None,
) -> SampleDesign | None:
    """Read a design from columns (names or values); None when nothing was asked for.

    A `population` without weights gives everybody the weight N/n of their stratum. `margins` then rakes the weights to
    known shares, keeps their sum (numbers of people: has theirs), and takes the raking into account in the variances.
    `replicates` are `Replicates`, or columns of bootstrap weights.
    """
    if all(one is None for one in (weights, strata, clusters, margins, population, replicates)):
        return None
    n = len(check_frame(data))
    _check_together(population, replicates, strata, clusters, margins)
    weight = _weights(data, weights)
    stratum = np.zeros(n, dtype=np.int64) if strata is None else _groups(data, strata, "strata")[0]
    cluster = np.arange(n) if clusters is None else _groups(data, clusters, "clusters")[0]
    if replicates is not None:
        return SampleDesign(weight, stratum, cluster, None, None, read_replicates(data, replicates))
    design = SampleDesign(weight, stratum, cluster)
    _check_units(design, data, strata)
    if population is not None:
        expand = weights is None and clusters is None
        design = _of_population(design, data, population, strata, expand)
    if margins is None:
        return design
    if population is not None and clusters is None:
        _check_people(design, data, population, margins)
    # After the weights of the strata: raked before, they would not keep to the margins.
    return _raked(design, data, margins)


def _check_together(
    population: Population, replicates: Any, strata: Column, clusters: Column, margins: Margins | None
) -> None:
    if replicates is None:
        return
    if any(one is not None for one in (population, strata, clusters, margins)):
        raise AnalysisError(
            "replicate weights carry the whole design", "leave strata, clusters, margins and population out"
        )


def _of_population(
    design: SampleDesign, data: pd.DataFrame, population: Population, strata: Column, expand: bool
) -> SampleDesign:
    """Add the fractions sampled; `expand` makes weights of them."""
    names = [None] if strata is None else list(_groups(data, strata, "strata")[1])
    _, _, units = design._units
    fractions = sampling_fractions(data, population, design.strata, names, units)
    if not expand:
        return replace(design, fractions=fractions)
    return replace(design, fractions=fractions, weights=design.weights / fractions[design.strata])


def _raked(design: SampleDesign, data: pd.DataFrame, margins: Margins) -> SampleDesign:
    """Rake the weights, and keep what their variance is regressed on."""
    weights = np.asarray(rake(data, margins, design.weights), dtype=np.float64)
    dummies = [_dummies(data, name, shares)[0] for name, shares in margins.items()]
    return replace(design, weights=weights, adjusted=np.concatenate(dummies, axis=1))


def _check_people(design: SampleDesign, data: pd.DataFrame, population: Population, margins: Margins) -> None:
    """Refuse margins of other numbers of people than the population; a fraction sampled is no number of people."""
    _check_margins(margins)
    people = _people(data, margins)
    if people is None or (isinstance(population, float | int) and population <= 1.0):
        return
    assert design.fractions is not None
    size = float(np.sum(design._units[2] / design.fractions))
    if abs(people - size) > 1e-3 * size:
        raise AnalysisError(
            f"margins are of {people:,.0f} people, and the population has {size:,.0f}",
            "give numbers of the same population, or the margins as shares",
        )


def rake(
    data: pd.DataFrame,
    margins: Margins,
    weights: Column = None,
    tolerance: float = 1e-10,
    rounds: int = 1000,
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
    weight = _weights(data, weights)
    total = float(weight.sum())
    people = _people(data, margins)
    known = [_dummies(data, name, shares) for name, shares in margins.items()]
    for _ in range(rounds):
        worst = 0.0
        for dummies, target in known:
            current = weight @ dummies / total
            worst = max(worst, float(np.max(np.abs(current - target))))
            weight = weight * (dummies @ (target / current))
        if worst < tolerance:
            scaled = weight if people is None else weight * (people / total)
            return pd.Series(scaled, index=data.index, name="weight")
    raise AnalysisError(
        f"raking did not settle in {rounds} rounds (margins are off by {worst:.2g})",
        "the known shares contradict each other in this sample, merge small groups",
    )


def _check_margins(margins: Margins) -> None:
    """Refuse what is not a mapping of columns to known shares."""
    if margins is None or (isinstance(margins, Mapping) and not margins):
        raise AnalysisError("no margins given", "name at least one column with its known shares")
    kinds = (margins, *margins.values()) if isinstance(margins, Mapping) else (margins,)
    wrong = [one for one in kinds if not isinstance(one, Mapping)]
    if wrong:
        raise AnalysisError(
            f"margins: expected known shares for each column, as in {{'sex': {{'f': .52, 'm': .48}}}}, got {wrong[0]!r}"
        )


def _numbers(shares: Mapping[Any, float]) -> Floats:
    return pd.to_numeric(pd.Series(list(shares.values())), errors="coerce").to_numpy(dtype=np.float64)


def _people(data: pd.DataFrame, margins: Margins) -> float | None:
    """Give how many people the margins are of, where they are numbers of people; None where they are shares."""
    totals = {name: float(_numbers(shares).sum()) for name, shares in margins.items()}
    first, people = next(iter(totals.items()))
    if not people >= len(data) > 1:
        return None
    other = next((name for name, total in totals.items() if abs(total - people) > 1e-6 * people), None)
    if other is not None:
        raise AnalysisError(
            f"margins {first!r} and {other!r} are of {people:g} and {totals[other]:g} people",
            "give shares, or numbers of the same population",
        )
    return people


def _dummies(data: pd.DataFrame, name: str, shares: Mapping[Any, float]) -> tuple[Floats, Floats]:
    column = column_of(data, name)
    target = _numbers(shares)
    if target.sum() >= len(data) > 1:
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


def _weights(data: pd.DataFrame, weights: Column) -> Floats:
    if weights is None:
        return np.ones(len(data), dtype=np.float64)
    values = pd.to_numeric(pd.Series(row_values(data, weights, "weights")), errors="coerce").to_numpy(
        dtype=np.float64
    )
    if not np.all(np.isfinite(values)):
        raise AnalysisError(
            f"{int((~np.isfinite(values)).sum())} weights are missing or no numbers", "give each row one"
        )
    if np.any(values < 0):
        row = int(np.flatnonzero(values < 0)[0])
        raise AnalysisError(f"weight {values[row]:g} in row {row} is negative", "weights must be 0 or more")
    if values.sum() == 0:
        raise AnalysisError("all weights are 0", "give at least some people a weight")
    if np.count_nonzero(values) < 2:
        row = int(np.argmax(values))
        raise AnalysisError(
            f"all weights but that of row {row} are 0, so there is one respondent and no standard error",
            "give at least two people a weight",
        )
    return values


def _groups(data: pd.DataFrame, column: Column, what: str) -> tuple[Codes, pd.Index[Any]]:
    codes, values = pd.factorize(pd.Series(row_values(data, column, what)))
    if (codes < 0).any():
        raise AnalysisError(f"{int((codes < 0).sum())} values of {what} are missing", "give each row one")
    return codes.astype(np.int64), pd.Index(values)


def row_values(data: pd.DataFrame, column: Column, what: str) -> npt.NDArray[Any]:
    """Give one value for each respondent, from a column's name or from values."""
    if isinstance(column, str):
        return np.asarray(column_of(data, column))
    values = in_row_order(column, data, what)
    if values.shape != (len(data),):
        raise AnalysisError(
            f"{what} has shape {values.shape} for {len(data)} respondents", "give one value for each"
        )
    return values


def _check_units(design: SampleDesign, data: pd.DataFrame, strata: Column) -> None:
    _, _, per_stratum = design._units
    lonely = np.flatnonzero(per_stratum == 1)
    if not len(lonely):
        return
    if strata is None:
        raise AnalysisError("there is one cluster only", "a variance needs at least two")
    _, names = _groups(data, strata, "strata")
    raise AnalysisError(
        f"stratum {names[lonely[0]]!r} has one cluster only, so its variance is unknown",
        "merge it with another stratum",
    )
