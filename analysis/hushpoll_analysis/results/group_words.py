"""Notes on the table of a question by groups, one sentence each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hushpoll_client.messages import constant, joined, msg

from hushpoll_analysis.interval import interval_method
from hushpoll_analysis.tables.differences import Comparison

from .group_table import GroupShare


def outside(shares: tuple[GroupShare, ...], options: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Return notes on shares that lie outside 0 to 1."""
    cut = [share for share in shares if share.outside and not math.isnan(share.estimate)]
    if not cut:
        return []
    notes: list[str] = [
        msg(
            "a share below 0 or above 1 is chance; it is shown as estimated, so that differences agree with it"
        )
    ]
    beyond = [
        msg(
            "{option} in {group}",
            option=_own(options, share.option),
            group=_own(groups, share.group),
        )
        for share in cut
        if share.high < 0.0 or share.low > 1.0
    ]
    if beyond:
        notes.append(
            msg(
                "the whole interval of {names} lies outside the possible values. Among many shares this happens by "
                "chance, otherwise data and design disagree",
                names=joined(", ", beyond),
            )
        )
    return notes


def _own(labels: Sequence[str], text: str) -> str:
    """Return a label as its owner has it, of which a table of data keeps only the letters."""
    return next((label for label in labels if label == text), text)


def one_report(joint: Any, labels: tuple[str, ...]) -> list[str]:
    """Name exact groups whose reports are all the same: their standard error is 0."""
    alike = [label for label, row in zip(labels, joint, strict=True) if np.count_nonzero(row) == 1]
    if not alike:
        return []
    return [
        msg(
            "all reports of {names} are the same, so the standard error there is 0 and says nothing; the intervals, "
            "made from the counts, hold",
            names=", ".join(alike),
        )
    ]


def methods(comparison: Comparison) -> str:
    """Name the interval methods that were used."""
    used = [
        dict.fromkeys(interval_method(name).label for name in names if name)
        for names in (
            comparison.shares["interval"],
            (difference.interval for difference in comparison.differences),
        )
    ]
    if not used[0]:
        return ""
    shares, differences = (joined(", ", map(constant, names)) for names in used)
    if not used[1]:
        return msg("intervals of shares: {shares}", shares=shares)
    return msg(
        "intervals of shares: {shares}; of differences: {differences}", shares=shares, differences=differences
    )


def many(comparison: Comparison) -> str:
    """Return the note that several intervals hold one by one only."""
    tests = sum(not math.isnan(difference.difference) for difference in comparison.differences)
    if tests > 1:
        return msg(
            "the {count} intervals and p-values of differences hold one by one, not together", count=tests
        )
    return ""
