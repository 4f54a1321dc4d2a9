"""Metrics: coarse counts, the values of the last full minute, and nothing about a single arrival."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import pytest
from hushpoll_server.config import Config
from hushpoll_server.metrics import __main__ as program
from hushpoll_server.metrics import counting, exposition
from hushpoll_server.metrics.coarse import STEP, CoarseCount, bucket
from hushpoll_server.metrics.exposition import Exposition
from hushpoll_server.metrics.readings import InboxCount, Readings, read_counts
from hushpoll_server.serve import metrics_process

from tests.docs.blocks import ROOT
from tests.serving import LONGEST, Flask, LiveServer, Survey, make_survey, new_report, post, reserve

Live = Callable[..., LiveServer]
QUIET = Readings(waiting=0, disk_free=10 << 30, disk_total=100 << 30, memory=150 << 20, looked=1000.0)
DASHBOARD = ROOT / "deploy" / "grafana.json"
ALERTS = ROOT / "deploy" / "alerts.yml"


def series(text: bytes) -> dict[str, float]:
    """Return the samples of a scrape, by name and labels."""
    lines = [line for line in text.decode().splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def with_arrivals(count: int, waiting: int) -> Readings:
    """Return the readings of a server that has answered this many reports, each in 5 ms."""
    return replace(QUIET, stored=count, waiting=waiting, answers={"0.01": count}, refused={"closed": count})


# Coarse counts ----------------------------------------------------------------------------------------------------


def test_one_arrival_changes_what_is_published_next_in_one_case_of_twenty_five() -> None:
    """All 2,500 pairs of numbers that may be drawn, for every count."""

    def published(count: int, threshold: int, shift: int) -> int:
        random_numbers = iter([threshold, 0, shift])
        coarse = CoarseCount(lambda below: next(random_numbers))
        # The threshold is drawn at the start, then once more at the change, before the shift.
        return coarse.update(count)

    pairs = list(product(range(STEP), repeat=2))
    for count in range(1, 4 * STEP):
        differing = sum(published(count, *pair) != published(count - 1, *pair) for pair in pairs)
        assert differing <= len(pairs) // 25, count


def test_a_count_is_published_in_fifties_after_at_least_fifty_arrivals() -> None:
    coarse = CoarseCount()
    published = [coarse.update(count) for count in range(5000)]
    assert {count % STEP for count in published} == {0}
    assert all(before <= after for before, after in pairwise(published))
    assert all(value <= count for count, value in enumerate(published))
    assert all(count - value < 4 * STEP for count, value in enumerate(published))
    changes = [count for count, (before, after) in enumerate(pairwise(published)) if before != after]
    assert min(after - before for before, after in pairwise(changes)) >= STEP


def test_a_count_that_falls_is_as_coarse() -> None:
    coarse = CoarseCount()
    coarse.update(1000)
    before = coarse.published
    assert {coarse.update(count) for count in range(1000, 950, -1)} == {before}
    assert coarse.update(0) == 0


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, 0), (59, 0), (60, 60), (899, 300), (1e9, 3600), (-5, 0)]
)
def test_ages_are_in_buckets(seconds: float, expected: int) -> None:
    assert bucket(seconds, exposition.LAGS) == expected


# Replayed arrivals ------------------------------------------------------------------------------------------------


def test_no_single_arrival_of_a_replay_can_be_seen() -> None:
    """Reports arrive one at a time, a minute apart: every change of the text stands for 50 of them or more."""
    page = Exposition()
    counts = list(range(1, 1001))
    texts = []
    for minute, count in enumerate(counts):
        page.update(replace(with_arrivals(count, count % 150), looked=60.0 * minute), 60.0 * minute)
        texts.append(series(page.text))
    names = set(texts[0])
    assert all(set(text) == names for text in texts)
    for name in names - {"hushpoll_inbox_age_seconds"}:
        values = [text[name] for text in texts]
        changes = [index for index, (before, after) in enumerate(pairwise(values)) if before != after]
        if name == "hushpoll_inbox_reports":
            # Sealings of 150 at a time are changes too.
            changes = [index for index in changes if values[index + 1]]
        assert all(after - before >= STEP for before, after in pairwise([-1, *changes])), name
        if "bytes" not in name and not name.endswith(("up", "_lag_seconds")):
            assert {value % STEP for value in values} == {0}, name


@pytest.mark.parametrize("before", [0, 1, 49, 50, 99, 100, 1234])
def test_the_next_forty_nine_arrivals_change_no_byte(before: int) -> None:
    page = Exposition()
    page.update(with_arrivals(before, before), 60.0)
    # A hundred more change every count, whatever was drawn; the next change takes fifty.
    page.update(with_arrivals(before + 2 * STEP, before + 2 * STEP), 120.0)
    text = page.text
    for more in range(1, STEP):
        page.update(with_arrivals(before + 2 * STEP + more, before + 2 * STEP + more), 120.0)
        assert page.text == text


def test_metrics_name_no_surveys_invitations_or_addresses() -> None:
    page = Exposition()
    page.update(with_arrivals(1000, 500), 60.0)
    labels = set(re.findall(rb'[{,](\w+)="', page.text))
    assert labels == {b"reason", b"le"}
    assert b"_created" not in page.text
    assert b"_sum" not in page.text
    reasons = set(re.findall(rb'reason="(\w+)"', page.text))
    assert reasons == {reason.encode() for reason in (*counting.REASONS.values(), counting.OTHER_REASON)}


def test_the_age_of_the_inbox_and_the_lag_of_sealing_grow_by_buckets() -> None:
    page = Exposition()
    ages, lags = [], []
    for minute in range(90):
        page.update(with_arrivals(200, 200), 1000.0 + 60 * minute)
        ages.append(series(page.text)["hushpoll_inbox_age_seconds"])
        lags.append(series(page.text)["hushpoll_sealing_lag_seconds"])
    assert sorted(set(ages)) == [0, 600, 3600]
    assert sorted(set(lags)) == list(exposition.LAGS)
    page.update(with_arrivals(200, 0), 1e5)
    assert series(page.text)["hushpoll_inbox_age_seconds"] == 0


def test_a_database_that_is_away_keeps_the_last_inbox() -> None:
    page = Exposition()
    page.update(with_arrivals(500, 500), 60.0)
    before = series(page.text)
    page.update(replace(with_arrivals(500, 500), waiting=None), 120.0)
    after = series(page.text)
    assert (before["hushpoll_database_up"], after["hushpoll_database_up"]) == (1, 0)
    assert after["hushpoll_inbox_reports"] == before["hushpoll_inbox_reports"] >= STEP


def test_the_values_are_those_of_the_last_full_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([59.0, 59.5, 59.9, 60.0, 60.0, 60.0, 61.0, 119.9, 120.0, 120.0, 120.0])
    parents = iter([1] * 6 + [2])
    monkeypatch.setattr(program.time, "time", lambda: next(clock))
    monkeypatch.setattr(program.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(program.os, "getppid", lambda: next(parents))
    updates = []

    class Page:
        def update(self, readings: Readings, now: float) -> None:
            updates.append(now)

    class Meter:
        def read(self) -> Readings:
            return QUIET

    program.publish(Page(), Meter(), master=1)  # type: ignore[arg-type]
    assert updates == [60.0, 120.0]


# Readings ---------------------------------------------------------------------------------------------------------


def test_the_inbox_is_counted(app: Flask, config: Config, survey: Survey) -> None:
    inbox = InboxCount(config)
    assert inbox.read() == 0
    assert post(app.test_client(), survey, new_report(survey).to_bytes()).status_code == 201
    assert inbox.read() == 1
    assert InboxCount(replace(config, database_url="postgresql://127.0.0.1:1/x")).read() is None


@pytest.mark.parametrize(
    ("mounts", "is_in_memory"),
    [
        ("tmpfs {place} tmpfs rw 0 0", True),
        ("/dev/sda {place} ext4 rw 0 0", False),
        ("/dev/sda / ext4 rw 0 0\ntmpfs {parent} tmpfs rw 0 0", True),
        ("tmpfs {parent} tmpfs rw 0 0\n/dev/sda {place} ext4 rw 0 0", False),
        ("", False),
    ],
)
def test_counts_are_in_memory_only(tmp_path: Path, mounts: str, is_in_memory: bool) -> None:
    (tmp_path / "mounts").write_text(mounts.format(place=tmp_path, parent=tmp_path.parent))
    assert metrics_process.is_in_memory(tmp_path, tmp_path / "mounts") is is_in_memory


@pytest.fixture
def metrics_port() -> Iterator[int]:
    with reserve() as held:
        yield held.getsockname()[1]


def scrape(port: int) -> bytes:
    deadline = time.monotonic() + LONGEST
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LONGEST) as answer:
                return bytes(answer.read())
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


class MeteredServer(LiveServer):
    """A server with one child more: the process that publishes."""

    @property
    def workers(self) -> list[int]:
        return [pid for pid in super().workers if b"hushpoll_server.metrics" not in _command(pid)]


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_server_counts_in_memory_and_publishes_on_the_loopback(folder: Path, metrics_port: int) -> None:
    server = MeteredServer(folder, METRICS_PORT=str(metrics_port), SEAL_EVERY="1", WORKERS="2")
    survey = make_survey()
    server.store.publish(survey)
    try:
        server.start()
        assert server.process is not None
        values = series(scrape(metrics_port))
        assert values["hushpoll_reports_stored_total"] == 0
        assert values["hushpoll_database_up"] == 1
        assert values["hushpoll_memory_bytes"] > 0
        counts = _counts_of(server)
        assert counts.stat().st_mode & 0o777 == 0o700
        address = f"{server.url}/api/surveys/{survey.hash}/reports"
        for body in (new_report(survey).to_bytes(), b"{}"):
            request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
            status = _status(request)
            assert status == (201 if body != b"{}" else 422)
        counted = read_counts(counts)
        assert counted[counting.STORED, ""] == 1
        assert counted[counting.REFUSED, "malformed"] == 1
        assert counted[counting.SECONDS, "+Inf"] == 2
        listening = subprocess.run(
            ["cat", f"/proc/{server.process.pid}/net/tcp"], capture_output=True, text=True
        )
        addresses = re.findall(rf"\d+: (\w+):{metrics_port:04X} \S+ 0A", listening.stdout)
        assert addresses == ["0100007F"]
        server.terminate()
        assert not counts.exists()
    finally:
        server.close()


def _status(request: urllib.request.Request) -> int:
    try:
        with urllib.request.urlopen(request, timeout=LONGEST) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def _counts_of(server: LiveServer) -> Path:
    """Return the folder that the publishing process reads."""
    assert server.process is not None
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    (publisher,) = [int(pid) for pid in children if int(pid) not in server.workers]
    variables = Path(f"/proc/{publisher}/environ").read_text().split("\0")
    return Path(dict(line.split("=", 1) for line in variables if "=" in line)[counting.FOLDER])


def test_without_a_port_nothing_is_counted(live: Live) -> None:
    server = live()
    assert all("prometheus" not in Path(f"/proc/{pid}/maps").read_text() for pid in server.workers)
    code = (
        "import sys; from hushpoll_server.metrics import counting as c; c.count_stored(1); c.count_refused(403);"
        "c.observe_seconds(1); c.note_sealing(); c.count_database_error(); sys.exit('prometheus_client' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_collecting_worker_stays_free_of_numpy(live: Live, metrics_port: int) -> None:
    code = (
        "import sys, hushpoll_server.metrics.__main__, hushpoll_server.metrics.counting as c;"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# deploy/ ----------------------------------------------------------------------------------------------------------


def test_alerts_and_dashboard_use_metrics_that_exist() -> None:
    page = Exposition()
    page.update(with_arrivals(1000, 500), 60.0)
    published = {name.partition("{")[0] for name in series(page.text)}
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    alerts = re.findall(r"expr: (.+)", ALERTS.read_text("utf-8"))
    assert len(alerts) >= 6
    assert len(queries) >= 8
    used = {name for text in (*alerts, *queries) for name in re.findall(r"hushpoll_\w+", text)}
    assert used <= published
    plotted = {name for text in queries for name in re.findall(r"hushpoll_\w+", text)}
    assert published - plotted <= {"hushpoll_disk_total_bytes", "hushpoll_report_seconds_count"}
