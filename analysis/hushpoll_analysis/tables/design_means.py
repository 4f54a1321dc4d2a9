"""Means of a number within groups, from a weighted, stratified or clustered sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client.survey import Question
from scipy import stats

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.means import mean_of
from hushpoll_analysis.estimates import Estimate
from hushpoll_analysis.interval import AUTO, quantity_method
from hushpoll_analysis.interval.mover import Mover, difference_limits
from hushpoll_analysis.sample.columns import Codes, Mechanisms, Variable, read_variable
from hushpoll_analysis.sample.design_keywords import SampleKeys
from hushpoll_analysis.sample.design_sample import DesignSample, design_sample
from hushpoll_analysis.sample.option_columns import with_options
from hushpoll_analysis.sample.weighted import Everybody

from .cells import FAINT
from .means import (
    GroupMean,
    GroupMeanDifference,
    MeanComparison,
    faint_group,
    mean_comparison,
    small_group,
)

__all__ = ["compare_design_means"]

ONE = 1.0 + 1e-9
"""The effective size of one respondent."""


def compare_design_means(
    reports: pd.DataFrame,
    mechanisms: Mechanisms,
    question: Question,
    by: str,
    sample: SampleKeys,
    labels: Mapping[str, Sequence[Any]] | None = None,
    level: float = 0.95,
    reference: Any = None,
    simultaneous: bool = False,
) -> MeanComparison:
    r"""Compare the mean of a number between groups under a sample design.

    A group is a domain: its mean is :math:`m_g = \sum w a_g b / \sum w a_g`, with b the unbiased number behind a report
    and a_g 1 inside an exact group and 0 outside, or what a report of a randomized group says of g. The covariance of
    the means is the linearised one of :math:`a_g (b - m_g)/p_g` over all respondents, so that strata and clusters in
    which no respondent is of the group count. An exact group's interval is that of a mean under this design, at its
    effective size, a difference's is built from both with their correlation (MOVER); with randomized groups they are t
    intervals.

    References
    ----------
    Binder (1983), Int. Stat. Rev. 51, 279-292; Zou, Donner (2008), Statist. Med. 27, 1693-1702.
    """
    frame, keys = sample.in_frame(reports)
    frame, channels, named = with_options(frame, mechanisms, [by, question.id], labels)
    groups, codes = read_variable(frame, by, channels, (named or {}).get(by))
    rounding = float(question.answers.spacing)
    sample_of_outcome = design_sample(
        frame, question.mechanism, question.id, SampleKeys(**keys), level, rounding
    )
    values = np.array([float(value) for value in question.answers.values or ()])
    kind = _RandomizedGroups if groups.randomized else _ExactGroups

    def within(each_level: float) -> _RandomizedGroups | _ExactGroups:
        return kind(replace(sample_of_outcome, level=each_level), groups, codes, values)

    return mean_comparison(within, groups, level, reference, simultaneous)


class _ExactGroups:
    """Groups that each row names: each is a sample by itself, in which the others weigh nothing."""

    def __init__(self, sample: DesignSample, groups: Variable, codes: Codes, values: Floats) -> None:
        self.groups, self.design = groups, sample.reports.design
        self.numbers, self.inside = sample.reports.values(values), codes
        self.found: list[Estimate | None] = []
        for g in range(len(groups.labels)):
            chosen = codes == g
            # All people of the group are asked: the fraction sampled of it is that of everybody.
            among = self.design.among(chosen, 1.0)
            if not (among.total > 0.0 and among.effective_n > ONE):
                self.found.append(None)
                continue
            reports = replace(sample.reports, design=among, whole=Everybody(self.design, chosen))
            group_sample = replace(sample, reports=reports)
            self.found.append(
                group_sample.plainly(mean_of(group_sample, values, sample.level, quantity_method(AUTO)))
            )

    def mean(self, g: int) -> GroupMean:
        """Return the mean of one group."""
        group_mean = self.found[g]
        if group_mean is None:
            return small_group(self.groups, g)
        return GroupMean.of(self.groups.labels[g], group_mean)

    def difference(self, g: int, base: int) -> GroupMeanDifference | None:
        """Return the mean of one group minus that of another."""
        group_mean, other = self.found[g], self.found[base]
        if group_mean is None or other is None:
            return None
        correlation = self._correlation(g, base, group_mean, other)
        both = group_mean.se**2 + other.se**2 - 2.0 * correlation * group_mean.se * other.se
        low, high = difference_limits(group_mean, other, correlation)
        gap, se = group_mean.estimate - other.estimate, math.sqrt(max(both, 0.0))
        return GroupMeanDifference(
            group=self.groups.labels[g],
            reference=self.groups.labels[base],
            difference=gap,
            se=se,
            low=low,
            high=high,
            p_value=_p(gap, se, self.design.degrees_of_freedom),
            interval=Mover.name,
        )

    def _correlation(self, g: int, base: int, group_mean: Estimate, other: Estimate) -> float:
        """Return the correlation of two groups' means: people of both are in the same clusters and strata."""
        if not (group_mean.se > 0.0 and other.se > 0.0):
            return 0.0
        design = self.design
        inside = np.stack([self.inside == g, self.inside == base], axis=1).astype(np.float64)
        centred = self.numbers[:, None] - np.array([group_mean.estimate, other.estimate])
        covariance = design.covariance(inside * centred / design.mean(inside))[0, 1]
        return float(np.clip(covariance / (group_mean.se * other.se), -1.0, 1.0))


