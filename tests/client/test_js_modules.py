"""What the browser's modules may be: few, small, readable, with one way to the network and one to chance."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import hushpoll_client
import pytest

FOLDER = Path(hushpoll_client.__file__).parent / "js"
MODULES = {file.stem: file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.js"))}
BANNED = (
    r"Math\.random|\beval\b|Function\(|XMLHttpRequest|sendBeacon|WebSocket|innerHTML|console"
    r"|Date\b|document\.(get|query|create|body|cookie)"
)
# What one module alone may use: the way out of the device and its memory, and the source of chance.
RESERVED = {r"\bfetch\(|localStorage|sessionStorage": "report", r"getRandomValues\(|Math\.random": "channel"}


ON_DEMAND = "more"
ABOUT = "about"  # only for surveys that say who asks, thank, help, or speak several languages
BLOCKS = "block"  # only for surveys that have some, or groups, an anchor or a series


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_there_is_one_module_for_each_family_and_none_is_left_over() -> None:
    families = {"channel", "mechanism", "kind", "survey", "report", "sha256", "errors"}
    assert set(MODULES) == families | {ON_DEMAND, ABOUT, BLOCKS}, "each module is one request of the page"


def test_together_they_leave_room_in_what_the_page_may_weigh() -> None:
    sizes = {name: len(gzip.compress(source.encode())) for name, source in MODULES.items()}
    assert sum(sizes.values()) - sizes[ON_DEMAND] - sizes[BLOCKS] - sizes[ABOUT] < 20_000
    assert sizes[ABOUT] < 3_000
    assert sizes[ON_DEMAND] < 8_000
    assert sizes[BLOCKS] < 4_200


def test_a_module_reaches_nothing_but_its_siblings(module: str) -> None:
    imports = re.findall(r'from "([^"]+)"|import\(', MODULES[module])
    assert all(re.fullmatch(r"\./[a-z0-9]+\.js", name) for name in imports)
    assert re.search(BANNED, MODULES[module]) is None


def test_imports_go_one_way() -> None:
    """Every module can be read after the ones it imports: there is no circle."""
    needs = {name: set(re.findall(r'from "\./(\w+)\.js"', source)) for name, source in MODULES.items()}
    while free := {name for name, needed in needs.items() if not needed}:
        needs = {name: needed - free for name, needed in needs.items() if name not in free}
    assert needs == {}


def test_a_module_is_short_and_says_what_it_is_for(module: str) -> None:
    assert MODULES[module].startswith("// ")
    lines = MODULES[module].splitlines()
    # What is loaded on demand is one module, because the page counts requests.
    assert len(lines) < (570 if module == ON_DEMAND else 400)
    assert max(map(len, lines)) <= 130


@pytest.mark.parametrize(("pattern", "owner"), RESERVED.items(), ids=RESERVED.values())
def test_network_memory_and_chance_come_from_one_place_each(pattern: str, owner: str) -> None:
    assert [name for name, source in MODULES.items() if re.search(pattern, source)] == [owner]
