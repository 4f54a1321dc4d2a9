"""Hidden answers of a fit: each person's chances given their reports, and imputations for other software."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from hushpoll_analysis.arguments import listed, seed_of
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.result import PlottedResult, rows_as_json
from hushpoll_analysis.sample.columns import check_frame, find_column
from hushpoll_analysis.sample.row_order import value_at
from hushpoll_analysis.tidy import Tidy

from .outcomes import BinaryOutcome, MultinomialOutcome, OrdinalOutcome

if TYPE_CHECKING:
    from .fit import ModelFit


REMEDY = "give the table that was fitted, with its index"


def matched_rows(fit: ModelFit, data: pd.DataFrame) -> pd.DataFrame:
    """Return `data` in the order of the fitted rows, matched by index.

    Raises AnalysisError if the index is another one and no column of the model shows that the rows are the same, or if
    a column of the model has other values than the fit. `data` has as many rows as the fit.
    """
    fitted = fit.data.rows.index
    is_matched = len(fitted) == fit.n and fitted.is_unique and data.index.is_unique
    same_names = data.index.equals(fitted)
    if is_matched and not same_names and fitted.isin(data.index).all():
        data, same_names = data.loc[fitted], True
    compared = [_agrees(fit, data, name) for name in (*fit.data.terms.frame.columns, fit.data.outcome_name)]
    if not same_names and not any(compared):
        raise AnalysisError(
            "the index of data is not the one that was fitted, and no column of the model is there to compare",
            REMEDY,
        )
    return data


def _agrees(fit: ModelFit, data: pd.DataFrame, name: str) -> bool:
    """Return whether a column of the model could be compared; raise AnalysisError if it has other values."""
    rows = fit.data.rows
    randomized = name in fit.data.randomized
    fitted_name, given_name = (find_column(frame, name, randomized) for frame in (rows.frame, data))
    if fitted_name is None or fitted_name != given_name:
        return False
    fitted = rows.of_each(rows.frame[fitted_name])
    fitted, column = (values.reset_index(drop=True) for values in (fitted, data[given_name]))
    if len(fitted) != len(column):
        return False
    unequal = np.flatnonzero(fitted.to_numpy() != column.to_numpy())
    if len(unequal):
        row = int(unequal[0])
        raise AnalysisError(
            f"data has other rows than the fit: {fitted_name!r} is {value_at(column, row)!r} in row {row}, "
            f"and the fit had {value_at(fitted, row)!r} there",
            REMEDY,
        )
    return True


def _joint(fit: ModelFit, theta: Floats, rng: np.random.Generator | None = None) -> Floats:
    """P(class j, answer t | reports, covariates) of each respondent, n x J x K; with `rng` groups' shifts are drawn."""
    random = getattr(fit, "random", None)
    if random is not None:
        answers: Floats = random.answers(theta, rng)
        return answers[:, None, :]
    base = fit.data.likelihood.base
    beta, gamma, extra = base.split(theta)
    model = base.outcome
    logs = np.log(np.maximum(base.class_chances(gamma) * base.seen, 1e-300))
    parts = []
    for design in base.design:
        eta = design @ beta.T
        if isinstance(model, BinaryOutcome):
            low, high = model.chances(eta, extra).T
            parts.append(np.log(np.maximum(model.with_report(low, high, extra), 1e-300)))
            continue
        if isinstance(model, MultinomialOutcome | OrdinalOutcome):
            seen = model.seen
        else:
            parts.append(model.terms(eta, extra).log[:, None])
            continue
        parts.append(np.log(np.maximum(model.chances(eta, extra) * seen, 1e-300)))
    joint = np.stack(parts, axis=1) + logs[:, :, None]
    total = special.logsumexp(joint, axis=(1, 2), keepdims=True)
    return np.asarray(np.exp(joint - total), dtype=np.float64)


def hidden_answers(fit: ModelFit, column: str | None = None) -> pd.DataFrame:
    """Return the chance of each true answer of one randomized column, one row per respondent."""
    name = column
    if column is None:
        name = fit.data.outcome_name
    joint = fit.data.rows.of_each(_joint(fit, fit.theta))
    index = fit.data.rows.index
    if name == fit.data.outcome_name:
        if not fit.data.outcome.randomized:
            raise AnalysisError(
                f"{name} was not randomized", f"name one of {', '.join(fit.randomized) or 'none'}"
            )
        return pd.DataFrame(joint.sum(axis=1), columns=list(fit.data.outcome.labels), index=index)
    names = [hidden for hidden, _ in fit.data.terms.randomized]
    if name not in names:
        raise AnalysisError(
            f"{name!r} is not a randomized column of this fit", f"name one of {', '.join(fit.randomized)}"
        )
    position = names.index(name)
    variable = fit.data.terms.randomized[position][1]
    levels = np.array([level[position] for level in fit.data.terms.levels])
    classes = joint.sum(axis=2)
    columns = {label: classes[:, levels == k].sum(axis=1) for k, label in enumerate(variable.labels)}
    return pd.DataFrame(columns, index=index)


