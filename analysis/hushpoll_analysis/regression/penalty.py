"""A weak prior for samples whose likelihood has no maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from hushpoll_analysis.channel.base import Floats

from .likelihood import Evaluation, Likelihood
from .outcomes import Outcome


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
