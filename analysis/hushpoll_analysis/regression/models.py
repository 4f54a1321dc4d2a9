"""Regression and correlation with randomized variables."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hushpoll_analysis.data.columns import Mechanisms
from hushpoll_analysis.data.counts import check_level
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sampling.weights import Column, Margins, read_design

from .correlation import Correlation, correlate
from .fit import INFORMATION, PENALTIES, ModelFit, fit_model
from .formula import read_model

__all__ = ["Correlation", "ModelFit", "correlate", "linear", "logit"]

LINKS = ("logit", "probit")


def logit(
    formula: str,
    data: pd.DataFrame,
    channels: Mechanisms,
    *,
    event: Any = None,
    link: str = "logit",
    predictors: str | None = None,
    information: str = "observed",
    penalty: str = "auto",
    level: float = 0.95,
    weights: Column = None,
    strata: Column = None,
    clusters: Column = None,
    margins: Margins | None = None,
) -> ModelFit:
    r"""Fit a logistic regression whose outcome, predictors, or both were randomized.

    Parameters
    ----------
    formula
        As in ``"cheated ~ age + C(town)"`` (formulaic's grammar). A formula is code: do not take one from strangers.
    data
        One row for each respondent; randomized columns hold report codes.
    channels
        A survey, or a mechanism for each randomized column; every other column is exact.
    event
        The answer to model, where the outcome has more than two or is exact and not coded 0 and 1.
    link
        "logit" or "probit".
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

    Returns
    -------
    ModelFit

    Raises
    ------
    NotIdentifiedError
        If the data do not determine the coefficients: collinear columns, a channel that says nothing; without penalty
        also separation, or an outcome whose estimated share is at 0 or 1.

    Notes
    -----
    A randomized outcome has :math:`P(z \mid x) = C_{0z} (1 - \mu(x'\beta)) + C_{1z} \mu(x'\beta)`. A randomized
    predictor is summed out: this needs a model of the true predictor given the exact covariates, here a multinomial
    logit (all randomized predictors together, saturated). Its coefficients are part of the fit, and a wrong model of
    it biases the others. Such a likelihood may have several maxima; the search starts at several places and takes the
    highest.

    References
    ----------
    Maddala, "Limited-dependent and qualitative variables in econometrics" (1983), 2.13; Blair, Imai, Zhou, "Design and
    analysis of the randomized response technique", JASA 110 (2015); Louis, JRSS B 44 (1982); Greenland, Mansournia,
    "Penalization, bias reduction, and default priors in logistic and related categorical and survival regressions",
    Statist. Med. 34 (2015).
    """
    if link not in LINKS:
        raise AnalysisError(f"link {link!r} is not one of {', '.join(LINKS)}")
    _check(level, information)
    if penalty not in PENALTIES:
        raise AnalysisError(f"penalty {penalty!r} is not one of {', '.join(PENALTIES)}")
    design = read_design(data, weights, strata, clusters, margins)
    model = read_model(formula, data, channels, link, event, predictors, design)
    return fit_model(formula, model, link, level, information, design, penalty)


def linear(
    formula: str,
    data: pd.DataFrame,
    channels: Mechanisms,
    *,
    predictors: str | None = None,
    information: str = "observed",
    level: float = 0.95,
) -> ModelFit:
    """Fit a linear regression of an exact number on randomized and exact predictors, with normal errors.

    Parameters are those of `logit`. The true predictors are summed out of a normal mixture; its last coefficient is the
    log of the errors' standard deviation.
    """
    _check(level, information)
    if information == "expected":
        raise AnalysisError("expected information exists for a yes/no outcome only", "use observed or opg")
    model = read_model(formula, data, channels, "identity", None, predictors, None)
    return fit_model(formula, model, "identity", level, information, None)


def _check(level: float, information: str) -> None:
    if information not in INFORMATION:
        raise AnalysisError(f"information {information!r} is not one of {', '.join(INFORMATION)}")
    check_level(level)
