"""Groups of alike people: Lloyd's algorithm on the estimated joint distribution of scales or numbers.

It sees estimated shares only, never a person, and works on reports that were randomized before they were sent: nothing
of anybody's epsilon is spent, however often it is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from hushpoll_analysis.arguments import by_name, seed_of
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import check_level
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.interval.student import critical
from hushpoll_analysis.result import PlottedResult
from hushpoll_analysis.sample.columns import Codes, Mechanisms, check_names
from hushpoll_analysis.sample.missing import takes_missing

from .latent_table import LatentTable, points_of, read_latent

MOST_STEPS = 300
ALIKE = 0.9
MOST_COLUMNS = 3


@dataclass(frozen=True, eq=False)
class Clusters(PlottedResult):
    """Centres of k groups with their shares, each with a bootstrap interval; groups are ordered by the first column.

    `agreement` is the share of bootstrap runs that put at least nine of ten people into the same group as these centres
    do: where it is small, the noise allows fewer groups only. It does not tell how many groups there are in truth.
    `spread` is the mean squared distance of people from their centre, in the units in which distances were measured.
    """

    words = "centre"

    names: tuple[str, ...]
    n: int
    level: float
    centres: Floats
    low: Floats
    high: Floats
    shares: Floats
    shares_low: Floats
    shares_high: Floats
    agreement: float
    runs: int
    spread: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each group and quantity: its share, then its centre in each column."""
        rows = []
        for group in range(len(self.shares)):
            limits = (self.shares[group], self.shares_low[group], self.shares_high[group])
            rows.append((group + 1, "share", *limits))
            for column, name in enumerate(self.names):
                at = (group, column)
                rows.append((group + 1, name, self.centres[at], self.low[at], self.high[at]))
        frame = pd.DataFrame(rows, columns=["cluster", "quantity", "estimate", "low", "high"])
        return frame.set_index(["cluster", "quantity"])

    def _picture(self) -> pd.DataFrame:
        frame = self.to_frame().drop("share", level="quantity")
        return frame.set_axis([f"group {group}: {name}" for group, name in frame.index], axis=0)

    def _notebook_notes(self) -> tuple[str, ...]:
        return (f"{self.agreement:.0%} of {self.runs} bootstrap runs find the same groups",)


@takes_missing
def clusters(
    reports: Any,
    mechanisms: Mechanisms,
    columns: Sequence[str],
    k: int,
    *,
    values: Mapping[str, Sequence[float]] | None = None,
    labels: Mapping[str, Sequence[Any]] | None = None,
    standardize: bool = True,
    level: float = 0.95,
    starts: int = 20,
    runs: int = 200,
    seed: int | None = None,
) -> Clusters:
    r"""Find k groups of people who answered two or three scales or numbers alike.

    Parameters
    ----------
    reports, mechanisms, labels
        As in `crosstab`.
    columns
        The questions, all of them randomized.
    k
        The number of groups.
    values
        The number that each answer stands for, where the survey does not say it (otherwise 0, 1, 2, ...).
    standardize
        Measure distances with every column's range taken as 1; otherwise in the columns' own units.
    starts
        How often the algorithm begins anew from centres drawn at random; the best end counts.
    runs
        Bootstrap runs behind the intervals.
    seed
        For results that can be repeated.

    Notes
    -----
    The shares of all joint answers come from the constrained likelihood, so that none is negative; Lloyd's algorithm
    then moves each centre to the mean of the answers nearest to it, weighted by their shares. What is reported of the
    groups so found uses the unbiased shares, because the constrained ones draw centres together. Standard errors come
    from a parametric bootstrap: reports drawn anew at the estimated shares, everything repeated, the groups matched to
    the first ones by the least total distance. Intervals tell how far chance can move the centres, not whether there
    are k groups.

    References
    ----------
    Lloyd, "Least squares quantization in PCM", IEEE Trans. Inf. Theory 28 (1982).
    """
    check_level(level)
    check_names(columns)
    if len(columns) > MOST_COLUMNS and not isinstance(columns, str):
        raise AnalysisError(
            f"{len(columns)} questions are too many for groups", f"take at most {MOST_COLUMNS}"
        )
    points_given = by_name(values, "values")
    table = read_latent(reports, mechanisms, columns, by_name(labels, "labels"), "a search for groups")
    points = [points_of(variable, mechanisms, points_given) for variable in table.joint.variables]
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*points, indexing="ij")], axis=1)
    _check(k, len(grid), starts, runs)
    if standardize:
        units = np.ptp(grid, axis=0)
    else:
        units = np.ones(grid.shape[1])
    units = np.where(units > 0, units, 1.0)
    search = _Search(grid / units, np.random.default_rng(seed_of(seed)))
    rough, spread = search.best(table, k, starts)
    rough = rough[np.lexsort(rough.T[::-1])]
    centres, shares = search.settled(table, rough)
    again = [search.matched(table, rough) for _ in range(runs)]
    low, high = _limits(centres, [fit[0] for fit in again], level)
    low, high = np.maximum(low, search.grid.min(axis=0)), np.minimum(high, search.grid.max(axis=0))
    shares_low, shares_high = np.clip(_limits(shares, [fit[1] for fit in again], level), 0.0, 1.0)
    return Clusters(
        names=tuple(columns),
        n=table.joint.n,
        level=level,
        centres=centres * units,
        low=low * units,
        high=high * units,
        shares=shares,
        shares_low=shares_low,
        shares_high=shares_high,
        agreement=float(np.mean([fit[2] for fit in again])),
        runs=runs,
        spread=spread,
    )


