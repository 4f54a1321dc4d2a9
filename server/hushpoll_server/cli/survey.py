"""`hushpoll survey`: check, publish, list and close surveys, and make invitations to them."""

from __future__ import annotations

import csv
import datetime
import sys
from typing import Any

import click
from hushpoll_client.link import survey_link

from hushpoll_server.collect import closing, invitations
from hushpoll_server.people.log import COMMAND_LINE, record
from hushpoll_server.store.surveys import Store, SurveyState

from .output import json_option, print_json, read_survey
from .stored import find_survey, opened_store
from .survey_check import check
from .survey_import import import_

# More people than there are in most countries, and a whole number that every database takes.
MOST_REPORTS = 2_000_000_000


@click.group(short_help="Check, publish, list, close surveys; make invitations.")
def survey() -> None:
    """Work with survey documents and published surveys. A HASH may be shortened to its first six signs or more."""


survey.add_command(check)
survey.add_command(import_)


@survey.command(short_help="Publish a survey document for good.")
@click.argument("file", type=click.Path())
@click.option(
    "--public-results", is_flag=True, help="Let everybody read the results when the survey is closed."
)
@click.option(
    "--live-results",
    is_flag=True,
    help="Let everybody read them meanwhile too; they change once a day at most.",
)
@click.option("--target", type=click.IntRange(1, MOST_REPORTS), help="Number of reports hoped for.")
@json_option
def publish(file: str, public_results: bool, live_results: bool, target: int | None, as_json: bool) -> None:
    """Publish FILE under its hash and print the address for respondents. Publishing again changes nothing.

    \b
    Example:
      hushpoll survey publish survey.json --target 500
    """
    document = read_survey(file)
    with opened_store() as store:
        new = store.publish(
            document, target_n=target, results_public=public_results, results_live=live_results
        )
        if new:
            record(store, COMMAND_LINE, "published", document.hash, document.title)
        url = survey_link(store.config.address, document.hash)
    if as_json:
        print_json({"hash": document.hash, "url": url, "new": new})
    else:
        click.echo(f"{'Published' if new else 'Published before'}: {document.title}")
        click.echo(f"hash  {document.hash}\nurl   {url}")


@survey.command("list", short_help="List published surveys.")
@json_option
def list_surveys(as_json: bool) -> None:
    """List published surveys, the newest first, with the number of reports received."""
    with opened_store() as store:
        found = [_describe(store, state) for state in store.list_surveys()]
    if as_json:
        print_json({"surveys": found})
        return
    for item in found:
        click.echo(f"{item['hash']}  {item['state']:6}  {item['received']:8}  {item['title']}")


@survey.command(short_help="Close a survey: now, after a day, or at a number of reports.")
@click.argument("hash_", metavar="HASH")
@click.option(
    "--on",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Last day (in Greenwich) that reports are taken.",
)
@click.option(
    "--at", type=click.IntRange(1, MOST_REPORTS), help="Number of reports after which none is taken."
)
@json_option
def close(hash_: str, on: datetime.datetime | None, at: int | None, as_json: bool) -> None:
    """Close the survey HASH. Its reports stay and those that wait are sealed; nothing is deleted.

    \b
    Examples:
      hushpoll survey close 953b9c
      hushpoll survey close 953b9c --on 2030-01-31
      hushpoll survey close 953b9c --at 500
    """
    with opened_store() as store:
        survey_hash = find_survey(store, hash_)
        closing.close(store, survey_hash, on.date() if on else None, at)
        record(store, COMMAND_LINE, "closing planned" if on or at else "closed", survey_hash)
        state = store.state(survey_hash)
        assert state is not None
        item = _describe(store, state)
    if as_json:
        print_json(item)
    elif item["state"] == "closed":
        click.echo(f"Closed: {item['title']}, {item['received']} reports")
    else:
        ends = [f"after {item['closes_on']}"] if item["closes_on"] else []
        ends += [f"at {item['closes_at']} reports"] if item["closes_at"] else []
        click.echo(f"Closes {' or '.join(ends)}: {item['title']}, {item['received']} reports so far")


@survey.command(short_help="Open a closed survey again.")
@click.argument("hash_", metavar="HASH")
def reopen(hash_: str) -> None:
    """Open the survey HASH again, without a last day; for one that was closed by mistake or by a wrong clock.

    \b
    Example:
      hushpoll survey reopen 953b9c
    """
    with opened_store() as store:
        survey_hash = find_survey(store, hash_)
        opened = closing.reopen(store, survey_hash)
        if opened:
            record(store, COMMAND_LINE, "reopened", survey_hash)
    click.echo("Reports are taken again." if opened else "The survey is open.")


@survey.command(short_help="Make one-time invitations, as CSV.")
@click.argument("hash_", metavar="HASH")
@click.option("-n", "--number", type=int, required=True, help="How many.")
@json_option
def invite(hash_: str, number: int, as_json: bool) -> None:
    """Print fresh invitations to the survey HASH as CSV (code, url). They are kept here only as hashes.

    \b
    Example:
      hushpoll survey invite 953b9c -n 500 > codes.csv
    """
    with opened_store() as store:
        survey_hash = find_survey(store, hash_)
        codes = invitations.invite(store, survey_hash, number)
        record(store, COMMAND_LINE, "invitations made", survey_hash, str(number))
        links = [survey_link(store.config.address, survey_hash, code) for code in codes]
    if as_json:
        print_json(
            {
                "hash": survey_hash,
                "invitations": [{"code": code, "url": url} for code, url in zip(codes, links, strict=True)],
            }
        )
        return
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["code", "url"])
    table.writerows(zip(codes, links, strict=True))


def _describe(store: Store, state: SurveyState) -> dict[str, Any]:
    return {
        "hash": state.hash,
        "title": state.title,
        "state": state.state,
        "received": store.count(state.hash),
        "sealed": state.sealed_n,
        "published_on": str(state.published_on),
        "closes_on": str(state.closes_on) if state.closes_on else None,
        "closes_at": state.closes_at,
        "closed_on": str(state.closed_on) if state.closed_on else None,
        "results_public": state.results_public,
        "results_live": state.results_live,
        "url": survey_link(store.config.address, state.hash),
    }
