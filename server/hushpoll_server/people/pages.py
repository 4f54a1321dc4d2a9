"""Sign in and out, one's own account, and what admins do: accounts and the audit log."""

from __future__ import annotations

import datetime
from typing import cast

from flask import Blueprint, Flask, flash, redirect, render_template, request, session, url_for
from flask_wtf import FlaskForm
from werkzeug.wrappers import Response
from wtforms import HiddenField, PasswordField, SelectField, StringField
from wtforms.validators import EqualTo, InputRequired, Length

from hushpoll_server.fields import choices
from hushpoll_server.store.surveys import get_store

from . import accounts, devices, log, passwords, sessions, tries
from . import sign_in as signing_in
from .access import (
    audit,
    can_edit,
    can_read_survey,
    cookies_are_secure,
    current_user,
    guard_forms,
    init_app,
    keep_private,
    local_path,
    login_required,
    role_required,
    signed_in,
    unencrypted_from_elsewhere,
)
from .errors import AccountError
from .passwords import SHORTEST_PASSWORD
from .sign_in import SignedIn

__all__ = ["audit", "bp", "can_edit", "can_read_survey", "current_user", "login_required", "role_required"]

bp = Blueprint("accounts", __name__, template_folder="templates")
bp.record_once(lambda state: init_app(cast(Flask, state.app)))
bp.before_request(guard_forms)
bp.after_request(keep_private)

ROLE_HELP = {
    "designer": "makes, publishes and closes surveys",
    "analyst": "reads the reports of surveys shared with them",
    "admin": "everything, and accounts and the audit log",
}
_ROLE_CHOICES = choices((role, f"{role}: {ROLE_HELP[role]}") for role in accounts.ROLES)
_NEW_PASSWORD_HINT = f"At least {SHORTEST_PASSWORD} characters. A few unrelated words are good."


class SignInForm(FlaskForm):  # type: ignore[misc]
    """Name and password."""

    name = StringField("Name", [InputRequired("Type your account's name."), Length(max=64)])
    password = PasswordField("Password", [InputRequired("Type your password.")])
    next = HiddenField()


class PasswordForm(FlaskForm):  # type: ignore[misc]
    """A new password, with the present one asked again."""

    present = PasswordField("Present password", [InputRequired("Type your present password.")])
    password = PasswordField(
        "New password", [InputRequired("Type a new password.")], description=_NEW_PASSWORD_HINT
    )
    again = PasswordField("New password again", [EqualTo("password", "The two new passwords differ.")])


class AddAccountForm(FlaskForm):  # type: ignore[misc]
    """A new account; its password is generated and shown once."""

    name = StringField("Name", [InputRequired("Type a name."), Length(max=64)])
    role = SelectField("Role", choices=_ROLE_CHOICES)


class ChangeAccountForm(FlaskForm):  # type: ignore[misc]
    """One change of one account."""

    name = HiddenField()
    change = HiddenField()


@bp.app_template_filter("when")
def when(seconds: int | None) -> str:
    """Write a time of the store for people, in UTC."""
    if seconds is None:
        return ""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%-d %B %Y, %H:%M UTC")


@bp.route("/sign-in", methods=["GET", "POST"])
def sign_in() -> str | Response | tuple[str, int]:
    """Sign in, under a fresh session; refused where the password would cross a network in the clear."""
    if unencrypted_from_elsewhere():
        return render_template("accounts/unencrypted.html"), 403
    if signed_in() and request.method == "GET":
        return redirect(url_for("workspace.home"))
    form = SignInForm(next=request.args.get("next", ""))
    if not form.validate_on_submit():
        return render_template("accounts/sign_in.html", form=form), 422 if form.errors else 200
    try:
        device = request.cookies.get(devices.COOKIE)
        begun = signing_in.sign_in(get_store(), form.name.data, form.password.data, device)
    except AccountError as error:
        form.name.errors = [f"{str(error)[0].upper()}{str(error)[1:]}."]
        return render_template("accounts/sign_in.html", form=form), 429
    if begun is None:
        form.password.errors = ["This name and password do not belong together. Try again."]
        return render_template("accounts/sign_in.html", form=form), 422
    return _enter(begun, form.next.data)


