"""Estimates as callers get them: `Estimate` is one row, `EstimateTable` several rows of one sample."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hushpoll_analysis.arguments import whole_number
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import level_of_each
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.interval import (
    Interval,
    IntervalMethod,
    Resampling,
    fallback,
    intervals,
    limits_of,
    method_for,
    misfit,
    outside,
)
from hushpoll_analysis.interval.listed import listed_interval
from hushpoll_analysis.interval.mover import BoundedEstimate
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.result import PlottedResult, as_json, flat
from hushpoll_analysis.tidy import Tidy

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Channel

LimitsAt = Callable[[float], tuple[float, float]]
"""Lower and upper limit at a confidence level."""


@dataclass(frozen=True)
class Shown:
    """What to print: estimate and interval within the possible values. Never average or subtract these."""

    estimate: float
    low: float
    high: float


def shown_share(estimate: float, low: float, high: float) -> Shown:
    """Return an estimate and its limits cut to [0, 1]."""
    return Shown(*(min(max(value, 0.0), 1.0) for value in (estimate, low, high)))


FIGURES = ("estimate", "se", "low", "high")
SIDE_FIGURES = ("shown", "se_privacy", "interval", "misfit", "weight", "design_effect", "n_effective")
ESTIMATE_KEYS = ("option", "reported", *FIGURES, *SIDE_FIGURES)
"""The keys of an estimate in the JSON contract."""


@dataclass(frozen=True, kw_only=True)
class IntervalEstimate(BoundedEstimate):
    """An estimate with its standard error and its interval, all of them unclipped."""

    figures_follow: ClassVar[str] = ""
    """The field behind which the four figures stand in a table; by default they come first."""

    se: float

    def row(self) -> dict[str, Any]:
        """Return the fields in the order of a table's columns."""
        names = [entry.name for entry in fields(self) if entry.repr and entry.name not in FIGURES]
        position = 0
        if self.figures_follow:
            position = names.index(self.figures_follow) + 1
        return {name: getattr(self, name) for name in (*names[:position], *FIGURES, *names[position:])}

    @property
    def outside(self) -> bool:
        """Whether a share lies outside [0, 1]."""
        return not 0.0 <= self.estimate <= 1.0


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A difference of two estimates with its standard error and its interval."""

    difference: float
    se: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Estimate(IntervalEstimate, Tidy, PlottedResult):
    """The estimate of one share, or of another linear quantity a.h.

    Attributes
    ----------
    option : str
        The option's label, or the name of the quantity.
    reported : int or None
        Reports of this option as they came in: reported, not true. None where reports are not options.
    estimate, low, high : float
        Estimate and interval, unclipped. Unbiased, unless a decoy's share was itself estimated: then consistent.
    se : float
        Sampling and privacy together, n - 1 in the denominator.
    se_privacy : float
        The randomization only: for these respondents, not for the population they stand for.
    shown : Shown
        Clipped; where the interval lies wholly outside or has no width, the likelihood interval inside instead.
    interval : str
        The method of low and high.
    misfit : float or None
        One-sided p-value of an interval that lies wholly outside: a small one says that data and design disagree.
    weight : float
        How many honest reports one dishonest report can outweigh, max |b_z|.
    design_effect, n_effective : float or None
        Variance over that of direct answers, and n divided by it; None where the estimate lies at or beyond an edge.
    limits_at : callable or None
        The same interval at another level; None where it cannot be computed without the data.
    """

    words = "estimate"
    figures_follow = "reported"

    option: str
    reported: int | None
    shown: Shown
    se_privacy: float
    interval: str
    misfit: float | None
    weight: float
    design_effect: float | None
    n_effective: float | None
    limits_at: LimitsAt | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the JSON contract."""
        return {key: getattr(self, key) for key in ESTIMATE_KEYS} | {"shown": vars(self.shown)}

    def vcov(self) -> pd.DataFrame:
        """Return the variance, as a table of one cell."""
        import pandas as pd

        return pd.DataFrame([[self.se**2]], index=[self.option], columns=[self.option])

    def _at_level(self, level: float) -> Estimate:
        if self.limits_at is None:
            raise AnalysisError(
                f"the limits of {self.option!r} cannot be computed at another level without the data",
                "estimate again with level=",
            )
        low, high = self.limits_at(level)
        return replace(self, low=low, high=high)


