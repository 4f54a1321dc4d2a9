"""The fit of a regression model: coefficients, intervals, tests."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sampling.weights import SurveyDesign

from .formula import ModelData
from .likelihood import Evaluation, maximum

__all__ = ["INFORMATION", "ModelFit", "fit_model"]

INFORMATION = ("observed", "expected", "opg")
_FLAT = 1e-10
_WILD = 25.0


@dataclass(frozen=True, eq=False)
class ModelFit:
    """A fitted model.

    Attributes
    ----------
    names, coef, se, covariance
        Coefficients of the outcome's model, first; then those of the randomized predictors' own model (named
        "[column=answer] covariate") and, for a linear model, the log standard deviation of the errors.
    log_likelihood
        Of the reports, not of the answers.
    outcome_size
        How many of the coefficients belong to the outcome's model.
    degrees_of_freedom
        Of the t intervals under a sample design; None means normal intervals.
    """

    formula: str
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

    @property
    def notes(self) -> tuple[str, ...]:
        """What the standard errors do not contain."""
        return self.data.notes

    @property
    def se(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def sigma(self) -> float | None:
        """Standard deviation of the errors of a linear model."""
        return float(np.exp(self.coef[-1])) if self.link == "identity" else None

    def to_frame(self, everything: bool = False) -> pd.DataFrame:
        """Give coefficients with Wald intervals and tests; `everything` adds the predictors' own model."""
        z = self.coef / self.se
        tail = (1.0 - self.level) / 2.0
        df = self.degrees_of_freedom
        quantile = stats.norm.isf(tail) if df is None else stats.t.isf(tail, df)
        p = 2.0 * (stats.norm.sf(np.abs(z)) if df is None else stats.t.sf(np.abs(z), df))
        half = float(quantile) * self.se
        frame = pd.DataFrame(
            {
                "coef": self.coef,
                "se": self.se,
                "z": z,
                "p_value": p,
                "low": self.coef - half,
                "high": self.coef + half,
            },
            index=pd.Index(self.names, name="term"),
        )
        return frame if everything else frame.iloc[: self.outcome_size]

    def odds_ratios(self) -> pd.DataFrame:
        """Give exp(coefficient) with its interval, for the logit link."""
        if self.link != "logit":
            raise AnalysisError(f"odds ratios belong to the logit link, not to {self.link}")
        frame = self.to_frame()[["coef", "low", "high"]].rename(columns={"coef": "odds_ratio"})
        return frame.apply(np.exp)

    def likelihood_ratio_tests(self) -> pd.DataFrame:
        """Test each outcome coefficient against zero by refitting without it."""
        self._need_likelihood()
        rows = []
        for k in range(self.outcome_size):
            restricted = self._profile(k, 0.0)
            chi2 = max(2.0 * (self.log_likelihood - restricted), 0.0)
            rows.append((self.names[k], chi2, float(stats.chi2.sf(chi2, 1))))
        return pd.DataFrame(rows, columns=["term", "chi2", "p_value"]).set_index("term")

    def likelihood_intervals(self, level: float | None = None) -> pd.DataFrame:
        """Give profile likelihood intervals of the outcome's coefficients; an open end is infinite."""
        self._need_likelihood()
        wanted = self.level if level is None else level
        drop = float(stats.chi2.isf(1.0 - wanted, 1)) / 2.0
        rows = [
            (self.names[k], self._profile_end(k, -1, drop), self._profile_end(k, 1, drop))
            for k in range(self.outcome_size)
        ]
        return pd.DataFrame(rows, columns=["term", "low", "high"]).set_index("term")

    def _profile(self, k: int, value: float) -> float:
        scale = self.data.scale
        _, evaluation, _ = maximum(self.data.likelihood, self.coef * scale, (k, value * float(scale[k])))
        return evaluation.log_likelihood

    def _profile_end(self, k: int, side: int, drop: float) -> float:
        """Find where the profile has fallen by `drop`, stepping out from the estimate first."""
        step = float(self.se[k]) * math.sqrt(2.0 * drop)

        def fall(value: float) -> float:
            return self.log_likelihood - self._profile(k, value) - drop

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
                "under a sample design there is no likelihood; use the Wald intervals of to_frame()"
            )

    def to_dict(self) -> dict[str, Any]:
        """Give the fit as JSON values."""
        return {
            "formula": self.formula,
            "link": self.link,
            "n": self.n,
            "log_likelihood": self.log_likelihood,
            "level": self.level,
            "information": self.information,
            "randomized": list(self.randomized),
            "notes": list(self.notes),
            "coefficients": self.to_frame(everything=True).reset_index().to_dict(orient="records"),
        }

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")


