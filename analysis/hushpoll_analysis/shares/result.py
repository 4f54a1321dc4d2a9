"""Results of `estimate`: small frozen objects that carry their inputs and can show themselves."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.arguments import one_or_more, whole_number
from hushpoll_analysis.channel.decoy import EstimatedDecoy
from hushpoll_analysis.channel.view import ChannelView, Floats
from hushpoll_analysis.data.counts import finite_numbers, refuse_constant
from hushpoll_analysis.data.drawn import Drawn
from hushpoll_analysis.data.whiskers import draw_whiskers
from hushpoll_analysis.errors import AnalysisError

from .constrained import ConstrainedEstimate, constrained_estimate
from .finite import finite_population
from .interval import Interval, Resampling, fallback, interval, misfit, outside
from .interval.listed import listed_interval
from .quantities import Quantity, quantity
from .ratios import RatioEstimate, ratio_of
from .shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Channel
    from hushpoll_client.mechanism import Mechanism

__all__ = ["Estimate", "LinearEstimate", "Shown", "linear_estimate", "with_interval"]


@dataclass(frozen=True)
class LinearEstimate(Drawn):
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
    """

    words = "estimate"

    option: str
    reported: int | None
    estimate: float
    se: float
    low: float
    high: float
    shown: Shown
    se_privacy: float
    interval: str
    misfit: float | None
    weight: float
    design_effect: float | None
    n_effective: float | None

    def to_dict(self) -> dict[str, Any]:
        """Give the entry of the JSON contract."""
        return {
            "option": self.option,
            "reported": self.reported,
            "estimate": self.estimate,
            "se": self.se,
            "low": self.low,
            "high": self.high,
            "shown": {"estimate": self.shown.estimate, "low": self.shown.low, "high": self.shown.high},
            "se_privacy": self.se_privacy,
            "interval": self.interval,
            "misfit": self.misfit,
            "weight": self.weight,
            "design_effect": self.design_effect,
            "n_effective": self.n_effective,
        }


def linear_estimate(
    wanted: Quantity,
    label: str,
    reported: int | None,
    method: str,
    level: float,
    resampling: Resampling = Resampling(),  # noqa: B008  (frozen)
) -> LinearEstimate:
    """Attach interval, shown values and side figures to a quantity."""
    return with_interval(wanted, interval(wanted, method, level, resampling), label, reported, level)


def with_interval(
    wanted: Quantity, found: Interval, label: str, reported: int | None, level: float
) -> LinearEstimate:
    """Attach shown values and side figures to a quantity whose interval is known."""
    inside = fallback(wanted, found, level)
    low, high = wanted.bounds
    visible = inside or found
    deff = wanted.design_effect
    return LinearEstimate(
        option=label,
        reported=reported,
        estimate=wanted.estimate,
        se=wanted.se,
        low=found.low,
        high=found.high,
        shown=Shown(
            *(float(np.clip(value, low, high)) for value in (wanted.estimate, visible.low, visible.high))
        ),
        se_privacy=wanted.se_privacy,
        interval=found.method,
        misfit=_misfit(wanted, found, level),
        weight=wanted.heaviest,
        design_effect=deff,
        n_effective=None if deff is None or deff == 0 else wanted.n / deff,
    )


def _misfit(wanted: Quantity, found: Interval, level: float) -> float | None:
    """Give the p-value where it is news: the interval lies outside, or would if its method allowed it."""
    if outside(wanted, found):
        return misfit(wanted)
    low, high = wanted.bounds
    if found.method != "likelihood" or low <= wanted.estimate <= high:
        return None
    chance = misfit(wanted)
    return chance if chance < (1 - level) / 2 else None


