"""Survey documents: what a designer writes, what is published, and the hash that a respondent's link carries."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from . import strict_json
from .channel import Channel, Code
from .channel.base import Draws
from .document import Place, read_fields, read_text, short
from .errors import ChannelError, DocumentError, MechanismError, SurveyError
from .exact import exp_below, log_below, read_decimal, read_share, spell
from .kind import KINDS, Answers, Kind, compile_mechanism
from .limits import CAP, MAX_BYTES, MAX_QUESTIONS, VERSION
from .mechanism import MECHANISMS, BrokenPromise, Mechanism

__all__ = ["NOT_APPLICABLE", "After", "Anchor", "Question", "Settings", "Survey"]

NOT_APPLICABLE = "does not apply"
"""The answer of everybody whom a question is not shown: the last row of its channel, never offered."""

_MAX_DRAFT = 1 << 22
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_COMMON = ("id", "kind", "mechanism", "text")
_FRESH_LINK = "do not answer; ask for a fresh link"
_PUBLISH_AGAIN = "ask the owner to publish it again"


@dataclass(frozen=True)
class Settings:
    """Choices of the designer that are part of the hash."""

    kiosk: bool = False
    invitation: bool = False


@dataclass(frozen=True)
class Anchor:
    """A yes/no question whose true share of Yes is known, so that careless answers show."""

    question: str
    share: Fraction

    def document(self) -> dict[str, Any]:
        """Give the anchor as JSON."""
        return {"question": self.question, "share": spell(self.share)}


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
        """What the device draws from."""
        return self.mechanism.device

    @property
    def epsilon(self) -> float:
        """The unconditional privacy of this answer; infinity when unbounded."""
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
        value: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind.name,
            "text": self.text,
            "mechanism": {
                "name": self.mechanism.name,
                **self.mechanism.parameters,
                **self.answers.in_mechanism(),
            },
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


@dataclass(frozen=True)
class Survey:
    """A survey whose mechanisms are compiled. Read one with `from_draft`, `from_published` or `parse`."""

    title: str
    intro: str
    questions: tuple[Question, ...]
    settings: Settings = Settings()
    anchor: Anchor | None = None

    @classmethod
    def from_draft(cls, value: Mapping[str, Any] | str | bytes) -> Survey:
        """Read what a designer wrote; text is brought to Unicode's composed form (NFC)."""
        if isinstance(value, (str, bytes)):
            value = _document(value)
        return _read_survey(value, published=False)

    @classmethod
    def from_published(cls, data: bytes, expected_hash: str | None = None, cap: str = CAP) -> Survey:
        """Read and verify the bytes a server serves. Run by a client before it shows a question.

        Refused are: bytes that are not the canonical ones, another hash than the link's, channels other than the
        mechanism's own, and a finite total epsilon above `cap`.
        """
        if expected_hash is not None and hashlib.sha256(data).hexdigest() != expected_hash:
            raise SurveyError(
                (), "its hash is not the one in the link", "do not answer; ask for a fresh link"
            )
        if len(data) > MAX_BYTES:
            raise _too_large(len(data))
        value = _document(data, floats=False)
        if strict_json.dumps(value) != data:
            raise SurveyError((), "its bytes are not the canonical ones", "ask the owner to publish it again")
        survey = _read_survey(value, published=True)
        survey.check_cap(cap)
        return survey

    @classmethod
    def parse(cls, data: bytes | str) -> Survey:
        """Read either form: in the published one every question has its channel."""
        value = _document(data)
        # An editor may have added a last newline; everything else must be as published.
        plain = (data if isinstance(data, bytes) else data.encode()).removesuffix(b"\n")
        if _looks_published(value, plain):
            return cls.from_published(plain)
        survey = _read_survey(value, published=False)
        survey.check_cap()
        return survey

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """Read either form from a file."""
        return cls.parse(Path(path).read_bytes())

    @cached_property
    def document(self) -> dict[str, Any]:
        """The published form."""
        return self.as_document(published=True)

    def as_document(self, published: bool) -> dict[str, Any]:
        """Give the survey as JSON, with the integer channels (published) or without them (draft)."""
        value: dict[str, Any] = {
            "hushpoll": VERSION,
            "title": self.title,
            "intro": self.intro,
            "questions": [question.document(published) for question in self.questions],
            "settings": {"kiosk": self.settings.kiosk, "invitation": self.settings.invitation},
        }
        return value | ({} if self.anchor is None else {"anchor": self.anchor.document()})

    @cached_property
    def canonical(self) -> bytes:
        """The bytes that are served and hashed."""
        return strict_json.dumps(self.document)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical bytes, lower-case hex: the survey's name."""
        return hashlib.sha256(self.canonical).hexdigest()

    @cached_property
    def epsilon_total(self) -> float:
        """The privacy of one person's whole report: epsilons add up; infinity when any is unbounded."""
        ratios = [question.channel.ratio for question in self.questions]
        finite = [ratio for ratio in ratios if ratio is not None]
        return log_below(math.prod(finite, start=Fraction(1))) if len(finite) == len(ratios) else math.inf

    def check_cap(self, cap: str = CAP) -> None:
        """Refuse a total above `cap`, by exact arithmetic over the questions whose epsilon is finite."""
        product = math.prod(question.channel.ratio or 1 for question in self.questions)
        if product > exp_below(read_decimal(cap, "cap")):
            raise SurveyError(
                ("questions",),
                f"the total epsilon of one person is above {cap}",
                "lower the questions' epsilon or ask fewer questions",
            )


