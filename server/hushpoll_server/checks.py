"""Checks of a server's settings against the machine: database, key, clock, disk, mail and proxies."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hushpoll_client import HushpollError
from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from . import mail
from .config import LOOPBACK, Config
from .people import openid
from .store import key
from .store.clock import MOST_DIFFERENCE, difference
from .store.database import Database

OK, WARNING, FAILED = "ok", "warning", "failed"
LOW_DISK = 1 << 30
"""Bytes of free space below which there is a warning."""
FULL_DISK = 64 << 20
"""Bytes of free space below which the check fails."""


class Check(NamedTuple):
    """The result of one check, and what to do about it."""

    name: str
    status: str
    detail: str
    remedy: str = ""


def all_checks(config: Config, file: Path | None) -> Iterator[Check]:
    """Yield every check; none changes anything."""
    yield from _file(config, file)
    yield from _database(config)
    yield _key(config)
    yield _disk(config)
    yield _mail(config)
    yield _institution(config)
    yield _proxies(config)


def _file(config: Config, file: Path | None) -> Iterator[Check]:
    """Check who can read a settings file that holds a password."""
    if file is None:
        return
    has_password = ":" in config.database_url.partition("://")[2].rpartition("@")[0]
    holds_secret = has_password or "@" in config.smtp_url or bool(config.oidc_client_secret)
    mode = stat.S_IMODE(file.stat().st_mode)
    if holds_secret and mode & stat.S_IROTH and stat.S_ISREG(file.stat().st_mode):
        yield Check("file", FAILED, f"{file} holds a password and everyone can read it", f"chmod 640 {file}")
    else:
        yield Check("file", OK, f"{file} is read")


def _database(config: Config) -> Iterator[Check]:
    """Check whether the database can be reached, and whether its clock agrees with this machine's."""
    if not _has_database(config):
        yield Check("database", WARNING, f"there is none in {config.data} yet", "`hushpoll serve` makes it")
        yield Check("clock", OK, "SQLite goes by this machine's clock; keep it right by NTP")
        return
    try:
        database = Database(config.url)
        try:
            with database.read() as tx:
                ahead = difference(tx)
                name = database.url.set(drivername=database.url.get_backend_name())
        finally:
            database.close()
    except (SQLAlchemyError, OSError) as error:
        cause = type(getattr(error, "orig", None) or error).__name__
        yield Check("database", FAILED, f"cannot be opened ({cause})", "check that it runs, and DATABASE_URL")
        yield Check("clock", WARNING, "cannot be compared without the database")
        return
    yield Check("database", OK, f"{name.render_as_string(hide_password=True)} answers")
    yield _clock(ahead, is_sqlite=database.is_sqlite)


def _clock(ahead: float, *, is_sqlite: bool) -> Check:
    if is_sqlite:
        return Check("clock", OK, "SQLite goes by this machine's clock; keep it right by NTP")
    detail = f"this machine's clock is {abs(ahead):.0f} seconds from the database's"
    if abs(ahead) > MOST_DIFFERENCE:
        return Check("clock", FAILED, detail, "set the wrong one, by NTP for example")
    return Check("clock", OK, detail)


def _has_database(config: Config) -> bool:
    """Return whether there is a database to open: opening makes a missing SQLite file."""
    url = make_url(config.url)
    if url.get_backend_name() != "sqlite":
        return True
    try:
        return Path(url.database or "").exists()
    except PermissionError:
        return True


def _key(config: Config) -> Check:
    """Check that the key is there, is this user's alone, and is the one that the database belongs to."""
    path = config.key_path
    try:
        state = path.stat()
        secret = config.existing_secret()
    except FileNotFoundError:
        return Check("key", WARNING, f"{path} is not there yet", "the first `hushpoll serve` makes it")
    except PermissionError:
        return Check("key", FAILED, f"{path} cannot be looked at", "run this as the server's user")
    except HushpollError as error:
        return Check("key", FAILED, error.problem, error.remedy)
    mode = stat.S_IMODE(state.st_mode)
    if mode & 0o077:
        return Check("key", FAILED, f"{path} is readable by others (mode {mode:04o})", f"chmod 600 {path}")
    if state.st_uid != os.geteuid():
        return Check("key", WARNING, f"{path} belongs to another user", "run this as the server's user")
    return _key_of_database(config, secret)


def _key_of_database(config: Config, secret: bytes) -> Check:
    if _has_database(config):
        database = Database(config.url)
        try:
            key.refuse_another(config, secret, database)
        except HushpollError as error:
            return Check("key", FAILED, error.problem, error.remedy)
        except (SQLAlchemyError, OSError):
            return Check("key", WARNING, f"{config.key_path} cannot be compared without the database")
        finally:
            database.close()
    return Check("key", OK, f"{config.key_path} is readable by its owner only")


def _disk(config: Config) -> Check:
    folder = config.data.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    detail = f"{free / (1 << 30):,.1f} GB free where {config.data} is"
    if free < FULL_DISK:
        return Check("disk", FAILED, detail, "make room: reports are refused when it is full")
    if free < LOW_DISK:
        return Check("disk", WARNING, detail, "make room")
    return Check("disk", OK, detail)


def _mail(config: Config) -> Check:
    """Check that the mail server lets us in; no letter is sent."""
    if not mail.is_configured(config):
        return Check("mail", OK, "off: SMTP_URL is empty")
    try:
        list(mail.send(config, []))
    except HushpollError as error:
        return Check("mail", FAILED, error.problem, error.remedy)
    return Check("mail", OK, "the mail server answers")


def _institution(config: Config) -> Check:
    """Check that the OpenID Connect provider describes itself; this is no sign-in."""
    if not openid.is_configured(config):
        return Check("institution", OK, "off: OIDC_ISSUER is empty")
    try:
        openid.Provider(config, "").metadata()
    except HushpollError as error:
        return Check("institution", FAILED, error.problem, "check OIDC_ISSUER")
    return Check("institution", OK, f"{config.oidc_issuer} answers")


def _proxies(config: Config) -> Check:
    """Check PROXY_HOPS against the addresses: where people come from, and who reaches this port."""
    is_local = config.host in LOOPBACK
    if config.public_url.startswith("https:") and not config.proxy_hops:
        return Check(
            "proxy hops",
            FAILED,
            "PUBLIC_URL is https and no proxy is believed",
            "set PROXY_HOPS=1 behind nginx",
        )
    if config.proxy_hops and not config.public_url:
        return Check("proxy hops", WARNING, "PROXY_HOPS is set without PUBLIC_URL", "set PUBLIC_URL")
    if config.proxy_hops and not is_local:
        return Check(
            "proxy hops",
            WARNING,
            f"who reaches {config.host}, port {config.port}, directly can claim any address",
            "let only the proxy reach it",
        )
    return Check("proxy hops", OK, f"{config.proxy_hops} believed")
