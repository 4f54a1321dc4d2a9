"""A finite population: who was drawn matters less, what the randomization adds stays."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hushpoll_analysis.interval.quantity import Quantity, in_population


def finite_population(quantity: Quantity, fraction: float) -> Quantity:
    """Return the quantity for a population of which this fraction was drawn at random without replacement.

    Its variance is (1 - f) se^2 + f se_privacy^2. Counts are scaled to the number of answers that would have this
    variance in a population without end, so that every interval method can be used; never to fewer, where by chance
    the reports vary less than their randomization alone would let them. Wilson's, the exact, the score and the
    likelihood interval take the variance at each share that they try in place of this one: near an
    edge all of it is the randomization's.
    """
    if fraction <= 0.0:
        return quantity
    extra = 0.0
    if quantity.decoy is not None:
        frequencies = quantity.counts / quantity.size
        shares = quantity.view.shares(frequencies)
        extra = quantity.decoy.slope(shares, quantity.weights) ** 2 * quantity.decoy.variance
    sampling, privacy = (max(error**2 - extra, 0.0) for error in (quantity.se, quantity.se_privacy))
    variance = (1.0 - fraction) * sampling + fraction * privacy
    if variance <= 0.0:
        return in_population(replace(quantity, se=math.sqrt(extra)), fraction, 1.0)
    growth = max(sampling / variance, 1.0)
    line = quantity.line
    if line is not None:
        line = replace(line, successes=line.successes * growth, trials=line.trials * growth)
    finite = replace(quantity, line=line, se=math.sqrt(variance + extra))
    if growth > 1.0:
        finite = replace(finite, counts=np.asarray(quantity.counts * growth, dtype=np.float64))
    return in_population(finite, fraction, growth)
