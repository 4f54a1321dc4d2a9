"""The pages of passkeys: add and remove one's own, and sign in with one after the password."""

from __future__ import annotations

from flask import flash, redirect, render_template, request, session, url_for
from flask_babel import lazy_gettext as later
from wtforms import HiddenField, StringField
from wtforms.validators import InputRequired, Length

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import translate

from . import passkeys
from .access import current_user, login_required
from .account_pages import Page, PresentForm, confirmed, status_of
from .blueprint import bp
from .errors import AccountError


class PasskeyForm(PresentForm):
    """A new passkey: what it is called, and what the browser made."""

    label = StringField(
        later("Name"),
        [InputRequired(later("Write a name.")), Length(max=passkeys.LONGEST_LABEL)],
        description=later("A name by which you recognize it: the phone, the computer or the key it is on."),
    )
    credential = HiddenField()


@bp.route("/account/passkeys/new", methods=["GET", "POST"])
@login_required
@confirmed
def add_passkey() -> Page:
    """Ask for a name and the password, and let the browser make a passkey."""
    store, name = get_store(), current_user.name
    if not passkeys.are_possible(store.config):
        flash(_("Passkeys need an https address with a host name."), "problem")
        return redirect(url_for("accounts.account") + "#second-factor")
    form = PasskeyForm()
    status = status_of(form)
    if status is None:
        try:
            codes = passkeys.add(
                store, name, form.label.data, form.credential.data or "", keep=session["token"]
            )
            if codes:
                return render_template("accounts/recovery_codes.html", codes=codes)
            flash(_("The passkey is added. Your other sessions have ended."), "done")
            return redirect(url_for("accounts.account") + "#second-factor")
        except AccountError as error:
            if error.field == "credential":
                field = form.credential
            else:
                field = form.label
            field.errors, status = [sentence(error)], 422
    options = passkeys.registration_options(store, name)
    return render_template("accounts/passkey.html", form=form, options=options), status


@bp.post("/account/passkeys/remove")
@login_required
@confirmed
def remove_passkey() -> Page:
    """Ask for the password, and forget a passkey."""
    form = PresentForm()
    passkey_id = request.form.get("id", "")
    # The button on the account's page brings no password; the form that asks for it does.
    status: int | None = 200
    if "asked" in request.form:
        status = status_of(form)
    if status is not None:
        values = {"form": form, "what": "passkey", "passkey_id": passkey_id}
        return render_template("accounts/present.html", **values), status
    try:
        label = passkeys.remove(get_store(), current_user.name, passkey_id)
        flash(_("The passkey “%(label)s” is removed.", label=label), "done")
    except AccountError as error:
        flash(translate(error), "problem")
    return redirect(url_for("accounts.account") + "#second-factor")
