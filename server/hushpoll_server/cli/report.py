"""`hushpoll report`: the debiased report of a survey, from the store or from a file of reports."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from hushpoll_analysis.results.formats import (
    RESULTS_FORMATS,
    ResultsFormat,
    by_file_name,
    format_by_name,
)
from hushpoll_client import HushpollError, Survey
from hushpoll_client.cli.output import read_survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from tqdm import tqdm

from hushpoll_server.collect.seal import read_sealed
from hushpoll_server.results.planned_margins import planned_margins

from .group_sizes import read_sizes
from .stored import find_survey, opened_store, say_what_is_left

if TYPE_CHECKING:
    from hushpoll_analysis.results.survey import SurveyResults

    from hushpoll_server.store.surveys import Store

ENGINES = ("duckdb", "spark")


@click.command()
@click.argument("survey", metavar="SURVEY|FILE")
@click.option(
    "--data",
    type=click.Path(),
    metavar="REPORTS",
    help="Reports in a .csv or .parquet, a folder of Parquet files, or a pattern in quotes ('parts/*.parquet').",
)
@click.option(
    "--by",
    metavar="QUESTION",
    help="Also every other question within the groups of this one (or column; group: those by link).",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([known.name for known in RESULTS_FORMATS]),
    help="Default: by the name of --out, or text.",
)
@click.option("--out", type=click.Path(), metavar="F", help="Write to this file.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level.")
@click.option(
    "--minimum",
    type=click.IntRange(min=0),
    default=FEWEST_REPORTS,
    show_default=True,
    help="Fewer reports, no estimates. Below 50 only with --data.",
)
@click.option(
    "--anchor",
    metavar="QUESTION[ANSWER]=SHARE",
    help="A question with a known share of Yes, or of the answer in brackets (1 where people are told to give it):"
    " correct the others for careless answers.",
)
@click.option(
    "--needed",
    multiple=True,
    metavar="[QUESTION=]M",
    help="The margin that was needed (0.05): say whether it was reached. Without it, that of the survey's plan.",
)
@click.option(
    "--figures",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Also write one picture a question (SVG).",
)
@click.option(
    "--na-action",
    type=click.Choice(["fail", "omit"]),
    help="Rows of --data with a missing value: refuse them (the default), or leave them out and say so.",
)
@click.option("--weights", metavar="COLUMN", help="Weights, a column of --data.")
@click.option("--strata", metavar="COLUMN", help="Strata, a column of --data.")
@click.option("--clusters", metavar="COLUMN", help="Clusters, a column of --data.")
@click.option("--population", metavar="N|COLUMN", help="Size of the finite population (of the stratum).")
@click.option(
    "--group-size",
    "group_size",
    multiple=True,
    metavar="NAME=N",
    help="People in a group by link, for each group: weights and finite populations. Without it, what the store has.",
)
@click.option(
    "--replicates",
    metavar="PREFIX",
    help="Replicate weights: columns of --data that begin so; of at most a million reports.",
)
@click.option(
    "--replicates-kind",
    type=click.Choice(["brr", "fay", "jk1", "jkn", "jk2", "bootstrap", "sdr"]),
    default="bootstrap",
    show_default=True,
    help="How the replicate weights were made.",
)
@click.option("--replicates-rho", metavar="R", help="Fay's factor, from 0 to below 1.")
@click.option(
    "--replicates-scales",
    metavar="A,B,...",
    help="For jkn, of each replicate (n - 1)/n of its stratum, in the order of the columns.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help="What counts many Parquet files, and adds up their weights: DuckDB on this machine (the default), or Spark.",
)
@click.option(
    "--master", metavar="ADDRESS", help="Spark's address (spark://host:7077); without it, this machine."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def report(
    survey: str,
    data: str | None,
    by: str | None,
    form: str | None,
    out: str | None,
    level: float,
    minimum: int,
    as_json: bool,
    needed: tuple[str, ...],
    figures: str | None,
    engine: str | None,
    master: str | None,
    group_size: tuple[str, ...],
    **sample: str | None,
) -> None:
    """Estimate every question of a survey, with intervals, privacy, and the method in words.

    SURVEY is the hash of a published survey, or its first six signs or more; FILE a survey document. Without --data
    the sealed reports of the store (DATA, DATABASE_URL) are read.

    \b
    Examples:
      hushpoll report 953b9c
      hushpoll report 953b9c --by reason --out report.html
      hushpoll report 953b9c --by group --group-size Science=1200 --group-size Arts=800
      hushpoll report survey.json --data reports.parquet --format csv
      hushpoll report survey.json --data 'parts/*.parquet' --engine spark --master spark://head:7077
    """
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} exclude each other; give one of them")
    name = "json" if as_json else form
    chosen = by_file_name(out) if name is None else format_by_name(name)
    keys = _sample_keys(data, sample)
    _check_engine(data, engine, master)
    if needed:
        keys["needed"] = _margins(needed)
    document = read_survey(survey) if Path(survey).is_file() else None
    if document is not None and data is not None:
        keys |= _sizes(document, group_size)
        keys["batch"] = _released(document, data)
        with _source(document, data, by, engine, master, keys) as source:
            results = _make(document, source, by, level, minimum, None, keys)
    else:
        with opened_store() as store:
            survey_hash = document.hash if document is not None else find_survey(store, survey)
            published = store.get_survey(survey_hash)
            if published is None:
                raise HushpollError(
                    f"{survey}: this survey is not published here",
                    "publish it, or give its reports with --data",
                )
            total = store.sealed_count(survey_hash) if data is None else None
            keys.setdefault("needed", planned_margins(store, published))
            keys |= _sizes(published, group_size)
            keys |= _kept_sizes(store, published, keys)
            if data is None:
                _check_minimum(minimum)
                sealed = read_sealed(store, survey_hash)
                results = _make(published, sealed, by, level, minimum, total, keys)
                _say_what_waits(store, survey_hash)
            else:
                with _source(published, data, by, engine, master, keys) as source:
                    results = _make(published, source, by, level, minimum, total, keys)
    if figures is not None:
        _draw(results, figures)
    _write(results, chosen, out)


def _check_minimum(minimum: int) -> None:
    """Raise UsageError where a report of the store would show what its pages do not."""
    if minimum < FEWEST_REPORTS:
        raise click.UsageError(
            f"--minimum {minimum}: reports of this server are shown from {FEWEST_REPORTS} on;"
            " give a larger number, or a file with --data"
        )


def _check_engine(data: str | None, engine: str | None, master: str | None) -> None:
    if master is not None and engine != "spark":
        raise click.UsageError("--master is Spark's address; give --engine spark with it")
    if engine is not None and data is None:
        raise click.UsageError("--engine counts files; name them with --data")


@contextmanager
def _source(
    survey: Survey,
    data: str,
    by: str | None,
    engine: str | None,
    master: str | None,
    keys: dict[str, Any],
) -> Iterator[Any]:
    """Yield what the report is made of: counts of many files by a query engine, its table, or where the reports are."""
    from hushpoll_analysis.sample.arrow import are_many
    from hushpoll_analysis.sample.parts import engine_table

    if engine is None and not (are_many(data) and find_spec("duckdb") and find_spec("ibis")):
        yield data
    elif not _needs_rows(keys, by):
        yield _counts(survey, data, by, engine, master, keys)
    elif engine != "spark":
        yield data
    elif "replicates" in keys:
        raise click.UsageError(
            "--replicates needs a row for each respondent, and Spark puts those together that are alike; leave --engine"
            " out: at most a million reports are then read here"
        )
    else:
        with engine_table(survey, data, engine, master) as table:
            yield table


def _counts(
    survey: Survey,
    data: str,
    by: str | None,
    engine: str | None,
    master: str | None,
    keys: dict[str, Any],
) -> Any:
    """Count many files by a query engine, jointly with the anchor too where there is one."""
    from hushpoll_analysis.results.validity import anchor_of
    from hushpoll_analysis.sample.parts import tally_parts

    count = partial(tally_parts, survey, data, engine=engine or ENGINES[0], master=master)
    anchor = keys.get("anchor", survey.anchor and survey.anchor.question)
    if anchor is not None:
        question_id = anchor if "anchor" not in keys else anchor_of(survey, anchor)[0].id
        keys["anchor_counts"] = count(question_id)
    with tqdm(unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
        return count(by, progress=bar.update)


def _needs_rows(keys: dict[str, Any], by: str | None) -> bool:
    """Return whether something is asked for that counts do not tell."""
    counted = by is None and isinstance(keys.get("population"), float)
    named = ["weights", "strata", "clusters", "replicates", "na_action", *([] if counted else ["population"])]
    return any(key in keys for key in named)


def _sizes(survey: Survey, sizes: tuple[str, ...]) -> dict[str, Any]:
    return {"population": read_sizes(survey.groups, sizes, "--group-size")} if sizes else {}


def _released(survey: Survey, data: str) -> float | None:
    from hushpoll_analysis.sample.released import released_together

    return released_together(survey, data)


def _kept_sizes(store: Store, survey: Survey, keys: dict[str, Any]) -> dict[str, Any]:
    """Return what the store knows of the groups: how few are shown together, and how many people each has."""
    state = store.state(survey.hash)
    assert state is not None
    options: dict[str, Any] = {"fewest": state.fewest, "batch": state.seen_apart}
    sizes = state.group_sizes(survey)
    if sizes and not set(keys) & {"population", "strata", "weights", "margins", "replicates"}:
        options["population"] = sizes
    return options


def _margins(texts: tuple[str, ...]) -> dict[str, float] | float:
    """Read the margins: one for all questions, or one each."""
    if len(texts) == 1 and "=" not in texts[0]:
        return _margin(texts[0])
    return {name: _margin(value, name) for name, _, value in (text.rpartition("=") for text in texts)}


def _margin(text: str, name: str | None = None) -> float:
    try:
        if name == "":
            raise ValueError
        return float(text)
    except ValueError:
        raise click.UsageError(
            f"--needed {text}: write a margin such as 0.05, or QUESTION=0.05 for each"
        ) from None


def _draw(results: SurveyResults, folder: str) -> None:
    """Write the pictures of all questions that have estimates."""
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for question in results.questions:
            if question.is_estimated:
                (Path(folder) / f"{question.id}.svg").write_text(results.to_svg(question.id), "utf-8")
    except OSError as error:
        raise HushpollError(
            f"--figures {folder}: cannot be written ({error.strerror})", "choose another folder"
        ) from None


def _say_what_waits(store: Store, survey_hash: str) -> None:
    """Print to stderr why some reports that have arrived are not in the report."""
    state = store.state(survey_hash)
    waiting = store.count(survey_hash) - state.sealed_n if state else 0
    if state and state.was_closed:
        say_what_is_left(store, survey_hash)
    elif state and waiting > 0:
        click.echo(
            f"{waiting:,} more waiting to be counted: an open survey counts {state.minimum_batch:,} reports or more"
            f" at a time, when {2 * state.minimum_batch:,} wait; closing it counts the rest.",
            err=True,
        )


def _make(
    survey: Survey,
    source: Any,
    by: str | None,
    level: float,
    minimum: int,
    total: int | None,
    keys: dict[str, Any],
) -> SurveyResults:
    from hushpoll_analysis import report as make_report

    with tqdm(total=total, unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
        return make_report(survey, source, by=by, level=level, minimum=minimum, progress=bar.update, **keys)


def _sample_keys(data: str | None, options: dict[str, str | None]) -> dict[str, Any]:
    """Read how the respondents were sampled; columns belong to a file of reports."""
    kind, anchor, na_action = (options.pop(key) for key in ("replicates_kind", "anchor", "na_action"))
    prefix = options.pop("replicates")
    factors = {key: options.pop(f"replicates_{key}") for key in ("rho", "scales")}
    keys: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    if anchor is not None:
        if "=" not in anchor:
            raise click.UsageError(f"--anchor {anchor}: write QUESTION=SHARE, as in --anchor never_born=0")
        keys["anchor"] = anchor
    if "population" in keys:
        with contextlib.suppress(ValueError):
            keys["population"] = float(keys["population"])
    columns = [key for key, value in keys.items() if isinstance(value, str)]
    if prefix is not None:
        columns.append("replicates")
    if columns and data is None:
        raise click.UsageError(f"--{columns[0]} names a column; give the file that has it with --data")
    if na_action is not None:
        if data is None:
            raise click.UsageError("--na-action is about the rows of a file; name it with --data")
        keys["na_action"] = na_action
    if prefix is not None and data is not None:
        keys["replicates"] = _replicates(data, prefix, str(kind), **factors)
    return keys


def _replicates(data: str, prefix: str, kind: str, rho: str | None, scales: str | None) -> Any:
    from hushpoll_analysis.sample.arrow import files_at
    from hushpoll_analysis.sample.files import column_names
    from hushpoll_analysis.sample.replicates import Replicates

    first = next(iter(files_at(data)), Path(data))
    names = [name for name in column_names(first) if name.startswith(prefix)]
    if not names:
        raise click.UsageError(f"--replicates {prefix}: no column of {data} begins so")
    try:
        factor = None if rho is None else float(rho)
        scale_list = None if scales is None else [float(number) for number in scales.split(",")]
    except ValueError:
        raise click.UsageError(
            "--replicates-rho and --replicates-scales take numbers, such as 0.5 and 0.5,0.5"
        ) from None
    return Replicates(names, kind=kind, rho=factor, rscales=scale_list)


def _write(results: SurveyResults, chosen: ResultsFormat, out: str | None) -> None:
    if out is None:
        text = chosen.write(results, "en", None)
        # CSV brings its own line ends.
        click.echo(text, nl=not text.endswith("\n"))
        return
    try:
        Path(out).write_bytes(chosen.file_content(results))
    except OSError as error:
        raise HushpollError(
            f"--out {out}: cannot be written ({error.strerror})", "choose another place"
        ) from None
