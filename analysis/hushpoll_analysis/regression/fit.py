"""The fit of a regression model: coefficients, intervals, tests, and what follows from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import check_level
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.interval.student import critical, two_sided
from hushpoll_analysis.plotting import draw_whiskers
from hushpoll_analysis.result import PlottedResult, rows_as_json
from hushpoll_analysis.tidy import Tidy

from .reading import ModelData
from .search import maximum


@dataclass(frozen=True)
class NestedTest(PlottedResult):
    """Likelihood-ratio test of a smaller model against a larger one that contains it.

    `distribution` is that of the statistic if the smaller one holds.
    """

    words = "p-value"
    plotted_column = "p_value"

    chi2: float
    df: int
    p_value: float
    distribution: str


def chi2_tail(statistic: float, df: int) -> float:
    """Return the chance of a chi-square at least so large; with no degree of freedom it is always 0."""
    if df == 0:
        if statistic <= 0.0:
            return 1.0
        return 0.0
    return float(stats.chi2.sf(statistic, df))


class Coefficients(Tidy):
    """Coefficients with their covariance: what every fit shows of them."""

    names: tuple[str, ...]
    coef: Floats
    covariance: Floats
    level: float
    degrees_of_freedom: int | None

    @property
    def se(self) -> Floats:
        """Standard errors; nan for what lies at its edge."""
        return np.sqrt(np.diag(self.covariance))

    def vcov(self) -> pd.DataFrame:
        """Return the covariance of all estimates, with their names; R's vcov."""
        return pd.DataFrame(self.covariance, index=list(self.names), columns=list(self.names))

    def quantile(self, level: float | None = None) -> float:
        """Return normal quantile of the intervals, or t under a sample design."""
        return critical(self.level if level is None else check_level(level), self.degrees_of_freedom)

    def rows(self) -> pd.DataFrame:
        """Return all coefficients with Wald intervals and tests."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.coef / self.se
        p = two_sided(z, self.degrees_of_freedom)
        half = self.quantile() * self.se
        columns = {"coef": self.coef, "se": self.se, "z": z, "p_value": p}
        limits = {"low": self.coef - half, "high": self.coef + half}
        return pd.DataFrame({**columns, **limits}, index=pd.Index(self.names, name="term"))

    def to_frame(self) -> pd.DataFrame:
        """Return the coefficients with Wald intervals and tests."""
        return self.rows()

    def _at_level(self, level: float) -> Any:
        return replace(self, level=level)  # type: ignore[type-var]  # subclasses are dataclasses

    def summary(self) -> str:
        """Return the fit as text, as statisticians know it from R and statsmodels."""
        from .summary import summary_text

        return summary_text(self)

    def __str__(self) -> str:
        return self.summary()

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        frame = self.to_frame()
        limits = (frame["coef"], frame["low"], frame["high"])
        return draw_whiskers(frame.index, *limits, f"coefficient, {self.level:.0%} interval", axes, zero=True)


@dataclass(frozen=True, eq=False)
class ModelFit(Coefficients):
    """A fitted model.

    Attributes
    ----------
    names, coef, se, covariance
        Coefficients of the outcome's model, first; then those of the randomized predictors' own model (named
        "[column=answer] covariate"); then what else was estimated: unknown shares of the design, cut points of an
        ordinal model, the log standard deviation of a linear one.
    log_likelihood
        Of the reports, not of the answers.
    penalized
        Whether a weak prior holds the coefficients, because the likelihood alone has no maximum (or because it was
        asked for); `notes` says so too.
    outcome_size
        How many of the coefficients belong to the outcome's model.
    degrees_of_freedom
        Of the t intervals under a sample design; None means normal intervals.
    """

    formula: str
    family: str
    link: str
    n: int
    names: tuple[str, ...]
    coef: Floats
    covariance: Floats = field(repr=False)
    log_likelihood: float
    level: float
    information: str
    outcome_size: int
    randomized: tuple[str, ...]
    degrees_of_freedom: int | None
    data: ModelData = field(repr=False)
    theta: Floats = field(repr=False)
    """The parameters as the search has them: columns of size one, logarithms and log-odds of what is bounded."""
    slope: Floats = field(repr=False)
    """The derivative of `coef` in `theta`."""
    held: Mapping[int, float] = field(default_factory=dict, repr=False)
    """Parameters at their edge, by place."""
    penalized: bool = False
    remarks: tuple[str, ...] = field(default=(), repr=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the standard errors contain, and how the fit was held."""
        return (*self.data.notes, *self.remarks)

    @property
    def loglik(self) -> float:
        """The log-likelihood, by R's name."""
        return self.log_likelihood

    def conf_int(self, level: float | None = None, everything: bool = False) -> pd.DataFrame:
        """Return the limits of the coefficients, at the level of the fit by default.

        `everything` adds what else was estimated.
        """
        frame: pd.DataFrame = self._at(level).to_frame(everything)
        return frame[["low", "high"]]

    @property
    def sigma(self) -> float | None:
        """Standard deviation of the errors of a linear model."""
        if self.link == "identity":
            return float(np.exp(self.coef[-1]))
        return None

    @property
    def parameters(self) -> int:
        """How many parameters were estimated."""
        return len(self.names)

    @property
    def aic(self) -> float:
        """Akaike's criterion, -2 log L + 2 k."""
        self._need_likelihood()
        return 2.0 * self.parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Schwarz' criterion, -2 log L + k log n."""
        self._need_likelihood()
        return math.log(self.n) * self.parameters - 2.0 * self.log_likelihood

    def to_frame(self, everything: bool = False) -> pd.DataFrame:
        """Return coefficients with Wald intervals and tests; `everything` adds what else was estimated."""
        if everything:
            return self.rows()
        return self.rows().iloc[: self.outcome_size]

    def odds_ratios(self) -> pd.DataFrame:
        """Return exp(coefficient) with its interval, for the logit link."""
        if self.link != "logit":
            raise AnalysisError(f"odds ratios belong to the logit link, not to {self.link}")
        frame = self.to_frame()[["coef", "low", "high"]].rename(columns={"coef": "odds_ratio"})
        return frame.apply(np.exp)

    def predict(self, data: pd.DataFrame | None = None, level: float | None = None) -> pd.DataFrame:
        """Return the chance of each true answer (the mean of a number) with intervals.

        Parameters
        ----------
        data
            Rows to predict for; by default those of the fit. Randomized predictors are *true* answers here (labels, or
            0, 1, ...); where they are left out, their own model stands in for them.
        level
            Confidence level; by default that of the fit.

        Returns
        -------
        pandas.DataFrame
            estimate, se (delta method), low, high: a normal interval of the log-odds, so that it stays within 0 and 1.
            Several answers give one block of rows for each.
        """
        from .prediction import predicted

        return predicted(self, data, level)

    def margins(
        self, variables: Sequence[str] | None = None, discrete: Sequence[str] = (), level: float | None = None
    ) -> pd.DataFrame:
        """Return average marginal effects: how the chance of an answer moves with a predictor, on average over the
        data.

        Parameters
        ----------
        variables
            Columns of the data; by default every predictor.
        discrete
            Numbers to treat as steps from 0 to 1 rather than as slopes. Text, categories, true-or-false columns and
            randomized predictors always are: each value against the first.
        level
            Confidence level; by default that of the fit.

        Returns
        -------
        pandas.DataFrame
            effect, se (delta method), z, p_value, low, high.
        """
        from .prediction import marginal_effects

        return marginal_effects(self, variables, discrete, level)

    def posterior(self, column: str | None = None) -> pd.DataFrame:
        """Return each respondent's chances of the true answers, given their reports and covariates (Bayes' rule).

        `column` is a randomized predictor; by default the outcome. These are chances under the model, with the
        coefficients taken as known; no single answer is revealed.
        """
        from .latent import hidden_answers

        return hidden_answers(self, column)

    def likelihood_ratio_test(self, smaller: ModelFit) -> NestedTest:
        """Test a smaller model of the same reports, whose terms are all in this one."""
        if not isinstance(smaller, ModelFit):
            raise AnalysisError(f"smaller is a {type(smaller).__name__}", "give a fit of the same reports")
        for fit in (self, smaller):
            fit._need_likelihood()
            if fit.penalized:
                raise AnalysisError(
                    "a penalized fit has no likelihood-ratio test", "fit both with penalty='none'"
                )
        same = self.n == smaller.n and self.data.outcome_name == smaller.data.outcome_name
        if not same or (self.family, self.link) != (smaller.family, smaller.link):
            raise AnalysisError(
                "the two models differ in outcome, link or data", "fit both to the same reports"
            )
        missing = [name for name in smaller.names if name not in self.names]
        if missing or smaller.parameters >= self.parameters:
            reason = "it has no fewer parameters"
            if missing:
                reason = f"{missing[0]!r} is not in the larger one"
            raise AnalysisError(f"the smaller model is not part of the larger one: {reason}")
        chi2 = max(2.0 * (self.log_likelihood - smaller.log_likelihood), 0.0)
        df = self.parameters - smaller.parameters
        return NestedTest(chi2, df, chi2_tail(chi2, df), f"chi2({df})")

    def likelihood_ratio_tests(self) -> pd.DataFrame:
        """Test each outcome coefficient against zero by refitting without it."""
        self._need_likelihood()
        rows = []
        for k in range(self.outcome_size):
            restricted = self._profile(k, 0.0)
            chi2 = max(2.0 * (self._top - restricted), 0.0)
            rows.append((self.names[k], chi2, float(stats.chi2.sf(chi2, 1))))
        return pd.DataFrame(rows, columns=["term", "chi2", "p_value"]).set_index("term")

    def likelihood_intervals(self, level: float | None = None) -> pd.DataFrame:
        """Return profile likelihood intervals of the outcome's coefficients; an open end is infinite."""
        self._need_likelihood()
        requested_level = self.level
        if level is not None:
            requested_level = check_level(level)
        drop = float(stats.chi2.isf(1.0 - requested_level, 1)) / 2.0
        rows = [
            (self.names[k], self._profile_end(k, -1, drop), self._profile_end(k, 1, drop))
            for k in range(self.outcome_size)
        ]
        return pd.DataFrame(rows, columns=["term", "low", "high"]).set_index("term")

    @property
    def _top(self) -> float:
        """The maximum of what was maximised, with the prior where there is one."""
        return self.data.likelihood.evaluate(self.theta).log_likelihood

    def _profile(self, k: int, value: float) -> float:
        fixed = {**self.held, k: value * float(self.data.scale[k])}
        _, evaluation, _ = maximum(self.data.likelihood, self.theta, fixed)
        return evaluation.log_likelihood

    def _profile_end(self, k: int, side: int, drop: float) -> float:
        """Find where the profile has fallen by `drop`, stepping out from the estimate first."""
        step = float(self.se[k]) * math.sqrt(2.0 * drop)

        def fall(value: float) -> float:
            return self._top - self._profile(k, value) - drop

        near = float(self.coef[k])
        for _ in range(12):
            far = near + side * step
            if fall(far) > 0.0:
                return float(optimize.brentq(fall, near, far, xtol=1e-7))
            near, step = far, 1.6 * step
        return side * math.inf

    def _need_likelihood(self) -> None:
        if self.degrees_of_freedom is not None:
            raise AnalysisError(
                "under a sample design there is no likelihood", "use the Wald intervals of to_frame()"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as JSON values."""
        return {
            "formula": self.formula,
            "family": self.family,
            "link": self.link,
            "n": self.n,
            "log_likelihood": self.log_likelihood,
            "level": self.level,
            "information": self.information,
            "randomized": list(self.randomized),
            "penalized": self.penalized,
            "notes": list(self.notes),
            "coefficients": rows_as_json(self.to_frame(everything=True).reset_index()),
        }

    def _repr_html_(self) -> str:
        return self.to_frame(everything=True).to_html(float_format=lambda value: f"{value:.4f}", na_rep="")
