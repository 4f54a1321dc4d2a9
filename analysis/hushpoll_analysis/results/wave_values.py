"""One wave of a trend: a share or a mean from whatever result holds it, with limits at every level."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.option_shares import PartsEstimate
from hushpoll_analysis.estimand.share_estimates import ShareEstimates
from hushpoll_analysis.estimates import Estimate, IntervalEstimate, Shown
from hushpoll_analysis.interval.mover import BoundedEstimate
from hushpoll_analysis.interval.student import critical
from hushpoll_analysis.sample.weighted import WeightedEstimate
from hushpoll_analysis.validity.two_groups import Parameter, TwoGroupEstimate

from .question import QuestionResults
from .survey import SurveyResults
from .wave_variance import share_variance

MEAN = "mean"


@dataclass(frozen=True, eq=False, kw_only=True)
class WaveValue(IntervalEstimate):
    """A share or a mean of one wave; `freedom` are the degrees of freedom of its interval, None for a normal one."""

    option: Any
    n: int
    level: float
    shown: Shown
    freedom: int | None = None
    again: Callable[[float], tuple[float, float]] | None = None
    """Limits at another level, where the result keeps its reports."""
    variance_at: Callable[[float], float] | None = None
    """The variance of the estimate where this is the true share; None where that is not known."""
    noise: float | None = None
    """The standard error that the randomization alone makes, of a mean; None where that is not known."""

    @property
    def error(self) -> float:
        """The standard error; where all reports are equal, what the interval says it is."""
        if self.se > 0.0:
            return self.se
        return (self.high - self.low) / (2.0 * critical(self.level, self.freedom))

    def part(self, level: float) -> BoundedEstimate:
        """Return the estimate with its limits at a level: computed, or farther by the ratio of the quantiles."""
        if math.isclose(level, self.level):
            return self
        if self.again is not None:
            return BoundedEstimate(self.estimate, *self.again(level))
        factor = critical(level, self.freedom) / critical(self.level, self.freedom)
        return _farther(self, factor)

    def part_with(self, level: float, freedom: float | None) -> BoundedEstimate:
        """Return the limits at a level as if the wave had these degrees of freedom."""
        at_level = self.part(level)
        if self.freedom is None and freedom is None:
            return at_level
        return _farther(at_level, critical(level, freedom) / critical(level, self.freedom))


def _value(option: Any, n: int, level: float, entry: Estimate | Parameter, **more: Any) -> WaveValue:
    """Return an estimate as that of a wave."""
    return WaveValue(
        option=option,
        n=n,
        level=level,
        estimate=entry.estimate,
        se=entry.se,
        low=entry.low,
        high=entry.high,
        shown=entry.shown,
        **more,
    )


def _farther(estimate: BoundedEstimate, factor: float) -> BoundedEstimate:
    middle = estimate.estimate
    return BoundedEstimate(middle, middle - factor * estimate.below, middle + factor * estimate.above)


def read_wave(wave: Any, option: Any, question: str | None) -> WaveValue:
    """Find the answer, or the mean, that is followed."""
    if isinstance(wave, SurveyResults):
        if question is None:
            raise AnalysisError("name the question to follow, as in trend([...], question='cheated')")
        results = wave[question]
        mean = _mean(results, option, wave.level)
        if mean is not None:
            return _checked(mean)
        several = _several(results, option, wave.level)
        if several is not None:
            return _checked(several)
        if results.estimate is None:
            few = f"fewer than {wave.minimum} people were asked {question!r} in a wave, or its reports tell a mean only"
            raise AnalysisError(wave.too_few or few)
        wave = results.estimate
    if isinstance(wave, TwoGroupEstimate):
        return _checked(_parameter(wave, option))
    if not isinstance(wave, ShareEstimates | WeightedEstimate | PartsEstimate):
        raise AnalysisError(
            f"a wave is a {type(wave).__name__}",
            "give results of estimate, weighted_estimate, report or a two-group design",
        )
    return _checked(_share(wave, option))


def _mean(results: QuestionResults, option: Any, level: float) -> WaveValue | None:
    """Return the mean of answers that are numbers, where no single answer is asked for."""
    numbers = results.numbers
    if numbers is None or numbers.mean is None or option not in (None, MEAN):
        return None
    mean = numbers.mean
    noise = None
    if numbers.freedom is None:
        noise = mean.se_privacy
    return _value(MEAN, results.n, level, mean, freedom=numbers.freedom, noise=noise)


def _several(results: QuestionResults, option: Any, level: float) -> WaveValue | None:
    """Return the share of an answer or more, or of an answer or less, as in "4 or more", of ordered answers."""
    if results.numbers is None:
        rising = None
    else:
        rising = results.numbers.cumulative
    name, _, side = str(option).rpartition(" or ")
    options = list(results.question.options)
    if rising is None or side not in ("more", "less") or name not in options:
        return None
    position = options.index(name)
    if side == "more":
        positions = range(position, len(options))
    else:
        positions = range(position + 1)
    if len(positions) == len(options):
        raise AnalysisError(f"{option!r} are all answers of {results.id!r}", "name fewer of them")
    estimate = rising.estimates[position]
    if side == "more":
        estimate = rising.at_least(name)
    assert results.numbers is not None
    value = _value(str(option), results.n, level, estimate, freedom=results.numbers.freedom)
    return replace(value, variance_at=share_variance(results.estimate, list(positions), value.error**2))


def _parameter(result: TwoGroupEstimate, option: Any) -> WaveValue:
    """Return the share of a two-group design, or another of its parameters by name."""
    names = [parameter.name for parameter in result.parameters]
    name = names[0] if option is None else option
    if name not in names:
        raise _unknown(option, names)
    found_parameter = result[name]
    n = sum(map(sum, result.groups))
    return _value(name, n, result.level, found_parameter)


def _share(result: ShareEstimates | WeightedEstimate | PartsEstimate, option: Any) -> WaveValue:
    entries: Sequence[Any] = result.shares if isinstance(result, WeightedEstimate) else result.estimates
    labels = [entry.option for entry in entries]
    every = labels
    if not isinstance(result, WeightedEstimate):
        every = list(result.options)
    if option is None and len(entries) > 2:
        answers = ", ".join(map(str, labels))
        raise AnalysisError("the question has several answers", f"name one with option= ({answers})")
    if option is None:
        name = labels[-1]
    else:
        name = _label(option, every)
    if name not in labels:
        raise _unknown(option, labels)
    entry = entries[labels.index(name)]
    freedom = getattr(result, "degrees_of_freedom", None)
    again = None
    if isinstance(result, ShareEstimates) and freedom is None and not result.simultaneous:
        again = _limits_again(result, every.index(name))
    value = _value(name, result.n, result.level, entry, freedom=freedom, again=again)
    return replace(value, variance_at=share_variance(result, [every.index(name)], value.error**2))


def _label(option: Any, labels: Sequence[Any]) -> Any:
    """Find an answer by its label, or by its code."""
    if option in labels:
        return option
    if isinstance(option, int) and not isinstance(option, bool) and 0 <= option < len(labels):
        return labels[option]
    return option


def _limits_again(table: ShareEstimates, position: int) -> Callable[[float], tuple[float, float]]:
    def limits(level: float) -> tuple[float, float]:
        estimate = replace(table, level=level).functional(table.view.unit(position))
        return estimate.low, estimate.high

    return limits


def _unknown(option: Any, answers: Sequence[Any]) -> AnalysisError:
    return AnalysisError(f"a wave has no answer {option!r}", f"it has {', '.join(map(str, answers))}")


def _checked(value: WaveValue) -> WaveValue:
    if not value.high > value.low:
        raise AnalysisError(
            "all reports of a wave are the same, and its interval has no width: nothing tells how far it may be off",
            "estimate it with interval='auto', whose limits hold there too",
        )
    return value
