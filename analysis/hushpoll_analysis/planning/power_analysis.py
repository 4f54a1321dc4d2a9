"""Power of a test about a true share, and the number of answers it needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.channel.spread import DecoyVariance
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.variance.spread import spread
from hushpoll_analysis.result import PlottedResult

from .bisection import least_count
from .precision import Precision, read_number, read_whole

_NORMAL = NormalDist()


@dataclass(frozen=True)
class PowerResult(PlottedResult):
    """The chance `power` to see, at significance `alpha`, that the true share is `share` and not `null`."""

    words = "power"
    plotted_column = "power"

    mechanism: str
    n: int
    share: float
    null: float
    alpha: float
    two_sided: bool
    power: float

    def plot(self, axes: Any = None) -> Any:
        """Draw the power between 0 and 1 with matplotlib and give the axes."""
        axes = super().plot(axes)
        axes.set_xlim(0, 1)
        return axes


def power(
    mechanism: Mechanism, n: int, share: float, null: float = 0.0, alpha: float = 0.05, two_sided: bool = True
) -> PowerResult:
    r"""Return the power of the normal test of one share against a null value.

    Notes
    -----
    With s_0 and s_1 the standard errors at the null and at the true share, the one-sided power is
    :math:`\Phi((|\pi_1 - \pi_0| - z_{1-\alpha} s_0) / s_1)`; the two-sided one uses alpha/2 and adds the other tail. A
    decoy share that was estimated adds its variance to both, as in `plan`.

    References
    ----------
    Blair, Imai, Zhou, "Design and analysis of the randomized response technique", JASA 110 (2015).
    """
    n, share, null, alpha = _check(n, share, null, alpha)
    chance = _power(mechanism, n, share, null, alpha, two_sided)
    return PowerResult(mechanism.name, n, share, null=null, alpha=alpha, two_sided=two_sided, power=chance)


def answers_for_power(
    mechanism: Mechanism,
    wanted: float,
    share: float,
    null: float = 0.0,
    alpha: float = 0.05,
    two_sided: bool = True,
) -> PowerResult:
    """Return the smallest n whose power is at least `wanted`."""
    _, share, null, alpha = _check(1, share, null, alpha)
    wanted = _wanted(wanted)
    if share == null:
        raise AnalysisError(f"share and null are both {share:g}", "no number of answers can tell them apart")
    least = least_count(lambda n: _power(mechanism, n, share, null, alpha, two_sided) >= wanted, 2, 10**15)
    if least is None:
        reason = " for a decoy share known from so few answers"
        if mechanism.decoy_counts is None:
            reason = ""
        raise AnalysisError(f"share and null are too close{reason}: more than 10^15 answers would be needed")
    chance = _power(mechanism, least, share, null, alpha, two_sided)
    return PowerResult(
        mechanism.name, least, share, null=null, alpha=alpha, two_sided=two_sided, power=chance
    )


def power_of_difference(
    mechanism: Mechanism,
    n: tuple[int, int],
    shares: tuple[float, float],
    alpha: float = 0.05,
    two_sided: bool = True,
) -> float:
    """Return the power of the normal test that two independent groups have the same share (pooled under the null).

    An estimated decoy share is the same for both groups: only what it does to their difference is added.
    """
    n, shares = _two(n, "n"), _two(shares, "shares")
    for count, share in zip(n, shares, strict=True):
        _check(count, share, 0.0, alpha)
    variance = spread(mechanism)
    decoy = DecoyVariance.of(mechanism)
    shared = decoy.factor * (decoy.slope * (shares[0] - shares[1])) ** 2
    error = math.sqrt(
        sum(variance.unit_variance(s) / count for count, s in zip(n, shares, strict=True)) + shared
    )
    pooled = (n[0] * shares[0] + n[1] * shares[1]) / sum(n)
    null_error = math.sqrt(variance.unit_variance(pooled) * (1.0 / n[0] + 1.0 / n[1]))
    return _tail(abs(shares[0] - shares[1]), null_error, error, alpha, two_sided)


def read_ratio(ratio: float) -> float:
    """Return the second group's size over the first's, if it is one."""
    ratio = read_number(ratio, "ratio")
    if not (math.isfinite(ratio) and ratio > 0.0):
        raise AnalysisError(f"ratio is {ratio:g}", "give the second group's size over the first's, above 0")
    return ratio


def answers_for_difference(
    mechanism: Mechanism,
    wanted: float,
    shares: tuple[float, float],
    alpha: float = 0.05,
    two_sided: bool = True,
    ratio: float = 1.0,
) -> tuple[int, int]:
    """Return the smallest numbers of answers in two groups whose difference is seen with power `wanted`.

    `ratio` is the size of the second group over that of the first.
    """
    wanted, shares, ratio = _wanted(wanted), _two(shares, "shares"), read_ratio(ratio)
    if shares[0] == shares[1]:
        raise AnalysisError(f"both shares are {shares[0]:g}", "no number of answers can tell them apart")

    def sizes(n: int) -> tuple[int, int]:
        return n, max(math.ceil(n * ratio), 2)

    def chance(n: int) -> float:
        return power_of_difference(mechanism, sizes(n), shares, alpha, two_sided)

    least = least_count(lambda n: chance(n) >= wanted, 2, 10**12)
    if least is None:
        raise AnalysisError(
            "the shares are too close: more than 10^12 answers would be needed",
            "plan for a larger difference",
        )
    return sizes(least)


def _power(mechanism: Mechanism, n: int, share: float, null: float, alpha: float, two_sided: bool) -> float:
    precision = Precision(mechanism, share, 1.0)
    null_error, error = (math.sqrt(precision.variance(n, at)) for at in (null, share))
    return _tail(abs(share - null), null_error, error, alpha, two_sided)


def _tail(distance: float, null_error: float, error: float, alpha: float, two_sided: bool) -> float:
    threshold = _NORMAL.inv_cdf(1.0 - (alpha / 2.0 if two_sided else alpha)) * null_error
    if error == 0.0:
        # Nothing is random at the true share (an open answer at 0 or 1): the test sees it or it does not.
        return float(distance > threshold)
    near = _NORMAL.cdf((distance - threshold) / error)
    far = 0.0
    if two_sided:
        far = _NORMAL.cdf((-distance - threshold) / error)
    return near + far


def _wanted(power: float) -> float:
    value = read_number(power, "power")
    if not 0.0 < value < 1.0:
        raise AnalysisError(f"power is {value:g}", "give a probability between 0 and 1, such as 0.8")
    return value


def _two(values: Any, what: str) -> tuple[Any, Any]:
    """Read one number for each of two groups."""
    if not isinstance(values, tuple | list) or len(values) != 2:
        raise AnalysisError(f"{what} is {values!r}", "give a number for each of the two groups")
    first, second = (read_number(value, what) for value in values)
    return first, second


def _check(n: int, share: float, null: float, alpha: float) -> tuple[int, float, float, float]:
    """Read the numbers of a test and refuse what is out of range."""
    n = read_whole(n, "n")
    share, null, alpha = (
        read_number(number, what) for number, what in ((share, "share"), (null, "null"), (alpha, "alpha"))
    )
    if n < 1:
        raise AnalysisError(f"n is {n}", "give the number of answers, a whole number of 1 or more")
    for name, value in (("share", share), ("null", null)):
        if not 0.0 <= value <= 1.0:
            raise AnalysisError(f"{name} is {value:g}", "give a proportion from 0 to 1")
    if not 0.0 < alpha < 1.0:
        raise AnalysisError(f"alpha is {alpha:g}", "give a significance level between 0 and 1, such as 0.05")
    return n, share, null, alpha
