"""A whole person's report, drawn: what epsilon do the reports of people who differ show, at the least?

Where a person's reports are too many to list, whole reports are drawn by the function that devices run: for one person,
for a second who differs from the first in every answer, and for a third who differs in every other one, so that coins
that questions share are seen too. A report is classified by its log likelihood ratio, the sum of those of its values
(exact from the published integers where a value has few reports, else learned), and by which of its values speak for
whom. The set of reports is chosen on one half of the draws; the other half gives Clopper-Pearson limits of its chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client import Block, Survey
from hushpoll_client.delivery.report import Report
from hushpoll_client.randomize import Source
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.simulation.epsilon_audit import buffered
from hushpoll_analysis.simulation.whole_report import PersonAudit

MOST_DRAWS = 50_000
"""Whole reports that are drawn of each person at most."""
_LISTED = 4096  # reports of one value whose exact chances are looked up
_CUTS = 40
_STEP = 1_000

Answers = list[Any]
Drawer = Callable[[Survey, Answers, Source], Sequence[Any]]


def three_people(survey: Survey) -> tuple[Answers, Answers, Answers]:
    """Return the true answers of a person, of one who differs in everything, and of one who differs in every other."""
    ends = [_ends(question) for question in survey.questions]
    mixed = [pair[number % 2] for number, pair in enumerate(ends)]
    return [first for first, _ in ends], [last for _, last in ends], mixed


def _ends(question: Question) -> tuple[Any, Any]:
    """Return the first and the last true answer; of a list to tick nothing and as much as may be."""
    if question.kind.several:
        most = question.answers.about().get("at_most") or len(question.options)
        return (), tuple(range(most))
    if question.answers.steps is not None and question.after is None:
        return 0, question.answers.steps
    if question.block is None:
        many = question.channel.options
    else:
        many = len(question.labels)
    return 0, many - 1


def draw_whole(survey: Survey, answers: Answers, source: Source) -> Sequence[Any]:
    """Draw one whole report as a device does."""
    return Report.new(survey, answers, source, group=0 if survey.groups else None).reports


def audit_drawn(
    survey: Survey,
    person: PersonAudit,
    draws: int,
    source: Source | None = None,
    alpha: float = 0.01,
    draw: Drawer = draw_whole,
    progress: Callable[[int], object] = lambda done: None,
) -> PersonAudit:
    """Bound a person's epsilon from below by drawing `draws` whole reports of each of three people."""
    read_bytes, people = source or buffered(), three_people(survey)
    seen = []
    for answers in people:
        mine = []
        for start in range(0, draws, _STEP):
            size = min(_STEP, draws - start)
            mine += [tuple(draw(survey, answers, read_bytes)) for _ in range(size)]
            progress(size)
        seen.append(mine)
    bound = 0.0
    for other in (1, 2):
        pair = (seen[0], seen[other])
        ratios = _ratios(survey, (people[0], people[other]), pair)
        # Also where the two agree a value leans to somebody: that is what shared coins show.
        leanings = [np.sign(ratio).astype(np.int8) for ratio in _ratios(survey, people[:2], pair)]
        ratio, two = (_Reports(ratios[who].sum(axis=1), leanings[who]) for who in (0, 1))
        bound = max(bound, _bound(ratio, two, alpha / 8.0), _bound(two.turned, ratio.turned, alpha / 8.0))
    return replace(person, bound=bound, passed=bound <= person.claimed)


def _ratios(survey: Survey, pair: Sequence[Answers], seen: Sequence[Sequence[Any]]) -> tuple[Floats, Floats]:
    """Return the log ratio of every value of every report: one row a report, one column an entry."""
    names = [question.id for question in survey.questions]
    columns: list[list[list[float]]] = []
    for column_number, entry in enumerate(survey.entries):
        codes = [[report[column_number] for report in mine] for mine in seen]
        if entry.channel.outcomes <= _LISTED:
            rows = [_row(entry, names, answers) for answers in pair]
            chances = [entry.channel.chances(row) for row in rows]
            log_ratios = {code: _log(float(chances[0][code]), float(chances[1][code])) for code in chances[0]}
            columns.append([[log_ratios[code] for code in mine] for mine in codes])
        else:
            columns.append(
                _estimated_log_ratios(
                    [[sampler(entry.channel).category(code) for code in mine] for mine in codes]
                )
            )
    first, second = (np.array([column[who] for column in columns]).T for who in (0, 1))
    return first, second


