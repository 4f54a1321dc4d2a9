"""The report: everything that leaves the device. It has no field that could hold a true answer."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hushpoll_client import strict_json
from hushpoll_client.channel import Code
from hushpoll_client.errors import DocumentError, ReportError
from hushpoll_client.messages import msg
from hushpoll_client.randomize import Source, draw
from hushpoll_client.survey import Question, Survey
from hushpoll_client.survey.block import Block
from hushpoll_client.survey.group import FIELD, check_group

__all__ = ["FEWEST_REPORTS", "Report", "asked_questions", "draw_ranks", "is_shown", "read_answers"]

FEWEST_REPORTS = 50  # that are sealed together, and that give an estimate
_ID = re.compile(r"[0-9a-f]{32}")
_BOTH = msg('give {{"answer": ..., "decoy": ...}}')


@dataclass(frozen=True)
class Report:
    """A random id and one randomized report for each entry of the survey, in its order: a question or a block."""

    id: str
    reports: tuple[Code, ...]
    group: int | None = None
    """The place of its group, where the survey has groups."""

    @classmethod
    def new(
        cls,
        survey: Survey,
        answers: Sequence[Any],
        source: Source = os.urandom,
        ranks: Sequence[int] | None = None,
        group: int | None = None,
    ) -> Report:
        """Randomize a whole form once. Run by the respondent's device.

        `answers` are the true ones, see `read_answers`; with a decoy, `Mechanism.device_answer` of both. `ranks` says
        which questions of each block were asked (`draw_ranks`); the others' answers may be None. Without it they are
        drawn here. `group` is the one of the link, where the survey has groups.
        """
        if len(answers) != len(survey.questions):
            raise ReportError(
                msg(
                    "{count} answers are needed, got {given}", count=len(survey.questions), given=len(answers)
                )
            )
        check_group(survey.groups, group)
        name = source(16).hex()
        answer_of = {question.id: answer for question, answer in zip(survey.questions, answers, strict=True)}

        def report_of(entry: Question | Block) -> Code:
            if isinstance(entry, Block):
                rank = None
                if ranks is not None:
                    rank = ranks[entry.number]
                return entry.randomize(
                    [answer_of[question_id] for question_id in entry.questions], lambda: draw(source), rank
                )
            return entry.randomize(answer_of[entry.id], lambda: draw(source))

        return cls(name, tuple(report_of(entry) for entry in survey.entries), group)

    @property
    def values(self) -> tuple[Code, ...]:
        """What a record holds: the group where there is one, then the reports."""
        if self.group is None:
            return self.reports
        return (self.group, *self.reports)

    def to_bytes(self, invitation: str | None = None) -> bytes:
        """Return the content as canonical JSON; `to_body` is what a device sends."""
        value: dict[str, Any] = {"id": self.id, "reports": list(self.reports)}
        if self.group is not None:
            value[FIELD] = self.group
        if invitation is not None:
            value["invitation"] = invitation
        return strict_json.dumps(value)

    def to_body(self, survey: Survey, invitation: str | None = None) -> bytes:
        """Return the bytes to send: the same ones each time, and as many as of any other report of the survey.

        Spaces follow up to the length of the longest one, so that the length of an encrypted request tells nothing.
        """
        longest = tuple(entry.channel.wire.longest for entry in survey.entries)
        group = None
        if survey.groups:
            group = len(survey.groups) - 1
        return self.to_bytes(invitation).ljust(len(Report(self.id, longest, group).to_bytes(invitation)))

    @classmethod
    def parse(cls, survey: Survey, data: bytes) -> tuple[Report, str | None]:
        """Read a report and its invitation strictly; the server can check only that every report is a legal one."""
        try:
            value = strict_json.loads(data, max_depth=4, floats=False)
        except DocumentError as error:
            raise ReportError(error.problem, error.remedy, "body") from None
        return cls.check(survey, value)

    @classmethod
    def check(cls, survey: Survey, value: object) -> tuple[Report, str | None]:
        """Check a parsed report against its survey."""
        if not isinstance(value, dict):
            raise ReportError("must be an object with id and reports", item="body")
        keys = ["id", "reports", "invitation", *([FIELD] if survey.groups else [])]
        unknown = set(value) - {*keys, FIELD}
        if unknown:
            raise ReportError(
                msg("unknown key {key!r}", key=min(unknown)[:40]),
                msg("known: {known}", known=", ".join(keys)),
                "body",
            )
        name, reports, invitation = value.get("id"), value.get("reports"), value.get("invitation")
        if not isinstance(name, str) or not _ID.fullmatch(name):
            raise ReportError("must be 32 lower-case hexadecimal digits", item="id")
        if "invitation" in value and not (isinstance(invitation, str) and 0 < len(invitation) <= 64):
            raise ReportError("must be text of at most 64 characters", item="invitation")
        if not isinstance(reports, list) or len(reports) != len(survey.entries):
            raise ReportError(
                msg("must be a list of {count} reports", count=len(survey.entries)), item="reports"
            )
        for index, (report, entry) in enumerate(zip(reports, survey.entries, strict=True)):
            wire = entry.channel.wire
            if not wire.legal(report):
                raise ReportError(
                    msg("must be {words}", words=wire.words),
                    item=msg('reports[{place}] ("{entry}")', place=index, entry=entry.id),
                )
        if FIELD in value and value[FIELD] is None:
            raise ReportError("must not be null", "leave it out, or name a group", FIELD)
        return cls(name, tuple(reports), check_group(survey.groups, value.get(FIELD))), invitation


def draw_ranks(survey: Survey, source: Source = os.urandom) -> tuple[int, ...]:
    """Draw which questions of each block are asked, openly and before any answer. Run by the device, once."""
    return tuple(block.draw(lambda: draw(source)) for block in survey.blocks)


def asked_questions(survey: Survey, ranks: Sequence[int]) -> tuple[Question, ...]:
    """Return the questions that are asked where these ranks were drawn: of a block some, the others all."""
    chosen = {name for block in survey.blocks for name in block.questions_at(ranks[block.number])}
    return tuple(question for question in survey.questions if question.block is None or question.id in chosen)


def read_answers(survey: Survey, answers: Mapping[str, Any], ranks: Sequence[int] | None = None) -> list[Any]:
    """Turn {question id: what was chosen} into true answers, "does not apply" for questions that are not shown.

    With `ranks` (`draw_ranks`) questions that were not drawn need no answer; one that is given is left unread, None. A
    decoy question takes {"answer": "No", "decoy": "Yes"}; an OR-poll also takes the combined answer alone.
    """
    unknown = set(answers) - {question.id for question in survey.questions}
    if unknown:
        ids = ", ".join(question.id for question in survey.questions)
        raise ReportError(
            msg("the survey has no question {unknown!r}", unknown=min(unknown)),
            msg("its questions: {known}", known=ids),
        )
    true_answers: dict[str, Any] = {}
    asked_now = survey.questions if ranks is None else asked_questions(survey, ranks)
    for question in survey.questions:
        if question not in asked_now:
            true_answers[question.id] = None
        elif is_shown(survey, question, true_answers):
            true_answers[question.id] = _device_answer(question, answers)
        elif question.id in answers:
            raise ReportError(
                msg('question "{question}" is not asked after these answers', question=question.id),
                "leave its answer out",
            )
        else:
            true_answers[question.id] = len(question.options)
    return list(true_answers.values())


def is_shown(survey: Survey, question: Question, answers: Mapping[str, Any]) -> bool:
    """Return whether a question is shown to people who gave these true answers to the earlier ones."""
    if question.after is None:
        return True
    decider = survey.question(question.after.question)
    chosen = answers[decider.id]
    return chosen < len(decider.options) and decider.options[chosen] in question.after.answers


def _device_answer(question: Question, answers: Mapping[str, Any]) -> Any:
    if question.id not in answers:
        raise ReportError(
            msg('question "{question}" has no answer', question=question.id), "every question needs one"
        )
    value, mechanism = answers[question.id], question.mechanism
    if mechanism.has_decoy and isinstance(value, Mapping):
        if set(value) != {"answer", "decoy"}:
            raise ReportError(msg('question "{question}": {both}', question=question.id, both=_BOTH))
        answer, decoy = question.read_answer(value["answer"]), question.read_answer(value["decoy"])
        return mechanism.device_answer(answer, decoy)
    if not mechanism.takes_combined:
        raise ReportError(msg('question "{question}": also needs the decoy', question=question.id), _BOTH)
    return question.read_answer(value)
