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
            value: object = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            value = getattr(value, name)
        return value
    raise ModuleNotFoundError(dotted)


def test_the_page_names_something() -> None:
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_every_name_exists(name: str) -> None:
    assert resolve(name) is not None


def test_a_wrong_name_would_be_noticed() -> None:
    with pytest.raises(AttributeError):
        resolve("hushpoll_analysis.clusterz")


ROWS = [line.split("|")[1:-1] for line in TEXT.splitlines() if line.startswith("| ") and "---" not in line]
PARTS, ERRORS = TEXT.split("## Errors in the texts")

# What the five texts hold, by their own numbers; C is numbered through.
REQUIRED = {
    "A": [
        "A 2",
        "A 3",
        "A 4",
        "A 5, inconsistency",
        "A 5, minimax",
        "A 6",
        "A 6.1",
        "A 6.2",
        "A 6.3",
        "A 6.4",
    ],
    "B": ["B, first theorem", "B, second theorem", "B, facts 1 and 2", "B, linkage"],
    "D": ["D Def. 1", "D Def. 2", "D Th. 3", "D Lemma 4", "D Lemma 5", "D Th. 6"],
    "E": [
        *(
            "E Lemma 3.1",
            "E Lemma 3.3",
            "E Lemma 3.4",
            "E Def. 3.5",
            "E 3.1.4, Th. 3.6",
            "E 3.2, Th. 3.7",
            "E 3.3",
        ),
        'E, "ε much larger than 1/n"',
    ],
}
ERRATA = [
    *("B", "C 7.1.3", "C Def. 7.11 ff.", "A 4", "A 2", "E Th. 3.6", "C Ex. 7.36", "A 6.3", "C Prop. 7.10"),
    *("C Prop. 7.19", "C Def. 7.29", "D Th. 3", "D Lemma 5b", "E 3.3"),
]


@pytest.mark.parametrize("label", [row for rows in REQUIRED.values() for row in rows])
def test_every_part_of_the_texts_has_a_row(label: str) -> None:
    cells = [row[0].strip() for row in ROWS if f"| {row[0].strip()} |" in PARTS]
    assert any(re.search(rf"(^|, ){re.escape(label)}([,;]|$| )", cell) for cell in cells), label


@pytest.mark.parametrize("label", ERRATA)
def test_every_error_has_a_row(label: str) -> None:
    cells = [row[0].strip() for row in ROWS if f"| {row[0].strip()} |" in ERRORS]
    assert any(cell.startswith(label) or f", {label}" in cell for cell in cells), label


def test_every_number_of_the_chapter_has_a_row() -> None:
    """Definitions, propositions, remarks and exercises of C are numbered through: none may be left out."""
    covered: set[int] = set()
    for first, last in re.findall(r"(?:Def\.|Prop\.|Ex\.|Rem\.) 7\.(\d+)(?: to 7\.(\d+))?", PARTS):
        covered |= set(range(int(first), int(last or first) + 1))
    assert covered >= set(range(1, 37)), sorted(set(range(1, 37)) - covered)


WRITTEN = {"worst=True": "hushpoll_analysis.design", "decoy_counts": "hushpoll_client.mechanisms.or_poll"}
"""Keywords, each with the function that takes it."""


def test_every_code_span_is_a_name_a_keyword_or_a_command() -> None:
    from hushpoll_analysis.tables import synthetic

    for span in set(re.findall(r"`([^`]+)`", TEXT)):
        if re.fullmatch(r"hushpoll_[a-z]+(?:\.\w+)+", span):
            assert resolve(span) is not None
        elif span in WRITTEN:
            parameters = inspect.signature(resolve(WRITTEN[span])).parameters  # type: ignore[arg-type]
            assert span.partition("=")[0] in parameters, span
        elif span.startswith("hushpoll "):
            assert re.fullmatch(r"hushpoll [a-z]+ [a-z]+ --[a-z-]+", span), span
        elif span.startswith("shape="):
            assert "shape" in inspect.signature(density).parameters
        else:
            owner, _, name = span.partition(".")
            assert hasattr(getattr(synthetic, owner), name), span


def test_shapes_of_the_density_exist() -> None:
    shapes = set(re.findall(r'shape="(\w+)"', TEXT))
    assert len(shapes) == 3
    source = inspect.getsource(sys.modules[density.__module__])
    assert all(f'"{name}"' in source for name in shapes)


def test_commands_exist() -> None:
    for command in re.findall(r"`hushpoll ([a-z]+ [a-z]+) (--[a-z-]+)`", TEXT):
        help_page = subprocess.run(
            [str(Path(sys.executable).with_name("hushpoll")), *command[0].split(), "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert command[1] in help_page.stdout


def test_the_figure_of_the_exercise_shows_what_its_page_computes(tmp_path: Path) -> None:
    runner = PageRunner(tmp_path)
    for block in read_blocks(ROOT / "docs/lecture-notes-range.md"):
        runner.run(block)
    figures = json.loads((ROOT / "docs/data/uniform.json").read_text("utf-8"))
    assert figures.keys() == runner.names["errors"].keys()
    for way, errors in runner.names["errors"].items():
        for key, values in errors.items():
            assert figures[way][key] == pytest.approx(values, rel=2e-3)
    done = subprocess.run(
        [sys.executable, "docs/tools/uniform.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
