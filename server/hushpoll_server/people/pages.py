"""Sign in and out, and what admins do: accounts and the audit log."""

from __future__ import annotations

from flask import current_app, flash, redirect, render_template, request, session, url_for
from flask_babel import lazy_gettext as later
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import HiddenField, PasswordField, SelectField, StringField
from wtforms.validators import InputRequired, Length, ValidationError

from hushpoll_server import mail
from hushpoll_server.current_store import get_store
from hushpoll_server.fields import choices, sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import translate

from . import (
    account_pages,
    accounts,
    audit_log,
    devices,
    identities,
    institution,
    passkey_pages,
    passkeys,
    password_reset,
    password_reset_pages,
    passwords,
    second_factor,
    sessions,
    sign_in_throttle,
)
from . import sign_in as signing_in
from .access import (
    cookies_are_secure,
    current_user,
    local_path,
    role_required,
    signed_in,
    unencrypted_from_elsewhere,
)
from .blueprint import bp
from .errors import AccountError
from .sign_in import HalfWay, SignedIn

__all__ = ["account_pages", "bp", "institution", "passkey_pages", "password_reset_pages"]

ROLE_HELP = {
    "designer": later("designer: makes, publishes and closes surveys"),
    "analyst": later("analyst: reads the reports of surveys shared with them"),
    "admin": later("admin: everything, and accounts and the audit log"),
}
_ROLE_CHOICES = choices((role, ROLE_HELP[role]) for role in accounts.ROLES)


_CHANGED = {
    "second-factor": later("second factor off"),
    "lock": later("locked"),
    "unlock": later("unlocked"),
    "designer": later("designer"),
    "analyst": later("analyst"),
    "admin": later("admin"),
}


class SignInForm(FlaskForm):  # type: ignore[misc]
    """Name and password."""

    name = StringField(later("Name"), [InputRequired(later("Type your account's name.")), Length(max=64)])
    password = PasswordField(later("Password"), [InputRequired(later("Type your password."))])
    next = HiddenField()


class CodeForm(FlaskForm):  # type: ignore[misc]
    """A code from the app, or a recovery code; or what a passkey has signed."""

    code = StringField(later("Code"), [Length(max=40)])
    credential = HiddenField(validators=[Length(max=10_000)])

    def validate_code(self, field: StringField) -> None:
        """Ask for a code where there is nothing from a passkey."""
        if not self.credential.data and not field.data:
            raise ValidationError(str(later("Type a code.")))


class AddAccountForm(FlaskForm):  # type: ignore[misc]
    """A new account; its password is generated and shown once."""

    name = StringField(later("Name"), [InputRequired(later("Type a name.")), Length(max=64)])
    role = SelectField(later("Role"), choices=_ROLE_CHOICES)
    email = StringField(
        later("E-mail address"), [Length(max=254)], description=later("For a link to a new password.")
    )


class ChangeAccountForm(FlaskForm):  # type: ignore[misc]
    """One change of one account."""

    name = HiddenField()
    change = HiddenField()


@bp.route("/sign-in", methods=["GET", "POST"])
def sign_in() -> str | Response | tuple[str, int]:
    """Sign in, under a fresh session; refused where the password would cross a network in the clear."""
    if unencrypted_from_elsewhere():
        return render_template("accounts/unencrypted.html"), 403
    if signed_in() and request.method == "GET":
        return redirect(url_for("workspace.survey_list.home"))
    form = SignInForm(next=request.args.get("next", ""))
    if not form.validate_on_submit():
        return _sign_in_page(form), 422 if form.errors else 200
    try:
        device = request.cookies.get(devices.COOKIE)
        begun = signing_in.sign_in(get_store(), form.name.data, form.password.data, device)
    except AccountError as error:
        form.name.errors = [sentence(error)]
        return _sign_in_page(form), 429
    if begun is None:
        form.password.errors = [_("Wrong name or password. Try again.")]
        return _sign_in_page(form), 422
    if isinstance(begun, HalfWay):
        session["half_way"] = [*begun, form.next.data]
        return redirect(url_for("accounts.sign_in_code"))
    return _enter(begun, form.next.data)


def _sign_in_page(form: SignInForm) -> str:
    config = current_app.config["HUSHPOLL"]
    return render_template(
        "accounts/sign_in.html",
        form=form,
        sends_mail=mail.is_configured(config),
        institution=config.oidc_name or _("your institution") if config.oidc_issuer else "",
    )


@bp.route("/sign-in/code", methods=["GET", "POST"])
def sign_in_code() -> str | Response | tuple[str, int]:
    """Ask for the second factor after a correct password."""
    half_way = session.get("half_way")
    if half_way is None or signing_in.half_way_row(get_store(), HalfWay(*half_way[:3])) is None:
        session.pop("half_way", None)
        return redirect(url_for("accounts.sign_in"))
    form = CodeForm()
    status = 422 if form.is_submitted() else 200
    if form.validate_on_submit():
        half, device = HalfWay(*half_way[:3]), request.cookies.get(devices.COOKIE)
        try:
            if form.credential.data:
                begun = signing_in.finish_with_passkey(get_store(), half, form.credential.data, device)
            else:
                begun = signing_in.finish_with_code(get_store(), half, form.code.data, device)
            if begun is not None:
                return _enter(begun, half_way[3])
            form.code.errors = [_refused(form)]
        except AccountError as error:
            form.code.errors, status = [sentence(error)], 429
    return _code_page(form, half_way[0]), status


