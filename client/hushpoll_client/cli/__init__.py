"""The `hushpoll` command: its packages register their commands, see `registry.py`."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import click

from hushpoll_client.errors import HushpollError

from .registry import Command, extra_for, missing_extra, registered

COMMANDS = {
    "answer": Command(
        "hushpoll_client.cli.answer:answer", "Answer a survey from this terminal, randomized on this machine."
    ),
    "survey": Command("", "Check, publish, list, close surveys; make invitations."),
    "survey check": Command(
        "hushpoll_client.cli.survey_check:check",
        "Check a survey document: hash, epsilon per question and in total.",
    ),
}
"""The commands of the base install."""
_GROUP_HELP = {
    "survey": (
        "Work with survey documents and published surveys. A HASH may be shortened to its first six signs or more."
    )
}


class CommandGroup(click.Group):
    """A group of registered commands, each loaded when it is called; `prefix` is the group's own name."""

    def __init__(self, *arguments: Any, prefix: str = "", **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.prefix = f"{prefix} " if prefix else ""

    def members(self) -> dict[str, Command]:
        """Return the group's commands by their names in it."""
        names = {name: command for name, command in registered().items() if name.startswith(self.prefix)}
        members = {name.removeprefix(self.prefix): command for name, command in names.items()}
        return {name: command for name, command in members.items() if " " not in name}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.members())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = self.members().get(cmd_name)
        if command is None:
            return None
        name = f"{self.prefix}{cmd_name}"
        if not command.target:
            return CommandGroup(name=cmd_name, prefix=name, help=_GROUP_HELP[name], short_help=command.help)
        return command.load(name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command if there is none of this name."""
        members = self.members()
        near = get_close_matches(args[0], members, n=1)
        if args[0] not in members and near:
            raise click.UsageError(f"no command {args[0]!r}; did you mean {near[0]!r}?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        members = self.members()
        _write_list(
            formatter,
            "Commands",
            [(name, command.help) for name, command in members.items() if command.is_installed],
        )
        missing = {name: command for name, command in members.items() if not command.is_installed}
        for extra in sorted({command.extra for command in missing.values()}):
            lines = [(name, command.help) for name, command in missing.items() if command.extra == extra]
            _write_list(formatter, f"After pip install 'hushpoll[{extra}]'", lines)


def _write_list(formatter: click.HelpFormatter, title: str, lines: Sequence[tuple[str, str]]) -> None:
    if lines:
        with formatter.section(title):
            formatter.write_dl(lines)


@click.group(
    cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name="hushpoll", prog_name="hushpoll")
def hushpoll() -> None:
    """Surveys with local differential privacy.

    Answers are randomized on the respondent's own device; the server keeps only randomized reports; the analysis
    removes the bias and gives estimates with intervals.
    """


def main(args: list[str] | None = None) -> None:
    """Run the command; bad input ends with exit status 2 and one line on stderr."""
    # Small matrices: a linear algebra library's threads cost more than they bring, 20-fold on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        status = hushpoll.main(args=args, prog_name="hushpoll", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.UsageError as error:
        name = "hushpoll"
        if error.ctx:
            name = error.ctx.command_path
        _fail(name, _command_choice(error) or error.format_message(), 2)
    except click.ClickException as error:
        _fail("hushpoll", error.format_message(), error.exit_code if error.exit_code != 1 else 2)
    except HushpollError as error:
        _fail("hushpoll", str(error), 2)
    except (click.Abort, KeyboardInterrupt):
        _fail("hushpoll", "stopped", 130)
    except BrokenPipeError:
        # The reader (head, less) went away: nothing to say to anybody.
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        _fail_of_others(error)
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _fail_of_others(error: Exception) -> None:
    """Return what the system or a database refused; any other error is a mistake of ours, and its place is shown."""
    if isinstance(error, OSError):
        _fail_of_system(error)
    if isinstance(error, ModuleNotFoundError) and (extra := extra_for(error.__traceback__)):
        _fail("hushpoll", missing_extra("this", extra).format_message(), 2)
    if not _is_of_database(error):
        raise error
    _fail(
        "hushpoll",
        f"the database cannot be used ({_database_message(error)}); check its disk and that it runs",
        1,
    )


def _is_of_database(error: Exception) -> bool:
    """Return whether a database refused something: a disk that is full, say, or a server that went away."""
    # Most commands load neither.
    loaded = [sys.modules.get(name) for name in ("sqlite3", "sqlalchemy.exc")]
    kinds = [
        kind for module in loaded for name in ("Error", "DBAPIError") if (kind := getattr(module, name, None))
    ]
    return isinstance(error, tuple(kinds))


def _database_message(error: Exception) -> str:
    """Return what SQLite says, a fixed sentence; of another database the kind of the error alone."""
    cause = getattr(error, "orig", None) or error
    if type(cause).__module__ == "sqlite3":
        return str(cause)
    return type(cause).__name__


# Raised by click from 8.2 on; before, it printed the help itself.
_NO_COMMAND: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


def _command_choice(error: click.UsageError) -> str:
    """Name the commands to choose from where none was given: click's whole help does not fit a line."""
    if (
        not isinstance(error, _NO_COMMAND)
        or error.ctx is None
        or not isinstance(error.ctx.command, click.Group)
    ):
        return ""
    names = ", ".join(error.ctx.command.list_commands(error.ctx))
    return f"give one of these commands: {names}; see {error.ctx.command_path} --help"


def _fail_of_system(error: OSError) -> None:
    """Return what the system refused: a name that is too long, a device that is full."""
    named = ""
    if error.filename is not None:
        named = f"{os.fsdecode(error.filename)[:80]}: "
    if error.errno == errno.ENOSPC:
        # What is left to be printed would fail once more when the program ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    message = f"{named}{error.strerror or error}".encode("utf-8", "replace").decode()
    _fail("hushpoll", message, 1 if error.errno == errno.ENOSPC else 2)


def _fail(name: str, message: str, status: int) -> None:
    click.echo(f"{name}: {' '.join(message.split())}", err=True)
    sys.exit(status)
