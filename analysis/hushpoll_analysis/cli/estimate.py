"""`hushpoll estimate`: true shares with intervals from counts of randomized reports."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from hushpoll_client import Channel, MechanismError, mechanisms
from hushpoll_client.cli.output import json_option, print_json
from hushpoll_client.formatting import at_most, epsilon_text, factor_text
from hushpoll_client.mechanism import MECHANISMS, Mechanism
from hushpoll_client.mechanism.parameters import CHANNEL
from hushpoll_client.strict_json import loads

from .parameters import (
    check_complete,
    flag,
    needed_options,
    parameter_options,
    read_counts,
    read_needed,
    read_parameters,
)

if TYPE_CHECKING:
    from hushpoll_analysis.shares.result import ShareEstimates

TABLE = "channel"  # another word for the mechanism whose table is given
COMPILED = {name: one for name, one in MECHANISMS.items() if not one.needs_channel}
NEEDED = sorted({key for one in COMPILED.values() for key in one.needs})
INTERVALS = (
    "auto",
    "wilson",
    "wald",
    "blaker",
    "clopper-pearson",
    "jeffreys",
    "score",
    "mover",
    "likelihood",
    "bootstrap",
)


@click.command()
@click.option(
    "--mechanism", type=click.Choice([*sorted(MECHANISMS), TABLE]), help="How answers were randomized."
)
@click.argument("listed", nargs=-1, metavar="[C0,C1,...]")
@click.option(
    "--counts",
    metavar="C0,C1,...",
    help="Reports, also without --counts, in option order (No,Yes; different,same for crosswise; 0,1,... red cards for "
    "kuk; sets that hold each option for subset; each possible report in order for other mechanisms).",
)
@parameter_options(COMPILED.values())
@needed_options(NEEDED)
@click.option("--channel", metavar="FILE", help=CHANNEL.help)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level.")
@click.option(
    "--interval", type=click.Choice(INTERVALS), default="auto", show_default=True, help="Interval method."
)
@click.option(
    "--population",
    type=float,
    metavar="N",
    help="Size of the finite population that these people are a random sample of.",
)
@click.option("--simultaneous", is_flag=True, help="All intervals together hold at the level (Bonferroni).")
@json_option
def estimate(
    mechanism: str | None,
    listed: tuple[str, ...],
    counts: str | None,
    channel: str | None,
    level: float,
    interval: str,
    population: float | None,
    simultaneous: bool,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Estimate true shares from counts of randomized reports.

    \b
    Examples:
      hushpoll estimate --mechanism warner --truth 3/4 --counts 580,420
      hushpoll estimate 580 420 --mechanism warner --truth 3/4
      hushpoll estimate --mechanism krr --epsilon 1 --counts 620,500,470,410 --simultaneous
      hushpoll estimate --mechanism or_poll --decoy-counts 412,1000 --counts 400,600
      hushpoll estimate --mechanism geometric --epsilon 2 --counts 310,240,180,150,120
      hushpoll estimate --channel channel.json --counts 310,240,180,150,120
    """
    from hushpoll_analysis import estimate as estimate_shares

    whole = read_counts(_given_counts(listed, counts), "--counts")
    device = _mechanism(mechanism, len(whole), channel, parameters)
    found = estimate_shares(
        whole, device, level=level, interval=interval, simultaneous=simultaneous, population=population
    )
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(_text(found))


def _given_counts(listed: tuple[str, ...], counts: str | None) -> str:
    """Return the counts, which stand after --counts or by themselves."""
    if counts is not None and listed:
        raise click.UsageError(
            f"counts stand twice, as {' '.join(listed)} and after --counts; give them once"
        )
    if counts is None and not listed:
        raise click.UsageError(
            "--counts is missing; give the reports in option order, such as --counts 580,420"
        )
    return ",".join(listed) if counts is None else counts


def _mechanism(
    name: str | None, counts: int, channel: str | None, given: dict[str, Any]
) -> Mechanism | Channel:
    if name is None and channel is None:
        known = ", ".join(sorted(MECHANISMS))
        raise click.UsageError(f"--mechanism is missing; give one of {known}, or --channel FILE")
    if name in COMPILED:
        if channel is not None:
            raise click.UsageError(f"--channel does not belong to {name}; remove it")
        found = COMPILED[name]
        needed = read_needed(found, given, NEEDED, "estimate")
        read = read_parameters(found, {key: text for key, text in given.items() if key not in NEEDED})
        check_complete(found, read, "estimate")
        return _compiled(found, counts, read | needed)
    for key, text in given.items():
        if text is not None:
            raise click.UsageError(
                f"{flag(key)} does not belong to {name or TABLE}, which takes --channel; remove it"
            )
    if channel is None:
        raise click.UsageError(f"{name} needs --channel; see hushpoll estimate --help")
    return _table(channel)


