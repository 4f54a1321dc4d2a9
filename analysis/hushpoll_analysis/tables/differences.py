"""Differences and ratios of shares between groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import pandas as pd

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimates import Difference
from hushpoll_analysis.result import PlottedResult, as_json
from hushpoll_analysis.sample.columns import Variable
from hushpoll_analysis.tidy import Tidy

from .cells import group_shares
from .joint import JointReports
from .many import table_rows
from .pairs import Pair, PairFigures, pair_figures
from .within import COLUMNS, TableShare

MOST_PAIRS = 500
"""Differences of all pairs that are made without a reference: those of 32 groups."""


DIFFERENCE_COLUMNS = (
    "option",
    "group",
    "reference",
    "share",
    "share_reference",
    "difference",
    "se",
    "low",
    "high",
    "p_value",
    "ratio",
    "ratio_low",
    "ratio_high",
    "interval",
    "note",
)


@dataclass(frozen=True, kw_only=True)
class GroupDifference(Difference):
    """One outcome's share in a group against a reference group; `interval` is the method of all limits."""

    option: Any
    group: Any
    reference: Any
    share: float
    share_reference: float
    p_value: float
    ratio: float
    ratio_low: float
    ratio_high: float
    interval: str
    note: str


@dataclass(frozen=True)
class Comparison(Tidy, PlottedResult):
    """All comparisons asked for, with the shares within each group."""

    words = "difference"
    plotted_column = "difference"
    marks_zero = True

    outcome: str
    by: str
    n: int
    effective_n: float
    level: float
    simultaneous: bool
    differences: tuple[GroupDifference, ...]
    shares: pd.DataFrame
    notes: tuple[str, ...]

    def _title(self) -> str:
        together = ""
        if self.simultaneous:
            together = ", all together"
        return (
            f"{self.outcome} by {self.by}: differences of shares, n = {self.n:,}, "
            f"{100 * self.level:g} % intervals{together}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each option and pair of groups."""
        rows = [vars(difference) for difference in self.differences]
        return pd.DataFrame(rows, columns=list(DIFFERENCE_COLUMNS)).set_index(
            ["option", "group", "reference"]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON values: None stands for what cannot be given, or is unbounded."""
        return {
            "outcome": self.outcome,
            "by": self.by,
            "n": self.n,
            "effective_n": self.effective_n,
            "level": self.level,
            "simultaneous": self.simultaneous,
            "differences": [as_json(vars(difference)) for difference in self.differences],
            "shares": as_json(self.shares.reset_index().to_dict(orient="records")),
            "notes": list(self.notes),
        }

    def _picture(self) -> pd.DataFrame:
        frame = self.to_frame()
        labels = [f"{option}: {group} - {reference}" for option, group, reference in frame.index]
        return frame.set_axis(labels, axis=0)


@dataclass(frozen=True, eq=False)
class Outcome:
    """One answer of which the groups (first variable) are compared: its number in the joint reports, and its label."""

    joint: JointReports
    option: int
    label: Any


def compare_groups(
    name: str, outcomes: Sequence[Outcome], reference: object, level: float, each_level: float, together: int
) -> Comparison:
    """Compare groups on each outcome, with intervals of the level `each`.

    Where all shall hold at once, `together` is the number of outcomes of one joint table; else it is 0.
    """
    shares: list[TableShare] = []
    pairs, names, index, most = [], [], [], 0
    for compared in outcomes:
        groups = compared.joint.variables[0]
        group_pairs = _places(groups, reference)
        most = max(most, len(group_pairs))
        parts, covariance = group_shares(compared.joint, 1, compared.option, 0)
        shares += parts
        index += [(label, compared.label) for label in groups.labels]
        pairs += [Pair(parts[g], parts[base], float(covariance[g, base])) for g, base in group_pairs]
        names += [(compared.label, groups.labels[g], groups.labels[base]) for g, base in group_pairs]
    figures = pair_figures(pairs, each_level, max(together * most, 1))
    joints = list({id(outcome.joint): outcome.joint for outcome in outcomes}.values())
    by = joints[0].variables[0].name
    return Comparison(
        name,
        by,
        n=max(joint.n for joint in joints),
        effective_n=max(joint.effective_n for joint in joints),
        level=level,
        simultaneous=together > 0,
        differences=tuple(map(_difference, names, pairs, figures)),
        shares=_share_table(shares, each_level, index, [by, name]),
        notes=tuple(dict.fromkeys(note for joint in joints for note in joint.notes())),
    )


def _places(groups: Variable, reference: object) -> list[tuple[int, int]]:
    """Return the pairs of groups, each with the one that it is compared with."""
    if len(groups.labels) < 2:
        raise AnalysisError(f"{groups.name} has one group only", "a comparison needs two")
    pairs = len(groups.labels) * (len(groups.labels) - 1) // 2
    if reference is None and pairs > MOST_PAIRS:
        raise AnalysisError(
            f"{groups.name} has {len(groups.labels)} different values, which would make {pairs:,} differences",
            "put values together, for example with pandas.cut, or name a reference",
        )
    if reference is None:
        return [(b, a) for a, b in combinations(range(len(groups.labels)), 2)]
    base = groups.position(reference)
    return [(g, base) for g in range(len(groups.labels)) if g != base]


def _share_table(
    shares: Sequence[TableShare], level: float, index: Sequence[tuple[Any, Any]], names: list[str]
) -> pd.DataFrame:
    rows = table_rows(shares, level)
    named = pd.MultiIndex.from_tuples(index, names=names)
    table = pd.DataFrame(rows, columns=COLUMNS, index=named)
    # Objects: as a column of texts the sentences would forget how they were made.
    table["note"] = pd.Series([row[-1] for row in rows], index=named, dtype=object)
    return table


def _difference(names: tuple[Any, Any, Any], pair: Pair, figures: PairFigures) -> GroupDifference:
    values = (
        *names,
        pair.first.estimate,
        pair.second.estimate,
        *figures.figures,
        figures.method,
        figures.note,
    )
    return GroupDifference(**dict(zip(DIFFERENCE_COLUMNS, values, strict=True)))


def stacked_groups(by: str, level: float, comparisons: Sequence[tuple[str, Any]]) -> Any:
    """Put comparisons of who chose an option (Yes) with who did not below each other, with the option as the group.

    These are shares, or means where the outcome is a number of which only the mean is determined.
    """
    differences = [
        replace(difference, group=option, reference=f"not {option}")
        for option, comparison in comparisons
        for difference in comparison.differences
    ]
    if not isinstance(comparisons[0][1], Comparison):
        means = [replace(comparison.means[1], group=option) for option, comparison in comparisons]
        return replace(comparisons[0][1], level=level, means=tuple(means), differences=tuple(differences))
    tables = []
    for option, comparison in comparisons:
        chosen = comparison.shares[comparison.shares.index.get_level_values(0) == "Yes"]
        answers = chosen.index.get_level_values(1)
        index = pd.MultiIndex.from_arrays([[option] * len(answers), answers], names=[by, comparison.outcome])
        tables.append(chosen.set_axis(index))
    return replace(
        comparisons[0][1],
        by=by,
        n=max(comparison.n for _, comparison in comparisons),
        effective_n=max(comparison.effective_n for _, comparison in comparisons),
        level=level,
        differences=tuple(differences),
        shares=pd.concat(tables),
        notes=tuple(dict.fromkeys(note for _, comparison in comparisons for note in comparison.notes)),
    )
