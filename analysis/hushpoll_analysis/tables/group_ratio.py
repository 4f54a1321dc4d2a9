"""The share of an answer within a randomized group: a ratio of two estimates, with its score interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.shares.interval.adaptive import scarce
from hushpoll_analysis.shares.interval.base import ManyLimits
from hushpoll_analysis.shares.interval.mover import DecoyError, Mover, Part, with_decoys
from hushpoll_analysis.shares.interval.score import Score
from hushpoll_analysis.shares.interval.score_ratio import ratio_score_limits

from .joint import JointReports

__all__ = ["GroupRatio", "group_ratio", "ratios_together"]

SAME = 1e-9  # weights nearer than this, relative to the largest, are one
MOST_REPORTS = 100_000  # joint reports beyond which the score interval costs seconds and memory


@dataclass(frozen=True, eq=False)
class GroupRatio:
    """The weights of the possible joint reports in p_gk and p_g, and how many equal answers they are worth.

    `slopes` says how the ratio moves with each estimated decoy share.
    """

    joint: JointReports
    top: Floats
    bottom: Floats
    frequencies: Floats
    size: float
    slopes: Floats

    @property
    def method(self) -> str:
        """Name the method of the interval."""
        return Mover.name if self.slopes.size else Score.name


def group_ratio(
    joint: JointReports, places: tuple[int, int], outcome: int, option: int, variance: float
) -> GroupRatio | None:
    """Give the ratio p_gk / p_g of group `places` = (axis, number) where a joint report is scarce.

    None elsewhere: where all came in often the normal interval holds.
    """
    if joint.counts.size > MOST_REPORTS:
        return None
    group, number = places
    rows: list[Floats | None] = [None] * joint.counts.ndim
    rows[group] = joint.matrices[group][number]
    bottom = joint.functional(rows)
    rows[outcome] = joint.matrices[outcome][option]
    top = joint.functional(rows)
    both = {group: number, outcome: option}
    whole = joint.mean({group: number})
    estimate = joint.mean(both) / whole
    slopes = (joint.mean_slopes(both) - estimate * joint.mean_slopes({group: number})) / whole
    drift = sum(slope**2 * decoy.variance for slope, (_, decoy) in zip(slopes, joint.decoys, strict=True))
    size = _size(joint, (top - estimate * bottom) / whole, max(variance - float(drift), 0.0))
    possible = joint.functional([one.view.possible.astype(float) for one in joint.variables]) != 0.0
    frequencies = joint.frequencies[possible]
    if not any(scarce(one, size) for one in (frequencies * size).tolist()):
        return None
    return GroupRatio(joint, *_merged(top[possible], bottom[possible], frequencies), size, slopes)


def _merged(top: Floats, bottom: Floats, frequencies: Floats) -> tuple[Floats, Floats, Floats]:
    """Put reports with the same weights together: the test depends on their sum alone."""
    pairs = np.stack([top, bottom])
    scale = np.max(np.abs(pairs), axis=1, keepdims=True) * SAME
    _, first, group = np.unique(
        np.round(pairs / np.where(scale > 0.0, scale, 1.0)), axis=1, return_index=True, return_inverse=True
    )
    summed = np.asarray(np.bincount(group.reshape(-1), frequencies), dtype=np.float64)
    return top[first], bottom[first], summed


def _size(joint: JointReports, influence: Floats, variance: float) -> float:
    """Give how many equal answers the ratio is worth, as cells do: no more than Kish's where nothing is finite."""
    design = joint.design
    if design is None:
        return float(joint.n)
    spread = float(np.sum(influence**2 * joint.frequencies))
    variances = [variance]
    if design.fractions is not None:
        alone = replace(joint, design=design.without_population)
        variances.append(float(alone.covariance(influence[None])[0, 0]))
    known = [spread / one for one in variances if one > 0.0 and spread > 1e-15]
    worth = max(known, default=float(joint.n))
    return max(worth if design.fractions is not None else min(worth, design.effective_n), 2.0)


def ratios_together(ratios: Sequence[GroupRatio]) -> ManyLimits:
    """Give the limits of many ratios with as many reports; effective answers are fewer by the factor's square."""
    top, bottom, frequencies = (
        np.stack([getattr(one, name) for one in ratios]) for name in ("top", "bottom", "frequencies")
    )
    sizes = np.array([one.size for one in ratios])

    def at(levels: Floats, shrink: Floats) -> tuple[Floats, Floats]:
        low, high = ratio_score_limits(top, bottom, frequencies, sizes * shrink**2, levels)
        for k, one in enumerate(ratios):
            if one.slopes.size:
                low[k], high[k] = _beside_decoys(one, float(low[k]), float(high[k]), float(levels[k]))
        return low, high

    return at


def _beside_decoys(ratio: GroupRatio, low: float, high: float, level: float) -> tuple[float, float]:
    """Join the limits from the reports with those of the decoys' own polls."""
    estimate = float(ratio.top @ ratio.frequencies) / float(ratio.bottom @ ratio.frequencies)
    moves = []
    for (axis, _), slope in zip(ratio.joint.decoys, ratio.slopes.tolist(), strict=True):
        decoy = ratio.joint.variables[axis].counted_decoy
        assert decoy is not None
        moves.append(replace(DecoyError.of(decoy, slope, level), bend=0.0))
    return with_decoys(Part(estimate, low, high), moves)
