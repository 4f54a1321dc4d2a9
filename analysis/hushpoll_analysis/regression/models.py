"""Regression and correlation with randomized variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from hushpoll_client import Channel
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.counts import check_level
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import (
    Mechanisms,
    check_frame,
    check_once,
    find_column,
    is_randomized,
    refuse_skipped,
)
from hushpoll_analysis.sample.design import SampleDesign, can_be_grouped, put_design_together, strata_codes
from hushpoll_analysis.sample.design_keywords import SampleKeys, takes_sample
from hushpoll_analysis.sample.distinct_rows import TIMES, DistinctRows, each_row, merge_equal_rows, times_of
from hushpoll_analysis.sample.missing import takes_missing
from hushpoll_analysis.sample.row_designs import Designs, is_column, with_designs
from hushpoll_analysis.sample.streams import takes_streams

from . import families
from .fit import ModelFit
from .fitting import INFORMATION, NEVER, PENALTIES, WHERE_NEEDED, fit_model
from .formula import given_predictors, needs_all_rows, parse_formula, variables_of
from .mixed import POINTS, fit_mixed, refuse_random
from .moments import ANY, ERRORS, NORMAL, MomentFit, fit_moments, with_check
from .option_fits import fit_options, option_formula, outcome_options
from .pseudo import formula_options, unbiased_outcome
from .reading import ModelData, read_model


@takes_streams("data", "channels")
@takes_missing
@takes_sample
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
    designs: Designs | None = None,
    points: int = POINTS,
    sample: SampleKeys,
) -> ModelFit:
    r"""Fit a logistic regression whose outcome, predictors, or both were randomized.

    Parameters
    ----------
    formula
        As in ``"cheated ~ age + C(town)"`` (formulaic's grammar). A formula is code: do not take one from strangers.
    data
        One row for each respondent; randomized columns hold report codes. Or where the reports of the survey are, if
        they are too many to read: Parquet files (a folder, or a pattern such as `parts/*.parquet`), a .csv, a query
        engine's table, the database's records. They are read in blocks, and rows that are alike put together.
    channels
        A survey, or a mechanism for each randomized column; every other column is exact. A mechanism alone is the
        outcome's. With `designs` a column of their names may stand for a mechanism, and alone for the outcome's.
    event
        The answer to model, where the outcome has more than two or is exact and not coded 0 and 1. Of a tick list one
        option; without it every option is fitted.
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
        Where people went through different mechanisms: ``designs={name: mechanism}``, None for people asked
        directly. For the outcome also `asks_unknown_decoy`, `detects_cheating` and `detects_lies`, whose unknown share
        is then estimated together with the coefficients.
    population, replicates
        Finite population and replicate weights, as in `weighted_estimate`; the model is fitted anew for each replicate.

    points
        Quadrature points of a random intercept, written ``(1 | school)`` in the formula: groups of respondents, or
        people with one row for each of several answers. 1 is Laplace's approximation, lme4's default.

    Returns
    -------
    ModelFit
        `MixedFit` with a random intercept; `OptionFits`, one fit for each option, where the outcome is a tick list.

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
    known_channels: Any = channels if designs is not None else _with_designs(formula, data, channels, None)

    def fitted(formula: str, event: Any) -> ModelFit:
        family = families.binary(link, event)
        request = _ModelRequest(formula, data, known_channels, designs, predictors, sample)
        model, design = request.read(family)
        if model.random is None:
            return fit_model(formula, model, family, level, information, design, penalty=penalty)
        if design is not None:
            refuse_random(model, "a sample design (weights, strata, clusters, population)")
        if information != INFORMATION[0]:
            refuse_random(model, f"the {information} information")
        return fit_mixed(formula, model, family, level, points, penalty)

    if designs is not None or not outcome_options(formula, known_channels):
        return fitted(formula, event)
    if event is not None:
        return fitted(option_formula(formula, known_channels, event), None)
    return fit_options(formula, known_channels, lambda option: fitted(option, None))  # type: ignore[return-value]


@takes_streams("data", "channels")
@takes_missing
@takes_sample
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
    designs: Designs | None = None,
    sample: SampleKeys,
) -> ModelFit:
    r"""Fit a multinomial logit of a randomized outcome with three answers or more.

    Parameters are those of `logit`; `reference` is the answer that the others are compared with, by default the first.
    Coefficients are named "answer: term", as those of R's multinom are by rows. Reports may be sets of options that
    hold the answer or not: all that matters of a set is which answers it holds, so they need not be listed.

    Notes
    -----
    :math:`P(z \mid x) = \sum_k C_{kz} \mu_k(x)`, with :math:`\log(\mu_k / \mu_0) = x'\beta_k`.
    """
    _check(level, information, penalty)
    request = _ModelRequest(formula, data, channels, designs, predictors, sample)
    return request.fitted(families.multinomial(reference), level, information, penalty)


@takes_streams("data", "channels")
@takes_missing
@takes_sample
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
    designs: Designs | None = None,
    sample: SampleKeys,
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
    refuse_skipped(channels, [parse_formula(formula)[0]], "use multinomial, or logit of one answer (event=)")
    request = _ModelRequest(formula, data, channels, designs, predictors, sample)
    return request.fitted(family, level, information, penalty)


