"""The statistical audit: close to epsilon from below, and quick to catch a planted fault. Coins are seeded."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hushpoll_analysis.channel.audit import audit_channel, audited_answers, buffered, lower_bound
from hushpoll_client import mechanisms

DRAWS = 1_000_000


def coins(seed: int) -> Callable[[int], bytes]:
    return buffered(np.random.default_rng(seed).bytes)


CASES = [("0.5", 2), ("4", 2), ("1", 4)]
LONG = [case for case in itertools.product(("0.5", "1", "2", "4"), (2, 3, 4)) if case not in CASES]


@pytest.mark.parametrize(
    ("epsilon", "options"), [*CASES, *(pytest.param(*case, marks=pytest.mark.long) for case in LONG)]
)
def test_bound_is_close_and_a_planted_fault_is_caught(epsilon: str, options: int) -> None:
    claimed = float(epsilon)
    honest = mechanisms.krr(options=options, epsilon=epsilon)
    bound = audit_channel(honest.device, DRAWS, coins(1))
    assert 0.97 * claimed <= bound <= honest.epsilon
    faulty = mechanisms.krr(options=options, epsilon=f"{1.1 * claimed:.3f}")
    assert audit_channel(faulty.device, DRAWS, coins(2)) > claimed


def test_the_bound_holds_as_often_as_it_says() -> None:
    """Draw many tables at the worst case and count bounds above the truth: at most 1 % plus noise."""
    generator = np.random.default_rng(3)
    channel = mechanisms.warner(epsilon=1).device
    share = channel.truth_weight / 2**53
    tables = generator.binomial(2000, [share, 1 - share], size=(400, 2))
    bounds = [lower_bound([[int(a), 2000 - int(a)], [int(b), 2000 - int(b)]]) for a, b in tables]
    assert np.mean(np.array(bounds) > channel.epsilon) <= 0.025


def test_many_options_are_audited_by_a_spread_of_answers() -> None:
    answers = audited_answers(mechanisms.krr(options=1000, epsilon=3).device)
    assert (len(answers), answers[0], answers[-1]) == (16, 0, 999)
    assert audited_answers(mechanisms.krr(options=4, epsilon=3).device) == (0, 1, 2, 3)


def test_reports_that_never_occur_give_no_evidence() -> None:
    assert lower_bound([[100, 0], [100, 0]]) == 0.0
    assert lower_bound([[1000, 0], [0, 1000]]) > 4
