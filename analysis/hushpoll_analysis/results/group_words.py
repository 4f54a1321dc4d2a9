"""What to know beside the table of a question by groups, one sentence each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hushpoll_client.said import constant, joined, said

from hushpoll_analysis.shares.interval import in_words
from hushpoll_analysis.tables.differences import Comparison

from .group_table import GroupShare

__all__ = ["many", "methods", "one_report", "outside"]


def outside(shares: tuple[GroupShare, ...], options: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Say which shares were cut, because nobody gets the differences from the shares as shown."""
    cut = [share for share in shares if share.outside and not math.isnan(share.estimate)]
    if not cut:
        return []
    told: list[str] = [
        said(
            "a share below 0 or above 1 is chance and shown cut; differences are computed from the uncut shares"
        )
    ]
    beyond = [
        said(
            "{option} in {group}",
            option=_own(options, share.option),
            group=_own(groups, share.group),
        )
        for share in cut
        if share.high < 0.0 or share.low > 1.0
    ]
    if beyond:
        told.append(
            said(
                "the whole interval of {names} lies outside the possible values; shown is the likelihood interval "
                "inside them. Among many shares this happens by chance, otherwise data and design disagree",
                names=joined(", ", beyond),
            )
        )
    return told


def _own(labels: Sequence[str], text: str) -> str:
    """Give a label as its owner has it, of which a table of data keeps only the letters."""
    return next((one for one in labels if one == text), text)


def one_report(joint: Any, labels: tuple[str, ...]) -> list[str]:
    """Name exact groups whose reports are all the same: their standard error is 0."""
    alike = [label for label, row in zip(labels, joint, strict=True) if np.count_nonzero(row) == 1]
    if not alike:
        return []
    return [
        said(
            "all reports of {names} are the same, so the standard error there is 0 and says nothing; the intervals, "
            "made from the counts, hold",
            names=", ".join(alike),
        )
    ]


def methods(comparison: Comparison) -> str:
    """Name the interval methods that were used."""
    used = [
        dict.fromkeys(in_words(name) for name in names if name)
        for names in (comparison.shares["interval"], (one.interval for one in comparison.differences))
    ]
    if not used[0]:
        return ""
    shares, differences = (joined(", ", map(constant, names)) for names in used)
    if not used[1]:
        return said("intervals of shares: {shares}", shares=shares)
    return said(
        "intervals of shares: {shares}; of differences: {differences}", shares=shares, differences=differences
    )


def many(comparison: Comparison) -> str:
    """Say that several intervals hold one by one only."""
    tests = sum(not math.isnan(one.difference) for one in comparison.differences)
    return (
        said("the {count} intervals and p-values of differences hold one by one, not together", count=tests)
        if tests > 1
        else ""
    )
