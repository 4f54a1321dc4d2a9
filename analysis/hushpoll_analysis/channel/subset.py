"""Sets of options: bitmaps, drawn and counted eight options to the byte."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client.channel.subset import SubsetChannel

from hushpoll_analysis.errors import AnalysisError

from .base import Answers, Codes, Sampler, Source, draws_below, first_true, small_draws_below
from .parts import Part, yes_no_part

__all__ = ["SubsetSampler"]

# Rows whose options are shuffled together: their places stay in the processor's cache.
ROWS = 1 << 10
# Reports whose bits are counted together.
COUNTED = 1 << 13
# The number of bits of each byte.
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)


class SubsetSampler(Sampler):
    """A report is a row of bytes, option 0 the lowest bit of the first."""

    def __init__(self, channel: SubsetChannel) -> None:
        self.options = channel.options
        self.channel = channel
        self.width = -(-channel.options // 8)
        self.cells = 2 * channel.options
        self.digits = -(-channel.options // 4)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        one = yes_no_part(0, *self.channel.member(0))
        return tuple(
            Part((option,), one.channel, 1.0, slice(2 * option, 2 * option + 2))
            for option in range(self.options)
        )

    def read(self, values: npt.NDArray[Any]) -> tuple[Codes, int | None]:
        """Take hexadecimal text, or the bytes of a stored record."""
        if values.dtype.kind == "V":
            packed = np.frombuffer(values.tobytes(), dtype=np.uint8).reshape(len(values), self.width)
        else:
            packed = self._from_text(values)
        wrong = _ONES[packed].sum(axis=1, dtype=np.int64) != self.channel.size
        if self.options % 8:
            wrong |= packed[:, -1] >> (self.options % 8) != 0
        return packed, first_true(wrong)

    def _from_text(self, values: npt.NDArray[Any]) -> Codes:
        wire = self.channel.wire
        packed = np.zeros((len(values), self.width), dtype=np.uint8)
        for row, value in enumerate(values):
            text = value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
            if wire.legal(text):
                stored = wire.pack(text)
                assert isinstance(stored, bytes)
                packed[row] = np.frombuffer(stored, dtype=np.uint8)
        return packed

    def write(self, codes: Codes) -> npt.NDArray[Any]:
        """Give lower-case hexadecimal text, the highest option first."""
        whole = codes[:, ::-1].tobytes().hex()
        step = 2 * self.width
        return np.array(
            [whole[at + step - self.digits : at + step] for at in range(0, len(whole), step)],
            dtype=f"<U{self.digits}",
        )

    def tally(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Count for each option the sets that do not hold it, and those that do."""
        held = np.zeros(self.options, dtype=np.int64)
        for start in range(0, len(codes), COUNTED):
            bits = np.unpackbits(codes[start : start + COUNTED], axis=1, bitorder="little")
            held += bits[:, : self.options].sum(axis=0, dtype=np.int64)
        return np.stack([len(codes) - held, held], axis=1).reshape(-1)

    def from_counts(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Take how many sets hold each option: together they are `size` times the number of reports."""
        if len(counts) != self.options:
            return super().from_counts(counts)
        n, rest = divmod(int(counts.sum()), self.channel.size)
        if rest or counts.max(initial=0) > n:
            raise AnalysisError(
                f"counts: no number of sets of {self.channel.size} options holds the options so often",
                "give for each option how many reports hold it",
            )
        return np.stack([n - counts, counts], axis=1).reshape(-1)

    def tally_digits(
        self, places: npt.NDArray[np.int64], digits: npt.NDArray[np.int64], times: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Take each digit apart into the four options that it stands for, the last digit first."""
        held, total = np.zeros(4 * self.digits, dtype=np.int64), int(times[places == 0].sum())
        for bit in range(4):
            options = 4 * (self.digits - 1 - places) + bit
            np.add.at(held, options, np.where(digits >> bit & 1, times, 0))
        held = held[: self.options]
        return np.stack([total - held, held], axis=1).reshape(-1)

    @property
    def audited(self) -> tuple[Any, ...]:
        """Two answers: a set that holds one and not the other shows the whole ratio, and all pairs are alike."""
        return 0, self.options - 1

    @property
    def categories(self) -> int:
        return 4

    def category(self, report: Any) -> int:
        bits = int(report, 16)
        return bits & 1 | (bits >> (self.options - 1) & 1) << 1

    def part_codes(self, part: Part, codes: Codes) -> npt.NDArray[np.int64]:
        (option,) = part.members
        held: npt.NDArray[np.int64] = (codes[:, option // 8] >> (option % 8) & 1).astype(np.int64)
        return held

    def draw(self, answers: Answers, source: Source) -> Codes:
        """Draw whether the truth is in, then `size` of the others by a partial shuffle, as the client does."""
        packed = np.zeros((len(answers), self.width), dtype=np.uint8)
        for start in range(0, len(answers), ROWS):
            packed[start : start + ROWS] = self._draw(answers[start : start + ROWS], source)
        return packed

    def _draw(self, answers: Answers, source: Source) -> Codes:
        rows, size, others = len(answers), self.channel.size, self.options - 1
        inside = draws_below(None, rows, source) < np.uint64(self.channel.weight)
        places = np.broadcast_to(np.arange(others, dtype=np.uint16), (rows, others)).copy()
        flat, mine = places.reshape(-1), np.arange(rows, dtype=np.intp) * others
        for step in range(size):
            swapped = mine + small_draws_below(others - step, rows, source)
            kept = flat.take(swapped)
            flat[swapped] = places[:, step]
            places[:, step] = kept
            mine += 1
        chosen = places[:, :size].astype(np.int64)
        chosen += chosen >= answers[:, None]
        chosen[:, size - 1] = np.where(inside, answers, chosen[:, size - 1])
        bits = np.zeros((rows, 8 * self.width), dtype=np.uint8)
        np.put_along_axis(bits, chosen, 1, axis=1)
        return np.packbits(bits, axis=1, bitorder="little")
