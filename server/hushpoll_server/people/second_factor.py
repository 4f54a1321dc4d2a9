"""The second factor: a code from an app that changes every half minute (TOTP, RFC 6238), or a passkey (passkeys.py).

Either comes with recovery codes on paper.

The app's key is made from the server's secret and a number in the database, so that a copy of the database alone is
worth no code. Each code is good once; of recovery codes only keyed hashes are kept.
"""

from __future__ import annotations

import base64
import hmac
import secrets

import pyotp
from hushpoll_client.messages import msg
from sqlalchemy import Connection, delete, func, insert, select, update

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import passkeys, recovery_codes, second_factors

from . import audit_log, sessions
from .audit_log import Detail, note
from .errors import AccountError

RECOVERY_CODES = 10
STEP_SECONDS = 30
# A clock that is set back by less lets nobody use a code twice; whoever used one waits for so long at most.
_FAR_STEPS = 10
_ISSUER = "hushpoll"
# Without letters and digits that look alike on paper.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS, _IN_GROUP = 3, 4


def new_nonce() -> str:
    """Return what a new key is made from, with the server's secret."""
    return secrets.token_hex(16)


def key_of(store: Store, name: str, nonce: str) -> str:
    """Return the key that the app gets, in base 32."""
    parts = "\0".join(("second factor", nonce, name)).encode("utf-8", "replace")
    return base64.b32encode(hmac.digest(store.secret, parts, "sha256")[:20]).decode()


def app_address(store: Store, name: str, nonce: str) -> str:
    """Return what the QR code says to the app."""
    host = store.config.address.partition("://")[2]
    return pyotp.TOTP(key_of(store, name, nonce)).provisioning_uri(
        name=f"{name} at {host}", issuer_name=_ISSUER
    )


def accounts_with(store: Store) -> set[str]:
    """Return the names of the accounts that have a second factor."""
    with store.read() as tx:
        names = tx.execute(select(second_factors.c.user_name).union(select(passkeys.c.user_name)))
        return set(names.scalars())


def is_on(store: Store, name: str) -> bool:
    """Return whether an account has a second factor: an app or a passkey."""
    with store.read() as tx:
        return _is_on(tx, name)


def has_app(store: Store, name: str) -> bool:
    """Return whether an account has an app that makes codes."""
    with store.read() as tx:
        return _nonce(tx, name) is not None


def _is_on(tx: Connection, name: str) -> bool:
    query = select(passkeys.c.id).where(passkeys.c.user_name == name)
    return _nonce(tx, name) is not None or tx.execute(query).first() is not None


def recovery_codes_left(store: Store, name: str) -> int:
    """Count the recovery codes that were not used yet."""
    with store.read() as tx:
        return _codes_left(tx, name)


def turn_on(store: Store, name: str, nonce: str, code: str, *, keep: str) -> list[str]:
    """Begin to ask for codes, once one from the app is right; gives the recovery codes, which are kept nowhere.

    Every session but the one with token `keep` ends.
    """
    step = _step_of(key_of(store, name, nonce), code)
    if step is None:
        raise AccountError(
            "this code is not right", "wait for the next one, and check the phone's clock", "code"
        )
    with store.write() as tx:
        if _nonce(tx, name) is not None:
            raise AccountError("a second factor is on already", "turn it off first", "code")
        tx.execute(insert(second_factors).values(user_name=name, nonce=nonce, last_step=step))
        sessions.end_others(tx, name, keep)
        note(tx, name, "second factor on", name)
        return new_codes(tx, store, name)


def turn_off(store: Store, name: str, *, actor: str) -> None:
    """Ask for the password only: app, passkeys and recovery codes go."""
    with store.write() as tx:
        if not _is_on(tx, name):
            raise AccountError(msg("{name} has no second factor", name=name), "nothing to turn off")
        tx.execute(delete(second_factors).where(second_factors.c.user_name == name))
        tx.execute(delete(passkeys).where(passkeys.c.user_name == name))
        tx.execute(delete(recovery_codes).where(recovery_codes.c.user_name == name))
        note(tx, actor, "second factor off", name)


