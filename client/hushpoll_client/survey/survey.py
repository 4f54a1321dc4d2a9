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

from hushpoll_client import strict_json
from hushpoll_client.errors import DocumentError, SurveyError
from hushpoll_client.exact import exp_below, log_below, read_decimal
from hushpoll_client.fields import read_fields, read_text
from hushpoll_client.limits import CAP, MAX_BYTES, MAX_QUESTIONS, VERSION
from hushpoll_client.messages import msg

from .anchor import Anchor, read_anchor
from .block import Block, Outline, read_outlines
from .document import Settings, check_version, is_published, parse_document, read_settings, too_large
from .group import read_groups, refuse_field_id
from .presentation import KEYS as PRESENTATION_KEYS
from .presentation import read_presentation
from .question import NOT_APPLICABLE, After, Question, check_ids, read_member, read_question
from .series import Series, read_series
from .translations import read_language, read_translations

__all__ = ["NOT_APPLICABLE", "After", "Anchor", "Question", "Settings", "Survey"]

_OPTIONAL_KEYS = ("anchor", "blocks", "groups", "series", "language", "translations", *PRESENTATION_KEYS)


@dataclass(frozen=True)
class Survey:
    """A survey whose mechanisms are compiled. Read one with `from_draft`, `from_published` or `parse`."""

    title: str
    intro: str
    questions: tuple[Question, ...]
    settings: Settings = field(default_factory=Settings)
    anchor: Anchor | None = None
    blocks: tuple[Block, ...] = ()
    series: Series | None = None
    groups: tuple[str, ...] = ()
    """What each link of the survey stands for; a report names its group openly."""
    presentation: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Who asks, consent, thanks, help, look and translations, as the document has them."""

    @classmethod
    def from_draft(cls, value: Mapping[str, Any] | str | bytes) -> Survey:
        """Return the survey that a designer wrote; its texts are brought to Unicode's composed form (NFC)."""
        if isinstance(value, (str, bytes)):
            value = parse_document(value)
        return _read_survey(value, published=False)

    @classmethod
    def from_published(cls, data: bytes, expected_hash: str | None = None, cap: str = CAP) -> Survey:
        """Return the survey in the bytes a server serves. Run by a client before it shows a question.

        Raise SurveyError for bytes that are not the canonical ones, another hash than the link's, channels other than
        the mechanism's own, or a finite total epsilon above `cap`.
        """
        if expected_hash is not None and hashlib.sha256(data).hexdigest() != expected_hash:
            raise SurveyError(
                (), "its hash is not the one in the link", "do not answer; ask for a fresh link"
            )
        if len(data) > MAX_BYTES:
            raise too_large(len(data))
        value = parse_document(data, floats=False)
        if strict_json.dumps(value) != data:
            raise SurveyError((), "its bytes are not the canonical ones", "ask the owner to publish it again")
        survey = _read_survey(value, published=True)
        survey.check_cap(cap)
        return survey

    @classmethod
    def parse(cls, data: bytes | str) -> Survey:
        """Return the survey in either form: in the published one every question has its channel."""
        value = parse_document(data)
        # An editor may have added a last newline; everything else must be as published.
        plain = (data if isinstance(data, bytes) else data.encode()).removesuffix(b"\n")
        if is_published(value, plain):
            return cls.from_published(plain)
        survey = _read_survey(value, published=False)
        survey.check_cap()
        return survey

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """Return the survey in a file, in either form; raise DocumentError if it cannot be opened."""
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise DocumentError(
                msg("{path}: {problem}", path=str(path), problem=error.strerror or "cannot be read"),
                "give the path of the survey's file",
            ) from None
        return cls.parse(content)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The published form."""
        return self.as_document(published=True)

    def as_document(self, published: bool) -> dict[str, Any]:
        """Return the survey as JSON, with the integer channels (published) or without them (draft)."""
        value: dict[str, Any] = {
            "hushpoll": VERSION,
            "title": self.title,
            "intro": self.intro,
            "questions": [question.document(published) for question in self.questions],
            "settings": {"kiosk": self.settings.kiosk, "invitation": self.settings.invitation},
        }
        if self.anchor is not None:
            value["anchor"] = self.anchor.document()
        if self.blocks:
            value["blocks"] = [block.document(published) for block in self.blocks]
        if self.groups:
            value["groups"] = list(self.groups)
        value |= self.presentation
        if self.series is not None:
            value["series"] = self.series.document()
        return value

    @cached_property
    def entries(self) -> tuple[Question | Block, ...]:
        """What a report has one value for, in order: each question, and each block in place of its first one."""
        entries: list[Question | Block] = []
        for index, question in enumerate(self.questions):
            if question.block is None:
                entries.append(question)
            entries += [block for block in self.blocks if block.first == index]
        return tuple(entries)

    @cached_property
    def questions_by_id(self) -> Mapping[str, Question]:
        """The questions by their ids, in the survey's order."""
        return {question.id: question for question in self.questions}

    def question(self, question_id: str) -> Question:
        """Return a question of this survey; raise KeyError for anything that is not one of its ids."""
        try:
            return self.questions_by_id[question_id]
        except TypeError:  # what a caller passed cannot be hashed
            raise KeyError(question_id) from None

    @property
    def in_ledger(self) -> bool:
        """Whether a device notes it in its ledger: not at a kiosk, nor where people may have to leave quickly."""
        return not (self.settings.kiosk or self.presentation.get("look", {}).get("quick_exit", False))

    def block_of(self, question: Question) -> tuple[Block, int] | None:
        """Return a question's block and its position there; None for a question outside blocks."""
        for block in self.blocks:
            if block.id == question.block:
                return block, block.questions.index(question.id)
        return None

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
        total = Fraction(1)
        for entry in self.entries:
            ratio = entry.channel.ratio
            if ratio is None:
                return math.inf
            total *= ratio
        return log_below(total)

    def check_cap(self, cap: str = CAP) -> None:
        """Raise SurveyError if the total is above `cap`: exact arithmetic over the questions with a finite epsilon."""
        product = math.prod(entry.channel.ratio or 1 for entry in self.entries)
        if product > exp_below(read_decimal(cap, "cap")):
            raise SurveyError(
                ("questions",),
                msg("the total epsilon of one person is above {cap}", cap=cap),
                "lower the questions' epsilon or ask fewer questions",
            )


