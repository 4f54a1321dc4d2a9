"""A random intercept: groups (or people with several answers) differ by a normal shift of the linear predictor.

The shift is summed out by adaptive Gauss-Hermite quadrature. Nodes lie around the mode of each group's likelihood,
spread by the expected information there, as lme4 does; with one node this is Laplace's approximation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, special

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.columns import Codes, column_of
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError

from .families import Family
from .fit import ModelFit
from .fitting import fit_model
from .likelihood import Likelihood
from .links import chance_of
from .outcomes import TINY, BinaryOutcome
from .penalty import Penalized
from .reading import ModelData

__all__ = ["POINTS", "MixedFit", "RandomIntercept", "fit_mixed", "refuse_random"]

POINTS = 15
_LEAST = -6.0  # logarithm of a standard deviation below which the groups do not differ
_STARTS = (-1.5, 0.0)
_STEP = 1e-4
_MANY = 9  # from so many nodes on, the slope at fixed nodes is the slope
_CURVE = 1e-3


@dataclass(frozen=True, eq=False)
class RandomIntercept:
    """The likelihood of coefficients and the logarithm of the shift's standard deviation."""

    outcome: BinaryOutcome
    design: Floats
    groups: Codes
    points: int
    memory: dict[str, Floats] = field(default_factory=dict, repr=False)

    @property
    def count(self) -> int:
        """The number of groups."""
        return int(self.groups.max()) + 1

    def _sums(self, values: Floats) -> Floats:
        return np.asarray(np.bincount(self.groups, weights=values, minlength=self.count), dtype=np.float64)

    def _logs(self, eta: Floats) -> tuple[Floats, Floats]:
        """Give log g and its slope."""
        high, low, slope, _ = chance_of(self.outcome.link)(eta)
        likely = np.maximum(self.outcome.no * low + self.outcome.yes * high, TINY)
        return np.log(likely), (self.outcome.yes - self.outcome.no) * slope / likely

    def modes(self, theta: Floats) -> tuple[Floats, Floats]:
        """Find each group's most likely shift (in standard deviations), and the information there."""
        base, sd = self.design @ theta[:-1], math.exp(theta[-1])
        shift = self.memory.get("modes", np.zeros(self.count)).copy()

        def height(at: Floats) -> Floats:
            return self._sums(self._logs(base + sd * at[self.groups])[0]) - 0.5 * at**2

        now = height(shift)
        for _ in range(100):
            eta = base + sd * shift[self.groups]
            slope = sd * self._sums(self._logs(eta)[1]) - shift
            information = 1.0 + sd**2 * self._sums(self.outcome.fisher(eta))
            step = slope / information
            if np.max(np.abs(step)) < 1e-10:
                break
            for _ in range(30):
                found = height(shift + step)
                worse = found < now - 1e-12
                if not worse.any():
                    break
                step = np.where(worse, step / 2.0, step)
            shift, now = shift + step, found
        self.memory["modes"] = shift
        eta = base + sd * shift[self.groups]
        return shift, 1.0 + sd**2 * self._sums(self.outcome.fisher(eta))

    def log_likelihood(self, theta: Floats) -> float:
        """Sum the shifts out."""
        return self.evaluate(theta)[0]

    def evaluate(self, theta: Floats) -> tuple[float, Floats]:
        """Give the log-likelihood and its slope; the latter with the nodes where they are, exact but for few nodes."""
        base, sd = self.design @ theta[:-1], math.exp(theta[-1])
        middle, information = self.modes(theta)
        spread = information**-0.5
        nodes, weights = np.polynomial.hermite.hermgauss(self.points)
        parts = np.empty((self.points, self.count))
        slopes = np.empty((self.points, len(base)))
        shifts = np.empty((self.points, self.count))
        for q, (node, weight) in enumerate(zip(nodes, weights, strict=True)):
            shifts[q] = middle + math.sqrt(2.0) * spread * node
            logs, slopes[q] = self._logs(base + sd * shifts[q][self.groups])
            parts[q] = math.log(weight) + node**2 + self._sums(logs) - 0.5 * shifts[q] ** 2
        parts -= 0.5 * math.log(2.0 * math.pi)
        each = special.logsumexp(parts, axis=0)
        share = np.exp(parts - each)[:, self.groups]
        own = np.sum(share * slopes, axis=0)
        of_sd = float(np.sum(share * slopes * sd * shifts[:, self.groups]))
        value = float(np.sum(each + np.log(math.sqrt(2.0) * spread)))
        return value, np.append(self.design.T @ own, of_sd)

    def maximum(self, start: Floats, fixed: Mapping[int, float] | None = None) -> tuple[Floats, float]:
        """Maximise over what is not fixed."""
        held = dict(fixed or {})
        free = np.array([k for k in range(len(start)) if k not in held])
        point = np.array(start, dtype=np.float64)
        for place, value in held.items():
            point[place] = value
        n, last = len(self.groups), len(start) - 1

        def full(values: Floats) -> Floats:
            whole = point.copy()
            whole[free] = values
            if last not in held:
                whole[last] = max(whole[last], _LEAST - 1.0)
            return whole

        def height(values: Floats) -> float:
            return -self.log_likelihood(full(values)) / n

        def both(values: Floats) -> tuple[float, Floats]:
            value, slope = self.evaluate(full(values))
            if self.points >= _MANY:
                return -value / n, np.asarray(-slope[free] / n, dtype=np.float64)
            moves = _STEP * np.eye(len(values))
            found = [(height(values + m) - height(values - m)) / (2.0 * _STEP) for m in moves]
            return -value / n, np.array(found)

        if not len(free):
            return point, self.log_likelihood(point)
        found = optimize.minimize(both, point[free], jac=True, method="BFGS", options={"gtol": 1e-7})
        best = full(found.x)
        return best, self.log_likelihood(best)

    def information(self, theta: Floats, free: list[int]) -> Floats:
        """Give the observed information by central differences."""
        size = len(free)
        result = np.empty((size, size))
        moves = _CURVE * np.eye(len(theta))[free]

        def at(move: Floats) -> float:
            return self.log_likelihood(theta + move)

        middle = at(np.zeros(len(theta)))
        for a in range(size):
            result[a, a] = -(at(moves[a]) - 2.0 * middle + at(-moves[a])) / _CURVE**2
            for b in range(a):
                high = at(moves[a] + moves[b]) + at(-moves[a] - moves[b])
                low = at(moves[a] - moves[b]) + at(moves[b] - moves[a])
                result[a, b] = result[b, a] = -(high - low) / (4.0 * _CURVE**2)
        return result


