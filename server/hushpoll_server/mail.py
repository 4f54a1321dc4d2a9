"""Letters through the operator's own mail server, where one is configured; nothing of them is kept or logged."""

from __future__ import annotations

import re
import secrets
import smtplib
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from email.errors import MessageError
from email.message import EmailMessage
from email.utils import formatdate
from typing import NamedTuple
from unicodedata import category
from urllib.parse import unquote, urlsplit

from hushpoll_client import HushpollError
from hushpoll_client.messages import msg

from .config import LOOPBACK, Config

__all__ = ["Letter", "MailError", "check_address", "is_configured", "send"]

SECONDS = 20
_ADDRESS = re.compile(
    r"(?!.*=\?)[^\s\x00-\x1f\x7f@,;:<>()\[\]\\\"]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250}[A-Za-z0-9])?"
)


class MailError(HushpollError):
    """The mail server did not take a letter."""


# One letter's own fault, also one that cannot be written: newer Pythons refuse some headers by a MessageError.
_REFUSED = (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError, MailError, MessageError, ValueError)


class Letter(NamedTuple):
    """One letter to one person."""

    to: str
    subject: str
    text: str
    reply_to: str = ""


def is_configured(config: Config) -> bool:
    """Return whether this server can send letters."""
    return bool(config.smtp_url and config.mail_from)


def check_address(text: str) -> str:
    """Return an e-mail address without spaces around it; refuse what can be none."""
    address = text.strip()
    if len(address) > 254 or not address.isascii() or not _ADDRESS.fullmatch(address):
        raise MailError(
            msg("{address!r} is not an e-mail address", address=address[:60]),
            "write it like name@example.org",
        )
    return address


def send(config: Config, letters: Iterable[Letter]) -> Iterator[tuple[Letter, bool]]:
    """Send letters over one connection, and tell of each whether the mail server took it."""
    if not is_configured(config):
        raise MailError("this server sends no mail", "its operator can set SMTP_URL and MAIL_FROM")
    with _connected(config) as server:
        for letter in letters:
            try:
                server.send_message(_message(config, letter))
            except _REFUSED:
                yield letter, False
            except (smtplib.SMTPException, OSError) as error:
                raise MailError(
                    msg("the mail server does not answer ({fault})", fault=type(error).__name__),
                    "try again later",
                ) from None
            else:
                yield letter, True


def _message(config: Config, letter: Letter) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"] = config.mail_from, check_address(letter.to)
    message["Subject"] = _line(letter.subject)
    message["Date"] = formatdate(usegmt=True)
    # Random: Python's own ids hold the time and the number of the process.
    domain = config.mail_from.rpartition("@")[2].strip("> ")
    message["Message-ID"] = f"<{secrets.token_hex(16)}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"
    if letter.reply_to:
        message["Reply-To"] = check_address(letter.reply_to)
    message.set_content(letter.text)
    return message


def _line(text: str) -> str:
    """Write a text as one line without an encoded word: EmailMessage would decode it, line breaks and all."""
    plain = "".join(" " if category(sign) == "Cc" else sign for sign in text)
    return " ".join(plain.replace("=?", "= ?").split())


@contextmanager
def _connected(config: Config) -> Iterator[smtplib.SMTP]:
    parts = urlsplit(config.smtp_url)
    host, context = parts.hostname or "", ssl.create_default_context()
    try:
        if parts.scheme == "smtps":
            server: smtplib.SMTP = smtplib.SMTP_SSL(host, parts.port or 465, timeout=SECONDS, context=context)
        else:
            server = smtplib.SMTP(host, parts.port or 587, timeout=SECONDS)
        with server:
            server.ehlo()
            if parts.scheme == "smtp" and server.has_extn("starttls"):
                server.starttls(context=context)
                server.ehlo()
            elif parts.scheme == "smtp" and host not in LOOPBACK:
                raise MailError("the mail server offers no encryption", "use smtps://, or one that does")
            if parts.username:
                server.login(unquote(parts.username), unquote(parts.password or ""))
            yield server
    except (smtplib.SMTPException, OSError) as error:
        raise MailError(
            msg("the mail server cannot be reached ({fault})", fault=type(error).__name__), "check SMTP_URL"
        ) from None
