"""One question over several surveys or waves: changes from wave to wave, and the straight line through them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.counts import check_level, finite_numbers
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimates import IntervalEstimate, Shown
from hushpoll_analysis.plotting import draw_line
from hushpoll_analysis.result import PlottedResult, flat
from hushpoll_analysis.tidy import Tidy, keeps_call

from .follow_up import OF_EVERYBODY
from .survey import SurveyResults
from .trend_line import change_between, line_through
from .wave_values import MEAN, WaveValue, read_wave

FEW, MANY = 5, 5
"""Degrees of freedom of a wave, and number of waves, between which the line is tested at about its level."""


@dataclass(frozen=True, kw_only=True)
class TrendWave(IntervalEstimate):
    """One wave: its estimate, and the change since the wave before (None in the first)."""

    figures_follow = "n"

    wave: Any
    time: float
    n: int
    shown: Shown
    change: float | None = None
    change_se: float | None = None
    change_low: float | None = None
    change_high: float | None = None
    p_value: float | None = None


@dataclass(frozen=True)
class Trend(Tidy, PlottedResult):
    """All waves of one answer; `slope` is the change per unit of time along the weighted straight line.

    `changed_p` tests that nothing changed at all, `slope_p` that the line is flat, `bent_p` that the line fits
    (None with two waves).
    """

    summary_columns = (
        "time",
        "n",
        "estimate",
        "se",
        "low",
        "high",
        "change",
        "change_low",
        "change_high",
        "p_value",
    )

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

    def _title(self) -> str:
        bent = ""
        if self.bent_p is not None:
            bent = f", bent p = {self.bent_p:.4f}"
        return (
            f"{self.option} over {len(self.waves)} waves, {100 * self.level:g} % intervals\n"
            f"Slope {self.slope:.4f} ({self.slope_low:.4f} to {self.slope_high:.4f}), p = {self.slope_p:.4f}; "
            f"any change p = {self.changed_p:.4f}{bent}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each wave."""
        return pd.DataFrame([flat(wave.row()) for wave in self.waves]).set_index("wave")

    def to_dict(self) -> dict[str, Any]:
        """Return the trend as JSON values; dates that name waves are text."""
        waves = [
            {**wave.row(), "wave": _as_json(wave.wave), "shown": dict(vars(wave.shown))}
            for wave in self.waves
        ]
        own = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {**own, "waves": waves, "notes": list(self.notes)}

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        frame = self.to_frame()
        limits = (frame["shown_estimate"], frame["shown_low"], frame["shown_high"])
        words = MEAN
        if self.option != MEAN:
            words = f"share of {self.option}"
        return draw_line(frame["time"], *limits, ("time", words), axes)


@keeps_call
def trend(
    waves: Sequence[Any] | Mapping[Any, Any],
    option: Any = None,
    *,
    question: str | None = None,
    times: Sequence[float] | None = None,
    level: float | None = None,
) -> Trend:
    r"""Follow one answer, or a mean, over several surveys.

    Parameters
    ----------
    waves
        Results in the order of time: of `estimate`, `weighted_estimate`, `report` or a two-group design; a mapping
        names them. Each may have its own mechanism and epsilon.
    option
        The answer to follow, by its label or its code; by default Yes, of a scale or a number in reports the mean, and
        of a two-group design the share. Of ordered answers in reports also several: "4 or more", "2 or less".
    question
        Its question, where the waves are reports of whole surveys.
    times
        When each wave was; by default the names where they are numbers, also as text such as "2024", or dates, which
        count in years. Else waves are taken as equally spaced, and `notes` say so.
    level
        Confidence level of changes and slope; by default that of the first wave.

    Returns
    -------
    Trend

    Notes
    -----
    **Assumes** different people in each wave, drawn independently: errors of the waves are then independent. A change
    has its interval from the limits of both waves at the level asked for (MOVER), and as its p-value the level at
    which that interval reaches 0. The line is weighted least squares. Its weights are the inverse variances that the
    waves would have if nothing changed: those of the single estimates follow the estimates where an answer is rare.
    The test of bending takes the variances on the line; both tests are chi-square tests. Where waves have degrees of
    freedom :math:`\nu_i` (clusters), changes and slope use t with :math:`(\sum a_i)^2 / \sum a_i^2/\nu_i` of them,
    :math:`a_i` being the waves' parts of the variance, the slope's variance is that of Kenward and Roger, and both
    tests are F: Welch's for any change, Johansen's for bending.

    References
    ----------
    Zou, Donner (2008), Statist. Med. 27, 1693-1702; Hedges, Olkin (1985), Statistical Methods for Meta-Analysis; Welch
    (1951), Biometrika 38, 330-336; Johansen (1980), Biometrika 67, 85-92; Kenward, Roger (1997), Biometrics 53.
    """
    values = [read_wave(wave, option, question) for wave in _values(waves)]
    if len(values) < 2:
        raise AnalysisError(f"a trend needs at least two waves, got {len(values)}")
    if isinstance(waves, Mapping):
        names = [_plain(name) for name in waves]
    else:
        names = list(range(len(values)))
    when, spaced = _times(names, times, isinstance(waves, Mapping))
    requested_level = check_level(values[0].level if level is None else level)
    labels = {wave.option for wave in values}
    if len(labels) > 1:
        raise AnalysisError(
            f"the waves are about different answers ({', '.join(map(str, sorted(labels, key=str)))})",
            "name one with option=",
        )
    line = line_through(when, values, requested_level)
    rows = tuple(
        _row(names[i], float(when[i]), wave, values[i - 1] if i else None, requested_level)
        for i, wave in enumerate(values)
    )
    notes = ["Waves are taken as independent samples: different people in each."]
    if spaced and len(values) > 2:
        notes.append("Waves are taken as equally spaced in time; if they are not, give times=.")
    if any(_is_follow_up(wave, question) for wave in _values(waves)):
        notes.append(OF_EVERYBODY)
    if any(wave.se == 0.0 for wave in values):
        notes.append("A wave has equal reports only; its interval stands for its standard error.")
    if any(wave.freedom is not None and wave.freedom < FEW for wave in values) and len(values) > MANY:
        notes.append(
            f"With {len(values)} waves, of which one has fewer than {FEW} degrees of freedom, the interval of the "
            "slope covers less often than it says (90 % in place of 95 % for 8 waves of 4 clusters)."
        )
    return Trend(values[0].option, requested_level, rows, *line, tuple(notes))


