"""From a formula to model matrices, also for data that the model was not fitted to."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from formulaic import Formula, model_matrix
from formulaic.errors import DataMismatchWarning, FormulaicError
from formulaic.parser.types import Factor

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sample.columns import Variable

INTERCEPT = "Intercept"
_MOST_CLASSES = 64
_RANDOM = re.compile(r"\+?\s*\(\s*1\s*\|\s*(?:`([^`]+)`|([A-Za-z_][\w.]*))\s*\)")


def parse_formula(formula: str) -> tuple[str, Any, str | None]:
    """Return the outcome, the right side, and the column of a random intercept, written (1 | column) as in R."""
    random = None
    if isinstance(formula, str) and (effects := _RANDOM.findall(formula)):
        if len(effects) > 1:
            raise AnalysisError(
                f"the formula {formula!r} has {len(effects)} random intercepts", "one can be fitted"
            )
        random = next(name for name in effects[0] if name)
        formula = _RANDOM.sub("", formula)
        if formula.strip().endswith("~"):
            formula += " 1"
    _refuse_other_effects(formula)
    try:
        parsed = Formula(formula)
    except (FormulaicError, SyntaxError) as error:
        raise AnalysisError(f"the formula {formula!r} cannot be read: {first_line(error)}") from None
    left, right = getattr(parsed, "lhs", None), getattr(parsed, "rhs", None)
    if isinstance(right, tuple):
        raise AnalysisError(
            f"the formula {formula!r} has several parts, split by |",
            "write one, with + between terms, and a random intercept as (1 | column)",
        )
    if left is None or len(left) != 1 or len(left[0].factors) != 1:
        raise AnalysisError(
            f"the formula {formula!r} needs one outcome on the left, as in 'cheated ~ age + sex'"
        )
    if right is None or len(right) == 0:
        raise AnalysisError(
            f"the formula {formula!r} has no terms on the right", "write at least 1, the intercept"
        )
    return str(left[0].factors[0].expr), right, random


# What a formula may call on a row without looking at any other.
_BY_ROW = {"C", "I"}
_REMEMBERS = {"bs", "cc", "center", "cr", "cs", "poly", "scale", "standardize"}
"""What looks at all rows once and knows afterwards what it saw: of other rows it computes the same."""
_BY_ROW_OF = {
    "np": {"abs", "exp", "expm1", "floor", "log", "log10", "log1p", "log2", "power", "sqrt", "square"},
    "contr": {"SAS", "diff", "helmert", "poly", "sum", "treatment"},
}
# A column whose name is no word, as in scale(`my age`), and what stands in its place for Python's grammar.
_QUOTED = "`([^`]+)`"
_PLACE = "_quoted_"


def variables_of(formula: Any) -> set[str]:
    """Name the columns that a formula reads.

    formulaic's own list names no column in scale(age) and its like, and of `cov.age` only cov.
    """
    variables = set()
    for term in formula:
        for factor in term.factors:
            if factor.eval_method is Factor.EvalMethod.LOOKUP:
                variables.add(str(factor.expr))
            elif factor.eval_method is Factor.EvalMethod.PYTHON:
                variables |= _names_in(str(factor.expr))
    return variables


def _names_in(expression: str) -> set[str]:
    """Name what an expression takes as values: neither what it calls nor the module of that."""
    nodes = _nodes(expression)
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    plain = {node.id for node in nodes if isinstance(node, ast.Name) and node not in called}
    return {*re.findall(_QUOTED, expression), *plain} - {_PLACE, *_BY_ROW_OF}


def _nodes(expression: str) -> list[ast.AST]:
    """Read an expression, with a word instead of each name in backquotes; nothing where it cannot be read."""
    try:
        return list(ast.walk(ast.parse(re.sub(_QUOTED, _PLACE, expression), mode="eval")))
    except SyntaxError:
        return []


def needs_all_rows(formula: Any, names: Collection[str] | None = None) -> str | None:
    """Return the first part of a formula that may depend on other rows, such as scale(age); None where there is none.

    With `names` only parts that read one of these columns are looked at.
    """
    for expression in _expressions(formula):
        if not _is_by_row(expression) and (names is None or _names_in(expression) & set(names)):
            return expression
    return None


def forgets_rows(formula: str, name: str | None = None) -> str | None:
    """Return the first part of a model's formula whose meaning changes with the rows, such as I(x - np.mean(x)).

    With a `name` only parts that read this column are looked at.
    """
    for expression in _expressions(parse_formula(formula)[1]):
        if not _is_by_row(expression, _REMEMBERS) and (name is None or name in _names_in(expression)):
            return expression
    return None


def _expressions(formula: Any) -> Iterator[str]:
    for term in formula:
        for factor in term.factors:
            if factor.eval_method is Factor.EvalMethod.PYTHON:
                yield str(factor.expr)


def _is_by_row(expression: str, besides: Collection[str] = ()) -> bool:
    nodes = _nodes(expression)
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    return (
        bool(nodes)
        and all(_is_call_by_row(argument, besides) for argument in called)
        and not any(
            isinstance(node, ast.Subscript | ast.Lambda | ast.comprehension)
            or (isinstance(node, ast.Attribute) and not _is_call_by_row(node))
            for node in nodes
        )
    )


def _is_call_by_row(function: ast.expr, besides: Collection[str] = ()) -> bool:
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return function.attr in _BY_ROW_OF.get(function.value.id, ())
    return isinstance(function, ast.Name) and function.id in {*_BY_ROW, *besides}


def _refuse_other_effects(formula: Any) -> None:
    """Refuse random slopes and nested groups by name: the formula's grammar would only call them odd."""
    effect = None
    if isinstance(formula, str):
        effect = re.search(r"\([^()|]*\|[^()]*\)", formula)
    if effect is not None:
        raise AnalysisError(
            f"the formula has the random effect {effect[0]}, and only a random intercept of one column is fitted",
            "write it as (1 | column), for nested groups with a column that names the inner ones",
        )


