"""What the files for SPSS and Stata have in common: labels, and what randomized each column."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.formatting import epsilon_text
from hushpoll_client.survey import Question
from hushpoll_client.survey.group import FIELD

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.results.asked import channel_facts
from hushpoll_analysis.results.labels import GROUP_TEXT
from hushpoll_analysis.sample.tally import column_of

MISSING = "No report"


def pyreadstat() -> Any:
    """Return the library that writes these files; say what to install if there is none."""
    try:
        import pyreadstat as library
    except ImportError:
        raise AnalysisError(
            "pyreadstat is not installed, which writes .sav and .dta", 'run pip install "hushpoll[files]"'
        ) from None
    return library


def columns_of(survey: Survey, names: Sequence[str], frame: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """Return the columns of reports under the names that the program accepts, and the groups by link."""
    columns = {name: frame[column_of(entry.id)] for name, entry in zip(names, survey.entries, strict=True)}
    if survey.groups and FIELD in frame.columns:
        columns[FIELD] = frame[FIELD]
    return columns


def variable_labels(survey: Survey, columns: Mapping[str, Any], limit: int) -> list[str | None]:
    """Return the label of each column, at most `limit` bytes long."""
    labels: list[str | None] = [_short_label(entry, limit) for entry in survey.entries]
    if FIELD in columns:
        labels.append(GROUP_TEXT[:limit])
    return labels


def codes(question: Question | Block) -> dict[Any, str]:
    """Return the label of each code of a report."""
    return {code: label[:120] for code, label in enumerate(question.report_labels)}


def file_label(survey: Survey) -> str:
    """Return the label of the file."""
    return f"hushpoll {survey.hash[:12]}: randomized reports, not true answers"


def channel_notes(survey: Survey, names: Sequence[str]) -> dict[str, str]:
    """Return what randomized each column, as JSON."""
    return {
        name: json.dumps(channel_facts(survey, entry))
        for name, entry in zip(names, survey.entries, strict=True)
    }


def _short_label(question: Question | Block, limit: int) -> str:
    """Return the text with what randomized it; the latter is kept whole."""
    tail = f" [reported; {question.mechanism.name}, eps {epsilon_text(question.epsilon)}]"
    room = max(limit - len(tail.encode()), 0)
    head = question.text
    while len(head.encode()) > room:
        head = head[:-1]
    return (head + tail)[:limit]
