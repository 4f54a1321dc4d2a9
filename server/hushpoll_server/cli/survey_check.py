"""`hushpoll survey check FILE`: is the document sound, what is its hash, how private is it?"""

from __future__ import annotations

from typing import Any

import click
from hushpoll_client import Question, Survey
from hushpoll_client.words import epsilon_text

from .output import finite, json_option, print_json, read_survey


@click.command(short_help="Check a survey document: hash, epsilon per question and in total.")
@click.argument("file", type=click.Path())
@json_option
def check(file: str, as_json: bool) -> None:
    """Check FILE, a survey document in draft or published form, and print its hash and its epsilons.

    A broken document ends with status 2 and one line that names the question, the field and the remedy.

    \b
    Example:
      hushpoll survey check survey.json
    """
    survey = read_survey(file)
    if as_json:
        print_json(describe(survey))
    else:
        _print(survey)


def describe(survey: Survey) -> dict[str, Any]:
    """Give what `--json` prints."""
    return {
        "hash": survey.hash,
        "title": survey.title,
        "epsilon_total": finite(survey.epsilon_total),
        "questions": [_question(question) for question in survey.questions],
    }


def _question(question: Question) -> dict[str, Any]:
    mechanism = question.mechanism
    value: dict[str, Any] = {
        "id": question.id,
        "kind": question.kind.name,
        "mechanism": mechanism.name,
        "epsilon": finite(mechanism.epsilon),
        "options": list(question.options),
    }
    if mechanism.epsilon_note:
        value["epsilon_note"] = mechanism.epsilon_note
    if mechanism.has_decoy:
        value["epsilon_conditional"] = mechanism.epsilon_conditional
    return value


def _print(survey: Survey) -> None:
    click.echo(f"{survey.title}\nhash   {survey.hash}")
    width = max(8, *(len(question.id) for question in survey.questions))
    click.echo(f"\n{'question':{width}}  {'kind':7} {'mechanism':10} {'options':>7}  epsilon")
    for question in survey.questions:
        mechanism, count = question.mechanism, len(question.options)
        epsilon = epsilon_text(mechanism.epsilon)
        click.echo(f"{question.id:{width}}  {question.kind.name:7} {mechanism.name:10} {count:7}  {epsilon}")
        if mechanism.epsilon_conditional is not None:
            click.echo(f"{'':{width}}  epsilon_conditional {epsilon_text(mechanism.epsilon_conditional)}")
        if mechanism.epsilon_note:
            click.echo(f"{'':{width}}  {mechanism.epsilon_note}")
    click.echo(f"\nTotal epsilon of one person: {epsilon_text(survey.epsilon_total)}")
