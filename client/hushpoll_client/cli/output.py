"""What several commands print or read in the same way."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hushpoll_client.survey import Survey

from .registry import survey_parser

Command = TypeVar("Command", bound=Callable[..., Any])


def json_option(command: Command) -> Command:
    """Add `--json`: print one JSON object instead of text."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def print_json(value: object) -> None:
    """Print one JSON object; NaN and infinity are refused rather than printed as something that is not JSON."""
    click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False))


def finite(value: float) -> float | None:
    """Return a number for JSON: None (null) where it is unbounded."""
    if math.isfinite(value):
        return value
    return None


def read_survey(path: str) -> Survey:
    """Return the survey in a file, draft or published."""
    file = Path(path)
    if not file.is_file():
        raise click.UsageError(f"{path}: no such file; give the path of a survey document (JSON)")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise click.UsageError(f"{path}: cannot be read ({error.strerror}); check its permissions") from None
    return survey_parser()(data)
