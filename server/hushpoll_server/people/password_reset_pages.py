"""The pages of a forgotten password."""

from __future__ import annotations

from typing import NoReturn
from urllib.parse import unquote

from flask import abort, current_app, flash, redirect, render_template, request, session, url_for
from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import PasswordField, StringField
from wtforms.validators import EqualTo, InputRequired, Length

from hushpoll_server import mail
from hushpoll_server.current_store import get_store
from hushpoll_server.fields import sentence
from hushpoll_server.i18n.translation import gettext as _

from . import password_reset
from .access import unencrypted_from_elsewhere
from .blueprint import bp
from .errors import AccountError
from .passwords import SHORTEST_PASSWORD

Page = str | Response | tuple[str, int]
_SAID = later(
    "If there is such an account and it has an e-mail address, a link is on its way. It works for an hour."
)


class ForgottenForm(FlaskForm):  # type: ignore[misc]
    """Whose password it is."""

    name = StringField(
        later("Account name or e-mail address"),
        [InputRequired(later("Type your account's name.")), Length(max=254)],
    )


class NewPasswordForm(FlaskForm):  # type: ignore[misc]
    """A new password, twice."""

    password = PasswordField(
        later("New password"),
        [InputRequired(later("Type a new password."))],
        description=later("At least %(n)s characters. A few unrelated words are good.", n=SHORTEST_PASSWORD),
    )
    again = PasswordField(
        later("New password again"), [EqualTo("password", later("The two new passwords differ."))]
    )


@bp.route("/sign-in/forgotten", methods=["GET", "POST"])
def forgotten() -> Page:
    """Send a link to choose a new password; the answer does not tell whether there is such an account."""
    if unencrypted_from_elsewhere():
        return render_template("accounts/unencrypted.html"), 403
    config = current_app.config["HUSHPOLL"]
    if not mail.is_configured(config):
        abort(404, "this server sends no mail; an admin can give you a new password")
    form = ForgottenForm()
    if not form.validate_on_submit():
        return render_template("accounts/forgotten.html", form=form), 422 if form.errors else 200
    try:
        # Never the name that the request asked for: it could be somebody else's server.
        password_reset.request_link(
            get_store(),
            form.name.data,
            lambda token: config.address_of(unquote(url_for("accounts.new_password", token=token))),
            request.remote_addr or "",
        )
    except AccountError as error:
        form.name.errors = [sentence(error)]
        return render_template("accounts/forgotten.html", form=form), 429
    flash(str(_SAID), "done")
    return redirect(url_for("accounts.sign_in"))


@bp.route("/sign-in/reset/<token>", methods=["GET", "POST"])
def new_password(token: str) -> Page:
    """Choose a new password by a link from a letter."""
    if unencrypted_from_elsewhere():
        return render_template("accounts/unencrypted.html"), 403
    store, form = get_store(), NewPasswordForm()
    if password_reset.good_for(store, token) is None:
        _not_good()
    if form.validate_on_submit():
        try:
            if not password_reset.choose(store, token, form.password.data):
                _not_good()
            session.clear()
            flash(_("Your new password is set. Sign in with it."), "done")
            return redirect(url_for("accounts.sign_in"))
        except AccountError as error:
            form.password.errors = [sentence(error)]
    return render_template("accounts/new_password.html", form=form), 422 if form.errors else 200


def _not_good() -> NoReturn:
    abort(
        404,
        "this link was used, is more than an hour old, or went to an address that has changed;"
        " ask for another on the sign-in page",
    )
