"""What was found, in a sentence or two a question, and whether it is as precise as was planned.

Shares and means are written as the figures write them, so that a sentence and its chart show the same numbers. A
reached margin is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from hushpoll_client.messages import msg

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.cumulative import Cumulative
from hushpoll_analysis.estimand.share_estimates import ShareEstimates
from hushpoll_analysis.estimates import Estimate

from .numbers import in_unit, values_of
from .sampled import SampleEstimate
from .texts import Texts, texts_of

if TYPE_CHECKING:
    from .question import QuestionResults, ReportedShare
    from .survey import SurveyResults

WIDE = 0.2
"""Half the width of an interval from which on no estimate is named, only the range."""
SMALLEST_SHOWN = 0.001
"""The smallest share above 0 that one decimal of a percentage can show."""
MOST_MORE = 1_000_000
FEWEST_MORE = 2  # "about 1 more answers" would be no English
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
        """Return JSON-ready data."""
        return vars(self) | {"met": self.met}


@dataclass(frozen=True)
class Finding:
    """What was found of one question."""

    id: str
    question: str
    text: str
    verdict: Verdict | None
    headline: str = ""
    """The first sentence: of several numbers that of the mean, else what was found of the shares."""
    largest: bool = False
    """Whether its answers are named because they came out largest, so that their intervals miss more often."""


def findings(report: SurveyResults, language: str = "en") -> tuple[Finding, ...]:
    """Word what was found, question by question."""
    texts, level = texts_of(report.survey, language), f"{100 * report.level:g}"
    return tuple(
        Finding(
            question.id,
            texts.question(question.question),
            _found(question, texts, level),
            _verdict(report, question, texts),
            _headline(question, texts, level),
            not _numbers_said(question, texts, level) and len(_named(question)) > 2,
        )
        for question in report.questions
        if question.is_estimated
    )


def read_needed(known: Sequence[str], needed: Any) -> dict[str, float]:
    """Read the margins that were needed, one for all questions or by question id, as proportions."""
    if needed is None:
        return {}
    margins = needed
    if not isinstance(needed, Mapping):
        margins = dict.fromkeys(known, needed)
    for name, value in margins.items():
        if name not in known:
            raise AnalysisError(
                msg('needed "{name}": the survey has no such question', name=name),
                msg("use one of: {known}", known=", ".join(known)),
            )
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1.0:
            raise AnalysisError(
                msg('the margin needed of "{name}" is {value!r}', name=name, value=value),
                "give a proportion such as 0.05",
            )
    return {name: float(value) for name, value in margins.items()}


# One question ---------------------------------------------------------------------------------------------------


def _found(question: QuestionResults, texts: Texts, level: str) -> str:
    sentences = _numbers_said(question, texts, level)
    if sentences:
        return " ".join(sentences)
    if question.question.after is None:
        return _shares_found(question, _named(question), texts, level)
    return " ".join([_among_asked_found(question, texts, level), _everybody_found(question, texts, level)])


def _headline(question: QuestionResults, texts: Texts, level: str) -> str:
    sentences = _numbers_said(question, texts, level)
    if sentences:
        return sentences[0]
    if question.question.after is None:
        return _found(question, texts, level)
    return _among_asked_found(question, texts, level)


def _shares_found(question: QuestionResults, lines: list[ReportedShare], texts: Texts, level: str) -> str:
    """Word one share, or the two largest of several and whether each is ahead of all after it beyond chance."""
    say = texts.say
    if len(lines) == 1:
        return say("sentence", text=_share(question, lines[0], texts, level))
    lines.sort(key=lambda line: -line.estimate)
    first, second = (_share(question, line, texts, level) for line in lines[:2])
    order = [line.option for line in lines]
    ranked = sorted(_named(question), key=lambda line: order.index(line.option))
    if _leads(question, ranked):
        next_most = say("sentence", text=second)
        if len(ranked) == 2 or _leads(question, ranked[1:]):
            next_most = say("then", share=second)
        return f"{say('most_often', share=first)} {next_most}"
    return " ".join([say("sentence", text=text) for text in (first, second)] + [say("not_ahead")])


def _among_asked_found(question: QuestionResults, texts: Texts, level: str) -> str:
    """Word the shares among those who were asked a follow-up question, or that these reports do not tell them."""
    lines = _named(question, question.among_asked)
    if any(math.isinf(line.low) for line in lines) or not lines:
        return texts.say("asked_unclear")
    return texts.say("finding_asked", text=_shares_found(question, lines, texts, level))


def _everybody_found(question: QuestionResults, texts: Texts, level: str) -> str:
    """Word the shares among all respondents for the answers that are named among those asked."""
    lines = sorted(_named(question), key=lambda line: -line.estimate)
    text = " ".join(texts.say("sentence", text=_share(question, line, texts, level)) for line in lines[:2])
    return texts.say("finding_everybody", text=text)


def _named(question: QuestionResults, lines: Sequence[ReportedShare] | None = None) -> list[ReportedShare]:
    """Return the shares worth a sentence: Yes of a yes/no question, never "does not apply"."""
    if question.question.kind.yes_or_no:
        options = question.question.options[-1:]
    else:
        options = question.question.options
    return [line for line in (question.shares if lines is None else lines) if line.option in options]


def _numbers_said(question: QuestionResults, texts: Texts, level: str) -> list[str]:
    numbers, say = question.numbers, texts.say
    sentences: list[str] = []
    if numbers is None:
        return sentences
    unit = texts.unit(question.question, numbers.unit)
    if numbers.mean is not None:
        clipped, digits = numbers.mean.shown, _digits_of(numbers.mean.se)
        middle = in_unit(say.number(clipped.estimate, digits), unit)
        low, high = (say.number(value, digits) for value in (clipped.low, clipped.high))
        values = question.question.answers.values
        if values is None or question.question.answers.steps is not None:
            sentences.append(say("mean", mean=middle, low=low, high=high, level=level))
        else:
            ends = {"least": int(values[0]), "largest": int(values[-1])}
            sentences.append(say("mean_scale", mean=middle, low=low, high=high, level=level, **ends))
    if numbers.quantiles is not None:
        median = next(entry for entry in numbers.quantiles.entries if entry.p == 0.5)
        digits = max(_decimals(value) for value in (median.estimate, median.low, median.high))
        middle, low, high = (
            say.number(value, digits) for value in (median.estimate, median.low, median.high)
        )
        key = "median_alone"
        if low != high:
            key = "median"
        sentences.append(say(key, median=in_unit(middle, unit), low=low, high=high, level=level))
        if question.question.answers.upward:
            sentences.append(
                say("sentence", text=_upper_half(question, numbers.quantiles.cumulative, texts, level))
            )
    return sentences


def _upper_half(question: QuestionResults, cumulative: Cumulative, texts: Texts, level: str) -> str:
    """Word the share of the upper half of a scale, such as "4 or more" of five points."""
    entry = cumulative.upper_half
    return _share_sentence(texts.or_more(question.question, entry.option), entry, texts, level)


def _share(question: QuestionResults, entry: Estimate, texts: Texts, level: str) -> str:
    """Word the share of one option: about how many, and the range."""
    return _share_sentence(texts.quoted(question.question, entry.option), entry, texts, level)


def _share_sentence(option: str, entry: Estimate, texts: Texts, level: str) -> str:
    """Word a share: about how many, and the range; the range alone where it is wide or reaches an end."""
    clipped, say = entry.shown, texts.say
    half = (clipped.high - clipped.low) / 2.0
    values = {
        "option": option,
        "level": level,
        "low": say.number(100.0 * clipped.low, 1),
        "high": say.percent(clipped.high),
    }
    if half > WIDE:
        return say("share_wide", **values)
    if clipped.low <= 0.0:
        return say("share_few", option=option, high=say.percent(max(clipped.high, SMALLEST_SHOWN)))
    if clipped.high >= 1.0:
        return say("share_most", option=option, low=say.percent(min(clipped.low, 1.0 - SMALLEST_SHOWN)))
    return say("share", share=say.percent(clipped.estimate), **values)


def _leads(question: QuestionResults, lines: Sequence[ReportedShare]) -> bool:
    """Return whether the largest share is larger than all others beyond chance, whichever it is.

    Multiple comparisons with the best (Hsu 1984), Bonferroni's bound for its critical value; where reports speak of
    several options at once, or people were sampled by a design, by the intervals that hold together.
    """
    first, rest = lines[0], lines[1:]
    if not isinstance(question.estimate, ShareEstimates) or isinstance(question.estimate, SampleEstimate):
        return all(first.simultaneous.low > other.simultaneous.high for other in rest)
    z = NormalDist().inv_cdf(1.0 - (1.0 - question.estimate.level) / len(rest))
    gaps = (question.estimate.gap(first.option, other.option) for other in rest)
    return all(gap > z * se for gap, se in gaps)


# The verdict ----------------------------------------------------------------------------------------------------


def reached_margin(question: QuestionResults) -> float | None:
    """Return half the width of the widest interval of what the question is asked for, as the planner counts it."""
    target, numbers = question.question.answers.optimum[0], question.numbers
    if target == "mean" and numbers is not None and numbers.mean is not None:
        values = values_of(question.question)
        assert values is not None
        return (numbers.mean.high - numbers.mean.low) / 2.0 / float(values.max() - values.min())
    entries: Sequence[Estimate] = question.shares
    if target == "cumulative" and numbers is not None and numbers.cumulative is not None:
        entries = numbers.cumulative.estimates
    return max(((entry.high - entry.low) / 2.0 for entry in entries), default=None)


def _verdict(report: SurveyResults, question: QuestionResults, texts: Texts) -> Verdict | None:
    say = texts.say
    margin, reached = report.needed.get(question.id), reached_margin(question)
    if margin is None or reached is None:
        return None
    more = 0
    if reached > margin * 1.0005:
        more = max(_two_digits(report.n * ((reached / margin) ** 2 - 1.0)), FEWEST_MORE)
    if not more:
        phrase = "enough"
    elif more > MOST_MORE:
        phrase = "short_far"
    else:
        phrase = "short"
    values = {
        "needed": _needed_margin(question, margin, texts),
        "reached": _reached_margin(question, reached, texts),
    }
    text = say(phrase, **values, **({"more": more} if phrase == "short" else {}))
    if question.question.after is not None:
        # Margins are planned for the shares of everybody; the sentence before is about those asked.
        text = say("finding_everybody", text=text)
    return Verdict(margin, reached, more, text)


def _needed_margin(question: QuestionResults, margin: float, texts: Texts) -> str:
    """Word the margin that was planned, with the digits that the plan has."""
    span = _span(question)
    if span is None:
        value = 100.0 * margin
        return _points(round(value, max(1, -math.floor(math.log10(value)))), texts)
    size = margin * span
    value = round(size, 2 - math.floor(math.log10(size)))
    return _measured(question, value, _decimals(value), texts)


def _reached_margin(question: QuestionResults, margin: float, texts: Texts) -> str:
    """Word a margin that was reached, rounded up."""
    span = _span(question)
    if span is None:
        return _points(_outward(100.0 * margin, 1, True), texts)
    digits = _digits_of(margin * span)
    return _measured(question, _outward(margin * span, digits, True), digits, texts)


def _span(question: QuestionResults) -> float | None:
    """Return the width of the answers' range where the question is asked for an average."""
    values = values_of(question.question)
    if question.question.answers.optimum[0] != "mean" or values is None:
        return None
    return float(values.max() - values.min())


