"""Several channels side by side: each respondent went through one of them, and the report says through which.

With a share f_g of the respondents in design g, the rows f_1 C_1, f_2 C_2, ... put together are one channel. For this
one b = (b_1, b_2, ...) with C_g b_g = a is unbiased for a.h whatever the shares f_g are, also where the groups differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .base import ChannelView, Codes, Floats


class StackedView(ChannelView):
    """The channel of a mixed sample; report z of design g has the code `offsets[g]` + z."""

    def __init__(self, blocks: Sequence[ChannelView], fractions: npt.ArrayLike) -> None:
        self.blocks = tuple(blocks)
        self.fractions: Floats = np.asarray(fractions, dtype=np.float64)
        self.options = self.blocks[0].options
        sizes = [block.outcomes for block in self.blocks]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self.outcomes = int(sum(sizes))
        self.choice = "respondents"

    @cached_property
    def _inverse(self) -> Floats:
        # Made when shares are asked for: channels that tell a mean only have none.
        return np.concatenate([block.shares(np.eye(block.outcomes)) for block in self.blocks])

    def part(self, values: npt.NDArray[np.generic], number: int) -> Floats:
        """Return what belongs to one design (last axis)."""
        start = int(self.offsets[number])
        return np.asarray(values[..., start : start + self.blocks[number].outcomes])

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        return np.concatenate([block.possible for block in self.blocks])

    def forward(self, shares: Floats) -> Floats:
        parts = [
            fraction * block.forward(shares)
            for block, fraction in zip(self.blocks, self.fractions, strict=True)
        ]
        return np.concatenate(parts, axis=-1)

    def backward(self, values: Floats) -> Floats:
        parts = [
            fraction * block.backward(self.part(values, number))
            for number, (block, fraction) in enumerate(zip(self.blocks, self.fractions, strict=True))
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.float64)

    def solution(self, target: npt.ArrayLike) -> Floats:
        return np.concatenate([block.solution(target) for block in self.blocks])

    def by_report(self, number: Callable[[ChannelView, Floats], Floats], weights: Floats) -> Floats:
        # Who was asked directly has no noise, whatever the others have: never the mean over the designs.
        return np.concatenate(
            [
                block.by_report(number, self.part(weights, block_number))
                for block_number, block in enumerate(self.blocks)
            ]
        )

    @property
    def tables(self) -> tuple[Floats, ...]:
        result = np.zeros((len(self.blocks), self.options, self.outcomes))
        for number, block in enumerate(self.blocks):
            self.part(result[number], number)[:] = block.backward(np.eye(block.outcomes)).T
        return tuple(result)

    @property
    def design_of(self) -> npt.NDArray[np.int64]:
        return np.repeat(np.arange(len(self.blocks)), [block.outcomes for block in self.blocks])

    def shares(self, frequencies: Floats) -> Floats:
        return np.asarray(frequencies @ self._inverse, dtype=np.float64)

    def codes(self, reports: Codes, design: Codes) -> npt.NDArray[np.int64]:
        """Return number the reports through: one code for each pair of design and report."""
        return np.asarray(self.offsets[design] + reports, dtype=np.int64)

    def alone(self, counts: npt.NDArray[np.generic]) -> int | None:
        """Return the design that all these reports came through; None where there are several."""
        seen = [number for number in range(len(self.blocks)) if np.any(self.part(counts, number))]
        if len(seen) == 1:
            return seen[0]
        return None
