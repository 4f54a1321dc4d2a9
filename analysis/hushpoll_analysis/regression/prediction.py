"""What a fit says about people: chances of answers with intervals, and average marginal effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import optimize, special

from hushpoll_analysis.arguments import one_or_more
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.interval.student import two_sided

from .formula import forgets_rows
from .outcomes import BinaryOutcome

if TYPE_CHECKING:
    from .fit import ModelFit


def profile_limits(fit: ModelFit, statistic: Callable[[Floats], Floats], se: Floats, z: float) -> Floats:
    """Return the least and the largest value of each statistic at parameters that the likelihood does not reject.

    These are the ends of the profile likelihood interval (Neale and Miller 1997), or the normal ones where those are
    farther: two rows, low and high.
    """
    likelihood, top = fit.data.likelihood, fit._top
    drop = z**2 / 2.0

    def room(theta: Floats) -> float:
        return likelihood.evaluate(theta).log_likelihood - top + drop

    def slope(theta: Floats) -> Floats:
        evaluation = likelihood.evaluate(theta)
        return np.asarray(likelihood.weights @ evaluation.scores, dtype=np.float64)

    middle = statistic(fit.theta)
    limits = np.stack([middle - z * se, middle + z * se])

    def end(k: int, side: float) -> float:
        """Return the end of the interval on one side (-1: low); the normal one where the search finds none."""

        def height(theta: Floats) -> float:
            return -side * float(statistic(theta)[k]) / max(float(se[k]), 1e-9)

        minimum = optimize.minimize(
            height,
            fit.theta,
            method="SLSQP",
            constraints=[{"type": "ineq", "fun": room, "jac": slope}],
            options={"maxiter": 60, "ftol": 1e-6},
        )
        value = float(statistic(minimum.x)[k])
        usable = np.isfinite(value) and room(minimum.x) > -0.05
        if usable:
            return value
        return float(middle[k]) + side * z * float(se[k])

    for k in range(len(middle)):
        limits[0, k] = min(limits[0, k], end(k, -1.0))
        limits[1, k] = max(limits[1, k], end(k, 1.0))
    return limits


# What is said of people at given parameters.
Statistic = Callable[[Floats], Floats]

_STEP = 1e-5
_EDGE = 1e-12
_CLEAR = 4.0
"""Standard errors that the mean chance of Yes has to be away from 0 and 1 for normal intervals of effects."""
_MOST_ROWS = 20_000


def answer_chances(fit: ModelFit, frame: pd.DataFrame, people: pd.DataFrame | None = None) -> Statistic:
    """Return the chance of each true answer (n x K) as a function of the parameters.

    Columns of randomized predictors, where the frame has them, hold true answers; where it has none, their own model is
    summed over: that of the rows `people`, where something of them was moved. The formula is computed once, whatever
    the parameters that are asked for.
    """
    terms, model = fit.data.terms, fit.data.likelihood.outcome
    hidden = [name for name, _ in terms.randomized]
    answered = [name for name in hidden if name in frame.columns]
    if answered and answered != hidden:
        raise AnalysisError(f"give the true answers of all of {', '.join(hidden)}, or of none")
    if answered:
        matrices = terms.given(frame)
    else:
        matrices = terms.matrix(frame)
    covariates = None
    if hidden and not answered:
        covariates = terms.covariates(frame if people is None else people)

    def chances(theta: Floats) -> Floats:
        beta, gamma, extra = fit.data.likelihood.base.split(theta)
        width = beta.size
        beta = beta / fit.data.scale[:width].reshape(beta.shape)
        if covariates is None:
            return model.chances(matrices[0] @ beta.T, extra)
        class_scale = fit.data.scale[width : width + gamma.size].reshape(gamma.shape)
        lines = covariates @ (gamma / class_scale).T
        classes = special.softmax(np.concatenate([np.zeros((len(frame), 1)), lines], axis=1), axis=1)
        parts = [model.chances(matrix @ beta.T, extra) for matrix in matrices]
        return np.asarray(
            sum(classes[:, j : j + 1] * chance for j, chance in enumerate(parts)), dtype=np.float64
        )

    return chances


def _frame(fit: ModelFit, data: pd.DataFrame | None) -> pd.DataFrame:
    """Return the columns of the model; for the data of the fit without the randomized predictors' reports."""
    terms = fit.data.terms
    hidden = [name for name, _ in terms.randomized]
    if data is None:
        return terms.frame.drop(columns=hidden)
    if not isinstance(data, pd.DataFrame):
        raise AnalysisError(f"data: expected a pandas DataFrame, got {type(data).__name__}")
    _refuse_forgetful(fit, None)
    columns = [name for name in terms.frame.columns if name not in hidden]
    missing = [name for name in columns if name not in data.columns]
    if missing:
        raise AnalysisError(
            f"there is no column {missing[0]!r} to predict from", f"the model needs {columns}"
        )
    if data.empty:
        raise AnalysisError("the table has no rows to predict for")
    copied = [*columns, *(name for name in hidden if name in data.columns)]
    frame = data[copied]
    if frame.isna().to_numpy().any():
        raise AnalysisError("some rows have missing values", "drop them, or fill them, first")
    return frame


