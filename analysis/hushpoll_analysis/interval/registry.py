"""All interval methods, and which one serves where the caller leaves the choice or asks for what cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from hushpoll_client.messages import constant, msg

from hushpoll_analysis.errors import AnalysisError

from .adaptive import ENOUGH, EXACT, WILSON, scarce
from .automatic import Automatic
from .base import Interval, IntervalMethod, Limits, NamedMethod, Resampling
from .bootstrap import Bootstrap
from .clopper_pearson import ClopperPearson
from .jeffreys import Jeffreys
from .likelihood import LikelihoodRatio
from .mover import Mover
from .quantity import Quantity
from .score import Score
from .wald import Wald

AUTO = Automatic.name
_MOVER, _SCORE, _WALD = Mover(), Score(), Wald()
_METHODS: tuple[IntervalMethod, ...] = (
    Automatic(),
    WILSON,
    EXACT,
    ClopperPearson(),
    Jeffreys(),
    _WALD,
    _SCORE,
    _MOVER,
    LikelihoodRatio(),
    Bootstrap(),
)
_BY_NAME = {method.name: method for method in _METHODS}
METHODS = tuple(_BY_NAME)


def interval_method(name: str) -> IntervalMethod:
    """Return a method by its name; raise AnalysisError for a name that no method has."""
    if name not in METHODS:
        raise AnalysisError(f"interval: unknown method {name!r}", f"choose one of {', '.join(METHODS)}")
    return _BY_NAME[name]


def method_for(
    quantities: Sequence[Quantity], requested: str = AUTO, together: bool = False
) -> IntervalMethod:
    """Return one method for a whole table, so that its intervals can be compared.

    A method that does not fit gives way to MOVER where a decoy's share was counted, and elsewhere to the normal
    interval, or to the score interval where a report is scarce. `together`: all intervals shall hold at once.
    """
    method = interval_method(requested).resolved(quantities, together)
    for candidate in (method, _MOVER):
        if all(candidate.fits(quantity) for quantity in quantities):
            return candidate
    scarce_report = any(
        scarce(count, quantity.reports)
        for quantity in quantities
        for count in quantity.counts[quantity.view.possible] / quantity.growth
    )
    if scarce_report and all(_SCORE.fits(quantity) for quantity in quantities):
        return _SCORE
    return _WALD


def joint_method(names: Iterable[str]) -> IntervalMethod:
    """Return the method of an estimate whose limits are joined from others': normal where all of them are normal."""
    if all(interval_method(name).normal for name in names):
        return _WALD
    return _MOVER


def interval(
    quantity: Quantity,
    method: str = AUTO,
    level: float = 0.95,
    resampling: Resampling = Resampling(),  # noqa: B008  (frozen)
) -> Interval:
    """Return a confidence interval for a linear quantity, unclipped, by the method that `method_for` chooses."""
    chosen = method_for([quantity], method)
    return Interval(*limits_of(quantity, chosen, level, resampling), chosen)


def limits_of(quantity: Quantity, method: IntervalMethod, level: float, resampling: Resampling) -> Limits:
    """Return the limits of one quantity: the estimate itself where nothing was left to chance."""
    if quantity.certain:
        return quantity.estimate, quantity.estimate
    return method.limits(quantity, level, resampling)


def intervals(
    quantities: Sequence[Quantity], method: IntervalMethod, level: float, resampling: Resampling
) -> list[Interval]:
    """Return the intervals of several quantities by one method, which `method_for` has chosen."""
    limits: dict[int, Limits] = {}
    for positions, together in method.batches(quantities):
        if together is None:
            limits |= {k: limits_of(quantities[k], method, level, resampling) for k in positions}
        else:
            low, high = together(np.full(len(positions), level), np.ones(len(positions)))
            limits |= dict(zip(positions, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    return [Interval(*limits[k], method) for k in range(len(quantities))]


def substitution_note(method: NamedMethod, requested: str, together: bool) -> list[str]:
    """Return why the interval is not the one that a reader would expect, as a list of at most one sentence."""
    if method.name in (requested, WILSON.name):
        return []
    label = constant(method.label)
    if method.exact and together:
        return [msg("All intervals shall hold together, so the {interval} is used.", interval=label)]
    if method.exact:
        return [
            msg(
                "A report came in fewer than {enough} times, so the {interval} is used.",
                enough=ENOUGH,
                interval=label,
            )
        ]
    if requested == AUTO:
        return [
            msg(
                "A binomial interval holds only where an estimate depends on one report frequency; here it does not, "
                "so the {interval} is used.",
                interval=label,
            )
        ]
    return [
        msg(
            "The {requested} interval holds only where an estimate depends on one report frequency; here it does not, "
            "so the {interval} is used.",
            requested=requested,
            interval=label,
        )
    ]
