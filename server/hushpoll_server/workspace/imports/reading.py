"""The door: whose questionnaire a file is, by its ending."""

from __future__ import annotations

from pathlib import Path

from hushpoll_client import HushpollError

from .draft import Imported
from .limesurvey import read_limesurvey
from .xlsform import read_xlsform


def read_questionnaire(path: Path, epsilon: float = 1.0) -> Imported:
    """Read an XLSForm (.xlsx) or a LimeSurvey structure (.txt, .tsv)."""
    readers = {".xlsx": read_xlsform, ".tsv": read_limesurvey, ".txt": read_limesurvey}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise HushpollError(
            f"{path.name}: cannot tell whose questionnaire this is",
            "give an XLSForm (.xlsx) or a LimeSurvey .txt",
        )
    try:
        return reader(path, epsilon)
    except OSError as error:
        raise HushpollError(f"{path.name}: cannot be read ({error.strerror})", "check the path") from None
