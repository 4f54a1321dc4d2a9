"""Conditions of other programs: those that mean "after these answers to one earlier question"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_QUOTED = r"""(?:'([^']*)'|"([^"]*)"|(-?\d+))"""
# XLSForm: ${cheated} = 'yes', selected(${cheated}, 'yes'). LimeSurvey: cheated.NAOK == "Y".
_EQUAL = re.compile(
    rf"(?:\$\{{\s*(\w+)\s*\}}|(\w+?)(?:\.(?:NAOK|value|code))?)\s*(==|=|!=|eq|ne)\s*{_QUOTED}"
)
_SELECTED = re.compile(rf"(not\s*\(\s*)?selected\s*\(\s*\$\{{\s*(\w+)\s*\}}\s*,\s*{_QUOTED}\s*\)(?(1)\s*\))")
_OR = re.compile(r"\s+or\s+|\|\|", re.IGNORECASE)
_BOUND = re.compile(r"\.\s*(<=|>=|<|>)\s*(-?\d+(?:\.\d+)?)")
_TICKED = re.compile(r"count-selected\s*\(\s*\.\s*\)\s*(<=|<)\s*(\d+)")


@dataclass(frozen=True)
class Condition:
    """The question that decides, codes of its answers, and whether the question is shown after these or the others."""

    question: str
    codes: tuple[str, ...]
    shown: bool


def read_condition(text: str) -> Condition | None:
    """Read a condition on the answer to one question; None for any other condition."""
    parts = [_atom(_bare(condition)) for condition in _OR.split(_bare(text))]
    conditions = [condition for condition in parts if condition is not None]
    if len(conditions) != len(parts) or len({condition.question for condition in conditions}) != 1:
        return None
    # "not a, or not b" always holds, so only a single answer can be excluded.
    if len(conditions) > 1 and not all(condition.shown for condition in conditions):
        return None
    return Condition(
        conditions[0].question,
        tuple(code for condition in conditions for code in condition.codes),
        conditions[0].shown,
    )


def _bare(text: str) -> str:
    """Return an expression without outer spaces and parentheses."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")") and _closes_last(text):
        text = text[1:-1].strip()
    return text


def _closes_last(text: str) -> bool:
    depth = 0
    for index, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return index == len(text) - 1
    return False


def _atom(text: str) -> Condition | None:
    if match := _SELECTED.fullmatch(text):
        return Condition(match[2], (_first(match.groups()[2:]),), match[1] is None)
    if match := _EQUAL.fullmatch(text):
        return Condition(match[1] or match[2], (_first(match.groups()[3:]),), match[3] not in ("!=", "ne"))
    return None


def _first(values: Sequence[str | None]) -> str:
    return next((value for value in values if value is not None), "")


def bounds(constraint: str, step: float) -> tuple[float, float] | None:
    """Find the smallest and the largest number in a constraint such as ". >= 0 and . <= 120"."""
    low = high = None
    for clause in re.split(r"\s+and\s+", _bare(constraint), flags=re.IGNORECASE):
        match = _BOUND.fullmatch(_bare(clause))
        if match is None:
            return None
        value = float(match[2]) + {"<": -step, ">": step}.get(match[1], 0.0)
        if match[1].startswith("<"):
            if high is None:
                high = value
            else:
                high = min(high, value)
        else:
            if low is None:
                low = value
            else:
                low = max(low, value)
    if low is None or high is None or low >= high:
        return None
    return (low, high)


def most_ticked(constraint: str) -> int | None:
    """Find how many options may be ticked in a constraint such as "count-selected(.) <= 3"."""
    match = _TICKED.fullmatch(_bare(constraint))
    if match is None:
        return None
    return int(match[2]) - (match[1] == "<")
