"""`hushpoll survey import`: a questionnaire of another program as a draft."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click
from hushpoll_analysis.documents import parse_survey
from hushpoll_client import HushpollError
from hushpoll_client.cli.output import json_option, print_json

from hushpoll_server.workspace.imports import NothingImportedError, read_questionnaire


@click.command("import")
@click.argument("file", type=click.Path())
@click.option(
    "--out", type=click.Path(), metavar="DRAFT", help="Where to write the draft (default: print it)."
)
@click.option(
    "--epsilon", type=float, default=1.0, show_default=True, help="Privacy parameter of each question."
)
@json_option
def import_(file: str, out: str | None, epsilon: float, as_json: bool) -> None:
    """Read an XLSForm (.xlsx) or a LimeSurvey structure (.txt, .tsv) into a draft.

    Everything that cannot be carried over is listed on stderr. Read the draft before publishing it: mechanisms are
    the recommended ones at one epsilon for all.

    \b
    Examples:
      hushpoll survey import form.xlsx --out draft.json
      hushpoll survey import limesurvey.txt --epsilon 2
    """
    try:
        imported = read_questionnaire(Path(file), epsilon)
    except NothingImportedError as error:
        _list(error.left_out)
        raise
    parse_survey(json.dumps(imported.document).encode())
    if as_json:
        print_json({"draft": imported.document, "left_out": list(imported.left_out)})
        return
    text = json.dumps(imported.document, ensure_ascii=False, indent=2)
    if out is None:
        click.echo(text)
    else:
        try:
            Path(out).write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise HushpollError(
                f"--out {out}: cannot be written ({error.strerror})", "choose another place"
            ) from None
    _list(imported.left_out)


def _list(left_out: Iterable[str]) -> None:
    for line in left_out:
        click.echo(f"Not carried over: {line}", err=True)
