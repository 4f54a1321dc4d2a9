"""Asking a survey's questions in the terminal: on stderr, so that stdout holds only the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from hushpoll_client import HushpollError, Question, Survey
from hushpoll_client.delivery.report import asked_questions, is_shown
from hushpoll_client.formatting import about_of_100, at_most, factor_text
from hushpoll_client.survey.assurance import Assurance, assurance
from hushpoll_client.survey.texts import Texts, read_in

__all__ = ["as_list", "as_number", "ask", "consented", "introduce", "lead", "odds", "tell"]

MOST_LISTED = 20  # options that a terminal shows at once
MOST_MATCHES = 10


def tell(text: str) -> None:
    """Return something to the respondent."""
    click.echo(text, err=True)


def introduce(survey: Survey, texts: Texts) -> None:
    """Return who asks what, and how much what is sent may show."""
    asked_by = survey.presentation.get("asked_by", {})
    fields = (
        ("name", ""),
        ("contact", "Contact: "),
        ("approval", "Approval: "),
        ("notice", "Privacy notice: "),
    )
    for key, label in fields:
        if key in asked_by:
            tell(f"{label}{asked_by[key]}")
    tell(f"\n{texts.title}")
    if texts.intro:
        tell(texts.intro)
    tell(lead(survey))


def lead(survey: Survey) -> str:
    """Return what may be promised of a survey, as strong as its odds allow."""
    promised = assurance(survey)
    mixed = "Your answers are mixed with chance on this machine before they are sent."
    open_lead = f"{mixed} For some answers what is sent still shows what you chose, as said above."
    if promised.tier != "weak":
        strong, fair = (
            "From what is sent, no one can tell for certain what you chose.",
            "What is sent can hint at what you chose.",
        )
        if promised.one_sided:
            return open_lead
        return f"{mixed} {strong if promised.tier == 'strong' else fair}"
    if promised.one_sided:
        return f"{open_lead} {_weak(survey, promised)}"
    return _weak(survey, promised)


def _weak(survey: Survey, promised: Assurance) -> str:
    several = len(survey.questions) > 1 and promised.weakest
    where = ""
    if several:
        where = f"Question {', '.join(_question_numbers(survey, promised.weakest))}: "
    factor = at_most(float(promised.factor))
    if promised.kept is not None:
        sentence = f"in at least {promised.kept} of 100 cases what is sent is your answer."
    elif promised.weakest:
        sentence = (
            f"what is sent can be up to {factor} times likelier from your answer than from another one."
        )
    else:
        sentence = (
            "each answer is mixed with chance, but together they can change anybody's odds about you up to "
            f"{factor}-fold."
        )
    return f"{where}{sentence if where else sentence[0].upper() + sentence[1:]} This protects little."


def _question_numbers(survey: Survey, weakest: Sequence[int]) -> list[str]:
    """Return the numbers of questions as they are asked: a block has as many as it asks, whichever these are."""
    meant = {
        question.block or question.id for question in (survey.questions[number - 1] for number in weakest)
    }
    asked_now = asked_questions(survey, [0] * len(survey.blocks))
    return [
        str(number)
        for number, question in enumerate(asked_now, 1)
        if (question.block or question.id) in meant
    ]


def consented(text: str) -> bool:
    """Ask whether the respondent agrees to what the survey asks them to agree to."""
    tell(f"\n{text}")
    return click.confirm("Do you agree", err=True)


def ask(survey: Survey, ranks: Sequence[int] = (), texts: Texts | None = None) -> dict[str, Any]:
    """Ask every question that is shown after the answers given so far; {question id: what was chosen}.

    Of a block the questions that were drawn (`ranks`).
    """
    texts = read_in(survey, ()) if texts is None else texts
    chosen_options: dict[str, Any] = {}
    true_answers: dict[str, Any] = {}
    asked_now = asked_questions(survey, ranks)
    for block in survey.blocks:
        drawn_part = f"{block.ask} of {len(block.questions)} questions"
        tell(
            f"This machine draws {drawn_part} by chance, asks only these, and sends the answers to them together."
        )
    for number, question in enumerate(asked_now, 1):
        if not is_shown(survey, question, true_answers):
            true_answers[question.id] = len(question.options)
            continue
        section = texts.sections.get(question.id, {})
        for line in (section.get("title"), section.get("text")):
            if line:
                tell(f"\n{line}")
        tell(f"\nQuestion {number} of {len(asked_now)}. {odds(question)}")
        chosen_options[question.id] = chosen = ask_question(question, texts.question(question), texts)
        true_answers[question.id] = question.read_answer(chosen)
        second = texts.decoy(question)
        if second is not None:
            tell("Second question, for this machine only.")
            chosen_options[question.id] = {"answer": chosen, "decoy": ask_question(question, second, texts)}
    return chosen_options


def ask_question(question: Question, text: str, texts: Texts) -> Any:
    """Ask one question in the way that suits its answers."""
    tell(text)
    labels = tuple(texts.option(question, option) for option in question.options)
    if "step" in question.answers.document():
        return _ask_number(question, texts)
    if question.kind.several:
        return _ask_several(question, labels)
    if len(question.options) > MOST_LISTED:
        return _ask_long(question, labels)
    return _ask_listed(question, labels)


def _ask_listed(question: Question, labels: tuple[str, ...]) -> str:
    _list(labels)
    return str(_until(lambda typed: _option(question, labels, typed.strip()), "Answer"))


def _ask_number(question: Question, texts: Texts) -> str:
    shape = question.answers.document()
    unit = ""
    if "unit" in shape:
        unit = texts.unit(question, shape["unit"])
    tell(f"  {shape['min']} to {shape['max']}{f' {unit}' if unit else ''}, in steps of {shape['step']}")
    return str(_until(lambda typed: _sound(question, as_number(typed, unit)), "Number"))


def _ask_several(question: Question, labels: tuple[str, ...]) -> list[str]:
    most = question.answers.about().get("at_most")
    _list(labels)
    how = "all that apply"
    if most:
        how = f"at most {most}"
    tell(f"  Tick {how}: numbers or options, separated by commas; nothing for none.")

    def read(typed: str) -> list[str]:
        named = [_option(question, labels, item) for item in as_list(typed, labels)]
        return list(_sound(question, named))

    return list(_until(read, "Ticked", default=""))


def _ask_long(question: Question, labels: tuple[str, ...]) -> str:
    tell(f"  {len(question.options):,} options: type a part of yours.")

    def read(typed: str) -> str:
        pattern = typed.strip().casefold()
        matches = [label for label in labels if pattern in label.casefold()]
        same = [label for label in matches if label.casefold() == pattern]
        if len(matches) == 1 or len(same) == 1:
            return question.options[labels.index((same or matches)[0])]
        if not matches:
            raise HushpollError("no option holds that", "type less of it, or another part")
        for label in matches[:MOST_MATCHES]:
            tell(f"  {label}")
        more = len(matches) - MOST_MATCHES
        raise HushpollError(
            f"{len(matches):,} options hold that{f', {more:,} are not shown' if more > 0 else ''}",
            "type more of yours",
        )

    return str(_until(read, "Option"))


def _option(question: Question, options: tuple[str, ...], typed: str) -> str:
    """Read an option by its words as shown, the beginning of its words, or its number in the list."""
    pattern = typed.casefold()
    exact = [option for option in options if option == typed] or [
        option for option in options if option.casefold() == pattern
    ]
    exact = exact or [option for option in options if _point_label(option) == pattern]
    if len(exact) == 1:
        return question.options[options.index(exact[0])]
    if _numbered(options) and typed.isascii() and typed.isdigit() and 1 <= int(typed[:9]) <= len(options):
        return question.options[int(typed) - 1]
    begun = [option for option in options if pattern and option.casefold().startswith(pattern)]
    if len(begun) == 1:
        return question.options[options.index(begun[0])]
    numbers = "type one of those"
    if _numbered(options):
        numbers = f"type a number from 1 to {len(options)}, or the option"
    raise HushpollError(f"{typed!r} is {'more than one' if begun else 'not an'} option", numbers)


def _point_label(option: str) -> str | None:
    """Return the label of a scale's point, which stands in brackets behind its number."""
    match = re.fullmatch(r"\d+ \((.+)\)", option)
    if match:
        return match[1].casefold()
    return None


