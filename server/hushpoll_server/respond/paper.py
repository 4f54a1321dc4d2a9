"""Paper mode: instructions for coins or dice, and a plain form that takes answers which are mixed already.

Paper answers are counted together with all others, so they must follow the published channel exactly. Instructions are
given only where coins or dice make its odds exactly; otherwise the page says why there are none.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from babel import Locale, UnknownLocaleError
from flask import Blueprint, Response, current_app, g, render_template, request, url_for
from flask_babel import gettext as _
from flask_babel import lazy_gettext
from hushpoll_client import Question, Report, Survey
from hushpoll_client.formatting import at_most
from hushpoll_client.mechanism import Instruction
from hushpoll_client.messages import Message
from hushpoll_client.survey.assurance import assurance
from hushpoll_client.survey.texts import Texts, direction_of, languages_of, read_in
from markupsafe import Markup
from werkzeug.wrappers import Response as BaseResponse
from wtforms import BooleanField, Form, HiddenField, RadioField, StringField
from wtforms.validators import InputRequired, Length, Regexp

from hushpoll_server.collect import invitations
from hushpoll_server.collect.accept import Incoming, Outcome
from hushpoll_server.collect.intake import unknown
from hushpoll_server.collect.retention import keeping_of
from hushpoll_server.compression import compressible
from hushpoll_server.config import LOOPBACK
from hushpoll_server.current_store import get_store
from hushpoll_server.i18n.translation import translate
from hushpoll_server.problems import Problem
from hushpoll_server.security import refuse_cross_site
from hushpoll_server.store.surveys import Published

from .assets import asset_url, shell
from .languages import LANGUAGES, language, page_word

bp = Blueprint("paper", __name__)
PREFER_NOT = "Prefer not to say"

# What is asked where a decoy question stands beside the question, by the word for how the two answers are combined.
_TWO_QUESTIONS = {
    "legend_or": lazy_gettext("Is at least one of these true for you?"),
    "legend_same": lazy_gettext("Are your answers to these two questions the same or different?"),
    "legend_pair": lazy_gettext("Which of these do the steps tell you to answer?"),
    "choose_or": lazy_gettext("Choose Yes if at least one is true, No if neither is. Do not say which."),
}


_LEADS = {
    "strong": lazy_gettext(
        "Here you mix the answers yourself, with coins or dice. From what you hand in, no one can tell for"
        " certain what is true for you."
    ),
    "fair": lazy_gettext(
        "Here you mix the answers yourself, with coins or dice. What the instructions give can hint at what is true"
        " for you."
    ),
    "weak": lazy_gettext(
        "Here you mix the answers yourself, but only a little: what the instructions give can show what is true for"
        " you. This protects little."
    ),
    "open": lazy_gettext(
        "Here you mix the answers yourself. Only what the instructions give is sent; where that still shows what is"
        " true for you, a warning says so."
    ),
}


def is_possible(survey: Survey) -> bool:
    """Return whether every question can be answered on paper; a report is always complete."""
    return all(by_hand(question) is not None for question in survey.questions)


def by_hand(question: Question) -> Instruction | None:
    """Find coins or dice that make a question's odds; None where there are none, or where a number is"
    " rounded first."""
    if question.answers.spacing:
        return None
    return question.mechanism.by_hand()


def address(survey_hash: str) -> str:
    """Return where the paper page of a survey is."""
    return url_for("respond.paper.page", survey_hash=survey_hash)


def _form(survey: Survey) -> Form | None:
    """Return the form, whose fields hold answers that are mixed already; None where there are no instructions."""
    if not is_possible(survey):
        return None
    required = _("Please choose what the instructions gave.")
    fields: dict[str, Any] = {
        "id": HiddenField(validators=[Regexp(r"^[0-9a-f]{32}\Z")]),
        "mixed": BooleanField(
            validators=[InputRequired(_("Please confirm that you followed the instructions."))]
        ),
    }
    if "consent" in survey.presentation:
        fields["consent"] = BooleanField(validators=[InputRequired(_("Please tick this to start."))])
    if survey.settings.invitation:
        missing = _("Please copy the code from your invitation.")
        fields["invitation"] = StringField(
            validators=[InputRequired(missing), Length(max=64, message=missing)]
        )
    for index, question in enumerate(survey.questions):
        values = [str(value) for value in range(question.channel.outcomes)]
        fields[f"q{index}"] = RadioField(choices=values, validators=[InputRequired(required)])
    form: Form = type("PaperForm", (Form,), fields)(request.form if request.method == "POST" else None)
    if request.method == "GET":
        form["id"].data = secrets.token_hex(16)
    return form


