"""The numpy view of a channel: what report frequencies to expect, and how to get back to the shares.

A channel C has K rows (true answers) and M columns (reports); E[f] = C'h. A linear quantity a.h is estimated without
bias by b.f for any b with C b = a. Each form has a module in this folder with two classes: a view, which finds b, and a
sampler, which draws and counts whole arrays of reports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client.channel import SCALE

from hushpoll_analysis.errors import AnalysisError

from .parts import Marginal

Floats = npt.NDArray[np.float64]
Draws = npt.NDArray[np.uint64]
Answers = npt.NDArray[np.integer[Any]]
Codes = npt.NDArray[Any]
Rule = Callable[[Answers, Draws], Codes]
Source = Callable[[int], bytes]
"""Gives so many random bytes."""

# Directions of the channel weaker than this (relative to the strongest) are treated as absent.
RANK = 1e-12
# True answers audited per question: a K-ary channel treats all alike, and 1,000 would take hours.
MAX_ANSWERS = 16


class ChannelView(ABC):
    """A channel as a linear map; `solution` gives the weights b with C b = a."""

    options: int
    outcomes: int
    choice: str
    """How b was chosen where several solve C b = a: "unique", "count-linear" or "least variance"."""

    @abstractmethod
    def forward(self, shares: Floats) -> Floats:
        """Report probabilities C'h of true shares h (last axis)."""

    @abstractmethod
    def backward(self, values: Floats) -> Floats:
        """Return the expected value (C g)[x] of a number g[z] per report, given the truth x (last axis)."""

    @abstractmethod
    def solution(self, target: npt.ArrayLike) -> Floats:
        """Weights b per report with C b = a, so that b.f is unbiased for a.h."""

    @abstractmethod
    def shares(self, frequencies: Floats) -> Floats:
        """Unbiased shares of all options from report frequencies (last axis)."""

    @property
    @abstractmethod
    def possible(self) -> npt.NDArray[np.bool_]:
        """Which reports can occur at all."""

    def likeliest(self, counts: Floats) -> Floats | None:
        """Return the shares, none below 0, that make these counts likeliest; None where that has to be searched for."""
        return None

    def unit(self, option: int) -> Floats:
        """Return the target vector a whose a.h is the share of one option."""
        target = np.zeros(self.options)
        target[option] = 1.0
        return target

    def noise(self, weights: Floats) -> Floats:
        """Var(b_z | x) for each truth x: what the randomization alone adds to one report."""
        spread: Floats = self.backward(weights**2) - self.backward(weights) ** 2
        return np.maximum(spread, 0.0)

    def by_report(self, number: Callable[[ChannelView, Floats], Floats], weights: Floats) -> Floats:
        """Estimate without bias, for each report, what `number` gives for each truth, design by design."""
        return self.solution(number(self, weights))

    def noise_by_report(self, weights: Floats) -> Floats:
        """Estimate Var(b_z | x) of the person who gave report z, without bias."""
        return self.by_report(lambda view, marginal_weights: view.noise(marginal_weights), weights)

    @property
    def tables(self) -> tuple[Floats, ...]:
        """P(report | truth), K x M, of each design; 0 for the reports of another one."""
        return (self.backward(np.eye(self.outcomes)).T,)

    @property
    def design_of(self) -> npt.NDArray[np.int64]:
        """Which design gives each report."""
        return np.zeros(self.outcomes, dtype=np.int64)


