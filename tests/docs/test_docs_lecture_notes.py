"""The page that leads from the texts to the code names only what exists, and the exercise's figure is its own."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hushpoll_analysis import density

from tests.docs.blocks import ROOT, PageRunner, read_blocks

NOTES = ROOT / "docs/lecture-notes.md"
TEXT = NOTES.read_text("utf-8")
NAMES = sorted(set(re.findall(r"`(hushpoll_[a-z]+(?:\.\w+)+)`", TEXT)))


def resolve(dotted: str) -> object:
    """Import as much of a dotted name as is a module, and look up the rest."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(dotted)


def test_the_page_names_something() -> None:
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_every_name_exists(name: str) -> None:
    assert resolve(name) is not None


def test_a_wrong_name_would_be_noticed() -> None:
    with pytest.raises(AttributeError):
        resolve("hushpoll_analysis.clusterz")


def test_every_part_of_the_texts_has_a_row() -> None:
    """Definitions, propositions, remarks and exercises of the chapter are numbered through: none may be left out."""
    covered: set[int] = set()
    for first, last in re.findall(r"(?:Def\.|Prop\.|Ex\.|Rem\.) 7\.(\d+)(?: to 7\.(\d+))?", TEXT):
        covered |= set(range(int(first), int(last or first) + 1))
    assert covered >= set(range(1, 37)), sorted(set(range(1, 37)) - covered)
    for lemma in ("3.1", "3.2", "3.3", "3.4", "3.6", "3.7"):
        assert re.search(rf"(?:Lemma|Th\.) {re.escape(lemma)}", TEXT) or f"Th. {lemma}" in TEXT, lemma


def test_methods_of_the_density_exist() -> None:
    given = set(re.findall(r'method="(\w+)"', TEXT))
    assert len(given) == 3
    source = inspect.getsource(sys.modules[density.__module__])
    assert all(f'"{name}"' in source for name in given)


def test_commands_exist() -> None:
    for command in re.findall(r"`hushpoll ([a-z]+ [a-z]+) (--[a-z-]+)`", TEXT):
        said = subprocess.run(
            [str(Path(sys.executable).with_name("hushpoll")), *command[0].split(), "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert command[1] in said.stdout


def test_the_figure_of_the_exercise_shows_what_its_page_computes(tmp_path: Path) -> None:
    runner = PageRunner(tmp_path)
    for block in read_blocks(ROOT / "docs/uniform.md"):
        runner.run(block)
    kept = json.loads((ROOT / "docs/data/uniform.json").read_text("utf-8"))
    assert kept.keys() == runner.names["errors"].keys()
    for way, found in runner.names["errors"].items():
        for key, values in found.items():
            assert kept[way][key] == pytest.approx(values, rel=2e-3)
    done = subprocess.run(
        [sys.executable, "docs/tools/uniform.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