@dataclass(frozen=True, eq=False)
class ModelTerms:
    """The right side of a model: it makes matrices of the data, and of other data in the same coding.

    `randomized` are the randomized predictors, `levels` the classes that their true answers make, `kept` the columns of
    the matrix that the model uses.
    """

    frame: pd.DataFrame
    randomized: tuple[tuple[str, Variable], ...]
    levels: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    class_names: tuple[str, ...]
    kept: tuple[int, ...]
    spec: Any
    class_spec: Any

    def matrix(self, frame: pd.DataFrame) -> Floats:
        """Return the outcome's model matrix under every class: J x n x p."""
        matrix = _evaluated(self.spec, stacked_frame(frame, self.randomized, self.levels))
        return matrix.reshape(len(self.levels), len(frame), -1)[:, :, list(self.kept)]

    def given(self, frame: pd.DataFrame) -> Floats:
        """Return the outcome's model matrix where the true predictors are columns of the data: 1 x n x p."""
        values = {name: true_values(frame[name], variable) for name, variable in self.randomized}
        matrix = _evaluated(self.spec, frame.assign(**values))
        return matrix.reshape(1, len(frame), -1)[:, :, list(self.kept)]

    def is_category(self, name: str) -> bool:
        """Return whether the formula takes a column as categories, as C(grade) does with numbers."""
        kinds = {factor: kind for factor, (kind, _) in self.spec.encoder_state.items()}
        return any(
            kinds.get(factor.expr) is Factor.Kind.CATEGORICAL and name in map(str, variables)
            for factor, variables in self.spec.factor_variables.items()
        )

    def covariates(self, frame: pd.DataFrame) -> Floats:
        """Return the matrix of the classes' own model."""
        if self.class_spec is None:
            return np.ones((len(frame), 1))
        return _evaluated(self.class_spec, frame)


