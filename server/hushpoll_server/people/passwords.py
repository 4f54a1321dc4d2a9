"""Passwords: what they must be like, and their hashes."""

from __future__ import annotations

import fcntl
import math
import os
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from hushpoll_client.messages import msg

from hushpoll_server.problems import unavailable

from .errors import AccountError

SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 256

# OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
_hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
# Checked when the name is unknown, so that the time of a refusal does not tell which names exist.
NOBODY = _hasher.hash(secrets.token_hex(16))
# A hash is dear on purpose. One at a time and few in line: whoever floods the sign-in must not slow down reports.
LONGEST_LINE = 8
# Refusals take a multiple of this, which is longer than a hash and what is written around it.
EVEN_SECONDS = 0.25
_line = threading.BoundedSemaphore(1 + LONGEST_LINE)
_next = threading.Lock()

hash_of = _hasher.hash
needs_rehash = _hasher.check_needs_rehash


def check_password(password: str) -> None:
    """Refuse a password that is too short to be safe or too long to be hashed cheaply."""
    if len(password) < SHORTEST_PASSWORD:
        raise AccountError(
            msg(
                "the password must have at least {least} characters",
                least=SHORTEST_PASSWORD,
            ),
            field="password",
        )
    if len(password) > LONGEST_PASSWORD:
        raise AccountError(
            msg(
                "the password must have at most {most} characters",
                most=LONGEST_PASSWORD,
            ),
            field="password",
        )


def new_password() -> str:
    """Return a random password of 96 bits."""
    return secrets.token_urlsafe(12)


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Wait for one's turn to have a password looked at; 503 where the line is too long.

    Each process has its line, and the processes of a machine take turns by a file in the data folder.
    """
    if not _line.acquire(blocking=False):
        raise unavailable("too many people are signing in right now; try again in a few seconds")
    try:
        with _next, _only_process(folder / "passwords.turn"):
            yield
    finally:
        _line.release()


@contextmanager
def _only_process(file: Path) -> Iterator[None]:
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def even_out(begun: float) -> None:
    """Wait until a whole number of steps has passed since `begun`: the time of a refusal tells nothing of its cause."""
    passed = time.monotonic() - begun
    time.sleep(math.ceil(passed / EVEN_SECONDS) * EVEN_SECONDS - passed)


def verify(password_hash: str, password: str) -> bool:
    """Return whether this is the password of that hash."""
    if len(password) > LONGEST_PASSWORD:
        return False
    try:
        return _hasher.verify(password_hash, password)
    except (Argon2Error, InvalidHashError):
        return False