def _looks_published(value: object, data: bytes) -> bool:
    """Tell a published document from a draft, of which only questions with a computed table carry their channel."""
    questions = value.get("questions") if isinstance(value, Mapping) else None
    if not isinstance(questions, list) or not questions:
        return False
    if not all(isinstance(one, Mapping) and "channel" in one for one in questions):
        return False
    names = [one["mechanism"].get("name") for one in questions if isinstance(one.get("mechanism"), Mapping)]
    computed = [name for name in names if name in MECHANISMS and not MECHANISMS[name].recompiled]
    return len(computed) < len(questions) or strict_json.dumps(value) == data


def _too_large(size: int) -> SurveyError:
    return SurveyError(
        (), f"it has {size} bytes, more than {MAX_BYTES} as published", "ask fewer questions or shorten texts"
    )


def _document(data: str | bytes, floats: bool = True) -> Any:
    if len(data) > _MAX_DRAFT:
        raise _too_large(len(data))
    try:
        # A draft's NaN is refused by the field that holds it, so that the message names the question.
        return strict_json.loads(data, floats=floats, constants=floats)
    except DocumentError as error:
        raise SurveyError((), error.problem, error.remedy) from None


def _read_survey(value: object, published: bool) -> Survey:
    needed, more = ("hushpoll", "title", "questions"), ("intro", "settings")
    fields = read_fields(value, (), needed, more, published, ("anchor",))
    version = fields["hushpoll"]
    if type(version) is not int or version != VERSION:
        raise SurveyError(
            ("hushpoll",), f"version {short(version)} is not known", f'write "hushpoll": {VERSION}'
        )
    settings = _read_settings(fields.get("settings", {}), published)
    listed = fields["questions"]
    if not isinstance(listed, list) or not listed:
        raise SurveyError(("questions",), "must be a list of at least one question", "add a question")
    if len(listed) > MAX_QUESTIONS:
        raise SurveyError(("questions",), f"has {len(listed)} questions", f"keep at most {MAX_QUESTIONS}")
    title = read_text(fields["title"], ("title",), "title", published)
    intro = read_text(fields.get("intro", ""), ("intro",), "intro", published)
    questions: list[Question] = []
    for question in listed:
        questions.append(_read_question(question, questions, published))
    _check_ids(questions)
    anchor = _anchor(fields["anchor"], questions, published) if "anchor" in fields else None
    survey = Survey(title, intro, tuple(questions), settings, anchor)
    if len(survey.canonical) > MAX_BYTES:
        raise _too_large(len(survey.canonical))
    return survey


def _read_settings(value: object, published: bool) -> Settings:
    settings = read_fields(value, ("settings",), (), ("kiosk", "invitation"), published)
    for key, flag in settings.items():
        if type(flag) is not bool:
            raise SurveyError(
                ("settings", key), f"must be true or false, got {short(flag)}", "write true or false"
            )
    return Settings(**settings)


def _anchor(value: object, questions: Sequence[Question], published: bool) -> Anchor:
    """Read which question's true share is known; a half would tell nothing about careless answers."""
    fields = read_fields(value, ("anchor",), ("question", "share"), published=published)
    found = next((one for one in questions if one.id == fields["question"]), None)
    if found is None or not found.kind.yes_or_no or found.after is not None:
        raise SurveyError(
            ("anchor", "question"),
            f"{short(fields['question'])} is no yes/no question that everybody is asked",
            "name one",
        )
    try:
        share = read_share(fields["share"], "share")
    except MechanismError as error:
        raise SurveyError(
            ("anchor", "share"), error.problem, error.remedy or "write a share such as 0"
        ) from None
    if share == Fraction(1, 2):
        raise SurveyError(("anchor", "share"), "1/2 tells nothing", "choose a question of another share")
    if published and fields["share"] != spell(share):
        raise SurveyError(("anchor", "share"), "is not in its published spelling", _PUBLISH_AGAIN)
    return Anchor(found.id, share)


