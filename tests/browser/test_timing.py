"""The time from the choice to the bytes on the wire does not tell the answer; see tests/prove/timing.py."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.prove import timing
from tests.serving import LiveServer

pytestmark = pytest.mark.browser


def test_the_time_does_not_tell_the_answer_and_a_planted_delay_is_caught(
    browser: Browser, page_server: LiveServer
) -> None:
    page = browser.new_page()
    found = timing.told(lambda n: timing.times(page, page_server, n), 60)
    assert min(found.values()) > timing.ALPHA / len(found), found
    # A delay that stands out among sixty times on a busy machine; the long harness catches one of 3 ms.
    caught = timing.planted(lambda n: timing.times(page, page_server, n, plant=25.0), 60)
    assert caught < timing.ALPHA
    page.close()
