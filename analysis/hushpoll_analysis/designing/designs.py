"""Designs: a mechanism built from the planner's parameters, and the variance it gives at n answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE
from hushpoll_client.exact import Number
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.channel.spread import DecoyVariance, Spread, spread
from hushpoll_analysis.errors import AnalysisError

__all__ = ["DECOY_NAMES", "MECHANISM_NAMES", "Design", "Number", "build"]

MECHANISM_NAMES = ("crosswise", "forced", "krr", "or_poll", "unrelated", "warner")
DECOY_NAMES = ("crosswise", "or_poll", "unrelated")


def build(
    name: str,
    options: int | None = None,
    epsilon: float | None = None,
    truth: Number | None = None,
    forced: Sequence[Number] | None = None,
    decoy_share: Number | None = None,
    decoy_counts: tuple[int, int] | None = None,
) -> Mechanism:
    """Build a mechanism from the parameters that the command line and the planner share."""
    if name not in MECHANISM_NAMES:
        raise AnalysisError(
            f"mechanism {name!r} is not known to the planner; use one of {', '.join(MECHANISM_NAMES)}"
        )
    if options is not None and (isinstance(options, bool) or not isinstance(options, int) or options < 2):
        raise AnalysisError(f"options is {options}; give the number of options, 2 or more")
    if options is not None and options > mechanisms.MAX_OPTIONS:
        raise AnalysisError(f"options is {options}; a question has at most {mechanisms.MAX_OPTIONS:,}")
    if name not in ("krr", "forced") and options not in (None, 2):
        raise AnalysisError(f"{name} is for two options, not {options}; use krr")
    decoy = _decoy(name, decoy_share, decoy_counts)
    if truth is not None and name not in ("warner", "unrelated"):
        raise AnalysisError(f"truth does not belong to {name}; it is a parameter of warner and unrelated")
    if forced is not None and name != "forced":
        raise AnalysisError(f"forced shares do not belong to {name}; use the mechanism forced")
    if name == "warner":
        return mechanisms.warner(truth=truth) if truth is not None else mechanisms.warner(epsilon=epsilon)
    if name == "krr":
        return mechanisms.krr(options=options or 2, epsilon=_needed(epsilon))
    if name == "forced":
        return _forced(options, epsilon, forced)
    if name == "unrelated":
        if truth is None:
            raise AnalysisError("unrelated needs truth, the chance that the sensitive question is asked")
        return mechanisms.unrelated(truth=truth, epsilon=epsilon, **decoy)
    if name == "crosswise":
        return mechanisms.crosswise(epsilon=epsilon, **decoy)
    return mechanisms.or_poll(epsilon=epsilon, **decoy)


def _forced(options: int | None, epsilon: float | None, shares: Sequence[Number] | None) -> Mechanism:
    """Forced response; without shares, equal ones that spend epsilon (the same channel as krr)."""
    if shares is not None:
        if options is not None and len(shares) != options:
            raise AnalysisError(
                f"{len(shares)} forced shares for {options} options; give one share per option"
            )
        return mechanisms.forced(shares=list(shares))
    count = options or 2
    weight = mechanisms.krr(options=count, epsilon=_needed(epsilon)).device.weight
    assert weight is not None
    return mechanisms.forced(shares=[Fraction(weight, SCALE)] * count)


def _decoy(name: str, share: Number | None, counts: tuple[int, int] | None) -> dict[str, Any]:
    if name not in DECOY_NAMES:
        if share is not None or counts is not None:
            raise AnalysisError(f"a decoy does not belong to {name}; it is for {', '.join(DECOY_NAMES)}")
        return {}
    if (share is None) == (counts is None):
        raise AnalysisError(
            f"{name} needs one of decoy_share and decoy_counts, the known share of Yes to the decoy question"
        )
    if counts is not None:
        return {"decoy_counts": tuple(counts)}
    return {"decoy_share": share}


def _needed(epsilon: float | None) -> float:
    if epsilon is None:
        raise AnalysisError("epsilon is missing; give two of epsilon, n and margin")
    return epsilon


@dataclass(frozen=True)
class Design:
    """A mechanism with the share to plan for (None: the worst one) and the normal quantile."""

    mechanism: Mechanism
    share: float | None
    z: float

    @cached_property
    def spread(self) -> Spread:
        """The spread of the option that is hardest to estimate."""
        return spread(self.mechanism)

    @cached_property
    def decoy(self) -> DecoyVariance:
        """What an estimated decoy share adds to the variance."""
        return DecoyVariance.of(self.mechanism)

    def at(self, n: float) -> float:
        """Give the true share at which the margin is taken."""
        return self.share if self.share is not None else self.spread.worst_share(n, self.decoy)

    def margin(self, n: float) -> float:
        """Give the half-width of the interval at n answers."""
        share = self.at(n)
        return self.z * math.sqrt(self.spread.unit_variance(share) / n + self.decoy.at(share))

    def answers(self, margin: float) -> int:
        """Give the smallest n whose margin is at most `margin`."""
        if self.decoy.factor == 0.0:
            return _ceil((self.z / margin) ** 2 * self.spread.unit_variance(self.at(1.0)))
        high = 1
        while self.margin(high) > margin:
            high *= 2
            if high > 10**15:
                assert self.mechanism.decoy_counts is not None
                raise AnalysisError(
                    f"a margin of {margin:g} cannot be reached: the decoy share, known from "
                    f"{self.mechanism.decoy_counts[1]:,} answers only, leaves {self.margin(1e15):.4f} by "
                    "itself; ask more people the decoy question"
                )
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.margin(middle) <= margin else (middle, high)
        return high


def _ceil(value: float) -> int:
    """Round up, but not for a rounding error of the floating point."""
    return max(1, math.ceil(value - 1e-9 * max(1.0, value)))
