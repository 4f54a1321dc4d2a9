"""`hushpoll design`: the best channel for a question, with its proof, and how every other mechanism compares."""

from __future__ import annotations

import click
from hushpoll_client.cli.output import json_option, print_json

from .progress import searching

TARGETS = ("shares", "mean", "cumulative")


@click.command()
@click.option("--options", type=int, required=True, metavar="K", help="Number of answers, points or bins.")
@click.option("--epsilon", required=True, metavar="E", help="Privacy parameter of one answer.")
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    required=True,
    help="What will be reported: all shares, the mean (of points spread over -1 to 1), or cumulative shares.",
)
@click.option(
    "--worst", is_flag=True, help="For the mean: the least variance at the worst truth, of any number."
)
@json_option
def design(options: int, epsilon: str, target: str, worst: bool, as_json: bool) -> None:
    """Find the channel with the least variance that this epsilon allows, and prove it.

    The best is meant for unbiased estimates at answers that are all alike; estimates are unbiased whatever the truth.
    The table shows how many respondents every other mechanism needs for the same margin, the best being 1.

    \b
    Examples:
      hushpoll design --options 5 --epsilon 1 --target cumulative
      hushpoll design --options 21 --epsilon 1 --target mean --worst --json
    """
    from hushpoll_analysis.planning.best_channel import design as find

    with searching():
        result = find(options, epsilon, target, worst)
    if as_json:
        print_json(result.to_dict())
    else:
        click.echo(str(result))
