"""One question of a survey document: what is asked, what can be answered, and the mechanism that carries it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hushpoll_client.channel import Channel, Code
from hushpoll_client.channel.base import Draws
from hushpoll_client.errors import ChannelError, MechanismError, SurveyError
from hushpoll_client.fields import Place, read_fields, read_text, short
from hushpoll_client.kind import KINDS, Answers, Kind, compile_mechanism
from hushpoll_client.mechanism import BrokenPromise, Mechanism, Member
from hushpoll_client.messages import constant, msg

__all__ = ["NOT_APPLICABLE", "After", "Question", "Wording", "check_ids", "read_member", "read_question"]

NOT_APPLICABLE = msg("does not apply")
"""The answer of people who do not see a question: the last row of its channel, never offered."""

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_COMMON = ("id", "kind", "text")
_OUTSIDE = msg("remove it, or take the question out of its block")
_FRESH_LINK = msg("do not answer; ask for a fresh link")
_PUBLISH_AGAIN = msg("ask the owner to publish it again")


@dataclass(frozen=True)
class After:
    """A skip rule: the question is shown after these answers to an earlier one only."""

    question: str
    answers: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the rule as JSON."""
        return {"question": self.question, "answers": list(self.answers)}


@dataclass(frozen=True, kw_only=True)
class Wording:
    """What a question asks and what can be answered, without the mechanism that carries the answer."""

    id: str
    kind: Kind
    text: str
    answers: Answers

    @property
    def options(self) -> tuple[str, ...]:
        """The labels of the answers that people can give."""
        return self.answers.labels

    def in_block(self, block: str, mechanism: Member) -> Question:
        """Return the question as a member of a block."""
        return Question(
            id=self.id,
            kind=self.kind,
            text=self.text,
            answers=self.answers,
            mechanism=mechanism,
            block=block,
        )


@dataclass(frozen=True, kw_only=True)
class Question(Wording):
    """One question with its compiled mechanism."""

    mechanism: Mechanism
    decoy: str | None = None
    after: After | None = None
    block: str | None = None
    """The id of its block: only some people are asked it, and the device draws from the block's channel."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all true answers that a report may come from, "does not apply" last where there is a rule."""
        if self.after:
            return (*self.options, NOT_APPLICABLE)
        return self.options

    @property
    def channel(self) -> Channel:
        """What the device draws from; in a block, what the block's reports say of this question."""
        return self.mechanism.device

    @property
    def epsilon(self) -> float:
        """The unconditional privacy of this answer; infinity when unbounded. In a block it is the block's."""
        return self.mechanism.epsilon

    @property
    def report_labels(self) -> tuple[str, ...]:
        """What each report is called: an answer, a word of the mechanism, or only a number.

        Empty where a report is about several options at once: `channel.wire.words` says what it is.
        """
        if not self.channel.listed:
            return ()
        if self.mechanism.reports_are_answers:
            return self.labels
        return self.mechanism.report_words or tuple(str(code) for code in range(self.channel.outcomes))

    def document(self, published: bool = True) -> dict[str, Any]:
        """Return the question as JSON; the published form carries the integer channel."""
        document: dict[str, Any] = {"id": self.id, "kind": self.kind.name, "text": self.text}
        if self.block is not None:
            return document | self.answers.document()
        document["mechanism"] = {
            "name": self.mechanism.name,
            **self.mechanism.parameters,
            **self.answers.in_mechanism(),
        }
        document |= self.answers.document()
        if self.after is not None:
            document["after"] = self.after.document()
        if self.decoy is not None:
            document["mechanism"]["decoy"] = self.decoy
        if published or not self.mechanism.recompiled:
            document["channel"] = self.channel.to_json()
        return document

    def read_answer(self, value: object) -> Any:
        """Return the true answer for what a person typed or chose; raise ReportError for anything else."""
        return self.answers.read(self.id, value)

    def randomize(self, answer: Any, draws: Draws) -> Code:
        """Return the report for an answer; with a decoy, for the combination of both answers."""
        row = self.answers.row(answer, draws)
        if not self.mechanism.has_decoy:
            row = self.mechanism.device_answer(row)
        return self.channel.pick(row, draws)


def read_question(value: object, earlier: Sequence[Question], published: bool) -> Question:
    """Return the question that a document describes, with its mechanism; raise SurveyError if it breaks a rule."""
    try:
        return _read_outside_blocks(value, earlier, published)
    except SurveyError as error:
        raise SurveyError(error.path, error.problem, error.remedy, _valid_id(value)) from None


def read_member(value: object, index: int, published: bool) -> Wording:
    """Return the wording of a question in a block: its mechanism follows from the block."""
    try:
        _refuse_outside_keys(value, ("questions", index))
        return _read_wording(value, ("questions", index), (), (), published)[0]
    except SurveyError as error:
        raise SurveyError(error.path, error.problem, error.remedy, _valid_id(value)) from None


