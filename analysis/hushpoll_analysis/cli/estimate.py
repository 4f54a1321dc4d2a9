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

from hushpoll_analysis.interval import METHODS

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
    from hushpoll_analysis.estimand.share_estimates import ShareEstimates

TABLE = "channel"  # another word for the mechanism whose table is given
COMPILED = {name: kind for name, kind in MECHANISMS.items() if not kind.needs_channel}
NEEDED = sorted({key for kind in COMPILED.values() for key in kind.needs})


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
    "--interval", type=click.Choice(METHODS), default="auto", show_default=True, help="Interval method."
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

    numbers = read_counts(_given_counts(listed, counts), "--counts")
    device = _mechanism(mechanism, len(numbers), channel, parameters)
    estimates = estimate_shares(
        numbers, device, level=level, interval=interval, simultaneous=simultaneous, population=population
    )
    if as_json:
        print_json(estimates.to_dict())
    else:
        click.echo(_text(estimates))


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
    if counts is None:
        return ",".join(listed)
    return counts


def _mechanism(
    name: str | None, counts: int, channel: str | None, flags: dict[str, Any]
) -> Mechanism | Channel:
    if name is None and channel is None:
        names = ", ".join(sorted(MECHANISMS))
        raise click.UsageError(f"--mechanism is missing; give one of {names}, or --channel FILE")
    if name in COMPILED:
        if channel is not None:
            raise click.UsageError(f"--channel does not belong to {name}; remove it")
        kind = COMPILED[name]
        numbers = read_needed(kind, flags, NEEDED, "estimate")
        parameters = read_parameters(kind, {key: text for key, text in flags.items() if key not in NEEDED})
        check_complete(kind, parameters, "estimate")
        return _compiled(kind, counts, parameters | numbers)
    for key, text in flags.items():
        if text is not None:
            raise click.UsageError(
                f"{flag(key)} does not belong to {name or TABLE}, which takes --channel; remove it"
            )
    if channel is None:
        raise click.UsageError(f"{name} needs --channel; see hushpoll estimate --help")
    return _table(channel)


def _compiled(kind: type[Mechanism], counts: int, parameters: dict[str, Any]) -> Mechanism:
    """Compile the mechanism for the most options that make this number of counts.

    Where a report is an answer these are as many options as counts; dummies, longer scales and pairs make more reports
    than options.
    """
    from hushpoll_analysis.channel.view import sampler

    options = kind.answers_in(parameters)
    if options is not None or kind.reports_answers:
        return kind.compile(options or counts, parameters)
    first: MechanismError | None = None
    for options in range(counts, 1, -1):
        try:
            mechanism = kind.compile(options, parameters)
        except MechanismError as error:
            first = first or error
            continue
        if counts in sampler(mechanism.analysis).lengths:
            return mechanism
    if first is not None:
        raise first
    raise click.UsageError(
        f"--counts: no number of options makes {counts} reports of {kind.name}; give one count for each possible "
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
        if published.listed:
            return mechanisms.matrix(rows=published.rows)
        return published
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


def _text(table: ShareEstimates) -> str:
    """Return the table as text: shown values, both standard errors and notes."""
    together = ""
    if table.simultaneous and len(table.estimates) > 1:
        together = " (all together)"
    lines = [
        f"{table.mechanism}, n = {table.n} reports, {table.level:.4g} {table.interval} intervals{together}",
        "",
    ]
    head = ("option", "reported", "estimate", "low", "high", "se", "se privacy", "unclipped")
    rows = [head]
    for entry in table.estimates:
        interval = entry.shown
        numbers = (interval.estimate, interval.low, interval.high, entry.se, entry.se_privacy, entry.estimate)
        reported = ""
        if entry.reported is not None:
            reported = str(entry.reported)
        rows.append((entry.option, reported, *(f"{number:.4f}" for number in numbers)))  # type: ignore[arg-type]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        first = row[0].ljust(widths[0])
        lines.append(
            "  ".join([first, *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))])
        )
    lines += ["", "Reported counts are randomized, not true.", _privacy(table)]
    heaviest = at_most(max(entry.weight for entry in table.estimates))
    honest = "an honest one"
    if heaviest != "1":
        honest = f"{heaviest} honest ones"
    lines.append(f"One dishonest report weighs at most as much as {honest}.")
    return "\n".join([*lines, *table.notes])


def _privacy(estimates: ShareEstimates) -> str:
    if math.isfinite(estimates.epsilon):
        note = ""
        if estimates.epsilon_note:
            note = f" ({estimates.epsilon_note})"
        odds = f"odds change at most {factor_text(estimates.epsilon)}-fold"
        return f"epsilon {epsilon_text(estimates.epsilon)}: {odds}{note}"
    return f"epsilon {estimates.epsilon_note or 'unbounded'}"
