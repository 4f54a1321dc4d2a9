"""`hushpoll estimate`: true shares with intervals from counts of randomized reports."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from hushpoll_client import mechanisms
from hushpoll_client.mechanisms import Mechanism
from hushpoll_client.strict_json import loads

from .output import json_option, print_json

if TYPE_CHECKING:
    from hushpoll_analysis import Estimate

INTERVALS = (
    "auto",
    "wilson",
    "wald",
    "clopper-pearson",
    "jeffreys",
    "score",
    "mover",
    "likelihood",
    "bootstrap",
)

# What each mechanism takes beside the counts; anything else given is refused rather than ignored.
TAKES: dict[str, tuple[str, ...]] = {
    "channel": ("channel",),
    "crosswise": ("decoy_share", "decoy_counts", "epsilon"),
    "forced": ("forced",),
    "krr": ("epsilon",),
    "kuk": ("red", "draws"),
    "mangat": ("truth",),
    "matrix": ("channel",),
    "or_poll": ("decoy_share", "decoy_counts", "epsilon"),
    "triangular": ("decoy_share", "decoy_counts"),
    "unrelated": ("truth", "decoy_share", "decoy_counts", "epsilon"),
    "warner": ("epsilon", "truth"),
}


@click.command()
@click.option("--mechanism", type=click.Choice(sorted(TAKES)), help="How answers were randomized.")
@click.option(
    "--counts",
    required=True,
    metavar="C0,C1,...",
    help="Reports in option order (No,Yes; different,same for crosswise; 0,1,... red cards for kuk).",
)
@click.option(
    "--epsilon", metavar="E", help="Privacy parameter of warner or krr, or of the flip after a decoy."
)
@click.option(
    "--truth", metavar="P", help="Warner's phi, unrelated's theta, mangat's truth probability (3/4 works)."
)
@click.option("--forced", metavar="U0,U1,...", help="Forced share of each option.")
@click.option("--decoy-share", metavar="Q", help="Known share of Yes to the decoy question.")
@click.option("--decoy-counts", metavar="YES,OF", help="The decoy share, estimated: Yes answers, of so many.")
@click.option("--red", metavar="P1,P0", help="Kuk: share of red cards if the truth is Yes, and if it is No.")
@click.option(
    "--draws", type=int, metavar="R", help="Kuk: cards drawn per respondent (1 unless said otherwise)."
)
@click.option(
    "--channel", metavar="FILE", help='JSON {"rows": [[...], ...]}: probabilities or weights, row = truth.'
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level.")
@click.option(
    "--interval", type=click.Choice(INTERVALS), default="auto", show_default=True, help="Interval method."
)
@click.option("--simultaneous", is_flag=True, help="All intervals together hold at the level (Bonferroni).")
@json_option
def estimate(
    mechanism: str | None,
    counts: str,
    level: float,
    interval: str,
    simultaneous: bool,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Estimate true shares from counts of randomized reports.

    \b
    Examples:
      hushpoll estimate --mechanism warner --truth 3/4 --counts 580,420
      hushpoll estimate --mechanism krr --epsilon 1 --counts 620,500,470,410 --simultaneous
      hushpoll estimate --mechanism or_poll --decoy-counts 412,1000 --counts 400,600
    """
    from hushpoll_analysis import estimate as estimate_shares

    whole = _counts(counts, "--counts")
    device = _mechanism(mechanism, len(whole), parameters)
    found = estimate_shares(whole, device, level=level, interval=interval, simultaneous=simultaneous)
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(_text(found))


def _mechanism(name: str | None, options: int, parameters: dict[str, Any]) -> Mechanism:
    given = {key: value for key, value in parameters.items() if value is not None}
    if name is None:
        if "channel" not in given:
            raise click.UsageError(
                f"--mechanism is missing; give one of {', '.join(sorted(TAKES))}, or --channel FILE"
            )
        name = "channel"
    for key in given:
        if key not in TAKES[name]:
            takes = ", ".join(_flag(taken) for taken in TAKES[name])
            raise click.UsageError(f"{_flag(key)} does not belong to {name}, which takes {takes}; remove it")
    return _MAKERS[name](given, options)


def _warner(given: dict[str, Any], options: int) -> Mechanism:
    if ("epsilon" in given) == ("truth" in given):
        raise click.UsageError("warner needs either --epsilon or --truth, one of the two")
    return mechanisms.warner(**given)


