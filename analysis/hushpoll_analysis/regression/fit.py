"""The fit of a regression model: coefficients, intervals, tests."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sampling.weights import SurveyDesign

from .formula import ModelData
from .likelihood import Evaluation, Likelihood, best_maximum, maximum
from .penalty import Penalized

__all__ = ["INFORMATION", "PENALTIES", "ModelFit", "fit_model"]

INFORMATION = ("observed", "expected", "opg")
PENALTIES = ("auto", "none", "log-f")
_FLAT = 1e-10
_WILD = 25.0
_SURE = (
    0.5  # coefficients (of size-one columns) with smaller standard errors leave no room for another maximum
)
PENALIZED = (
    "the likelihood alone has no maximum here (separation, or an estimated share at 0 or 1), so this fit is penalized: "
    "a weak log-F(1,1) prior on each coefficient holds it; read the intervals with care, likelihood_intervals() are "
    "better than the normal ones"
)
UNPENALIZED = "none"
ASKED = "this fit is penalized, as asked: a weak log-F(1,1) prior holds each coefficient"


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
    penalized
        Whether a weak prior holds the coefficients, because the likelihood alone has no maximum (or because it was
        asked for); `notes` says so too.
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
    penalized: bool = False
    penalty_note: str = field(default="", repr=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the standard errors do not contain, and how the fit was held."""
        return (*self.data.notes, self.penalty_note) if self.penalty_note else self.data.notes

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
            chi2 = max(2.0 * (self._top - restricted), 0.0)
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

    @property
    def _top(self) -> float:
        """The maximum of what was maximised, with the prior where there is one."""
        return self.data.likelihood.evaluate(self.coef * self.data.scale).log_likelihood

    def _profile(self, k: int, value: float) -> float:
        scale = self.data.scale
        _, evaluation, _ = maximum(self.data.likelihood, self.coef * scale, (k, value * float(scale[k])))
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
        """Give the fit as JSON values."""
        return {
            "formula": self.formula,
            "link": self.link,
            "n": self.n,
            "log_likelihood": self.log_likelihood,
            "level": self.level,
            "information": self.information,
            "randomized": list(self.randomized),
            "penalized": self.penalized,
            "notes": list(self.notes),
            "coefficients": self.to_frame(everything=True).reset_index().to_dict(orient="records"),
        }

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")


def fit_model(
    formula: str,
    data: ModelData,
    link: str,
    level: float,
    information: str,
    design: SurveyDesign | None,
    penalty: str = UNPENALIZED,
) -> ModelFit:
    """Maximise the likelihood, check that its maximum is one, and penalize it where it has none."""
    names = (*data.names, *data.class_names, *(("log(sigma)",) if link == "identity" else ()))
    note = ASKED if penalty == "log-f" else ""
    if not note:
        try:
            theta, evaluation, bread = _maximised(names, data, link, information)
        except NotIdentifiedError:
            if penalty == UNPENALIZED:
                raise
            note = PENALIZED
    if note:
        assert isinstance(data.likelihood, Likelihood)
        data = replace(data, likelihood=Penalized(data.likelihood))
        theta, evaluation, bread = _maximised(names, data, link, information)
    inverse = np.linalg.inv(bread)
    if design is not None:
        inverse = inverse @ design.total_covariance(evaluation.scores) @ inverse
    df = None if design is None else design.degrees_of_freedom + 1 - len(theta)
    if df is not None and df < 1:
        raise AnalysisError(
            f"{len(theta)} coefficients are too many for the clusters and strata of this design"
        )
    plain = data.likelihood.base if isinstance(data.likelihood, Penalized) else data.likelihood
    return ModelFit(
        formula=formula,
        link=link,
        n=len(data.likelihood.weights),
        names=names,
        coef=theta / data.scale,
        covariance=np.asarray(inverse / np.outer(data.scale, data.scale), dtype=np.float64),
        log_likelihood=plain.evaluate(theta).log_likelihood,
        level=level,
        information=information,
        outcome_size=len(data.names),
        randomized=data.randomized,
        degrees_of_freedom=df,
        data=data,
        penalized=bool(note),
        penalty_note=note,
    )


def _maximised(
    names: tuple[str, ...], data: ModelData, link: str, information: str
) -> tuple[Floats, Evaluation, Floats]:
    """Find the highest maximum with its information; refuse it where it is none."""
    theta, evaluation, settled = maximum(data.likelihood, _start(data, link))
    if data.randomized and not _sure(evaluation.information):
        theta, evaluation, settled = best_maximum(data.likelihood, _start(data, link))
    bread = _information(data, theta, evaluation, information)
    _check_identified(names, theta, bread, settled, data)
    return theta, evaluation, bread


def _sure(information: Floats) -> bool:
    """Say whether all coefficients are so well determined that the likelihood is nearly normal."""
    try:
        variances = np.diag(np.linalg.inv(information))
    except np.linalg.LinAlgError:
        return False
    return bool(np.all((variances > 0.0) & (variances < _SURE**2)))


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
                "the outcome is an exact combination of the predictors", "there is nothing to fit"
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
            "reports, or an estimated share at 0 or 1)",
            "simplify the model",
        )
    # Columns have size one: a yes/no outcome's coefficient beyond this, or as uncertain, is on its way to infinity.
    size = np.maximum(np.abs(theta), np.sqrt(np.diag(np.linalg.inv(bread))))
    if data.likelihood.outcome.extra:
        size[: len(data.names)] = 0.0
    wild = size.max() > _WILD and not isinstance(data.likelihood, Penalized)
    if wild or not settled:
        raise NotIdentifiedError(
            f"the likelihood has no maximum: it keeps rising with the coefficient of {names[int(np.argmax(size))]!r} "
            "(separation, or an estimated share at 0 or 1)",
            "simplify the model or collect more reports",
        )
