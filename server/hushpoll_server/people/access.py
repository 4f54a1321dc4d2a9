"""Who is asking: the signed-in account, the decorators that guard views, and the cookie they rest on.

Views of the workspace and of the results import from here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from flask import Flask, Response, abort, current_app, g, redirect, render_template, request, session, url_for
from flask.sessions import SecureCookieSessionInterface
from flask_bootstrap import Bootstrap5
from flask_wtf.csrf import CSRFError, CSRFProtect
from sqlalchemy import Connection
from werkzeug.local import LocalProxy

from hushpoll_server.compression import compress
from hushpoll_server.current_store import get_store
from hushpoll_server.i18n.languages import WORKSPACE_LANGUAGES
from hushpoll_server.i18n.translation import language
from hushpoll_server.problems import Problem
from hushpoll_server.security import refuse_cross_site

from . import audit_log, sharing, tokens
from .accounts import ROLES, User
from .audit_log import Detail
from .sign_in import session_user

View = TypeVar("View", bound=Callable[..., Any])

csrf = CSRFProtect()
_bootstrap = Bootstrap5()


# Pages that a token opens as well, and the scope that it needs.
_OPEN_TO_TOKENS = {"results.results": "results", "results.export": "export"}


def signed_in() -> User | None:
    """Return the account of this request's session, or of its token where a token will do; asked once per request."""
    if "user" not in g:
        token = None
        if not unencrypted_from_elsewhere():
            token = session.get("token")
        g.user = None
        if isinstance(token, str):
            g.user = session_user(get_store(), token)
        if g.user is None and request.endpoint in _OPEN_TO_TOKENS:
            g.user = _bearer(_OPEN_TO_TOKENS[request.endpoint])
    return cast("User | None", g.user)


def needed_account(scope: str) -> User:
    """Return the account of this request's session, or of a token with that scope; else raise a 401."""
    user = signed_in() or _bearer(scope)
    if user is None:
        detail = f"this needs an account's session, or a token with the scope {scope}; send it as Authorization: Bearer"
        raise Problem(401, detail, {"WWW-Authenticate": "Bearer"})
    g.user = user
    return user


def _bearer(scope: str) -> User | None:
    # A token or session that crossed a network unencrypted may have been copied.
    authorization = None
    if not unencrypted_from_elsewhere():
        authorization = request.authorization
    if authorization is None or authorization.type != "bearer" or not authorization.token:
        return None
    account = tokens.bearer(get_store(), authorization.token, scope)
    if account is None:
        return None
    user, g.token = account
    return user


current_user = cast(User, LocalProxy(signed_in))


def login_required(view: View) -> View:
    """Let only signed-in accounts in; send others to the sign-in page and back again."""
    return role_required(*ROLES)(view)


def role_required(*roles: str) -> Callable[[View], View]:
    """Let only accounts with one of these roles in."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            user = signed_in()
            if user is None:
                back = None
                if request.method == "GET":
                    back = (request.script_root + request.full_path).rstrip("?")
                return redirect(url_for("accounts.sign_in", next=back))
            if user.role not in roles:
                abort(403)
            return view(*args, **kwargs)

        return cast(View, guarded)

    return decorate


def can_read_survey(user: User | None, survey_hash: str) -> bool:
    """Return whether this account may read the survey's report."""
    return sharing.can_read(get_store(), user, survey_hash)


def can_edit(user: User | None, survey_hash: str) -> bool:
    """Return whether this account may share, invite to and close the survey."""
    return sharing.can_edit(get_store(), user, survey_hash)


def audit(action: str, subject: str, detail: str | Detail = "", tx: Connection | None = None) -> None:
    """Note in the audit log what the signed-in account did; in the transaction of what it did, where one is given."""
    user = signed_in()
    if "token" in g:
        if isinstance(detail, str):
            detail = Detail("text", text=detail)
        detail = Detail(detail.key, **detail.values, token=g.token.label)
    if user:
        actor = user.name
    else:
        actor = audit_log.NOBODY
    if tx is None:
        audit_log.record(get_store(), actor, action, subject, detail)
    else:
        audit_log.note(tx, actor, action, subject, detail)


def unencrypted_from_elsewhere() -> bool:
    """Return whether this request crossed a network in the clear: a password or a session must not."""
    if request.is_secure:
        return False
    try:
        return not ipaddress.ip_address(request.remote_addr or "").is_loopback
    except ValueError:
        return request.remote_addr is not None


class WorkspaceSessions(SecureCookieSessionInterface):
    """Cookies that are Secure exactly when the page came over https, so that a laptop on loopback works too."""

    def get_cookie_secure(self, app: Flask) -> bool:
        return cookies_are_secure()


def cookies_are_secure() -> bool:
    """Return whether a cookie of this request may travel over https only."""
    return request.is_secure or current_app.config["HUSHPOLL"].public_url.startswith("https://")


def init_app(app: Flask) -> None:
    """Prepare an application for the workspace's pages."""
    app.config.update(
        SESSION_COOKIE_NAME="hushpoll",
        SESSION_COOKIE_PATH=app.config["HUSHPOLL"].prefix or "/",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
        BOOTSTRAP_SERVE_LOCAL=True,
        # The API takes reports from pages without a cookie; the blueprints with sessions ask for the check themselves.
        WTF_CSRF_CHECK_DEFAULT=False,
        WTF_CSRF_TIME_LIMIT=None,
        # It wants a Referer, which our pages tell browsers not to send; `guard_forms` looks at the origin instead.
        WTF_CSRF_SSL_STRICT=False,
    )
    app.session_interface = WorkspaceSessions()
    if "bootstrap" not in app.extensions:
        _bootstrap.init_app(app)
    if "csrf" not in app.extensions:
        csrf.init_app(app)
    app.jinja_env.globals.update(
        current_user=current_user, workspace_languages=WORKSPACE_LANGUAGES, spoken_language=language
    )
    app.register_error_handler(CSRFError, _stale_form)


def guard_forms() -> None:
    """Check token and origin of every form of a blueprint: `bp.before_request(guard_forms)`."""
    if request.method in current_app.config["WTF_CSRF_METHODS"]:
        refuse_cross_site(current_app.config["HUSHPOLL"])
    csrf.protect()


def keep_private(response: Response) -> Response:
    """Keep what an account sees for that account: no copy in a cache, none after signing out; and make it small."""
    response.headers["Cache-Control"] = "no-store"
    return compress(response)


def _stale_form(error: CSRFError) -> tuple[str, int]:
    return render_template("accounts/stale.html", reason=error.description), 400


def local_path(target: str | None) -> str | None:
    """Return a path on this server to go back to, or None where `target` leads elsewhere."""
    if not target or not target.startswith("/") or target.startswith("//") or "\\" in target:
        return None
    return target if target.isprintable() else None


__all__ = [
    "User",
    "audit",
    "can_edit",
    "can_read_survey",
    "cookies_are_secure",
    "current_user",
    "guard_forms",
    "init_app",
    "keep_private",
    "local_path",
    "login_required",
    "needed_account",
    "role_required",
    "signed_in",
    "unencrypted_from_elsewhere",
]
