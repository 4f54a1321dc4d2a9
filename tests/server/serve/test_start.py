"""What stops a server from starting, in one line each: a wrong or lost key, a newer database, a bad folder."""

from __future__ import annotations

import errno
import math
import os
import re
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hushpoll_client import HushpollError
from hushpoll_server import create_app
from hushpoll_server.collect import invitations
from hushpoll_server.config import Config
from hushpoll_server.people import accounts
from hushpoll_server.serve.demo import first_start
from hushpoll_server.store import database, key
from hushpoll_server.store.surveys import Store, open_store
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from tests.command import run_command
from tests.serving import LONGEST, make_survey, new_report, post, used_codes

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(
    config: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Call the command on the test's store; return its status and stderr."""

    def call(*arguments: str) -> tuple[int, str]:
        monkeypatch.setenv("DATA", str(config.data))
        monkeypatch.setenv("DATABASE_URL", config.database_url)
        status, _, err = run_command(capsys, *arguments)
        return status, err

    return call


def refused(run: Run, *words: str) -> None:
    """Check for status 2 and one line with these words."""
    status, err = run("survey", "list")
    assert status == 2
    assert err.count("\n") == 1, err
    for word in words:
        assert word in err


def test_a_second_node_with_another_key_does_not_start(config: Config, tmp_path: Path) -> None:
    """It would not recognise reports that are sent again, and count 60 reports as 120."""
    open_store(config).close()
    other = replace(config, secret_key_file=str(tmp_path / "other.key"))
    other.key_path.write_text("ab" * 32 + "\n")
    with pytest.raises(HushpollError, match="not the key that the database belongs to"):
        open_store(other)
    same = replace(config, secret_key_file=str(tmp_path / "same.key"))
    same.key_path.write_bytes(config.key_path.read_bytes())
    open_store(same).close()


def test_a_lost_key_is_not_replaced_silently(config: Config, run: Run) -> None:
    open_store(config).close()
    config.key_path.unlink()
    refused(run, "secret.key", "missing", "backups hold none", "--new-key")
    assert not config.key_path.exists()
    store = open_store(config, new_key=True)
    assert key.known_fingerprint(store.database) == key.fingerprint(store.secret)
    store.close()
    assert run("survey", "list")[0] == 0


def test_reports_of_a_lost_key_are_dropped_and_their_codes_are_valid_again(config: Config) -> None:
    survey = make_survey(invitation=True)
    open_store(config).close()
    app = create_app(config)
    store = app.extensions["hushpoll"]
    store.publish(survey)
    (code,) = invitations.invite(store, survey.hash, 1)
    report = new_report(survey).to_bytes(code)
    assert post(app.test_client(), survey, report).status_code == 201
    store.close()
    config.key_path.unlink()
    open_store(config, new_key=True).close()
    app = create_app(config)
    store = app.extensions["hushpoll"]
    assert (store.count(survey.hash), used_codes(store, survey.hash)) == (0, (1, 0))
    assert post(app.test_client(), survey, report).status_code == 201
    store.close()


def test_an_old_database_takes_the_key_that_it_was_used_with(config: Config) -> None:
    before = open_store(config)
    key.forget(before.database)
    assert key.known_fingerprint(before.database) is None
    before.close()
    after = open_store(config)
    after.publish(make_survey())
    fingerprint = key.known_fingerprint(after.database)
    assert fingerprint == key.fingerprint(after.secret)
    assert after.secret.hex() not in str(fingerprint)
    after.close()


def test_a_newer_database_is_refused(config: Config, run: Run) -> None:
    store = open_store(config)
    with store.write() as tx:
        tx.execute(text("UPDATE alembic_version SET version_num = '9999_future'"))
    store.close()
    refused(run, "9999_future", "newer hushpoll")


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_database_that_is_no_file_is_refused(config: Config, run: Run) -> None:
    config.make_folder()
    (config.data / "hushpoll.sqlite3").mkdir()
    refused(run, "DATA=", "cannot be opened")


@pytest.mark.parametrize("kilobytes", [0, 8, 60, 120, 200])
def test_a_first_start_on_a_full_disk_is_one_line(tmp_path: Path, kilobytes: int) -> None:
    """There is no traceback, wherever the disk becomes full."""
    done = subprocess.run(
        [sys.executable, "-c", "from hushpoll_client.cli import main; main(['serve'])"],
        env={**os.environ, "DATA": str(tmp_path / "data"), "PORT": "0", "DATABASE_URL": ""},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024,) * 2),
        capture_output=True,
        text=True,
        timeout=LONGEST,
    )
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("hushpoll: ")


