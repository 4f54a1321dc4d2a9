"""The likelihood behind regression with randomized variables, with exact first and second derivatives.

Respondent i reports z_i for the outcome and u_i for the randomized predictors. With the true predictors in one of J
classes, L_i = sum_j P(u_i | j) pi_ij(gamma) g_ij(beta), where pi_ij is a multinomial logit on exact covariates and g_ij
the outcome's model seen through its own channel. Without randomized predictors J = 1. Scores and information of such a
mixture follow from the complete-data ones (Louis 1982).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError

from .outcomes import TINY, BinaryOutcome, Outcome, Terms


def log_f(theta: Floats, shrunk: Floats) -> tuple[float, Floats]:
    """Return the log-F(1, 1) prior, as a logarithm, of the coefficients marked with 1, and its slope."""
    value = float(shrunk @ (theta / 2.0 - np.logaddexp(0.0, theta)))
    return value, np.asarray(shrunk * (0.5 - special.expit(theta)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Penalized:
    """A likelihood times a log-F(1, 1) prior on every coefficient of size-one columns.

    The log prior t/2 - log(1 + e^t) weighs as much as one answer, half Yes and half No, at t = 1. It is concave and
    falls without bound, so that separated data have a maximum; otherwise it moves a fit by little.

    References
    ----------
    Greenland, Mansournia (2015), Statist. Med. 34, 3133-3143; Heinze, Schemper (2002), Statist. Med. 21, 2409-2419.
    """

    base: Likelihood

    @property
    def outcome(self) -> Outcome:
        """The outcome's model."""
        return self.base.outcome

    @property
    def weights(self) -> Floats:
        """One weight a respondent."""
        return self.base.weights

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of coefficients: outcome, classes' model, extra."""
        return self.base.sizes

    def _shrunk(self, size: int) -> Floats:
        """Which coefficients the prior holds: log-odds, not those of a number, nor further parameters."""
        width, inner, _ = self.sizes
        shrunk = np.zeros(size)
        shrunk[: width + inner] = 1.0
        if not self.outcome.log_odds:
            shrunk[:width] = 0.0
        return shrunk

    def evaluate(self, theta: Floats) -> Evaluation:
        """Add the prior; its slope is shared out over the respondents."""
        plain, held = self.base.evaluate(theta), self._shrunk(len(theta))
        high = special.expit(theta)
        value, slope = log_f(theta, held)
        return Evaluation(
            plain.log_likelihood + value,
            plain.scores + slope / float(self.weights.sum()),
            plain.information + np.diag(held * high * (1.0 - high)),
        )

    def expected_information(self, theta: Floats) -> Floats:
        """Add the prior's curvature."""
        high = special.expit(theta)
        bend = self._shrunk(len(theta)) * high * (1.0 - high)
        return self.base.expected_information(theta) + np.diag(bend)


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
    classes' model, `seen` the n x J chances of the predictors' reports, `weights` one weight a respondent. Parameters
    are the p coefficients of each linear predictor, then those of the classes' model, then the outcome's further ones.
    """

    outcome: Outcome
    design: Floats
    covariates: Floats
    seen: Floats
    weights: Floats
    offset: float = 0.0
    """What each respondent's log-likelihood lacks: the chances of sets are given times the number of all sets."""

    @property
    def base(self) -> Likelihood:
        """The likelihood without a prior: itself."""
        return self

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of coefficients: outcome, classes' model, extra."""
        classes = len(self.design)
        width = self.design.shape[2] * self.outcome.lines
        return width, (classes - 1) * self.covariates.shape[1], self.outcome.extra

    def split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Coefficients of the linear predictors (R x p), of the classes' model, and the further ones."""
        width, inner, _ = self.sizes
        beta = theta[:width].reshape(self.outcome.lines, -1)
        gamma = theta[width : width + inner].reshape(-1, self.covariates.shape[1])
        return beta, gamma, theta[width + inner :]

    def class_chances(self, gamma: Floats) -> Floats:
        """Multinomial logit with the first class as base: n x J."""
        lines = np.concatenate([np.zeros((len(self.covariates), 1)), self.covariates @ gamma.T], axis=1)
        return np.asarray(special.softmax(lines, axis=1), dtype=np.float64)

    def joint(self, theta: Floats) -> tuple[list[Terms], Floats, Floats]:
        """Terms of the outcome in every class, the classes' chances, and log P(reports, class) (n x J)."""
        beta, gamma, extra = self.split(theta)
        chances = self.class_chances(gamma)
        terms = [self.outcome.terms(design @ beta.T, extra) for design in self.design]
        joint = np.stack([term.log for term in terms], axis=1) + np.log(np.maximum(chances * self.seen, TINY))
        return terms, chances, joint

    def evaluate(self, theta: Floats) -> Evaluation:
        """Return log-likelihood, scores and observed information at a point."""
        terms, chances, joint = self.joint(theta)
        log_likelihoods = special.logsumexp(joint, axis=1)
        posterior = np.exp(joint - log_likelihoods[:, None])
        width, inner, _ = self.sizes
        scores = np.zeros((len(self.weights), len(theta)))
        hessian = np.zeros((len(theta), len(theta)))
        for j, term in enumerate(terms):
            mine = self._class_scores(j, term, chances, len(theta))
            share = self.weights * posterior[:, j]
            scores += posterior[:, j : j + 1] * mine
            hessian += mine.T @ (share[:, None] * mine)
            self._add_bend(hessian, self.design[j], term, share)
        if inner:
            hessian[width : width + inner, width : width + inner] += self._class_curvature(chances)
        hessian -= scores.T @ (self.weights[:, None] * scores)
        return Evaluation(float(self.weights @ (log_likelihoods + self.offset)), scores, -hessian)

    def scores(self, theta: Floats) -> Floats:
        """Return each respondent's score alone."""
        terms, chances, joint = self.joint(theta)
        posterior = special.softmax(joint, axis=1)
        scores = np.zeros((len(self.weights), len(theta)))
        for j, term in enumerate(terms):
            scores += posterior[:, j : j + 1] * self._class_scores(j, term, chances, len(theta))
        return scores

    def _add_bend(self, hessian: Floats, design: Floats, term: Terms, share: Floats) -> None:
        """Add the complete-data second derivatives of the outcome in one class."""
        lines, p = self.outcome.lines, design.shape[1]
        width, inner, extra = self.sizes
        tail = width + inner
        for r in range(lines):
            rows = slice(r * p, (r + 1) * p)
            for s in range(lines):
                weight = share * term.second[:, r, s]
                hessian[rows, s * p : (s + 1) * p] += design.T @ (weight[:, None] * design)
            if extra:
                mixed = design.T @ (share[:, None] * term.second[:, r, lines:])
                hessian[rows, tail:] += mixed
                hessian[tail:, rows] += mixed.T
        if extra:
            hessian[tail:, tail:] += np.einsum("n,nab->ab", share, term.second[:, lines:, lines:])

    def _class_scores(self, j: int, term: Terms, chances: Floats, size: int) -> Floats:
        """Complete-data score of every respondent, were they in class j."""
        width, inner, extra = self.sizes
        lines = self.outcome.lines
        scores = np.empty((len(self.weights), size))
        products = term.first[:, :lines, None] * self.design[j][:, None, :]
        scores[:, :width] = products.reshape(len(scores), -1)
        if inner:
            member = np.zeros(chances.shape[1])
            member[j] = 1.0
            gaps = member[1:] - chances[:, 1:]
            scores[:, width : width + inner] = (gaps[:, :, None] * self.covariates[:, None, :]).reshape(
                len(scores), -1
            )
        if extra:
            scores[:, width + inner :] = term.first[:, lines:]
        return scores

    def _class_curvature(self, chances: Floats) -> Floats:
        """Second derivative of log pi, the same for every class: -(diag(pi) - pi pi') x (z z')."""
        rest = chances[:, 1:]
        blocks = np.eye(rest.shape[1]) * rest[:, :, None] - rest[:, :, None] * rest[:, None, :]
        weighted = blocks * self.weights[:, None, None]
        curvature = np.einsum("nab,nc,nd->acbd", weighted, self.covariates, self.covariates, optimize=True)
        size = rest.shape[1] * self.covariates.shape[1]
        return -np.asarray(curvature, dtype=np.float64).reshape(size, size)

    def expected_information(self, theta: Floats) -> Floats:
        """Fisher information of a yes/no outcome without randomized predictors."""
        outcome = self.outcome
        if not isinstance(outcome, BinaryOutcome) or len(self.design) != 1 or outcome.extra:
            raise AnalysisError(
                "expected information exists here for exact predictors and a yes/no outcome of known design only",
                "use observed",
            )
        design = self.design[0]
        weight = self.weights * outcome.fisher(design @ theta)
        return np.asarray(design.T @ (weight[:, None] * design), dtype=np.float64)


class Evaluable(Protocol):
    """A likelihood, penalized or not, as the search sees it."""

    @property
    def base(self) -> Likelihood:
        """The likelihood without a prior."""

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
        """Return log-likelihood, scores and observed information at a point."""

    def expected_information(self, theta: Floats) -> Floats:
        """Return the Fisher information."""
