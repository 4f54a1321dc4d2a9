"""One question over several surveys or waves: changes from wave to wave, and the straight line through them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from hushpoll_analysis.data.counts import check_level, finite_numbers
from hushpoll_analysis.data.whiskers import draw_line
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sampling.weighted import WeightedEstimate
from hushpoll_analysis.shares.interval.mover import Part, difference_limits
from hushpoll_analysis.shares.parts import PartsEstimate
from hushpoll_analysis.shares.result import Estimate, Shown

from .survey import SurveyResults

__all__ = ["Trend", "TrendWave", "trend"]


@dataclass(frozen=True)
class TrendWave:
    """One wave: its estimate, and the change since the wave before (None in the first)."""

    wave: Any
    time: float
    n: int
    estimate: float
    se: float
    low: float
    high: float
    shown: Shown
    change: float | None
    change_se: float | None
    change_low: float | None
    change_high: float | None
    p_value: float | None


@dataclass(frozen=True)
class Trend:
    """All waves of one answer; `slope` is the change per unit of time along the weighted straight line.

    `changed_p` tests that nothing changed at all, `slope_p` that the line is flat, `bent_p` that the line fits
    (None with two waves).
    """

    option: Any
    level: float
    waves: tuple[TrendWave, ...]
    slope: float
    slope_se: float
    slope_low: float
    slope_high: float
    slope_p: float
    changed_p: float
    bent_p: float | None
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each wave."""
        rows = []
        for one in self.waves:
            row = dict(vars(one))
            shown = row.pop("shown")
            rows.append(row | {f"shown_{key}": value for key, value in vars(shown).items()})
        return pd.DataFrame(rows).set_index("wave")

    def to_dict(self) -> dict[str, Any]:
        """Give the trend as JSON values."""
        waves = [{**vars(one), "shown": dict(vars(one.shown))} for one in self.waves]
        return {**vars(self), "waves": waves, "notes": list(self.notes)}

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        frame = self.to_frame()
        limits = (frame["shown_estimate"], frame["shown_low"], frame["shown_high"])
        return draw_line(frame["time"], *limits, ("time", f"share of {self.option}"), axes)

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}", na_rep="")


def trend(
    waves: Sequence[Any] | Mapping[Any, Any],
    option: Any = None,
    *,
    question: str | None = None,
    times: Sequence[float] | None = None,
    level: float | None = None,
) -> Trend:
    """Follow one answer over several surveys.

    Parameters
    ----------
    waves
        Results in the order of time: of `estimate`, `weighted_estimate` or `report`; a mapping names them. Each may
        have its own mechanism and epsilon.
    option
        The answer to follow; by default Yes.
    question
        Its question, where the waves are reports of whole surveys.
    times
        When each wave was; by default the names where they are numbers, else 0, 1, 2, ...
    level
        Confidence level of changes and slope; by default that of the first wave.

    Returns
    -------
    Trend

    Notes
    -----
    **Assumes** different people in each wave, drawn independently: errors of the waves are then independent. A change
    has its interval from the limits of both waves (MOVER); its p-value, the line (weighted least squares with weights
    1/SE^2) and the chi-square tests are normal.

    References
    ----------
    Zou, Donner (2008), Statist. Med. 27, 1693-1702; Hedges, Olkin (1985), Statistical Methods for Meta-Analysis.
    """
    found = [_wave(one, option, question) for one in _values(waves)]
    if len(found) < 2:
        raise AnalysisError(f"a trend needs at least two waves, got {len(found)}")
    names = [_plain(name) for name in waves] if isinstance(waves, Mapping) else list(range(len(found)))
    when = _times(names, times, isinstance(waves, Mapping))
    wanted = check_level(found[0].level if level is None else level)
    labels = {one.option for one in found}
    if len(labels) > 1:
        raise AnalysisError(
            f"the waves are about different answers ({', '.join(map(str, sorted(labels, key=str)))})",
            "name one with option=",
        )
    line = _line(when, found, wanted)
    rows = tuple(
        _row(names[i], float(when[i]), one, found[i - 1] if i else None, wanted)
        for i, one in enumerate(found)
    )
    notes = ["Waves are taken as independent samples: different people in each."]
    if any(one.se == 0.0 for one in found):
        notes.append("A wave has equal reports only; its interval stands for its standard error.")
    return Trend(found[0].option, wanted, rows, *line, tuple(notes))


