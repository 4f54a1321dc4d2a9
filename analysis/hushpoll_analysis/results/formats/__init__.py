"""The formats of output: of results, and of reports. A new one is a file of this folder and an entry here.

Importing them loads no libraries of the analysis: the command line and the server list them at start.
"""

from __future__ import annotations

from pathlib import Path

from .base import ReportFormat as ReportFormat
from .base import ReportRelease as ReportRelease
from .base import ResultsFormat as ResultsFormat
from .csv_reports import CSV_REPORTS
from .csv_table import CSV_TABLE
from .html_page import HTML_PAGE
from .json_object import JSON_OBJECT
from .parquet import PARQUET
from .pdf import ONE_PAGE_PDF, PDF
from .plain_text import PLAIN_TEXT
from .spss import SPSS
from .stata import STATA

RESULTS_FORMATS: tuple[ResultsFormat, ...] = (
    ONE_PAGE_PDF,
    PDF,
    HTML_PAGE,
    CSV_TABLE,
    JSON_OBJECT,
    PLAIN_TEXT,
)
REPORT_FORMATS: tuple[ReportFormat, ...] = (
    CSV_REPORTS,
    PARQUET,
    SPSS,
    STATA,
)


def available_formats() -> tuple[ResultsFormat, ...]:
    """Return the formats of results whose libraries are installed, as pages offer them."""
    return tuple(entry for entry in RESULTS_FORMATS if entry.is_available())


def format_by_name(name: str) -> ResultsFormat:
    """Return the format of results with this name; raise KeyError if there is none."""
    for entry in RESULTS_FORMATS:
        if entry.name == name:
            return entry
    raise KeyError(name)


def format_by_ending(ending: str) -> ResultsFormat:
    """Return the format of results whose files end so; raise KeyError if there is none."""
    for entry in RESULTS_FORMATS:
        if ending in (entry.ending, *entry.other_endings):
            return entry
    raise KeyError(ending)


def by_file_name(path: str | Path | None) -> ResultsFormat:
    """Return the format that a file's name means: plain text if it means none."""
    name = Path(path or "").name.lower()
    # The longest ending first: summary.pdf is not the whole report.
    endings = {ending: entry for entry in RESULTS_FORMATS for ending in (entry.ending, *entry.other_endings)}
    for ending in sorted(endings, key=len, reverse=True):
        if name.endswith(f".{ending}"):
            return endings[ending]
    return PLAIN_TEXT