@dataclass(frozen=True, eq=False)
class MixedFit(ModelFit):
    """A fit with a random intercept; the last coefficient, sd(group), is its standard deviation.

    `predict` and `margins` are for a typical group, whose shift is 0 (lme4: re.form = NA).
    """

    groups: tuple[Any, ...] = ()
    random: RandomIntercept | None = field(default=None, repr=False)

    @property
    def sd(self) -> float:
        """The standard deviation of the shifts."""
        return float(self.coef[-1])

    def to_frame(self, everything: bool = False) -> pd.DataFrame:
        """Give coefficients with Wald intervals and tests; `everything` adds the standard deviation of the shifts.

        Its interval is normal on the logarithm, so that it stays above 0; a test against 0, its edge, is none of
        Wald's, and is left out.
        """
        frame = super().to_frame(everything=True)
        last = frame.index[-1]
        frame.loc[last, ["z", "p_value"]] = np.nan
        if self.sd > 0.0:
            ratio = math.exp(self.quantile() * float(self.se[-1]) / self.sd)
            frame.loc[last, ["low", "high"]] = self.sd / ratio, self.sd * ratio
        return frame if everything else frame.iloc[: self.outcome_size]

    def random_effects(self) -> pd.DataFrame:
        """Give each group's most likely shift, and its standard error given the coefficients."""
        assert self.random is not None
        shift, information = self.random.modes(self.theta)
        rows = {"shift": self.sd * shift, "se": self.sd * information**-0.5}
        return pd.DataFrame(rows, index=pd.Index(self.groups, name=self.data.random))

    @property
    def _top(self) -> float:
        return self.log_likelihood

    def _profile(self, k: int, value: float) -> float:
        assert self.random is not None
        fixed = {**self.held, k: value * float(self.data.scale[k])}
        return self.random.maximum(self.theta, fixed)[1]


def refuse_random(data: ModelData, what: str) -> None:
    """Refuse a random intercept where none can be fitted."""
    if data.random is not None:
        raise AnalysisError(
            f"{what} takes no random intercept (1 | {data.random})",
            f"leave it out and give clusters={data.random!r}, whose standard errors allow for groups that differ",
        )


