"""Passkeys as the second factor: the device signs a number of ours with a key that never leaves it (WebAuthn).

Each number is good once and for five minutes, on whichever node the answer arrives. The database holds public keys
only.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import secrets
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import Connection, delete, insert, select, update

from hushpoll_server.config import Config
from hushpoll_server.security import origin_of
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import passkey_challenges, passkeys

from . import second_factor, sessions
from .audit_log import Detail, note, now
from .errors import AccountError

__all__ = [
    "Passkey",
    "add",
    "are_possible",
    "of_account",
    "registration_options",
    "remove",
    "signing_options",
    "use",
]

MOST_OF_ACCOUNT = 10
CHALLENGE_SECONDS = 300
LONGEST_LABEL = 64
_REGISTER, _SIGN = "register", "sign"


class Passkey(NamedTuple):
    """A passkey as its owner sees it."""

    id: str
    label: str
    created_at: int


def are_possible(config: Config) -> bool:
    """Return whether browsers offer passkeys for this server: they want a name, and an encrypted connection."""
    parts = urlsplit(config.address)
    host = parts.hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return parts.scheme == "https" or host == "localhost"
    return False


def of_account(store: Store, name: str) -> list[Passkey]:
    """Return an account's passkeys, the oldest first."""
    columns = (passkeys.c.id, passkeys.c.label, passkeys.c.created_at)
    query = (
        select(*columns).where(passkeys.c.user_name == name).order_by(passkeys.c.created_at, passkeys.c.id)
    )
    with store.read() as tx:
        return [Passkey(*row) for row in tx.execute(query)]


def registration_options(store: Store, name: str) -> str:
    """Return what a browser needs to make a passkey, as JSON."""
    from webauthn import generate_registration_options, options_to_json

    options = generate_registration_options(
        rp_id=_host(store),
        rp_name=f"hushpoll at {_host(store)}",
        # Not the name: the device may show it to whoever finds it.
        user_id=hmac.digest(store.secret, b"passkeys of " + name.encode("utf-8", "replace"), "sha256"),
        user_name=name,
        challenge=_new_challenge(store, name, _REGISTER),
        exclude_credentials=_descriptors(store, name),
    )
    return str(options_to_json(options))


def add(store: Store, name: str, label: str, credential: str, *, keep: str) -> list[str]:
    """Keep a new passkey; return recovery codes where the account has none yet.

    Every session but the one with token `keep` ends. Raises AccountError where the browser's answer cannot be used.
    """
    from webauthn import verify_registration_response
    from webauthn.helpers import bytes_to_base64url
    from webauthn.helpers.exceptions import WebAuthnException

    label = label.strip()
    if not 0 < len(label) <= LONGEST_LABEL or not label.isprintable():
        raise AccountError("the passkey needs a name of 1 to 64 characters", "write one", "label")
    challenge = _answered_challenge(store, name, _REGISTER, credential)
    try:
        if challenge is None:
            raise ValueError
        verified = verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=_host(store),
            expected_origin=origin_of(store.config.address),
        )
    except (WebAuthnException, ValueError, TypeError, KeyError):
        raise AccountError(
            "this passkey cannot be used", "try again, or use another device", "credential"
        ) from None
    with store.write() as tx:
        _refuse_more(tx, name)
        values = {
            "id": bytes_to_base64url(verified.credential_id),
            "public_key": verified.credential_public_key,
            "sign_count": verified.sign_count,
        }
        tx.execute(insert(passkeys).values(**values, user_name=name, label=label, created_at=now()))
        sessions.end_others(tx, name, keep)
        note(tx, name, "passkey added", name, label)
        if second_factor.has_codes(tx, name):
            return []
        return second_factor.new_codes(tx, store, name)


def _refuse_more(tx: Connection, name: str) -> None:
    listed = tx.execute(select(passkeys.c.id).where(passkeys.c.user_name == name)).all()
    if len(listed) >= MOST_OF_ACCOUNT:
        raise AccountError("you have ten passkeys already", "remove one first", "label")