@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_a_disk_that_is_full_later_is_one_line_too(
    config: Config, run: Run, monkeypatch: pytest.MonkeyPatch, wrapped: bool
) -> None:
    """There is no traceback while the demo is created or SQLite's log is emptied."""
    full = sqlite3.OperationalError("database or disk is full")

    def fail(*_: object) -> None:
        raise OperationalError("INSERT", {}, full) if wrapped else full

    monkeypatch.setenv("PORT", "0")
    monkeypatch.setattr("hushpoll_server.cli.serve.first_start", fail)
    status, err = run("serve")
    assert status == 1
    assert err.splitlines()[-1].startswith("hushpoll: the database cannot be used (database or disk is full)")
    assert "Traceback" not in err


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_folder_that_may_not_be_written_is_refused(
    config: Config, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(config).close()

    # As on a disk that is mounted to be read only, which stops the superuser too.
    def read_only(*_arguments: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(database.os, "open", read_only)
    refused(run, "DATA=", "Read-only file system")


@pytest.mark.parametrize("backend", ["sqlite"])
def test_what_others_can_look_into_is_named(config: Config) -> None:
    open_store(config).close()
    assert config.open_to_others() == []
    config.data.chmod(0o755)
    config.key_path.chmod(0o640)
    folder, file = config.open_to_others()
    assert re.search(r"mode 0755\); chmod 700 \S+data$", folder)
    assert re.search(r"mode 0640\); chmod 600 \S+secret.key$", file)


def test_help_loads_neither_the_web_server_nor_the_analysis() -> None:
    code = (
        "import sys\n"
        "from hushpoll_client.cli import hushpoll\n"
        "hushpoll.main(['--help'], standalone_mode=False)\n"
        "sys.exit(any(name in sys.modules for name in ('flask', 'sqlalchemy', 'numpy', 'pandas')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "serve" in done.stdout


def test_a_start_that_migrates_nothing_becomes_the_server_at_once(tmp_path: Path) -> None:
    """No second interpreter, and no tools for migrations, unless there is something to migrate."""
    code = """
import os, sys
from gunicorn.app import wsgiapp
from hushpoll_client.cli import main
os.execv = lambda *given: print("again:", *given[1][1:3]) or sys.exit()
wsgiapp.run = lambda: print("here:", *sys.argv[1:], "alembic" in sys.modules)
main(["serve"])
"""
    environment = {**os.environ, "DATA": str(tmp_path / "data"), "PORT": "0"}
    results = [
        subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    assert [result.stdout.splitlines()[-1] for result in results] == [
        "again: -m gunicorn",
        "here: -c python:hushpoll_server.serve.gunicorn_conf False",
    ]


def test_the_first_account_can_make_others_and_the_demo_is_bounded(store: Store) -> None:
    survey_hash, password = first_start(store)
    assert password
    assert [user.role for user in accounts.all_users(store)] == ["admin"]
    demo = store.get_survey(survey_hash)
    assert demo is not None
    assert math.isfinite(demo.epsilon_total)
    state = store.state(survey_hash)
    assert state is not None
    # A demo shows no results before closing either.
    assert (state.results_public, state.results_live) == (True, False)
    assert first_start(store) == (survey_hash, None)


@pytest.mark.parametrize(("value", "warns"), [("49", True), ("50", False), ("100", False), ("", False)])
def test_sealing_fewer_reports_than_the_threat_model_counts_on_is_warned_of(value: str, warns: bool) -> None:
    warnings = Config.from_environment({"SEAL_AT_LEAST": value}).seals_too_few()
    assert [line.startswith(f"SEAL_AT_LEAST={value}: ") and "\n" not in line for line in warnings] == [
        True
    ] * warns