def _read_survey(value: object, published: bool) -> Survey:
    required, optional = ("hushpoll", "title", "questions"), ("intro", "settings")
    fields = read_fields(value, (), required, optional, published, _OPTIONAL_KEYS)
    check_version(fields["hushpoll"])
    settings = read_settings(fields.get("settings", {}), published)
    documents = _read_list(fields["questions"])
    title = read_text(fields["title"], ("title",), "title", published)
    intro = read_text(fields.get("intro", ""), ("intro",), "intro", published)
    questions, blocks = _read_questions(documents, fields.get("blocks"), published)
    survey = Survey(title=title, intro=intro, questions=questions, settings=settings, blocks=blocks)
    if "anchor" in fields:
        survey = replace(survey, anchor=read_anchor(fields["anchor"], questions, published))
    if "series" in fields:
        survey = replace(survey, series=read_series(fields["series"], published))
    if "groups" in fields:
        survey = replace(survey, groups=read_groups(fields["groups"], published))
        refuse_field_id(questions)
    survey = _with_presentation(survey, fields, published)
    if len(survey.canonical) > MAX_BYTES:
        raise too_large(len(survey.canonical))
    return survey


def _read_list(value: object) -> list[Any]:
    """Return the documents of the questions, as many as a survey may have."""
    if not isinstance(value, list) or not value:
        raise SurveyError(("questions",), "must be a list of at least one question", "add a question")
    if len(value) > MAX_QUESTIONS:
        raise SurveyError(
            ("questions",),
            msg("has {count} questions", count=len(value)),
            msg("keep at most {most}", most=MAX_QUESTIONS),
        )
    return value


def _read_questions(
    documents: list[Any], block_documents: object, published: bool
) -> tuple[tuple[Question, ...], tuple[Block, ...]]:
    """Return the questions and the blocks that some of them are in."""
    ids = [value.get("id") if isinstance(value, Mapping) else None for value in documents]
    outlines: tuple[Outline, ...] = ()
    if block_documents is not None:
        outlines = read_outlines(block_documents, ids, published)
    outline_at = {outline.first: outline for outline in outlines}
    members_of_blocks = [question_id for outline in outlines for question_id in outline.questions]
    questions: list[Question] = []
    blocks: list[Block] = []
    while len(questions) < len(documents):
        index = len(questions)
        if index in outline_at:
            outline = outline_at[index]
            members = [read_member(documents[index], index, published) for index in outline.indices]
            blocks.append(outline.compile([len(member.options) for member in members], published))
            questions += blocks[-1].with_members(members)
        elif ids[index] in members_of_blocks:  # a second question with this id
            read_member(documents[index], index, published)
            check_ids(ids[: index + 1])
        else:
            questions.append(read_question(documents[index], questions, published))
    check_ids(ids)
    _check_block_ids(questions, blocks)
    return tuple(questions), tuple(blocks)


def _check_block_ids(questions: Sequence[Question], blocks: Sequence[Block]) -> None:
    """Raise SurveyError if a question's column of reports would be taken for that of a block."""
    block_ids = [block.id for block in blocks]
    for index, question in enumerate(questions):
        if question.id in block_ids:
            raise SurveyError(
                ("questions", index, "id"),
                msg('"{block}" is what a block is called', block=question.id),
                "use another id",
            )


def _with_presentation(survey: Survey, fields: Mapping[str, Any], published: bool) -> Survey:
    """Return the survey with what its document says around the questions, and its translations."""
    presentation = read_presentation(fields, [question.id for question in survey.questions], published)
    if "language" in fields:
        presentation["language"] = read_language(fields["language"], ("language",))
    survey = replace(survey, presentation=presentation)
    if "translations" not in fields:
        return survey
    # Each translation needs the texts that the survey itself has.
    translations = read_translations(fields["translations"], survey.document, published)
    return replace(survey, presentation={**presentation, "translations": translations})
