"""Designs that need two groups of respondents, each with its own randomizing device.

Two groups give two report frequencies, hence two unknowns: the share of the trait and one nuisance share (the unrelated
question's share, those who disregard the instruction, those who do not admit). All four designs are solved in the same
way: P(Yes in group i) is linear in two unknowns, which may lie in a polygon; `_solution` does the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import check_level, in_order, whole_numbers
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.estimates import IntervalEstimate, Shown
from hushpoll_analysis.interval import AUTO, ENOUGH, IntervalMethod, interval_method
from hushpoll_analysis.interval.likelihood import LikelihoodRatio
from hushpoll_analysis.interval.mover import Mover
from hushpoll_analysis.interval.wald import Wald
from hushpoll_analysis.result import PlottedResult, as_json, flat
from hushpoll_analysis.tidy import Tidy, keeps_call
from hushpoll_analysis.validity.two_groups_likelihood import TwoBinomials

if TYPE_CHECKING:
    import pandas as pd

Pair = Sequence[float | str | Fraction]
_NORMAL, _LIKELIHOOD, _MOVER = Wald(), LikelihoodRatio(), Mover()
_OFFERED = (AUTO, _NORMAL.name, _LIKELIHOOD.name)


@dataclass(frozen=True, kw_only=True)
class Parameter(IntervalEstimate, PlottedResult):
    """One estimated share: unclipped with its standard error and interval, and what to show.

    The standard error belongs to the unclipped estimate and stays right when that is negative; a Hessian taken at the
    edge of the possible values is not a standard error. `constrained` is the maximum likelihood value with every share
    possible at once, None where that leaves it undetermined. A parameter that the data do not determine is nan.
    `interval` is the method of `low` and `high`.
    """

    figures_follow = "name"

    name: str
    shown: Shown
    constrained: float | None
    interval: str
    from_parts: bool = field(default=False, repr=False)
    """Whether the limits are joined from those of both groups' frequencies, all outside the possible values."""


@dataclass(frozen=True)
class TwoGroupEstimate(Tidy, PlottedResult):
    """Result of a two-group design.

    Attributes
    ----------
    groups : tuple
        (No, Yes) counts of both groups.
    parameters : tuple of Parameter
    log_likelihood : float
        Of the constrained fit, binomial coefficients included; equals the saturated one where the fit is perfect.
    possible : bool
        Whether all unconstrained estimates are possible values.
    """

    words = "share"

    design: str
    groups: tuple[tuple[int, int], tuple[int, int]]
    probabilities: tuple[tuple[float, ...], ...]
    level: float
    interval: str
    parameters: tuple[Parameter, ...]
    log_likelihood: float
    possible: bool
    notes: tuple[str, ...] = field(default=())

    def __getitem__(self, name: str) -> Parameter:
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain numbers and lists."""
        return {
            "design": self.design,
            "groups": [list(group) for group in self.groups],
            "probabilities": [list(device) for device in self.probabilities],
            "level": self.level,
            "interval": self.interval,
            "log_likelihood": self.log_likelihood,
            "estimates": [
                {
                    "option": parameter.name,
                    **as_json({key: vars(parameter)[key] for key in ("estimate", "se", "low", "high")}),
                    "shown": as_json(parameter.shown),
                    "constrained": parameter.constrained,
                    "interval": parameter.interval,
                }
                for parameter in self.parameters
            ],
            "notes": list(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per parameter, as a pandas table."""
        import pandas as pd

        rows = [flat(entry) for entry in self.to_dict()["estimates"]]
        return pd.DataFrame(rows).set_index("option")

    def _caption(self) -> str:
        return f"{self.design}, {self.level:.0%} {self.interval} interval"


@dataclass(frozen=True)
class _Unknown:
    """A parameter of the two linear unknowns theta: (top.theta + top0) / (bottom.theta + bottom0)."""

    name: str
    top: tuple[float, float, float]
    bottom: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def value(self, theta: Floats) -> float:
        return self._part(self.top, theta) / self._part(self.bottom, theta)

    def gradient(self, theta: Floats) -> Floats:
        below, value = self._part(self.bottom, theta), self.value(theta)
        return (np.array(self.top[:2]) - value * np.array(self.bottom[:2])) / below

    def line(self, value: float) -> tuple[Floats, float]:
        """All theta with this value of the parameter: normal.theta = offset."""
        normal = np.array(self.top[:2]) - value * np.array(self.bottom[:2])
        return normal, value * self.bottom[2] - self.top[2]

    def determined(self, theta: Floats) -> bool:
        return abs(self._part(self.bottom, theta)) > 1e-12

    @staticmethod
    def _part(weights: tuple[float, float, float], theta: Floats) -> float:
        return float(weights[0] * theta[0] + weights[1] * theta[1] + weights[2])


