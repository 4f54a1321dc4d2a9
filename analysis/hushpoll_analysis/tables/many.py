"""The limits of many shares at once, each at a separate level: what a table shows, and what a p-value searches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.special import ndtri, stdtrit

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.interval import (
    AUTO,
    Interval,
    IntervalMethod,
    effective_interval,
    fallback,
    interval,
    method_for,
    outside,
)
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.interval.wald import Wald

from .group_ratio import ratios_together
from .within import TableShare, shown_limits

Limits = tuple[Floats, Floats]


class ManyShares:
    """Shares with the method of each; those of one method are computed together."""

    def __init__(self, shares: Sequence[TableShare], together: int = 1) -> None:
        self.shares = shares
        self.methods = [_method(share, together > 1) for share in shares]
        self.names = ["" if method is None else method.name for method in self.methods]
        self.estimates = np.array([share.estimate for share in shares])
        self.errors = np.array([share.se for share in shares])
        designs = [share.joint.design for share in shares]
        self.freedom = np.array(
            [math.nan if design is None else design.degrees_of_freedom for design in designs]
        )
        self.batches = [
            (np.array(positions), how)
            for method in {method.name: method for method in self.methods if method is not None}.values()
            for positions, how in self._batches(
                [k for k, name in enumerate(self.names) if name == method.name], method
            )
        ]

    def at(self, levels: Floats) -> Limits:
        """Return the unclipped limits; NaN where a note says why there are none."""
        low, high = np.full((2, len(self.shares)), math.nan)
        for positions, how in self.batches:
            low[positions], high[positions] = how(levels[positions])
        return low, high

    def _batches(
        self, positions: list[int], method: IntervalMethod
    ) -> list[tuple[list[int], Callable[[Floats], Limits]]]:
        """Put what is computed together into one; a ratio of a randomized group has no quantity."""
        ratios = self._ratios([k for k in positions if self.shares[k].quantity is None])
        rest = [k for k in positions if self.shares[k].quantity is not None]
        for chosen, how in method.batches([_quantity(self.shares[k]) for k in rest]):
            mine = [rest[k] for k in chosen]
            if how is None:
                ratios += [([k], _alone(self.shares[k], method)) for k in mine]
            else:
                ratios.append((mine, self._at_size(mine, how)))
        return ratios

    def _ratios(self, positions: list[int]) -> list[tuple[list[int], Callable[[Floats], Limits]]]:
        """Put the ratios of randomized groups together that have as many joint reports; normal ones are one."""
        lengths: dict[int, list[int]] = {}
        for k in positions:
            ratio = self.shares[k].ratio
            lengths.setdefault(0 if ratio is None else len(ratio.top), []).append(k)
        batches: list[tuple[list[int], Callable[[Floats], Limits]]] = []
        for mine in lengths.values():
            ratios = [ratio for ratio in (self.shares[k].ratio for k in mine) if ratio is not None]
            if ratios:
                how = self._at_size(mine, ratios_together(ratios))
            else:
                how = partial(self._normal, mine)
            batches.append((mine, how))
        return batches

    def _at_size(
        self, positions: list[int], how: Callable[[Floats, Floats], Limits]
    ) -> Callable[[Floats], Limits]:
        """Shrink the size by (z/t)^2 under a sample design, as `effective_interval` does."""
        freedom = self.freedom[positions]

        def at(levels: Floats) -> Limits:
            tail = (1.0 - levels) / 2.0
            shrink = np.where(np.isnan(freedom), 1.0, ndtri(tail) / stdtrit(freedom, tail))
            return how(levels, shrink)

        return at

    def _normal(self, positions: list[int], levels: Floats) -> Limits:
        tail, freedom = (1.0 - levels) / 2.0, self.freedom[positions]
        half = -np.where(np.isnan(freedom), ndtri(tail), stdtrit(freedom, tail)) * self.errors[positions]
        return self.estimates[positions] - half, self.estimates[positions] + half


def _method(share: TableShare, together: bool) -> IntervalMethod | None:
    """Return the method of a share's interval, which is the same at every level; None where a note says why."""
    if share.note:
        return None
    if share.quantity is None:
        if share.ratio is None:
            return Wald()
        return share.ratio.method
    if share.joint.design is not None:
        return method_for([share.quantity], "wilson")
    return method_for([share.quantity], AUTO, together)


def _quantity(share: TableShare) -> Quantity:
    assert share.quantity is not None
    return share.quantity


def _alone(share: TableShare, method: IntervalMethod) -> Callable[[Floats], Limits]:
    """Return the limits of one share whose method knows no other way."""
    quantity, design = _quantity(share), share.joint.design

    def at(levels: Floats) -> Limits:
        (level,) = levels.tolist()
        if design is None:
            limits = interval(quantity, method.name, level)
        else:
            limits = effective_interval(quantity, method.name, level, design.degrees_of_freedom)[0]
        return np.array([limits.low]), np.array([limits.high])

    return at


def table_rows(
    shares: Sequence[TableShare], level: float, together: int = 1
) -> list[tuple[float | str, ...]]:
    """Return one row a share, in the order of `COLUMNS`."""
    if not shares:
        return []
    many, each_level = ManyShares(shares, together), 1.0 - (1.0 - level) / together
    low, high = many.at(np.full(len(shares), each_level))
    clipped = np.stack(shown_limits(many.estimates, low, high), axis=1)
    rows: list[tuple[float | str, ...]] = []
    for k, (share, method) in enumerate(zip(shares, many.methods, strict=True)):
        inside = None
        if method is not None:
            inside = _inside(share, Interval(float(low[k]), float(high[k]), method), each_level)
        if inside is not None:
            clipped[k] = np.ravel(shown_limits(share.estimate, inside.low, inside.high))
        limits = (float(low[k]), float(high[k]), *clipped[k].tolist())
        rows.append((share.estimate, share.se, *limits, many.names[k], share.note))
    return rows


def _inside(share: TableShare, interval: Interval, level: float) -> Interval | None:
    """Return the likelihood interval, where the interval has no width or lies wholly outside the possible values."""
    quantity, design = share.quantity, share.joint.design
    if quantity is None or share.note or (interval.high > interval.low and not outside(quantity, interval)):
        return None
    if design is not None:
        quantity = effective_interval(quantity, interval.method.name, level, design.degrees_of_freedom)[1]
    return fallback(quantity, interval, level)
