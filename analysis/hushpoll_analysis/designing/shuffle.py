"""Privacy of shuffled reports: what somebody learns who sees them all, but not whose is whose."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushpoll_analysis.errors import AnalysisError

__all__ = ["ShuffledEpsilon", "shuffled_epsilon"]


@dataclass(frozen=True)
class ShuffledEpsilon:
    """The central epsilon of n shuffled reports.

    `epsilon` is None outside the theorem's range, or when it would not improve on the local one; `note` says which. It
    holds only while reports cannot be linked to people, and never replaces the local epsilon, which needs no trust.
    """

    epsilon: float | None
    delta: float
    n: int
    local_epsilon: float
    largest_local_epsilon: float | None
    note: str


def shuffled_epsilon(epsilon: float, n: int, delta: float = 1e-6) -> ShuffledEpsilon:
    r"""Give the (epsilon, delta) guarantee of the shuffled collection of n reports with a local epsilon.

    Notes
    -----
    .. math:: \epsilon \le \ln\left(1 + \frac{e^{\epsilon_0} - 1}{e^{\epsilon_0} + 1} \left(
       \frac{8 \sqrt{e^{\epsilon_0} \ln(4/\delta)}}{\sqrt n} + \frac{8 e^{\epsilon_0}}{n} \right)\right)
       \quad\text{for}\quad \epsilon_0 \le \ln \frac{n}{16 \ln(2/\delta)}

    References
    ----------
    Feldman, McMillan, Talwar, "Hiding among the clones", FOCS 2021, Theorem III.1.
    """
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise AnalysisError(
            f"epsilon is {epsilon:g}", "only a positive, finite local epsilon can be amplified"
        )
    if isinstance(n, bool) or n != int(n) or n < 1:
        raise AnalysisError(f"n is {n}", "give the number of reports shuffled together, 1 or more")
    if not 0.0 < delta < 1.0:
        raise AnalysisError(f"delta is {delta:g}", "give a small probability such as 1e-6")
    ratio = n / (16.0 * math.log(2.0 / delta))
    largest = math.log(ratio) if ratio > 1.0 else None
    if largest is None or epsilon > largest:
        enough = math.ceil(16.0 * math.log(2.0 / delta) * math.exp(epsilon))
        note = (
            f"the theorem covers a local epsilon of {epsilon:g} from n = {enough:,} on; "
            "below that only the local epsilon holds"
        )
        return ShuffledEpsilon(None, delta, n, epsilon, largest, note)
    grown = math.exp(epsilon)
    spread = 8.0 * math.sqrt(grown * math.log(4.0 / delta) / n) + 8.0 * grown / n
    central = math.log1p((grown - 1.0) / (grown + 1.0) * spread)
    if central >= epsilon:
        return ShuffledEpsilon(
            None, delta, n, epsilon, largest, "the bound is no better than the local epsilon here"
        )
    return ShuffledEpsilon(
        central, delta, n, epsilon, largest, "holds only while nobody can link a report to a person"
    )
