"""From a formula and a table of reports to the matrices of a likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from formulaic import Formula, model_matrix
from formulaic.errors import FormulaicError

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.columns import (
    Codes,
    Mechanisms,
    Variable,
    check_frame,
    column_of,
    randomized_variable,
    report_codes,
)
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sampling.weights import SurveyDesign

from .likelihood import BinaryOutcome, Evaluable, GaussianOutcome, Likelihood

__all__ = ["ModelData", "read_model"]

_MOST_CLASSES = 64


@dataclass(frozen=True, eq=False)
class ModelData:
    """A likelihood with the names of its coefficients."""

    likelihood: Evaluable
    names: tuple[str, ...]
    class_names: tuple[str, ...]
    outcome_reports: Floats | None
    randomized: tuple[str, ...]
    naive: Floats
    notes: tuple[str, ...]
    scale: Floats
    """What each coefficient was multiplied by: columns are brought to size one, so that the search is well scaled."""


def read_model(
    formula: str,
    data: pd.DataFrame,
    channels: Mechanisms,
    link: str,
    event: Any,
    predictors: str | None,
    design: SurveyDesign | None,
) -> ModelData:
    """Read formula and data; refuse what is not there, does not fit, or cannot be identified."""
    outcome_name, right = _parse(formula)
    if check_frame(data).empty:
        raise AnalysisError("the table of reports is empty", "there is nothing to fit")
    needed = sorted(set(right.required_variables))
    if outcome_name in needed:
        raise AnalysisError(f"{outcome_name!r} is on both sides of the formula", "take it off one side")
    if isinstance(channels, Mapping):
        unused = set(channels) - set(needed) - {outcome_name}
        if unused:
            raise AnalysisError(
                f"a channel is given for {sorted(unused)[0]!r}, which is not in the formula {formula!r}"
            )
    frame = pd.DataFrame(
        {name: column_of(data, name).reset_index(drop=True) for name in needed}, index=range(len(data))
    )
    randomized = [(name, one) for name in needed if (one := randomized_variable(name, channels)) is not None]
    column = column_of(data, outcome_name)
    outcome, reports = _outcome(column, outcome_name, channels, link, event)
    codes = [report_codes(frame[name], one.view.outcomes) for name, one in randomized]
    levels = list(product(*(range(one.view.options) for _, one in randomized)))
    if len(levels) > _MOST_CLASSES:
        raise AnalysisError(
            f"the randomized predictors have {len(levels)} joint answers, more than {_MOST_CLASSES}"
        )
    matrix, names = _stacked(right, frame, randomized, levels)
    covariates, class_names = _class_covariates(right, frame, randomized, levels, predictors)
    naive = _reported_design(matrix, randomized, codes, levels)
    _check_rank(naive if len(levels) == 1 else matrix.reshape(-1, matrix.shape[2]), names)
    _check_rank(covariates, class_names[: covariates.shape[1]] if class_names else ())
    size, class_size = _sizes(matrix), _sizes(covariates)
    likelihood = Likelihood(
        outcome=outcome,
        design=matrix / size,
        covariates=covariates / class_size,
        seen=_seen(randomized, codes, levels, len(data)),
        weights=np.ones(len(data)) if design is None else design.weights,
    )
    scale = np.concatenate([size, np.tile(class_size, len(levels) - 1), np.ones(outcome.extra)])
    hidden = tuple(name for name, _ in randomized)
    if link != "identity" and randomized_variable(outcome_name, channels) is not None:
        hidden = (outcome_name, *hidden)
    notes = _decoy_notes(channels, list(hidden))
    return ModelData(likelihood, names, class_names, reports, hidden, naive / size, notes, scale)


def _parse(formula: str) -> tuple[str, Any]:
    try:
        parsed = Formula(formula)
    except FormulaicError as error:
        raise AnalysisError(f"the formula {formula!r} cannot be read: {_first_line(error)}") from None
    left, right = getattr(parsed, "lhs", None), getattr(parsed, "rhs", None)
    if isinstance(right, tuple):
        raise AnalysisError(
            f"the formula {formula!r} has several parts, split by |", "write one, with + between terms"
        )
    if left is None or len(left) != 1 or len(left[0].factors) != 1:
        raise AnalysisError(
            f"the formula {formula!r} needs one outcome on the left, as in 'cheated ~ age + sex'"
        )
    if right is None or len(right) == 0:
        raise AnalysisError(
            f"the formula {formula!r} has no terms on the right", "write at least 1, the intercept"
        )
    return str(left[0].factors[0].expr), right


def _outcome(
    column: pd.Series[Any], name: str, channels: Mechanisms, link: str, event: Any
) -> tuple[BinaryOutcome | GaussianOutcome, Floats | None]:
    variable = randomized_variable(name, channels)
    if link == "identity":
        if variable is not None:
            raise AnalysisError(f"the outcome {name!r} is randomized", "a linear model needs an exact number")
        values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
        if not np.all(np.isfinite(values)):
            raise AnalysisError(f"the outcome {name!r} has values that are no finite numbers")
        return GaussianOutcome(values), None
    if variable is None:
        return _exact_outcome(column, name, link, event)
    table = _binary_channel(variable, event)
    codes = report_codes(column, variable.view.outcomes)
    no, yes = table[0][codes], table[1][codes]
    if np.any((no == 0.0) & (yes == 0.0)):
        raise AnalysisError(f"the outcome {name!r} has reports that its channel can never give")
    return BinaryOutcome(no, yes, link), table


def _exact_outcome(column: pd.Series[Any], name: str, link: str, event: Any) -> tuple[BinaryOutcome, Floats]:
    if event is not None:
        yes = (column == event).to_numpy(dtype=np.float64)
        if yes.min() == yes.max():
            raise AnalysisError(
                f"the outcome {name!r} is {'always' if yes[0] else 'never'} {event!r}", "nothing to fit"
            )
    else:
        yes = report_codes(column, 2).astype(np.float64)
        if yes.min() == yes.max():
            raise AnalysisError(f"the outcome {name!r} has one value only", "nothing to fit")
    return BinaryOutcome(1.0 - yes, yes, link), np.eye(2)


def _binary_channel(variable: Variable, event: Any) -> Floats:
    """Rows "not the event" and "the event" of the outcome's channel.

    Several answers can be put together as "not the event" only where they give the same reports but for themselves, as
    in K-ary and forced response: then the event's own report is all that matters.
    """
    table = variable.view.backward(np.eye(variable.view.outcomes)).T
    if len(variable.labels) == 2:
        yes = 1 if event is None else variable.position(event)
        return table[[1 - yes, yes]]
    if event is None:
        known = ", ".join(map(str, variable.labels))
        raise AnalysisError(
            f"{variable.name} has several answers", f"name the one to model with event= ({known})"
        )
    yes = variable.position(event)
    others = np.delete(table[:, yes], yes)
    if table.shape[0] != table.shape[1] or np.ptp(others) > 1e-12:
        raise AnalysisError(
            f"{variable.name}: its channel does not allow to model {event!r} against the rest, because the other "
            "answers are reported as it with different chances"
        )
    # Each report is reduced to "the event's own report or not"; its chance is shared out over the other reports.
    result = np.empty((2, variable.view.outcomes))
    for row, chance in enumerate((others[0], table[yes, yes])):
        result[row] = (1.0 - chance) / (variable.view.outcomes - 1)
        result[row, yes] = chance
    return result


def _stacked(
    right: Any, frame: pd.DataFrame, randomized: list[tuple[str, Variable]], levels: list[tuple[int, ...]]
) -> tuple[Floats, tuple[str, ...]]:
    """Make the outcome's model matrix under every class of the randomized predictors at once, so that codings agree."""
    copies = []
    for level in levels:
        values: dict[str, Any] = {}
        for (name, one), k in zip(randomized, level, strict=True):
            if len(one.labels) == 2:
                values[name] = float(k)
            else:
                texts = [str(label) for label in one.labels]
                values[name] = pd.Categorical([texts[k]] * len(frame), categories=texts)
        copies.append(frame.assign(**values))
    # Categories survive a concatenation of equal categoricals.
    stacked = pd.concat(copies, ignore_index=True) if len(copies) > 1 else copies[0]
    matrix, names = _matrix(right, stacked)
    return matrix.reshape(len(levels), len(frame), -1), names


