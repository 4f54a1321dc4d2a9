"""Blocks: questions of which each person is asked some, drawn by an open coin, and whose answers are sent jointly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hushpoll_client.channel import Channel, Code
from hushpoll_client.channel.base import Draws, below
from hushpoll_client.errors import ChannelError, MechanismError, ReportError, SurveyError
from hushpoll_client.exact import is_whole
from hushpoll_client.fields import Place, read_fields, short
from hushpoll_client.mechanism import Mechanism, Member, sampled
from hushpoll_client.messages import msg

from .question import Question, Wording

__all__ = ["Block", "Outline", "read_outlines"]

_PUBLISH_AGAIN = msg("ask the owner to publish it again")
_FRESH_LINK = msg("do not answer; ask for a fresh link")


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
        count, ids = len(self.questions), ", ".join(self.questions)
        if self.ask < count:
            return msg(
                "{ask} of {whole} questions, drawn by an open coin: {named}",
                ask=self.ask,
                whole=count,
                named=ids,
            )
        return msg(
            "{ask} of {whole} questions, asked of everybody: {named}", ask=self.ask, whole=count, named=ids
        )

    @property
    def decoy(self) -> None:
        """None: no question of a block has one."""
        return None

    @property
    def labels(self) -> tuple[str, ...]:
        """What a report is about: the block's questions."""
        return self.questions

    @property
    def report_labels(self) -> tuple[str, ...]:
        """Empty: a report is about several answers at once."""
        return ()

    def draw(self, draws: Draws) -> int:
        """Return a random rank: which questions are asked, for all to see."""
        return below(self.channel.ranks, draws)  # type: ignore[attr-defined]

    def questions_at(self, rank: int) -> tuple[str, ...]:
        """Return the ids of the questions asked at a rank."""
        members: tuple[int, ...] = self.channel.members(rank)  # type: ignore[attr-defined]
        return tuple(self.questions[member] for member in members)

    def holds(self, rank: object) -> bool:
        """Return whether this is a rank."""
        return type(rank) is int and 0 <= rank < self.channel.ranks  # type: ignore[attr-defined]

    def randomize(self, answers: Sequence[Any], draws: Draws, rank: int | None = None) -> Code:
        """Return the report for the members' answers; an answer that was not asked may be None."""
        if rank is None:
            rank = self.draw(draws)
        asked_ids = self.questions_at(rank)
        for question_id, answer in zip(self.questions, answers, strict=True):
            if question_id in asked_ids and answer is None:
                raise ReportError(
                    msg('question "{name}" has no answer', name=question_id),
                    "every question that is asked needs one",
                )
        codes = tuple(0 if answer is None else answer for answer in answers)
        report: Code = self.channel.pick_at(rank, codes, draws)  # type: ignore[attr-defined]
        return report

    def with_members(self, members: Sequence[Wording]) -> list[Question]:
        """Return the questions of this block, each with what the block's reports say of it."""
        return [
            member.in_block(self.id, Member.of(self.mechanism, position))
            for position, member in enumerate(members)
        ]

    def document(self, published: bool = True) -> dict[str, Any]:
        """Return the block as JSON; the published form carries the integer channel."""
        document: dict[str, Any] = {"questions": list(self.questions), **self.mechanism.parameters}
        if published:
            document["channel"] = self.channel.to_json()
        return document


@dataclass(frozen=True)
class Outline:
    """A block as its document describes it, before its questions are read."""

    number: int
    questions: tuple[str, ...]
    first: int
    fields: Mapping[str, Any]

    @property
    def at(self) -> Place:
        """The path to it in the document."""
        return ("blocks", self.number)

    @property
    def indices(self) -> range:
        """The positions of its questions in the survey."""
        return range(self.first, self.first + len(self.questions))

    def compile(self, sizes: Sequence[int], published: bool) -> Block:
        """Return the block of questions with these numbers of answers; published integers must be the computed ones."""
        try:
            mechanism = sampled(sizes, self.fields["epsilon"], self.fields["ask"])
        except MechanismError as error:
            path = (*self.at, error.field) if error.field else self.at
            raise SurveyError(path, error.predicate or error.problem, error.remedy or "correct it") from None
        if published:
            self._check_published(mechanism)
        return Block(self.number, self.questions, self.first, mechanism)

    def _check_published(self, mechanism: Mechanism) -> None:
        if self.fields["epsilon"] != mechanism.parameters["epsilon"]:
            raise SurveyError((*self.at, "epsilon"), "is not in its published spelling", _PUBLISH_AGAIN)
        try:
            channel = Channel.from_json(self.fields["channel"])
        except ChannelError as error:
            raise SurveyError((*self.at, "channel"), error.sentence, _FRESH_LINK) from None
        if channel != mechanism.device:
            raise SurveyError((*self.at, "channel"), "is not the channel of this block", _FRESH_LINK)


def read_outlines(value: object, ids: Sequence[object], published: bool) -> tuple[Outline, ...]:
    """Return the outlines of a document's blocks; `ids` are those of all its questions, in order."""
    if not isinstance(value, list):
        raise SurveyError(
            ("blocks",),
            msg("must be a list, got {value}", value=short(value)),
            "write [ ... ] with one block each",
        )
    outlines: list[Outline] = []
    for number, block in enumerate(value):
        earlier = [question for outline in outlines for question in outline.questions]
        outlines.append(_read_outline(block, number, ids, earlier, published))
    return tuple(outlines)


def _read_outline(
    value: object, number: int, ids: Sequence[object], earlier: Sequence[str], published: bool
) -> Outline:
    at: Place = ("blocks", number)
    keys = ("questions", "ask", "epsilon")
    fields = read_fields(value, at, (*keys, "channel") if published else keys, published=published)
    members = _read_members(fields["questions"], (*at, "questions"), ids, earlier)
    ask = fields["ask"]
    if not is_whole(ask) or not 1 <= ask <= len(members):
        raise SurveyError(
            (*at, "ask"),
            msg("{ask} is not a number of its {count} questions", ask=short(ask), count=len(members)),
            msg("ask each person 1 to {count} of them", count=len(members)),
        )
    return Outline(number, tuple(members), ids.index(members[0]), fields)


def _read_members(value: object, at: Place, ids: Sequence[object], earlier: Sequence[str]) -> list[str]:
    """Return the ids of a block's questions, which follow each other in the survey."""
    members = []
    if isinstance(value, list):
        members = value
    if len(members) < 2:
        raise SurveyError(
            at,
            msg("a block needs at least two questions, has {count}", count=len(members)),
            "name two or more, or ask the question outside a block",
        )
    for index, name in enumerate(members):
        if not isinstance(name, str) or name not in ids:
            raise SurveyError(
                (*at, index),
                msg("{name} is not a question of this survey", name=short(name)),
                "name its id",
            )
        if name in earlier or name in members[:index]:
            raise SurveyError(
                (*at, index),
                msg('"{name}" stands in a block already', name=name),
                "put every question in one block only",
            )
    first = ids.index(members[0])
    if list(ids[first : first + len(members)]) != members:
        raise SurveyError(
            at, "are not neighbours in the survey, in its order", "move them next to each other"
        )
    if earlier and first < ids.index(earlier[-1]):
        raise SurveyError(at, "come before those of an earlier block", "write blocks in the survey's order")
    return members
