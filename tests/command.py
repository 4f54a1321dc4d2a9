"""The command line in the tests' own process."""

from __future__ import annotations

import shlex

import pytest
from hushpoll_client.cli import main


def run_command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Return exit status, stdout and stderr of `hushpoll` with these arguments."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def run_line(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    """Return exit status, stdout and stderr of `hushpoll` with the arguments of a line, as a shell splits it."""
    return run_command(capsys, *shlex.split(line))
