"""Respondents with the design that they were sampled by: a table in memory, or what a query engine puts together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.survey.group import FIELD
from tqdm import tqdm

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.arrow import are_many, arrow
from hushpoll_analysis.sample.design_keywords import SampleKeys
from hushpoll_analysis.sample.distinct_rows import WEIGHTS
from hushpoll_analysis.sample.engine_reports import EngineReports
from hushpoll_analysis.sample.files import (
    Progress,
    check_hash,
    column_names,
    read_frame,
    read_table,
    tally,
    text_columns,
)
from hushpoll_analysis.sample.option_columns import with_options
from hushpoll_analysis.sample.parts import find_parts
from hushpoll_analysis.sample.stored_tally import GroupCounts
from hushpoll_analysis.sample.tally import Tally, column_of

MOST_READ = 1_000_000
"""Reports of many files that are read as one table: two questions of so many, with weights and strata, took 385 MB."""

Rows = tuple[pd.DataFrame, SampleKeys]
"""Respondents, a row each or several that are alike in one row, and the keys of their sample design."""


class Respondents(ABC):
    """A source of the respondents' rows, question by question."""

    @abstractmethod
    def of(self, *names: str) -> Rows:
        """Return the respondents who were asked these questions or options, and the columns that are named."""


@dataclass(frozen=True)
class _InMemory(Respondents):
    """A table with one row a respondent."""

    survey: Survey
    frame: pd.DataFrame
    keys: SampleKeys

    def of(self, *names: str) -> Rows:
        return with_options(self.frame, self.survey, names)[0], self.keys


@dataclass(frozen=True)
class _InEngine(Respondents):
    """As many as a query engine can read; those who are alike come in one row."""

    reports: EngineReports | GroupCounts
    sample: SampleKeys
    fewest: int

    def of(self, *names: str) -> Rows:
        sample = self.sample
        columns = [
            column
            for column in (sample.strata, sample.clusters, sample.population)
            if isinstance(column, str)
        ]
        beside = list(dict.fromkeys([*columns, *(sample.margins or {})]))
        weights = None
        if sample.weights is not None:
            weights = str(sample.weights)
        rows = self.reports.alike(names, beside, weights, self.fewest)
        return rows, replace(sample, weights=None if weights is None else WEIGHTS)


def respondents_of(survey: Survey, data: Any, sample: SampleKeys, fewest: int) -> tuple[Any, Respondents]:
    """Return the respondents of the data; and the data, as they can be counted."""
    if isinstance(data, EngineReports | GroupCounts):
        return data, _InEngine(data, sample, fewest)
    data = sample_rows(survey, data, fewest)
    return data, _InMemory(survey, *sample.in_frame(data))


def group_rows(survey: Survey, data: Any, fewest: int) -> tuple[Any, pd.DataFrame]:
    """Return the data, and rows that tell which groups by link are shown on their own."""
    if isinstance(data, EngineReports | GroupCounts):
        return data, data.alike([FIELD], [], None, fewest)
    data = sample_rows(survey, data, fewest)
    return data, data


def count_reports(
    survey: Survey, data: Any, by: str | None, progress: Progress | None = None, fewest: int = FEWEST_REPORTS
) -> Tally:
    """Count the reports, wherever they are."""
    if isinstance(data, EngineReports | GroupCounts):
        return data.tally(by, fewest)
    return tally(survey, data, by, progress, fewest)


def sample_rows(survey: Survey, data: Any, fewest: int = FEWEST_REPORTS) -> pd.DataFrame:
    """One row a respondent with every column of the data, checked like `tally` does."""
    if isinstance(data, str | Path):
        path = Path(data)
        if path.suffix.lower() not in (".csv", ".parquet"):
            raise AnalysisError(
                f"{path.name}: weights and strata need a .csv or .parquet file with such columns"
            )
        data = rows_of_file(survey, path)
    if survey.groups and not isinstance(data, pd.DataFrame | Tally | Mapping) and isinstance(data, Iterable):
        return read_frame(survey, data, fewest)
    if not isinstance(data, pd.DataFrame):
        raise AnalysisError(
            "weights, strata and clusters need a table of respondents: a data frame, or a file given with its columns"
        )
    return read_frame(survey, data, fewest)


def rows_of_file(survey: Survey, path: Path, texts: Sequence[str] = ()) -> pd.DataFrame:
    """Read every column of a .csv or .parquet file; sets of options are text, also where all digits are decimal.

    So are the columns `texts` of a .csv.
    """
    if path.is_dir() or path.suffix.lower() not in (".csv", ".gz", ".parquet"):
        raise AnalysisError(f"{path.name}: rows can be read of one file only", "name it .csv or .parquet")
    try:
        if path.suffix.lower() == ".parquet":
            check_hash(survey, arrow(path.name).parquet.read_schema(path).metadata or {}, path.name)
            return pd.read_parquet(path)
        frame: pd.DataFrame = read_table(survey, path, dtype=text_columns(survey) | dict.fromkeys(texts, str))
    except AnalysisError:
        raise
    except (OSError, ValueError) as error:
        raise AnalysisError(f"{path.name}: cannot be read ({str(error).splitlines()[0]})") from None
    return frame


def rows_of_parts(survey: Survey, where: str | Path, names: Sequence[str]) -> pd.DataFrame:
    """Read many Parquet files as one table: the reports, and the columns that are named."""
    files = find_parts(survey, where)
    columns = {*names, FIELD, *(column_of(entry.id) for entry in survey.entries)}
    names_here = [name for name in column_names(files[0]) if name in columns]
    frames = []
    with tqdm(unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
        for file in files:
            frames.append(_columns_of(file, names_here))
            bar.update(len(frames[-1]))
    return pd.concat(frames, ignore_index=True)


def too_many_to_read(survey: Survey, data: Any) -> bool:
    """Return whether Parquet files hold more reports than are read as one table."""
    if not isinstance(data, str | Path) or not (are_many(data) or _is_parquet(Path(data))):
        return False
    files = find_parts(survey, data)
    return sum(int(arrow(file.name).parquet.read_metadata(file).num_rows) for file in files) > MOST_READ


def _is_parquet(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() == ".parquet"


def _columns_of(path: Path, columns: list[str]) -> pd.DataFrame:
    missing = set(columns) - set(column_names(path))
    if missing:
        raise AnalysisError(
            f'{path.name}: no column "{min(missing)}", which other files have',
            "give files with the same columns",
        )
    return pd.read_parquet(path, columns=columns)
