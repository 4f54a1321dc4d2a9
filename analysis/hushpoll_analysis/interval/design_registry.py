"""All interval methods of shares under a sample design, and which one serves where the caller leaves the choice."""

from __future__ import annotations

from collections.abc import Sequence

from hushpoll_analysis.errors import AnalysisError

from .mover import Mover
from .on_scale import ArcSine, KornGraubard, Logit, RaoScott
from .quantity import Quantity
from .registry import AUTO, METHODS, method_for
from .score import Score
from .under_design import AtEffectiveSize, DesignMethod
from .wald import Wald
from .wilson import Wilson

_CHOSEN_BY_FIT = (AUTO, Wilson.name, Mover.name)
"""Names that stand for the method that fits; the others are taken as they are."""
_METHODS: tuple[DesignMethod, ...] = (
    *(AtEffectiveSize(method) for method in (Wilson(), Mover(), Score(), Wald())),
    Logit(),
    ArcSine(),
    KornGraubard(),
    RaoScott(),
)
_BY_NAME = {method.name: method for method in _METHODS}
WEIGHTED_INTERVALS = (AUTO, *_BY_NAME)


def design_method(name: str) -> DesignMethod:
    """Return a method by its name, Wilson's for the automatic choice; raise AnalysisError for an unknown name."""
    if name not in WEIGHTED_INTERVALS:
        raise AnalysisError(f"interval {name!r} is not one of {', '.join(WEIGHTED_INTERVALS)}")
    return _BY_NAME.get(name, _BY_NAME[Wilson.name])


def design_method_for(quantities: Sequence[Quantity], requested: str, *, simple: bool) -> DesignMethod:
    """Return the method for weighted reports; `simple`: all weights are equal and people were not drawn in clusters.

    The automatic choice is Wilson's: a weighted frequency has no lattice, on which the exact interval is needed. A
    general table has the score interval, which knows the effective size as Wilson's does: heavy weights make the
    linearised standard error of "t" too small.
    """
    if requested not in _CHOSEN_BY_FIT:
        return design_method(requested)
    if requested == AUTO and not simple:
        requested = Wilson.name
    method = method_for(quantities, requested)
    if method.normal and not simple:
        method = method_for(quantities, Score.name)
    return AtEffectiveSize(method)


def quantity_method(requested: str) -> str:
    """Return the name of the method for other weighted quantities, which only methods of simple samples fit."""
    if requested == AUTO:
        return Wilson.name
    if requested in METHODS:
        return requested
    return Wald.name
