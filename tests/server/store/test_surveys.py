"""Surveys in the store: published once and for good, counted, read back as fixed-width records."""

from __future__ import annotations

import os
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient
from hushpoll_client import HushpollError, Survey
from hushpoll_client.channel import Whole
from hushpoll_client.delivery.record import RecordFormat
from hushpoll_server.collect.closing import close
from hushpoll_server.config import Config
from hushpoll_server.store.database import Database
from hushpoll_server.store.surveys import Store, open_store

from tests.serving import DRAFT, make_survey, new_report, post, sealed_records


@pytest.mark.parametrize("sign", ["\u202e", "\u2067", "\u202a"])
def test_text_with_reordering_characters_is_not_published(store: Store, sign: str) -> None:
    with pytest.raises(
        HushpollError, match=rf"^title: holds .* \(U\+{ord(sign):04X}\) at position 6; remove it"
    ):
        make_survey(f"Exam {sign}ytsenoh")
    # One that another program has published is read, but not published here.
    turned = make_survey("Exam honesty").canonical.replace(b"Exam ", f"Exam {sign}".encode())
    with pytest.raises(
        HushpollError, match=rf"^title: holds .* \(U\+{ord(sign):04X}\) at position 6; remove it"
    ):
        store.publish(Survey.parse(turned))
    # The marks of right-to-left scripts are fine.
    assert store.publish(make_survey("\u0627\u062e\u062a\u0628\u0627\u0631\u200f 2026"))


@pytest.mark.parametrize("sign", ["\u200b", "\u00ad", "\u3164", "\u2060", "\U000e0041"])
def test_texts_that_look_the_same_are_not_published_as_two(store: Store, sign: str) -> None:
    """An option or a group “Yes” and one with an invisible character are the same."""
    twins = {
        "id": "q",
        "kind": "choice",
        "text": "?",
        "options": ["Yes", f"Yes{sign}"],
        "mechanism": {"epsilon": "1"},
    }
    seen = rf"holds a sign that nobody sees \(U\+{ord(sign):04X}\) at position 4; remove it"
    with pytest.raises(HushpollError, match=seen):
        Survey.from_draft({**DRAFT, "questions": [twins]})
    with pytest.raises(HushpollError, match=seen):
        Survey.from_draft({**DRAFT, "groups": ["Yes", f"Yes{sign}"]})
    # One that another program has published is read, but not published here.
    hidden = make_survey("Yes or no").canonical.replace(b"Yes or no", f"Yes{sign} or no".encode())
    with pytest.raises(HushpollError, match=seen):
        store.publish(Survey.parse(hidden))


def test_joiners_that_scripts_and_emoji_need_are_published(store: Store) -> None:
    for title in (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f469\u200d\U0001f52c at work",
        "\u2764\ufe0f",
    ):
        assert store.publish(make_survey(title))


def test_publishing_twice_changes_nothing(store: Store) -> None:
    survey = make_survey()
    assert store.publish(survey, owner="ada", target_n=100)
    assert not store.publish(survey, owner="eve", target_n=7)
    state = store.state(survey.hash)
    assert state is not None
    assert (state.owner, state.target_n, state.is_open) == ("ada", 100, True)
    again = store.get_survey(survey.hash)
    assert again is not None
    assert again.canonical == survey.canonical


