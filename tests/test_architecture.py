"""Rules that hold the rooms apart: imports go one way, the client needs nothing, randomness is the system's."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = {"client": "hushpoll_client", "analysis": "hushpoll_analysis", "server": "hushpoll_server"}
MAY_IMPORT = {
    "client": {"hushpoll_client"},
    "analysis": {"hushpoll_client", "hushpoll_analysis"},
    "server": {"hushpoll_client", "hushpoll_analysis", "hushpoll_server"},
}


def imports(file: Path) -> set[str]:
    """The top-level packages that a file imports, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found


def files(room: str) -> list[Path]:
    found = sorted((ROOT / room / ROOMS[room]).rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_imports_go_one_way(room: str) -> None:
    for file in files(room):
        ours = imports(file) & set(ROOMS.values())
        assert ours <= MAY_IMPORT[room], f"{file.relative_to(ROOT)} imports {ours - MAY_IMPORT[room]}"


def test_the_client_needs_the_standard_library_only() -> None:
    for file in files("client"):
        foreign = imports(file) - set(sys.stdlib_module_names) - {"hushpoll_client"}
        assert not foreign, f"{file.name} imports {foreign}"


@pytest.mark.parametrize("room", ROOMS)
def test_randomness_is_the_operating_systems(room: str) -> None:
    for file in files(room):
        assert "random" not in imports(file), file.name
    for script in (ROOT / room).rglob("*.js"):
        assert "Math.random" not in script.read_text(), script.name