def read_terms(
    right: Any,
    frame: pd.DataFrame,
    randomized: Sequence[tuple[str, Variable]],
    predictors: str | None,
    intercept: bool = True,
) -> tuple[ModelTerms, Floats, Floats]:
    """Read the terms: with the matrices of the data, of the outcome's model and of the classes' model."""
    levels = tuple(product(*(range(variable.view.options) for _, variable in randomized)))
    if len(levels) > _MOST_CLASSES:
        raise AnalysisError(
            f"the randomized predictors have {len(levels)} joint answers, more than {_MOST_CLASSES}"
        )
    terms_matrix = _matrix(right, stacked_frame(frame, randomized, levels))
    _refuse_one_value(terms_matrix)
    names = tuple(map(str, terms_matrix.columns))
    columns = tuple(i for i, name in enumerate(names) if intercept or name != INTERCEPT)
    if not columns:
        raise AnalysisError("the formula has no terms on the right beside the intercept", "name one")
    class_spec, covariates, class_names = _class_model(right, frame, randomized, levels, predictors)
    terms = ModelTerms(
        frame,
        tuple(randomized),
        levels=levels,
        names=tuple(names[i] for i in columns),
        class_names=class_names,
        kept=columns,
        spec=terms_matrix.model_spec,
        class_spec=class_spec,
    )
    matrix = np.asarray(terms_matrix, dtype=np.float64).reshape(len(levels), len(frame), -1)[
        :, :, list(columns)
    ]
    return terms, matrix, covariates


def _refuse_one_value(matrix: Any) -> None:
    """Refuse a term that has no column: a category of one value, which the library leaves out without a word."""
    for term in matrix.model_spec.structure:
        if not term.columns:
            raise NotIdentifiedError(
                f"{term.term} has the same value in all rows, so its coefficient is not identified",
                "leave it out",
            )


def stacked_frame(
    frame: pd.DataFrame, randomized: Sequence[tuple[str, Variable]], levels: Sequence[tuple[int, ...]]
) -> pd.DataFrame:
    """Return the data under every class of the randomized predictors, in one go so that codings agree."""
    copies = []
    for level in levels:
        values = {
            name: _constant(variable, k, len(frame))
            for (name, variable), k in zip(randomized, level, strict=True)
        }
        copies.append(frame.assign(**values))
    # Categories survive a concatenation of equal categoricals.
    if len(copies) > 1:
        return pd.concat(copies, ignore_index=True)
    return copies[0]


def _constant(variable: Variable, k: int, n: int) -> Any:
    if len(variable.labels) == 2:
        return float(k)
    texts = [str(label) for label in variable.labels]
    return pd.Categorical([texts[k]] * n, categories=texts)


def true_values(column: pd.Series[Any], variable: Variable) -> Any:
    """Return true answers, as labels or numbers, in the coding of the model."""
    positions = {label: k for k, label in enumerate(variable.labels)}
    if not set(column) <= set(positions):
        positions = {k: k for k in range(len(variable.labels))}
    unknown = [value for value in column if value not in positions]
    if unknown:
        answers = ", ".join(map(str, variable.labels))
        raise AnalysisError(f"{variable.name} has no answer {unknown[0]!r}", f"give true answers: {answers}")
    codes = np.array([positions[value] for value in column], dtype=np.int64)
    if len(variable.labels) == 2:
        return codes.astype(np.float64)
    texts = [str(label) for label in variable.labels]
    return pd.Categorical.from_codes(codes, categories=pd.Index(texts))


def _matrix(right: Any, frame: pd.DataFrame) -> Any:
    try:
        # An empty context: a formula sees the columns only, never the caller's variables.
        # Missing values are kept, not dropped without a word, and named below.
        with np.errstate(all="ignore"):
            matrix = model_matrix(right, frame, context={"np": np}, na_action="ignore")
    except Exception as error:  # a formula is code of the caller's, which may fail in any way
        raise AnalysisError(f"the formula cannot be computed: {first_line(error)}") from None
    _check_finite(np.asarray(matrix, dtype=np.float64))
    return matrix


