"""Logs that name places, never values: no access log, no bodies, no locals, no messages of foreign errors."""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType
from typing import Any

from .gunicorn_adapter import Logger

_ExcInfo = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]


class PlacesOnly(logging.Formatter):
    """Write an exception as its type and the lines it went through.

    An exception's own message may quote what it choked on, and that may be a report: it is left out.
    """

    def formatException(self, ei: Any) -> str:
        kind, error, _ = ei
        lines = []
        while error is not None:
            frames = traceback.extract_tb(error.__traceback__)
            lines += [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames]
            lines.append(f"{type(error).__name__}")
            error = error.__cause__ or error.__context__
        return "\n".join(lines) or str(getattr(kind, "__name__", ""))

    def formatStack(self, stack_info: str) -> str:
        return ""


class GunicornLogger(Logger):  # type: ignore[misc]
    """gunicorn's log in the same form."""

    error_fmt = "%(asctime)s [%(process)d] [%(levelname)s] %(message)s"

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        for handler in self.error_log.handlers:
            handler.setFormatter(PlacesOnly(self.error_fmt, self.datefmt))

    def debug(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Write nothing: gunicorn's debug lines are an access log, each request with its time."""

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Leave out whose request could not be read, and what was in it."""
        if str(msg).startswith("Invalid request from"):
            msg, args = "a request could not be read", ()
        super().warning(msg, *args, **kwargs)

    def exception(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Leave out which address was asked for, and clients that stopped reading: anybody can make those."""
        if isinstance(sys.exception(), TimeoutError):
            return
        if str(msg).startswith("Error handling request"):
            msg, args = "a request could not be answered", ()
        super().exception(msg, *args, **kwargs)

    def access(self, resp: Any, req: Any, environ: Any, request_time: Any) -> None:
        """Write nothing: the server keeps no record of who requested what, and when."""


def configure(level: str) -> None:
    """Send this program's own log to stderr, places only."""
    handler = logging.StreamHandler()
    handler.setFormatter(PlacesOnly("%(asctime)s [%(process)d] [%(levelname)s] %(name)s: %(message)s"))
    root = logging.getLogger("hushpoll_server")
    root.handlers = [handler]
    root.setLevel(level.upper())
    root.propagate = False
