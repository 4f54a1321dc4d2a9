"""Cumulative shares of ordered answers: each with its interval, and all of them within one band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from hushpoll_analysis.arguments import listed, number
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import check_level
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.estimand.bands import critical_value, level_of
from hushpoll_analysis.estimates import Estimate, Shown, estimates_of, linear_estimate
from hushpoll_analysis.interval import AUTO, Resampling, interval_method, intervals, method_for
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.result import PlottedResult
from hushpoll_analysis.sample.sample import Sample, read_sample
from hushpoll_analysis.tidy import Tidy

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Channel
    from hushpoll_client.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class Cumulative(Tidy, PlottedResult):
    """Cumulative shares; made by `cumulative`.

    Attributes
    ----------
    options : tuple of str
        The answers in their order.
    estimates : tuple of Estimate
        The share of each answer or a lower one, unbiased; the last is 1.
    band : tuple of Estimate
        The same with limits that hold for all answers together.
    critical : float
        How many standard errors the band has on either side.
    interval : str
        The method of the limits.
    """

    words = "share up to here"

    options: tuple[str, ...]
    n: int
    level: float
    interval: str
    critical: float
    estimates: tuple[Estimate, ...]
    band: tuple[Estimate, ...]
    sample: Sample = field(repr=False)
    wanted: tuple[Quantity, ...] = field(repr=False)

    @cached_property
    def curve(self) -> Floats:
        """The nearest curve that never falls and stays in [0, 1] (isotonic regression, weights 1 / variance)."""
        raw = np.array([estimate.estimate for estimate in self.estimates[:-1]])
        return rising_curve(raw, np.array([estimate.se for estimate in self.estimates[:-1]]))

    @cached_property
    def upward(self) -> tuple[Estimate, ...]:
        """The share of each answer or a higher one: the complements of `estimates`, with their intervals."""
        return (_certain(self.options[0], self.interval), *self._complements(self.estimates))

    @property
    def upper_half(self) -> Estimate:
        """The share of the upper half of the answers, such as "4 or more" of five."""
        return self.upward[len(self.options) - len(self.options) // 2]

    @cached_property
    def upward_band(self) -> tuple[Estimate, ...]:
        """The same with limits that hold for all answers together."""
        return (_certain(self.options[0], self.interval), *self._complements(self.band))

    def _complements(self, entries: Sequence[Estimate]) -> list[Estimate]:
        """Return 1 minus each cumulative share but the last, labelled by the next answer."""
        return [
            replace(
                entry,
                option=label,
                estimate=1.0 - entry.estimate,
                low=1.0 - entry.high,
                high=1.0 - entry.low,
                shown=Shown(1.0 - entry.shown.estimate, 1.0 - entry.shown.high, 1.0 - entry.shown.low),
                limits_at=None,
            )
            for entry, label in zip(entries[:-1], self.options[1:], strict=True)
        ]

    def at_most(self, option: str | int) -> Estimate:
        """Return the share of an answer or a lower one."""
        return self.estimates[self._place(option)]

    def at_least(self, option: str | int) -> Estimate:
        """Return the share of an answer or a higher one, as in "4 or more"."""
        position = self._place(option)
        label = f"{self.options[position]} or more"
        if position == 0:
            return _certain(label, self.interval)
        target = np.arange(len(self.options)) >= position
        return linear_estimate(self.sample.quantity(target), label, None, self.interval, self.level)

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """Limits of every cumulative share at another level, the last being 1."""
        method = interval_method(self.interval)
        each_interval = intervals(self.wanted, method, number(level, "level", 0.0, 1.0), Resampling())
        low, high = ([getattr(interval, end) for interval in each_interval] for end in ("low", "high"))
        return np.array([*low, 1.0]), np.array([*high, 1.0])

    def to_dict(self) -> list[dict[str, Any]]:  # type: ignore[override]  # a list in the published report
        """One entry per answer, as the shares have, with the band's limits as `simultaneous`."""
        return [
            alone.to_dict() | {"simultaneous": {"low": both.low, "high": both.high}}
            for alone, both in zip(self.estimates, self.band, strict=True)
        ]

    def to_frame(self) -> pd.DataFrame:
        """One row per answer, as a pandas table."""
        import pandas as pd

        rows = [
            {
                "option": alone.option,
                "estimate": alone.estimate,
                "se": alone.se,
                "low": alone.low,
                "high": alone.high,
                "band_low": both.low,
                "band_high": both.high,
                "curve": point,
            }
            for alone, both, point in zip(self.estimates, self.band, self.curve.tolist(), strict=True)
        ]
        return pd.DataFrame(rows).set_index("option")

    def _at_level(self, level: float) -> Cumulative:
        return replace(self, level=level, estimates=tuple(entry._at_level(level) for entry in self.estimates))

    def _place(self, option: str | int) -> int:
        position = self.options.index(option) if option in self.options else option
        if not isinstance(position, int) or not 0 <= position < len(self.options):
            raise AnalysisError(f"option: {option!r} is none of {', '.join(self.options)}")
        return position