def turn_app_off(store: Store, name: str) -> None:
    """Ask for no codes of the app any more; passkeys stay."""
    with store.write() as tx:
        if not tx.execute(delete(second_factors).where(second_factors.c.user_name == name)).rowcount:
            raise AccountError(msg("{name} has no app for codes", name=name), "nothing to turn off")
        note(tx, name, "second factor off", name)
        forget_codes_where_off(tx, name)


def forget_codes_where_off(tx: Connection, name: str) -> None:
    """Delete recovery codes where no second factor is left that they could stand for."""
    if not _is_on(tx, name):
        tx.execute(delete(recovery_codes).where(recovery_codes.c.user_name == name))


def renew_codes(store: Store, name: str) -> list[str]:
    """Return new recovery codes; the old ones are good no more."""
    with store.write() as tx:
        if not _is_on(tx, name):
            raise AccountError("there is no second factor", "turn it on first")
        note(tx, name, "recovery codes renewed", name)
        return new_codes(tx, store, name)


def use(store: Store, name: str, code: str) -> Detail | None:
    """Use up a code of either kind; return which kind it was, for the audit log, or None if it is wrong."""
    with store.write() as tx:
        nonce = _nonce(tx, name)
        if nonce is not None and _use_step(tx, name, _step_of(key_of(store, name, nonce), code)):
            return Detail("code")
        mine = (recovery_codes.c.user_name == name) & (recovery_codes.c.digest == _digest(store, name, code))
        if tx.execute(delete(recovery_codes).where(mine)).rowcount:
            return Detail("recovery code", left=_codes_left(tx, name))
    return None


def _use_step(tx: Connection, name: str, step: int | None) -> bool:
    """Remember a code's half minute; False where it, or a later one, was used before.

    One that is still far off was used while the clock was ahead: it would refuse every code until then.
    """
    if step is None:
        return False
    used = second_factors.c.last_step
    good = (second_factors.c.user_name == name) & ((used < step) | (used > step + _FAR_STEPS))
    return bool(tx.execute(update(second_factors).where(good).values(last_step=step)).rowcount)


def _step_of(key: str, code: str) -> int | None:
    """Return which half minute a code belongs to: this one, or a neighbour, for clocks that differ a little."""
    code = code.replace(" ", "")
    totp = pyotp.TOTP(key)
    here = audit_log.now() // STEP_SECONDS
    steps = [step for step in (here - 1, here, here + 1) if _same(totp.generate_otp(step), code)]
    if steps:
        return steps[-1]
    return None


def _same(expected: str, typed: str) -> bool:
    return hmac.compare_digest(expected.encode(), typed.encode("utf-8", "replace"))


def _nonce(tx: Connection, name: str) -> str | None:
    query = select(second_factors.c.nonce).where(second_factors.c.user_name == name)
    return tx.execute(query).scalar_one_or_none()


def has_codes(tx: Connection, name: str) -> bool:
    """Return whether an account has recovery codes left."""
    return _codes_left(tx, name) > 0


def _codes_left(tx: Connection, name: str) -> int:
    query = select(func.count()).where(recovery_codes.c.user_name == name)
    return int(tx.execute(query).scalar_one())


def new_codes(tx: Connection, store: Store, name: str) -> list[str]:
    """Return new recovery codes, of which only hashes are stored."""
    tx.execute(delete(recovery_codes).where(recovery_codes.c.user_name == name))
    codes = [_new_code() for _ in range(RECOVERY_CODES)]
    rows = [{"user_name": name, "digest": _digest(store, name, code)} for code in codes]
    tx.execute(insert(recovery_codes), rows)
    return codes


def _new_code() -> str:
    groups = ("".join(secrets.choice(_LETTERS) for _ in range(_IN_GROUP)) for _ in range(_GROUPS))
    return "-".join(groups)


def _digest(store: Store, name: str, code: str) -> str:
    typed = "".join(sign for sign in code.lower() if sign.isalnum())
    parts = "\0".join(("recovery code", name, typed)).encode("utf-8", "replace")
    return hmac.digest(store.secret, parts, "sha256").hex()
