"""The form for what respondents see around the questions, read into the draft's document."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from flask_babel import lazy_gettext as later
from hushpoll_client import SurveyError
from hushpoll_client.survey.presentation import read_presentation
from wtforms import BooleanField, RadioField, SelectField, StringField, TextAreaField

from hushpoll_server.fields import both, choices, sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import ngettext
from hushpoll_server.workspace.drafts.documents import Document
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.drafts.help_lines import help_text, read_help_lines
from hushpoll_server.workspace.forms import RevisionForm

WHO = ("contact", "approval", "notice")


class AroundForm(RevisionForm):
    """What respondents read before and after the questions, and what the page looks like."""

    asked_by = StringField(
        later("Who asks"), description=later("The organisation or person, as respondents know it.")
    )
    contact = StringField(
        later("Contact"),
        description=later("Whom respondents can ask: a name, an address, a telephone number."),
    )
    approval = StringField(
        later("Ethics approval"), description=later("Which board approved the study, and under what number.")
    )
    notice = StringField(
        later("Privacy notice"),
        description=later("An address that begins with https://, or one or two sentences."),
    )
    consent = TextAreaField(
        later("Consent to tick before Start"),
        description=later(
            "Such as “I am 18 or older and want to take part”. Leave it empty where no consent is needed."
        ),
    )
    thanks = TextAreaField(
        later("Thanks"), description=later("Shown after sending, and when the survey is closed.")
    )
    help = TextAreaField(
        later("Where people find help"),
        description=later(
            "One address a line: what it is | the address. Addresses begin with https://, tel: or mailto:,"
            " such as “Somebody to talk to | tel:+498001110111”."
        ),
    )
    layout = RadioField(
        later("How questions are asked"),
        choices=choices(
            [
                ("page", later("All on one page")),
                ("steps", later("One at a time, with a review before sending")),
            ]
        ),
        default="page",
    )
    quick_exit = BooleanField(
        later("Offer a quick way out"),
        description=later(
            "A button and the Esc key replace the page and its entry in the history by an encyclopedia, the tab"
            " has a neutral title, and the device keeps no list of answered surveys. For topics where somebody may look"
            " over a shoulder."
        ),
    )
    accent = StringField(
        later("Accent colour"),
        description=later(
            "Such as #17605d. It must be dark enough for everybody to read: a contrast of at least 4.5 to the"
            " page."
        ),
    )

    def sections(self) -> list[tuple[SelectField, StringField, TextAreaField]]:
        """Return the fields of every section: before which question, title, text."""
        return [
            (self[f"before_{index}"], self[f"title_{index}"], self[f"text_{index}"])
            for index in range(sum(name.startswith("before_") for name in self._fields))
        ]


def around_form(draft: Draft, data: Any, blank: int = 1) -> AroundForm:
    """Return the form of a draft, with fields for its sections and for `blank` more."""
    document, fields = draft.document, {}
    sections = document.get("sections", [])
    offered = choices(
        [
            ("", "…"),
            *(
                (question["id"], f"{n}. {question['text']}"[:100])
                for n, question in enumerate(draft.questions, 1)
            ),
        ]
    )
    rows = min(len(sections) + blank, len(draft.questions))
    if data is not None:
        rows = max(rows, min(sum(name.startswith("before_") for name in data), len(draft.questions)))
    for index in range(rows):
        n = index + 1
        fields[f"before_{index}"] = SelectField(
            _("Section %(n)s stands before", n=n), choices=offered, validate_choice=False
        )
        fields[f"title_{index}"] = StringField(_("Title of section %(n)s", n=n))
        fields[f"text_{index}"] = TextAreaField(_("Text of section %(n)s", n=n))
    form_class = type("DraftAroundForm", (AroundForm,), fields)
    # What is not sent is empty, not what it was before.
    values = _values(document) | {"revision": draft.revision} if data is None else {}
    form: AroundForm = form_class(formdata=data, **values)
    return form


def _values(document: Document) -> dict[str, Any]:
    """Return the form's fields of a draft's document."""
    asked_by, look = document.get("asked_by", {}), document.get("look", {})
    values = {"asked_by": asked_by.get("name", ""), **{key: asked_by.get(key, "") for key in WHO}}
    values |= {key: document.get(key, "") for key in ("consent", "thanks")}
    values["help"] = help_text(document.get("help", []))
    values |= {"layout": look.get("layout", "page"), "quick_exit": look.get("quick_exit", False)}
    values["accent"] = look.get("accent", "")
    for index, section in enumerate(document.get("sections", [])):
        values |= {f"{key}_{index}": section.get(key, "") for key in ("before", "title", "text")}
    return values


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def _lines(text: str | None) -> str:
    return (text or "").replace("\r\n", "\n").strip()


def with_asked_by(document: Document, **typed: str | None) -> Document:
    """Return the document with other words of who asks; those that are not typed here stay."""
    asked_by = document.get("asked_by", {}) | {key: _line(text) for key, text in typed.items()}
    asked_by = {key: text for key, text in asked_by.items() if text}
    rest = {key: value for key, value in document.items() if key != "asked_by"}
    if asked_by and "name" not in asked_by:
        raise SurveyError(
            ("asked_by", "name"), "is missing", "say who asks, or take contact, approval and notice away"
        )
    return {**rest, **({"asked_by": asked_by} if asked_by else {})}


def with_around(draft: Draft, form: AroundForm) -> Draft:
    """Return the draft with everything that the form has; SurveyError where it is not sound."""
    document = copy.deepcopy(draft.document)
    document = with_asked_by(document, name=form.asked_by.data, **{key: form[key].data for key in WHO})
    for key, value in _written(draft, form).items():
        document.pop(key, None)
        if value:
            document[key] = value
    _write_sections(document, form)
    read_presentation(document, [question["id"] for question in draft.questions], published=False)
    return replace(draft, document=document)


def _written(draft: Draft, form: AroundForm) -> Document:
    """Return the document's keys that the form's own fields describe; empty ones are to be left out."""
    look = {
        "accent": _accent(form.accent.data),
        "logo": draft.document.get("look", {}).get("logo"),
        "layout": "steps" if form.layout.data == "steps" else "",
        "quick_exit": bool(form.quick_exit.data),
    }
    return {
        "consent": _line(form.consent.data),
        "thanks": _lines(form.thanks.data),
        "help": read_help_lines(form.help.data or ""),
        "look": {key: value for key, value in look.items() if value},
    }


def mistakes(draft: Draft, form: AroundForm) -> list[SurveyError]:
    """Return everything that is wrong in the form, each part checked by itself; empty if all of it is sound."""
    ids = [question["id"] for question in draft.questions]
    who = {"name": form.asked_by.data, **{key: form[key].data for key in WHO}}
    errors: list[SurveyError] = []

    def check(read: Callable[[], Any], *position: int) -> None:
        """Note what a part raises; a line that was checked alone is named by its own place in the list."""
        try:
            read()
        except SurveyError as error:
            path = (error.path[0], *position, *error.path[2:]) if position else error.path
            errors.append(SurveyError(path, error.problem, error.remedy))

    asked_by = {key: _line(text) for key, text in who.items() if _line(text)}
    check(partial(with_asked_by, {}, **who))
    if "name" in asked_by:
        check(partial(read_presentation, {"asked_by": asked_by}, ids, published=False))
    written = _written(draft, form)
    for row, line in enumerate(written.pop("help")):
        check(partial(read_presentation, {"help": [line]}, ids, published=False), row)
    for key, value in written.items():
        if value:
            check(partial(read_presentation, {key: value}, ids, published=False))
    return errors


def _accent(text: str | None) -> str:
    text = (text or "").strip().lower()
    return f"#{text}" if text and not text.startswith("#") else text


def _write_sections(document: Document, form: AroundForm) -> None:
    """Write the sections in the survey's order, in every language, in place."""
    order = [question["id"] for question in document["questions"]]
    rows: list[tuple[int, Document]] = []
    for row, (before, title, text) in enumerate(form.sections()):
        section = {"before": before.data or "", "title": _line(title.data), "text": _lines(text.data)}
        if not any(section.values()):
            continue
        _check_section(row, section, [row_section["before"] for _, row_section in rows], order)
        rows.append((row, {key: value for key, value in section.items() if value}))
    rows.sort(key=lambda row_section: order.index(row_section[1]["before"]))
    document.pop("sections", None)
    if rows:
        document["sections"] = [row_section for _, row_section in rows]
    for texts in document.get("translations", {}).values():
        translated = texts.pop("sections", [])
        if rows:
            texts["sections"] = [translated[row] if row < len(translated) else {} for row, _ in rows]


