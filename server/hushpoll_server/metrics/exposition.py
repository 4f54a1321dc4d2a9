"""What Prometheus reads: the values as of the last full minute, each too coarse to show a single arrival."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from . import counting
from .coarse import CoarseCount, bucket, rounded
from .readings import Readings

AGES = (0, 600, 3600, 21_600, 86_400)
LAGS = (0, 60, 300, 900, 3600)
BYTES = 64 << 20
"""Disk and memory are published in multiples of this."""
_BOUNDS = (*(str(bound) for bound in counting.BOUNDS), "+Inf")


class Exposition:
    """The published values; `update` is called once a minute, `text` is what every scrape of that minute gets."""

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[str, str], CoarseCount] = defaultdict(CoarseCount)
        self._occupied_since: float | None = None
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._metrics: list[Metric] = []
        self.text = b""

    def collect(self) -> Iterator[Metric]:
        """Yield the published values (prometheus-client asks for them)."""
        yield from self._metrics

    def update(self, readings: Readings, now: float) -> None:
        """Publish new readings, taken `now` (seconds since 1970)."""
        self._metrics = [
            *self._reports(readings),
            *self._inbox(readings, now),
            *_machine(readings),
        ]
        self.text = generate_latest(self._registry)

    def _reports(self, readings: Readings) -> Iterator[Metric]:
        stored = self._counts[counting.STORED, ""].update(readings.stored)
        yield CounterMetricFamily(counting.STORED, "Reports stored, in fifties.", value=stored)
        refused = CounterMetricFamily(counting.REFUSED, "Reports refused, in fifties.", labels=["reason"])
        for reason in (*counting.REASONS.values(), counting.OTHER_REASON):
            count = self._counts[counting.REFUSED, reason].update(readings.refused.get(reason, 0))
            refused.add_metric([reason], count)
        yield refused
        buckets: list[tuple[str, float]] = []
        total = 0
        for bound in _BOUNDS:
            total += self._counts[counting.SECONDS, bound].update(readings.answers.get(bound, 0))
            buckets.append((bound, total))
        # No sum: it would change with every answer.
        yield HistogramMetricFamily(
            counting.SECONDS, "Seconds to answer a report, in fifties.", buckets=buckets, sum_value=None
        )

    def _inbox(self, readings: Readings, now: float) -> Iterator[Metric]:
        count = self._counts["inbox", ""]
        if readings.waiting is None:
            waiting = count.published
        else:
            waiting = count.update(readings.waiting)
        yield _gauge("hushpoll_inbox_reports", "Reports that wait to be sealed, in fifties.", waiting)
        if not waiting:
            self._occupied_since = None
        elif self._occupied_since is None:
            self._occupied_since = now
        age = 0.0
        if self._occupied_since is not None:
            age = now - self._occupied_since
        yield _gauge(
            "hushpoll_inbox_age_seconds", f"How long reports have waited: {_listed(AGES)}.", bucket(age, AGES)
        )
        lag = 0.0
        if readings.looked:
            lag = now - readings.looked
        yield _gauge(
            "hushpoll_sealing_lag_seconds",
            f"Since all that was due was sealed: {_listed(LAGS)}.",
            bucket(lag, LAGS),
        )


def _machine(readings: Readings) -> Iterator[Metric]:
    is_up = readings.waiting is not None
    yield _gauge("hushpoll_database_up", "1 where the database answers.", int(is_up))
    yield CounterMetricFamily(
        counting.ERRORS, "Failed looks after sealing and closing.", value=readings.errors
    )
    for name, what, value in (
        ("hushpoll_disk_free_bytes", "Free space of the data folder", readings.disk_free),
        ("hushpoll_disk_total_bytes", "All space of the data folder", readings.disk_total),
        ("hushpoll_memory_bytes", "Memory of the server's processes", readings.memory),
    ):
        yield _gauge(name, f"{what}, in multiples of 64 MiB.", rounded(value, BYTES))


def _gauge(name: str, documentation: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, documentation, value=value)


def _listed(bounds: tuple[int, ...]) -> str:
    return ", ".join(f"{bound}" for bound in bounds) + " or more"