def report_labels(question: Question, texts: Texts) -> list[str]:
    """Return what each report is called on the page: an answer, a word about two answers, or its number."""
    mechanism = question.mechanism
    if mechanism.reports_are_answers:
        return [*_options(question, texts), *([_("does not apply")] if question.after else [])]
    reports = range(question.channel.outcomes)
    return [page_word(f"report_{mechanism.combine}_{report}", str(report)) for report in reports]


def _options(question: Question, texts: Texts) -> list[str]:
    labels = [texts.option(question, option) for option in question.options]
    return [
        translate(label) if isinstance(label, Message) or label == PREFER_NOT else label for label in labels
    ]


def _sentences(options: Sequence[str]) -> list[Message]:
    return [option for option in options if isinstance(option, Message)]


def _marks(question: Question, texts: Texts) -> list[Markup]:
    """Mark the labels that are the designer's words; the others are in the page's language."""
    ours = {_("Prefer not to say"), _("does not apply"), *map(translate, _sentences(question.options))}
    theirs = question.mechanism.reports_are_answers and not question.kind.fixed_words
    return [
        _marked(texts.tag) if theirs and label not in ours else Markup("")
        for label in report_labels(question, texts)
    ]


def warnings(question: Question, texts: Texts) -> list[str]:
    """Return what the reports of a question give away, in words: the respondent must know."""
    labels, mechanism = report_labels(question, texts), question.mechanism
    both = _("A {option} does reveal that both are {option}.")
    lines = [
        both.replace("{option}", labels[fact.report]) for fact in mechanism.facts if fact.decoy is not None
    ]
    if mechanism.known_decoy_tells:
        lines.append(
            _("Someone who knows your answer to the second question can learn more, up to your own answer.")
        )
    bare = [labels[fact.report] for fact in mechanism.facts if fact.decoy is None and len(fact.leaves) == 1]
    if bare:
        sentence = _(
            "The instructions tell no one to choose this answer, so choosing it does reveal that it is true:"
        )
        lines.append(f"{sentence} {', '.join(map(isolated, bare))}")
    return lines


def any_answer(question: Question) -> str | None:
    """Return what a report that is not an answer means; None where reports are answers, or words about two"
    " answers."""
    mechanism, ratio = question.mechanism, question.channel.ratio
    if mechanism.reports_are_answers or mechanism.has_decoy or ratio is None:
        return None
    sentence = _("What is sent could come from any answer; it is at most {n} times likelier from yours.")
    return str(sentence.replace("{n}", at_most(float(ratio))))


def isolated(text: str) -> str:
    """Set a designer's words apart from the direction of the sentence around them."""
    return f"\u2068{text}\u2069"


@bp.get("/s/<survey_hash>/paper")
def page(survey_hash: str) -> BaseResponse:
    """Show instructions and form, fit for printing; where there are groups, for one of them."""
    published = _known(survey_hash)
    return _render(published.survey, _form(published.survey))


@bp.post("/s/<survey_hash>/paper")
def send(survey_hash: str) -> BaseResponse:
    """Take answers that are mixed already; the id from the page makes sending twice harmless."""
    refuse_cross_site(current_app.config["HUSHPOLL"])
    published = _known(survey_hash)
    if not is_possible(published.survey):
        raise Problem(422, "this survey cannot be answered on paper; open its page without /paper to see why")
    wait = current_app.extensions["hushpoll_intake"].throttle.wait(request.remote_addr or "")
    if wait:
        raise Problem(
            429,
            "too many answers from this address; send the page again later",
            {"Retry-After": str(int(wait) + 1)},
        )
    form, group = _form(published.survey), _group(published.survey)
    assert form is not None
    if published.survey.groups and group is None:
        return _render(published.survey, form, 422)
    if not form.validate():
        return _render(published.survey, form, 422)
    reports = [int(form[f"q{index}"].data) for index in range(len(published.survey.questions))]
    code = ""
    if published.survey.settings.invitation:
        code = form["invitation"].data
    outcome = get_store().writer.submit([incoming(published, form["id"].data, reports, code, group)])[0]
    if outcome in (Outcome.NEW, Outcome.KNOWN):
        return _render(published.survey, None, outcome.value, sent=True)
    problems = {
        Outcome.OTHER_CONTENT: _(
            "This page was sent before with other answers. Nothing was changed. Reload the page for another person."
        ),
        Outcome.CLOSED: _("This survey is closed. Your answers were not stored."),
        Outcome.NOT_INVITED: _(
            "This invitation code is not known or was used already. Your answers were not stored."
        ),
    }
    return _render(published.survey, form, outcome.value, problem=problems[outcome])


def _known(survey_hash: str) -> Published:
    published = get_store().published(survey_hash)
    if published is None:
        raise unknown()
    return published


