"""Report counts at the door: whole, not negative, and of the channel's length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.channel.base import ChannelView
from hushpoll_analysis.errors import AnalysisError

Counts = npt.NDArray[np.int64]


def read_counts(
    counts: npt.ArrayLike | Mapping[Any, int],
    view: ChannelView,
    least: int = 1,
    labels: Sequence[Any] = (),
    words: Sequence[str] = (),
) -> Counts:
    """Check report counts against a channel and give them as integers, at least `least` in all.

    A Series or a mapping is taken by its keys: report codes, `labels` where reports and options are the same list, or
    `words`, what the mechanism calls its reports.
    """
    named: Sequence[Any] = ()
    if len(labels) == view.outcomes:
        named = labels
    numbers = whole_numbers(in_order(counts, view.outcomes, named, words=words), "counts")
    if numbers.size != view.outcomes:
        raise AnalysisError(
            f"counts: {numbers.size} given, but this channel has {view.outcomes} possible reports",
            "give one count for each, in order",
        )
    impossible = np.flatnonzero((numbers > 0) & ~view.possible)
    if impossible.size:
        z = int(impossible[0])
        raise AnalysisError(
            f"counts: report {z} came in {numbers[z]} times, but this channel can never send it",
            "check the mechanism",
        )
    total = int(numbers.sum())
    if total < least:
        reason = {0: "there are no reports", 1: "one report has no standard error"}.get(
            total, f"only {total} reports"
        )
        raise AnalysisError(f"counts: {reason}", f"at least {least} are needed")
    return numbers


def whole_numbers(values: Any, what: str) -> Counts:
    """Whole numbers that are not negative, as integers; anything else is refused with its place."""
    try:
        numbers = np.asarray(values)
    except ValueError:
        raise AnalysisError(f"{what}: expected a flat list of whole numbers") from None
    if numbers.ndim != 1 or numbers.size == 0:
        raise AnalysisError(f"{what}: expected a flat list of whole numbers, got shape {numbers.shape}")
    if numbers.dtype == bool or not np.issubdtype(numbers.dtype, np.number) or np.iscomplexobj(numbers):
        raise AnalysisError(f"{what}: expected whole numbers, got {numbers.tolist()[0]!r} at position 1")
    for position, value in enumerate(numbers.tolist(), 1):
        if not np.isfinite(value) or value != int(value):
            raise AnalysisError(
                f"{what}: {value!r} at position {position} is not a whole number", "give unweighted counts"
            )
        if value < 0:
            raise AnalysisError(
                f"{what}: {value!r} at position {position} is negative", "a count is 0 or more"
            )
        if value >= 2**53:
            raise AnalysisError(
                f"{what}: {value!r} at position {position} is too large", "a count is below 2^53"
            )
    return numbers.astype(np.int64)


def answer_names(options: int) -> tuple[str, ...]:
    """Default names of the true answers: No and Yes where there are two, else their codes."""
    if options == 2:
        return ("No", "Yes")
    return tuple(str(k) for k in range(options))


def words_of(mechanism: object) -> Sequence[str]:
    """Return what a mechanism calls its reports; nothing where they are answers, or codes alone."""
    report_words: Sequence[str] = getattr(mechanism, "report_words", ())
    return report_words


def in_order(
    counts: Any, outcomes: int, labels: Sequence[Any], what: str = "counts", words: Sequence[str] = ()
) -> Any:
    """Put counts with keys into the channel's order; a report without a count came in 0 times."""
    series = hasattr(counts, "to_numpy") and hasattr(counts, "items") and getattr(counts, "ndim", 0) == 1
    if not (series or isinstance(counts, Mapping)):
        return counts
    codes: dict[Any, int] = {str(number): number for number in range(outcomes)}
    codes |= {number: number for number in range(outcomes)}
    codes |= {name: code for names in (labels, words) for code, name in enumerate(names)}
    ordered: list[Any] = [0] * outcomes
    seen: set[int] = set()
    for key, value in counts.items():
        code = None
        if isinstance(key, str | int | float | np.generic):
            code = codes.get(key)
        if code is None:
            named = words or labels
            alternatives = ""
            if named:
                alternatives = f" or one of {', '.join(map(str, named))}"
            raw = series and len(counts) > max(outcomes, len(labels))
            raise AnalysisError(
                f"{what}: the key {key!r} is not a report code (0 to {outcomes - 1}){alternatives}",
                "count a column of reports first, with value_counts()"
                if raw
                else "rename it, or give a list in the order of the reports",
            )
        if code in seen:
            raise AnalysisError(
                f"{what}: report {code} is counted twice, the second time as {key!r}", "add them up"
            )
        seen.add(code)
        ordered[code] = value
    return ordered


def finite_numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    """Read a flat list of finite numbers."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise AnalysisError(f"{what}: expected one number per option, got {values!r}") from None
    if numbers.ndim != 1 or not np.all(np.isfinite(numbers)):
        raise AnalysisError(f"{what}: expected a flat list of finite numbers, one per option, got {values!r}")
    return numbers


def refuse_constant(numbers: npt.NDArray[np.float64], what: str) -> None:
    """Refuse numbers of which each is the same: their mean is known before anybody answers."""
    if np.ptp(numbers) == 0.0:
        raise AnalysisError(
            f"{what}: all values are the same, so the result is {numbers[0]:g} whatever people answered",
            "give values that differ from answer to answer",
        )


def check_level(level: float) -> float:
    """Check a confidence level: it lies between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise AnalysisError(f"level: expected a proportion between 0 and 1, such as 0.95, got {level!r}")
    return float(level)


def level_of_each(level: float, intervals: int, simultaneous: bool = True) -> float:
    """Return the level of each of several intervals, so that all hold at once with the level (Bonferroni)."""
    if not simultaneous or intervals == 1:
        return level
    return 1.0 - (1.0 - level) / intervals


def check_population(population: Any, n: int) -> float:
    """Return the fraction of one population that n of its units are."""
    try:
        size = float(population)
    except (TypeError, ValueError):
        raise AnalysisError(f"population is {population!r}", "give the number of people in it") from None
    if not np.isfinite(size) or size <= 0.0 or isinstance(population, bool):
        raise AnalysisError(f"population is {population!r}", "give a positive number")
    if size <= 1.0:
        return size
    if size < n:
        raise AnalysisError(
            f"population is {size:g}, fewer than the {n} in the sample",
            "give the size of the whole population",
        )
    return n / size
