"""From the mechanism that a survey document names to a `Mechanism`: which names fit which kinds of question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import mechanisms
from .errors import MechanismError
from .mechanisms import Mechanism

__all__ = ["KINDS", "NAMES", "compile_mechanism", "recommended_name"]


@dataclass(frozen=True)
class _Rule:
    parameters: frozenset[str]
    make: Callable[[int, dict[str, Any]], Mechanism]
    two_options_only: bool = False


def _decoy_rule(make: Callable[..., Mechanism], *more: str) -> _Rule:
    names = frozenset({"decoy_share", "decoy_counts", "epsilon", *more})
    return _Rule(names, lambda options, given: make(**given), two_options_only=True)


# A new mechanism is one constructor and one line here.
_RULES: dict[str, _Rule] = {
    "warner": _Rule(frozenset({"epsilon", "truth"}), lambda options, given: mechanisms.warner(**given), True),
    "forced": _Rule(frozenset({"forced"}), lambda options, given: _forced(options, **given)),
    "krr": _Rule(frozenset({"epsilon"}), lambda options, given: mechanisms.krr(options, **given)),
    "or_poll": _decoy_rule(mechanisms.or_poll),
    "unrelated": _decoy_rule(mechanisms.unrelated, "truth"),
    "crosswise": _decoy_rule(mechanisms.crosswise),
}
NAMES = tuple(_RULES)

# Kinds of question, each with the mechanisms that fit it; decoys ask a second yes/no question.
KINDS: dict[str, tuple[str, ...]] = {
    "yes_no": ("warner", "krr", "forced", "or_poll", "unrelated", "crosswise"),
    "choice": ("krr", "warner", "forced"),
}


def recommended_name(kind: str, options: int) -> str:
    """Name the mechanism with the lowest variance at a given epsilon among those a survey can use."""
    return "warner" if kind == "yes_no" else "krr"


def compile_mechanism(kind: str, options: int, parameters: Mapping[str, Any]) -> Mechanism:
    """Make the mechanism of a question of this kind with this many options."""
    given = dict(parameters)
    if "name" not in given and "epsilon" in given:
        given["name"] = recommended_name(kind, options)
    if "name" not in given:
        raise MechanismError(
            "is missing; write a mechanism's name, or an epsilon for the recommended one", "name"
        )
    name = given.pop("name")
    if not isinstance(name, str) or name not in KINDS[kind]:
        raise MechanismError(
            f"{name!r} is not a mechanism for a {kind} question; use one of: {', '.join(KINDS[kind])}", "name"
        )
    rule = _RULES[name]
    if rule.two_options_only and options != 2:
        raise MechanismError(
            f"{name} takes exactly two options, this question has {options}; use krr", "name"
        )
    for key, item in given.items():
        if key not in rule.parameters:
            raise MechanismError(
                f"unknown key {key!r}; {name} takes: {', '.join(sorted(rule.parameters))}", key
            )
        if item is None or isinstance(item, (dict, bool)):
            raise MechanismError(f"{key} must be a number, got {item!r}; write for example 1.0", key)
        if isinstance(item, list) != (key in ("forced", "decoy_counts")):
            raise MechanismError(
                f"{key} has the wrong shape; lists are for forced and decoy_counts only", key
            )
    if name == "krr" and "epsilon" not in given:
        raise MechanismError("epsilon is missing; add a number such as 1.0", "epsilon")
    if name == "unrelated" and "truth" not in given:
        raise MechanismError(
            "truth is missing; add the chance of the sensitive question, such as 0.7", "truth"
        )
    return rule.make(options, given)


def _forced(options: int, forced: list[Any] | None = None) -> Mechanism:
    if forced is None or len(forced) != options:
        count = 0 if forced is None else len(forced)
        raise MechanismError(
            f"forced needs one share for each of {options} options, has {count}; add or remove some", "forced"
        )
    return mechanisms.forced(forced)