_SQUARE = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
_TRIANGLE = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
_FIRST, _SECOND, _REST = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, -1.0, 1.0)


@keeps_call
def unrelated_two_groups(
    groups: Sequence[npt.ArrayLike], truth: Pair, level: float = 0.95, interval: str = "auto"
) -> TwoGroupEstimate:
    """Unrelated question whose share q is unknown, identified by asking two groups with different probabilities.

    P(Yes in group i) = theta_i p + (1 - theta_i) q, so p = ((1-theta_2) z_1 - (1-theta_1) z_2)/(theta_1 - theta_2).

    Parameters
    ----------
    groups : two pairs of int
        (No, Yes) counts of each group; a Series or a mapping is taken by its keys, 0 and 1 or No and Yes.
    truth : two probabilities
        theta: the chance of the sensitive question in each group.
    level : float
    interval : {"auto", "wald", "likelihood"}
        "likelihood" is the profile likelihood, restricted to possible values; "auto" takes it where a report came in
        fewer than 15 times. Where the limits that follow from both groups' frequencies (MOVER) then lie wholly outside
        the possible values, `low` and `high` are these, and the parameter's own `interval` says so.

    Returns
    -------
    TwoGroupEstimate
        With `share` (the trait) and `decoy` (the unrelated question).

    References
    ----------
    Greenberg, Abul-Ela, Simmons, Horvitz (1969), JASA 64, 520-539.
    """
    theta = _probabilities(truth, "truth")
    unknowns = (_Unknown("share", _FIRST), _Unknown("decoy", _SECOND))
    design = _Design(
        "unrelated question, two groups", [[t, 1 - t] for t in theta], (theta,), unknowns, _SQUARE
    )
    return design.solved(groups, level, interval)


@keeps_call
def cheating_detection(
    groups: Sequence[npt.ArrayLike], forced_yes: Pair, level: float = 0.95, interval: str = "auto"
) -> TwoGroupEstimate:
    """Cheating detection: forced Yes, and some respondents say No whatever the device says.

    P(Yes in group i) = p + b u_i, where p are honest carriers, b honest others and g = 1 - p - b say No regardless.

    Parameters
    ----------
    groups : two pairs of int
        (No, Yes) counts of each group; a Series or a mapping is taken by its keys, 0 and 1 or No and Yes.
    forced_yes : two probabilities
        u: the chance of the instruction to say Yes in each group.
    level : float
    interval : {"auto", "wald", "likelihood"}

    Returns
    -------
    TwoGroupEstimate
        With `share` (honest Yes), `honest_no` and `cheating`.

    References
    ----------
    Clark, Desharnais (1998), Psychological Methods 3, 160-168.
    """
    yes = _probabilities(forced_yes, "forced_yes")
    design = _Design("cheating detection", [[1.0, u] for u in yes], (yes,), _CHEATING)
    return design.solved(groups, level, interval)


@keeps_call
def cheating_detection_symmetric(
    groups: Sequence[npt.ArrayLike],
    forced_yes: Pair,
    forced_no: Pair,
    level: float = 0.95,
    interval: str = "auto",
) -> TwoGroupEstimate:
    """Cheating detection with forced Yes and forced No.

    P(Yes in group i) = p (1 - v_i) + b u_i; g = 1 - p - b say No regardless. The two groups need different u/(1 - v).

    Parameters
    ----------
    groups : two pairs of int
        (No, Yes) counts of each group; a Series or a mapping is taken by its keys, 0 and 1 or No and Yes.
    forced_yes, forced_no : two probabilities each
        u and v: the chance of the instruction to say Yes, and No, in each group.
    level : float
    interval : {"auto", "wald", "likelihood"}

    Returns
    -------
    TwoGroupEstimate
        With `share`, `honest_no` and `cheating`.

    References
    ----------
    Ostapczuk, Moshagen, Zhao, Musch (2009), J. Educ. Behav. Statist. 34, 267-287.
    """
    yes, no = _probabilities(forced_yes, "forced_yes"), _probabilities(forced_no, "forced_no")
    for i in (0, 1):
        if yes[i] + no[i] > 1:
            raise AnalysisError(f"forced_yes and forced_no sum to more than 1 in group {i + 1}", "lower one")
    rows = [[1 - no[i], yes[i]] for i in (0, 1)]
    design = _Design("cheating detection, symmetric", rows, (yes, no), _CHEATING)
    return design.solved(groups, level, interval)


