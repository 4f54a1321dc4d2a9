"""The likelihood of two binomial groups over a polygon of possible values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.stats import binom, chi2

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.maximum_likelihood import kernel, maximise
from hushpoll_analysis.interval import crossings
from hushpoll_analysis.interval.adaptive import frequency_limits
from hushpoll_analysis.interval.mover import BoundedEstimate, linear_limits

Line = Callable[[float], tuple[Floats, float]]


class TwoBinomials:
    """l(theta) = sum over both groups of the binomial log-likelihood at P(Yes) = D theta, theta in a convex polygon.

    Points of the polygon are mixtures of its corners, so the maximum is that of a channel whose rows are the corners.
    """

    def __init__(self, counts: npt.NDArray[np.int64], design: Floats, corners: Floats) -> None:
        self.counts = counts.astype(np.float64)
        self.design, self.corners = design, corners
        sizes = self.counts.sum(axis=1)
        free: Floats = np.linalg.solve(design, self.counts[:, 1] / sizes)
        self.peak: Floats = free if self._holds(free) else self._climb(sizes)
        self.top = self.value(self.peak)
        probabilities = np.clip(design @ self.peak, 0.0, 1.0)
        self.log_likelihood = float(np.sum(binom.logpmf(self.counts[:, 1], sizes, probabilities)))

    def _holds(self, theta: Floats) -> bool:
        """Whether a point lies in the polygon, whose corners run counterclockwise."""
        along = np.roll(self.corners, -1, axis=0) - self.corners
        to = theta - self.corners
        return bool(np.all(along[:, 0] * to[:, 1] - along[:, 1] * to[:, 0] >= 0))

    def _climb(self, sizes: Floats) -> Floats:
        yes = np.clip(self.corners @ self.design.T, 0.0, 1.0)
        # Row = corner, columns = (group, No or Yes), each group with its share of the respondents.
        table = np.stack([1 - yes, yes], axis=2) * (sizes / sizes.sum())[:, None]
        table = table.reshape(len(self.corners), 4)
        start = np.full(len(self.corners), 1 / len(self.corners))
        best = maximise(self.counts.ravel(), lambda h: h @ table, lambda g: table @ g, start)
        result: Floats = best.shares @ self.corners
        return result

    def value(self, theta: Floats) -> float:
        """Return the log-likelihood without its constant."""
        yes = np.clip(self.design @ theta, 0.0, 1.0)
        return kernel(self.counts, np.stack([1 - yes, yes], axis=1))

    def mover_interval(self, value: float, slope: Floats, level: float) -> tuple[float, float]:
        """Return unclipped limits of a parameter that moves with theta by `slope`, from those of both frequencies."""
        parts = []
        for weight, (no, yes) in zip(
            np.linalg.solve(self.design.T, slope), self.counts.tolist(), strict=True
        ):
            frequency = BoundedEstimate(yes / (no + yes), *frequency_limits(yes, no + yes, level))
            parts.append((float(weight), frequency))
        return linear_limits(value, parts)

    def profile_interval(self, line: Line, best: float, level: float) -> tuple[float, float]:
        """All values in [0, 1] of a parameter whose profile likelihood is high enough; `line` gives its level sets."""
        limit = float(chi2.isf(1 - level, 1)) / 2
        return crossings(lambda value: self._profile(*line(value)), best, 0.0, 1.0, limit, self.top)

    def _profile(self, normal: Floats, offset: float) -> float:
        """Find the largest log-likelihood on the line normal.theta = offset inside the polygon; it is concave there."""
        ends = self._cut(normal, offset)
        if ends is None:
            return -np.inf
        start, end = ends
        minimum = minimize_scalar(
            lambda s: -max(self.value((1 - s) * start + s * end), -1e300),
            bounds=(0.0, 1.0),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return max(-float(minimum.fun), self.value(start), self.value(end))

    def _cut(self, normal: Floats, offset: float) -> tuple[Floats, Floats] | None:
        """Where a line meets the polygon."""
        side = self.corners @ normal - offset
        side[np.abs(side) < 1e-12] = 0.0
        points = [corner for corner, distance in zip(self.corners, side, strict=True) if distance == 0.0]
        for i in range(len(side)):
            j = (i + 1) % len(side)
            if side[i] * side[j] < 0:
                weight = side[i] / (side[i] - side[j])
                points.append((1 - weight) * self.corners[i] + weight * self.corners[j])
        if not points:
            return None
        return points[0], points[-1]
