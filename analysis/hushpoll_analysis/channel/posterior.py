"""What one report tells about one person: Bayes' rule."""

from __future__ import annotations

from collections.abc import Sequence

from hushpoll_client.channel import SCALE, Channel

from hushpoll_analysis.errors import AnalysisError


def posterior(prior: Sequence[float], channel: Channel, report: int) -> tuple[float, ...]:
    """Return the probability of each true answer of one person after their report (Bayes' rule).

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
            f"{len(prior)} prior probabilities for {channel.options} answers", "give one for each"
        )
    for probability in prior:
        _probability("prior", probability)
    if abs(sum(prior) - 1.0) > 1e-9:
        raise AnalysisError(f"prior probabilities sum to {sum(prior):g}", "they must sum to 1")
    if not 0 <= report < channel.outcomes:
        raise AnalysisError(f"report {report} is not one of 0..{channel.outcomes - 1}")
    joint = [chance * channel.row(x)[report] / SCALE for x, chance in enumerate(prior)]
    total = sum(joint)
    if total == 0.0:
        raise AnalysisError(f"report {report} is impossible under this prior", "check prior and channel")
    return tuple(probability / total for probability in joint)


def _probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise AnalysisError(f"{name} is {value:g}", "give a probability from 0 to 1")
