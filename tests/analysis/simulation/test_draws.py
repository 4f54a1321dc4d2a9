"""Arrays of reports follow the client's rule exactly, and the shares they give are the channel's."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hushpoll_analysis.simulation import draws
from hushpoll_analysis.simulation.draws import draw_truth, reports_at, simulate
from hushpoll_client import Channel, HushpollError, mechanisms
from hushpoll_client.channel import SCALE
from hypothesis import given, settings
from hypothesis import strategies as st

WIDE = [[(z * 7 + x * 3) % 11 + (z != x) for z in range(12)] for x in range(5)]
CHANNELS = {
    "warner": mechanisms.warner(epsilon=1.0).device,
    "warner below one half": mechanisms.warner(truth="1/5").device,
    "krr 3": mechanisms.krr(options=3, epsilon=0.1).device,
    "krr 300": mechanisms.krr(options=300, epsilon=4).device,
    "forced": mechanisms.forced(shares=["1/6", "0", "1/4"]).device,
    "identity": Channel.identity(4),
    "wide": Channel.from_weights(WIDE),
    "or_poll": mechanisms.or_poll(decoy_share=0.412).analysis,
}


def edge_draws(channel: Channel, answer: int) -> list[int]:
    """Both sides of every place where the report changes."""
    row, edges, total = channel.row(answer), [0, SCALE - 1], 0
    if channel.form != "krr":
        for weight in row:
            total += weight
            edges += [total - 1, total]
    else:
        start = channel.truth_weight
        edges += [start + step * channel.weight + side for step in range(channel.options) for side in (-1, 0)]
    return [r for r in edges if 0 <= r < SCALE]


@pytest.mark.parametrize("name", CHANNELS)
def test_same_reports_as_the_client_at_every_edge(name: str) -> None:
    channel = CHANNELS[name]
    answers = range(channel.options) if channel.options < 20 else (0, 1, 150, channel.options - 1)
    pairs = [(x, r) for x in answers for r in edge_draws(channel, x)]
    expected = [channel.report(x, r) for x, r in pairs]
    assert reports_at(channel, [x for x, _ in pairs], [r for _, r in pairs]).tolist() == expected


@given(data=st.data(), name=st.sampled_from(sorted(CHANNELS)))
@settings(max_examples=60, deadline=None)
def test_same_reports_as_the_client_at_random_draws(data: st.DataObject, name: str) -> None:
    channel = CHANNELS[name]
    answers = data.draw(st.lists(st.integers(0, channel.options - 1), min_size=1, max_size=20))
    draws = data.draw(st.lists(st.integers(0, SCALE - 1), min_size=len(answers), max_size=len(answers)))
    expected = [channel.report(x, r) for x, r in zip(answers, draws, strict=True)]
    assert reports_at(channel, answers, draws).tolist() == expected


@pytest.mark.parametrize("name", CHANNELS)
def test_report_shares_are_the_channels(name: str) -> None:
    channel = CHANNELS[name]
    n, answer = 60_000, channel.options - 1
    reports = simulate(channel, np.full(n, answer), seed=11)
    expected = np.array(channel.row(answer)) / SCALE
    observed = np.bincount(reports, minlength=channel.outcomes) / n
    assert np.all(np.abs(observed - expected) <= 5 * np.sqrt(expected * (1 - expected) / n) + 1e-12)


@pytest.mark.parametrize("name", CHANNELS)
def test_the_table_of_high_bits_gives_what_the_client_gives(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every byte that simulate draws is kept and put together again to the client's r, block by block.
    channel = CHANNELS[name]
    blocks: list[bytes] = []
    urandom = os.urandom

    def kept(size: int) -> bytes:
        blocks.append(urandom(size))
        return blocks[-1]

    n = draws.TABLE_FROM + 1000
    answers = np.arange(n) % channel.options
    monkeypatch.setattr(os, "urandom", kept)
    # The first block falls into the ranges in which a threshold lies: the ones that need the low bits.
    edges = [sorted({r >> draws.LOW_BITS for r in edge_draws(channel, x)}) for x in range(channel.options)]
    answer_turns = [(x, index // channel.options) for index, x in enumerate(answers[: draws.BLOCK].tolist())]
    first = np.array([edges[x][turn % len(edges[x])] for x, turn in answer_turns], dtype="<u2").tobytes()
    monkeypatch.setattr(os, "urandom", lambda size: kept(size) if blocks else blocks.append(first) or first)
    reports = simulate(channel, answers)
    low_bit_draws = 0
    for start in range(0, n, draws.BLOCK):
        block = answers[start : start + draws.BLOCK].tolist()
        high = np.frombuffer(blocks.pop(0), dtype="<u2").tolist()
        table = draws._high_table(channel)
        rows = [0 if channel.form == "krr" else x for x in block]
        decided = [
            table[(row << 16) | h] != np.iinfo(table.dtype).max for row, h in zip(rows, high, strict=True)
        ]
        low = iter([] if all(decided) else np.frombuffer(blocks.pop(0), dtype="<u8").tolist())
        for position, (x, h) in enumerate(zip(block, high, strict=True)):
            if decided[position]:
                ends = {channel.report(x, h << 37), channel.report(x, (h << 37) + 2**37 - 1)}
            else:
                ends, low_bit_draws = {channel.report(x, (h << 37) | (next(low) >> 27))}, low_bit_draws + 1
            assert ends == {int(reports[start + position])}
    assert not blocks
    assert (low_bit_draws > 0) == (name != "identity")


def test_every_bit_comes_from_the_operating_system_without_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def counted(size: int) -> bytes:
        sizes.append(size)
        return bytes(size)

    monkeypatch.setattr(os, "urandom", counted)
    for n, size in ((3000, 8), (90_000, 2)):
        sizes.clear()
        reports = simulate(CHANNELS["krr 3"], np.arange(3).repeat(n // 3))
        assert sum(sizes) == size * n
        assert np.array_equal(reports, np.arange(3).repeat(n // 3))  # r = 0 reports the truth


def test_seeded_studies_repeat_and_secure_draws_do_not() -> None:
    answers = np.zeros(1000, dtype=int)
    channel = CHANNELS["warner"]
    assert np.array_equal(simulate(channel, answers, seed=3), simulate(channel, answers, seed=3))
    assert not np.array_equal(simulate(channel, answers, seed=3), simulate(channel, answers, seed=4))
    assert not np.array_equal(simulate(channel, answers), simulate(channel, answers))


@pytest.mark.parametrize("n", [20_000, 70_000])
@pytest.mark.parametrize("source", ["numpy", "draw_truth"])
def test_answers_made_with_the_same_seed_do_not_decide_their_own_randomization(n: int, source: str) -> None:
    if source == "numpy":
        answers = (np.random.default_rng(1).random(n) < 0.3).astype(int)
    else:
        answers = draw_truth([0.7, 0.3], n, seed=1).astype(int)
    reports = simulate(CHANNELS["warner"], answers, seed=1)
    truthful = CHANNELS["warner"].row(0)[0] / SCALE
    for truth in (0, 1):
        of = int(np.sum(answers == truth))
        same = float(np.mean(reports[answers == truth] == truth))
        assert abs(same - truthful) < 5 * np.sqrt(truthful * (1 - truthful) / of)


def test_a_mechanism_draws_from_the_channel_of_the_true_answer() -> None:
    reports = simulate(mechanisms.or_poll(decoy_share=0.25), np.zeros(40_000, dtype=int), seed=5)
    assert abs(reports.mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 40_000)
    assert simulate(mechanisms.or_poll(decoy_share=0.25), np.ones(100, dtype=int)).all()


def test_shape_and_type_are_kept_small() -> None:
    assert simulate(CHANNELS["warner"], np.zeros((7, 3), dtype=bool)).shape == (7, 3)
    assert simulate(CHANNELS["warner"], [0, 1]).dtype == np.uint8
    assert simulate(CHANNELS["krr 300"], [0, 299]).dtype == np.uint16
    assert simulate(CHANNELS["warner"], []).size == 0


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([0, 2], "answer 2 at position 1"),
        ([-1], "answer -1 at position 0"),
        ([0.5], "type float64"),
        (["Yes"], "type"),
    ],
)
def test_answers_outside_the_channel_are_named(answers: list[object], message: str) -> None:
    with pytest.raises(HushpollError, match=message):
        simulate(CHANNELS["warner"], answers)  # type: ignore[arg-type]


def test_draws_outside_the_scale_are_refused() -> None:
    with pytest.raises(HushpollError, match="not below 2\\^53"):
        reports_at(CHANNELS["warner"], [0], [SCALE])
    with pytest.raises(HushpollError, match="one draw per answer"):
        reports_at(CHANNELS["warner"], [0], [1, 2])


def test_truth_has_the_shares_asked_for() -> None:
    truth = draw_truth([0.2, 0.0, 0.8], 50_000, seed=8)
    shares = np.bincount(truth, minlength=3) / 50_000
    assert shares[1] == 0
    assert abs(shares[0] - 0.2) < 5 * np.sqrt(0.16 / 50_000)


@pytest.mark.parametrize("shares", [[0.5, 0.6], [-0.1, 1.1], [float("nan"), 1], []])
def test_shares_that_are_none_are_refused(shares: list[float]) -> None:
    with pytest.raises(HushpollError, match="share"):
        draw_truth(shares, 10)


def test_the_largest_table_fits_sixty_four_bits() -> None:
    channel = Channel.from_weights([[1 + (x == z) for z in range(64)] for x in range(64)])
    reports = draws.reports_at(channel, [63, 63, 0], [0, SCALE - 1, SCALE - 1])
    assert reports.tolist() == [channel.report(63, 0), 63, 63]