def _points(value: float, texts: Texts) -> str:
    return texts.say("point" if value == 1.0 else "points", value=texts.say.number(value, _decimals(value)))


def _measured(question: QuestionResults, value: float, digits: int, texts: Texts) -> str:
    unit = ""
    if question.numbers is not None:
        unit = texts.unit(question.question, question.numbers.unit)
    return in_unit(texts.say("measured", value=texts.say.number(value, digits)), unit)


def _two_digits(value: float) -> int:
    """Round a number of answers up to two digits: it is an estimate itself."""
    scale = 10 ** max(math.floor(math.log10(max(value, 1.0))) - 1, 0)
    return int(math.ceil(value / scale) * scale)


# Rounding -------------------------------------------------------------------------------------------------------


def _outward(value: float, digits: int, up: bool | int) -> float:
    scale = 10.0**digits
    if up:
        return math.ceil(value * scale - _DUST) / scale
    return math.floor(value * scale + _DUST) / scale


def _digits_of(se: float) -> int:
    """Return the decimals that a standard error makes sense of: two digits of it."""
    if not se > 0.0:
        return 2
    return min(max(1 - math.floor(math.log10(se)), 0), 6)


def _decimals(value: float) -> int:
    """Return the decimals that a number of the answers' own scale is written with."""
    text = f"{value:.6g}"
    if "e" not in text:
        return len(text.partition(".")[2])
    return 0
