"""Who may do what: accounts, sessions, ownership, sharing and the audit log, beside the collected surveys."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from hushpoll_client import HushpollError
from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from hushpoll_server.store.surveys import Store, SurveyState
from hushpoll_server.store.workspace_schema import audit_log, sessions, shares, sign_in_failures, users

ROLES = ("designer", "analyst", "admin")
SESSION_SECONDS = 12 * 3600
SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 256
FREE_FAILURES = 5
LONGEST_BLOCK = 15 * 60
FORGET_AFTER = 24 * 3600

# OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
# Checked when the name is unknown, so that the time of a refusal does not tell which names exist.
_NOBODY = _hasher.hash(secrets.token_hex(16))


class AccountError(HushpollError):
    """A request about an account that cannot be honoured; `field` names the part at fault."""

    def __init__(self, message: str, field: str = "name") -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class User:
    """Somebody who may sign in."""

    name: str
    role: str
    created_at: int
    active: bool = True


def now() -> int:
    """Whole seconds since 1970."""
    return int(time.time())


def _clean_name(name: str) -> str:
    name = unicodedata.normalize("NFC", name.strip())
    if not 1 <= len(name) <= 64 or not name.isprintable():
        raise AccountError("the name must have 1 to 64 printable characters; choose another")
    return name


def check_password(password: str) -> None:
    """Refuse a password that is too short to be safe or too long to be hashed cheaply."""
    if len(password) < SHORTEST_PASSWORD:
        raise AccountError(f"the password must have at least {SHORTEST_PASSWORD} characters", "password")
    if len(password) > LONGEST_PASSWORD:
        raise AccountError(f"the password must have at most {LONGEST_PASSWORD} characters", "password")


def new_password() -> str:
    """A password nobody chose: 96 random bits."""
    return secrets.token_urlsafe(12)


def add_user(
    store: Store,
    name: str,
    role: str = "designer",
    password: str | None = None,
    *,
    actor: str = "command line",
) -> str:
    """Make an account and give its password, which is generated where none is given and kept nowhere."""
    name = _clean_name(name)
    if role not in ROLES:
        raise AccountError(f"role {role!r} is unknown; choose one of {', '.join(ROLES)}", "role")
    if password is None:
        password = new_password()
    check_password(password)
    password_hash = _hasher.hash(password)
    with store.write() as tx:
        if _user_row(tx, name) is not None:
            raise AccountError(f"there is already an account named {name!r}; choose another name")
        tx.execute(
            insert(users).values(
                name=name, role=role, password_hash=password_hash, created_at=now(), active=1
            )
        )
        _log(tx, actor, "account added", name, role)
    return password


def find_user(store: Store, name: str) -> User | None:
    """The account of that name."""
    with store.read() as tx:
        row = _user_row(tx, name)
    return None if row is None else User(row.name, row.role, row.created_at, bool(row.active))


def all_users(store: Store) -> list[User]:
    """Every account, by name."""
    with store.read() as tx:
        rows = tx.execute(select(users).order_by(users.c.name)).all()
    return [User(row.name, row.role, row.created_at, bool(row.active)) for row in rows]


def _user_row(tx: Connection, name: str) -> Row[Any] | None:
    return tx.execute(select(users).where(users.c.name == name)).one_or_none()


def set_password(store: Store, name: str, password: str, *, actor: str, keep: str | None = None) -> None:
    """Change a password and end every session of the account but the one with token `keep`."""
    check_password(password)
    password_hash = _hasher.hash(password)
    with store.write() as tx:
        changed = tx.execute(update(users).where(users.c.name == name).values(password_hash=password_hash))
        if not changed.rowcount:
            raise AccountError(f"there is no account named {name!r}; see the list of accounts")
        _end_sessions(tx, name, keep)
        _log(tx, actor, "password changed", name)


def change_account(
    store: Store, name: str, *, actor: str, role: str | None = None, active: bool | None = None
) -> None:
    """Change a role, or lock or unlock an account; either ends its sessions."""
    values: dict[str, object] = {}
    if role is not None:
        if role not in ROLES:
            raise AccountError(f"role {role!r} is unknown; choose one of {', '.join(ROLES)}", "role")
        values["role"] = role
    if active is not None:
        values["active"] = active
    with store.write() as tx:
        row = _user_row(tx, name)
        if row is None:
            raise AccountError(f"there is no account named {name!r}; see the list of accounts")
        loses_admin = row.role == "admin" and row.active and (role not in (None, "admin") or active is False)
        if loses_admin and _other_admins(tx, name) == 0:
            raise AccountError(f"{name} is the last active admin; make another one first", "role")
        tx.execute(update(users).where(users.c.name == name).values(**values))
        _end_sessions(tx, name, None)
        said = [role] if role else []
        said += [] if active is None else ["unlocked" if active else "locked"]
        _log(tx, actor, "account changed", name, ", ".join(said))


def _other_admins(tx: Connection, name: str) -> int:
    query = select(users.c.name).where(users.c.role == "admin", users.c.active, users.c.name != name)
    return len(tx.execute(query).all())


# Signing in -----------------------------------------------------------------------------------------------------


def sign_in(store: Store, name: str, password: str, key: bytes) -> str | None:
    """Give a fresh session token, None where name and password do not fit; AccountError while throttled.

    The throttle counts failures per name tried, whether or not it exists, and doubles the pause from the fifth on.
    """
    name = unicodedata.normalize("NFC", name.strip())
    name_hash = _name_hash(key, "sign-in", name)
    _count_try(store, name_hash)
    with store.read() as tx:
        row = _user_row(tx, name)
    fits = _verify(_NOBODY if row is None else row.password_hash, password)
    if row is None or not fits or not row.active:
        return None
    token = secrets.token_urlsafe(32)
    with store.write() as tx:
        _forget_tries(tx, name_hash)
        tx.execute(delete(sessions).where(sessions.c.expires_at < now()))
        tx.execute(
            insert(sessions).values(
                token_hash=_digest(token),
                user_name=name,
                created_at=now(),
                expires_at=now() + SESSION_SECONDS,
            )
        )
        if _hasher.check_needs_rehash(row.password_hash):
            tx.execute(update(users).where(users.c.name == name).values(password_hash=_hasher.hash(password)))
    return token


def password_fits(store: Store, name: str, password: str, key: bytes) -> bool:
    """Whether this is the password of that account, asked again before it is changed; throttled like signing in.

    Counted apart from signing in, so that whoever sits at a stolen session cannot lock the owner out.
    """
    name_hash = _name_hash(key, "present-password", name)
    _count_try(store, name_hash)
    with store.read() as tx:
        row = _user_row(tx, name)
    if row is None or not _verify(row.password_hash, password):
        return False
    with store.write() as tx:
        _forget_tries(tx, name_hash)
    return True


def _name_hash(key: bytes, purpose: str, name: str) -> str:
    return hmac.new(key, f"{purpose}:{name}".encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _forget_tries(tx: Connection, name_hash: str) -> None:
    tx.execute(delete(sign_in_failures).where(sign_in_failures.c.name_hash == name_hash))


def _verify(password_hash: str, password: str) -> bool:
    if len(password) > LONGEST_PASSWORD:
        return False
    try:
        return _hasher.verify(password_hash, password)
    except (Argon2Error, InvalidHashError):
        return False


def _count_try(store: Store, name_hash: str) -> None:
    """Count a try before its password is looked at, so that many at once cannot slip through; success forgets it."""
    mine = sign_in_failures.c.name_hash == name_hash
    put = sqlite_insert if store.database.is_sqlite else postgresql_insert
    fresh = put(sign_in_failures).values(name_hash=name_hash, failures=0, blocked_until=now())
    # Finds the row or makes it, and locks it: PostgreSQL lets many write at once, and they must queue here.
    locked = fresh.on_conflict_do_update(
        index_elements=["name_hash"], set_={"failures": sign_in_failures.c.failures}
    ).returning(sign_in_failures.c.failures, sign_in_failures.c.blocked_until)
    with store.write() as tx:
        tx.execute(delete(sign_in_failures).where(sign_in_failures.c.blocked_until < now() - FORGET_AFTER))
        before = tx.execute(locked).one()
        wait = before.blocked_until - now()
        if wait > 0:
            span = f"{wait} seconds" if wait < 120 else f"{-(-wait // 60)} minutes"
            raise AccountError(
                f"too many tries for this name, by you or by somebody else; wait {span}, then try again"
            )
        tries = before.failures + 1
        pause = 0 if tries < FREE_FAILURES else min(LONGEST_BLOCK, 30 * 2 ** (tries - FREE_FAILURES))
        values = {"failures": tries, "blocked_until": now() + pause}
        tx.execute(update(sign_in_failures).where(mine).values(**values))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def session_user(store: Store, token: str) -> User | None:
    """Whose session this is, while it lasts and the account is active."""
    query = (
        select(users)
        .join(sessions, sessions.c.user_name == users.c.name)
        .where(sessions.c.token_hash == _digest(token), sessions.c.expires_at >= now(), users.c.active)
    )
    with store.read() as tx:
        row = tx.execute(query).one_or_none()
    return None if row is None else User(row.name, row.role, row.created_at)


def end_session(store: Store, token: str) -> None:
    """Sign out here."""
    with store.write() as tx:
        tx.execute(delete(sessions).where(sessions.c.token_hash == _digest(token)))


def end_all_sessions(store: Store, name: str, *, actor: str) -> None:
    """Sign out everywhere."""
    with store.write() as tx:
        _end_sessions(tx, name, None)
        _log(tx, actor, "signed out everywhere", name)


def _end_sessions(tx: Connection, name: str, keep: str | None) -> None:
    statement = delete(sessions).where(sessions.c.user_name == name)
    if keep is not None:
        statement = statement.where(sessions.c.token_hash != _digest(keep))
    tx.execute(statement)


# Ownership and sharing ------------------------------------------------------------------------------------------


def owner_of(store: Store, survey_hash: str) -> str | None:
    """The owner's name; None for a survey of the house (published on the command line)."""
    state = store.state(survey_hash)
    return None if state is None else state.owner


