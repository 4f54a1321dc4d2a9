"""The long harnesses in small: `python -m tests.prove` runs them whole."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hushpoll_server.collect import closing
from hushpoll_server.collect.accept import Outcome
from hushpoll_server.collect.report_writer import Writer

from bench import stall
from tests.prove import (
    doomed,
    faults,
    flood,
    kills,
    machine,
    mutants,
    nodes,
    places,
    proxy,
    requests,
    trace,
    upgrade,
)
from tests.prove.__main__ import HARNESSES
from tests.prove.crowd import Crowd, fresh_report
from tests.serving import LONGEST, LiveServer, Postgres, make_survey

Live = Callable[..., LiveServer]


@pytest.mark.long
def test_kill_9_loses_and_doubles_nothing(live: Live) -> None:
    assert kills.survive(live(SEAL_EVERY="1"), 3) > 30


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("fault", [faults.full_disk, faults.broken_disk])
def test_a_disk_that_is_full_or_breaks_loses_nothing(live: Live, fault: Callable[..., Any]) -> None:
    reports, refused = fault(live(), 0.5)
    assert reports > 20
    assert refused > 0


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
@pytest.mark.parametrize("fault", [faults.frozen, faults.restarted])
def test_a_database_that_freezes_or_restarts_loses_nothing(
    live: Live, postgres: Postgres, fault: Callable[..., Any]
) -> None:
    assert fault(live(), postgres, 0.5)[0] > 20


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_two_nodes_count_once(live: Live) -> None:
    assert faults.two_nodes(live(), 0.5)[0] > 20


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_nginx_of_the_manual_leads_to_whichever_node_lives(live: Live) -> None:
    assert proxy.through_a_proxy(live(**proxy.BEHIND_A_PROXY), 0.5) > 20


@pytest.mark.long
@pytest.mark.postgres
def test_two_nodes_behind_nginx_survive_kills_freezes_and_clocks(folder: Path, postgres: Postgres) -> None:
    with places.database("postgresql", postgres) as url:
        assert "0 lost, 0 doubled" in nodes.survive(folder, url, 2, 2, 2, lambda _: None)


@pytest.mark.long
@pytest.mark.postgres
def test_two_nodes_are_upgraded_one_after_the_other(folder: Path, postgres: Postgres) -> None:
    with places.database("postgresql", postgres, "template0") as url:
        assert "0 refused" in upgrade.roll(folder, url, 10, lambda _: None)


@pytest.mark.long
def test_sigterm_under_load_fails_nothing(live: Live) -> None:
    assert faults.terminated(live(), 0.5)[0] > 20


@pytest.mark.long
def test_errors_in_a_client_are_reported(live: Live) -> None:
    """An unexpected status, and a connection that breaks where none should."""
    server = live()
    closed = make_survey("Closed")
    server.store.publish(closed)
    closing.close(server.store, closed.hash)
    crowd = Crowd(server, closed, clients=1)
    crowd.wait_until(lambda: crowd.problems)
    with pytest.raises(AssertionError, match="status 410"):
        crowd.stop()
    open_one = make_survey("Open")
    server.store.publish(open_one)
    crowd = Crowd(server, open_one, clients=4, allowed=faults.connection_refused)
    deadline = time.monotonic() + LONGEST
    while not crowd.problems and time.monotonic() < deadline:
        server.kill()  # not SIGTERM: whatever is under way breaks
        server.start()
        time.sleep(0.3)
    with pytest.raises(AssertionError, match="requests went wrong"):
        crowd.stop()


def test_a_survey_lives_as_its_model(backend: str, request: pytest.FixtureRequest) -> None:
    cluster = request.getfixturevalue("postgres") if backend == "postgresql" else None
    steps = machine.live(backend, cluster, 30)
    assert steps.total() >= 30
    assert len(steps) > 2, "only the simplest life was tried"


def test_a_life_with_every_kind_of_step_is_its_model(backend: str, request: pytest.FixtureRequest) -> None:
    """Whatever Hypothesis draws in a short run: each step once at least, looked at after each."""
    cluster = request.getfixturevalue("postgres") if backend == "postgresql" else None
    here = {"backend": backend, "cluster": cluster, "steps": Counter()}
    life = type("OneLife", (machine.Life,), here)()
    steps: list[Callable[[], None]] = [
        lambda: life.create(invited=True),
        life.publish,
        lambda: life.create(invited=False),
        life.publish,
        lambda: life.invite(0, 8),
        lambda: life.invite(1, 8),
        *(lambda at=at: life.submit(at, at, 6) for at in (0, 1, 1)),
        life.seal,
        lambda: life.replay(1, 3),
        lambda: life.tamper(1, 9),
        lambda: life.crash(0, 0, after=True),
        lambda: life.crash(1, 0, after=False),
        lambda: life.kill(1, 5, 30),
        lambda: life.export(1),
        life.back_up_and_restore,
        lambda: life.submit(0, 5, 3),
        lambda: life.close(0),
        lambda: life.submit(0, 0, 1),
        lambda: life.replay(0, 2),
    ]
    try:
        for step in steps:
            step()
            life.the_store_is_what_the_model_says()
    finally:
        life.teardown()
    assert set(life.steps) == set(machine.KINDS)


def test_the_model_notices_a_report_that_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine can fail: a server that acknowledges without storing is found at the next look."""
    monkeypatch.setattr(
        Writer, "_store_reports", lambda self, jobs: [[Outcome.NEW] * len(job) for job in jobs]
    )
    life = machine.Life()
    try:
        life.create(invited=False)
        life.publish()
        life.the_store_is_what_the_model_says()
        life.submit(0, 0, 3)
        with pytest.raises(AssertionError):
            life.the_store_is_what_the_model_says()
    finally:
        life.teardown()


