"""What the surveys of one server add up to on this machine: epsilon, day, salted digests; no place for an answer."""

from __future__ import annotations

import datetime
import hashlib
import math
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushpoll_client import strict_json
from hushpoll_client.errors import DocumentError, SubmitError
from hushpoll_client.formatting import epsilon_text, factor_text
from hushpoll_client.survey import Survey

from .memory import state_folder

__all__ = ["Ledger"]

_MOST = 1000  # entries; older ones go
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_DIGEST = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class _Entry:
    server: str
    survey: str
    epsilon: float
    day: str

    def document(self) -> list[Any]:
        cost = None
        if not math.isinf(self.epsilon):
            cost = repr(self.epsilon)
        return [self.server, self.survey, cost, self.day]


class Ledger:
    """A file for its owner's eyes only. It names neither server nor survey: both stand there as salted digests."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = state_folder() if folder is None else folder
        self.path = self.folder / "ledger.json"

    def note(self, server: str, survey: Survey) -> None:
        """Note that a report has arrived; not on a shared device, nor for a survey with a quick exit."""
        if not survey.in_ledger:
            return
        salt, entries = self._read()
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        server, name = _digest(salt, server), _digest(salt, survey.hash)
        if all((entry.server, entry.survey) != (server, name) for entry in entries):
            entries.append(_Entry(server, name, survey.epsilon_total, day))
            self._write(salt, entries)

    def added(self, server: str, survey: Survey) -> str:
        """Return what this survey and the earlier ones of its server add up to; nothing where there was none."""
        if not survey.in_ledger:
            return ""
        salt, entries = self._read()
        earlier = [
            entry
            for entry in entries
            if entry.server == _digest(salt, server) and entry.survey != _digest(salt, survey.hash)
        ]
        if not earlier:
            return ""
        total = survey.epsilon_total + sum(entry.epsilon for entry in earlier)
        odds = "no limit to how much the odds change"
        if math.isfinite(total):
            odds = f"odds change at most {factor_text(total)}-fold"
        return (
            f"Surveys of this server answered here before this one: {len(earlier)}. Total epsilon with this one: "
            f"{epsilon_text(total, 2)}; {odds}."
        )

    def forget(self) -> bool:
        """Empty it; False where there was none."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        return True

    def _read(self) -> tuple[str, list[_Entry]]:
        """Read it; what is damaged begins anew, because it must not keep anybody from answering."""
        try:
            value = strict_json.loads(self.path.read_bytes(), max_depth=4, floats=False)
            salt, listed = value["salt"], value["entries"]
            if re.fullmatch("[0-9a-f]{32}", salt):
                return salt, [_entry(item) for item in listed]
        except (OSError, DocumentError, KeyError, TypeError, ValueError):
            pass
        return secrets.token_hex(16), []

    def _write(self, salt: str, entries: list[_Entry]) -> None:
        value = {"salt": salt, "entries": [entry.document() for entry in entries[-_MOST:]]}
        temporary = self.folder / f"ledger.{secrets.token_hex(8)}.part"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(strict_json.dumps(value))
            os.replace(temporary, self.path)
        except OSError as error:
            raise SubmitError(
                f"{self.folder}: cannot be written ({error.strerror})",
                "the report was sent; only this machine's list of answered surveys was not",
            ) from None


def _entry(value: Any) -> _Entry:
    server, survey, epsilon, day = value
    if not (_DIGEST.fullmatch(server) and _DIGEST.fullmatch(survey) and _DAY.fullmatch(day)):
        raise ValueError
    cost = math.inf if epsilon is None else float(epsilon)
    if not cost >= 0:
        raise ValueError
    return _Entry(server, survey, cost, day)


def _digest(salt: str, text: str) -> str:
    return hashlib.sha256((salt + text).encode()).hexdigest()[:16]
