"""Conditions of other programs: those that mean "after these answers to one earlier question"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Condition", "bounds", "most_ticked", "read_condition"]

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
    """Read a condition on the answer to one question; None where it says anything else."""
    parts = [_atom(_bare(part)) for part in _OR.split(_bare(text))]
    known = [part for part in parts if part is not None]
    if len(known) != len(parts) or len({part.question for part in known}) != 1:
        return None
    # "not a, or not b" always holds, so only a single answer can be excluded.
    if len(known) > 1 and not all(part.shown for part in known):
        return None
    return Condition(known[0].question, tuple(code for part in known for code in part.codes), known[0].shown)


def _bare(text: str) -> str:
    """Take spaces and parentheses around the whole away."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")") and _closes_last(text):
        text = text[1:-1].strip()
    return text


def _closes_last(text: str) -> bool:
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


def _atom(text: str) -> Condition | None:
    if found := _SELECTED.fullmatch(text):
        return Condition(found[2], (_first(found.groups()[2:]),), found[1] is None)
    if found := _EQUAL.fullmatch(text):
        return Condition(found[1] or found[2], (_first(found.groups()[3:]),), found[3] not in ("!=", "ne"))
    return None


def _first(values: Sequence[str | None]) -> str:
    return next((value for value in values if value is not None), "")


def bounds(constraint: str, step: float) -> tuple[float, float] | None:
    """Find the smallest and the largest number in a constraint such as ". >= 0 and . <= 120"."""
    low = high = None
    for part in re.split(r"\s+and\s+", _bare(constraint), flags=re.IGNORECASE):
        found = _BOUND.fullmatch(_bare(part))
        if found is None:
            return None
        value = float(found[2]) + {"<": -step, ">": step}.get(found[1], 0.0)
        if found[1].startswith("<"):
            high = value if high is None else min(high, value)
        else:
            low = value if low is None else max(low, value)
    return None if low is None or high is None or low >= high else (low, high)


def most_ticked(constraint: str) -> int | None:
    """Find how many options may be ticked in a constraint such as "count-selected(.) <= 3"."""
    found = _TICKED.fullmatch(_bare(constraint))
    return None if found is None else int(found[2]) - (found[1] == "<")
