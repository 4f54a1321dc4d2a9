"""The result of a cross-table: cells, margins, conditional shares, and a test, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.whiskers import draw_whiskers
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.shares.constrained import Maximum

from .independence import IndependenceTest
from .joint import JointReports
from .within import COLUMNS, TableShare, share_of, shown_limits, table_rows, within_group

__all__ = ["FAINT", "CrossTable", "conditional_shares", "group_shares"]

FAINT = 2.0
"""A group whose estimated share is below so many of its standard errors is too faint to divide by."""


@dataclass(frozen=True, eq=False)
class CrossTable:
    """Estimated joint shares of two or more variables.

    Attributes
    ----------
    names, labels
        The variables, and the labels of each one's true answers.
    counts
        How often each joint report came in (reported, not true).
    estimate, se, low, high
        Unbiased share of each cell, its standard error (n - 1) and its interval; unclipped, so a cell may be below zero
        by chance.
    interval
        The method of low and high: "score"; "clopper-pearson" for cells held together; "mover" beside a counted decoy;
        "wald" for very large tables.
    test
        Test of independence; None where it cannot be made.
    remarks
        What to know about the standard errors; `notes` has these and what to know about the constrained estimate.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[Any, ...], ...]
    n: int
    effective_n: float
    level: float
    simultaneous: bool
    counts: Floats = field(repr=False)
    estimate: Floats = field(repr=False)
    se: Floats = field(repr=False)
    low: Floats = field(repr=False)
    high: Floats = field(repr=False)
    interval: str
    test: IndependenceTest | None
    remarks: tuple[str, ...]
    joint: JointReports = field(repr=False)

    @cached_property
    def maximum(self) -> Maximum:
        """The search for the largest likelihood on the simplex, made when first asked for."""
        return self.joint.constrained()

    @property
    def constrained(self) -> Floats:
        """Maximum likelihood shares on the simplex."""
        return self.maximum.shares

    @property
    def unsettled(self) -> str:
        """Say that the constrained estimate is not the maximum; empty when it is."""
        if self.maximum.converged:
            return ""
        return (
            "the constrained estimate did not settle: its log-likelihood may lie up to "
            f"{self.maximum.gap * self.n:.3g} below the maximum, so use the unbiased estimates, or a larger epsilon"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers do not say by themselves."""
        return (*self.remarks, self.unsettled) if self.unsettled else self.remarks

    def to_frame(self) -> pd.DataFrame:
        """Give one row for each cell; `shown` columns are within [0, 1].

        The reported count stands beside a cell only where reports and answers are of the same number.
        """
        index = pd.MultiIndex.from_product(self.labels, names=self.names)
        frame = pd.DataFrame(
            {
                "estimate": self.estimate.reshape(-1),
                "se": self.se.reshape(-1),
                "low": self.low.reshape(-1),
                "high": self.high.reshape(-1),
                "constrained": self.constrained.reshape(-1),
            },
            index=index,
        )
        if self.counts.shape == self.estimate.shape:
            frame.insert(0, "reported", self.counts.reshape(-1).astype(np.int64))
        frame["shown_estimate"] = frame["estimate"].clip(0.0, 1.0)
        frame["shown_low"], frame["shown_high"] = shown_limits(self.estimate, self.low, self.high)
        return frame

    def table(self, what: str = "estimate") -> pd.DataFrame:
        """Give one quantity as a table: the first variable down, the others across."""
        frame = self.to_frame()
        if what not in frame.columns:
            raise AnalysisError(f"there is no quantity {what!r}", f"choose one of {', '.join(frame.columns)}")
        across = list(self.names[1:])
        wide = frame[what].unstack(across)
        # unstack sorts; the survey's own order of options is the one people know.
        columns = pd.MultiIndex.from_product(self.labels[1:], names=across)
        wide = wide.reindex(index=pd.Index(self.labels[0], name=self.names[0]))
        if len(across) > 1:
            return wide.reindex(columns=columns)
        return wide.reindex(columns=pd.Index(self.labels[1], name=across[0]))

    def marginal(self, name: str) -> pd.DataFrame:
        """Give the shares of one variable, with intervals."""
        axis = self.joint.axis(name)
        labels = self.labels[axis]
        shares = [share_of(self.joint, axis, k) for k in range(len(labels))]
        rows = table_rows(shares, self.level, len(labels) if self.simultaneous else 1)
        return pd.DataFrame(rows, columns=COLUMNS, index=pd.Index(labels, name=name)).drop(columns="note")

    def conditional(self, of: str, given: str) -> pd.DataFrame:
        """Give the shares of one variable within each answer of another, with intervals and a note where faint."""
        first, second = self.joint.axis(given), self.joint.axis(of)
        if first == second:
            raise AnalysisError(f"{of!r} cannot be both the outcome and the group", "name two variables")
        pairs = [(group, label) for label in self.labels[second] for group in self.labels[first]]
        shares = [
            share
            for option in range(len(self.labels[second]))
            for share in group_shares(self.joint, second, option, first)[0]
        ]
        rows = table_rows(shares, self.level, len(shares) if self.simultaneous else 1)
        index = pd.MultiIndex.from_tuples(pairs, names=[given, of])
        frame = pd.DataFrame(rows, columns=COLUMNS, index=index)
        return frame.reindex(
            pd.MultiIndex.from_product([self.labels[first], self.labels[second]], names=index.names)
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the table as JSON values."""
        test = None
        if self.test is not None:
            test = {**vars(self.test), "df": list(self.test.df)}
        return {
            "names": list(self.names),
            "labels": [list(labels) for labels in self.labels],
            "n": self.n,
            "effective_n": self.effective_n,
            "level": self.level,
            "simultaneous": self.simultaneous,
            "interval": self.interval,
            "cells": self.to_frame().reset_index().to_dict(orient="records"),
            "independence": test,
            "notes": list(self.notes),
        }

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        frame = self.to_frame()
        limits = (frame["shown_estimate"], frame["shown_low"], frame["shown_high"])
        return draw_whiskers(list(frame.index), *limits, f"estimated share, {self.level:.0%} interval", axes)

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")


def group_shares(
    joint: JointReports, outcome: int, option: int, group: int
) -> tuple[list[TableShare], Floats]:
    """Share of one option within each group, and the covariance matrix of these shares."""
    shares, covariance, notes = conditional_shares(joint, outcome, option, group)
    parts = [
        within_group(joint, (group, g), outcome, option, (float(share), float(covariance[g, g])), notes[g])
        for g, share in enumerate(shares)
    ]
    return parts, covariance


def conditional_shares(
    joint: JointReports, outcome: int, option: int, group: int
) -> tuple[Floats, Floats, Sequence[str]]:
    r"""Share of one option within each group, their covariance matrix, and a note where a group is too faint.

    Linearised: with the ratio R_g = p_{gk} / p_g the influence of a respondent is b_g(z) (b_k(z) - R_g) / p_g. Groups
    of an exact column count as strata without a sample design, so that a group's variance has n_g - 1.
    """
    labels = joint.variables[group].labels
    shares = np.full(len(labels), np.nan)
    influence = np.zeros((len(labels), *joint.frequencies.shape))
    slopes = np.zeros((len(joint.decoys), len(labels)))
    factor = np.ones(len(labels))
    notes = [""] * len(labels)
    for g, label in enumerate(labels):
        whole = share_of(joint, group, g)
        size = whole.estimate
        notes[g], factor[g] = _usable(joint, group, g, size, whole.se, label)
        if notes[g]:
            continue
        both = {group: g, outcome: option}
        shares[g] = joint.mean(both) / size
        rows: list[Floats | None] = [None] * joint.counts.ndim
        rows[group] = joint.matrices[group][g]
        member = joint.functional(rows)
        rows[outcome] = joint.matrices[outcome][option]
        influence[g] = (joint.functional(rows) - shares[g] * member) / size
        slopes[:, g] = (joint.mean_slopes(both) - shares[g] * joint.mean_slopes({group: g})) / size
    root = np.sqrt(factor)
    covariance = joint.covariance(influence * root.reshape(-1, *[1] * joint.counts.ndim), slopes)
    faint = np.isnan(shares)
    covariance[faint, :] = np.nan
    covariance[:, faint] = np.nan
    return shares, covariance, notes


def _usable(
    joint: JointReports, group: int, g: int, size: float, error: float, label: object
) -> tuple[str, float]:
    """Say why a group cannot be used ("" if it can), and the factor that turns n - 1 into n_g - 1."""
    variable = joint.variables[group]
    if not variable.randomized:
        others = tuple(axis for axis in range(joint.counts.ndim) if axis != group)
        count = float(joint.counts.sum(axis=others)[g])
        if count < 2 or size <= 0.0:
            return f"{variable.name} = {label}: {count:.0f} respondents, too few for an interval", 1.0
        if joint.design is None:
            return "", (joint.n - 1) / joint.n * count / (count - 1)
        return "", 1.0
    if size < FAINT * error:
        words = (
            f"{variable.name} = {label}: the group's estimated share {size:.3f} is not clear of zero "
            f"(standard error {error:.3f}), so shares within it cannot be given"
        )
        return words, 1.0
    return "", 1.0
