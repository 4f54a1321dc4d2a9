"""Link functions: the chance of Yes at a linear predictor, with its first two derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special, stats

from hushpoll_analysis.arguments import chosen
from hushpoll_analysis.channel.base import Floats

Chance = tuple[Floats, Floats, Floats, Floats]
"""P(yes), P(no), and the first two derivatives of P(yes) in the linear predictor."""
_STEEP = 30.0  # beyond, exp(exp(.)) has no digits left


def _logit(eta: Floats) -> Chance:
    high, low = special.expit(eta), special.expit(-eta)
    return high, low, high * low, high * low * (low - high)


def _probit(eta: Floats) -> Chance:
    density = stats.norm.pdf(eta)
    return special.ndtr(eta), special.ndtr(-eta), density, -eta * density


def _cloglog(eta: Floats) -> Chance:
    """P(yes) = 1 - exp(-exp(eta))."""
    rate = np.exp(np.clip(eta, -700.0, _STEEP))
    low = np.exp(-rate)
    slope = rate * low
    return -np.expm1(-rate), low, slope, slope * (1.0 - rate)


LINKS: dict[str, Callable[[Floats], Chance]] = {"logit": _logit, "probit": _probit, "cloglog": _cloglog}


def chance_of(link: str) -> Callable[[Floats], Chance]:
    """Find a link by its name."""
    return LINKS[chosen(link, "link", tuple(LINKS))]
