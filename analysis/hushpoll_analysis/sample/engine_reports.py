"""Reports with a sample design, as many as a query engine can read: respondents who are alike are put together there.

What an estimate under a design needs is linear in sums over respondents with the same report, stratum, cluster and
margins. So one query a question, or a question and what makes the groups, gives a small table that tells all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from tqdm import tqdm

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.distinct_rows import HOW_TO_ADD, add_up
from hushpoll_analysis.sample.engine_codes import (
    REPORT,
    as_text,
    engine_suffices,
    option_sums,
    question_by_option,
    with_codes,
)
from hushpoll_analysis.sample.engine_sums import (
    check_sums,
    engine_sums,
    is_engine_table,
    weighed,
    without_gaps,
)
from hushpoll_analysis.sample.files import column_names, tally
from hushpoll_analysis.sample.link_groups import folded_frame
from hushpoll_analysis.sample.members import NOT_TOGETHER
from hushpoll_analysis.sample.parts import engine_table, engine_tables, find_parts
from hushpoll_analysis.sample.tally import Tally, column_of, grouping_column, question_of

MOST_ALIKE = 500_000
"""Different rows that are kept of a question."""
_BAR: dict[str, Any] = {"unit": " reports", "unit_scale": True, "disable": None, "leave": False}


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
        with self._whole() as all_reports:
            table = self._kept(all_reports)
            grouping = grouping_column(self.survey, by)
            if grouping is not None and grouping in table.columns:
                table = table.mutate(**{grouping: as_text(table[grouping])})
            return tally(self.survey, table, by, fewest=fewest)

    def alike(
        self, names: Sequence[str], beside: Sequence[str], weights: str | None, fewest: int = FEWEST_REPORTS
    ) -> pd.DataFrame:
        """Return what respondents say, those who are alike put together; who was not asked is left out.

        `names` are questions, options (`question[option]`), and exact columns, whose values become text. Where reports
        of a question speak of several options at once, and are many, there are rows for each option (`OPTION`).
        `beside` are the columns of the sample design; `fewest` is what a group by link needs to be shown on its own.
        """
        exact = [name for name in names if grouping_column(self.survey, name) is not None]
        self.check([*exact, *beside, *([] if weights is None else [weights])])
        apart = next((name for name in names if question_by_option(self.survey, name)), None)
        columns = [name for name in names if name != apart]
        parts: list[pd.DataFrame] = []
        with self._tables() as (tables, total), tqdm(total=total, desc=", ".join(names), **_BAR) as bar:
            for table, rows in tables:
                sums = self._sums(table, columns, beside, weights, apart)
                parts = [sums if not parts else add_up([*parts, sums])]
                if len(parts[0]) > MOST_ALIKE:
                    raise _too_many(names, parts[0].columns)
                bar.update(rows)
        if weights is not None:
            check_sums(parts[0], weights)
        return _only_asked(folded_frame(self.survey, parts[0], fewest), columns)

    def _sums(
        self, table: Any, names: Sequence[str], beside: Sequence[str], weights: str | None, apart: str | None
    ) -> pd.DataFrame:
        """Add up one table, the reports of the question `apart` option by option."""
        table, codes = with_codes(self.survey, table, names)
        keys = {name: table[name] for name in beside} | codes
        if apart is None:
            return engine_sums(weighed(table, keys, weights), list(keys), MOST_ALIKE)
        chosen = weighed(table, keys | {REPORT: table[column_of(apart)]}, weights)
        sums = option_sums(chosen, list(keys), question_of(self.survey, apart), MOST_ALIKE)
        if sums is None:
            raise _too_many([apart], list(keys))
        return sums

    @contextmanager
    def _whole(self) -> Iterator[Any]:
        if is_engine_table(self.data):
            yield self.data
            return
        with engine_table(self.survey, self.data) as table:
            yield table

    @contextmanager
    def _tables(self) -> Iterator[tuple[Iterable[tuple[Any, int]], int | None]]:
        """Yield the tables to read one after the other, with the number of their rows, and the number of all."""
        if is_engine_table(self.data):
            yield [(self._kept(self.data), 0)], None
            return
        with engine_tables(self.survey, self.data) as (tables, total):
            yield ((self._kept(table), rows) for table, rows in tables), total

    def _kept(self, table: Any) -> Any:
        """Leave out rows without a value somewhere."""
        if not self.complete:
            return table
        return without_gaps(table, self.complete, [column_of(entry.id) for entry in self.survey.entries])


def _only_asked(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Leave out who was not asked one of these."""
    is_asked = np.all([(frame[name] != -1).to_numpy() for name in names], axis=0)
    if not np.any(is_asked):
        raise AnalysisError(f"nobody is asked {' and '.join(names)} together", NOT_TOGETHER)
    if np.all(is_asked):
        return frame
    return frame[is_asked].reset_index(drop=True)


def _too_many(names: Sequence[str], columns: Iterable[str]) -> AnalysisError:
    ways = ", ".join(name for name in columns if name not in HOW_TO_ADD)
    return AnalysisError(
        f"{' and '.join(names)}: respondents differ in more than {MOST_ALIKE:,} ways ({ways}), too many to put"
        " together",
        "merge strata or clusters, or give a random part of the clusters",
    )
