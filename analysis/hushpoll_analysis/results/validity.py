"""Careless and self-protective answers on the results page: what an anchor question tells, and what stays open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.data.columns import randomized_variable, read_variable
from hushpoll_analysis.data.members import with_members
from hushpoll_analysis.data.tally import Tally, question_of
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sampling.keys import SampleKeys
from hushpoll_analysis.shares.compliance import if_careless, if_protective
from hushpoll_analysis.shares.result import Estimate
from hushpoll_analysis.tables.anchoring import Anchored, AnchoredShare, anchored
from hushpoll_analysis.tables.fieller import Careless, careless_of, read_anchor
from hushpoll_analysis.tables.joint import JointReports
from hushpoll_analysis.tables.within import quantile

from .method import percent
from .numbers import rounded, values_of

__all__ = ["LONG_LIST", "TOP", "Validity", "anchor_of", "open_question", "validity_of"]

LONG_LIST, TOP = 20, 10
"""Longer lists show so many of their largest shares."""
RANDOM, GUARDED = 0.1, 0.05
"""The shares of careless and of self-protective people that the sentence beside a question speaks of."""


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

    @property
    def sentence(self) -> str:
        """What the anchor shows, in words."""
        shown = self.careless.shown
        said = (
            f"“{self.anchor_text}” has a true share of {percent(self.share)}. Its estimate says that "
            f"{percent(shown.estimate)} ({percent(shown.low)} – {percent(shown.high)}) of the respondents answered at "
            "random."
        )
        if self.questions:
            said += " The figures below are corrected for that; their intervals contain the correction's uncertainty."
        return said

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Give question, answer, observed and corrected figure with interval, as text; of a long list the largest."""
        return [
            row
            for one in self.questions
            for row in (_mean_rows(one) if one.quantity == "mean" else _share_rows(one))
        ]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not corrected, and what of it is not shown."""
        long = [one for one in self.questions if len(one.shares) > LONG_LIST]
        return (*self.skipped, *(_cut_note(one) for one in long))

    def to_dict(self) -> dict[str, Any]:
        """Give the anchor's part of the JSON report."""
        careless = {**vars(self.careless), "shown": dict(vars(self.careless.shown))}
        return {
            "anchor": self.anchor,
            "share": self.share,
            "careless": careless,
            "note": self.sentence,
            "questions": [one.to_dict() for one in self.questions],
            "notes": list(self.skipped),
        }


def _share_rows(one: Anchored) -> list[tuple[str, str, str, str]]:
    found = []
    for share in _listed(one):
        limits = f"({percent(share.shown.low)} – {percent(share.shown.high)})"
        plain = percent(min(max(share.uncorrected, 0.0), 1.0))
        found.append((one.question, str(share.option), plain, f"{percent(share.shown.estimate)} {limits}"))
    return found


def _mean_rows(one: Anchored) -> list[tuple[str, str, str, str]]:
    (mean,) = one.shares
    plain, middle, low, high = (
        rounded(value, mean.uncorrected_se)
        for value in (mean.uncorrected, mean.shown.estimate, mean.shown.low, mean.shown.high)
    )
    return [(one.question, "mean", plain, f"{middle} ({low} – {high})")]


def _listed(one: Anchored) -> Sequence[AnchoredShare]:
    """Give the shares in the order of the question; of a long list the largest of them."""
    if len(one.shares) <= LONG_LIST:
        return one.shares
    # Rounded, so that equal shares keep the order of the question.
    return sorted(one.shares, key=lambda share: -round(share.estimate, 12))[:TOP]


def _cut_note(one: Anchored) -> str:
    return (
        f"“{one.question}” has {len(one.shares):,} options: the {TOP} largest corrected shares are shown, all of them "
        "stand in the JSON report."
    )


def anchor_of(survey: Survey, anchor: Any) -> tuple[Question, float]:
    """Read an anchor given as (question, share), {"question": ..., "share": ...} or "QUESTION=SHARE"."""
    if isinstance(anchor, str) and "=" in anchor:
        name, _, share = anchor.rpartition("=")
    elif isinstance(anchor, dict) and set(anchor) == {"question", "share"}:
        name, share = anchor["question"], anchor["share"]
    elif isinstance(anchor, tuple | list) and len(anchor) == 2:
        name, share = anchor
    else:
        raise AnalysisError(
            f"anchor is {anchor!r}", "give the question and its known share, as in ('never_born', 0)"
        )
    try:
        known = float(share)
    except (TypeError, ValueError):
        raise AnalysisError(f"anchor: {share!r} is no share", "give a proportion from 0 to 1") from None
    question = question_of(survey, str(name))
    if not question.channel.listed or len(question.labels) != 2:
        raise AnalysisError(
            f'anchor: "{question.id}" has {len(question.labels)} answers', "take a question with two answers"
        )
    return question, known


