"""A made-up truth to rehearse with, and the rows that put the report's figures next to it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flask_babel import lazy_gettext as later
from wtforms import SelectField
from wtforms.fields.core import UnboundField
from wtforms.validators import InputRequired, NumberRange

from hushpoll_server.fields import DecimalField, choices, option
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number

MOST_ROWS = 12  # of a long list, the largest ones

LISTS = {
    "falling": later("A few are frequent, most are rare"),
    "even": later("All are equally frequent"),
}
SHAPES = {
    "bell": later("Most in the middle"),
    "low": later("Most low, a few high"),
    "high": later("Most high, a few low"),
    "two": later("Two groups, one low and one high"),
    "even": later("All equally frequent"),
}


class TruthProblem(ValueError):
    """A made-up truth that cannot be; `field` names the part of it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class Row:
    """One figure of the report next to the truth that was set; `low_end` and `high_end` are the ends of its axis."""

    label: str
    truth: float
    estimate: float
    low: float
    high: float
    low_end: float = 0.0
    high_end: float = 1.0
    is_share: bool = True

    @property
    def covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high

    @property
    def texts(self) -> tuple[str, str, str]:
        """Truth, estimate and interval for people."""
        formatted = self._shown
        low = formatted(self.low).removesuffix(" %")
        ends = _("%(low)s to %(high)s", low=low, high=formatted(self.high))
        return formatted(self.truth), formatted(self.estimate), ends

    @property
    def ends(self) -> tuple[str, str]:
        """The ends of its axis for people."""
        if self.is_share:
            return "0 %", "100 %"
        return localize_number(f"{self.low_end:,.10g}"), localize_number(f"{self.high_end:,.10g}")

    @property
    def places(self) -> dict[str, float]:
        """Estimate and interval on the axis, from 0 to 1."""
        return {name: self.place(getattr(self, name)) for name in ("estimate", "low", "high")}

    def place(self, value: float) -> float:
        """Return the position of a value on the axis."""
        fraction = (value - self.low_end) / (self.high_end - self.low_end)
        return min(max(fraction, 0.0), 1.0)

    def _shown(self, value: float) -> str:
        if self.is_share:
            return localize_number(f"{100 * min(max(value, 0.0), 1.0):.1f} %")
        digits = max(0, 2 - math.floor(math.log10(max(self.high_end - self.low_end, 1e-9))))
        return localize_number(f"{min(max(value, self.low_end), self.high_end):,.{digits}f}")


def percent(label: str, default: float) -> UnboundField:
    """Return a field for a percentage."""
    checks = [
        InputRequired(later("Type a percentage.")),
        NumberRange(0, 100, later("Type a percentage from 0 to 100.")),
    ]
    return DecimalField(_("%(option)s, in %%", option=option(label)), checks, default=default)


def select(label: str, offered: Mapping[str, str]) -> UnboundField:
    """Return a field for a shape."""
    return SelectField(label, choices=choices(offered.items()), default=next(iter(offered)))


def falling(options: int, shape: str) -> list[float]:
    """Return shares of a long list: all alike, or falling as one over their rank."""
    weights = [1.0 / (rank + 1) if shape == "falling" else 1.0 for rank in range(options)]
    return [weight / math.fsum(weights) for weight in weights]


def bell(shape: str, position: float) -> float:
    """Return the height of a simple distribution at a place from 0 to 1."""
    low, high = (0.12, 0.16), (0.88, 0.16)
    centres = {"bell": ((0.5, 0.16),), "low": (low,), "high": (high,), "two": ((0.25, 0.1), (0.75, 0.1))}
    if shape not in centres:
        return 1.0
    return sum(math.exp(-0.5 * ((position - centre) / width) ** 2) for centre, width in centres[shape])


def quantile(values: Sequence[float], shares: Sequence[float], p: float) -> float:
    """Return the smallest value at or below which a share p of the truth lies."""
    below = 0.0
    for value, share in zip(values, shares, strict=True):
        below += share
        if below >= p - 1e-12:
            return value
    return values[-1]


def share_rows(entries: Sequence[Mapping[str, Any]], truth: Mapping[str, float]) -> list[Row]:
    """Return shares next to the truth; of a long list the largest."""
    rows = []
    for entry in entries:
        # None stands for an unbounded limit: every share is possible.
        if entry["low"] is None:
            low = 0.0
        else:
            low = entry["low"]
        if entry["high"] is None:
            high = 1.0
        else:
            high = entry["high"]
        rows.append(Row(entry["option"], truth[entry["option"]], entry["estimate"], low, high))
    if len(rows) <= MOST_ROWS:
        return rows
    return sorted(rows, key=lambda row: -row.truth)[:MOST_ROWS]


def mean_row(figures: Mapping[str, Any], truth: float, values: Sequence[float], unit: str = "") -> Row:
    """Put an average next to the truth."""
    mean = figures["mean"]
    if unit:
        label = _("%(figure)s, in %(unit)s", figure=_("Average"), unit=unit)
    else:
        label = _("Average")
    return Row(
        label,
        truth,
        mean["estimate"],
        low=mean["low"],
        high=mean["high"],
        low_end=values[0],
        high_end=values[-1],
        is_share=False,
    )


def sets_with_shares(shares: Sequence[float]) -> tuple[list[list[int]], list[float]]:
    """Return sets of options and their shares, so that every option has its share and no set is larger than necessary.

    Systematic sampling: the shares are laid end to end, and a comb with teeth one apart is put on them at random.
    """
    ends = [0.0]
    for share in shares:
        ends.append(ends[-1] + share)
    cuts = sorted({0.0, 1.0, *(round(end % 1.0, 12) for end in ends)})
    sets: list[list[int]] = []
    sizes: list[float] = []
    for start, stop in pairwise(cuts):
        if stop - start < 1e-9:
            continue
        teeth = [(start + stop) / 2 + tooth for tooth in range(math.ceil(ends[-1]) + 1)]
        caught = [any(low < tooth < high for tooth in teeth) for low, high in pairwise(ends)]
        sets.append([index for index, held in enumerate(caught) if held])
        sizes.append(stop - start)
    return sets, [size / math.fsum(sizes) for size in sizes]
