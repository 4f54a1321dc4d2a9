"""Missing values: refused by default, or left out row by row and said (R's na.fail and na.omit)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from hushpoll_analysis.errors import AnalysisError

from .alike import times_of

__all__ = ["FAIL", "OMIT", "check_action", "chosen_rows", "names_in", "takes_missing"]

FAIL, OMIT = "fail", "omit"
Result = TypeVar("Result")


def takes_missing(function: Callable[..., Result]) -> Callable[..., Result]:
    """Give a function of a table the keyword `na_action`: "fail" (the default) or "omit".

    With "omit" rows with a missing value in a column that the call names are left out, and the result's notes say how
    many.
    """

    @wraps(function)
    def complete(*args: Any, na_action: str = FAIL, **keys: Any) -> Result:
        check_action(na_action)
        frame = next((one for one in (*args, *keys.values()) if isinstance(one, pd.DataFrame)), None)
        if na_action == FAIL or frame is None:
            return function(*args, **keys)
        names = set(names_in((args, keys)))
        used = [one for one in frame.columns if one in names or str(one).removesuffix("_reported") in names]
        kept = ~frame[used].isna().any(axis=1).to_numpy()
        if kept.all():
            return function(*args, **keys)
        chosen = [chosen_rows(one, frame, kept) for one in args]
        result = function(*chosen, **{key: chosen_rows(one, frame, kept) for key, one in keys.items()})
        return _said(result, int(times_of(frame)[~kept].sum()))

    known = inspect.signature(function)
    extra = inspect.Parameter("na_action", inspect.Parameter.KEYWORD_ONLY, default=FAIL, annotation="str")
    complete.__signature__ = known.replace(  # type: ignore[attr-defined]
        parameters=[*known.parameters.values(), extra]
    )
    return complete


def names_in(value: Any) -> Iterator[str]:
    """Find every name in the arguments; of a formula its words, of replicate weights their columns."""
    if isinstance(value, str):
        yield from [*re.findall(r"\w+", value), *re.findall("`([^`]+)`", value)] if "~" in value else [value]
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from names_in(key)
            yield from names_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from names_in(one)
    elif _has_columns(value):
        yield from names_in(value.columns)


def _has_columns(value: Any) -> bool:
    """Tell an object of the analysis that names columns or holds them, such as replicate weights."""
    return is_dataclass(value) and not isinstance(value, type) and hasattr(value, "columns")


def check_action(na_action: str) -> None:
    """Refuse what is no way to treat missing values."""
    if na_action not in (FAIL, OMIT):
        raise AnalysisError(f"na_action is {na_action!r}", f"give {FAIL!r} or {OMIT!r}")


def chosen_rows(value: Any, frame: pd.DataFrame, kept: Any) -> Any:
    """Keep the rows of the table, and of columns given beside it."""
    if isinstance(value, pd.DataFrame | pd.Series) and len(value) == len(frame):
        return value[kept]
    if isinstance(value, np.ndarray | list) and len(value) == len(frame):
        return np.asarray(value)[kept]
    if _has_columns(value):
        return replace(value, columns=chosen_rows(value.columns, frame, kept))
    if isinstance(value, dict):
        return {key: chosen_rows(one, frame, kept) for key, one in value.items()}
    return value


def _said(result: Result, left_out: int) -> Result:
    note = f"{left_out:,} rows with missing values were left out"
    names = {one.name for one in fields(result)} if is_dataclass(result) else set()
    for name in ("remarks", "notes"):
        if name in names:
            return replace(result, **{name: (*getattr(result, name), note)})  # type: ignore[type-var]
    return result
