"""How gunicorn runs the server: `gunicorn -c python:hushpoll_server.serve.gunicorn_conf`, which `hushpoll serve` does.

Threads, because a synchronous worker stalls for half a minute on a browser's speculative connection. One process by
default: SQLite allows one writer at a time, and one process shares each commit among all waiting requests.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from pathlib import Path
from typing import Any

from hushpoll_server import logs
from hushpoll_server.config import Config
from hushpoll_server.gunicorn_adapter import omit_default_headers
from hushpoll_server.respond.releases import keep_release

from . import metrics_process
from .graceful_shutdown import ignore_new_connections_on_stop

_config = Config.from_environment()
# Before anything imports prometheus-client, which looks for the folder then.
metrics_process.prepare(_config)
_publisher: list[Any] = []

wsgi_app = "hushpoll_server:create_app()"
# `hushpoll serve` hands over a socket that listens already, so that a port in use is reported before anything starts.
bind = os.environ.get("HUSHPOLL_SOCKET") or f"{_config.host}:{_config.port}"
worker_class = "hushpoll_server.serve.worker.Worker"
workers = _config.workers
threads = _config.threads
# Idle connections must never use up a worker's files: it would end, and everything under way with it. Besides them it
# needs some for the database, three for each thread.
_most, _hard = 4000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
_spare = 128 + 5 * threads
if 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[0] < _most + _spare:
    _allowed = _most + _spare if _hard < 0 else min(_hard, _most + _spare)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_allowed, _hard))
    _most = max(_allowed - _spare, threads + 1)
worker_connections = _most
# glibc gives each thread a separate heap and seldom frees it; two are enough, since one thread runs at a time.
_M_ARENA_MAX = -8
if hasattr(ctypes.CDLL(None), "mallopt"):
    ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)
keepalive = _config.request_seconds
timeout = 60
graceful_timeout = 30
backlog = 2048
# Clients need not know the program, and each of a page's files would repeat the other header.
omit_default_headers()
# Files go through the same sending as everything else, which has a deadline.
sendfile = False
umask = 0o077
worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
# Nothing about who asked: neither here nor through a socket that answers questions about requests.
accesslog = None
control_socket_disable = True
loglevel = _config.log_level
logger_class = logs.GunicornLogger
# Headers of proxies are believed by the application, and only when PROXY_HOPS says so.
forwarded_allow_ips = ""
limit_request_line = 4094
limit_request_fields = 64
limit_request_field_size = 8190


def when_ready(server: Any) -> None:
    """Accept no connection that would not be answered, once the server is asked to stop."""
    ignore_new_connections_on_stop(server)
    _publisher.append(metrics_process.start(_config))


def on_exit(server: Any) -> None:
    """Stop publishing metrics."""
    for process in _publisher:
        metrics_process.end(process)


def post_fork(server: Any, worker: Any) -> None:
    """Send the program's own log to stderr."""
    logs.configure(_config.log_level)


def post_worker_init(worker: Any) -> None:
    """Start the writer, which also seals and closes when no reports arrive."""
    # Python lets a busy thread keep the interpreter for 5 ms; the writer, on which all others wait, asks for it several
    # times per commit.
    sys.setswitchinterval(0.0005)
    # What is loaded by now stays: searching all of it for garbage again and again would stop every request for a
    # tenth of a second each time.
    gc.collect()
    gc.freeze()
    if "hushpoll" in worker.wsgi.extensions:
        store = worker.wsgi.extensions["hushpoll"]
        _ = store.writer
        with worker.wsgi.app_context():
            keep_release(store)


def worker_exit(server: Any, worker: Any) -> None:
    """Store what waits, give the connections back."""
    if "hushpoll" in getattr(getattr(worker, "wsgi", None), "extensions", {}):
        worker.wsgi.extensions["hushpoll"].close()
