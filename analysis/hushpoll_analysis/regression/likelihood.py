"""The likelihood behind regression with randomized variables, with exact first and second derivatives.

Respondent i reports z_i for the outcome and u_i for the randomized predictors. With the true predictors in one of J
classes, L_i = sum_j P(u_i | j) pi_ij(gamma) g_ij(beta), where pi_ij is a multinomial logit on exact covariates and g_ij
the outcome's model seen through its own channel. Without randomized predictors J = 1. Scores and information of such a
mixture follow from the complete-data ones (Louis 1982).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import optimize, special, stats

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.errors import AnalysisError

__all__ = [
    "BinaryOutcome",
    "Evaluable",
    "Evaluation",
    "GaussianOutcome",
    "Likelihood",
    "Outcome",
    "best_maximum",
    "maximum",
]

_TINY = 1e-300
SCATTERED = 40  # points to look at before the search starts from the best two of them
REACHES = (
    2.0,
    8.0,
    30.0,
)  # how far: columns have size one, so coefficients are of the order of one, or run away


@dataclass(frozen=True)
class OutcomeTerms:
    """log g and its derivatives in the linear predictor and, for a Gaussian, the log standard deviation."""

    log: Floats
    first: Floats
    second: Floats
    scale: Floats | None = None
    scale_second: Floats | None = None
    mixed: Floats | None = None


class Outcome(Protocol):
    """What the likelihood needs to know of an outcome."""

    @property
    def extra(self) -> int:
        """Number of parameters beside the coefficients."""

    def terms(self, eta: Floats, extra: Floats) -> OutcomeTerms:
        """Give log g and its derivatives at a linear predictor."""


@dataclass(frozen=True, eq=False)
class BinaryOutcome:
    """A yes/no outcome: `no` and `yes` are the chances of each respondent's report under either truth."""

    no: Floats
    yes: Floats
    link: str
    extra: int = 0

    def chance(self, eta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Give P(yes), P(no) and the first two derivatives of P(yes) in the linear predictor."""
        if self.link == "probit":
            density = stats.norm.pdf(eta)
            return special.ndtr(eta), special.ndtr(-eta), density, -eta * density
        high, low = special.expit(eta), special.expit(-eta)
        return high, low, high * low, high * low * (low - high)

    def terms(self, eta: Floats, extra: Floats) -> OutcomeTerms:
        """Give log(c0 (1 - mu) + c1 mu) and its derivatives."""
        high, low, slope, bend = self.chance(eta)
        likely = np.maximum(self.no * low + self.yes * high, _TINY)
        gap = self.yes - self.no
        first = gap * slope / likely
        return OutcomeTerms(np.log(likely), first, gap * bend / likely - first**2)


@dataclass(frozen=True, eq=False)
class GaussianOutcome:
    """An exact number with normal errors; the extra parameter is the log of their standard deviation."""

    values: Floats
    extra: int = 1

    def terms(self, eta: Floats, extra: Floats) -> OutcomeTerms:
        """Give the normal log density and its derivatives."""
        precision = float(np.exp(-2.0 * extra[0]))
        error = self.values - eta
        square = error**2 * precision
        log = -0.5 * np.log(2.0 * np.pi) - extra[0] - 0.5 * square
        second = np.full_like(error, -precision)
        return OutcomeTerms(
            log, error * precision, second, square - 1.0, -2.0 * square, -2.0 * error * precision
        )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The log-likelihood at one point, each respondent's score, and the observed information."""

    log_likelihood: float
    scores: Floats
    information: Floats


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Data of a model.

    `design` is J x n x p (the outcome's model matrix if the predictors were in class j), `covariates` n x q of the
    classes' model, `seen` the n x J chances of the predictors' reports, `weights` one weight a respondent.
    """

    outcome: Outcome
    design: Floats
    covariates: Floats
    seen: Floats
    weights: Floats

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of coefficients: outcome, classes' model, extra."""
        classes, _, width = self.design.shape
        return width, (classes - 1) * self.covariates.shape[1], self.outcome.extra

    def _split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        width, inner, _ = self.sizes
        gamma = theta[width : width + inner].reshape(-1, self.covariates.shape[1])
        return theta[:width], gamma, theta[width + inner :]

    def class_chances(self, gamma: Floats) -> Floats:
        """Multinomial logit with the first class as base: n x J."""
        lines = np.concatenate([np.zeros((len(self.covariates), 1)), self.covariates @ gamma.T], axis=1)
        return np.asarray(special.softmax(lines, axis=1), dtype=np.float64)

    def evaluate(self, theta: Floats) -> Evaluation:
        """Give log-likelihood, scores and observed information at a point."""
        beta, gamma, extra = self._split(theta)
        chances = self.class_chances(gamma)
        terms = [self.outcome.terms(design @ beta, extra) for design in self.design]
        joint = np.stack([one.log for one in terms], axis=1) + np.log(np.maximum(chances * self.seen, _TINY))
        each = special.logsumexp(joint, axis=1)
        posterior = np.exp(joint - each[:, None])
        width, inner, _ = self.sizes
        scores = np.zeros((len(self.weights), len(theta)))
        hessian = np.zeros((len(theta), len(theta)))
        for j, one in enumerate(terms):
            mine = self._class_scores(j, one, chances, len(theta))
            share = (self.weights * posterior[:, j])[:, None]
            scores += posterior[:, j : j + 1] * mine
            hessian += mine.T @ (share * mine)
            design = self.design[j]
            hessian[:width, :width] += design.T @ (share * one.second[:, None] * design)
            if one.scale_second is not None and one.mixed is not None:
                hessian[-1, -1] += float(share[:, 0] @ one.scale_second)
                mixed = design.T @ (share[:, 0] * one.mixed)
                hessian[:width, -1] += mixed
                hessian[-1, :width] += mixed
        if inner:
            hessian[width : width + inner, width : width + inner] += self._class_curvature(chances)
        hessian -= scores.T @ (self.weights[:, None] * scores)
        return Evaluation(float(self.weights @ each), scores, -hessian)

    def _class_scores(self, j: int, one: OutcomeTerms, chances: Floats, size: int) -> Floats:
        """Give the complete-data score of every respondent, were they in class j."""
        width, inner, extra = self.sizes
        scores = np.empty((len(self.weights), size))
        scores[:, :width] = one.first[:, None] * self.design[j]
        if inner:
            member = np.zeros(chances.shape[1])
            member[j] = 1.0
            gaps = member[1:] - chances[:, 1:]
            scores[:, width : width + inner] = (gaps[:, :, None] * self.covariates[:, None, :]).reshape(
                len(scores), -1
            )
        if extra:
            assert one.scale is not None
            scores[:, -1] = one.scale
        return scores

    def _class_curvature(self, chances: Floats) -> Floats:
        """Second derivative of log pi, the same for every class: -(diag(pi) - pi pi') x (z z')."""
        rest = chances[:, 1:]
        blocks = np.eye(rest.shape[1]) * rest[:, :, None] - rest[:, :, None] * rest[:, None, :]
        weighted = blocks * self.weights[:, None, None]
        curvature = np.einsum("nab,nc,nd->acbd", weighted, self.covariates, self.covariates, optimize=True)
        size = rest.shape[1] * self.covariates.shape[1]
        return -np.asarray(curvature, dtype=np.float64).reshape(size, size)

    def expected_information(self, theta: Floats, reports: Floats) -> Floats:
        """Fisher information of a yes/no outcome without randomized predictors; `reports` is its 2 x M channel."""
        if not isinstance(self.outcome, BinaryOutcome) or len(self.design) != 1:
            raise AnalysisError(
                "expected information exists here for exact predictors and a yes/no outcome only",
                "use observed",
            )
        design = self.design[0]
        high, low, slope, _ = self.outcome.chance(design @ theta)
        chance = np.outer(low, reports[0]) + np.outer(high, reports[1])
        gaps = (reports[1] - reports[0]) ** 2
        possible = chance > 0.0
        weight = slope**2 * np.sum(np.where(possible, gaps / np.where(possible, chance, 1.0), 0.0), axis=1)
        return np.asarray(design.T @ ((self.weights * weight)[:, None] * design), dtype=np.float64)


class Evaluable(Protocol):
    """A likelihood, penalized or not, as the search sees it."""

    @property
    def weights(self) -> Floats:
        """One weight a respondent."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of coefficients: outcome, classes' model, extra."""

    @property
    def outcome(self) -> Outcome:
        """The outcome's model."""

    def evaluate(self, theta: Floats) -> Evaluation:
        """Give log-likelihood, scores and observed information at a point."""

    def expected_information(self, theta: Floats, reports: Floats) -> Floats:
        """Give the Fisher information."""


def best_maximum(likelihood: Evaluable, start: Floats) -> tuple[Floats, Evaluation, bool]:
    """Find the highest of several maxima: from `start`, and from the best of points scattered around it, near and far.

    A randomized outcome or predictor makes the likelihood a mixture, which may have several maxima, and one at infinity
    beside a finite one.
    """
    starts, rng = [start], np.random.default_rng(1)  # a fixed seed makes the fit repeat
    for reach in REACHES:
        around = start + rng.normal(0.0, reach, (SCATTERED, len(start)))
        heights = [likelihood.evaluate(point).log_likelihood for point in around]
        starts += [around[place] for place in np.argsort(heights)[::-1][:2]]
    found = [maximum(likelihood, one) for one in starts]
    settled = [one for one in found if one[2]]
    return max(settled or found, key=lambda one: one[1].log_likelihood)


def maximum(
    likelihood: Evaluable, start: Floats, fixed: tuple[int, float] | None = None
) -> tuple[Floats, Evaluation, bool]:
    """Maximise by a trust region with the exact Hessian; `fixed` holds one coefficient at a value.

    Returns the point, its evaluation, and whether the gradient vanished there.
    """
    free = np.ones(len(start), dtype=bool)
    point = np.array(start, dtype=np.float64)
    if fixed is not None:
        free[fixed[0]] = False
        point[fixed[0]] = fixed[1]
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
    found = optimize.minimize(
        height, point[free], jac=slope, hess=bend, method="trust-exact", options=options
    )
    point[free] = found.x
    evaluation = likelihood.evaluate(point)
    gradient = (likelihood.weights @ evaluation.scores)[free] / total
    return point, evaluation, bool(np.max(np.abs(gradient)) < 1e-6)
