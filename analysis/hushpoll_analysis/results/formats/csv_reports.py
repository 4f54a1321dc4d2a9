"""Reports as CSV, one row each."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushpoll_client.survey.group import FIELD

from .base import ReportFormat, ReportRelease

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Survey

ROWS = 1 << 18
"""Rows that are written at once."""


def _write(survey: Survey, frame: pd.DataFrame, path: Path, release: ReportRelease) -> None:
    from hushpoll_analysis.sample.guarding import guard_cell
    from hushpoll_analysis.sample.tally import report_columns

    reports = report_columns(survey, frame)
    quoting: Any = csv.QUOTE_NONE
    if FIELD in reports.columns:  # names of groups are a designer's text; everything else is digits
        reports = reports.assign(**{FIELD: reports[FIELD].map(guard_cell)})
        quoting = csv.QUOTE_NONNUMERIC
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(f'"{name}"' for name in reports.columns) + "\n")
        for start in range(0, len(reports), ROWS):
            block = reports.iloc[start : start + ROWS]
            block.to_csv(file, index=False, header=False, lineterminator="\n", quoting=quoting)
            if release.progress is not None:
                release.progress(len(block))


CSV_REPORTS = ReportFormat(name="csv", ending="csv", write=_write)
