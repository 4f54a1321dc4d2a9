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

__all__ = ["MOST_DESIGNED", "Found", "best", "best_worst_case", "designed", "watched", "worst_case_mean"]

MOST_DESIGNED = 64
"""Designed channels are published with at most so many answers."""
_WATCHER: ContextVar[Progress | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Yield the gap of every search in here, whoever asks for it: 1 where one begins, nothing for what is at hand."""
    before = _WATCHER.set(progress)
    try:
        yield
    finally:
        _WATCHER.reset(before)


@dataclass(frozen=True)
class Found:
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
) -> Found:
    """Find that channel with its variance and bound, or look it up."""
    exponent = positive_epsilon(epsilon)
    check_options(options)
    asked: dict[str, Any] = {"options": int(options), "epsilon": spell(exponent), "target": target}
    if not isinstance(target, str) or shares is not None:
        from .problem import functionals, planned_truth

        asked["target"] = target if isinstance(target, str) else functionals(target, options).tolist()
        asked["shares"] = planned_truth(shares, options).tolist()

    def search() -> Found:
        from .search import search_best

        return search_best(int(options), exponent, target, shares, progress or _WATCHER.get())

    return _kept_or(asked, exponent, search)


def best_worst_case(grid: int, epsilon: Number) -> Found:
    """Find the worst-case mean's channel with its largest variance, rounding included, and bound, or look it up."""
    exponent = positive_epsilon(epsilon)
    check_options(grid)

    def search() -> Found:
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


def _kept_or(asked: Mapping[str, Any], epsilon: Fraction, search: Callable[[], Found]) -> Found:
    name = key(asked)
    kept = look_up(name)
    if kept is not None:
        found = _checked(kept, int(asked.get("options") or asked["grid"]), epsilon)
        if found is not None:
            return found
    if (watcher := _WATCHER.get()) is not None:
        watcher(1.0)
    fresh = search()
    remember(name, fresh.to_json())
    return fresh


def _checked(kept: Mapping[str, Any], options: int, epsilon: Fraction) -> Found | None:
    """Trust no file: the integers must be a channel for so many answers within the epsilon."""
    try:
        channel = Channel.from_json(kept["channel"])
        value, bound = float(kept["n_variance"]), kept["bound"]
        ratio = channel.ratio
        sound = ratio is not None and ratio <= exp_below(epsilon) and channel.options == options
        return Found(channel, value, None if bound is None else float(bound)) if sound else None
    except (HushpollError, KeyError, TypeError, ValueError):
        return None
