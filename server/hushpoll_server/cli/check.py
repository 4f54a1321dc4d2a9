"""`hushpoll check`: are the kept counts what the sealed reports add up to?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import click
from hushpoll_client import Survey
from sqlalchemy import Connection
from tqdm import tqdm

from hushpoll_server.store.counts import (
    Place,
    Recount,
    forget_counts,
    read_counts,
    sealed_parts,
    stored_pairs,
    write_counts,
)
from hushpoll_server.store.surveys import Store, SurveyState, unknown_survey

from .stored import opened_store


class _Comparison(NamedTuple):
    """What a recount of one survey shows."""

    state: SurveyState
    recount: Recount
    differences: list[str]

    def to_dict(self) -> dict[str, Any]:
        return {"hash": self.state.hash, "n": self.recount.n, "differences": self.differences}


@click.command()
@click.argument("hashes", metavar="[HASH]...", nargs=-1)
@click.option("--repair", is_flag=True, help="Write the recount where it differs from what is kept.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(hashes: tuple[str, ...], repair: bool, as_json: bool) -> None:
    """Count the sealed reports of all surveys, or of these, again and compare with the counts that results show.

    The server may go on running. Ends with status 1 where anything differs.

    \b
    Example:
      hushpoll check
    """
    with opened_store() as store:
        checks = [_check(store, state, repair) for state in _selected_surveys(store, hashes)]
    different = [check for check in checks if check.differences]
    if as_json:
        click.echo(
            json.dumps({"surveys": [check.to_dict() for check in checks], "different": len(different)})
        )
    else:
        for check in checks:
            _print(check, repair)
    if different:
        raise click.exceptions.Exit(1)


def _selected_surveys(store: Store, hashes: tuple[str, ...]) -> list[SurveyState]:
    if not hashes:
        return store.list_surveys()
    states = []
    for survey_hash in hashes:
        state = store.state(survey_hash)
        if state is None:
            raise unknown_survey(survey_hash)
        states.append(state)
    return states


def _print(check: _Comparison, repair: bool) -> None:
    name = f"{check.state.hash[:12]}  {check.state.title}"
    if not check.differences:
        click.echo(f"{name}: {check.recount.n:,} reports, the counts are right.")
        return
    click.echo(f"{name}: {check.recount.n:,} reports, {len(check.differences)} counts are DIFFERENT:")
    for difference in check.differences:
        click.echo(f"  {difference}")
    if repair:
        click.echo("  They were written again.")
    else:
        click.echo("  Write them again with --repair.")


def _check(store: Store, state: SurveyState, repair: bool) -> _Comparison:
    published = store.published(state.hash)
    assert published is not None
    with _moment(store) as tx:
        stored, sealed = read_counts(tx, published.number)
        recount = Recount(published.survey, stored_pairs(tx, published.number, published.survey))
        with tqdm(total=sealed, unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
            for chunk in sealed_parts(tx, published.number):
                before = recount.n
                recount.add(chunk)
                bar.update(recount.n - before)
    differences = []
    if recount.n != sealed:
        differences = [f"{recount.n:,} reports are sealed, {sealed:,} are said to be"]
    for key in sorted({*stored, *recount.cells}):
        wrong = _wrong(stored.get(key), recount.cells.get(key))
        if wrong:
            differences.append(f"{_named(published.survey, key)}: {wrong}")
    if differences and repair:
        _repair(store, published.number, recount)
    return _Comparison(state, recount, differences)


def _wrong(stored: Any, recounted: Any) -> str:
    if stored is None or recounted is None:
        if not any(stored or recounted):
            return ""
        if stored is None:
            return "is not kept"
        return "is kept, but has no reports"
    if len(stored) != len(recounted):
        return f"{len(stored)} counts are kept, there are {len(recounted)}"
    off = sum(first != second for first, second in zip(stored, recounted, strict=True))
    if off:
        return f"{off} of {len(recounted)} counts differ"
    return ""


def _named(survey: Survey, key: Place) -> str:
    if key.by:
        return f"{key.part} by {key.by}"
    if survey.groups:
        return f"{key.part} of {survey.groups[key.grp]}"
    return str(key.part)


def _repair(store: Store, number: int, recount: Recount) -> None:
    """Write a recount, unless reports were sealed meanwhile: then the next one will do it."""
    with store.write() as tx:
        _, sealed = read_counts(tx, number, [])
        if sealed == recount.n:
            forget_counts(tx, number)
            write_counts(tx, number, recount.cells)


@contextmanager
def _moment(store: Store) -> Iterator[Connection]:
    """Read reports and counts as they are at one moment, while others go on sealing."""
    if store.database.is_sqlite:
        with store.read() as tx:
            yield tx
        return
    with store.engine.connect().execution_options(isolation_level="REPEATABLE READ") as tx:
        store.database.allow_pauses(tx)
        yield tx
