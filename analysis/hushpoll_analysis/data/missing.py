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

__all__ = ["FAIL", "OMIT", "takes_missing"]

FAIL, OMIT = "fail", "omit"
Result = TypeVar("Result")


def takes_missing(function: Callable[..., Result]) -> Callable[..., Result]:
    """Give a function of a table the keyword `na_action`: "fail" (the default) or "omit".

    With "omit" rows with a missing value in a column that the call names are left out, and the result's notes say how
    many.
    """

    @wraps(function)
    def complete(*args: Any, na_action: str = FAIL, **keys: Any) -> Result:
        if na_action not in (FAIL, OMIT):
            raise AnalysisError(f"na_action is {na_action!r}", f"give {FAIL!r} or {OMIT!r}")
        frame = next((one for one in (*args, *keys.values()) if isinstance(one, pd.DataFrame)), None)
        if na_action == FAIL or frame is None:
            return function(*args, **keys)
        names = set(_texts((args, keys)))
        used = [one for one in frame.columns if one in names or str(one).removesuffix("_reported") in names]
        kept = ~frame[used].isna().any(axis=1).to_numpy()
        if kept.all():
            return function(*args, **keys)
        chosen = [_chosen(one, frame, kept) for one in args]
        result = function(*chosen, **{key: _chosen(one, frame, kept) for key, one in keys.items()})
        return _said(result, int((~kept).sum()))

    known = inspect.signature(function)
    extra = inspect.Parameter("na_action", inspect.Parameter.KEYWORD_ONLY, default=FAIL, annotation="str")
    complete.__signature__ = known.replace(  # type: ignore[attr-defined]
        parameters=[*known.parameters.values(), extra]
    )
    return complete


def _texts(value: Any) -> Iterator[str]:
    """Find every name in the arguments; of a formula its words."""
    if isinstance(value, str):
        yield from re.findall(r"\w+", value) if "~" in value else [value]
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _texts(key)
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


def _chosen(value: Any, frame: pd.DataFrame, kept: Any) -> Any:
    """Keep the rows of the table, and of columns given beside it."""
    if isinstance(value, pd.DataFrame | pd.Series) and len(value) == len(frame):
        return value[kept].reset_index(drop=True)
    if isinstance(value, np.ndarray | list) and len(value) == len(frame):
        return np.asarray(value)[kept]
    if isinstance(value, dict):
        return {key: _chosen(one, frame, kept) for key, one in value.items()}
    return value


def _said(result: Result, left_out: int) -> Result:
    note = f"{left_out:,} rows with missing values were left out"
    names = {one.name for one in fields(result)} if is_dataclass(result) else set()
    for name in ("remarks", "notes"):
        if name in names:
            return replace(result, **{name: (*getattr(result, name), note)})  # type: ignore[type-var]
    return result
