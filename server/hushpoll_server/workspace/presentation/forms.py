"""The form for what respondents see around the questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.drafts.help_lines import help_text, read_help_lines
from hushpoll_server.workspace.drafts.sections import Section, Sections
from hushpoll_server.workspace.forms import RevisionForm

ASKED_BY_KEYS = ("contact", "approval", "notice")


class PresentationForm(RevisionForm):
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
            "Such as “I am 18 or older and want to take part”. Leave it empty if no consent is needed."
        ),
    )
    thanks = TextAreaField(
        later("Thanks"), description=later("Shown after sending, and when the survey is closed.")
    )
    help = TextAreaField(
        later("Where people find help"),
        description=later(
            "One per line: a label | the address. Addresses begin with https://, tel: or"
            " mailto:, such as “Someone to talk to | tel:+498001110111”."
        ),
    )
    layout = RadioField(
        later("How questions are asked"),
        choices=choices(
            [
                ("steps", later("One at a time, with a review before sending")),
                ("page", later("All on one page")),
            ]
        ),
        default="page",
    )
    quick_exit = BooleanField(
        later("Offer a quick way out"),
        description=later(
            "A button and the Esc key replace the page and its history entry with an"
            " encyclopedia, the tab has a neutral title, and the device keeps no list of"
            " answered surveys. For topics where someone may be looking over a shoulder."
        ),
    )
    accent = StringField(
        later("Accent colour"),
        description=later(
            "Such as #17605d. It must be dark enough to read: a contrast of at least 4.5 to the page."
        ),
    )

    def sections(self) -> list[tuple[SelectField, StringField, TextAreaField]]:
        """Return the fields of every section: before which question, title, text."""
        return [
            (self[f"before_{index}"], self[f"title_{index}"], self[f"text_{index}"])
            for index in range(sum(name.startswith("before_") for name in self._fields))
        ]


def presentation_form(draft: Draft, data: Any) -> PresentationForm:
    """Return the form of a draft, with fields for its sections and for one more."""
    offered = choices([("", "…"), *_numbered_questions(draft)])
    fields: dict[str, Any] = {}
    for index in range(_section_rows(draft, data)):
        n = index + 1
        fields[f"before_{index}"] = SelectField(
            _("Section %(n)s comes before", n=n), choices=offered, validate_choice=False
        )
        fields[f"title_{index}"] = StringField(_("Title of section %(n)s", n=n))
        fields[f"text_{index}"] = TextAreaField(_("Text of section %(n)s", n=n))
    form_class = type("SectionsPresentationForm", (PresentationForm,), fields)
    values: dict[str, Any] = {}
    if data is None:  # in a form that was sent, fields that are missing are empty
        values = _values(draft) | {"revision": draft.revision}
    form: PresentationForm = form_class(formdata=data, **values)
    return form


def _numbered_questions(draft: Draft) -> Iterator[tuple[str, str]]:
    for number, question in enumerate(draft.questions, 1):
        yield question["id"], f"{number}. {question['text']}"[:100]


def _section_rows(draft: Draft, data: Any) -> int:
    """Return how many sections the form has fields for: at most one per question."""
    rows = len(draft.sections) + 1
    if data is not None:
        rows = max(rows, sum(name.startswith("before_") for name in data))
    return min(rows, len(draft.questions))


def _values(draft: Draft) -> dict[str, Any]:
    """Return the form's fields of a draft."""
    details = draft.details
    asked_by, look = details.get("asked_by", {}), details.get("look", {})
    values = {
        "asked_by": asked_by.get("name", ""),
        **{key: asked_by.get(key, "") for key in ASKED_BY_KEYS},
        "consent": details.get("consent", ""),
        "thanks": details.get("thanks", ""),
        "help": help_text(details.get("help", [])),
        "layout": look.get("layout", "page"),
        "quick_exit": look.get("quick_exit", False),
        "accent": look.get("accent", ""),
    }
    for index, section in enumerate(draft.sections):
        values |= {
            f"before_{index}": section.before,
            f"title_{index}": section.title,
            f"text_{index}": section.text,
        }
    return values


def _line(text: str | None) -> str:
    return " ".join((text or "").split())


def _lines(text: str | None) -> str:
    return (text or "").replace("\r\n", "\n").strip()


def asked_by_from(before: Mapping[str, str], **typed: str | None) -> dict[str, str]:
    """Return who asks, with what was typed in place of what was there; SurveyError if the name is missing."""
    values = {**before, **{key: _line(text) for key, text in typed.items()}}
    asked_by = {key: text for key, text in values.items() if text}
    if asked_by and "name" not in asked_by:
        raise SurveyError(
            ("asked_by", "name"), "is missing", "say who asks, or take contact, approval and notice away"
        )
    return asked_by


