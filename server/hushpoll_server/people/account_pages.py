"""One's own account: the password, the sessions, the second factor, the tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from flask import abort, flash, redirect, render_template, request, session, url_for
from flask_babel import LazyString
from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import PasswordField, SelectMultipleField, StringField
from wtforms.validators import EqualTo, InputRequired, Length
from wtforms.widgets import CheckboxInput

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import choices, sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import translate

from . import accounts, identities, passkeys, password_reset, second_factor, sessions, tokens
from .access import current_user, login_required
from .audit_log import now
from .blueprint import bp
from .errors import AccountError
from .passwords import SHORTEST_PASSWORD
from .sign_in import password_fits

Page = str | Response | tuple[str, int]
View = TypeVar("View", bound=Callable[..., Any])
FRESH_SECONDS = 600
"""For so long a session stands for the password, where an account has none."""

_NEW_PASSWORD_HINT = later("At least %(n)s characters. A few unrelated words are good.", n=SHORTEST_PASSWORD)


def _scope(scope: str) -> str:
    return f"{scope}: {translate(tokens.SCOPES[scope])}"


class PresentForm(FlaskForm):  # type: ignore[misc]
    """The present password, asked again before something that a stolen session must not do."""

    present = PasswordField(later("Present password"), [InputRequired(later("Type your present password."))])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not identities.has_password(get_store(), current_user.name):
            # Whoever signs in at an institution has just done so: see `confirmed`.
            del self.present


def confirmed(view: View) -> View:
    """Turn away an account without a password whose session is old: a new sign-in replaces typing it again."""

    @wraps(view)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        store = get_store()
        if not identities.has_password(store, current_user.name):
            begun = sessions.begun_at(store, sessions.digest(session["token"]), current_user.name)
            if begun is None or now() - begun > FRESH_SECONDS:
                here = request.script_root + request.path
                return redirect(url_for("accounts.sign_in_at_institution", next=here, again="yes"))
        return view(*args, **kwargs)

    return cast(View, guarded)


class EmailForm(FlaskForm):  # type: ignore[misc]
    """One's own address; the present password is asked again, because a link to a new one goes there."""

    email = StringField(
        later("E-mail address"),
        [Length(max=254)],
        description=later(
            "Receives a link to set a new password, if this server sends mail. Leave it empty to remove it."
        ),
    )
    email_present = PasswordField(
        later("Present password"), [InputRequired(later("Type your present password."))]
    )


class PasswordForm(PresentForm):
    """A new password, with the present one asked again."""

    password = PasswordField(
        later("New password"), [InputRequired(later("Type a new password."))], description=_NEW_PASSWORD_HINT
    )
    again = PasswordField(
        later("New password again"), [EqualTo("password", later("The two new passwords differ."))]
    )


class TurnOnForm(PresentForm):
    """The first code from the app, which shows that it has the key."""

    code = StringField(
        later("Code from the app"),
        [InputRequired(later("Type the six digits that the app shows.")), Length(max=40)],
    )


class TokenForm(PresentForm):
    """A new token: what it is for, and what it may do."""

    label = StringField(
        later("What it is for"),
        [InputRequired(later("Say what the token is for.")), Length(max=64)],
        description=later("A name by which you recognize it: the program or the computer that will use it."),
    )
    scopes = SelectMultipleField(
        later("What it may do"),
        [InputRequired(later("Choose at least one."))],
        choices=choices((scope, LazyString(_scope, scope)) for scope in tokens.SCOPES),
        option_widget=CheckboxInput(),
    )


@bp.route("/account", methods=["GET", "POST"])
@login_required
def account() -> Page:
    """Show one's own account: change the password, sign out everywhere, see to the second factor."""
    form = PasswordForm()
    status = status_of(form)
    if status is not None:
        return _account_page(form), status
    if form.present is None:
        abort(403, "this account has no password; sign in at your institution")
    try:
        accounts.set_password(
            get_store(), current_user.name, form.password.data, actor=current_user.name, keep=session["token"]
        )
    except AccountError as error:
        form.password.errors = [sentence(error)]
        return _account_page(form), 422
    flash(_("Password changed. Every other session of yours has ended."), "done")
    return redirect(url_for("accounts.account"))


@bp.post("/account/email")
@login_required
def change_email() -> Page:
    """Set or remove one's own address."""
    form = EmailForm()
    store, name = get_store(), current_user.name
    if form.validate_on_submit():
        try:
            if password_fits(store, name, form.email_present.data):
                password_reset.set_email(store, name, form.email.data or "", actor=name)
                flash(_("Your e-mail address is saved."), "done")
                return redirect(url_for("accounts.account") + "#email")
            form.email_present.errors = [_("This is not your present password. Try again.")]
        except AccountError as error:
            (form.email if error.field == "email" else form.email_present).errors = [sentence(error)]
    return _account_page(PasswordForm(formdata=None), form), 422


