"""What the browser's modules may be: few, small, readable, with one way to the network and one to chance."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import hushpoll_client
import pytest
from hushpoll_server.respond import manifest

FOLDER = Path(hushpoll_client.__file__).parent / "js"
MODULES = {file.stem: file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.js"))}
BANNED = (
    r"Math\.random|\beval\b|Function\(|XMLHttpRequest|sendBeacon|WebSocket|innerHTML|console"
    r"|Date\b|document\.(get|query|create|body|cookie)"
)
# What one module alone may use: the way out of the device and its memory, and the source of chance.
RESERVED = {r"\bfetch\(|localStorage|sessionStorage": "report", r"getRandomValues\(|Math\.random": "channel"}


BASE = {"channel", "mechanism", "kind", "survey", "report", "sha256"}
EXTRAS = {"extra_channels", "extra_kinds"}
BY_KEY = {"block", "anchor", "group", "series", "presentation"}
"""Only for surveys whose documents have certain keys."""


@pytest.fixture(params=MODULES)
def module(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_there_is_one_module_for_each_family() -> None:
    assert set(MODULES) == BASE | EXTRAS | BY_KEY, "each module is one request of the page"
    assert {f"client/{name}.js" for name in BASE} == {
        path for path in manifest.base_modules() if path.startswith("client/")
    }


def test_the_manifest_lists_every_bundle_after_its_imports() -> None:
    optional_keys = MODULES["survey"].partition("const OPTIONAL_KEYS = {")[2].partition("};")[0]
    assert (
        set(re.findall(r"^  (\w+): ", optional_keys, re.M))
        == BY_KEY
        == set(manifest.BUNDLES) - {manifest.EXTRAS}
    )
    for name, paths in manifest.BUNDLES.items():
        loaded = set(BASE)
        for path in (path for path in paths if path.startswith("client/")):
            module = path.removeprefix("client/").removesuffix(".js")
            imported = set(re.findall(r'from "\./(\w+)\.js"', MODULES[module]))
            assert imported <= loaded, f"{name}: {path} is listed before what it imports"
            loaded.add(module)
        assert name in (loaded | {manifest.EXTRAS})


def test_bundles_stay_below_their_sizes() -> None:
    sizes = {name: len(gzip.compress(source.encode())) for name, source in MODULES.items()}
    assert sum(sizes[name] for name in BASE) < 20_000
    assert sum(sizes[name] for name in EXTRAS) < 8_500
    assert sizes["presentation"] < 3_000
    assert sizes["block"] < 4_200
    assert sum(sizes[name] for name in ("anchor", "group", "series")) < 2_500


def test_a_module_reaches_nothing_but_its_siblings(module: str) -> None:
    imports = re.findall(r'from "([^"]+)"|import\(', MODULES[module])
    assert all(re.fullmatch(r"\./[a-z0-9_]+\.js", name) for name in imports)
    assert re.search(BANNED, MODULES[module]) is None


def test_imports_go_one_way() -> None:
    """Every module can be read after the ones it imports: there is no circle."""
    needs = {name: set(re.findall(r'from "\./(\w+)\.js"', source)) for name, source in MODULES.items()}
    while free := {name for name, imported in needs.items() if not imported}:
        needs = {name: imported - free for name, imported in needs.items() if name not in free}
    assert needs == {}


def test_a_module_is_short_and_begins_with_its_purpose(module: str) -> None:
    assert MODULES[module].startswith("// ")
    lines = MODULES[module].splitlines()
    assert len(lines) < 400
    assert max(map(len, lines)) <= 130


@pytest.mark.parametrize(("pattern", "owner"), RESERVED.items(), ids=RESERVED.values())
def test_network_memory_and_chance_come_from_one_place_each(pattern: str, owner: str) -> None:
    assert [name for name, source in MODULES.items() if re.search(pattern, source)] == [owner]