def validity_of(
    survey: Survey,
    anchor: Any,
    counted: Tally,
    level: float,
    rows: tuple[pd.DataFrame, dict[str, Any]] | None,
) -> Validity:
    """Correct whatever can be of every other question; `counted` is joint with the anchor."""
    asked, share = anchor_of(survey, anchor)
    found, skipped = [], []
    for question in survey.questions:
        if question is asked:
            continue
        try:
            found += _corrected(survey, question, asked, share, counted, level, rows)
        except AnalysisError as error:
            skipped.append(f"“{question.id}” is not corrected: {error.problem}.")
    careless = _careless(asked, share, counted, level, rows)
    return Validity(asked.id, asked.text, share, level, careless, tuple(found), tuple(skipped))


def _careless(
    asked: Question,
    share: float,
    counted: Tally,
    level: float,
    rows: tuple[pd.DataFrame, dict[str, Any]] | None,
) -> Careless:
    """Estimate who answered at random from all reports of the anchor."""
    how = {asked.id: asked.mechanism}
    if rows is None:
        variable = randomized_variable(asked.id, how, asked.labels)
        assert variable is not None
        joint = JointReports((variable,), np.asarray(counted.counts[asked.id], dtype=np.float64))
    else:
        variable, codes = read_variable(rows[0], asked.id, how, asked.labels)
        counts = np.bincount(codes, minlength=variable.view.outcomes).astype(np.float64)
        joint = JointReports((variable,), counts, (codes,), SampleKeys(**rows[1]).design(rows[0]))
    return careless_of(joint, read_anchor(variable, share, None), quantile(joint, level))


def _corrected(
    survey: Survey,
    question: Question,
    asked: Question,
    share: float,
    counted: Tally,
    level: float,
    rows: tuple[pd.DataFrame, dict[str, Any]] | None,
) -> list[Anchored]:
    """Correct the shares of a question, where its reports tell them, and the mean of answers that are numbers."""
    keys: dict[str, Any] = {"level": level, "labels": {asked.id: asked.labels, question.id: question.labels}}
    if rows is None:
        reports: Any = np.asarray(counted.joint[question.id]).T
    else:
        reports = with_members(rows[0], survey, [question.id])
        keys |= rows[1]
    how = {question.id: question.mechanism, asked.id: asked.mechanism}
    found = []
    if _has_shares(question):
        chances = [float(one) for one in _chances(survey, question)]
        found.append(anchored(reports, how, question.id, asked.id, share, chances=chances, **keys))
    values = values_of(question)
    if values is not None:
        found.append(anchored(reports, how, question.id, asked.id, share, values=values, **keys))
    return found


def _has_shares(question: Question) -> bool:
    """Tell whether the reports determine shares that anybody asked for: not of numbers that were rounded at random."""
    if not question.channel.listed:
        return True
    if question.answers.spacing:
        return False
    view = channel_view(question.mechanism)
    try:
        view.shares(np.zeros(view.outcomes))
    except NotIdentifiedError:
        return values_of(question) is None  # then it is refused by name
    return True


def _chances(survey: Survey, question: Question) -> list[Fraction]:
    """Give how often careless people give each true answer, "does not apply" last where there is a rule."""
    own = question.answers.chances
    if question.after is None:
        return list(own)
    before = question_of(survey, question.after.question)
    chances = dict(zip(before.labels, _chances(survey, before), strict=True))
    asked = sum((chances[answer] for answer in question.after.answers), Fraction(0))
    return [*(asked * one for one in own), 1 - asked]


def open_question(found: Estimate) -> str:
    """Say how far a yes/no share would move with answers that nobody can check."""
    entry = found.estimates[-1]
    careless, _ = if_careless(entry, RANDOM, len(found.options))
    _, most = if_protective(entry.estimate, GUARDED)
    shown = [percent(min(max(value, 0.0), 1.0)) for value in (careless, entry.estimate, most)]
    return (
        f"Not in these figures: if {RANDOM:.0%} of the respondents had answered at random, {entry.option} would be "
        f"{shown[0]}; if {GUARDED:.0%} of them had said No to protect themselves, it would lie between {shown[1]} and "
        f"{shown[2]}."
    )
