"""Newton steps for a likelihood over non-negative shares, by matrix-vector products only.

Small tables need few of them, and no linear algebra library: its threads cost more than they give on 125 cells.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushpoll_analysis.channel.base import Floats

Map = Callable[[Floats], Floats]


def newton(
    frequencies: Floats,
    forward: Map,
    backward: Map,
    shares: Floats,
    tolerance: float,
    steps: int = 20,
    cost: Floats | float = 1.0,
) -> Floats:
    """Minimise F(h) = cost.h - sum f log(C'h) over h >= 0, starting at `shares`; gives h scaled to sum to one.

    With cost 1 that is the maximum likelihood. With cost 1 + lambda a it is the maximum among all shares with the same
    a.h: the two have the same conditions, C (f / C'h) = alpha + beta a where h > 0.

    Each step minimises the quadratic model of F over h >= 0 and goes toward that point as far as F falls. It stops
    when the largest gradient component says that nothing is left to gain, or when a step stops helping.

    References
    ----------
    Kim, Carbonetto, Stephens, Anitescu (2020), J. Comput. Graph. Statist. 29, 261-273 (the quadratic programs);
    Dostal (1997), SIAM J. Optim. 7, 871-887 (their solution by projected conjugate gradients).
    """
    seen = frequencies > 0

    def ratio(probabilities: Floats, power: int) -> Floats:
        return np.divide(frequencies, probabilities**power, out=np.zeros_like(probabilities), where=seen)

    def loss(point: Floats) -> tuple[float, Floats]:
        probabilities = forward(point)
        inside = probabilities[seen]
        if inside.size and inside.min() <= 0:
            return np.inf, probabilities
        return float(np.sum(cost * point) - frequencies[seen] @ np.log(inside)), probabilities

    value, probabilities = loss(shares)
    for _ in range(steps):
        if not np.isfinite(value):
            break
        pull = backward(ratio(probabilities, 1))
        slope: Floats = cost - pull
        gap = float(np.sum(cost * shares)) * float(np.max(pull / cost)) - 1.0
        if gap <= tolerance:
            break
        curvature = ratio(probabilities, 2)
        hessian = _Hessian(curvature, forward, backward)
        toward = _bounded_quadratic(hessian, slope, shares, min(0.05, np.sqrt(gap))) - shares
        fall, length = float(np.sum(slope * toward)), 1.0
        while length > 1e-4:
            ahead, there = loss(shares + length * toward)
            if ahead <= value + 1e-4 * length * fall:
                break
            length /= 2
        else:
            break
        shares, value, probabilities = shares + length * toward, ahead, there
    result: Floats = shares / shares.sum()
    return result


class _Hessian:
    """H v = C diag(f / p^2) C' v, and a bound of its largest eigenvalue."""

    def __init__(self, curvature: Floats, forward: Map, backward: Map) -> None:
        self.curvature, self.forward, self.backward = curvature, forward, backward

    def __call__(self, vector: Floats) -> Floats:
        return self.backward(self.curvature * self.forward(vector))

    def largest(self, shares: Floats) -> float:
        # A channel spreads every share over all reports, so the leading direction is nearly constant.
        vector, size = np.full(shares.shape, shares.size**-0.5), 1.0
        for _ in range(3):
            image = self(vector)
            size = float(np.sqrt(np.sum(image * image)))
            vector = image / size
        return size


def _bounded_quadratic(
    hessian: _Hessian, slope: Floats, start: Floats, accuracy: float, most: int = 150
) -> Floats:
    """Minimise slope.d + d.H d / 2 with start + d >= 0: conjugate gradients on the free shares.

    When a step would cross zero it stops there and restarts; when the fixed shares push harder than the free ones,
    they are released along their own gradient.
    """
    step = 1.0 / hessian.largest(start)
    point, gradient = start.copy(), slope.copy()

    def split() -> tuple[Floats, Floats]:
        free = point > 0
        return np.where(free, gradient, 0.0), np.where(free, 0.0, np.minimum(gradient, 0.0))

    inner, release = split()
    direction = inner
    tolerance = accuracy**2 * float(np.sum(inner**2) + np.sum(release**2))
    for _ in range(most):
        if float(np.sum(inner**2) + np.sum(release**2)) <= tolerance:
            break
        if np.sum(release**2) > np.sum(np.minimum(point / step, inner) * inner):
            image = hessian(release)
            length = float(np.sum(release * gradient) / np.sum(release * image))
            point, gradient = point - length * release, gradient - length * image
            inner, release = split()
            direction = inner
            continue
        image = hessian(direction)
        bend = float(np.sum(direction * image))
        if bend <= 0:
            break
        length = float(np.sum(direction * gradient)) / bend
        shrinking = direction > 0
        room = np.inf
        if np.any(shrinking):
            room = float(np.min(point[shrinking] / direction[shrinking]))
        if length <= room:
            point, gradient = point - length * direction, gradient - length * image
            inner, release = split()
            direction = inner - float(np.sum(inner * image)) / bend * direction
        else:
            point, gradient = point - room * direction, gradient - room * image
            point = np.maximum(point - step * np.where(point > 0, gradient, 0.0), 0.0)
            gradient = slope + hessian(point - start)
            inner, release = split()
            direction = inner
    result: Floats = np.maximum(point, 0.0)
    return result
