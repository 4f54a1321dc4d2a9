"""The privacy profile: for every epsilon the exact delta that a channel's integers give.

A channel is (epsilon, delta)-private where sum_z max(0, C[x, z] - e^epsilon C[x', z]) is at most delta for all pairs of
answers x and x'. The smallest such delta is the profile; it is rounded up, because it is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from hushpoll_client.errors import ChannelError
from hushpoll_client.exact import Number, exp_below, read_decimal

__all__ = ["largest_excess", "profile"]


def profile(
    excess: Callable[[Fraction], Fraction], epsilons: Iterable[Number]
) -> tuple[tuple[float, float], ...]:
    """Return pairs of epsilon and delta; `excess` gives the exact delta at a factor that stands for e^epsilon."""
    return tuple((float(epsilon), _up(excess(_factor(epsilon)))) for epsilon in epsilons)


def largest_excess(rows: Sequence[Sequence[int]], factor: Fraction) -> Fraction:
    """Return the largest sum over reports of what one row exceeds `factor` times another by."""
    top, bottom = factor.numerator, factor.denominator
    worst = 0
    for row in rows:
        raised = [bottom * weight for weight in row]
        for other in rows:
            beyond = (a - top * b for a, b in zip(raised, other, strict=True))
            worst = max(worst, sum(excess for excess in beyond if excess > 0))
    return Fraction(worst, bottom)


def _factor(epsilon: Number) -> Fraction:
    exponent = read_decimal(epsilon, "epsilon")
    if exponent < 0:
        raise ChannelError("a profile starts at epsilon 0", "give numbers of 0 or more")
    # A factor below e^epsilon makes the delta larger, never smaller.
    return exp_below(exponent)


def _up(exact: Fraction) -> float:
    nearest = float(exact)
    if Fraction(nearest) >= exact:
        return nearest
    return math.nextafter(nearest, math.inf)