def _group(survey: Survey) -> int | None:
    """Read the group from the address, since no server sees what stands after #."""
    text = request.args.get("group", "")
    if text.isascii() and text.isdigit() and len(text) < 4:
        number = int(text)
    else:
        number = len(survey.groups)
    return number if number < len(survey.groups) else None


def incoming(
    published: Published, report_id: str, reports: Sequence[int], code: str, group: int | None
) -> Incoming:
    """Return a report that was mixed by hand as the writer takes it."""
    survey = published.survey
    report = Report(report_id, tuple(reports), group)
    asks_invitation = survey.settings.invitation
    invitation = None
    if asks_invitation:
        invitation = invitations.digest(survey.hash, code.strip(), group)
    name = get_store().id_digest(survey.hash, bytes.fromhex(report.id))
    return Incoming(published.number, name, published.format.pack(report.values), invitation)


def rule(survey: Survey, question: Question, texts: Texts) -> str | None:
    """Return who should answer a question with a skip rule, and what all others do."""
    if question.after is None:
        return None
    number, decider = next(
        (number, candidate)
        for number, candidate in enumerate(survey.questions, 1)
        if candidate.id == question.after.question
    )
    words = dict(zip(decider.options, _options(decider, texts), strict=True))
    sentence = _(
        "This question is for those whose true answer to question {n} is: {answers}. For everyone else the"
        " true answer here is “{skipped}”."
    )
    answers = ", ".join(isolated(words[answer]) for answer in question.after.answers)
    text = sentence.replace("{n}", str(number)).replace("{answers}", answers)
    return str(text.replace("{skipped}", _("does not apply")))


def _item(survey: Survey, index: int, form: Form | None, texts: Texts) -> dict[str, Any]:
    """Return everything that the template needs to know about one question."""
    question = survey.questions[index]
    return {
        "name": f"q{index}",
        "text": texts.question(question),
        "decoy": texts.decoy(question),
        "section": texts.sections.get(question.id),
        "how": by_hand(question),
        "rule": rule(survey, question, texts),
        "legend": _TWO_QUESTIONS.get(f"legend_{question.mechanism.combine}"),
        "choose": _TWO_QUESTIONS.get(f"choose_{question.mechanism.combine}"),
        "labels": report_labels(question, texts),
        "marks": _marks(question, texts),
        "any_answer": any_answer(question),
        "warnings": warnings(question, texts),
        "field": None if form is None else form[f"q{index}"],
    }


def _marked(tag: str | None) -> Markup:
    """Return the language and direction of the designer's words, as HTML names them."""
    if tag is None:
        return Markup('dir="auto"')
    return Markup('lang="{}" dir="{}"').format(tag, direction_of(tag))


def _languages(survey: Survey) -> dict[str, str]:
    """Name the languages to choose from, each in its own words: the survey's where it has several, else ours."""
    tags = languages_of(survey)
    if len(tags) < 2:
        return LANGUAGES
    return {tag: _own_name(tag) for tag in tags}


def _own_name(tag: str) -> str:
    try:
        return Locale.parse(tag, sep="-").get_display_name() or tag
    except (UnknownLocaleError, ValueError):
        return tag


def _lead(survey: Survey) -> str:
    """Return the promise to a person who follows the steps: as strong as the odds allow."""
    promised = assurance(survey)
    return str(_LEADS["open" if promised.one_sided and promised.tier != "weak" else promised.tier])


def _render(
    survey: Survey, form: Form | None, status: int = 200, *, problem: str = "", sent: bool = False
) -> Response:
    g.csp = {"script-src": "'none'", "connect-src": "'none'"}
    state = get_store().state(survey.hash)
    assert state is not None
    possible = is_possible(survey)
    languages = [request.args.get("lang", ""), *request.accept_languages.values(), language()]
    texts = read_in(survey, languages)
    html = render_template(
        "respond/paper.html",
        survey=survey,
        texts=texts,
        designer=_marked(texts.tag),
        form=form,
        items=[_item(survey, index, form, texts) for index in range(len(survey.questions))]
        if possible
        else [],
        impossible=[
            (number, texts.question(question))
            for number, question in enumerate(survey.questions, 1)
            if by_hand(question) is None
        ],
        lead=_lead(survey),
        closed=not state.is_open,
        problem=problem,
        sent=sent,
        insecure=not request.is_secure and request.host.partition(":")[0] not in LOOPBACK,
        languages=_languages(survey),
        group=_group(survey),
        paper_style=asset_url("respond/paper.css"),
        delete_on=keeping_of(get_store(), survey.hash).delete_on,
        **shell(),
    )
    response = compressible(html.encode(), "text/html; charset=utf-8")
    response.status_code = status
    # The page holds its own random id: nobody else may be given the same copy.
    response.headers["Cache-Control"] = "no-store"
    return response
