"""All that this program uses of gunicorn beyond its settings: no other module imports gunicorn.

Much of it is not documented, so gunicorn is pinned to the minor version that was tested. Before raising the pin, run
the tests: `missing_internals` names what a new version has renamed or removed. docs/decisions/web-server.md says why
there is a worker of our own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import Any

from gunicorn.arbiter import Arbiter  # type: ignore[import-untyped]
from gunicorn.glogging import Logger  # type: ignore[import-untyped]
from gunicorn.http import errors  # type: ignore[import-untyped]
from gunicorn.http.errors import NoMoreData, ParseException  # type: ignore[import-untyped]
from gunicorn.http.unreader import SocketUnreader  # type: ignore[import-untyped]
from gunicorn.http.wsgi import Response  # type: ignore[import-untyped]
from gunicorn.workers.gthread import PollableMethodQueue, TConn, ThreadWorker  # type: ignore[import-untyped]

__all__ = [
    "Logger",
    "NoMoreData",
    "ParseException",
    "SocketUnreader",
    "TConn",
    "ThreadWorker",
    "errors",
    "missing_internals",
    "omit_default_headers",
    "run_gunicorn",
]

# Methods and attributes of classes that we call, override or replace.
_MEMBERS: dict[Any, Sequence[str]] = {
    ThreadWorker: (
        "accept",
        "enqueue_req",
        "finish_request",
        "get_thread_pool",
        "handle",
        "handle_error",
        "is_parent_alive",
        "notify",
        "run",
        "set_accept_enabled",
        "wait_for_and_dispatch_events",
    ),
    PollableMethodQueue: ("close", "defer", "fileno", "run_callbacks"),
    TConn: ("close", "init"),
    SocketUnreader: ("chunk", "take_buffered", "unread"),
    Response: ("default_headers",),
    Arbiter: ("LISTENERS", "stop"),
    errors: (
        "ExpectationFailed",
        "InvalidResponseHeader",
        "InvalidResponseHeaderName",
        "LimitRequestHeaders",
        "LimitRequestLine",
        "UnsupportedTransferCoding",
    ),
}
# Fields that their constructors set and we read or write.
_FIELDS: dict[type, Sequence[str]] = {
    ThreadWorker: (
        "alive",
        "cfg",
        "log",
        "method_queue",
        "nr_conns",
        "poller",
        "sockets",
        "tpool",
        "worker_connections",
    ),
    TConn: ("cfg", "data_ready", "initialized", "parser", "sock"),
    SocketUnreader: ("sock",),
    Response: ("req",),
    Arbiter: ("master_pid", "reexec_pid", "systemd"),
}
# What a thread asks of a connection when it handles a request. `TConn.init` must be called before the parser is.
_ASKED_OF_A_CONNECTION = ("initialized", "data_ready", "init", "parser")


def missing_internals() -> list[str]:
    """Return what the installed gunicorn no longer has of what we rely on, such as `ThreadWorker.accept`."""
    missing = [
        f"{_name(owner)}.{member}"
        for owner, members in _MEMBERS.items()
        for member in members
        if not hasattr(owner, member)
    ]
    for owner, fields in _FIELDS.items():
        assigned = set(_names_in(base.__dict__.get("__init__") for base in owner.__mro__))
        missing += [f"{_name(owner)}.{field}" for field in fields if field not in assigned]
    used = set(_names_in([ThreadWorker.__dict__.get("handle")]))
    missing += [f"ThreadWorker.handle: conn.{name}" for name in _ASKED_OF_A_CONNECTION if name not in used]
    return missing


def _name(owner: Any) -> str:
    return str(owner.__name__).rpartition(".")[2]


def _names_in(functions: Iterable[Any]) -> list[str]:
    codes = [getattr(function, "__code__", None) for function in functions]
    return [name for code in codes if isinstance(code, CodeType) for name in code.co_names]


def omit_default_headers() -> None:
    """Leave `Server` out of every response, and `Connection: keep-alive`, which HTTP/1.1 implies."""
    original = Response.default_headers

    def default_headers(response: Any) -> list[str]:
        needless = ["Server:"]
        if response.req.version >= (1, 1):
            needless.append("Connection: keep-alive")
        return [line for line in original(response) if not line.startswith(tuple(needless))]

    Response.default_headers = default_headers


def run_gunicorn(arguments: list[str]) -> None:
    """Run gunicorn in this process, with these arguments of its command line."""
    from gunicorn import __main__ as program  # type: ignore[import-untyped]
    from gunicorn.app import wsgiapp  # type: ignore[import-untyped]

    # gunicorn reads them here, and starts itself again by them when it is told to.
    sys.argv = [program.__file__, *arguments]
    wsgiapp.run()
