"""What the browser's modules may be: few, small, readable, and without a way to the network or to weak chance."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import hushpoll_client
import pytest

FOLDER = Path(hushpoll_client.__file__).parent / "js"
MODULES = ["channel", "errors", "mechanisms", "randomize", "report", "sha256", "survey"]
BANNED = r"Math\.random|\beval\b|Function\(|fetch|XMLHttpRequest|sendBeacon|WebSocket|Storage|innerHTML|Date\b|console"


@pytest.fixture(params=MODULES)
def source(request: pytest.FixtureRequest) -> str:
    return (FOLDER / f"{request.param}.js").read_text(encoding="utf-8")


def test_the_modules_that_every_page_may_count_on_are_there() -> None:
    assert set(MODULES) <= {file.stem for file in FOLDER.glob("*.js")}


def test_together_they_leave_room_in_the_page_s_40_kilobytes() -> None:
    sizes = [len(gzip.compress((FOLDER / f"{name}.js").read_bytes())) for name in MODULES]
    assert sum(sizes) < 20_000


def test_a_module_reaches_nothing_but_its_siblings(source: str) -> None:
    imports = re.findall(r'from "([^"]+)"|import\(', source)
    assert all(re.fullmatch(r"\./[a-z0-9]+\.js", name) for name in imports)
    assert re.search(BANNED, source) is None


def test_a_module_is_short_and_says_what_it_is_for(source: str) -> None:
    assert source.startswith("// ")
    lines = source.splitlines()
    assert len(lines) < 400
    assert max(map(len, lines)) <= 130


def test_chance_comes_from_one_place_only() -> None:
    using = [
        name for name in MODULES if "getRandomValues" in (FOLDER / f"{name}.js").read_text(encoding="utf-8")
    ]
    assert using == ["randomize"]
