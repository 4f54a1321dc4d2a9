"""The logarithm of a multinomial likelihood, without its coefficient."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from .base import Floats


def kernel(counts: Floats, probabilities: Floats) -> float:
    """sum c log p, where 0 log 0 = 0; minus infinity when a report that came in has probability 0."""
    with np.errstate(divide="ignore"):
        return float(np.sum(xlogy(counts, probabilities)))
