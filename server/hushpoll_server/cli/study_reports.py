"""A survey's counted reports for the analysis, from a database that is named by its URL."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from hushpoll_analysis.sample.databases import DatabaseReports
from hushpoll_client import HushpollError
from hushpoll_client.delivery.report import FEWEST_REPORTS
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from hushpoll_server.config import SQLITE_FILE, Config
from hushpoll_server.store.surveys import open_store

from .stored import find_survey, refuse_missing

__all__ = ["read_reports"]


def read_reports(url: str, survey_hash: str) -> DatabaseReports:
    """Read a survey and its counted reports; raise HushpollError if there are fewer than results are shown of."""
    config = _config(url)
    refuse_missing(config)
    with closing(open_store(config)) as store:
        name = find_survey(store, survey_hash)
        survey, state = store.get_survey(name), store.state(name)
        assert survey is not None
        assert state is not None
        n = store.sealed_count(name)
        if n < FEWEST_REPORTS:
            raise HushpollError(
                f"survey {name[:12]}: {n} reports are counted, and results are shown from {FEWEST_REPORTS} on",
                "wait for more reports",
            )
        return DatabaseReports(
            survey, tuple(store.record_parts(name)), state.display_threshold, state.min_distinguishable_batch
        )


def _config(url: str) -> Config:
    """Return this machine's settings with another database; the key of one in SQLite is in its folder."""
    config = Config.from_environment()
    try:
        parts = make_url(url)
    except ArgumentError:
        raise HushpollError("this is not the URL of a database", "write it as in DATABASE_URL") from None
    if parts.get_backend_name() != "sqlite":
        return replace(config, database_url=url)
    path = Path(parts.database or "")
    if path.name == SQLITE_FILE:
        return replace(config, data=path.parent, database_url="")
    return replace(config, data=path.parent, database_url=url)
