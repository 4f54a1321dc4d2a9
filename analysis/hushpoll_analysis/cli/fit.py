"""`hushpoll fit`: a regression model of randomized answers, without writing Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from hushpoll_client.cli.output import json_option, print_json, read_survey

if TYPE_CHECKING:
    from hushpoll_analysis import Study

FAMILIES = ("logit", "probit", "linear", "ordinal", "multinomial")


@click.command()
@click.argument("formula")
@click.option("--survey", "file", required=True, metavar="FILE", help="The survey document.")
@click.option(
    "--data",
    required=True,
    metavar="FILE",
    help="Reports in a .csv or .parquet, a folder of Parquet files, or a pattern in quotes ('parts/*.parquet').",
)
@click.option(
    "--family",
    type=click.Choice(FAMILIES),
    default=FAMILIES[0],
    show_default=True,
    help="The model of the outcome.",
)
@click.option("--weights", metavar="COLUMN", help="Weights, a column of --data.")
@click.option("--strata", metavar="COLUMN", help="Strata, a column of --data.")
@click.option("--clusters", metavar="COLUMN", help="Clusters, a column of --data.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level.")
@json_option
def fit(
    formula: str, file: str, data: str, family: str, level: float, as_json: bool, **design: str | None
) -> None:
    """Fit a regression model to randomized answers.

    FORMULA names an outcome and its predictors: questions of the survey, whose reports --data has, and other columns of
    --data. Coefficients are those of the true answers. A formula can run code: do not take one from strangers.

    \b
    Examples:
      hushpoll fit 'cheated ~ failed + age' --survey exam.json --data reports.parquet
      hushpoll fit 'stress ~ C(town)' --family ordinal --survey exam.json --data reports.csv --weights w
    """
    from hushpoll_analysis import Study

    columns = {key: column for key, column in design.items() if column is not None}
    result = _model(Study(read_survey(file), data, **columns), family)(formula, level=level)
    if as_json:
        print_json(result.to_dict())
    else:
        click.echo(result.summary())


def _model(study: Study, family: str) -> Callable[..., Any]:
    """Return the method of a study that fits this family."""
    if family == "probit":
        return partial(study.logit, link=family)
    method: Callable[..., Any] = getattr(study, family)
    return method
