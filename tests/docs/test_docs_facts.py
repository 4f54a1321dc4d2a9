"""Tables of the pages against the program: mechanisms, settings, margins, versions, words."""

from __future__ import annotations

import math
import re
import runpy
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from hushpoll_analysis import plan
from hushpoll_client.formatting import factor_text
from hushpoll_server.config import Config

from tests.docs.blocks import PAGES, ROOT

DOCS = ROOT / "docs"


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its first two lines."""
    text = (DOCS / page).read_text("utf-8").partition(heading)[2]
    lines = []
    for line in text.splitlines():
        if line.startswith("|"):
            lines.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif lines:
            break
    return lines[2:]


def test_the_page_of_mechanisms_is_current() -> None:
    tool = runpy.run_path(str(DOCS / "tools" / "mechanisms.py"))
    assert tool["page"]() == tool["PAGE"].read_text("utf-8"), "run: python docs/tools/mechanisms.py"


def test_every_setting_of_the_server_is_documented() -> None:
    documented = {
        name for row in rows("operators.md", "## Settings") for name in re.findall(r"`([A-Z_]+)`", row[0])
    }
    settings = {field.name.upper() for field in fields(Config) if field.metadata.get("environment", True)}
    assert documented == settings


def test_defaults_of_the_settings_are_the_documented_ones() -> None:
    defaults = Config()
    for row in rows("operators.md", "## Settings"):
        names = re.findall(r"`([A-Z_]+)`", row[0])
        written = [text.strip() for text in row[1].split(":")[0].split(",")]
        for name, text in zip(names, written, strict=True):
            value = getattr(defaults, name.lower())
            if isinstance(value, (int, float)):
                assert float(text) == value, f"{name} is {value} by default, the page says {text}"


def test_margins_of_yes_no_questions() -> None:
    table = rows("planning.md", "## Reference table")
    assert len(table) == 9
    for row in table:
        epsilon, *margins, five, three = (float(cell.replace(",", "")) for cell in row)
        for n, margin in zip((200, 500, 1000, 2000, 5000), margins, strict=True):
            assert f"{100 * plan('warner', epsilon=epsilon, n=n).margin:.1f}" == f"{margin:.1f}"
        assert plan("warner", epsilon=epsilon, margin=0.05).n == five
        assert plan("warner", epsilon=epsilon, margin=0.03).n == three


def test_margins_of_choices() -> None:
    table = rows("planning.md", "One choice out of K")
    assert len(table) == 3
    for options, *margins in ([float(cell) for cell in row] for row in table):
        for epsilon, margin in zip((0.5, 1.0, 2.0, 4.0), margins, strict=True):
            got = plan("krr", int(options), epsilon=epsilon, n=1000).margin
            assert f"{100 * got:.1f}" == f"{margin:.1f}"


def test_bounds_in_tables_are_rounded_up_and_promises_down() -> None:
    """Of the same numbers in two pages: e^epsilon, what 1 : 1 becomes at most, who is recorded as chosen at least."""
    for row in rows("mathematics.md", "### What epsilon means for one person"):
        epsilon, factor, sure, unchanged = (float(re.findall(r"[\d.]+", cell)[0]) for cell in row)
        exact = math.exp(epsilon) if "coins" not in row[0] else 3
        assert exact <= factor <= 1.01 * exact
        assert 100 * exact / (1 + exact) <= sure <= 100 * exact / (1 + exact) + 0.1
        assert unchanged == math.floor(100 * exact / (1 + exact))
    for row in rows("planning.md", "## Choosing epsilon"):
        assert row[2] == factor_text(float(row[0]))
        assert row[1] == f"{math.floor(100 / (1 + math.exp(-float(row[0]))))} of 100"


def test_the_map_of_the_code_names_every_folder_and_only_files_that_exist() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    tree = page.partition("```text\n")[2].partition("```")[0]
    for room in ("client", "analysis", "server"):
        package = f"{room}/hushpoll_{room}"
        section = re.split(r"\n(?=\w)", tree.partition(package)[2])[0]
        named = {name.rstrip("/") for name in re.findall(r"[a-z_][a-z0-9_]*/", section)}
        folders = {
            path.name for path in (ROOT / package).iterdir() if path.is_dir() and path.name != "__pycache__"
        }
        assert folders <= named, f"{package}: {folders - named} not on the map"
        for file in re.findall(r"[a-z_]+\.py", section):
            assert list((ROOT / package).rglob(file)), f"{package} has no {file}"


def test_files_that_contributing_names_exist_and_its_diff_is_in_them() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for name in re.findall(r"`([a-z_]+/[\w./]+)`", page):
        folders = [ROOT, *(ROOT / room / f"hushpoll_{room}" for room in ("client", "analysis", "server"))]
        assert any((folder / name).exists() for folder in folders), (
            f"CONTRIBUTING names {name}, which is nowhere"
        )
    recipe = page.partition("## How to add a mechanism")[2].partition("\n## ")[0]
    added = [line.strip()[1:] for line in recipe.splitlines() if re.match(r" +\+ ", line)]
    assert len(added) > 10
    sources = [
        (ROOT / "client/hushpoll_client" / name).read_text("utf-8").splitlines()
        for name in ("mechanism/mangat.py", "js/extra_channels.js")
    ]
    for line in added:
        assert any(line in source for source in sources), f"no longer in the code: {line}"


def test_the_version_is_in_one_place_and_the_citation_agrees() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert cited is not None
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert cited[1] == settings["tool"]["hatch"]["version"]["fallback-version"]
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    assert re.search(r"^## \[(Unreleased|\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)


def test_make_targets_that_pages_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text("utf-8"), re.M):
            assert re.search(rf"^{target}:", makefile, re.M), f"{page.name}: there is no `make {target}`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_words_that_promise_too_much_are_not_used(page: Path) -> None:
    text = page.read_text("utf-8").lower()
    for word in ("anonym", "100 % safe", "military-grade", "unhackable"):
        assert word not in text, f"{page.name} says {word!r}"


def test_odds_for_paper_are_those_that_the_editor_offers() -> None:
    from hushpoll_client import Survey
    from hushpoll_server.workspace.paper.conversion import paper_odds_of, tools_of

    question = {"id": "q", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 1}}
    survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [question]})
    offered = []
    for point in paper_odds_of(survey.questions[0]):
        how = point.mechanism.by_hand()
        assert how is not None
        unchanged, epsilon = re.findall(r"(\d+ of 100) recorded as chosen, epsilon (\S+)", point.label)[0]
        offered.append([f"{tools_of(how)}, truth {point.parameters['truth']}", unchanged, epsilon])
    assert rows("designers.md", "### Paper") == offered


def test_figures_of_the_tutorials_paper_are_those_that_its_example_prints() -> None:
    paper = (DOCS / "tutorial.md").read_text("utf-8").partition("**Paper.**")[2]
    quoted = " ".join(line[2:] for line in paper.splitlines() if line.startswith("> "))
    block = paper.partition("```pycon\n")[2].partition("```")[0]
    printed = [line for line in block.splitlines() if line[:1].isdigit()]
    figures = [number for line in printed for number in re.findall(r"\d+(?:\.\d+)?", line)]
    assert len(figures) == 11
    quoted_figures = re.findall(r"\d+(?:\.\d+)?", quoted)
    assert [number for number in quoted_figures if "." in number] == [
        figure for figure in figures if "." in figure
    ]
    assert set(figures) <= set(quoted_figures)
