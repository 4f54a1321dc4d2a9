"""Careless and self-protective answers on the results page: what an anchor question tells, and what stays open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.data.tally import Tally, question_of
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.shares.compliance import if_careless, if_protective
from hushpoll_analysis.shares.result import Estimate
from hushpoll_analysis.tables.anchoring import Anchored, Careless, anchored

from .method import percent

__all__ = ["Validity", "anchor_of", "open_question", "validity_of"]

RANDOM, GUARDED = 0.1, 0.05
"""The shares of careless and of self-protective people that the sentence beside a question speaks of."""


@dataclass(frozen=True)
class Validity:
    """What an anchor question says about the whole survey."""

    anchor: str
    anchor_text: str
    share: float
    level: float
    careless: Careless
    questions: tuple[Anchored, ...]

    @property
    def sentence(self) -> str:
        """What the anchor shows, in words."""
        shown = self.careless.shown
        return (
            f"“{self.anchor_text}” has a true share of {percent(self.share)}. Its estimate says that "
            f"{percent(shown.estimate)} ({percent(shown.low)} – {percent(shown.high)}) of the respondents answered at "
            "random. The shares below are corrected for that; their intervals contain the correction's uncertainty."
        )

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Give question, answer, uncorrected and corrected share with interval, as text."""
        found = []
        for one in self.questions:
            for share in one.shares:
                limits = f"({percent(share.shown.low)} – {percent(share.shown.high)})"
                plain = min(max(share.uncorrected, 0.0), 1.0)
                found.append(
                    (
                        one.question,
                        str(share.option),
                        percent(plain),
                        f"{percent(share.shown.estimate)} {limits}",
                    )
                )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Give the anchor's part of the JSON report."""
        careless = {**vars(self.careless), "shown": dict(vars(self.careless.shown))}
        return {
            "anchor": self.anchor,
            "share": self.share,
            "careless": careless,
            "note": self.sentence,
            "questions": [one.to_dict() for one in self.questions],
        }


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
    """Correct every other question with listed answers; `counted` is joint with the anchor."""
    asked, share = anchor_of(survey, anchor)
    found = []
    for question in survey.questions:
        if question is asked or not question.channel.listed or question.answers.spacing:
            continue
        labels = {asked.id: asked.labels, question.id: question.labels}
        if rows is None:
            reports: Any = np.asarray(counted.joint[question.id]).T
            keys: dict[str, Any] = {}
        else:
            reports, keys = rows
        how = {question.id: question.mechanism, asked.id: asked.mechanism}
        found.append(anchored(reports, how, question.id, asked.id, share, labels=labels, level=level, **keys))
    if not found:
        raise AnalysisError(
            f'anchor: beside "{asked.id}" there is no question to correct', "leave the anchor out"
        )
    return Validity(asked.id, asked.text, share, level, found[0].careless, tuple(found))


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
