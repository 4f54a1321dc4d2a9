"""`hushpoll survey check FILE`: is the document sound, what is its hash, how private is it?"""

from __future__ import annotations

import math
from typing import Any

import click
from hushpoll_client import Block, Question, Survey
from hushpoll_client.document import refuse_hidden
from hushpoll_client.words import at_most, epsilon_text

from .output import finite, json_option, print_json, read_survey

_STEPS = 4


@click.command(short_help="Check a survey document: hash, epsilon per question and in total.")
@click.argument("file", type=click.Path())
@click.option("--profile", is_flag=True, help="Add the exact delta of each question at some epsilons.")
@json_option
def check(file: str, profile: bool, as_json: bool) -> None:
    """Check FILE, a survey document in draft or published form, and print its hash and its epsilons.

    A broken document ends with status 2 and one line that names the question, the field and the remedy.

    With --profile it also gives, for some epsilons, the smallest delta with which a question's channel is (epsilon,
    delta)-private. It follows exactly from the published integers and is rounded up.

    \b
    Examples:
      hushpoll survey check survey.json
      hushpoll survey check survey.json --profile
    """
    survey = read_survey(file)
    refuse_hidden(survey.document)  # as publishing does; a client reads what was published before
    if as_json:
        print_json(describe(survey, profile))
    else:
        _print(survey)
        if profile:
            _print_profiles(survey)


def describe(survey: Survey, profile: bool = False) -> dict[str, Any]:
    """Give what `--json` prints."""
    value = _described(survey)
    if profile:
        found = [_profile(entry) for entry in survey.entries]
        listed = {one["id"]: one for one in [*value["questions"], *value.get("blocks", [])]}
        for entry, pairs in zip(survey.entries, found, strict=True):
            listed[entry.id]["profile"] = pairs
        # Epsilons and deltas of one person's questions add up; a delta of 1 promises nothing.
        totals = [[sum(one) for one in zip(*step, strict=True)] for step in zip(*found, strict=True)]
        value["profile"] = [[epsilon, min(delta, 1.0)] for epsilon, delta in totals]
    return value


def _profile(question: Question | Block) -> list[list[float]]:
    """Give pairs of epsilon and delta from 0 to the question's epsilon; to 4 where that is unbounded."""
    bounded = finite(question.epsilon)
    top = 4.0 if bounded is None else math.nextafter(bounded, math.inf)
    steps = [top * step / _STEPS for step in range(_STEPS + 1)]
    return [list(pair) for pair in question.mechanism.device.profile(steps)]


def _print_profiles(survey: Survey) -> None:
    for question in survey.entries:
        click.echo(f"\n{question.id}: epsilon and delta")
        for epsilon, delta in _profile(question):
            click.echo(f"  {epsilon_text(epsilon):>8}  {at_most(delta, 4)}")


def _described(survey: Survey) -> dict[str, Any]:
    return {
        "hash": survey.hash,
        "title": survey.title,
        "epsilon_total": finite(survey.epsilon_total),
        "questions": [_question(question) for question in survey.questions],
        **({"blocks": [_block(block) for block in survey.blocks]} if survey.blocks else {}),
        **({"groups": list(survey.groups)} if survey.groups else {}),
        **({} if survey.anchor is None else {"anchor": survey.anchor.document()}),
    }


def _block(block: Block) -> dict[str, Any]:
    return {
        "id": block.id,
        "questions": list(block.questions),
        "ask": block.ask,
        "epsilon": finite(block.epsilon),
    }


def _question(question: Question) -> dict[str, Any]:
    mechanism = question.mechanism
    value: dict[str, Any] = {
        "id": question.id,
        "kind": question.kind.name,
        "mechanism": mechanism.name,
        "epsilon": finite(mechanism.epsilon),
        "options": list(question.options),
        **question.answers.in_mechanism(),
        **_shape(question),
    }
    if question.block is not None:
        value["block"] = question.block
    if mechanism.epsilon_note:
        value["epsilon_note"] = mechanism.epsilon_note
    if mechanism.has_decoy:
        value["epsilon_conditional"] = mechanism.epsilon_conditional
    return value


def _shape(question: Question) -> dict[str, Any]:
    """Give what the kind says of itself beside its options, and the rule that skips it."""
    said = {key: value for key, value in question.answers.document().items() if key != "options"}
    return said | ({} if question.after is None else {"after": question.after.document()})


def _print(survey: Survey) -> None:
    click.echo(f"{survey.title}\nhash   {survey.hash}")
    width = max(8, *(len(question.id) for question in survey.questions))
    kinds = max(7, *(len(question.kind.name) for question in survey.questions))
    targets = any(question.answers.target for question in survey.questions)
    head = f"{'question':{width}}  {'kind':{kinds}} {'mechanism':10} {'options':>7}  {'reports':12}  epsilon"
    click.echo("\n" + (head if targets else head.replace(f"{'reports':12}  ", "")))
    for question in survey.questions:
        mechanism, count = question.mechanism, len(question.options)
        said = f"{question.answers.target or 'shares':12}  " if targets else ""
        line = f"{question.id:{width}}  {question.kind.name:{kinds}} {mechanism.name:10} {count:7}  {said}"
        click.echo(line + (epsilon_text(mechanism.epsilon) if question.block is None else question.block))
        if question.after is not None:
            answers = ", ".join(question.after.answers)
            click.echo(f"{'':{width}}  asked only after {answers} to {question.after.question}")
        if mechanism.epsilon_conditional is not None:
            click.echo(f"{'':{width}}  epsilon_conditional {epsilon_text(mechanism.epsilon_conditional)}")
        if question.block is None and mechanism.epsilon_note:
            click.echo(f"{'':{width}}  {mechanism.epsilon_note}")
    for block in survey.blocks:
        asked = f"asks each person {block.ask} of {len(block.questions)} questions"
        click.echo(f"{block.id}: {asked}, answered jointly, epsilon {epsilon_text(block.epsilon)}")
    if survey.groups:
        click.echo(f"groups, named openly by each report: {', '.join(survey.groups)}")
    if survey.anchor is not None:
        of = "Yes" if survey.anchor.answer is None else f"“{survey.anchor.answer}”"
        known = f"the true share of {of} to {survey.anchor.question} is {survey.anchor.share}"
        click.echo(f"shows careless answers: {known}")
    click.echo(f"\nTotal epsilon of one person: {epsilon_text(survey.epsilon_total)}")