def with_presentation(draft: Draft, form: PresentationForm) -> Draft:
    """Return the draft with everything in the form; SurveyError if something is wrong."""
    asked_by = asked_by_from(draft.details.get("asked_by", {}), **_typed_asked_by(form))
    sections = _sections_from(form, draft.order)
    rows = sorted(sections, key=lambda row: draft.order.index(sections[row].before))
    changed = replace(
        draft.with_details(asked_by=asked_by, **_details_from(draft, form)),
        sections=Sections(sections[row] for row in rows),
        translations=draft.translations.with_sections(rows),
    )
    read_presentation(changed.document, draft.order, published=False)
    return changed


def _typed_asked_by(form: PresentationForm) -> dict[str, str | None]:
    return {"name": form.asked_by.data, **{key: form[key].data for key in ASKED_BY_KEYS}}


def _details_from(draft: Draft, form: PresentationForm) -> dict[str, Any]:
    """Return the details of the survey in the form; empty ones are to be left out."""
    look = {
        "accent": _accent(form.accent.data),
        "logo": draft.details.get("look", {}).get("logo"),
        "layout": "steps" if form.layout.data == "steps" else "",
        "quick_exit": bool(form.quick_exit.data),
    }
    return {
        "consent": _line(form.consent.data),
        "thanks": _lines(form.thanks.data),
        "help": read_help_lines(form.help.data or ""),
        "look": {key: value for key, value in look.items() if value},
    }


def mistakes(draft: Draft, form: PresentationForm) -> list[SurveyError]:
    """Return everything that is wrong in the form outside its sections, each part checked by itself."""
    errors: list[SurveyError] = []

    def check(reader: Callable[[], Any], *position: int) -> None:
        """Note what a part raises; `position` is the index of a line that is checked alone."""
        try:
            reader()
        except SurveyError as error:
            path = error.path
            if position:
                path = (error.path[0], *position, *error.path[2:])
            errors.append(SurveyError(path, error.problem, error.remedy))

    typed = _typed_asked_by(form)
    check(partial(asked_by_from, {}, **typed))
    if typed["name"]:
        asked_by = asked_by_from({}, **typed)
        check(partial(read_presentation, {"asked_by": asked_by}, draft.order, published=False))
    details = _details_from(draft, form)
    for row, line in enumerate(details.pop("help")):
        check(partial(read_presentation, {"help": [line]}, draft.order, published=False), row)
    for key, value in details.items():
        if value:
            check(partial(read_presentation, {key: value}, draft.order, published=False))
    return errors


def _accent(text: str | None) -> str:
    text = (text or "").strip().lower()
    return f"#{text}" if text and not text.startswith("#") else text


def _sections_from(form: PresentationForm, order: Sequence[str]) -> dict[int, Section]:
    """Return the sections in the form by their row; empty rows are left out."""
    sections: dict[int, Section] = {}
    for row, (before, title, text) in enumerate(form.sections()):
        section = Section(before.data or "", _line(title.data), _lines(text.data))
        if not (section.before or section.title or section.text):
            continue
        _check_section(row, section, [entry.before for entry in sections.values()], order)
        sections[row] = section
    return sections


def _check_section(row: int, section: Section, used: Sequence[str], order: Sequence[str]) -> None:
    if section.before not in order:
        raise SurveyError(("sections", row, "before"), "is open", "choose the question that it stands before")
    if section.before in used:
        raise SurveyError(("sections", row, "before"), "has a section already", "choose another question")
    if not section.title:
        raise SurveyError(("sections", row, "title"), "is missing", "give the section a title")


def place_error(form: PresentationForm, error: SurveyError) -> None:
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
    if where:
        message = f"{where}: {both(error)}"
    else:
        message = both(error)
    field.errors = [*field.errors, sentence(message)]


def presentation_summary(draft: Draft) -> list[str]:
    """Return the names of what is filled in, for one line on the draft's page."""
    details = draft.details
    look, asked_by, help_lines = (details.get(key, {}) for key in ("look", "asked_by", "help"))
    parts = [
        (_("contact and approval"), any(asked_by.get(key) for key in ASKED_BY_KEYS)),
        (_("consent to tick"), "consent" in details),
        (_("thanks"), "thanks" in details),
        (ngettext("%(num)s help address", "%(num)s help addresses", len(help_lines)), help_lines),
        (ngettext("%(num)s section", "%(num)s sections", len(draft.sections)), draft.sections),
        (_("one question at a time"), look.get("layout") == "steps"),
        (_("a quick way out"), look.get("quick_exit")),
        (_("a logo"), "logo" in look),
        (_("an accent colour"), "accent" in look),
    ]
    return [words for words, present in parts if present]