def with_slopes(fit: ModelFit, statistic: Statistic) -> tuple[Floats, Floats]:
    """Return a statistic (flat) and its standard errors by the delta method, with central differences."""
    value = statistic(fit.theta)
    free = [position for position in range(len(fit.theta)) if position not in fit.held]
    slopes = np.zeros((value.size, len(free)))
    for column, position in enumerate(free):
        up, down = fit.theta.copy(), fit.theta.copy()
        up[position] += _STEP
        down[position] -= _STEP
        slopes[:, column] = (statistic(up) - statistic(down)).reshape(-1) / (2.0 * _STEP)
    # From the scale that people read back to that of the search.
    back = np.linalg.inv(fit.slope[np.ix_(free, free)])
    inner = back @ fit.covariance[np.ix_(free, free)] @ back.T
    variance = np.einsum("ia,ab,ib->i", slopes, inner, slopes, optimize=True)
    return value, np.sqrt(np.maximum(variance, 0.0))


def predicted(fit: ModelFit, data: pd.DataFrame | None, level: float | None) -> pd.DataFrame:
    """One row a respondent, and for several answers one block an answer."""
    frame = _frame(fit, data)
    index = fit.data.rows.index
    if data is not None:
        index = frame.index
    z = fit.quantile(level)
    chosen = list(fit.data.outcome.shown)
    chances = answer_chances(fit, frame)

    def statistic(theta: Floats) -> Floats:
        return chances(theta)[:, chosen].T.reshape(-1)

    value, se = with_slopes(fit, statistic)
    low, high = _limits(fit, value, se, z)
    result = pd.DataFrame({"estimate": value, "se": se, "low": low, "high": high})
    of_row = None
    if data is None:
        of_row = fit.data.rows.of_row
    blocks = []
    for number in range(len(chosen)):
        block = result.iloc[number * len(frame) : (number + 1) * len(frame)]
        blocks.append((block if of_row is None else block.iloc[of_row]).set_index(index))
    if len(chosen) == 1:
        return blocks[0]
    labels: list[Any] = [fit.data.outcome.labels[k] for k in chosen]
    if isinstance(index, pd.MultiIndex):
        inner = list(index.names)
    else:
        inner = [index.name or "row"]
    return pd.concat(blocks, keys=labels, names=["answer", *inner])


def _limits(fit: ModelFit, value: Floats, se: Floats, z: float) -> tuple[Floats, Floats]:
    if fit.link == "identity":
        return value - z * se, value + z * se
    inside = np.clip(value, _EDGE, 1.0 - _EDGE)
    odds, half = special.logit(inside), z * se / (inside * (1.0 - inside))
    # Beyond the edge nothing is left of the interval: it ends at the chance itself.
    return np.minimum(special.expit(odds - half), value), np.maximum(special.expit(odds + half), value)


