"""`hushpoll survey`: publish, list and close surveys, and make invitations to them."""

from __future__ import annotations

import csv
import datetime
import sys
from typing import Any

import click
from hushpoll_client import Survey, SurveyError
from hushpoll_client.cli.output import json_option, print_json, read_survey
from hushpoll_client.delivery.link import fingerprint, survey_link
from hushpoll_client.survey.group import named_group

from hushpoll_server.collect import closing, invitations
from hushpoll_server.people.audit_log import COMMAND_LINE, Detail, record
from hushpoll_server.people.sharing import check_owner
from hushpoll_server.store.surveys import Store, SurveyState
from hushpoll_server.weakness import PROTECTS_LITTLE, weakness

from .group_sizes import read_sizes
from .stored import find_survey, opened_store, print_left_over

# More people than there are in most countries, and a whole number that every database takes.
MOST_REPORTS = 2_000_000_000


@click.command()
@click.argument("file", type=click.Path())
@click.option("--public-results", is_flag=True, help="Publish the results when the survey is closed.")
@click.option(
    "--live-results",
    is_flag=True,
    help="Publish them while it is open, too; new reports are added once a day.",
)
@click.option("--target", type=click.IntRange(1, MOST_REPORTS), help="Number of reports hoped for.")
@click.option(
    "--owner", metavar="NAME", help="Account that the survey belongs to; without it only admins see it."
)
@json_option
def publish(
    file: str,
    public_results: bool,
    live_results: bool,
    target: int | None,
    owner: str | None,
    as_json: bool,
) -> None:
    """Publish FILE under its hash and print the address for respondents. Publishing again changes nothing.

    A survey that protects its respondents little is published with a warning.

    \b
    Example:
      hushpoll survey publish survey.json --target 500 --owner ada
    """
    document = read_survey(file)
    with opened_store() as store:
        if owner is not None:
            owner = check_owner(store, owner)
        new = store.publish(
            document,
            owner,
            target_n=target,
            results_public=public_results,
            results_live=live_results,
        )
        if new:
            record(store, COMMAND_LINE, "published", document.hash, document.title)
        address = store.config.address
        url = survey_link(address, document.hash)
    links, weak = group_links(address, document), weakness(document)
    if weak:
        click.echo(f"warning: {PROTECTS_LITTLE} {weak} Lower the epsilons if you can.", err=True)
    if as_json:
        more = {"links": links, "warning": weak and f"{PROTECTS_LITTLE} {weak}"}
        extra = {key: value for key, value in more.items() if value}
        print_json({"hash": document.hash, "url": url, "new": new, **extra})
        return
    event = "Published" if new else "Published before"
    click.echo(f"{event}: {document.title}")
    click.echo(f"hash  {document.hash}\nurl   {url}")
    for group, link in links.items():
        click.echo(f"      {link}  for {group}")


def group_links(address: str, survey: Survey) -> dict[str, str]:
    """Return the link of each group; none where there are no groups."""
    return {name: survey_link(address, survey.hash, group=index) for index, name in enumerate(survey.groups)}


@click.command("list")
@json_option
def list_surveys(as_json: bool) -> None:
    """List published surveys, the newest first, with the number of reports received."""
    with opened_store() as store:
        surveys = [_describe(store, state) for state in store.list_surveys()]
    if as_json:
        print_json({"surveys": surveys})
        return
    for item in surveys:
        click.echo(f"{item['hash']}  {item['state']:6}  {item['received']:8}  {item['title']}")


@click.command()
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
        last_day = None
        if on:
            last_day = on.date()
        closing.close(store, survey_hash, last_day, at, actor=COMMAND_LINE)
        if on or at:
            record(store, COMMAND_LINE, "closing planned", survey_hash)
        print_left_over(store, survey_hash)
        state = store.state(survey_hash)
        assert state is not None
        item = _describe(store, state)
    if as_json:
        print_json(item)
    elif item["state"] == "closed":
        click.echo(f"Closed: {item['title']}, {item['received']} reports")
    else:
        ends = []
        if item["closes_on"]:
            ends.append(f"after {item['closes_on']}")
        if item["closes_at"]:
            ends.append(f"at {item['closes_at']} reports")
        click.echo(f"Closes {' or '.join(ends)}: {item['title']}, {item['received']} reports so far")


