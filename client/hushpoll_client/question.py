"""One question of a survey document: what is asked, what can be answered, and the mechanism that carries it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from .channel import Channel, Code
from .channel.base import Draws
from .document import Place, read_fields, read_text, short
from .errors import ChannelError, MechanismError, SurveyError
from .kind import KINDS, Answers, Kind, compile_mechanism
from .mechanism import BrokenPromise, Mechanism
from .said import constant, said

__all__ = ["NOT_APPLICABLE", "After", "Question", "check_ids", "read_question"]

NOT_APPLICABLE = said("does not apply")
"""The answer of everybody whom a question is not shown: the last row of its channel, never offered."""

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_COMMON = ("id", "kind", "text")
_OUTSIDE = "remove it, or take the question out of its block"
_FRESH_LINK = "do not answer; ask for a fresh link"
_PUBLISH_AGAIN = "ask the owner to publish it again"


@dataclass(frozen=True)
class After:
    """A skip rule: the question is shown after these answers to an earlier one only."""

    question: str
    answers: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Give the rule as JSON."""
        return {"question": self.question, "answers": list(self.answers)}


@dataclass(frozen=True)
class Question:
    """One question with its compiled mechanism."""

    id: str
    kind: Kind
    text: str
    answers: Answers
    """What can be answered."""
    mechanism: Mechanism
    decoy: str | None = None
    after: After | None = None
    block: str | None = None
    """The block it stands in: then some people are asked it, and the block is what the device draws from."""

    @property
    def options(self) -> tuple[str, ...]:
        """The labels of the answers that people can give."""
        return self.answers.labels

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all true answers that a report may come from, "does not apply" last where there is a rule."""
        return (*self.options, NOT_APPLICABLE) if self.after else self.options

    @property
    def channel(self) -> Channel:
        """What the device draws from; in a block, what its reports say of this question."""
        return self.mechanism.device

    @property
    def epsilon(self) -> float:
        """The unconditional privacy of this answer; infinity when unbounded. In a block it is the block's."""
        return self.mechanism.epsilon

    @property
    def report_labels(self) -> tuple[str, ...]:
        """What each report is called: an answer, a word of the mechanism's own, or only a number.

        None has a name where a report speaks of several options at once: `channel.wire.words` says what it is.
        """
        if not self.channel.listed:
            return ()
        if self.mechanism.reports_are_answers:
            return self.labels
        return self.mechanism.report_words or tuple(str(code) for code in range(self.channel.outcomes))

    def document(self, published: bool = True) -> dict[str, Any]:
        """Give the question as JSON; the published form carries the integer channel."""
        value: dict[str, Any] = {"id": self.id, "kind": self.kind.name, "text": self.text}
        if self.block is not None:
            return value | self.answers.document()
        value["mechanism"] = {
            "name": self.mechanism.name,
            **self.mechanism.parameters,
            **self.answers.in_mechanism(),
        }
        value |= self.answers.document()
        if self.after is not None:
            value["after"] = self.after.document()
        if self.decoy is not None:
            value["mechanism"]["decoy"] = self.decoy
        if published or not self.mechanism.recompiled:
            value["channel"] = self.channel.to_json()
        return value

    def read_answer(self, given: object) -> Any:
        """Turn what somebody chose into a true answer."""
        return self.answers.read(self.id, given)

    def randomize(self, answer: Any, draws: Draws) -> Code:
        """Draw the report for an answer; with a decoy, for the combination of both answers."""
        row = self.answers.row(answer, draws)
        if not self.mechanism.has_decoy:
            row = self.mechanism.device_answer(row)
        return self.channel.pick(row, draws)


def read_question(value: object, earlier: Sequence[Question], inside: bool, published: bool) -> Question:
    name = value.get("id") if isinstance(value, Mapping) else None
    known = name if isinstance(name, str) and _ID.fullmatch(name) else None
    try:
        return _check_question(value, earlier, known, inside, published)
    except SurveyError as error:
        raise SurveyError(error.path, error.problem, error.remedy, known) from None


