"""Means of answers that are numbers, and the difference of two of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from hushpoll_analysis.arguments import number
from hushpoll_analysis.counts import check_level, finite_numbers, refuse_constant
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.estimates import Difference, Estimate, linear_estimate
from hushpoll_analysis.interval import AUTO, Resampling, interval_method, joint_method
from hushpoll_analysis.interval.mover import difference_limits
from hushpoll_analysis.result import PlottedResult
from hushpoll_analysis.sample.sample import Sample, read_sample

if TYPE_CHECKING:
    from hushpoll_client import Channel
    from hushpoll_client.mechanism import Mechanism


@dataclass(frozen=True, kw_only=True)
class MeanDifference(Difference, PlottedResult):
    """The mean of one group minus that of another."""

    words = "difference of the means"
    plotted_column = "difference"

    interval: str


def mean(
    counts: npt.ArrayLike | Mapping[Any, int],
    mechanism: Channel | Mechanism,
    values: npt.ArrayLike,
    level: float = 0.95,
    interval: str = AUTO,
    rounding: float = 0.0,
    replicates: int = 2000,
    seed: int = 1,
) -> Estimate:
    """Estimate the mean of answers that are numbers.

    The mean is v.h, so b.f with C b = v is unbiased, with variance (sum b_z^2 f_z - (b.f)^2)/(n - 1). Where answers
    were first rounded at random to points `rounding` apart, so that each keeps its mean, that variance contains the
    rounding too.

    Parameters
    ----------
    counts, mechanism, level, interval, replicates, seed
        As for `estimate`.
    values : array_like
        The number v that each true answer stands for.
    rounding : float
        How far apart the points are that answers were rounded to at random; 0 where they were not.

    Returns
    -------
    Estimate
        `se_privacy` is what randomization and rounding add for these very respondents. It is an upper bound where
        answers were rounded (at most rounding^2/4 each) and where the channel does not determine it (a one-bit report:
        the largest Var(b_z | x) stands in).

    References
    ----------
    Duchi, Jordan, Wainwright (2018), JASA 113, 182-201.

    Examples
    --------
    >>> from hushpoll_client import mechanisms
    >>> round(mean([620, 500, 470, 410], mechanisms.krr(options=4, epsilon=1), [1, 2, 3, 4]).estimate, 3)
    1.951
    """
    sample = read_sample(counts, mechanism)
    return mean_of(sample, values, level, interval, rounding, Resampling(replicates, seed))


def mean_of(
    sample: Sample,
    values: npt.ArrayLike,
    level: float,
    interval: str = AUTO,
    rounding: float = 0.0,
    resampling: Resampling = Resampling(),  # noqa: B008  (frozen)
) -> Estimate:
    """Estimate the mean from reports that have been read."""
    check_level(level)
    interval = sample.method_name(interval)
    interval_method(interval)
    numbers = finite_numbers(values, "values")
    if numbers.size != sample.view.options:
        raise AnalysisError(
            f"values: {numbers.size} given, but this channel has {sample.view.options} true answers",
            "give one number for each, in order",
        )
    refuse_constant(numbers, "values")
    number(rounding, "rounding", 0.0)
    try:
        quantity = sample.quantity(numbers)
    except NotIdentifiedError as error:
        raise NotIdentifiedError(f"mean: {error.problem}", "choose a mechanism made for the mean") from None
    estimate = linear_estimate(quantity, "mean", None, interval, level, resampling)
    if not rounding:
        return estimate
    return replace(estimate, se_privacy=math.hypot(estimate.se_privacy, sample.rounding_error(rounding)))


def privacy_is_bound(sample: Sample, values: npt.ArrayLike, rounding: float = 0.0) -> bool:
    """Return whether the privacy-only standard error of a mean is an upper bound: these reports do not determine it."""
    if rounding:
        return True
    if sample.shares is not None:
        return False
    view = sample.view
    try:
        view.solution(view.noise(view.solution(values)))
    except NotIdentifiedError:
        return True
    return False


def mean_difference(first: Estimate, second: Estimate) -> MeanDifference:
    """Compare the means of two separate groups of people.

    The interval is built from the limits of both (MOVER): for d = m1 - m2 the lower limit is
    d - sqrt((m1 - l1)^2 + (u2 - m2)^2), so that it inherits their skewness; for normal limits it is the normal one.

    Parameters
    ----------
    first, second : Estimate
        Two results of `mean` at the same level, from different people.

    Returns
    -------
    MeanDifference

    References
    ----------
    Zou, Donner (2008), Statist. Med. 27, 1693-1702.

    Examples
    --------
    >>> from hushpoll_client import mechanisms
    >>> four = mechanisms.krr(options=4, epsilon=1)
    >>> one, other = (mean(counts, four, [1, 2, 3, 4]) for counts in ([620, 500, 470, 410], [500, 500, 500, 500]))
    >>> round(mean_difference(one, other).difference, 3)
    -0.549
    """
    for estimate in (first, second):
        if not isinstance(estimate, Estimate):
            raise AnalysisError(f"a {type(estimate).__name__} is not a mean", "give two results of mean")
    low, high = difference_limits(first, second)
    return MeanDifference(
        difference=first.estimate - second.estimate,
        se=math.hypot(first.se, second.se),
        low=low,
        high=high,
        interval=joint_method([first.interval, second.interval]).name,
    )
