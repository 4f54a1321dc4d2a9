"""Pictures of a distribution: steps of the cumulative shares and bars of a histogram, each with its band.

Positions are percentages of the drawing, as for dots and whiskers, so that one picture fits every width.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hushpoll_analysis.estimand.cumulative import Cumulative
from hushpoll_analysis.estimand.density import Density

from .wording import Wording

MOST_LABELS = 6
LONGEST = 24  # letters of a label
GAP = 2.0
"""The least space between labels, in percent of the drawing."""
PHONE, WIDE = 4.0, 1.5
"""Width of a letter in percent of the drawing: of the 190 pixels it has on a narrow phone, and of 560 and more."""


@dataclass(frozen=True)
class Span:
    """A vertical stretch: where it begins, from above, and how high it is."""

    y: str
    height: str


@dataclass(frozen=True)
class Step:
    """One answer's column: place and width, the estimate, its interval and the band."""

    x: str
    right: str
    middle: str
    width: str
    y: str
    bar: Span
    interval: Span
    band: Span


@dataclass(frozen=True)
class Panel:
    """A drawing with its axes; `ticks` are places and texts, `edges` where the columns of the answers begin and end."""

    title: str
    words: str
    steps: tuple[Step, ...]
    joins: tuple[tuple[str, str, str], ...]
    ticks: tuple[tuple[str, str], ...]
    answers: Sequence[str]
    edges: Sequence[float]
    bars: bool

    @property
    def labels(self) -> tuple[tuple[str, str, str], ...]:
        """Places, anchors and texts below the columns, as many as fit."""
        return axis_labels(self.answers, self.edges)

    @property
    def phone_labels(self) -> tuple[tuple[str, str, str], ...]:
        """Fewer and shorter ones, for a narrow phone."""
        return axis_labels(self.answers, self.edges, PHONE)


def cumulative_panel(
    cumulative: Cumulative,
    labels: Sequence[str],
    level: float,
    unit: str,
    say: Wording,
    *,
    upward: bool = False,
) -> Panel:
    """Draw "this or less" for every answer, or "this or more": the curve, intervals and band."""
    number = len(cumulative.options)
    edges = [100.0 * step / number for step in range(number + 1)]
    curve, entries, band = cumulative.curve.tolist(), cumulative.estimates, cumulative.band
    if upward:
        curve = [1.0, *(1.0 - share for share in curve[:-1])]
        entries, band = cumulative.upward, cumulative.upward_band
    columns = [
        (point, alone.shown.low, alone.shown.high, both.shown.low, both.shown.high)
        for point, alone, both in zip(curve, entries, band, strict=True)
    ]
    kind = "upward" if upward else "curve"
    steps = column_steps(columns)
    return Panel(
        say(f"{kind}_title") + (f" ({unit})" if unit else ""),
        say(f"{kind}_words", level=f"{100 * level:g}"),
        steps=steps,
        joins=joined(steps),
        ticks=share_ticks(1.0, 4),
        answers=labels,
        edges=edges,
        bars=False,
    )


def histogram_panel(density: Density, labels: Sequence[str], unit: str, say: Wording) -> Panel:
    """Draw the height of every bin with its interval and the band."""
    start, width = float(density.edges[0]), float(density.edges[-1] - density.edges[0])
    edges = [100.0 * (float(edge) - start) / width for edge in density.edges]
    top = _round_up(max(float(density.band_high.max()), 1e-12))
    columns = [
        tuple(float(value) / top for value in row)
        for row in zip(
            density.estimate, density.low, density.high, density.band_low, density.band_high, strict=True
        )
    ]
    steps = tuple(_step(edges, position, column) for position, column in enumerate(columns))
    ticks = tuple(
        (_from_above(fraction), say("percent", value=say.in_signs(f"{100 * fraction * top:.3g}")))
        for fraction in (0.0, 0.5, 1.0)
    )
    return Panel(
        say("bars_title") + (f" ({unit})" if unit else ""),
        say("bars_words", level=f"{100 * density.level:g}"),
        steps=steps,
        joins=(),
        ticks=ticks,
        answers=labels,
        edges=edges,
        bars=True,
    )


