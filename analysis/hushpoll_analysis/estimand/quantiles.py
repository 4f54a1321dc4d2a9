"""Quantiles of ordered answers: the cumulative shares with their intervals, read the other way round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import chi2

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import finite_numbers
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.bands import level_of
from hushpoll_analysis.estimand.cumulative import Cumulative, cumulative
from hushpoll_analysis.interval import AUTO
from hushpoll_analysis.result import PlottedResult
from hushpoll_analysis.tidy import Tidy

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Channel
    from hushpoll_client.mechanism import Mechanism

QUARTILES = (0.25, 0.5, 0.75)
ANGLES = 9  # ways to divide the doubt between the two quartiles of a range


@dataclass(frozen=True, eq=False)
class Places:
    """Where ordered answers lie: on points, or in bins from `first` to `last`.

    The numbers of a bin are `step` apart; a bin without steps is continuous.
    """

    first: Floats
    last: Floats
    step: float | None = None

    @classmethod
    def points(cls, values: npt.ArrayLike) -> Places:
        """Take one number per answer."""
        numbers = _rising(values, "values")
        return cls(numbers, numbers)

    @classmethod
    def between(cls, edges: npt.ArrayLike) -> Places:
        """Take the edges of continuous bins, one more than there are bins."""
        numbers = _rising(edges, "edges")
        return cls(numbers[:-1], numbers[1:])

    def at(self, curve: Floats, p: float) -> float:
        """Return the smallest number with a cumulative share of at least p, spread evenly within its bin."""
        position = int(np.flatnonzero(curve >= p - 1e-12)[0])
        below = 0.0
        if position:
            below = float(curve[position - 1])
        inside = float(curve[position]) - below
        fraction = 1.0
        if inside > 0.0:
            fraction = min(max((p - below) / inside, 0.0), 1.0)
        first, width = float(self.first[position]), float(self.last[position] - self.first[position])
        if self.step is None:
            return first + fraction * width
        numbers = round(width / self.step) + 1
        return first + self.step * (max(math.ceil(fraction * numbers - 1e-9), 1) - 1)


@dataclass(frozen=True)
class Quantile(PlottedResult):
    """One quantile with its interval."""

    p: float
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class InterquartileRange(PlottedResult):
    """The third quartile minus the first, with its interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Quantiles(Tidy, PlottedResult):
    """Quantiles of ordered answers; made by `quantiles`."""

    words = "quantile"

    entries: tuple[Quantile, ...]
    cumulative: Cumulative = field(repr=False)
    places: Places = field(repr=False)

    def __iter__(self) -> Any:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, p: float) -> Quantile:
        """Return the quantile of a probability, also of one that was not asked for."""
        for entry in self.entries:
            if entry.p == p:
                return entry
        return _quantile(self.cumulative, self.places, p, self.cumulative.limits(self.cumulative.level))

    @property
    def median(self) -> Quantile:
        """The quantile of one half."""
        return self[0.5]

    @cached_property
    def iqr(self) -> InterquartileRange:
        """The third quartile minus the first.

        Its interval holds every Q3 - Q1 with quartiles that miss their cumulative shares by z1 and z3 standard errors,
        z1^2 + z3^2 <= c^2. For smooth distributions this is the interval of a difference; c is a little larger than
        usual (2.06 at 95 %), because two quartiles between far groups may both be found on the wrong side.
        """
        lower, upper = (self[p].estimate for p in (0.25, 0.75))
        limits = [self.cumulative.limits(level) for level in shared_levels(self.cumulative.level)]
        low, high = math.inf, -math.inf
        for lower_limits, other in zip(limits, reversed(limits), strict=True):
            q1 = _quantile(self.cumulative, self.places, 0.25, lower_limits)
            q3 = _quantile(self.cumulative, self.places, 0.75, other)
            low, high = min(low, q3.low - q1.high), max(high, q3.high - q1.low)
        estimate = upper - lower
        return InterquartileRange(estimate, min(max(low, 0.0), estimate), max(high, estimate))

    def _at_level(self, level: float) -> Quantiles:
        cumulative = self.cumulative._at_level(level)
        return quantiles_of(cumulative, self.places, [quantile.p for quantile in self.entries])

    def to_dict(self) -> dict[str, Any]:
        """Quantiles and interquartile range as JSON values."""
        return {"quantiles": [vars(entry) for entry in self.entries], "iqr": vars(self.iqr)}

    def to_frame(self) -> pd.DataFrame:
        """One row per quantile, as a pandas table."""
        import pandas as pd

        return pd.DataFrame([vars(entry) for entry in self.entries]).set_index("p")


