"""`hushpoll power`: the chance to see a share or a difference, and the number of answers it takes."""

from __future__ import annotations

import click
from hushpoll_client.cli.output import json_option, print_json
from hushpoll_client.mechanism import MECHANISMS

from .parameters import check_complete, parameter_options, read_parameters

PLANNED = [mechanism for mechanism in MECHANISMS.values() if mechanism.in_surveys and mechanism.recompiled]


@click.command()
@click.option(
    "--mechanism",
    required=True,
    type=click.Choice([mechanism.name for mechanism in PLANNED]),
    help="How answers are randomized.",
)
@parameter_options(PLANNED)
@click.option("--share", type=float, metavar="P", help="The true share (of the first group).")
@click.option(
    "--null", type=float, default=0.0, show_default=True, metavar="P0", help="The share to tell it from."
)
@click.option("--other", type=float, metavar="P2", help="The second group's true share: test the difference.")
@click.option("--n", "n", type=int, metavar="N", help="Number of answers (of the first group).")
@click.option(
    "--ratio", type=float, default=1.0, show_default=True, help="Second group's size over the first's."
)
@click.option(
    "--power",
    "target_power",
    type=float,
    metavar="CHANCE",
    help="The power wanted: gives the number of answers.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Significance level.")
@click.option("--one-sided", is_flag=True, help="A one-sided test.")
@json_option
def power(
    mechanism: str,
    share: float | None,
    null: float,
    other: float | None,
    n: int | None,
    ratio: float,
    target_power: float | None,
    alpha: float,
    one_sided: bool,
    as_json: bool,
    **parameters: str | None,
) -> None:
    """Compute the power from --n, or the number of answers from --power.

    \b
    Examples:
      hushpoll power --mechanism warner --epsilon 1 --share .15 --null .1 --n 2000
      hushpoll power --mechanism warner --epsilon 1 --share .10 --other .15 --power .8
    """
    if share is None or (n is None) == (target_power is None):
        raise click.UsageError("give --share, and one of --n and --power; see hushpoll power --help")
    kind = MECHANISMS[mechanism]
    known_parameters = read_parameters(kind, parameters)
    check_complete(kind, known_parameters, "power")
    ready = kind.compile(kind.answers_in(known_parameters) or 2, known_parameters)
    sizes, chance = _sizes_and_power(
        ready,
        share,
        null,
        other=other,
        n=n,
        ratio=ratio,
        target_power=target_power,
        alpha=alpha,
        two_sided=not one_sided,
    )
    if as_json:
        print_json(
            {
                "mechanism": mechanism,
                "share": share,
                "null": None if other is not None else null,
                "other": other,
                "n": list(sizes),
                "alpha": alpha,
                "two_sided": not one_sided,
                "power": chance,
            }
        )
        return
    if other is None:
        what = f"{share:g} from {null:g}"
    else:
        what = f"{share:g} and {other:g} apart"
    people = " and ".join(f"{size:,}" for size in sizes)
    click.echo(f"{people} answers tell {what} with power {chance:.3f} (alpha {alpha:g}).")


def _sizes_and_power(
    mechanism: object,
    share: float,
    null: float,
    other: float | None,
    n: int | None,
    ratio: float,
    target_power: float | None,
    alpha: float,
    two_sided: bool,
) -> tuple[tuple[int, ...], float]:
    """Return the numbers of answers and the power that they have."""
    from hushpoll_client.mechanism import Mechanism

    from hushpoll_analysis import answers_for_difference, answers_for_power, power_of_difference
    from hushpoll_analysis import power as power_of
    from hushpoll_analysis.planning.power_analysis import read_ratio

    assert isinstance(mechanism, Mechanism)
    if other is None:
        if n is not None:
            return (n,), power_of(mechanism, n, share, null, alpha, two_sided).power
        assert target_power is not None
        result = answers_for_power(mechanism, target_power, share, null, alpha, two_sided)
        return (result.n,), result.power
    shares = (share, other)
    if n is None:
        assert target_power is not None
        sizes = answers_for_difference(mechanism, target_power, shares, alpha, two_sided, ratio)
    else:
        sizes = (n, max(round(n * read_ratio(ratio)), 2))
    return sizes, power_of_difference(mechanism, sizes, shares, alpha, two_sided)