@keeps_call
def lie_detection(
    groups: Sequence[npt.ArrayLike], truth: Pair, level: float = 0.95, interval: str = "auto"
) -> TwoGroupEstimate:
    """Stochastic lie detector: others answer truthfully with a known chance, carriers admit with an unknown one.

    P(Yes in group i) = p t + (1 - p)(1 - phi_i): p is the share of carriers, t the chance that one of them admits.

    Parameters
    ----------
    groups : two pairs of int
        (No, Yes) counts of each group; a Series or a mapping is taken by its keys, 0 and 1 or No and Yes.
    truth : two probabilities
        phi: the chance that a respondent without the trait answers truthfully, in each group.
    level : float
    interval : {"auto", "wald", "likelihood"}

    Returns
    -------
    TwoGroupEstimate
        With `share` and `admitting` (t; a ratio, its standard error by the delta method).

    References
    ----------
    Moshagen, Musch, Erdfelder (2012), Behav. Res. Methods 44, 222-231.
    """
    phi = _probabilities(truth, "truth")
    # Linear in the carriers who admit, p t, and the others, 1 - p; what is left of 1 are carriers who do not admit.
    unknowns = (_Unknown("share", (0.0, -1.0, 1.0)), _Unknown("admitting", _FIRST, (0.0, -1.0, 1.0)))
    design = _Design("lie detection", [[1.0, 1 - p] for p in phi], (phi,), unknowns)
    return design.solved(groups, level, interval)


_CHEATING = (_Unknown("share", _FIRST), _Unknown("honest_no", _SECOND), _Unknown("cheating", _REST))


@dataclass(frozen=True, eq=False)
class _Design:
    """A design with two groups: the chances of Yes are `rows` times two unknowns, which lie in a polygon."""

    name: str
    rows: Sequence[Sequence[float]]
    probabilities: tuple[tuple[float, ...], ...]
    unknowns: Sequence[_Unknown]
    polygon: Sequence[tuple[float, float]] = _TRIANGLE

    def solved(self, groups: Sequence[npt.ArrayLike], level: float, interval: str) -> TwoGroupEstimate:
        """Solve z = D theta, Cov(theta) = D^-1 diag(z(1-z)/(n-1)) D^-T, and the constrained likelihood."""
        matrix = np.array(self.rows)
        check_level(level)
        if interval not in _OFFERED:
            raise AnalysisError(f"interval: unknown method {interval!r}", "choose auto, wald or likelihood")
        if abs(np.linalg.det(matrix)) < 1e-12:
            raise NotIdentifiedError(
                f"{self.name}: both groups are asked in the same way, so nothing is determined",
                "let their probabilities differ",
            )
        counts = np.stack([_group(group, i) for i, group in enumerate(_two(groups, "groups"), 1)])
        sizes = counts.sum(axis=1)
        observed = counts[:, 1] / sizes
        inverse = np.linalg.inv(matrix)
        theta: Floats = inverse @ observed
        covariance: Floats = inverse @ np.diag(observed * (1 - observed) / (sizes - 1)) @ inverse.T
        fit = TwoBinomials(counts, matrix, np.array(self.polygon))
        # Where all reports of a group are the same, the normal interval has no width.
        rare = interval == AUTO and bool(counts.min() < ENOUGH)
        method: IntervalMethod = _NORMAL
        if interval != AUTO:
            method = interval_method(interval)
        elif rare:
            method = _LIKELIHOOD
        parameters = tuple(
            _parameter(unknown, theta, covariance, fit, level, method, rare=rare) for unknown in self.unknowns
        )
        determined = [parameter for parameter in parameters if not math.isnan(parameter.estimate)]
        possible = all(-1e-12 <= parameter.estimate <= 1 + 1e-12 for parameter in determined)
        group_counts = tuple((int(no), int(yes)) for no, yes in counts)
        return TwoGroupEstimate(
            self.name,
            (group_counts[0], group_counts[1]),
            probabilities=self.probabilities,
            level=level,
            interval=method.name,
            parameters=parameters,
            log_likelihood=fit.log_likelihood,
            possible=possible,
            notes=_notes(parameters, possible, rare=rare),
        )


