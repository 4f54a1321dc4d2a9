"""Files and folders with any name: a backup is in the file that was named, and the database in the folder."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hushpoll_server.cli import main
from hushpoll_server.store import backup
from sqlalchemy import create_engine

NAMES = ["a?b", "a%41b", "a#b", "a b", "a&mode=rw", "file:a", "ä'\""]

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command on a data folder; give its status and all that it said."""
    monkeypatch.delenv("DATABASE_URL", raising=False)

    def one(data: Path, *arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setenv("DATA", str(data))
        with pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        return int(end.value.code or 0), "".join(capsys.readouterr())

    return one


def with_key_of(data: Path, new: Path) -> Path:
    """A folder with the key and without a database."""
    new.mkdir(mode=0o700)
    (new / "secret.key").write_bytes((data / "secret.key").read_bytes())
    return new


@pytest.mark.parametrize("name", NAMES)
def test_backups_and_data_folders_may_have_any_name(run: Run, tmp_path: Path, name: str) -> None:
    data, folder = tmp_path / name, tmp_path / "backups"
    folder.mkdir()
    assert run(data, "user", "add", "ada")[0] == 0
    assert (data / "hushpoll.sqlite3").stat().st_size > 0
    status, said = run(data, "backup", folder / name)
    assert (status, "found the same" in said) == (0, True), said
    (copy,) = folder.iterdir()
    assert (copy.name, stat.S_IMODE(copy.stat().st_mode)) == (name, 0o600)
    with sqlite3.connect(copy) as found:
        assert found.execute("SELECT count(*) FROM users").fetchone()[0] == 1
    found.close()
    status, said = run(with_key_of(data, tmp_path / f"new {name}"), "restore", copy)
    assert (status, "found the same" in said) == (0, True), said
    assert "ada" in run(tmp_path / f"new {name}", "user", "list")[1]
    assert {path.name for path in tmp_path.iterdir()} == {name, "backups", f"new {name}"}


def test_a_file_without_a_byte_is_no_backup(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Should the copy be written elsewhere once more, nobody is told that it is here."""
    assert run(tmp_path / "data", "user", "add", "ada")[0] == 0
    elsewhere = tmp_path / "elsewhere"
    monkeypatch.setattr(backup, "create_engine", lambda url: create_engine(f"sqlite:///{elsewhere}"))
    status, said = run(tmp_path / "data", "backup", tmp_path / "copy")
    assert (status, "cannot be written" in said) == (2, True)
    assert not (tmp_path / "copy").exists()
