"""Where settings come from: the environment, then one TOML file, then the defaults; and how their texts are read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from hushpoll_client import HushpollError
from hushpoll_client.delivery.link import LOOPBACK, split_address
from hushpoll_client.survey.presentation import read_url

SETTINGS_FILE = Path("/etc/hushpoll/hushpoll.toml")
"""The file that is read where HUSHPOLL_CONFIG names no other; it may be missing."""
DEFAULT = "default"
ENVIRONMENT = "environment"

_LONGEST_IMPRINT = 300
_LONGEST_NAME = 80
_PREFIX = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/?")
_PATHS = ("data", "secret_key_file")
_LISTS = ("trusted_hosts", "oidc_roles")
_ROLES = ("analyst", "designer", "admin")
OWN_PATHS = frozenset(
    [
        "account",
        "accounts",
        "api",
        "audit-log",
        "bootstrap",
        "design",
        "docs",
        "drafts",
        "files",
        "healthz",
        "language",
        "livez",
        "logos",
        "readyz",
        "reports",
        "results",
        "review",
        "s",
        "sign-in",
        "sign-out",
        "static",
        "surveys",
    ]
)
"""What the addresses of hushpoll itself begin with."""

Value = TypeVar("Value")


class UnusableError(Exception):
    """A text that a setting cannot have: what is wrong, what to do, and how much of the text may be repeated."""

    def __init__(self, problem: str, remedy: str = "", *, length_shown: int = 60) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.shown = length_shown


@dataclass(frozen=True)
class Settings:
    """The texts of all settings that are set, by their names in small letters, and where each comes from."""

    file: Path | None
    texts: Mapping[str, str]
    from_environment: frozenset[str] = field(default=frozenset())

    def source(self, name: str) -> str:
        """Return where a setting comes from: the environment, the file's name, or the default."""
        if name in self.from_environment:
            return ENVIRONMENT
        if name in self.texts:
            return str(self.file)
        return DEFAULT

    def read(self, name: str, parse: Callable[[str], Value]) -> Value:
        """Return a setting's value; raise HushpollError, which names its place, where its text is unusable."""
        text = self.texts.get(name, "")
        try:
            return parse(text)
        except UnusableError as error:
            raise HushpollError(
                f"{self._place(name, text[: error.shown])}: {error.problem}", error.remedy
            ) from None

    def _place(self, name: str, text: str) -> str:
        value = ""
        if text:
            value = f"={text}"
        if name in self.from_environment or name not in self.texts:
            return f"{name.upper()}{value}"
        return f"{self.file}: {name}{value}"


def read_settings(environment: Mapping[str, str], names: Collection[str]) -> Settings:
    """Return the settings of the file with those of the environment above them.

    A variable that is set but empty stands for the default, whatever the file says.
    """
    file, texts = _file_of(environment), {}
    if file is not None:
        texts = _read_file(file, names)
    variables = {name: environment[name.upper()] for name in names if name.upper() in environment}
    return Settings(file, {**texts, **variables}, frozenset(variables))


def _file_of(environment: Mapping[str, str]) -> Path | None:
    if named := environment.get("HUSHPOLL_CONFIG"):
        return Path(named)
    try:
        return SETTINGS_FILE if SETTINGS_FILE.exists() else None
    except PermissionError:
        # In a folder of others: reading it says so.
        return SETTINGS_FILE


def _read_file(file: Path, names: Collection[str]) -> dict[str, str]:
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise HushpollError(
            f"{file}: cannot be read ({error.strerror})",
            "run this as the server's user, or name another file in HUSHPOLL_CONFIG",
        ) from None
    except UnicodeDecodeError:
        raise HushpollError(f"{file}: is not text in UTF-8", "save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise HushpollError(
            f"{file}: is not TOML: {error}",
            'write one setting a line, like public_url = "https://polls.example.org"',
        ) from None
    return {key: _text_of(file, key, value, names) for key, value in document.items()}


def _text_of(file: Path, key: str, value: object, names: Collection[str]) -> str:
    """Return a value of the file as an environment variable would hold it."""
    if isinstance(value, dict):
        raise HushpollError(f"{file}: [{key[:40]}]: there are no sections", "write the settings without them")
    if key not in names:
        near = get_close_matches(key.lower(), names, n=1)
        remedy = "see `hushpoll config` for the names"
        if near:
            remedy = f"did you mean {near[0]}?"
        raise HushpollError(f"{file}: {key[:40]}: there is no such setting", remedy)
    if key in _LISTS and isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return " ".join(value)
    if type(value) is int:
        return str(value)
    if not isinstance(value, str):
        raise HushpollError(f"{file}: {key}: cannot be used", 'write a text in "..." or a whole number')
    if key in _PATHS and value and not value.startswith("/"):
        raise HushpollError(f"{file}: {key}={value[:60]}: must begin with /", "write the whole path")
    return value


# Readers of texts --------------------------------------------------------------------------------------------------


def whole_number(default: int, least: int, most: int) -> Callable[[str], int]:
    """Return a reader of whole numbers in a range; an empty text is the default."""

    def read(text: str) -> int:
        if not text:
            return default
        if not text.isascii() or not text.isdigit() or len(text) > 20 or not least <= int(text) <= most:
            raise UnusableError(f"must be a whole number from {least} to {most}", length_shown=40)
        return int(text)

    return read


