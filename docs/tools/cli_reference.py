"""Write docs/cli.md from the commands' own help: `python docs/tools/cli_reference.py [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from hushpoll_client.cli import hushpoll

PAGE = Path(__file__).parents[1] / "cli.md"
WIDTH = 100
OPENING = """\
# The command line

This page is written by `docs/tools/cli_reference.py` from what `--help` prints; a test compares. Every command ends
with status 0 when all went well, and with status 2 and one line on stderr that says what was wrong, where, and what to
do. `--json` prints one JSON object. Commands that touch the store read `DATA`, `DATABASE_URL` and `PORT` from the
environment, see [settings](operators.md#settings).
"""


def commands(
    command: click.Command, path: tuple[str, ...], parent: click.Context | None = None
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Give each command's path and help, a group before its members."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, info_name=path[-1], parent=parent, **settings)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            assert member is not None
            yield from commands(member, (*path, name), context)


def page() -> str:
    """The whole page."""
    parts = [OPENING]
    for path, text in commands(hushpoll, ("hushpoll",)):
        mark = "#" * min(len(path) + 1, 3)
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        parts.append(f"{mark} {' '.join(path)}\n\n```text\n{lines}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Write the page, or say whether it is current."""
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text, "utf-8")
    elif not PAGE.exists() or PAGE.read_text("utf-8") != text:
        sys.exit("docs/cli.md is not what --help prints; run: python docs/tools/cli_reference.py")


if __name__ == "__main__":
    main()