def _refused(form: CodeForm) -> str:
    if form.credential.data:
        return _("This passkey is not one of the account's. Try again, or use another.")
    return _("This code is wrong or was used before. Wait for the next one.")


def _code_page(form: CodeForm, name: str) -> str:
    store = get_store()
    return render_template(
        "accounts/code.html",
        form=form,
        app=second_factor.has_app(store, name),
        options=passkeys.signing_options(store, name),
    )


def _enter(begun: SignedIn, back: str | None) -> Response:
    """Start the session, and remember the device."""
    # A session new_password before signing in may be known to somebody else: begin a new one.
    session.clear()
    session["token"] = begun.token
    response = redirect(local_path(back) or url_for("workspace.survey_list.home"))
    response.set_cookie(
        devices.COOKIE,
        begun.device,
        max_age=devices.KEEP_SECONDS,
        path=url_for("accounts.sign_in"),
        secure=cookies_are_secure(),
        httponly=True,
        samesite="Strict",
    )
    return response


@bp.post("/sign-out")
def sign_out() -> Response:
    """End this session."""
    token = session.get("token")
    if isinstance(token, str):
        sessions.end(get_store(), token)
    session.clear()
    return redirect(url_for("accounts.sign_in"))


@bp.route("/accounts", methods=["GET", "POST"])
@role_required("admin")
def list_accounts() -> str | Response | tuple[str, int]:
    """List and add accounts."""
    form = AddAccountForm()
    new_password: tuple[str, str] | None = None
    status = 200
    if form.validate_on_submit():
        try:
            name = form.name.data.strip()
            new_password = (name, _add(name, form))
            form = AddAccountForm(formdata=None)
        except AccountError as error:
            form[error.field].errors = [sentence(error)]
            status = 422
    elif form.errors:
        status = 422
    return _accounts_page(form, new_password), status


def _add(name: str, form: AddAccountForm) -> str:
    """Make the account, and give its password."""
    email = (form.email.data or "").strip()
    if email:
        password_reset.check_email(email)
    password = accounts.add_user(get_store(), name, form.role.data, actor=current_user.name)
    if email:
        password_reset.set_email(get_store(), name, email, actor=current_user.name)
    return password


def _accounts_page(form: AddAccountForm, new_password: tuple[str, str] | None) -> str:
    store = get_store()
    return render_template(
        "accounts/accounts.html",
        form=form,
        people=accounts.all_users(store),
        guarded=second_factor.accounts_with(store),
        connected=identities.accounts_with(store),
        new_password=new_password,
        roles=accounts.ROLES,
    )


@bp.post("/accounts/change")
@role_required("admin")
def change_account() -> str | Response | tuple[str, int]:
    """Change a role, lock, unlock, or set a new password, which is shown once."""
    form = ChangeAccountForm()
    name, change = form.name.data or "", form.change.data or ""
    new_password = None
    try:
        if change == "password":
            new_password = (name, _reset_password(name))
        elif change == "second-factor":
            second_factor.turn_off(get_store(), name, actor=current_user.name)
        elif change in ("lock", "unlock"):
            accounts.change_account(get_store(), name, actor=current_user.name, active=change == "unlock")
        else:
            accounts.change_account(get_store(), name, actor=current_user.name, role=change)
    except AccountError as error:
        flash(_("Nothing changed: %(problem)s.", problem=translate(error)), "problem")
        return redirect(url_for("accounts.list_accounts"))
    if new_password is None:
        flash(f"{name}: {_CHANGED.get(change, change)}.", "done")
        return redirect(url_for("accounts.list_accounts"))
    return _accounts_page(AddAccountForm(formdata=None), new_password)


def _reset_password(name: str) -> str:
    password = passwords.new_password()
    accounts.set_password(get_store(), name, password, actor=current_user.name)
    return password


@bp.get("/audit-log", endpoint="audit_log")
@role_required("admin")
def audit_log_page() -> str:
    """Who published, closed, exported, shared and changed accounts, newest first."""
    before = request.args.get("before", type=int)
    if before is not None:
        before = min(max(before, 0), 2**31 - 1)  # no entry has a number beyond, and no database takes any
    entries = audit_log.audit_entries(get_store(), 100, before)
    unknown = sign_in_throttle.unknown_names(get_store())
    return render_template(
        "accounts/audit_log.html",
        entries=entries,
        before=before,
        unknown=unknown,
        no_accounts=audit_log.NO_ACCOUNTS,
    )
