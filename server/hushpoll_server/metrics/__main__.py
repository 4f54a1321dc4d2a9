"""The process that publishes metrics on 127.0.0.1; gunicorn's master starts it."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hushpoll_server import logs
from hushpoll_server.config import Config

from . import counting
from .exposition import Exposition
from .readings import Meter

MINUTE = 60
log = logging.getLogger(__name__)


class _Handler(BaseHTTPRequestHandler):
    """Answers /metrics with the text of the last full minute, and writes no log."""

    exposition: Exposition

    def do_GET(self) -> None:
        """Answer a scrape."""
        is_known = self.path == "/metrics"
        body = b"see /metrics\n"
        if is_known:
            body = self.exposition.text
        self.send_response(200 if is_known else 404)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Write nothing."""


def publish(exposition: Exposition, meter: Meter, master: int) -> None:
    """Update the values at each full minute, until the server is gone."""
    minute = time.time() // MINUTE
    while os.getppid() == master:
        if time.time() // MINUTE != minute:
            minute = time.time() // MINUTE
            exposition.update(meter.read(), time.time())
        time.sleep(1.0)


def main() -> int:
    """Serve metrics until the server ends; return the exit status."""
    config, master = Config.from_environment(), os.getppid()
    logs.configure(config.log_level)
    exposition, meter = Exposition(), Meter(config, Path(os.environ[counting.FOLDER]), master)
    exposition.update(meter.read(), time.time())
    _Handler.exposition = exposition
    try:
        server = ThreadingHTTPServer(("127.0.0.1", config.metrics_port), _Handler)
    except OSError as error:
        log.error("METRICS_PORT=%d: cannot listen (%s); choose another", config.metrics_port, error.strerror)
        return 1
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    publish(exposition, meter, master)
    return 0


if __name__ == "__main__":
    sys.exit(main())
