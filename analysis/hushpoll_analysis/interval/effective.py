"""A weighted sample as the equal answers it is worth, so that the intervals of a simple random sample apply."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hushpoll_analysis.channel.base import ChannelView, Floats
from hushpoll_analysis.channel.decoy import EstimatedDecoy

from .base import Interval
from .quantity import Quantity, in_population, known_shares, quantity
from .registry import interval
from .student import critical


def effective_quantity(
    view: ChannelView,
    frequencies: Floats,
    target: Floats,
    decoy: EstimatedDecoy | None,
    variance: float,
    kish: float,
    n: float = math.inf,
    plain: float | None = None,
    sampling_fraction: float = 0.0,
) -> Quantity:
    """Return the quantity b.f of weighted report frequencies, with counts that add up to the effective size.

    The size is (sum b^2 f - (b.f)^2) / variance, for one frequency f (1 - f) / variance, but at most Kish's
    (sum w)^2 / sum w^2. With heavy weights a few respondents make the linearised variance, and it is far too small when
    they happen to agree; Kish's size does not depend on what they say. `variance` is without the decoy's own part,
    `plain` is what it would be without a finite population, which cannot make an answer worth less, and
    `sampling_fraction` the fraction of it in the sample.

    References
    ----------
    Korn, Graubard (1998), Survey Methodology 24, 193-201; Dean, Pagano (2015), J. Surv. Stat. Methodol. 3, 484-503.
    """
    weights = view.solution(target)
    spread = float((weights - weights @ frequencies) ** 2 @ frequencies)
    if variance > 0.0 and spread > 0.0:
        size = min(spread / variance, kish)
    else:
        size = min(kish, n)
    if plain is not None and plain > 0.0 and spread > 0.0:
        size = max(size, min(spread / plain, kish))
    shares = known_shares(view, frequencies)
    # Two answers at least: a variance has n - 1.
    quantity_of_size = quantity(view, max(size, 2.0) * frequencies, target, shares, decoy)
    if plain is not None and sampling_fraction > 0.0:
        varies = min(plain, variance, spread) > 0.0
        quantity_of_size = in_population(
            quantity_of_size, sampling_fraction, max(plain / variance, 1.0) if varies else 1.0
        )
    extra = 0.0
    if decoy is not None:
        assert shares is not None
        extra = decoy.slope(shares, weights) ** 2 * decoy.variance
    return replace(quantity_of_size, se=math.sqrt(variance + extra))


def at_freedom(quantity: Quantity, level: float, degrees_of_freedom: int) -> Quantity:
    """Return a quantity whose intervals at this level have t in place of z.

    Wilson's interval depends on z^2 / n only, so a size smaller by (z/t)^2 is the same as t; the other methods follow.
    """
    shrink = critical(level) / critical(level, degrees_of_freedom)
    counts = np.asarray(quantity.counts * shrink**2, dtype=np.float64)
    line = quantity.line
    if line is not None:
        line = replace(line, successes=line.successes * shrink**2, trials=line.trials * shrink**2)
    return replace(quantity, counts=counts, line=line, se=quantity.se / shrink, shrink=shrink)


def effective_interval(
    quantity: Quantity, method: str, level: float, degrees_of_freedom: int
) -> tuple[Interval, Quantity]:
    """Return an interval at the effective size with t in place of z, and the quantity that it belongs to."""
    scaled = at_freedom(quantity, level, degrees_of_freedom)
    return interval(scaled, method, level), scaled