def database_url(text: str) -> str:
    """Return the address of a database; nothing of it is repeated, since it may hold a password."""
    if text and not text.startswith(("sqlite:///", "postgresql://", "postgres://", "postgresql+psycopg://")):
        scheme = text.split(":", 1)[0][:40]
        raise UnusableError(
            f"{scheme!r} is not known", "use postgresql://... or leave it empty for SQLite", length_shown=0
        )
    if not text:
        return text
    # Only where it is set: most commands need no database.
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        make_url(text)
    except (ArgumentError, ValueError):
        raise UnusableError(
            "cannot be read",
            "write it like postgresql://user:password@db.example.org:5432/name",
            length_shown=0,
        ) from None
    return text


def public_url(text: str) -> str:
    """Return the address that people use: http or https, a host, and perhaps a path that is not one of ours."""
    parts = split_address(text)
    is_good = parts is not None and not parts.query and not parts.fragment and _PREFIX.fullmatch(parts.path)
    if text and not is_good:
        raise UnusableError("must be like https://survey.example.org or https://example.org/polls")
    first = urlsplit(text).path.split("/")[1:2]
    if set(first) & OWN_PATHS:
        # Whether a proxy has passed the path on or taken it away could not be told apart.
        raise UnusableError(f"/{first[0]} is the address of a page of hushpoll", "choose another path")
    return text


def smtp_url(public: str) -> Callable[[str], str]:
    """Return a reader of a mail server's address; nothing of it is repeated, since it may hold a password."""

    def read(text: str) -> str:
        try:
            parts = urlsplit(text)
            good = parts.scheme in ("smtp", "smtps") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if text and not good:
            raise UnusableError(
                "cannot be used", "write it like smtp://user:password@mail.example.org:587", length_shown=0
            )
        if text and not public:
            raise UnusableError(
                "letters need PUBLIC_URL, the address that their links lead to",
                "set it like https://survey.example.org",
                length_shown=0,
            )
        return text

    return read


def mail_from(smtp: str) -> Callable[[str], str]:
    """Return a reader of the address that letters are from; it may be empty where there is no mail server."""

    def read(text: str) -> str:
        address = text
        if "<" in text:
            address = text.rpartition("<")[2].rstrip(">")
        if not text and not smtp:
            return ""
        if address.count("@") != 1 or not text.isprintable() or not all(address.split("@")):
            raise UnusableError("must be an address", "write it like Surveys <surveys@example.org>")
        return text

    return read


def oidc_issuer(public: str) -> Callable[[str], str]:
    """Return a reader of the address of an OpenID Connect provider."""

    def read(text: str) -> str:
        parts = split_address(text)
        is_good = parts is not None and not parts.query and not parts.fragment
        is_private = parts is not None and (parts.scheme == "https" or parts.hostname in LOOPBACK)
        if text and not (is_good and is_private):
            raise UnusableError("must be an https address", "write it like https://login.example.edu")
        if text and not public:
            raise UnusableError(
                "signing in there needs PUBLIC_URL, the address that the provider sends people back to",
                "set it like https://survey.example.org",
            )
        return text

    return read


def needed_with(other: str, value: str) -> Callable[[str], str]:
    """Return a reader of a text that must not be empty where another setting has a value."""

    def read(text: str) -> str:
        if value and not text:
            raise UnusableError(f"is empty, and {other} needs it", "set it, or leave both empty")
        return text

    return read


def oidc_name(text: str) -> str:
    """Return the name of the institution, which stands on a button."""
    text = text.strip()
    if len(text) > _LONGEST_NAME or not text.isprintable():
        raise UnusableError("cannot be shown", f"write at most {_LONGEST_NAME} characters", length_shown=40)
    return text


def oidc_roles(claim: str) -> Callable[[str], tuple[tuple[str, str], ...]]:
    """Return a reader of pairs of a claim's value and a role, with spaces between the pairs."""

    def read(text: str) -> tuple[tuple[str, str], ...]:
        pairs = []
        for entry in text.split():
            value, _, role = entry.rpartition("=")
            if not value or role not in _ROLES:
                raise UnusableError(
                    f"{entry[:40]!r} gives no role",
                    f"write it like staff=designer; roles are {', '.join(_ROLES)}",
                )
            pairs.append((value, role))
        if bool(pairs) != bool(claim):
            raise UnusableError(
                "OIDC_ROLE_CLAIM and OIDC_ROLES belong together", "set both, or leave roles to the admins"
            )
        return tuple(pairs)

    return read


def imprint(text: str) -> str:
    """Return the line that says who runs the server."""
    text = text.strip()
    if len(text) > _LONGEST_IMPRINT or not text.isprintable():
        raise UnusableError(
            "cannot be shown",
            f"write one line of at most {_LONGEST_IMPRINT} characters; IMPRINT_URL leads to more",
            length_shown=40,
        )
    return text


def imprint_url(text: str) -> str:
    """Return the address of the page that says more."""
    try:
        if text:
            return read_url(text, ("IMPRINT_URL",))
        return ""
    except HushpollError:
        raise UnusableError(
            "cannot be opened from a page",
            "write it like https://survey.example.org/imprint or mailto:surveys@example.org",
        ) from None


def log_level(text: str) -> str:
    """Return how much is logged."""
    level = text.lower() or "info"
    if level not in ("debug", "info", "warning", "error", "critical"):
        raise UnusableError("must be debug, info, warning, error or critical", length_shown=40)
    return level
