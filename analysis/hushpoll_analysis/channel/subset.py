"""Sets of options: bitmaps, drawn and counted eight options to the byte."""

from __future__ import annotations

import math
from binascii import hexlify
from functools import cached_property
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client.channel.subset import SubsetChannel

from hushpoll_analysis.errors import AnalysisError

from .base import Answers, Codes, Sampler, Source, draws_under, first_true, small_draws_below
from .parts import Marginal, yes_no_part

Words = npt.NDArray[np.uint64]

# Bytes of reports, and reports at least, that are drawn together: the last rows of a block cost a round each.
BLOCK = 1 << 21
FEWEST = 1 << 15
# Rows whose options are scattered together, a byte each.
SCATTERED = 1 << 9
# Up to so many sets are listed, and one of them is drawn.
LISTED = 1 << 17
# Of a draw: more would be a table that the processor's nearest cache does not hold.
PLACE_BITS = 12
# What exchanging an option costs, in bytes of coins.
EXCHANGED = 9.0
# Reports whose bits are counted together.
COUNTED = 1 << 13
_BIT = np.array([1 << bit for bit in range(8)], dtype=np.uint8)
# The number of bits of each byte.
_ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
# What each letter is worth as a hexadecimal digit.
_NO_DIGIT = 255
_DIGITS = np.full(128, _NO_DIGIT, dtype=np.uint8)
_DIGITS[[ord(digit) for digit in "0123456789abcdef"]] = np.arange(16)


