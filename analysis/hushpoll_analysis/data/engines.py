"""The same counts from a query engine: DuckDB on one machine, Spark on many, both through Ibis.

Ibis was chosen because one expression compiles to both dialects, so what is tested on DuckDB is what runs on a
cluster. Only counts leave the engine: a report on 10^9 answers moves a few kilobytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hushpoll_client import Survey

from hushpoll_analysis.errors import AnalysisError

from .tally import Tally, check_columns, column_of, foreign_code, grouping_column, question_of

__all__ = ["count_expression", "tally_table"]


def count_expression(table: Any, columns: list[str], group: str | None = None) -> Any:
    """Give one Ibis expression whose rows are (question, group, code, n).

    Each question is one GROUP BY over one column, glued by UNION ALL, so columnar engines read every column once.
    """
    ibis = _ibis()
    parts = []
    for column in columns:
        keys = {
            "grp": table[group].cast("string") if group else ibis.literal(""),
            "code": table[column].cast("int64"),
        }
        counted = table.select(**keys).group_by(["grp", "code"]).agg(n=ibis._.count())
        parts.append(counted.mutate(question=ibis.literal(column)))
    return ibis.union(*parts) if len(parts) > 1 else parts[0]


def tally_table(survey: Survey, table: Any, by: str | None = None) -> Tally:
    """Count the reports of an Ibis table with columns `<question id>_reported`."""
    columns = [column_of(question.id) for question in survey.questions]
    grouping = grouping_column(survey, by)
    check_columns(table.columns, columns, grouping, "table")
    for column in columns:
        if not table[column].type().is_integer():
            raise AnalysisError(
                f'table: column "{column}" has type {table[column].type()}', "reports are integers"
            )
    group = None if by is None else (grouping or column_of(by))
    rows = count_expression(table, columns, group).execute()
    if grouping and rows["grp"].isna().any():
        raise AnalysisError(f'table: column "{grouping}" has empty cells', "fill them before grouping by it")
    return _collect(survey, rows, by, grouping)


def _collect(survey: Survey, rows: Any, by: str | None, grouping: str | None) -> Tally:
    if by is not None and grouping is None:
        names = [str(code) for code in range(question_of(survey, by).channel.outcomes)]
    else:
        names = sorted(set(rows["grp"].dropna()))
    places = {name: index for index, name in enumerate(names)}
    tables = {q.id: np.zeros((len(names), q.channel.outcomes), dtype=np.int64) for q in survey.questions}
    questions = {column_of(question.id): question for question in survey.questions}
    for name, group, code, n in zip(rows["question"], rows["grp"], rows["code"], rows["n"], strict=True):
        question = questions[name]
        if not (code == code and 0 <= code < question.channel.outcomes) or group not in places:
            raise foreign_code(question, code, "table")
        tables[question.id][places[group], int(code)] += int(n)
    counts = {name: table.sum(axis=0) for name, table in tables.items()}
    total = int(next(iter(counts.values())).sum())
    if by is None:
        return Tally(survey, total, counts)
    joint = {name: table for name, table in tables.items() if name != by}
    return Tally(survey, total, counts, by, joint, tuple(names) if grouping else None)


def _ibis() -> Any:
    try:
        import ibis
    except ImportError:
        raise AnalysisError(
            "query engines need Ibis, which is not installed", 'run pip install "hushpoll[scale]"'
        ) from None
    return ibis