def _notes(parameters: Sequence[Parameter], possible: bool, *, rare: bool) -> tuple[str, ...]:
    notes = []
    if rare:
        notes.append(f"A report came in fewer than {ENOUGH} times, so the likelihood interval is used.")
    notes += [
        f"The estimated share is exactly 0, so {parameter.name!r} is not determined."
        for parameter in parameters
        if math.isnan(parameter.estimate)
    ]
    notes += [
        f"All limits of {parameter.name!r} from both groups' frequencies (MOVER) lie outside the possible values; "
        "these are its low and high."
        for parameter in parameters
        if parameter.from_parts
    ]
    if not possible:
        notes.append(
            "An estimate lies outside the possible values; its standard error is that of the unclipped estimate. "
            "See the constrained values."
        )
    return tuple(notes)


def _parameter(
    unknown: _Unknown,
    theta: Floats,
    covariance: Floats,
    fit: TwoBinomials,
    level: float,
    method: IntervalMethod,
    *,
    rare: bool,
) -> Parameter:
    """Return the estimate of one parameter; `rare`: a report came in too rarely for the normal interval."""
    if not unknown.determined(theta):
        return Parameter(
            name=unknown.name,
            estimate=math.nan,
            se=math.nan,
            low=math.nan,
            high=math.nan,
            shown=Shown(math.nan, 0.0, 1.0),
            constrained=None,
            interval="",
        )
    value, slope = unknown.value(theta), unknown.gradient(theta)
    se = math.sqrt(max(float(slope @ covariance @ slope), 0.0))
    margin = float(norm.isf((1 - level) / 2)) * se
    low, high = value - margin, value + margin
    constrained = None
    if unknown.determined(fit.peak):
        constrained = unknown.value(fit.peak)
    shown_low, shown_high = max(low, 0.0), min(high, 1.0)
    middle = min(max(value, 0.0), 1.0)
    if rare:
        low, high = fit.mover_interval(value, slope, level)
    outside = high < 0 or low > 1
    from_parts = rare and outside
    if from_parts:
        method = _MOVER
    if method.bounded or outside:
        start = middle
        if constrained is not None:
            start = min(max(constrained, 0.0), 1.0)
        shown_low, shown_high = fit.profile_interval(unknown.line, start, level)
        if not shown_low <= middle <= shown_high:
            middle = start
        if method.bounded:
            low, high = shown_low, shown_high
    return Parameter(
        name=unknown.name,
        estimate=value,
        se=se,
        low=low,
        high=high,
        shown=Shown(middle, shown_low, shown_high),
        constrained=constrained,
        interval=method.name,
        from_parts=from_parts,
    )


def _two(values: Sequence[Any], what: str) -> Sequence[Any]:
    if isinstance(values, str) or not hasattr(values, "__len__") or len(values) != 2:
        raise AnalysisError(f"{what}: exactly two expected, one per group, got {values!r}")
    return values


def _group(group: npt.ArrayLike, number: int) -> npt.NDArray[np.int64]:
    what = f"group {number}"
    counts = whole_numbers(in_order(group, 2, ("No", "Yes"), what), what)
    if counts.size != 2:
        raise AnalysisError(f"group {number}: two counts expected, No and Yes, got {counts.size}")
    if counts.sum() < 2:
        raise AnalysisError(
            f"group {number}: {int(counts.sum())} reports have no standard error", "at least 2 are needed"
        )
    return counts


def _probabilities(values: Pair, what: str) -> tuple[float, float]:
    numbers = []
    for position, value in enumerate(_two(values, what), 1):
        try:
            number = float(Fraction(value) if isinstance(value, str) else value)
        except (ValueError, TypeError, ZeroDivisionError):
            raise AnalysisError(
                f"{what}: {value!r} for group {position} is not a number", "write 0.75 or 3/4"
            ) from None
        if not 0 <= number <= 1:
            raise AnalysisError(
                f"{what}: {value!r} for group {position} is not a probability", "it lies between 0 and 1"
            )
        numbers.append(number)
    return numbers[0], numbers[1]
