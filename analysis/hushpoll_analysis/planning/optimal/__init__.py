"""The best channel for a question: found once, proven, rounded to integers, and kept.

`designed` gives the channel with the least variance for a target at a planning truth, `worst_case_mean` the one for
the mean of a number whatever the truth. Both answer at once for what is shipped: scales and up to twenty bins at
the slider's stops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hushpoll_client import Channel, HushpollError
from hushpoll_client.exact import Number, exp_below, is_whole, spell
from hushpoll_client.mechanism.base import positive_epsilon

from hushpoll_analysis.errors import AnalysisError

from .design_cache import key, look_up, remember

if TYPE_CHECKING:
    from fractions import Fraction

    from .problem import Target
    from .program import Progress

MOST_DESIGNED = 64
"""Designed channels are published with at most so many answers."""
_WATCHER: ContextVar[Progress | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Report the gap of every search inside this context: 1 where a search begins, nothing for stored designs."""
    before = _WATCHER.set(progress)
    try:
        yield
    finally:
        _WATCHER.reset(before)


@dataclass(frozen=True)
class OptimalChannel:
    """A published channel, n times its variance, and what no channel can be below (None without a proof)."""

    channel: Channel
    n_variance: float
    bound: float | None

    def to_json(self) -> dict[str, Any]:
        """Return what is kept."""
        return {"channel": self.channel.to_json(), "n_variance": self.n_variance, "bound": self.bound}


def designed(
    options: int,
    epsilon: Number,
    target: Target = "cumulative",
    shares: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> Channel:
    """Return the channel with the least variance for a target, in at most 64 outcomes."""
    return best(options, epsilon, target, shares, progress).channel


def worst_case_mean(grid: int, epsilon: Number) -> Channel:
    """Return the channel of `grid` points whose mean has the least variance whatever the truth."""
    return best_worst_case(grid, epsilon).channel


def best(
    options: int,
    epsilon: Number,
    target: Target = "cumulative",
    shares: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> OptimalChannel:
    """Find that channel with its variance and bound, or look it up."""
    exponent = positive_epsilon(epsilon)
    check_options(options)
    request: dict[str, Any] = {"options": int(options), "epsilon": spell(exponent), "target": target}
    if not isinstance(target, str) or shares is not None:
        from .problem import functionals, planned_truth

        request["target"] = target if isinstance(target, str) else functionals(target, options).tolist()
        request["shares"] = planned_truth(shares, options).tolist()

    def search() -> OptimalChannel:
        from .search import search_best

        return search_best(int(options), exponent, target, shares, progress or _WATCHER.get())

    return _kept_or(request, exponent, search)


def best_worst_case(grid: int, epsilon: Number) -> OptimalChannel:
    """Find the worst-case mean's channel with its largest variance, rounding included, and bound, or look it up."""
    exponent = positive_epsilon(epsilon)
    check_options(grid)

    def search() -> OptimalChannel:
        from .search import search_worst_case

        return search_worst_case(int(grid), exponent)

    return _kept_or({"grid": int(grid), "epsilon": spell(exponent), "target": "worst"}, exponent, search)


def check_options(options: int) -> None:
    """Refuse numbers of answers for which no channel can be designed and published."""
    if not is_whole(options) or not 2 <= options <= MOST_DESIGNED:
        raise AnalysisError(
            f"a channel is designed for 2 to {MOST_DESIGNED} answers, not {options}",
            "use fewer points or bins",
        )


def _kept_or(
    request: Mapping[str, Any], epsilon: Fraction, search: Callable[[], OptimalChannel]
) -> OptimalChannel:
    name = key(request)
    stored = look_up(name)
    if stored is not None:
        channel = _checked(stored, int(request.get("options") or request["grid"]), epsilon)
        if channel is not None:
            return channel
    if (watcher := _WATCHER.get()) is not None:
        watcher(1.0)
    result = search()
    remember(name, result.to_json())
    return result


def _checked(stored: Mapping[str, Any], options: int, epsilon: Fraction) -> OptimalChannel | None:
    """Return a stored channel if its integers fit the number of answers and the epsilon, else None."""
    try:
        channel = Channel.from_json(stored["channel"])
        value, bound = float(stored["n_variance"]), stored["bound"]
        ratio = channel.ratio
        sound = ratio is not None and ratio <= exp_below(epsilon) and channel.options == options
        if sound:
            return OptimalChannel(channel, value, None if bound is None else float(bound))
        return None
    except (HushpollError, KeyError, TypeError, ValueError):
        return None