def _row(entry: Question | Block, names: Sequence[str], answers: Answers) -> Any:
    """Return what an entry's channel is given of a person's answers."""
    if isinstance(entry, Block):
        return tuple(answers[names.index(name)] for name in entry.questions)
    ((row, _),) = entry.answers.mixture(answers[names.index(entry.id)])
    if entry.mechanism.has_decoy:
        return row
    return entry.mechanism.device_answer(row)


def _estimated_log_ratios(sorts: Sequence[Sequence[int]]) -> list[list[float]]:
    """Return the log ratio of each sort of report as the first half of the draws shows it."""
    counted = [Counter(mine[0::2]) for mine in sorts]
    totals = [len(mine[0::2]) + 1.0 for mine in sorts]
    log_ratios = {
        sort: _log((counted[0][sort] + 0.5) / totals[0], (counted[1][sort] + 0.5) / totals[1])
        for mine in sorts
        for sort in mine
    }
    return [[log_ratios[sort] for sort in mine] for mine in sorts]


def _log(first: float, second: float) -> float:
    if first == second:
        return 0.0
    return math.log(max(first, 1e-300) / max(second, 1e-300))


@dataclass(frozen=True, eq=False)
class _Reports:
    """Reports of one person: the log ratio of each, and whom each of its values speaks for."""

    ratios: Floats
    leanings: npt.NDArray[np.int8]

    @property
    def turned(self) -> _Reports:
        """The same with the people's roles exchanged."""
        return _Reports(-self.ratios, -self.leanings)

    def every_other(self, start: int) -> _Reports:
        """One half of them."""
        return _Reports(self.ratios[start::2], self.leanings[start::2])


@dataclass(frozen=True)
class _Set:
    """A set of reports: those above a ratio, or those whose values speak for the same people."""

    cut: float | None
    leaning: tuple[int, ...] = ()

    def hits(self, reports: _Reports) -> int:
        """Count the reports in it."""
        if self.cut is not None:
            return int(np.sum(reports.ratios >= self.cut))
        return int(np.sum(np.all(reports.leanings == np.array(self.leaning), axis=1)))


def _sets(reports: _Reports) -> Iterator[_Set]:
    cuts = np.unique(np.round(reports.ratios, 9))
    for cut in cuts[:: max(1, len(cuts) // _CUTS)]:
        yield _Set(float(cut) - 1e-8)
    for leaning, _ in Counter(map(tuple, reports.leanings.tolist())).most_common(_CUTS):
        yield _Set(None, leaning)


def _bound(first: _Reports, second: _Reports, tail: float) -> float:
    """Choose the set on one half of the draws, and give the epsilon that its counts in the other half show."""
    learned, proof = ((first.every_other(half), second.every_other(half)) for half in (0, 1))
    chosen = max(_sets(learned[0]), key=lambda candidate: _proven_epsilon(candidate, learned, tail))
    return _proven_epsilon(chosen, proof, tail)


def _proven_epsilon(candidate: _Set, pair: tuple[_Reports, _Reports], tail: float) -> float:
    from scipy.stats import beta

    hits, sizes = [candidate.hits(reports) for reports in pair], [len(reports.ratios) for reports in pair]
    low = 0.0
    if hits[0]:
        low = float(beta.ppf(tail, hits[0], sizes[0] - hits[0] + 1))
    high = 1.0
    if hits[1] < sizes[1]:
        high = float(beta.isf(tail, hits[1] + 1, sizes[1] - hits[1]))
    if low > 0.0:
        return max(0.0, math.log(low / high))
    return 0.0