@dataclass(frozen=True)
class _Found:
    option: Any
    n: int
    level: float
    estimate: float
    se: float
    low: float
    high: float
    shown: Shown

    @property
    def error(self) -> float:
        """The standard error; where all reports are equal, what the interval says it is."""
        if self.se > 0.0:
            return self.se
        return (self.high - self.low) / (2.0 * float(stats.norm.isf((1.0 - self.level) / 2.0)))


def _plain(name: Any) -> Any:
    """Give a name that JSON can hold: 2024, not np.int64(2024)."""
    return name.item() if isinstance(name, np.generic) else name


def _values(waves: Any) -> list[Any]:
    if isinstance(waves, Mapping):
        return list(waves.values())
    if isinstance(waves, str) or not isinstance(waves, Sequence):
        raise AnalysisError(
            f"waves: expected a list of results, or {{name: result}}, got {type(waves).__name__}"
        )
    return list(waves)


def _wave(one: Any, option: Any, question: str | None) -> _Found:
    if isinstance(one, SurveyResults):
        if question is None:
            raise AnalysisError("name the question to follow, as in trend([...], question='cheated')")
        part = one[question].estimate
        if part is None:
            few = f"fewer than {one.minimum} people were asked {question!r} in a wave, or its reports tell a mean only"
            raise AnalysisError(one.too_few or few)
        one = part
    if not isinstance(one, Estimate | WeightedEstimate | PartsEstimate):
        raise AnalysisError(
            f"a wave is a {type(one).__name__}", "give results of estimate, weighted_estimate or report"
        )
    entries: Sequence[Any] = one.shares if isinstance(one, WeightedEstimate) else one.estimates
    known = ", ".join(str(entry.option) for entry in entries)
    if option is None and len(entries) > 2:
        raise AnalysisError("the question has several answers", f"name one with option= ({known})")
    entry = (
        entries[-1] if option is None else next((entry for entry in entries if entry.option == option), None)
    )
    if entry is None:
        raise AnalysisError(f"a wave has no answer {option!r}", f"it has {known}")
    if not entry.high > entry.low:
        raise AnalysisError(
            "all reports of a wave are the same, and its interval has no width: nothing tells how far it may be off",
            "estimate it with interval='auto', whose limits hold there too",
        )
    return _Found(
        entry.option, one.n, one.level, entry.estimate, entry.se, entry.low, entry.high, entry.shown
    )


def _times(names: list[Any], times: Sequence[float] | None, named: bool) -> Any:
    if times is None and named and all(isinstance(name, int | float) for name in names):
        times = names
    when = np.arange(len(names), dtype=np.float64) if times is None else finite_numbers(times, "times")
    if len(when) != len(names):
        raise AnalysisError(f"{len(when)} times for {len(names)} waves", "give one for each")
    if np.any(np.diff(when) <= 0.0):
        raise AnalysisError("times must increase from wave to wave", "put the waves in order")
    return when


def _line(
    when: Any, found: list[_Found], level: float
) -> tuple[float, float, float, float, float, float, float | None]:
    """Slope with SE, limits and p-value, then the tests of any change and of bending."""
    values, errors = np.array([one.estimate for one in found]), np.array([one.error for one in found])
    weights = errors**-2.0
    centre = weights @ when / weights.sum()
    spread = float(weights @ (when - centre) ** 2)
    mean = float(weights @ values / weights.sum())
    slope = float(weights @ ((when - centre) * values)) / spread
    se = spread**-0.5
    half = float(stats.norm.isf((1.0 - level) / 2.0)) * se
    around = float(weights @ (values - mean) ** 2)
    bent = max(around - slope**2 * spread, 0.0)
    free = len(found) - 2
    return (
        slope,
        se,
        slope - half,
        slope + half,
        2.0 * float(stats.norm.sf(abs(slope) / se)),
        float(stats.chi2.sf(around, len(found) - 1)),
        float(stats.chi2.sf(bent, free)) if free else None,
    )


def _row(name: object, when: float, one: _Found, before: _Found | None, level: float) -> TrendWave:
    base = (name, when, one.n, one.estimate, one.se, one.low, one.high, one.shown)
    if before is None:
        return TrendWave(*base, None, None, None, None, None)
    parts = [Part(each.estimate, each.low, each.high) for each in (one, before)]
    change, error = one.estimate - before.estimate, math.hypot(one.error, before.error)
    if math.isclose(level, one.level) and math.isclose(level, before.level):
        low, high = difference_limits(parts[0], parts[1])
    else:
        half = float(stats.norm.isf((1.0 - level) / 2.0)) * error
        low, high = change - half, change + half
    p = 2.0 * float(stats.norm.sf(abs(change) / error))
    return TrendWave(*base, change, math.hypot(one.se, before.se), low, high, p)
