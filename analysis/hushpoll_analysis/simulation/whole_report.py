"""A whole person's report, enumerated: the exact epsilon of everything that one device sends.

Epsilons of single questions say nothing about parts that depend on each other. So every report that a person may send
is listed with its exact chance under every combination of true answers, and the largest ratio is taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from hushpoll_client import Survey
from hushpoll_client.exact import log_below

from hushpoll_analysis.channel.view import sampler

MOST_CASES = 400_000
"""Pairs of a combination of answers and a whole report that are listed at most."""


class ReportPart(Protocol):
    """What randomizes one value of a report, or several that depend on each other."""

    @property
    def truths(self) -> Iterable[Any]:
        """All true answers."""

    @property
    def cases(self) -> int:
        """The number of true answers times that of reports."""

    def chances(self, answer: Any) -> Mapping[Any, Fraction]:
        """Return the exact chance of every report when `answer` is true."""


@dataclass(frozen=True)
class PersonAudit:
    """The outcome for a whole person.

    Attributes
    ----------
    claimed : float
        The total epsilon that is claimed.
    epsilon : float or None
        The exact one, infinite when some report excludes an answer; None where there are too many to list.
    cases : int
        Combinations of answers times whole reports.
    passed : bool or None
        Whether the claim holds exactly; None where it was not enumerated.
    """

    claimed: float
    epsilon: float | None
    cases: int
    passed: bool | None
    bound: float | None = None
    """The least epsilon that drawn reports of two whole people are compatible with; None where it was enumerated."""


@dataclass(frozen=True)
class ChannelPart:
    """A published channel as a part."""

    channel: Any

    @property
    def truths(self) -> Iterable[Any]:
        """All true answers."""
        return sampler(self.channel).every_answer()

    @property
    def cases(self) -> int:
        """The number of true answers times that of reports."""
        return sampler(self.channel).answers * int(self.channel.outcomes)

    def chances(self, answer: Any) -> Mapping[Any, Fraction]:
        """Return the exact chance of every report when `answer` is true."""
        report_chances: Mapping[Any, Fraction] = self.channel.chances(answer)
        return report_chances


def parts_of(survey: Survey) -> list[ChannelPart]:
    """Return the parts of a survey's report."""
    return [ChannelPart(entry.channel) for entry in survey.entries]


def audit_person(parts: Sequence[ReportPart], claimed: Sequence[Fraction | None]) -> PersonAudit:
    """Enumerate all reports of a person and compare the largest ratio with the product of the claimed ones."""
    promised: Fraction | None = Fraction(1)
    for ratio in claimed:
        if ratio is None or promised is None:
            promised = None
        else:
            promised = promised * ratio
    stated = math.inf
    if promised is not None:
        stated = log_below(promised)
    cases = math.prod(channel_part.cases for channel_part in parts)
    if cases > MOST_CASES:
        return PersonAudit(stated, None, cases, None)
    ratio = _largest_ratio(parts)
    epsilon = math.inf
    if ratio is not None:
        epsilon = log_below(ratio)
    passed = promised is None or (ratio is not None and ratio <= promised)
    return PersonAudit(stated, epsilon, cases, passed)


def _largest_ratio(parts: Sequence[ReportPart]) -> Fraction | None:
    """Return the largest ratio of two chances of one report; None where a report excludes some answers."""
    low: dict[tuple[Any, ...], Fraction] = {}
    high: dict[tuple[Any, ...], Fraction] = {}
    seen: dict[tuple[Any, ...], int] = {}
    tables = [
        [list(channel_part.chances(truth).items()) for truth in channel_part.truths] for channel_part in parts
    ]
    combinations = 0
    for rows in itertools.product(*tables):
        combinations += 1
        for outcomes in itertools.product(*rows):
            report = tuple(code for code, _ in outcomes)
            chance = math.prod((channel_part for _, channel_part in outcomes), start=Fraction(1))
            if chance > 0:
                seen[report] = seen.get(report, 0) + 1
                low[report] = min(chance, low.get(report, chance))
                high[report] = max(chance, high.get(report, chance))
    if any(count < combinations for count in seen.values()):
        return None
    return max((high[report] / low[report] for report in seen), default=Fraction(1))
