"""Help in context: every term of the workspace in one sentence, with the page of the documentation that says more."""

from __future__ import annotations

from typing import NamedTuple

from flask import Flask, g, url_for
from flask_babel import LazyString
from flask_babel import lazy_gettext as later
from markupsafe import Markup

from hushpoll_server.i18n.translation import gettext as _

__all__ = ["TERMS", "Term", "init_app", "term"]


class Term(NamedTuple):
    """One sentence, and where more of it stands."""

    label: LazyString
    sentence: LazyString
    page: str
    anchor: str


TERMS = {
    "epsilon": Term(
        later("epsilon"),
        later(
            "Epsilon limits what one report can give away: the smaller it is, the more often answers are changed"
            " at random."
        ),
        "planning",
        "choosing-epsilon",
    ),
    "total": Term(
        later("total"),
        later(
            "Epsilons of one person's answers add up; the total says how much the whole report can give away."
        ),
        "planning",
        "choosing-epsilon",
    ),
    "margin": Term(
        later("margin"),
        later(
            "The margin is how far the estimate is from the truth at most, in 95 of 100 surveys, because of sampling"
            " and randomization."
        ),
        "planning",
        "reference-table",
    ),
    "mechanism": Term(
        later("mechanism"),
        later("A mechanism is the rule by which the respondent's device randomizes an answer."),
        "designers",
        "which-mechanism",
    ),
    "report": Term(
        later("report"),
        later(
            "What you will report decides which way of randomizing is the most precise, so it is asked first."
        ),
        "designers",
        "what-will-you-report",
    ),
    "rehearsal": Term(
        later("rehearsal"),
        later(
            "A rehearsal sends made-up answers through the real randomizer and shows the results that you would get."
        ),
        "publish",
        "preview-and-rehearse",
    ),
    "lock": Term(
        later("lock"),
        later("A lock keeps the protection of a sensitive question as it is while the others change."),
        "planning",
        "questions-that-need-different-things",
    ),
    "block": Term(
        later("block"),
        later(
            "In a block each person is asked some of the questions, drawn at random, for one epsilon together."
        ),
        "designers",
        "many-questions-one-epsilon-blocks",
    ),
    "decoy": Term(
        later("decoy"),
        later(
            "A harmless second question with a known share of Yes hides which of the two a person said Yes to."
        ),
        "designers",
        "the-harmless-second-question",
    ),
    "rule": Term(
        later("rule"),
        later("A question may be asked only after certain answers; a report never tells who was asked."),
        "designers",
        "asking-some-people-only",
    ),
    "wave": Term(
        later("wave"),
        later("A wave is the same survey again, later, so that the change can be estimated."),
        "designers",
        "again-next-year",
    ),
    "fingerprint": Term(
        later("fingerprint"),
        later(
            "The fingerprint (SHA-256) names exactly one survey; a device compares it with what it was served."
        ),
        "threat-model",
        "threats-and-answers",
    ),
    "sealed": Term(
        later("sealed"),
        later(
            "Reports are sealed many at a time, in random order, so that none can be linked to who sent it, or when."
        ),
        "threat-model",
        "copies-of-the-database",
    ),
    "invitation": Term(
        later("invitation"),
        later(
            "An invitation is a one-time code in a link; that it was used is known, what was answered with it is not."
        ),
        "publish",
        "hand-it-out",
    ),
    "careless": Term(
        later("careless"),
        later("A question whose true share is known shows how many people answer without reading."),
        "validity",
        "careless-and-self-protective-answers",
    ),
}


def term(name: str, text: str | None = None) -> Markup:
    """Write a term that opens its sentence; it works without a script, by the browser's own popovers."""
    entry = TERMS[name]
    g.terms = g.get("terms", 0) + 1
    label = str(entry.label if text is None else text)
    return Markup(
        '<button type="button" class="term" popovertarget="term-{n}" aria-label="{what}">'
        "{label}</button>"
        '<span class="term-help" popover id="term-{n}">{sentence} <a href="{more}" hreflang="en">{read}</a></span>'
    ).format(
        n=g.terms,
        label=label,
        what=_("%(label)s: what is this?", label=label),
        read=_("Read more"),
        sentence=str(entry.sentence),
        more=url_for("manual.page", name=entry.page, _anchor=entry.anchor),
    )


def init_app(app: Flask) -> None:
    """Let templates write `{{ term("epsilon") }}`."""
    app.jinja_env.globals["term"] = term
