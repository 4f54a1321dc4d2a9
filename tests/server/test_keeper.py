"""The keeper of a running server: SQLite's log, which holds the order of arrival, is emptied while reports wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.prove.crowd import fresh_report, send
from tests.prove.places import signed_survey
from tests.serving import LONGEST, LiveServer


@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_log_is_emptied_soon_while_reports_wait(live: Callable[..., LiveServer]) -> None:
    server = live()
    survey = signed_survey("Waiting")
    server.store.publish(survey, minimum_batch=50)
    log = Path(f"{server.store.database.path}-wal")
    for _ in range(2):
        written = 0
        for _ in range(5):
            assert send(server, survey, fresh_report(survey))[0] == 201
            written += log.stat().st_size  # the keeper may come between a report and this look, not at each
        assert written > 0, "what was stored is in the log first"
        deadline = time.monotonic() + LONGEST
        while log.stat().st_size:
            assert time.monotonic() < deadline, f"the log was not emptied within {LONGEST} s"
            time.sleep(0.1)
    # They wait still: no sealing did it.
    assert (server.store.count(survey.hash), server.store.sealed_count(survey.hash)) == (10, 0)