def _is_follow_up(wave: Any, question: str | None) -> bool:
    if not isinstance(wave, SurveyResults) or question is None:
        return False
    return wave[question].question.after is not None


def _plain(name: Any) -> Any:
    """Return a name that JSON can hold: 2024, not np.int64(2024)."""
    if isinstance(name, np.generic):
        return name.item()
    return name


def _as_json(name: Any) -> Any:
    if isinstance(name, date):
        return name.isoformat()
    if isinstance(name, pd.Period):
        return str(name)
    return name


def _values(waves: Any) -> list[Any]:
    if isinstance(waves, Mapping):
        return list(waves.values())
    if isinstance(waves, str) or not isinstance(waves, Sequence):
        raise AnalysisError(
            f"waves: expected a list of results, or {{name: result}}, got {type(waves).__name__}"
        )
    return list(waves)


def _times(names: list[Any], times: Sequence[float] | None, named: bool) -> tuple[Any, bool]:
    """Return when each wave was, and whether waves are only taken as equally spaced."""
    if times is None and named:
        times = _times_of_names(names)
    spaced = times is None
    if times is None:
        when = np.arange(len(names), dtype=np.float64)
    else:
        when = finite_numbers(times, "times")
    if len(when) != len(names):
        raise AnalysisError(f"{len(when)} times for {len(names)} waves", "give one for each")
    if np.any(np.diff(when) <= 0.0):
        raise AnalysisError("times must increase from wave to wave", "put the waves in order")
    return when, spaced


def _times_of_names(names: list[Any]) -> list[float] | None:
    """Return the times that names stand for: numbers, numbers as text, or dates in years; None where they do not."""
    numbers = [_number(name) for name in names]
    if None not in numbers:
        return [number for number in numbers if number is not None]
    if all(isinstance(name, date | np.datetime64 | pd.Period) for name in names) or _are_dates(names):
        days = pd.to_datetime([_date(name) for name in names])
        return [float(year) for year in days.year + (days.day_of_year - 1 + days.hour / 24) / 365.25]
    return None


def _number(name: Any) -> float | None:
    if isinstance(name, bool):
        return None
    try:
        value = None
        if isinstance(name, int | float | str):
            value = float(name)
    except ValueError:
        return None
    if value is not None and math.isfinite(value):
        return value
    return None


def _are_dates(names: list[Any]) -> bool:
    return all(isinstance(name, str) and re.fullmatch(r"\d{4}-\d\d(-\d\d)?", name) for name in names)


def _date(name: Any) -> Any:
    if isinstance(name, pd.Period):
        return name.to_timestamp()
    return name


def _row(name: object, when: float, wave: WaveValue, before: WaveValue | None, level: float) -> TrendWave:
    row = TrendWave(
        wave=name,
        time=when,
        n=wave.n,
        estimate=wave.estimate,
        se=wave.se,
        low=wave.low,
        high=wave.high,
        shown=wave.shown,
    )
    if before is None:
        return row
    change = change_between(wave, before, level)
    return replace(
        row,
        change=change.difference,
        change_se=change.se,
        change_low=change.low,
        change_high=change.high,
        p_value=change.p_value,
    )
