"""`hushpoll answer`: the independent way to answer a survey, with the same checks and memory as the page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from hushpoll_client import HushpollError, Question, Survey, strict_json
from hushpoll_client.delivery.ledger import Ledger
from hushpoll_client.delivery.link import Link
from hushpoll_client.delivery.memory import Kept, Memory
from hushpoll_client.delivery.report import Report, read_answers
from hushpoll_client.delivery.send import check_invitation, fetch_survey, submit
from hushpoll_client.survey.texts import Texts, languages_of, read_in

from .interview import ask, consented, introduce, tell
from .output import finite, json_option, print_json


@click.command()
@click.argument("url")
@click.option(
    "--answers",
    "answers_file",
    metavar="FILE",
    help="JSON file {question id: option}: of a scale the point, a number itself, a list of ticked options; with a "
    'decoy {"answer": ..., "decoy": ...}. "-" reads standard input.',
)
@click.option(
    "--clear",
    is_flag=True,
    help="Forget what this machine keeps of the survey, and the list of what surveys answered here add up to; send "
    "nothing.",
)
@click.option("--language", metavar="TAG", help="Ask in this language of the survey, such as fr or pt-BR.")
@click.option(
    "--consent",
    is_flag=True,
    help="With --answers: agree to what the survey asks you to agree to before it begins.",
)
@json_option
def answer(
    url: str, answers_file: str | None, clear: bool, language: str | None, consent: bool, as_json: bool
) -> None:
    """Answer the survey at URL; answers are randomized on this machine, once.

    URL is the whole link, with the survey's hash after #: the survey that the server sends is checked against it.
    Without --answers the questions are asked here. What was drawn is kept under the user's state folder
    (XDG_STATE_HOME, else ~/.local/state) until it has arrived: running the command again sends the same report again,
    never a new one. Afterwards only its id and that it has arrived are kept.

    A second file holds the epsilon and the day of each survey that was answered here, and a salted digest of it,
    never an answer: before it asks, the command says what this and earlier surveys of the same server add up to.
    --clear empties it; surveys for shared devices and those with a quick exit are not listed.

    \b
    Examples (HASH is the survey's hash, 64 digits):
      hushpoll answer 'https://survey.example.org/s/HASH#HASH'
      hushpoll answer --answers mine.json 'https://survey.example.org/s/HASH#HASH'
    """
    link, memory = Link.parse(url), Memory()
    if clear:
        _clear(link, memory, as_json)
        return
    survey = fetch_survey(link)
    link = link.of(survey)
    record = memory.recall(survey)
    if record is not None and record.report is None:
        _say_that_it_was_sent(survey, record, as_json)
        return
    texts = _texts(survey, language)
    if record is None:
        record = _draw(link, survey, texts, answers_file, consent=consent)
    else:
        _warn(link, survey)
        tell("This machine has answered already; the same report is sent again, nothing is drawn anew.")
    if record.report is None:  # somebody else at this machine was faster
        _say_that_it_was_sent(survey, record, as_json)
        return
    _send(link, survey, record.report, as_json)
    for line in (texts.thanks, *(f"{entry['label']}: {entry['url']}" for entry in texts.help)):
        if line:
            tell(line)


def _draw(link: Link, survey: Survey, texts: Texts, answers_file: str | None, *, consent: bool) -> Kept:
    """Ask for the answers, or read them from a file, and keep the report that is drawn from them."""
    memory, true_answers = Memory(), None
    # A file is checked before anything is said, so that one line tells what is wrong with it.
    chosen = _read_file(answers_file) if answers_file else None
    ranks = memory.ranks(survey)
    if chosen is not None:
        true_answers = read_answers(survey, chosen, ranks)
    _warn(link, survey)
    for notice in (_counted_with(link, survey), Ledger().added(link.server, survey)):
        if notice:
            tell(notice)
    check_invitation(link, survey)
    introduce(survey, texts)
    _agree(texts, consent, interactive=true_answers is None)
    if true_answers is None:
        true_answers = read_answers(survey, ask(survey, ranks, texts), ranks)
    return memory.keep(survey, Report.new(survey, true_answers, ranks=ranks, group=link.group))


def _send(link: Link, survey: Survey, report: Report, as_json: bool) -> None:
    """Send what is kept, and keep of it what is needed afterwards: on a shared device nothing."""
    status, memory = submit(link, survey, report), Memory()
    if survey.settings.kiosk or not _listed(survey):
        memory.forget(survey.hash)
    else:
        memory.sent(survey, report.id)
        Ledger().note(link.server, survey)
    _report(survey, report, status, as_json)


def _listed(survey: Survey) -> bool:
    """Return whether a survey is noted among those answered here: one with a quick exit leaves no trace."""
    return not survey.presentation.get("look", {}).get("quick_exit", False)


def _texts(survey: Survey, language: str | None) -> Texts:
    tags = languages_of(survey)
    if language is not None and language not in tags:
        raise click.UsageError(
            f"--language {language}: the survey is not in this language; "
            + (f"choose one of {', '.join(tags)}" if tags else "it names none, leave the option out")
        )
    return read_in(survey, () if language is None else (language,))


def _agree(texts: Texts, consent: bool, interactive: bool) -> None:
    """Get the respondent's consent where the survey asks for it; nothing is drawn without."""
    if texts.consent is None:
        return
    if not interactive and not consent:
        raise click.UsageError(
            f"the survey asks you to agree before it begins: {texts.consent!r}; add --consent if you do"
        )
    if interactive and not consent and not consented(texts.consent):
        raise HushpollError("without your consent nothing is asked or sent", "run it again if you agree")


def _clear(link: Link, memory: Memory, as_json: bool) -> None:
    cleared = memory.forget(link.hash) | Ledger().forget()
    if as_json:
        print_json({"hash": link.hash, "cleared": cleared})
    else:
        click.echo("This machine is cleared." if cleared else "Nothing was kept here.")


def _say_that_it_was_sent(survey: Survey, record: Kept, as_json: bool) -> None:
    tell("This machine has answered already; nothing is drawn anew.")
    if as_json:
        total = finite(survey.epsilon_total)
        print_json(
            {"hash": survey.hash, "status": 200, "new": False, "epsilon_total": total, "id": record.id}
        )
    else:
        click.echo("The report has arrived, and is not kept here any more; it counts once.")


def _report(survey: Survey, report: Report, status: int, as_json: bool) -> None:
    if as_json:
        total = finite(survey.epsilon_total)
        sent: dict[str, Any] = {"id": report.id, "reports": list(report.reports)}
        if report.group is not None:
            sent["group"] = report.group
        print_json(
            {"hash": survey.hash, "status": status, "new": status == 201, "epsilon_total": total, **sent}
        )
        return
    click.echo("Sent." if status == 201 else "The server had it already; it counts once.")
    click.echo(f"Exactly this was sent: {report.to_body(survey).decode()}")


def _counted_with(link: Link, survey: Survey) -> str:
    if link.group is None:
        return ""
    return f"Your answers will be counted with: {survey.groups[link.group]}"


def _warn(link: Link, survey: Survey) -> None:
    """Return on stderr what a respondent must know before answering."""
    if link.unprotected:
        tell("The connection is not encrypted: someone on the network could read the mixed report.")
    if not link.in_fragment:
        tell("The link carries no hash after #, so only the address says which survey is meant.")
    for question in survey.questions:
        for line in one_sided_truths(question):
            tell(f"{question.id}: {line}")


def one_sided_truths(question: Question) -> list[str]:
    """Return what reports of an unbounded question give away; nothing where its epsilon is finite."""
    mechanism, lines = question.mechanism, []
    if mechanism.device.ratio is not None:
        return []
    for fact in mechanism.facts:
        label = question.report_labels[fact.report]
        possible = [question.options[answer] for answer in fact.leaves]
        if possible == [label]:
            lines.append(f"A {label} does reveal your {label}.")
        else:
            lines.append(f"A recorded {label} does reveal that you chose {' or '.join(possible)}.")
        if fact.decoy is not None:
            lines.append(f"It is sent only if both of your answers are {question.options[fact.decoy]}.")
    if mechanism.known_decoy_tells:
        lines.append(
            "Someone who knows your answer to the second question can learn more, up to your own answer."
        )
    return lines


def _read_file(name: str) -> dict[str, Any]:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise click.UsageError(
            f"{name}: cannot be read ({error.strerror}); give a JSON file of answers"
        ) from None
    try:
        value = strict_json.loads(data, max_depth=4)
    except ValueError as error:
        raise click.UsageError(f"{name}: {error}") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"{name}: must hold an object, like {{question id: option}}")
    return value
