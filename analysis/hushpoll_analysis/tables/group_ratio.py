"""The share of an answer within a randomized group: a ratio of two estimates, with its score interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.interval.adaptive import scarce
from hushpoll_analysis.interval.base import IntervalMethod, ManyLimits
from hushpoll_analysis.interval.mover import BoundedEstimate, DecoyError, Mover, with_decoys
from hushpoll_analysis.interval.score import Score
from hushpoll_analysis.interval.score_ratio import RatioDrawn, ratio_score_limits

from .joint import JointReports

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
    noise: Floats | None = None
    """In a finite population Var(a), Cov(a, c) and Var(c) given the truth, by report; `truths` by true answer."""
    truths: Floats | None = None

    @property
    def method(self) -> IntervalMethod:
        """The method of the interval."""
        if self.slopes.size:
            return Mover()
        return Score()


def group_ratio(
    joint: JointReports, position: tuple[int, int], outcome: int, option: int, variance: float
) -> GroupRatio | None:
    """Return the ratio p_gk / p_g of group `places` = (axis, number) where a joint report is scarce.

    None elsewhere: where all came in often the normal interval holds.
    """
    if joint.counts.size > MOST_REPORTS:
        return None
    group, number = position
    rows: list[Floats | None] = [None] * joint.counts.ndim
    rows[group] = joint.matrices[group][number]
    bottom = joint.functional(rows)
    rows[outcome] = joint.matrices[outcome][option]
    top = joint.functional(rows)
    both = {group: number, outcome: option}
    group_share = joint.mean({group: number})
    estimate = joint.mean(both) / group_share
    slopes = (joint.mean_slopes(both) - estimate * joint.mean_slopes({group: number})) / group_share
    drift = sum(slope**2 * decoy.variance for slope, (_, decoy) in zip(slopes, joint.decoys, strict=True))
    size = _size(joint, (top - estimate * bottom) / group_share, max(variance - float(drift), 0.0))
    possible = joint.functional([variable.view.possible.astype(float) for variable in joint.variables]) != 0.0
    frequencies = joint.frequencies[possible]
    if not any(scarce(expected, size) for expected in (frequencies * size).tolist()):
        return None
    if joint.design is None or joint.design.fractions is None:
        (first, second), summed = _merged(np.stack([top[possible], bottom[possible]]), frequencies)
        return GroupRatio(joint, first, second, summed, size, slopes)
    both_weights = np.stack([top, bottom])
    noise, truths = (
        np.stack([weights[:, 0, 0], weights[:, 0, 1], weights[:, 1, 1]])
        for weights in (joint.noise_by_report(both_weights), joint.noise_by_truth(both_weights))
    )
    table = np.concatenate([both_weights[:, possible], noise[:, possible.reshape(-1)]])
    table, summed = _merged(table, frequencies)
    return GroupRatio(
        joint,
        table[0],
        bottom=table[1],
        frequencies=summed,
        size=size,
        slopes=slopes,
        noise=table[2:],
        truths=truths,
    )


def _merged(pairs: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
    """Put reports with the same weights, a column each, together: the test depends on their sum alone."""
    scale = np.max(np.abs(pairs), axis=1, keepdims=True) * SAME
    _, first, group = np.unique(
        np.round(pairs / np.where(scale > 0.0, scale, 1.0)), axis=1, return_index=True, return_inverse=True
    )
    summed = np.asarray(np.bincount(group.reshape(-1), frequencies), dtype=np.float64)
    return pairs[:, first], summed


def _size(joint: JointReports, influence: Floats, variance: float) -> float:
    """Return how many equal answers the ratio is worth, as cells do: no more than Kish's where nothing is finite."""
    design = joint.design
    if design is None:
        return float(joint.n)
    spread = float(np.sum(influence**2 * joint.frequencies))
    if design.fractions is not None:
        # The test takes what a finite population makes smaller at each ratio that it tries.
        alone = replace(joint, design=design.without_population)
        variance = float(alone.covariance(influence[None])[0, 0])
    if variance > 0.0 and spread > 1e-15:
        worth = spread / variance
    else:
        worth = float(joint.n)
    return max(min(worth, design.effective_n), 2.0)


def ratios_together(ratios: Sequence[GroupRatio]) -> ManyLimits:
    """Return the limits of many ratios with as many reports; effective answers are fewer by the factor's square."""
    top, bottom, frequencies = (
        np.stack([getattr(ratio, name) for ratio in ratios]) for name in ("top", "bottom", "frequencies")
    )
    sizes = np.array([ratio.size for ratio in ratios])
    population = _drawn(ratios)

    def at(levels: Floats, shrink: Floats) -> tuple[Floats, Floats]:
        low, high = ratio_score_limits(top, bottom, frequencies, sizes * shrink**2, levels, population)
        for k, ratio in enumerate(ratios):
            if ratio.slopes.size:
                low[k], high[k] = _beside_decoys(ratio, float(low[k]), float(high[k]), float(levels[k]))
        return low, high

    return at


def _drawn(ratios: Sequence[GroupRatio]) -> RatioDrawn | None:
    """Return the finite populations of some ratios, which all have one or none."""
    noise = [ratio.noise for ratio in ratios if ratio.noise is not None]
    truths = [ratio.truths for ratio in ratios if ratio.truths is not None]
    if not noise:
        return None
    most = max(truth.shape[1] for truth in truths)
    fractions = [
        0.0 if ratio.joint.design is None else ratio.joint.design.sampling_fraction for ratio in ratios
    ]
    # As many columns for all: one more of the last true answer changes no minimum.
    padded = [np.pad(truth, ((0, 0), (0, most - truth.shape[1])), mode="edge") for truth in truths]
    return RatioDrawn(np.array(fractions), np.stack(noise), np.stack(padded))


def _beside_decoys(ratio: GroupRatio, low: float, high: float, level: float) -> tuple[float, float]:
    """Join the limits from the reports with those of the decoys' own polls."""
    estimate = float(ratio.top @ ratio.frequencies) / float(ratio.bottom @ ratio.frequencies)
    moves = []
    for (axis, _), slope in zip(ratio.joint.decoys, ratio.slopes.tolist(), strict=True):
        decoy = ratio.joint.variables[axis].counted_decoy
        assert decoy is not None
        moves.append(replace(DecoyError.of(decoy, slope, level), bend=0.0))
    return with_decoys(BoundedEstimate(estimate, low, high), moves)
