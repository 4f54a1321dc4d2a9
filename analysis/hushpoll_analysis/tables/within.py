"""The share of one answer within one group, or of one variable, with the interval that fits how it was sampled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.decoy import estimated_decoy
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.interval.effective import effective_quantity
from hushpoll_analysis.interval.quantity import Quantity, quantity
from hushpoll_analysis.sample.row_designs import RowDesigns

from .group_ratio import GroupRatio, group_ratio
from .joint import JointReports

COLUMNS = ("estimate", "se", "low", "high", "shown_low", "shown_high", "interval", "note")


@dataclass(frozen=True, eq=False)
class TableShare:
    """One estimated share with its standard error; `note` says why there is none.

    Attributes
    ----------
    quantity
        What the interval is made from: all reports, or those of an exact group, at their effective size under a sample
        design. None for a randomized group, whose share is a ratio.
    ratio
        What the interval is made from in a randomized group where a joint report is scarce; None elsewhere.
    """

    estimate: float
    se: float
    note: str
    joint: JointReports
    quantity: Quantity | None = None
    ratio: GroupRatio | None = None


def shown_limits(estimate: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Cut intervals to [0, 1]; one that lies wholly outside becomes the likelihood interval inside.

    With estimate e < 0 and half-width h the normal likelihood on [0, 1] is largest at 0, and the shares p whose
    likelihood ratio is within the level have (p - e)^2 - e^2 <= h^2: p <= e + sqrt(e^2 + h^2). Above 1 likewise.
    """
    middle, lower, upper = (
        np.ravel(np.asarray(values, dtype=np.float64)) for values in (estimate, low, high)
    )
    half = (upper - lower) / 2.0
    upper = np.where(upper < 0.0, middle + np.hypot(middle, half), upper)
    lower = np.where(lower > 1.0, middle - np.hypot(middle - 1.0, half), lower)
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def share_of(joint: JointReports, axis: int, option: int) -> TableShare:
    """Return the share of one answer of one variable among all respondents."""
    return share_with(joint, axis, option, joint.mean({axis: option}), share_error(joint, axis, option))


def share_with(joint: JointReports, axis: int, option: int, estimate: float, error: float) -> TableShare:
    """Return that share where its estimate and standard error are known; the others may not be determined."""
    axes = tuple(other for other in range(joint.counts.ndim) if other != axis)
    frequencies = joint.frequencies.sum(axis=axes) * joint.n
    return _table_share(
        joint, axis, option=option, estimate=estimate, error=error, counts=frequencies, position=None
    )


def share_error(joint: JointReports, axis: int, option: int) -> float:
    """Return the standard error of the share of one answer of one variable."""
    rows: list[Floats | None] = [None] * joint.counts.ndim
    rows[axis] = joint.matrices[axis][option]
    estimate = joint.mean({axis: option})
    slopes = joint.mean_slopes({axis: option})[:, None]
    variance = joint.covariance((joint.functional(rows) - estimate)[None], slopes)[0, 0]
    return math.sqrt(max(variance, 0.0))


def within_group(
    joint: JointReports,
    position: tuple[int, int],
    outcome: int,
    option: int,
    figures: tuple[float, float],
    note: str,
) -> TableShare:
    """Return one answer's share of the outcome within group `places` = (axis, number), from estimate and variance."""
    group, number = position
    estimate, error = figures[0], math.sqrt(figures[1])
    if note:
        return TableShare(estimate, error, note, joint)
    if joint.variables[group].randomized:
        ratio = group_ratio(joint, position, outcome, option, figures[1])
        return TableShare(estimate, error, "", joint, ratio=ratio)
    axes = tuple(axis for axis in range(joint.counts.ndim) if axis not in (group, outcome))
    table = joint.frequencies.sum(axis=axes) * joint.n
    if group < outcome:
        counts = table[number]
    else:
        counts = table[:, number]
    return _table_share(
        joint, outcome, option=option, estimate=estimate, error=error, counts=counts, position=position
    )


def _table_share(
    joint: JointReports,
    axis: int,
    option: int,
    estimate: float,
    error: float,
    counts: Floats,
    position: tuple[int, int] | None,
) -> TableShare:
    """Choose how the interval is made from what carries the estimate."""
    variable = joint.variables[axis]
    view, target, decoy = variable.view, variable.view.unit(option), variable.counted_decoy
    number = None
    if isinstance(view, StackedView):
        number = view.alone(counts)
    if number is not None and isinstance(view, StackedView) and isinstance(variable.source, RowDesigns):
        # All of them went through one design: its own channel has the better intervals.
        counts, source = view.part(counts, number), variable.source.designs[number]
        view = view.blocks[number]
        decoy = None
        if isinstance(source, Mechanism):
            decoy = estimated_decoy(source)
    if joint.design is None:
        report_counts = np.rint(counts).astype(np.int64)
        quantity_of_share = quantity(
            view, report_counts, target, view.shares(report_counts / report_counts.sum()), decoy
        )
        return TableShare(estimate, error, "", joint, quantity_of_share)
    frequencies = counts / counts.sum()
    drift = 0.0
    if decoy is not None:
        drift = decoy.slope(view.shares(frequencies), view.solution(target)) ** 2 * decoy.variance
    variance = max(error**2 - drift, 0.0)
    plain = None
    if joint.design.fractions is not None:
        # The same statistic without a finite population, which cannot make an answer worth less.
        weights = view.solution(target)
        plain = float((weights - weights @ frequencies) ** 2 @ frequencies) / _kish_of(joint, position)
    quantity_of_share = effective_quantity(
        view,
        frequencies,
        target=target,
        decoy=decoy,
        variance=variance,
        kish=_kish(joint, position),
        n=float(counts.sum()),
        plain=plain,
        sampling_fraction=joint.design.sampling_fraction,
    )
    return TableShare(estimate, error, "", joint, quantity_of_share)


def _kish(joint: JointReports, position: tuple[int, int] | None) -> float:
    """Return the most answers that a share can be worth; no limit where the population is finite."""
    assert joint.design is not None
    # The linearised variance, which a finite population makes smaller, then decides alone.
    if joint.design.fractions is not None:
        return math.inf
    return _kish_of(joint, position)


def _kish_of(joint: JointReports, position: tuple[int, int] | None) -> float:
    """Return (sum w)^2 / sum w^2 of all respondents, or of one group."""
    assert joint.design is not None
    weights, squared = joint.design.weights, joint.design.squared
    if position is not None:
        assert joint.codes is not None
        mine = joint.codes[position[0]] == position[1]
        weights, squared = weights[mine], squared[mine]
    return float(weights.sum() ** 2 / np.sum(squared))
