"""Paper mode: instructions for coins or dice, and a plain form that takes answers which are mixed already.

Paper answers are counted together with all others, so they must follow the published channel exactly. Instructions are
given only where coins or dice make its odds exactly; otherwise the page says why there are none.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flask import Blueprint, Response, current_app, g, render_template, request, url_for
from flask_babel import gettext as _
from hushpoll_client import Question, Survey
from werkzeug.wrappers import Response as BaseResponse
from wtforms import BooleanField, Form, HiddenField, RadioField, StringField
from wtforms.validators import InputRequired, Length, Regexp

from hushpoll_server.collect import invitations
from hushpoll_server.collect.accept import Incoming, Outcome
from hushpoll_server.collect.intake import unknown
from hushpoll_server.config import LOOPBACK
from hushpoll_server.problems import Problem
from hushpoll_server.store.surveys import Published, get_store

from .assets import compressible, shell
from .languages import LANGUAGES

bp = Blueprint("paper", __name__)

_MOST_ROLLS = 3  # more rolls of a die than this, and people lose count
_COINS = {Fraction(1, 4): (2, 2), Fraction(1, 8): (3, 3), Fraction(3, 8): (3, 1), Fraction(1, 16): (4, 4)}


@dataclass(frozen=True)
class Branch:
    """What to do when the die gives a number from `low` to `high`; `what` is a key of the template."""

    low: str
    high: str
    what: str
    option: int | None = None


@dataclass(frozen=True)
class Instruction:
    """How to answer one question on paper.

    Attributes
    ----------
    coins, heads : int
        Toss so many coins; the first branch is for exactly so many heads. 0 coins means a die, or nothing at all.
    rolls : int
        Roll a die so often; the digits side by side are the number. Numbers above `last` are rolled again.
    """

    branches: tuple[Branch, ...] = ()
    coins: int = 0
    heads: int = 0
    rolls: int = 0
    last: str = ""
    again: bool = False


def instruction(question: Question) -> Instruction | None:
    """Find coins or dice that make the question's odds exactly; None where there are none."""
    mechanism = question.mechanism
    given = mechanism.parameters
    if "epsilon" in given:
        return None  # e^epsilon is irrational: no number of coins or dice makes it
    if mechanism.combine in ("or", "same"):
        return Instruction()
    if mechanism.name == "unrelated":
        return _dice([(Fraction(given["truth"]), "first", None)], "second")
    if mechanism.name == "warner":
        truth = Fraction(given["truth"])
        rare, often = ("opposite", "truth") if truth > Fraction(1, 2) else ("truth", "opposite")
        share = min(truth, 1 - truth)
        if share in _COINS:
            coins, heads = _COINS[share]
            return Instruction((Branch("", "", rare), Branch("", "", often)), coins=coins, heads=heads)
        return _dice([(share, rare, None)], often)
    if mechanism.name == "forced":
        shares = [(Fraction(share), "forced", option) for option, share in enumerate(given["forced"])]
        return _dice([branch for branch in shares if branch[0]], "truth")
    return None


def _dice(branches: Sequence[tuple[Fraction, str, int | None]], otherwise: str) -> Instruction | None:
    """Deal the outcomes of one to three rolls out to the branches; what is left over is rolled again."""
    whole = math.lcm(*(share.denominator for share, _what, _option in branches))
    # An exact fit first, then the fewest rolls.
    rolls = min(
        (rolls for rolls in range(1, _MOST_ROLLS + 1) if 6**rolls >= whole),
        key=lambda rolls: (6**rolls % whole != 0, rolls),
        default=0,
    )
    if rolls == 0:
        return None
    each = 6**rolls // whole
    used = each * whole
    dealt, start = [], 0
    for share, what, option in branches:
        end = start + int(share * used)
        dealt.append(Branch(_face(start, rolls), _face(end - 1, rolls), what, option))
        start = end
    dealt.append(Branch(_face(start, rolls), _face(used - 1, rolls), otherwise))
    return Instruction(tuple(dealt), rolls=rolls, last=_face(used - 1, rolls), again=used < 6**rolls)