def quantiles(
    counts: npt.ArrayLike | Mapping[Any, int],
    mechanism: Channel | Mechanism,
    p: Sequence[float] = QUARTILES,
    values: npt.ArrayLike | None = None,
    edges: npt.ArrayLike | None = None,
    level: float = 0.95,
    interval: str = AUTO,
) -> Quantiles:
    """Estimate quantiles of ordered answers, with intervals.

    The quantile of p is min{t: F(t) >= p}. With limits L and U of the cumulative shares its interval is
    [min{t: U(t) >= p}, min{t: L(t) >= p}], the limits made monotone (outward). The estimate inverts the isotonic
    curve. On few points the interval covers more often than its level, because a quantile is then often certain.

    Parameters
    ----------
    counts, mechanism, level, interval
        As for `estimate`; answers in their order.
    p : sequence of float
        Which quantiles; the quartiles by default.
    values : array_like, optional
        The number that each answer stands for; by default 1, 2, 3, ...
    edges : array_like, optional
        Instead of values: the edges of bins of a continuous quantity, one more than there are answers. Estimates are
        then interpolated, and intervals reach to the bins' edges.

    Returns
    -------
    Quantiles

    References
    ----------
    Woodruff (1952), JASA 47, 635-646.

    Examples
    --------
    >>> from hushpoll_client import mechanisms
    >>> found = quantiles([620, 500, 470, 410], mechanisms.krr(options=4, epsilon=1))
    >>> found.median
    Quantile(p=0.5, estimate=2.0, low=1.0, high=2.0)
    """
    cumulative_shares = cumulative(counts, mechanism, None, level, interval)
    number = len(cumulative_shares.options)
    if values is not None and edges is not None:
        raise AnalysisError("values and edges are two ways to say the same", "give one of them")
    if edges is not None:
        positions = Places.between(edges)
    else:
        positions = Places.points(np.arange(1, number + 1) if values is None else values)
    if len(positions.first) != number:
        what = "values" if edges is None else "edges"
        raise AnalysisError(
            f"{what}: {len(positions.first)} answers described, but this channel has {number}",
            f"give {number if edges is None else number + 1} numbers",
        )
    return quantiles_of(cumulative_shares, positions, p)


def quantiles_of(
    cumulative_shares: Cumulative, positions: Places, p: Sequence[float] = QUARTILES
) -> Quantiles:
    """Invert cumulative shares that are known."""
    for probability in finite_numbers(p, "p").tolist():
        if not 0.0 < probability < 1.0:
            raise AnalysisError(
                f"p: {probability:g} is not a probability between 0 and 1", "use 0.5 for the median"
            )
    limits = cumulative_shares.limits(cumulative_shares.level)
    return Quantiles(
        tuple(_quantile(cumulative_shares, positions, float(probability), limits) for probability in p),
        cumulative_shares,
        positions,
    )


def _quantile(
    cumulative_shares: Cumulative, positions: Places, p: float, limits: tuple[Floats, Floats]
) -> Quantile:
    first, last = (int(position) for position in crossings(*limits, p))
    estimate = positions.at(cumulative_shares.curve, p)
    below, above = float(positions.first[first]), float(positions.last[last])
    # The isotonic curve can leave its own limits by a hair where many neighbours are pooled.
    return Quantile(p, estimate, min(below, estimate), max(above, estimate))


def crossings(low: Floats, high: Floats, p: float) -> tuple[Any, Any]:
    """Return the first answers at which the upper and the lower limits of cumulative shares (last axis) reach p.

    Limits are made monotone outward, so that each holds on its own: tightening would need all of them to hold at once.
    """
    low = np.minimum.accumulate(low[..., ::-1], axis=-1)[..., ::-1]
    high = np.maximum.accumulate(high, axis=-1)
    return np.argmax(high >= p, axis=-1), np.argmax(low >= p, axis=-1)


def shared_levels(level: float) -> list[float]:
    """Levels of one quartile's limits, rising; the other quartile has them in reverse."""
    radius = _two_sided_radius(level)
    return [level_of(radius * math.sin(angle)) for angle in np.linspace(0.0, math.pi / 2.0, ANGLES).tolist()]


def _two_sided_radius(level: float) -> float:
    """c with P(chi-bar^2 > c^2) = 1 - level, half chi^2(1) and a quarter chi^2(2): two one-sided misses at once."""

    def excess(radius: float) -> float:
        square = radius * radius
        return 0.5 * float(chi2.sf(square, 1)) + 0.25 * float(chi2.sf(square, 2)) - (1.0 - level)

    usual = math.sqrt(float(chi2.isf(1.0 - level, 1)))
    return max(usual, float(brentq(excess, 1e-9, 40.0)) if excess(1e-9) > 0.0 else usual)


def _rising(values: npt.ArrayLike, what: str) -> Floats:
    numbers = finite_numbers(values, what)
    if np.any(np.diff(numbers) <= 0.0):
        raise AnalysisError(f"{what}: {numbers.tolist()} do not rise", "give them in increasing order")
    return numbers
