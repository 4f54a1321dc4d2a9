"""How many reports were released together: among so many a person hides, and an export says how many they were."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from hushpoll_client import Survey

from .arrow import arrow, files_at

__all__ = ["AT_ONCE", "PACKAGE", "RELEASED_KEY", "metadata_of", "released_together", "written_release"]

AT_ONCE = math.inf
"""All reports were released together: nobody could read results before the last one had come."""
PACKAGE = "datapackage.json"
"""What describes a .csv of an export, and stands beside it."""
RELEASED_KEY = b"hushpoll_released"
_ALL = "all"


def written_release(batch: float | None) -> str | int | None:
    """Return how an export says it: a number, or `all`; None where nobody knows."""
    if batch is None:
        return None
    return _ALL if batch == AT_ONCE else int(batch)


def metadata_of(batch: float | None) -> dict[bytes, bytes]:
    """Return what stands of it in the metadata of a Parquet file."""
    written = written_release(batch)
    return {} if written is None else {RELEASED_KEY: str(written).encode()}


def released_together(survey: Survey, data: Any) -> float | None:
    """Read the fewest reports that were released together; None where the data do not say."""
    if not isinstance(data, str | Path):
        return None
    found = [
        _of_package(survey, one) if ".csv" in one.suffixes else _of_parquet(one) for one in files_at(data)
    ]
    known = [one for one in found if one is not None]
    return min(known) if known and len(known) == len(found) else None


def _of_parquet(path: Path) -> float | None:
    pyarrow = arrow(path.name)
    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
    except (OSError, pyarrow.ArrowException):
        return None  # whoever reads its reports says what is wrong
    return _read(metadata.get(RELEASED_KEY, b"").decode("ascii", "replace"))


def _of_package(survey: Survey, path: Path) -> float | None:
    """Read the description beside a .csv, if it is about that file and this survey."""
    try:
        told: Any = json.loads((path.parent / PACKAGE).read_text("utf-8"))
        own = told["hushpoll"]
        listed = [one["path"] for one in told["resources"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not isinstance(own, dict) or own.get("survey") != survey.hash or path.name not in listed:
        return None
    return _read(str(own.get("released_together", "")))


def _read(text: str) -> float | None:
    if text == _ALL:
        return AT_ONCE
    return int(text) if text.isdecimal() and int(text) > 0 else None
