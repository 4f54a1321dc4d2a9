"""Only `serve` makes a database: every other command names the one it looked for and stops."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from tests.command import run_command
from tests.serving import DRAFT, Postgres

HASH = "0" * 64
COMMANDS = {
    "backup": ["backup", "copy"],
    "check": ["check"],
    "export": ["export", HASH, "--out", "out"],
    "report": ["report", HASH],
    "survey close": ["survey", "close", HASH],
    "survey invite": ["survey", "invite", HASH, "-n", "1"],
    "survey list": ["survey", "list"],
    "survey publish": ["survey", "publish", "survey.json"],
    "survey reopen": ["survey", "reopen", HASH],
    "user add": ["user", "add", "ada", "--role", "designer"],
    "user list": ["user", "list"],
    "user token list": ["user", "token", "list"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "survey.json").write_text(json.dumps(DRAFT))
    monkeypatch.chdir(tmp_path)
    for name in ("DATA", "DATABASE_URL", "SECRET_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def refusal(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """Return the one line on stderr with which a command stops."""
    status, out, err = run_command(capsys, *arguments)
    assert (status, out) == (2, ""), err
    (line,) = err.splitlines()
    return line


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_a_command_without_a_database_names_it_and_makes_none(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    line = refusal(capsys, arguments)
    assert str(folder / "data" / "hushpoll.sqlite3") in line
    assert "DATABASE_URL" in line
    assert [path.name for path in folder.iterdir()] == ["survey.json"]


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_an_empty_file_is_no_database(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    (folder / "data").mkdir()
    (folder / "data" / "hushpoll.sqlite3").touch()
    assert str(folder / "data" / "hushpoll.sqlite3") in refusal(capsys, arguments)
    assert [path.name for path in (folder / "data").iterdir()] == ["hushpoll.sqlite3"]


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize(
    "statement", ["CREATE TABLE notes (text)", "VACUUM"], ids=["another program's", "begun"]
)
def test_a_file_without_our_tables_is_no_database_and_stays_as_it_is(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], statement: str
) -> None:
    path = folder / "data" / "hushpoll.sqlite3"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
        connection.execute(statement)
    before = path.read_bytes()
    assert before
    assert str(path) in refusal(capsys, arguments)
    assert path.read_bytes() == before
    assert [path.name for path in (folder / "data").iterdir()] == ["hushpoll.sqlite3"]


@pytest.mark.postgres
@pytest.mark.parametrize("is_empty", [True, False], ids=["empty", "another program's"])
def test_a_postgresql_database_without_our_tables_is_named_without_its_password(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    postgres: Postgres,
    is_empty: bool,
) -> None:
    url = postgres.create("empty").replace("postgres@", "postgres:geheim@")
    monkeypatch.setenv("DATABASE_URL", url)
    if not is_empty:
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE notes (text text)")
    try:
        for arguments in (COMMANDS["backup"], COMMANDS["survey list"]):
            line = refusal(capsys, arguments)
            assert "/empty" in line
            assert "geheim" not in line
            assert "hushpoll serve" in line
    finally:
        postgres.drop("empty")
    assert not (folder / "data").exists()