def _face(outcome: int, rolls: int) -> str:
    """Write the outcome 0..6^rolls-1 as the faces that a die shows, 1 to 6 each."""
    return "".join(str(outcome // 6**place % 6 + 1) for place in reversed(range(rolls)))


def is_possible(survey: Survey) -> bool:
    """Whether every question can be answered on paper; a report is always complete."""
    return all(instruction(question) is not None for question in survey.questions)


def address(survey_hash: str) -> str:
    """Where the paper page of a survey is."""
    return url_for("respond.paper.page", survey_hash=survey_hash)


def _form(survey: Survey) -> Form:
    """The form of a survey; its fields hold answers that are mixed already."""
    required = _("Please choose what the instructions gave.")
    fields: dict[str, Any] = {
        "id": HiddenField(validators=[Regexp(r"^[0-9a-f]{32}\Z")]),
        "mixed": BooleanField(
            validators=[InputRequired(_("Please confirm that you followed the instructions."))]
        ),
    }
    if survey.settings.invitation:
        missing = _("Please copy the code from your invitation.")
        fields["invitation"] = StringField(
            validators=[InputRequired(missing), Length(max=64, message=missing)]
        )
    for index, question in enumerate(survey.questions):
        values = [str(value) for value in range(question.channel.outcomes)]
        fields[f"q{index}"] = RadioField(choices=values, validators=[InputRequired(required)])
    made: Form = type("PaperForm", (Form,), fields)(request.form if request.method == "POST" else None)
    if request.method == "GET":
        made["id"].data = secrets.token_hex(16)
    return made


def report_labels(question: Question) -> list[str]:
    """What each report is called on the page."""
    if question.mechanism.combine == "same":
        return [_("different"), _("same")]
    return [_("No"), _("Yes")] if question.kind.fixed_words else list(question.options)


def revealing(question: Question) -> list[str]:
    """Labels of the reports that only one true answer can lead to: the respondent must know."""
    columns = zip(*question.mechanism.analysis.rows, strict=True)
    return [
        label
        for label, column in zip(report_labels(question), columns, strict=True)
        if column.count(0) == len(column) - 1
    ]


@bp.get("/s/<survey_hash>/paper")
def page(survey_hash: str) -> BaseResponse:
    """Instructions and form, fit for printing."""
    known = _known(survey_hash)
    return _render(known.survey, _form(known.survey))


@bp.post("/s/<survey_hash>/paper")
def send(survey_hash: str) -> BaseResponse:
    """Take answers that are mixed already; the id from the page makes sending twice harmless."""
    known = _known(survey_hash)
    if not is_possible(known.survey):
        raise Problem(422, "this survey cannot be answered on paper; open its page without /paper to see why")
    wait = current_app.extensions["hushpoll_intake"].throttle.wait(request.remote_addr or "")
    if wait:
        raise Problem(
            429,
            "too many answers from this address; send the page again later",
            {"Retry-After": str(int(wait) + 1)},
        )
    form = _form(known.survey)
    if not form.validate():
        return _render(known.survey, form, 422)
    outcome = get_store().writer.submit([_incoming(known, form)])[0]
    if outcome in (Outcome.NEW, Outcome.KNOWN):
        return _render(known.survey, None, outcome.value, sent=True)
    problems = {
        Outcome.OTHER_CONTENT: _(
            "This page was sent before with other answers. Nothing was changed. Load the page anew for"
            " another person."
        ),
        Outcome.CLOSED: _("This survey is closed. Your answers were not stored."),
        Outcome.NOT_INVITED: _(
            "This invitation code is not known or was used already. Your answers were not stored."
        ),
    }
    return _render(known.survey, form, outcome.value, problem=problems[outcome])


def _known(survey_hash: str) -> Published:
    known = get_store().published(survey_hash)
    if known is None:
        raise unknown()
    return known


def _incoming(known: Published, form: Form) -> Incoming:
    survey = known.survey
    name = bytes.fromhex(form["id"].data)
    reports = [int(form[f"q{index}"].data) for index in range(len(survey.questions))]
    code = (
        invitations.digest(survey.hash, form["invitation"].data.strip())
        if survey.settings.invitation
        else None
    )
    return Incoming(
        known.number, name, known.format.pack(reports), get_store().id_digest(survey.hash, name), code
    )


def _item(index: int, question: Question, form: Form | None) -> dict[str, Any]:
    """Everything that the template needs to know about one question."""
    return {
        "name": f"q{index}",
        "question": question,
        "how": instruction(question),
        "labels": report_labels(question),
        "revealing": [] if question.decoy else revealing(question),
        "field": None if form is None else form[f"q{index}"],
    }


def _render(
    survey: Survey, form: Form | None, status: int = 200, *, problem: str = "", sent: bool = False
) -> Response:
    g.csp = {"script-src": "'none'", "connect-src": "'none'"}
    state = get_store().state(survey.hash)
    assert state is not None
    html = render_template(
        "respond/paper.html",
        survey=survey,
        form=form,
        items=[_item(index, question, form) for index, question in enumerate(survey.questions)],
        possible=is_possible(survey),
        bounded=all(question.channel.ratio is not None for question in survey.questions),
        closed=not state.is_open,
        problem=problem,
        sent=sent,
        insecure=not request.is_secure and request.host.partition(":")[0] not in LOOPBACK,
        languages=LANGUAGES,
        **shell(),
    )
    response = compressible(html.encode(), "text/html; charset=utf-8")
    response.status_code = status
    # The page holds its own random id: nobody else may be given the same copy.
    response.headers["Cache-Control"] = "no-store"
    return response
