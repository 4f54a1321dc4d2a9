"""The recipes of CONTRIBUTING, followed word for word: a new interval method and a new output format take two files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import read_blocks

ROOT = Path(__file__).parent.parent
PACKAGE = "hushpoll_analysis"

FORMATS_SHOWN = """
import json, click
from hushpoll_server.cli.report import report
from hushpoll_server.results import pages, public
from hushpoll_analysis import report as results_of
from hushpoll_analysis.results.formats import RESULTS_FORMATS, by_file_name
from hushpoll_client import Survey

survey = Survey.from_draft({"hushpoll": 1, "title": "T", "questions": [
    {"id": "cheated", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": "1"}}]})
results = results_of(survey, {"cheated_reported": [0] * 300 + [1] * 200})
choice = next(option for option in report.params if option.name == "form")
print(json.dumps({
    "choices": list(choice.type.choices),
    "address": pages.FILE_NAME,
    "links": [known.label("en") for known in RESULTS_FORMATS],
    "file": by_file_name("results.md").file_content(results).decode(),
}))
"""


@pytest.fixture
def copy_of_the_package(tmp_path: Path) -> Path:
    target = tmp_path / PACKAGE
    shutil.copytree(
        ROOT / "analysis" / PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__", "designs")
    )
    return target


def follow(recipe: str, package: Path) -> set[str]:
    """Write the files that a section of CONTRIBUTING shows, and change those that its diffs change."""
    page = ROOT / "CONTRIBUTING.md"
    lines = page.read_text("utf-8").splitlines()
    start = lines.index(f"## {recipe}") + 1
    end = next(
        (number for number, line in enumerate(lines, 1) if number > start and line[:3] == "## "), len(lines)
    )
    changed = set()
    for block in read_blocks(page):
        if not start < block.line < end or block.title is None:
            continue
        file = package / block.title.removeprefix(f"analysis/{PACKAGE}/")
        if block.language == "diff":
            file.write_text(patched(file.read_text("utf-8"), block.text), "utf-8")
        else:
            file.write_text(block.text, "utf-8")
        changed.add(block.title)
    return changed


def patched(text: str, diff: str) -> str:
    """Add each `+` line of a diff behind the line above it, which the file must have once."""
    before = ""
    for line in diff.splitlines():
        content = line[1:]
        if line[0] == "+":
            assert text.count(f"{before}\n") == 1, before
            text = text.replace(f"{before}\n", f"{before}\n{content}\n")
        before = content
    return text


def run(package: Path, *command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=package.parent,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_interval_method_takes_two_files(copy_of_the_package: Path) -> None:
    changed = follow("How to add an interval method", copy_of_the_package)
    assert len(changed) == 2
    command = [
        "-c",
        "from hushpoll_client.cli import main; main()",
        "estimate",
        "--mechanism",
        "warner",
        "--truth",
        "3/4",
    ]
    assert "agresti-coull" in run(copy_of_the_package, *command[:3], "--help")
    table = run(copy_of_the_package, *command, "--counts", "580,420", "--interval", "agresti-coull")
    assert "agresti-coull intervals" in table
    limits = re.findall(r"\d+\.\d+ %|0\.\d+", table)
    assert limits
    text = run(
        copy_of_the_package,
        "-c",
        "from hushpoll_analysis import estimate\n"
        "from hushpoll_client import mechanisms\n"
        "print(estimate([580, 420], mechanisms.warner(truth='3/4'), interval='agresti-coull')['Yes'])",
    )
    assert "agresti-coull" in text


def test_an_output_format_takes_two_files(copy_of_the_package: Path) -> None:
    changed = follow("How to add an output format", copy_of_the_package)
    assert len(changed) == 2
    printed = run(copy_of_the_package, "-c", FORMATS_SHOWN)
    assert '"markdown"' in printed, "a choice of --format"
    assert "json, txt, md)" in printed, "an address of a download"
    assert "Markdown" in printed, "a link on the pages"
    assert "| cheated | Yes |" in printed
