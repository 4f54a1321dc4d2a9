"""Careless and self-protective answers on the results page: what an anchor question tells, and what stays open."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hushpoll_client import Survey
from hushpoll_client.messages import constant, joined, msg
from hushpoll_client.survey import Question

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import randomized_variable, read_variable
from hushpoll_analysis.sample.distinct_rows import times_of
from hushpoll_analysis.sample.members import refuse_together
from hushpoll_analysis.sample.tally import Tally, question_of
from hushpoll_analysis.tables.joint import JointReports
from hushpoll_analysis.tables.means import tells_shares
from hushpoll_analysis.validity.anchoring import Anchored, anchored, careless_chances
from hushpoll_analysis.validity.fieller import AnchoredShare, Careless, careless_of, read_anchor

from .method import percent
from .numbers import rounded, values_of
from .respondents import Respondents

LONG_LIST, TOP = 20, 10
"""Longer lists show so many of their largest shares."""


@dataclass(frozen=True)
class Validity:
    """What an anchor question says about the whole survey.

    `careless` comes from all reports of the anchor; what each of `questions` is corrected by, from those of the people
    who were asked both. `skipped` names what could not be corrected, and why.
    """

    anchor: str
    anchor_text: str
    share: float
    level: float
    careless: Careless
    questions: tuple[Anchored, ...]
    skipped: tuple[str, ...] = ()
    answer: str | None = None
    """The anchor's answer whose share is known, where it is not Yes."""

    @property
    def sentence(self) -> str:
        """What the anchor shows, in words."""
        clipped = self.careless.shown
        figures: dict[str, Any] = {
            "anchor": self.anchor_text,
            "share": percent(self.share),
            "estimate": percent(clipped.estimate),
            "low": percent(clipped.low),
            "high": percent(clipped.high),
        }
        if self.answer is None:
            statement = msg(
                "“{anchor}” has a true share of {share}. Its estimate says that {estimate} ({low} – {high}) of the "
                "respondents answered at random.",
                **figures,
            )
        else:
            statement = msg(
                "The answer “{answer}” to “{anchor}” has a true share of {share}. Its estimate says that {estimate} "
                "({low} – {high}) of the respondents answered at random.",
                answer=self.answer,
                **figures,
            )
        corrected = msg(
            "The figures below are corrected for that; their intervals contain the correction's uncertainty."
        )
        if self.questions:
            return joined(" ", [statement, corrected])
        return statement

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Return question, answer, observed and corrected figure with interval, as text; of a long list the largest."""
        return [
            row
            for question in self.questions
            for row in (_mean_rows(question) if question.quantity == "mean" else _share_rows(question))
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not corrected, and what of it is not shown."""
        long = [question for question in self.questions if len(question.shares) > LONG_LIST]
        return (*self.skipped, *(_cut_note(question) for question in long))

    def to_dict(self) -> dict[str, Any]:
        """Return the anchor's part of the JSON report."""
        careless = {**vars(self.careless), "shown": dict(vars(self.careless.shown))}
        return {
            "anchor": self.anchor,
            **({} if self.answer is None else {"answer": self.answer}),
            "share": self.share,
            "careless": careless,
            "note": self.sentence,
            "questions": [question.to_dict() for question in self.questions],
            "notes": list(self.skipped),
        }


def _share_rows(corrected_question: Anchored) -> list[tuple[str, str, str, str]]:
    rows = []
    for share in _listed(corrected_question):
        plain = percent(min(max(share.uncorrected, 0.0), 1.0))
        corrected = _with_limits(*map(_share, (share.shown.estimate, share.shown.low, share.shown.high)))
        rows.append((corrected_question.question, share.option, plain, corrected))
    return rows


def _mean_rows(corrected: Anchored) -> list[tuple[str, str, str, str]]:
    (mean,) = corrected.shares
    plain, middle, low, high = (
        "–" if math.isnan(value) else rounded(value, mean.uncorrected_se)
        for value in (mean.uncorrected, mean.shown.estimate, mean.shown.low, mean.shown.high)
    )
    return [(corrected.question, msg("mean"), plain, _with_limits(middle, low, high))]


def _share(value: float) -> str:
    """Write a share; a dash where no answers are left."""
    if math.isnan(value):
        return "–"
    return percent(value)


def _with_limits(middle: str, low: str, high: str) -> str:
    return msg("{middle} ({low} – {high})", middle=middle, low=low, high=high)


def _listed(corrected: Anchored) -> Sequence[AnchoredShare]:
    """Return the shares in the order of the question; of a long list the largest of them."""
    if len(corrected.shares) <= LONG_LIST:
        return corrected.shares
    # Rounded, so that equal shares keep the order of the question.
    return sorted(corrected.shares, key=lambda share: -round(share.estimate, 12))[:TOP]


def _cut_note(corrected: Anchored) -> str:
    return msg(
        "“{question}” has {count:,} options: the {top} largest corrected shares are shown, all of them stand in the "
        "JSON report.",
        question=corrected.question,
        count=len(corrected.shares),
        top=TOP,
    )


