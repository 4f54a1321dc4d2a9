"""Differences and ratios of shares between groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats

from hushpoll_analysis.data.whiskers import draw_whiskers
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.shares.interval import Interval
from hushpoll_analysis.shares.interval.mover import Part, difference_limits, least_ratio, ratio_limits

from .cells import group_shares
from .joint import JointReports
from .within import COLUMNS, TableShare, table_rows

__all__ = ["Comparison", "GroupDifference", "compare_groups", "stacked"]

UNCLEAR = "the reference group's share is not clear of zero, so the ratio has no upper limit"
IMPOSSIBLE = "the reference group's share lies below zero, so no ratio is given"
NEGATIVE = "the group's share is below zero by chance, and so is the ratio"
SAME_REPORTS = "all reports are the same, so the standard error is 0 and says nothing; there is no p-value"
SMALLEST = 1e-12  # limits at smaller levels lose their digits
LARGEST = math.log(1.0 - 1e-9)


@dataclass(frozen=True)
class GroupDifference:
    """One outcome's share in a group against a reference group; `interval` is the method of all limits."""

    option: Any
    group: Any
    reference: Any
    share: float
    share_reference: float
    difference: float
    se: float
    low: float
    high: float
    p_value: float
    ratio: float
    ratio_low: float
    ratio_high: float
    interval: str
    note: str


@dataclass(frozen=True)
class Comparison:
    """All comparisons asked for, with the shares within each group."""

    outcome: str
    by: str
    n: int
    effective_n: float
    level: float
    simultaneous: bool
    differences: tuple[GroupDifference, ...]
    shares: pd.DataFrame
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each option and pair of groups."""
        columns = list(GroupDifference.__dataclass_fields__)
        return pd.DataFrame([vars(one) for one in self.differences], columns=columns).set_index(
            ["option", "group", "reference"]
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the comparison as JSON values: None stands for what cannot be given, or is unbounded."""
        return {
            "outcome": self.outcome,
            "by": self.by,
            "n": self.n,
            "effective_n": self.effective_n,
            "level": self.level,
            "simultaneous": self.simultaneous,
            "differences": [_plain(vars(one)) for one in self.differences],
            "shares": [_plain(row) for row in self.shares.reset_index().to_dict(orient="records")],
            "notes": list(self.notes),
        }

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        frame = self.to_frame()
        labels = [f"{option}: {group} - {reference}" for option, group, reference in frame.index]
        limits = (frame["difference"], frame["low"], frame["high"])
        return draw_whiskers(labels, *limits, f"difference, {self.level:.0%} interval", axes, zero=True)

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")


def compare_groups(
    joint: JointReports, options: list[int], reference: object, level: float, simultaneous: bool
) -> Comparison:
    """Compare groups (first variable) on options of the outcome (second variable)."""
    groups, outcome = joint.variables
    if len(groups.labels) < 2:
        raise AnalysisError(f"{groups.name} has one group only", "a comparison needs two")
    if reference is None:
        pairs = [(b, a) for a, b in combinations(range(len(groups.labels)), 2)]
    else:
        base = groups.position(reference)
        pairs = [(g, base) for g in range(len(groups.labels)) if g != base]
    together = len(pairs) * len(options) if simultaneous else 1
    differences, rows, index = [], [], []
    for k in options:
        parts, covariance = group_shares(joint, 1, k, 0)
        rows += table_rows(parts, level)
        index += [(label, outcome.labels[k]) for label in groups.labels]
        for g, base in pairs:
            pair = _Pair(parts[g], parts[base], float(covariance[g, base]))
            names = (outcome.labels[k], groups.labels[g], groups.labels[base])
            differences.append(pair.difference(names, level, together))
    named = pd.MultiIndex.from_tuples(index, names=[groups.name, outcome.name])
    return Comparison(
        outcome.name,
        groups.name,
        joint.n,
        joint.effective_n,
        level,
        simultaneous,
        tuple(differences),
        pd.DataFrame(rows, columns=COLUMNS, index=named),
        joint.notes(),
    )


def stacked(outcome: str, level: float, found: Sequence[tuple[str, Comparison]]) -> Comparison:
    """Put comparisons of single options (of their Yes) below each other, as one of the whole question."""
    first = found[0][1]
    tables, differences = [], []
    for option, part in found:
        groups = part.shares.index.get_level_values(0)
        index = pd.MultiIndex.from_arrays([groups, [option] * len(groups)], names=[first.by, outcome])
        tables.append(part.shares.set_axis(index))
        differences += [replace(one, option=option) for one in part.differences]
    notes = dict.fromkeys(note for _, part in found for note in part.notes)
    return replace(
        first,
        outcome=outcome,
        n=max(part.n for _, part in found),
        effective_n=max(part.effective_n for _, part in found),
        level=level,
        differences=tuple(differences),
        shares=pd.concat(tables),
        notes=tuple(notes),
    )


