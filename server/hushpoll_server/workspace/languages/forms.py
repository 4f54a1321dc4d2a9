"""The forms of the languages pages."""

from __future__ import annotations

from typing import Any

from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from flask_wtf.file import FileField, FileRequired
from hushpoll_client.limits import LENGTHS
from hushpoll_client.survey.translations import MAX_LANGUAGES
from wtforms import StringField, TextAreaField

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import pgettext
from hushpoll_server.workspace.drafts.documents import Document
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.drafts.translated_texts import (
    Path,
    text_at,
    texts_to_translate,
)
from hushpoll_server.workspace.drafts.translations import Texts
from hushpoll_server.workspace.forms import RevisionForm

_SEVERAL_LINES = ("intro", "thanks", "help")


class LanguageForm(RevisionForm):
    """The language that a survey is written in, and one to add."""

    language = StringField(
        later("This survey is written in"),
        description=later("Choose one, or type its tag, such as en or pt-BR."),
    )
    tag = StringField(
        later("Add a language"),
        description=later(
            "Choose one, or type its tag, such as fr or pt-BR. A survey has at most %(most)s"
            " languages, its own included.",
            most=MAX_LANGUAGES,
        ),
    )


class LanguageFileForm(FlaskForm):  # type: ignore[misc]
    """Translations from a file."""

    file = FileField(
        later("Translations (JSON)"),
        [FileRequired(later("Choose a file."))],
        description=later(
            "A file downloaded here, with the texts filled in. It can have one language or several."
        ),
    )


def texts_form(draft: Draft, texts: Texts, data: Any) -> RevisionForm:
    """Return a form with a field for every text of a language."""
    fields: dict[str, Any] = {}
    values: dict[str, Any] = {"revision": draft.revision}
    for index, (at, _original) in enumerate(texts_to_translate(draft.document)):
        several = at[-1] in _SEVERAL_LINES or (at[0] == "sections" and at[-1] == "text")
        field_type = StringField
        if several:
            field_type = TextAreaField
        label = text_label(draft.document, at)
        fields[f"t_{index}"] = field_type(label)
        values[f"t_{index}"] = text_at(texts, at)
    form_class = type("TextsForm", (RevisionForm,), fields)
    if data is not None:  # in a form that was sent, fields that are missing are empty
        values = {}
    form: RevisionForm = form_class(formdata=data, **values)
    return form


def text_label(document: Document, at: Path) -> str:
    """Return the label of a text, such as "Question 2, option 3"."""
    head = {
        "title": _("Title"),
        "intro": _("Introduction"),
        "consent": _("Consent"),
        "thanks": _("Thanks"),
        "help": pgettext("where people find it", "Help"),
    }
    if at[0] in head:
        return head[str(at[0])]
    if at[0] == "sections":
        n = int(at[1]) + 1
        if at[2] == "title":
            return _("Section %(n)s, title", n=n)
        return _("Section %(n)s, text", n=n)
    number = [question["id"] for question in document["questions"]].index(at[1]) + 1
    if at[2] == "decoy":
        return _("Question %(n)s, harmless question", n=number)
    if at[2] == "options":
        return _("Question %(n)s, option %(place)s", n=number, place=int(at[3]) + 1)
    if at[2] == "labels":
        return _("Question %(n)s, label %(place)s", n=number, place=int(at[3]) + 1)
    if at[2] == "unit":
        return _("Question %(n)s, unit", n=number)
    return _("Question %(n)s, text", n=number)


def text_limit(at: Path) -> int:
    """Return the largest number of characters of a text."""
    if at == ("help",):
        return LENGTHS["intro"]
    if at[0] == "sections" and at[-1] == "text":
        return LENGTHS["intro"]
    kind = {"options": "option", "labels": "option", "consent": "text", "thanks": "intro"}
    key = str(next(name for name in reversed(at) if isinstance(name, str)))
    return LENGTHS[kind.get(key, key)]