def _evaluated(spec: Any, frame: pd.DataFrame) -> Floats:
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", DataMismatchWarning)
            matrix = spec.get_model_matrix(frame, context={"np": np})
    except DataMismatchWarning as error:
        # The library goes on with the first category in its place.
        raise AnalysisError(
            f"the formula cannot be computed for these data: {first_line(error).split('. ')[0]}",
            "give only categories that the model was fitted to",
        ) from None
    except Exception as error:  # as above
        raise AnalysisError(f"the formula cannot be computed for these data: {first_line(error)}") from None
    values = np.asarray(matrix, dtype=np.float64)
    _check_finite(values)
    return values


def _check_finite(values: Floats) -> None:
    if not np.all(np.isfinite(values)):
        raise AnalysisError(
            "the formula gives infinite or missing values for some rows", "check its transformations"
        )


def _class_model(
    right: Any,
    frame: pd.DataFrame,
    randomized: Sequence[tuple[str, Variable]],
    levels: Sequence[tuple[int, ...]],
    predictors: str | None,
) -> tuple[Any, Floats, tuple[str, ...]]:
    """Covariates of the randomized predictors' own model: by default every exact term of the formula."""
    if not randomized:
        return None, np.ones((len(frame), 1)), ()
    hidden = {name for name, _ in randomized}
    if predictors is None:
        terms = [term for term in right if not variables_of(Formula([term])) & hidden]
        spec: Any = Formula(["1", *(str(term) for term in terms if str(term) != "1")])
    else:
        spec = _given_predictors(predictors, set(frame.columns), hidden)
    matrix = _matrix(spec, frame)
    labels = [
        ", ".join(
            f"{name}={variable.labels[k]}" for (name, variable), k in zip(randomized, level, strict=True)
        )
        for level in levels[1:]
    ]
    names = tuple(f"[{label}] {name}" for label in labels for name in map(str, matrix.columns))
    return matrix.model_spec, np.asarray(matrix, dtype=np.float64), names


def given_predictors(predictors: str) -> Any:
    """Read the right side of the randomized predictors' own model."""
    if not isinstance(predictors, str):
        raise AnalysisError(f"predictors is {predictors!r}", "write the right side of a formula as a text")
    try:
        return Formula(predictors)
    except (FormulaicError, SyntaxError) as error:
        raise AnalysisError(f"the formula {predictors!r} cannot be read: {first_line(error)}") from None


def _given_predictors(predictors: str, columns: set[str], hidden: set[str]) -> Any:
    terms = given_predictors(predictors)
    foreign = variables_of(terms) - columns
    if foreign:
        raise AnalysisError(f"predictors= uses {sorted(foreign)[0]!r}, which is not in the outcome's formula")
    if variables_of(terms) & hidden:
        raise AnalysisError("predictors= must not use a randomized column", "name exact ones only")
    return terms


def column_sizes(matrix: Floats, times: Floats) -> Floats:
    """Root mean square of each column of J matrices, whose rows stand for several respondents each."""
    size = np.sqrt(times @ np.mean(matrix**2, axis=0) / times.sum())
    return np.where(size > 0.0, size, 1.0)


def check_rank(matrix: Floats, names: tuple[str, ...], people: int) -> None:
    """Refuse columns that are combinations of others, and fewer people than columns."""
    scale = np.linalg.norm(matrix, axis=0)
    scale[scale == 0.0] = 1.0
    scaled = matrix / scale
    if people < matrix.shape[1]:
        raise NotIdentifiedError(f"{people} respondents cannot determine {matrix.shape[1]} coefficients")
    for width in range(1, matrix.shape[1] + 1):
        if np.linalg.matrix_rank(scaled[:, :width], tol=1e-9) < width:
            if names:
                name = names[width - 1]
            else:
                name = str(width - 1)
            raise NotIdentifiedError(
                f"the column {name!r} of the model is a combination of the ones before it, so its coefficient is not "
                "identified",
                "leave it out",
            )


def first_line(error: Exception) -> str:
    """Return what another library's error says first."""
    return str(error).split("\n", maxsplit=1)[0]
