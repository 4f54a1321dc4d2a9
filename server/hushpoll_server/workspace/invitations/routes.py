"""Invitation codes: as a file, merged into a list of people, or mailed by the server."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable
from typing import Any

from flask import Blueprint, current_app, flash, redirect, request, url_for
from hushpoll_client import HushpollError, Survey, SurveyError
from hushpoll_client.delivery.link import fingerprint, survey_link
from hushpoll_client.messages import msg
from hushpoll_client.survey.group import named_group

from hushpoll_server import mail
from hushpoll_server.collect import invitations
from hushpoll_server.current_store import get_store
from hushpoll_server.fields import both, sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.people.access import audit, current_user
from hushpoll_server.people.audit_log import Detail
from hushpoll_server.store.surveys import SurveyState
from hushpoll_server.workspace.access import designer, editable_survey
from hushpoll_server.workspace.invitations import mailing
from hushpoll_server.workspace.invitations.forms import (
    InviteForm,
    LetterForm,
    MergeForm,
    letter_form,
    with_groups,
)
from hushpoll_server.workspace.invitations.mailing import Person
from hushpoll_server.workspace.responses import Page, address, download
from hushpoll_server.workspace.survey_page.routes import show_survey

bp = Blueprint("invitations", __name__, template_folder="templates")

LARGEST_LIST = 2 << 20
_ADDED = ("code", "link", "fingerprint")


def page_part(survey: Survey, _state: SurveyState) -> dict[str, Any]:
    """Return the forms for invitations, on the survey's page."""
    store = get_store()
    values: dict[str, Any] = {
        "invite_form": _invite_form(survey, InviteForm(formdata=None)),
        "merge_form": MergeForm(formdata=None),
        "letter_form": letter_form(survey),
        "sends_mail": mail.is_configured(store.config),
        "codes": None,
        "mailing": None,
    }
    if survey.settings.invitation:
        values["codes"] = invitations.counts(store, survey.hash)
        values["mailing"] = mailing.read(store, survey.hash)
    return values


def _invite_form(survey: Survey, form: InviteForm) -> InviteForm:
    form.group.choices = list(survey.groups)
    return form


@bp.post("/surveys/<survey_hash>/invitations")
@designer
def invite(survey_hash: str) -> Page:
    """Make codes and send them as CSV; the server stores only their hashes."""
    published = editable_survey(survey_hash)
    form = _invite_form(published, InviteForm())
    if form.validate_on_submit():
        try:
            group = named_group(published.groups, form.group.data if published.groups else None)
            codes = invitations.invite(get_store(), survey_hash, form.n.data, group)
            name = group_name = ""
            if group is not None:
                name, group_name = f"-g{group}", published.groups[group]
            audit("invitations made", survey_hash, Detail("invitations", count=len(codes), group=group_name))
            file = f"invitations-{survey_hash[:8]}{name}.csv"
            return download(_codes_csv(survey_hash, codes, group), "text/csv", file)
        except SurveyError as error:
            form.group.errors = [sentence(both(error))]
        except HushpollError as error:
            form.n.errors = [sentence(error)]
    return show_survey(survey_hash, 422, invite_form=form)


def _codes_csv(survey_hash: str, codes: list[str], group: int | None) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["code", "link", "fingerprint"])
    compared = fingerprint(survey_hash)
    writer.writerows((code, survey_link(address(), survey_hash, code, group), compared) for code in codes)
    return text.getvalue().encode()


def _group(survey: Survey) -> int | None:
    typed = request.form.get("group", "")
    if not survey.groups:
        return None
    if not typed.isascii() or not typed.isdigit() or int(typed) >= len(survey.groups):
        raise HushpollError("there is no such group", "choose one of the list")
    return int(typed)


@bp.post("/surveys/<survey_hash>/merge")
@designer
def merge(survey_hash: str) -> Page:
    """Send a list of people back with an invitation for each."""
    survey, form = editable_survey(survey_hash), MergeForm()
    if form.validate_on_submit():
        try:
            with form.people.data.stream as file:
                rows = _people(file.read(LARGEST_LIST + 1))
            group = _group(survey)
            codes = invitations.invite(get_store(), survey_hash, len(rows) - 1, group)
            audit("invitations made", survey_hash, Detail("invitations for a list", count=len(codes)))
            return download(
                _merged(survey_hash, rows, codes, group), "text/csv", f"people-{survey_hash[:8]}.csv"
            )
        except HushpollError as error:
            form.people.errors = [sentence(error)]
    return show_survey(survey_hash, 422, merge_form=form)