def test_the_server_has_its_own_cap(config: Config, store: Store) -> None:
    questions = [
        {"id": f"q{number}", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": "4"}}
        for number in range(3)
    ]
    survey = Survey.from_draft({**DRAFT, "questions": questions})
    strict = Store(replace(config, epsilon_cap="10"))
    with pytest.raises(HushpollError, match="above 10"):
        strict.publish(survey)
    strict.close()
    # Lowering the cap later leaves what is published readable.
    store.publish(survey)
    strict = Store(replace(config, epsilon_cap="10"))
    assert strict.get_survey(survey.hash) is not None
    strict.close()


def test_lists_are_newest_first_and_by_owner(store: Store) -> None:
    for title, owner in (("A", "ada"), ("B", None), ("C", "ada")):
        store.publish(make_survey(title), owner=owner, target_n=9)
    assert [state.title for state in store.list_surveys()] == ["C", "B", "A"]
    assert [state.title for state in store.list_surveys("ada")] == ["C", "A"]
    first = store.list_surveys()[0].hash
    store.set_results_public(first, True)
    state = store.state(first)
    assert state is not None
    assert (state.results_public, state.target_n) == (True, 9)


def test_unknown_surveys_are_named(store: Store) -> None:
    assert store.get_survey("0" * 64) is None
    assert store.state("no hash") is None
    for ask in (store.count, store.sealed_count, store.record_format):
        with pytest.raises(HushpollError, match="not known here"):
            ask("0" * 64)
    with pytest.raises(HushpollError, match="not known here"):
        store.set_results_public("0" * 64, True)


def test_records_come_back_as_a_table(client: FlaskClient, survey: Survey, store: Store) -> None:
    reports = [new_report(survey) for _ in range(60)]
    for report in reports:
        assert post(client, survey, report.to_bytes()).status_code == 201
    close(store, survey.hash)
    table = np.frombuffer(
        sealed_records(store, survey.hash), np.dtype(store.record_format(survey.hash).dtype)
    )
    assert table.dtype.names == ("cheated", "reason", "tax")
    assert sorted(map(tuple, table.tolist())) == sorted(report.reports for report in reports)
    parts = list(store.record_parts(survey.hash, rows=25))
    assert [len(chunk) // table.dtype.itemsize for chunk in parts] == [25, 25, 10]


def test_nothing_is_read_before_it_is_sealed(client: FlaskClient, survey: Survey, store: Store) -> None:
    for _ in range(99):
        post(client, survey, new_report(survey).to_bytes())
    assert (
        store.count(survey.hash),
        sealed_records(store, survey.hash),
        store.sealed_count(survey.hash),
    ) == (
        99,
        b"",
        0,
    )
    post(client, survey, new_report(survey).to_bytes())
    assert len(sealed_records(store, survey.hash)) == 50 * 3
    assert (store.count(survey.hash), store.sealed_count(survey.hash)) == (100, 50)


@pytest.mark.parametrize(
    ("outcomes", "width"), [(2, 1), (256, 1), (257, 2), (65536, 2), (65537, 4), (2**32 + 1, 8)]
)
def test_columns_are_as_narrow_as_they_can_be(outcomes: int, width: int) -> None:
    assert Whole(outcomes).width == width
    form = RecordFormat(("a", "b"), (Whole(outcomes), Whole(2)))
    assert form.unpack(form.pack((outcomes - 1, 1))) == (outcomes - 1, 1)
    assert form.size == np.dtype(form.dtype).itemsize == width + 1
    assert form.holds((outcomes - 1, 1))
    assert not form.holds((outcomes, 1))
    assert not form.holds((0,))


@pytest.mark.parametrize("backend", ["sqlite"])
def test_files_are_for_the_owner_only(config: Config) -> None:
    before = os.umask(0o022)
    try:
        # `hushpoll serve` and gunicorn set the mask; the folder keeps others out whatever the mask.
        store = open_store(config)
        store.publish(make_survey())
        folder = config.data
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "secret.key").stat().st_mode) == 0o600
        for name in ("hushpoll.sqlite3", "hushpoll.sqlite3-wal", "hushpoll.sqlite3.turn"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600, name
        store.close()
    finally:
        os.umask(before)


def test_the_secret_is_made_once_and_checked(tmp_path: Path) -> None:
    config = Config(data=tmp_path / "data")
    first = config.secret()
    assert len(first) == 32
    assert config.secret() == first
    assert Config(data=tmp_path / "other").secret() != first
    for bad in ("", "xyz", "00" * 31, "é"):
        (tmp_path / "data" / "secret.key").write_text(bad)
        with pytest.raises(HushpollError, match=r"secret\.key"):
            config.secret()


@pytest.mark.parametrize("backend", ["sqlite"])
def test_sqlite_is_set_up_as_designed(store: Store) -> None:
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "trusted_schema": 0,
    }
    with store.read() as tx:
        settings = {name: tx.exec_driver_sql(f"PRAGMA {name}").scalar() for name in expected}
        tables = tx.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'table'").all()
    assert settings == expected
    for name, sql in tables:
        if name in ("inbox", "sealed", "seen", "invitations", "spent"):
            assert "WITHOUT ROWID" in sql, name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "eighty"),
        ("PORT", "70000"),
        ("PORT", "-1"),
        ("SEAL_AT_LEAST", "0"),
        ("DATABASE_URL", "mysql://x"),
        ("DATABASE_URL", "postgresql://user:pass:word/x"),
        ("PUBLIC_URL", "survey.example.org"),
        ("PUBLIC_URL", "http://[::1"),
        ("PUBLIC_URL", "http://survey.example.org:http"),
        ("LOG_LEVEL", "loud"),
        ("EPSILON_CAP", "81"),
    ],
)
def test_settings_that_cannot_be_used_are_named(name: str, value: str) -> None:
    with pytest.raises(HushpollError, match=name):
        Config.from_environment({name: value})


def test_settings_come_from_the_environment() -> None:
    config = Config.from_environment(
        {
            "DATA": "somewhere",
            "DATABASE_URL": "postgres://db/x",
            "HOST": "0.0.0.0",
            "PORT": "81",
            "TRUSTED_HOSTS": "a.example, b.example",
            "SEAL_AT_LEAST": "100",
            "PUBLIC_URL": "https://survey.example.org/",
        }
    )
    assert config.url == "postgresql+psycopg://db/x"
    assert config.address == "https://survey.example.org"
    assert config.trusted_hosts == ("a.example", "b.example")
    assert (config.seal_at_least, config.port) == (100, 81)
    assert Config(host="0.0.0.0", port=80).address == "http://127.0.0.1:80"
    assert Config(host="::1", port=80).address == "http://[::1]:80"


def test_a_new_database_waits_for_another_start_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite refuses to change the journal mode at once while another connection prepares to write."""
    other = sqlite3.connect(tmp_path / "new.sqlite", isolation_level=None)
    other.execute("CREATE TABLE begun (n)")
    other.execute("BEGIN IMMEDIATE")
    # The other start continues as soon as this one has been refused.
    monkeypatch.setattr(
        "hushpoll_server.store.database.time.sleep", lambda seconds: other.execute("ROLLBACK")
    )
    database = Database(f"sqlite:///{tmp_path}/new.sqlite")
    with database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    database.close()
    other.close()
