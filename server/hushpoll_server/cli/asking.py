"""Asking a survey's questions in the terminal: on stderr, so that stdout holds only the result."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click
from hushpoll_client import HushpollError, Question, Survey
from hushpoll_client.report import is_shown
from hushpoll_client.words import factor_text

__all__ = ["ask", "odds", "tell"]

MOST_LISTED = 20  # options that a terminal shows at once
MOST_FOUND = 10


def tell(text: str) -> None:
    """Say something to the respondent."""
    click.echo(text, err=True)


def ask(survey: Survey) -> dict[str, Any]:
    """Ask every question that is shown after the answers given so far; {question id: what was chosen}."""
    tell(f"\n{survey.title}")
    if survey.intro:
        tell(survey.intro)
    tell("Your answers are mixed on this machine before they are sent.")
    given: dict[str, Any] = {}
    known: dict[str, Any] = {}
    for number, question in enumerate(survey.questions, 1):
        if not is_shown(survey, question, known):
            known[question.id] = len(question.options)
            continue
        tell(f"\nQuestion {number} of {len(survey.questions)}. {odds(question)}")
        given[question.id] = chosen = ask_one(question, question.text)
        known[question.id] = question.read_answer(chosen)
        if question.decoy is not None:
            tell("Second question, for this machine only.")
            given[question.id] = {"answer": chosen, "decoy": ask_one(question, question.decoy)}
    return given


def ask_one(question: Question, text: str) -> Any:
    """Ask one question in the way that suits its answers."""
    tell(text)
    if "step" in question.answers.document():
        return _ask_number(question)
    if question.kind.several:
        return _ask_several(question)
    if len(question.options) > MOST_LISTED:
        return _ask_long(question)
    return _ask_listed(question)


def _ask_listed(question: Question) -> str:
    _list(question.options)
    chosen: int = click.prompt("Number", type=click.IntRange(1, len(question.options)), err=True)
    return question.options[chosen - 1]


def _ask_number(question: Question) -> str:
    shape = question.answers.document()
    unit = f" {shape['unit']}" if "unit" in shape else ""
    tell(f"  {shape['min']} to {shape['max']}{unit}, in steps of {shape['step']}")
    return str(_until(lambda typed: _sound(question, typed.strip()), "Number"))


def _ask_several(question: Question) -> list[str]:
    most = question.answers.about().get("at_most")
    _list(question.options)
    how = f"at most {most}" if most else "all that apply"
    tell(f"  Tick {how}: numbers or options, separated by commas; nothing for none.")

    def read(typed: str) -> list[str]:
        named = [_option(question, part.strip()) for part in re.split("[,;]", typed) if part.strip()]
        return list(_sound(question, named))

    return list(_until(read, "Ticked", default=""))


def _ask_long(question: Question) -> str:
    tell(f"  {len(question.options):,} options: type a part of yours.")

    def read(typed: str) -> str:
        wanted = typed.strip().casefold()
        found = [one for one in question.options if wanted in one.casefold()]
        same = [one for one in found if one.casefold() == wanted]
        if len(found) == 1 or len(same) == 1:
            return (same or found)[0]
        if not found:
            raise HushpollError("no option holds that", "type less of it, or another part")
        _list(tuple(found[:MOST_FOUND]))
        more = len(found) - MOST_FOUND
        raise HushpollError(
            f"{len(found):,} options hold that{f', {more:,} are not shown' if more > 0 else ''}",
            "type more of yours",
        )

    return str(_until(read, "Option"))


def _option(question: Question, typed: str) -> str:
    """Read an option by its words or its number."""
    if typed in question.options:
        return typed
    if typed.isascii() and typed.isdigit() and 1 <= int(typed[:9]) <= len(question.options):
        return question.options[int(typed) - 1]
    raise HushpollError(f"{typed!r} is no option", f"type numbers from 1 to {len(question.options)}")


def _sound(question: Question, given: Any) -> Any:
    question.read_answer(given)
    return given


def _until(read: Callable[[str], Any], prompt: str, default: str | None = None) -> Any:
    """Ask until the answer can be read; why it cannot is said each time."""
    while True:
        typed = click.prompt(prompt, default=default, show_default=False, err=True)
        try:
            return read(str(typed))
        except HushpollError as error:
            tell(f"{error}.")


def _list(options: tuple[str, ...]) -> None:
    for number, option in enumerate(options, 1):
        # A point of a scale is called by its number already.
        tell(f"  {option}" if option.split()[0] == str(number) else f"  {number}  {option}")


def odds(question: Question) -> str:
    """Say, of 100 people who choose an option, how many are recorded as it."""
    mechanism = question.mechanism
    if mechanism.report_words:
        return f"Only whether your two answers are {' or '.join(reversed(mechanism.report_words))} is sent."
    if not mechanism.reports_are_answers:
        return (
            "What is sent could come from any answer; it is at most "
            f"{factor_text(mechanism.epsilon)} times likelier from yours."
        )
    rows = mechanism.analysis.rows
    kept = [100 * row[x] / sum(row) for x, row in enumerate(rows)]
    if len(rows) == 2:
        yes, no = question.options[1], question.options[0]
        other = 100 * rows[0][1] / sum(rows[0])
        return (
            f"Of 100 people who choose {yes}, about {kept[1]:.0f} are recorded as {yes}; "
            f"of 100 who choose {no}, about {other:.0f} are recorded as {yes}."
        )
    low, high = f"{min(kept):.0f}", f"{max(kept):.0f}"
    spread = low if low == high else f"{low} to {high}"
    return f"Of 100 people who choose an option, about {spread} are recorded as that option."
