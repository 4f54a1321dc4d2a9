"""The pages of signing in at an institution: to its provider, and back."""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from typing import NamedTuple

from flask import abort, current_app, flash, redirect, render_template, request, session, url_for
from werkzeug.wrappers import Response

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import sentence
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import translate
from hushpoll_server.security import Throttle

from . import identities, openid, sessions
from . import sign_in as signing_in
from .access import (
    cookies_are_secure,
    current_user,
    local_path,
    login_required,
    unencrypted_from_elsewhere,
)
from .account_pages import PresentForm, confirmed, status_of
from .audit_log import Detail, now
from .blueprint import bp
from .errors import AccountError
from .openid import Attempt, Provider
from .sign_in import HalfWay

Page = str | Response | tuple[str, int]
COOKIE = "hushpoll_institution"
ATTEMPT_SECONDS = 600
ATTEMPTS_PER_MINUTE = 120

_throttle = Throttle(ATTEMPTS_PER_MINUTE)


class _Journey(NamedTuple):
    """What the browser takes along to the provider and back, signed."""

    attempt: Attempt
    until: int
    back: str
    # Whose account is to be connected, and by which session that was asked for; empty where somebody signs in.
    name: str = ""
    session: str = ""


@bp.get("/sign-in/institution")
def sign_in_at_institution() -> Page:
    """Send the browser to the institution's provider."""
    if unencrypted_from_elsewhere():
        return render_template("accounts/unencrypted.html"), 403
    try:
        back = local_path(request.args.get("next")) or ""
        address, journey = _begin(back, again="again" in request.args)
    except AccountError as error:
        return _problem(error)
    return _with_cookie(redirect(address), journey)


@bp.get("/sign-in/institution/return")
def return_from_institution() -> Page:
    """Handle the return from the provider."""
    if unencrypted_from_elsewhere():
        return render_template("accounts/unencrypted.html"), 403
    _provider()
    try:
        response = _taken(_journey())
    except AccountError as error:
        response = current_app.make_response(_problem(error))
    response.delete_cookie(COOKIE, path=url_for("accounts.sign_in"))
    return response


@bp.route("/account/institution", methods=["GET", "POST"])
@login_required
@confirmed
def connect_institution() -> Page:
    """Let one's account sign in at the institution, too; the password is asked for again."""
    _provider()
    form = PresentForm()
    status = status_of(form)
    if status is not None:
        return render_template("accounts/present.html", form=form, what="connect", **_named()), status
    try:
        digest = sessions.digest(session["token"])
        address, journey = _begin(url_for("accounts.account"), name=current_user.name, digest=digest)
    except AccountError as error:
        return _problem(error)
    # By a link: browsers do not let a form lead to another site where pages forbid that, as ours do.
    page = render_template("accounts/go_on.html", address=address, **_named())
    return _with_cookie(current_app.make_response(page), journey)


@bp.route("/account/institution/off", methods=["GET", "POST"])
@login_required
@confirmed
def disconnect_institution() -> Page:
    """Let one's account sign in by its password only."""
    form = PresentForm()
    status = status_of(form)
    if status is not None:
        return render_template("accounts/present.html", form=form, what="disconnect", **_named()), status
    try:
        identities.disconnect(get_store(), current_user.name, actor=current_user.name)
        flash(_("You now sign in with your password only."), "done")
    except AccountError as error:
        flash(translate(error), "problem")
    return redirect(url_for("accounts.account"))


def _taken(journey: _Journey) -> Response:
    """Sign in, or connect the signed-in account."""
    store, provider = get_store(), _provider()
    if "error" in request.args or "code" not in request.args:
        raise AccountError("the institution did not sign you in", "try again, or use a password")
    if _throttle.wait(""):
        raise AccountError("too many people are signing in right now", "try again in a minute")
    claims = provider.claims(request.args["code"], journey.attempt)
    if journey.name:
        if sessions.begun_at(store, journey.session, journey.name) is None:
            raise AccountError("you have signed out meanwhile", "sign in, and connect the account again")
        identities.connect(store, journey.name, provider.issuer, claims["sub"])
        # The session's cookie did not come along, and must stay as it is: no message in it.
        return _arrived(journey.back)
    row = identities.account_for(store, provider.issuer, claims)
    begun = signing_in.begin(store, row, Detail("institution"))
    # A session made before signing in may be known to somebody else: begin a new one.
    session.clear()
    if isinstance(begun, HalfWay):
        session["half_way"] = [*begun, journey.back]
        return _arrived(url_for("accounts.sign_in_code"))
    session["token"] = begun.token
    return _arrived(journey.back or url_for("workspace.survey_list.home"))


def _arrived(target: str) -> Response:
    """Go on by a page of our own: browsers send no strict cookie along a redirect that another site began."""
    return current_app.make_response(render_template("accounts/arrived.html", target=target))


def _begin(back: str, *, again: bool = False, name: str = "", digest: str = "") -> tuple[str, _Journey]:
    attempt = Attempt(secrets.token_urlsafe(24), secrets.token_urlsafe(24), secrets.token_urlsafe(48))
    address = _provider().authorization_address(attempt, again=again)
    return address, _Journey(attempt, now() + ATTEMPT_SECONDS, back, name, digest)


def _provider() -> Provider:
    store = get_store()
    if not openid.is_configured(store.config):
        abort(404, "this server knows no institution to sign in at; sign in with a name and password")
    # Never the name that the request asked for: it could be somebody else's server.
    return openid.provider_of(store, store.config.address_of(url_for("accounts.return_from_institution")))


def _named() -> dict[str, str]:
    config = get_store().config
    return {"institution": config.oidc_name or _("your institution")}


def _problem(error: AccountError) -> tuple[str, int]:
    return render_template("accounts/institution_problem.html", problem=sentence(error), **_named()), 403


# The cookie ----------------------------------------------------------------------------------------------------------


def _with_cookie(response: Response, journey: _Journey) -> Response:
    text = json.dumps([list(journey.attempt), *journey[1:]]).encode()
    packed = base64.urlsafe_b64encode(text).decode()
    response.set_cookie(
        COOKIE,
        f"{packed}.{_signature(packed)}",
        max_age=ATTEMPT_SECONDS,
        path=url_for("accounts.sign_in"),
        secure=cookies_are_secure(),
        httponly=True,
        # The provider's page leads back here, and is another site.
        samesite="Lax",
    )
    return response


def _journey() -> _Journey:
    """Return the journey of the cookie; AccountError where it is not the one that comes back."""
    packed, _dot, signature = request.cookies.get(COOKIE, "").partition(".")
    if not hmac.compare_digest(_signature(packed).encode(), signature.encode("utf-8", "replace")):
        raise _lost()
    (state, nonce, verifier), *rest = json.loads(base64.urlsafe_b64decode(packed))
    journey = _Journey(Attempt(state, nonce, verifier), *rest)
    came_back = request.args.get("state", "").encode("utf-8", "replace")
    if not hmac.compare_digest(journey.attempt.state.encode(), came_back) or now() >= journey.until:
        raise _lost()
    return journey


def _lost() -> AccountError:
    return AccountError("this took too long, or was begun in another browser", "begin again")


def _signature(packed: str) -> str:
    return hmac.digest(
        get_store().secret, b"institution:" + packed.encode("utf-8", "replace"), "sha256"
    ).hex()
