"""Blocks: questions of which each person is asked some, drawn by an open coin, and whose answers are sent jointly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .channel import Channel, Code
from .channel.base import Draws, below
from .document import Place, read_fields, short
from .errors import ChannelError, MechanismError, ReportError, SurveyError
from .exact import is_whole
from .mechanism import Mechanism, sampled
from .said import said

__all__ = ["Block", "Outline", "read_outlines"]

_PUBLISH_AGAIN = "ask the owner to publish it again"
_FRESH_LINK = "do not answer; ask for a fresh link"


@dataclass(frozen=True)
class Block:
    """Neighbouring questions that share one epsilon: one value of the report, in place of the first of them."""

    number: int
    """Its place among the blocks, from 0."""
    questions: tuple[str, ...]
    """The ids of its members."""
    first: int
    """The place of the first member among the survey's questions."""
    mechanism: Mechanism

    @property
    def id(self) -> str:
        """What its column of reports is called; no question of the survey has this id."""
        return f"block{self.number + 1}"

    @property
    def channel(self) -> Channel:
        """What the device draws from."""
        return self.mechanism.device

    @property
    def epsilon(self) -> float:
        """The privacy of all its answers together."""
        return self.mechanism.epsilon

    @property
    def ask(self) -> int:
        """How many of its questions each person is asked."""
        return int(self.mechanism.parameters["ask"])

    @property
    def text(self) -> str:
        """What it is, for a codebook."""
        whole, named = len(self.questions), ", ".join(self.questions)
        if self.ask < whole:
            return said(
                "{ask} of {whole} questions, drawn by an open coin: {named}",
                ask=self.ask,
                whole=whole,
                named=named,
            )
        return said(
            "{ask} of {whole} questions, asked of everybody: {named}", ask=self.ask, whole=whole, named=named
        )

    @property
    def decoy(self) -> None:
        """None: no question of a block has one."""
        return None

    @property
    def labels(self) -> tuple[str, ...]:
        """What a report speaks of: its questions."""
        return self.questions

    @property
    def report_labels(self) -> tuple[str, ...]:
        """None: a report speaks of several answers at once."""
        return ()

    def draw(self, draws: Draws) -> int:
        """Draw which questions are asked: a rank, for all to see."""
        return below(self.channel.ranks, draws)  # type: ignore[attr-defined]

    def asked(self, rank: int) -> tuple[str, ...]:
        """Give the ids of the questions asked at a rank."""
        members: tuple[int, ...] = self.channel.members(rank)  # type: ignore[attr-defined]
        return tuple(self.questions[one] for one in members)

    def holds(self, rank: object) -> bool:
        """Tell whether this is a rank."""
        return type(rank) is int and 0 <= rank < self.channel.ranks  # type: ignore[attr-defined]

    def randomize(self, answers: Sequence[Any], draws: Draws, rank: int | None = None) -> Code:
        """Draw the report for the members' answers; what was not asked may be None."""
        chosen = self.draw(draws) if rank is None else rank
        asked = self.asked(chosen)
        for name, answer in zip(self.questions, answers, strict=True):
            if name in asked and answer is None:
                raise ReportError(
                    said('question "{name}" has no answer', name=name),
                    "every question that is asked needs one",
                )
        given = tuple(0 if answer is None else answer for answer in answers)
        code: Code = self.channel.pick_at(chosen, given, draws)  # type: ignore[attr-defined]
        return code

    def document(self, published: bool = True) -> dict[str, Any]:
        """Give the block as JSON; the published form carries the integer channel."""
        value: dict[str, Any] = {"questions": list(self.questions), **self.mechanism.parameters}
        return value | ({"channel": self.channel.to_json()} if published else {})


@dataclass(frozen=True)
class Outline:
    """A block as its document describes it, before its questions are read."""

    number: int
    questions: tuple[str, ...]
    first: int
    fields: Mapping[str, Any]

    @property
    def at(self) -> Place:
        """Where it stands in the document."""
        return ("blocks", self.number)

    def compile(self, sizes: Sequence[int], published: bool) -> Block:
        """Make the block of questions with so many answers each; published integers must be the ones computed."""
        try:
            made = sampled(sizes, self.fields["epsilon"], self.fields["ask"])
        except MechanismError as error:
            place = (*self.at, error.field) if error.field else self.at
            raise SurveyError(place, error.predicate or error.problem, error.remedy or "correct it") from None
        if published:
            self._check(made)
        return Block(self.number, self.questions, self.first, made)

    def _check(self, made: Mechanism) -> None:
        if self.fields["epsilon"] != made.parameters["epsilon"]:
            raise SurveyError((*self.at, "epsilon"), "is not in its published spelling", _PUBLISH_AGAIN)
        try:
            channel = Channel.from_json(self.fields["channel"])
        except ChannelError as error:
            raise SurveyError((*self.at, "channel"), error.sentence, _FRESH_LINK) from None
        if channel != made.device:
            raise SurveyError((*self.at, "channel"), "is not the channel of this block", _FRESH_LINK)


def read_outlines(value: object, ids: Sequence[object], published: bool) -> tuple[Outline, ...]:
    """Read which questions stand in blocks, given the ids of all of them in the survey's order."""
    if not isinstance(value, list):
        raise SurveyError(
            ("blocks",),
            said("must be a list, got {value}", value=short(value)),
            "write [ ... ] with one block each",
        )
    found: list[Outline] = []
    for number, one in enumerate(value):
        earlier = [name for block in found for name in block.questions]
        found.append(_outline(one, number, ids, earlier, published))
    return tuple(found)


def _outline(
    value: object, number: int, ids: Sequence[object], earlier: Sequence[str], published: bool
) -> Outline:
    at: Place = ("blocks", number)
    keys = ("questions", "ask", "epsilon")
    fields = read_fields(value, at, (*keys, "channel") if published else keys, published=published)
    names, here = fields["questions"], (*at, "questions")
    if not isinstance(names, list) or len(names) < 2:
        count = len(names) if isinstance(names, list) else 0
        raise SurveyError(
            here,
            said("a block needs at least two questions, has {count}", count=count),
            "name two or more, or ask the question outside a block",
        )
    for place, name in enumerate(names):
        if not isinstance(name, str) or name not in ids:
            raise SurveyError(
                (*here, place),
                said("{name} is not a question of this survey", name=short(name)),
                "name its id",
            )
        if name in earlier or name in names[:place]:
            raise SurveyError(
                (*here, place),
                said('"{name}" stands in a block already', name=name),
                "put every question in one block only",
            )
    first = ids.index(names[0])
    if list(ids[first : first + len(names)]) != names:
        raise SurveyError(
            here, "are not neighbours in the survey, in its order", "move them next to each other"
        )
    if earlier and first < ids.index(earlier[-1]):
        raise SurveyError(here, "come before those of an earlier block", "write blocks in the survey's order")
    ask = fields["ask"]
    if not is_whole(ask) or not 1 <= ask <= len(names):
        raise SurveyError(
            (*at, "ask"),
            said("{ask} is not a number of its {count} questions", ask=short(ask), count=len(names)),
            said("ask each person 1 to {count} of them", count=len(names)),
        )
    return Outline(number, tuple(names), first, fields)
