"""Mechanisms for ordered answers: their tables against formulas, their integers against the bound, and profiles."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest
from hushpoll_client import Channel, MechanismError, mechanisms
from hushpoll_client.channel import SCALE
from hushpoll_client.errors import ChannelError
from hushpoll_client.exact import exp_below
from hushpoll_client.mechanism import MECHANISMS, BrokenPromise

ORDERED = {"geometric", "exponential", "one_bit", "square_wave"}


def weight(name: str, options: int, epsilon: float, x: int, z: int) -> float:
    """The textbook's weights, before rows are made to sum to 1."""
    last, grown = options - 1, math.exp(epsilon)
    if name == "one_bit":
        share = x / last
        yes = (1 - share + share * grown) / (grown + 1)
        return yes if z else 1 - yes
    if name == "square_wave":
        half = math.floor((epsilon * grown - grown + 1) / (2 * grown * (grown - 1 - epsilon)) * options)
        return grown if abs(z - half - x) <= half else 1.0
    alpha = math.exp(-epsilon / last)
    inside = 1 - alpha if name == "geometric" and 0 < z < last else 1.0
    return inside * alpha ** abs(x - z)


@pytest.mark.parametrize("name", sorted(ORDERED))
@pytest.mark.parametrize("options", [2, 5, 11, 20])
@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_tables_are_the_textbooks(name: str, options: int, epsilon: float) -> None:
    channel = getattr(mechanisms, name)(options, epsilon).device
    for x, row in enumerate(channel.rows):
        expected = [weight(name, options, epsilon, x, z) for z in range(channel.outcomes)]
        total = sum(expected)
        assert [w / SCALE for w in row] == pytest.approx([w / total for w in expected], abs=1e-12)


@pytest.mark.parametrize("name", sorted(ORDERED))
@pytest.mark.parametrize("options", [2, 3, 5, 11, 20, 64])
@pytest.mark.parametrize("epsilon", ["0.001", "0.25", "1", "5.6", "12"])
def test_integers_never_exceed_the_epsilon(name: str, options: int, epsilon: str) -> None:
    mechanism = getattr(mechanisms, name)(options, epsilon)
    limit = exp_below(Fraction(epsilon))
    assert mechanism.device.ratio <= limit
    assert mechanism.epsilon >= float(epsilon) * (1 - 1e-6) - 1e-9
    assert MECHANISMS[name].check(options, {"epsilon": epsilon}, mechanism.device) == mechanism
    with pytest.raises(BrokenPromise):
        MECHANISMS[name].check(options, {"epsilon": str(float(epsilon) * 0.999)}, mechanism.device)


@pytest.mark.parametrize("name", sorted(ORDERED))
def test_they_fit_ordered_answers_only_and_are_checked(name: str) -> None:
    assert MECHANISMS[name].fits == "ordered"
    assert not MECHANISMS[name].recompiled
    # One bit says nothing of a point but where it lies between the ends: any number of them will do.
    most = 1000 if name == "one_bit" else 64
    for options, message in (
        (1, f"takes 2 to {most:,} options"),
        (most + 1, f"takes 2 to {most:,} options"),
        (True, "must be a whole number, got True"),
        (2.5, "must be a whole number, got 2.5"),
    ):
        with pytest.raises(MechanismError, match=re.escape(message)):
            getattr(mechanisms, name)(options, 1)


def test_one_bit_tells_the_mean() -> None:
    channel = mechanisms.one_bit(5, 1).device
    edge = (math.e + 1) / (math.e - 1)
    for x, (no, yes) in enumerate(channel.rows):
        assert edge * (yes - no) / SCALE == pytest.approx(-1 + x / 2, abs=1e-12)


# Discrete Gaussian noise. ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.5, 1, 2, 10])
def test_gaussian_noise_is_clamped_to_the_ends(sigma: float) -> None:
    channel = mechanisms.discrete_gaussian(7, sigma).device
    reach = range(-400, 401)
    noise = {k: math.exp(-(k**2) / (2 * sigma**2)) for k in reach}
    total = sum(noise.values())
    for x, row in enumerate(channel.rows):
        expected = [0.0] * 7
        for k in reach:
            expected[min(max(x + k, 0), 6)] += noise[k] / total
        assert [w / SCALE for w in row] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sigma", [0, -1, 0.01, 1001, "x"])
def test_gaussian_widths_that_make_no_sense_are_refused(sigma: Any) -> None:
    with pytest.raises(MechanismError, match="sigma"):
        mechanisms.discrete_gaussian(5, sigma)


def test_gaussian_noise_is_for_the_library() -> None:
    assert not MECHANISMS["discrete_gaussian"].in_surveys
    assert mechanisms.discrete_gaussian(5, 2).epsilon_note


# Profiles. ------------------------------------------------------------------------------------------------------


def answers_of(channel: Channel) -> list[Any]:
    if channel.form == "sampled":
        return list(product(*(range(size) for size in channel.sizes)))  # type: ignore[attr-defined]
    if channel.form == "padded":
        items = range(channel.options)
        return [ticked for size in range(channel.at_most + 1) for ticked in combinations(items, size)]  # type: ignore[attr-defined]
    return list(range(channel.options))


def enumerated(channel: Channel, epsilon: str) -> Fraction:
    factor = exp_below(Fraction(epsilon))
    rows = [channel.chances(answer) for answer in answers_of(channel)]
    return max(
        sum((max(Fraction(0), row[z] - factor * other.get(z, 0)) for z in row), Fraction(0))
        for row in rows
        for other in rows
    )


CHANNELS = {
    "krr": mechanisms.krr(4, 1).device,
    "warner below one half": mechanisms.warner(truth="1/4").device,
    "matrix": mechanisms.geometric(5, 1).device,
    "with zeros": mechanisms.or_poll(decoy_share="0.4").analysis,
    "subset": mechanisms.subset(6, 1, 2).device,
    "padded": mechanisms.padded(4, 1, 2).device,
    "gaussian": mechanisms.discrete_gaussian(5, 1).device,
    "columns": Channel.from_json(
        {"form": "columns", "options": 3, "sets": ["1", "6"], "low": [2**50, 2**50], "high": [2**51, 2**51]}
    ),
    "sampled": Channel.from_json(
        {"form": "sampled", "sizes": [2, 3, 2], "ask": 2, "weights": [[4, 2**50], [6, 2**49]]}
    ),
}


@pytest.mark.parametrize("name", CHANNELS)
def test_a_profile_equals_the_enumerated_one(name: str) -> None:
    channel = CHANNELS[name]
    steps = ["0", "0.3", "0.9", "1", "2", "5"]
    for step, (epsilon, delta) in zip(steps, channel.profile(steps), strict=True):
        exact = enumerated(channel, step)
        assert epsilon == float(step)
        assert Fraction(delta) >= exact
        assert delta == pytest.approx(float(exact), rel=1e-15)


def test_delta_is_zero_from_the_epsilon_of_the_channel_on() -> None:
    channel = mechanisms.krr(1000, 2).device
    (_, before), (_, after) = channel.profile([1.99, 2])
    assert before > 0
    assert after == 0


def test_a_profile_starts_at_zero() -> None:
    with pytest.raises(ChannelError, match="0 or more"):
        mechanisms.krr(3, 1).device.profile([-1])
