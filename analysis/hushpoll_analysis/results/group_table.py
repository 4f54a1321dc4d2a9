"""One question by groups, as data: shares, cells, differences and means of each group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hushpoll_client.messages import Message, constant, msg, sentence
from hushpoll_client.survey import Question
from hushpoll_client.survey.group import FIELD

from hushpoll_analysis.estimates import IntervalEstimate
from hushpoll_analysis.result import as_json
from hushpoll_analysis.tables.differences import Comparison, GroupDifference
from hushpoll_analysis.tables.means import GroupMean, GroupMeanDifference, MeanComparison
from hushpoll_analysis.tables.shown_cells import Cells

from .numbers import unit_of


@dataclass(frozen=True, kw_only=True)
class GroupShare(IntervalEstimate):
    """The share of one option within one group; `note` says why there is none.

    `shown_low` and `shown_high` are the limits within [0, 1], the likelihood interval's where all of it lies outside.
    """

    group: str
    option: str
    shown_low: float
    shown_high: float
    interval: str
    note: str

    @property
    def shown_estimate(self) -> float:
        """The estimate, cut to [0, 1]; files have it next to the uncut one."""
        return min(1.0, max(0.0, self.estimate))

    @property
    def limits(self) -> tuple[float, float]:
        """The limits, uncut; those within [0, 1] where the others are unbounded."""
        bounded = math.isfinite(self.low) and math.isfinite(self.high)
        if bounded:
            return (self.low, self.high)
        return (self.shown_low, self.shown_high)


@dataclass(frozen=True)
class GroupTable:
    """One question by groups."""

    question: Question
    by: str
    by_text: str
    randomized: bool
    shares: tuple[GroupShare, ...] = ()
    cross: Cells | None = None
    comparison: Comparison | None = None
    notes: tuple[str, ...] = ()
    numbers: MeanComparison | None = None
    upper_half: MeanComparison | None = None
    """The share of the upper half of a scale, such as "4 or more" of five, where the designer chose it."""

    @property
    def upper_option(self) -> str:
        """The lowest answer of the upper half of a scale."""
        options = self.question.options
        return options[len(options) - len(options) // 2]

    @property
    def means(self) -> tuple[GroupMean, ...]:
        """The mean within each group, where answers are numbers."""
        if self.numbers is None:
            return ()
        return self.numbers.means

    @property
    def shown_means(self) -> tuple[GroupMean, ...]:
        """The means that can be given."""
        return tuple(mean for mean in self.means if not math.isnan(mean.estimate))

    @property
    def mean_differences(self) -> tuple[GroupMeanDifference, ...]:
        """The differences of means from the first group."""
        if self.numbers is None:
            return ()
        return self.numbers.differences

    @property
    def unit(self) -> str:
        """What the numbers are counted in."""
        return unit_of(self.question)

    @property
    def by_link(self) -> bool:
        """Whether the groups are those of the survey's links."""
        return self.by == FIELD and isinstance(self.by_text, Message)

    @property
    def by_name(self) -> str:
        """What the groups are called next to the ids of questions."""
        if self.by_link:
            return msg("group")
        return self.by

    @property
    def id(self) -> str:
        """The question's id."""
        return self.question.id

    @property
    def differences(self) -> tuple[GroupDifference, ...]:
        """The differences from the first group."""
        if self.comparison is None:
            return ()
        return self.comparison.differences

    @property
    def told_differences(self) -> tuple[GroupDifference, ...]:
        """Those of the differences that can be given."""
        return tuple(difference for difference in self.differences if not math.isnan(difference.difference))

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups in order."""
        return tuple(
            dict.fromkeys([share.group for share in self.shares] + [mean.group for mean in self.means])
        )

    @property
    def options(self) -> tuple[str, ...]:
        """The options in order."""
        return tuple(dict.fromkeys(share.option for share in self.shares))

    def of_option(self, option: str) -> tuple[GroupShare, ...]:
        """Return the shares of one option, group by group."""
        return tuple(share for share in self.shares if share.option == option)

    @property
    def level(self) -> float:
        """The confidence level of the differences."""
        source = self.comparison or self.numbers
        if source is None:
            return 0.95
        return source.level

    @property
    def is_supported(self) -> bool:
        """Whether the test across all groups supports a difference; also where there is no such test."""
        if self.cross is None or self.cross.test is None:
            return True
        return self.cross.test.p_value < 1.0 - self.level

    @property
    def is_follow_up(self) -> bool:
        """Whether some people were not asked this question; shares by groups are among all respondents."""
        return self.question.after is not None and bool(self.shares)

    @property
    def has_outside(self) -> bool:
        """Whether some share lies outside 0 to 100 %."""
        return any(share.outside for share in self.shares)

    @property
    def rounds_apart(self) -> bool:
        """Whether a difference, as it is rounded, is not that of the rounded shares next to it."""
        shares = {(share.option, share.group): share.estimate for share in self.shares}
        return any(
            _tenths(gap.difference)
            != _tenths(shares[gap.option, gap.group]) - _tenths(shares[gap.option, gap.reference])
            for gap in self.told_differences
        )

    @property
    def test(self) -> str:
        """The test of independence in one line, or why there is none."""
        if self.cross is None:
            return ""
        test = self.cross.test
        if test is None and self.cross.untested:
            return msg("not tested: {reason}.", reason=constant(self.cross.untested))
        if test is None:
            return ""
        rare = test.p_value < 1e-4
        values: dict[str, Any] = {
            "method": test.method,
            "statistic": test.statistic,
            "p_value": msg("p < {least:.4f}", least=1e-4)
            if rare
            else msg("p = {value:.4f}", value=test.p_value),
            "note": constant(test.note),
            "df": test.df[0],
        }
        if len(test.df) == 1:
            return msg("{method} χ² = {statistic:.2f}, df = {df:g}, {p_value} ({note}).", **values)
        return msg(
            "{method} χ² = {statistic:.2f}, df = {df:g}, {second:g}, {p_value} ({note}).",
            second=test.df[1],
            **values,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready data; null where a number cannot be given."""
        cross = None
        if self.cross is not None:
            cross = self.cross.to_dict()
        return {
            "question": self.id,
            "by": self.by,
            "shares": [as_json(vars(share)) for share in self.shares],
            "independence": None if cross is None else cross["independence"],
            "cells": [] if cross is None else [as_json(cell) for cell in cross["cells"]],
            "differences": [as_json(vars(difference)) for difference in self.differences],
            **self._means_to_dict(),
            "notes": [*self.notes, *([] if self.cross is None else sentences([self.cross.unsettled]))],
        }

    def _means_to_dict(self) -> dict[str, Any]:
        if self.numbers is None:
            return {}
        return {
            "means": [as_json(vars(mean)) for mean in self.means],
            "mean_differences": [as_json(vars(difference)) for difference in self.mean_differences],
            **self._upper_half_to_dict(),
        }

    def _upper_half_to_dict(self) -> dict[str, Any]:
        if self.upper_half is None:
            return {}
        return {
            "upper_half": {
                "option": self.upper_option,
                "shares": [as_json(vars(share)) for share in self.upper_half.means],
                "differences": [as_json(vars(difference)) for difference in self.upper_half.differences],
            }
        }


def _tenths(share: float) -> int:
    """Return how many tenths of a percentage point a share is written with."""
    return round(10 * float(f"{100 * share:.1f}"))


def sentences(notes: list[str]) -> list[str]:
    """Make a sentence of each note that says anything."""
    return [sentence(note) for note in notes if note]