def as_list(typed: str, options: tuple[str, ...]) -> list[str]:
    """Take a line apart at commas, semicolons, and spaces between numbers; commas inside an option stay."""
    lowered = {item.casefold() for item in options}
    items: list[str] = []
    for piece in typed.split(";"):
        numbers = re.fullmatch(r"[\d,\s]+", piece) is not None
        parts = re.split(r"[,\s]+", piece) if numbers else piece.split(",")
        while parts:
            joined = (",".join(parts[:count]) for count in range(len(parts), 0, -1))
            # The longest run of parts that is an option; a part that is none is refused by its name.
            longest = next((item for item in joined if item.strip().casefold() in lowered), parts[0])
            items.append(longest.strip())
            parts = parts[longest.count(",") + 1 :]
    return [item for item in items if item]


def as_number(typed: str, unit: str = "") -> str:
    """Read a number as people write it: with its unit, a decimal comma, spaces between thousands, or a plus sign."""
    text = typed.strip()
    if unit and text.casefold().endswith(unit.casefold()):
        text = text[: -len(unit)].rstrip()
    text = re.sub(r"(?<=\d)\s(?=\d{3}(?!\d))", "", text.replace("\u2212", "-").removeprefix("+"))
    if re.fullmatch(r"-?\d{1,3},\d{3}", text):
        thousands, rest = text.split(",")
        raise HushpollError(
            f"{typed.strip()!r} can be read in two ways", f"type {thousands}{rest}, or {thousands}.{rest}"
        )
    if re.fullmatch(r"-?\d*,\d+", text):
        return text.replace(",", ".")
    return text