class Sampler(ABC):
    """Whole arrays of one channel's reports: read, drawn by the client's own integer rule, and counted."""

    options: int
    outcomes: int
    cells: int
    """How many numbers the counts of a question are."""
    channel: Any
    counted: str = "one for each possible report"
    """What somebody else's counts are."""
    digits: int = 0
    """Hexadecimal digits of a report where it is text; 0 where it is a number."""
    held: int = 0
    """How many options the set holds that a text stands for."""

    @property
    def parts(self) -> tuple[Marginal, ...]:
        """What the reports say of each option or member; none where a report speaks of the answer as a whole."""
        return ()

    @property
    def pairs(self) -> tuple[Marginal, ...]:
        """The same for pairs of members, where the reports speak of two at once."""
        return ()

    @property
    def dtype(self) -> Any:
        """The smallest type that holds every report."""
        return next(
            kind
            for kind in (np.uint8, np.uint16, np.uint32, np.uint64)
            if self.outcomes - 1 <= np.iinfo(kind).max
        )

    def read(self, values: npt.NDArray[Any]) -> tuple[Codes, int | None]:
        """Turn stored or exported reports into codes, and give the first row that is not a report; None if all are."""
        codes = values
        if values.dtype == bool:
            codes = values.astype(np.uint8)
        if not np.issubdtype(codes.dtype, np.integer):
            numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
            is_integer = np.isfinite(numbers) & (numbers == np.floor(numbers)) & (np.abs(numbers) < 2**53)
            codes = np.where(is_integer, numbers, -1).astype(np.int64)
        # One pass where all is well, as nearly always.
        if not codes.size or (int(codes.min()) >= 0 and int(codes.max()) < self.outcomes):
            return codes, self._unlisted(codes)
        return codes, first_true((codes < 0) | (codes >= self.outcomes))

    def _unlisted(self, codes: Codes) -> int | None:
        """Return the first whole number below the number of outcomes that is not a report: nearly always none."""
        return None

    def write(self, codes: Codes) -> npt.NDArray[Any]:
        """Return the codes as they are exported."""
        return codes

    def tally(self, codes: Codes) -> npt.NDArray[np.int64]:
        """Count how often each report came."""
        return np.bincount(codes, minlength=self.outcomes).astype(np.int64, copy=False)

    def tally_counted(
        self, codes: npt.NDArray[np.int64], times: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Count reports that came as codes with how often each came, as a GROUP BY gives them."""
        cells = np.zeros(self.cells, dtype=np.int64)
        np.add.at(cells, codes, times)
        return cells

    def tally_digits(
        self, positions: npt.NDArray[np.int64], digits: npt.NDArray[np.int64], times: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Count reports that are text, from how often each digit stood in each place."""
        raise AnalysisError("reports of this channel are numbers, not text")

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many counts `from_counts` takes."""
        return (self.cells,)

    def from_counts(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the cells of given counts, which are one for each report or one for each cell."""
        if len(counts) == self.cells:
            return counts
        raise AnalysisError(f"counts: {len(counts)} given", f"give {self.lengths[-1]}, {self.counted}")

    def total(self, cells: npt.NDArray[np.int64]) -> int:
        """Return the number of reports behind a question's counts."""
        if not self.parts:
            return int(cells.sum())
        seen = sum(int(marginal.counts(cells).sum()) for marginal in self.parts)
        return round(seen / sum(marginal.asked for marginal in self.parts))

    def fits(self, rows: Answers) -> npt.NDArray[np.bool_]:
        """Return which rows are answers, where an answer is several at once."""
        return np.zeros(len(rows), dtype=bool)

    @property
    def audited(self) -> tuple[Any, ...]:
        """The true answers that an audit draws for: all, or evenly spread ones where there are many."""
        if self.options <= MAX_ANSWERS:
            return tuple(range(self.options))
        return tuple(round(i * (self.options - 1) / (MAX_ANSWERS - 1)) for i in range(MAX_ANSWERS))

    @property
    def answers(self) -> int:
        """The number of true answers."""
        return self.options

    def every_answer(self) -> Iterable[Any]:
        """Return all true answers, for channels that are small enough to enumerate."""
        return range(self.options)

    @property
    def categories(self) -> int:
        """How many sorts of reports an audit tells apart."""
        return self.outcomes

    def category(self, report: Any) -> int:
        """Return the sort of a report; among the audited answers the largest ratio shows in one of the sorts."""
        return int(report)

    def part_codes(self, marginal: Marginal, codes: Codes) -> npt.NDArray[np.int64]:
        """Return what each report says of one part; -1 where it says nothing."""
        raise AnalysisError("these reports have no parts: each speaks of the answer as a whole")

    @abstractmethod
    def draw(self, answers: Answers, source: Source) -> Codes:
        """Draw one report for every answer."""


class OneDraw(Sampler):
    """A sampler of a form that draws once: a table of the draw's high bits decides nearly every report."""

    rows: int
    """Rows of that table: one where what is drawn does not depend on the answer."""

    @abstractmethod
    def rule(self) -> Rule:
        """Return the array form of the client's `pick`."""

    @abstractmethod
    def finish(self, answers: Answers, codes: Codes) -> Codes:
        """Turn what a row of the table gives into reports."""

    def draw(self, answers: Answers, source: Source) -> Codes:
        """Draw by the plain rule; `simulation.draws` draws large arrays by the table."""
        return self.rule()(answers, draws_below(None, answers.size, source).astype(np.uint64))


def first_true(flags: npt.NDArray[np.bool_]) -> int | None:
    """Return the first place that is true."""
    if flags.any():
        return int(np.argmax(flags))
    return None


def small_draws_below(limit: int, count: int, source: Source) -> npt.NDArray[np.uint32]:
    """Draw uniform integers below a limit much smaller than 2^32 from half as many bytes."""
    draws = np.frombuffer(source(4 * count), dtype="<u4")
    complete = (1 << 32) - (1 << 32) % limit
    if complete < 1 << 32 and np.any(again := draws >= np.uint32(complete)):
        draws = draws.copy()
        while again.any():
            draws[again] = np.frombuffer(source(4 * int(again.sum())), dtype="<u4")
            again = draws >= np.uint32(complete)
    return draws % np.uint32(limit)


def draws_under(weight: int, count: int, source: Source) -> npt.NDArray[np.bool_]:
    """Return, for each of `count` draws r below 2^53, whether r < weight.

    Low bits are drawn only where the high ones are equal.
    """
    high = np.frombuffer(source(2 * count), dtype="<u2")
    first, rest = divmod(weight, SCALE >> 16)
    under = high < first
    if (open_places := np.flatnonzero(high == first)).size:
        low = np.frombuffer(source(8 * open_places.size), dtype="<u8") >> np.uint64(64 - 37)
        under[open_places] = low < np.uint64(rest)
    return np.asarray(under)


def draws_below(limit: int | None, count: int, source: Source) -> npt.NDArray[Any]:
    """Draw uniform integers below `limit`, or below 2^53: drawn again where the last, incomplete round is hit."""
    draws: npt.NDArray[Any] = np.frombuffer(source(8 * count), dtype="<u8") >> np.uint64(11)
    if limit is None:
        return draws
    complete = SCALE - SCALE % limit
    if not np.any(again := draws >= complete):
        return (draws % np.uint64(limit)).astype(np.int64)
    draws = draws.copy()
    while again.any():
        draws[again] = draws_below(None, int(again.sum()), source)
        again = draws >= complete
    return (draws % np.uint64(limit)).astype(np.int64)


def read_target(target: npt.ArrayLike, options: int) -> Floats:
    """Check the vector a of a linear quantity a.h."""
    coefficients = np.asarray(target, dtype=np.float64)
    if coefficients.shape != (options,) or not np.all(np.isfinite(coefficients)):
        raise AnalysisError(
            f"a linear quantity needs one finite number per option: {options} expected, got shape {coefficients.shape}"
        )
    return coefficients
