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

from .columns import find_column, is_randomized
from .distinct_rows import COMPLETE, times_of
from .row_order import in_row_order

__all__ = ["FAIL", "OMIT", "check_action", "chosen_rows", "complete", "names_in", "takes_missing"]

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
        frame = next((one for one in (*args, *keys.values()) if isinstance(one, pd.DataFrame)), None)
        if na_action == FAIL or frame is None:
            return function(*args, **keys)
        try:
            given = known.bind(*args, **keys).arguments
        except TypeError:
            return function(*args, **keys)  # which says what is wrong
        mechanisms = given.get("mechanisms", given.get("channels"))
        used = _columns(frame, [*names_in(given), *_named_designs(mechanisms)], mechanisms)
        kept = complete(frame, used, [*args, *keys.values()])
        if kept.all():
            return function(*args, **keys)
        chosen = [frame[kept] if one is frame else chosen_rows(one, frame, kept) for one in args]
        named = {
            key: frame[kept] if one is frame else chosen_rows(one, frame, kept) for key, one in keys.items()
        }
        result = function(*chosen, **named)
        return _said(result, int(times_of(frame)[~kept].sum()))

    known = inspect.signature(function)
    extra = inspect.Parameter("na_action", inspect.Parameter.KEYWORD_ONLY, default=FAIL, annotation="str")
    omitting.__signature__ = known.replace(  # type: ignore[attr-defined]
        parameters=[*known.parameters.values(), extra]
    )
    return omitting


def _columns(frame: pd.DataFrame, names: Iterable[str], mechanisms: Any) -> list[str]:
    """Find the columns that names stand for: of an option that of its question, of a block's question the block's."""
    survey = mechanisms if isinstance(mechanisms, Survey) else None
    members = (
        {}
        if survey is None
        else {question: block.id for block in survey.blocks for question in block.questions}
    )
    found = [COMPLETE] if COMPLETE in frame.columns else []
    for name in names:
        for one in (name, name.split("[")[0], members.get(name.split("[")[0], name)):
            column = find_column(frame, one, is_randomized(one, mechanisms) or one in members.values())
            if column is not None:
                found.append(column)
                break
    return list(dict.fromkeys(found))


def _named_designs(mechanisms: Any) -> list[str]:
    """Name the columns of designs in a mapping, as in {"cheated": "wave"}."""
    values = mechanisms.values() if isinstance(mechanisms, Mapping) else ()
    return [value for value in values if isinstance(value, str)]


def names_in(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Find the names of columns in arguments, by parameter: of a formula its words, of margins their columns."""
    for key, value in arguments.items():
        if key not in _NO_COLUMNS:
            yield from _named(value)


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from [*_WORDS.findall(value), *re.findall("`([^`]+)`", value)] if "~" in value else [value]
    elif isinstance(value, Mapping):
        # Margins have known shares for each column; the keys of other mappings are values, or names of designs.
        yield from (str(key) for key, one in value.items() if isinstance(one, Mapping))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _named(one)
    elif _has_columns(value):
        yield from _named(value.columns)


def _has_columns(value: Any) -> bool:
    """Return an object of the analysis that names columns or holds them, such as replicate weights."""
    return is_dataclass(value) and not isinstance(value, type) and hasattr(value, "columns")


def check_action(na_action: str) -> None:
    """Refuse what is no way to treat missing values."""
    if na_action not in (FAIL, OMIT):
        raise AnalysisError(f"na_action is {na_action!r}", f"give {FAIL!r} or {OMIT!r}")


def complete(frame: pd.DataFrame, used: Sequence[Any], beside: Sequence[Any]) -> npt.NDArray[np.bool_]:
    """Return which rows have a value in every column that is used, and in all that is given beside the table."""
    kept = ~frame[list(used)].isna().any(axis=1).to_numpy()
    for values in (told for one in beside if one is not frame for told in _beside(one, frame)):
        missing = np.asarray(pd.isna(values))
        kept &= ~missing.reshape(len(frame), -1).any(axis=1)
    return np.asarray(kept, dtype=bool)


def chosen_rows(value: Any, frame: pd.DataFrame, kept: npt.NDArray[np.bool_]) -> Any:
    """Keep the chosen rows of what is given beside a table; by its labels, which the rows that are left may lose."""
    if _is_beside(value, frame):
        return in_row_order(value, frame)[kept]
    if _has_columns(value):
        return replace(value, columns=chosen_rows(value.columns, frame, kept))
    if isinstance(value, dict):
        return {key: chosen_rows(one, frame, kept) for key, one in value.items()}
    return value


def _beside(value: Any, frame: pd.DataFrame) -> Iterator[npt.NDArray[Any]]:
    """Find what is given beside a table, in the order of its rows."""
    if _is_beside(value, frame):
        yield in_row_order(value, frame)
    elif _has_columns(value):
        yield from _beside(value.columns, frame)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _beside(one, frame)


def _is_beside(value: Any, frame: pd.DataFrame) -> bool:
    return isinstance(value, pd.DataFrame | pd.Series | np.ndarray | list) and len(value) == len(frame)


def _said(result: Result, left_out: int) -> Result:
    note = f"{left_out:,} rows with missing values were left out"
    names = {one.name for one in fields(result)} if is_dataclass(result) else set()
    for name in ("remarks", "notes"):
        if name in names:
            return replace(result, **{name: (*getattr(result, name), note)})  # type: ignore[type-var]
    return result
