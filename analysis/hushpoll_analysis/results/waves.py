"""All waves of a series side by side: each estimated by its own mechanism, and the changes between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hushpoll_client.formatting import epsilon_text, number_text
from hushpoll_client.messages import constant, msg

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimates import Estimate
from hushpoll_analysis.interval.mover import BoundedEstimate, difference_limits

from .figures import Axis, NumberAxis, axis_for
from .follow_up import OF_EVERYBODY
from .numbers import quantile_name, rounded
from .question import QuestionResults
from .survey import SurveyResults
from .trend import Trend, TrendWave, trend
from .wording import Wording

_ANSWER = msg("Answer")
OUTSIDE = msg(
    "A share below 0 or above 100 % is chance. It is shown as estimated, so that changes agree with it."
)
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
class Point:
    """One wave as it is drawn; the standard error says how many decimals an average has."""

    shown_estimate: float
    shown_low: float
    shown_high: float
    outside: bool = False
    se: float = 0.0

    @classmethod
    def of(cls, entry: TrendWave | Estimate) -> Point:
        """Return a share as estimated, uncut: the changes between waves are those of these numbers."""
        bounded = math.isfinite(entry.low) and math.isfinite(entry.high)
        low, high = (entry.low, entry.high) if bounded else (entry.shown.low, entry.shown.high)
        return cls(entry.estimate, low, high, not 0.0 <= entry.estimate <= 1.0)


@dataclass(frozen=True)
class FollowedRow:
    """One answer, or an average, over the waves."""

    label: str
    estimates: tuple[str, ...]
    changes: tuple[Change, ...]
    points: tuple[Point, ...]
    average: bool = False

    @property
    def axis(self) -> NumberAxis:
        """The axis on which an average is drawn."""
        ends = [end for point in self.points for end in (point.shown_low, point.shown_high)]
        return NumberAxis.around(min(ends), max(ends))


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
    def shares(self) -> tuple[FollowedRow, ...]:
        """The rows of answers."""
        return tuple(row for row in self.rows if not row.average)

    @property
    def averages(self) -> tuple[FollowedRow, ...]:
        """The rows of the average and the median, where there are any."""
        return tuple(row for row in self.rows if row.average)

    @property
    def axis(self) -> Axis:
        """The axis on which shares are drawn."""
        return axis_for(point.shown_high for row in self.shares for point in row.points)

    def sentences(self, say: Wording, label: Callable[[str], str], waves: Sequence[str]) -> tuple[str, ...]:
        """Return what changed from the wave before the last to the last: of numbers, else of the largest answer.

        A change whose interval holds zero may be chance. The `waves` are named so, and `label` names an answer.
        """
        rows = self.averages or (self._largest,)
        return tuple(_last_change(row, say, label, waves[-2:]) for row in rows)

    @property
    def _largest(self) -> FollowedRow:
        """The answer that is largest in the last wave: Yes of a yes/no question."""
        return max(self.shares, key=lambda row: row.points[-1].shown_estimate)

    @property
    def changes(self) -> tuple[str, ...]:
        """What each change is between."""
        return tuple(
            msg("{before} to {after}", before=before, after=after) for before, after in pairwise(self.waves)
        )


def follow(waves: Mapping[Any, SurveyResults]) -> list[FollowedQuestion]:
    """Follow every question over the waves of a series.

    Each wave is estimated by its own mechanism and epsilon. Stacking the reports of waves that were randomized
    differently and inverting one mechanism would show changes that are none.
    """
    if not isinstance(waves, Mapping) or not all(isinstance(wave, SurveyResults) for wave in waves.values()):
        raise AnalysisError(
            "follow: expected the results of each wave by its name",
            "give a mapping of names to reports, such as dict(first=report(...), second=report(...))",
        )
    results = list(waves.values())
    if len(results) < 2:
        raise AnalysisError(msg("a change needs at least two waves, got {count}", count=len(results)))
    for result in results:
        if result.too_few:
            raise AnalysisError(result.too_few)
    results_of = {str(name): result for name, result in waves.items()}
    return [_question(question.id, results_of) for question in results[0].survey.questions]


def _last_change(row: FollowedRow, say: Wording, label: Callable[[str], str], waves: Sequence[str]) -> str:
    change, point = row.changes[-1], row.points[-1]
    before, after = waves
    low, high = change.low, change.high
    if change.estimate < 0.0:
        low, high = -change.high, -change.low
    if not change.clear:
        direction = "chance"
    elif change.estimate > 0.0:
        direction = "more"
    else:
        direction = "less"
    values = {"before": before, "after": after}
    if row.average:
        size, low_text, high_text, number = (
            say.in_signs(rounded(value, point.se))
            for value in (abs(change.estimate), low, high, point.shown_estimate)
        )
        name = label(row.label)
        values["name"] = name[:1].upper() + name[1:]
        return say(
            f"wave_number_{direction}", number=number, size=size, low=low_text, high=high_text, **values
        )
    size, low_text, high_text = (say.number(100.0 * value, 1) for value in (abs(change.estimate), low, high))
    values |= {"option": say("quoted", option=label(row.label)), "share": say.percent(point.shown_estimate)}
    return say(f"wave_share_{direction}", points=size, low=low_text, high=high_text, **values)


def _question(name: str, waves: Mapping[str, SurveyResults]) -> FollowedQuestion:
    # Of a block each person is asked a part: a wave may have reports enough, and still too few of one question.
    parts = {wave: result[name] for wave, result in waves.items() if result[name].is_estimated}
    notes = tuple(
        msg(
            "Wave {wave} is left out here: fewer than {minimum} people were asked this question.",
            wave=wave,
            minimum=result.minimum,
        )
        for wave, result in waves.items()
        if wave not in parts
    )
    question = list(waves.values())[-1][name].question
    ways = tuple(
        dict.fromkeys(
            msg(
                "{label}, ε = {epsilon}",
                label=constant(results.question.mechanism.label),
                epsilon=epsilon_text(results.question.epsilon, 2),
            )
            for results in parts.values()
        )
    )
    unit, rows = (_ANSWER, ()) if len(parts) < 2 else _rows(list(parts.values()))
    if unit != _ANSWER:
        followed = 0
    elif rows:
        followed = len(next(reversed(parts.values())).shares)
    else:
        followed = 0
    if followed > _MOST_ROWS:
        notes += (
            msg(
                "The {rows} answers that are largest in the last wave. They are chosen by the data, so their intervals "
                "hold together for all {count}, whichever they are.",
                rows=_MOST_ROWS,
                count=followed,
            ),
        )
    if question.after is not None and rows:
        notes += (OF_EVERYBODY,)
    if any(point.outside for row in rows for point in row.points):
        notes += (OUTSIDE,)
    if not rows:
        notes += (msg("A change needs two waves with enough people who were asked."),)
    return FollowedQuestion(
        question.id,
        question.text,
        unit=unit,
        randomized=ways,
        waves=tuple(parts) if rows else (),
        rows=rows,
        notes=notes,
    )


def _rows(parts: list[QuestionResults]) -> tuple[str, tuple[FollowedRow, ...]]:
    """Return what the rows are, and the rows: answers, and an average where there is one."""
    if not all(results.shares for results in parts):
        return msg("Average"), (_average(parts),)
    lines = parts[-1].shares
    if len(lines) > _MOST_ROWS:
        lines = tuple(sorted(lines, key=lambda line: -line.estimate))[:_MOST_ROWS]
        rows = [_largest(line.option, parts) for line in lines]
    else:
        rows = [_shares(trend([results.estimate for results in parts], line.option)) for line in lines]
    if all(results.question.answers.upward for results in parts):
        rows.append(_upper_half(parts))
    if all(results.numbers is not None and results.numbers.mean is not None for results in parts):
        rows.append(_average(parts))
    if all(results.numbers is not None and results.numbers.quantiles is not None for results in parts):
        rows.append(_median(parts))
    return _ANSWER, tuple(rows)


def _shares(followed: Trend) -> FollowedRow:
    changes = []
    for followed_wave in followed.waves[1:]:
        assert followed_wave.change is not None
        assert followed_wave.change_low is not None
        assert followed_wave.change_high is not None
        changes.append(_changed(followed_wave.change, followed_wave.change_low, followed_wave.change_high))
    points = tuple(Point.of(wave) for wave in followed.waves)
    return FollowedRow(followed.option, tuple(map(_share, points)), tuple(changes), points)


def _largest(option: str, parts: list[QuestionResults]) -> FollowedRow:
    """Follow one of a long list by the limits that hold for all of its options together.

    What is largest in the last wave was so partly by chance: intervals for one share would show it to have grown.
    """
    return _row(
        option,
        [next(line for line in results.shares if line.option == option).simultaneous for results in parts],
    )


def _upper_half(parts: list[QuestionResults]) -> FollowedRow:
    """Follow the share of the upper half of a scale, such as "4 or more" of five points."""
    entries = []
    for results in parts:
        assert results.numbers is not None
        assert results.numbers.cumulative is not None
        entries.append(results.numbers.cumulative.upper_half)
    lowest, highest = entries[-1].option, parts[-1].question.options[-1]
    label = lowest
    if lowest != highest:
        label = msg("{option} or more", option=lowest)
    return _row(label, entries)


def _row(label: str, entries: Sequence[Estimate]) -> FollowedRow:
    changes = [
        _changed(after.estimate - before.estimate, *difference_limits(after, before))
        for before, after in pairwise(entries)
    ]
    points = tuple(Point.of(entry) for entry in entries)
    return FollowedRow(label, tuple(map(_share, points)), tuple(changes), points)


def _share(point: Point) -> str:
    low, high = 100 * point.shown_low, 100 * point.shown_high
    estimate = 100 * point.shown_estimate
    return msg(
        "{estimate} % [{low}, {high}]",
        estimate=number_text(estimate, ".1f"),
        low=number_text(low, ".1f"),
        high=number_text(high, ".1f"),
    )


def _changed(change: float, low: float, high: float) -> Change:
    text = msg(
        "{change} [{low}, {high}] points",
        change=number_text(100 * change, "+.1f"),
        low=number_text(100 * low, "+.1f"),
        high=number_text(100 * high, "+.1f"),
    )
    return Change(change, low, high, text)


def _average(parts: list[QuestionResults]) -> FollowedRow:
    means = [
        results.numbers.mean
        for results in parts
        if results.numbers is not None and results.numbers.mean is not None
    ]
    estimates = tuple(_with_limits(mean.estimate, mean.low, mean.high, mean.se) for mean in means)
    changes = []
    for before, after in pairwise(means):
        low, high = difference_limits(after, before)
        gone, se = after.estimate - before.estimate, math.hypot(after.se, before.se)
        changes.append(Change(gone, low, high, _with_limits(gone, low, high, se, "+")))
    points = tuple(Point(mean.shown.estimate, mean.shown.low, mean.shown.high, se=mean.se) for mean in means)
    return FollowedRow(msg("average"), estimates, tuple(changes), points, average=True)


def _median(parts: list[QuestionResults]) -> FollowedRow:
    """Follow the median; its numbers are answers, and have the decimals of these."""
    medians = []
    for results in parts:
        quantile = results.quantile(0.5)
        medians.append(BoundedEstimate(quantile.estimate, quantile.low, quantile.high))
    decimals = max(len(f"{median.estimate:.6g}".partition(".")[2]) for median in medians)
    se = 10.0 ** (1 - decimals)  # which `rounded` writes with as many decimals
    changes = []
    for before, after in pairwise(medians):
        low, high = difference_limits(after, before)
        gone = after.estimate - before.estimate
        changes.append(Change(gone, low, high, _with_limits(gone, low, high, se, "+")))
    return FollowedRow(
        quantile_name(0.5),
        tuple(_with_limits(median.estimate, median.low, median.high, se) for median in medians),
        tuple(changes),
        tuple(Point(median.estimate, median.low, median.high, se=se) for median in medians),
        average=True,
    )


def _with_limits(middle: float, low: float, high: float, se: float, sign: str = "") -> str:
    texts = {"change": rounded(middle, se, sign), "low": rounded(low, se, sign)}
    return msg("{change} [{low}, {high}]", high=rounded(high, se, sign), **texts)
