"""The correction of one statistic for careless answers, by Fieller's theorem.

An observed statistic is p = (1 - r) pi + r c where a share r of the respondents answers at random and gives c on
average. An anchor, whose true share is pi_0, tells r = (p_0 - pi_0)/(1/K_0 - pi_0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.estimates import IntervalEstimate, Shown, shown_share
from hushpoll_analysis.interval.student import critical
from hushpoll_analysis.sample.columns import Variable
from hushpoll_analysis.tables.joint import JointReports
from hushpoll_analysis.tables.many import ManyShares
from hushpoll_analysis.tables.within import share_with

LEAST = 1e-9
ROUNDING = 1e-24  # a variance that is no more than what is left of 0


@dataclass(frozen=True, kw_only=True)
class Careless(IntervalEstimate):
    """The share of respondents who answered at random; `shown` within [0, 1]."""

    shown: Shown


class Anchor(NamedTuple):
    """The answer of the anchor whose share is known, and by how much one observed share moves the careless share."""

    place: int
    share: float
    slope: float


@dataclass(frozen=True, kw_only=True)
class AnchoredShare(IntervalEstimate):
    """The share of one answer, or the mean, corrected; `uncorrected` takes every answer for careful."""

    figures_follow = "uncorrected_se"

    option: Any
    uncorrected: float
    uncorrected_se: float
    shown: Shown


def read_anchor(variable: Variable, share: float, option: Any) -> Anchor:
    """Check the anchor's known share; by default that of Yes."""
    share, position = _known_share(share), _one_option(variable, option)
    chance = 1.0 / len(variable.labels)
    if abs(chance - share) < LEAST:
        raise NotIdentifiedError(
            f"the anchor's known share {share:g} is what careless people give too, so it cannot tell them apart",
            "take a question whose share is near 0 or 1",
        )
    return Anchor(position, share, 1.0 / (chance - share))


def careless_of(joint: JointReports, anchor: Anchor, level: float) -> Careless:
    """Estimate the careless share from the last variable alone; its interval is that of the anchor's share."""
    axis = len(joint.variables) - 1
    row = joint.variables[axis].weights[anchor.place]
    mean, influence = _statistic(joint, axis, row)
    slopes = _slopes(joint, {axis: anchor.place})[:, [axis]]
    variance = float(joint.covariance(influence[None], slopes)[0, 0])
    ends = _share_limits(joint, (axis, anchor.place), mean, variance, level)
    return _careless((mean - anchor.share) * anchor.slope, variance * anchor.slope**2, anchor, ends)


def corrected_share(
    joint: JointReports, option: int, anchor: Anchor, chance: float, level: float
) -> tuple[Careless, AnchoredShare]:
    """Correct the share of one answer of the first variable; careless people give it with this chance."""
    question = joint.variables[0]
    careless, share = _corrected_by(joint, question.weights[option], option, anchor, chance, level)
    return careless, replace(share, option=question.labels[option])


def corrected_mean(
    joint: JointReports, values: Floats, anchor: Anchor, chance: float, level: float
) -> tuple[Careless, AnchoredShare]:
    """Correct the mean of the first variable, whose answers are these numbers."""
    return _corrected_by(joint, joint.variables[0].view.solution(values), None, anchor, chance, level)


def _corrected_by(
    joint: JointReports, row: Floats, option: int | None, anchor: Anchor, chance: float, level: float
) -> tuple[Careless, AnchoredShare]:
    pairs = [_statistic(joint, 0, row), _statistic(joint, 1, joint.variables[1].weights[anchor.place])]
    slopes = _slopes(joint, {1: anchor.place} if option is None else {0: option, 1: anchor.place})
    covariance = joint.covariance(np.stack([influence for _, influence in pairs]), slopes)
    rate = (pairs[1][0] - anchor.share) * anchor.slope
    of_rate, mixed = float(covariance[1, 1]) * anchor.slope**2, float(covariance[0, 1]) * anchor.slope
    variance, of_anchor, z = float(covariance[0, 0]), float(covariance[1, 1]), critical(level, joint.freedom)
    ends = _share_limits(joint, (1, anchor.place), pairs[1][0], of_anchor, level)
    corrected = _corrected(chance, pairs[0][0], rate, (variance, of_rate, mixed), z)
    careless = _careless(rate, of_rate, anchor, ends)
    if min(variance, of_anchor) > ROUNDING:
        return careless, corrected
    # All reports of one are the same: its limits stand for z standard errors, and nothing is known of a covariance.
    if of_anchor <= ROUNDING:
        of_rate = _width(ends, z) * anchor.slope**2
    if variance <= ROUNDING and option is not None:
        variance = _width(_share_limits(joint, (0, option), pairs[0][0], variance, level), z)
    wide = _corrected(chance, pairs[0][0], rate, (variance, of_rate, 0.0), z)
    return careless, replace(wide, uncorrected_se=corrected.uncorrected_se, se=corrected.se)


