"""Asking a survey's questions in the terminal: on stderr, so that stdout holds only the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import click
from hushpoll_client import HushpollError, Question, Survey
from hushpoll_client.assurance import Assurance, assurance
from hushpoll_client.report import asked_questions, is_shown
from hushpoll_client.texts import Texts, read_in
from hushpoll_client.words import at_most, factor_text

__all__ = ["as_list", "as_number", "ask", "consented", "introduce", "lead", "odds", "tell"]

MOST_LISTED = 20  # options that a terminal shows at once
MOST_FOUND = 10


def tell(text: str) -> None:
    """Say something to the respondent."""
    click.echo(text, err=True)


def introduce(survey: Survey, texts: Texts) -> None:
    """Say who asks what, and how much what is sent may show."""
    asked_by = survey.about.get("asked_by", {})
    known = (
        ("name", ""),
        ("contact", "Contact: "),
        ("approval", "Approval: "),
        ("notice", "Privacy notice: "),
    )
    for key, label in known:
        if key in asked_by:
            tell(f"{label}{asked_by[key]}")
    tell(f"\n{texts.title}")
    if texts.intro:
        tell(texts.intro)
    tell(lead(survey))


def lead(survey: Survey) -> str:
    """Say what may be promised of a survey, as strong as its odds allow."""
    promised = assurance(survey)
    mixed = "Your answers are mixed with chance on this machine before they are sent."
    open_lead = f"{mixed} For some answers what is sent still shows what you chose, as said above."
    if promised.tier != "weak":
        strong, fair = (
            "Nobody, including us, receives what you actually chose.",
            "What is sent can hint at what you chose.",
        )
        return open_lead if promised.one_sided else f"{mixed} {strong if promised.tier == 'strong' else fair}"
    return f"{open_lead} {_weak(survey, promised)}" if promised.one_sided else _weak(survey, promised)


def _weak(survey: Survey, promised: Assurance) -> str:
    several = len(survey.questions) > 1 and promised.weakest
    where = f"Question {', '.join(_as_asked(survey, promised.weakest))}: " if several else ""
    factor = at_most(float(promised.factor))
    if promised.kept is not None:
        said = f"in at least {promised.kept} of 100 cases what is sent is your answer."
    elif promised.weakest:
        said = f"what is sent can be up to {factor} times likelier from your answer than from another one."
    else:
        said = (
            "each answer is mixed with chance, but together they can change anybody's odds about you up to "
            f"{factor}-fold."
        )
    return f"{where}{said if where else said[0].upper() + said[1:]} This protects little."


def _as_asked(survey: Survey, weakest: Sequence[int]) -> list[str]:
    """Give the numbers of questions as they are asked: a block has as many as it asks, whichever these are."""
    meant = {one.block or one.id for one in (survey.questions[number - 1] for number in weakest)}
    asked = asked_questions(survey, [0] * len(survey.blocks))
    return [str(number) for number, one in enumerate(asked, 1) if (one.block or one.id) in meant]


def consented(text: str) -> bool:
    """Ask whether the respondent agrees to what the survey asks them to agree to."""
    tell(f"\n{text}")
    return click.confirm("Do you agree", err=True)


def ask(survey: Survey, ranks: Sequence[int] = (), texts: Texts | None = None) -> dict[str, Any]:
    """Ask every question that is shown after the answers given so far; {question id: what was chosen}.

    Of a block the questions that were drawn (`ranks`).
    """
    texts = read_in(survey, ()) if texts is None else texts
    given: dict[str, Any] = {}
    known: dict[str, Any] = {}
    asked = asked_questions(survey, ranks)
    for block in survey.blocks:
        drawn = f"{block.ask} of {len(block.questions)} questions"
        tell(
            f"This machine draws {drawn} by chance, asks only these, and sends the answers to them together."
        )
    for number, question in enumerate(asked, 1):
        if not is_shown(survey, question, known):
            known[question.id] = len(question.options)
            continue
        section = texts.sections.get(question.id, {})
        for line in (section.get("title"), section.get("text")):
            if line:
                tell(f"\n{line}")
        tell(f"\nQuestion {number} of {len(asked)}. {odds(question)}")
        given[question.id] = chosen = ask_one(question, texts.question(question), texts)
        known[question.id] = question.read_answer(chosen)
        second = texts.decoy(question)
        if second is not None:
            tell("Second question, for this machine only.")
            given[question.id] = {"answer": chosen, "decoy": ask_one(question, second, texts)}
    return given


def ask_one(question: Question, text: str, texts: Texts) -> Any:
    """Ask one question in the way that suits its answers."""
    tell(text)
    shown = tuple(texts.option(question, one) for one in question.options)
    if "step" in question.answers.document():
        return _ask_number(question, texts)
    if question.kind.several:
        return _ask_several(question, shown)
    if len(question.options) > MOST_LISTED:
        return _ask_long(question, shown)
    return _ask_listed(question, shown)


def _ask_listed(question: Question, shown: tuple[str, ...]) -> str:
    _list(shown)
    return str(_until(lambda typed: _option(question, shown, typed.strip()), "Answer"))


def _ask_number(question: Question, texts: Texts) -> str:
    shape = question.answers.document()
    unit = texts.unit(question, shape["unit"]) if "unit" in shape else ""
    tell(f"  {shape['min']} to {shape['max']}{f' {unit}' if unit else ''}, in steps of {shape['step']}")
    return str(_until(lambda typed: _sound(question, as_number(typed, unit)), "Number"))


def _ask_several(question: Question, shown: tuple[str, ...]) -> list[str]:
    most = question.answers.about().get("at_most")
    _list(shown)
    how = f"at most {most}" if most else "all that apply"
    tell(f"  Tick {how}: numbers or options, separated by commas; nothing for none.")

    def read(typed: str) -> list[str]:
        named = [_option(question, shown, part) for part in as_list(typed, shown)]
        return list(_sound(question, named))

    return list(_until(read, "Ticked", default=""))


def _ask_long(question: Question, shown: tuple[str, ...]) -> str:
    tell(f"  {len(question.options):,} options: type a part of yours.")

    def read(typed: str) -> str:
        wanted = typed.strip().casefold()
        found = [one for one in shown if wanted in one.casefold()]
        same = [one for one in found if one.casefold() == wanted]
        if len(found) == 1 or len(same) == 1:
            return question.options[shown.index((same or found)[0])]
        if not found:
            raise HushpollError("no option holds that", "type less of it, or another part")
        for one in found[:MOST_FOUND]:
            tell(f"  {one}")
        more = len(found) - MOST_FOUND
        raise HushpollError(
            f"{len(found):,} options hold that{f', {more:,} are not shown' if more > 0 else ''}",
            "type more of yours",
        )

    return str(_until(read, "Option"))


def _option(question: Question, options: tuple[str, ...], typed: str) -> str:
    """Read an option by its words as shown, the beginning of its words, or its number in the list."""
    wanted = typed.casefold()
    exact = [one for one in options if one == typed] or [one for one in options if one.casefold() == wanted]
    exact = exact or [one for one in options if _point_label(one) == wanted]
    if len(exact) == 1:
        return question.options[options.index(exact[0])]
    if _numbered(options) and typed.isascii() and typed.isdigit() and 1 <= int(typed[:9]) <= len(options):
        return question.options[int(typed) - 1]
    begun = [one for one in options if wanted and one.casefold().startswith(wanted)]
    if len(begun) == 1:
        return question.options[options.index(begun[0])]
    numbers = (
        f"type a number from 1 to {len(options)}, or the option"
        if _numbered(options)
        else "type one of those"
    )
    raise HushpollError(f"{typed!r} is {'more than one' if begun else 'not an'} option", numbers)


def _point_label(option: str) -> str | None:
    """Give the label of a scale's point, which stands in brackets behind its number."""
    found = re.fullmatch(r"\d+ \((.+)\)", option)
    return found[1].casefold() if found else None