class SubsetSampler(Sampler):
    """A report is a row of bytes, option 0 the lowest bit of the first."""

    counted = "for each option how many reports hold it"

    def __init__(self, channel: SubsetChannel) -> None:
        self.options = channel.options
        self.channel = channel
        self.width = -(-channel.options // 8)
        self.cells = 2 * channel.options
        self.digits = -(-channel.options // 4)
        self.held = channel.size

    @cached_property
    def parts(self) -> tuple[Marginal, ...]:
        membership = yes_no_part(0, *self.channel.member(0))
        return tuple(
            Marginal((option,), membership.channel, 1.0, slice(2 * option, 2 * option + 2))
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
        """Return zeros, which are no report, for a text that is none."""
        texts = [
            value.decode("ascii", "replace") if isinstance(value, bytes) else str(value) for value in values
        ]
        # A letter of numpy's text is its number in four bytes. What is too long is cut, and told by its length.
        letters = np.array(texts, dtype=f"<U{self.digits}").view("<u4").reshape(len(texts), self.digits)
        digits = _DIGITS[np.minimum(letters, len(_DIGITS) - 1)]
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        digits[(digits == _NO_DIGIT).any(axis=1) | (lengths != self.digits)] = 0
        padded = np.zeros((len(texts), 2 * self.width), dtype=np.uint8)
        padded[:, : self.digits] = digits[:, ::-1]
        return np.asarray(padded[:, ::2] | padded[:, 1::2] << 4)

    def write(self, codes: Codes) -> npt.NDArray[Any]:
        """Return lower-case hexadecimal text, the highest option first."""
        digits = np.frombuffer(hexlify(codes[:, ::-1].tobytes()), dtype=np.uint8)
        letters = digits.reshape(len(codes), 2 * self.width)[:, 2 * self.width - self.digits :]
        # A letter of numpy's text is its number in four bytes.
        return letters.astype("<u4").view(f"<U{self.digits}").reshape(-1)

    def tally(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Count for each option the sets that do not hold it, and those that do."""
        held = np.zeros(self.options, dtype=np.int64)
        for start in range(0, len(codes), COUNTED):
            bits = np.unpackbits(codes[start : start + COUNTED], axis=1, bitorder="little")
            held += bits[:, : self.options].sum(axis=0, dtype=np.int64)
        return np.stack([len(codes) - held, held], axis=1).reshape(-1)

    @property
    def lengths(self) -> tuple[int, ...]:
        return self.cells, self.options

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
        self, positions: npt.NDArray[np.int64], digits: npt.NDArray[np.int64], times: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Take each digit apart into the four options that it stands for, the last digit first."""
        held, total = np.zeros(4 * self.digits, dtype=np.int64), int(times[positions == 0].sum())
        for bit in range(4):
            options = 4 * (self.digits - 1 - positions) + bit
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

    def part_codes(self, marginal: Marginal, codes: Codes) -> npt.NDArray[np.int64]:
        (option,) = marginal.members
        held: npt.NDArray[np.int64] = (codes[:, option // 8] >> (option % 8) & 1).astype(np.int64)
        return held

    def draw(self, answers: Answers, source: Source) -> Codes:
        """Draw whether the truth is in, then a uniform set of the others, with exactly the client's chances."""
        if self._set_tables:
            fill = self._by_rank
        else:
            fill = self._by_exchange
        packed = np.empty((len(answers), self.width), dtype=np.uint8)
        rows = max(FEWEST, BLOCK // self.width)
        for start in range(0, len(answers), rows):
            some = answers[start : start + rows].astype(np.int64, copy=False)
            inside = draws_under(self.channel.weight, len(some), source)
            packed[start : start + rows] = fill(some, inside, source)
        return packed

    @cached_property
    def _set_tables(self) -> tuple[Words, Words] | None:
        """All sets of the others, without and with room for the truth; None where there are too many."""
        remaining, size = self.options - 1, self.channel.size
        if remaining >= 64 or max(comb(remaining, size), comb(remaining, size - 1)) > LISTED:
            return None
        return _sets(remaining, size), _sets(remaining, size - 1)

    def _by_rank(self, answers: Answers, inside: npt.NDArray[np.bool_], source: Source) -> Codes:
        """Draw one of all sets of the others, and make room for the truth among them."""
        assert self._set_tables is not None
        out, room = self._set_tables
        held = out[small_draws_below(len(out), len(answers), source)]
        held[inside] = room[small_draws_below(len(room), int(inside.sum()), source)]
        at = answers.astype(np.uint64)
        truth = np.uint64(1) << at
        below = held & (truth - np.uint64(1))
        held += held - below  # those from the truth on move up by one
        held |= inside * truth
        return held.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)[:, : self.width]

    def _by_exchange(self, answers: Answers, inside: npt.NDArray[np.bool_], source: Source) -> Codes:
        """Begin with about as many options as are needed, then add or take away some until the number is right.

        The beginning treats all options alike, and so does every option that is added or removed. How many there
        are decides alone what happens next: in the end every set of the right size is equally likely.
        """
        rows, width = len(answers), self.width
        if self._chance[1]:
            bits = self._coins(rows, source)
        else:
            bits = self._scattered(rows, source)
        if self.options % 8:
            bits[width - 1 :: width] &= np.uint8((1 << self.options % 8) - 1)
        truth = np.arange(0, rows * width, width) + (answers >> 3)
        bit = _BIT[answers & 7]
        bits[truth] &= ~bit
        short = np.int16(self.channel.size) - inside - _ones(bits, rows, width)
        # The truth cannot be added where it stands already, nor taken away where it does not stand.
        more, less = np.flatnonzero(short > 0), np.flatnonzero(short < 0)
        bits[truth[more]] |= bit[more]
        self._exchange(bits, more * width, short[more], True, source)
        self._exchange(bits, less * width, -short[less], False, source)
        bits[truth] = (bits[truth] & ~bit) | np.where(inside, bit, np.uint8(0))
        return bits.reshape(rows, width)

    def _coins(self, rows: int, source: Source) -> Codes:
        """Draw bytes whose bits are 1 with a chance near size / options, digit by binary digit."""
        chance, digits = self._chance
        words = -(-rows * self.width // 8)
        # The last binary digit of a chance in lowest terms is 1: the first coins stand as they are.
        held = np.frombuffer(source(8 * words), dtype="<u8").copy()
        for digit in range(1, digits):
            coins = np.frombuffer(source(8 * words), dtype="<u8")
            (np.bitwise_or if chance >> digit & 1 else np.bitwise_and)(held, coins, out=held)
        return held.view(np.uint8)[: rows * self.width]

    def _scattered(self, rows: int, source: Source) -> Codes:
        """Draw as many options as a set needs at least; some come twice."""
        held, count = np.empty((rows, self.width), dtype=np.uint8), self.channel.size - 1
        option_of, wide = self._places[2], 8 * self.width + 8
        for start in range(0, rows, SCATTERED):
            some = min(SCATTERED, rows - start)
            draws = _draw_options(some * count, source).reshape(some, count)
            bit_numbers = np.arange(some)[:, None] * wide + option_of.take(draws)
            flags = np.zeros(some * wide, dtype=np.uint8)
            flags[bit_numbers] = 1
            bits = np.packbits(flags.reshape(some, wide), axis=1, bitorder="little")
            held[start : start + some] = bits[:, : self.width]
        return held.reshape(-1)

    @cached_property
    def _chance(self) -> tuple[int, int]:
        """A chance with few binary digits: each digit costs coins, each option too many or too few costs draws."""
        share = self.channel.size / self.options
        tried = [(chance, digits) for digits in range(1, 8) for chance in range(1, 2**digits, 2)]
        return min(
            [(0, 0), *tried],
            key=lambda candidate: self._cost(candidate[0] / 2 ** candidate[1], candidate[1], share),
        )

    def _cost(self, chance: float, digits: int, share: float) -> float:
        """Estimate what a set costs, in bytes of coins; most draws that take away find nothing in a small set."""
        if not digits:
            doubled = self.options * (share + math.expm1(-share))
            return self.options * (4.0 * share + 0.125) + EXCHANGED * doubled / (1.0 - share)
        spread = math.sqrt(self.options * chance * (1.0 - chance))
        off = self.options * (share - chance) / spread
        density, below = (
            math.exp(-off * off / 2.0) / math.sqrt(2.0 * math.pi),
            math.erfc(off / math.sqrt(2)) / 2,
        )
        more, less = density + off * (1.0 - below), density - off * below
        draws = spread * (more / (1.0 - share) + less / share)
        return digits * self.options / 8.0 + EXCHANGED * draws

    @cached_property
    def _places(self) -> tuple[Codes, Codes, Codes]:
        """Byte, bit and number of the option that each draw of a few bits stands for.

        A draw of the last, incomplete round has no bit, and a number beyond all.
        """
        draws = np.arange(1 << PLACE_BITS)
        option = draws % self.options
        again = draws >= (1 << PLACE_BITS) - (1 << PLACE_BITS) % self.options
        bit, beyond = np.where(again, np.uint8(0), _BIT[option & 7]), 8 * self.width
        return (option >> 3).astype(np.uint8), bit, np.where(again, beyond, option).astype(np.uint16)

    def _exchange(self, bits: Codes, starts: Answers, missing: Answers, adding: bool, source: Source) -> None:
        """Add, or take away, one random option after the other until none is missing."""
        byte_of, bit_of, _ = self._places
        while starts.size:
            draws = _draw_options(starts.size, source)
            byte, bit = starts + byte_of.take(draws), bit_of.take(draws)
            before = bits.take(byte)
            if adding:
                after = before | bit
            else:
                after = before & ~bit
            bits[byte] = after
            missing = missing - (after != before)
            left = np.flatnonzero(missing != 0)
            starts, missing = starts.take(left), missing.take(left)


def _sets(options: int, size: int) -> Words:
    """Return all sets of `size` options, each as a word with a bit for every option."""
    chosen = np.fromiter(
        chain.from_iterable(combinations(range(options), size)), np.uint64, comb(options, size) * size
    )
    return np.asarray((np.uint64(1) << chosen.reshape(-1, size)).sum(axis=1, dtype=np.uint64))


def _draw_options(count: int, source: Source) -> npt.NDArray[np.uint16]:
    """Draw `count` entries of the table of options."""
    return np.frombuffer(source(2 * count), dtype="<u2") >> np.uint16(16 - PLACE_BITS)


def _ones(bits: Codes, rows: int, width: int) -> npt.NDArray[np.int16]:
    """Count the bits of each row, in pieces as long as a number can be: one by one they take ten times as long."""
    counts, start = np.zeros(rows, dtype=np.int16), 0
    while start < width:
        length = next(size for size in (8, 4, 2, 1) if size <= width - start)
        pieces: Codes = np.ndarray((rows,), f"<u{length}", buffer=bits, offset=start, strides=(width,))
        counts += _count(pieces)
        start += length
    return counts


def _count(numbers: Codes) -> Codes:
    counted = getattr(np, "bitwise_count", None)  # since numpy 2
    if counted is not None:
        return np.asarray(counted(numbers))
    return np.asarray(
        _ONES[np.ascontiguousarray(numbers).view(np.uint8)].reshape(len(numbers), -1).sum(axis=1)
    )
