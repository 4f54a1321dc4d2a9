"""Means of a number within groups, from a weighted, stratified or clustered sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.means import mean_of
from hushpoll_analysis.estimates import Estimate
from hushpoll_analysis.sample.columns import Codes, Mechanisms, Variable, read_variable
from hushpoll_analysis.sample.design_keywords import SampleKeys
from hushpoll_analysis.sample.design_sample import DesignSample, FullSample, design_sample
from hushpoll_analysis.sample.option_columns import with_options

from .means import ExactGroupMeans, MeanComparison, RatioGroupMeans, Within, faint_groups, mean_comparison

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
    sample_of_outcome = design_sample(frame, question.mechanism, question.id, keys, level, rounding)
    values = np.array([float(value) for value in question.answers.values or ()])
    make = _randomized_groups if groups.randomized else _exact_groups

    def within(each_level: float) -> Within:
        return make(replace(sample_of_outcome, level=each_level), groups, codes, values, each_level)

    return mean_comparison(within, groups, level, reference, simultaneous)


def _exact_groups(
    sample: DesignSample, groups: Variable, codes: Codes, values: Floats, level: float
) -> ExactGroupMeans:
    """Return the means of groups that each row names; in the sample of one, the others weigh nothing."""
    design, numbers = sample.design, sample.values(values)
    means: list[Estimate | None] = []
    for g in range(len(groups.labels)):
        chosen = codes == g
        # All people of the group are asked: the fraction sampled of it is that of the whole population.
        among = design.among(chosen, 1.0)
        if not (among.total > 0.0 and among.effective_n > ONE):
            means.append(None)
            continue
        in_group = replace(sample, design=among, whole=FullSample(design, chosen))
        means.append(mean_of(in_group, values, level))

    def correlation(g: int, base: int) -> float:
        both = [mean for mean in (means[g], means[base]) if mean is not None]
        inside = np.stack([codes == g, codes == base], axis=1).astype(np.float64)
        centred = numbers[:, None] - np.array([mean.estimate for mean in both])
        covariance = design.covariance(inside * centred / design.mean(inside))[0, 1]
        return float(np.clip(covariance / (both[0].se * both[1].se), -1.0, 1.0))

    return ExactGroupMeans(groups, means, correlation, design.degrees_of_freedom)


def _randomized_groups(
    sample: DesignSample, groups: Variable, codes: Codes, values: Floats, level: float
) -> RatioGroupMeans:
    # Not made smaller by a finite population: the randomization of the groups would have to be added again.
    design = sample.design.without_population
    if design.n < 2:
        raise AnalysisError(f"a standard error needs at least 2 respondents, got {design.n}")
    numbers = sample.values(values)[:, None]
    members = groups.weights.T[codes]
    slope, extra = np.zeros_like(members), 0.0
    if groups.decoy is not None:
        slope, extra = groups.decoy.slope.T[codes], groups.decoy.variance
    sizes = design.mean(members)
    variances = np.diag(design.covariance(members - sizes)) + design.mean(slope) ** 2 * extra
    errors = np.sqrt(np.maximum(variances, 0.0))
    clear_sizes = np.where(faint_groups(sizes, errors), 1.0, sizes)
    means = design.mean(members * numbers) / clear_sizes
    moved = design.mean(slope * (numbers - means)) / clear_sizes
    covariance = design.covariance(members * (numbers - means) / clear_sizes)
    return RatioGroupMeans(
        groups=groups,
        sizes=sizes,
        size_errors=errors,
        means=means,
        covariance=covariance + np.outer(moved, moved) * extra,
        level=level,
        freedom=design.degrees_of_freedom,
    )
