"""A number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise
from typing import Any

from hushpoll_client.channel.base import Draws, below
from hushpoll_client.errors import ChannelError, MechanismError, ReportError, SurveyError
from hushpoll_client.exact import MAX_DECIMALS, MAX_DIGITS, is_whole, read_decimal, spell
from hushpoll_client.fields import Place, read_text, short
from hushpoll_client.limits import MAX_TABLE
from hushpoll_client.messages import Message, msg

from .base import Answers, Kind, read_target

__all__ = ["MAX_STEPS", "Bins", "Grid", "Number", "NumberAnswers"]

MAX_STEPS = 10**6
MAX_GRID = 21  # points that a number is rounded to before its mean is randomized
BINS = 20


@dataclass(frozen=True)
class NumberAnswers(Answers):
    """The numbers min, min + step, ..., max; a true answer is the number of steps above min."""

    low: Fraction
    high: Fraction
    step: Fraction
    unit: str

    @property
    def steps(self) -> int:
        """The number of steps from min to max."""
        return int((self.high - self.low) / self.step)

    def document(self) -> dict[str, Any]:
        """Return the range in its published spelling, and the unit where there is one."""
        value: dict[str, Any] = {"min": spell(self.low), "max": spell(self.high), "step": spell(self.step)}
        if self.unit:
            value["unit"] = self.unit
        return value

    def read(self, name: str, value: object) -> int:
        """Read a number that lies on the grid."""
        try:
            steps = (read_decimal(_number(value), "number") - self.low) / self.step
        except MechanismError:
            steps = Fraction(-1)
        if steps.denominator == 1 and 0 <= steps <= self.steps:
            return int(steps)
        raise ReportError(
            msg('question "{name}": {given} is not a number on its grid', name=name, given=short(value)),
            msg(
                "give {low} to {high} in steps of {step}",
                low=spell(self.low),
                high=spell(self.high),
                step=spell(self.step),
            ),
        )

    def _at(self, steps: Fraction | int) -> Fraction:
        return self.low + self.step * steps

    def _check(self, answer: Any) -> int:
        if type(answer) is not int or not 0 <= answer <= self.steps:
            raise ChannelError(msg("answer must be a number of steps from 0 to {steps}", steps=self.steps))
        return answer


@dataclass(frozen=True)
class Grid(NumberAnswers):
    """For a mean: the number is rounded at random to one of few grid points, so that its mean is right."""

    @property
    def target(self) -> str:
        """The mean."""
        return "mean"

    @property
    def optimum(self) -> tuple[str, bool]:
        """The mean, whatever the truth."""
        return Number().optimum(self.target)

    @property
    def values(self) -> tuple[Fraction, ...]:
        """The grid points."""
        return tuple(
            self._at(Fraction(point * self.steps, len(self.labels) - 1)) for point in range(len(self.labels))
        )

    @property
    def spacing(self) -> Fraction:
        """The distance of two grid points; 0 where every number is one."""
        between = Fraction(self.steps, len(self.labels) - 1)
        if between > 1:
            return self.step * between
        return Fraction(0)

    @property
    def ordered(self) -> bool:
        """Whether every number is a grid point: what was rounded at random says only something about means."""
        return not self.spacing

    def in_mechanism(self) -> dict[str, Any]:
        """Return the target."""
        return {"target": self.target}

    def row(self, answer: Any, draws: Draws) -> int:
        """Round to the grid point below or above, by a draw that is always made."""
        point, rest = divmod(self._check(answer) * (len(self.labels) - 1), self.steps)
        return int(point + (below(self.steps, draws) < rest))

    def mixture(self, answer: Any) -> tuple[tuple[int, Fraction], ...]:
        """Return the grid points below and above, each with its chance."""
        point, rest = divmod(self._check(answer) * (len(self.labels) - 1), self.steps)
        above = Fraction(rest, self.steps)
        if rest:
            return ((point, 1 - above), (point + 1, above))
        return ((point, Fraction(1)),)


@dataclass(frozen=True)
class Bins(NumberAnswers):
    """For a distribution: the numbers are cut into bins whose widths differ by one step at most."""

    @property
    def target(self) -> str:
        """The distribution."""
        return "distribution"

    @property
    def optimum(self) -> tuple[str, bool]:
        """The cumulative shares of the bins."""
        return Number().optimum(self.target)

    @property
    def ordered(self) -> bool:
        """Bins rise."""
        return True

    @property
    def values(self) -> tuple[Fraction, ...] | None:
        """The numbers, where each has its own bin."""
        if len(self.labels) == self.steps + 1:
            return tuple(first for first, _ in self.edges)
        return None

    @property
    def chances(self) -> tuple[Fraction, ...]:
        """The share of the numbers that lie in each bin."""
        return tuple(
            ((last - first) / self.step + 1) / Fraction(self.steps + 1) for first, last in self.edges
        )

    @property
    def edges(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The first and the last number of each bin."""
        bins, numbers = len(self.labels), self.steps + 1
        # A bin b holds the steps k with k * bins div numbers = b.
        starts = [-(-number * numbers // bins) for number in range(bins + 1)]
        return tuple((self._at(first), self._at(after - 1)) for first, after in pairwise(starts))

    def in_mechanism(self) -> dict[str, Any]:
        """Return target and number of bins."""
        return {"target": self.target, "bins": len(self.labels)}

    def row(self, answer: Any, draws: Draws) -> int:
        """Return the bin."""
        return self._bin(answer)

    def mixture(self, answer: Any) -> tuple[tuple[int, Fraction], ...]:
        """Return the bin."""
        return ((self._bin(answer), Fraction(1)),)

    def _bin(self, answer: Any) -> int:
        return self._check(answer) * len(self.labels) // (self.steps + 1)


class Number(Kind):
    """A number between two others, in steps."""

    name = "number"
    label = msg("A number")
    help = msg("A number in a range, such as hours a week: its average, or how it is distributed.")
    widget = "number"
    keys = ("min", "max", "step")
    optional_keys = ("unit",)
    in_mechanism = ("target", "bins")
    targets = ("mean", "distribution")
    mechanism_fits = ("option", "ordered")

    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> Answers:
        """Read range, step and unit, and what will be reported."""
        low, high, step = (_decimal(fields[key], (*at, key), published) for key in self.keys)
        if low >= high:
            raise SurveyError(
                (*at, "min"), "must be less than the maximum", "write a smaller minimum or a larger maximum"
            )
        _check_steps(low, high, step, at)
        unit = ""
        if "unit" in fields:
            unit = read_text(fields["unit"], (*at, "unit"), "unit", published)
        target = read_target(self, fields, at, published)
        numbers = int((high - low) / step) + 1
        mechanism = fields["mechanism"]
        if target == "mean":
            if isinstance(mechanism, Mapping) and "bins" in mechanism:
                raise SurveyError((*at, "mechanism", "bins"), "a mean has no bins", "remove it")
            points = Grid(("",) * min(numbers, MAX_GRID), low, high, step, unit).values
            return Grid(tuple(_short_decimal(value) for value in points), low, high, step, unit)
        bins = _bins(mechanism, (*at, "mechanism", "bins"), numbers, published)
        edges = Bins(("",) * bins, low, high, step, unit).edges
        return Bins(tuple(_range(*ends) for ends in edges), low, high, step, unit)

    def optimum(self, target: str | None) -> tuple[str, bool]:
        """Return the mean whatever the truth, or the cumulative shares of the bins."""
        if target == "mean":
            return ("mean", True)
        return ("cumulative", False)

    def recommend(self, answers: Answers, rows: int, epsilon: object) -> dict[str, Any]:
        """Recommend the channel that was computed for the target."""
        return {"name": "designed", "epsilon": epsilon}


def _decimal(value: object, at: Place, published: bool) -> Fraction:
    try:
        number = read_decimal(_number(value), str(at[-1]))
    except MechanismError as error:
        problem, remedy = _why(value, error.remedy)
        raise SurveyError(at, msg("{value} {problem}", value=short(value), problem=problem), remedy) from None
    if published and value != spell(number):
        raise SurveyError(at, "is not in its published spelling", "ask the owner to publish it again")
    return number


def _why(value: object, remedy: str) -> tuple[str, str]:
    """Return a number that cannot be published from what is none."""
    try:
        number = Decimal(str(_number(value)))
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        return msg("is not a number"), remedy or msg("write a number such as 0.5")
    if number.adjusted() >= MAX_DIGITS:
        return msg("is too large"), msg(
            "write at most {most} digits, in a larger unit if need be", most=MAX_DIGITS
        )
    return msg("has too many decimals"), msg(
        "write at most {most}, in a smaller unit if need be", most=MAX_DECIMALS
    )


def _number(value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    return value


def _check_steps(low: Fraction, high: Fraction, step: Fraction, at: Place) -> None:
    if step <= 0:
        raise SurveyError((*at, "step"), "must be greater than 0", "write for example 1")
    steps = (high - low) / step
    if steps.denominator != 1:
        raise SurveyError(
            (*at, "step"),
            "does not divide the range from min to max",
            "choose a step that leads from min to max",
        )
    if steps > MAX_STEPS:
        raise SurveyError(
            (*at, "step"),
            msg("makes more than {most:,} steps", most=MAX_STEPS),
            "choose a larger step or a smaller range",
        )


def _bins(mechanism: Any, at: Place, numbers: int, published: bool) -> int:
    bins: Any = mechanism.get("bins") if isinstance(mechanism, Mapping) else None
    if bins is None and not published:
        return min(BINS, numbers)
    if not is_whole(bins) or not 2 <= bins <= min(MAX_TABLE, numbers):
        raise SurveyError(
            at,
            msg("{bins} is not a number of bins", bins=short(bins)),
            msg("write 2 to {most}", most=min(MAX_TABLE, numbers)),
        )
    return int(bins)


def _short_decimal(value: Fraction) -> Message:
    text = spell(value)
    is_short = "/" not in text and len(text) <= 8
    if is_short:
        return _written(value)
    return msg("{value:.4g}", value=float(value))


def _range(first: Fraction, last: Fraction) -> Message:
    """Name a bin by its first and its last number."""
    if first == last:
        return _written(first)
    return msg("{low} to {high}", low=_written(first), high=_written(last))


def _written(value: Fraction) -> Message:
    """Write a number so that another language can write it its own way."""
    return msg("{value:f}", value=Decimal(spell(value)))
