"""How many people each group of a survey has, as typed on the command line."""

from __future__ import annotations

from collections.abc import Iterable

import click
from hushpoll_client import SurveyError
from hushpoll_client.survey.group import check_sizes


def read_sizes(groups: tuple[str, ...], texts: Iterable[str], option: str) -> dict[str, int]:
    """Read NAME=N for every group of a survey."""
    sizes: dict[str, int] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not equals or not (number.isascii() and number.isdigit() and len(number) < 20):
            raise click.UsageError(f"{option} {text}: write NAME=N, as in Science=1200")
        if name in sizes:
            raise click.UsageError(f"{option}: {name!r} is given twice; give one size for each group")
        sizes[name] = int(number)
    try:
        check_sizes(groups, sizes)
    except SurveyError as error:
        raise click.UsageError(f"{option}: {error.problem}; {error.remedy}") from None
    return sizes
