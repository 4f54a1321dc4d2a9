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
    kept_pairs,
    read_counts,
    sealed_parts,
    write_counts,
)
from hushpoll_server.store.surveys import Store, SurveyState, unknown_survey

from .stored import opened_store


class _Found(NamedTuple):
    """What a recount of one survey shows."""

    state: SurveyState
    made: Recount
    differences: list[str]

    def to_dict(self) -> dict[str, Any]:
        return {"hash": self.state.hash, "n": self.made.n, "differences": self.differences}


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
        found = [_check(store, state, repair) for state in _wanted(store, hashes)]
    different = [one for one in found if one.differences]
    if as_json:
        click.echo(json.dumps({"surveys": [one.to_dict() for one in found], "different": len(different)}))
    else:
        for one in found:
            _print(one, repair)
    if different:
        raise click.exceptions.Exit(1)


def _wanted(store: Store, hashes: tuple[str, ...]) -> list[SurveyState]:
    if not hashes:
        return store.list_surveys()
    found = []
    for one in hashes:
        state = store.state(one)
        if state is None:
            raise unknown_survey(one)
        found.append(state)
    return found


def _print(one: _Found, repair: bool) -> None:
    name = f"{one.state.hash[:12]}  {one.state.title}"
    if not one.differences:
        click.echo(f"{name}: {one.made.n:,} reports, the counts are right.")
        return
    click.echo(f"{name}: {one.made.n:,} reports, {len(one.differences)} counts are DIFFERENT:")
    for difference in one.differences:
        click.echo(f"  {difference}")
    click.echo("  They were written again." if repair else "  Write them again with --repair.")


def _check(store: Store, state: SurveyState, repair: bool) -> _Found:
    known = store.published(state.hash)
    assert known is not None
    with _moment(store) as tx:
        kept, sealed = read_counts(tx, known.number)
        made = Recount(known.survey, kept_pairs(tx, known.number, known.survey))
        with tqdm(total=sealed, unit=" reports", unit_scale=True, disable=None, leave=False) as bar:
            for part in sealed_parts(tx, known.number):
                before = made.n
                made.add(part)
                bar.update(made.n - before)
    differences = [] if made.n == sealed else [f"{made.n:,} reports are sealed, {sealed:,} are said to be"]
    for place in sorted({*kept, *made.cells}):
        wrong = _wrong(kept.get(place), made.cells.get(place))
        if wrong:
            differences.append(f"{_named(known.survey, place)}: {wrong}")
    if differences and repair:
        _repair(store, known.number, made)
    return _Found(state, made, differences)


def _wrong(kept: Any, made: Any) -> str:
    if kept is None or made is None:
        return (
            "" if not any(kept or made) else "is not kept" if kept is None else "is kept, but has no reports"
        )
    if len(kept) != len(made):
        return f"{len(kept)} counts are kept, there are {len(made)}"
    off = sum(one != other for one, other in zip(kept, made, strict=True))
    return f"{off} of {len(made)} counts differ" if off else ""


def _named(survey: Survey, place: Place) -> str:
    group = f" of {survey.groups[place.grp]}" if survey.groups and not place.by else ""
    return f"{place.part}{f' by {place.by}' if place.by else ''}{group}"


def _repair(store: Store, number: int, made: Recount) -> None:
    """Write a recount, unless reports were sealed meanwhile: then the next one will do it."""
    with store.write() as tx:
        _, sealed = read_counts(tx, number, [])
        if sealed == made.n:
            forget_counts(tx, number)
            write_counts(tx, number, made.cells)


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
