"""The search for the maximum of a likelihood, or for the highest of several."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import NotIdentifiedError

from .likelihood import Evaluable, Evaluation, Likelihood
from .outcomes import TINY, BinaryOutcome

DIRECTIONS = 400  # in which to cut the respondents in two

SCATTERED = 40  # points to look at before the search starts from the best two of them
REACHES = (
    2.0,
    8.0,
    30.0,
)  # how far: columns have size one, so coefficients are of the order of one, or run away
_NEAR = 1e-3  # a step that is still small enough to be the last one

_NOWHERE = (
    "the likelihood keeps rising toward infinity, so it has no maximum (separation, or answers that nobody gave)",
    "put rare answers together, simplify the model or collect more reports",
)


def best_maximum(likelihood: Evaluable, start: Floats) -> tuple[Floats, Evaluation, bool]:
    """Return the highest of several maxima: from `start`, and from the best of points scattered around it, near and
    far.

    A randomized outcome or predictor makes the likelihood a mixture, which may have several maxima, and one at infinity
    where there is a finite one too.
    """
    starts, rng = [start], np.random.default_rng(1)  # a fixed seed makes the fit repeat
    for reach in REACHES:
        around = start + rng.normal(0.0, reach, (SCATTERED, len(start)))
        heights = [likelihood.evaluate(point).log_likelihood for point in around]
        starts += [around[position] for position in np.argsort(heights)[::-1][:2]]
    maxima = []
    for start_point in starts:
        with suppress(NotIdentifiedError):
            maxima.append(maximum(likelihood, start_point))
    if not maxima:
        raise NotIdentifiedError(*_NOWHERE)
    settled = [maximum for maximum in maxima if maximum[2]]
    return max(settled or maxima, key=lambda maximum: maximum[1].log_likelihood)


def highest_step(likelihood: Evaluable) -> float:
    """Return the highest log-likelihood that was found at infinity: all beyond a plane are Yes, the rest No.

    Coefficients that run away make such a step of the chances. For each direction of the plane the best place is found
    exactly, in one pass over the respondents in that order.
    """
    if not isinstance(likelihood, Likelihood) or len(likelihood.design) > 1:
        return -np.inf
    outcome = likelihood.outcome
    if not isinstance(outcome, BinaryOutcome) or outcome.extra:
        return -np.inf
    weights, design = likelihood.weights, likelihood.design[0]
    no, yes = (np.log(np.maximum(chance, TINY)) for chance in (outcome.no, outcome.yes))
    gains = weights * (yes - no)
    best = max(0.0, float(gains.sum()))
    # A fixed seed makes the fit repeat.
    for direction in np.random.default_rng(2).normal(size=(DIRECTIONS, design.shape[1])):
        height = design @ direction
        order = np.argsort(height)[::-1]
        ends = np.diff(height[order]) < -1e-12  # between two who are alike there is no plane
        best = max(best, float(np.max(np.cumsum(gains[order])[:-1], where=ends, initial=0.0)))
    return float(weights @ no) + best + likelihood.offset * float(weights.sum())


def maximum(
    likelihood: Evaluable, start: Floats, fixed: Mapping[int, float] | None = None
) -> tuple[Floats, Evaluation, bool]:
    """Maximise by a trust region with the exact Hessian; `fixed` holds parameters, by place, at a value.

    Returns the point, its evaluation, and whether the gradient vanished there.
    """
    free = np.ones(len(start), dtype=bool)
    point = np.array(start, dtype=np.float64)
    for position, value in (fixed or {}).items():
        free[position] = False
        point[position] = value
    total = float(likelihood.weights.sum())
    if not free.any():
        return point, likelihood.evaluate(point), True
    latest: dict[bytes, Evaluation] = {}

    def at(values: Floats) -> Evaluation:
        key = values.tobytes()
        if key not in latest:
            latest.clear()
            full = point.copy()
            full[free] = values
            latest[key] = likelihood.evaluate(full)
        return latest[key]

    def height(values: Floats) -> float:
        return -at(values).log_likelihood / total

    def slope(values: Floats) -> Floats:
        return np.asarray(-(likelihood.weights @ at(values).scores)[free] / total, dtype=np.float64)

    def bend(values: Floats) -> Floats:
        return np.asarray(at(values).information[np.ix_(free, free)] / total, dtype=np.float64)

    options: Any = {"gtol": 1e-9, "maxiter": 300}
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            minimum = optimize.minimize(
                height, point[free], jac=slope, hess=bend, method="trust-exact", options=options
            )
    except (ValueError, np.linalg.LinAlgError):  # on its way to infinity
        raise NotIdentifiedError(*_NOWHERE) from None
    point[free] = minimum.x
    point, evaluation = _polished(likelihood, point, free)
    gradient = (likelihood.weights @ evaluation.scores)[free] / total
    return point, evaluation, bool(np.max(np.abs(gradient)) < 1e-6)


def _polished(likelihood: Evaluable, point: Floats, free: npt.NDArray[np.bool_]) -> tuple[Floats, Evaluation]:
    """Take one more step of Newton's, so that a fit depends on its data alone, not on where the search ended."""
    evaluation = likelihood.evaluate(point)
    gradient = (likelihood.weights @ evaluation.scores)[free]
    try:
        step = np.linalg.solve(evaluation.information[np.ix_(free, free)], gradient)
    except np.linalg.LinAlgError:
        return point, evaluation
    if not np.max(np.abs(step)) < _NEAR:
        return point, evaluation  # not the step of a search that has settled
    nearer = point.copy()
    nearer[free] += step
    nearer_evaluation = likelihood.evaluate(nearer)
    better = np.max(np.abs((likelihood.weights @ nearer_evaluation.scores)[free])) <= np.max(np.abs(gradient))
    if better:
        return (nearer, nearer_evaluation)
    return (point, evaluation)
