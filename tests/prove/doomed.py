"""A process that stores reports and is killed while it does."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable
from multiprocessing.connection import Connection

from hushpoll_server.collect.intake import Intake
from hushpoll_server.collect.report_writer import Writer
from hushpoll_server.config import Config
from hushpoll_server.store.surveys import Store
from werkzeug.test import Client

# Seconds for what takes a moment on a quiet machine.
LONGEST = 120
# Forked from a process that has loaded everything and has neither threads nor connections.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


def run(config: Config, survey_hash: str, bodies: list[bytes], seconds: float) -> int:
    """Store reports in another process, kill it this many seconds after the first begins; return how many got 2xx."""
    mine, theirs = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_store, args=(config, survey_hash, bodies, theirs))
    process.start()
    theirs.close()
    acknowledged = 0
    try:
        assert mine.poll(LONGEST), "the process did not begin"
        assert mine.recv() == "ready"
        process.join(seconds)
        process.kill()
        process.join(LONGEST)
        # What it had said is in the pipe still; it ends where the process died.
        while mine.poll(0):
            assert mine.recv() == 201
            acknowledged += 1
    except EOFError:
        pass
    finally:
        mine.close()
    return acknowledged


def _store(config: Config, survey_hash: str, bodies: list[bytes], statuses: Connection) -> None:
    # What takes reports in a server, without the pages around it, which take seconds to load.
    client = Client(Intake(config, Store(config, Writer), _nothing_else))
    statuses.send("ready")
    for body in bodies:
        path = f"/api/surveys/{survey_hash}/reports"
        statuses.send(client.post(path, data=body, content_type="application/json").status_code)


def _nothing_else(environ: object, start_response: object) -> Iterable[bytes]:
    raise AssertionError("nothing but reports is sent here")
