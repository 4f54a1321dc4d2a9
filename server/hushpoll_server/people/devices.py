"""Devices on which an account has been used: failed sign-ins from them are counted separately.

Without this, anyone could lock an account by failing on purpose. A device that has signed in gets a cookie ("device
cookies", OWASP). The cookie gives a separate count and nothing else, and expires when the password changes.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

from sqlalchemy import Row

from hushpoll_server.store.surveys import Store

COOKIE = "hushpoll_device"
KEEP_SECONDS = 180 * 86_400


def issue(store: Store, name: str, password_hash: str) -> str:
    """Make a device's cookie."""
    nonce = secrets.token_hex(16)
    return f"{nonce}.{_signature(store, name, password_hash, nonce)}"


def known(store: Store, row: Row[Any] | None, cookie: str | None) -> str | None:
    """Return the device's number, where the cookie is from this server, for this account and its present password."""
    nonce, _, signature = (cookie or "").partition(".")
    if row is None or not nonce.isalnum() or not signature.isascii():
        return None
    expected = _signature(store, row.name, row.password_hash, nonce)
    return nonce if hmac.compare_digest(signature, expected) else None


def _signature(store: Store, name: str, password_hash: str, nonce: str) -> str:
    parts = "\0".join(("device", nonce, name, password_hash))
    return hmac.new(store.secret, parts.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