def _numbered(options: tuple[str, ...]) -> bool:
    """Return whether a number can only mean a place in the list: options that are numbers go by their own names."""
    return all(
        not option.strip().isdigit() or option.strip() == str(number)
        for number, option in enumerate(options, 1)
    )


def _sound(question: Question, value: Any) -> Any:
    question.read_answer(value)
    return value


def _until(reader: Callable[[str], Any], prompt: str, default: str | None = None) -> Any:
    """Ask until the answer can be read, and say each time why it cannot."""
    while True:
        typed = click.prompt(prompt, default=default, show_default=False, err=True)
        try:
            return reader(str(typed))
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
    kept = [row[x] / sum(row) for x, row in enumerate(rows)]
    if len(rows) == 2:
        yes, no = question.options[1], question.options[0]
        other = rows[0][1] / sum(rows[0])
        return (
            f"Of 100 people who choose {yes}, {_of_100(kept[1])} are recorded as {yes}; "
            f"of 100 who choose {no}, {_of_100(other)} are recorded as {yes}."
        )
    low, high = about_of_100(min(kept)), about_of_100(max(kept))
    spread = _of_100(min(kept)) if low == high else f"about {low} to {high}"
    return f"Of 100 people who choose an option, {spread} are recorded as that option."


def _of_100(share: float) -> str:
    """Return how many of 100 people, never all or none for a chance that is neither."""
    if share in (0, 1):
        if share:
            return "all 100"
        return "none"
    if not 0.01 <= share <= 0.99:
        if share > 0.5:
            return "more than 99"
        return "fewer than 1"
    return f"about {about_of_100(share)}"
