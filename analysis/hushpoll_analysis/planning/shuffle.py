"""Privacy of shuffled reports, for an observer who sees all of them but not who sent which."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any

from hushpoll_analysis.arguments import number
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.result import PlottedResult

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

NUMERIC, CLOSED = "numeric", "closed form"
_MOST = 10**7  # reports for which the sums are computed
_LEAST_DELTA = 1e-12  # below it the sums would drown in rounding
_ROUNDING = 1e-15  # what the sums of doubles may miss, added to delta
_LINKED = "holds only while nobody can link a report to a person"


@dataclass(frozen=True)
class ShuffledEpsilon(PlottedResult):
    """The central epsilon of n shuffled reports.

    `epsilon` is None where it would not improve on the local one; `note` says so. `method` says whether it was computed
    ("numeric") or comes from a formula that is several times larger ("closed form"). It holds only while reports
    cannot be linked to people, and never replaces the local epsilon, which needs no trust.
    """

    words = "what one person's report reveals: epsilon"
    plotted_column = "epsilon"
    from_zero = True

    epsilon: float | None
    delta: float
    n: int
    local_epsilon: float
    method: str
    note: str

    def _picture(self) -> pd.DataFrame:
        """Return both epsilons: of a report that is seen, and of all of them in random order."""
        import pandas as pd

        both = {"seen by itself": self.local_epsilon, f"shuffled among {self.n:,}": self.epsilon}
        return pd.DataFrame({"epsilon": both})

    @property
    def closed_form(self) -> bool:
        """Whether the formula had to stand in for the sums."""
        return self.method == CLOSED


def shuffled_epsilon(
    epsilon: float, n: int, delta: float = 1e-6, variation: float | None = None
) -> ShuffledEpsilon:
    r"""Return the (epsilon, delta) guarantee of the shuffled collection of n reports with a local epsilon.

    Parameters
    ----------
    epsilon
        The local epsilon of one report.
    n
        How many honest reports are released together.
    delta
        The probability with which the bound may fail.
    variation
        The largest total variation between the reports of two true answers. By default that of a yes/no question,
        :math:`(e^{\epsilon_0} - 1)/(e^{\epsilon_0} + 1)`; give 0 for a channel of which only its epsilon is known.

    Notes
    -----
    With :math:`\alpha = \beta / (e^{\epsilon_0} - 1)`, where :math:`\beta` is the variation, the divergence between the
    shuffled reports of two groups that differ in one person is at most
    :math:`\alpha (e^{\epsilon_0} + 1)` times that of

    .. math:: (A + \Delta, C - A + 1 - \Delta) \quad\text{and}\quad (A + 1 - \Delta, C - A + \Delta), \qquad
       C \sim B(n - 1, 2 \alpha), \; A \sim B(C, 1/2), \; P(\Delta = 1) = \frac{e^{\epsilon_0}}{e^{\epsilon_0} + 1}

    (variation ratio), and at most that with :math:`C \sim B(n - 1, e^{-\epsilon_0})` whatever the variation (clones).
    The smaller one is taken. Both are summed over a window of C; the mass outside is added to delta. For more than ten
    million reports a closed form stands in, which is 3 to 5 times larger.

    References
    ----------
    Wang, Peng, Li et al., "Privacy amplification via shuffling: unified, simplified, and tightened", 2023.
    Feldman, McMillan, Talwar, "Hiding among the clones", FOCS 2021, Theorems III.1 and III.2.
    """
    _check(epsilon, n, delta)
    if n > _MOST or delta < _LEAST_DELTA:
        return _closed_form(epsilon, n, delta)
    most = math.tanh(epsilon / 2.0)
    amplified = _numeric(float(epsilon), int(n), float(delta), _variation(variation, most))
    if amplified >= 0.9999 * epsilon:
        note = "the bound is no better than the local epsilon here"
        return ShuffledEpsilon(None, delta, n, epsilon, NUMERIC, note)
    return ShuffledEpsilon(amplified, delta, n, epsilon, NUMERIC, _LINKED)


def _variation(variation: float | None, most: float) -> float:
    if variation is None:
        return most
    return min(number(variation, "variation", 0.0, 1.0), most)


def _check(epsilon: float, n: int, delta: float) -> None:
    values: dict[str, object] = {"epsilon": epsilon, "n": n, "delta": delta}
    for what, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise AnalysisError(f"{what} is {value!r}", "give a number")
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        raise AnalysisError(
            f"epsilon is {epsilon:g}", "only a positive, finite local epsilon can be amplified"
        )
    if not math.isfinite(n) or n != int(n) or n < 1:
        raise AnalysisError(f"n is {n}", "give the number of reports shuffled together, 1 or more")
    if not 0.0 < delta < 1.0:
        raise AnalysisError(f"delta is {delta:g}", "give a small probability such as 1e-6")


@lru_cache(maxsize=512)
def _numeric(epsilon: float, n: int, delta: float, beta: float) -> float:
    """Bisect for the smallest central epsilon; the upper end is given, so that it is never too small."""
    alpha, clone_share = beta / math.expm1(epsilon), 1.0 / (math.exp(epsilon) + 1.0)
    pairs = [_Pair(epsilon, n, delta, math.exp(-epsilon), clone_share)]
    if alpha > 0.0:
        pairs.append(_Pair(epsilon, n, delta, min(2.0 * alpha, 1.0), alpha))
    low, high = 0.0, epsilon
    while high - low > 2e-4 * high + 1e-9:
        middle = (low + high) / 2.0
        fits = any(pair.delta(middle) <= delta for pair in reversed(pairs))
        if fits:
            high = middle
        else:
            low = middle
    return high


class _Pair:
    """The two distributions that are hardest to tell apart, over the window of C that matters."""

    def __init__(self, epsilon: float, n: int, delta: float, clones: float, alpha: float) -> None:
        import numpy as np
        from scipy.stats import binom

        self.ratio, self.alpha = math.exp(epsilon), alpha
        distribution = binom(n - 1, clones)
        tail = delta * 1e-4
        first, last = int(distribution.ppf(tail)), int(distribution.isf(tail))
        self.count: npt.NDArray[np.float64] = np.arange(first, last + 1, dtype=np.float64)
        self.weight: npt.NDArray[np.float64] = distribution.pmf(self.count)
        # Whatever happens outside the window counts as lost.
        self.outside = float(distribution.cdf(first - 1) + distribution.sf(last)) + _ROUNDING

    def delta(self, epsilon: float) -> float:
        """Return the divergence at a central epsilon, with what was left out added.

        With c + 1 in both places together, a of them in the first, P exceeds e^epsilon Q from some a on, because their
        ratio grows with a; what is beyond it are tails of binomial distributions.
        """
        import numpy as np
        from scipy.stats import binom

        grown, c = math.exp(epsilon), self.count
        line = (c + 1.0) * (grown * self.ratio - 1.0) / ((self.ratio - 1.0) * (1.0 + grown))
        first = np.floor(line) + 1.0
        beyond: Any = binom.sf(first - 1.0, c, 0.5)
        more: Any = beyond + binom.pmf(first - 1.0, c, 0.5)
        gained = self.alpha * ((self.ratio - grown) * more + (1.0 - grown * self.ratio) * beyond)
        return float(np.sum(self.weight * np.maximum(gained, 0.0))) + self.outside


def _closed_form(epsilon: float, n: int, delta: float) -> ShuffledEpsilon:
    """Return the bound of Feldman, McMillan and Talwar, which needs no sums."""
    grown = math.exp(epsilon)
    spread = 8.0 * math.sqrt(grown * math.log(4.0 / delta) / n) + 8.0 * grown / n
    central = math.log1p((grown - 1.0) / (grown + 1.0) * spread)
    outside = n < 16.0 * math.log(2.0 / delta) * grown
    if outside or central >= epsilon:
        note = "the closed form, which stands in here, is no better than the local epsilon"
        return ShuffledEpsilon(None, delta, n, epsilon, CLOSED, note)
    return ShuffledEpsilon(
        central,
        delta,
        n,
        epsilon,
        CLOSED,
        f"from the closed form, which is several times too large; {_LINKED}",
    )