def anchor_of(survey: Survey, anchor: Any) -> tuple[Question, float, str | None]:
    """Read an anchor: the question, its known share, and the answer that has it where that is not Yes.

    It is given as a tuple, as an object of these names, or as "QUESTION=SHARE" or "QUESTION[ANSWER]=SHARE".
    """
    name, share, answer = _parts_of(anchor)
    try:
        known_share = float(share)
    except (TypeError, ValueError):
        raise AnalysisError(
            msg("anchor: {share!r} is not a share", share=share), "give a proportion from 0 to 1"
        ) from None
    question = question_of(survey, str(name))
    if not question.channel.listed:
        raise AnalysisError(
            msg('anchor: "{question}" has reports of several answers at once', question=question.id),
            "take a question with one answer",
        )
    if answer is None and len(question.labels) != 2:
        raise AnalysisError(
            msg(
                'anchor: "{question}" has {count} answers, not two answers',
                question=question.id,
                count=len(question.labels),
            ),
            msg(
                "name the one whose share is known, as in ({question!r}, 1, {label!r})",
                question=question.id,
                label=question.labels[0],
            ),
        )
    if answer is not None and answer not in question.labels:
        raise AnalysisError(
            msg('anchor: {answer!r} is not an answer to "{question}"', answer=answer, question=question.id),
            msg("use one of: {known}", known=", ".join(question.labels)),
        )
    return question, known_share, answer


def _parts_of(anchor: Any) -> tuple[Any, Any, str | None]:
    if isinstance(anchor, str) and "=" in anchor:
        name, _, share = anchor.rpartition("=")
        if name.endswith("]"):
            name, _, answer = name[:-1].partition("[")
            return name, share, answer
        return name, share, None
    if isinstance(anchor, dict) and {"question", "share"} <= set(anchor) <= {"question", "share", "answer"}:
        return anchor["question"], anchor["share"], anchor.get("answer")
    if isinstance(anchor, tuple | list) and len(anchor) in (2, 3):
        return anchor[0], anchor[1], anchor[2] if len(anchor) == 3 else None
    raise AnalysisError(
        msg("anchor is {anchor!r}", anchor=anchor),
        "give the question and its known share, as in ('never_born', 0), or ('told', 1, 'often')",
    )


def validity_of(
    survey: Survey,
    anchor: Any,
    counted: Tally,
    level: float,
    respondents: Respondents | None,
) -> Validity:
    """Correct whatever can be of every other question; `counted` is joint with the anchor."""
    question_of_anchor, share, answer = anchor_of(survey, anchor)
    anchor_known = _Known(question_of_anchor, share, answer, level)
    corrected, skipped = [], []
    for question in survey.questions:
        if question is question_of_anchor:
            continue
        try:
            corrected += _corrected(survey, question, anchor_known, counted, respondents)
        except AnalysisError as error:
            reason = msg(
                "“{question}” is not corrected: {problem}.",
                question=question.id,
                problem=constant(error.problem),
            )
            skipped.append(reason)
    careless = _careless(anchor_known, counted, respondents)
    return Validity(
        question_of_anchor.id,
        question_of_anchor.text,
        share=share,
        level=level,
        careless=careless,
        questions=tuple(corrected),
        skipped=tuple(skipped),
        answer=answer,
    )


class _Known(NamedTuple):
    """The anchor as it was read, and the level of all intervals."""

    question: Question
    share: float
    answer: str | None
    level: float


def _careless(anchor: _Known, counted: Tally, respondents: Respondents | None) -> Careless:
    """Estimate who answered at random from all reports of the anchor."""
    question = anchor.question
    how = {question.id: question.mechanism}
    if respondents is None:
        variable = randomized_variable(question.id, how, question.labels)
        assert variable is not None
        joint = JointReports((variable,), np.asarray(counted.counts[question.id], dtype=np.float64))
    else:
        frame, keys = respondents.of(question.id)
        variable, codes = read_variable(frame, question.id, how, question.labels)
        counts = np.bincount(codes, times_of(frame), variable.view.outcomes).astype(np.float64)
        joint = JointReports((variable,), counts, (codes,), keys.design(frame))
    return careless_of(joint, read_anchor(variable, anchor.share, anchor.answer), anchor.level)


def _corrected(
    survey: Survey,
    question: Question,
    anchor: _Known,
    counted: Tally,
    respondents: Respondents | None,
) -> list[Anchored]:
    """Correct the shares of a question, where its reports tell them, and the mean of answers that are numbers."""
    anchor_question, share = anchor.question, anchor.share
    labels = {anchor_question.id: anchor_question.labels, question.id: question.labels}
    keys: dict[str, Any] = {"level": anchor.level, "labels": labels, "anchor_option": anchor.answer}
    if respondents is None:
        reports: Any = np.asarray(counted.joint[question.id]).T
    else:
        refuse_together(survey, [question.id, anchor_question.id], "take an anchor outside of the block")
        reports, sample = respondents.of(question.id, anchor_question.id)
        keys |= sample.given
    how = {question.id: question.mechanism, anchor_question.id: anchor_question.mechanism}
    results = []
    if _has_shares(question):
        chances = [float(chance) for chance in careless_chances(survey, question)]
        results.append(
            anchored(reports, how, question.id, anchor_question.id, share, chances=chances, **keys)
        )
    values = values_of(question)
    if values is not None:
        results.append(anchored(reports, how, question.id, anchor_question.id, share, values=values, **keys))
    return results


def _has_shares(question: Question) -> bool:
    """Return whether to correct shares: not where reports tell the mean only; what tells neither is refused by name."""
    return tells_shares(question) or values_of(question) is None
