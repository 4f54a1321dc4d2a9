"""The time from the choice to the bytes on the wire does not tell the answer; see tests/prove/timing.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Browser

from tests.prove import timing
from tests.serving import LiveServer


def made_up(seed: int, delay: float) -> Callable[[int], np.ndarray]:
    """Return a stand-in for measuring: answers, and times that a delay after the second answer makes longer."""
    rng = np.random.default_rng(seed)

    def rows(n: int) -> np.ndarray:
        answers = rng.integers(0, 2, n)
        request = rng.gamma(4, 2, n) + delay * answers
        return np.column_stack([answers, request, request + rng.gamma(2, 1, n)])

    return rows


def test_the_comparison_of_times_catches_a_delay_and_nothing_else() -> None:
    for seed in range(20):
        honest = timing.confirmed_p_values(made_up(seed, 0.0), 60)
        assert min(honest.values()) > timing.ALPHA / len(honest)
        assert timing.planted(made_up(seed, 25.0), 60) < timing.ALPHA


@pytest.mark.long
@pytest.mark.browser
def test_the_time_does_not_tell_the_answer_and_a_planted_delay_is_caught(
    browser: Browser, page_server: LiveServer
) -> None:
    page = browser.new_page()
    p_values = timing.confirmed_p_values(lambda n: timing.times(page, page_server, n), 60)
    assert min(p_values.values()) > timing.ALPHA / len(p_values), p_values
    # A delay that stands out among sixty times on a busy machine; the long harness catches one of 3 ms.
    caught = timing.planted(lambda n: timing.times(page, page_server, n, plant=25.0), 60)
    assert caught < timing.ALPHA
    page.close()