def fit_model(
    formula: str, data: ModelData, link: str, level: float, information: str, design: SurveyDesign | None
) -> ModelFit:
    """Maximise the likelihood and check that its maximum is one."""
    names = (*data.names, *data.class_names, *(("log(sigma)",) if link == "identity" else ()))
    theta, evaluation, settled = maximum(data.likelihood, _start(data, link))
    bread = _information(data, theta, evaluation, information)
    _check_identified(names, theta, bread, settled, data)
    inverse = np.linalg.inv(bread)
    if design is not None:
        inverse = inverse @ design.total_covariance(evaluation.scores) @ inverse
    df = None if design is None else design.degrees_of_freedom + 1 - len(theta)
    if df is not None and df < 1:
        raise AnalysisError(
            f"{len(theta)} coefficients are too many for the clusters and strata of this design"
        )
    return ModelFit(
        formula=formula,
        link=link,
        n=len(data.likelihood.weights),
        names=names,
        coef=theta / data.scale,
        covariance=np.asarray(inverse / np.outer(data.scale, data.scale), dtype=np.float64),
        log_likelihood=evaluation.log_likelihood,
        level=level,
        information=information,
        outcome_size=len(data.names),
        randomized=data.randomized,
        degrees_of_freedom=df,
        data=data,
    )


def _start(data: ModelData, link: str) -> Floats:
    """Zero for a yes/no outcome; least squares on the reports for a number."""
    likelihood = data.likelihood
    width, inner, extra = likelihood.sizes
    start = np.zeros(width + inner + extra)
    if link == "identity":
        values = likelihood.outcome.values  # type: ignore[attr-defined]
        beta, *_ = np.linalg.lstsq(data.naive, values, rcond=None)
        spread = float(np.std(values - data.naive @ beta))
        if spread == 0.0:
            raise NotIdentifiedError(
                "the outcome is an exact combination of the predictors; there is nothing to fit"
            )
        start[:width], start[-1] = beta, math.log(spread)
    return start


def _information(data: ModelData, theta: Floats, evaluation: Evaluation, kind: str) -> Floats:
    if kind == "observed":
        return evaluation.information
    if kind == "opg":
        weighted = data.likelihood.weights[:, None] * evaluation.scores
        return np.asarray(weighted.T @ evaluation.scores, dtype=np.float64)
    reports = data.outcome_reports if data.outcome_reports is not None else np.eye(2)
    return data.likelihood.expected_information(theta, reports)


def _check_identified(
    names: tuple[str, ...], theta: Floats, bread: Floats, settled: bool, data: ModelData
) -> None:
    """Refuse a fit whose likelihood is flat, or still rising at infinity (separation, a share at its boundary)."""
    scale = np.sqrt(np.maximum(np.diag(bread), 1e-300))
    values, vectors = np.linalg.eigh(bread / np.outer(scale, scale))
    if values[0] <= _FLAT:
        worst = names[int(np.argmax(np.abs(vectors[:, 0])))]
        raise NotIdentifiedError(
            f"the coefficient of {worst!r} is not identified: the information is singular there (separation, too few "
            "reports, or an estimated share at 0 or 1); simplify the model"
        )
    # Columns have size one: a yes/no outcome's coefficient beyond this, or as uncertain, is on its way to infinity.
    size = np.maximum(np.abs(theta), np.sqrt(np.diag(np.linalg.inv(bread))))
    if data.likelihood.outcome.extra:
        size[: len(data.names)] = 0.0
    if size.max() > _WILD or not settled:
        raise NotIdentifiedError(
            f"the likelihood has no maximum: it keeps rising with the coefficient of {names[int(np.argmax(size))]!r} "
            "(separation, or an estimated share at 0 or 1); simplify the model or collect more reports"
        )
