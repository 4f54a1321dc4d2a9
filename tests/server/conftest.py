"""Every test of the server runs on SQLite and on PostgreSQL unless it asks for neither."""

from collections.abc import Iterator

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.channel import audit, person_draws
from hushpoll_analysis.channel.audit import buffered
from hushpoll_server.store.surveys import Store

from tests.server.accounts_kit import open_place, signed_in
from tests.serving import (
    app,
    backend,
    client,
    config,
    database_url,
    folder,
    live,
    one_day,
    postgres,
    store,
    survey,
)

__all__ = [
    "app",
    "backend",
    "client",
    "config",
    "database_url",
    "folder",
    "live",
    "one_day",
    "postgres",
    "store",
    "survey",
]


@pytest.fixture
def seeded_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw what `hushpoll audit` draws from a seed: an honest survey fails an audit once in some 10,000 runs."""
    for module in (audit, person_draws):
        monkeypatch.setattr(module, "buffered", lambda: buffered(np.random.default_rng(1).bytes))


@pytest.fixture(scope="module")
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Flask, Store]]:
    """One server with all the people for a whole module, with that module's SETTINGS."""
    settings = getattr(request.module, "SETTINGS", {})
    with open_place(tmp_path_factory.mktemp("place"), **settings) as place:
        yield place


@pytest.fixture(scope="module")
def shop(place: tuple[Flask, Store]) -> Store:
    """The store of that server."""
    return place[1]


@pytest.fixture
def owner(place: tuple[Flask, Store]) -> FlaskClient:
    """A designer who is signed in there."""
    return signed_in(*place, "owner")
