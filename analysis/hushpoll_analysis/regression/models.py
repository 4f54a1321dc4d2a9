"""Regression and correlation with randomized variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.data.columns import Mechanisms
from hushpoll_analysis.data.counts import check_level
from hushpoll_analysis.data.missing import takes_missing
from hushpoll_analysis.data.row_designs import Designs, with_designs
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sampling.population import Population
from hushpoll_analysis.sampling.weights import Column, Margins, read_design

from . import families
from .correlation import Correlation, correlate
from .fit import ModelFit
from .fitting import INFORMATION, NEVER, PENALTIES, WHERE_NEEDED, fit_model
from .formula import parse_formula
from .mixed import POINTS, fit_mixed, refuse_random
from .pseudo import formula_options, unbiased_outcome
from .reading import read_model

__all__ = ["Correlation", "ModelFit", "correlate", "linear", "logit", "multinomial", "ordinal"]


@takes_missing
def logit(
    formula: str,
    data: pd.DataFrame,
    channels: Mechanisms | str,
    *,
    event: Any = None,
    link: str = "logit",
    predictors: str | None = None,
    information: str = "observed",
    penalty: str = WHERE_NEEDED,
    level: float = 0.95,
    weights: Column = None,
    strata: Column = None,
    clusters: Column = None,
    margins: Margins | None = None,
    designs: Designs | None = None,
    population: Population = None,
    replicates: Any = None,
    points: int = POINTS,
) -> ModelFit:
    r"""Fit a logistic regression whose outcome, predictors, or both were randomized.

    Parameters
    ----------
    formula
        As in ``"cheated ~ age + C(town)"`` (formulaic's grammar). A formula is code: do not take one from strangers.
    data
        One row for each respondent; randomized columns hold report codes.
    channels
        A survey, or a mechanism for each randomized column; every other column is exact. With `designs` a column of
        their names may stand for a mechanism, and alone for the outcome's.
    event
        The answer to model, where the outcome has more than two or is exact and not coded 0 and 1.
    link
        "logit", "probit" or "cloglog".
    predictors
        Covariates of the randomized predictors' own model, as in ``"~ age"``; by default every exact term.
    information
        Standard errors from the "observed" information (default), the "expected" one (exact predictors only), or the
        outer product of the scores ("opg").
    penalty
        "auto" holds the coefficients by a weak prior, log-F(1, 1) on each, where the likelihood alone has no maximum
        (separation, an estimated share at 0 or 1), and says so in `notes`; "log-f" does always, "none" never.
    weights, strata, clusters, margins
        Sample design as in `crosstab`: the weighted likelihood is maximised, standard errors are the linearised ones
        and intervals use t.
    designs
        Where not everybody went through the same mechanism: ``designs={name: mechanism}``, None for people asked
        directly. For the outcome also `asks_unknown_decoy`, `detects_cheating` and `detects_lies`, whose unknown share
        is then estimated beside the coefficients.
    population, replicates
        Finite population and replicate weights, as in `weighted_estimate`; the model is fitted anew for each replicate.

    points
        Quadrature points of a random intercept, written ``(1 | school)`` in the formula: groups of respondents, or
        people with one row for each of several answers. 1 is Laplace's approximation, lme4's default.

    Returns
    -------
    ModelFit
        `MixedFit` with a random intercept.

    Raises
    ------
    NotIdentifiedError
        If the data do not determine the coefficients: collinear columns, a channel that says nothing; without penalty
        also separation, or an outcome whose estimated share is at 0 or 1.

    Notes
    -----
    A randomized outcome has :math:`P(z \mid x) = C_{0z} (1 - \mu(x'\beta)) + C_{1z} \mu(x'\beta)`, with the table of
    the respondent's own design. A randomized predictor is summed out: this needs a model of the true predictor given
    the exact covariates, here a multinomial logit (all randomized predictors together, saturated). Its coefficients are
    part of the fit, and a wrong model of it biases the others. Such a likelihood may have several maxima; the search
    starts at several places and takes the highest. The standard errors carry the uncertainty of a decoy share that was
    counted (Murphy and Topel 1985).

    References
    ----------
    Maddala, "Limited-dependent and qualitative variables in econometrics" (1983), 2.13; Blair, Imai, Zhou, "Design and
    analysis of the randomized response technique", JASA 110 (2015); Louis, JRSS B 44 (1982); Greenland, Mansournia,
    "Penalization, bias reduction, and default priors in logistic and related categorical and survival regressions",
    Statist. Med. 34 (2015); Murphy, Topel, J. Bus. Econ. Statist. 3 (1985).
    """
    _check(level, information, penalty)
    family = families.binary(link, event)
    data, channels = formula_options(formula, data, channels)
    channels = _with_designs(formula, data, channels, designs)
    design = read_design(data, weights, strata, clusters, margins, population, replicates)
    model = read_model(formula, data, channels, family, predictors, design)
    if model.random is None:
        return fit_model(formula, model, family, level, information, design, penalty)
    if design is not None:
        refuse_random(model, "a sample design")
    return fit_mixed(formula, model, data, family, level, points)


@takes_missing
def multinomial(
    formula: str,
    data: pd.DataFrame,
    channels: Mechanisms | str,
    *,
    reference: Any = None,
    predictors: str | None = None,
    information: str = "observed",
    penalty: str = WHERE_NEEDED,
    level: float = 0.95,
    weights: Column = None,
    strata: Column = None,
    clusters: Column = None,
    margins: Margins | None = None,
    designs: Designs | None = None,
    population: Population = None,
    replicates: Any = None,
) -> ModelFit:
    r"""Fit a multinomial logit of a randomized outcome with three answers or more.

    Parameters are those of `logit`; `reference` is the answer that the others are compared with, by default the first.
    Coefficients are named "answer: term", as those of R's multinom are by rows.

    Notes
    -----
    :math:`P(z \mid x) = \sum_k C_{kz} \mu_k(x)`, with :math:`\log(\mu_k / \mu_0) = x'\beta_k`.
    """
    _check(level, information, penalty)
    family = families.multinomial(reference)
    data, channels = formula_options(formula, data, channels)
    channels = _with_designs(formula, data, channels, designs)
    design = read_design(data, weights, strata, clusters, margins, population, replicates)
    model = read_model(formula, data, channels, family, predictors, design)
    refuse_random(model, f"a {family.name} model")
    return fit_model(formula, model, family, level, information, design, penalty)


@takes_missing
def ordinal(
    formula: str,
    data: pd.DataFrame,
    channels: Mechanisms | str,
    *,
    link: str = "logit",
    predictors: str | None = None,
    information: str = "observed",
    penalty: str = WHERE_NEEDED,
    level: float = 0.95,
    weights: Column = None,
    strata: Column = None,
    clusters: Column = None,
    margins: Margins | None = None,
    designs: Designs | None = None,
    population: Population = None,
    replicates: Any = None,
) -> ModelFit:
    r"""Fit a proportional-odds (or ordered probit, cloglog) model of a randomized outcome with ordered answers.

    Parameters are those of `logit`. Answers are in the order of their codes.

    Notes
    -----
    :math:`P(\text{answer} \le k) = F(\zeta_k - x'\beta)`, with the sign of R's polr: a positive coefficient moves
    answers up. There is no intercept; the cut points, named "a|b", come after the coefficients.

    References
    ----------
    McCullagh, "Regression models for ordinal data", JRSS B 42 (1980).
    """
    _check(level, information, penalty)
    family = families.ordinal(link)
    data, channels = formula_options(formula, data, channels)
    channels = _with_designs(formula, data, channels, designs)
    design = read_design(data, weights, strata, clusters, margins, population, replicates)
    model = read_model(formula, data, channels, family, predictors, design)
    refuse_random(model, f"a {family.name} model")
    return fit_model(formula, model, family, level, information, design, penalty)


@takes_missing
def linear(
    formula: str,
    data: pd.DataFrame,
    channels: Mechanisms,
    *,
    predictors: str | None = None,
    information: str = "observed",
    level: float = 0.95,
    weights: Column = None,
    strata: Column = None,
    clusters: Column = None,
    margins: Margins | None = None,
    designs: Designs | None = None,
    population: Population = None,
    replicates: Any = None,
) -> ModelFit:
    """Fit a linear regression of an exact number on randomized and exact predictors, with normal errors.

    Parameters are those of `logit`. The true predictors are summed out of a normal mixture; its last coefficient is the
    log of the errors' standard deviation.

    A scale or a number of a survey may be the outcome too, with exact predictors: each report z then stands for b_z
    with C b = v, whose mean given the true answer is that number, so least squares are unbiased. Standard errors are
    the robust (linearised) ones, because the randomization's noise is not normal and differs between answers.
    """
    _check(level, information, NEVER)
    family = families.number()
    found = unbiased_outcome(formula, data, channels) if designs is None else None
    if found is not None:
        data, channels = found
        if all(one is None for one in (weights, strata, clusters, margins, population, replicates)):
            weights = np.ones(len(data))
    data, channels = formula_options(formula, data, channels)
    channels = _with_designs(formula, data, channels, designs)
    design = read_design(data, weights, strata, clusters, margins, population, replicates)
    model = read_model(formula, data, channels, family, predictors, design)
    refuse_random(model, f"a {family.name} model")
    return fit_model(formula, model, family, level, information, design)


def _with_designs(formula: str, data: pd.DataFrame, channels: Any, designs: Designs | None) -> Mechanisms:
    outcome = parse_formula(formula)[0] if designs is not None else None
    found: Mechanisms = with_designs(channels, designs, data, outcome)
    return found


def _check(level: float, information: str, penalty: str) -> None:
    if information not in INFORMATION:
        raise AnalysisError(f"information {information!r} is not one of {', '.join(INFORMATION)}")
    if penalty not in PENALTIES:
        raise AnalysisError(f"penalty {penalty!r} is not one of {', '.join(PENALTIES)}")
    check_level(level)
