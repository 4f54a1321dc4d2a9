"""What a call of `hushpoll report` asks for, as one object that is complete before any report is read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from hushpoll_client import Survey
from tqdm import tqdm

from hushpoll_server.results.planned_margins import planned_margins

from .group_sizes import read_sizes

if TYPE_CHECKING:
    from hushpoll_analysis.results.survey import SurveyResults
    from hushpoll_analysis.sample.replicates import Replicates

    from hushpoll_server.store.surveys import Store

ENGINES = ("duckdb", "spark")


@dataclass(frozen=True)
class SampleDesign:
    """How the respondents were sampled; names are of columns of the file of reports."""

    weights: str | None = None
    strata: str | None = None
    clusters: str | None = None
    population: float | str | Mapping[str, int] | None = None
    replicates: Replicates | None = None
    na_action: str | None = None

    def needs_rows(self, by: str | None) -> bool:
        """Return whether counts do not suffice."""
        if any(
            value is not None
            for value in (self.weights, self.strata, self.clusters, self.replicates, self.na_action)
        ):
            return True
        if self.population is None:
            return False
        return by is not None or not isinstance(self.population, float)

    def weighs_people(self) -> bool:
        """Return whether people count differently already, so that the groups' sizes must not weight them again."""
        return any(
            value is not None for value in (self.population, self.strata, self.weights, self.replicates)
        )