def _check_section(row: int, section: Document, used: list[str], order: list[str]) -> None:
    if section["before"] not in order:
        raise SurveyError(("sections", row, "before"), "is open", "choose the question that it stands before")
    if section["before"] in used:
        raise SurveyError(("sections", row, "before"), "has a section already", "choose another question")
    if not section["title"]:
        raise SurveyError(("sections", row, "title"), "is missing", "give the section a title")


def _place(form: AroundForm, error: SurveyError) -> None:
    """Show a mistake next to the field it is about."""
    head, *rest = error.path
    where = ""
    if head == "sections" and len(rest) == 2:
        field = form[f"{rest[1]}_{rest[0]}"]
    elif head == "help":
        field, where = form.help, _("line %(n)s", n=int(rest[0]) + 1) if rest else ""
    else:
        names = [str(key) for key in reversed(error.path)]
        field = next((form[name] for name in names if name in form), form.asked_by)
    message = f"{where}: {both(error)}" if where else both(error)
    field.errors = [*field.errors, sentence(message)]


def told_around(document: Document) -> list[str]:
    """Name what stands around the questions, for one line on the draft's page."""
    look, many, sections = (document.get(key, {}) for key in ("look", "help", "sections"))
    many, sections = len(many), len(sections)
    parts = [
        (_("contact and approval"), any(document.get("asked_by", {}).get(key) for key in WHO)),
        (_("consent to tick"), "consent" in document),
        (_("thanks"), "thanks" in document),
        (ngettext("%(num)s help address", "%(num)s help addresses", many), many),
        (ngettext("%(num)s section", "%(num)s sections", sections), sections),
        (_("one question at a time"), look.get("layout") == "steps"),
        (_("a quick way out"), look.get("quick_exit")),
        (_("a logo"), "logo" in look),
        (_("an accent colour"), "accent" in look),
    ]
    return [words for words, there in parts if there]
