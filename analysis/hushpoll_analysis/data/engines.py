"""The same counts from a query engine: DuckDB on one machine, Spark on many, both through Ibis.

Ibis was chosen because one expression compiles to both dialects, so what is tested on DuckDB is what runs on a
cluster. Only counts leave the engine: a report on 10^9 answers moves a few kilobytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.errors import AnalysisError

from .members import with_member_counts
from .tally import (
    COLUMN_SUFFIX,
    Counts,
    Tally,
    check_columns,
    column_of,
    foreign_code,
    grouping_column,
    grouping_question,
    question_of,
    refuse_as_group,
    total_of,
)

__all__ = ["count_expression", "tally_table", "weighted_counts"]


def count_expression(table: Any, columns: Mapping[str, int], group: str | None = None) -> Any:
    """Give one Ibis expression whose rows are (question, place, group, code, n).

    Each question is one GROUP BY over one column, glued by UNION ALL, so columnar engines read every column once. A
    column of so many hexadecimal digits is counted digit by digit: each stands for four options.
    """
    ibis = _ibis()
    parts = []
    for column, digits in columns.items():
        # Grouped by the columns as they are, and named afterwards: engines count small integers by their place.
        keys = {"grp": table[group]} if group else {}
        places: dict[str, Any] = {}
        if digits:
            # One row for each digit; which one it is, is where it stands in the list of all, or -1.
            cut = table.select(text=table[column], at=ibis.range(0, digits).unnest(), **keys)
            places = {"place": cut["at"].cast("int64")}
            digit = ibis.literal("0123456789abcdef").find(cut.text.substr(places["place"], 1)).cast("int64")
            chosen = cut.select(*keys, **places, code=digit)
        else:
            chosen = table.select(code=table[column], **keys)
        counted = chosen.group_by([*keys, *places, "code"]).agg(n=ibis._.count())
        parts.append(
            counted.select(
                grp=counted["grp"].cast("string") if group else ibis.literal(""),
                place=counted["place"] if digits else ibis.literal(0, type="int64"),
                code=counted["code"].cast("int64"),
                n=counted["n"],
                question=ibis.literal(column),
            )
        )
    return ibis.union(*parts) if len(parts) > 1 else parts[0]


def tally_table(survey: Survey, table: Any, by: str | None = None) -> Tally:
    """Count the reports of an Ibis table with columns `<question id>_reported`."""
    columns = {column_of(entry.id): sampler(entry.channel).digits for entry in survey.entries}
    grouping = grouping_column(survey, by)
    check_columns(table.columns, list(columns), grouping, "table")
    for column, digits in columns.items():
        kind = table[column].type()
        if not (kind.is_string() if digits else kind.is_integer()):
            wanted = f"text of {digits} hexadecimal digits" if digits else "integers"
            raise AnalysisError(f'table: column "{column}" has type {kind}', f"reports are {wanted}")
    if by is not None and grouping is None:
        if grouping_question(survey, by).id != by:
            raise AnalysisError(
                f'"{by}" is one option of many, and a query engine cannot group by it',
                "read the reports from a file",
            )
        refuse_as_group(question_of(survey, by))
        if question_of(survey, by).block is not None:
            raise AnalysisError(
                f'"{by}" stands in a block, and a query engine cannot group by it',
                "read the reports from a file",
            )
    _check_text(survey, table)
    group = None if by is None else (grouping or column_of(by))
    rows = count_expression(table, columns, group).execute()
    if grouping and rows["grp"].isna().any():
        raise AnalysisError(f'table: column "{grouping}" has empty cells', "fill them before grouping by it")
    return _collect(survey, rows, by, grouping)


def weighted_counts(survey: Survey, table: Any, weights: str, by: str | None = None) -> pd.DataFrame:
    """Add up weights instead of counting: what weighted shares need of a table that is too large to read.

    Parameters
    ----------
    survey : Survey
        What was asked.
    table : Ibis table
        Columns `<question id>_reported` and the weights; see `hushpoll_analysis.data.parts.engine_table`.
    weights : str
        The column of the weights.
    by : str, optional
        A question's id or a column that was not randomized: add up within its groups.

    Returns
    -------
    DataFrame
        A row for each question, group and report: `n`, the sum of `weight`, the sum of `weight_squared`.
    """
    ibis = _ibis()
    listed = [entry for entry in survey.entries if not sampler(entry.channel).digits]
    if not listed:
        raise AnalysisError(
            "no question of this survey has reports that are codes",
            "weigh a table in memory with weighted_estimate",
        )
    columns = [column_of(entry.id) for entry in listed]
    grouping = grouping_column(survey, by)
    check_columns(table.columns, columns, grouping, "table")
    if weights not in table.columns:
        raise AnalysisError(f'table: no column "{weights}"', "name the column of the weights")
    group = None if by is None else (grouping or column_of(by))
    weight = table[weights].cast("float64")
    parts = []
    for column in columns:
        keys = {"group": table[group].cast("string") if group else ibis.literal("")}
        chosen = table.select(**keys, code=table[column].cast("int64"), weight=weight)
        summed = chosen.group_by(["group", "code"]).agg(
            n=ibis._.count(), weight=ibis._.weight.sum(), weight_squared=(ibis._.weight * ibis._.weight).sum()
        )
        parts.append(summed.mutate(question=ibis.literal(column.removesuffix(COLUMN_SUFFIX))))
    whole = ibis.union(*parts) if len(parts) > 1 else parts[0]
    order = ["question", "group", "code"]
    frame: pd.DataFrame = whole.execute().sort_values(order, ignore_index=True)
    return frame[[*order, "n", "weight", "weight_squared"]]


def _check_text(survey: Survey, table: Any) -> None:
    """Refuse text of another length: its digits would be counted in the wrong places."""
    for question in survey.entries:
        column, digits = column_of(question.id), sampler(question.channel).digits
        if not digits:
            continue
        wrong = (
            table.filter(table[column].isnull() | (table[column].length() != digits)).select(column).limit(1)
        )
        found = wrong.execute()
        if len(found):
            raise foreign_code(question, found[column].iloc[0], "table")


def _collect(survey: Survey, rows: Any, by: str | None, grouping: str | None) -> Tally:
    if by is not None and grouping is None:
        names = [str(code) for code in range(question_of(survey, by).channel.outcomes)]
    else:
        names = sorted(set(rows["grp"].dropna()))
    tables = {}
    for question in survey.entries:
        mine = rows[rows["question"] == column_of(question.id)]
        tables[question.id] = _cells(question, mine, names)
    counts = {name: table.sum(axis=0) for name, table in tables.items()}
    first = survey.entries[0]
    total = total_of(first, counts[first.id])
    if by is None:
        return Tally(survey, total, with_member_counts(survey, counts))
    joint = {name: table for name, table in tables.items() if name != by}
    counts, joint = with_member_counts(survey, counts), with_member_counts(survey, joint)
    return Tally(survey, total, counts, by, joint, tuple(names) if grouping else None)


def _cells(question: Question | Block, rows: Any, names: list[str]) -> Counts:
    """Give the counts of one question, a row for each group, from the rows of the GROUP BY."""
    whole = sampler(question.channel)
    outcomes = 16 if whole.digits else question.channel.outcomes
    for group, code in zip(rows["grp"], rows["code"], strict=True):
        if not (code == code and 0 <= code < outcomes) or group not in names:
            raise foreign_code(question, code, "table")
    table = np.zeros((len(names), whole.cells), dtype=np.int64)
    for number, name in enumerate(names):
        mine = rows[rows["grp"] == name]
        codes, times, places = (mine[key].to_numpy(dtype=np.int64) for key in ("code", "n", "place"))
        counted = (
            whole.tally_digits(places, codes, times) if whole.digits else whole.tally_counted(codes, times)
        )
        table[number] = counted
    return table


def _ibis() -> Any:
    try:
        import ibis
    except ImportError:
        raise AnalysisError(
            "query engines need Ibis, which is not installed", 'run pip install "hushpoll[scale]"'
        ) from None
    return ibis