@pytest.mark.long
def test_a_process_that_is_killed_while_it_stores_loses_nothing(
    backend: str, request: pytest.FixtureRequest
) -> None:
    machine_of = type("OneLife", (machine.Life,), {"backend": backend})
    if backend == "postgresql":
        machine_of.cluster = request.getfixturevalue("postgres")  # type: ignore[attr-defined]
    life = machine_of()
    try:
        life.create(invited=True)
        life.publish()
        life.invite(0, 8)
        for milliseconds in (0, 20, 60):
            life.kill(0, 2, milliseconds)
            life.the_store_is_what_the_model_says()
        life.export(0)
        life.back_up_and_restore()
        life.the_store_is_what_the_model_says()
        # Left alone for a while, the process stores everything: it does what it is killed for.
        survey, code = life.models[0].survey, life.models[0].free[0]
        body = fresh_report(survey).to_bytes(code)
        assert doomed.run(life.config, survey.hash, [body], 120.0) == 1
    finally:
        life.teardown()


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_raw_requests_break_nothing(live: Live) -> None:
    statuses = requests.attack(live(), 900, 300)
    assert sum(statuses.values()) > 900


@pytest.mark.long
def test_a_server_that_checks_no_numbers_is_detected(folder: Path) -> None:
    """By its answers, and by its rows alone; few mutations are numbers only, so that 120 of them missed it at times."""
    for name, look in (("answers", requests.caught), ("rows", requests.caught_by_rows)):
        (folder / name).mkdir()
        server = requests.Unchecked(folder / name)
        server.start()
        try:
            assert ("201" if name == "answers" else "rows are") in look(server, 500)
        finally:
            server.close()


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_every_answer_of_a_connection_is_read(live: Live) -> None:
    request = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    bad = b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    assert requests.ask(live().port, request + bad + request).statuses == [200, 404, 200]


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_report_is_on_the_disk_before_its_answer_and_links_nothing(live: Live) -> None:
    traced = trace.trace(live(), None, 3)
    trace.check(traced)
    assert traced.seen == 3  # what the threat model says of a server that is watched


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_a_database_without_fsync_is_detected(live: Live, postgres: Postgres) -> None:
    traced = trace.trace(live(), postgres, 3)
    assert traced.synced < 3
    assert {name: n for name, n in traced.counts.items() if n} == {"kept": 3}


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_reports_are_stored_during_a_flood_of_sign_ins(live: Live) -> None:
    _, beside, statuses = flood.during_a_flood(live(WORKERS="2"), 2)
    assert beside.reports >= flood.FEWEST_REPORTS
    assert statuses[503] > statuses[422] > 0


def test_the_bench_of_connections_reports_a_missed_goal() -> None:
    assert stall.missed([0.1] * 150, 0) == []
    assert stall.missed([0.1] * 149, 1) == ["1 failed"]
    assert stall.missed([0.1] * 140 + [3.0] * 10, 0) == ["p99 over 2.0 s"]
    assert stall.missed([0.6] * 150, 0) == ["median over 0.5 s"]
    assert stall.missed([], 150) == ["nobody got the page"]


def test_a_mutant_that_changes_annotations_only_is_none() -> None:
    """`make prove-mutants` would count it as one that no test notices."""
    code = "def f(x: int | None = None, *, y: int = 1) -> int | None:\n    z: int | str = x\n    return z"
    assert mutants._executed(code) == mutants._executed(code.replace("|", "&"))
    for change in (("= 1", "= 2"), ("return z", "return x"), ("= x", "= y")):
        assert mutants._executed(code) != mutants._executed(code.replace(*change))
    assert mutants._executed("def f(") is None


def test_the_share_of_mutants_that_were_killed_has_an_interval() -> None:
    line, is_enough = mutants.summary(mutants.TARGETS[0], 5_000, 100, 8)
    assert is_enough
    assert "92 of 100 mutants killed, 92.0% (95 % interval 85.0% to 95.9%), of 5,000" in line
    assert not mutants.summary(mutants.TARGETS[0], 5_000, 100, 11)[1]


def test_a_module_is_tried_by_the_tests_that_mention_it_first() -> None:
    assert "tests/client/test_exact.py" in mutants.mentioning(
        ("tests/client",), "client/hushpoll_client/exact.py"
    )
    assert (
        mutants.mentioning(("tests/client/test_exact.py",), "client/hushpoll_client/nowhere_named.py") == []
    )


def test_every_harness_is_listed() -> None:
    folder = Path(faults.__file__).parent
    assert set(HARNESSES) == {
        path.stem for path in folder.glob("*.py") if "def prove(" in path.read_text("utf-8")
    }