def _check_question(
    value: object, earlier: Sequence[Question], known: str | None, inside: bool, published: bool
) -> Question:
    at = ("questions", len(earlier))
    kind = _kind(value, at)
    if inside:
        _check_member(value, at, kind)
    own = () if inside else ("mechanism",)
    keys = (*_COMMON, *own, *(kind.keys if kind else ()))
    later = (*(kind.later if kind else ()), "after")
    needed = (*keys, "channel") if published and not inside else keys
    fields = read_fields(value, at, needed, () if published else ("channel",), published, later)
    if known is None:
        raise SurveyError(
            (*at, "id"),
            said("{id} is not an id", id=short(fields["id"])),
            "use letters, digits and _, starting with a letter, at most 64",
        )
    assert kind is not None  # a missing one was refused with the other keys
    text = read_text(fields["text"], (*at, "text"), "text", published)
    answers = kind.read(fields, at, published)
    if inside:
        # Its mechanism follows from the block, once all members are read.
        return Question(known, kind, text, answers, cast(Mechanism, None), block="")
    after = _after(fields["after"], (*at, "after"), kind, earlier, published) if "after" in fields else None
    mechanism, decoy = _mechanism(fields, at, kind, answers, after, published)
    return Question(known, kind, text, answers, mechanism, decoy, after)


def _check_member(value: object, at: Place, kind: Kind | None) -> None:
    """Refuse what a question of a block cannot have: a mechanism or a decoy of its own, a rule, other kinds."""
    fields = value if isinstance(value, Mapping) else {}
    own = fields.get("mechanism")
    if "mechanism" in fields:
        decoy = isinstance(own, Mapping) and "decoy" in own
        problem = (
            "a question of a block has no decoy" if decoy else "a question of a block has none of its own"
        )
        raise SurveyError((*at, "mechanism"), problem, _OUTSIDE)
    if "channel" in fields:
        raise SurveyError(
            (*at, "channel"),
            "a question of a block has none of its own",
            _OUTSIDE,
        )
    if "after" in fields:
        raise SurveyError(
            (*at, "after"),
            "a question of a block has no skip rule",
            _OUTSIDE,
        )
    if kind is not None and not kind.in_blocks:
        known = ", ".join(one.name for one in KINDS.values() if one.in_blocks)
        raise SurveyError(
            (*at, "kind"),
            said("a {kind} question cannot be in a block", kind=kind.name),
            said("use one of: {known}", known=known),
        )


def _after(value: object, at: Place, kind: Kind, earlier: Sequence[Question], published: bool) -> After:
    """Read a skip rule; it points back to a question whose answer the device knows."""
    if not kind.may_be_skipped:
        raise SurveyError(at, said("a {kind} question is always asked", kind=kind.name), "remove the rule")
    rule = read_fields(value, at, ("question", "answers"), published=published)
    decider = next((one for one in earlier if one.id == rule["question"]), None)
    if decider is None:
        raise SurveyError(
            (*at, "question"),
            said("{question} is not an earlier question", question=short(rule["question"])),
            "name one that comes before",
        )
    if decider.block is not None:
        raise SurveyError(
            (*at, "question"),
            said('"{decider}" is asked of some people only, so it cannot decide', decider=decider.id),
            "name a question outside blocks",
        )
    if not decider.kind.may_be_skipped or decider.mechanism.has_decoy:
        raise SurveyError(
            (*at, "question"),
            said('"{decider}" cannot decide whether another question is shown', decider=decider.id),
            "name a choice or a yes/no question without a decoy",
        )
    return After(decider.id, _after_answers(rule["answers"], (*at, "answers"), decider, published))


def _after_answers(value: object, at: Place, decider: Question, published: bool) -> tuple[str, ...]:
    known = said("use some of: {options}", options=", ".join(decider.options))
    if not isinstance(value, list) or not value:
        raise SurveyError(at, "must be a list of answers", known)
    for place, one in enumerate(value):
        if one not in decider.options:
            raise SurveyError(
                (*at, place),
                said('{one} is not an answer of "{decider}"', one=short(one), decider=decider.id),
                known,
            )
    ordered = tuple(one for one in decider.options if one in value)
    if len(ordered) == len(decider.options) and decider.after is None:
        raise SurveyError(at, "are all answers, so that the question is always shown", "remove the rule")
    if len(set(value)) != len(value) or (published and list(ordered) != value):
        raise SurveyError(at, "must appear once each, in the order of the options", "put them in order")
    return ordered


