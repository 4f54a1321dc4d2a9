"""The score interval of a correlation: each value is tested at the joint reports that are likeliest under it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.interval.student import critical, two_sided

CLOSE = 1e-10
SCAN = 17  # values on the way to an end of the interval
INSIDE = 1.0 - 1e-12


@dataclass(frozen=True, eq=False)
class CorrelationTest:
    """Tests of single values of a correlation, and the interval of the values that they do not reject.

    `products` and `squares` are those of each cell of joint reports: the product of the standardized stand-ins, and
    half the sum of their standardized squares. Under a correlation of rho the mean of products - rho squares is 0.
    """

    products: Floats
    squares: Floats
    frequencies: Floats
    independent: Floats | None
    """The frequencies of independent reports with the same margins; None where there are too many cells to list."""
    size: float
    """How many equal answers the reports are worth."""
    extra: float = 0.0
    """Variance that does not come from the reports: of a decoy's share that was counted."""
    freedom: int | None = None
    """Degrees of freedom of the sample design; None means normal."""

    @property
    def estimate(self) -> float:
        """The estimated correlation."""
        return float(self.frequencies @ self.products)

    def statistic(self, rho: float) -> float:
        """Return the score statistic of a value, brought to a normal one by its skewness (Wilson and Hilferty)."""
        weights = self.products - rho * self.squares
        likely = _likeliest(weights, self._between(rho))
        variance = float(likely @ weights**2) / self.size
        gap, total = self.estimate - rho, variance + self.extra
        if not total > 0.0:
            if gap:
                return math.copysign(math.inf, gap)
            return 0.0
        skewness = float(likely @ weights**3) / self.size**2 / total**1.5
        return _normal_score(gap / math.sqrt(total), skewness)

    def _between(self, rho: float) -> Floats:
        """Return frequencies to start from: those that came at the estimate, independent ones at 0 and beyond it."""
        if self.independent is None:
            return self.frequencies
        fraction = 0.0
        if self.estimate:
            fraction = min(max(rho / self.estimate, 0.0), 1.0)
        return np.asarray(fraction * self.frequencies + (1.0 - fraction) * self.independent, dtype=np.float64)

    def p_value(self, rho: float = 0.0) -> float:
        """Return the two-sided p-value of a value: the level at which the interval reaches it."""
        return min(float(two_sided(self.statistic(rho), self.freedom)), 1.0)

    def limits(self, level: float, least: float, most: float) -> tuple[float, float]:
        """Return the limits of the values between `least` and `most` that are not rejected."""
        z = critical(level, self.freedom)
        return (
            self._reach(least, lambda rho: self.statistic(rho) - z),
            self._reach(most, lambda rho: -self.statistic(rho) - z),
        )

    def _reach(self, end: float, excess: Callable[[float], float]) -> float:
        """Return the last value before the first one on the way to the end that is rejected."""
        near = self.estimate
        steps = np.linspace(near, end, SCAN)[1:].tolist()
        if near * end < 0.0:
            steps = sorted([*steps, 0.0], key=lambda rho: abs(rho - near))
        for far in steps:
            if excess(far) > 0.0:
                if excess(near) >= 0.0:
                    return near
                return float(brentq(excess, near, far, xtol=CLOSE))
            near = far
        return end


def _normal_score(statistic: float, skewness: float) -> float:
    """Bring a skew statistic to a normal one: the cube root of a gamma with this skewness is nearly normal."""
    if abs(skewness) < 1e-6:
        return statistic
    root = math.cbrt(max(1.0 + skewness * statistic / 2.0, 0.0))
    return 6.0 / skewness * (root - 1.0) + skewness / 6.0


def _likeliest(weights: Floats, frequencies: Floats) -> Floats:
    """Return the likeliest frequencies whose mean weight is 0: f / (1 + tilt w), as in Owen's empirical likelihood.

    Where no tilt is enough, the heaviest report on the side that is needed did not come; it takes the missing share.
    """
    mean = float(frequencies @ weights)
    low, high = float(weights.min()), float(weights.max())
    if abs(mean) < CLOSE or not low < 0.0 < high:
        return frequencies
    heaviest = low if mean > 0.0 else high
    end = -INSIDE / heaviest

    def left(tilt: float) -> float:
        return float(frequencies @ (weights / (1.0 + tilt * weights)))

    if left(end) * mean < 0.0:
        tilt = float(brentq(left, 0.0, end, xtol=1e-14 * abs(end), rtol=1e-13))
        return np.asarray(frequencies / (1.0 + tilt * weights), dtype=np.float64)
    shares = frequencies / (1.0 + end * weights)
    most = weights == heaviest
    shares[most] += max(1.0 - float(shares.sum()), 0.0) / np.count_nonzero(most)
    return shares
