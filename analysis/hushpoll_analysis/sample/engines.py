"""The same counts from a query engine: DuckDB on one machine, Spark on many, both through Ibis.

Ibis was chosen because one expression compiles to both dialects, so what is tested on DuckDB is what runs on a
cluster. Only counts leave the engine: a report on 10^9 answers moves a few kilobytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.engine_codes import NOT_ASKED, EngineGroups, engine_groups
from hushpoll_analysis.sample.engine_sums import check_present, digit_at, digit_rows
from hushpoll_analysis.sample.members import with_member_counts
from hushpoll_analysis.sample.tally import (
    COLUMN_SUFFIX,
    Counts,
    Tally,
    check_columns,
    column_of,
    foreign_code,
    group_names,
    grouping_column,
    grouping_names,
    grouping_question,
    report_names,
    total_of,
)

_DIGIT = "(digit)"
_HEXADECIMAL = "0123456789abcdef"
_SUMS = ["n", "weight", "weight_squared"]


def count_expression(
    table: Any,
    columns: Mapping[str, int],
    group: str | None = None,
    exact: bool = False,
    weights: str | None = None,
) -> Any:
    """Return one Ibis expression whose rows are (question, place, group, code, n), and sums of weights where wanted.

    Groups are reports, as text; `exact` ones stay as they are, because each engine writes True in its own way.

    Each question is one GROUP BY over one column, glued by UNION ALL, so columnar engines read every column once. A
    column of hexadecimal digits is counted digit by digit: each stands for four options.
    """
    ibis = _ibis()
    parts = []
    for column, digits in columns.items():
        counted, code = _count_table(ibis, table, column, digits, group, weights)
        parts.append(
            counted.select(
                grp=_group_of(ibis, counted, group, exact),
                place=counted["place"].cast("int64") if digits else ibis.literal(0, type="int64"),
                code=counted[code].cast("int64"),
                question=ibis.literal(column),
                **{name: counted[name] for name in (_SUMS if weights else _SUMS[:1])},
            )
        )
    if len(parts) > 1:
        return ibis.union(*parts)
    return parts[0]


def _group_of(ibis: Any, counted: Any, group: str | None, exact: bool) -> Any:
    if group is None:
        return ibis.literal("")
    if exact:
        return counted["grp"]
    return counted["grp"].cast("string")


def _count_table(
    ibis: Any, table: Any, column: str, digits: int, group: str | None, weights: str | None
) -> tuple[Any, str]:
    """Count one column, within groups where there are any; give the counts and the name of the column with the codes.

    Grouped by the columns as they are, and named afterwards: engines count small integers by their place.
    """
    # The column of groups may be called anything, also what a column of ours is called.
    keys = {"grp": table[group]} if group else {}
    beside = keys | ({"weight": table[weights].cast("float64")} if weights else {})
    code = column
    chosen = table
    if digits:
        cut = table.select(**digit_rows(ibis, table[column], 0, digits), **beside)
        chosen, code = cut.select(*beside, "place", code=digit_at(ibis, cut.text, cut.place)), "code"
    elif beside:
        chosen = table.select(column, **beside)
    sums = {"n": chosen.count()}
    if weights:
        sums |= {"weight": chosen.weight.sum(), "weight_squared": (chosen.weight * chosen.weight).sum()}
    return chosen.group_by([*keys, *(["place"] if digits else []), code]).agg(**sums), code


def tally_table(survey: Survey, table: Any, by: str | None = None) -> Tally:
    """Count the reports of an Ibis table with columns `<question id>_reported`."""
    columns = {column_of(entry.id): sampler(entry.channel).digits for entry in survey.entries}
    grouping = grouping_column(survey, by)
    check_columns(table.columns, list(columns), grouping, "table")
    _check_reports(survey, table, columns)
    if by is None:
        return _collect(survey, count_expression(table, columns).execute())
    counted: dict[EngineGroups, pd.DataFrame] = {}
    tallies = []
    for name in grouping_names(survey, by):
        groups = engine_groups(survey, name)
        # Options that one column, or one digit, tells are counted once.
        source = EngineGroups(groups.column, groups.digit)
        if source not in counted:
            counted[source] = _grouped_counts(table, columns, source, grouping is not None)
        rows = groups.merge(counted[source], "grp", ["question", "place", "code"], ["n"])
        if grouping:
            rows = _name_groups(rows, "grp", grouping)
        tallies.append(_collect_by(survey, rows, name, grouping))
    if tallies[0].by == by:
        return tallies[0]
    return replace(tallies[0], by=by, joint={}, by_option=tuple(tallies))


def _grouped_counts(
    table: Any, columns: Mapping[str, int], source: EngineGroups, exact: bool
) -> pd.DataFrame:
    """Count within the groups of a column, or of one digit of it."""
    table, group = _with_groups(table, source)
    rows: pd.DataFrame = count_expression(table, columns, group, exact).execute()
    return rows


def _name_groups(rows: pd.DataFrame, column: str, grouping: str) -> pd.DataFrame:
    """Name exact groups as the other readers do; refuse empty cells."""
    if rows[column].isna().any():
        raise AnalysisError(f'table: column "{grouping}" has empty cells', "fill them before grouping by it")
    return rows.assign(**{column: group_names(rows[column])})


def _with_groups(table: Any, source: EngineGroups) -> tuple[Any, str]:
    """Return the table with the column to group by, and its name."""
    if source.digit is None:
        return table, source.column
    digit = digit_at(_ibis(), table[source.column], source.digit)
    return table.mutate(**{_DIGIT: digit}), _DIGIT


def weighted_counts(survey: Survey, table: Any, weights: str, by: str | None = None) -> pd.DataFrame:
    """Add up weights instead of counting: what weighted shares need of a table that is too large to read.

    `weights` names the column of the weights; `by` a question, one option (`question[option]`) or a column that was not
    randomized, within whose groups they are added up. The result has a row for each question or block, group and
    report: `n`, the sum of `weight`, the sum of `weight_squared`. Where reports are sets of options, it has a row for
    each `question[option]`: not held (0), or held (1).
    """
    columns = {column_of(entry.id): sampler(entry.channel).digits for entry in survey.entries}
    grouping = grouping_column(survey, by)
    check_columns(table.columns, list(columns), grouping, "table")
    check_present(weights, table.columns, "table")
    _check_reports(survey, table, columns)
    _check_weights(table, weights)
    groups = None if by is None else _one_grouping(survey, by)
    group = None
    if groups is not None:
        table, group = _with_groups(table, groups)
    rows = count_expression(table, columns, group, grouping is not None, weights).execute()
    rows = rows.rename(columns={"grp": "group"})
    rows = rows.assign(question=rows["question"].str.removesuffix(COLUMN_SUFFIX))
    _check_codes(survey, rows)
    if grouping is not None:
        rows = _name_groups(rows, "group", grouping)
    if groups is not None:
        rows = groups.merge(rows, "group", ["question", "place", "code"], _SUMS)
    if by is not None and grouping is None:
        rows = rows[rows["group"] != NOT_ASKED]
    frame = pd.concat([_options(entry, rows[rows["question"] == entry.id]) for entry in survey.entries])
    order = ["question", "group", "code"]
    frame = frame.sort_values(order, ignore_index=True)
    return frame[[*order, *_SUMS]].astype({"n": np.int64, "code": np.int64})


def _one_grouping(survey: Survey, by: str) -> EngineGroups:
    names: tuple[str, ...] = (by,)
    if not grouping_column(survey, by):
        names = grouping_names(survey, by)
    if len(names) > 1:
        raise AnalysisError(
            f'"{by}" speaks of several options at once', f"add up by one of them, as in {names[0]!r}"
        )
    return engine_groups(survey, by)


def _options(entry: Question | Block, rows: pd.DataFrame) -> pd.DataFrame:
    """Take the sums of a bitmap's digits apart into sums of options: held (1) or not (0), named like columns."""
    report_sampler = sampler(entry.channel)
    if not report_sampler.digits:
        return rows
    option_sums = []
    for group, mine in rows.groupby("group", sort=False):
        for option, label in enumerate(entry.labels):
            here = mine[mine["place"] == report_sampler.digits - 1 - option // 4]
            held = here["code"].to_numpy() >> (option % 4) & 1
            sums = here.groupby(held)[_SUMS].sum().reset_index(names="code")
            option_sums.append(sums.assign(question=f"{entry.id}[{label}]", group=group))
    if option_sums:
        return pd.concat(option_sums)
    return rows


def _check_reports(survey: Survey, table: Any, columns: Mapping[str, int]) -> None:
    """Refuse columns of another type, and text that is no set of as many options as a report holds."""
    for column, digits in columns.items():
        kind = table[column].type()
        if not (kind.is_string() if digits else kind.is_integer()):
            expected = "integers"
            if digits:
                expected = f"text of {digits} hexadecimal digits"
            raise AnalysisError(f'table: column "{column}" has type {kind}', f"reports are {expected}")
    for question in survey.entries:
        column, report_sampler = column_of(question.id), sampler(question.channel)
        if not report_sampler.digits:
            continue
        text = table[column]
        legal = text.re_search(_spelling(report_sampler.options)) & (
            _options_held(text) == report_sampler.held
        )
        # The length too: where an engine is Java, the end of a pattern may stand before a line's end.
        wrong = text.isnull() | (text.length() != report_sampler.digits) | ~legal
        wrong_rows = table.filter(wrong).select(column).limit(1).execute()
        if len(wrong_rows):
            raise foreign_code(question, wrong_rows[column].iloc[0], "table")


def _spelling(options: int) -> str:
    """Return the pattern of a set: lower-case digits, the first of which may stand for fewer than four options."""
    digits, rest = -(-options // 4), options % 4
    first = _HEXADECIMAL
    if rest:
        first = _HEXADECIMAL[: 2**rest]
    return f"^[{first}][{_HEXADECIMAL}]{{{digits - 1}}}$"


def _options_held(text: Any) -> Any:
    """Return how many options a set holds: how often its digits stand for one, two, three and four of them."""
    held = text.translate(_HEXADECIMAL, "".join(str(digit.bit_count()) for digit in range(16)))
    digit_counts = [
        number * (held.length() - held.replace(str(number), "").length()) for number in range(1, 5)
    ]
    return digit_counts[0] + digit_counts[1] + digit_counts[2] + digit_counts[3]


def _check_weights(table: Any, weights: str) -> None:
    """Refuse weights that are missing, or negative."""
    values = table[weights].cast("float64")
    missing = table.filter(values.isnull() | values.isnan() | values.isinf()).count().execute()
    if missing:
        raise AnalysisError(f"{weights}: {missing:,} weights are missing or no numbers", "give each row one")
    least = values.min().execute()
    if least < 0:
        raise AnalysisError(f"{weights}: weight {least:g} is negative", "weights must be 0 or more")


def _check_codes(survey: Survey, rows: pd.DataFrame) -> None:
    """Refuse numbers that are no reports; sets were checked as text."""
    for entry in survey.entries:
        report_sampler, codes = sampler(entry.channel), rows.loc[rows["question"] == entry.id, "code"]
        wrong = None
        if not report_sampler.digits:
            wrong = report_sampler.read(codes.to_numpy())[1]
        if wrong is not None:
            raise foreign_code(entry, codes.iloc[wrong], "table")


def _collect(survey: Survey, rows: Any) -> Tally:
    """Return the counts of all reports from the rows of the GROUP BY."""
    counts = {name: table.sum(axis=0) for name, table in _tables(survey, rows, [""]).items()}
    first = survey.entries[0]
    return Tally(survey, total_of(first, counts[first.id]), with_member_counts(survey, counts))


def _collect_by(survey: Survey, rows: Any, by: str, grouping: str | None) -> Tally:
    """Return the counts within groups; those who were not asked are in the total only."""
    if grouping:
        names = sorted(set(rows["grp"]))
    else:
        names = [*report_names(survey, by), NOT_ASKED]
    tables = _tables(survey, rows, names)
    counts = {name: table.sum(axis=0) for name, table in tables.items()}
    first = survey.entries[0]
    if grouping:
        asked_rows = slice(None)
    else:
        asked_rows = slice(-1)
    grouping_id = None
    if not grouping:
        grouping_id = grouping_question(survey, by).id
    joint = {name: table[asked_rows] for name, table in tables.items() if name != grouping_id}
    counted = with_member_counts(survey, counts)
    return Tally(
        survey,
        total_of(first, counts[first.id]),
        counted,
        by,
        with_member_counts(survey, joint),
        tuple(names) if grouping else None,
    )


def _tables(survey: Survey, rows: Any, names: list[str]) -> dict[str, Counts]:
    parts = dict(tuple(rows.groupby("question", sort=False)))
    return {
        entry.id: _cells(entry, parts.get(column_of(entry.id), rows[:0]), names) for entry in survey.entries
    }


def _cells(question: Question | Block, rows: Any, names: list[str]) -> Counts:
    """Return the counts of one question, a row for each group, from the rows of the GROUP BY."""
    report_sampler = sampler(question.channel)
    outcomes = question.channel.outcomes
    if report_sampler.digits:
        outcomes = 16
    for group, code in zip(rows["grp"], rows["code"], strict=True):
        if not (code == code and 0 <= code < outcomes) or group not in names:
            raise foreign_code(question, code, "table")
    table = np.zeros((len(names), report_sampler.cells), dtype=np.int64)
    for number, name in enumerate(names):
        mine = rows
        if len(names) != 1:
            mine = rows[rows["grp"] == name]
        codes, times, positions = (mine[key].to_numpy(dtype=np.int64) for key in ("code", "n", "place"))
        if report_sampler.digits:
            counted = report_sampler.tally_digits(positions, codes, times)
        else:
            counted = report_sampler.tally_counted(codes, times)
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
