"""The channel: the one idea that carries the system.

A question has true answers x = 0..K-1 and reports z = 0..M-1. A channel is the table C[x, z] = P(report z | truth x),
kept as integers out of SCALE = 2^53, so that what is published, what is drawn and what is proven are the same numbers.
Each form below writes such a table in its own short way; other code asks the channel and never its form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.errors import ChannelError
from hushpoll_client.exact import Number, is_whole, log_below
from hushpoll_client.messages import msg

from .profile import largest_excess, profile
from .wire import Code, Whole, Wire

__all__ = ["SCALE", "Channel", "Draws", "below", "read_integer"]

SCALE = 2**53

Draws = Callable[[], int]
"""Gives the next uniform integer from 0 to 2^53 - 1."""


class Channel(ABC):
    """The chance of every report for every true answer, in integers out of 2^53.

    Make one with `krr`, `matrix`, `columns`, `identity`, `from_probabilities`, `from_weights` or `from_json`.
    """

    form: ClassVar[str]
    keys: ClassVar[frozenset[str]]
    forms: ClassVar[dict[str, Any]] = {}
    """Every form by its published name."""
    several: ClassVar[bool] = False
    """Whether a true answer is made of several: ticked items, or one answer of each member."""
    listed: ClassVar[bool] = True
    """Whether it can be written as a table of integers, one column for each report."""
    evenly: ClassVar[bool] = False
    """Whether all answers are treated alike: kept with one chance, and each other one reported with one more."""

    options: int

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Channel.forms[cls.form] = cls

    # Doors ------------------------------------------------------------------------------------------------------

    @staticmethod
    def krr(options: int, weight: int) -> Any:
        """K-ary response: `weight` on every report but the true one."""
        return Channel.forms["krr"].of(options, weight)

    @staticmethod
    def matrix(rows: Sequence[Sequence[int]]) -> Channel:
        """Return a table given weight by weight; every row sums to 2^53."""
        channel: Channel = Channel.forms["matrix"].of(rows)
        return channel

    @staticmethod
    def columns(options: int, sets: Sequence[int], low: Sequence[int], high: Sequence[int]) -> Channel:
        """Return a channel whose reports each have two weights, one for the answers of a set and one for the others."""
        channel: Channel = Channel.forms["columns"].of(options, sets, low, high)
        return channel

    @staticmethod
    def identity(options: int) -> Channel:
        """Return the channel that reports the truth: unbounded epsilon."""
        return Channel.matrix([[SCALE if x == z else 0 for z in range(options)] for x in range(options)])

    @staticmethod
    def from_probabilities(rows: Sequence[Sequence[Number]]) -> Channel:
        """Round a table of probabilities toward privacy: the result's epsilon never exceeds the table's."""
        channel: Channel = Channel.forms["matrix"].from_probabilities(rows)
        return channel

    @staticmethod
    def from_weights(rows: Sequence[Sequence[Number]]) -> Channel:
        """Return the channel of a table of weights, which are normalised row by row first."""
        channel: Channel = Channel.forms["matrix"].from_weights(rows)
        return channel

    @staticmethod
    def from_json(value: object) -> Channel:
        """Read a published form; anything unexpected is refused."""
        if not isinstance(value, Mapping):
            raise ChannelError("a channel is an object with a form")
        name, keys = value.get("form"), set(value)
        form = None
        if isinstance(name, str):
            form = Channel.forms.get(name)
        if form is None or keys != form.keys | {"form"}:
            form_names = ", ".join(f'"{form_name}"' for form_name in Channel.forms)
            raise ChannelError(
                msg("unknown channel form {name!r} with keys {keys}", name=name, keys=sorted(map(str, keys))),
                msg("known: {known}", known=form_names),
            )
        channel: Channel = form.read(value)
        return channel

    # What a form says -------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """The number of possible reports."""

    @property
    @abstractmethod
    def ratio(self) -> Fraction | None:
        """The exact e^epsilon: the largest ratio in a column; None when a zero meets a non-zero."""

    @abstractmethod
    def row(self, answer: int) -> tuple[int, ...]:
        """Return the weights of all reports when `answer` is true."""

    @abstractmethod
    def pick(self, answer: Any, draws: Draws) -> Code:
        """Draw the report for a true answer; how many draws it takes never depends on the answer."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the published form."""

    @property
    def wire(self) -> Wire:
        """The shape of a report on the wire and in a record."""
        return Whole(self.outcomes)

    @property
    def cells(self) -> int:
        """How many numbers the counts of its reports are: one for each report, unless a form keeps fewer."""
        return self.outcomes

    def tally(self, fields: bytes) -> Counter[int]:
        """Count the reports in the fields of many records, one after the other; a count for each cell that has any."""
        return Counter(self.wire.column(fields))

    # What follows -----------------------------------------------------------------------------------------------

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        """The whole table."""
        return tuple(self.row(x) for x in range(self.options))

    @property
    def epsilon(self) -> float:
        """ln(ratio) as a double rounded down; infinity when unbounded."""
        ratio = self.ratio
        if ratio is None:
            return float("inf")
        return log_below(ratio)

    @property
    def kept(self) -> int:
        """The smallest weight, over the answers, of a report that says the true one (square channels)."""
        return min(self.row(x)[x] for x in range(self.options))

    def chances(self, answer: Any) -> dict[Any, Fraction]:
        """Return the exact chance of every report when `answer` is true."""
        return {report: Fraction(weight, SCALE) for report, weight in enumerate(self.row(answer))}

    def excess(self, factor: Fraction) -> Fraction:
        """Return the exact delta that belongs to a factor, at least 1, by which odds may change."""
        return largest_excess(self.rows, factor) / SCALE

    def profile(self, epsilons: Iterable[Number]) -> tuple[tuple[float, float], ...]:
        """Return the smallest delta for each epsilon with which the channel is (epsilon, delta)-private, rounded up."""
        return profile(self.excess, epsilons)

    def report(self, answer: Any, *draws: int) -> Code:
        """Pick the report for a true answer and given draws."""
        left = iter(draws)
        return self.pick(answer, lambda: _checked_draw(next(left, None)))

    def check_answer(self, answer: Any) -> None:
        """Refuse what is not a true answer of this channel; the message never repeats it."""
        if not is_whole(answer) or not 0 <= answer < self.options:
            raise ChannelError(msg("answer must be an integer from 0 to {last}", last=self.options - 1))

    def then(self, after: Channel) -> Channel:
        """Send this channel's reports through another one (post-processing: epsilon cannot grow)."""
        if self.outcomes != after.options:
            raise ChannelError(
                msg(
                    "{outcomes} reports do not fit a channel of {answers} answers",
                    outcomes=self.outcomes,
                    answers=after.options,
                )
            )
        return Channel.from_weights(
            [
                [
                    sum(a * b for a, b in zip(row, column, strict=True))
                    for column in zip(*after.rows, strict=True)
                ]
                for row in self.rows
            ]
        )


def below(limit: int, draws: Draws) -> int:
    """Draw a uniform integer below `limit`: drawn again where the last, incomplete round of 2^53 is hit."""
    complete = SCALE - SCALE % limit
    while (draw := draws()) >= complete:
        pass
    return draw % limit


def read_integer(value: object, what: str, low: int, below: int | None = None) -> int:
    """Read a whole number of any integer type; a bool is not a number."""
    if not is_whole(value):
        raise ChannelError(msg("{what} must be an integer, got {value!r}", what=what, value=value))
    number = int(value)  # type: ignore[call-overload]
    if number < low or (below is not None and number >= below):
        limits = msg("at least {low}", low=low)
        if below:
            limits = msg("from {low} to {last}", low=low, last=below - 1)
        raise ChannelError(
            msg("{what} must be {limits}, got {number}", what=what, limits=limits, number=number)
        )
    return int(number)


def _checked_draw(draw: object) -> int:
    if not is_whole(draw) or not 0 <= draw < SCALE:  # type: ignore[operator]
        raise ChannelError("draw must be an integer from 0 to 2^53 - 1")
    return int(draw)  # type: ignore[call-overload,no-any-return]