class _RandomizedGroups:
    """Groups that are estimated too: means are ratios, with one covariance matrix."""

    def __init__(self, sample: DesignSample, groups: Variable, codes: Codes, values: Floats) -> None:
        # Not made smaller by a finite population: the randomization of the groups would have to be added again.
        design = sample.reports.design.without_population
        if design.n < 2:
            raise AnalysisError(f"a standard error needs at least 2 respondents, got {design.n}")
        self.groups, self.freedom = groups, design.degrees_of_freedom
        self.t = float(stats.t.isf((1.0 - sample.level) / 2.0, self.freedom))
        numbers = sample.reports.values(values)[:, None]
        members = groups.weights.T[codes]
        slope, extra = np.zeros_like(members), 0.0
        if groups.decoy is not None:
            slope, extra = groups.decoy.slope.T[codes], groups.decoy.variance
        self.sizes = design.mean(members)
        variances = np.diag(design.covariance(members - self.sizes)) + design.mean(slope) ** 2 * extra
        self.spread = np.sqrt(np.maximum(variances, 0.0))
        self.faint = self.sizes < FAINT * self.spread
        sizes = np.where(self.faint, 1.0, self.sizes)
        self.means = design.mean(members * numbers) / sizes
        moved = design.mean(slope * (numbers - self.means)) / sizes
        self.covariance = design.covariance(members * (numbers - self.means) / sizes)
        self.covariance += np.outer(moved, moved) * extra

    def mean(self, g: int) -> GroupMean:
        """Return the mean of one group."""
        if self.faint[g]:
            return faint_group(self.groups, g, float(self.sizes[g]), float(self.spread[g]))
        value, se = float(self.means[g]), math.sqrt(max(float(self.covariance[g, g]), 0.0))
        return GroupMean.symmetric(self.groups.labels[g], value, se, self.t * se, "t")

    def difference(self, g: int, base: int) -> GroupMeanDifference | None:
        """Return the mean of one group minus that of another."""
        if self.faint[g] or self.faint[base]:
            return None
        gap = float(self.means[g] - self.means[base])
        both = self.covariance[g, g] + self.covariance[base, base] - 2.0 * self.covariance[g, base]
        se = math.sqrt(max(float(both), 0.0))
        return GroupMeanDifference(
            group=self.groups.labels[g],
            reference=self.groups.labels[base],
            difference=gap,
            se=se,
            low=gap - self.t * se,
            high=gap + self.t * se,
            p_value=_p(gap, se, self.freedom),
            interval="t",
        )


def _p(difference: float, se: float, freedom: int) -> float:
    if se > 0.0:
        return 2.0 * float(stats.t.sf(abs(difference) / se, freedom))
    return math.nan
