"""What reports say of one option or of one member alone, where a report speaks of several at once.

A set of options says of every option whether it holds it; openly sampled answers say of each member asked what its
answer may be. Each marginal is a small channel: from the true answer about one option to what the reports
say about it. Estimates, tables and models take a part like any other randomized column.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from hushpoll_client import Channel


@dataclass(frozen=True)
class Marginal:
    """One option of a set, or one member of a sample.

    Attributes
    ----------
    members : tuple of int
        The option or member it is about; two of them for a pair.
    channel : Channel
        From the true answer to what a report says: No and Yes for an option.
    asked : float
        The share of all reports that say something about it.
    cells : slice
        Its counts among the counts of the question.
    """

    members: tuple[int, ...]
    channel: Channel
    asked: float
    cells: slice

    def counts(self, cells: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the counts of its reports."""
        return cells[..., self.cells]


def yes_no_part(option: int, otherwise: Fraction, held: Fraction) -> Marginal:
    """Return the part of one option: the chance that a report names it if it is not true, and if it is."""
    channel = Channel.from_probabilities([[1 - otherwise, otherwise], [1 - held, held]])
    return Marginal((option,), channel, 1.0, slice(2 * option, 2 * option + 2))
