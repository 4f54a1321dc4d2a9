"""One question of a sample in which people went through different designs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Channel
from hushpoll_client.channel import SCALE
from scipy import stats

from hushpoll_analysis.channel.base import ChannelView
from hushpoll_analysis.channel.decoy import EstimatedDecoy
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.channel.table import TableView
from hushpoll_analysis.counts import Counts, answer_names, read_counts, words_of
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import report_codes
from hushpoll_analysis.sample.row_designs import Designs, RowDesigns, is_column, read_designs
from hushpoll_analysis.sample.row_order import in_row_order

RESPONDENTS, PRECISION = "respondents", "precision"
REPORTS = "reports"  # what the column is called in a message where the caller gave no name


@dataclass(frozen=True, eq=False)
class Mixed:
    """Reports of several designs, numbered through, with the channel that they make together."""

    names: tuple[str, ...]
    designs: RowDesigns
    stacked: StackedView
    counts: Counts
    pooling: str

    @classmethod
    def of(
        cls, counts: Any, names: Any, designs: Designs, pooling: str, options: Sequence[str] | None = None
    ) -> Mixed:
        """Read one report a row with the names of their designs, or ``{name: counts}``."""
        if pooling not in (RESPONDENTS, PRECISION):
            raise AnalysisError(f"pooling {pooling!r} is not one of {RESPONDENTS}, {PRECISION}")
        if isinstance(counts, Mapping):
            if names is not None:
                raise AnalysisError(
                    "counts for each design need no column of names", "leave the second argument out"
                )
            row_designs, report_counts = _from_counts(counts, designs, options)
        else:
            row_designs, report_counts = _from_rows(counts, names, designs)
        return cls(
            tuple(map(str, row_designs.names)), row_designs, row_designs.view(REPORTS), report_counts, pooling
        )

    @property
    def view(self) -> ChannelView:
        """What the estimate inverts."""
        if self.pooling == RESPONDENTS:
            return self.stacked
        return TableView(self._table)

    @property
    def _table(self) -> npt.NDArray[np.float64]:
        return self.stacked.backward(np.eye(self.stacked.outcomes)).T

    @property
    def channel(self) -> Channel:
        """The channel of a respondent whose design is not known beforehand, in integers."""
        return Channel.from_weights([[round(SCALE * value) for value in row] for row in self._table.tolist()])

    @property
    def decoy(self) -> EstimatedDecoy | None:
        """The decoy whose share was counted."""
        return self.designs.decoy(REPORTS)

    @property
    def epsilon(self) -> float:
        """The largest epsilon of the designs: each person went through one of them."""
        return max(math.inf if design is None else _epsilon(design) for design in self.designs.designs)

    @property
    def epsilon_note(self) -> str:
        """Whose epsilon it is."""
        if any(design is None for design in self.designs.designs):
            return "unbounded: some people were asked directly"
        return "the largest of the designs"

    @property
    def notes(self) -> tuple[str, ...]:
        """How the designs were put together, and whether they agree."""
        how = "The designs are weighted by their precision, which takes their people to be alike."
        if self.pooling == RESPONDENTS:
            how = "Every respondent counts alike, whatever the design."
        test = agreement(self.stacked, self.counts)
        if test is None:
            return (how,)
        agree = (
            f"Test that all designs have the same true shares: chi-square {test[0]:.3g} on {test[1]} degrees of "
            f"freedom, p = {test[2]:.2g}."
        )
        return how, agree


def _epsilon(design: Any) -> float:
    return float(design.epsilon)


def _from_counts(
    counts: Mapping[Any, Any], designs: Designs, options: Sequence[str] | None
) -> tuple[RowDesigns, Counts]:
    """{name: counts} of each design; counts by report code, by the answer's name or by the design's own words."""
    sizes = {}
    for name, value in counts.items():
        try:
            sizes[name] = int(
                np.sum(list(value.values()) if isinstance(value, Mapping) else np.asarray(value))
            )
        except (TypeError, ValueError):
            raise AnalysisError(
                f"counts of {name!r}: expected whole numbers, one per report, got {value!r}"
            ) from None
        if sizes[name] < 0:
            raise AnalysisError(f"counts of {name!r}: a count is negative", "a count is 0 or more")
    keys = pd.Series(list(sizes), dtype=object)
    labels = keys.iloc[np.repeat(np.arange(len(sizes)), list(sizes.values()))]
    if not len(labels):
        raise AnalysisError("counts: there are no reports", "at least 2 are needed")
    row_designs = read_designs(labels, designs, len(labels), REPORTS)
    view = row_designs.view(REPORTS)
    parts = [
        read_counts(
            counts[name], block, labels=options or answer_names(block.options), words=words_of(designs[name])
        )
        for name, block in zip(row_designs.names, view.blocks, strict=True)
    ]
    return row_designs, np.concatenate(parts)


def _from_rows(reports: Any, names: Any, designs: Designs) -> tuple[RowDesigns, Counts]:
    if names is None or not is_column(names) or isinstance(names, str):
        raise AnalysisError(
            "designs= is given, so tell which row used which: estimate(reports, names, designs=...), or counts for "
            "each, estimate({name: counts}, designs=...)"
        )
    column = pd.Series(np.asarray(reports), name=REPORTS)
    row_designs = read_designs(
        in_row_order(names, reports, "names of designs"), designs, len(column), REPORTS
    )
    view = row_designs.view(REPORTS)
    counts = [
        np.bincount(report_codes(column[row_designs.rows == g], block.outcomes), minlength=block.outcomes)
        for g, block in enumerate(view.blocks)
    ]
    if len(column) < 2:
        raise AnalysisError(f"{len(column)} reports have no standard error", "at least 2 are needed")
    return row_designs, np.concatenate(counts).astype(np.int64)


def agreement(view: StackedView, counts: Counts) -> tuple[float, int, float] | None:
    """Test that the true shares are the same in all designs: chi-square, degrees of freedom, p-value.

    With h_g and V_g the unbiased shares of design g (without the last) and their covariance, and h the mean weighted by
    V_g^-1, the sum of (h_g - h)' V_g^-1 (h_g - h) is chi-square with (G - 1)(K - 1) degrees of freedom.
    """
    shares, weights = [], []
    for number, block in enumerate(view.blocks):
        block_counts = view.part(counts, number).astype(np.float64)
        n = block_counts.sum()
        if n < 2:
            return None
        inverse = block.shares(np.eye(block.outcomes))[:, :-1]
        mean = block_counts @ inverse / n
        centred = inverse - mean
        covariance = (centred * (block_counts / n)[:, None]).T @ centred / (n - 1)
        if np.linalg.matrix_rank(covariance) < len(covariance):
            return None  # equal reports only: there is no variance to compare by
        shares.append(mean)
        weights.append(np.linalg.inv(covariance))
    if len(shares) < 2:
        return None
    middle = np.linalg.solve(sum(weights), sum(w @ h for w, h in zip(weights, shares, strict=True)))
    statistic = float(sum((h - middle) @ w @ (h - middle) for w, h in zip(weights, shares, strict=True)))
    df = (len(shares) - 1) * (view.options - 1)
    return statistic, df, float(stats.chi2.sf(statistic, df))
