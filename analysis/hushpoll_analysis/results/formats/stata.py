"""Reports as a Stata file (.dta) with labels, a missing code, and what randomized each column in its notes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .base import ReportFormat, ReportRelease

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Survey

NO_REPORT = "a"
"""Stata's extended missing value .a, of a row without a report."""


def _write(survey: Survey, frame: pd.DataFrame, path: Path, release: ReportRelease) -> None:
    import pandas as pd

    from hushpoll_analysis.results.labels import STATA_LABEL, STATA_NAME, WARNING, column_names

    from . import statistical
    from .stata_notes import VERSION, WHOLE, write_notes

    library = statistical.pyreadstat()
    names = column_names(survey.entries, STATA_NAME, fold_case=False)
    listed = {name: entry for name, entry in zip(names, survey.entries, strict=True) if entry.report_labels}
    columns = {
        name: _with_extended_missing(column) if name in listed else column.astype(str)
        for name, column in statistical.columns_of(survey, names, frame).items()
    }
    incomplete = [name for name in listed if columns[name].dtype == object]
    value_labels = {name: statistical.codes(entry) for name, entry in listed.items()}
    for name in incomplete:
        value_labels[name][NO_REPORT] = statistical.MISSING
    library.write_dta(
        pd.DataFrame(columns),
        str(path),
        file_label=statistical.file_label(survey)[:80],
        column_labels=statistical.variable_labels(survey, columns, STATA_LABEL),
        version=VERSION,
        variable_value_labels=value_labels,
        missing_user_values={name: [NO_REPORT] for name in incomplete},
    )
    notes = {name: [facts] for name, facts in statistical.channel_notes(survey, names).items()}
    write_notes(path, {WHOLE: [WARNING, f"Survey {survey.hash}"], **notes})


def _with_extended_missing(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return whole numbers, and Stata's .a where there is no report."""
    if not column.isna().any():
        return column.astype("int32")
    return column.astype("Int64").astype(object).where(column.notna(), NO_REPORT)


def _is_available() -> bool:
    return find_spec("pyreadstat") is not None


STATA = ReportFormat(name="stata", ending="dta", write=_write, is_available=_is_available)
