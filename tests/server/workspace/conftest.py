"""Tests of the workspace share one server a module, on SQLite: what differs between databases is tested elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from aiosmtpd.controller import Controller
from flask import Flask
from hushpoll_server.store.surveys import Store

from tests.server.accounts_kit import open_site
from tests.server.workspace.letterbox import Letterbox
from tests.server.workspace.walking import Walk, bracketed_site
from tests.serving import LONGEST, reserve


@pytest.fixture
def store(site_store: Store) -> Store:
    """The store of the module's server."""
    return site_store


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Letterbox, str]]:
    """A mail server on a free port of this machine."""
    box = Letterbox()
    with reserve() as held:
        port = held.getsockname()[1]
        controller = Controller(box, hostname="127.0.0.1", port=port, ready_timeout=LONGEST)
        controller.start()
        yield box, f"smtp://127.0.0.1:{port}"
        controller.stop()


@pytest.fixture
def letterbox(running: tuple[Letterbox, str]) -> Letterbox:
    """An empty letterbox."""
    running[0].letters.clear()
    return running[0]


@pytest.fixture(scope="module")
def site_with_mail(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    running: tuple[Letterbox, str],
) -> Iterator[tuple[Flask, Store]]:
    """A server that sends mail to that mail server, from the module's MAIL_FROM."""
    settings = {"smtp_url": running[1], "mail_from": request.module.MAIL_FROM}
    with open_site(tmp_path_factory.mktemp("mail"), **settings) as site:
        yield site


@pytest.fixture(scope="module")
def bracketed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Flask, Store]]:
    """A server whose German is brackets around wide letters."""
    with bracketed_site(tmp_path_factory.mktemp("bracketed")) as site:
        yield site


@pytest.fixture
def walk(bracketed: tuple[Flask, Store]) -> Walk:
    """A walk through that server."""
    return Walk(*bracketed)
