"""Places where common lecture notes err, each with the right value."""

from __future__ import annotations

import math

import pytest
from hushpoll_client import SCALE, mechanisms


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 3.0, 6.0])
def test_the_probability_of_truth_is_one_half_plus_half_of_the_printed_alpha(epsilon: float) -> None:
    """Some notes set alpha = (e^eps - 1)/(e^eps + 1) for truth 1/2 + alpha; the right alpha is half of it."""
    printed = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
    truth = mechanisms.warner(epsilon=epsilon).device.truth_weight / SCALE
    assert truth == pytest.approx(0.5 + printed / 2, abs=1e-12)
    if epsilon > math.log(3):
        assert 0.5 + printed > 1  # the printed value is not a probability any more


def test_privacy_is_best_at_one_half_and_gone_at_both_ends() -> None:
    """Some notes say that privacy grows with phi; it depends on the distance from 1/2."""
    epsilons = [
        mechanisms.warner(truth=phi).epsilon
        for phi in ("0.01", "0.1", "0.3", "0.49", "0.51", "0.7", "0.9", "0.99")
    ]
    assert epsilons[:4] == sorted(epsilons[:4], reverse=True)
    assert epsilons[4:] == sorted(epsilons[4:])
    assert epsilons == pytest.approx(epsilons[::-1])
    for end in (0, 1):
        with pytest.raises(ValueError, match="reveals every answer"):
            mechanisms.warner(truth=end)


def test_two_coins_tell_the_truth_unless_both_are_heads() -> None:
    """Truth unless two heads: phi = 3/4 and epsilon = ln 3."""
    mechanism = mechanisms.warner(truth="3/4")
    assert mechanism.device.ratio == 3
    assert mechanism.epsilon == pytest.approx(math.log(3))


@pytest.mark.parametrize("mechanism", [mechanisms.or_poll(decoy_share=0.412), mechanisms.forced([0, 0.25])])
def test_or_poll_and_forced_yes_have_no_finite_epsilon(mechanism: mechanisms.Mechanism) -> None:
    """A No is impossible for who truly answers Yes, so it proves the No."""
    assert mechanism.device.ratio is None
    assert mechanism.analysis.rows[1][0] == 0
    assert "reveals" in mechanism.epsilon_note


def test_the_finite_forms_are_finite() -> None:
    assert mechanisms.or_poll(decoy_share=0.412, epsilon=1).device.ratio is not None
    assert mechanisms.forced([0.1, 0.25]).device.ratio is not None


def test_a_yes_of_the_or_poll_multiplies_the_odds_by_at_most_one_over_q() -> None:
    no_row, yes_row = mechanisms.or_poll(decoy_share="1/4").analysis.rows
    assert yes_row[1] / no_row[1] == 4
    assert "by at most 4, which" in mechanisms.or_poll(decoy_share="1/4").epsilon_note
    assert (
        "by at most 2.428, which" in mechanisms.or_poll(decoy_share="0.412").epsilon_note
    )  # 2.42718..., rounded up
    assert "by at most 142,900, which" in mechanisms.or_poll(decoy_share="0.000007").epsilon_note


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.0])
def test_variance_about_one_over_epsilon_squared_is_the_small_epsilon_limit_only(epsilon: float) -> None:
    """n Var at share 1/2 is 1/(4 (2 phi - 1)^2), which tends to 1/eps^2 as eps tends to 0 and to 1/4 for large eps."""
    phi = mechanisms.warner(epsilon=epsilon).device.truth_weight / SCALE
    variance = 0.25 / (2 * phi - 1) ** 2
    ratio = variance * epsilon**2
    assert (ratio == pytest.approx(1, abs=0.01)) == (epsilon <= 0.1)