def check_ids(ids: Sequence[object]) -> None:
    """Raise SurveyError if two questions have the same id; what is no id at all is refused where it is read."""
    seen: set[str] = set()
    for index, question_id in enumerate(ids):
        if question_id in seen:
            raise SurveyError(
                ("questions", index, "id"),
                msg('"{question}" is used twice', question=question_id),
                "give every question its own id",
            )
        if isinstance(question_id, str):
            seen.add(question_id)


def _valid_id(value: object) -> str | None:
    question_id = None
    if isinstance(value, Mapping):
        question_id = value.get("id")
    if isinstance(question_id, str) and _ID.fullmatch(question_id):
        return question_id
    return None


def _read_outside_blocks(value: object, earlier: Sequence[Question], published: bool) -> Question:
    at = ("questions", len(earlier))
    required = ("mechanism", "channel") if published else ("mechanism",)
    optional = () if published else ("channel",)
    wording, fields = _read_wording(value, at, required, optional, published)
    after = None
    if "after" in fields:
        after = _read_after(fields["after"], (*at, "after"), wording.kind, earlier, published)
    mechanism, decoy = _read_mechanism(fields, at, wording, after, published)
    return Question(
        id=wording.id,
        kind=wording.kind,
        text=wording.text,
        answers=wording.answers,
        mechanism=mechanism,
        decoy=decoy,
        after=after,
    )


def _read_wording(
    value: object, at: Place, required: tuple[str, ...], optional: tuple[str, ...], published: bool
) -> tuple[Wording, dict[str, Any]]:
    """Return the wording of a question, and all its fields."""
    kind = _read_kind(value, at)
    keys = (*_COMMON, *required)
    omittable: tuple[str, ...] = ("after",)
    if kind is not None:
        keys, omittable = (*keys, *kind.keys), (*kind.optional_keys, *omittable)
    fields = read_fields(value, at, keys, optional, published, omittable)
    question_id = _valid_id(value)
    if question_id is None:
        raise SurveyError(
            (*at, "id"),
            msg("{id} is not an id", id=short(fields["id"])),
            "use letters, digits and _, starting with a letter, at most 64",
        )
    assert kind is not None  # read_fields refuses a question without one
    text = read_text(fields["text"], (*at, "text"), "text", published)
    answers = kind.read(fields, at, published)
    return Wording(id=question_id, kind=kind, text=text, answers=answers), fields


def _read_kind(value: object, at: Place) -> Kind | None:
    if not isinstance(value, Mapping) or "kind" not in value:
        return None
    name = value["kind"]
    if not isinstance(name, str) or name not in KINDS:
        raise SurveyError(
            (*at, "kind"),
            msg("{name} is not a known kind", name=short(name)),
            msg("use one of: {known}", known=", ".join(KINDS)),
        )
    return KINDS[name]


def _refuse_outside_keys(value: object, at: Place) -> None:
    """Refuse what a question of a block cannot have: a mechanism, a decoy, a skip rule, some kinds."""
    kind = _read_kind(value, at)
    fields: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    mechanism = fields.get("mechanism")
    if isinstance(mechanism, Mapping) and "decoy" in mechanism:
        raise SurveyError((*at, "mechanism"), "a question of a block has no decoy", _OUTSIDE)
    for key in ("mechanism", "channel"):
        if key in fields:
            raise SurveyError((*at, key), "a question of a block has none of its own", _OUTSIDE)
    if "after" in fields:
        raise SurveyError((*at, "after"), "a question of a block has no skip rule", _OUTSIDE)
    if kind is not None and not kind.in_blocks:
        kinds = ", ".join(kind.name for kind in KINDS.values() if kind.in_blocks)
        raise SurveyError(
            (*at, "kind"),
            msg("a {kind} question cannot be in a block", kind=kind.name),
            msg("use one of: {known}", known=kinds),
        )


def _read_after(value: object, at: Place, kind: Kind, earlier: Sequence[Question], published: bool) -> After:
    """Return a skip rule; it points back to a question whose answer the device knows."""
    if not kind.may_be_skipped:
        raise SurveyError(at, msg("a {kind} question is always asked", kind=kind.name), "remove the rule")
    rule = read_fields(value, at, ("question", "answers"), published=published)
    decider = next((question for question in earlier if question.id == rule["question"]), None)
    if decider is None:
        raise SurveyError(
            (*at, "question"),
            msg("{question} is not an earlier question", question=short(rule["question"])),
            "name one that comes before",
        )
    if decider.block is not None:
        raise SurveyError(
            (*at, "question"),
            msg('"{decider}" is asked of some people only, so it cannot decide', decider=decider.id),
            "name a question outside blocks",
        )
    if not decider.kind.may_be_skipped or decider.mechanism.has_decoy:
        raise SurveyError(
            (*at, "question"),
            msg('"{decider}" cannot decide whether another question is shown', decider=decider.id),
            "name a choice or a yes/no question without a decoy",
        )
    return After(decider.id, _read_deciding_answers(rule["answers"], (*at, "answers"), decider, published))


