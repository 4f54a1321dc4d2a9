"""Models with a random intercept: how they are fitted, and what a fit tells."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import check_level
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.interval.student import critical, two_sided
from hushpoll_analysis.sample.columns import Codes, read_column

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
from .outcomes import BinaryOutcome
from .random_intercept import LEAST, STEP, RandomIntercept
from .reading import ModelData
from .sd_profile import StandardDeviationProfile

POINTS = 15
_STARTS = (-1.5, 0.0)
_FEW_ROWS = 20_000
_SHARP = 0.05
_FEW_GROUPS = 30


FEW = (
    "there are {count} groups only: intervals of what is the same for everybody in a group use t, and errors that "
    "allow for groups which differ more than maximum likelihood says"
)


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

    @property
    def between(self) -> npt.NDArray[np.bool_]:
        """Which coefficients belong to columns that are constant within a group, such as the intercept."""
        assert self.random is not None
        design, groups = self.random.design, self.random.groups
        first = np.zeros((self.random.count, design.shape[1]))
        first[groups[::-1]] = design[::-1]
        is_between = np.zeros(len(self.coef), dtype=bool)
        is_between[: design.shape[1]] = (np.abs(design - first[groups]) <= 1e-12).all(axis=0)
        return is_between

    def rows(self) -> pd.DataFrame:
        """Return all coefficients with intervals and tests; those between groups allow for how few groups there are.

        Their intervals use t with as many degrees of freedom as groups exceed such coefficients p, and errors larger
        by sqrt(G / (G - p)): maximum likelihood takes the groups to differ less than they do.
        """
        frame = super().rows()
        between = self.between
        freedom = len(self.groups) - int(between.sum())
        if freedom < 1:
            frame.loc[between, ["z", "p_value", "low", "high"]] = np.nan
            return frame
        wider = math.sqrt(len(self.groups) / freedom)
        coef, se = (frame.loc[between, name] for name in ("coef", "se"))
        half = critical(self.level, freedom) * wider * se
        frame.loc[between, "z"] = coef / (wider * se)
        frame.loc[between, "p_value"] = two_sided(coef / (wider * se), freedom)
        frame.loc[between, "low"], frame.loc[between, "high"] = coef - half, coef + half
        return frame

    def to_frame(self, everything: bool = False) -> pd.DataFrame:
        """Return coefficients with intervals and tests; `everything` adds the standard deviation of the shifts.

        Its interval is that of the profile likelihood, which begins at 0 where groups may not differ at all; a test
        against 0, its edge, is none of Wald's, and is left out.
        """
        frame = self.rows()
        if not everything:
            return frame.iloc[: self.outcome_size]
        last = frame.index[-1]
        frame.loc[last, ["z", "p_value"]] = np.nan
        frame.loc[last, ["low", "high"]] = self.sd_interval()
        return frame

    def sd_interval(self, level: float | None = None) -> tuple[float, float]:
        """Return the profile likelihood interval of the standard deviation of the shifts.

        The profile is Cox and Reid's (1987), which allows for the coefficients that are estimated between few groups as
        REML does. Where the relative standard error is below 5 % the interval is normal on the logarithm, which is the
        same then.
        """
        requested_level = self.level
        if level is not None:
            requested_level = check_level(level)
        z = critical(requested_level)
        error = math.inf
        if self.sd > 0.0:
            error = float(self.se[-1]) / self.sd
        if error < _SHARP:
            return self.sd * math.exp(-z * error), self.sd * math.exp(z * error)
        assert self.random is not None
        profile = StandardDeviationProfile(self.random, self.theta, self.held)
        return profile.limits(z, error)

    def adjusted_profile(self, log_sd: float) -> float:
        """Return the highest log-likelihood at a standard deviation, less half the log-information about the rest."""
        assert self.random is not None
        return StandardDeviationProfile(self.random, self.theta, self.held)(log_sd)

    def random_effects(self) -> pd.DataFrame:
        """Return each group's most likely shift, and its standard error given the coefficients."""
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
        test = super(MixedFit, plain).likelihood_ratio_test(smaller)
        p = (chi2_tail(test.chi2, test.df - 1) + chi2_tail(test.chi2, test.df)) / 2.0
        return NestedTest(test.chi2, test.df, p, f"0.5 chi2({test.df - 1}) + 0.5 chi2({test.df})")

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
    _check_exact(data)
    codes, names = pd.factorize(read_column(data.rows.frame, data.random), sort=True)
    _check_groups(data, codes, len(names))
    random = RandomIntercept(
        outcome, data.likelihood.base.design[0], codes.astype(np.int64), points, data.rows.times
    )
    plain = fit_model(
        formula, data, family=family, level=level, information="observed", design=None, penalty=penalty
    )
    settled, notes = None if penalty == ALWAYS else _settled(random, plain), []
    if settled is None:
        random = replace(random, prior=True, memory={})
        if not plain.penalized and penalty != NEVER:
            plain = fit_model(
                formula, data, family=family, level=level, information="observed", design=None, penalty=ALWAYS
            )
        settled = None
        if plain.penalized:
            settled = _settled(random, plain)
        notes.append(ASKED if penalty == ALWAYS else PENALIZED)
    if settled is None:
        raise NotIdentifiedError(
            "the likelihood has no maximum (separation, or an estimated share at 0 or 1)",
            "simplify the model or collect more reports",
        )
    theta, top, held, inverse = settled
    notes += [_edge_note(data, position, theta) for position in held]
    if len(names) < _FEW_GROUPS:
        notes.append(FEW.format(count=len(names)))
    free = [k for k in range(len(theta)) if k not in held]
    covariance = np.zeros((len(theta), len(theta)))
    covariance[np.ix_(free, free)] = inverse + _decoy_part(data, random, theta, free, inverse)
    return _finished(
        formula,
        data,
        family=family,
        level=level,
        random=random,
        maximum=(theta, top, covariance, held),
        groups=tuple(names),
        remarks=tuple(notes),
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
    theta, top = random.maximum(np.append(begin, _STARTS[0]))
    # Many respondents whose groups clearly differ have one maximum.
    if len(random.groups) < _FEW_ROWS or theta[-1] < _STARTS[0]:
        theta, top = max(
            (theta, top), random.maximum(np.append(begin, _STARTS[1])), key=lambda candidate: candidate[1]
        )
    held: dict[int, float] = {}
    for position in range(width, len(theta) - 1):
        if abs(theta[position]) > EDGE:
            edge = {**held, position: math.copysign(BEYOND, theta[position])}
            moved, height = random.maximum(theta, edge)
            if height >= top - 1e-6:
                theta, top, held = moved, height, edge
    last = len(theta) - 1
    alone = plain.log_likelihood
    if random.prior:
        alone = plain._top
    if theta[last] < LEAST or top <= alone + 1e-9:
        return np.append(plain.theta, -30.0), alone, {**plain.held, last: -30.0}
    return theta, top, held


def _edge_note(data: ModelData, position: int, theta: Floats) -> str:
    if position == len(theta) - 1:
        return f"the groups of {data.random} do not differ more than chance: the standard deviation is 0"
    name = data.likelihood.outcome.extra_names[position - len(data.names)]
    return edge_note(name, float(special.expit(theta[position])))


def _decoy_part(
    data: ModelData, random: RandomIntercept, theta: Floats, free: list[int], inverse: Floats
) -> Floats:
    """Return what a counted decoy share adds: the scores move with it, and the maximum with them."""
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
    maximum: tuple[Floats, float, Floats, dict[int, float]],
    groups: tuple[Any, ...],
    remarks: tuple[str, ...],
) -> MixedFit:
    theta, top, covariance, held = maximum
    last = len(theta) - 1
    sd = 0.0
    if last not in held:
        sd = math.exp(theta[-1])
    scale = np.append(data.scale, 1.0)
    coef, inner = natural_scale(data, theta[:-1])
    slope = np.zeros((len(theta), len(theta)))
    slope[:-1, :-1], slope[-1, -1] = inner, sd
    readable = read_covariance(covariance, slope, held)
    return MixedFit(
        formula=formula,
        family="mixed",
        link=family.link,
        n=data.n,
        names=(*data.names, *data.likelihood.outcome.extra_names, f"sd({data.random})"),
        coef=np.append(coef, sd),
        covariance=readable,
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