def _compiled(found: type[Mechanism], counts: int, read: dict[str, Any]) -> Mechanism:
    """Compile the mechanism for as many options as make so many counts, the most first.

    Where a report is an answer these are as many options as counts; dummies, longer scales and pairs make more reports
    than options.
    """
    from hushpoll_analysis.channel.view import sampler

    options = found.answers_in(read)
    if options is not None or found.reports_answers:
        return found.compile(options or counts, read)
    first: MechanismError | None = None
    for options in range(counts, 1, -1):
        try:
            made = found.compile(options, read)
        except MechanismError as error:
            first = first or error
            continue
        if counts in sampler(made.analysis).lengths:
            return made
    if first is not None:
        raise first
    raise click.UsageError(
        f"--counts: no number of options makes {counts} reports of {found.name}; give one count for each possible "
        "report, in order"
    )


def _table(path: str) -> Mechanism | Channel:
    """Read a table of one's own: probabilities, weights, or a published channel."""
    try:
        document = loads(Path(path).read_bytes())
    except OSError as error:
        raise click.UsageError(
            f"--channel {path}: cannot be read ({error.strerror}); check the path"
        ) from None
    except ValueError as error:
        raise click.UsageError(f"--channel {path}: {error}") from None
    if isinstance(document, dict) and "form" in document:
        published = Channel.from_json(document)
        return mechanisms.matrix(rows=published.rows) if published.listed else published
    if not isinstance(document, dict) or set(document) not in ({"rows"}, {"weights"}):
        raise click.UsageError(
            f'--channel {path}: needs {{"rows": [[...], ...]}} or {{"weights": [[...], ...]}}, one row of numbers per '
            "true answer, or a published channel"
        )
    key, rows = next(iter(document.items()))
    _check_rows(path, rows)
    return mechanisms.matrix(**{key: rows})


def _check_rows(path: str, rows: object) -> None:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        raise click.UsageError(
            f'--channel {path}: needs {{"rows": [[...], ...]}}, one row of numbers per true answer'
        )
    for number, row in enumerate(rows, 1):
        for value in row:
            if value is None or isinstance(value, bool | dict | list):
                raise click.UsageError(
                    f"--channel {path}: row {number} holds {value!r}; every entry is a number"
                )


def _text(found: ShareEstimates) -> str:
    """Write a table for people: shown values, both standard errors, and what to know beside them."""
    together = " (all together)" if found.simultaneous and len(found.estimates) > 1 else ""
    lines = [
        f"{found.mechanism}, n = {found.n} reports, {found.level:.4g} {found.interval} intervals{together}",
        "",
    ]
    head = ("option", "reported", "estimate", "low", "high", "se", "se privacy", "unclipped")
    rows = [head]
    for entry in found.estimates:
        shown = entry.shown
        numbers = (shown.estimate, shown.low, shown.high, entry.se, entry.se_privacy, entry.estimate)
        reported = "" if entry.reported is None else str(entry.reported)
        rows.append((entry.option, reported, *(f"{number:.4f}" for number in numbers)))  # type: ignore[arg-type]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        first = row[0].ljust(widths[0])
        lines.append(
            "  ".join([first, *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))])
        )
    lines += ["", "Reported counts are randomized, not true.", _privacy(found)]
    heaviest = at_most(max(entry.weight for entry in found.estimates))
    honest = "an honest one" if heaviest == "1" else f"{heaviest} honest ones"
    lines.append(f"One dishonest report weighs at most as much as {honest}.")
    return "\n".join([*lines, *found.notes])


def _privacy(found: ShareEstimates) -> str:
    if math.isfinite(found.epsilon):
        note = f" ({found.epsilon_note})" if found.epsilon_note else ""
        return f"epsilon {epsilon_text(found.epsilon)}: odds change at most {factor_text(found.epsilon)}-fold{note}"
    return f"epsilon {found.epsilon_note or 'unbounded'}"
