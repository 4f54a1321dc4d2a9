"""Every constructor: its channel, its exact epsilon, what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hushpoll_client import SCALE, Mechanism, MechanismError, mechanisms
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_client.mechanism.sampled import best_ask, unit_variance
from hushpoll_client.mechanism.subset import Subset
from hypothesis import given
from hypothesis import strategies as st

from tests.client.test_exact import taylor

EPSILONS = ["0.01", "0.1", "0.5", "1", "1.5", "2", "3.1", "4", "7.25", "10", "14"]


def shares(mechanism: Mechanism) -> list[list[float]]:
    return [[weight / SCALE for weight in row] for row in mechanism.analysis.rows]


def assert_within(mechanism: Mechanism, epsilon: str, loss: float = 1.34e-10) -> None:
    """Prove e^(epsilon of the integers) <= e^epsilon with rationals, and that little is given away."""
    ratio = mechanism.device.ratio
    assert ratio is not None
    assert ratio <= taylor(Fraction(epsilon))
    assert mechanism.epsilon <= float(epsilon)
    assert float(epsilon) - mechanism.epsilon < loss


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("options", [2, 3, 4, 10, 100, 1000])
def test_k_ary_epsilon_is_at_most_the_one_asked_for(options: int, epsilon: str) -> None:
    mechanism = mechanisms.krr(options=options, epsilon=epsilon)
    assert_within(mechanism, epsilon)
    weight = mechanism.device.weight
    assert weight is not None
    # One less on the wrong reports would break the promise: nothing is given away needlessly.
    assert Fraction(SCALE - (options - 1) * (weight - 1), weight - 1) > taylor(Fraction(epsilon)) * (
        1 - Fraction(1, 2**60)
    )


@given(st.decimals("0.01", "14", places=6), st.integers(2, 1000))
def test_k_ary_epsilon_for_any_request(epsilon: Any, options: int) -> None:
    assert_within(mechanisms.krr(options=options, epsilon=epsilon), str(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_warner_and_every_decoy_with_a_flip_keep_the_epsilon_asked_for(epsilon: str) -> None:
    assert_within(mechanisms.warner(epsilon=epsilon), epsilon)
    assert_within(mechanisms.or_poll(decoy_share="0.412", epsilon=epsilon), epsilon)
    assert_within(mechanisms.crosswise(decoy_share="1/4", epsilon=epsilon), epsilon)
    assert_within(mechanisms.unrelated(truth="0.7", decoy_share="0.3", epsilon=epsilon), epsilon, loss=1e-8)


@given(st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=10**6))
def test_warner_by_truth_is_rounded_toward_one_half(truth: Fraction) -> None:
    if truth == Fraction(1, 2):
        return
    ratio = mechanisms.warner(truth=truth).device.ratio
    assert ratio is not None
    assert ratio <= max(truth / (1 - truth), (1 - truth) / truth)
    assert math.log(ratio) == pytest.approx(abs(math.log(truth / (1 - truth))), abs=1e-12)


@given(
    st.lists(st.fractions(Fraction(1, 10**4), Fraction(1, 5), max_denominator=10**5), min_size=2, max_size=5)
)
def test_forced_epsilon_is_at_most_that_of_the_shares(forced: list[Fraction]) -> None:
    if sum(forced) >= 1:
        return
    truth = 1 - sum(forced)
    ratio = mechanisms.forced(forced).device.ratio
    assert ratio is not None
    assert ratio <= 1 + truth / min(forced)
    assert math.log(ratio) == pytest.approx(math.log(1 + truth / min(forced)), abs=1e-9)


@given(
    st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000),
    st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000),
    st.integers(1, 5),
)
def test_kuk_epsilon_is_at_most_that_of_the_decks(yes: Fraction, no: Fraction, draws: int) -> None:
    if yes == no:
        return
    mechanism = mechanisms.kuk(yes, no, draws)
    ratio = mechanism.device.ratio
    assert ratio is not None
    assert ratio <= max(
        (yes / no) ** draws,
        (no / yes) ** draws,
        ((1 - yes) / (1 - no)) ** draws,
        ((1 - no) / (1 - yes)) ** draws,
    )
    assert mechanism.device.outcomes == draws + 1


def test_channels_are_those_of_the_literature() -> None:
    assert shares(mechanisms.warner(truth="3/4")) == [[0.75, 0.25], [0.25, 0.75]]
    assert shares(mechanisms.forced(["1/8", "1/4"])) == [[0.75, 0.25], [0.125, 0.875]]
    assert shares(mechanisms.or_poll(decoy_share="1/4")) == [[0.75, 0.25], [0.0, 1.0]]
    assert shares(mechanisms.triangular(decoy_share="1/4")) == [[0.75, 0.25], [0.0, 1.0]]
    assert shares(mechanisms.crosswise(decoy_share="1/4")) == [[0.25, 0.75], [0.75, 0.25]]
    assert shares(mechanisms.unrelated(truth="3/4", decoy_share="1/4")) == [
        [0.9375, 0.0625],
        [0.1875, 0.8125],
    ]
    assert shares(mechanisms.mangat(truth="3/4")) == [[0.75, 0.25], [0.0, 1.0]]
    assert shares(mechanisms.kuk("3/4", "1/4")) == [[0.75, 0.25], [0.25, 0.75]]
    assert shares(mechanisms.kuk("1/2", "1/4", draws=2)) == [[0.5625, 0.375, 0.0625], [0.25, 0.5, 0.25]]
    assert shares(mechanisms.matrix(weights=[[3, 1], [1, 1]])) == [[0.75, 0.25], [0.5, 0.5]]


def test_forced_shares_go_by_both_names() -> None:
    """Documents and the command line call them forced."""
    plain = mechanisms.forced(["1/8", "1/4"])
    assert mechanisms.forced(forced=["1/8", "1/4"]) == plain == mechanisms.forced(shares=["1/8", "1/4"])
    with pytest.raises(MechanismError, match="forced is given twice; give shares or forced, not both"):
        mechanisms.forced(["1/8", "1/4"], forced=["1/8", "1/4"])
    with pytest.raises(MechanismError, match="needs one share for each option, at least two"):
        mechanisms.forced()


def test_forced_k_categories_are_the_truth_plus_a_common_row() -> None:
    table = shares(mechanisms.forced([0.1, 0.15, 0.05]))
    assert table == [pytest.approx(row) for row in ([0.8, 0.15, 0.05], [0.1, 0.85, 0.05], [0.1, 0.15, 0.75])]
    assert mechanisms.forced([0.1] * 4).device.form == "krr"


def test_the_devices_epsilon_and_the_conditional_one_are_kept_apart() -> None:
    flipped = mechanisms.or_poll(decoy_share=0.4, epsilon=1.5)
    assert flipped.epsilon == pytest.approx(1.5, abs=1e-9)
    assert flipped.epsilon_conditional == pytest.approx(1.13, abs=0.005)
    assert flipped.epsilon_note.startswith("unconditional")
    crosswise = mechanisms.crosswise(decoy_share=0.25)
    assert math.isinf(crosswise.epsilon)
    assert crosswise.epsilon_conditional == pytest.approx(math.log(3))
    for plain in (mechanisms.or_poll(decoy_share=0.4), crosswise, mechanisms.unrelated(0.7, 0.3)):
        assert plain.epsilon_note.startswith("unbounded")
        assert "holds only if nobody knows" in plain.epsilon_note
    assert mechanisms.or_poll(decoy_share=0.4).epsilon_conditional is None  # a No reveals even so
    assert (
        mechanisms.forced([0, "1/4"]).epsilon_note
        == "unbounded: nobody is forced to say No, so a No reveals the No"
    )


@pytest.mark.parametrize(
    ("mechanism", "table"),
    [
        (mechanisms.or_poll(decoy_share=0.4), [0, 1, 1, 1]),
        (mechanisms.crosswise(decoy_share=0.4), [1, 0, 0, 1]),
        (mechanisms.unrelated(truth=0.7, decoy_share=0.4), [0, 1, 2, 3]),
    ],
)
def test_the_device_combines_two_answers_by_a_fixed_rule(mechanism: Mechanism, table: list[int]) -> None:
    assert [mechanism.device_answer(a, d) for a in (0, 1) for d in (0, 1)] == table
    # The analysis' channel is the device's one averaged over the decoy.
    q = float(mechanism.decoy_share or 0)
    for a in (0, 1):
        rows = [mechanism.device.row(mechanism.device_answer(a, d)) for d in (0, 1)]
        mixed = [((1 - q) * no + q * yes) / SCALE for no, yes in zip(*rows, strict=True)]
        assert shares(mechanism)[a] == pytest.approx(mixed)


def test_a_decoy_is_asked_for_where_there_is_one_and_only_there() -> None:
    with pytest.raises(ValueError, match="asks no decoy"):
        mechanisms.warner(epsilon=1).device_answer(0, 1)
    with pytest.raises(ValueError, match="needs two answers"):
        mechanisms.or_poll(decoy_share=0.4).device_answer(1)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("warner", {"epsilon": 0}, "greater than 0"),
        ("warner", {"epsilon": -1}, "greater than 0"),
        ("warner", {"epsilon": float("nan")}, "must be a number"),
        ("warner", {"epsilon": float("inf")}, "must be a number"),
        ("warner", {"epsilon": 20.001}, "at most 20"),
        ("warner", {}, "either epsilon or truth"),
        ("warner", {"epsilon": 1, "truth": 0.75}, "either epsilon or truth"),
        ("warner", {"truth": "1/2"}, "no information"),
        ("warner", {"truth": 1}, "reveals every answer"),
        ("warner", {"truth": 0}, "reveals every answer"),
        ("warner", {"truth": 1.2}, "between 0 and 1"),
        ("warner", {"truth": "0.5000000000000000001"}, "too close"),
        ("krr", {"options": 1, "epsilon": 1}, "at least two options"),
        ("krr", {"options": 2**53, "epsilon": 1}, "too many for integers"),
        ("krr", {"options": 10**9, "epsilon": "0.0000001"}, "too many for integers"),
        ("forced", {"shares": [0.5]}, "at least two"),
        ("forced", {"shares": [0.5, 0.5]}, "room for the truth"),
        ("forced", {"shares": [0.9, 0.5]}, "room for the truth"),
        ("forced", {"shares": [0, 0]}, "all zero"),
        ("forced", {"shares": [-0.1, 0.5]}, "between 0 and 1"),
        ("forced", {"shares": [0.001] * 70 + [0.002]}, "equal forced shares"),
        ("or_poll", {}, "either decoy_share or decoy_counts"),
        ("or_poll", {"decoy_share": 0}, "between 0 and 1"),
        ("or_poll", {"decoy_share": 1}, "between 0 and 1"),
        ("or_poll", {"decoy_counts": [5, 5]}, "0 < yes < of"),
        ("or_poll", {"decoy_counts": [1.5, 5]}, "two whole numbers"),
        ("or_poll", {"decoy_counts": [1, 2, 3]}, "two whole numbers"),
        ("crosswise", {"decoy_share": "1/2"}, "no information"),
        ("unrelated", {"truth": 1, "decoy_share": 0.3}, "between 0 and 1"),
        ("mangat", {"truth": 1}, "between 0 and 1"),
        ("kuk", {"red_if_yes": 0.3, "red_if_no": 0.3}, "same share"),
        ("kuk", {"red_if_yes": 0.8, "red_if_no": 0.3, "draws": 0}, "draws must be"),
    ],
)
def test_requests_that_cannot_be_honoured_are_refused(
    name: str, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(MechanismError, match=message):
        getattr(mechanisms, name)(**arguments)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (2, []),
        (3, ["1/6", "1/9", "1/12"]),
        (4, ["1/6", "1/9", "1/12"]),
        (5, ["1/9", "1/12"]),
        (6, ["1/9", "1/12"]),
        (7, ["1/12"]),
        (8, ["1/12"]),
        (9, ["1/18"]),
        (12, ["1/18"]),
        (13, []),
    ],
)
def test_forced_response_on_paper_needs_at_most_two_rolls(options: int, expected: list[str]) -> None:
    points = MECHANISMS["forced"].points_by_hand(options)
    assert points == tuple({"forced": [share] * options} for share in expected)
    for point in points:
        instruction = mechanisms.forced(**point).by_hand()
        assert instruction is not None
        assert instruction.rolls <= 2


@pytest.mark.parametrize(
    ("shares", "note"),
    [
        (["1/8", "0", "1/4", "0"], "nobody is forced to say option 2, 4, so"),
        (["1/4", "0"], "nobody is forced to say Yes"),
        (["0", "1/4"], "nobody is forced to say No"),
        (["1/4", "1/4"], ""),
    ],
)
def test_forced_response_names_the_options_that_reveal_an_answer(shares: list[str], note: str) -> None:
    printed = mechanisms.forced(shares).epsilon_note
    assert note in printed
    assert bool(printed) == bool(note)


def test_all_items_are_asked_where_that_has_the_least_variance() -> None:
    for members in (2, 3, 5):
        variances = {ask: unit_variance(members, ask, 8.0) for ask in range(1, members + 1)}
        assert best_ask(members, 8.0) == members == min(variances, key=variances.__getitem__)


def test_everybody_is_asked_a_question_that_is_in_no_block() -> None:
    assert mechanisms.krr(options=4, epsilon=1).asked == 1


def test_sets_of_options_need_three_options() -> None:
    assert [Subset.fits_options(options) for options in (2, 3, 100)] == [False, True, True]
