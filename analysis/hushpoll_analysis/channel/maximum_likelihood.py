"""Maximum likelihood on the simplex: shares that are never negative and sum to one.

The likelihood of report counts c under shares h is sum_z c_z log (C'h)_z, concave in h. A few EM steps start it, Newton
steps (small tables) and a bounded quasi-Newton search (scipy's L-BFGS-B) finish it; plain EM needs thousands of steps
when epsilon is small.
Every answer carries a certificate: the duality gap bounds what any other shares could add to the log-likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize
from scipy.special import xlogy

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.result import PlottedResult

from .base import ChannelView, Floats
from .newton import newton

if TYPE_CHECKING:
    import pandas as pd


def kernel(counts: Floats, probabilities: Floats) -> float:
    """sum c log p, where 0 log 0 = 0; minus infinity when a report that came in has probability 0."""
    with np.errstate(divide="ignore"):
        return float(np.sum(xlogy(counts, probabilities)))


Map = Callable[[Floats], Floats]

EM_START = 10  # EM moves fast at first: these steps bring the search near the face where the maximum lies
EM_BETWEEN = (
    3,
    200,
)  # between searches: few EM steps at first, more each time, because a search stalls on rounding
NEWTON_CELLS = 1000  # up to here Newton steps settle most tables in milliseconds
ROUNDS = 30


@dataclass(frozen=True)
class Maximum(PlottedResult):
    """Where the likelihood is largest, and how far from the largest it can be at most.

    Attributes
    ----------
    shares : ndarray
        Non-negative, summing to one, of the shape of the start.
    log_likelihood : float
        The kernel sum c log(C'h), without the multinomial coefficient.
    gap : float
        Upper bound of what is missing to the maximum of the log-likelihood, per report.
    evaluations : int
        How often the channel was applied forward and backward.
    """

    words = "likeliest share"
    plotted_column = "share"

    shares: Floats = field(repr=False)
    log_likelihood: float
    gap: float
    evaluations: int
    converged: bool

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each answer; of several questions together, for each combination."""
        return share_frame(self.shares)


def share_frame(shares: Floats) -> pd.DataFrame:
    """Return one row for each answer, or for each combination of answers."""
    import pandas as pd

    labels = [" / ".join(map(str, cell)) for cell in np.ndindex(shares.shape)]
    return pd.DataFrame({"share": shares.ravel()}, index=pd.Index(labels, name="option"))


def maximise(
    counts: npt.ArrayLike,
    forward: Map,
    backward: Map,
    start: npt.ArrayLike,
    tolerance: float = 1e-8,
    rounds: int = ROUNDS,
) -> Maximum:
    """Maximise sum c log(C'h) over the simplex, where C is known only through what it does.

    Parameters
    ----------
    counts : array_like
        Report counts (weights are fine: any non-negative numbers), of the shape that `forward` returns.
    forward, backward : callable
        C'h for shares h and C g for one number g per report. A cross-table passes its Kronecker product here, axis by
        axis, and no large matrix is ever made.
    start : array_like
        Positive starting shares; its shape is the shape of the result. A cell that starts at 0 can leave it.
    tolerance : float
        Largest duality gap per report. With gradient g_x = (C (c / C'h))_x, concavity gives
        l(max) - l(h) <= max_x g_x - n for shares h that sum to one.
    rounds : int
        Restarts of the search before it stops and says that it did not converge.

    Returns
    -------
    Maximum

    References
    ----------
    Dempster, Laird, Rubin (1977), JRSS B 39; Byrd, Lu, Nocedal, Zhu (1995), SIAM J. Sci. Comput. 16.
    """
    observed = np.asarray(counts, dtype=np.float64)
    total = float(observed.sum())
    if not total > 0:
        raise AnalysisError("no reports: a likelihood needs at least one")
    problem = _Likelihood(observed / total, forward, backward, np.shape(start))
    shares = np.asarray(start, dtype=np.float64) / np.sum(start)
    gap = problem.gap(shares)
    if gap > tolerance:
        shares = problem.em(shares, EM_START)
        gap = problem.gap(shares)
    if tolerance < gap and shares.size <= NEWTON_CELLS:
        shares = newton(problem.frequencies, forward, problem.backward, shares, tolerance)
        gap = problem.gap(shares)
    steps, most = EM_BETWEEN
    while gap > tolerance and rounds > 0:
        shares = problem.search(shares, tolerance)
        gap = problem.gap(shares)
        if gap > tolerance:
            shares = problem.em(shares, steps)
            gap = problem.gap(shares)
        steps, rounds = min(2 * steps, most), rounds - 1
    value = kernel(observed, forward(shares))
    return Maximum(shares, value, gap, problem.evaluations, gap <= tolerance)


class _Likelihood:
    """Mean log-likelihood of frequencies as a function of the shares."""

    def __init__(self, frequencies: Floats, forward: Map, backward: Map, shape: tuple[int, ...]) -> None:
        self.frequencies, self.forward, self.shape = frequencies, forward, shape
        self.seen = frequencies > 0
        self.evaluations = 0
        self._backward = backward

    def backward(self, values: Floats) -> Floats:
        self.evaluations += 1
        return self._backward(values)

    def gradient(self, probabilities: Floats) -> Floats:
        ratio = np.divide(self.frequencies, probabilities, out=np.zeros_like(probabilities), where=self.seen)
        return self.backward(ratio)

    def impossible(self, probabilities: Floats) -> bool:
        return bool(np.any(probabilities[self.seen] <= 0))

    def em(self, shares: Floats, steps: int) -> Floats:
        for _ in range(steps):
            shares = shares * self.gradient(self.forward(shares))
            shares = shares / shares.sum()
        return shares

    def gap(self, shares: Floats) -> float:
        probabilities = self.forward(shares)
        if self.impossible(probabilities):
            return float("inf")
        return max(0.0, float(self.gradient(probabilities).max()) - 1.0)

    def search(self, shares: Floats, tolerance: float) -> Floats:
        """Minimise sum h - sum f log(C'h) over h >= 0: its minimum sums to one by itself."""

        def loss(flat: Floats) -> tuple[float, Floats]:
            probabilities = self.forward(flat.reshape(self.shape))
            if self.impossible(probabilities):
                return 1e300, np.zeros_like(flat)
            value = float(flat.sum()) - kernel(self.frequencies[self.seen], probabilities[self.seen])
            return value, (1.0 - self.gradient(probabilities)).ravel()

        options = {"maxiter": 2000, "maxfun": 4000, "maxcor": 20, "ftol": 0.0, "gtol": tolerance / 4}
        search: Any = minimize  # scipy's stubs do not know a loss that gives its own gradient
        optimum = search(
            loss, shares.ravel(), jac=True, method="L-BFGS-B", bounds=Bounds(0.0, np.inf), options=options
        )
        result: Floats = np.asarray(optimum.x, dtype=np.float64).reshape(self.shape)
        result /= result.sum()
        return result


def constrained_shares(counts: npt.NDArray[np.int64] | Floats, view: ChannelView) -> Maximum:
    """Find the maximum for a channel view; counts are valid."""
    observed = counts.astype(np.float64)
    shares = view.likeliest(observed)
    if shares is not None:
        value = kernel(observed, view.forward(shares))
        return Maximum(shares, value, 0.0, 1, True)
    start = np.full(view.options, 1.0 / view.options)
    if view.options == view.outcomes and view.choice == "unique":
        unbiased = view.shares(observed / observed.sum())
        if unbiased.min() >= 0:
            start = unbiased
    best = maximise(observed, view.forward, view.backward, start)
    if not best.converged:
        raise AnalysisError(
            f"the constrained likelihood did not settle (gap {best.gap:.2g} per report after {best.evaluations} steps)",
            "the channel is close to singular, use a larger epsilon",
        )
    return best


def nearest_on_simplex(shares: Floats) -> Floats:
    """Return the nearest shares that are not negative and sum to one (Euclidean projection)."""
    ordered = np.sort(shares)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(shares) + 1)
    last = int(np.flatnonzero(ordered > excess)[-1])
    result: Floats = np.maximum(shares - excess[last], 0.0)
    return result
