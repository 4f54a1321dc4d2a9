"""What every table of estimated cells has in common: how it is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.arguments import chosen
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.result import PlottedResult
from hushpoll_analysis.tidy import Tidy

from .independence import IndependenceTest
from .within import shown_limits


@dataclass(frozen=True, eq=False)
class Cells(Tidy, PlottedResult, ABC):
    """Estimated shares of cells, an axis for each variable.

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
        The method of low and high: "score"; "clopper-pearson" for cells held together; "mover" with a counted decoy;
        "wald" for very large tables.
    test
        Test of independence; None where it cannot be made, and `untested` then says why.
    remarks
        What to know about the standard errors; `notes` has these and what to know about the constrained estimate.
    """

    words = "estimated share"
    summary_columns = ("reported", "estimate", "se", "low", "high")

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
    untested: str = field(default="", kw_only=True)

    @property
    @abstractmethod
    def constrained(self) -> Floats:
        """Maximum likelihood shares, none below zero."""

    @property
    @abstractmethod
    def unsettled(self) -> str:
        """A note that the constrained estimate is not the maximum; empty when it is."""

    @abstractmethod
    def marginal(self, name: str) -> pd.DataFrame:
        """Return the shares of one variable, with intervals."""

    @abstractmethod
    def conditional(self, of: str, given: str) -> pd.DataFrame:
        """Return the shares of one variable within each answer of another, with intervals and a note where faint."""

    def _title(self) -> str:
        lines = [
            f"{' by '.join(self.names)}: joint shares, n = {self.n:,}, {100 * self.level:g} % {self.interval} intervals"
        ]
        if self.test is not None:
            df = ", ".join(f"{degrees:g}" for degrees in self.test.df)
            lines.append(
                f"Independence: {self.test.method} {self.test.statistic:.3f}, df = {df}, p = {self.test.p_value:.4f}"
            )
        return "\n".join(lines)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the numbers do not say by themselves."""
        untested = ""
        if self.untested:
            untested = f"no test of independence: {self.untested}"
        return (*self.remarks, *(note for note in (untested, self.unsettled) if note))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each cell; `shown` columns are within [0, 1].

        The reported count is given only where reports and answers are of the same number.
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
        """Return one quantity as a table: the first variable down, the others across."""
        frame = self.to_frame()
        chosen(what, "the quantity", list(frame.columns))
        across = list(self.names[1:])
        wide = frame[what].unstack(across)
        # unstack sorts; the survey's own order of options is the one people know.
        columns = pd.MultiIndex.from_product(self.labels[1:], names=across)
        wide = wide.reindex(index=pd.Index(self.labels[0], name=self.names[0]))
        if len(across) > 1:
            return wide.reindex(columns=columns)
        return wide.reindex(columns=pd.Index(self.labels[1], name=across[0]))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON values."""
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
