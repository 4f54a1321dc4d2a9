"""K-ary response: one weight on every report but the true one, which has what remains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.errors import ChannelError
from hushpoll_client.messages import msg

from .base import SCALE, Channel, Draws, read_integer
from .wire import Code

__all__ = ["KaryChannel"]


@dataclass(frozen=True)
class KaryChannel(Channel):
    """K options; every wrong report has `weight` W, the true one T = 2^53 - (K - 1) W."""

    form: ClassVar[str] = "krr"
    keys: ClassVar[frozenset[str]] = frozenset({"options", "weight"})
    evenly: ClassVar[bool] = True

    options: int
    weight: int

    @classmethod
    def of(cls, options: int, weight: int) -> KaryChannel:
        """Make one, unless the weights leave nothing for the truth."""
        options, weight = read_integer(options, "options", 2), read_integer(weight, "weight", 1)
        if (options - 1) * weight >= SCALE:
            raise ChannelError(
                msg(
                    "weight {weight} is too large: {options} options leave nothing for the true one",
                    weight=weight,
                    options=options,
                )
            )
        return cls(options, weight)

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> KaryChannel:
        """Read the published form."""
        return cls.of(value["options"], value["weight"])

    @property
    def outcomes(self) -> int:
        """The number of possible reports: the options themselves."""
        return self.options

    @property
    def truth_weight(self) -> int:
        """The weight on the true report."""
        return SCALE - (self.options - 1) * self.weight

    @property
    def kept(self) -> int:
        """The same for every answer: no table is made."""
        return self.truth_weight

    @property
    def ratio(self) -> Fraction:
        """T/W, or W/T where a lie is likelier than the truth."""
        return Fraction(max(self.truth_weight, self.weight), min(self.truth_weight, self.weight))

    def excess(self, factor: Fraction) -> Fraction:
        """Return the delta at a factor: one report tells two answers apart."""
        more, less = max(self.truth_weight, self.weight), min(self.truth_weight, self.weight)
        return max(Fraction(0), more - factor * less) / SCALE

    def row(self, answer: int) -> tuple[int, ...]:
        """Return the weights of all reports when `answer` is true."""
        self.check_answer(answer)
        return tuple(self.truth_weight if z == answer else self.weight for z in range(self.options))

    def pick(self, answer: Any, draws: Draws) -> Code:
        """Draw once: 0..T-1 give the truth, then each of the others in turn has W draws, around the circle."""
        self.check_answer(answer)
        draw, truth = draws(), self.truth_weight
        offset = 0
        if draw >= truth:
            offset = 1 + (draw - truth) // self.weight
        return int((answer + offset) % self.options)

    def to_json(self) -> dict[str, Any]:
        """Return the published form."""
        return {"form": self.form, "options": self.options, "weight": self.weight}
