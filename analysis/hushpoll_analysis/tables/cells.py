"""The result of a cross-table: cells, margins, conditional shares, and a test, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from hushpoll_client.messages import msg

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.maximum_likelihood import Maximum
from hushpoll_analysis.errors import AnalysisError

from .joint import JointReports
from .many import table_rows
from .shown_cells import Cells
from .within import COLUMNS, TableShare, share_error, share_of, within_group

MOST_CELLS = 1000
"""Cells whose joint covariance is computed."""
FAINT = 2.0
"""A group whose estimated share is below so many of its standard errors is too faint to divide by."""


@dataclass(frozen=True, eq=False)
class CrossTable(Cells):
    """Estimated joint shares of two or more variables, from their joint reports."""

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
        """A note that the constrained estimate is not the maximum; empty when it is."""
        if self.maximum.converged:
            return ""
        return (
            "the constrained estimate did not settle: its log-likelihood may lie up to "
            f"{self.maximum.gap * self.n:.3g} below the maximum, so use the unbiased estimates, or a larger epsilon"
        )

    def vcov(self) -> pd.DataFrame:
        """Return the joint covariance of the cells; its diagonal holds the squares of their standard errors."""
        joint = self.joint
        cells = list(np.ndindex(*joint.estimate.shape))
        if len(cells) > MOST_CELLS:
            raise AnalysisError(
                f"the table has {len(cells):,} cells, and a joint covariance is computed of at most {MOST_CELLS:,}",
                "use the standard errors of to_frame(), or a table of fewer variables",
            )
        influence = np.stack(
            [
                joint.functional([matrix[k] for matrix, k in zip(joint.matrices, cell, strict=True)])
                - joint.estimate[cell]
                for cell in cells
            ]
        )
        slopes = np.stack([joint.mean_slopes(dict(enumerate(cell))) for cell in cells], axis=1)
        index = pd.MultiIndex.from_product(self.labels, names=self.names)
        return pd.DataFrame(joint.covariance(influence, slopes), index=index, columns=index)

    def marginal(self, name: str) -> pd.DataFrame:
        """Return the shares of one variable, with intervals."""
        axis = self.joint.axis(name)
        labels = self.labels[axis]
        shares = [share_of(self.joint, axis, k) for k in range(len(labels))]
        rows = table_rows(shares, self.level, len(labels) if self.simultaneous else 1)
        return pd.DataFrame(rows, columns=COLUMNS, index=pd.Index(labels, name=name)).drop(columns="note")

    def conditional(self, of: str, given: str) -> pd.DataFrame:
        """Return the shares of one variable within each answer of another, with intervals and a note where faint."""
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
        size = joint.mean({group: g})
        notes[g], factor[g] = _usable(joint, group, g, size, label)
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


def _usable(joint: JointReports, group: int, g: int, size: float, label: object) -> tuple[str, float]:
    """Return why a group cannot be used ("" if it can), and the factor that turns n - 1 into n_g - 1."""
    variable = joint.variables[group]
    if not variable.randomized:
        axes = tuple(axis for axis in range(joint.counts.ndim) if axis != group)
        count = float(joint.counts.sum(axis=axes)[g])
        if count < 2 or size <= 0.0:
            words = msg(
                "{name} = {label}: {count:.0f} respondents, too few for an interval",
                name=variable.name,
                label=label,
                count=count,
            )
            return words, 1.0
        if joint.design is None:
            return "", (joint.n - 1) / joint.n * count / (count - 1)
        return "", 1.0
    error = share_error(joint, group, g)
    if size < FAINT * error:
        words = msg(
            "{name} = {label}: the group's estimated share {size:.3f} is not clear of zero (standard error "
            "{error:.3f}), so shares within it cannot be given",
            name=variable.name,
            label=label,
            size=size,
            error=error,
        )
        return words, 1.0
    return "", 1.0
