"""Tick all that apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import Any

from hushpoll_client.channel.base import Draws
from hushpoll_client.errors import ChannelError, ReportError, SurveyError
from hushpoll_client.exact import is_whole
from hushpoll_client.fields import Place, short
from hushpoll_client.mechanism import padded, sampled
from hushpoll_client.mechanism.base import positive_epsilon
from hushpoll_client.mechanism.padded import unit_variance as padded_variance
from hushpoll_client.mechanism.sampled import best_ask
from hushpoll_client.mechanism.sampled import unit_variance as sampled_variance
from hushpoll_client.messages import msg

from .base import Answers, Kind, unknown_option
from .choice import read_options

__all__ = ["Multiple", "MultipleAnswers"]


@dataclass(frozen=True)
class MultipleAnswers(Answers):
    """Options, any of them ticked, or at most `at_most`; a true answer is the ticked ones in increasing order."""

    at_most: int | None
    together: bool = field(default=False, compare=False)
    """A wish that stands in a draft only: the same question without it has the same answers."""

    @property
    def pairs(self) -> bool:
        """Whether two options shall be seen together, which a draft may ask for."""
        return self.together

    @property
    def chances(self) -> tuple[Fraction, ...]:
        """The share of the possible sets that hold an option: one half, less where few may be ticked."""
        options, most = len(self.labels), self.at_most or len(self.labels)
        holding = sum(comb(options - 1, size - 1) for size in range(1, most + 1))
        return (Fraction(holding, sum(comb(options, size) for size in range(most + 1))),) * options

    def document(self) -> dict[str, Any]:
        """Return the options, and how many may be ticked where that is limited."""
        value: dict[str, Any] = {"options": list(self.labels)}
        if self.at_most:
            value["at_most"] = self.at_most
        return value

    def draft_keys(self) -> dict[str, Any]:
        """Return the wish for pairs of options."""
        if self.together:
            return {"pairs": True}
        return {}

    def about(self) -> dict[str, Any]:
        """Return how many may be ticked."""
        return {"at_most": self.at_most}

    def read(self, name: str, value: object) -> tuple[int, ...]:
        """Read a list of options; at a terminal they are separated by semicolons, and nothing means none."""
        if isinstance(value, str):
            value = [item.strip() for item in value.split(";") if item.strip()]
        if not isinstance(value, list):
            raise ReportError(
                msg('question "{name}": {given} is not a list of options', name=name, given=short(value)),
                'write for example ["a", "b"]',
            )
        for option in value:
            if option not in self.labels:
                raise unknown_option(name, option, self.labels)
        ticked = tuple(sorted({self.labels.index(option) for option in value}))
        if len(ticked) != len(value):
            raise ReportError(
                msg('question "{name}": an option appears twice', name=name), "name each option once"
            )
        if self.at_most is not None and len(ticked) > self.at_most:
            raise ReportError(
                msg('question "{name}": {ticked} options are ticked', name=name, ticked=len(ticked)),
                msg("tick at most {at_most}", at_most=self.at_most),
            )
        return ticked

    def row(self, answer: Any, draws: Draws) -> Any:
        """Refuse what is not a set of options, each once, in increasing order; the message never repeats it."""
        items: list[Any] = list(answer) if isinstance(answer, tuple | list) else [None]
        valid = all(type(item) is int and 0 <= item < len(self.labels) for item in items)
        if not valid or items != sorted(set(items)) or len(items) > (self.at_most or len(items)):
            raise ChannelError("answer must be the ticked options, at most so many, in increasing order")
        return tuple(items)


class Multiple(Kind):
    """Several options, any of them ticked."""

    name = "multiple"
    label = msg("Tick all that apply")
    help = msg("Two or more options; people tick as many as apply, or at most so many.")
    widget = "ticks"
    keys = ("options",)
    optional_keys = ("at_most",)
    draft_keys = ("pairs",)
    mechanism_fits = ("set",)
    several = True

    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> Answers:
        """Read the options and how many may be ticked."""
        options = read_options(fields["options"], (*at, "options"), published)
        at_most = fields.get("at_most")
        if at_most is not None and (not is_whole(at_most) or not 1 <= at_most <= len(options)):
            raise SurveyError(
                (*at, "at_most"),
                msg("{at_most} is not a number of options that may be ticked", at_most=short(at_most)),
                msg("write 1 to {options}, or leave it out", options=len(options)),
            )
        most = None
        if at_most is not None:
            most = int(at_most)
        return MultipleAnswers(options, most, _wants_pairs(fields.get("mechanism"), at))

    def recommend(self, answers: Answers, rows: int, epsilon: Any) -> dict[str, Any]:
        """Recommend the form with the least variance of one share: `sampled`, or `padded` where it wins.

        Pairs of options need `sampled`, with two options or more of each person.
        """
        at_most, number = answers.about()["at_most"], float(positive_epsilon(epsilon))
        if answers.pairs:
            mechanism = sampled([2] * rows, epsilon, best_ask(rows, number, 2))
            return {"name": mechanism.name, **mechanism.parameters}
        mechanism = sampled([2] * rows, epsilon)
        if at_most is not None:
            ask = best_ask(rows, number)
            if padded_variance(rows, at_most, number) < sampled_variance(rows, ask, number):
                mechanism = padded(rows, epsilon, at_most)
        return {"name": mechanism.name, **mechanism.parameters}


def _wants_pairs(mechanism: object, at: Place) -> bool:
    """Read whether a draft asks for pairs of options; a mechanism with a name says it by its `ask`."""
    if not isinstance(mechanism, Mapping) or "pairs" not in mechanism:
        return False
    if "name" in mechanism:
        raise SurveyError(
            (*at, "mechanism", "pairs"),
            "goes with an epsilon alone",
            "leave it out and write ask, 2 or more; or leave the name out",
        )
    if mechanism["pairs"] is not True:
        raise SurveyError(
            (*at, "mechanism", "pairs"),
            "must be true where it stands",
            "write true, or leave it out",
        )
    return True