def _check_ids(questions: Sequence[Question]) -> None:
    seen: set[str] = set()
    for index, question in enumerate(questions):
        if question.id in seen:
            raise SurveyError(
                ("questions", index, "id"), f'"{question.id}" is used twice', "give every question its own id"
            )
        seen.add(question.id)


def _read_question(value: object, earlier: Sequence[Question], published: bool) -> Question:
    name = value.get("id") if isinstance(value, Mapping) else None
    known = name if isinstance(name, str) and _ID.fullmatch(name) else None
    try:
        return _check_question(value, earlier, known, published)
    except SurveyError as error:
        raise SurveyError(error.path, error.problem, error.remedy, known) from None


def _check_question(
    value: object, earlier: Sequence[Question], known: str | None, published: bool
) -> Question:
    at = ("questions", len(earlier))
    kind = _kind(value, at)
    keys = (*_COMMON, *(kind.keys if kind else ()))
    later = (*(kind.later if kind else ()), "after")
    needed = (*keys, "channel") if published else keys
    fields = read_fields(value, at, needed, () if published else ("channel",), published, later)
    if known is None:
        raise SurveyError(
            (*at, "id"),
            f"{short(fields['id'])} is no id",
            "use letters, digits and _, starting with a letter, at most 64",
        )
    assert kind is not None  # a missing one was refused with the other keys
    text = read_text(fields["text"], (*at, "text"), "text", published)
    answers = kind.read(fields, at, published)
    after = _after(fields["after"], (*at, "after"), kind, earlier, published) if "after" in fields else None
    mechanism, decoy = _mechanism(fields, at, kind, answers, after, published)
    return Question(known, kind, text, answers, mechanism, decoy, after)


def _after(value: object, at: Place, kind: Kind, earlier: Sequence[Question], published: bool) -> After:
    """Read a skip rule; it points back to a question whose answer the device knows."""
    if not kind.may_be_skipped:
        raise SurveyError(at, f"a {kind.name} question is always asked", "remove the rule")
    rule = read_fields(value, at, ("question", "answers"), published=published)
    decider = next((one for one in earlier if one.id == rule["question"]), None)
    if decider is None:
        raise SurveyError(
            (*at, "question"),
            f"{short(rule['question'])} is no earlier question",
            "name one that comes before",
        )
    if not decider.kind.may_be_skipped or decider.mechanism.has_decoy:
        raise SurveyError(
            (*at, "question"),
            f'"{decider.id}" cannot decide whether another question is shown',
            "name a choice or a yes/no question without a decoy",
        )
    return After(decider.id, _after_answers(rule["answers"], (*at, "answers"), decider, published))


def _after_answers(value: object, at: Place, decider: Question, published: bool) -> tuple[str, ...]:
    known = f"use some of: {', '.join(decider.options)}"
    if not isinstance(value, list) or not value:
        raise SurveyError(at, "must be a list of answers", known)
    for place, one in enumerate(value):
        if one not in decider.options:
            raise SurveyError((*at, place), f'{short(one)} is no answer of "{decider.id}"', known)
    ordered = tuple(one for one in decider.options if one in value)
    if len(ordered) == len(decider.options) and decider.after is None:
        raise SurveyError(at, "are all answers, so that the question is always shown", "remove the rule")
    if len(set(value)) != len(value) or (published and list(ordered) != value):
        raise SurveyError(at, "must stand once each, in the order of the options", "put them in order")
    return ordered


def _kind(value: object, at: Place) -> Kind | None:
    if not isinstance(value, Mapping) or "kind" not in value:
        return None
    name = value["kind"]
    if not isinstance(name, str) or name not in KINDS:
        raise SurveyError(
            (*at, "kind"), f"{short(name)} is not a known kind", f"use one of: {', '.join(KINDS)}"
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
            f"the reports of “{mechanism.label}” cannot tell this",
            f"report something else ({only}), or choose another mechanism",
        )


def _check_decoy(mechanism: Mechanism, decoy: str | None, at: Place) -> None:
    if mechanism.has_decoy and decoy is None:
        raise SurveyError((*at, "decoy"), "is missing", "write the decoy question's text")
    if decoy is not None and not mechanism.has_decoy:
        raise SurveyError((*at, "decoy"), f"{mechanism.name} asks no decoy question", "remove it")


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
        raise SurveyError(at, str(error), _FRESH_LINK) from None