@dataclass(frozen=True)
class Pooled(Tidy, PlottedResult):
    """Estimates of several imputations put together by Rubin's rules.

    `fraction_missing` is the share of the variance that the hidden answers make.
    """

    words = "pooled estimate"

    estimate: Floats
    se: Floats
    degrees_of_freedom: Floats
    fraction_missing: Floats
    level: float
    names: tuple[str, ...]

    def _at_level(self, level: float) -> Pooled:
        return replace(self, level=level)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each quantity with its t interval."""
        half = stats.t.isf((1.0 - self.level) / 2.0, self.degrees_of_freedom) * self.se
        return pd.DataFrame(
            {
                "estimate": self.estimate,
                "se": self.se,
                "df": self.degrees_of_freedom,
                "low": self.estimate - half,
                "high": self.estimate + half,
                "fraction_missing": self.fraction_missing,
            },
            index=pd.Index(self.names, name="term"),
        )


def rubin(
    estimates: Sequence[npt.ArrayLike],
    variances: Sequence[npt.ArrayLike],
    level: float = 0.95,
    names: Sequence[str] | None = None,
) -> Pooled:
    r"""Put the results of several imputations together by Rubin's rules.

    Parameters
    ----------
    estimates, variances
        For each imputation the estimates and their squared standard errors.

    Notes
    -----
    :math:`T = \bar U + (1 + 1/m) B` with the mean variance within and the variance between the imputations; degrees of
    freedom :math:`(m - 1)(1 + \bar U / ((1 + 1/m) B))^2`.

    References
    ----------
    Rubin, Multiple Imputation for Nonresponse in Surveys (1987).
    """
    try:
        values, within = (
            np.atleast_2d(np.asarray(values_of_each, dtype=np.float64))
            for values_of_each in (estimates, variances)
        )
    except (TypeError, ValueError):
        raise AnalysisError(
            "estimates and variances: expected numbers", "give a row for each imputation"
        ) from None
    if values.shape != within.shape or len(values) < 2:
        raise AnalysisError(
            f"{values.shape} estimates and {within.shape} variances",
            "give both for each of two imputations or more",
        )
    if not (np.isfinite(values).all() and np.isfinite(within).all()) or within.min() < 0.0:
        raise AnalysisError(
            "estimates and variances: some are missing, infinite, or variances below 0",
            "give squared standard errors, 0 or more",
        )
    m = len(values)
    mean, inside = values.mean(axis=0), within.mean(axis=0)
    between = (1.0 + 1.0 / m) * values.var(axis=0, ddof=1)
    total = inside + between
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(between > 0.0, (m - 1) * (1.0 + inside / between) ** 2, np.inf)
        lost = np.where(total > 0.0, between / total, 0.0)
    labels = listed(range(len(mean)) if names is None else names, "names")
    if len(labels) != len(mean):
        raise AnalysisError(f"names: {len(labels)} given for {len(mean)} estimates", "give one for each")
    return Pooled(mean, np.sqrt(total), np.minimum(df, 1e9), lost, level, tuple(map(str, labels)))


@dataclass(frozen=True, eq=False)
class Imputations(PlottedResult):
    """Several completed tables: every randomized column of the model holds drawn true answers."""

    plotted_column = "share"

    frames: tuple[pd.DataFrame, ...]
    columns: tuple[str, ...]
    level: float

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return iter(self.frames)

    def __len__(self) -> int:
        return len(self.frames)

    def __getitem__(self, number: int) -> pd.DataFrame:
        """Return one completed table, counted from 0."""
        return self.frames[number]

    def to_frame(self) -> pd.DataFrame:
        """Return all of them as one long table with the columns `imputation` (1, 2, ...) and `row`, for any
        software.
        """
        parts = [
            frame.assign(imputation=number, row=np.arange(len(frame)))
            for number, frame in enumerate(self.frames, 1)
        ]
        return pd.concat(parts, ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as JSON values, each a list of rows."""
        tables = [rows_as_json(frame) for frame in self.frames]
        return {"columns": list(self.columns), "level": self.level, "tables": tables}

    def _picture(self) -> pd.DataFrame:
        """Return the share of each drawn answer: the mean over the tables, the least and the largest."""
        shares = {
            (name, label): [float((frame[name] == label).mean()) for frame in self.frames]
            for name in self.columns
            for label in sorted(self.to_frame()[name].unique())
        }
        table = pd.DataFrame(shares).T
        limits = {"low": table.min(axis=1), "high": table.max(axis=1)}
        return pd.DataFrame({"share": table.mean(axis=1), **limits})

    def _words(self) -> str:
        return f"share of the drawn answer, mean and range of {len(self)} tables"

    def _repr_html_(self) -> str:
        table = self._picture().to_html(float_format=lambda value: f"{value:.4f}")
        return f"<p>{escape(self._words())}</p>{table}"

    def combine(
        self,
        analyse: Callable[[pd.DataFrame], tuple[npt.ArrayLike, npt.ArrayLike]],
        names: Sequence[str] | None = None,
    ) -> Pooled:
        """Analyse each completed table (giving estimates and squared standard errors), and pool by Rubin's rules."""
        if not callable(analyse):
            raise AnalysisError(
                f"analyse is a {type(analyse).__name__}", "give a function of a table: estimates, variances"
            )
        estimates = [analyse(frame) for frame in self.frames]
        return rubin(
            [estimate[0] for estimate in estimates],
            [estimate[1] for estimate in estimates],
            self.level,
            names,
        )