def _people(data: bytes) -> list[list[str]]:
    """Return the rows of a list: a line of headings, then one for each person."""
    if len(data) > LARGEST_LIST:
        raise HushpollError("the list is larger than 2 MB", "split it")
    # csv takes a lone carriage return for a mistake; old office programs end their lines with it.
    text = _decoded(data).replace("\r\n", "\n").replace("\r", "\n")
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    try:
        rows = [row for row in reader if any(map(str.strip, row))]
    except csv.Error:
        raise HushpollError(
            msg("line {line} of the list cannot be read", line=reader.line_num),
            "close every quotation mark, and shorten very long cells",
        ) from None
    if len(rows) < 2:
        raise HushpollError(
            "the list has nobody in it", "give a line of headings, then a line for each person"
        )
    reserved = set(_ADDED) & {name.strip().lower() for name in rows[0]}
    if reserved:
        raise HushpollError(msg("the list has a column {taken!r} already", taken=min(reserved)), "remove it")
    return rows


def _decoded(data: bytes) -> str:
    """Return the text of a list as office programs save it: UTF-8, UTF-16 with its mark, or Windows' own encoding."""
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return data.decode("utf-16")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    if "\0" in text:
        raise HushpollError("the list is not a text that can be read", "save it as CSV in UTF-8")
    return text


def _merged(survey_hash: str, rows: list[list[str]], codes: list[str], group: int | None) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    width = len(rows[0])
    writer.writerow([*map(_without_formula, rows[0]), *_ADDED])
    for row, code in zip(rows[1:], codes, strict=True):
        cells = [_without_formula(cell) for cell in (row + [""] * width)[:width]]
        link = survey_link(address(), survey_hash, code, group)
        writer.writerow([*cells, code, link, fingerprint(survey_hash)])
    return text.getvalue().encode("utf-8-sig")


def _without_formula(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{cell}"
    return cell


@bp.post("/surveys/<survey_hash>/letters")
@designer
def letters(survey_hash: str) -> Page:
    """Send invitations to new addresses, or reminders to those whose code is unused."""
    survey, store = editable_survey(survey_hash), get_store()
    form, remind = with_groups(LetterForm(), survey), "remind" in request.form
    if form.validate_on_submit() and _check_letter(form):
        try:
            if not remind:
                mailing.add(
                    store, survey_hash, mailing.read_addresses(form.addresses.data or ""), _group(survey)
                )
            if not mailing.read(store, survey_hash).people:
                raise mail.MailError("there is no address yet", "type at least one")
            mailing.start(store, survey_hash, _letter_writer(survey_hash, form), remind, current_user.name)
            flash(_("The e-mails are being sent. Reload the page to see the progress."), "done")
            return redirect(url_for("workspace.survey.survey", survey_hash=survey_hash) + "#letters")
        except HushpollError as error:
            form.addresses.errors = [sentence(error)]
    return show_survey(survey_hash, 422, letter_form=form)


def _check_letter(form: LetterForm) -> bool:
    if not mail.is_configured(current_app.config["HUSHPOLL"]):
        form.addresses.errors = [_("This server sends no mail: its operator can set SMTP_URL and MAIL_FROM.")]
    if "{link}" not in form.text.data:
        form.text.errors = [_("The text has no {link}. Add it, so that people can answer.")]
    try:
        if form.reply_to.data:
            form.reply_to.data = mail.check_address(form.reply_to.data)
    except mail.MailError as error:
        form.reply_to.errors = [sentence(error)]
    return not any(field.errors for field in form)


def _letter_writer(survey_hash: str, form: LetterForm) -> Callable[[Person], mail.Letter]:
    """Return the function that writes a person's letter. It runs in another thread and must need no request."""
    # Never the name that the request asked for: it could be somebody else's server.
    base = current_app.config["HUSHPOLL"].address
    text, subject, reply_to = form.text.data, form.subject.data, form.reply_to.data

    def write(person: Person) -> mail.Letter:
        link = survey_link(base, survey_hash, person.code, person.group)
        body = text.replace("{fingerprint}", fingerprint(survey_hash)).replace("{link}", link)
        return mail.Letter(person.to, subject, body, reply_to)

    return write