def _account_page(form: PasswordForm, email_form: EmailForm | None = None) -> str:
    store, name = get_store(), current_user.name
    if email_form is None:
        email_form = EmailForm(formdata=None, email=password_reset.email_of(store, name))
    return render_template(
        "accounts/account.html",
        form=form,
        email_form=email_form,
        has_password=identities.has_password(store, name),
        institution=store.config.oidc_name or _("your institution") if store.config.oidc_issuer else "",
        connected=identities.is_connected(store, name),
        second_factor=second_factor.is_on(store, name),
        app=second_factor.has_app(store, name),
        passkeys=passkeys.of_account(store, name),
        passkeys_possible=passkeys.are_possible(store.config),
        codes_left=second_factor.recovery_codes_left(store, name),
        tokens=len(tokens.of_account(store, name)),
    )


@bp.post("/account/sign-out-everywhere")
@login_required
def sign_out_everywhere() -> Response:
    """End all sessions of this account, this one too."""
    sessions.end_all(get_store(), current_user.name, actor=current_user.name)
    session.clear()
    flash(_("You are signed out on every device."), "done")
    return redirect(url_for("accounts.sign_in"))


@bp.route("/account/second-factor", methods=["GET", "POST"])
@login_required
@confirmed
def set_up_second_factor() -> Page:
    """Show the key as a QR code, and turn the second factor on once the app's code is right."""
    import segno  # drawn for a few people only

    store, name = get_store(), current_user.name
    if second_factor.has_app(store, name):
        return redirect(url_for("accounts.account") + "#second-factor")
    # Kept until it is on, so that a second look shows the same; without the server's secret it is worth nothing.
    nonce = session.setdefault("second_factor", second_factor.new_nonce())
    form = TurnOnForm()
    status = 422 if form.is_submitted() else 200
    if form.validate_on_submit():
        refused = _refuse_wrong_password(form)
        if refused is None:
            try:
                codes = second_factor.turn_on(store, name, nonce, form.code.data, keep=session["token"])
                session.pop("second_factor")
                return render_template("accounts/recovery_codes.html", codes=codes)
            except AccountError as error:
                form.code.errors = [sentence(error)]
        status = refused or 422
    address = second_factor.app_address(store, name, nonce)
    page = render_template(
        "accounts/second_factor.html",
        form=form,
        picture=segno.make(address, error="m", micro=False).svg_data_uri(scale=5, border=3, light="white"),
        key=second_factor.key_of(store, name, nonce),
    )
    return page, status


@bp.route("/account/second-factor/off", methods=["GET", "POST"])
@login_required
@confirmed
def turn_second_factor_off() -> Page:
    """Turn the second factor off."""
    form = PresentForm()
    status = status_of(form)
    if status is not None:
        return render_template("accounts/present.html", form=form, what="off"), status
    try:
        second_factor.turn_app_off(get_store(), current_user.name)
        flash(_("Codes from the app are off."), "done")
    except AccountError as error:
        flash(sentence(error), "problem")
    return redirect(url_for("accounts.account"))


@bp.route("/account/second-factor/recovery-codes", methods=["GET", "POST"])
@login_required
@confirmed
def renew_recovery_codes() -> Page:
    """Show new recovery codes, once."""
    form = PresentForm()
    status = status_of(form)
    if status is not None:
        return render_template("accounts/present.html", form=form, what="codes"), status
    try:
        codes = second_factor.renew_codes(get_store(), current_user.name)
    except AccountError as error:
        flash(sentence(error), "problem")
        return redirect(url_for("accounts.account"))
    return render_template("accounts/recovery_codes.html", codes=codes)


@bp.route("/account/tokens", methods=["GET", "POST"])
@login_required
@confirmed
def own_tokens() -> Page:
    """List, make and show (once) the tokens of one's own account."""
    form = TokenForm()
    new_token = None
    status = status_of(form)
    if status is None:
        status = 200
        try:
            new_token = tokens.make(
                get_store(), current_user.name, form.label.data, form.scopes.data, actor=current_user.name
            )
            form = TokenForm(formdata=None)
        except AccountError as error:
            form[error.field].errors, status = [sentence(error)], 422
    listed = tokens.of_account(get_store(), current_user.name)
    return render_template("accounts/tokens.html", form=form, new_token=new_token, tokens=listed), status


@bp.post("/account/tokens/revoke")
@login_required
def revoke_token() -> Response:
    """End a token of one's own."""
    try:
        token_id = request.form.get("id", "")
        gone = tokens.revoke(get_store(), token_id, actor=current_user.name, name=current_user.name)
        flash(_("The token “%(token)s” is revoked.", token=gone.label), "done")
    except AccountError as error:
        flash(sentence(error), "problem")
    return redirect(url_for("accounts.own_tokens"))


def status_of(form: PresentForm) -> int | None:
    """Return the status of a page that asks for the password again; None where the right one was given."""
    if not form.validate_on_submit():
        return 422 if form.errors else 200
    return _refuse_wrong_password(form)


def _refuse_wrong_password(form: PresentForm) -> int | None:
    """Return at the field what is wrong with the present password, and give the status; None where it is right."""
    if form.present is None:
        return None
    try:
        fits = password_fits(get_store(), current_user.name, form.present.data)
    except AccountError as error:
        form.present.errors = [sentence(error)]
        return 429
    if not fits:
        form.present.errors = [_("This is not your present password.")]
        return 422
    return None
