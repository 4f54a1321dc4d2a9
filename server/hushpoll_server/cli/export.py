"""`hushpoll export`: the sealed reports of a survey with everything needed to use them elsewhere."""

from __future__ import annotations

from pathlib import Path

import click
from hushpoll_client import HushpollError
from hushpoll_client.cli.output import json_option, print_json
from hushpoll_client.survey.group import FIELD
from tqdm import tqdm

from hushpoll_server.collect.seal import read_sealed
from hushpoll_server.people.audit_log import COMMAND_LINE, Detail, record
from hushpoll_server.results.counts_cache import CountsCache
from hushpoll_server.results.minimum import refuse_small_export

from .stored import find_survey, opened_store, print_left_over


@click.command()
@click.argument("hash_", metavar="HASH")
@click.option(
    "--out", required=True, type=click.Path(), metavar="DIR", help="Folder to write into (made if absent)."
)
@click.option(
    "--level", type=float, default=0.95, show_default=True, help="Confidence level of reproduce.py."
)
@click.option(
    "--parts",
    type=click.IntRange(min=1),
    metavar="ROWS",
    help="Write Parquet parts of ROWS reports (1000000), in constant memory; run it again to resume.",
)
@json_option
def export(hash_: str, out: str, level: float, parts: int | None, as_json: bool) -> None:
    """Write the sealed reports of the survey HASH as CSV and Parquet, in random order, with a codebook.

    With fewer than 50 reports nothing is written, and the command says how many there are. Columns end in _reported;
    where the survey has groups, a column group names them, small ones together as other. Also written: survey.json,
    .sav and .dta files, a Frictionless data package, a DDI codebook, label scripts for SPSS, Stata and R, and the
    scripts reproduce.py and reproduce.R, which repeat the table of estimates.

    \b
    Examples:
      hushpoll export 953b9c --out exam-2026
      hushpoll export 953b9c --out census --parts 1000000
    """
    from hushpoll_analysis.results.export import write_export, write_large_export

    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise HushpollError(f"--out {out}: is a file", "name a folder")
    with opened_store() as store:
        survey_hash = find_survey(store, hash_)
        survey = store.get_survey(survey_hash)
        assert survey is not None
        size, sizes = store.record_format(survey_hash).size, []
        with tqdm(
            total=store.sealed_count(survey_hash), unit=" reports", unit_scale=True, disable=None, leave=False
        ) as bar:

            def count_reports(chunk: bytes) -> bytes:
                sizes.append(len(chunk) // size)
                bar.update(sizes[-1])
                return chunk

            records = map(count_reports, read_sealed(store, survey_hash))
            state = store.state(survey_hash)
            assert state is not None
            refuse_small_export(state)
            apart = state.min_distinguishable_batch
            if parts is None:
                files = write_export(survey, records, folder, level, state.display_threshold, apart)
            else:
                # Groups only grow: what is large enough before the first part is so after the last.
                groups = None
                if survey.groups:
                    groups = CountsCache().get(store, survey, FIELD).groups
                total = store.sealed_count(survey_hash)
                files = write_large_export(
                    survey, records, folder, level, rows=parts, n=total, shown_groups=groups, batch=apart
                )
        n = sum(sizes)
        print_left_over(store, survey_hash)
        record(store, COMMAND_LINE, "exported", survey_hash, Detail("reports", count=n))
    if as_json:
        print_json({"hash": survey_hash, "n": n, "files": [str(file) for file in files]})
        return
    click.echo(f"{n:,} reports of survey {survey_hash[:12]}:")
    for file in files:
        click.echo(f"  {file}")
