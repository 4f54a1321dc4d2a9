"""Models with a random intercept: how they are fitted, and what a fit tells."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.columns import Codes, read_column
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError

from .families import Family
from .fit import ModelFit, NestedTest, chi2_tail
from .fitting import (
    ALWAYS,
    ASKED,
    BEYOND,
    EDGE,
    NEVER,
    PENALIZED,
    WILD,
    edge_note,
    fit_model,
    natural_scale,
    read_covariance,
)
from .likelihood import Likelihood
from .outcomes import BinaryOutcome
from .random_intercept import LEAST, STEP, RandomIntercept
from .reading import ModelData

__all__ = ["POINTS", "MixedFit", "RandomIntercept", "fit_mixed", "refuse_random"]

POINTS = 15
_STARTS = (-1.5, 0.0)


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

    def likelihood_ratio_test(self, smaller: ModelFit) -> NestedTest:
        """Test a smaller model of the same reports, also the one without the random intercept.

        A standard deviation of 0 lies at the edge of what is possible. The statistic is then distributed as an equal
        mixture of chi-squares with one degree of freedom less and with all of them (Self and Liang 1987).
        """
        if isinstance(smaller, MixedFit):
            return super().likelihood_ratio_test(smaller)
        plain = replace(self, family=smaller.family)
        found = super(MixedFit, plain).likelihood_ratio_test(smaller)
        p = (chi2_tail(found.chi2, found.df - 1) + chi2_tail(found.chi2, found.df)) / 2.0
        return NestedTest(found.chi2, found.df, p, f"0.5 chi2({found.df - 1}) + 0.5 chi2({found.df})")

    @property
    def _top(self) -> float:
        assert self.random is not None
        return self.log_likelihood + self.random.weak_prior(self.theta)[0]

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


def _check_exact(data: ModelData) -> None:
    """Refuse what the quadrature does not sum over."""
    group = f"(1 | {data.random})"
    if data.terms.randomized:
        raise AnalysisError(
            f"the predictor {data.terms.randomized[0][0]!r} was randomized, and a random intercept {group} goes with "
            "exact predictors only",
            f"leave {group} out and give clusters={data.random!r}",
        )


def fit_mixed(
    formula: str, data: ModelData, family: Family, level: float, points: int, penalty: str
) -> MixedFit:
    """Fit a yes/no outcome with a random intercept; penalized where its likelihood has no maximum."""
    assert data.random is not None
    outcome = data.likelihood.outcome
    if isinstance(points, bool) or not isinstance(points, int) or not 1 <= points <= 100:
        raise AnalysisError(f"points is {points!r}", "give the number of quadrature points, 1 to 100")
    assert isinstance(outcome, BinaryOutcome)
    assert isinstance(data.likelihood, Likelihood)
    _check_exact(data)
    codes, names = pd.factorize(read_column(data.rows.frame, data.random), sort=True)
    _check_groups(data, codes, len(names))
    random = RandomIntercept(
        outcome, data.likelihood.design[0], codes.astype(np.int64), points, data.rows.times
    )
    plain = fit_model(formula, data, family, level, "observed", None, penalty)
    found, notes = None if penalty == ALWAYS else _settled(random, plain), []
    if found is None:
        random = replace(random, prior=True, memory={})
        if not plain.penalized and penalty != NEVER:
            plain = fit_model(formula, data, family, level, "observed", None, ALWAYS)
        found = _settled(random, plain) if plain.penalized else None
        notes.append(ASKED if penalty == ALWAYS else PENALIZED)
    if found is None:
        raise NotIdentifiedError(
            "the likelihood has no maximum (separation, or an estimated share at 0 or 1)",
            "simplify the model or collect more reports",
        )
    theta, top, held, inverse = found
    notes += [_edge_note(data, place, theta) for place in held]
    free = [k for k in range(len(theta)) if k not in held]
    covariance = np.zeros((len(theta), len(theta)))
    covariance[np.ix_(free, free)] = inverse + _decoy_part(data, random, theta, free, inverse)
    return _finished(
        formula, data, family, level, random, (theta, top, covariance, held), tuple(names), tuple(notes)
    )


def _check_groups(data: ModelData, codes: Codes, count: int) -> None:
    if count < 2:
        raise NotIdentifiedError(f"{data.random} has one group only", "a random intercept needs several")
    if np.bincount(codes, weights=data.rows.times).max() < 2:
        raise NotIdentifiedError(
            f"every group of {data.random} has one report only", "a random intercept needs several in a group"
        )


def _settled(
    random: RandomIntercept, plain: ModelFit
) -> tuple[Floats, float, dict[int, float], Floats] | None:
    """Find the maximum and the inverse of its information; None where the likelihood rises to infinity."""
    theta, top, held = _highest(random, plain)
    if plain.penalized and not random.prior and len(theta) - 1 in held:
        return None  # without groups that differ it is the plain model, which has none
    free = [k for k in range(len(theta)) if k not in held]
    try:
        inverse = np.asarray(np.linalg.inv(random.information(theta, free)), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    variances = np.diag(inverse)[: random.design.shape[1]]
    largest = max(float(np.abs(theta[: len(variances)]).max()), math.sqrt(max(float(variances.max()), 0.0)))
    if not random.prior and (variances.min() <= 0.0 or largest > WILD):
        return None
    return theta, top, held, inverse


def _highest(random: RandomIntercept, plain: ModelFit) -> tuple[Floats, float, dict[int, float]]:
    """Find the maximum; unknown shares at 0 or 1, and a standard deviation of 0, are held there."""
    width = random.design.shape[1]
    begin = np.append(plain.theta[:width], np.clip(plain.theta[width:], -EDGE, EDGE))
    theta, top = max((random.maximum(np.append(begin, one)) for one in _STARTS), key=lambda one: one[1])
    held: dict[int, float] = {}
    for place in range(width, len(theta) - 1):
        if abs(theta[place]) > EDGE:
            edge = {**held, place: math.copysign(BEYOND, theta[place])}
            moved, height = random.maximum(theta, edge)
            if height >= top - 1e-6:
                theta, top, held = moved, height, edge
    last = len(theta) - 1
    alone = plain._top if random.prior else plain.log_likelihood
    if theta[last] < LEAST or top <= alone + 1e-9:
        return np.append(plain.theta, -30.0), alone, {**plain.held, last: -30.0}
    return theta, top, held


def _edge_note(data: ModelData, place: int, theta: Floats) -> str:
    if place == len(theta) - 1:
        return f"the groups of {data.random} do not differ more than chance: the standard deviation is 0"
    name = data.likelihood.outcome.extra_names[place - len(data.names)]
    return edge_note(name, float(special.expit(theta[place])))


def _decoy_part(
    data: ModelData, random: RandomIntercept, theta: Floats, free: list[int], inverse: Floats
) -> Floats:
    """Give what a counted decoy share adds: the scores move with it, and the maximum with them."""
    result = np.zeros_like(inverse)
    for decoy in data.decoys:
        ends = []
        for side in (STEP, -STEP):
            outcome = decoy.at(side).outcome
            assert isinstance(outcome, BinaryOutcome)
            # Enough nodes that the slope at fixed nodes is the slope.
            ends.append(replace(random, outcome=outcome, points=POINTS, memory={}).evaluate(theta)[1][free])
        pull = inverse @ ((ends[0] - ends[1]) / (2.0 * STEP))
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
    last = len(theta) - 1
    sd = 0.0 if last in held else math.exp(theta[-1])
    scale = np.append(data.scale, 1.0)
    coef, inner = natural_scale(data, theta[:-1])
    slope = np.zeros((len(theta), len(theta)))
    slope[:-1, :-1], slope[-1, -1] = inner, sd
    read = read_covariance(covariance, slope, held)
    return MixedFit(
        formula=formula,
        family="mixed",
        link=family.link,
        n=data.n,
        names=(*data.names, *data.likelihood.outcome.extra_names, f"sd({data.random})"),
        coef=np.append(coef, sd),
        covariance=read,
        log_likelihood=top - random.weak_prior(theta)[0],
        level=level,
        information="observed",
        outcome_size=len(data.names),
        randomized=data.randomized,
        degrees_of_freedom=None,
        data=replace(data, scale=scale),
        theta=theta,
        slope=slope,
        held=held,
        penalized=random.prior,
        remarks=remarks,
        groups=groups,
        random=random,
    )
