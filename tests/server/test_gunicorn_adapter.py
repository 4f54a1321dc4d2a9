"""The one module that knows gunicorn's internals, and the version that it was written for."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import hushpoll_server
import pytest
from gunicorn.workers.gthread import PollableMethodQueue, TConn, ThreadWorker
from hushpoll_server.gunicorn_adapter import missing_internals

PACKAGE = Path(hushpoll_server.__file__).parent


def imported_modules(file: Path) -> set[str]:
    """The top-level packages that a file imports."""
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names}


def test_only_the_adapter_imports_gunicorn() -> None:
    users = {file.name for file in PACKAGE.rglob("*.py") if "gunicorn" in imported_modules(file)}
    assert users == {"gunicorn_adapter.py"}


def test_the_installed_gunicorn_has_everything_we_rely_on() -> None:
    assert missing_internals() == []


@pytest.mark.parametrize(
    ("owner", "name"),
    [(ThreadWorker, "wait_for_and_dispatch_events"), (TConn, "init"), (PollableMethodQueue, "defer")],
)
def test_an_internal_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    monkeypatch.delattr(owner, name)
    assert missing_internals() == [f"{owner.__name__}.{name}"]


def test_a_field_that_is_no_longer_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(self: Any, cfg: Any, sock: Any, client: Any, server: Any) -> None:
        self.cfg, self.sock, self.initialized = cfg, sock, False

    monkeypatch.setattr(TConn, "__init__", other)
    assert missing_internals() == ["TConn.data_ready", "TConn.parser"]


def test_a_handler_that_asks_something_else_of_a_connection_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def handle(self: Any, conn: Any) -> None:
        conn.prepare()
        next(conn.parser)

    monkeypatch.setattr(ThreadWorker, "handle", handle)
    assert missing_internals() == [
        f"ThreadWorker.handle: conn.{name}" for name in ("initialized", "data_ready", "init")
    ]
