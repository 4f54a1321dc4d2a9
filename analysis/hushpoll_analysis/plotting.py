"""One picture for every result: dots with whiskers, in the colours of the report (matplotlib, an extra)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.errors import AnalysisError

COLOUR = "#17605d"
PALE = "#9fb8b6"
ROW = 0.32
LONGEST = 40
"""Signs of a label."""


def new_axes(rows: int) -> Any:
    """Make axes of a height that fits the rows; no window is opened."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise AnalysisError("matplotlib is not installed", 'run pip install "hushpoll[plot]"') from None
    return Figure(figsize=(7.0, 0.9 + ROW * max(rows, 2)), layout="constrained").subplots()


def draw_whiskers(
    labels: Iterable[Any],
    estimates: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    words: str,
    axes: Any = None,
    *,
    zero: bool = False,
) -> Any:
    """Draw one row an estimate and give the axes; `zero` marks no effect."""
    middle, left, right = (np.asarray(values, dtype=np.float64) for values in (estimates, low, high))
    if axes is None:
        axes = new_axes(len(middle))
    rows = np.arange(len(middle))
    for row, a, b in zip(rows, left, right, strict=True):
        if np.isfinite(a) and np.isfinite(b):
            axes.plot([a, b], [row, row], color=COLOUR, linewidth=1.4)
    axes.plot(middle, rows, "o", color=COLOUR, markersize=6)
    if zero:
        axes.axvline(0.0, color=PALE, linewidth=1.0)
    axes.set_yticks(rows, names_of(labels))
    axes.set_ylim(len(middle) - 0.5, -0.5)
    axes.set_xlabel(words, fontsize=9)
    finish(axes)
    return axes


def draw_line(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    words: tuple[str, str],
    axes: Any = None,
) -> Any:
    """Draw a curve with its band and give the axes; `words` are those of the two axes."""
    axes = new_axes(8) if axes is None else axes
    axes.fill_between(np.asarray(x), np.asarray(low), np.asarray(high), color=COLOUR, alpha=0.15, linewidth=0)
    axes.plot(np.asarray(x), np.asarray(y), "o-", color=COLOUR, markersize=4)
    axes.set_xlabel(words[0], fontsize=9)
    axes.set_ylabel(words[1], fontsize=9)
    finish(axes)
    return axes


def names_of(labels: Iterable[Any]) -> list[str]:
    """Write labels, long ones cut where they stay different."""
    entries = list(labels)
    cut = [plain(label) for label in entries]
    if len(set(cut)) == len(set(entries)):
        return cut
    return [plain(label, None) for label in entries]


def plain(label: Any, most: int | None = LONGEST) -> str:
    """Write a label, each part cut; matplotlib would read a dollar sign as the beginning of a formula."""
    parts = [str(level) for level in (label if isinstance(label, tuple) else (label,))]
    room = None
    if most is not None:
        room = most // len(parts)
    return " / ".join(_cut(text, room) for text in parts).replace("$", r"\$")


def _cut(text: str, most: int | None) -> str:
    if most is None or len(text) <= most:
        return text
    return text[: most - 1] + "…"


def finish(axes: Any) -> None:
    """Take away what says nothing."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.3)
