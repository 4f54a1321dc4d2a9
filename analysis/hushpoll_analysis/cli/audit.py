"""`hushpoll audit FILE`: measure a survey's epsilon by drawing from its real randomizer."""

from __future__ import annotations

import sys

import click
from hushpoll_client.cli.output import finite, json_option, print_json, read_survey
from hushpoll_client.formatting import at_least, epsilon_text

from hushpoll_analysis.simulation.epsilon_audit import ChannelAudit, audit_survey, audited_answers
from hushpoll_analysis.simulation.whole_report import PersonAudit, audit_person, parts_of
from hushpoll_analysis.simulation.whole_report_audit import MOST_DRAWS, audit_drawn


@click.command(short_help="Measure a survey's epsilon by drawing from its real randomizer.")
@click.argument("file", type=click.Path())
@click.option(
    "--draws",
    type=click.IntRange(1_000, 100_000_000),
    default=1_000_000,
    show_default=True,
    help="Draws for each true answer.",
)
@json_option
def audit(file: str, draws: int, as_json: bool) -> None:
    """Measure the epsilon of every question of FILE (a survey document) by drawing from the real randomizer.

    Prints the least epsilon that the draws are compatible with (Clopper-Pearson limits, error probability 1 % for each
    question), and the claimed one. Where the reports of a whole person are few enough to be listed, each is, with
    its exact chance under all combinations of answers: the last line is then the exact epsilon of a person. Where they
    are too many, whole reports of people who differ are drawn as devices draw them, and the last line is the least
    epsilon of a person that these are compatible with. Ends with status 1 when a measured bound or the exact one
    exceeds its claim.

    \b
    Example:
      hushpoll audit survey.json --draws 100000
    """
    survey = read_survey(file)
    total = draws * sum(len(audited_answers(question.channel)) for question in survey.entries)
    results: list[ChannelAudit] = []
    with click.progressbar(
        length=total, label="Drawing", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        for result in audit_survey(survey, draws, progress=bar.update):
            results.append(result)
    person = audit_person(parts_of(survey), [entry.channel.ratio for entry in survey.entries])
    if person.passed is None:
        person = audit_drawn(survey, person, min(draws, MOST_DRAWS))
    passed = all(result.passed for result in results) and person.passed is not False
    if as_json:
        questions = [
            {
                "id": result.question,
                "epsilon": finite(result.claimed),
                "bound": result.bound,
                "answers": list(result.answers),
                "passed": result.passed,
            }
            for result in results
        ]
        person_result = {
            "epsilon": finite(person.claimed),
            "exact": None if person.epsilon is None else finite(person.epsilon),
            "enumerated": person.epsilon is not None,
            "cases": person.cases,
            "bound": person.bound,
            "passed": person.passed,
        }
        print_json(
            {
                "hash": survey.hash,
                "draws": draws,
                "passed": passed,
                "questions": questions,
                "person": person_result,
            }
        )
    else:
        _print(results, draws)
        click.echo(_person_line(person))
    if not passed:
        sys.exit(1)


def _print(results: list[ChannelAudit], draws: int) -> None:
    width = max(8, *(len(result.question) for result in results))
    click.echo(
        f"{'question':{width}}  {'claimed':>9}  {'at least':>9}  verdict   ({draws:,} draws per answer)"
    )
    for result in results:
        claimed, bound = epsilon_text(result.claimed), at_least(result.bound, 4)
        verdict = "BROKEN"
        if result.passed:
            verdict = "holds"
        if finite(result.claimed) is None:
            verdict = "nothing to hold"
        click.echo(f"{result.question:{width}}  {claimed:>9}  {bound:>9}  {verdict}")


def _person_line(person: PersonAudit) -> str:
    """Return what the enumeration found, or what drawn reports show where there was too much to list."""
    verdict = "BROKEN"
    if person.passed:
        verdict = "holds"
    if finite(person.claimed) is None:
        verdict = "nothing to hold"
    if person.bound is not None:
        evidence = f"at least {at_least(person.bound, 4)} by whole reports drawn"
        claim = f"whole person: claimed {epsilon_text(person.claimed)}, {evidence}"
        return f"{claim}, {person.cases:,} cases being too many to list: {verdict}"
    assert person.epsilon is not None
    exact = f"exactly {epsilon_text(person.epsilon)}, {person.cases:,} cases enumerated"
    return f"whole person: claimed {epsilon_text(person.claimed)}, {exact}: {verdict}"
