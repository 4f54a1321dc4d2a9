"""The interval of a weighted frequency: Wilson's at the number of equal answers that it is worth."""

from __future__ import annotations

from scipy import stats

from hushpoll_analysis.shares.interval.wilson import score_limits

__all__ = ["effective_limits"]


def effective_limits(
    share: float, variance: float, kish: float, degrees_of_freedom: int, level: float
) -> tuple[float, float]:
    """Wilson's limits at the effective size, with t in place of z.

    The size is share (1 - share) / variance, but at most Kish's (sum w)^2 / sum w^2. With heavy weights a few
    respondents make the linearised variance, and it is far too small when they happen to agree; Kish's size does not
    depend on what they say.

    References
    ----------
    Korn, Graubard (1998), Survey Methodology 24, 193-201; Dean, Pagano (2015), J. Surv. Stat. Methodol. 3, 484-503.
    """
    unit = share * (1.0 - share)
    size = min(unit / variance, kish) if variance > 0.0 and unit > 0.0 else kish
    return score_limits(share, size, float(stats.t.isf((1.0 - level) / 2.0, degrees_of_freedom)))
