"""How many reports were released together: a person hides among them, and an export states their number."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from hushpoll_client import Survey

from hushpoll_analysis.sample.arrow import arrow, files_at

AT_ONCE = math.inf
"""All reports were released together: nobody could read results before the last one had come."""
PACKAGE = "datapackage.json"
"""What describes a .csv of an export, and stands beside it."""
RELEASED_KEY = b"hushpoll_released"
_ALL = "all"


def written_release(batch: float | None) -> str | int | None:
    """Return the number as an export spells it, or `all`; None where it is not known."""
    if batch is None:
        return None
    if batch == AT_ONCE:
        return _ALL
    return int(batch)


def metadata_of(batch: float | None) -> dict[bytes, bytes]:
    """Return what stands of it in the metadata of a Parquet file."""
    written = written_release(batch)
    if written is None:
        return {}
    return {RELEASED_KEY: str(written).encode()}


def released_together(survey: Survey, data: Any) -> float | None:
    """Read the fewest reports that were released together; None where the data do not say."""
    if not isinstance(data, str | Path):
        return None
    sizes = [
        _of_package(survey, size) if ".csv" in size.suffixes else _of_parquet(size) for size in files_at(data)
    ]
    known_sizes = [size for size in sizes if size is not None]
    if known_sizes and len(known_sizes) == len(sizes):
        return min(known_sizes)
    return None


def _of_parquet(path: Path) -> float | None:
    pyarrow = arrow(path.name)
    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
    except (OSError, pyarrow.ArrowException):
        return None  # whoever reads its reports says what is wrong
    return _read(metadata.get(RELEASED_KEY, b"").decode("ascii", "replace"))


def _of_package(survey: Survey, path: Path) -> float | None:
    """Read the data package next to a .csv, if it is about that file and this survey."""
    try:
        description: Any = json.loads((path.parent / PACKAGE).read_text("utf-8"))
        details = description["hushpoll"]
        listed = [resource["path"] for resource in description["resources"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not isinstance(details, dict) or details.get("survey") != survey.hash or path.name not in listed:
        return None
    return _read(str(details.get("released_together", "")))


def _read(text: str) -> float | None:
    if text == _ALL:
        return AT_ONCE
    if text.isdecimal() and int(text) > 0:
        return int(text)
    return None