def impute(
    fit: ModelFit, imputations: int = 20, *, data: pd.DataFrame | None = None, seed: int | None = None
) -> Imputations:
    r"""Draw the hidden true answers several times from a fit, as complete tables for any other software.

    Parameters
    ----------
    fit
        The model of `logit`, `multinomial`, `ordinal` or `linear`. What is analysed later should be in it: a model
        without a predictor imputes as if that had no effect.
    imputations
        How many tables.
    data
        The table that was fitted, to carry its other columns along; rows that the fit left out for a missing value
        are left out here too. Rows are matched by the index, and the columns of the model have to agree with the fit.
    seed
        Makes the draws repeat; by default they differ each time.

    Notes
    -----
    Proper imputation: for each table the parameters are drawn from their normal approximation, then each person's
    answers from P(answers | reports, covariates) at these. Analyse every table and pool (`combine`, `rubin`). These are
    draws from a model, not anybody's true answers.

    References
    ----------
    Rubin (1987), Multiple Imputation for Nonresponse in Surveys; van den Hout, van der Heijden, JRSS A 165 (2002).
    """
    if isinstance(imputations, bool) or not isinstance(imputations, int) or imputations < 1:
        raise AnalysisError(
            f"imputations is {imputations!r}", "give the number of completed tables, such as 20"
        )
    if not hasattr(fit, "randomized"):
        raise AnalysisError(f"fit is a {type(fit).__name__}", "give the result of logit or another model")
    if not fit.randomized:
        raise AnalysisError(
            "nothing in this model was randomized, so nothing is hidden", "use the data as they are"
        )
    rng = np.random.default_rng(seed_of(seed))
    rows = fit.data.rows
    order = None
    if data is not None:
        data = _fitted_rows(check_frame(data), rows.index, fit.n)
        order = data.index
        if len(data) == fit.n:
            data = matched_rows(fit, data)
    if rows.of_row is None and len(rows.frame) != fit.n:
        raise AnalysisError(
            "the reports were put together while they were read, so nobody's row is known",
            "read the table, and fit the model to it",
        )
    base = fit.data.terms.frame if data is None else data.reset_index(drop=True)
    index = rows.index if data is None else data.index
    if data is None and rows.of_row is not None:
        base = base.iloc[rows.of_row].reset_index(drop=True)
    if len(base) != fit.n:
        raise AnalysisError(
            f"the data have {len(base)} rows, the fit {fit.n}", "give the table that was fitted"
        )
    free = [position for position in range(len(fit.theta)) if position not in fit.held]
    back = np.linalg.inv(fit.slope[np.ix_(free, free)])
    covariance = back @ fit.covariance[np.ix_(free, free)] @ back.T
    frames = []
    for _ in range(imputations):
        theta = fit.theta.copy()
        theta[np.array(free)] = rng.multivariate_normal(fit.theta[free], covariance, method="eigh")
        answers = _drawn(fit, base, rows.of_each(_joint(fit, theta, rng)), rng)
        answers = answers.set_axis(index)
        frames.append(answers if order is None or order.equals(index) else answers.loc[order])
    return Imputations(tuple(frames), fit.randomized, fit.level)


def _fitted_rows(data: pd.DataFrame, fitted: pd.Index[Any], n: int) -> pd.DataFrame:
    """Leave out the rows that the fit left out: those that are not among its names, where each lacks a value."""
    named = data.index.is_unique and len(fitted) == n and fitted.isin(data.index).all()
    if len(data) == n or not named or not data.drop(index=fitted).isna().any(axis=1).all():
        return data
    return data.loc[fitted]


def _drawn(fit: ModelFit, base: pd.DataFrame, joint: Floats, rng: np.random.Generator) -> pd.DataFrame:
    """One completed table: class and answer of each respondent, drawn together."""
    n, classes, answers = joint.shape
    edges = np.cumsum(joint.reshape(n, -1), axis=1)
    above = (rng.random(size=(n, 1)) > edges).sum(axis=1)
    chosen = np.minimum(above, classes * answers - 1)
    level, answer = np.divmod(chosen, answers)
    values: dict[str, Any] = {}
    outcome = fit.data.outcome
    if outcome.randomized:
        values[fit.data.outcome_name] = np.array(outcome.labels, dtype=object)[answer]
    levels = np.array(fit.data.terms.levels, dtype=np.int64).reshape(classes, -1)
    for position, (name, variable) in enumerate(fit.data.terms.randomized):
        values[name] = np.array(variable.labels, dtype=object)[levels[level, position]]
    return base.assign(
        **{name: pd.Series(value, index=base.index).infer_objects() for name, value in values.items()}
    )
