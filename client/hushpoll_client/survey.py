"""Survey documents: what a designer writes, what is published, and the hash that a respondent's link carries."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from . import strict_json
from .about import KEYS as about_keys
from .about import read_about
from .anchor import Anchor, read_anchor
from .block import Block, Outline, read_outlines
from .document import read_fields, read_text, short
from .errors import DocumentError, SurveyError
from .exact import exp_below, log_below, read_decimal
from .group import read_groups, refuse_field_id
from .limits import CAP, MAX_BYTES, MAX_QUESTIONS, VERSION
from .mechanism import MECHANISMS, Member
from .question import NOT_APPLICABLE, After, Question, check_ids, read_question
from .said import said
from .series import Series, read_series
from .translations import read_language, read_translations

__all__ = ["NOT_APPLICABLE", "After", "Anchor", "Question", "Settings", "Survey"]

_MAX_DRAFT = 1 << 22
_LATER = ("anchor", "blocks", "groups", "series", "language", "translations", *about_keys)


@dataclass(frozen=True)
class Settings:
    """Choices of the designer that are part of the hash."""

    kiosk: bool = False
    invitation: bool = False


@dataclass(frozen=True)
class Survey:
    """A survey whose mechanisms are compiled. Read one with `from_draft`, `from_published` or `parse`."""

    title: str
    intro: str
    questions: tuple[Question, ...]
    settings: Settings = Settings()
    anchor: Anchor | None = None
    blocks: tuple[Block, ...] = ()
    series: Series | None = None
    groups: tuple[str, ...] = ()
    """What each link of the survey stands for; a report names its group openly."""
    about: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What stands around the questions, and in which languages, as the document has it."""

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
        value |= {} if self.anchor is None else {"anchor": self.anchor.document()}
        value |= {"blocks": [one.document(published) for one in self.blocks]} if self.blocks else {}
        value |= {"groups": list(self.groups)} if self.groups else {}
        value |= self.about
        return value | ({} if self.series is None else {"series": self.series.document()})

    @cached_property
    def entries(self) -> tuple[Question | Block, ...]:
        """What a report has one value for, in order: each question, and each block in place of its first one."""
        first = {block.first: block for block in self.blocks}
        listed = [first.get(place, one) for place, one in enumerate(self.questions)]
        return tuple(one for one in listed if isinstance(one, Block) or one.block is None)

    @property
    def in_ledger(self) -> bool:
        """Whether a device notes it in its ledger: not at a kiosk, nor where people may have to leave quickly."""
        return not (self.settings.kiosk or self.about.get("look", {}).get("quick_exit", False))

    def block_of(self, question: Question) -> tuple[Block, int] | None:
        """Give the block that a question stands in, and its place there; None where it stands alone."""
        found = next((one for one in self.blocks if one.id == question.block), None)
        return None if found is None else (found, found.questions.index(question.id))

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
        ratios = [entry.channel.ratio for entry in self.entries]
        finite = [ratio for ratio in ratios if ratio is not None]
        return log_below(math.prod(finite, start=Fraction(1))) if len(finite) == len(ratios) else math.inf

    def check_cap(self, cap: str = CAP) -> None:
        """Refuse a total above `cap`, by exact arithmetic over the questions whose epsilon is finite."""
        product = math.prod(entry.channel.ratio or 1 for entry in self.entries)
        if product > exp_below(read_decimal(cap, "cap")):
            raise SurveyError(
                ("questions",),
                said("the total epsilon of one person is above {cap}", cap=cap),
                "lower the questions' epsilon or ask fewer questions",
            )


