"""Normal quantiles and p-values, or those of Student's t where a sample design has few degrees of freedom."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from hushpoll_analysis.channel.base import Floats


def critical(level: float, freedom: float | None = None) -> float:
    """Return how many standard errors an interval of this level has on either side."""
    tail = (1.0 - level) / 2.0
    if freedom is None:
        return -float(ndtri(tail))
    return -float(stdtrit(freedom, tail))


def two_sided(statistic: npt.ArrayLike, freedom: float | None = None) -> Floats:
    """Return the chance of a statistic at least so far from 0."""
    tail = -np.abs(np.asarray(statistic, dtype=np.float64))
    if freedom is None:
        return np.asarray(2.0 * ndtr(tail), dtype=np.float64)
    return np.asarray(2.0 * stdtr(freedom, tail), dtype=np.float64)
