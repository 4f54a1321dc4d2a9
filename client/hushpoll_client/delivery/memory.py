"""What this machine remembers of a survey: a random id, the randomized reports, their state; never an answer."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushpoll_client import strict_json
from hushpoll_client.errors import DocumentError, ReportError, SubmitError
from hushpoll_client.survey import Survey
from hushpoll_client.survey.group import FIELD

from .report import Report, draw_ranks

__all__ = ["Kept", "Memory", "state_folder"]


@dataclass(frozen=True)
class Kept:
    """The id of a report that was drawn on this machine, and the report itself until it has arrived."""

    id: str
    report: Report | None


class Memory:
    """What this machine remembers of each survey, one file for its owner's eyes only.

    A survey is randomized once: a second program, also at the same moment, gets the first one's report.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = state_folder() if folder is None else folder

    def recall(self, survey: Survey) -> Kept | None:
        """Read what is kept; None where nothing is."""
        path = self._path(survey)
        try:
            value = strict_json.loads(path.read_bytes(), max_depth=4, floats=False)
        except FileNotFoundError:
            return None
        except (OSError, DocumentError) as error:
            raise SubmitError(
                f"{path}: cannot be read ({error})", "remove it only if nothing was sent"
            ) from None
        state = None
        if isinstance(value, dict):
            state = value.pop("state", None)
        if state == "sent" and _is_id(value.get("id")):
            # Older releases kept the report itself for good.
            if len(value) > 1:
                return self.sent(survey, value["id"])
            return Kept(value["id"], None)
        try:
            report, _ = Report.check(survey, value)
        except ReportError as error:
            raise SubmitError(f"{path}: is damaged ({error})", "remove it only if nothing was sent") from None
        if state != "waiting":
            raise SubmitError(f"{path}: is damaged (state)", "remove it only if nothing was sent")
        return Kept(report.id, report)

    def keep(self, survey: Survey, report: Report) -> Kept:
        """Keep a fresh report, on the disk before it is sent; return the one that was kept first."""
        group = {}
        if report.group is not None:
            group = {FIELD: report.group}
        value = {"id": report.id, "reports": list(report.reports), "state": "waiting", **group}
        temporary = self._put(survey, value)
        try:
            os.link(temporary, self._path(survey))  # fails where a report is kept already
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
        self._sync()
        record = self.recall(survey)
        assert record is not None
        return record

    def sent(self, survey: Survey, report_id: str) -> Kept:
        """Note that a report has arrived; nothing else of it, nor of which questions were asked, is needed any more."""
        os.replace(self._put(survey, {"id": report_id, "state": "sent"}), self._path(survey))
        (self.folder / f"{survey.hash}.drawn").unlink(missing_ok=True)
        self._sync()
        return Kept(report_id, None)

    def ranks(self, survey: Survey) -> tuple[int, ...]:
        """Return which questions of each block this machine asks: drawn once and kept."""
        if not survey.blocks:
            return ()
        path = self.folder / f"{survey.hash}.drawn"
        temporary = self._put(survey, {"ranks": list(draw_ranks(survey))})
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        finally:
            temporary.unlink()
        try:
            value = strict_json.loads(path.read_bytes(), max_depth=2, floats=False)
        except (OSError, DocumentError) as error:
            raise SubmitError(f"{path}: cannot be read ({error})", "remove it") from None
        ranks = None
        if isinstance(value, dict):
            ranks = value.get("ranks")
        if not isinstance(ranks, list) or len(ranks) != len(survey.blocks):
            raise SubmitError(f"{path}: is damaged", "remove it")
        if not all(block.holds(rank) for block, rank in zip(survey.blocks, ranks, strict=True)):
            raise SubmitError(f"{path}: is damaged", "remove it")
        return tuple(ranks)

    def forget(self, survey_hash: str) -> bool:
        """Clear this machine; False where nothing was kept."""
        (self.folder / f"{survey_hash}.drawn").unlink(missing_ok=True)
        try:
            (self.folder / f"{survey_hash}.json").unlink()
        except FileNotFoundError:
            return False
        return True

    def _path(self, survey: Survey) -> Path:
        return self.folder / f"{survey.hash}.json"

    def _put(self, survey: Survey, value: dict[str, Any]) -> Path:
        path = self.folder / f"{survey.hash}.{secrets.token_hex(8)}.part"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(strict_json.dumps(value))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise SubmitError(
                f"{self.folder}: cannot be written ({error.strerror})", "nothing was sent"
            ) from None
        return path

    def _sync(self) -> None:
        # The name of a new file is on the disk only after its folder is.
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{32}", value) is not None


def state_folder() -> Path:
    """Find where programs of this user keep their state (XDG base directories)."""
    base = os.environ.get("XDG_STATE_HOME", "")
    # The specification asks to ignore a relative path.
    root = Path(base) if os.path.isabs(base) else Path.home() / ".local" / "state"
    return root / "hushpoll"