@dataclass(frozen=True)
class ReportRequest:
    """A survey, where its reports are, and what to estimate from them."""

    by: str | None
    level: float
    minimum: int
    sample: SampleDesign
    data: str | None = None
    engine: str | None = None
    master: str | None = None
    anchor: str | None = None
    needed: Mapping[str, float] | float | None = None
    fewest: float | None = None
    """Groups with fewer reports are not shown."""
    batch: float | None = None
    """The least number of reports that were released together; None if unknown."""

    def for_file(self, survey: Survey, sizes: tuple[str, ...]) -> ReportRequest:
        """Return the request for a file of reports of a survey that no store knows."""
        from hushpoll_analysis.sample.released import released_together

        assert self.data is not None
        return replace(
            self, sample=self._with_sizes(survey, sizes), batch=released_together(survey, self.data)
        )

    def for_stored(self, store: Store, survey: Survey, sizes: tuple[str, ...]) -> ReportRequest:
        """Return the request for a survey of the store, with what the store knows of its groups and its plan."""
        state = store.state(survey.hash)
        assert state is not None
        sample = self._with_sizes(survey, sizes)
        stored_sizes = state.group_sizes(survey)
        if stored_sizes and not sample.weighs_people():
            sample = replace(sample, population=stored_sizes)
        needed = self.needed
        if needed is None:
            needed = planned_margins(store, survey)
        return replace(
            self,
            sample=sample,
            needed=needed,
            fewest=state.display_threshold,
            batch=state.min_distinguishable_batch,
        )

    def _with_sizes(self, survey: Survey, sizes: tuple[str, ...]) -> SampleDesign:
        if not sizes:
            return self.sample
        return replace(self.sample, population=read_sizes(survey.groups, sizes, "--group-size"))

    def estimate(
        self, survey: Survey, source: Any, total: int | None = None, anchor_counts: Any = None
    ) -> SurveyResults:
        """Return the results, with a bar on a terminal while reports are read."""
        from hushpoll_analysis import report

        options = {
            "anchor": self.anchor,
            "anchor_counts": anchor_counts,
            "batch": self.batch,
            "fewest": self.fewest,
            "needed": self.needed,
            "clusters": self.sample.clusters,
            "na_action": self.sample.na_action,
            "population": self.sample.population,
            "replicates": self.sample.replicates,
            "strata": self.sample.strata,
            "weights": self.sample.weights,
        }
        chosen = {name: value for name, value in options.items() if value is not None}
        with tqdm(total=total, unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
            return report(
                survey,
                source,
                by=self.by,
                level=self.level,
                minimum=self.minimum,
                progress=bar.update,
                **chosen,
            )

    def estimate_from_files(self, survey: Survey, total: int | None = None) -> SurveyResults:
        """Return the results of `data`; many files are counted or added up by a query engine."""
        with self._source(survey) as (source, anchor_counts):
            return self.estimate(survey, source, total, anchor_counts)

    @contextmanager
    def _source(self, survey: Survey) -> Iterator[tuple[Any, Any]]:
        """Yield counts or the table of a query engine, or where the reports are; and counts joint with the anchor."""
        from hushpoll_analysis.sample.arrow import are_many
        from hushpoll_analysis.sample.parts import engine_table

        assert self.data is not None
        if self.engine is None and not (are_many(self.data) and find_spec("duckdb") and find_spec("ibis")):
            yield self.data, None
        elif not self.sample.needs_rows(self.by):
            yield self._counts(survey)
        elif self.engine != "spark":
            yield self.data, None
        elif self.sample.replicates is not None:
            raise click.UsageError(
                "--replicates needs a row for each respondent, and Spark puts those together that are alike; leave"
                " --engine out: at most a million reports are then read here"
            )
        else:
            with engine_table(survey, self.data, self.engine, self.master) as table:
                yield table, None

    def _counts(self, survey: Survey) -> tuple[Any, Any]:
        """Count many files by a query engine, jointly with the anchor too if there is one."""
        from hushpoll_analysis.results.validity import anchor_of
        from hushpoll_analysis.sample.parts import tally_parts

        assert self.data is not None
        count = partial(tally_parts, survey, self.data, engine=self.engine or ENGINES[0], master=self.master)
        anchor_counts = None
        if self.anchor is not None:
            anchor_counts = count(anchor_of(survey, self.anchor)[0].id)
        elif survey.anchor:
            anchor_counts = count(survey.anchor.question)
        with tqdm(unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
            return count(self.by, progress=bar.update), anchor_counts


@dataclass(frozen=True)
class ReplicateOptions:
    """The options of the command that describe replicate weights."""

    prefix: str
    kind: str
    rho: str | None = None
    scales: str | None = None

    def read(self, data: str) -> Replicates:
        """Return the columns of a file whose names begin with the prefix, and how they were made."""
        from hushpoll_analysis.sample.arrow import files_at
        from hushpoll_analysis.sample.files import column_names
        from hushpoll_analysis.sample.replicates import Replicates

        first = next(iter(files_at(data)), Path(data))
        names = [name for name in column_names(first) if name.startswith(self.prefix)]
        if not names:
            raise click.UsageError(f"--replicates {self.prefix}: no column of {data} begins so")
        factor = None
        scales = None
        try:
            if self.rho is not None:
                factor = float(self.rho)
            if self.scales is not None:
                scales = [float(number) for number in self.scales.split(",")]
        except ValueError:
            raise click.UsageError(
                "--replicates-rho and --replicates-scales take numbers, such as 0.5 and 0.5,0.5"
            ) from None
        return Replicates(names, kind=self.kind, rho=factor, rscales=scales)


def read_sample(
    data: str | None,
    columns: Mapping[str, str | None],
    population: str | None,
    na_action: str | None,
    replicates: ReplicateOptions | None,
) -> SampleDesign:
    """Return the sample design of the command's options; its columns belong to a file of reports."""
    number: float | str | None = population
    if population is not None:
        with contextlib.suppress(ValueError):
            number = float(population)
    named = [name for name, column in columns.items() if column is not None]
    if isinstance(number, str):
        named.append("population")
    if replicates is not None:
        named.append("replicates")
    if named and data is None:
        raise click.UsageError(f"--{named[0]} names a column; give the file that has it with --data")
    if na_action is not None and data is None:
        raise click.UsageError("--na-action is about the rows of a file; name it with --data")
    design = SampleDesign(
        weights=columns["weights"],
        strata=columns["strata"],
        clusters=columns["clusters"],
        population=number,
        na_action=na_action,
    )
    if replicates is None or data is None:
        return design
    return replace(design, replicates=replicates.read(data))
