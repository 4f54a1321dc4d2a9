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

# The group of those who were not asked a block's question.
_NOT_ASKED = "-1"


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
            cut = table.select(**_digits(ibis, table[column], digits), **keys)
            places = {"place": cut["place"]}
            chosen = cut.select(*keys, **places, code=_digit(ibis, cut.text, cut.place))
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
    _check_text(survey, table)
    rows = count_expression(table, columns, _group_column(survey, by, grouping)).execute()
    rows = _said(survey, rows, by, grouping, "grp", ["question", "place", "code"], ["n"])
    if grouping and rows["grp"].isna().any():
        raise AnalysisError(f'table: column "{grouping}" has empty cells', "fill them before grouping by it")
    return _collect(survey, rows, by, grouping)


def _group_column(survey: Survey, by: str | None, grouping: str | None) -> str | None:
    """Give the column that the engine groups by; for a question of a block it is the block's."""
    if by is None or grouping is not None:
        return grouping
    found = survey.block_of(question_of(survey, by))
    return column_of(by if found is None else found[0].id)


def _said(
    survey: Survey,
    rows: pd.DataFrame,
    by: str | None,
    grouping: str | None,
    group: str,
    keys: list[str],
    sums: list[str],
) -> pd.DataFrame:
    """Put the groups of a block's reports together by what these say of one of its questions; "-1" did not ask it."""
    found = None if by is None or grouping is not None else survey.block_of(question_of(survey, by))
    if found is None:
        return rows
    block, place = found
    whole = sampler(block.channel)
    reports = pd.to_numeric(rows[group], errors="coerce").to_numpy(dtype=np.float64)
    codes, wrong = whole.read(reports)
    if wrong is not None:
        raise foreign_code(block, rows[group].iloc[wrong], "table")
    told = whole.part_codes(whole.parts[place], codes)
    return (
        rows.assign(**{group: told.astype(str)})
        .groupby([*keys, group], as_index=False, sort=False)[sums]
        .sum()
    )


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
        A row for each question or block, group and report: `n`, the sum of `weight`, the sum of `weight_squared`. Where
        reports are sets of options, a row for each `question[option]`: not held (0), or held (1).
    """
    ibis = _ibis()
    columns = {column_of(entry.id): sampler(entry.channel).digits for entry in survey.entries}
    grouping = grouping_column(survey, by)
    check_columns(table.columns, list(columns), grouping, "table")
    if weights not in table.columns:
        raise AnalysisError(f'table: no column "{weights}"', "name the column of the weights")
    _check_text(survey, table)
    group = _group_column(survey, by, grouping)
    parts = []
    for column, digits in columns.items():
        chosen = table.select(
            group=table[group].cast("string") if group else ibis.literal(""),
            weight=table[weights].cast("float64"),
            **(_digits(ibis, table[column], digits) if digits else _whole(ibis, table[column])),
        )
        if digits:
            chosen = chosen.mutate(code=_digit(ibis, chosen.text, chosen.place))
        summed = chosen.group_by(["group", "place", "code"]).agg(
            n=ibis._.count(), weight=ibis._.weight.sum(), weight_squared=(ibis._.weight * ibis._.weight).sum()
        )
        parts.append(summed.mutate(question=ibis.literal(column.removesuffix(COLUMN_SUFFIX))))
    whole = ibis.union(*parts) if len(parts) > 1 else parts[0]
    order = ["question", "group", "code"]
    rows = _said(survey, whole.execute(), by, grouping, "group", ["question", "place", "code"], _SUMS)
    if by is not None and grouping is None:
        rows = rows[rows["group"] != _NOT_ASKED]
    frame = pd.concat([_options(entry, rows[rows["question"] == entry.id]) for entry in survey.entries])
    frame = frame.sort_values(order, ignore_index=True)
    return frame[[*order, *_SUMS]].astype({"n": np.int64, "code": np.int64})


_SUMS = ["n", "weight", "weight_squared"]


def _whole(ibis: Any, column: Any) -> dict[str, Any]:
    return {"code": column.cast("int64"), "place": ibis.literal(0, type="int64")}


def _digits(ibis: Any, column: Any, digits: int) -> dict[str, Any]:
    """Give one row for each digit of a bitmap."""
    return {"text": column, "place": ibis.range(0, digits).unnest().cast("int64")}


def _digit(ibis: Any, text: Any, place: Any) -> Any:
    """Give which digit stands at a place: where it stands in the list of all, or -1."""
    return ibis.literal("0123456789abcdef").find(text.substr(place, 1)).cast("int64")


def _options(entry: Question | Block, rows: pd.DataFrame) -> pd.DataFrame:
    """Take the sums of a bitmap's digits apart into sums of options: held (1) or not (0), named like columns."""
    whole = sampler(entry.channel)
    if not whole.digits:
        return rows
    found = []
    for group, mine in rows.groupby("group", sort=False):
        for option, label in enumerate(entry.labels):
            here = mine[mine["place"] == whole.digits - 1 - option // 4]
            held = here["code"].to_numpy() >> (option % 4) & 1
            sums = here.groupby(held)[_SUMS].sum().reset_index(names="code")
            found.append(sums.assign(question=f"{entry.id}[{label}]", group=group))
    return pd.concat(found) if found else rows


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
        names = [*map(str, range(question_of(survey, by).channel.outcomes)), _NOT_ASKED]
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
    kept = slice(None) if grouping else slice(-1)
    joint = {name: table[kept] for name, table in tables.items() if name != by}
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
