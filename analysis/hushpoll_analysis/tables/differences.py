"""Differences and ratios of shares between groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.errors import AnalysisError

from .cells import conditional_shares, quantile
from .joint import JointReports

__all__ = ["Comparison", "GroupDifference", "compare_groups"]


@dataclass(frozen=True)
class GroupDifference:
    """One outcome's share in a group against a reference group."""

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

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")


def compare_groups(
    joint: JointReports, options: list[int], reference: object, level: float, simultaneous: bool
) -> Comparison:
    """Compare groups (first variable) on options of the outcome (second variable)."""
    groups, outcome = joint.variables
    if len(groups.labels) < 2:
        raise AnalysisError(f"{groups.name} has one group only; a comparison needs two")
    if reference is None:
        pairs = [(b, a) for a, b in combinations(range(len(groups.labels)), 2)]
    else:
        base = groups.position(reference)
        pairs = [(g, base) for g in range(len(groups.labels)) if g != base]
    together = len(pairs) * len(options) if simultaneous else 1
    z, z_share = quantile(joint, level, together), quantile(joint, level)
    differences, rows = [], []
    for k in options:
        shares, covariance, notes = conditional_shares(joint, 1, k, 0)
        for g, label in enumerate(groups.labels):
            error = math.sqrt(covariance[g, g]) if not notes[g] else math.nan
            half = z_share * error
            rows.append(
                (label, outcome.labels[k], shares[g], error, shares[g] - half, shares[g] + half, notes[g])
            )
        for g, base in pairs:
            note = "; ".join(note for note in (notes[g], notes[base]) if note)
            differences.append(_difference(joint, outcome.labels[k], (g, base), shares, covariance, z, note))
    frame = pd.DataFrame(rows, columns=[groups.name, outcome.name, "estimate", "se", "low", "high", "note"])
    return Comparison(
        outcome.name,
        groups.name,
        joint.n,
        joint.effective_n,
        level,
        simultaneous,
        tuple(differences),
        frame.set_index([groups.name, outcome.name]),
        joint.notes(),
    )


def _difference(
    joint: JointReports,
    option: object,
    pair: tuple[int, int],
    shares: Floats,
    covariance: Floats,
    z: float,
    note: str,
) -> GroupDifference:
    labels = joint.variables[0].labels
    g, base = pair
    share, other = float(shares[g]), float(shares[base])
    if note:
        nan = math.nan
        return GroupDifference(
            option, labels[g], labels[base], share, other, nan, nan, nan, nan, nan, nan, nan, nan, note
        )
    var_share, var_other, between = covariance[g, g], covariance[base, base], covariance[g, base]
    error = math.sqrt(max(float(var_share + var_other - 2.0 * between), 0.0))
    ratio, ratio_low, ratio_high, words = fieller(
        share, other, float(var_share), float(var_other), float(between), z
    )
    return GroupDifference(
        option=option,
        group=labels[g],
        reference=labels[base],
        share=share,
        share_reference=other,
        difference=share - other,
        se=error,
        low=share - other - z * error,
        high=share - other + z * error,
        p_value=_p_value(joint, abs(share - other) / error if error > 0.0 else math.inf),
        ratio=ratio,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        note=words,
    )


def _p_value(joint: JointReports, statistic: float) -> float:
    if joint.design is None:
        return 2.0 * float(stats.norm.sf(statistic))
    return 2.0 * float(stats.t.sf(statistic, joint.design.degrees_of_freedom))


def fieller(
    a: float, b: float, var_a: float, var_b: float, cov: float, z: float
) -> tuple[float, float, float, str]:
    """Give a/b with Fieller's interval: all r with (a - r b)^2 <= z^2 (var_a - 2 r cov + r^2 var_b)."""
    if b * b <= z * z * var_b:
        words = "the reference group's share is not clear of zero, so the ratio has no bounded interval"
        return (a / b if b > 0.0 else math.nan), -math.inf, math.inf, words
    square = b * b - z * z * var_b
    half = a * b - z * z * cov
    free = a * a - z * z * var_a
    root = math.sqrt(max(half * half - square * free, 0.0))
    return a / b, (half - root) / square, (half + root) / square, ""


def _plain(row: Any) -> dict[str, Any]:
    return {
        str(key): (None if isinstance(value, float) and not np.isfinite(value) else value)
        for key, value in row.items()
    }