def _read_deciding_answers(value: object, at: Place, decider: Question, published: bool) -> tuple[str, ...]:
    remedy = msg("use some of: {options}", options=", ".join(decider.options))
    if not isinstance(value, list) or not value:
        raise SurveyError(at, "must name at least one answer", remedy)
    for index, answer in enumerate(value):
        if answer not in decider.options:
            raise SurveyError(
                (*at, index),
                msg('{one} is not an answer of "{decider}"', one=short(answer), decider=decider.id),
                remedy,
            )
    ordered = tuple(option for option in decider.options if option in value)
    if len(ordered) == len(decider.options) and decider.after is None:
        raise SurveyError(at, "are all answers, so that the question is always shown", "remove the rule")
    if len(set(value)) != len(value) or (published and list(ordered) != value):
        raise SurveyError(at, "must appear once each, in the order of the options", "put them in order")
    return ordered


def _read_mechanism(
    fields: Mapping[str, Any], at: Place, wording: Wording, after: After | None, published: bool
) -> tuple[Mechanism, str | None]:
    """Return the mechanism and the text of the decoy question, if there is one."""
    value, here = fields["mechanism"], (*at, "mechanism")
    if not isinstance(value, Mapping):
        raise SurveyError(here, "must be an object", 'write for example {"name": "warner", "epsilon": 1.0}')
    parameters = {str(key): item for key, item in value.items()}
    decoy = None
    if "decoy" in parameters:
        decoy = read_text(parameters.pop("decoy"), (*here, "decoy"), "decoy", published)
    channel = None
    if "channel" in fields:
        channel = _read_channel(fields["channel"], (*at, "channel"))
    mechanism = _compile(wording, len(wording.options) + (after is not None), parameters, channel, at)
    _check_decoy(mechanism, decoy, here)
    _check_target(mechanism, wording.answers, (*here, "target"))
    if published:
        _check_spelling(mechanism, wording.answers.in_mechanism(), parameters, here)
    elif channel is not None and mechanism.recompiled:
        raise SurveyError((*at, "channel"), "a draft has none", "remove it")
    return mechanism, decoy


def _compile(
    wording: Wording, rows: int, parameters: Mapping[str, Any], channel: Channel | None, at: Place
) -> Mechanism:
    """Return the mechanism; an error names the field of the document."""
    try:
        return compile_mechanism(wording.kind, wording.answers, rows, parameters, channel)
    except BrokenPromise as error:
        raise SurveyError((*at, "channel"), error.problem, _FRESH_LINK) from None
    except (MechanismError, ChannelError) as error:
        path, problem = (*at, "mechanism"), error.problem
        if isinstance(error, MechanismError) and error.field:
            path, problem = (*path, error.field), error.predicate or problem
        raise SurveyError(path, problem, error.remedy or "correct it") from None


def _check_target(mechanism: Mechanism, answers: Answers, at: Place) -> None:
    """Raise SurveyError if the reports cannot give what the designer wants to publish."""
    only = mechanism.tells_only
    if only is not None and answers.target != only and mechanism.options > 2:
        raise SurveyError(
            at,
            msg("the reports of “{mechanism}” cannot tell this", mechanism=constant(mechanism.label)),
            msg("report something else ({only}), or choose another mechanism", only=only),
        )


def _check_decoy(mechanism: Mechanism, decoy: str | None, at: Place) -> None:
    if mechanism.has_decoy and decoy is None:
        raise SurveyError((*at, "decoy"), "is missing", "write the decoy question's text")
    if decoy is not None and not mechanism.has_decoy:
        raise SurveyError(
            (*at, "decoy"), msg("{mechanism} asks no decoy question", mechanism=mechanism.name), "remove it"
        )


def _check_spelling(
    mechanism: Mechanism, kind_keys: Mapping[str, Any], parameters: Mapping[str, Any], at: Place
) -> None:
    """Raise SurveyError unless parameters are in their one published spelling: numbers that are no counts as text."""
    for key, item in parameters.items():
        parameter = mechanism.takes_key(key)
        if parameter is not None and not parameter.shape.is_published(item):
            raise SurveyError((*at, key), "must be written as a string", _PUBLISH_AGAIN)
    if parameters != {"name": mechanism.name, **mechanism.parameters, **kind_keys}:
        raise SurveyError(at, "is not in its published spelling", _PUBLISH_AGAIN)


def _read_channel(value: object, at: Place) -> Channel:
    try:
        return Channel.from_json(value)
    except ChannelError as error:
        raise SurveyError(at, error.sentence, _FRESH_LINK) from None