def signing_options(store: Store, name: str) -> str:
    """Return what a browser needs to sign with one of an account's passkeys, as JSON; nothing where it has none."""
    from webauthn import generate_authentication_options, options_to_json
    from webauthn.helpers.structs import UserVerificationRequirement

    descriptors = _descriptors(store, name)
    if not descriptors or not are_possible(store.config):
        return ""
    options = generate_authentication_options(
        rp_id=_host(store),
        challenge=_new_challenge(store, name, _SIGN),
        allow_credentials=descriptors,
        # The password was right already: it is enough that somebody touches the device.
        user_verification=UserVerificationRequirement.DISCOURAGED,
    )
    return str(options_to_json(options))


def use(store: Store, name: str, credential: str) -> Detail | None:
    """Return an audit log detail if one of the account's passkeys signed the challenge, else None."""
    from webauthn import verify_authentication_response
    from webauthn.helpers.exceptions import WebAuthnException

    challenge = _answered_challenge(store, name, _SIGN, credential)
    row = _row_of(store, name, credential)
    if challenge is None or row is None:
        return None
    try:
        verified = verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=_host(store),
            expected_origin=origin_of(store.config.address),
            credential_public_key=bytes(row.public_key),
            credential_current_sign_count=row.sign_count,
        )
    except (WebAuthnException, ValueError, TypeError, KeyError):
        return None
    with store.write() as tx:
        mine = passkeys.c.id == row.id
        tx.execute(update(passkeys).where(mine).values(sign_count=verified.new_sign_count))
    return Detail("passkey")


def _row_of(store: Store, name: str, credential: str) -> Any:
    credential_id = _fields(credential).get("id")
    mine = (passkeys.c.id == str(credential_id)) & (passkeys.c.user_name == name)
    with store.read() as tx:
        return tx.execute(select(passkeys).where(mine)).one_or_none()


def remove(store: Store, name: str, passkey_id: str) -> str:
    """Forget a passkey of an account, and return its label."""
    with store.write() as tx:
        mine = (passkeys.c.id == passkey_id) & (passkeys.c.user_name == name)
        row = tx.execute(select(passkeys.c.label).where(mine)).one_or_none()
        if row is None:
            raise AccountError("there is no such passkey", "see the list")
        tx.execute(delete(passkeys).where(mine))
        second_factor.forget_codes_where_off(tx, name)
        note(tx, name, "passkey removed", name, row.label)
        return str(row.label)


def _host(store: Store) -> str:
    return urlsplit(store.config.address).hostname or ""


def _descriptors(store: Store, name: str) -> list[Any]:
    from webauthn.helpers import base64url_to_bytes
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [
        PublicKeyCredentialDescriptor(id=base64url_to_bytes(passkey.id))
        for passkey in of_account(store, name)
    ]


def _new_challenge(store: Store, name: str, purpose: str) -> bytes:
    challenge = secrets.token_bytes(32)
    values = {"digest": hashlib.sha256(challenge).hexdigest(), "purpose": purpose}
    with store.write() as tx:
        tx.execute(delete(passkey_challenges).where(passkey_challenges.c.expires_at < now()))
        tx.execute(
            insert(passkey_challenges).values(**values, user_name=name, expires_at=now() + CHALLENGE_SECONDS)
        )
    return challenge


def _answered_challenge(store: Store, name: str, purpose: str, credential: str) -> bytes | None:
    """Return the number that an answer is about, and use it up; None where it is none of ours."""
    from webauthn.helpers import base64url_to_bytes

    try:
        client_data = json.loads(base64url_to_bytes(_fields(credential)["response"]["clientDataJSON"]))
        challenge = base64url_to_bytes(client_data["challenge"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    table = passkey_challenges.c
    ours = (table.digest == hashlib.sha256(challenge).hexdigest()) & (table.user_name == name)
    with store.write() as tx:
        lasts = table.expires_at.between(now(), now() + CHALLENGE_SECONDS)
        done = tx.execute(delete(passkey_challenges).where(ours, table.purpose == purpose, lasts))
        return challenge if done.rowcount else None


def _fields(credential: str) -> dict[str, Any]:
    try:
        value = json.loads(credential)
    except (ValueError, RecursionError):
        return {}
    if isinstance(value, dict):
        return value
    return {}
