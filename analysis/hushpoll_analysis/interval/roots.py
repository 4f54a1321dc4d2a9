"""Roots of many functions at once: one search over arrays in place of one for each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushpoll_analysis.channel.base import Floats

STEPS = 200


def roots(function: Callable[[Floats], Floats], low: Floats, high: Floats, close: float) -> Floats:
    """Return a root of every function between its ends, where it has two signs: inverse quadratic steps, else halves.

    References
    ----------
    Chandrupatla (1997), Adv. Eng. Softw. 28, 145-149.
    """
    before, last = np.array(high, dtype=np.float64), np.array(low, dtype=np.float64)
    at_before, at_last = function(before), function(last)
    fraction = np.full(len(last), 0.5)
    for _ in range(STEPS):
        middle = last + fraction * (before - last)
        height = function(middle)
        same = np.sign(height) == np.sign(at_last)
        older, at_older = np.where(same, last, before), np.where(same, at_last, at_before)
        before, at_before = np.where(same, before, last), np.where(same, at_before, at_last)
        last, at_last = middle, height
        width = np.abs(before - last)
        ended = (width <= 2.0 * close) | (at_last == 0.0)
        if np.all(ended):
            break
        fraction = _step(
            (last, before, older), (at_last, at_before, at_older), close / np.maximum(width, close)
        )
        # What has ended stays where it is.
        before, at_before = np.where(ended, last, before), np.where(ended, at_last, at_before)
    return np.where(np.abs(at_last) <= np.abs(at_before), last, before)


def _step(at: tuple[Floats, ...], values: tuple[Floats, ...], least: Floats) -> Floats:
    """Return how far to go towards the other end: by the inverse parabola where it is to be trusted, else half."""
    (a, b, c), (fa, fb, fc) = at, values
    with np.errstate(divide="ignore", invalid="ignore"):
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        trusted = (phi**2 < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
        step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
    fraction = np.where(trusted & np.isfinite(step), step, 0.5)
    return np.asarray(np.clip(fraction, least, 1.0 - least), dtype=np.float64)
