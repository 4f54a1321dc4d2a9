"""`hushpoll plan --survey`: what each question of a survey may cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from hushpoll_client.cli.output import print_json, read_survey
from hushpoll_client.formatting import epsilon_text, factor_text

from .progress import searching

if TYPE_CHECKING:
    from hushpoll_analysis.planning.budgets import Budget
    from hushpoll_analysis.planning.epsilon_search import QuestionBudget

Command = TypeVar("Command", bound=Callable[..., Any])


def survey_options(command: Command) -> Command:
    """Add the flags of a whole survey."""
    lock = click.option(
        "--lock",
        "locks",
        multiple=True,
        metavar="QUESTION=E",
        help="With --survey: the protection that a question keeps, an epsilon (1.0) or an odds factor (3-fold).",
    )
    survey = click.option(
        "--survey", type=click.Path(), metavar="FILE", help="Plan all questions of a survey document."
    )
    decorated: Command = survey(lock(command))
    return decorated


def only_margin(margins: tuple[str, ...]) -> float | None:
    """Read the margin of a plan for one question."""
    if not margins:
        return None
    if len(margins) > 1:
        raise click.UsageError("--margin is given more than once; that belongs to --survey")
    return _number(margins[0], "--margin")


def refuse_beside(values: Iterable[Any], target: bool) -> None:
    """Refuse flags that describe one question: the survey has these values."""
    if target or any(value is not None for value in values):
        raise click.UsageError(
            "with --survey give --n, --margin, --lock and --level only; the survey says the rest"
        )


def print_budget(
    path: str, n: int | None, margins: tuple[str, ...], locks: tuple[str, ...], level: float, as_json: bool
) -> None:
    """Plan every question of the survey and print the plan."""
    from hushpoll_analysis.planning.budgets import NEEDED, budget

    if n is None:
        raise click.UsageError("--survey needs --n; give the number of answers that you expect")
    usual = [text for text in margins if "=" not in text]
    if len(usual) > 1:
        raise click.UsageError("--margin without a question is given more than once; give it once")
    question_margins = {
        name: _number(value, f"--margin {name}") for name, value in _pairs(margins, "--margin").items()
    }
    question_locks, default_margin = (
        _pairs(locks, "--lock"),
        _number(usual[0], "--margin") if usual else NEEDED,
    )
    # A draft whose epsilon is between the slider's stops has a channel to search for before it can be read.
    with searching():
        result = budget(
            read_survey(path),
            n,
            question_margins,
            question_locks,
            margin=default_margin,
            recommended=_open_questions(path),
            level=level,
        )
    if result.problems:
        raise click.UsageError(result.problems[0])
    if as_json:
        print_json(result.to_dict())
    else:
        click.echo(_text(result))


def _open_questions(path: str) -> list[str]:
    """Return the ids of the questions that leave their mechanism open."""
    questions = json.loads(Path(path).read_bytes())["questions"]
    return [question["id"] for question in questions if "name" not in question.get("mechanism", {"name": ""})]


def _pairs(texts: Iterable[str], flag: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, is_pair, value = text.partition("=")
        if not is_pair and flag == "--margin":
            continue
        if not (is_pair and name and value):
            raise click.UsageError(f"{flag} {text!r} is not a QUESTION=VALUE; write {flag} cheated=1.0")
        if name in pairs:
            raise click.UsageError(f"{flag} is given twice for {name!r}; give it once")
        pairs[name] = value
    return pairs


def _number(text: str, flag: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(f"{flag}: {text!r} is not a number; give a proportion such as .05") from None


def _text(result: Budget) -> str:
    """Write the plan for people."""
    width = max(8, *(len(question.id) for question in result.questions))
    head = f"{'question':{width}}  {'epsilon':>9}  {'odds':>7}  {'margin':>14}  {'needed':>14}"
    lines = [f"{result.n:,} answers, total epsilon {epsilon_text(result.total, 3)}", head]
    lines += [_line(question, width) for question in result.questions]
    return "\n".join([*lines, *result.advice])


def _line(planned: QuestionBudget, width: int) -> str:
    from hushpoll_analysis.planning.margin_text import margin_words

    question = planned.search.question
    margin, required = margin_words(question, planned.margin), margin_words(question, planned.target_margin)
    odds = f"x {factor_text(planned.epsilon)}"
    lock = ""
    if planned.locked:
        lock = "  locked"
    return f"{planned.id:{width}}  {epsilon_text(planned.epsilon, 3):>9}  {odds:>7}  {margin:>14}  {required:>14}{lock}"