def _share_limits(
    joint: JointReports, position: tuple[int, int], share: float, variance: float, level: float
) -> tuple[float, float]:
    """Return the limits of the observed share of an answer, `place` = (axis, number), as `estimate` has them."""
    share_of_answer = share_with(joint, *position, share, math.sqrt(max(variance, 0.0)))
    low, high = ManyShares([share_of_answer]).at(np.array([level]))
    return float(low[0]), float(high[0])


def _width(ends: tuple[float, float], z: float) -> float:
    """Return the variance that limits stand for."""
    return ((ends[1] - ends[0]) / (2.0 * z)) ** 2


def _statistic(joint: JointReports, axis: int, row: Floats) -> tuple[float, Floats]:
    """Return the mean of one variable's report weights, and what each joint report adds to it."""
    rows: list[Floats | None] = [None] * len(joint.variables)
    rows[axis] = row
    weights = joint.functional(rows)
    mean = float(np.sum(weights * joint.frequencies))
    return mean, weights - mean


def _slopes(joint: JointReports, answers: dict[int, int]) -> Floats:
    """Return how the share of the named answer of each variable moves with each estimated decoy share."""
    result = np.zeros((len(joint.decoys), len(joint.variables)))
    for number, (axis, decoy) in enumerate(joint.decoys):
        if axis in answers:
            rows: list[Floats | None] = [None] * len(joint.variables)
            rows[axis] = decoy.slope[answers[axis]]
            result[number, axis] = float(np.sum(joint.functional(rows) * joint.frequencies))
    return result


def _known_share(share: float) -> float:
    try:
        value = float(share)
    except (TypeError, ValueError):
        value = math.nan
    if isinstance(share, bool) or not 0.0 <= value <= 1.0:
        raise AnalysisError(
            f"the anchor's share is {share!r}", "give its known true share, a proportion from 0 to 1"
        )
    return value


def _one_option(variable: Variable, option: Any) -> int:
    if option is not None:
        return variable.position(option)
    if len(variable.labels) != 2:
        raise AnalysisError(
            f"the anchor {variable.name} has {len(variable.labels)} answers",
            "name the one whose share is known with anchor_option=",
        )
    return 1


def _careless(rate: float, variance: float, anchor: Anchor, ends: tuple[float, float]) -> Careless:
    """Move the limits of the anchor's share to the careless share, which is linear in it."""
    low, high = sorted((end - anchor.share) * anchor.slope for end in ends)
    return Careless(
        estimate=rate,
        se=math.sqrt(max(variance, 0.0)),
        low=low,
        high=high,
        shown=shown_share(rate, low, high),
    )


def _corrected(
    chance: float, p: float, rate: float, variances: tuple[float, float, float], z: float
) -> AnchoredShare:
    """Solve (p - c - a (1 - r))^2 <= z^2 (V_p + a^2 V_r + 2 a C) for a = pi - c."""
    own_variance, of_rate, mixed = map(float, variances)
    careful, gap = 1.0 - rate, p - chance
    square = careful**2 - z * z * of_rate
    half = gap * careful + z * z * mixed
    free = gap**2 - z * z * own_variance
    if square <= 0.0:
        low, high = -math.inf, math.inf
    else:
        root = math.sqrt(max(half * half - square * free, 0.0))
        low, high = chance + (half - root) / square, chance + (half + root) / square
    best = math.nan
    if careful > 0.0:
        best = chance + gap / careful
    away = best - chance
    variance = math.nan
    if careful > 0.0:
        variance = (own_variance + away**2 * of_rate + 2.0 * away * mixed) / careful**2
    if not math.isnan(variance):
        error = math.sqrt(max(variance, 0.0))
    else:
        error = math.nan
    return AnchoredShare(
        option="mean",
        uncorrected=p,
        uncorrected_se=math.sqrt(max(own_variance, 0.0)),
        estimate=best,
        se=error,
        low=low,
        high=high,
        shown=shown_share(best, low, high),
    )
