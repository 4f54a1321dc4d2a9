"""How much what is sent may show of what was chosen: the tier that every reassuring sentence follows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushpoll_client.channel import SCALE
from hushpoll_client.exact import exp_below

__all__ = ["TIERS", "Assurance", "assurance", "tier_of"]

TIERS = ("strong", "fair", "weak")
_ODDS = (Fraction(3), Fraction(10))
"""The odds of one question change at most so many times in the first tier, and in the second."""
_TOTAL = (exp_below(Fraction(5)), exp_below(Fraction(10)))
"""The same of everything that one person sends: a total epsilon of 5, and of 10."""


@dataclass(frozen=True)
class Assurance:
    """What may be promised of a survey, or of one question; computed from the integers of its channels."""

    tier: str
    """One of `TIERS`, over all questions whose odds have a limit."""
    one_sided: bool
    """Whether some question has none: its reports can show an answer for certain."""
    weakest: tuple[int, ...]
    """The questions, counted from 1, that are weak by themselves and change the odds most; empty where none is."""
    factor: Fraction
    """By how much the odds may change: through one of these questions, or else through all together."""
    kept: int | None
    """In at least so many of 100 cases these questions send the answer itself; None where that says little."""


def tier_of(ratio: Fraction | None) -> str | None:
    """Return the tier of one question by what it may do to anybody's odds; None where there is no limit."""
    if ratio is None:
        return None
    return TIERS[sum(ratio > limit for limit in _ODDS)]


def assurance(survey: Any) -> Assurance:
    """Return what may be promised to the respondents of a survey: by its worst question, and by its total."""
    entries = [(entry, entry.channel.ratio) for entry in survey.entries if entry.channel.ratio is not None]
    total = math.prod((ratio for _, ratio in entries), start=Fraction(1))
    worst = max((ratio for _, ratio in entries), default=Fraction(1))
    tier = max(sum(worst > limit for limit in _ODDS), sum(total > limit for limit in _TOTAL))
    at_fault = []
    if worst > _ODDS[-1]:
        at_fault = [entry for entry, ratio in entries if ratio == worst]
    numbers = sorted(number for entry in at_fault for number in _numbers(survey, entry))
    percentages = {_unchanged_of_100(entry) for entry in at_fault}
    return Assurance(
        TIERS[tier],
        len(entries) < len(survey.entries),
        tuple(numbers),
        worst if at_fault else total,
        percentages.pop() if len(percentages) == 1 else None,
    )


def _numbers(survey: Any, entry: Any) -> list[int]:
    names = getattr(entry, "questions", (entry.id,))
    return [number for number, question in enumerate(survey.questions, 1) if question.id in names]


def _unchanged_of_100(entry: Any) -> int | None:
    """Return how many of 100 reports are the answer; None unless that is one number for all answers, and most."""
    kind, mechanism = getattr(entry, "kind", None), entry.mechanism
    plain = kind is not None and kind.in_blocks and not mechanism.has_decoy and mechanism.reports_are_answers
    if not plain or not entry.channel.evenly:
        return None
    of_100: int = 100 * entry.channel.kept // SCALE
    if of_100 >= 50:
        return of_100
    return None
