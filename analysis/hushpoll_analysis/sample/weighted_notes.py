"""Notes on shares of a weighted sample, one sentence each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from hushpoll_client.messages import joined, msg

from hushpoll_analysis.interval import is_no_chance

if TYPE_CHECKING:
    from hushpoll_analysis.interval import DesignMethod
    from hushpoll_analysis.sample.design import SampleDesign
    from hushpoll_analysis.sample.design_sample import DesignSample
    from hushpoll_analysis.sample.weighted import WeightedShare

OTHER = 0.05
"""Weights that add up to a population as an estimate of it may differ so much by chance."""
HEAVY = 5.0
"""From this ratio of respondents to effective respondents on, a few people carry the estimate."""


def heavy_notes(design: SampleDesign | None, allowed: bool) -> tuple[str, ...]:
    """Return the note that a few people carry a result; `allowed` where its interval is made at the effective size."""
    if design is None or design.n <= HEAVY * design.effective_n:
        return ()
    if allowed:
        words = msg("Standard errors are too small then; the interval allows for it.")
    else:
        words = msg("Standard errors and intervals are too small then; trim the weights.")
    return (joined(" ", [_heavy(design, design.n), words]),)


def _heavy(design: SampleDesign, respondents: int) -> str:
    return msg(
        "The weights are heavy: {n:,} respondents are worth {effective:.0f} with equal weights, and one of them "
        "carries {heaviest:.0f} % of the estimate.",
        n=respondents,
        effective=design.effective_n,
        heaviest=100 * design.heaviest / design.total,
    )


def _other_population(weights: float, people: float) -> str:
    """Return whose totals are given, as R's `survey` gives them without a word."""
    return msg(
        "The weights add up to {weights:,.0f} and the population has {people:,.0f} people: totals are those of the "
        "weights, and only the error takes the population into account. Shares do not depend on it.",
        weights=weights,
        people=people,
    )


def _narrow(method: DesignMethod, best: DesignMethod) -> str:
    """Return what heavy weights do to the interval: made at the effective size it allows for them, others do not."""
    if method.allows_for_heavy_weights:
        return msg("Standard errors are too small then; the interval allows for it.")
    return msg(
        "Standard errors and {method} intervals are too small then; use the {best} interval, or trim the weights.",
        method=method.name,
        best=best.name,
    )


def weighted_notes(
    shares: Sequence[WeightedShare],
    sample: DesignSample,
    method: DesignMethod,
    best: DesignMethod,
    level: float,
    other_options: int,
) -> tuple[str, ...]:
    """Return what a reader must know to use the numbers.

    `others` is how many other options are estimated as well.
    """
    design = sample.design
    notes: list[str] = []
    if design.sampling_fraction >= 1.0 and sample.quantity(sample.view.unit(0)).certain:
        notes.append(
            msg(
                "Everybody in the population was asked, and directly: these are its shares, without any error."
            )
        )
    elif np.ptp(sample.codes[design.weights > 0.0]) == 0:
        notes.append(
            msg("All reports are the same, so the standard error is 0 and says nothing; the interval holds.")
        )
    if design.people is not None and abs(design.total / design.people - 1.0) > OTHER:
        notes.append(_other_population(design.total, design.people))
    if sample.n > HEAVY * design.effective_n:
        notes.append(joined(" ", [_heavy(design, sample.n), _narrow(method, best)]))
    if sample.decoy is not None:
        notes.append(
            msg("The decoy's share is itself an estimate, so the estimate is consistent, not unbiased.")
        )
    # No and Yes say the same, and of several answers somebody gave one: that one is not at its edge.
    tests = max(len(shares) - 1, 1) * (other_options + 1)
    beyond = [str(share.option) for share in shares if is_no_chance(share.misfit, tests, level)]
    if beyond:
        notes.append(
            msg(
                "The interval of {names} lies wholly outside the possible values: data and design disagree by more "
                "than chance explains. The likelihood interval inside the possible values is shown.",
                names=", ".join(beyond),
            )
        )
    elif any(not 0.0 <= share.estimate <= 1.0 for share in shares):
        notes.append(
            msg(
                "An estimate below 0 or above 1 is chance, not an error. Shown values are cut to the possible ones; "
                "compute with the unclipped ones."
            )
        )
    return tuple(notes)
