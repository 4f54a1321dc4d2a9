"""What the owner of a server can set, all of it in the environment, and the folder where the server keeps things."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hushpoll_client import HushpollError
from hushpoll_client.about import read_url
from hushpoll_client.link import LOOPBACK as LOOPBACK
from hushpoll_client.link import split_address
from hushpoll_client.report import FEWEST_REPORTS

if TYPE_CHECKING:
    from sqlalchemy import URL

_LONGEST_IMPRINT = 300
SQLITE_FILE = "hushpoll.sqlite3"


@dataclass(frozen=True)
class Config:
    """Settings of one server; each field is the environment variable of the same name in capitals."""

    data: Path = Path("data")
    database_url: str = ""
    host: str = "127.0.0.1"
    port: int = 8000
    # The address people use, where it is not http://host:port (behind a proxy): https://survey.example.org
    public_url: str = ""
    # Host names that requests may ask for. Empty: the machine's own (see security.host_is_ours).
    trusted_hosts: tuple[str, ...] = ()
    # Number of reverse proxies whose X-Forwarded-* headers are believed.
    proxy_hops: int = 0
    secret_key_file: str = ""
    workers: int = 1
    threads: int = 32
    # Seconds that a request may take to arrive, from its first byte to its last; a silent connection lasts as long.
    request_seconds: int = 20
    # Fewest reports that are sealed together while a survey is open.
    seal_at_least: int = FEWEST_REPORTS
    # Seconds between two sealings of a busy server.
    seal_every: float = 10.0
    # Reports a minute from one address; 0 means no limit, because classrooms share one address.
    reports_per_minute: int = 0
    # A survey whose total epsilon is finite and above this is not published.
    epsilon_cap: str = "20"
    # The mail server for letters, smtp://user:password@host:587 or smtps://..., and whom they are from. Empty: no mail.
    smtp_url: str = field(default="", repr=False)
    mail_from: str = ""
    # Who runs this server, on every page: a line of text, and where more is told. Empty: nothing.
    imprint: str = ""
    imprint_url: str = ""
    log_level: str = "info"
    testing: bool = field(default=False, metadata={"environment": False})

    @property
    def url(self) -> str | URL:
        """Where the database is, as SQLAlchemy spells it."""
        if not self.database_url:
            from sqlalchemy import URL

            # Not as text: a folder's name may hold ? or %, which mean something else there.
            return URL.create("sqlite", database=str(self.data.resolve() / SQLITE_FILE))
        for plain in ("postgresql://", "postgres://"):
            if self.database_url.startswith(plain):
                return "postgresql+psycopg://" + self.database_url.removeprefix(plain)
        return self.database_url

    @property
    def address(self) -> str:
        """The address that people open, without a slash at the end."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = "127.0.0.1" if self.host in ("0.0.0.0", "", "::") else self.host  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Config:
        """Read the settings; a value that cannot be used is refused with its name."""
        env = os.environ if environment is None else environment
        return cls(
            data=Path(env.get("DATA") or "data"),
            database_url=_database_url(env.get("DATABASE_URL", "")),
            host=env.get("HOST") or "127.0.0.1",
            port=_whole(env, "PORT", 8000, 0, 65535),
            public_url=_public_url(env.get("PUBLIC_URL", "")),
            trusted_hosts=tuple(env.get("TRUSTED_HOSTS", "").replace(",", " ").split()),
            proxy_hops=_whole(env, "PROXY_HOPS", 0, 0, 10),
            secret_key_file=env.get("SECRET_KEY_FILE", ""),
            workers=_whole(env, "WORKERS", cls.workers, 1, 64),
            threads=_whole(env, "THREADS", cls.threads, 1, 512),
            request_seconds=_whole(env, "REQUEST_SECONDS", cls.request_seconds, 1, 3600),
            seal_at_least=_whole(env, "SEAL_AT_LEAST", cls.seal_at_least, 1, 1_000_000),
            seal_every=_whole(env, "SEAL_EVERY", int(cls.seal_every), 0, 86_400),
            reports_per_minute=_whole(env, "REPORTS_PER_MINUTE", 0, 0, 1_000_000),
            epsilon_cap=str(_whole(env, "EPSILON_CAP", int(cls.epsilon_cap), 1, 80)),
            smtp_url=_smtp_url(env.get("SMTP_URL", ""), env.get("PUBLIC_URL", "")),
            mail_from=_mail_from(env.get("MAIL_FROM", ""), env.get("SMTP_URL", "")),
            imprint=_imprint(env.get("IMPRINT", "")),
            imprint_url=_imprint_url(env.get("IMPRINT_URL", "")),
            log_level=_log_level(env.get("LOG_LEVEL") or cls.log_level),
        )

    def make_folder(self) -> None:
        """Make the data folder, for its owner's eyes only."""
        try:
            self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise HushpollError(
                f"DATA={self.data}: the folder cannot be made ({error.strerror})", "choose another"
            ) from None

    @property
    def key_path(self) -> Path:
        """Where the secret key is."""
        return Path(self.secret_key_file) if self.secret_key_file else self.data / "secret.key"

    def secret(self) -> bytes:
        """Read the server's secret key, made at the first start."""
        self.make_folder()
        if not self.key_path.exists():
            _make_secret(self.key_path)
        return _read_secret(self.key_path)

    def open_to_others(self) -> list[str]:
        """Say what other users of this machine can get at, and what to do about it."""
        return [
            f"{path}: other users of this machine can look into it (mode {mode:04o}); chmod {wanted} {path}"
            for path, wanted in ((self.data, "700"), (self.key_path, "600"))
            if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077
        ]

    def seals_too_few(self) -> list[str]:
        """Say what it means that fewer reports are sealed together than the threat model counts on."""
        if self.seal_at_least >= FEWEST_REPORTS:
            return []
        warning = (
            f"SEAL_AT_LEAST={self.seal_at_least}: of surveys that are published now fewer than {FEWEST_REPORTS} reports"
            " are sealed together, and results that are read twice show how so few people answered;"
            " for trying things out only"
        )
        return [warning]