@dataclass(frozen=True, eq=False)
class _Pair:
    """A group's share and the reference's, with the covariance of the two estimates."""

    first: TableShare
    second: TableShare
    covariance: float

    @property
    def gap(self) -> float:
        return self.first.estimate - self.second.estimate

    @property
    def se(self) -> float:
        variance = self.first.se**2 + self.second.se**2 - 2.0 * self.covariance
        return math.sqrt(max(variance, 0.0))

    @property
    def correlation(self) -> float:
        scale = self.first.se * self.second.se
        return min(max(self.covariance / scale, -1.0), 1.0) if scale > 0.0 else 0.0

    def parts(self, level: float, together: int) -> tuple[Part, Part, str]:
        """Both estimates with their limits, and the method that joins them."""
        found = [share.interval(level, together) for share in (self.first, self.second)]
        one, other = (
            Part(share.estimate, limits.low, limits.high)
            for share, limits in zip((self.first, self.second), found, strict=True)
        )
        return one, other, "wald" if {limits.method for limits in found} == {"wald"} else "mover"

    def limits(self, level: float, together: int = 1) -> Interval:
        one, other, method = self.parts(level, together)
        return Interval(*difference_limits(one, other, self.correlation), method)

    def difference(self, names: tuple[Any, Any, Any], level: float, together: int) -> GroupDifference:
        """Everything that is said about the pair."""
        shares = (self.first.estimate, self.second.estimate)
        note = "; ".join(note for note in (self.first.note, self.second.note) if note)
        if note:
            return _difference(names, shares, (math.nan,) * 8, "", note)
        found = self.limits(level, together)
        ratio, words = self.ratio(level, together)
        p_value = self.p_value(found.method)
        if math.isnan(p_value):
            words = "; ".join(filter(None, (SAME_REPORTS, words)))
        figures = (self.gap, self.se, found.low, found.high, p_value, *ratio)
        return _difference(names, shares, figures, found.method, words)

    def ratio(self, level: float, together: int) -> tuple[tuple[float, float, float], str]:
        """Give the ratio with its limits; where the reference is not clear of 0 the lower limit alone.

        To give nothing there would leave the bounded ones as a selection, which covers less than it says.
        """
        one, other, _ = self.parts(level, together)
        if not other.high > 0.0:
            return (math.nan, math.nan, math.nan), IMPOSSIBLE
        if not other.low > 0.0:
            return (math.nan, least_ratio(one, other, self.correlation), math.inf), UNCLEAR
        limits = ratio_limits(one, other, self.correlation)
        return (one.estimate / other.estimate, *limits), "" if one.estimate >= 0.0 else NEGATIVE

    def p_value(self, method: str) -> float:
        """Give the level at which the interval of the difference reaches 0: 1 for equal shares."""
        if self.gap == 0.0:
            return 1.0
        if method == "wald":
            return self._normal() if self.se > 0.0 else math.nan

        def clear(log_tail: float) -> float:
            found = self.limits(1.0 - math.exp(log_tail))
            return found.low if self.gap > 0.0 else -found.high

        if clear(math.log(SMALLEST)) > 0.0:
            return min(self._normal(), SMALLEST) if self.se > 0.0 else SMALLEST
        if clear(LARGEST) <= 0.0:
            return 1.0
        return math.exp(float(optimize.brentq(clear, math.log(SMALLEST), LARGEST, xtol=1e-10)))

    def _normal(self) -> float:
        joint, statistic = self.first.joint, abs(self.gap) / self.se
        if joint.design is None:
            return 2.0 * float(stats.norm.sf(statistic))
        return 2.0 * float(stats.t.sf(statistic, joint.design.degrees_of_freedom))


def _difference(
    names: tuple[Any, Any, Any],
    shares: tuple[float, float],
    figures: tuple[float, ...],
    method: str,
    note: str,
) -> GroupDifference:
    fields = GroupDifference.__dataclass_fields__
    return GroupDifference(**dict(zip(fields, (*names, *shares, *figures, method, note), strict=True)))


def _plain(row: Any) -> dict[str, Any]:
    return {
        str(key): (None if isinstance(value, float) and not np.isfinite(value) else value)
        for key, value in row.items()
    }