@click.command()
@click.argument("hash_", metavar="HASH")
@json_option
def reopen(hash_: str, as_json: bool) -> None:
    """Open the survey HASH again, without a last day; for one that was closed by mistake or by a wrong clock.

    When it closes again, its totals change by the new reports alone, however few. Who has read them before learns what
    these say together, of one report what was sent: a randomized answer.

    \b
    Example:
      hushpoll survey reopen 953b9c
    """
    with opened_store() as store:
        survey_hash = find_survey(store, hash_)
        opened = closing.reopen(store, survey_hash)
        if opened:
            record(store, COMMAND_LINE, "reopened", survey_hash)
        state = store.state(survey_hash)
        assert state is not None
        item = _describe(store, state)
    if as_json:
        print_json(item)
    elif opened:
        click.echo("Reports are accepted again.")
    else:
        click.echo("The survey is open.")


@click.command()
@click.argument("hash_", metavar="HASH")
@click.argument("sizes", nargs=-1, metavar="NAME=N ...")
@json_option
def sizes(hash_: str, sizes: tuple[str, ...], as_json: bool) -> None:
    """Keep how many people each group of the survey HASH has; without any, forget it.

    Results then weight each group by its size, and allow for how much of it has answered.

    \b
    Example:
      hushpoll survey sizes 953b9c Science=1200 Arts=800
    """
    with opened_store() as store:
        survey_hash = find_survey(store, hash_)
        survey = store.get_survey(survey_hash)
        assert survey is not None
        group_sizes = None
        if sizes:
            group_sizes = read_sizes(survey.groups, sizes, "sizes")
        store.set_group_sizes(survey_hash, group_sizes)
        record(store, COMMAND_LINE, "group sizes", survey_hash, ", ".join(sizes))
    if as_json:
        print_json({"hash": survey_hash, "sizes": group_sizes})
    elif sizes:
        click.echo("Results are weighted by group.")
    else:
        click.echo("Results are not weighted by group.")


@click.command()
@click.argument("hash_", metavar="HASH")
@click.option("-n", "--number", type=int, required=True, help="How many.")
@click.option("--group", metavar="NAME", help="For this group, where the survey has groups.")
@json_option
def invite(hash_: str, number: int, group: str | None, as_json: bool) -> None:
    """Print fresh invitations to the survey HASH as CSV (code, url, fingerprint). They are kept here only as hashes.

    Print the fingerprint on each invitation: these are the first 8 characters that the page asks people to compare.
    Where the survey has groups, a code belongs to one of them and is good with its link only.

    \b
    Examples:
      hushpoll survey invite 953b9c -n 500 > codes.csv
      hushpoll survey invite 953b9c -n 500 --group Science > science.csv
    """
    with opened_store() as store:
        survey_hash = find_survey(store, hash_)
        survey = store.get_survey(survey_hash)
        assert survey is not None
        group_index = _group(survey, group)
        codes = invitations.invite(store, survey_hash, number, group_index)
        detail = Detail("invitations", count=number, group=group or "")
        record(store, COMMAND_LINE, "invitations made", survey_hash, detail)
        links = [survey_link(store.config.address, survey_hash, code, group_index) for code in codes]
    if as_json:
        document: dict[str, Any] = {"hash": survey_hash, "fingerprint": fingerprint(survey_hash)}
        if group is not None:
            document["group"] = group
        pairs = zip(codes, links, strict=True)
        document["invitations"] = [{"code": code, "url": url} for code, url in pairs]
        print_json(document)
        return
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["code", "url", "fingerprint"])
    table.writerows((code, url, fingerprint(survey_hash)) for code, url in zip(codes, links, strict=True))


def _group(survey: Survey, name: str | None) -> int | None:
    """Find a group by its name, as the option says it."""
    try:
        return named_group(survey.groups, name)
    except SurveyError as error:
        raise click.UsageError(f"--group: {error.problem}; {error.remedy}") from None


def _day(date: datetime.date | None) -> str | None:
    if date is None:
        return None
    return date.isoformat()


def _describe(store: Store, state: SurveyState) -> dict[str, Any]:
    return {
        "hash": state.hash,
        "title": state.title,
        "state": state.state,
        "received": store.count(state.hash),
        "sealed": state.sealed_n,
        "published_on": str(state.published_on),
        "closes_on": _day(state.closes_on),
        "closes_at": state.closes_at,
        "closed_on": _day(state.closed_on),
        "results_public": state.results_public,
        "results_live": state.results_live,
        "url": survey_link(store.config.address, state.hash),
    }
