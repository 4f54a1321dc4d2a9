"""A random intercept: groups (or people with several answers) differ by a normal shift of the linear predictor.

The shift is summed out by adaptive Gauss-Hermite quadrature. Nodes lie around the mode of each group's likelihood,
spread by the expected information there, as lme4 does; with one node this is Laplace's approximation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.sample.columns import Codes

from .likelihood import log_f
from .links import chance_of
from .outcomes import TINY, BinaryOutcome

LEAST = -6.0  # logarithm of a standard deviation below which the groups do not differ
STEP = 1e-4
_MANY = 9  # from so many nodes on, the slope at fixed nodes is the slope
_CURVE = 1e-3
_MOST_STEPS, _LONGEST = 60, 2.0  # of Newton's search; in columns of size one
_LARGEST = 3.5  # logarithm of a standard deviation beyond which groups are all Yes or all No
_SETTLED = 1e-13  # what a step may still promise of the mean log-likelihood


# Found by eigenvalues, and asked for at every step of a search.
_gauss_hermite = cache(np.polynomial.hermite.hermgauss)


@dataclass(frozen=True, eq=False)
class RandomIntercept:
    """The likelihood of coefficients, unknown shares (log-odds) and the shift's standard deviation (logarithm)."""

    outcome: BinaryOutcome
    design: Floats
    groups: Codes
    points: int
    times: Floats
    """For how many respondents each row stands."""
    prior: bool = False
    """Whether a weak prior holds the coefficients, as in `Penalized`."""
    memory: dict[str, Floats] = field(default_factory=dict, repr=False)

    @property
    def count(self) -> int:
        """The number of groups."""
        return int(self.groups.max()) + 1

    def _sums(self, values: Floats) -> Floats:
        weighed = self.times * values
        return np.asarray(np.bincount(self.groups, weights=weighed, minlength=self.count), dtype=np.float64)

    def _parts(self, theta: Floats) -> tuple[Floats, BinaryOutcome, float]:
        """Return the linear predictor without shifts, the outcome at its unknown shares, and the standard deviation."""
        width = self.design.shape[1]
        return self.design @ theta[:width], self.outcome.known(theta[width:-1]), math.exp(theta[-1])

    def _logs(self, outcome: BinaryOutcome, eta: Floats) -> tuple[Floats, Floats]:
        """Return log g and its slope."""
        high, low, slope, _ = chance_of(outcome.link)(eta)
        likely = np.maximum(outcome.no * low + outcome.yes * high, TINY)
        return np.log(likely), (outcome.yes - outcome.no) * slope / likely

    def modes(self, theta: Floats) -> tuple[Floats, Floats]:
        """Find each group's most likely shift (in standard deviations), and the information there."""
        base, outcome, sd = self._parts(theta)
        shift = self.memory.get("modes", np.zeros(self.count)).copy()

        def height(at: Floats) -> Floats:
            return self._sums(self._logs(outcome, base + sd * at[self.groups])[0]) - 0.5 * at**2

        now = height(shift)
        for _ in range(100):
            eta = base + sd * shift[self.groups]
            slope = sd * self._sums(self._logs(outcome, eta)[1]) - shift
            information = 1.0 + sd**2 * self._sums(outcome.fisher(eta))
            step = slope / information
            if np.max(np.abs(step)) < 1e-10:
                break
            for _ in range(30):
                height_there = height(shift + step)
                worse = height_there < now - 1e-12
                if not worse.any():
                    break
                step = np.where(worse, step / 2.0, step)
            shift, now = shift + step, height_there
        self.memory["modes"] = shift
        eta = base + sd * shift[self.groups]
        return shift, 1.0 + sd**2 * self._sums(outcome.fisher(eta))

    def log_likelihood(self, theta: Floats) -> float:
        """Sum the shifts out."""
        _, parts, _, spread = self._nodes(theta)
        return float(np.sum(special.logsumexp(parts, axis=0) + np.log(math.sqrt(2.0) * spread)))

    def weak_prior(self, theta: Floats) -> tuple[float, Floats]:
        """Return the prior of the coefficients, as a logarithm, and its slope: 0 where there is none."""
        shrunk = np.zeros(len(theta))
        shrunk[: self.design.shape[1]] = float(self.prior)
        return log_f(theta, shrunk)

    def height(self, theta: Floats) -> float:
        """Return what is maximised: the log-likelihood, with the prior where there is one."""
        return self.log_likelihood(theta) + self.weak_prior(theta)[0]

    def evaluate(self, theta: Floats) -> tuple[float, Floats]:
        """Return the height and its slope; the latter with the nodes where they are, exact but for few nodes."""
        base, outcome, sd = self._parts(theta)
        shifts, parts, slopes, spread = self._nodes(theta)
        log_likelihoods = special.logsumexp(parts, axis=0)
        share = np.exp(parts - log_likelihoods)[:, self.groups]
        share = share * self.times
        own_slope = np.sum(share * slopes, axis=0)
        of_sd = float(np.sum(share * slopes * sd * shifts[:, self.groups]))
        value = float(np.sum(log_likelihoods + np.log(math.sqrt(2.0) * spread)))
        extra = theta[self.design.shape[1] : -1]
        of_shares = np.zeros(len(extra))
        for q in range(self.points if len(extra) else 0):
            high, low, _, _ = chance_of(outcome.link)(base + sd * shifts[q][self.groups])
            likely = np.maximum(outcome.no * low + outcome.yes * high, TINY)
            of_shares += self.outcome.moves(high, low, extra) @ (share[q] / likely)
        slope = np.concatenate([self.design.T @ own_slope, of_shares, [of_sd]])
        more, bend = self.weak_prior(theta)
        return value + more, slope + bend

    def _nodes(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return shifts of each node and group, the logarithm of their weights, each person's slope, and the spread."""
        base, outcome, sd = self._parts(theta)
        middle, information = self.modes(theta)
        spread = information**-0.5
        nodes, weights = _gauss_hermite(self.points)
        parts = np.empty((self.points, self.count))
        slopes = np.empty((self.points, len(base)))
        shifts = np.empty((self.points, self.count))
        for q, (node, weight) in enumerate(zip(nodes, weights, strict=True)):
            shifts[q] = middle + math.sqrt(2.0) * spread * node
            logs, slopes[q] = self._logs(outcome, base + sd * shifts[q][self.groups])
            parts[q] = math.log(weight) + node**2 + self._sums(logs) - 0.5 * shifts[q] ** 2
        return shifts, parts - 0.5 * math.log(2.0 * math.pi), slopes, spread

    def answers(self, theta: Floats, rng: np.random.Generator | None = None) -> Floats:
        """Return each person's chances of No and Yes, given all reports of their group (n x 2).

        With a generator each group's shift is drawn once from what its reports leave of it, so that the answers of one
        group hang together as they should.
        """
        base, outcome, sd = self._parts(theta)
        shifts, parts, _, _ = self._nodes(theta)
        share = np.exp(parts - special.logsumexp(parts, axis=0))
        if rng is not None:
            node = (rng.random(self.count) > np.cumsum(share, axis=0)).sum(axis=0)
            share = np.eye(self.points)[:, np.minimum(node, self.points - 1)]
        chances = np.zeros((len(base), 2))
        for q in range(self.points):
            high, low, _, _ = chance_of(outcome.link)(base + sd * shifts[q][self.groups])
            both = outcome.with_report(low, high, np.zeros(0))
            chances += (
                share[q][self.groups][:, None] * both / np.maximum(both.sum(axis=1, keepdims=True), TINY)
            )
        return chances

    def curved(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Return the height, its slope and its second derivatives, at fixed nodes; there is no unknown share."""
        base, outcome, sd = self._parts(theta)
        width, size = self.design.shape[1], len(theta)
        middle, information = self.modes(theta)
        spread = information**-0.5
        nodes, weights = _gauss_hermite(self.points)
        heights = np.empty((self.points, self.count))
        scores = np.empty((self.points, self.count, size))
        firsts, seconds = np.empty((2, self.points, len(base)))
        shifts = middle + math.sqrt(2.0) * np.outer(nodes, spread)
        for q in range(self.points):
            eta = base + sd * shifts[q][self.groups]
            high, low, slope, bend = chance_of(outcome.link)(eta)
            likely = np.maximum(outcome.no * low + outcome.yes * high, TINY)
            gap = (outcome.yes - outcome.no) / likely
            firsts[q] = gap * slope
            seconds[q] = gap * bend - firsts[q] ** 2
            heights[q] = (
                math.log(weights[q]) + nodes[q] ** 2 + self._sums(np.log(likely)) - 0.5 * shifts[q] ** 2
            )
            for k in range(width):
                scores[q, :, k] = self._sums(firsts[q] * self.design[:, k])
            scores[q, :, -1] = sd * shifts[q] * self._sums(firsts[q])
        log_likelihoods = special.logsumexp(heights, axis=0)
        share = np.exp(heights - log_likelihoods)
        value = float(np.sum(log_likelihoods + np.log(spread) - 0.5 * math.log(math.pi)))
        mean = np.einsum("qg,qgk->gk", share, scores)
        # Louis (1982): the mean curvature, and the spread of the scores over the nodes.
        hessian = np.einsum("qg,qga,qgb->ab", share, scores, scores, optimize=True) - mean.T @ mean
        of_row = self.times * share[:, self.groups]
        moved = sd * shifts[:, self.groups]
        curve = np.einsum("qn,qn->n", of_row, seconds)
        crossed = np.einsum("qn,qn,qn->n", of_row, seconds, moved)
        hessian[:width, :width] += (self.design * curve[:, None]).T @ self.design
        hessian[:width, -1] += crossed @ self.design
        hessian[-1, :width] += crossed @ self.design
        hessian[-1, -1] += float(np.einsum("qn,qn,qn->", of_row, seconds, moved**2))
        hessian[-1, -1] += float(np.einsum("qn,qn,qn->", of_row, firsts, moved))
        slope = mean.sum(axis=0)
        more, bend = self.weak_prior(theta)
        if self.prior:
            chance = special.expit(theta[:width])
            hessian[range(width), range(width)] -= chance * (1.0 - chance)
        return value + more, slope + bend, hessian

    def _with_nodes(self, points: int) -> RandomIntercept:
        return replace(self, points=points, memory=self.memory)

    def _newton(self, point: Floats, held: Mapping[int, float]) -> tuple[Floats, float]:
        """Maximise over what is not held by Newton's steps, shortened where they overshoot."""
        free = np.array([k for k in range(len(point)) if k not in held])
        last, n = len(point) - 1, float(self.times.sum())
        exact = self
        if self.points < _MANY:
            # Nearly the same place, and found without differences.
            exact = self._with_nodes(_MANY)
            point = exact._newton(point, held)[0]
        height = self.height(point)
        for _ in range(_MOST_STEPS):
            value, slope, hessian = exact.curved(point)
            if exact is not self:
                slope = self._slope(point, free)
            else:
                height = value
            values, vectors = np.linalg.eigh(-hessian[np.ix_(free, free)])
            curves = np.maximum(np.abs(values), 1e-6 * max(float(np.abs(values).max()), 1e-12))
            step = vectors @ ((vectors.T @ slope[free]) / curves)
            gain = float(step @ slope[free])
            if gain / n < _SETTLED:
                break
            step *= min(1.0, _LONGEST / float(np.abs(step).max()))
            for _ in range(20):
                moved = point.copy()
                moved[free] += step
                if last not in held:
                    moved[last] = min(max(moved[last], LEAST - 1.0), _LARGEST)
                height_there = self.height(moved)
                if height_there >= height - 1e-12 * n:
                    break
                step = step / 2.0
            else:
                break
            gained, point, height = height_there - height, moved, height_there
            if gained < _SETTLED * n or (last not in held and not LEAST - 1.0 < point[last] < _LARGEST):
                break
        return point, height

    def _slope(self, theta: Floats, free: npt.NDArray[np.int64]) -> Floats:
        """Return the slope by central differences: few nodes move with the parameters."""
        slope = np.zeros(len(theta))
        for position in free.tolist():
            move = np.zeros(len(theta))
            move[position] = STEP
            slope[position] = (self.height(theta + move) - self.height(theta - move)) / (2.0 * STEP)
        return slope

    def maximum(self, start: Floats, fixed: Mapping[int, float] | None = None) -> tuple[Floats, float]:
        """Maximise over what is not fixed."""
        held = dict(fixed or {})
        # Separated groups, which a prior holds, are flat for long: quasi-Newton steps cross that better.
        if len(start) == self.design.shape[1] + 1 and len(held) < len(start) and not self.prior:
            at = np.array(start, dtype=np.float64)
            for position, value in held.items():
                at[position] = value
            return self._newton(at, held)
        free = np.array([k for k in range(len(start)) if k not in held])
        point = np.array(start, dtype=np.float64)
        for position, value in held.items():
            point[position] = value
        n, last = float(self.times.sum()), len(start) - 1

        def full(values: Floats) -> Floats:
            theta = point.copy()
            theta[free] = values
            if last not in held:
                theta[last] = max(theta[last], LEAST - 1.0)
            return theta

        def height(values: Floats) -> float:
            return -self.height(full(values)) / n

        def both(values: Floats) -> tuple[float, Floats]:
            value, slope = self.evaluate(full(values))
            if self.points >= _MANY:
                return -value / n, np.asarray(-slope[free] / n, dtype=np.float64)
            moves = STEP * np.eye(len(values))
            slopes = [(height(values + m) - height(values - m)) / (2.0 * STEP) for m in moves]
            return -value / n, np.array(slopes)

        if not len(free):
            return point, self.height(point)
        minimum = optimize.minimize(both, point[free], jac=True, method="BFGS", options={"gtol": 1e-7})
        best = full(minimum.x)
        return best, self.height(best)

    def information(self, theta: Floats, free: list[int]) -> Floats:
        """Return the observed information; with few nodes or unknown shares by central differences."""
        if self.points >= _MANY and len(theta) == self.design.shape[1] + 1:
            return np.asarray(-self.curved(theta)[2][np.ix_(free, free)], dtype=np.float64)
        size = len(free)
        result = np.empty((size, size))
        moves = _CURVE * np.eye(len(theta))[free]

        def at(move: Floats) -> float:
            return self.height(theta + move)

        middle = at(np.zeros(len(theta)))
        for a in range(size):
            result[a, a] = -(at(moves[a]) - 2.0 * middle + at(-moves[a])) / _CURVE**2
            for b in range(a):
                high = at(moves[a] + moves[b]) + at(-moves[a] - moves[b])
                low = at(moves[a] - moves[b]) + at(moves[b] - moves[a])
                result[a, b] = result[b, a] = -(high - low) / (4.0 * _CURVE**2)
        return result
