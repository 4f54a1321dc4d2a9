"""All waves of a series side by side: each estimated by its own mechanism, and the changes between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hushpoll_client.words import epsilon_text

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.shares.interval.mover import Part, difference_limits

from .question import QuestionResults
from .survey import SurveyResults
from .trend import Trend, trend

__all__ = ["Change", "FollowedQuestion", "FollowedRow", "follow"]

_MOST_ROWS = 20  # answers of a long list, the largest in the last wave first


@dataclass(frozen=True)
class Change:
    """What changed from one wave to the next; `clear` where its interval excludes zero."""

    estimate: float
    low: float
    high: float
    text: str

    @property
    def clear(self) -> bool:
        """Whether the interval excludes no change at all."""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True)
class FollowedRow:
    """One answer, or an average, over the waves."""

    label: str
    estimates: tuple[str, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class FollowedQuestion:
    """One question over the waves that estimate it.

    `randomized` names each way in which its answers were randomized; `notes` the waves that are left out, and why.
    """

    id: str
    text: str
    unit: str
    randomized: tuple[str, ...]
    waves: tuple[str, ...]
    rows: tuple[FollowedRow, ...]
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[str, ...]:
        """What each change is between."""
        return tuple(f"{before} to {after}" for before, after in pairwise(self.waves))


def follow(waves: Mapping[Any, SurveyResults]) -> list[FollowedQuestion]:
    """Follow every question over the waves of a series.

    Each wave is estimated by its own mechanism and epsilon. Stacking the reports of waves that were randomized
    differently and inverting one mechanism would show changes that are none.
    """
    results = list(waves.values())
    if len(results) < 2:
        raise AnalysisError(f"a change needs at least two waves, got {len(results)}")
    for one in results:
        if one.too_few:
            raise AnalysisError(one.too_few)
    made = {str(name): one for name, one in waves.items()}
    return [_question(question.id, made) for question in results[0].survey.questions]


def _question(name: str, waves: Mapping[str, SurveyResults]) -> FollowedQuestion:
    # Of a block each person is asked a part: a wave may have reports enough, and still too few of one question.
    parts = {wave: one[name] for wave, one in waves.items() if one[name].is_estimated}
    notes = tuple(
        f"Wave {wave} is left out here: fewer than {one.minimum} people were asked this question."
        for wave, one in waves.items()
        if wave not in parts
    )
    asked = list(waves.values())[-1][name].question
    ways = tuple(
        dict.fromkeys(
            f"{part.question.mechanism.label}, ε = {epsilon_text(part.question.epsilon, 2)}"
            for part in parts.values()
        )
    )
    unit, rows = ("Answer", ()) if len(parts) < 2 else _rows(asked.id, list(parts.values()))
    if not rows:
        notes += ("A change needs two waves with enough people who were asked.",)
    return FollowedQuestion(asked.id, asked.text, unit, ways, tuple(parts) if rows else (), rows, notes)


def _rows(name: str, parts: list[QuestionResults]) -> tuple[str, tuple[FollowedRow, ...]]:
    """Give what the rows are, and the rows: answers, and an average where there is one."""
    if not all(part.lines for part in parts):
        return "Average", (_average(parts),)
    lines = parts[-1].lines
    if len(lines) > _MOST_ROWS:
        lines = tuple(sorted(lines, key=lambda line: -line.entry.estimate))[:_MOST_ROWS]
    rows = [_shares(trend([part.estimate for part in parts], line.option)) for line in lines]
    if all(part.numbers is not None and part.numbers.mean is not None for part in parts):
        rows.append(_average(parts))
    return "Answer", tuple(rows)


def _shares(found: Trend) -> FollowedRow:
    estimates = tuple(
        f"{100 * one.shown.estimate:.1f} % [{100 * one.shown.low:.1f}, {100 * one.shown.high:.1f}]"
        for one in found.waves
    )
    changes = []
    for one in found.waves[1:]:
        assert one.change is not None
        assert one.change_low is not None
        assert one.change_high is not None
        said = f"{100 * one.change:+.1f} [{100 * one.change_low:+.1f}, {100 * one.change_high:+.1f}] points"
        changes.append(Change(one.change, one.change_low, one.change_high, _minus(said)))
    return FollowedRow(str(found.option), estimates, tuple(changes))


def _average(parts: list[QuestionResults]) -> FollowedRow:
    means = [
        part.numbers.mean for part in parts if part.numbers is not None and part.numbers.mean is not None
    ]
    estimates = tuple(f"{one.estimate:.4g} [{one.low:.4g}, {one.high:.4g}]" for one in means)
    changes = []
    for before, after in pairwise(means):
        limits = [Part(one.estimate, one.low, one.high) for one in (after, before)]
        low, high = difference_limits(limits[0], limits[1])
        gone = after.estimate - before.estimate
        changes.append(Change(gone, low, high, _minus(f"{gone:+.3g} [{low:+.3g}, {high:+.3g}]")))
    return FollowedRow("average", estimates, tuple(changes))


def _minus(text: str) -> str:
    """Write a minus sign, which is as wide as a plus."""
    return text.replace("-", "−")