def _matrix(right: Any, frame: pd.DataFrame) -> tuple[Floats, tuple[str, ...]]:
    try:
        # An empty context: a formula sees the columns only, never the caller's variables.
        # Missing values are kept, not dropped without a word, and named below.
        with np.errstate(all="ignore"):
            found = model_matrix(right, frame, context={"np": np}, na_action="ignore")
    except Exception as error:  # a formula is code of the caller's, which may fail in any way
        raise AnalysisError(f"the formula cannot be computed: {_first_line(error)}") from None
    values = np.asarray(found, dtype=np.float64)
    if not np.all(np.isfinite(values)):
        raise AnalysisError(
            "the formula gives infinite or missing values for some rows", "check its transformations"
        )
    return values, tuple(map(str, found.columns))


def _class_covariates(
    right: Any,
    frame: pd.DataFrame,
    randomized: list[tuple[str, Variable]],
    levels: list[tuple[int, ...]],
    predictors: str | None,
) -> tuple[Floats, tuple[str, ...]]:
    """Covariates of the randomized predictors' own model: by default every exact term of the formula."""
    if not randomized:
        return np.ones((len(frame), 1)), ()
    hidden = {name for name, _ in randomized}
    if predictors is None:
        terms = [term for term in right if not set(Formula([term]).required_variables) & hidden]
        wanted: Any = Formula(["1", *(str(term) for term in terms if str(term) != "1")])
    else:
        try:
            wanted = Formula(predictors)
        except FormulaicError as error:
            raise AnalysisError(f"the formula {predictors!r} cannot be read: {_first_line(error)}") from None
        foreign = set(wanted.required_variables) - set(frame.columns)
        if foreign:
            raise AnalysisError(
                f"predictors= uses {sorted(foreign)[0]!r}, which is not in the outcome's formula"
            )
        if set(wanted.required_variables) & hidden:
            raise AnalysisError("predictors= must not use a randomized column", "name exact ones only")
    matrix, names = _matrix(wanted, frame)
    labels = [
        ", ".join(f"{name}={one.labels[k]}" for (name, one), k in zip(randomized, level, strict=True))
        for level in levels[1:]
    ]
    return matrix, tuple(f"[{label}] {name}" for label in labels for name in names)


