"""Dot-and-whisker pictures: geometry for the inline SVG of pages and files, and matplotlib for notebooks.

Positions are percentages of the drawing's width, so that one picture fits a phone and a printed page without
scaling its text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.plotting import new_axes

if TYPE_CHECKING:
    from .question import QuestionResults
    from .survey import SurveyResults

# Ends of the axis that are worth having: a picture of small shares must not be all empty paper.
ENDS = {0.05: 5, 0.1: 5, 0.15: 3, 0.2: 4, 0.3: 3, 0.4: 4, 0.5: 5, 0.6: 3, 0.8: 4, 1.0: 4}
"""Where an axis may end, and into how many steps it is then divided."""


@dataclass(frozen=True)
class Axis:
    """A share axis from 0 to `end` with its ticks."""

    end: float

    @property
    def ticks(self) -> tuple[tuple[str, str], ...]:
        """Position and text of each tick."""
        steps = ENDS[self.end]
        marks = [self.end * index / steps for index in range(steps + 1)]
        return tuple((self.place(mark), f"{100 * mark:g} %") for mark in marks)

    def place(self, share: float) -> str:
        """Return where a share lies, cut at the ends, as an SVG length."""
        return f"{100 * self._part(share):.2f}%"

    def rise(self, share: float) -> str:
        """Return how far below the top a share lies where the axis goes up."""
        return f"{100 * (1.0 - self._part(share)):.2f}%"

    def _part(self, share: float) -> float:
        return min(max(share / self.end, 0.0), 1.0)

    @property
    def risers(self) -> tuple[tuple[str, str], ...]:
        """Position and text of each tick where the axis goes up."""
        steps = ENDS[self.end]
        marks = [self.end * index / steps for index in range(steps + 1)]
        return tuple((self.rise(mark), f"{100 * mark:g} %") for mark in marks)


@dataclass(frozen=True)
class NumberAxis:
    """An axis of numbers from the least answer to the largest."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> NumberAxis:
        """Return the axis from the first to the last of increasing answers."""
        return cls(float(values[0]), float(values[-1]))

    @classmethod
    def around(cls, low: float, high: float) -> NumberAxis:
        """Choose the shortest axis with round ticks that holds both."""
        least = max((high - low) / 4, 1e-9)
        scale = 10.0 ** math.floor(math.log10(least))
        for step in (scale * factor for factor in (1.0, 2.0, 2.5, 5.0, 10.0, 20.0)):
            start = step * math.floor(low / step + 1e-9)
            if high <= start + 4 * step * (1 + 1e-9):
                break
        return cls(start, start + 4 * step)

    @property
    def ticks(self) -> tuple[tuple[str, str], ...]:
        """Position and text of each tick."""
        marks = [self.low + (self.high - self.low) * index / 4 for index in range(5)]
        return tuple((self.place(mark), f"{mark:.10g}") for mark in marks)

    def place(self, number: float) -> str:
        """Return where a number lies, cut at the ends, as an SVG length."""
        return f"{100 * self._part(number):.2f}%"

    def rise(self, number: float) -> str:
        """Return how far below the top a number lies where the axis goes up."""
        return f"{100 * (1.0 - self._part(number)):.2f}%"

    def _part(self, number: float) -> float:
        return min(max((number - self.low) / (self.high - self.low), 0.0), 1.0)

    @property
    def risers(self) -> tuple[tuple[str, str], ...]:
        """Position and text of each tick where the axis goes up."""
        marks = [self.low + (self.high - self.low) * index / 4 for index in range(5)]
        return tuple((self.rise(mark), f"{mark:.10g}") for mark in marks)


def axis_for(highs: Iterable[float]) -> Axis:
    """Choose the shortest axis that holds every shown upper limit."""
    top = max([value for value in highs if math.isfinite(value)], default=1.0)
    return Axis(next((end for end in ENDS if top <= end), 1.0))


def draw(report: SurveyResults, axes: Any = None) -> Any:
    """Draw every question's estimates with matplotlib and give the figure.

    The thin line is the interval of sampling and privacy, the thick one that of privacy alone.
    """
    pyplot = _pyplot()
    drawable = [question for question in report.questions if question.shares]
    if not drawable:
        raise AnalysisError(
            f"nothing to draw: {report.n} reports are fewer than the minimum of {report.minimum}"
        )
    if axes is not None and len(drawable) > 1:
        raise AnalysisError(
            f"one set of axes cannot hold {len(drawable)} questions", "call plot() without axes"
        )
    rows = [len(question.all_shares) for question in drawable]
    if axes is None:
        figure, grid = pyplot.subplots(
            len(drawable),
            1,
            figsize=(7.0, 0.9 * len(drawable) + 0.36 * sum(rows)),
            squeeze=False,
            layout="constrained",
            gridspec_kw={"height_ratios": [count + 1.4 for count in rows]},
        )
        axes_of_question = [row[0] for row in grid]
    else:
        figure, axes_of_question = axes.figure, [axes]
    for question, panel in zip(drawable, axes_of_question, strict=True):
        _draw_shares(question, panel, report.level)
    return figure


def draw_question(question: QuestionResults, axes: Any = None) -> Any:
    """Draw one question and give the axes: its shares, or its mean where the reports determine nothing else."""
    if question.numbers is None:
        mean = None
    else:
        mean = question.numbers.mean
    if question.shares:
        assert question.estimate is not None
        panel = axes
        if axes is None:
            panel = new_axes(len(question.all_shares))
        _draw_shares(question, panel, question.estimate.level)
        return panel
    if mean is None:
        raise AnalysisError(f'nothing to draw: question "{question.id}" has no estimates')
    return mean.plot(axes)


def _draw_shares(question: Any, panel: Any, level: float) -> None:
    among_asked = [(f"{line.option}, of those asked", line) for line in question.shown_among_asked]
    everybody = [(line.option, line) for line in question.ranked]
    rows = [*among_asked, *everybody]
    for row, (_, line) in enumerate(rows):
        panel.plot([line.shown_low, line.shown_high], [row, row], color="#17605d", linewidth=1.2)
        panel.plot(
            [line.privacy_low, line.privacy_high], [row, row], color="#17605d", linewidth=4, alpha=0.35
        )
        panel.plot([line.shown_estimate], [row], "o", color="#17605d", markersize=6)
    panel.set_yticks(range(len(rows)), [_short(label) for label, _ in rows])
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.set_xlim(0, axis_for(line.shown_high for _, line in rows).end)
    panel.xaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    panel.set_title(_short(question.question.text, 90), loc="left", fontsize=10)
    panel.set_xlabel(f"estimated share, {100 * level:g} % interval", fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="x", alpha=0.3)


def _short(text: str, limit: int = 40) -> str:
    # matplotlib would read a dollar sign as the beginning of a formula.
    text = text.replace("$", r"\$")
    if len(text) <= limit:
        return text
    return text[: limit - 1] + "…"


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise AnalysisError(
            "plot() needs matplotlib, which is not installed", 'run pip install "hushpoll[plot]"'
        ) from None
    return pyplot