def _krr(given: dict[str, Any], options: int) -> Mechanism:
    return mechanisms.krr(options=options, epsilon=_needed(given, "epsilon", "krr"))


def _forced(given: dict[str, Any], options: int) -> Mechanism:
    return mechanisms.forced(_split(_needed(given, "forced", "forced")))


def _kuk(given: dict[str, Any], options: int) -> Mechanism:
    red = _split(_needed(given, "red", "kuk"))
    if len(red) != 2:
        raise click.UsageError(
            f"--red takes two probabilities, if Yes and if No, such as 4/5,1/5; got {len(red)}"
        )
    return mechanisms.kuk(red[0], red[1], given.get("draws", 1))


def _mangat(given: dict[str, Any], options: int) -> Mechanism:
    return mechanisms.mangat(_needed(given, "truth", "mangat"))


def _unrelated(given: dict[str, Any], options: int) -> Mechanism:
    return mechanisms.unrelated(_needed(given, "truth", "unrelated"), **_decoy(given, "unrelated"))


def _with_decoy(name: str) -> Callable[[dict[str, Any], int], Mechanism]:
    def make(given: dict[str, Any], options: int) -> Mechanism:
        made: Mechanism = getattr(mechanisms, name)(**_decoy(given, name))
        return made

    return make


def _matrix(given: dict[str, Any], options: int) -> Mechanism:
    return mechanisms.matrix(_rows(_needed(given, "channel", "matrix")))


_MAKERS: dict[str, Callable[[dict[str, Any], int], Mechanism]] = {
    "channel": _matrix,
    "crosswise": _with_decoy("crosswise"),
    "forced": _forced,
    "krr": _krr,
    "kuk": _kuk,
    "mangat": _mangat,
    "matrix": _matrix,
    "or_poll": _with_decoy("or_poll"),
    "triangular": _with_decoy("triangular"),
    "unrelated": _unrelated,
    "warner": _warner,
}


def _needed(given: dict[str, Any], key: str, name: str) -> Any:
    if key not in given:
        raise click.UsageError(f"{name} needs {_flag(key)}; see hushpoll estimate --help")
    return given[key]


def _decoy(given: dict[str, Any], name: str) -> dict[str, Any]:
    if ("decoy_share" in given) == ("decoy_counts" in given):
        raise click.UsageError(f"{name} needs either --decoy-share or --decoy-counts, one of the two")
    decoy: dict[str, Any] = {key: given[key] for key in ("decoy_share", "epsilon") if key in given}
    if "decoy_counts" in given:
        counts = _counts(given["decoy_counts"], "--decoy-counts")
        if len(counts) != 2:
            raise click.UsageError(
                f"--decoy-counts takes two numbers, YES,OF, such as 412,1000; got {len(counts)}"
            )
        decoy["decoy_counts"] = counts
    return decoy


def _rows(path: str) -> list[list[Any]]:
    file = Path(path)
    try:
        document = loads(file.read_bytes())
    except OSError as error:
        raise click.UsageError(
            f"--channel {path}: cannot be read ({error.strerror}); check the path"
        ) from None
    except ValueError as error:
        raise click.UsageError(f"--channel {path}: {error}") from None
    rows = document.get("rows") if isinstance(document, dict) else None
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
    return rows


def _counts(text: str, flag: str) -> list[int]:
    numbers = []
    for place, part in enumerate(_split(text), 1):
        if not re.fullmatch(r"[0-9]{1,15}", part):
            raise click.UsageError(
                f"{flag}: {part!r} at position {place} is not a whole number of reports; write them as 580,420"
            )
        numbers.append(int(part))
    return numbers


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _text(found: Estimate) -> str:
    """A table for people: shown values, both standard errors, and what to know beside them."""
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
    heaviest = max(entry.weight for entry in found.estimates)
    lines.append(f"One dishonest report weighs at most as much as {heaviest:.3g} honest ones.")
    return "\n".join([*lines, *found.notes])


def _privacy(found: Estimate) -> str:
    if math.isfinite(found.epsilon):
        from hushpoll_analysis.results.method import factor_text

        note = f" ({found.epsilon_note})" if found.epsilon_note else ""
        return f"epsilon {found.epsilon:.6g}: odds change at most {factor_text(found.epsilon)}-fold{note}"
    return f"epsilon {found.epsilon_note or 'unbounded'}"