@dataclass(frozen=True)
class Estimate:
    """Estimated shares of one question; made by `estimate`.

    `estimates` has one entry per option, or only Yes for a yes/no question; `shares` has every option.
    """

    mechanism: str
    channel: Channel
    counts: tuple[int, ...]
    n: int
    level: float
    interval: str
    interval_requested: str
    simultaneous: bool
    epsilon: float
    epsilon_note: str
    epsilon_conditional: float | None
    solution: str
    options: tuple[str, ...]
    estimates: tuple[LinearEstimate, ...]
    notes: tuple[str, ...]
    shares: Floats | None = field(repr=False, compare=False)
    source: Channel | Mechanism = field(repr=False, compare=False)
    view: ChannelView = field(repr=False, compare=False)
    decoy: EstimatedDecoy | None = field(repr=False, compare=False)
    resampling: Resampling = field(repr=False)
    fraction: float = 0.0
    """The fraction of a finite population that was asked; 0 for one without end."""

    def __getitem__(self, option: str | int) -> LinearEstimate:
        """Give the entry of an option, by label or by position among the entries."""
        if isinstance(option, int):
            return self.estimates[option]
        for entry in self.estimates:
            if entry.option == option:
                return entry
        raise KeyError(option)

    def functional(
        self, target: npt.ArrayLike, label: str = "quantity", interval: str | None = None
    ) -> LinearEstimate:
        """Estimate a.h, where `target` has one number a per option.

        b.f with C b = a is unbiased; its variance is (sum b^2 f - (b.f)^2)/(n - 1). Shown values are clipped to the
        smallest and largest possible a.h.

        Parameters
        ----------
        target : array_like
            One number per option: grid values for a mean, 1 and -1 for a difference, ones for a sum of shares.
        label : str
        interval : str, optional
            Another method than the table's.
        """
        method = interval or self.interval_requested
        wanted = self._quantity(target)
        refuse_constant(wanted.target, label)
        return linear_estimate(wanted, label, None, method, self.level, self.resampling)

    def _quantity(self, target: npt.ArrayLike) -> Quantity:
        numbers = finite_numbers(target, "functional")
        view = self.view
        if numbers.shape != (view.options,):
            raise AnalysisError(
                f"functional: {view.options} numbers expected, one per option, got {numbers.size}"
            )
        whole = np.asarray(self.counts, dtype=np.int64)
        return finite_population(quantity(view, whole, numbers, self.shares, self.decoy), self.fraction)

    def mean(self, values: npt.ArrayLike) -> LinearEstimate:
        """Give the mean of a number per option, such as the points of a scale."""
        return self.functional(values, "mean")

    def difference(self, first: str | int, second: str | int) -> LinearEstimate:
        """Give the share of one option minus the share of another."""
        i, j = self._place(first), self._place(second)
        return self.functional(
            self.view.unit(i) - self.view.unit(j), f"{self.options[i]} - {self.options[j]}"
        )

    def gap(self, first: str | int, second: str | int) -> tuple[float, float]:
        """Give the same difference and its standard error alone: an interval takes much longer."""
        found = self._quantity(self.view.unit(self._place(first)) - self.view.unit(self._place(second)))
        return found.estimate, found.se

    def share_of(self, chosen: Sequence[str | int]) -> LinearEstimate:
        """Give the share of several options together."""
        places = sorted({self._place(option) for option in one_or_more(chosen, "chosen")})
        target = np.zeros(self.view.options)
        target[places] = 1.0
        return self.functional(target, " + ".join(self.options[place] for place in places))

    def ratio(self, of: Sequence[str], among: Sequence[str]) -> RatioEstimate:
        """Estimate the share of some answers among others, as in Yes among those who did not decline."""
        return ratio_of(self, of, among)

    def top(self, k: int = 10) -> tuple[LinearEstimate, ...]:
        """Give the k options with the largest estimates; their intervals hold together, whichever options these are."""
        counts = np.asarray(self.counts, dtype=np.int64)
        shares = self.view.shares(counts / counts.sum())
        order = [int(place) for place in np.argsort(-shares, kind="stable")[: whole_number(k, "k", 1)]]
        found = []
        for place in order:
            plain = quantity(self.view, counts, self.view.unit(place), shares, self.decoy)
            wanted = finite_population(plain, self.fraction)
            limits = listed_interval(wanted, self.view.options, len(order), self.level)
            found.append(with_interval(wanted, limits, self.options[place], None, self.level))
        return tuple(found)

    def constrained(self) -> ConstrainedEstimate:
        """Maximum likelihood shares: never negative, summing to one."""
        return constrained_estimate(self.counts, self.source)

    def possible_shares(self) -> Floats:
        """Give the maximum likelihood shares: never negative, summing to one."""
        return self.constrained().shares

    def report_weights(self, option: str) -> Floats:
        """Give the weights b of the possible reports: one report z moves the option's estimate by b_z/n."""
        weights = self.view.solution(self.view.unit(self._place(option)))
        return np.asarray(weights[self.view.possible])

    def covariance(self) -> Floats:
        """Covariance of the unbiased shares of all options, n - 1 in the denominator."""
        if self.decoy is not None:
            raise AnalysisError(
                "covariance: the decoy's share was estimated", "the standard error has both parts"
            )
        weights = np.stack([self.view.solution(self.view.unit(k)) for k in range(self.view.options)])
        frequencies = np.asarray(self.counts) / self.n
        centred = weights - (weights @ frequencies)[:, None]
        result: Floats = (centred * frequencies) @ centred.T / (self.n - 1)
        return result

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON contract: epsilon is null when unbounded, and `epsilon_note` says why."""
        return {
            "mechanism": self.mechanism,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "epsilon_note": self.epsilon_note,
            "epsilon_conditional": self.epsilon_conditional,
            "n": self.n,
            "level": self.level,
            "interval": self.interval,
            "interval_requested": self.interval_requested,
            "simultaneous": self.simultaneous,
            "counts": list(self.counts),
            "solution": self.solution,
            "estimates": [entry.to_dict() for entry in self.estimates],
            "notes": list(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per entry, as a pandas table."""
        import pandas as pd

        rows = []
        for entry in self.estimates:
            row = entry.to_dict()
            shown = row.pop("shown")
            rows.append(row | {f"shown_{name}": value for name, value in shown.items()})
        return pd.DataFrame(rows).set_index("option")

    def _repr_html_(self) -> str:
        columns = ["reported", "shown_estimate", "shown_low", "shown_high", "se", "se_privacy"]
        table = self.to_frame()[columns].rename(columns={"reported": "reported, not true"})
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        caption = html.escape(f"{self.mechanism}, n = {self.n}, {self.level:.0%} {self.interval} interval")
        return f"<p>{caption}</p>{table.to_html(float_format='{:.4f}'.format, na_rep='')}{notes}"

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        shown = [[getattr(one.shown, end) for one in self.estimates] for end in ("estimate", "low", "high")]
        words = f"estimated share, {self.level:.0%} {self.interval} interval"
        axes = draw_whiskers(
            [one.option for one in self.estimates], shown[0], shown[1], shown[2], words, axes
        )
        axes.set_xlim(0, 1)
        return axes

    def _place(self, option: str | int) -> int:
        place = self.options.index(option) if option in self.options else option
        if not isinstance(place, int) or not 0 <= place < len(self.options):
            raise AnalysisError(f"option: {option!r} is none of {', '.join(self.options)}")
        return place
