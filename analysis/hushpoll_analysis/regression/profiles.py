"""Profile likelihood limits of what follows from a fit, where a normal interval would be too short."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from hushpoll_analysis.channel.base import Floats

if TYPE_CHECKING:
    from .fit import ModelFit


def profile_limits(fit: ModelFit, statistic: Callable[[Floats], Floats], se: Floats, z: float) -> Floats:
    """Return the least and the largest value of each statistic at parameters that the likelihood does not reject.

    These are the ends of the profile likelihood interval (Neale and Miller 1997), or the normal ones where those are
    farther: two rows, low and high.
    """
    likelihood, top = fit.data.likelihood, fit._top
    drop = z**2 / 2.0

    def room(theta: Floats) -> float:
        return likelihood.evaluate(theta).log_likelihood - top + drop

    def slope(theta: Floats) -> Floats:
        evaluation = likelihood.evaluate(theta)
        return np.asarray(likelihood.weights @ evaluation.scores, dtype=np.float64)

    middle = statistic(fit.theta)
    limits = np.stack([middle - z * se, middle + z * se])

    def end(k: int, side: float) -> float:
        """Return the end of the interval on one side (-1: low); the normal one where the search finds none."""

        def height(theta: Floats) -> float:
            return -side * float(statistic(theta)[k]) / max(float(se[k]), 1e-9)

        minimum = optimize.minimize(
            height,
            fit.theta,
            method="SLSQP",
            constraints=[{"type": "ineq", "fun": room, "jac": slope}],
            options={"maxiter": 60, "ftol": 1e-6},
        )
        value = float(statistic(minimum.x)[k])
        usable = np.isfinite(value) and room(minimum.x) > -0.05
        if usable:
            return value
        return float(middle[k]) + side * z * float(se[k])

    for k in range(len(middle)):
        limits[0, k] = min(limits[0, k], end(k, -1.0))
        limits[1, k] = max(limits[1, k], end(k, 1.0))
    return limits