def shared_with(store: Store, survey_hash: str) -> list[str]:
    """Names of the accounts that may read the survey's report beside its owner."""
    query = select(shares.c.user_name).where(shares.c.hash == survey_hash).order_by(shares.c.user_name)
    with store.read() as tx:
        return list(tx.execute(query).scalars())


def can_read(store: Store, user: User | None, survey_hash: str) -> bool:
    """Admins read everything; others what they own, what is shared with them and, as designers, the house's."""
    if user is None:
        return False
    return can_edit(store, user, survey_hash) or user.name in shared_with(store, survey_hash)


def readable(store: Store, user: User, states: Iterable[SurveyState]) -> list[SurveyState]:
    """Those surveys of a list that an account may read; the same rule as `can_read`, with one query for all."""
    with store.read() as tx:
        shared = set(tx.execute(select(shares.c.hash).where(shares.c.user_name == user.name)).scalars())
    return [
        state
        for state in states
        if user.role == "admin"
        or state.hash in shared
        or (user.role == "designer" and state.owner in (None, user.name))
    ]


def can_edit(store: Store, user: User | None, survey_hash: str) -> bool:
    """Share, invite, close: the owner and admins; designers too where the survey belongs to the house."""
    if user is None or user.role == "analyst":
        return False
    owner = owner_of(store, survey_hash)
    return user.role == "admin" or owner is None or owner == user.name


