"""Reports in a server's database, named by its URL. The package that keeps the database registers how to read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points

from hushpoll_client import Survey

from hushpoll_analysis.errors import AnalysisError

GROUP = "hushpoll.databases"


@dataclass(frozen=True, repr=False)
class DatabaseReports:
    """The counted reports of one survey."""

    survey: Survey
    records: tuple[bytes, ...]
    fewest: int
    """How many reports a group by link needs to be shown on its own."""
    batch: float
    """The fewest reports that were released together."""


def is_database_url(data: object) -> bool:
    """Return whether data are named by the URL of a database."""
    return isinstance(data, str) and "://" in data


def read_database(url: str, survey_hash: str) -> DatabaseReports:
    """Read the counted reports of a survey, by its hash or the beginning of it."""
    for entry_point in entry_points(group=GROUP):
        read_reports: Callable[[str, str], DatabaseReports] = entry_point.load()
        return read_reports(url, survey_hash)
    raise AnalysisError("a database needs the server's libraries", "run: pip install 'hushpoll[server]'")
