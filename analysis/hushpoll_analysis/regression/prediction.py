"""What a fit says about people: chances of answers with intervals, and average marginal effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import special, stats

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.counts import check_level
from hushpoll_analysis.errors import AnalysisError

from .likelihood import Likelihood

if TYPE_CHECKING:
    from .fit import ModelFit

__all__ = ["answer_chances", "marginal_effects", "predicted"]

_STEP = 1e-5
_EDGE = 1e-12


def answer_chances(fit: ModelFit, frame: pd.DataFrame, theta: Floats) -> Floats:
    """Chance of each true answer (n x K) at given parameters.

    Columns of randomized predictors, where the frame has them, hold true answers; where it has none, their own model is
    summed over.
    """
    terms, model = fit.data.terms, fit.data.likelihood.outcome
    likelihood = _plain(fit)
    beta, gamma, extra = likelihood.split(theta)
    width = beta.size
    beta = beta / fit.data.scale[:width].reshape(beta.shape)
    hidden = [name for name, _ in terms.randomized]
    if not hidden or all(name in frame.columns for name in hidden):
        design = terms.given(frame)[0] if hidden else terms.design(frame)[0]
        return model.chances(design @ beta.T, extra)
    if any(name in frame.columns for name in hidden):
        raise AnalysisError(f"give the true answers of all of {', '.join(hidden)}, or of none")
    class_scale = fit.data.scale[width : width + gamma.size].reshape(gamma.shape)
    lines = terms.covariates(frame) @ (gamma / class_scale).T
    classes = special.softmax(np.concatenate([np.zeros((len(frame), 1)), lines], axis=1), axis=1)
    parts = [model.chances(design @ beta.T, extra) for design in terms.design(frame)]
    return np.asarray(sum(classes[:, j : j + 1] * part for j, part in enumerate(parts)), dtype=np.float64)


def _plain(fit: ModelFit) -> Likelihood:
    likelihood = fit.data.likelihood
    base = getattr(likelihood, "base", likelihood)
    assert isinstance(base, Likelihood)
    return base


def _frame(fit: ModelFit, data: pd.DataFrame | None) -> pd.DataFrame:
    """Give the columns of the model; of its own data without the randomized predictors' reports."""
    terms = fit.data.terms
    hidden = [name for name, _ in terms.randomized]
    if data is None:
        return terms.frame.drop(columns=hidden)
    if not isinstance(data, pd.DataFrame):
        raise AnalysisError(f"data: expected a pandas DataFrame, got {type(data).__name__}")
    needed = [name for name in terms.frame.columns if name not in hidden]
    missing = [name for name in needed if name not in data.columns]
    if missing:
        raise AnalysisError(f"there is no column {missing[0]!r} to predict from", f"the model needs {needed}")
    if data.empty:
        raise AnalysisError("the table has no rows to predict for")
    kept = [*needed, *(name for name in hidden if name in data.columns)]
    frame = data[kept]
    if frame.isna().to_numpy().any():
        raise AnalysisError("some rows have missing values", "drop them, or fill them, first")
    return frame