@takes_streams("data", "channels")
@takes_missing
@takes_sample
def linear(
    formula: str,
    data: pd.DataFrame,
    channels: Mechanisms,
    *,
    predictors: str | None = None,
    information: str = "observed",
    errors: str = NORMAL,
    level: float = 0.95,
    designs: Designs | None = None,
    sample: SampleKeys,
) -> ModelFit | MomentFit:
    """Fit a linear regression of an exact number on randomized and exact predictors.

    Parameters are those of `logit`. With `errors="normal"` the true predictors are summed out of a normal mixture, as
    RRreg's RRlin does; its last coefficient is the log of the errors' standard deviation. Errors of another shape, or
    of a spread that differs between answers, mislead it: `notes` say so where the data show it. `errors="any"` fits by
    moments instead, which assume neither a shape of the errors nor a model of the predictors, and gives a `MomentFit`.

    A scale or a number of a survey may be the outcome too, with exact predictors: each report z then stands for b_z
    with C b = v, whose mean given the true answer is that number, so least squares are unbiased. Standard errors are
    the robust (linearised) ones, because the randomization's noise is not normal and differs between answers.
    """
    _check(level, information, NEVER)
    if errors not in ERRORS:
        raise AnalysisError(f"errors {errors!r} is not one of {', '.join(ERRORS)}")
    data, sample = sample.in_frame(data)
    outcome_of_mean = unbiased_outcome(formula, data, channels, designs)
    family = families.number(outcome_of_mean[1] if outcome_of_mean is not None else None)
    if outcome_of_mean is not None:
        data, channels, designs = outcome_of_mean[0], {}, None
        if not sample.given:
            sample = SampleKeys(weights=times_of(data))
    model, design = _ModelRequest(formula, data, channels, designs, predictors, sample).read(family)
    refuse_random(model, f"the {family.name} model")
    if errors == ANY:
        return fit_moments(formula, model, level, design)
    fit = fit_model(formula, model, family, level, information, design)
    if not model.randomized:
        return fit
    return replace(fit, remarks=(*fit.remarks, *with_check(fit, design)))


@dataclass(frozen=True, eq=False)
class _ModelRequest:
    """What a model is fitted to."""

    formula: str
    data: pd.DataFrame
    channels: Any
    designs: Designs | None
    predictors: str | None
    sample: SampleKeys

    def fitted(self, family: families.Family, level: float, information: str, penalty: str) -> ModelFit:
        """Fit a model without a random intercept by maximum likelihood."""
        model, design = self.read(family)
        refuse_random(model, f"the {family.name} model")
        return fit_model(self.formula, model, family, level, information, design, penalty=penalty)

    def read(self, family: families.Family) -> tuple[ModelData, SampleDesign | None]:
        """Read the likelihood and the sample design."""
        # Respondents who were not asked about an option are left out, with what is known of them.
        data, sample = self.sample.in_frame(self.data)
        data, channels = formula_options(self.formula, data, self.channels)
        channels = _with_designs(self.formula, data, channels, self.designs)
        design = sample.design(data)
        rows = together = each_row(check_frame(data))
        if self.designs is None:
            together = _alike(self.formula, data, channels, self.predictors, design)
        added_up = put_design_together(design, together)
        if TIMES in data.columns:
            together = replace(together, of_row=None)
        try:
            return read_model(self.formula, together, channels, family, self.predictors, added_up), added_up
        except AnalysisError:
            if together.of_row is None:
                raise
        # What is wrong has its row and its number in the table that was given.
        return read_model(self.formula, rows, channels, family, self.predictors, design), design


def _alike(
    formula: str,
    data: pd.DataFrame,
    channels: Mechanisms,
    predictors: str | None,
    design: SampleDesign | None,
) -> DistinctRows:
    """Put respondents together whose reports and covariates are the same, where that pays."""
    outcome, right, random = parse_formula(formula)
    parts = [right, *([] if predictors is None else [given_predictors(predictors)])]
    names = [outcome, *sorted(variables_of(right)), *([] if random is None else [random])]
    columns = [
        find_column(check_frame(data), name, is_randomized(name, channels)) for name in dict.fromkeys(names)
    ]
    other = next((reason for reason in map(needs_all_rows, parts) if reason is not None), None)
    if other is not None and TIMES in data.columns:
        raise AnalysisError(
            f"{other} in the formula may need all respondents at once, and these are put together while they are read",
            "use the column itself, C(...), or what numpy computes row by row, such as np.log(...)",
        )
    present = [column for column in columns if column is not None]
    check_once(data, present)
    if data.empty or other is not None or len(present) < len(columns) or not can_be_grouped(design):
        return each_row(data)
    return merge_equal_rows(data, present, strata_codes(design)) or each_row(data)


def _with_designs(formula: str, data: pd.DataFrame, channels: Any, designs: Designs | None) -> Mechanisms:
    """Replace the names of designs by the designs; a mechanism by itself is the outcome's."""
    if designs is None and isinstance(channels, Mechanism | Channel):
        return {parse_formula(formula)[0]: channels}
    outcome = None
    if designs is not None:
        outcome = parse_formula(formula)[0]
    mechanisms: Mechanisms = with_designs(channels, designs, data, outcome)
    if designs is not None and is_column(channels):
        # One column serves every question of the surveys; the formula says which are meant.
        named = {outcome, *variables_of(parse_formula(formula)[1])}
        mechanisms = {name: mechanism for name, mechanism in mechanisms.items() if name in named}  # type: ignore[union-attr]
    return mechanisms


def _check(level: float, information: str, penalty: str) -> None:
    if information not in INFORMATION:
        raise AnalysisError(f"information {information!r} is not one of {', '.join(INFORMATION)}")
    if penalty not in PENALTIES:
        raise AnalysisError(f"penalty {penalty!r} is not one of {', '.join(PENALTIES)}")
    check_level(level)
