"""Survey documents: what a designer writes, what is published, and the hash that a respondent's link carries."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from . import strict_json
from .channel import Channel
from .compile import KINDS, compile_mechanism
from .errors import ChannelError, DocumentError, MechanismError, SurveyError
from .exact import exp_below, log_below, read_decimal
from .mechanisms import MAX_OPTIONS, Mechanism

__all__ = ["CAP", "MAX_QUESTIONS", "VERSION", "Question", "Settings", "Survey"]

VERSION = 1
CAP = "20"  # the largest total epsilon that a client sends answers for, whatever the survey says
MAX_QUESTIONS = 100
MAX_BYTES = 1 << 20  # of the published form: every client reads that much and no more
_MAX_DRAFT = 1 << 22
_LENGTHS = {"title": 200, "intro": 4000, "text": 1000, "option": 200, "decoy": 1000}
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_YES_NO = ("No", "Yes")


@dataclass(frozen=True)
class Settings:
    """Choices of the designer that are part of the hash."""

    kiosk: bool = False
    invitation: bool = False


@dataclass(frozen=True)
class Question:
    """One question with its compiled mechanism."""

    id: str
    kind: str
    text: str
    options: tuple[str, ...]
    mechanism: Mechanism
    decoy: str | None = None

    @property
    def channel(self) -> Channel:
        """What the device draws from."""
        return self.mechanism.device

    @property
    def epsilon(self) -> float:
        """The unconditional privacy of this answer; infinity when unbounded."""
        return self.mechanism.epsilon

    def document(self, published: bool = True) -> dict[str, Any]:
        """The question as JSON; the published form carries the integer channel."""
        value: dict[str, Any] = {
            "id": self.id,
            "kind": self.kind,
            "text": self.text,
            "mechanism": {"name": self.mechanism.name, **self.mechanism.parameters},
        }
        if self.kind == "choice":
            value["options"] = list(self.options)
        if self.decoy is not None:
            value["mechanism"]["decoy"] = self.decoy
        if published:
            value["channel"] = self.channel.to_json()
        return value


@dataclass(frozen=True)
class Survey:
    """A survey whose mechanisms are compiled. Read one with `from_draft`, `from_published` or `parse`."""

    title: str
    intro: str
    questions: tuple[Question, ...]
    settings: Settings = Settings()

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
        """Read either form: the published one is known by the channels in it."""
        value = _document(data)
        questions = value.get("questions") if isinstance(value, Mapping) else None
        if isinstance(questions, list) and any(isinstance(q, Mapping) and "channel" in q for q in questions):
            # An editor may have added a last newline; everything else must be as published.
            return cls.from_published(
                (data if isinstance(data, bytes) else data.encode()).removesuffix(b"\n")
            )
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
        """The survey as JSON, with the integer channels (published) or without them (draft)."""
        return {
            "hushpoll": VERSION,
            "title": self.title,
            "intro": self.intro,
            "questions": [question.document(published) for question in self.questions],
            "settings": {"kiosk": self.settings.kiosk, "invitation": self.settings.invitation},
        }

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
        problem, _, remedy = str(error).rpartition("; ")
        raise SurveyError((), problem, remedy) from None


def _read_survey(value: object, published: bool) -> Survey:
    fields = _fields(value, (), {"hushpoll", "title", "questions"}, {"intro", "settings"}, published)
    version = fields["hushpoll"]
    if type(version) is not int or version != VERSION:
        raise SurveyError(
            ("hushpoll",), f"version {_short(version)} is not known", f'write "hushpoll": {VERSION}'
        )
    settings = _fields(fields.get("settings", {}), ("settings",), set(), {"kiosk", "invitation"}, published)
    for key, flag in settings.items():
        if type(flag) is not bool:
            raise SurveyError(
                ("settings", key), f"must be true or false, got {_short(flag)}", "write true or false"
            )
    listed = fields["questions"]
    if not isinstance(listed, list) or not listed:
        raise SurveyError(("questions",), "must be a list of at least one question", "add a question")
    if len(listed) > MAX_QUESTIONS:
        raise SurveyError(("questions",), f"has {len(listed)} questions", f"keep at most {MAX_QUESTIONS}")
    title = _text(fields["title"], ("title",), "title", published)
    intro = _text(fields.get("intro", ""), ("intro",), "intro", published)
    questions = tuple(_read_question(question, index, published) for index, question in enumerate(listed))
    seen: set[str] = set()
    for index, question in enumerate(questions):
        if question.id in seen:
            raise SurveyError(
                ("questions", index, "id"), f'"{question.id}" is used twice', "give every question its own id"
            )
        seen.add(question.id)
    survey = Survey(title, intro, questions, Settings(**settings))
    if len(survey.canonical) > MAX_BYTES:
        raise _too_large(len(survey.canonical))
    return survey


def _read_question(value: object, index: int, published: bool) -> Question:
    at: tuple[str | int, ...] = ("questions", index)
    name = value.get("id") if isinstance(value, Mapping) else None
    known = name if isinstance(name, str) and _ID.fullmatch(name) else None
    try:
        kind = value.get("kind") if isinstance(value, Mapping) else None
        if isinstance(value, Mapping) and "kind" in value and not (isinstance(kind, str) and kind in KINDS):
            raise SurveyError(
                (*at, "kind"), f"{_short(kind)} is not a known kind", f"use one of: {', '.join(KINDS)}"
            )
        required = {"id", "kind", "text", "mechanism"} | ({"options"} if kind == "choice" else set())
        fields = _fields(value, at, required | ({"channel"} if published else set()), set(), published)
        if known is None:
            raise SurveyError(
                (*at, "id"),
                f"{_short(name)} is no id",
                "use letters, digits and _, starting with a letter, at most 64",
            )
        text = _text(fields["text"], (*at, "text"), "text", published)
        options = _options(fields["options"], (*at, "options"), published) if kind == "choice" else _YES_NO
        assert isinstance(kind, str)
        mechanism, decoy = _mechanism(fields["mechanism"], at, kind, options, published)
        question = Question(known, kind, text, options, mechanism, decoy)
        if published:
            _check_channel(question, fields["channel"], (*at, "channel"))
        return question
    except SurveyError as error:
        raise SurveyError(error.path, error.problem, error.remedy, known) from None


def _options(value: object, at: tuple[str | int, ...], published: bool) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) < 2:
        count = len(value) if isinstance(value, list) else 0
        raise SurveyError(
            at, f"needs at least two options, has {count}", "list two or more different options"
        )
    if len(value) > MAX_OPTIONS:
        raise SurveyError(at, f"has {len(value)} options", f"keep at most {MAX_OPTIONS}")
    options = tuple(_text(option, (*at, number), "option", published) for number, option in enumerate(value))
    for number, option in enumerate(options):
        if option in options[:number]:
            raise SurveyError((*at, number), f'"{option}" stands twice', "make every option different")
    return options


def _mechanism(
    value: object, at: tuple[str | int, ...], kind: str, options: tuple[str, ...], published: bool
) -> tuple[Mechanism, str | None]:
    at = (*at, "mechanism")
    if not isinstance(value, Mapping):
        raise SurveyError(at, "must be an object", 'write for example {"name": "warner", "epsilon": 1.0}')
    parameters = {str(key): item for key, item in value.items()}
    if published:
        for key, item in parameters.items():
            _no_numbers(item, (*at, key))
    decoy = None
    if "decoy" in parameters:
        decoy = _text(parameters.pop("decoy"), (*at, "decoy"), "decoy", published)
    try:
        mechanism = compile_mechanism(kind, len(options), parameters)
    except (MechanismError, ChannelError) as error:
        problem, _, remedy = str(error).partition("; ")
        place = (*at, error.field) if isinstance(error, MechanismError) and error.field else at
        raise SurveyError(place, problem, remedy or "correct it") from None
    if mechanism.has_decoy and decoy is None:
        raise SurveyError((*at, "decoy"), "is missing", "write the decoy question's text")
    if decoy is not None and not mechanism.has_decoy:
        raise SurveyError((*at, "decoy"), f"{mechanism.name} asks no decoy question", "remove it")
    if published and parameters != {"name": mechanism.name, **mechanism.parameters}:
        raise SurveyError(at, "is not in its published spelling", "ask the owner to publish it again")
    return mechanism, decoy


def _no_numbers(value: object, at: tuple[str | int, ...]) -> None:
    # decoy_counts are the only numbers in a published mechanism, and they are whole.
    whole = at[-1] == "decoy_counts" and isinstance(value, list) and all(type(item) is int for item in value)
    strings = isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )
    if not (whole or strings):
        raise SurveyError(at, "must be written as a string", "ask the owner to publish it again")


def _check_channel(question: Question, value: object, at: tuple[str | int, ...]) -> None:
    try:
        channel = Channel.from_json(value)
    except ChannelError as error:
        raise SurveyError(at, str(error), "do not answer; ask for a fresh link") from None
    if channel != question.channel:
        raise SurveyError(
            at, f"is not the channel of this {question.mechanism.name}", "do not answer; ask for a fresh link"
        )


def _fields(
    value: object, at: tuple[str | int, ...], required: set[str], optional: set[str], published: bool
) -> dict[str, Any]:
    """Check an object's keys; the published form has them all."""
    if not isinstance(value, Mapping):
        raise SurveyError(at, f"must be an object, got {_short(value)}", "write { ... } with named fields")
    known = required | optional
    for key in value:
        if key not in known:
            raise SurveyError(at, f"unknown key {_short(key)}", f"known here: {', '.join(sorted(known))}")
    for key in sorted(known if published else required):
        if key not in value:
            raise SurveyError((*at, key), "is missing", "add it")
    return dict(value)


def _text(value: object, at: tuple[str | int, ...], what: str, published: bool) -> str:
    if not isinstance(value, str):
        raise SurveyError(at, f"must be text, got {_short(value)}", "write it in quotes")
    text = value if published else unicodedata.normalize("NFC", value)
    limit = _LENGTHS[what]
    if len(text) > limit:
        raise SurveyError(at, f"has {len(text)} characters", f"keep at most {limit}")
    if not text.strip() and what != "intro":
        raise SurveyError(at, "is empty", "write something")
    for place, character in enumerate(text, 1):
        if unicodedata.category(character) in ("Cc", "Cs") and not (character == "\n" and what == "intro"):
            raise SurveyError(
                at, f"holds a control character (U+{ord(character):04X}) at position {place}", "remove it"
            )
    return text


def _short(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)[:40]
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= 40 else text[:37] + "..."
