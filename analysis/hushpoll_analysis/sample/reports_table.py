"""Reports from an iterable as a table with one row each: as devices send them, as lists, or as rows with names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey.group import FIELD

from hushpoll_analysis.errors import AnalysisError

from .files import read_frame
from .tally import column_of


def reports_table(survey: Survey, reports: Iterable[Any]) -> pd.DataFrame:
    """Return one row per report; the iterable is read to its end.

    A report is the list of its codes in the survey's order, a mapping with such a list under "reports" (and the number
    of a group by link under "group"), a mapping of columns to values, or the bytes of a record of the database.
    """
    listed = list(reports)
    if not listed:
        raise AnalysisError("data: there are no reports", "give at least two")
    if isinstance(listed[0], bytes):
        return read_frame(survey, listed)
    return pd.DataFrame([_row(survey, report, number) for number, report in enumerate(listed)])


def _row(survey: Survey, report: Any, number: int) -> dict[str, Any]:
    columns = [column_of(entry.id) for entry in survey.entries]
    if isinstance(report, Mapping) and "reports" not in report:
        return dict(report)
    codes = report
    if isinstance(report, Mapping):
        codes = report["reports"]
    if not isinstance(codes, Sequence) or isinstance(codes, str) or len(codes) != len(columns):
        raise AnalysisError(
            f"data: report {number} is {report!r}",
            f"give a list of {len(columns)} codes, or a mapping of columns",
        )
    row = dict(zip(columns, codes, strict=True))
    if isinstance(report, Mapping) and "group" in report:
        row[FIELD] = survey.groups[report["group"]]
    return row
