"""How respondents were sampled: with-replacement linearisation, effective sample size, finite populations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.sample.columns import Codes
from hushpoll_analysis.sample.distinct_rows import DistinctRows
from hushpoll_analysis.sample.replicates import ReplicateWeights


def put_design_together(design: SampleDesign | None, rows: DistinctRows) -> SampleDesign | None:
    """Add up the weights of rows that were put together."""
    if design is None or rows.of_row is None:
        return design
    size, single = len(rows.frame), design.single
    positive = design.weights > 0.0 if single is None else single.positive
    weights, squares, positive = (
        np.asarray(np.bincount(rows.of_row, values, size), dtype=np.float64)
        for values in (design.weights, design.squared, positive)
    )
    strata, most = np.zeros(size, dtype=np.int64), np.zeros(size)
    strata[rows.of_row] = design.strata
    np.maximum.at(most, rows.of_row, design.weights if single is None else single.most)
    return SampleDesign(weights, strata, single=SingleWeights(rows.times, squares, most, positive))


def can_be_grouped(design: SampleDesign | None) -> bool:
    """Return whether strata tell whose weights can be added up: no clusters, raking, finite population, replicates."""
    if design is None:
        return True
    limits = (design.clusters, design.adjusted, design.fractions, design.replicates)
    return all(limit is None for limit in limits)


def strata_codes(design: SampleDesign | None) -> tuple[Codes, ...]:
    """Return what rows of a design must have in common to be put together."""
    if design is None or not design.strata.any():
        return ()
    return (design.strata,)


Noise = Callable[[], Floats]


@dataclass(frozen=True, eq=False)
class SingleWeights:
    """What is known of the weights of single respondents, where a row of a design stands for several of them."""

    times: Floats
    """For how many respondents each row stands."""
    squares: Floats
    """Sum of the squares of their weights."""
    most: Floats
    """The largest of their weights."""
    positive: Floats
    """How many of them have a weight above 0."""

    def multiplied(self, factor: Floats) -> SingleWeights:
        """Multiply the weights of all respondents of a row by one factor."""
        return SingleWeights(
            self.times, self.squares * factor**2, self.most * factor, self.positive * (factor > 0.0)
        )


@dataclass(frozen=True, eq=False)
class SampleDesign:
    """How the respondents were sampled.

    Variances are those of the linearised statistic with primary units drawn with replacement inside strata (Binder
    1983; the usual "ultimate cluster" estimator): sum over strata of n_h/(n_h - 1) sum_c (T_hc - mean_h)^2, where
    T_hc is the sum over cluster c of weight times influence. Intervals use t with clusters minus strata degrees
    of freedom. In a finite population a stratum's part shrinks by 1 - f_h, but what the randomization adds does not:
    sum over respondents of f_h w^2 Var(value | truth) is added again.

    A row is a respondent, or stands for several that are alike in their values, stratum, cluster and margins: their
    weights then are `weights` together, and `single` has what else is needed of them. Totals of clusters are linear in
    these sums. Where every respondent is a unit of their own, the sum over a row of (w v)^2 is v^2 sum w^2.
    """

    weights: Floats
    strata: Codes
    clusters: Codes | None = None
    """The cluster of each row; None where every respondent is a unit of their own."""
    adjusted: Floats | None = field(default=None, repr=False)
    """Dummies of the margins that the weights were raked to: their variance is regressed out."""
    fractions: Floats | None = field(default=None, repr=False)
    """The fraction sampled of each stratum of a finite population."""
    replicates: ReplicateWeights | None = field(default=None, repr=False)
    """Replicate weights: the variance comes from them, not from strata and clusters."""
    single: SingleWeights | None = field(default=None, repr=False)
    """Where a row stands for several respondents, what is known of them; None where every row is one."""
    is_simple: bool = field(default=False, repr=False)
    """Whether nothing was given, so that it is that of a simple random sample."""

    @property
    def n(self) -> int:
        """Number of respondents."""
        if self.single is None:
            return len(self.weights)
        return round(float(self.single.times.sum()))

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
        """Squares of the weights, added up where a row stands for several respondents."""
        if self.single is None:
            return self.weights**2
        return self.single.squares

    @property
    def sampling_fraction(self) -> float:
        """The fraction of a finite population that was drawn: of its strata by the squares of their weights."""
        if self.fractions is None:
            return 0.0
        return float(self.fractions[self.strata] @ self.squared / np.sum(self.squared))

    @property
    def people(self) -> float | None:
        """Number of people in the finite population; None where it has no end or its clusters are counted."""
        if self.fractions is None or self.clusters is not None:
            return None
        return float(np.sum(self.units / self.fractions))

    @property
    def heaviest(self) -> float:
        """The largest weight of one respondent."""
        return float((self.weights if self.single is None else self.single.most).max())

    @property
    def positive(self) -> int:
        """Number of respondents with a weight above 0."""
        if self.single is None:
            return int(np.count_nonzero(self.weights))
        return round(float(self.single.positive.sum()))

    @cached_property
    def _clusters(self) -> tuple[Codes, Codes]:
        """Primary unit of each row, stratum of each unit, where clusters were drawn."""
        assert self.clusters is not None
        pairs = np.stack([self.strata, self.clusters], axis=1)
        units, unit_of = np.unique(pairs, axis=0, return_inverse=True)
        return unit_of.reshape(-1).astype(np.int64), units[:, 0]

    @cached_property
    def units(self) -> Codes:
        """Number of primary units in each stratum: clusters, or respondents."""
        if self.clusters is not None:
            counted = np.bincount(self._clusters[1])
        elif self.single is None:
            counted = np.bincount(self.strata)
        else:
            counted = np.rint(np.bincount(self.strata, weights=self.single.times))
        return counted.astype(np.int64)

    @property
    def degrees_of_freedom(self) -> int:
        """Number of clusters minus number of strata; of replicate weights their rank minus one."""
        if self.replicates is not None:
            return self.replicates.degrees_of_freedom
        return int(self.units.sum()) - int((self.units > 0).sum())

    @property
    def freedom(self) -> int | None:
        """Degrees of freedom of t intervals; None means the normal ones of a simple random sample."""
        if self.is_simple:
            return None
        return self.degrees_of_freedom

    def mean(self, values: Floats) -> Floats:
        """Weighted mean of each column."""
        return np.asarray(self.weights @ values / self.total, dtype=np.float64)

    @property
    def without_population(self) -> SampleDesign:
        """The same design from a population without end."""
        if self.fractions is None:
            return self
        return replace(self, fractions=None)

    def multiplied(self, factor: Floats) -> SampleDesign:
        """Multiply the weights of each row's respondents by its factor."""
        single = None
        if self.single is not None:
            single = self.single.multiplied(factor)
        return replace(self, weights=self.weights * factor, single=single)

    def among(self, chosen: npt.NDArray[np.bool_], share: float) -> SampleDesign:
        """Return the design of a random part of the respondents; the others weigh nothing, but their clusters count.

        Of a finite population the fraction that takes part is smaller by the share.
        """
        return replace(
            self.multiplied(chosen.astype(np.float64)),
            fractions=None if self.fractions is None else self.fractions * share,
            replicates=None if self.replicates is None else self.replicates.among(chosen),
        )

    def total_covariance(self, values: Floats, noise: Noise | None = None) -> Floats:
        """Covariance of the weighted totals of the columns of `values` (a row for each row of the design, q columns).

        `noise` estimates without bias what the randomization of each respondent's report adds (rows x q x q); it is
        computed in a finite population only.
        """
        values = values.reshape(len(self.weights), -1)
        if self.replicates is not None:
            totals = self.replicates.weights.T @ values
            return self.replicates.spread(totals, self.weights @ values)
        if self.adjusted is not None:
            values = self._residuals(values)
        factor = self.units / np.maximum(self.units - 1, 1)
        if self.fractions is not None:
            factor = factor * (1.0 - self.fractions)
        alike = self.clusters is None and self.single is not None
        if alike:
            result = self._of_alike(values, factor)
        else:
            result = self._of_units(values, factor)
        if self.fractions is not None and noise is not None:
            share = self.fractions[self.strata] * self.squared
            result = result + np.einsum("n,nab->ab", share, noise().reshape(*values.shape, -1))
        return np.asarray(result, dtype=np.float64)

    def _of_units(self, values: Floats, factor: Floats) -> Floats:
        """Add up, over strata, factor times the squares of the units' totals around their mean."""
        contributions = self.weights[:, None] * values
        if self.clusters is None:
            totals, stratum_of = contributions, self.strata
        else:
            unit_of, stratum_of = self._clusters
            totals = _added(contributions, unit_of, len(stratum_of))
        sums = _added(totals, stratum_of, len(self.units))
        centred = totals - (sums / np.maximum(self.units, 1)[:, None])[stratum_of]
        return np.asarray((centred * factor[stratum_of][:, None]).T @ centred, dtype=np.float64)

    def _of_alike(self, values: Floats, factor: Floats) -> Floats:
        """Add up the same, where every respondent is a unit and a row stands for several of them."""
        sums = _added(self.weights[:, None] * values, self.strata, len(self.units))
        around = (values * (self.squared * factor[self.strata])[:, None]).T @ values
        middle = (sums * (factor / np.maximum(self.units, 1))[:, None]).T @ sums
        return np.asarray(around - middle, dtype=np.float64)

    def covariance(self, influence: Floats, noise: Noise | None = None) -> Floats:
        """Covariance of means (or ratios) whose influence values, one row per respondent, have weighted mean zero."""
        if self.replicates is not None:
            weights = self.replicates.weights
            means = weights.T @ influence.reshape(len(weights), -1) / weights.sum(axis=0)[:, None]
            return self.replicates.spread(means, np.zeros(means.shape[1]))
        return self.total_covariance(influence, noise) / self.total**2

    def _residuals(self, values: Floats) -> Floats:
        """Return what the raked margins do not explain (calibration residuals; Deville and Särndal 1992)."""
        assert self.adjusted is not None
        root = np.sqrt(self.weights)[:, None]
        beta, *_ = np.linalg.lstsq(self.adjusted * root, values * root, rcond=None)
        return np.asarray(values - self.adjusted @ beta, dtype=np.float64)


def _added(values: Floats, group_of: Codes, groups: int) -> Floats:
    """Add up the rows of each group."""
    sums = np.zeros((groups, values.shape[1]))
    np.add.at(sums, group_of, values)
    return sums
