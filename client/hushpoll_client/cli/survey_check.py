"""`hushpoll survey check FILE`: is the document sound, what is its hash, how private is it?"""

from __future__ import annotations

import math
from typing import Any

import click

from hushpoll_client import Block, Question, Survey
from hushpoll_client.fields import refuse_hidden
from hushpoll_client.formatting import at_most, epsilon_text

from .output import finite, json_option, print_json, read_survey

_STEPS = 4


@click.command()
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
    """Return what `--json` prints."""
    value = _described(survey)
    if profile:
        profiles = [_profile(entry) for entry in survey.entries]
        listed = {entry["id"]: entry for entry in [*value["questions"], *value.get("blocks", [])]}
        for entry, pairs in zip(survey.entries, profiles, strict=True):
            listed[entry.id]["profile"] = pairs
        # Epsilons and deltas of one person's questions add up; a delta of 1 promises nothing.
        totals = [[sum(entry) for entry in zip(*step, strict=True)] for step in zip(*profiles, strict=True)]
        value["profile"] = [[epsilon, min(delta, 1.0)] for epsilon, delta in totals]
    return value


def _profile(question: Question | Block) -> list[list[float]]:
    """Return pairs of epsilon and delta from 0 to the question's epsilon; to 4 where that is unbounded."""
    bounded = finite(question.epsilon)
    top = 4.0
    if bounded is not None:
        top = math.nextafter(bounded, math.inf)
    steps = [top * step / _STEPS for step in range(_STEPS + 1)]
    return [list(pair) for pair in question.mechanism.device.profile(steps)]


def _print_profiles(survey: Survey) -> None:
    for question in survey.entries:
        click.echo(f"\n{question.id}: epsilon and delta")
        for epsilon, delta in _profile(question):
            click.echo(f"  {epsilon_text(epsilon):>8}  {at_most(delta, 4)}")


def _described(survey: Survey) -> dict[str, Any]:
    value: dict[str, Any] = {
        "hash": survey.hash,
        "title": survey.title,
        "epsilon_total": finite(survey.epsilon_total),
        "questions": [_question(question) for question in survey.questions],
    }
    if survey.blocks:
        value["blocks"] = [_block(block) for block in survey.blocks]
    if survey.groups:
        value["groups"] = list(survey.groups)
    if survey.anchor is not None:
        value["anchor"] = survey.anchor.document()
    return value


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
    """Return the kind's keys other than its options, and the rule that skips it."""
    shape = {key: value for key, value in question.answers.document().items() if key != "options"}
    return shape | ({} if question.after is None else {"after": question.after.document()})


def _print(survey: Survey) -> None:
    click.echo(f"{survey.title}\nhash   {survey.hash}")
    width = max(8, *(len(question.id) for question in survey.questions))
    kinds = max(7, *(len(question.kind.name) for question in survey.questions))
    targets = any(question.answers.target for question in survey.questions)
    head = f"{'question':{width}}  {'kind':{kinds}} {'mechanism':10} {'options':>7}  {'reports':12}  epsilon"
    click.echo("\n" + (head if targets else head.replace(f"{'reports':12}  ", "")))
    for question in survey.questions:
        mechanism, count = question.mechanism, len(question.options)
        target = ""
        if targets:
            target = f"{question.answers.target or 'shares':12}  "
        line = f"{question.id:{width}}  {question.kind.name:{kinds}} {mechanism.name:10} {count:7}  {target}"
        click.echo(line + (epsilon_text(mechanism.epsilon) if question.block is None else question.block))
        if question.after is not None:
            answers = ", ".join(question.after.answers)
            click.echo(f"{'':{width}}  asked only after {answers} to {question.after.question}")
        if mechanism.epsilon_conditional is not None:
            click.echo(f"{'':{width}}  epsilon_conditional {epsilon_text(mechanism.epsilon_conditional)}")
        if question.block is None and mechanism.epsilon_note:
            click.echo(f"{'':{width}}  {mechanism.epsilon_note}")
    for block in survey.blocks:
        sentence = f"asks each person {block.ask} of {len(block.questions)} questions"
        click.echo(f"{block.id}: {sentence}, answered jointly, epsilon {epsilon_text(block.epsilon)}")
    if survey.groups:
        click.echo(f"groups, named openly by each report: {', '.join(survey.groups)}")
    if survey.anchor is not None:
        of = "Yes"
        if survey.anchor.answer is not None:
            of = f"“{survey.anchor.answer}”"
        anchor = f"the true share of {of} to {survey.anchor.question} is {survey.anchor.share}"
        click.echo(f"shows careless answers: {anchor}")
    click.echo(f"\nTotal epsilon of one person: {epsilon_text(survey.epsilon_total)}")