def column_steps(columns: Sequence[Sequence[float]]) -> tuple[Step, ...]:
    """Return columns of one width, each with estimate, interval and band as parts of the height."""
    edges = [100.0 * step / len(columns) for step in range(len(columns) + 1)]
    return tuple(_step(edges, position, column) for position, column in enumerate(columns))


def share_ticks(end: float, steps: int) -> tuple[tuple[str, str], ...]:
    """Divide an axis of shares that ends so."""
    parts = [step / steps for step in range(steps + 1)]
    return tuple((_from_above(fraction), f"{100 * fraction * end:g} %") for fraction in parts)


def _step(edges: Sequence[float], position: int, column: Sequence[float]) -> Step:
    left, right = edges[position], edges[position + 1]
    estimate, low, high, band_low, band_high = column
    return Step(
        f"{left:.2f}%",
        f"{right:.2f}%",
        middle=f"{(left + right) / 2:.2f}%",
        width=f"{right - left:.2f}%",
        y=_from_above(estimate),
        bar=_span(0.0, estimate),
        interval=_span(low, high),
        band=_span(band_low, band_high),
    )


def _span(low: float, high: float) -> Span:
    low, high = (min(max(value, 0.0), 1.0) for value in (low, high))
    return Span(_from_above(high), f"{100 * (high - low):.2f}%")


def joined(steps: Sequence[Step]) -> tuple[tuple[str, str, str], ...]:
    """Join the steps of a curve: place, and the heights before and after."""
    return tuple((after.x, before.y, after.y) for before, after in pairwise(steps))


def _from_above(share: float) -> str:
    return f"{100 * (1 - min(max(share, 0.0), 1.0)):.2f}%"


def axis_labels(
    options: Sequence[str], edges: Sequence[float], letter: float = WIDE
) -> tuple[tuple[str, str, str], ...]:
    """Return as many labels as fit: the first, the last and some between, with how each is anchored."""
    last = len(options) - 1
    room = int((100.0 - GAP) / letter)
    texts = [_cut(option, min(LONGEST, room // 2)) for option in options]
    # The first and the last stand side by side: a long one takes what a short one leaves.
    for end, other in ((0, last), (last, 0)):
        texts[end] = _cut(options[end], min(LONGEST, max(room // 2, room - len(options[other]))))
    middles = [(left + right) / 2 for left, right in pairwise(edges)]
    wide = [letter * len(text) for text in texts]
    first_ends, last_starts = edges[0] + wide[0], edges[-1] - wide[last]

    def between(every: int) -> list[int]:
        return [
            position
            for position in range(every, last, every)
            if first_ends + GAP <= middles[position] - wide[position] / 2
            and middles[position] + wide[position] / 2 + GAP <= last_starts
        ]

    def apart(positions: Sequence[int]) -> bool:
        return all(
            middles[left] + wide[left] / 2 + GAP <= middles[other] - wide[other] / 2
            for left, other in pairwise(positions)
        )

    # Of all distances at which none touches its neighbour, the one with the most labels.
    tried = [between(every) for every in range(max(math.ceil(len(options) / MOST_LABELS), 1), last + 1)]
    inner = max((positions for positions in tried if apart(positions)), key=len, default=[])
    ends = [(edges[0], "start", texts[0]), (edges[-1], "end", texts[last])]
    labelled = [ends[0], *((middles[position], "middle", texts[position]) for position in inner), ends[1]]
    return tuple((f"{at:.2f}%", anchor, text) for at, anchor, text in labelled)


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return text[: longest - 1] + "…"


def _round_up(value: float) -> float:
    scale = 10.0 ** math.floor(math.log10(value))
    return next(
        scale * step
        for step in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.5, 10.0)
        if value <= scale * step * 1.0000001
    )
