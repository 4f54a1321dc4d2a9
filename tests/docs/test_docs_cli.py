"""The command reference is what the commands' own help says."""

from __future__ import annotations

import subprocess
import sys

from hushpoll_server.cli import COMMANDS

from tests.docs.blocks import ROOT


def test_the_reference_is_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/tools/cli_reference.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_every_command_has_its_section() -> None:
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    for name in COMMANDS:
        assert f"### hushpoll {name}\n" in page
