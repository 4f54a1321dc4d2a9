"""Whole arrays of randomized reports, drawn by the client's own integer rule.

The rule is the client's (`hushpoll_client.Channel.report`): one uniform integer r below 2^53 per answer picks the
report. The operating system's generator sets the pace, so large arrays draw r in two pieces: its 16 high bits decide
nearly every report by a table, and the 37 low bits are drawn only where a threshold lies between. The same r would
give the same report; three quarters of the random bytes are never needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client import Channel, Mechanism
from hushpoll_client.channel import SCALE

from hushpoll_analysis.arguments import seed_of
from hushpoll_analysis.channel.base import Answers, Codes, Draws, OneDraw, Source
from hushpoll_analysis.channel.view import analysis_channel, sampler
from hushpoll_analysis.errors import AnalysisError

# Answers in one block: its arrays stay in the processor's cache.
BLOCK = 1 << 15
HIGH_BITS, LOW_BITS = 16, 37
# Arrays shorter than this do not repay the making of a table.
TABLE_FROM = 1 << 15
# What a seed is used for; one seed gives independent streams.
_REPORTS, _TRUTH = 0x68757368, 0x706F6C6C


def simulate(
    channel: Channel | Mechanism, answers: npt.ArrayLike, seed: int | np.random.Generator | None = None
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Draw one randomized report for every true answer.

    For answer x and a uniform integer r in [0, 2^53) the report is the client's: in the K-ary form
    ``(x + offset) mod K`` with ``offset = 0`` if ``r < T`` else ``1 + (r - T) div W``; in the matrix form the first
    column whose cumulative weight exceeds r.

    Parameters
    ----------
    channel : Channel or Mechanism
        What randomizes. For a mechanism the true answers are those of the sensitive question, so decoy designs
        draw from the channel that the analysis inverts (the decoy answer included).
    answers : array_like of int
        True answers, 0 <= x < K, of any shape.
    seed : int or numpy.random.Generator, optional
        For studies that must repeat. Without it every bit comes from the operating system (`os.urandom`). The draws are
        independent of `numpy.random.default_rng(seed)` with the same number, from which answers are often made. Two
        questions need two seeds, or one Generator for both: the same seed gives both the same chance.

    Returns
    -------
    ndarray of the smallest unsigned integer type
        Reports, of the same shape as `answers`.

    References
    ----------
    Kairouz, Bonawitz, Ramage (2016), Discrete distribution estimation under local privacy, ICML.
    """
    channel = analysis_channel(channel)
    channel_sampler = sampler(channel)
    if channel.several:
        ticks = _checked_rows(channel, answers)
        return channel_sampler.write(channel_sampler.draw(ticks, random_bytes(seed, _REPORTS)))
    truth = _checked_answers(channel, answers)
    reports = channel_sampler.write(draw_codes(channel, truth.reshape(-1), seed))
    return reports.reshape(truth.shape)


def draw_codes(channel: Channel, answers: Answers, seed: int | np.random.Generator | None) -> Codes:
    """Draw reports in the form in which they are counted, for checked answers."""
    source, channel_sampler = random_bytes(seed, _REPORTS), sampler(channel)
    if not isinstance(channel_sampler, OneDraw):
        return channel_sampler.draw(answers, source)
    reports = np.empty(answers.shape, dtype=channel_sampler.dtype)
    if answers.size >= TABLE_FROM:
        draw = _table_draw(channel_sampler, source)
    else:
        draw = _plain_draw(channel_sampler, source)
    for start in range(0, answers.size, BLOCK):
        reports[start : start + BLOCK] = draw(answers[start : start + BLOCK])
    return reports


