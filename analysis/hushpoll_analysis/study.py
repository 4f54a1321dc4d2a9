"""One object for a survey and its reports: read once, then estimated by every method of the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.arguments import one_or_more
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.cumulative import Cumulative
from hushpoll_analysis.estimand.quantiles import QUARTILES, Quantiles, quantiles_of
from hushpoll_analysis.estimates import Estimate, EstimateTable
from hushpoll_analysis.regression import models
from hushpoll_analysis.regression.correlation import Correlation, correlate
from hushpoll_analysis.regression.fit import ModelFit
from hushpoll_analysis.regression.formula import parse_formula
from hushpoll_analysis.regression.moments import MomentFit
from hushpoll_analysis.results.question import QuestionResults
from hushpoll_analysis.results.respondents import rows_of_file, rows_of_parts, too_many_to_read
from hushpoll_analysis.results.survey import SurveyResults, load_survey, report
from hushpoll_analysis.results.trend import Trend, trend
from hushpoll_analysis.sample.arrow import are_many
from hushpoll_analysis.sample.databases import is_database_url, read_database
from hushpoll_analysis.sample.design_keywords import SampleKeys
from hushpoll_analysis.sample.design_reading import Population
from hushpoll_analysis.sample.engine_sums import is_engine_table
from hushpoll_analysis.sample.files import column_names, read_frame, tally
from hushpoll_analysis.sample.parts import find_parts
from hushpoll_analysis.sample.released import released_together
from hushpoll_analysis.sample.reports_table import reports_table
from hushpoll_analysis.sample.tally import COLUMN_SUFFIX, Tally
from hushpoll_analysis.sample.weights import Column
from hushpoll_analysis.tables import frames
from hushpoll_analysis.tables.cells import CrossTable
from hushpoll_analysis.tables.differences import Comparison
from hushpoll_analysis.tables.options import OptionTable


class Study:
    """A survey, its reports and how the respondents were sampled.

    Parameters
    ----------
    survey : Survey, path or hash
        What was asked; the hash of a published survey if `data` is a database.
    data : path, DataFrame, mapping, Ibis table, iterable or URL
        The reports, in columns `<question id>_reported`: a .csv or .parquet file, a folder or a pattern of Parquet
        files (`"reports/*.parquet"`), a table with one row per respondent, or a query engine's table. Or counts per
        question, ``{"cheated": [580, 420]}``, which give shares, means and quantiles only. Or an iterable of reports,
        as devices send them (``{"reports": [1, 0]}``), as lists, or as rows with names. Or the URL of a server's
        database (``"postgresql://..."``, ``"sqlite:///data/hushpoll.db"``), of which counted reports are read.
    weights, strata, clusters, population, replicates
        The sample design, as column names or values; see `weighted_estimate`.

    Data are read when a method first needs them, and once.

    Examples
    --------
    >>> study = Study("exam.json", "reports/*.parquet", weights="w")  # doctest: +SKIP
    >>> study.share("cheated")["Yes"].estimate  # doctest: +SKIP
    0.34
    """

    def __init__(
        self,
        survey: Survey | str | Path,
        data: Any,
        *,
        weights: Column = None,
        strata: Column = None,
        clusters: Column = None,
        population: Population = None,
        replicates: Any = None,
    ) -> None:
        if is_database_url(data):
            if isinstance(survey, Survey):
                name = survey.hash
            else:
                name = str(survey)
            stored = read_database(data, name)
            self.survey = stored.survey
            self._stored_batch: float | None = stored.batch
            self.data: Any = read_frame(stored.survey, stored.records, stored.fewest)
        else:
            if isinstance(survey, Survey):
                self.survey = survey
            else:
                self.survey = load_survey(survey)
            self.data = _checked(self.survey, data)
            self._stored_batch = None
        self.sample = SampleKeys(
            weights=weights, strata=strata, clusters=clusters, population=population, replicates=replicates
        )
        if isinstance(self.data, Mapping) and not self.sample.counts_suffice:
            raise AnalysisError(
                "counts do not say who sent which report, so they cannot be weighted",
                "give one row per respondent, or leave the sample design out",
            )

    def __repr__(self) -> str:
        design = ", ".join(self.sample.given)
        return f"<Study of {self.survey.title!r}: {len(self.survey.questions)} questions{design and '; ' + design}>"

    def share(self, question: str, *, level: float = 0.95, interval: str = "auto") -> EstimateTable:
        """Estimate the share of each answer; of a yes/no question that of Yes. See `estimate`."""
        results = self._results(question, level, interval)
        if results.estimate is None:
            raise AnalysisError(
                f"{question}: its reports determine the mean only, not the shares of single answers",
                f"use mean({question!r})",
            )
        return results.estimate

    def mean(self, question: str, *, level: float = 0.95, interval: str = "auto") -> Estimate:
        """Estimate the mean of a scale or a number. See `hushpoll_analysis.mean`."""
        numbers = self._results(question, level, interval).numbers
        if numbers is None or numbers.mean is None:
            raise AnalysisError(
                f"{question}: its answers are not numbers whose mean the reports determine",
                f"use share({question!r})",
            )
        return numbers.mean

    def cumulative(self, question: str, *, level: float = 0.95, interval: str = "auto") -> Cumulative:
        """Estimate the share of each answer or a lower one. See `hushpoll_analysis.cumulative`."""
        return self._ordered(question, level, interval).cumulative

    def quantiles(
        self, question: str, p: Sequence[float] = QUARTILES, *, level: float = 0.95, interval: str = "auto"
    ) -> Quantiles:
        """Estimate quantiles of ordered answers, by default the quartiles. See `hushpoll_analysis.quantiles`."""
        quartiles = self._ordered(question, level, interval)
        return quantiles_of(quartiles.cumulative, quartiles.places, p)

    def compare(self, question: str, by: str, **options: Any) -> Comparison:
        """Compare the shares of a question between groups: of another question, or of a column of the data.

        Options are `option`, `reference`, `level`, `simultaneous` and `na_action`, as in `hushpoll_analysis.compare`.
        """
        self._find(question)
        self._check_variable(by)
        return frames.compare(self._rows_for("compare"), self.survey, question, by, **self._keywords(options))

    def crosstab(self, rows: str, columns: str | Sequence[str], **options: Any) -> CrossTable | OptionTable:
        """Estimate the joint shares of two or more questions or columns. See `hushpoll_analysis.crosstab`."""
        for name in (rows, *one_or_more(columns, "columns")):
            self._check_variable(name)
        return frames.crosstab(
            self._rows_for("crosstab"), self.survey, rows, columns, **self._keywords(options)
        )

    def correlate(self, *columns: str, **options: Any) -> Correlation:
        """Correlate questions or columns of numbers. See `hushpoll_analysis.correlate`."""
        for name in columns:
            self._check_variable(name)
        return correlate(self._rows_for("correlate"), self.survey, columns, **self._keywords(options))

    def logit(self, formula: str, **options: Any) -> ModelFit:
        """Fit a logistic regression, such as ``"cheated ~ age"``. See `hushpoll_analysis.logit`."""
        return models.logit(*self._model(formula, "logit"), **self._keywords(options))

    def linear(self, formula: str, **options: Any) -> ModelFit | MomentFit:
        """Fit a linear regression of a number or a scale. See `hushpoll_analysis.linear`."""
        return models.linear(*self._model(formula, "linear"), **self._keywords(options))

    def ordinal(self, formula: str, **options: Any) -> ModelFit:
        """Fit a proportional-odds model of ordered answers. See `hushpoll_analysis.ordinal`."""
        return models.ordinal(*self._model(formula, "ordinal"), **self._keywords(options))

    def multinomial(self, formula: str, **options: Any) -> ModelFit:
        """Fit a multinomial logit of three answers or more. See `hushpoll_analysis.multinomial`."""
        return models.multinomial(*self._model(formula, "multinomial"), **self._keywords(options))

    def trend(
        self,
        question: str,
        *later: Study,
        option: Any = None,
        times: Sequence[float] | None = None,
        level: float = 0.95,
        interval: str = "auto",
    ) -> Trend:
        """Follow one answer, or a mean, from this study to later ones. See `hushpoll_analysis.trend`."""
        waves = [
            study.report(questions=[study._find(question).id], level=level, interval=interval)
            for study in (self, *later)
        ]
        return trend(waves, option, question=question, times=times, level=level)

    def report(self, by: str | None = None, **options: Any) -> SurveyResults:
        """Return what the results page shows. Options are those of `hushpoll_analysis.report`."""
        if by is None and self._counts_suffice(options):
            data = self._counted
        else:
            data = self._rows
        options = {"batch": self._batch} | options
        return report(self.survey, data, by, **self._keywords(options))

    def _results(self, question: str, level: float, interval: str) -> QuestionResults:
        """Return the results of one question, however few reports there are."""
        name = self._find(question).id
        results = self.report(questions=[name], level=level, interval=interval, minimum=0)
        return results[name]

    def _ordered(self, question: str, level: float, interval: str) -> Quantiles:
        numbers = self._results(question, level, interval).numbers
        if numbers is None:
            raise AnalysisError(f"{question}: its answers have no order", f"use share({question!r})")
        return numbers.need(question, "cumulative shares")

    def _counts_suffice(self, options: Mapping[str, Any]) -> bool:
        needs_rows = ("anchor", "margins", "na_action")
        return (
            self.sample.counts_suffice
            and self.survey.anchor is None
            and not any(map(options.get, needs_rows))
        )

    @cached_property
    def _counted(self) -> Tally:
        if isinstance(self.data, Mapping):
            return Tally.from_counts(self.survey, self.data)
        return tally(self.survey, self._rows if "_rows" in vars(self) else self.data)

    @cached_property
    def _rows(self) -> Any:
        """One row per respondent; a path or an engine's table where there are too many to read."""
        data = self.data
        if isinstance(data, Mapping):
            return self._counted
        if is_engine_table(data) or too_many_to_read(self.survey, data):
            return data
        if isinstance(data, str | Path):
            data = self._read(data)
        read_frame(self.survey, data)  # refuses what is no report of this survey
        return data

    def _read(self, path: str | Path) -> pd.DataFrame:
        if are_many(path):
            return rows_of_parts(self.survey, path, column_names(find_parts(self.survey, path)[0]))
        return rows_of_file(self.survey, Path(path))

    @cached_property
    def _batch(self) -> float | None:
        if self._stored_batch is not None:
            return self._stored_batch
        return released_together(self.survey, self.data)

    def _rows_for(self, method: str) -> Any:
        if isinstance(self.data, Mapping):
            raise AnalysisError(
                f"{method} needs one row per respondent, and this study has counts",
                "give a file of reports or a DataFrame",
            )
        return self._rows

    def _model(self, formula: str, method: str) -> tuple[str, Any, Survey]:
        data = self._rows_for(method)
        self._check_variable(parse_formula(formula)[0])
        return formula, data, self.survey

    def _keywords(self, options: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.sample.given, **options}

    def _find(self, name: str) -> Question:
        try:
            return self.survey.question(name)
        except KeyError:
            ids = list(self.survey.questions_by_id)
            raise _unknown(f"the survey has no question {name!r}", name, ids) from None

    def _check_variable(self, name: str) -> None:
        """Refuse the name of neither a question, nor an option of one, nor a column of the data."""
        ids = list(self.survey.questions_by_id)
        if name in ids or str(name).partition("[")[0] in ids:
            return
        data = self._rows
        columns = [str(column) for column in getattr(data, "columns", ())]
        if isinstance(data, str | Path | Tally) or name in columns:
            return
        exact = [column for column in columns if not column.endswith(COLUMN_SUFFIX)]
        raise _unknown(f"{name!r} is neither a question nor a column of the data", name, [*ids, *exact])


def _checked(survey: Survey, data: Any) -> Any:
    """Return data of a form that can be read more than once."""
    if isinstance(data, pd.DataFrame | str | Path) or is_engine_table(data):
        return data
    if isinstance(data, Mapping):
        names = [str(name) for name in data]
        if any(name.endswith(COLUMN_SUFFIX) for name in names):
            return pd.DataFrame(data)
        return dict(data)
    if isinstance(data, Iterable) and not isinstance(data, bytes):
        return reports_table(survey, data)
    raise AnalysisError(
        f"data: cannot read reports from a {type(data).__name__}",
        "give a path, a DataFrame, counts per question, reports, or a query engine's table",
    )


def _unknown(problem: str, name: str, choices: Iterable[str]) -> AnalysisError:
    choices = list(choices)
    near = get_close_matches(str(name), choices, n=1)
    if near:
        return AnalysisError(problem, f"did you mean {near[0]!r}?")
    return AnalysisError(problem, f"choose one of {', '.join(choices)}")