def _check_known(data: ModelData, outcome: BinaryOutcome) -> None:
    """Refuse what the quadrature does not sum over."""
    group = f"(1 | {data.random})"
    if data.terms.randomized:
        raise AnalysisError(
            f"the predictor {data.terms.randomized[0][0]!r} was randomized, and a random intercept {group} goes with "
            "exact predictors only",
            f"leave {group} out and give clusters={data.random!r}",
        )
    if outcome.extra:
        raise AnalysisError(
            f"the share {outcome.unknown[0]!r} of the outcome's design is unknown, and a random intercept {group} goes "
            "with known designs only",
            f"leave {group} out and give clusters={data.random!r}",
        )


def fit_mixed(
    formula: str, data: ModelData, frame: pd.DataFrame, family: Family, level: float, points: int
) -> MixedFit:
    """Fit a yes/no outcome with a random intercept."""
    assert data.random is not None
    outcome = data.likelihood.outcome
    if isinstance(points, bool) or not isinstance(points, int) or not 1 <= points <= 100:
        raise AnalysisError(f"points is {points!r}", "give the number of quadrature points, 1 to 100")
    assert isinstance(outcome, BinaryOutcome)
    _check_known(data, outcome)
    codes, names = pd.factorize(column_of(frame, data.random), sort=True)
    if len(names) < 2:
        raise NotIdentifiedError(f"{data.random} has one group only", "a random intercept needs several")
    plain = fit_model(formula, data, family, level, "observed", None, "auto")
    base = (
        plain.data.likelihood.base if isinstance(plain.data.likelihood, Penalized) else plain.data.likelihood
    )
    assert isinstance(base, Likelihood)
    random = RandomIntercept(outcome, base.design[0], codes.astype(np.int64), points)
    found = [random.maximum(np.append(plain.theta, start)) for start in _STARTS]
    theta, top = max(found, key=lambda one: one[1])
    held: dict[int, float] = {}
    remarks: tuple[str, ...] = ()
    last = len(theta) - 1
    if theta[last] < _LEAST or top <= plain.log_likelihood + 1e-9:
        held = {last: -30.0}
        theta, top = np.append(plain.theta, -30.0), plain.log_likelihood
        remarks = (
            f"the groups of {data.random} do not differ more than chance: the standard deviation is 0",
        )
    free = [k for k in range(len(theta)) if k not in held]
    covariance = np.zeros((len(theta), len(theta)))
    inverse = np.asarray(np.linalg.inv(random.information(theta, free)), dtype=np.float64)
    covariance[np.ix_(free, free)] = inverse + _decoy_part(data, random, theta, free, inverse)
    return _finished(
        formula, data, family, level, random, (theta, top, covariance, held), tuple(names), remarks
    )


def _decoy_part(
    data: ModelData, random: RandomIntercept, theta: Floats, free: list[int], inverse: Floats
) -> Floats:
    """Give what a counted decoy share adds: the scores move with it, and the maximum with them."""
    result = np.zeros_like(inverse)
    for decoy in data.decoys:
        ends = []
        for side in (_STEP, -_STEP):
            outcome = decoy.at(side).outcome
            assert isinstance(outcome, BinaryOutcome)
            # Enough nodes that the slope at fixed nodes is the slope.
            ends.append(replace(random, outcome=outcome, points=POINTS, memory={}).evaluate(theta)[1][free])
        pull = inverse @ ((ends[0] - ends[1]) / (2.0 * _STEP))
        result += np.outer(pull, pull) * decoy.variance
    return result


def _finished(
    formula: str,
    data: ModelData,
    family: Family,
    level: float,
    random: RandomIntercept,
    found: tuple[Floats, float, Floats, dict[int, float]],
    groups: tuple[Any, ...],
    remarks: tuple[str, ...],
) -> MixedFit:
    theta, top, covariance, held = found
    sd = 0.0 if held else math.exp(theta[-1])
    scale = np.append(data.scale, 1.0)
    slope = np.diag(np.append(1.0 / data.scale, sd))
    read = slope @ covariance @ slope.T
    if held:
        read[-1, -1] = np.nan
    return MixedFit(
        formula=formula,
        family="mixed",
        link=family.link,
        n=len(random.groups),
        names=(*data.names, f"sd({data.random})"),
        coef=np.append(theta[:-1] / data.scale, sd),
        covariance=read,
        log_likelihood=top,
        level=level,
        information="observed",
        outcome_size=len(data.names),
        randomized=data.randomized,
        degrees_of_freedom=None,
        data=replace(data, scale=scale),
        theta=theta,
        slope=slope,
        held=held,
        remarks=remarks,
        groups=groups,
        random=random,
    )
