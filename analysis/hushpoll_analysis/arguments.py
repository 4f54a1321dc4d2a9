"""Arguments at the door: what is no number, list, word or seed is refused by its name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from hushpoll_analysis.errors import AnalysisError


def number(value: Any, what: str, low: float = -math.inf, high: float = math.inf) -> float:
    """Read a finite number within its limits."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise AnalysisError(f"{what} is {value!r}", "give a number")
    if not low <= float(value) <= high:
        most = " or more"
        if math.isfinite(high):
            most = f" to {high:g}"
        raise AnalysisError(f"{what} is {value!r}", f"give a number of {low:g}{most}")
    return float(value)


def whole_number(value: Any, what: str, least: int) -> int:
    """Read a whole number that is not too small."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise AnalysisError(f"{what} is {value!r}", f"give a whole number of {least:,} or more")
    return int(value)


def chosen(value: Any, what: str, choices: Sequence[str]) -> str:
    """Read one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise AnalysisError(f"{what} {value!r} is not one of {', '.join(choices)}")
    return value


def listed(values: Any, what: str) -> tuple[Any, ...]:
    """Read a list; a text is none, though its letters could be."""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise AnalysisError(f"{what} is {values!r}", "give a list")
    return tuple(values)


def one_or_more(values: Any, what: str) -> tuple[Any, ...]:
    """Read a list of names; a single one will do."""
    if isinstance(values, str):
        return (values,)
    return listed(values, what)


def by_name(values: Any, what: str) -> dict[str, tuple[Any, ...]]:
    """Read lists by the names of their variables; nothing where there are none."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise AnalysisError(
            f"{what}: expected a list for each variable by its name, got {type(values).__name__}",
            f"write {what}={{'name': [...]}}",
        )
    return {str(name): listed(entry, f"{what} of {name}") for name, entry in values.items()}


def seed_of(seed: Any) -> Any:
    """Read a seed as numpy does: a whole number or several, or None for another draw each time."""
    if seed is None or isinstance(seed, np.random.Generator | np.random.SeedSequence):
        return seed
    if isinstance(seed, list | tuple | np.ndarray) and len(seed):
        return [whole_number(entry, "seed", 0) for entry in seed]
    return whole_number(seed, "seed", 0)
