"""The command reference is what the commands' own help says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

from hushpoll_client.cli.registry import registered

from tests.docs.blocks import ROOT, check_hushpoll

EXAMPLE = re.compile(r" {4}(?:[A-Z_]+=\S+ )*hushpoll ([a-z].*)")


def test_the_reference_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/tools/cli_reference.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_command_has_its_section() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    for name in registered():
        assert f"### hushpoll {name}\n" in page


def test_examples_in_the_help_are_possible() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    examples = [match[1] for match in map(EXAMPLE.fullmatch, page.splitlines()) if match]
    assert len(examples) >= 20
    for example in examples:
        check_hushpoll("docs/cli.md", shlex.split(example.partition(" > ")[0]))


def test_commands_with_arguments_show_an_example() -> None:
    sections = (ROOT / "docs" / "cli.md").read_text("utf-8").split("\n### ")[1:]
    silent = {"hushpoll user", "hushpoll user change", "hushpoll user list", "hushpoll user password"}
    silent |= {"hushpoll survey", "hushpoll survey list", "hushpoll user token"}
    for section in sections:
        name = section.partition("\n")[0]
        assert "Example" in section or name in silent, f"{name} --help shows no example"