def share(store: Store, survey_hash: str, name: str, *, actor: str) -> None:
    """Let another account read the survey's report."""
    owner = owner_of(store, survey_hash)
    with store.write() as tx:
        row = _user_row(tx, name)
        if row is None or not row.active:
            raise AccountError(f"there is no active account named {name!r}; ask an admin to add it")
        if name == owner:
            raise AccountError(f"{name} owns this survey and reads it already")
        known = select(shares).where(shares.c.hash == survey_hash, shares.c.user_name == name)
        if tx.execute(known).one_or_none() is None:
            tx.execute(insert(shares).values(hash=survey_hash, user_name=name))
            _log(tx, actor, "shared", survey_hash, f"with {name}")


def unshare(store: Store, survey_hash: str, name: str, *, actor: str) -> None:
    """Take the right to read back."""
    with store.write() as tx:
        gone = tx.execute(delete(shares).where(shares.c.hash == survey_hash, shares.c.user_name == name))
        if gone.rowcount:
            _log(tx, actor, "unshared", survey_hash, f"with {name}")


# The audit log --------------------------------------------------------------------------------------------------


def record(store: Store, actor: str, action: str, subject: str, detail: str = "") -> None:
    """Note who did what; never called with anything that a respondent sent."""
    with store.write() as tx:
        _log(tx, actor, action, subject, detail)


def _log(tx: Connection, actor: str, action: str, subject: str, detail: str = "") -> None:
    tx.execute(insert(audit_log).values(at=now(), actor=actor, action=action, subject=subject, detail=detail))


@dataclass(frozen=True)
class Entry:
    """One line of the audit log."""

    id: int
    at: int
    actor: str
    action: str
    subject: str
    detail: str


def audit_entries(store: Store, limit: int = 100, before: int | None = None) -> list[Entry]:
    """The newest entries first; `before` an id, to page on."""
    query = select(audit_log).order_by(audit_log.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(audit_log.c.id < before)
    with store.read() as tx:
        return [Entry(*row) for row in tx.execute(query).all()]
