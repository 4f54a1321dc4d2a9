"""Missing values: refused by default, or left out row by row and said (R's na.fail and na.omit)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Survey

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import find_column, is_randomized
from hushpoll_analysis.sample.distinct_rows import COMPLETE, times_of
from hushpoll_analysis.sample.row_order import in_row_order

FAIL, OMIT = "fail", "omit"
_NO_COLUMNS = {"option", "reference", "labels", "interval", "na_action", "penalty", "link", "family"}
"""Parameters whose words are answers, or settings."""
# Words of a formula, with the dots in them: no numbers, and not what is called, as C in C(x).
_WORDS = re.compile(r"(?<![\w.])[^\W\d][\w.]*(?![\w.]*\s*\()")
Result = TypeVar("Result")


def takes_missing(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return a function of a table the keyword `na_action`: "fail" (the default) or "omit".

    With "omit" rows with a missing value in a column that the call names are left out, and the result's notes say how
    many.
    """

    @wraps(function)
    def omitting(*args: Any, na_action: str = FAIL, **keys: Any) -> Result:
        check_action(na_action)
        frame = next((value for value in (*args, *keys.values()) if isinstance(value, pd.DataFrame)), None)
        if na_action == FAIL or frame is None:
            return function(*args, **keys)
        try:
            arguments = signature.bind(*args, **keys).arguments
        except TypeError:
            return function(*args, **keys)  # which says what is wrong
        mechanisms = arguments.get("mechanisms", arguments.get("channels"))
        used = _columns(frame, [*names_in(arguments), *_named_designs(mechanisms)], mechanisms)
        complete_rows = complete(frame, used, [*args, *keys.values()])
        if complete_rows.all():
            return function(*args, **keys)
        chosen = [
            frame[complete_rows] if value is frame else chosen_rows(value, frame, complete_rows)
            for value in args
        ]
        named = {
            key: frame[complete_rows] if value is frame else chosen_rows(value, frame, complete_rows)
            for key, value in keys.items()
        }
        result = function(*chosen, **named)
        return _with_note(result, int(times_of(frame)[~complete_rows].sum()))

    signature = inspect.signature(function)
    extra = inspect.Parameter("na_action", inspect.Parameter.KEYWORD_ONLY, default=FAIL, annotation="str")
    omitting.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), extra]
    )
    return omitting


def _columns(frame: pd.DataFrame, names: Iterable[str], mechanisms: Any) -> list[str]:
    """Find the columns that names stand for: of an option that of its question, of a block's question the block's."""
    survey = None
    if isinstance(mechanisms, Survey):
        survey = mechanisms
    members = {}
    if survey is not None:
        members = {question: block.id for block in survey.blocks for question in block.questions}
    columns = []
    if COMPLETE in frame.columns:
        columns = [COMPLETE]
    for name in names:
        for candidate in (name, name.split("[")[0], members.get(name.split("[")[0], name)):
            column = find_column(
                frame, candidate, is_randomized(candidate, mechanisms) or candidate in members.values()
            )
            if column is not None:
                columns.append(column)
                break
    return list(dict.fromkeys(columns))


def _named_designs(mechanisms: Any) -> list[str]:
    """Name the columns of designs in a mapping, as in {"cheated": "wave"}."""
    if not isinstance(mechanisms, Mapping):
        return []
    return [value for value in mechanisms.values() if isinstance(value, str)]


def names_in(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Find the names of columns in arguments, by parameter: of a formula its words, of margins their columns."""
    for key, value in arguments.items():
        if key not in _NO_COLUMNS:
            yield from _column_names(value)


def _column_names(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from [*_WORDS.findall(value), *re.findall("`([^`]+)`", value)] if "~" in value else [value]
    elif isinstance(value, Mapping):
        # Margins have known shares for each column; the keys of other mappings are values, or names of designs.
        yield from (str(key) for key, item in value.items() if isinstance(item, Mapping))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _column_names(item)
    elif _has_columns(value):
        yield from _column_names(value.columns)


def _has_columns(value: Any) -> bool:
    """Return an object of the analysis that names columns or holds them, such as replicate weights."""
    return is_dataclass(value) and not isinstance(value, type) and hasattr(value, "columns")


def check_action(na_action: str) -> None:
    """Refuse what is no way to treat missing values."""
    if na_action not in (FAIL, OMIT):
        raise AnalysisError(f"na_action is {na_action!r}", f"give {FAIL!r} or {OMIT!r}")


def complete(frame: pd.DataFrame, used: Sequence[Any], beside: Sequence[Any]) -> npt.NDArray[np.bool_]:
    """Return which rows have a value in every column that is used, and in all values given with the table."""
    is_complete = ~frame[list(used)].isna().any(axis=1).to_numpy()
    for values in (
        row_values for value in beside if value is not frame for row_values in _row_values(value, frame)
    ):
        missing = np.asarray(pd.isna(values))
        is_complete &= ~missing.reshape(len(frame), -1).any(axis=1)
    return np.asarray(is_complete, dtype=bool)


def chosen_rows(value: Any, frame: pd.DataFrame, is_kept: npt.NDArray[np.bool_]) -> Any:
    """Return the chosen rows of values given with a table, matched by its labels."""
    if _has_row_values(value, frame):
        return in_row_order(value, frame)[is_kept]
    if _has_columns(value):
        return replace(value, columns=chosen_rows(value.columns, frame, is_kept))
    if isinstance(value, dict):
        return {key: chosen_rows(item, frame, is_kept) for key, item in value.items()}
    return value


def _row_values(value: Any, frame: pd.DataFrame) -> Iterator[npt.NDArray[Any]]:
    """Yield the values given with a table, in the order of its rows."""
    if _has_row_values(value, frame):
        yield in_row_order(value, frame)
    elif _has_columns(value):
        yield from _row_values(value.columns, frame)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _row_values(item, frame)


def _has_row_values(value: Any, frame: pd.DataFrame) -> bool:
    return isinstance(value, pd.DataFrame | pd.Series | np.ndarray | list) and len(value) == len(frame)


def _with_note(result: Result, left_out: int) -> Result:
    note = f"{left_out:,} rows with missing values were left out"
    if is_dataclass(result):
        names = {field.name for field in fields(result)}
    else:
        names = set()
    for name in ("remarks", "notes"):
        if name in names:
            return replace(result, **{name: (*getattr(result, name), note)})  # type: ignore[type-var]
    return result
