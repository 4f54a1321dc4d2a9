"""Reports with a sample design, as many as a query engine can read: respondents who are alike are put together there.

What an estimate under a design needs is linear in sums over respondents with the same report, stratum, cluster and
margins. So one query a question, or a question and what makes the groups, gives a small table that tells all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.report import FEWEST_REPORTS
from tqdm import tqdm

from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.errors import AnalysisError

from .alike import HOW_TO_ADD, added
from .engine_groups import MOST_REPORTS, EngineGroups, engine_suffices, told_by
from .engine_sums import check_sums, digit_at, digit_rows, engine_sums, is_engine_table, weighed
from .files import column_names, tally
from .link_groups import folded_frame
from .members import NOT_TOGETHER
from .option_columns import OPTION
from .parts import engine_table, engine_tables, find_parts
from .tally import Tally, column_of, grouping_column

__all__ = ["MOST_ALIKE", "EngineReports"]

MOST_ALIKE = 500_000
"""Different rows that are kept of a question."""
_TEXT, _PLACE, _CODE = "(text)", "(place)", "(code)"


@dataclass(frozen=True)
class EngineReports:
    """Parquet files, which DuckDB reads some at a time, or the table of any query engine.

    Rows without a value in one of the columns `complete` are left out.
    """

    survey: Survey
    data: Any
    complete: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        if is_engine_table(self.data):
            return list(self.data.columns)
        return column_names(find_parts(self.survey, self.data)[0])

    def check(self, names: Iterable[str]) -> None:
        """Refuse a column that the data, or one of the files, do not have."""
        present, names = self.columns, list(names)
        missing = next((name for name in names if name not in present), None)
        if missing is not None:
            raise AnalysisError(
                f"there is no column {missing!r}", f"the columns are {', '.join(present[:12])}"
            )
        for file in [] if is_engine_table(self.data) else find_parts(self.survey, self.data):
            absent = set(names) - set(column_names(file))
            if absent:
                raise AnalysisError(
                    f'{file.name}: no column "{min(absent)}", which other files have',
                    "give files with the same columns",
                )

    def left_out(self) -> int:
        """Count the rows without a value somewhere."""
        if not self.complete:
            return 0
        with self._whole() as table:
            return int(table.count().execute()) - int(self._kept(table).count().execute())

    def tally(self, by: str | None, fewest: int = FEWEST_REPORTS) -> Tally:
        """Count the reports."""
        if not (is_engine_table(self.data) or self.complete or engine_suffices(self.survey, by)):
            return tally(self.survey, self.data, by, fewest=fewest)
        with self._whole() as whole:
            table = self._kept(whole)
            grouping = grouping_column(self.survey, by)
            if grouping in table.columns:
                table = table.mutate(**{grouping: _as_text(table[grouping])})
            return tally(self.survey, table, by, fewest=fewest)

    def alike(
        self,
        names: Sequence[str],
        beside: Sequence[str],
        weights: str | None,
        fewest: int = FEWEST_REPORTS,
    ) -> pd.DataFrame:
        """Give what respondents say, those who are alike put together; who was not asked is left out.

        Parameters
        ----------
        names
            Questions, options (`question[option]`), and at most one exact column, whose values become text. Of a
            question that has too many different sets as reports there are rows for each option, in the column `OPTION`.
        beside
            The columns of the sample design.
        weights
            The column of the weights.
        fewest
            What a group by link needs to be shown on its own.
        """
        self.check([*beside, *([] if weights is None else [weights])])
        wanted = {name: self._told(name) for name in names}
        sets = next((one for one in names if self._by_option(wanted[one])), None)
        parts: list[pd.DataFrame] = []
        with (
            self._tables() as (tables, total),
            tqdm(
                total=total,
                desc=", ".join(names),
                unit=" reports",
                unit_scale=True,
                disable=None,
                leave=False,
            ) as bar,
        ):
            for table, rows in tables:
                keys = {name: table[name] for name in beside}
                keys |= {_raw(one): self._key(table, one) for name, one in wanted.items() if name != sets}
                one = (
                    _sums(table, keys, weights)
                    if sets is None
                    else self._of_options(table, keys, weights, sets)
                )
                parts = [added([*parts, one])]
                _check_few(parts[0], names)
                bar.update(rows)
        if weights is not None:
            check_sums(parts[0], weights)
        return _decoded(folded_frame(self.survey, parts[0], fewest), wanted, sets)

    def _told(self, name: str) -> EngineGroups:
        """Find the column that tells of a question, an option, or is named itself."""
        if grouping_column(self.survey, name) is not None:
            return EngineGroups(name)
        entry, part = told_by(self.survey, name)
        digits = sampler(entry.channel).digits
        digit = digits - 1 - part.members[0] // 4 if digits and part is not None else None
        return EngineGroups(column_of(entry.id), digit, entry, part)

    def _by_option(self, told: EngineGroups) -> bool:
        """Say whether reports are sets, of which there are too many to put those together that are the same."""
        if told.entry is None or told.part is not None or not sampler(told.entry.channel).digits:
            return False
        return told.entry.channel.outcomes > MOST_REPORTS

    def _key(self, table: Any, told: EngineGroups) -> Any:
        column = table[told.column]
        if told.digit is not None:
            return digit_at(_ibis(), column, told.digit)
        return _as_text(column) if told.entry is None else column

    def _of_options(
        self, table: Any, keys: Mapping[str, Any], weights: str | None, question: str
    ) -> pd.DataFrame:
        """Add up what sets say of each option: some digits at a time, each of them tells of four."""
        entry, _ = told_by(self.survey, question)
        whole, different = (
            sampler(entry.channel),
            int(table.select(**keys).distinct().count().execute()) if keys else 1,
        )
        if 2 * whole.options * different > MOST_ALIKE:
            raise _too_many([question], list(keys))
        step = max(1, MOST_ALIKE // (16 * different))
        found = []
        for start in range(0, whole.digits, step):
            rows = digit_rows(_ibis(), table[column_of(entry.id)], start, min(start + step, whole.digits))
            cut = weighed(table, {**keys, _TEXT: rows["text"], _PLACE: rows["place"]}, weights)
            cut = cut.mutate(**{_CODE: digit_at(_ibis(), cut[_TEXT], cut[_PLACE])})
            sums = engine_sums(cut, [*keys, _PLACE, _CODE], MOST_ALIKE)
            found += [_of_bit(sums, whole.digits, bit, question) for bit in range(4)]
        whole_found = added(found)
        return whole_found[whole_found[OPTION] < whole.options]

    @contextmanager
    def _whole(self) -> Iterator[Any]:
        if is_engine_table(self.data):
            yield self.data
            return
        with engine_table(self.survey, self.data) as table:
            yield table

    @contextmanager
    def _tables(self) -> Iterator[tuple[Iterable[tuple[Any, int]], int | None]]:
        """Give the tables to read one after the other, with the number of their rows, and the number of all."""
        if is_engine_table(self.data):
            yield [(self._kept(self.data), 0)], None
            return
        with engine_tables(self.survey, self.data) as (tables, total):
            yield ((self._kept(table), rows) for table, rows in tables), total

    def _kept(self, table: Any) -> Any:
        """Leave out rows without a value somewhere."""
        if not self.complete:
            return table
        for name in self.complete:
            table = table.filter(table[name].notnull())
            if table[name].type().is_floating():
                table = table.filter(~table[name].isnan())
        # A column of numbers with gaps was often written as fractions; what is none is refused as a report.
        reports = [column_of(one.id) for one in self.survey.entries]
        numbers = {name: table[name] for name in reports if table[name].type().is_floating()}
        cast = {name: (one == one.floor()).ifelse(one, -1.0).cast("int64") for name, one in numbers.items()}
        return table.mutate(**cast) if cast else table


def _raw(told: EngineGroups) -> str:
    """Name the column that the engine groups by."""
    return told.column if told.digit is None else f"({told.column} {told.digit})"


def _sums(table: Any, keys: Mapping[str, Any], weights: str | None) -> pd.DataFrame:
    return engine_sums(weighed(table, keys, weights), list(keys), MOST_ALIKE)


def _of_bit(sums: pd.DataFrame, digits: int, bit: int, question: str) -> pd.DataFrame:
    """Read of each digit whether it holds one of its four options."""
    option = 4 * (digits - 1 - sums[_PLACE].astype(np.int64)) + bit
    held = sums[_CODE].to_numpy(dtype=np.int64) >> bit & 1
    return sums.drop(columns=[_PLACE, _CODE]).assign(**{OPTION: option, question: held})


def _decoded(frame: pd.DataFrame, wanted: Mapping[str, EngineGroups], sets: str | None) -> pd.DataFrame:
    """Read what reports say of options and of questions of a block; leave out who was not asked."""
    read = {name: one for name, one in wanted.items() if one.part is not None and name != sets}
    if not read:
        return frame
    codes = {name: one.codes(frame[_raw(one)]) for name, one in read.items()}
    asked = np.all([one >= 0 for one in codes.values()], axis=0)
    if not asked.any():
        raise AnalysisError(f"nobody is asked {' and '.join(read)} together", NOT_TOGETHER)
    plain = frame.drop(columns=[_raw(one) for one in read.values()])
    return added([plain.assign(**codes)[asked]])


def _check_few(found: pd.DataFrame, names: Sequence[str]) -> None:
    if len(found) > MOST_ALIKE:
        raise _too_many(names, [name for name in found.columns if name not in HOW_TO_ADD])


def _too_many(names: Sequence[str], columns: Sequence[str]) -> AnalysisError:
    return AnalysisError(
        f"{' and '.join(names)}: respondents differ in more than {MOST_ALIKE:,} ways ({', '.join(columns)}), too many"
        " to put together",
        "merge strata or clusters, or give a random part of the clusters",
    )


def _as_text(column: Any) -> Any:
    """Write the values of a column as pandas does."""
    if column.type().is_boolean():
        return column.ifelse("True", "False")
    return column.cast("string")


def _ibis() -> Any:
    import ibis

    return ibis
