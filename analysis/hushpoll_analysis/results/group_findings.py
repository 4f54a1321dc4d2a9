"""Sentences about the differences between groups: each with its interval, and whether it may be chance.

Shares and differences of groups are shown uncut, so that a difference is that of the shares above it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .numbers import in_unit
from .wording import Wording, wording

if TYPE_CHECKING:
    from hushpoll_analysis.tables.differences import GroupDifference
    from hushpoll_analysis.tables.means import GroupMeanDifference

    from .group_table import GroupTable
    from .texts import Texts

Gap = TypeVar("Gap", "GroupDifference", "GroupMeanDifference")


@dataclass(frozen=True)
class _Claim(Generic[Gap]):
    """A difference, and whether the tests support stating it."""

    gap: Gap
    supported: bool


def group_findings(table: GroupTable, texts: Texts | None = None) -> tuple[str, ...]:
    """Return a sentence per difference between groups.

    A difference is stated as such only if the test across all groups supports it (p below 1 - level), and its own
    p-value does too after Holm's correction for the number of differences. Otherwise the sentence says that it may be
    chance.
    """
    differences, means = _claims(table)
    if table.means:
        # Each answer of a scale would be a sentence: the mean says it, unless the tests support one of them.
        differences = [claim for claim in differences if claim.supported]
    return (
        *(_upper_half_sentence(claim, table, texts) for claim in _upper_half_claims(table)),
        *(_share_sentence(claim, table, texts) for claim in differences),
        *(_mean_sentence(claim, table, texts) for claim in means),
    )


def leaves_doubt(table: GroupTable) -> bool:
    """Return whether some interval excludes 0 of a difference that may be chance all the same."""
    claims: list[_Claim[Any]] = [claim for claims in _claims(table) for claim in claims]
    claims += _upper_half_claims(table)
    return any(not claim.supported and (claim.gap.low > 0.0 or claim.gap.high < 0.0) for claim in claims)


def _claims(
    table: GroupTable,
) -> tuple[list[_Claim[GroupDifference]], list[_Claim[GroupMeanDifference]]]:
    differences: Sequence[GroupDifference] = table.told_differences
    # Of two answers the second one's difference is the first one's with the other sign.
    if len(table.options) == 2:
        differences = [gap for gap in differences if gap.option == table.options[-1]]
    if table.is_supported:
        supported = _supported(differences, table.level)
    else:
        supported = set()
    means = table.mean_differences
    supported_means = _supported(means, table.level)
    return (
        [_Claim(gap, number in supported) for number, gap in enumerate(differences)],
        [_Claim(gap, number in supported_means) for number, gap in enumerate(means)],
    )


def _upper_half_claims(table: GroupTable) -> list[_Claim[GroupMeanDifference]]:
    if table.upper_half is None:
        return []
    gaps = [gap for gap in table.upper_half.differences if not math.isnan(gap.difference)]
    supported = _supported(gaps, table.level)
    return [_Claim(gap, table.is_supported and number in supported) for number, gap in enumerate(gaps)]


def _supported(gaps: Sequence[GroupDifference | GroupMeanDifference], level: float) -> set[int]:
    """Return the places of the differences that Holm's procedure rejects as chance.

    References
    ----------
    Holm (1979), Scand. J. Statist. 6, 65-70.
    """
    order = sorted(range(len(gaps)), key=lambda number: gaps[number].p_value)
    supported = set()
    for rank, number in enumerate(order):
        if not gaps[number].p_value * (len(gaps) - rank) < 1.0 - level:
            break
        supported.add(number)
    return supported


def _names(
    gap: GroupDifference | GroupMeanDifference, table: GroupTable, texts: Texts | None
) -> dict[str, str]:
    names = {"group": gap.group, "reference": gap.reference}
    if texts is None:
        return names
    return {key: texts.group(table, name) for key, name in names.items()}


def _share_sentence(claim: _Claim[GroupDifference], table: GroupTable, texts: Texts | None) -> str:
    gap = claim.gap
    points = [100.0 * value for value in (gap.difference, gap.low, gap.high)]
    option = gap.option
    if texts is not None:
        option = texts.option(table.question, gap.option)
    if texts is None:
        say = wording("en")
    else:
        say = texts.say
    return _sentence("group", points, 1, say, "", claim.supported, option=option, **_names(gap, table, texts))


def _upper_half_sentence(claim: _Claim[GroupMeanDifference], table: GroupTable, texts: Texts | None) -> str:
    gap = claim.gap
    points = [100.0 * value for value in (gap.difference, gap.low, gap.high)]
    if texts is None:
        say = wording("en")
        option = say("or_more", option=table.upper_option)
    else:
        say = texts.say
        option = texts.or_more(table.question, table.upper_option)
    return _sentence("group", points, 1, say, "", claim.supported, option=option, **_names(gap, table, texts))


def _mean_sentence(claim: _Claim[GroupMeanDifference], table: GroupTable, texts: Texts | None) -> str:
    gap = claim.gap
    numbers = [gap.difference, gap.low, gap.high]
    # Two digits of the standard error are what the data can tell.
    digits = 2
    if gap.se > 0.0:
        digits = min(max(1 - math.floor(math.log10(gap.se)), 0), 6)
    unit = table.unit
    if texts is not None:
        unit = texts.unit(table.question, table.unit)
    if texts is None:
        say = wording("en")
    else:
        say = texts.say
    return _sentence("group_mean", numbers, digits, say, unit, claim.supported, **_names(gap, table, texts))


def _sentence(
    phrase: str,
    numbers: Sequence[float],
    digits: int,
    say: Wording,
    unit: str,
    supported: bool,
    **names: Any,
) -> str:
    middle, low, high = numbers
    kind = "chance"
    if supported and (low > 0.0 or high < 0.0):
        kind = "more" if low > 0.0 else "less"
    if middle < 0.0:
        middle, low, high = -middle, -high, -low
        if kind == "chance":
            # The first one is the larger one, so that the limits are on the side of the difference.
            names |= {"group": names["reference"], "reference": names["group"]}
    limits = {"low": say.number(low, digits), "high": say.number(high, digits)}
    return say(f"{phrase}_{kind}", points=in_unit(say.number(middle, digits), unit), **limits, **names)
