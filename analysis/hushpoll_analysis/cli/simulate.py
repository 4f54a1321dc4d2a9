"""`hushpoll simulate`: reports of made-up respondents whose true shares are known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
from hushpoll_client import HushpollError, strict_json
from hushpoll_client.cli.output import json_option, print_json, read_survey
from hushpoll_client.survey.group import FIELD
from tqdm import tqdm

MOST = 100_000_000


@click.command()
@click.argument("file", type=click.Path())
@click.option("-n", "--number", type=click.IntRange(1, MOST), required=True, help="How many respondents.")
@click.option(
    "--truth",
    required=True,
    metavar="TRUTH",
    help='True shares, {"question id": [share per option, ...], ...}; of a number {"values": [...], "shares": [...]}, '
    'of options with at_most {"sets": [[...], ...], "shares": [...]}. A JSON file, or the JSON itself.',
)
@click.option("--out", required=True, type=click.Path(), help="Where to write: a .parquet or .csv file.")
@click.option(
    "--seed", type=click.IntRange(min=0), help="Repeatable, for studies; without it draws are secure."
)
@json_option
def simulate(file: str, number: int, truth: str, out: str, seed: int | None, as_json: bool) -> None:
    """Simulate respondents of the survey in FILE and write their randomized reports.

    Each respondent answers every question independently with the given true shares; the answers go through the same
    integer rule as on a device. Only the reports are written, in columns <question id>_reported.

    Where the survey has groups, the truth may have "group", the share of people in each, and for any question a truth
    for each group by its name; the column group names them.

    \b
    Example:
      hushpoll simulate survey.json -n 2000 --truth '{"cheated": [0.8, 0.2]}' --out reports.parquet
    """
    import pandas as pd

    from hushpoll_analysis.results.export import write_reports
    from hushpoll_analysis.sample.tally import column_of
    from hushpoll_analysis.simulation.groups import simulate_columns

    survey = read_survey(file)
    target = Path(out)
    if target.suffix not in (".parquet", ".csv"):
        raise HushpollError(f"--out {out}: cannot tell the format to write", "name it .parquet or .csv")
    if not target.absolute().parent.is_dir():
        raise HushpollError(f"--out {out}: there is no folder {target.parent}", "make it first")
    shares = read_truth(truth)
    # disable=None: a bar on a terminal, nothing in a pipe.
    with tqdm(total=number * len(survey.entries), unit=" answers", unit_scale=True, disable=None) as bar:
        simulated = simulate_columns(survey, number, shares, seed, bar.update)
    columns = {
        name if survey.groups and name == FIELD else column_of(name): codes
        for name, codes in simulated.items()
    }
    write_reports(survey, pd.DataFrame(columns), target)
    if as_json:
        print_json({"hash": survey.hash, "n": number, "out": out, "seed": seed})
    else:
        click.echo(f"{number:,} simulated reports of survey {survey.hash[:12]} in {out}")


def read_truth(text: str) -> Mapping[str, Any]:
    """Read the true shares: a file's name, or JSON that begins with a brace."""
    if text.lstrip().startswith("{"):
        data, where = text.encode(), "--truth"
    else:
        try:
            data, where = Path(text).read_bytes(), f"--truth {text}"
        except OSError as error:
            reason = error.strerror or "is not a file"
            raise HushpollError(
                f"--truth {text}: {reason}", 'give a file or JSON such as {"id": [0.7, 0.3]}'
            ) from None
    try:
        value = strict_json.loads(data)
    except HushpollError as error:
        raise HushpollError(f"{where}: {error}") from None
    if not isinstance(value, dict):
        excerpt = json.dumps(value)[:40]
        raise HushpollError(
            f'{where}: must be an object {{"question id": [share per option]}}, got {excerpt}'
        )
    return {name: _with_floats(listed) for name, listed in value.items()}


def _with_floats(truth: Any) -> Any:
    """Make doubles of the shares, which strict JSON keeps as exact decimals; numbers on a grid stay exact."""
    if isinstance(truth, list):
        return [float(share) if isinstance(share, Decimal) else share for share in truth]
    if isinstance(truth, dict) and "shares" in truth:
        return truth | {"shares": _with_floats(truth["shares"])}
    if isinstance(truth, dict):
        return {name: _with_floats(shares) for name, shares in truth.items()}
    return truth
