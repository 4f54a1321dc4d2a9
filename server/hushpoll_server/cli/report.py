"""`hushpoll report`: the debiased report of a survey, from the store or from a file of reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from hushpoll_analysis.results.formats import (
    RESULTS_FORMATS,
    ResultsFormat,
    by_file_name,
    format_by_name,
)
from hushpoll_analysis.results.typesetting import is_available as has_typst
from hushpoll_client import HushpollError
from hushpoll_client.cli.output import read_survey
from hushpoll_client.delivery.report import FEWEST_REPORTS

from hushpoll_server.collect.seal import read_sealed
from hushpoll_server.results.fieldwork import fieldwork_of

from .report_request import ENGINES, ReplicateOptions, ReportRequest, read_sample
from .stored import find_survey, opened_store, print_left_over

if TYPE_CHECKING:
    from hushpoll_analysis.results.survey import SurveyResults

    from hushpoll_server.store.surveys import Store


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
    type=click.Choice([results_format.name for results_format in RESULTS_FORMATS]),
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
    help="Also write one picture a question (SVG, and PNG where Typst is installed).",
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
    out: str | None,
    form: str | None,
    as_json: bool,
    figures: str | None,
    group_size: tuple[str, ...],
    **options: Any,
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
    if as_json:
        chosen = format_by_name("json")
    elif form is not None:
        chosen = format_by_name(form)
    else:
        chosen = by_file_name(out)
    results = _results(survey, _request(**options), group_size)
    if figures is not None:
        _draw(results, figures)
    _write(results, chosen, out)


def _request(
    *,
    data: str | None,
    by: str | None,
    level: float,
    minimum: int,
    needed: tuple[str, ...],
    engine: str | None,
    master: str | None,
    **sample: str | None,
) -> ReportRequest:
    """Return the request of the command's options; raise UsageError if two of them contradict each other."""
    anchor = sample.pop("anchor")
    if anchor is not None and "=" not in anchor:
        raise click.UsageError(f"--anchor {anchor}: write QUESTION=SHARE, as in --anchor never_born=0")
    replicates = None
    if sample["replicates"] is not None:
        replicates = ReplicateOptions(
            sample["replicates"],
            str(sample["replicates_kind"]),
            rho=sample["replicates_rho"],
            scales=sample["replicates_scales"],
        )
    columns = {name: sample[name] for name in ("weights", "strata", "clusters")}
    design = read_sample(data, columns, sample["population"], sample["na_action"], replicates)
    if master is not None and engine != "spark":
        raise click.UsageError("--master is Spark's address; give --engine spark with it")
    if engine is not None and data is None:
        raise click.UsageError("--engine counts files; name them with --data")
    return ReportRequest(
        by=by,
        level=level,
        minimum=minimum,
        sample=design,
        data=data,
        engine=engine,
        master=master,
        anchor=anchor,
        needed_margins=_margins(needed),
    )


def _results(survey: str, request: ReportRequest, sizes: tuple[str, ...]) -> SurveyResults:
    """Return the results of a survey's file and a file of reports, or of a survey in the store."""
    document = None
    if Path(survey).is_file():
        document = read_survey(survey)
    if document is not None and request.data is not None:
        return request.for_file(document, sizes).estimate_from_files(document)
    with opened_store() as store:
        if document is not None:
            survey_hash = document.hash
        else:
            survey_hash = find_survey(store, survey)
        published = store.get_survey(survey_hash)
        if published is None:
            raise HushpollError(
                f"{survey}: this survey is not published here",
                "publish it, or give its reports with --data",
            )
        request = request.for_stored(store, published, sizes)
        if request.data is not None:
            return request.estimate_from_files(published)
        _check_minimum(request.minimum)
        results = request.estimate(
            published, read_sealed(store, survey_hash), total=store.sealed_count(survey_hash)
        )
        _print_waiting(store, survey_hash)
        state = store.state(survey_hash)
        assert state is not None
        return replace(results, fieldwork=fieldwork_of(state, published))


def _check_minimum(minimum: int) -> None:
    """Raise UsageError if a report of the store would show what its pages do not."""
    if minimum < FEWEST_REPORTS:
        raise click.UsageError(
            f"--minimum {minimum}: reports of this server are shown from {FEWEST_REPORTS} on;"
            " give a larger number, or a file with --data"
        )


def _margins(texts: tuple[str, ...]) -> dict[str, float] | float | None:
    """Return the margin for all questions, or one for each, or None if none is given."""
    if not texts:
        return None
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
                if has_typst():
                    (Path(folder) / f"{question.id}.png").write_bytes(results.to_png(question.id))
    except OSError as error:
        raise HushpollError(
            f"--figures {folder}: cannot be written ({error.strerror})", "choose another folder"
        ) from None


def _print_waiting(store: Store, survey_hash: str) -> None:
    """Print to stderr why some reports that have arrived are not in the report."""
    state = store.state(survey_hash)
    waiting = 0
    if state:
        waiting = store.count(survey_hash) - state.sealed_n
    if state and state.was_closed:
        print_left_over(store, survey_hash)
    elif state and waiting > 0:
        click.echo(
            f"{waiting:,} more waiting to be counted: an open survey counts {state.minimum_batch:,} reports or more"
            f" at a time, when {2 * state.minimum_batch:,} wait; closing it counts the rest.",
            err=True,
        )


def _write(results: SurveyResults, chosen: ResultsFormat, out: str | None) -> None:
    if out is None:
        content = chosen.write(results, "en", None)
        # CSV brings its own line ends, and a PDF has none.
        click.echo(content, nl=isinstance(content, str) and not content.endswith("\n"))
        return
    try:
        Path(out).write_bytes(chosen.file_content(results))
    except OSError as error:
        raise HushpollError(
            f"--out {out}: cannot be written ({error.strerror})", "choose another place"
        ) from None