def _looks_published(value: object, data: bytes) -> bool:
    """Tell a published document from a draft, of which only questions with a computed table carry their channel."""
    if not isinstance(value, Mapping):
        return False
    questions = value.get("questions")
    if not isinstance(questions, list) or not questions:
        return False
    blocks = [one for one in _listed(value.get("blocks")) if isinstance(one, Mapping)]
    members = [name for one in blocks for name in _listed(one.get("questions"))]
    alone = [one for one in questions if not isinstance(one, Mapping) or one.get("id") not in members]
    if not all(isinstance(one, Mapping) and "channel" in one for one in (*alone, *blocks)):
        return False
    names = [one["mechanism"].get("name") for one in questions if isinstance(one.get("mechanism"), Mapping)]
    computed = [name for name in names if name in MECHANISMS and not MECHANISMS[name].recompiled]
    return len(computed) < len(questions) or strict_json.dumps(value) == data


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _too_large(size: int) -> SurveyError:
    return SurveyError(
        (),
        said("it has {size} bytes, more than {most} as published", size=size, most=MAX_BYTES),
        "ask fewer questions or shorten texts",
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
    fields = read_fields(value, (), needed, more, published, _LATER)
    version = fields["hushpoll"]
    if type(version) is not int or version != VERSION:
        raise SurveyError(
            ("hushpoll",),
            said("version {version} is not known", version=short(version)),
            said('write "hushpoll": {version}', version=VERSION),
        )
    settings = _read_settings(fields.get("settings", {}), published)
    listed = fields["questions"]
    if not isinstance(listed, list) or not listed:
        raise SurveyError(("questions",), "must be a list of at least one question", "add a question")
    if len(listed) > MAX_QUESTIONS:
        raise SurveyError(
            ("questions",),
            said("has {count} questions", count=len(listed)),
            said("keep at most {most}", most=MAX_QUESTIONS),
        )
    title = read_text(fields["title"], ("title",), "title", published)
    intro = read_text(fields.get("intro", ""), ("intro",), "intro", published)
    ids = [one.get("id") if isinstance(one, Mapping) else None for one in listed]
    outlines = read_outlines(fields["blocks"], ids, published) if "blocks" in fields else ()
    members = {name for one in outlines for name in one.questions}
    questions: list[Question] = []
    for question, name in zip(listed, ids, strict=True):
        inside = isinstance(name, str) and name in members
        questions.append(read_question(question, questions, inside, published))
    check_ids(questions)
    blocks = tuple(_block(one, questions, published) for one in outlines)
    anchor = read_anchor(fields["anchor"], questions, published) if "anchor" in fields else None
    series = read_series(fields["series"], published) if "series" in fields else None
    groups = read_groups(fields["groups"], published) if "groups" in fields else ()
    if groups:
        refuse_field_id(questions)
    about = _read_about(fields, questions, published)
    survey = Survey(title, intro, tuple(questions), settings, anchor, blocks, series, groups, about)
    if "translations" in fields:
        texts = read_translations(fields["translations"], survey.document, published)
        survey = replace(survey, about={**about, "translations": texts})
    if len(survey.canonical) > MAX_BYTES:
        raise _too_large(len(survey.canonical))
    return survey


def _read_about(fields: Mapping[str, Any], questions: Sequence[Question], published: bool) -> dict[str, Any]:
    about = read_about(fields, [question.id for question in questions], published)
    if "language" in fields:
        about["language"] = read_language(fields["language"], ("language",))
    return about


def _read_settings(value: object, published: bool) -> Settings:
    settings = read_fields(value, ("settings",), (), ("kiosk", "invitation"), published)
    for key, flag in settings.items():
        if type(flag) is not bool:
            raise SurveyError(
                ("settings", key),
                said("must be true or false, got {flag}", flag=short(flag)),
                "write true or false",
            )
    return Settings(**settings)


def _block(outline: Outline, questions: list[Question], published: bool) -> Block:
    """Compile a block, and give its members what its reports say of them."""
    places = range(outline.first, outline.first + len(outline.questions))
    block = outline.compile([len(questions[place].options) for place in places], published)
    for member, place in enumerate(places):
        questions[place] = replace(
            questions[place], mechanism=Member.of(block.mechanism, member), block=block.id
        )
    for place, question in enumerate(questions):
        if question.id == block.id:
            raise SurveyError(
                ("questions", place, "id"),
                said('"{block}" is what a block is called', block=block.id),
                "use another id",
            )
    return block
