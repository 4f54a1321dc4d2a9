"""Estimates corrected for careless answers, by an anchor question whose true share is known.

A share r of the respondents answers at random among the K options, so the observed share is p = (1 - r) pi + r/K. The
anchor, whose true share is pi_0, tells r = (p_0 - pi_0)/(1/K_0 - pi_0).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hushpoll_analysis.channel.view import Floats
from hushpoll_analysis.data.columns import Mechanisms, Variable
from hushpoll_analysis.data.counts import check_level
from hushpoll_analysis.data.missing import takes_missing
from hushpoll_analysis.data.row_designs import Designs, with_designs
from hushpoll_analysis.data.whiskers import draw_whiskers
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sampling.keys import SampleKeys, takes_sample
from hushpoll_analysis.shares.result import Shown
from hushpoll_analysis.shares.share_table import ShareTable

from .joint import JointReports
from .reading import read_joint
from .within import quantile

__all__ = ["Anchored", "AnchoredShare", "Careless", "anchored", "anchored_joint"]

LEAST = 1e-9


@dataclass(frozen=True)
class Careless:
    """The share of respondents who answered at random; unclipped, `shown` within [0, 1]."""

    estimate: float
    se: float
    low: float
    high: float
    shown: Shown


@dataclass(frozen=True)
class AnchoredShare:
    """The share of one answer, corrected, beside the one that takes every answer for careful (`uncorrected`)."""

    option: Any
    uncorrected: float
    uncorrected_se: float
    estimate: float
    se: float
    low: float
    high: float
    shown: Shown


@dataclass(frozen=True)
class Anchored(ShareTable[AnchoredShare]):
    """Shares of one question, corrected for careless answers.

    `estimate`, `low` and `high` are unclipped; an interval without an end has infinite limits, because nearly everybody
    could have answered at random.
    """

    question: str
    anchor: str
    anchor_share: float
    n: int
    level: float
    careless: Careless
    shares: tuple[AnchoredShare, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give the result as JSON values: None stands for a limit that does not exist."""
        return {
            "question": self.question,
            "anchor": self.anchor,
            "anchor_share": self.anchor_share,
            "n": self.n,
            "level": self.level,
            "careless": {**vars(self.careless), "shown": dict(vars(self.careless.shown))},
            "estimates": [
                {key: _plain(value) for key, value in vars(share).items()}
                | {"shown": dict(vars(share.shown))}
                for share in self.shares
            ],
            "notes": list(self.notes),
        }

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        frame = self.to_frame()
        limits = (frame["shown_estimate"], frame["shown_low"], frame["shown_high"])
        return draw_whiskers(frame.index, *limits, f"corrected share, {self.level:.0%} interval", axes)


@takes_missing
@takes_sample
def anchored(
    reports: pd.DataFrame | npt.ArrayLike,
    mechanisms: Mechanisms,
    question: str,
    anchor: str,
    share: float = 0.0,
    *,
    option: Any = None,
    anchor_option: Any = None,
    labels: Mapping[str, Sequence[Any]] | None = None,
    level: float = 0.95,
    designs: Designs | None = None,
    sample: SampleKeys,
) -> Anchored:
    r"""Correct the shares of a question for people who answered at random, by an anchor of known share.

    Parameters
    ----------
    reports, mechanisms, labels, weights, strata, clusters, margins, designs, population, replicates
        As in `crosstab`, with the question first and the anchor second in joint counts.
    question
        What to estimate.
    anchor
        The question whose true share is known: nobody has the trait (`share` 0), or everybody is told what to answer
        (`share` 1, an instructed answer, which may be asked without randomizing: it holds nothing sensitive).
    share
        The known share of the anchor's answer.
    option
        One answer of the question; by default Yes of a yes/no question, and every answer otherwise.
    anchor_option
        The anchor's answer whose share is known; by default Yes.

    Returns
    -------
    Anchored

    Notes
    -----
    :math:`\hat\pi = (\hat p - \hat r/K)/(1 - \hat r)`. The interval is Fieller's: all :math:`\pi` with
    :math:`|\hat p - \pi + \hat r(\pi - 1/K)| \le z \sqrt{V_p + (\pi - 1/K)^2 V_r + 2 (\pi - 1/K) C_{pr}}`, with the
    covariance of both questions. Taking r as known would cover 89 % in place of 95 %. **Assumes** that the same people
    are careless in both questions, and that these pick every option alike. With two options and a symmetric channel
    (warner, crosswise) a random answer and a random report are the same, so this is the bias-corrected crosswise
    estimate with anchor.

    References
    ----------
    Atsusaka, Stevenson, "A bias-corrected estimator for the crosswise model with inattentive respondents", Political
    Analysis 31 (2023); Fieller, JRSS B 16 (1954).
    """
    check_level(level)
    mechanisms = with_designs(mechanisms, designs, reports, question)
    joint = read_joint(reports, mechanisms, [question, anchor], sample.design_of(reports), labels)
    return anchored_joint(joint, share, option, anchor_option, level)


