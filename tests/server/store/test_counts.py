"""Counts are exact while reports are sealed: whatever happens to a survey, they are those of a scan."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.sample.files import tally
from hushpoll_analysis.sample.tally import Tally
from hushpoll_client import Survey
from hushpoll_client.cli import main
from hushpoll_client.survey.group import FIELD
from hushpoll_server.cli.check import check
from hushpoll_server.collect import closing, retention, seal
from hushpoll_server.collect.pending_counts import store_pending
from hushpoll_server.config import Config
from hushpoll_server.results.counts_cache import CountsCache
from hushpoll_server.store.backup import write_backup
from hushpoll_server.store.restore import restore_backup
from hushpoll_server.store.schema import counts
from hushpoll_server.store.surveys import Store, open_store
from sqlalchemy import delete, select, text, update

from tests.linkage import files_of
from tests.server.every_form import EVERY_FORM, send
from tests.server.reporting import signed_in, statements_that_write


def same(actual: Tally, expected: Tally) -> None:
    assert (actual.n, actual.by, actual.groups) == (expected.n, expected.by, expected.groups)
    assert set(actual.counts) == set(expected.counts)
    assert set(actual.joint) == set(expected.joint)
    for name, cells in expected.counts.items():
        assert np.array_equal(actual.counts[name], cells), name
    for name, cells in expected.joint.items():
        assert np.array_equal(actual.joint[name], cells), name


def stored_counts(store: Store, survey: Survey, by: str | None) -> Tally:
    """Return counts as a page of a designer reads them after a round of maintenance."""
    CountsCache().get(store, survey, by, keep=True)
    store_pending(store)
    return CountsCache().get(store, survey, by)


def is_scan(store: Store, survey: Survey, by: str | None = None) -> None:
    """The stored counts are those of a scan, by another program."""
    same(stored_counts(store, survey, by), tally(survey, store.record_parts(survey.hash), by))


@pytest.fixture
def every(store: Store) -> Survey:
    survey = Survey.from_draft(EVERY_FORM)
    store.publish(survey, "ada", minimum_batch=50)
    return survey


def no_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Iterator[bytes]:
        raise AssertionError("the reports were read")

    monkeypatch.setattr(Store, "record_parts", refuse)


def test_counts_of_every_form_are_those_of_a_scan(client: FlaskClient, store: Store, every: Survey) -> None:
    partitions = (None, FIELD, "a", "h", "e")
    for seed, n in enumerate((400, 350, 600)):
        send(client, every, n, seed)
        seal.seal_due(store)
        assert store.sealed_count(every.hash) > 0
        for by in partitions:
            is_scan(store, every, by)
    closing.close(store, every.hash)
    assert store.sealed_count(every.hash) == 1350
    for by in partitions:
        is_scan(store, every, by)


def test_results_read_no_report(
    client: FlaskClient, store: Store, every: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(client, every, 600)
    closing.close(store, every.hash)
    with_pair = stored_counts(store, every, "h")
    expected = {by: tally(every, store.record_parts(every.hash), by) for by in (None, FIELD, "a", "h")}
    no_scan(monkeypatch)
    for by, counted in expected.items():
        same(CountsCache().get(store, every, by), counted)
    same(with_pair, expected["h"])


def test_joint_counts_are_stored_only_on_request(
    client: FlaskClient, store: Store, every: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(client, every, 600)
    closing.close(store, every.hash)
    CountsCache().get(store, every, "h", keep=False)
    with store.read() as tx:
        assert set(tx.execute(select(counts.c.by).distinct()).scalars()) == {"", "a"}
    no_scan(monkeypatch)
    with pytest.raises(AssertionError, match="were read"):
        CountsCache().get(store, every, "h")


def test_reading_two_questions_writes_nothing_until_maintenance_does(
    app: Flask, client: FlaskClient, store: Store, every: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(client, every, 600)
    closing.close(store, every.hash)
    owner = signed_in(app, store, "grace", "admin")
    written = statements_that_write(store)
    assert owner.get(f"/surveys/{every.hash}/report?by=h").status_code == 200
    assert written == []
    store_pending(store)
    expected = tally(every, store.record_parts(every.hash), "h")
    no_scan(monkeypatch)
    same(CountsCache().get(store, every, "h"), expected)


def test_counts_made_before_more_reports_were_sealed_are_not_stored(
    client: FlaskClient, store: Store, every: Survey
) -> None:
    send(client, every, 300)
    closing.close(store, every.hash)
    CountsCache().get(store, every, "h", keep=True)
    closing.reopen(store, every.hash)
    send(client, every, 100, seed=9)
    closing.close(store, every.hash)
    store_pending(store)
    with store.read() as tx:
        assert set(tx.execute(select(counts.c.by).distinct()).scalars()) == {"", "a"}
    is_scan(store, every, "h")


def test_companions_are_not_counted_twice(client: FlaskClient, store: Store, every: Survey) -> None:
    send(client, every, 300)
    closing.close(store, every.hash)
    closing.reopen(store, every.hash)
    send(client, every, 7, seed=9)
    closing.close(store, every.hash)
    assert store.sealed_count(every.hash) == 307
    for by in (None, FIELD, "a"):
        is_scan(store, every, by)


def test_old_counts_do_not_stay_in_the_files(client: FlaskClient, store: Store, every: Survey) -> None:
    """The difference would be the reports of the last few."""

    def stored_cells() -> set[bytes]:
        with store.read() as tx:
            cells = {bytes(row) for row in tx.execute(select(counts.c.cells)).scalars()}
        return {row for row in cells if len(row) >= 32}  # a few bytes are somewhere by chance

    def count_in_files(cells: set[bytes]) -> int:
        contents = b"".join(content for _, content in files_of(store))
        return sum(row in contents for row in cells)

    send(client, every, 300)
    closing.close(store, every.hash)
    before = stored_cells()
    assert count_in_files(before) > 3  # long ones are compressed
    closing.reopen(store, every.hash)
    send(client, every, 7, seed=9)
    closing.close(store, every.hash)
    gone = before - stored_cells()
    assert len(gone) > 3
    assert count_in_files(gone) == 0


def test_deleted_reports_leave_no_counts(client: FlaskClient, store: Store, every: Survey) -> None:
    send(client, every, 300)
    retention.delete_reports(store, every.hash, "ada")
    with store.read() as tx:
        assert tx.execute(select(counts)).first() is None
    assert CountsCache().get(store, every, None).n == 0
    assert CountsCache().get(store, every, FIELD).n == 0


def test_a_backup_has_the_counts(
    client: FlaskClient, store: Store, every: Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(client, every, 300)
    closing.close(store, every.hash)
    expected = stored_counts(store, every, "h")
    write_backup(store.database, tmp_path / "backup")
    config = Config(data=tmp_path / "restored")
    config.make_folder()
    config.key_path.write_bytes(store.config.key_path.read_bytes())
    config.key_path.chmod(0o600)
    restore_backup(config, tmp_path / "backup")
    again = open_store(config)
    no_scan(monkeypatch)
    same(CountsCache().get(again, every, "h"), expected)
    again.close()


def test_counts_that_an_older_version_left_behind_are_not_believed(
    client: FlaskClient, store: Store, every: Survey, caplog: pytest.LogCaptureFixture
) -> None:
    send(client, every, 300)
    closing.close(store, every.hash)
    with store.write() as tx:
        tx.execute(delete(counts).where(counts.c.grp == 1))
    with caplog.at_level(logging.ERROR):
        rebuilt = CountsCache().get(store, every, None)
    same(rebuilt, tally(every, store.record_parts(every.hash)))
    assert "hushpoll check" in caplog.text


def run_check(store: Store, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    monkeypatch.setenv("DATA", str(store.config.data))
    if store.config.database_url:
        monkeypatch.setenv("DATABASE_URL", store.config.database_url)
    done = CliRunner().invoke(check, list(arguments))
    return done.exit_code, done.output


def test_the_command_finds_every_count_that_is_wrong(
    client: FlaskClient, store: Store, every: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(client, every, 600)
    closing.close(store, every.hash)
    stored_counts(store, every, "h")
    assert run_check(store, monkeypatch=monkeypatch) == (
        0,
        f"{every.hash[:12]}  Every form: 600 reports, the counts are right.\n",
    )
    with store.write() as tx:
        row = tx.execute(
            select(counts).where(counts.c.part == "c", counts.c.grp == 1, counts.c.by == "")
        ).one()
        cells = np.frombuffer(row.cells, dtype="<i8").copy()
        cells[3] += 1
        here = (counts.c.part == "c", counts.c.grp == 1, counts.c.by == "")
        tx.execute(update(counts).where(*here).values(cells=cells.tobytes()))
        tx.execute(delete(counts).where(counts.c.part == "b", counts.c.by == "h"))
        tx.execute(text("UPDATE surveys SET sealed_n = 601"))
    status, printed = run_check(store, "--json", monkeypatch=monkeypatch)
    verdict = json.loads(printed)
    assert status == 1
    assert verdict["different"] == 1
    (entry,) = verdict["surveys"]
    assert (entry["hash"], entry["n"]) == (every.hash, 600)
    assert entry["differences"] == [
        "600 reports are sealed, 601 are said to be",
        "c of Arts: 1 of 22 counts differ",
    ]
    with store.write() as tx:
        tx.execute(text("UPDATE surveys SET sealed_n = 600"))
    status, printed = run_check(store, every.hash, "--repair", monkeypatch=monkeypatch)
    assert status == 1
    assert "c of Arts: 1 of 22 counts differ" in printed
    assert "written again" in printed
    assert run_check(store, every.hash, monkeypatch=monkeypatch)[0] == 0
    is_scan(store, every)


def test_the_command_names_a_survey_that_is_not_here(
    store: Store, every: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA", str(store.config.data))
    with pytest.raises(SystemExit) as stopped:
        main(["check", "0" * 64])
    assert stopped.value.code == 2


@pytest.mark.parametrize("backend", ["sqlite"])
def test_counts_of_a_table_are_stored_for_the_next_view(
    app: Flask, client: FlaskClient, store: Store, every: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(client, every, 600)
    closing.close(store, every.hash)
    ada = signed_in(app, store, "ada", "designer")
    address = f"/surveys/{every.hash}/report/table?outcome=c&by=h"
    first = ada.get(address)
    assert first.status_code == 200
    no_scan(monkeypatch)
    contents = [re.search(r"<main.*</main>", page.text, re.DOTALL) for page in (first, ada.get(address))]
    assert contents[0] is not None
    assert contents[1] is not None
    assert contents[0][0] == contents[1][0]
    assert ada.get(f"/surveys/{every.hash}/report").status_code == 200
    assert ada.get(f"/api/surveys/{every.hash}/results?by=group").json["n"] == 600