def marginal_effects(
    fit: ModelFit, variables: Sequence[str] | None, discrete: Sequence[str], level: float | None
) -> pd.DataFrame:
    """Average over the data of dP/dx, or of P(one value) - P(the first value)."""
    terms = fit.data.terms
    columns = list(terms.frame.columns)
    chosen_variables = columns
    if variables is not None:
        chosen_variables = list(one_or_more(variables, "variables"))
    discrete = one_or_more(discrete, "discrete")
    unknown = [name for name in [*chosen_variables, *discrete] if name not in columns]
    if unknown:
        raise AnalysisError(f"{unknown[0]!r} is not a predictor of the model", f"it has {', '.join(columns)}")
    names: list[tuple[Any, ...]] = []
    parts: list[tuple[Floats, Floats]] = []
    limits: list[Floats] = []
    z = fit.quantile(level)
    faint = _is_faint(fit)
    for name in chosen_variables:
        # One at a time: each holds the model's matrix of the whole data, twice.
        for label, effect in _effects(fit, name, name in discrete):
            names.append((name, label))
            parts.append(with_slopes(fit, effect))
            value, se = parts[-1]
            limits.append(
                profile_limits(fit, effect, se, z) if faint else np.stack([value - z * se, value + z * se])
            )
    if not parts:
        raise AnalysisError("the model has no predictors, so there are no marginal effects")
    value, se = (np.concatenate(values) for values in zip(*parts, strict=True))
    wide = [fit.data.outcome.labels[k] for k in list(fit.data.outcome.shown)]
    low, high = np.concatenate(limits, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = value / se
    p = two_sided(ratio, fit.degrees_of_freedom)
    rows = pd.DataFrame({"effect": value, "se": se, "z": ratio, "p_value": p, "low": low, "high": high})
    keys = [(*pair, answer) for pair in names for answer in wide]
    index = pd.MultiIndex.from_tuples(keys, names=["variable", "contrast", "answer"])
    if len(wide) == 1:
        rows.index = index.droplevel("answer")
    else:
        rows.index = index
    return rows


def _is_faint(fit: ModelFit) -> bool:
    """Return whether the reports of a randomized yes/no outcome hardly tell its share from 0 or 1.

    The slope of the chance and its standard error then are small together, by chance, and normal intervals of
    marginal effects hold too rarely.
    """
    plain = fit.degrees_of_freedom is None and getattr(fit, "random", None) is None and not fit.held
    outcome = fit.data.likelihood.outcome
    rows = fit.data.terms.frame
    if not plain or not isinstance(outcome, BinaryOutcome) or not fit.data.outcome.randomized:
        return False
    if len(rows) > _MOST_ROWS:
        return False
    chances = answer_chances(fit, rows.drop(columns=[name for name, _ in fit.data.terms.randomized]))
    times = fit.data.rows.times
    mean, se = with_slopes(fit, lambda theta: np.atleast_1d(times @ chances(theta)[:, 1] / times.sum()))
    return bool(min(mean[0], 1.0 - mean[0]) < _CLEAR * se[0])


def _effects(fit: ModelFit, name: str, stepped: bool) -> Iterator[tuple[str, Statistic]]:
    """Yield the effects of one predictor: its contrast in words, and the average as a function of the parameters.

    The true answers of randomized predictors stay as they are: what they carry of it is not its own effect.
    """
    terms = fit.data.terms
    randomized = dict(terms.randomized)
    base = terms.frame.drop(columns=list(randomized))
    if name in randomized:
        yield from _randomized_effects(fit, name)
        return
    _refuse_forgetful(fit, name)
    column = base[name]
    number = (
        pd.api.types.is_numeric_dtype(column)
        and not pd.api.types.is_bool_dtype(column)
        and not terms.is_category(name)
    )
    if number and not stepped:
        step = 1e-4 * max(_spread(column.to_numpy(dtype=np.float64), fit.data.rows.times), 1e-8)
        # Not beyond what the model saw: splines have no values there.
        upper, lower = (column + step).clip(upper=column.max()), (column - step).clip(lower=column.min())
        up, down = (answer_chances(fit, base.assign(**{name: moved}), base) for moved in (upper, lower))
        width = np.maximum((upper - lower).to_numpy(dtype=np.float64), step)
        yield "slope", _difference(fit, up, down, width[:, None])
        return
    values = [0, 1] if number else _values(column)
    first = answer_chances(fit, base.assign(**{name: _constant(column, values[0])}), base)
    for value in values[1:]:
        moved = answer_chances(fit, base.assign(**{name: _constant(column, value)}), base)
        yield f"{value} - {values[0]}", _difference(fit, moved, first, 1.0)


def _refuse_forgetful(fit: ModelFit, name: str | None) -> None:
    """Refuse other rows for parts of a formula that would mean something else with them."""
    effect = forgets_rows(fit.formula, name)
    if effect is not None:
        raise AnalysisError(
            f"{effect} in the formula depends on all rows, so it means something else for other values",
            "use what remembers the rows of the fit, such as center(...) or scale(...), or compute a column before",
        )


def _spread(values: Floats, times: Floats) -> float:
    """Return the standard deviation of values, each with its number of occurrences."""
    gaps = values - np.average(values, weights=times)
    return float(np.sqrt(np.average(gaps**2, weights=times)))


def _values(column: pd.Series[Any]) -> list[Any]:
    return [value for value in pd.Categorical(column).categories if (column == value).any()]


def _constant(column: pd.Series[Any], value: Any) -> Any:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Categorical([value] * len(column), dtype=column.dtype)
    return pd.Series([value] * len(column), index=column.index, dtype=column.dtype)


def _randomized_effects(fit: ModelFit, name: str) -> list[tuple[str, Statistic]]:
    """All true answers set to one value, the other randomized predictors as their own model has them."""
    terms = fit.data.terms
    position = [hidden for hidden, _ in terms.randomized].index(name)
    variable = dict(terms.randomized)[name]
    base = terms.frame.drop(columns=[hidden for hidden, _ in terms.randomized])
    weights, matrix = fit.data.likelihood.base.weights, terms.matrix(base)

    def average(theta: Floats, k: int) -> Floats:
        likelihood, model = fit.data.likelihood.base, fit.data.likelihood.outcome
        beta, gamma, extra = likelihood.split(theta)
        beta = beta / fit.data.scale[: beta.size].reshape(beta.shape)
        classes = likelihood.class_chances(gamma)
        # The other predictors' joint distribution is left as it is.
        chosen = list(fit.data.outcome.shown)
        result = np.zeros((len(base), len(chosen)))
        for j, level in enumerate(terms.levels):
            moved = terms.levels.index((*level[:position], k, *level[position + 1 :]))
            result += classes[:, j : j + 1] * model.chances(matrix[moved] @ beta.T, extra)[:, chosen]
        return np.asarray(weights @ result / weights.sum(), dtype=np.float64)

    def contrast(k: int) -> Statistic:
        return lambda theta: average(theta, k) - average(theta, 0)

    return [
        (f"{variable.labels[k]} - {variable.labels[0]}", contrast(k)) for k in range(1, len(variable.labels))
    ]


def _difference(fit: ModelFit, upper: Statistic, lower: Statistic, width: float | Floats) -> Statistic:
    weights = fit.data.likelihood.base.weights
    chosen = list(fit.data.outcome.shown)

    def average(theta: Floats) -> Floats:
        gap = (upper(theta)[:, chosen] - lower(theta)[:, chosen]) / width
        return np.asarray(weights @ gap / weights.sum(), dtype=np.float64)

    return average
