"""The profile likelihood of the standard deviation of a random intercept, and the interval that it gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy import optimize

from hushpoll_analysis.channel.base import Floats

from .random_intercept import LEAST, RandomIntercept

_NEAR_TOP = 0.02  # of the logarithm of a standard deviation, where the profile is flat
_LONGEST = 0.5  # step to either side of the estimate when looking for the top
_STEPS = (0.1, 0.3, 0.6, 1.2, 2.4, 4.8)  # at the least, on the way to the upper limit


@dataclass
class StandardDeviationProfile:
    """The highest log-likelihood at each standard deviation, as Cox and Reid (1987) adjust it.

    Half the log-information about the other parameters is taken off, which allows for the coefficients that are
    estimated between few groups as REML does. Each value is a separate maximum over all rows, so the search asks for
    few of them and begins each one where the ones before it lead.
    """

    random: RandomIntercept
    theta: Floats
    held: Mapping[int, float]
    points: dict[float, Floats] = field(default_factory=dict)
    values: dict[float, float] = field(default_factory=dict)

    def __call__(self, log_sd: float) -> float:
        """Return the adjusted profile at the logarithm of a standard deviation."""
        if log_sd not in self.values:
            last = len(self.theta) - 1
            held = {position: value for position, value in self.held.items() if position != last}
            point, height = self.random.maximum(self._start(log_sd), {**held, last: log_sd})
            free = [position for position in range(last) if position not in held]
            information = self.random.information(point, free)
            self.points[log_sd] = point
            self.values[log_sd] = height - float(np.linalg.slogdet(information)[1]) / 2.0
        return self.values[log_sd]

    def _start(self, log_sd: float) -> Floats:
        """Return where the maximum is to be expected: on the line through the two nearest that are known."""
        near = sorted(self.points, key=lambda point: abs(point - log_sd))[:2]
        start = (self.points[near[0]] if near else self.theta).copy()
        if len(near) == 2 and abs(near[0] - near[1]) > 1e-3:
            fraction = (log_sd - near[0]) / (near[1] - near[0])
            if abs(fraction) <= 2.0:
                start += fraction * (self.points[near[1]] - self.points[near[0]])
        start[-1] = log_sd
        return start

    def limits(self, z: float, error: float) -> tuple[float, float]:
        """Return where the profile has fallen by z^2 / 2, from 0 on; `error` is the relative standard error."""
        estimate = max(float(self.theta[-1]), LEAST)
        step = min(error, _LONGEST)
        top = self._top(estimate, step)
        highest = self(top)

        def fall(log_sd: float) -> float:
            # The root of the fall is nearly a straight line, on which a search takes few steps.
            return math.sqrt(2.0 * max(highest - self(log_sd), 0.0)) - z

        low = self._below(fall, top, z * step)
        near, further = top, 1.05 * z * step
        for least in _STEPS:
            far = max(near, -2.0) + further
            missing = -fall(far)
            if missing < 0.0:
                return low, math.exp(optimize.brentq(fall, near, far, xtol=1e-4))
            near, further = far, max(1.3 * missing * step, least)
        return low, math.inf

    @staticmethod
    def _below(fall: Callable[[float], float], top: float, step: float) -> float:
        """Return the lower limit, which is 0 where the profile does not fall far enough."""
        near, further = top, 1.05 * step
        while near > LEAST:
            far = max(near - further, LEAST)
            missing = -fall(far)
            if missing < 0.0:
                return math.exp(optimize.brentq(fall, far, near, xtol=1e-4))
            near, further = far, max(1.3 * missing * step, further / 2.0)
        return 0.0

    def _top(self, estimate: float, step: float) -> float:
        """Return where the profile is highest: the vertex of a parabola, or a search where there is none."""
        if estimate - step > LEAST:
            points = [estimate - step, estimate, estimate + step]
            for _ in range(2):
                top = self._vertex(points)
                if top is None or not estimate - step < top < estimate + step:
                    break
                points = sorted(sorted({*points, top}, key=lambda point: -self(point))[:3])
            else:
                return max(points, key=self)
        minimum = optimize.minimize_scalar(
            lambda log_sd: -self(float(log_sd)),
            bounds=(max(estimate - 1.0, LEAST), max(estimate, -2.0) + 1.5),
            method="bounded",
            options={"xatol": _NEAR_TOP},
        )
        return float(minimum.x)

    def _vertex(self, three: list[float]) -> float | None:
        """Return where the parabola through three points of the profile is highest; None where it has no such place."""
        if len(set(three)) < 3:
            return three[0]
        second, first, _ = np.polyfit(three, [self(point) for point in three], 2)
        if second < 0.0:
            return float(-first / (2.0 * second))
        return None
