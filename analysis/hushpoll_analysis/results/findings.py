"""What was found, in a sentence or two a question, and whether it is as precise as was planned.

Limits are rounded outward and a reached margin up, so that no sentence claims more than its numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from hushpoll_client.said import said

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.shares.result import Estimate, LinearEstimate

from .numbers import in_unit, values_of
from .sampled import SampleEstimate
from .texts import Texts, texts_of
from .wording import Wording, wording

if TYPE_CHECKING:
    from hushpoll_analysis.tables.differences import GroupDifference
    from hushpoll_analysis.tables.means import GroupMeanDifference

    from .groups import GroupTable
    from .question import Line, QuestionResults
    from .survey import SurveyResults

__all__ = ["Finding", "Verdict", "findings", "group_findings", "reached_margin", "read_needed"]

WIDE = 0.2
"""Half the width of an interval from which on no estimate is named, only the range."""
PRECISE = 0.02
"""Half the width below which a share is said in numbers, not as "1 in 4"."""
MOST_MORE = 1_000_000
_FRACTIONS = (
    *((1, whole) for whole in (2, 3, 4, 5, 6, 8, 10)),
    *((2, 3), (3, 4), (2, 5), (3, 5), (4, 5), (9, 10)),
)
"""Fractions that people say."""
_DUST = 1e-9


@dataclass(frozen=True)
class Verdict:
    """A margin that was needed and the one that was reached, both between 0 and 1; `more` answers would be enough."""

    needed: float
    reached: float
    more: int
    text: str

    @property
    def met(self) -> bool:
        """Whether it is as precise as was needed."""
        return self.more == 0

    def to_dict(self) -> dict[str, Any]:
        """Give JSON-ready data."""
        return vars(self) | {"met": self.met}


@dataclass(frozen=True)
class Finding:
    """What was found of one question."""

    id: str
    question: str
    text: str
    verdict: Verdict | None
    largest: bool = False
    """Whether its answers are named because they came out largest; their intervals then hold together."""


def findings(report: SurveyResults, language: str = "en") -> tuple[Finding, ...]:
    """Word what was found, question by question."""
    texts = texts_of(report.survey, language)
    return tuple(
        Finding(
            part.id,
            texts.question(part.question),
            _found(part, texts),
            _verdict(report, part, texts),
            not _numbers_said(part, texts) and len(_named(part)) > 2,
        )
        for part in report.questions
        if part.is_estimated
    )


def read_needed(known: Sequence[str], needed: Any) -> dict[str, float]:
    """Read the margins that were needed, one for all questions or by question id, as proportions."""
    if needed is None:
        return {}
    given = needed if isinstance(needed, Mapping) else dict.fromkeys(known, needed)
    for name, value in given.items():
        if name not in known:
            raise AnalysisError(
                said('needed "{name}": the survey has no such question', name=name),
                said("use one of: {known}", known=", ".join(known)),
            )
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1.0:
            raise AnalysisError(
                said('the margin needed of "{name}" is {value!r}', name=name, value=value),
                "give a proportion such as 0.05",
            )
    return {name: float(value) for name, value in given.items()}


# One question ---------------------------------------------------------------------------------------------------


def _found(part: QuestionResults, texts: Texts) -> str:
    say = texts.say
    said = _numbers_said(part, texts)
    if said:
        return " ".join(said)
    lines = _named(part)
    if len(lines) == 1:
        return say("sentence", text=_share(part, lines[0].entry, texts))
    lines.sort(key=lambda line: -line.entry.estimate)
    # The largest of several are chosen by the data, which an interval for one share does not allow for.
    entries = [line.entry if len(lines) == 2 else line.simultaneous for line in lines[:2]]
    first, second = (_share(part, entry, texts) for entry in entries)
    if _leads(part, lines):
        return " ".join([say("most_often", share=first), say("then", share=second)])
    return " ".join([say("sentence", text=one) for one in (first, second)] + [say("not_ahead")])


def _named(part: QuestionResults) -> list[Line]:
    """Give the shares worth a sentence: Yes of a yes/no question, never "does not apply"."""
    options = part.question.options[-1:] if part.question.kind.yes_or_no else part.question.options
    return [line for line in part.lines if line.option in options]


def _numbers_said(part: QuestionResults, texts: Texts) -> list[str]:
    numbers, say = part.numbers, texts.say
    said: list[str] = []
    if numbers is None:
        return said
    unit = texts.unit(part.question, numbers.unit)
    if numbers.mean is not None:
        shown, digits = numbers.mean.shown, _digits_of(numbers.mean.se)
        middle = in_unit(say.number(shown.estimate, digits), unit)
        low, high = (
            say.number(_outward(value, digits, up), digits) for value, up in ((shown.low, 0), (shown.high, 1))
        )
        values = part.question.answers.values
        if values is None or part.question.answers.steps is not None:
            said.append(say("mean", mean=middle, low=low, high=high))
        else:
            ends = {"least": int(values[0]), "largest": int(values[-1])}
            said.append(say("mean_scale", mean=middle, low=low, high=high, **ends))
    if numbers.quantiles is not None:
        median = next(one for one in numbers.quantiles.entries if one.p == 0.5)
        digits = max(_decimals(value) for value in (median.estimate, median.low, median.high))
        middle, low, high = (
            say.number(value, digits) for value in (median.estimate, median.low, median.high)
        )
        key = "median" if low != high else "median_alone"
        said.append(say(key, median=in_unit(middle, unit), low=low, high=high))
    return said


def _share(part: QuestionResults, entry: LinearEstimate, texts: Texts) -> str:
    """Word one share: about how many, and the range; the range alone where it is wide or reaches an end."""
    shown, say = entry.shown, texts.say
    half = (shown.high - shown.low) / 2.0
    digits = 0 if half >= 0.01 else 1 if half >= 0.001 else 2
    low = say.number(_outward(100.0 * shown.low, digits, False), digits)
    high = say.number(_outward(100.0 * shown.high, digits, True), digits)
    values = {"option": texts.quoted(part.question, entry.option), "low": low, "high": high}
    if half > WIDE:
        return say("share_wide", **values)
    if shown.low <= 0.0:
        return say("share_few", **values)
    if shown.high >= 1.0:
        return say("share_most", **values)
    fraction = _fraction(shown.estimate, half)
    if fraction is None:
        return say("share_plain", share=say.number(100.0 * shown.estimate, digits), **values)
    return say("share", about=say("about_fraction", part=fraction[0], whole=fraction[1]), **values)


def _fraction(share: float, half: float) -> tuple[int, int] | None:
    """Give a simple fraction, where it is much nearer to the share than the interval is wide."""
    part, whole = min(_FRACTIONS, key=lambda one: abs(one[0] / one[1] - share))
    near = half >= PRECISE and abs(part / whole - share) <= half / 4.0
    return (part, whole) if near else None


def _leads(part: QuestionResults, lines: Sequence[Line]) -> bool:
    """Tell whether the largest share is larger than all others beyond chance, whichever it is.

    Multiple comparisons with the best (Hsu 1984), Bonferroni's bound for its critical value; where reports speak of
    several options at once, or people were sampled by a design, by the intervals that hold together.
    """
    first, others = lines[0], lines[1:]
    if not isinstance(part.estimate, Estimate) or isinstance(part.estimate, SampleEstimate):
        return all(first.simultaneous.low > other.simultaneous.high for other in others)
    z = NormalDist().inv_cdf(1.0 - (1.0 - part.estimate.level) / len(others))
    gaps = (part.estimate.gap(first.option, other.option) for other in others)
    return all(gap > z * se for gap, se in gaps)


# The verdict ----------------------------------------------------------------------------------------------------


def reached_margin(part: QuestionResults) -> float | None:
    """Give half the width of the widest interval of what the question is asked for, as the planner counts it."""
    target, numbers = part.question.answers.optimum[0], part.numbers
    if target == "mean" and numbers is not None and numbers.mean is not None:
        values = values_of(part.question)
        assert values is not None
        return (numbers.mean.high - numbers.mean.low) / 2.0 / float(values.max() - values.min())
    entries = [line.entry for line in part.lines]
    if target == "cumulative" and numbers is not None and numbers.cumulative is not None:
        entries = list(numbers.cumulative.estimates)
    return max(((one.high - one.low) / 2.0 for one in entries), default=None)


def _verdict(report: SurveyResults, part: QuestionResults, texts: Texts) -> Verdict | None:
    say = texts.say
    needed, reached = report.needed.get(part.id), reached_margin(part)
    if needed is None or reached is None:
        return None
    more = 0
    if reached > needed * 1.0005:
        more = _two_digits(report.n * ((reached / needed) ** 2 - 1.0))
    phrase = "enough" if not more else "short_far" if more > MOST_MORE else "short"
    values = {"needed": _margin(part, needed, texts), "reached": _margin(part, reached, texts)}
    return Verdict(
        needed, reached, more, say(phrase, **values, **({"more": more} if phrase == "short" else {}))
    )


def _margin(part: QuestionResults, margin: float, texts: Texts) -> str:
    values, say = values_of(part.question), texts.say
    if part.question.answers.optimum[0] != "mean" or values is None:
        value = _outward(100.0 * margin, 1, True)
        return say("points", value=say.number(value, _decimals(value)))
    size = margin * float(values.max() - values.min())
    digits = _digits_of(size)
    unit = "" if part.numbers is None else texts.unit(part.question, part.numbers.unit)
    return in_unit(say("measured", value=say.number(_outward(size, digits, True), digits)), unit)


def _two_digits(value: float) -> int:
    """Round a number of answers up to two digits: it is an estimate itself."""
    scale = 10 ** max(math.floor(math.log10(max(value, 1.0))) - 1, 0)
    return int(math.ceil(value / scale) * scale)


# Groups ---------------------------------------------------------------------------------------------------------


def group_findings(table: GroupTable, texts: Texts | None = None) -> tuple[str, ...]:
    """Word the differences between groups, each with its interval and whether it may be chance."""
    shown = list(table.told_differences)
    # Of two answers the second one's difference is the first one's with the other sign.
    if len(table.options) == 2:
        shown = [one for one in shown if one.option == table.options[-1]]
    return (
        *(_difference(one, table, texts) for one in shown),
        *(_mean_difference(one, table, texts) for one in table.mean_differences),
    )


def _names(
    one: GroupDifference | GroupMeanDifference, table: GroupTable, texts: Texts | None
) -> dict[str, str]:
    named = {"group": one.group, "reference": one.reference}
    return named if texts is None else {key: texts.group(table, name) for key, name in named.items()}


def _difference(one: GroupDifference, table: GroupTable, texts: Texts | None) -> str:
    half = (one.high - one.low) / 2.0
    digits = 0 if half >= 0.01 else 1
    numbers = [100.0 * value for value in _possible(one, 1.0)]
    option = one.option if texts is None else texts.option(table.question, one.option)
    say = wording("en") if texts is None else texts.say
    return _gap("group", numbers, digits, say, "", option=option, **_names(one, table, texts))


def _mean_difference(one: GroupMeanDifference, table: GroupTable, texts: Texts | None) -> str:
    values = values_of(table.question)
    numbers = _possible(one, math.inf if values is None else float(values.max() - values.min()))
    unit = table.unit if texts is None else texts.unit(table.question, table.unit)
    say = wording("en") if texts is None else texts.say
    return _gap("group_mean", numbers, _digits_of(one.se), say, unit, **_names(one, table, texts))


def _possible(one: GroupDifference | GroupMeanDifference, furthest: float) -> list[float]:
    """Give a difference and its limits, cut to what two groups can differ by."""
    return [min(furthest, max(-furthest, value)) for value in (one.difference, one.low, one.high)]


def _gap(phrase: str, numbers: Sequence[float], digits: int, say: Wording, unit: str, **names: Any) -> str:
    middle, low, high = numbers
    kind = "more" if low > 0.0 else "less" if high < 0.0 else "chance"
    if middle < 0.0:
        middle, low, high = -middle, -high, -low
        if kind == "chance":
            # The first one is the larger one, so that the limits are on the side of the difference.
            names |= {"group": names["reference"], "reference": names["group"]}
    limits = (_outward(low, digits, False), _outward(high, digits, True))
    shown = {"low": say.number(limits[0], digits), "high": say.number(limits[1], digits)}
    return say(f"{phrase}_{kind}", points=in_unit(say.number(middle, digits), unit), **shown, **names)


# Rounding -------------------------------------------------------------------------------------------------------


def _outward(value: float, digits: int, up: bool | int) -> float:
    scale = 10.0**digits
    return math.ceil(value * scale - _DUST) / scale if up else math.floor(value * scale + _DUST) / scale


def _digits_of(se: float) -> int:
    """Give the decimals that a standard error makes sense of: two digits of it."""
    return 2 if not se > 0.0 else min(max(1 - math.floor(math.log10(se)), 0), 6)


def _decimals(value: float) -> int:
    """Give the decimals that a number of the answers' own scale is written with."""
    text = f"{value:.6g}"
    return len(text.partition(".")[2]) if "e" not in text else 0
