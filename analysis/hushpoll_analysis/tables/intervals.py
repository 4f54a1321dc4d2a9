"""Intervals of the cells of a cross-table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.interval.combination import exact_limits
from hushpoll_analysis.interval.mover import BoundedEstimate, DecoyError, Mover, with_decoys
from hushpoll_analysis.interval.score import Drawn, Score, linear_score_limits
from hushpoll_analysis.interval.student import critical
from hushpoll_analysis.interval.wald import Wald

from .joint import JointReports, along_axes

MOST_NUMBERS = 4_000_000  # cells times joint reports: beyond, the score interval costs seconds and memory
MOST_TOGETHER = 4_000  # cells that are held together by exact limits, one after the other
BATCH = 200_000


def cell_limits(
    joint: JointReports, se: Floats, level: float, together: int = 1
) -> tuple[Floats, Floats, str]:
    """Lower and upper limits of every cell, and the method that gave them; Bonferroni over `together`.

    Under a sample design a cell counts as many answers as it is worth with equal weights, as in `effective_quantity`.
    """
    each_level = 1.0 - (1.0 - level) / together
    if joint.estimate.size * joint.counts.size > MOST_NUMBERS:
        half = critical(each_level, joint.freedom) * se
        return joint.estimate - half, joint.estimate + half, Wald.name
    exact = together > 1 and joint.estimate.size <= MOST_TOGETHER
    low, high = _limits(joint, each_level, exact)
    if not joint.decoys:
        return low, high, "clopper-pearson" if exact else Score.name
    return *_beside_decoys(joint, low, high, each_level), Mover.name


def _limits(joint: JointReports, level: float, exact: bool) -> tuple[Floats, Floats]:
    """Limits from the reports alone, in batches of cells."""
    cells = list(np.ndindex(*joint.estimate.shape))
    flat = joint.frequencies.reshape(-1)
    possible = np.flatnonzero(
        joint.functional([variable.view.possible.astype(float) for variable in joint.variables]).reshape(-1)
    )
    step = max(1, BATCH // max(1, possible.size))
    worth = None
    if joint.design is not None:
        worth = _worth(joint, exact)
    lows, highs = [], []
    for start in range(0, len(cells), step):
        batch = cells[start : start + step]
        rows = [
            joint.functional([matrix[k] for matrix, k in zip(joint.matrices, cell, strict=True)]).reshape(-1)
            for cell in batch
        ]
        weights = np.stack(rows)[:, possible]
        frequencies = np.broadcast_to(flat[possible], weights.shape)
        sizes = _sizes(joint, weights, frequencies, worth, batch, level)
        if exact:
            low, high = exact_limits(weights, frequencies, sizes, level)
        else:
            population = _drawn(joint, rows, possible)
            low, high = linear_score_limits(weights, frequencies, sizes, level, population)
        lows.append(low)
        highs.append(high)
    shape = joint.estimate.shape
    return np.concatenate(lows).reshape(shape), np.concatenate(highs).reshape(shape)


def _worth(joint: JointReports, exact: bool) -> Sequence[Floats]:
    """Return every cell's variance as if the population had no end, and for exact limits also as it is.

    The score test takes what a finite population makes smaller at each value that it tries.
    """
    assert joint.design is not None
    finite = exact and joint.design.fractions is not None
    return [joint.report_variances(finite_part) for finite_part in ((True, False) if finite else (False,))]


def _drawn(joint: JointReports, rows: Sequence[Floats], possible: npt.NDArray[np.intp]) -> Drawn | None:
    """Return the finite population of some cells, whose weights on the joint reports are `rows`."""
    if joint.design is None or joint.design.fractions is None:
        return None
    influence = [row.reshape(1, *joint.counts.shape) for row in rows]
    noise = np.stack([joint.noise_by_report(row)[possible, 0, 0] for row in influence])
    least = np.array([max(float(joint.noise_by_truth(row).min()), 0.0) for row in influence])
    return Drawn(np.full(len(rows), joint.design.sampling_fraction), noise, least)


def _sizes(
    joint: JointReports,
    weights: Floats,
    frequencies: Floats,
    variances: Sequence[Floats] | None,
    cells: Sequence[tuple[int, ...]],
    level: float,
) -> Floats:
    """Return how many equal answers each cell is worth, made fewer by (z/t)^2 for the design's degrees of freedom."""
    design = joint.design
    if design is None or variances is None:
        return np.full(len(weights), float(joint.n))
    means = np.einsum("ij,ij->i", weights, frequencies)
    spread = np.einsum("ij,ij,ij->i", weights, weights, frequencies) - means**2
    # What a finite population makes smaller, the linearised variance decides alone; it makes no answer worth less.
    most = math.inf
    if len(variances) == 1:
        most = design.effective_n
    worth = np.zeros(len(weights))
    for table in variances:
        variance = np.array([table[cell] for cell in cells])
        varies = (variance > 0.0) & (spread > 1e-15)
        worth = np.maximum(worth, np.where(varies, spread / np.where(varies, variance, 1.0), float(joint.n)))
    shrink = critical(level) / critical(level, design.degrees_of_freedom)
    return np.asarray(np.maximum(np.minimum(worth, most), 2.0) * shrink**2, dtype=np.float64)


def _beside_decoys(joint: JointReports, low: Floats, high: Floats, level: float) -> tuple[Floats, Floats]:
    """Join the limits from the reports with those of the decoys' own polls."""
    errors = []
    for axis, _ in joint.decoys:
        decoy = joint.variables[axis].counted_decoy
        assert decoy is not None
        slope = dict(joint.decoys)[axis].slope
        matrices = [*joint.matrices[:axis], slope, *joint.matrices[axis + 1 :]]
        errors.append((decoy, along_axes(joint.frequencies, matrices)))
    lows, highs = np.empty_like(low), np.empty_like(high)
    for cell in np.ndindex(*low.shape):
        moves = [DecoyError.of(decoy, float(slopes[cell]), level) for decoy, slopes in errors]
        estimate = BoundedEstimate(float(joint.estimate[cell]), float(low[cell]), float(high[cell]))
        lows[cell], highs[cell] = with_decoys(estimate, moves)
    return lows, highs