def with_slopes(fit: ModelFit, statistic: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Give a statistic (flat) and its standard errors by the delta method, with central differences."""
    value = statistic(fit.theta)
    free = [place for place in range(len(fit.theta)) if place not in fit.held]
    slopes = np.zeros((value.size, len(free)))
    for column, place in enumerate(free):
        up, down = fit.theta.copy(), fit.theta.copy()
        up[place] += _STEP
        down[place] -= _STEP
        slopes[:, column] = (statistic(up) - statistic(down)).reshape(-1) / (2.0 * _STEP)
    # From the scale that people read back to that of the search.
    back = np.linalg.inv(fit.slope[np.ix_(free, free)])
    inner = back @ fit.covariance[np.ix_(free, free)] @ back.T
    variance = np.einsum("ia,ab,ib->i", slopes, inner, slopes, optimize=True)
    return value, np.sqrt(np.maximum(variance, 0.0))


def predicted(fit: ModelFit, data: pd.DataFrame | None, level: float | None) -> pd.DataFrame:
    """One row a respondent, and for several answers one block an answer."""
    frame = _frame(fit, data)
    index = frame.index if data is not None else fit.data.terms.frame.index
    z = fit.quantile(fit.level if level is None else check_level(level))
    chosen = list(fit.data.outcome.shown)

    def statistic(theta: Floats) -> Floats:
        return answer_chances(fit, frame, theta)[:, chosen].T.reshape(-1)

    value, se = with_slopes(fit, statistic)
    low, high = _limits(fit, value, se, z)
    result = pd.DataFrame({"estimate": value, "se": se, "low": low, "high": high})
    if len(chosen) == 1:
        return result.set_index(index)
    labels: list[Any] = [fit.data.outcome.labels[k] for k in chosen]
    both: list[Any] = [labels, index]
    return result.set_index(pd.MultiIndex.from_product(both, names=["answer", index.name or "row"]))


def _limits(fit: ModelFit, value: Floats, se: Floats, z: float) -> tuple[Floats, Floats]:
    if fit.link == "identity":
        return value - z * se, value + z * se
    inside = np.clip(value, _EDGE, 1.0 - _EDGE)
    odds, half = special.logit(inside), z * se / (inside * (1.0 - inside))
    return special.expit(odds - half), special.expit(odds + half)


def marginal_effects(
    fit: ModelFit, variables: Sequence[str] | None, discrete: Sequence[str], level: float | None
) -> pd.DataFrame:
    """Average over the data of dP/dx, or of P(one value) - P(the first value)."""
    terms = fit.data.terms
    columns = list(terms.frame.columns)
    wanted = columns if variables is None else [variables] if isinstance(variables, str) else list(variables)
    unknown = [name for name in [*wanted, *discrete] if name not in columns]
    if unknown:
        raise AnalysisError(f"{unknown[0]!r} is no predictor of the model", f"it has {', '.join(columns)}")
    names: list[tuple[Any, ...]] = []
    parts: list[Callable[[Floats], Floats]] = []
    for name in wanted:
        for label, effect in _effects(fit, name, name in discrete):
            names.append((name, label))
            parts.append(effect)
    if not parts:
        raise AnalysisError("the model has no predictors, so there are no marginal effects")
    value, se = with_slopes(fit, lambda theta: np.concatenate([part(theta) for part in parts]))
    wide = [fit.data.outcome.labels[k] for k in list(fit.data.outcome.shown)]
    z = fit.quantile(fit.level if level is None else check_level(level))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = value / se
    df = fit.degrees_of_freedom
    p = 2.0 * (stats.norm.sf(np.abs(ratio)) if df is None else stats.t.sf(np.abs(ratio), df))
    rows = pd.DataFrame(
        {"effect": value, "se": se, "z": ratio, "p_value": p, "low": value - z * se, "high": value + z * se}
    )
    keys = [(*pair, answer) for pair in names for answer in wide]
    index = pd.MultiIndex.from_tuples(keys, names=["variable", "contrast", "answer"])
    rows.index = index.droplevel("answer") if len(wide) == 1 else index
    return rows


def _effects(fit: ModelFit, name: str, stepped: bool) -> list[tuple[str, Callable[[Floats], Floats]]]:
    """Give the effects of one predictor: its contrast in words, and the average as a function of the parameters."""
    terms = fit.data.terms
    randomized = dict(terms.randomized)
    base = terms.frame.drop(columns=list(randomized))
    if name in randomized:
        return _randomized_effects(fit, name)
    column = base[name]
    number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if number and not stepped:
        step = 1e-4 * max(float(column.std(ddof=0)), 1e-8)
        ends = [base.assign(**{name: column + side * step}) for side in (1.0, -1.0)]
        return [("slope", _difference(fit, ends[0], ends[1], 2.0 * step))]
    values = [0, 1] if number else _values(column)
    first = base.assign(**{name: _constant(column, values[0])})
    return [
        (
            f"{value} - {values[0]}",
            _difference(fit, base.assign(**{name: _constant(column, value)}), first, 1.0),
        )
        for value in values[1:]
    ]


def _values(column: pd.Series[Any]) -> list[Any]:
    return [value for value in pd.Categorical(column).categories if (column == value).any()]


def _constant(column: pd.Series[Any], value: Any) -> Any:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Categorical([value] * len(column), dtype=column.dtype)
    return pd.Series([value] * len(column), index=column.index, dtype=column.dtype)


def _randomized_effects(fit: ModelFit, name: str) -> list[tuple[str, Callable[[Floats], Floats]]]:
    """Everybody's true answer set to one value, the other randomized predictors as their own model has them."""
    terms = fit.data.terms
    place = [one for one, _ in terms.randomized].index(name)
    variable = dict(terms.randomized)[name]
    base = terms.frame.drop(columns=[one for one, _ in terms.randomized])
    weights = _plain(fit).weights

    def average(theta: Floats, k: int) -> Floats:
        likelihood, model = _plain(fit), fit.data.likelihood.outcome
        beta, gamma, extra = likelihood.split(theta)
        beta = beta / fit.data.scale[: beta.size].reshape(beta.shape)
        classes = likelihood.class_chances(gamma)
        # The other predictors' joint distribution is left as it is.
        chosen = list(fit.data.outcome.shown)
        result = np.zeros((len(base), len(chosen)))
        design = terms.design(base)
        for j, level in enumerate(terms.levels):
            moved = terms.levels.index((*level[:place], k, *level[place + 1 :]))
            result += classes[:, j : j + 1] * model.chances(design[moved] @ beta.T, extra)[:, chosen]
        return np.asarray(weights @ result / weights.sum(), dtype=np.float64)

    def contrast(k: int) -> Callable[[Floats], Floats]:
        return lambda theta: average(theta, k) - average(theta, 0)

    return [
        (f"{variable.labels[k]} - {variable.labels[0]}", contrast(k)) for k in range(1, len(variable.labels))
    ]


def _difference(
    fit: ModelFit, upper: pd.DataFrame, lower: pd.DataFrame, width: float
) -> Callable[[Floats], Floats]:
    weights = _plain(fit).weights
    chosen = list(fit.data.outcome.shown)

    def average(theta: Floats) -> Floats:
        gap = answer_chances(fit, upper, theta)[:, chosen] - answer_chances(fit, lower, theta)[:, chosen]
        return np.asarray(weights @ gap / weights.sum() / width, dtype=np.float64)

    return average