@dataclass(frozen=True, repr=False, kw_only=True)
class EstimateTable(Tidy, PlottedResult):
    """Estimates of one sample: found by label or position, and shown as a table."""

    json_keys = (
        *("mechanism", "epsilon", "epsilon_note", "epsilon_conditional", "n", "level", "interval"),
        *("interval_requested", "simultaneous", "counts", "solution", "estimates", "notes"),
    )
    words = "estimated share"
    summary_columns = ("reported", "estimate", "se", "low", "high", "se_privacy")
    notebook_columns = ("reported", "shown_estimate", "shown_low", "shown_high", "se", "se_privacy")

    mechanism: str
    estimates: tuple[Estimate, ...]
    n: int
    level: float
    interval: str
    simultaneous: bool = False
    """Whether the intervals hold all together with probability `level`."""
    notes: tuple[str, ...] = ()
    channel: Channel
    counts: tuple[int, ...]
    interval_requested: str
    epsilon: float
    epsilon_note: str
    epsilon_conditional: float | None = None
    solution: str = "unique"
    """How the solution of C b = a was chosen."""
    options: tuple[str, ...]
    resampling: Resampling = field(default=Resampling(), repr=False)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.estimates)} shares, {self.mechanism}, n = {self.n:,}; print it>"

    def __getitem__(self, option: str | int) -> Estimate:
        """Return the entry of an option, by label or by position among the entries."""
        if isinstance(option, int):
            return self.estimates[option]
        for entry in self.estimates:
            if entry.option == option:
                return entry
        raise KeyError(option)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON contract: epsilon is null when unbounded, and `epsilon_note` says why."""
        values = {key: as_json(getattr(self, key)) for key in self.json_keys if key != "estimates"}
        return {key: values[key] if key in values else self._entries() for key in self.json_keys}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per entry, as a pandas table."""
        import pandas as pd

        return pd.DataFrame([flat(entry) for entry in self._entries()]).set_index("option")

    def vcov(self) -> pd.DataFrame:
        """Return the joint covariance of the entries; its diagonal holds the squares of their standard errors."""
        import pandas as pd

        labels = [entry.option for entry in self.estimates]
        return pd.DataFrame(self._covariance(), index=labels, columns=labels)

    def _entries(self) -> list[dict[str, Any]]:
        """Return the entries of the JSON contract."""
        return [entry.to_dict() for entry in self.estimates]

    def _covariance(self) -> Floats:
        raise AnalysisError(
            "these estimates have no joint covariance", "use the standard errors of to_frame()"
        )

    def _at_level(self, level: float) -> EstimateTable:
        each_level = level_of_each(level, len(self.estimates), self.simultaneous)
        return replace(
            self, level=level, estimates=tuple(entry._at_level(each_level) for entry in self.estimates)
        )

    def _title(self) -> str:
        together = ""
        if self.simultaneous:
            together = ", all together"
        return (
            f"{self.mechanism}, n = {self.n:,} reports, {100 * self.level:g} % {self.interval} intervals{together}; "
            "reported counts are not true ones"
        )

    def _words(self) -> str:
        return f"{self.words}, {self.level:.0%} {self.interval} interval"

    def _repr_html_(self) -> str:
        table = self.to_frame()[list(self.notebook_columns)].rename(
            columns={"reported": "reported, not true"}
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        caption = html.escape(f"{self.mechanism}, n = {self.n}, {self.level:.0%} {self.interval} interval")
        return f"<p>{caption}</p>{table.to_html(float_format='{:.4f}'.format, na_rep='')}{notes}"


def largest_shares(
    quantities: Sequence[Quantity], labels: Sequence[str], k: int, level: float
) -> list[tuple[int, Estimate]]:
    """Return the k largest of all shares with their positions; the intervals hold together, whichever these are."""
    # Rounded, so that equal shares keep the order of the question.
    order = sorted(range(len(quantities)), key=lambda position: -round(quantities[position].estimate, 12))
    order = order[: whole_number(k, "k", 1)]
    return [
        (
            position,
            with_interval(
                quantities[position],
                listed_interval(quantities[position], len(quantities), len(order), level),
                labels[position],
                None,
                level,
            ),
        )
        for position in order
    ]


def estimates_of(
    quantities: Sequence[Quantity],
    labels: Sequence[str],
    method: IntervalMethod,
    level: float,
    resampling: Resampling = Resampling(),  # noqa: B008  (frozen)
    reported: Sequence[int | None] | None = None,
) -> tuple[Estimate, ...]:
    """Return several quantities with intervals by one method, and how often each was reported where that is known."""
    return tuple(
        with_interval(
            quantity, limits, label, count, level, limits_at=limits_by(quantity, method, resampling)
        )
        for quantity, limits, label, count in zip(
            quantities,
            intervals(quantities, method, level, resampling),
            labels,
            reported or [None] * len(quantities),
            strict=True,
        )
    )


def linear_estimate(
    quantity: Quantity,
    label: str,
    reported: int | None,
    method: str,
    level: float,
    resampling: Resampling = Resampling(),  # noqa: B008  (frozen)
) -> Estimate:
    """Return a quantity with its interval, shown values and side figures."""
    chosen = method_for([quantity], method)
    interval = Interval(*limits_of(quantity, chosen, level, resampling), chosen)
    limits_at = limits_by(quantity, chosen, resampling)
    return with_interval(quantity, interval, label, reported, level, limits_at=limits_at)


def limits_by(quantity: Quantity, method: IntervalMethod, resampling: Resampling) -> LimitsAt | None:
    """Return the limits of a quantity as a function of the level; None where t depends on the level."""
    if quantity.shrink != 1.0:
        return None
    return partial(_limits_at, quantity, method, resampling)


def _limits_at(
    quantity: Quantity, method: IntervalMethod, resampling: Resampling, level: float
) -> tuple[float, float]:
    return limits_of(quantity, method, level, resampling)


def with_interval(
    quantity: Quantity,
    interval: Interval,
    label: str,
    reported: int | None,
    level: float,
    *,
    limits_at: LimitsAt | None = None,
) -> Estimate:
    """Return a quantity whose interval is known, with shown values and side figures."""
    visible = fallback(quantity, interval, level) or interval
    low, high = quantity.bounds
    design_effect = quantity.design_effect
    clipped = (float(np.clip(value, low, high)) for value in (quantity.estimate, visible.low, visible.high))
    return Estimate(
        option=label,
        reported=reported,
        estimate=quantity.estimate,
        se=quantity.standard_error,
        low=interval.low,
        high=interval.high,
        shown=Shown(*clipped),
        se_privacy=quantity.se_privacy,
        interval=interval.method.name,
        misfit=_misfit(quantity, interval, level),
        weight=quantity.heaviest,
        design_effect=design_effect,
        n_effective=quantity.n / design_effect if design_effect else None,
        limits_at=limits_at,
    )


def _misfit(quantity: Quantity, interval: Interval, level: float) -> float | None:
    """Return the p-value where it is news: the interval lies outside, or would if its method allowed it."""
    if outside(quantity, interval):
        return misfit(quantity)
    low, high = quantity.bounds
    if not interval.method.bounded or low <= quantity.estimate <= high:
        return None
    p_value = misfit(quantity)
    if p_value < (1 - level) / 2:
        return p_value
    return None