def _enter(begun: SignedIn, back: str | None) -> Response:
    """Let somebody in, and remember the device."""
    # A session made before signing in may be known to somebody else: begin a new one.
    session.clear()
    session["token"] = begun.token
    response = redirect(local_path(back) or url_for("workspace.home"))
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


@bp.route("/account", methods=["GET", "POST"])
@login_required
def account() -> str | Response | tuple[str, int]:
    """One's own account: change the password, sign out everywhere."""
    form = PasswordForm()
    if not form.validate_on_submit():
        return render_template("accounts/account.html", form=form), 422 if form.errors else 200
    try:
        fits = signing_in.password_fits(get_store(), current_user.name, form.present.data)
    except AccountError as error:
        form.present.errors = [f"{str(error)[0].upper()}{str(error)[1:]}."]
        return render_template("accounts/account.html", form=form), 429
    if not fits:
        form.present.errors = ["This is not your present password."]
        return render_template("accounts/account.html", form=form), 422
    try:
        accounts.set_password(
            get_store(), current_user.name, form.password.data, actor=current_user.name, keep=session["token"]
        )
    except AccountError as error:
        form.password.errors = [str(error)]
        return render_template("accounts/account.html", form=form), 422
    flash("Password changed. Every other session of yours has ended.", "done")
    return redirect(url_for("accounts.account"))


@bp.post("/account/sign-out-everywhere")
@login_required
def sign_out_everywhere() -> Response:
    """End all sessions of this account, this one too."""
    sessions.end_all(get_store(), current_user.name, actor=current_user.name)
    session.clear()
    flash("You are signed out on every device.", "done")
    return redirect(url_for("accounts.sign_in"))


@bp.route("/accounts", methods=["GET", "POST"])
@role_required("admin")
def list_accounts() -> str | Response | tuple[str, int]:
    """List and add accounts."""
    form = AddAccountForm()
    made: tuple[str, str] | None = None
    status = 200
    if form.validate_on_submit():
        try:
            name = form.name.data.strip()
            made = (name, accounts.add_user(get_store(), name, form.role.data, actor=current_user.name))
            form = AddAccountForm(formdata=None)
        except AccountError as error:
            form[error.field].errors = [str(error)]
            status = 422
    elif form.errors:
        status = 422
    people = accounts.all_users(get_store())
    page = render_template(
        "accounts/accounts.html", form=form, people=people, made=made, roles=accounts.ROLES
    )
    return page, status


@bp.post("/accounts/change")
@role_required("admin")
def change_account() -> str | Response | tuple[str, int]:
    """Change a role, lock, unlock, or set a new password, which is shown once."""
    form = ChangeAccountForm()
    name, change = form.name.data or "", form.change.data or ""
    made = None
    try:
        if change == "password":
            made = (name, _reset_password(name))
        elif change in ("lock", "unlock"):
            accounts.change_account(get_store(), name, actor=current_user.name, active=change == "unlock")
        else:
            accounts.change_account(get_store(), name, actor=current_user.name, role=change)
    except AccountError as error:
        flash(f"Nothing changed: {error}.", "problem")
        return redirect(url_for("accounts.list_accounts"))
    if made is None:
        flash(f"{name}: {change}.", "done")
        return redirect(url_for("accounts.list_accounts"))
    people = accounts.all_users(get_store())
    return render_template(
        "accounts/accounts.html",
        form=AddAccountForm(formdata=None),
        people=people,
        made=made,
        roles=accounts.ROLES,
    )


def _reset_password(name: str) -> str:
    password = passwords.new_password()
    accounts.set_password(get_store(), name, password, actor=current_user.name)
    return password


@bp.get("/audit-log")
@role_required("admin")
def audit_log() -> str:
    """Who published, closed, exported, shared and changed accounts, newest first."""
    before = request.args.get("before", type=int)
    if before is not None:
        before = min(max(before, 0), 2**31 - 1)  # no entry has a number beyond, and no database takes any
    entries = log.audit_entries(get_store(), 100, before)
    unknown = tries.unknown_names(get_store())
    return render_template("accounts/audit_log.html", entries=entries, before=before, unknown=unknown)
