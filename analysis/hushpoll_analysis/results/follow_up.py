"""Follow-up questions: the shares among those who were asked, which is what a reader of such a question looks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hushpoll_client.messages import msg
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.estimand.ratios import Ratios
from hushpoll_analysis.estimates import Estimate, Shown
from hushpoll_analysis.sample.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

OF_EVERYBODY = msg("Shares are of everybody, including people who were not asked this question.")


def shares_among_asked(
    question: Question, sample: Sample, level: float, interval: str
) -> tuple[tuple[Estimate, Estimate], ...]:
    """Return the share of each option among those asked: with its own interval, and with one that holds for all.

    The share is h_k / (1 - h_last), where the last answer is "does not apply". Its interval holds every ratio R for
    which 0 is not rejected as the value of h_k - R (1 - h_last). If the share of people who were asked is not clear
    of 0, every ratio is possible and the interval is unbounded; `shown` is then 0 to 1. Empty if the estimated share
    of people who were asked is not above 0.
    """
    options = len(question.options)
    target = np.append(np.ones(options), 0.0)
    ratios = Ratios(sample, np.eye(options, options + 1), target, interval)
    if not ratios.whole.estimate > 0.0:
        return ()
    limits_alone = together = ratios.limits(level)
    # Of two answers one share determines the other, so their intervals hold together as they are.
    if options > 2:
        together = ratios.limits(1.0 - (1.0 - level) / options)
    return tuple(
        (_entry(ratios, k, label, limits_alone[k]), _entry(ratios, k, label, together[k]))
        for k, label in enumerate(question.options)
    )


def likeliest_among_asked(likeliest: Sequence[float]) -> list[float]:
    """Return possible shares among those asked, from possible shares among all ("does not apply" last)."""
    share_asked = sum(likeliest[:-1])
    return [share / share_asked if share_asked > 0.0 else 0.0 for share in likeliest[:-1]]


def _entry(ratios: Ratios, position: int, label: str, limits: Floats) -> Estimate:
    sample, denominator, gap = ratios.sample, ratios.whole.estimate, ratios.gaps[position]
    ratio = float(ratios.estimates[position])
    low, high = (float(end) for end in limits)
    se = gap.standard_error / denominator
    direct = ratio * (1.0 - ratio) / max(denominator * (sample.n - 1), 1.0)
    effect = None
    if direct > 0.0:
        effect = se**2 / direct
    return Estimate(
        option=label,
        reported=None,
        estimate=ratio,
        se=se,
        low=low,
        high=high,
        shown=Shown(*(float(np.clip(value, 0.0, 1.0)) for value in (ratio, low, high))),
        se_privacy=gap.se_privacy / denominator,
        interval=ratios.method.name,
        misfit=None,
        weight=sample.heaviest * gap.heaviest / denominator,
        design_effect=effect,
        n_effective=None if not effect else denominator * sample.n / effect,
    )