def _seen(
    randomized: list[tuple[str, Variable]], codes: list[Codes], levels: list[tuple[int, ...]], n: int
) -> Floats:
    """Chance of each respondent's predictor reports under every class."""
    seen = np.ones((n, len(levels)))
    for number, ((name, one), reports) in enumerate(zip(randomized, codes, strict=True)):
        table = one.view.backward(np.eye(one.view.outcomes)).T
        seen *= table[[level[number] for level in levels]][:, reports].T
        if np.any(seen.max(axis=1) == 0.0):
            raise AnalysisError(f"the predictor {name!r} has reports that its channel can never give")
    return seen


def _reported_design(
    matrix: Floats, randomized: list[tuple[str, Variable]], codes: list[Codes], levels: list[tuple[int, ...]]
) -> Floats:
    """Make the model matrix with reports taken for answers: a place to start the search from."""
    chosen = np.zeros(matrix.shape[1], dtype=np.int64)
    for (_, one), reports in zip(randomized, codes, strict=True):
        chosen = chosen * one.view.options + np.minimum(reports, one.view.options - 1)
    assert len(levels) == len(matrix)
    return np.asarray(matrix[chosen, np.arange(matrix.shape[1])], dtype=np.float64)


def _decoy_notes(channels: Mechanisms, names: list[str]) -> tuple[str, ...]:
    variables = [one for name in names if (one := randomized_variable(name, channels)) is not None]
    return tuple(
        f"the decoy share of {one.name} was estimated from {one.decoy.answers:,} answers; "
        "its own uncertainty is not in these standard errors"
        for one in variables
        if one.decoy is not None
    )


def _sizes(matrix: Floats) -> Floats:
    """Root mean square of each column."""
    size = np.sqrt(np.mean(matrix.reshape(-1, matrix.shape[-1]) ** 2, axis=0))
    return np.where(size > 0.0, size, 1.0)


def _check_rank(matrix: Floats, names: tuple[str, ...]) -> None:
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0.0] = 1.0
    scaled = matrix / scale
    if len(matrix) < matrix.shape[1]:
        raise NotIdentifiedError(f"{len(matrix)} respondents cannot determine {matrix.shape[1]} coefficients")
    for width in range(1, matrix.shape[1] + 1):
        if np.linalg.matrix_rank(scaled[:, :width], tol=1e-9) < width:
            name = names[width - 1] if names else str(width - 1)
            raise NotIdentifiedError(
                f"the column {name!r} of the model is a combination of the ones before it, so its coefficient is not "
                "identified",
                "leave it out",
            )


def _first_line(error: Exception) -> str:
    return str(error).split("\n", maxsplit=1)[0]
