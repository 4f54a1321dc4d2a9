"""Intervals of the cells of a cross-table."""

from __future__ import annotations

import numpy as np

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.shares.interval.score import Score, linear_score_limits
from hushpoll_analysis.shares.interval.wald import Wald

from .joint import JointReports
from .within import quantile

__all__ = ["cell_limits"]

MOST_NUMBERS = 4_000_000  # cells times joint reports: beyond, the score interval costs seconds and memory
BATCH = 200_000


def cell_limits(
    joint: JointReports, se: Floats, level: float, together: int = 1
) -> tuple[Floats, Floats, str]:
    """Lower and upper limits of every cell, and the method that gave them; Bonferroni over `together`."""
    each = 1.0 - (1.0 - level) / together
    if joint.design is None and not joint.decoys and joint.estimate.size * joint.counts.size <= MOST_NUMBERS:
        return *_score(joint, each), Score.name
    half = quantile(joint, each) * se
    return joint.estimate - half, joint.estimate + half, Wald.name


def _score(joint: JointReports, level: float) -> tuple[Floats, Floats]:
    """Score limits, in batches of cells."""
    cells = list(np.ndindex(*joint.estimate.shape))
    flat = joint.frequencies.reshape(-1)
    possible = np.flatnonzero(
        joint.functional([one.view.possible.astype(float) for one in joint.variables]).reshape(-1)
    )
    step = max(1, BATCH // max(1, possible.size))
    lows, highs = [], []
    for start in range(0, len(cells), step):
        rows = [
            joint.functional([matrix[k] for matrix, k in zip(joint.matrices, cell, strict=True)]).reshape(-1)
            for cell in cells[start : start + step]
        ]
        weights = np.stack(rows)[:, possible]
        low, high = linear_score_limits(
            weights, np.broadcast_to(flat[possible], weights.shape), joint.n, level
        )
        lows.append(low)
        highs.append(high)
    shape = joint.estimate.shape
    return np.concatenate(lows).reshape(shape), np.concatenate(highs).reshape(shape)
