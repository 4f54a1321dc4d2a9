"""The commands that are installed, found through entry points, and the extra that each of them needs.

A package registers its commands in the entry point group `hushpoll.commands`: the entry point's object maps names such
as "answer" or "survey check" to a `Command`. A module is loaded when its command runs, so that `hushpoll --help` is
quick and the collecting server never loads the analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from types import TracebackType

import click

from hushpoll_client.survey import Survey

GROUP = "hushpoll.commands"
PARSERS = "hushpoll.parsers"
_PROBES = {"analysis": "numpy", "server": "flask"}
"""A library of each extra: the extra is installed if its library is."""
_EXTRA_OF = {"hushpoll_analysis": "analysis", "hushpoll_server": "server"}


@dataclass(frozen=True)
class Command:
    """One command of the command line, as its package registers it."""

    target: str
    """Where it is: "package.module:attribute"; empty for a group of commands."""
    help: str
    """One line for the list of commands."""
    extra: str = ""
    """The extra that it needs; empty for a command of the base install."""

    @property
    def is_installed(self) -> bool:
        """Whether the libraries that it needs are installed."""
        return not self.extra or find_spec(_PROBES[self.extra]) is not None

    def load(self, name: str) -> click.Command:
        """Return the command; raise UsageError with the extra to install if a library is missing."""
        if not self.is_installed:
            raise missing_extra(name, self.extra)
        module, _, attribute = self.target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@cache
def registered() -> Mapping[str, Command]:
    """Return all registered commands, sorted by name."""
    commands: dict[str, Command] = {}
    for entry_point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        commands |= entry_point.load()
    return dict(sorted(commands.items()))


@cache
def survey_parser() -> Callable[[bytes], Survey]:
    """Return the function that reads a survey document: the analysis resolves drafts whose channels are computed."""
    for entry_point in entry_points(group=PARSERS):
        parser: Callable[[bytes], Survey] = entry_point.load()
        return parser
    return Survey.parse


def missing_extra(name: str, extra: str) -> click.UsageError:
    """Return the error for a command whose extra is not installed."""
    return click.UsageError(f"{name} needs more libraries; run: pip install 'hushpoll[{extra}]'")


def extra_for(traceback: TracebackType | None) -> str:
    """Return the extra whose code could not import a library; empty if it was other code."""
    extra = ""
    while traceback is not None:
        package = traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        extra = _EXTRA_OF.get(package, extra)
        traceback = traceback.tb_next
    return extra
