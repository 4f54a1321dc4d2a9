"""Margins in words, for plans, the command line and the workspace."""

from __future__ import annotations

import math

from hushpoll_client.formatting import brief_text, size_text
from hushpoll_client.messages import msg
from hushpoll_client.survey.question import Question

__all__ = ["margin_words", "points_words"]


def points_words(margin: float | None) -> str:
    """Return the margin of a share in percentage points."""
    if margin is None or not math.isfinite(margin):
        return msg("out of reach")
    if margin >= 1:
        return msg("more than ±100 points")
    points = brief_text(100.0 * margin)
    if points == "1":
        return msg("±1 point")
    return msg("±{points} points", points=points)


def margin_words(question: Question, margin: float | None, unit: str = "") -> str:
    """Return a margin in the question's unit: points of a share, or a size for a mean.

    The margin of a mean is given as a part of its range; `unit` replaces the unit that the question states.
    """
    values = question.answers.values
    if values is None or question.answers.optimum[0] != "mean":
        return points_words(margin)
    if margin is None or not math.isfinite(margin):
        return msg("out of reach")
    if margin >= 1:
        return msg("more than the whole range")
    size = size_text(margin * float(values[-1] - values[0]))
    unit = unit or question.answers.document().get("unit", "")
    if unit.strip():
        return msg("±{size} {unit}", size=size, unit=unit)
    return msg("±{size}", size=size)
