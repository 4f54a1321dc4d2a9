"""What one report, one group or one dishonest person can do: the risks that a plan and a report state."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.channel.spread import spread
from hushpoll_analysis.errors import AnalysisError

__all__ = ["dishonest_shift", "dishonest_weight", "group_epsilon", "posterior", "posterior_bounds"]


def posterior_bounds(prior: float, epsilon: float) -> tuple[float, float]:
    """Bound what somebody can believe of one person after seeing one report.

    The odds change by at most e^epsilon either way: o e^-epsilon <= o' <= o e^epsilon with o = prior/(1 - prior).
    """
    _probability("prior", prior)
    if not epsilon >= 0.0:
        raise AnalysisError(f"epsilon is {epsilon:g}; give a number of 0 or more")
    if prior in (0.0, 1.0):
        return prior, prior
    odds = math.log(prior / (1.0 - prior))
    return _expit(odds - epsilon), _expit(odds + epsilon)


def posterior(prior: Sequence[float], channel: Channel, report: int) -> tuple[float, ...]:
    """Give the probability of each true answer of one person after their report (Bayes' rule).

    Parameters
    ----------
    prior
        Probability of each true answer before.
    channel
        The device's channel, or the analysis' one for an onlooker who does not know the decoy's answer.
    report
        The report that was seen.
    """
    if len(prior) != channel.options:
        raise AnalysisError(
            f"{len(prior)} prior probabilities for {channel.options} answers; give one for each"
        )
    for one in prior:
        _probability("prior", one)
    if abs(sum(prior) - 1.0) > 1e-9:
        raise AnalysisError(f"prior probabilities sum to {sum(prior):g}; they must sum to 1")
    if not 0 <= report < channel.outcomes:
        raise AnalysisError(f"report {report} is not one of 0..{channel.outcomes - 1}")
    joint = [chance * channel.row(x)[report] / SCALE for x, chance in enumerate(prior)]
    total = sum(joint)
    if total == 0.0:
        raise AnalysisError(f"report {report} is impossible under this prior; check prior and channel")
    return tuple(one / total for one in joint)


def group_epsilon(epsilon: float, people: int) -> float:
    """Give the epsilon of a group: k people who answer alike are protected with k times epsilon."""
    if isinstance(people, bool) or people != int(people) or people < 1:
        raise AnalysisError(f"people is {people}; give the size of the group, 1 or more")
    return epsilon * people


def dishonest_weight(mechanism: Mechanism) -> float:
    """Give how many honest people one dishonest report outweighs: max |b_z|, for krr 1 + (K-1)/(e^epsilon - 1)."""
    return spread(mechanism).weight


def dishonest_shift(mechanism: Mechanism, fraction: float = 0.01) -> float:
    """Give how far an estimated share could move if this fraction of the reports were made up to move it."""
    _probability("fraction", fraction)
    return fraction * dishonest_weight(mechanism)


def _probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise AnalysisError(f"{name} is {value:g}; give a probability from 0 to 1")


def _expit(log_odds: float) -> float:
    if log_odds >= 0.0:
        return 1.0 / (1.0 + math.exp(-log_odds))
    return math.exp(log_odds) / (1.0 + math.exp(log_odds))
