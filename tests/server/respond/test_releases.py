"""Files of other releases: open pages get theirs from every node while nodes are upgraded one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_server.respond import manifest, page, releases
from hushpoll_server.respond.manifest import Asset
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import releases as table
from sqlalchemy import select, update

from tests.serving import LiveServer

NAME = "respond/page.js"
OLD = b"// the module of another release\n"


def keep(app: Flask, store: Store) -> None:
    with app.app_context():
        releases.keep_release(store)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, app: Flask, store: Store) -> Callable[..., None]:
    """Let another release have run on this database."""

    def run(release: str, body: bytes = OLD) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(releases, "this_release", lambda: release)
            patch.setattr(releases, "asset_paths", lambda: frozenset([NAME]))
            patch.setattr(releases, "read_asset", lambda path: Asset(body, "text/javascript; charset=utf-8"))
            keep(app, store)

    return run


def names(store: Store) -> list[str]:
    with store.read() as tx:
        return list(tx.execute(select(table.c.name).order_by(table.c.number)).scalars())


def test_files_of_another_release_are_served_as_they_were(
    app: Flask, client: FlaskClient, store: Store, install: Callable[..., None]
) -> None:
    """An open page names the SHA-256 of each module, so it needs the files of its own release."""
    install("0" * 16)
    keep(app, store)
    old = client.get(f"/static/{'0' * 16}/{NAME}")
    assert (old.status_code, old.data) == (200, OLD)
    assert "immutable" in old.headers["Cache-Control"]
    assert old.headers["Content-Type"] == "text/javascript; charset=utf-8"
    now = client.get(f"/static/{manifest.release()}/{NAME}")
    assert now.data == manifest.read_asset(NAME).body
    # An unknown release: the current file, which is revalidated.
    unknown = client.get(f"/static/{'1' * 16}/{NAME}")
    assert (unknown.data, unknown.headers["Cache-Control"]) == (now.data, "no-cache")
    assert client.get(f"/static/{'0' * 16}/respond/none.js").status_code == 404


def test_every_file_of_a_release_is_served_by_another_one(
    app: Flask, client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(app, store)
    mine = manifest.release()
    words = client.get(f"/static/{mine}/words/fr.json").data
    monkeypatch.setattr(page, "this_release", lambda: "2" * 16)
    monkeypatch.setattr(page, "asset", lambda _: None)
    for path in manifest.asset_paths():
        assert client.get(f"/static/{mine}/{path}").data == manifest.read_asset(path).body
    monkeypatch.setattr(page, "explanation", lambda _: None)
    assert client.get(f"/static/{mine}/words/fr.json").data == words


def test_the_last_few_releases_are_stored_and_the_newest_is_the_last_installed(
    store: Store, install: Callable[..., None]
) -> None:
    for digit in "01234":
        install(digit * 16)
    assert names(store) == [digit * 16 for digit in "1234"]
    install("4" * 16)
    install("2" * 16)
    assert names(store) == [digit * 16 for digit in "342"]


def test_scripts_written_to_the_database_are_not_served(
    client: FlaskClient, store: Store, install: Callable[..., None]
) -> None:
    install("0" * 16)
    install("1" * 16, b"// malicious\n")
    with store.write() as tx:
        content = tx.execute(select(table.c.content).where(table.c.name == "1" * 16)).scalar_one()
        tx.execute(update(table).where(table.c.name == "0" * 16).values(content=content))
    assert client.get(f"/static/{'0' * 16}/{NAME}").data == manifest.read_asset(NAME).body


def test_a_server_keeps_its_files_when_it_starts(live: Callable[..., LiveServer]) -> None:
    server = live()
    assert names(server.store) == [manifest.release()]