def as_list(typed: str, options: tuple[str, ...]) -> list[str]:
    """Take a line apart at commas, semicolons, and spaces between numbers; commas inside an option stay."""
    known = {one.casefold() for one in options}
    found: list[str] = []
    for piece in typed.split(";"):
        numbers = re.fullmatch(r"[\d,\s]+", piece) is not None
        parts = re.split(r"[,\s]+", piece) if numbers else piece.split(",")
        while parts:
            joined = (",".join(parts[:count]) for count in range(len(parts), 0, -1))
            # The longest run of parts that is an option; a part that is none is refused by its name.
            whole = next((one for one in joined if one.strip().casefold() in known), parts[0])
            found.append(whole.strip())
            parts = parts[whole.count(",") + 1 :]
    return [one for one in found if one]


def as_number(typed: str, unit: str = "") -> str:
    """Read a number as people write it: with its unit, a decimal comma, spaces between thousands, or a plus sign."""
    text = typed.strip()
    if unit and text.casefold().endswith(unit.casefold()):
        text = text[: -len(unit)].rstrip()
    text = re.sub(r"(?<=\d)\s(?=\d{3}(?!\d))", "", text.replace("\u2212", "-").removeprefix("+"))
    if re.fullmatch(r"-?\d{1,3},\d{3}", text):
        whole, rest = text.split(",")
        raise HushpollError(
            f"{typed.strip()!r} can be read in two ways", f"type {whole}{rest}, or {whole}.{rest}"
        )
    return text.replace(",", ".") if re.fullmatch(r"-?\d*,\d+", text) else text


def _numbered(options: tuple[str, ...]) -> bool:
    """Tell whether a number can only mean a place in the list: options that are numbers go by their own names."""
    return all(not one.strip().isdigit() or one.strip() == str(place) for place, one in enumerate(options, 1))


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
    numbered = _numbered(options)
    for number, option in enumerate(options, 1):
        # A point of a scale is called by its number already.
        named = not numbered or option.split()[0] == str(number)
        tell(f"  {option}" if named else f"  {number}  {option}")


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