def _kind(value: object, at: Place) -> Kind | None:
    if not isinstance(value, Mapping) or "kind" not in value:
        return None
    name = value["kind"]
    if not isinstance(name, str) or name not in KINDS:
        raise SurveyError(
            (*at, "kind"),
            said("{name} is not a known kind", name=short(name)),
            said("use one of: {known}", known=", ".join(KINDS)),
        )
    return KINDS[name]


def _mechanism(
    fields: Mapping[str, Any],
    at: Place,
    kind: Kind,
    answers: Answers,
    after: After | None,
    published: bool,
) -> tuple[Mechanism, str | None]:
    value, here = fields["mechanism"], (*at, "mechanism")
    if not isinstance(value, Mapping):
        raise SurveyError(here, "must be an object", 'write for example {"name": "warner", "epsilon": 1.0}')
    parameters = {str(key): item for key, item in value.items()}
    decoy = None
    if "decoy" in parameters:
        decoy = read_text(parameters.pop("decoy"), (*here, "decoy"), "decoy", published)
    channel = _channel(fields["channel"], (*at, "channel")) if "channel" in fields else None
    try:
        rows = len(answers.labels) + (after is not None)
        mechanism = compile_mechanism(kind, answers, rows, parameters, channel)
    except BrokenPromise as error:
        raise SurveyError((*at, "channel"), error.problem, _FRESH_LINK) from None
    except (MechanismError, ChannelError) as error:
        place, problem = here, error.problem
        if isinstance(error, MechanismError) and error.field:
            place, problem = (*here, error.field), error.predicate or problem
        raise SurveyError(place, problem, error.remedy or "correct it") from None
    _check_decoy(mechanism, decoy, here)
    _check_target(mechanism, answers, (*here, "target"))
    if published:
        _check_spelling(mechanism, answers.in_mechanism(), parameters, here)
    elif channel is not None and mechanism.recompiled:
        raise SurveyError((*at, "channel"), "a draft has none", "remove it")
    return mechanism, decoy


def _check_target(mechanism: Mechanism, answers: Answers, at: Place) -> None:
    """Refuse to ask people for reports that cannot tell what shall be reported."""
    only = mechanism.tells_only
    if only is not None and answers.target != only and mechanism.options > 2:
        raise SurveyError(
            at,
            said("the reports of “{mechanism}” cannot tell this", mechanism=constant(mechanism.label)),
            said("report something else ({only}), or choose another mechanism", only=only),
        )


def _check_decoy(mechanism: Mechanism, decoy: str | None, at: Place) -> None:
    if mechanism.has_decoy and decoy is None:
        raise SurveyError((*at, "decoy"), "is missing", "write the decoy question's text")
    if decoy is not None and not mechanism.has_decoy:
        raise SurveyError(
            (*at, "decoy"), said("{mechanism} asks no decoy question", mechanism=mechanism.name), "remove it"
        )


def _check_spelling(
    mechanism: Mechanism, more: Mapping[str, Any], parameters: Mapping[str, Any], at: Place
) -> None:
    """Take published parameters in one spelling only, and numbers as text unless they count something."""
    for key, item in parameters.items():
        parameter = mechanism.takes_key(key)
        if parameter is not None and not parameter.shape.is_published(item):
            raise SurveyError((*at, key), "must be written as a string", _PUBLISH_AGAIN)
    if parameters != {"name": mechanism.name, **mechanism.parameters, **more}:
        raise SurveyError(at, "is not in its published spelling", _PUBLISH_AGAIN)


def _channel(value: object, at: Place) -> Channel:
    try:
        return Channel.from_json(value)
    except ChannelError as error:
        raise SurveyError(at, error.sentence, _FRESH_LINK) from None


def check_ids(questions: Sequence[Question]) -> None:
    seen: set[str] = set()
    for index, question in enumerate(questions):
        if question.id in seen:
            raise SurveyError(
                ("questions", index, "id"),
                said('"{question}" is used twice', question=question.id),
                "give every question its own id",
            )
        seen.add(question.id)
