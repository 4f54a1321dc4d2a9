"""The packages of the analysis build on one another in one order."""

from __future__ import annotations

import re
from pathlib import Path

import hushpoll_analysis
import pytest

ORDER = (
    "channel",
    "counts",
    "tidy",
    "interval",
    "estimates",
    "sample",
    "simulation",
    "estimand",
    "tables",
    "validity",
    "regression",
)
SHARED = {"arguments", "errors", "plotting", "result", "summary"}
HOME = Path(hushpoll_analysis.__file__).parent


def files(room: str) -> list[Path]:
    """Return the modules of a room: a folder, or one file."""
    folder = HOME / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [HOME / f"{room}.py"]


@pytest.mark.parametrize("room", ORDER)
def test_a_room_imports_only_what_it_builds_on(room: str) -> None:
    allowed = ORDER[: ORDER.index(room) + 1]
    for file in files(room):
        used = set(re.findall(r"hushpoll_analysis\.(\w+)", file.read_text(encoding="utf-8")))
        assert used <= {*allowed, *SHARED}, f"{file.relative_to(HOME)} imports {used - set(allowed)}"


@pytest.mark.parametrize(
    "room", ["tidy", "interval", "estimates", "estimand", "tables", "validity", "regression"]
)
def test_the_analysis_raises_its_own_errors(room: str) -> None:
    for file in files(room):
        raised = set(re.findall(r"raise (\w+)\(", file.read_text(encoding="utf-8")))
        assert raised <= {"AnalysisError", "NotIdentifiedError", "KeyError"}, file.name