def _make_secret(path: Path) -> None:
    """Make a key that is never seen half written; the first of several processes wins."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    except OSError as error:
        raise HushpollError(f"{path}: cannot be made ({error.strerror})", "check the folder") from None


def _read_secret(path: Path) -> bytes:
    try:
        text = path.read_text("ascii").strip()
        key = bytes.fromhex(text)
    except (OSError, ValueError):
        raise HushpollError(f"{path}: not readable as a key", "put 64 hexadecimal digits in it") from None
    if len(key) < 32:
        raise HushpollError(f"{path}: the key is too short", "put 64 hexadecimal digits in it")
    return key


def _whole(env: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = env.get(name, "")
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise HushpollError(f"{name}={text[:40]}: must be a whole number from {least} to {most}")
    return int(text)


def _database_url(text: str) -> str:
    if text and not text.startswith(("sqlite:///", "postgresql://", "postgres://", "postgresql+psycopg://")):
        scheme = text.split(":", 1)[0][:40]
        raise HushpollError(
            f"DATABASE_URL: {scheme!r} is not known", "use postgresql://... or leave it empty for SQLite"
        )
    if not text:
        return text
    # Only where it is set: most commands need no database.
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        make_url(text)
    except (ArgumentError, ValueError):
        # It may hold a password: it is not repeated.
        raise HushpollError(
            "DATABASE_URL: cannot be read",
            "write it like postgresql://user:password@db.example.org:5432/name",
        ) from None
    return text


def _public_url(text: str) -> str:
    parts = split_address(text)
    if text and (parts is None or parts.query or parts.fragment):
        raise HushpollError(f"PUBLIC_URL={text[:60]}: must be like https://survey.example.org")
    return text


def _smtp_url(text: str, public_url: str) -> str:
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("smtp", "smtps") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if text and not good:
        # The address may hold a password: it is not repeated.
        raise HushpollError(
            "SMTP_URL: cannot be used", "write it like smtp://user:password@mail.example.org:587"
        )
    if text and not public_url:
        raise HushpollError(
            "SMTP_URL: letters need PUBLIC_URL, the address that their links lead to",
            "set it like https://survey.example.org",
        )
    return text


def _mail_from(text: str, smtp_url: str) -> str:
    address = text.rpartition("<")[2].rstrip(">") if "<" in text else text
    if not text and not smtp_url:
        return ""
    if address.count("@") != 1 or not text.isprintable() or not all(address.split("@")):
        raise HushpollError(
            f"MAIL_FROM={text[:60]}: must be an address", "write it like Surveys <surveys@example.org>"
        )
    return text


def _imprint(text: str) -> str:
    text = text.strip()
    if len(text) > _LONGEST_IMPRINT or not text.isprintable():
        raise HushpollError(
            f"IMPRINT={text[:40]!r}: cannot be shown",
            f"write one line of at most {_LONGEST_IMPRINT} characters; IMPRINT_URL leads to more",
        )
    return text


def _imprint_url(text: str) -> str:
    try:
        return read_url(text, ("IMPRINT_URL",)) if text else ""
    except HushpollError:
        raise HushpollError(
            f"IMPRINT_URL={text[:60]}: cannot be opened from a page",
            "write it like https://survey.example.org/imprint or mailto:surveys@example.org",
        ) from None


def _log_level(text: str) -> str:
    if text.lower() not in ("debug", "info", "warning", "error", "critical"):
        raise HushpollError(f"LOG_LEVEL={text[:40]}: must be debug, info, warning, error or critical")
    return text.lower()
