"""Files and folders with any name, and files that only look like backups."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hushpoll_server.config import Config
from hushpoll_server.store import backup
from sqlalchemy import create_engine

from tests.command import run_command
from tests.serving import make_ready

NAMES = ["a?b", "a%41b", "a#b", "a b", "a&mode=rw", "file:a", "ä'\"", os.fsdecode(b"\xff")]

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on a data folder; return its status and all that it printed."""
    monkeypatch.delenv("DATABASE_URL", raising=False)

    def run_on(data: Path, *arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setenv("DATA", str(data))
        status, out, err = run_command(capsys, *arguments)
        return status, out + err

    return run_on


def with_key_of(data: Path, new: Path) -> Path:
    """A folder with the key and without a database."""
    new.mkdir(mode=0o700)
    (new / "secret.key").write_bytes((data / "secret.key").read_bytes())
    return new


@pytest.mark.parametrize("name", NAMES)
def test_backups_and_data_folders_may_have_any_name(run: Run, tmp_path: Path, name: str) -> None:
    data, folder = tmp_path / name, tmp_path / "backups"
    folder.mkdir()
    make_ready(Config(data=data))
    assert run(data, "user", "add", "ada")[0] == 0
    assert (data / "hushpoll.sqlite3").stat().st_size > 0
    status, printed = run(data, "backup", folder / name)
    assert (status, "found the same" in printed) == (0, True), printed
    (copy,) = folder.iterdir()
    assert (copy.name, stat.S_IMODE(copy.stat().st_mode)) == (name, 0o600)
    with sqlite3.connect(copy) as connection:
        assert connection.execute("SELECT count(*) FROM users").fetchone()[0] == 1
    connection.close()
    status, printed = run(with_key_of(data, tmp_path / f"new {name}"), "restore", copy)
    assert (status, "found the same" in printed) == (0, True), printed
    assert "ada" in run(tmp_path / f"new {name}", "user", "list")[1]
    assert {path.name for path in tmp_path.iterdir()} == {name, "backups", f"new {name}"}


def test_a_file_without_a_byte_is_no_backup(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command reports an error instead of naming an empty copy."""
    make_ready(Config(data=tmp_path / "data"))
    assert run(tmp_path / "data", "user", "add", "ada")[0] == 0
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setattr(backup, "create_engine", lambda url: create_engine(f"sqlite:///{elsewhere}"))
    status, printed = run(tmp_path / "data", "backup", tmp_path / "copy")
    assert (status, "cannot be written" in printed) == (2, True)
    assert not (tmp_path / "copy").exists()


NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
HOSTILE = {
    "no version": ["DELETE FROM backup_of WHERE name = 'schema'"],
    "an empty account": ["DELETE FROM backup_of"],
    "another table": [
        "CREATE TABLE zz (a PRIMARY KEY, b)",
        f"INSERT INTO backup_of VALUES ('zz', 0, '{NOTHING}')",
    ],
    "a view": ["ALTER TABLE users RENAME TO users2", "CREATE VIEW users AS SELECT * FROM users2"],
    "no state": ["DROP TABLE server_state", "DELETE FROM backup_of WHERE name = 'server_state'"],
    "a table too few": ["DROP TABLE audit_log"],
    "words for a number": ["UPDATE backup_of SET rows = 'many' WHERE name = 'users'"],
    "a number for words": ["UPDATE backup_of SET digest = x'00' WHERE name = 'schema'"],
    "another column": ["ALTER TABLE audit_log ADD COLUMN more"],
}


@pytest.mark.parametrize("changes", HOSTILE.values(), ids=HOSTILE)
def test_what_only_looks_like_a_backup_is_refused_in_one_line(
    run: Run, tmp_path: Path, changes: list[str]
) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    make_ready(Config(data=data))
    assert run(data, "user", "add", "ada")[0] == 0
    assert run(data, "backup", copy)[0] == 0
    with sqlite3.connect(copy) as file:
        for change in changes:
            file.execute(change)
    file.close()
    status, printed = run(with_key_of(data, tmp_path / "new"), "restore", copy)
    assert (status, printed.count("\n"), printed.startswith(f"hushpoll: {copy}: ")) == (2, 1, True), printed


@pytest.mark.parametrize(
    "command", [["audit"], ["report"], ["restore"], ["backup"], ["survey", "check"], ["survey", "publish"]]
)
@pytest.mark.parametrize("name", ["", "a" * 5000])
def test_names_that_no_file_can_have_are_refused_in_one_line(
    run: Run, tmp_path: Path, command: list[str], name: str
) -> None:
    make_ready(Config(data=tmp_path / "data"))
    assert run(tmp_path / "data", "user", "add", "ada")[0] == 0
    status, printed = run(tmp_path / "data", *command, name)
    assert (status, printed.count("\n")) == (2, 1), printed


@pytest.mark.parametrize("command", [["user", "list"], ["survey", "list", "--json"], ["--help"]])
def test_a_full_device_is_one_line_on_stderr(run: Run, tmp_path: Path, command: list[str]) -> None:
    make_ready(Config(data=tmp_path / "data"))
    assert run(tmp_path / "data", "user", "add", "ada")[0] == 0
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", "from hushpoll_client.cli import main; main()", *command],
            env={**os.environ, "DATA": str(tmp_path / "data")},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "hushpoll: No space left on device\n")
