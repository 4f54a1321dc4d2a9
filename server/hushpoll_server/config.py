"""The settings of a server, and the folder where it keeps its database and its key."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hushpoll_client import HushpollError
from hushpoll_client.delivery.link import LOOPBACK as LOOPBACK
from hushpoll_client.delivery.report import FEWEST_REPORTS

from . import settings
from .settings import Settings, read_settings, whole_number

if TYPE_CHECKING:
    from sqlalchemy import URL

SQLITE_FILE = "hushpoll.sqlite3"


@dataclass(frozen=True)
class Config:
    """Settings of one server: each field is a key of the settings file, and in capitals an environment variable."""

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
    # Signing in at an institution by OpenID Connect: the provider, what it calls this server, and the button's name.
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: str = field(default="", repr=False)
    oidc_name: str = ""
    # The claim that gives roles, and which of its values gives which, such as staff=designer. Empty: an admin does.
    oidc_role_claim: str = ""
    oidc_roles: tuple[tuple[str, str], ...] = ()
    # The port of this machine alone where Prometheus finds the metrics; 0 means none.
    metrics_port: int = 0
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

    def address_of(self, path: str) -> str:
        """Return the whole address of a path that `url_for` gave: the prefix is in it already."""
        return self.address.removesuffix(self.prefix) + path

    @property
    def prefix(self) -> str:
        """The path of PUBLIC_URL, such as /polls; empty where the server has a host name for itself."""
        return urlsplit(self.public_url).path.rstrip("/")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Config:
        """Return the settings of environment and file; raise HushpollError for the first unusable one."""
        return cls.of(read_settings(os.environ if environment is None else environment, NAMES))

    @classmethod
    def of(cls, texts: Settings) -> Config:
        """Return the configuration that these settings make."""
        setting = texts.read
        public_url = setting("public_url", settings.public_url)
        smtp_url = setting("smtp_url", settings.smtp_url(public_url))
        oidc_issuer = setting("oidc_issuer", settings.oidc_issuer(public_url))
        oidc_role_claim = setting("oidc_role_claim", str)
        return cls(
            data=setting("data", lambda text: Path(text or "data")),
            database_url=setting("database_url", settings.database_url),
            host=setting("host", str) or cls.host,
            port=setting("port", whole_number(cls.port, 0, 65535)),
            public_url=public_url,
            trusted_hosts=tuple(setting("trusted_hosts", str).replace(",", " ").split()),
            proxy_hops=setting("proxy_hops", whole_number(0, 0, 10)),
            secret_key_file=setting("secret_key_file", str),
            workers=setting("workers", whole_number(cls.workers, 1, 64)),
            threads=setting("threads", whole_number(cls.threads, 1, 512)),
            request_seconds=setting("request_seconds", whole_number(cls.request_seconds, 1, 3600)),
            seal_at_least=setting("seal_at_least", whole_number(cls.seal_at_least, 1, 1_000_000)),
            seal_every=setting("seal_every", whole_number(int(cls.seal_every), 0, 86_400)),
            reports_per_minute=setting("reports_per_minute", whole_number(0, 0, 1_000_000)),
            epsilon_cap=str(setting("epsilon_cap", whole_number(int(cls.epsilon_cap), 1, 80))),
            smtp_url=smtp_url,
            mail_from=setting("mail_from", settings.mail_from(smtp_url)),
            imprint=setting("imprint", settings.imprint),
            imprint_url=setting("imprint_url", settings.imprint_url),
            oidc_issuer=oidc_issuer,
            oidc_client_id=setting("oidc_client_id", settings.needed_with("OIDC_ISSUER", oidc_issuer)),
            oidc_client_secret=setting("oidc_client_secret", str),
            oidc_name=setting("oidc_name", settings.oidc_name),
            oidc_role_claim=oidc_role_claim,
            oidc_roles=setting("oidc_roles", settings.oidc_roles(oidc_role_claim)),
            metrics_port=setting("metrics_port", whole_number(0, 0, 65535)),
            log_level=setting("log_level", settings.log_level),
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
        if self.secret_key_file:
            return Path(self.secret_key_file)
        return self.data / "secret.key"

    def secret(self) -> bytes:
        """Read the server's secret key, made at the first start."""
        self.make_folder()
        if not self.key_path.exists():
            _make_secret(self.key_path)
        return self.existing_secret()

    def existing_secret(self) -> bytes:
        """Return the secret key; raise HushpollError where it is missing or unusable."""
        return _read_secret(self.key_path)

    def open_to_others(self) -> list[str]:
        """Return what other users of this machine can get at, and what to do about it."""
        return [
            f"{path}: other users of this machine can look into it (mode {mode:04o}); chmod {private_mode} {path}"
            for path, private_mode in ((self.data, "700"), (self.key_path, "600"))
            if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077
        ]

    def seals_too_few(self) -> list[str]:
        """Return what it means that fewer reports are sealed together than the threat model counts on."""
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


NAMES = tuple(setting.name for setting in fields(Config) if setting.metadata.get("environment", True))
"""The settings that the file and the environment may hold."""
