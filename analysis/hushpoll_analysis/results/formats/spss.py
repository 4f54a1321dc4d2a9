"""Reports as an SPSS file (.sav) with labels, a missing code, and what randomized each column."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from .base import ReportFormat, ReportRelease

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Survey

NO_REPORT = -9
"""The user-missing code of a row without a report."""
NOTE = 80
"""Bytes of a line of a file's document."""


def _write(survey: Survey, frame: pd.DataFrame, path: Path, release: ReportRelease) -> None:
    import pandas as pd

    from hushpoll_analysis.results.labels import SPSS_NAME, WARNING, column_names

    from . import statistical

    library = statistical.pyreadstat()
    names = column_names(survey.entries, SPSS_NAME, fold_case=True)
    listed = {name: entry for name, entry in zip(names, survey.entries, strict=True) if entry.report_labels}
    columns = {
        name: column.astype("float64").fillna(NO_REPORT) if name in listed else column.astype(str)
        for name, column in statistical.columns_of(survey, names, frame).items()
    }
    notes = [
        line
        for name, facts in statistical.channel_notes(survey, names).items()
        for line in _lines(f"{name}: {facts}")
    ]
    library.write_sav(
        pd.DataFrame(columns),
        str(path),
        file_label=statistical.file_label(survey)[:64],
        column_labels=statistical.variable_labels(survey, columns, 256),
        variable_value_labels={
            name: statistical.codes(entry) | {NO_REPORT: statistical.MISSING}
            for name, entry in listed.items()
        },
        missing_ranges={name: [{"lo": NO_REPORT, "hi": NO_REPORT}] for name in listed},
        variable_measure=dict.fromkeys(columns, "nominal"),
        note=[*_lines(WARNING), *_lines(f"Survey {survey.hash}"), *notes],
    )


def _lines(text: str) -> list[str]:
    """Cut a text into the lines of a file's document."""
    return [text[start : start + NOTE] for start in range(0, len(text), NOTE)]


def _is_available() -> bool:
    return find_spec("pyreadstat") is not None


SPSS = ReportFormat(name="spss", ending="sav", write=_write, is_available=_is_available)
