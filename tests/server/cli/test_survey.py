"""`hushpoll survey` and `hushpoll serve` as people call them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from flask import Flask
from hushpoll_server.config import Config
from hushpoll_server.people import accounts
from hushpoll_server.people.audit_log import audit_entries
from hushpoll_server.store import database
from hushpoll_server.store.database import SEAL_LOCK
from hushpoll_server.store.surveys import Store, open_store
from sqlalchemy import text

from tests.server.reporting import signed_in
from tests.serving import DRAFT, LONGEST, make_survey, new_report, post


@pytest.fixture
def draft(tmp_path: Path) -> str:
    path = tmp_path / "survey.json"
    path.write_text(json.dumps({**DRAFT, "settings": {"invitation": True}}))
    return str(path)


def test_publish_list_invite_close(run, draft: str, config: Config) -> None:
    survey = make_survey(invitation=True)
    status, out, _ = run("survey", "publish", draft, "--json")
    assert status == 0
    published = json.loads(out)
    assert published["hash"] == survey.hash
    assert published["url"] == f"http://127.0.0.1:8123/s/{survey.hash[:12]}#{survey.hash}"
    assert published["new"]
    assert not json.loads(run("survey", "publish", draft, "--json")[1])["new"]
    (listed,) = json.loads(run("survey", "list", "--json")[1])["surveys"]
    assert (listed["hash"], listed["state"], listed["received"]) == (survey.hash, "open", 0)
    status, out, _ = run("survey", "invite", survey.hash, "-n", "5")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len({row["code"] for row in rows}) == 5
    assert all(row["url"].endswith(f"#{survey.hash}.{row['code']}") for row in rows)
    assert {row["fingerprint"] for row in rows} == {survey.hash[:8]}
    assert (
        len(json.loads(run("survey", "invite", survey.hash[:8], "-n", "2", "--json")[1])["invitations"]) == 2
    )
    assert run("survey", "close", survey.hash, "--at", "9" * 30)[0] == 2
    limits = ("--at", "10", "--on", "2999-12-31")
    planned = json.loads(run("survey", "close", survey.hash, *limits, "--json")[1])
    assert (planned["state"], planned["closes_at"], planned["closes_on"]) == ("open", 10, "2999-12-31")
    assert "Closes after 2999-12-31 or at 10 reports" in run("survey", "close", survey.hash, "--at", "10")[1]
    assert json.loads(run("survey", "close", survey.hash, "--json")[1])["state"] == "closed"
    assert "closed" in run("survey", "list")[1]
    for _ in range(2):
        assert json.loads(run("survey", "reopen", survey.hash, "--json")[1])["state"] == "open"
    store = open_store(config)
    logged = [(entry.actor, entry.action, entry.title) for entry in audit_entries(store)]
    store.close()
    actions = [
        "reopened",
        "closed",
        "closing planned",
        "closing planned",
        "invitations made",
        "invitations made",
        "published",
    ]
    assert logged == [("command line", action, survey.title) for action in actions]


@pytest.mark.parametrize(
    "arguments",
    [
        ["publish", "no-such-file.json"],
        ["close", "0" * 64],
        ["close", "abc"],
        ["close", "0" * 64, "--on", "tomorrow"],
        ["invite", "0" * 64, "-n", "5"],
        ["invite", "0" * 64],
        ["list", "--nonsense"],
        ["nonsense"],
    ],
)
@pytest.mark.parametrize("backend", ["sqlite"])
def test_bad_input_is_one_line_and_status_2(run, arguments: list[str]) -> None:
    status, out, err = run("survey", *arguments)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_database_that_cannot_be_reached_is_one_line(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody:secret@127.0.0.1:1/none")
    status, _, err = run("survey", "list")
    assert status == 2
    assert err.count("\n") == 1
    assert "DATABASE_URL" in err
    assert "secret" not in err


@pytest.mark.parametrize("backend", ["sqlite"])
def test_the_first_start(config: Config, tmp_path: Path) -> None:
    environment = {**os.environ, "DATA": str(config.data), "PORT": "0", "THREADS": "4", "DATABASE_URL": ""}
    command = [sys.executable, "-c", "from hushpoll_client.cli import main; main()", "serve"]
    passwords = []
    for _ in range(2):
        with subprocess.Popen(
            command,
            bufsize=0,  # what readline takes ahead would be lost to communicate
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            lines = [process.stdout.readline().decode() for _ in range(3)]
            respondents, designers, report = (line.split()[1] for line in lines)
            survey_hash = respondents.partition("#")[2]
            base = respondents.partition("/s/")[0]
            document = _get(f"{base}/api/surveys/{survey_hash}")
            names = [question["mechanism"]["name"] for question in json.loads(document)["questions"]]
            assert names == ["warner", "krr", "or_poll"]
            for address in (respondents, designers, report, f"{base}/healthz"):
                _get(address)
            process.send_signal(signal.SIGTERM)
            rest, log = process.communicate(timeout=LONGEST)
            assert process.returncode == 0, log.decode()
            passwords.append(re.findall(r"password (\S+)", rest.decode()))
    assert len(passwords[0]) == 1
    assert len(passwords[0][0]) >= 12
    # Shown once, and kept nowhere.
    assert passwords[1] == []
    for path in config.data.iterdir():
        assert passwords[0][0].encode() not in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    store = open_store(config)
    assert [state.title for state in store.list_surveys()] == ["Exam honesty"]
    store.close()


def _get(address: str) -> bytes:
    deadline = time.monotonic() + LONGEST
    while True:
        try:
            with urllib.request.urlopen(address, timeout=LONGEST) as response:
                return response.read()
        except ConnectionError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_port_in_use_is_one_line(config: Config, run, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        monkeypatch.setenv("PORT", str(listener.getsockname()[1]))
        monkeypatch.setenv("HOST", "127.0.0.1")
        before = os.umask(0)
        os.umask(before)
        status, _, err = run("serve")
        os.umask(before)
    assert status == 2
    assert err.count("\n") == 1
    assert "PORT=" in err


@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_survey_of_the_command_line_belongs_to_its_owner_or_to_admins(
    run, app: Flask, store: Store, draft: str
) -> None:
    """No other designer of the server may close it or create invitations."""
    ada, bob, root = (
        signed_in(app, store, name, role)
        for name, role in (("ada", "designer"), ("bob", "designer"), ("root", "admin"))
    )
    accounts.add_user(store, "olu", "analyst")
    for name, problem in (("nobody", "no active account"), ("olu", "analyst")):
        status, out, err = run("survey", "publish", draft, "--owner", name)
        assert (status, out, problem in err) == (2, "", True)
    assert store.list_surveys() == []
    assert run("survey", "publish", draft, "--owner", "ada")[0] == 0
    (state,) = store.list_surveys()
    assert state.owner == "ada"
    page = f"/surveys/{state.hash}"
    assert [client.get(page).status_code for client in (ada, bob, root)] == [200, 404, 200]
    without = make_survey("Without an owner")
    store.publish(without)
    page = f"/surveys/{without.hash}"
    assert [client.get(page).status_code for client in (ada, bob, root)] == [404, 404, 200]
    assert "Without an owner" not in ada.get("/surveys").text
    assert "Without an owner" in root.get("/surveys").text


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_a_backup_stops_neither_an_export_nor_a_closing(
    run, app: Flask, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither command may end with a traceback, nor the page's export with 503."""
    survey = make_survey("During a backup")
    store.publish(survey, "ada")
    for _ in range(110):
        assert post(app.test_client(), survey, new_report(survey).to_bytes()).status_code == 201
    ada = signed_in(app, store, "ada", "designer")
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    with store.engine.connect() as backup:
        store.database.allow_pauses(backup)
        backup.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": SEAL_LOCK})
        # Where it waits for the backup it answers 503 after BUSY_SECONDS.
        with ada.get(f"/surveys/{survey.hash}/export.zip") as answer:
            assert answer.status_code == 422, "nothing is sealed yet"
        status, out, err = run("export", survey.hash, "--out", str(tmp_path / "out"))
        assert (status, out) == (2, "")
        assert "no report is counted" in err
        status, out, err = run("survey", "close", survey.hash)
        assert (status, out) == (0, "Closed: During a backup, 110 reports\n")
        assert re.fullmatch(r"110 more waiting to be counted: .* a backup perhaps.*\n", err)
    assert run("export", survey.hash, "--out", str(tmp_path / "out"))[1].startswith("110 reports")
