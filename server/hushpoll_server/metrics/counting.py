"""What the workers count, in files in memory that a separate process reads (see exposition.py).

Nothing here is per survey, invitation or address. Without METRICS_PORT nothing is counted and prometheus-client is not
loaded.
"""

from __future__ import annotations

import os
import time
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge, Histogram

# prometheus-client reads it when it is imported.
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
STORED = "hushpoll_reports_stored"
REFUSED = "hushpoll_reports_refused"
SECONDS = "hushpoll_report_seconds"
ERRORS = "hushpoll_database_errors"
LOOKED = "hushpoll_sealing_looked"
BOUNDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
REASONS = {
    403: "not_invited",
    404: "unknown_survey",
    409: "other_content",
    410: "closed",
    413: "too_large",
    415: "media_type",
    422: "malformed",
    429: "too_many",
    503: "unavailable",
}
OTHER_REASON = "other"


class _Instruments(NamedTuple):
    stored: Counter
    refused: Counter
    seconds: Histogram
    errors: Counter
    looked: Gauge


@cache
def _instruments() -> _Instruments | None:
    """Return the counters, or None where metrics are off."""
    if not os.environ.get(FOLDER):
        return None
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

    registry = CollectorRegistry()
    return _Instruments(
        Counter(STORED, "Reports stored.", registry=registry),
        Counter(REFUSED, "Reports refused.", ["reason"], registry=registry),
        Histogram(SECONDS, "Seconds to answer a report.", buckets=BOUNDS, registry=registry),
        Counter(ERRORS, "Failed looks of the keeper.", registry=registry),
        Gauge(LOOKED, "When sealing was last looked after.", registry=registry, multiprocess_mode="max"),
    )


def count_stored(number: int) -> None:
    """Count new reports."""
    if number and (instruments := _instruments()):
        instruments.stored.inc(number)


def count_refused(status: int) -> None:
    """Count a refused report by the status of its answer."""
    if instruments := _instruments():
        instruments.refused.labels(REASONS.get(status, OTHER_REASON)).inc()


def observe_seconds(seconds: float) -> None:
    """Count how long an answer took."""
    if instruments := _instruments():
        instruments.seconds.observe(seconds)


def count_database_error() -> None:
    """Count a failed look of the keeper, which looks whether or not reports come."""
    if instruments := _instruments():
        instruments.errors.inc()


def note_sealing() -> None:
    """Note that whatever was due has been sealed."""
    if instruments := _instruments():
        instruments.looked.set(time.time())