def reports_at(channel: Channel, answers: npt.ArrayLike, draws: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Apply the rule to given draws: the array form of `Channel.report`, for tests and vectors."""
    truth = _checked_answers(channel, answers)
    uniform = np.array(draws, dtype=np.uint64)
    if uniform.shape != truth.shape:
        raise AnalysisError(
            f"draws have shape {uniform.shape}, answers {truth.shape}", "give one draw per answer"
        )
    if uniform.size and int(uniform.max()) >= SCALE:
        raise AnalysisError(f"draw {int(uniform.max())} is not below 2^53", "give draws from 0 to 2^53 - 1")
    channel_sampler = sampler(channel)
    if not isinstance(channel_sampler, OneDraw):
        raise AnalysisError("this channel draws more than once for a report", "use Channel.report")
    result: npt.NDArray[np.int64] = channel_sampler.rule()(truth, uniform).astype(np.int64)
    return result


def draw_truth(
    shares: Sequence[float], n: int, seed: int | np.random.Generator | None = None
) -> npt.NDArray[np.uint16]:
    """Draw n true answers with the given shares: a random sample of a population that has them."""
    weights = np.asarray(shares, dtype=float)
    if weights.ndim != 1 or not np.all(np.isfinite(weights)) or np.any(weights < 0) or weights.sum() <= 0:
        raise AnalysisError(f"shares {list(shares)} are not proportions", "give one number >= 0 per option")
    if not np.isclose(weights.sum(), 1.0, atol=1e-6):
        raise AnalysisError(f"shares add up to {weights.sum():.6g}, not to 1", "give one share per option")
    edges = np.cumsum(weights / weights.sum())[:-1]
    source = random_bytes(seed, _TRUTH)
    truth = np.empty(n, dtype=np.uint16)
    for start in range(0, n, BLOCK):
        uniform = _draws(source, min(BLOCK, n - start)).astype(np.float64) * 2.0**-53
        truth[start : start + BLOCK] = np.searchsorted(edges, uniform, side="right")
    return truth


def _checked_answers(channel: Channel, answers: npt.ArrayLike) -> Answers:
    truth = np.asarray(answers)
    if truth.dtype == bool:
        truth = truth.astype(np.uint8)
    if truth.size == 0:
        return np.empty(truth.shape, dtype=np.int64)
    if not np.issubdtype(truth.dtype, np.integer):
        raise AnalysisError(
            f"answers have type {truth.dtype}", f"give integers 0..{channel.options - 1} (option order)"
        )
    low, high = int(truth.min()), int(truth.max())
    if low < 0 or high >= channel.options:
        wrong = low if low < 0 else high
        at = int(np.flatnonzero(truth.reshape(-1) == wrong)[0])
        raise AnalysisError(
            f"answer {wrong} at position {at} is outside the channel's {channel.options} options",
            f"give integers 0..{channel.options - 1}",
        )
    return truth


def _checked_rows(channel: Channel, answers: npt.ArrayLike) -> Answers:
    """Check answers that are several at once: a row each, one column for each member or item."""
    rows = np.asarray(answers)
    if rows.ndim != 2 or rows.shape[1] != channel.options:
        raise AnalysisError(
            f"answers have shape {rows.shape}", f"give one row per respondent with {channel.options} columns"
        )
    if rows.dtype == bool:
        rows = rows.astype(np.uint8)
    if rows.size and not np.issubdtype(rows.dtype, np.integer):
        raise AnalysisError(f"answers have type {rows.dtype}", "give integers, or whether an item is ticked")
    wrong = np.flatnonzero(~sampler(channel).fits(rows))
    if wrong.size:
        raise AnalysisError(
            f"answers, row {int(wrong[0])}: is not an answer of this channel",
            "give what can be ticked or chosen",
        )
    return rows


def random_bytes(seed: int | np.random.Generator | None, purpose: int) -> Source:
    """Return the function that draws n random bytes.

    A number as seed is mixed with the purpose. Otherwise answers made with the same seed (by `draw_truth`, or by
    numpy's own generator, whose bytes and uniforms are one stream) would decide how they are randomized.
    """
    if seed is None:
        return os.urandom
    entropy = seed_of(seed)
    if isinstance(entropy, np.random.SeedSequence):
        entropy = entropy.generate_state(4).tolist()
    if not isinstance(entropy, np.random.Generator):
        entropy = [*np.atleast_1d(entropy).tolist(), purpose]
    return np.random.default_rng(entropy).bytes


def _draws(source: Source, n: int) -> Draws:
    """Draw n uniform integers below 2^53."""
    return np.frombuffer(source(8 * n), dtype="<u8") >> np.uint64(11)


def _plain_draw(channel_sampler: OneDraw, source: Source) -> Callable[[Answers], Codes]:
    rule = channel_sampler.rule()
    return lambda answers: rule(answers, _draws(source, answers.size))


def _table_draw(channel_sampler: OneDraw, source: Source) -> Callable[[Answers], Codes]:
    """Draw by the 16 high bits of r where these decide, by all 53 where they do not."""
    table = _high_table(channel_sampler.channel)
    rule, one_row = channel_sampler.rule(), channel_sampler.rows == 1
    undecided = np.iinfo(table.dtype).max

    def draw(answers: Answers) -> Codes:
        high = np.frombuffer(source(2 * answers.size), dtype="<u2")
        if one_row:
            codes = table[high]
        else:
            codes = table[(answers.astype(np.intp) << HIGH_BITS) | high]
        open_places = np.flatnonzero(codes == undecided)
        reports = channel_sampler.finish(answers, codes)
        if open_places.size:
            low = np.frombuffer(source(8 * open_places.size), dtype="<u8") >> np.uint64(64 - LOW_BITS)
            exact = (high[open_places].astype(np.uint64) << np.uint64(LOW_BITS)) | low
            reports[open_places] = rule(answers[open_places], exact)
        return reports

    return draw


@lru_cache(maxsize=64)
def _high_table(channel: Channel) -> Codes:
    """Return the report (K-ary: the offset) for each value of r's high bits; the largest code means "look closer".

    Along a row reports (offsets) never decrease with r, so two equal ends of a range make it constant.
    """
    low_end = np.arange(1 << HIGH_BITS, dtype=np.uint64) << np.uint64(LOW_BITS)
    high_end = low_end + np.uint64((1 << LOW_BITS) - 1)
    channel_sampler = sampler(channel)
    assert isinstance(channel_sampler, OneDraw)
    rule = channel_sampler.rule()
    small: type[np.unsignedinteger[Any]] = np.uint32
    if 2 * channel.outcomes < 1 << 8:
        small = np.uint8
    elif 2 * channel.outcomes < 1 << 16:
        small = np.uint16
    tables = []
    for row in range(channel_sampler.rows):
        answers = np.full(low_end.shape, row)
        lowest, highest = rule(answers, low_end), rule(answers, high_end)
        tables.append(np.where(lowest == highest, lowest, np.iinfo(small).max).astype(small))
    return np.concatenate(tables)
