"""Designs with an unknown in them, which two groups of respondents determine: a table that is linear in one share.

P(Yes | truth) = known + unknown share * slope, for each of the two truths. Two groups with different probabilities are
needed; the share is then estimated with everything else (`logit`), or alone (`shares.two_groups`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hushpoll_analysis.errors import AnalysisError

Chance = float | int | str | Fraction


@dataclass(frozen=True)
class PartlyKnown:
    """One group's design: P(Yes | No, Yes) = `fixed_chance` + s * `slope`, where the share s has the name `unknown`.

    Groups whose unknown has the same name share it. Where s is a share of all respondents that counts as No (`aside`),
    both truths move with it, so that the chance of a Yes is right; who is a Yes, though, answers by `fixed_chance`.
    """

    unknown: str
    fixed_chance: tuple[float, float]
    slope: tuple[float, float]
    aside: bool = False


def asks_unknown_decoy(truth: Chance) -> PartlyKnown:
    """Ask the sensitive question with chance theta = `truth`, else an unrelated one whose share is not known.

    P(Yes) = theta p + (1 - theta) q. The unknown is `decoy` (RRreg: model "UQTunknown", parameter pi).
    """
    theta = _chance(truth, "truth")
    return PartlyKnown("decoy", (0.0, theta), (1.0 - theta, 1.0 - theta))


def detects_cheating(forced_yes: Chance, forced_no: Chance = 0.0) -> PartlyKnown:
    """Force a Yes with chance u = `forced_yes` and a No with chance v, while a share g always says No.

    P(Yes) = p (1 - v) + (1 - p - g) u: p are honest carriers, g is the same share of all respondents in both groups.
    The unknown is `cheating` (RRreg: models "CDM" and "CDMsym", parameter gamma).
    """
    u, v = _chance(forced_yes, "forced_yes"), _chance(forced_no, "forced_no")
    if u + v > 1.0:
        raise AnalysisError(f"forced_yes {u:g} and forced_no {v:g} sum to more than 1", "lower one")
    return PartlyKnown("cheating", (u, 1.0 - v), (-u, -u), aside=True)


def detects_lies(truth: Chance) -> PartlyKnown:
    """Let people without the trait answer truthfully with chance phi = `truth`, while carriers admit with chance t.

    P(Yes) = p t + (1 - p)(1 - phi). The unknown is `admitting` (RRreg: model "SLD", parameter t).
    """
    phi = _chance(truth, "truth")
    return PartlyKnown("admitting", (1.0 - phi, 0.0), (0.0, 1.0))


def _chance(value: Chance, what: str) -> float:
    try:
        number = float(Fraction(value) if isinstance(value, str) else value)
    except (TypeError, ValueError, ZeroDivisionError):
        raise AnalysisError(f"{what} is {value!r}", "give a probability such as 0.75 or '3/4'") from None
    if not 0.0 <= number <= 1.0:
        raise AnalysisError(f"{what} is {value!r}", "give a probability from 0 to 1")
    return number
