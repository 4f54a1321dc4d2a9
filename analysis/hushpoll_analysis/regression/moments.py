"""Linear regression on randomized predictors by their moments: no assumption on the errors, nor on the predictors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sample.columns import check_frame
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.distinct_rows import DistinctRows

from .fit import Coefficients, ModelFit
from .formula import ModelTerms
from .outcomes import GaussianOutcome
from .reading import ModelData

NORMAL, ANY = ERRORS = ("normal", "any")
_UNLIKELY = 0.01
DISAGREE = (
    "the fit with normal errors and the one without any assumption on them differ by more than chance (p = {p:.2g}): "
    "the errors may not be normal, or their spread may differ between answers; use errors='any'"
)
_WIDER = 1.25
_ENOUGH = 40
FEW = (
    "about {people} people are estimated to have the rarest answer of the randomized predictors: where errors are "
    "skewed, intervals of so few cover less often than they say (87 to 93 % in place of 95 %)"
)
TOO_SMALL = (
    "standard errors that assume nothing of the errors are up to {times:.1f} times these: the errors may not be "
    "normal, or their spread may differ between answers; use errors='any'"
)


@dataclass(frozen=True, eq=False)
class MomentFit(Coefficients):
    """A linear regression fitted by moments.

    Attributes
    ----------
    names, coef, se, covariance
        Coefficients, with robust (linearised) standard errors.
    degrees_of_freedom
        Of the t intervals under a sample design; None means normal intervals.
    """

    formula: str
    n: int
    names: tuple[str, ...]
    coef: Floats
    covariance: Floats = field(repr=False)
    level: float
    randomized: tuple[str, ...]
    degrees_of_freedom: int | None
    notes: tuple[str, ...] = ()
    terms: ModelTerms | None = field(default=None, repr=False)
    """The right side of the formula, which makes the model matrix of other data."""
    people: DistinctRows | None = field(default=None, repr=False)
    """The rows of the fit, and which of them is each respondent's."""

    def predict(self, data: pd.DataFrame | None = None, level: float | None = None) -> pd.DataFrame:
        """Return the mean of the outcome with its interval: estimate, se, low, high.

        Parameters
        ----------
        data
            Rows to predict for; by default those of the fit, if no predictor was randomized. Randomized predictors
            are *true* answers here (labels, or 0, 1, ...): the fit by moments has no model of them to stand in.
        level
            Confidence level; by default that of the fit.
        """
        assert self.terms is not None
        frame = self._rows(data)
        matrix = self.terms.given(frame)[0]
        mean = matrix @ self.coef
        se = np.sqrt(np.maximum(np.einsum("ia,ab,ib->i", matrix, self.covariance, matrix), 0.0))
        half = self.quantile(level) * se
        columns = {"estimate": mean, "se": se, "low": mean - half, "high": mean + half}
        return pd.DataFrame(columns, index=frame.index)

    def _rows(self, data: pd.DataFrame | None) -> pd.DataFrame:
        assert self.terms is not None
        hidden = [name for name, _ in self.terms.randomized]
        if data is None and hidden:
            raise AnalysisError(
                f"the true answers to {hidden[0]} are hidden, and a fit by moments has no model of them",
                "give data with a column of true answers to predict for",
            )
        if data is None:
            assert self.people is not None
            frame: pd.DataFrame = self.people.of_each(self.terms.frame)
            return frame.set_axis(self.people.index)
        data = check_frame(data)
        missing = [name for name in self.terms.frame.columns if name not in data.columns]
        if missing:
            raise AnalysisError(
                f"there is no column {missing[0]!r} to predict from",
                f"the model needs {', '.join(self.terms.frame.columns)}",
            )
        if data[list(self.terms.frame.columns)].isna().to_numpy().any():
            raise AnalysisError("some rows have missing values", "drop them, or fill them, first")
        return data

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as JSON values."""
        return {
            "formula": self.formula,
            "family": "linear",
            "errors": ANY,
            "n": self.n,
            "level": self.level,
            "randomized": list(self.randomized),
            "notes": list(self.notes),
            "coefficients": self.to_frame().reset_index().to_dict(orient="records"),
        }

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")


@dataclass(frozen=True, eq=False)
class _Moments:
    """Unbiased products of the true predictors with each other (n x p x p) and with the outcome (n x p)."""

    squares: Floats
    products: Floats

    def solve(self, weights: Floats) -> Floats:
        """Return the coefficients under these weights."""
        inner = np.einsum("n,nab->ab", weights, self.squares)
        try:
            return np.linalg.solve(inner, weights @ self.products)
        except np.linalg.LinAlgError:
            raise NotIdentifiedError(
                "the moments do not determine the coefficients", "simplify the model or collect more reports"
            ) from None

    def influence(self, weights: Floats, coef: Floats) -> Floats:
        """Return what each respondent adds to the coefficients, times the number of people they stand for."""
        inner = np.linalg.inv(np.einsum("n,nab->ab", weights, self.squares))
        return np.asarray((self.products - self.squares @ coef) @ inner, dtype=np.float64)


def fit_moments(formula: str, data: ModelData, level: float, design: SampleDesign | None) -> MomentFit:
    r"""Fit by moments: each answer's indicator is replaced by an unbiased weight of the report, also in products.

    Notes
    -----
    With :math:`b_j(z)` unbiased for "the true predictors are in class j" and :math:`x_j` their row of the model matrix,
    :math:`\hat\beta = (\sum_i \sum_j b_j x_j x_j')^{-1} \sum_i \sum_j b_j x_j y_i`.

    References
    ----------
    Nakamura (1990), Biometrika 77, 127-137 (corrected scores); Fuller, "Measurement error models" (1987).
    """
    _refuse(data, design)
    moments, likelihood = _moments(data), data.likelihood.base
    weights, width = likelihood.weights, len(data.names)
    coef = moments.solve(weights)
    if design is not None and design.replicates is not None:
        again = [
            moments.solve(np.asarray(column, dtype=np.float64)) for column in design.replicates.weights.T
        ]
        covariance = design.replicates.spread(np.stack(again), coef)
    else:
        covariance = _spread(moments.influence(weights, coef), data, design)
    df = None
    if design is not None:
        df = design.degrees_of_freedom + 1 - width
    if df is not None and df < 1:
        raise AnalysisError(f"{width} coefficients are too many for the clusters and strata of this design")
    scale = data.scale[:width]
    inside = covariance / np.outer(scale, scale)
    notes = (*data.notes, *_few(data))
    return MomentFit(
        formula=formula,
        n=data.n,
        names=data.names,
        coef=coef / scale,
        covariance=inside,
        level=level,
        randomized=data.randomized,
        degrees_of_freedom=df,
        notes=notes,
        terms=data.terms,
        people=data.rows,
    )


def _few(data: ModelData) -> tuple[str, ...]:
    """Return where hardly anybody has an answer: skewed errors of a few people are not normal in the mean."""
    if not data.randomized:
        return ()
    rarest = float(np.min(data.rows.times @ data.members()))
    if rarest >= _ENOUGH:
        return ()
    return (FEW.format(people=max(round(rarest), 0)),)


def with_check(fit: ModelFit, design: SampleDesign | None) -> tuple[str, ...]:
    """Return where the data contradict normal errors: other coefficients (Hausman 1978), or larger standard errors."""
    data = fit.data
    try:
        _refuse(data, design)
        moments = _moments(data)
    except AnalysisError:
        return ()
    likelihood, width = data.likelihood.base, len(data.names)
    coef = moments.solve(likelihood.weights)
    evaluation = likelihood.evaluate(fit.theta)
    inverse = np.linalg.inv(evaluation.information)
    influence = (evaluation.scores @ inverse)[:, :width]
    spread = _spread(influence - moments.influence(likelihood.weights, coef), data, design)
    gap = fit.theta[:width] - coef
    rank = int(np.linalg.matrix_rank(spread, hermitian=True))
    statistic = float(gap @ np.linalg.pinv(spread, hermitian=True) @ gap)
    p = float(stats.chi2.sf(statistic, max(rank, 1)))
    if p < _UNLIKELY:
        return (DISAGREE.format(p=p),)
    if design is None:
        times = float(np.sqrt(np.max(np.diag(_spread(influence, data, None)) / np.diag(inverse)[:width])))
        if times > _WIDER:
            return (TOO_SMALL.format(times=times),)
        return ()
    return ()


def _refuse(data: ModelData, design: SampleDesign | None) -> None:
    if data.decoys:
        raise AnalysisError(
            f"the decoy share of {data.decoys[0].name} was counted, which errors={ANY!r} cannot take in",
            "give it as decoy_share, or use normal errors",
        )
    if design is not None and design.fractions is not None:
        raise AnalysisError(
            f"errors={ANY!r} knows no finite population", "leave population out, or use normal errors"
        )


def _moments(data: ModelData) -> _Moments:
    likelihood = data.likelihood.base
    assert isinstance(likelihood.outcome, GaussianOutcome)
    members, design = data.members(), likelihood.design
    squares = np.einsum("nj,jna,jnb->nab", members, design, design, optimize=True)
    first = np.einsum("nj,jna->na", members, design)
    return _Moments(squares, first * likelihood.outcome.values[:, None])


def _spread(influence: Floats, data: ModelData, design: SampleDesign | None) -> Floats:
    """Return the covariance of what respondents add up to."""
    if design is not None:
        return design.total_covariance(influence)
    times = data.rows.times
    people = float(times.sum())
    spread = (influence * times[:, None]).T @ influence * (people / max(people - 1.0, 1.0))
    return np.asarray(spread, dtype=np.float64)