def rising_curve(raw: Floats, se: Floats) -> Floats:
    """Return the nearest cumulative shares that never fall and stay in [0, 1]; the last, 1, is added.

    Isotonic regression with weights 1 / variance, by pooling adjacent violators.

    References
    ----------
    Barlow, Bartholomew, Bremner, Brunk (1972), Statistical Inference under Order Restrictions.
    """
    # Where all reports are the same every variance is 0, and all shares weigh alike.
    scale = float(se.max()) or 1.0
    isotonic = isotonic_regression(raw, weights=np.maximum(se / scale, 1e-6) ** -2.0).x
    return np.append(np.clip(isotonic, 0.0, 1.0), 1.0)


def cumulative(
    counts: npt.ArrayLike | Mapping[Any, int],
    mechanism: Channel | Mechanism,
    options: Sequence[str] | None = None,
    level: float = 0.95,
    interval: str = AUTO,
) -> Cumulative:
    """Estimate the cumulative shares of ordered answers, with intervals and a simultaneous band.

    F_k = h_1 + ... + h_k is a.h with a = (1, ..., 1, 0, ..., 0), so b.f with C b = a is unbiased and has the variance
    (sum b_z^2 f_z - (b.f)^2)/(n - 1). The band has c standard errors in place of 1.96, where c is the quantile of
    max |Z| over all answers for their joint covariance at the likeliest shares.

    Parameters
    ----------
    counts, mechanism, level, interval
        As for `estimate`; answers in their order.
    options : sequence of str, optional
        Labels of the answers.

    Returns
    -------
    Cumulative

    References
    ----------
    Hothorn, Bretz, Westfall (2008), Biometrical J. 50, 346-363 (the band); Miettinen, Nurminen (1985), Statist. Med.
    4, 213-226 (the interval where a report is rare).

    Examples
    --------
    >>> from hushpoll_client import mechanisms
    >>> found = cumulative([620, 500, 470, 410], mechanisms.krr(options=4, epsilon=1))
    >>> [round(one.estimate, 3) for one in found.estimates]
    [0.447, 0.695, 0.902, 1.0]
    """
    labels = ()
    if options is not None:
        labels = listed(options, "options")
    return cumulative_of(read_sample(counts, mechanism, labels), labels, level, interval)


def cumulative_of(sample: Sample, options: Sequence[str], level: float, interval: str = AUTO) -> Cumulative:
    """Estimate the cumulative shares from reports that have been read."""
    check_level(level)
    interval = sample.method_name(interval)
    interval_method(interval)
    size = sample.view.options
    labels = tuple(options) or tuple(str(k) for k in range(size))
    if len(labels) != size:
        raise AnalysisError(
            f"options: {size} labels expected, one per true answer in order, got {len(labels)}"
        )
    targets = np.tril(np.ones((size, size)))[:-1]
    try:
        quantities = tuple(sample.quantity(target) for target in targets)
        critical = critical_value(sample.covariance(targets), level)
    except NotIdentifiedError as error:
        raise NotIdentifiedError(
            f"cumulative shares: {error.problem}", "choose a mechanism made for cumulative shares"
        ) from None
    method = method_for(quantities, interval)
    together = method_for(quantities, interval, len(quantities) > 1)
    return Cumulative(
        options=labels,
        n=sample.n,
        level=level,
        interval=method.name,
        critical=critical,
        estimates=(*estimates_of(quantities, labels[:-1], method, level), _certain(labels[-1], method.name)),
        band=(
            *estimates_of(quantities, labels[:-1], together, level_of(critical)),
            _certain(labels[-1], together.name),
        ),
        sample=sample,
        wanted=quantities,
    )


def _certain(label: str, method: str) -> Estimate:
    """Return the share of all answers together: 1 without any error."""
    return Estimate(
        option=label,
        reported=None,
        estimate=1.0,
        se=0.0,
        low=1.0,
        high=1.0,
        shown=Shown(1.0, 1.0, 1.0),
        se_privacy=0.0,
        interval=method,
        misfit=None,
        weight=1.0,
        design_effect=None,
        n_effective=None,
        limits_at=_certain_limits,
    )


def _certain_limits(level: float) -> tuple[float, float]:
    return 1.0, 1.0
