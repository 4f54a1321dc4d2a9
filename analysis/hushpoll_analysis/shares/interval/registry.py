"""All interval methods by name, and which one serves where the caller leaves the choice or asks for what cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.shares.quantities import Quantity

from .adaptive import scarce
from .base import Interval, Limits, ManyLimits, Method, Resampling
from .bootstrap import Bootstrap
from .clopper_pearson import ClopperPearson
from .frequency import FrequencyMethod
from .jeffreys import Jeffreys
from .likelihood import Likelihood
from .mover import Mover
from .score import Score
from .wald import Wald
from .wilson import Wilson

__all__ = [
    "AUTO",
    "METHODS",
    "check_method",
    "in_words",
    "interval",
    "intervals",
    "many_limits",
    "method_for",
]

AUTO = "auto"
_BY_NAME: dict[str, Method] = {
    one.name: one
    for one in (
        Wilson(),
        ClopperPearson(),
        Jeffreys(),
        Wald(),
        Score(),
        Mover(),
        Likelihood(),
        Bootstrap(),
    )
}
METHODS = (AUTO, *_BY_NAME)


def check_method(name: str) -> None:
    """Refuse a name that is not a method."""
    if name not in METHODS:
        raise AnalysisError(f"interval: unknown method {name!r}", f"choose one of {', '.join(METHODS)}")


def in_words(name: str) -> str:
    """Give a method's name as a reader knows it."""
    return _BY_NAME[name].words


def method_for(wanted: Sequence[Quantity], requested: str = AUTO, together: bool = False) -> str:
    """Choose one method for a whole table, so that its intervals can be compared.

    "auto" is Wilson's interval; Clopper and Pearson's where a report is scarce, or where all intervals shall hold
    `together` (a Bonferroni level reaches into tails that no normal approximation knows). A method that does not fit
    gives way to MOVER where a decoy's share was counted, and elsewhere to the normal interval, or to the score interval
    where a report is scarce.
    """
    check_method(requested)
    if requested == AUTO:
        lines = [one.line for one in wanted]
        exact = together or any(one is not None and scarce(*one.reports) for one in lines)
        requested = ClopperPearson.name if exact else Wilson.name
    for name in (requested, Mover.name):
        if all(_BY_NAME[name].fits(one) for one in wanted):
            return name
    rare = any(
        scarce(count, one.reports) for one in wanted for count in one.counts[one.view.possible] / one.growth
    )
    return Score.name if rare and all(_BY_NAME[Score.name].fits(one) for one in wanted) else Wald.name


def interval(
    quantity: Quantity,
    method: str = AUTO,
    level: float = 0.95,
    resampling: Resampling = Resampling(),  # noqa: B008  (frozen)
) -> Interval:
    """Give a confidence interval for a linear quantity, unclipped.

    Parameters
    ----------
    quantity : Quantity
    method : str
        One of `METHODS`; where it does not fit, `method_for` names the one that is used.
    level : float
    resampling : Resampling
        For the bootstrap; the default seed makes it repeat exactly.

    Returns
    -------
    Interval
    """
    name = method_for([quantity], method)
    return Interval(*_limits(quantity, name, level, resampling), name)


def _limits(quantity: Quantity, method: str, level: float, resampling: Resampling) -> Limits:
    """Give the limits of one quantity: the estimate itself where nothing was left to chance."""
    if quantity.certain:
        return quantity.estimate, quantity.estimate
    return _BY_NAME[method].limits(quantity, level, resampling)


def intervals(
    wanted: Sequence[Quantity], method: str, level: float, resampling: Resampling
) -> list[Interval]:
    """Give the intervals of several quantities by one method, which `method_for` has chosen."""
    found: dict[int, Limits] = {}
    for places, how in many_limits(wanted, method):
        if how is None:
            found |= {k: _limits(wanted[k], method, level, resampling) for k in places}
        else:
            low, high = how(np.full(len(places), level), np.ones(len(places)))
            found |= dict(zip(places, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    return [Interval(*found[k], method) for k in range(len(wanted))]


def many_limits(wanted: Sequence[Quantity], method: str) -> Iterator[tuple[list[int], ManyLimits | None]]:
    """Sort quantities of any reports by how their limits are computed together; None where one by one."""
    chosen = _BY_NAME[method]
    if isinstance(chosen, FrequencyMethod):
        yield list(range(len(wanted))), chosen.together(wanted)
    elif isinstance(chosen, Score):
        lengths = [int(one.view.possible.sum()) for one in wanted]
        for length in dict.fromkeys(lengths):
            places = [k for k, one in enumerate(lengths) if one == length]
            yield places, chosen.together([wanted[k] for k in places])
    else:
        yield list(range(len(wanted))), None