def _limits(estimates: Floats, again: Sequence[Floats], level: float) -> tuple[Floats, Floats]:
    """Return the normal interval with the bootstrap's standard error."""
    half = critical(level) * np.std(again, axis=0, ddof=1)
    return estimates - half, estimates + half


def _check(k: int, cells: int, starts: int, runs: int) -> None:
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= cells:
        raise AnalysisError(f"k is {k!r}", f"give the number of groups, 1 to {cells}")
    for name, value, least in (("starts", starts, 1), ("runs", runs, 20)):
        if not isinstance(value, int) or value < least:
            raise AnalysisError(f"{name} is {value!r}", f"give a whole number of {least} or more")


@dataclass(frozen=True)
class _Search:
    """Lloyd's algorithm on the cells of a table."""

    grid: Floats
    generator: np.random.Generator

    def best(self, table: LatentTable, k: int, starts: int) -> tuple[Floats, float]:
        """Return the centres and the spread of the best of several starts."""
        mass = table.shares.ravel()
        ends = [lloyd(self.grid, mass, self._start(mass, k)) for _ in range(starts)]
        centres, _, spread = min(ends, key=lambda end: end[2])
        return centres, spread

    def settled(self, table: LatentTable, rough: Floats) -> tuple[Floats, Floats]:
        """Return centres and shares of the groups around rough centres, from the unbiased shares of the cells.

        The constrained shares that found the groups draw the centres together. A group whose unbiased share is less
        than half of the constrained one is too small to be corrected.
        """
        nearest = np.argmin(_distances(self.grid, rough), axis=1)
        held, sums = _sums(self.grid, table.joint.estimate.ravel(), nearest, len(rough))
        least, safe = _sums(self.grid, table.shares.ravel(), nearest, len(rough))
        usable = held > least / 2.0
        shares = np.where(usable, held, least)
        centres = np.where(usable[:, None], sums, safe) / np.where(shares > 0, shares, 1.0)[:, None]
        centres = np.where(shares[:, None] > 0, centres, rough)
        return np.clip(centres, self.grid.min(axis=0), self.grid.max(axis=0)), shares / shares.sum()

    def matched(self, table: LatentTable, centres: Floats) -> tuple[Floats, Floats, bool]:
        """Run once more on reports drawn anew: centres and shares in the order of the first ones, and if they agree."""
        resampled = table.again(self.generator)
        mass = resampled.shares.ravel()
        # Beside a random start the centres themselves: a run must not lose groups by bad luck with its start.
        ends = [lloyd(self.grid, mass, start) for start in (centres, self._start(mass, len(centres)))]
        centres_found = min(ends, key=lambda end: end[2])[0]
        rows, columns = linear_sum_assignment(_distances(centres_found, centres))
        order = rows[np.argsort(columns)]
        settled, shares = self.settled(resampled, centres_found[order])
        groups = [
            np.argmin(_distances(self.grid, centres_of), axis=1)
            for centres_of in (centres, centres_found[order])
        ]
        alike = float(table.shares.ravel()[groups[0] == groups[1]].sum())
        return settled, shares, alike >= ALIKE

    def _start(self, mass: Floats, k: int) -> Floats:
        """Draw centres far from each other (k-means++)."""
        chosen = [int(self.generator.choice(len(mass), p=mass / mass.sum()))]
        while len(chosen) < k:
            chances = mass * _distances(self.grid, self.grid[chosen]).min(axis=1)
            if chances.sum() <= 0.0:
                chances = np.ones(len(mass))
                chances[chosen] = 0.0
            chosen.append(int(self.generator.choice(len(mass), p=chances / chances.sum())))
        return self.grid[chosen]


def lloyd(points: Floats, mass: Floats, centres: Floats) -> tuple[Floats, Floats, float]:
    """Move centres to the weighted means of the points nearest to them until they rest.

    Gives the centres, the mass nearest to each, and the mean squared distance. A centre that loses its points stays.
    """
    nearest: Codes | None = None
    for _ in range(MOST_STEPS):
        distances = _distances(points, centres)
        now = np.argmin(distances, axis=1)
        if nearest is not None and np.array_equal(now, nearest):
            break
        nearest = now
        held, sums = _sums(points, mass, nearest, len(centres))
        centres = np.where(held[:, None] > 0, sums / np.where(held > 0, held, 1.0)[:, None], centres)
    distances = _distances(points, centres)
    held, _ = _sums(points, mass, np.argmin(distances, axis=1), len(centres))
    return centres, held / mass.sum(), float(mass @ distances.min(axis=1) / mass.sum())


def _sums(points: Floats, mass: Floats, nearest: Codes, k: int) -> tuple[Floats, Floats]:
    """Add up mass, and mass times place, of the points of each group."""
    columns = [np.bincount(nearest, weights=values, minlength=k) for values in (mass, *(mass * points.T))]
    table = np.array(columns, dtype=np.float64)
    return table[0], table[1:].T


def _distances(points: Floats, centres: Floats) -> Floats:
    """Squared distances, points by centres."""
    gaps = points[:, None, :] - centres[None, :, :]
    return np.asarray(np.einsum("pcd,pcd->pc", gaps, gaps), dtype=np.float64)