def anchored_joint(
    joint: JointReports, share: float, option: Any, anchor_option: Any, level: float
) -> Anchored:
    """Correct the first variable of joint reports by the second."""
    asked, known = joint.variables
    share = _known_share(share)
    place = _one_option(known, anchor_option)
    chance = 1.0 / len(known.labels)
    if abs(chance - share) < LEAST:
        raise NotIdentifiedError(
            f"the anchor's known share {share:g} is what careless people give too, so it cannot tell them apart",
            "take a question whose share is near 0 or 1",
        )
    if option is not None:
        options = [asked.position(option)]
    else:
        options = [1] if len(asked.labels) == 2 else list(range(len(asked.labels)))
    z = quantile(joint, level)
    careless = None
    shares = []
    for k in options:
        means, covariance = _pair(joint, k, place)
        rate = float(means[1] - share) / (chance - share)
        slope = 1.0 / (chance - share)
        rate_variance, mixed = covariance[1, 1] * slope**2, covariance[0, 1] * slope
        careless = _careless(rate, rate_variance, z)
        shares.append(
            _corrected(
                asked.labels[k],
                1.0 / len(asked.labels),
                float(means[0]),
                rate,
                (covariance[0, 0], rate_variance, mixed),
                z,
            )
        )
    assert careless is not None
    notes = (*joint.notes(), *_notes(careless, shares))
    return Anchored(asked.name, known.name, share, joint.n, level, careless, tuple(shares), notes)


def _known_share(share: float) -> float:
    try:
        value = float(share)
    except (TypeError, ValueError):
        value = math.nan
    if isinstance(share, bool) or not 0.0 <= value <= 1.0:
        raise AnalysisError(
            f"the anchor's share is {share!r}", "give its known true share, a proportion from 0 to 1"
        )
    return value


def _one_option(known: Variable, option: Any) -> int:
    if option is not None:
        return known.position(option)
    if len(known.labels) != 2:
        raise AnalysisError(
            f"the anchor {known.name} has {len(known.labels)} answers",
            "name the one whose share is known with anchor_option=",
        )
    return 1


def _pair(joint: JointReports, option: int, place: int) -> tuple[Floats, Floats]:
    """Give both observed shares and their covariance."""
    means = np.array([joint.mean({0: option}), joint.mean({1: place})])
    influence = np.stack(
        [
            joint.functional([joint.matrices[0][option], None]) - means[0],
            joint.functional([None, joint.matrices[1][place]]) - means[1],
        ]
    )
    slopes = np.stack([joint.mean_slopes({0: option}), joint.mean_slopes({1: place})], axis=1)
    return means, joint.covariance(influence, slopes)


def _careless(rate: float, variance: float, z: float) -> Careless:
    se = math.sqrt(max(variance, 0.0))
    low, high = rate - z * se, rate + z * se
    shown = Shown(*(min(max(value, 0.0), 1.0) for value in (rate, low, high)))
    return Careless(rate, se, low, high, shown)


def _corrected(
    option: Any, chance: float, p: float, rate: float, variances: tuple[float, float, float], z: float
) -> AnchoredShare:
    """Solve (p - 1/K - a (1 - r))^2 <= z^2 (V_p + a^2 V_r + 2 a C) for a = pi - 1/K."""
    own, of_rate, mixed = map(float, variances)
    careful, gap = 1.0 - rate, p - chance
    square = careful**2 - z * z * of_rate
    half = gap * careful + z * z * mixed
    free = gap**2 - z * z * own
    if square <= 0.0:
        low, high = -math.inf, math.inf
    else:
        root = math.sqrt(max(half * half - square * free, 0.0))
        low, high = chance + (half - root) / square, chance + (half + root) / square
    best = chance + gap / careful if careful > 0.0 else math.nan
    away = best - chance
    variance = (own + away**2 * of_rate + 2.0 * away * mixed) / careful**2 if careful > 0.0 else math.nan
    shown = Shown(*(min(max(value, 0.0), 1.0) for value in (best, low, high)))
    error = math.sqrt(max(variance, 0.0)) if not math.isnan(variance) else math.nan
    return AnchoredShare(option, p, math.sqrt(max(own, 0.0)), best, error, low, high, shown)


def _notes(careless: Careless, shares: Sequence[AnchoredShare]) -> list[str]:
    notes = []
    if careless.estimate < 0.0:
        notes.append(
            "The anchor came out on the far side of its known share, which is chance: the estimated share of careless "
            "answers is below 0, and the correction goes the other way by a little."
        )
    if any(math.isinf(share.low) for share in shares):
        notes.append(
            "Nearly everybody could have answered at random, so the corrected interval has no end: the data say "
            "nothing about the share."
        )
    return notes


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
