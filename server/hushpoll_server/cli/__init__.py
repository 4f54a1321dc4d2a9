"""The `hushpoll` command: one file per command, loaded only when it is used.

Loading lazily keeps `hushpoll --help` quick and keeps the analysis (pandas, scipy) out of the collecting server.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import Any

import click
from hushpoll_client import HushpollError, __version__

# name: (module, attribute, one line for `hushpoll --help`)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "answer": ("answer", "answer", "Answer a survey from this terminal, randomized on this machine."),
    "audit": ("audit", "audit", "Measure a survey's epsilon by drawing from its real randomizer."),
    "backup": ("backup", "backup", "Write everything the server keeps into one file, and verify it."),
    "check": ("check", "check", "Count sealed reports again and compare with the counts that results show."),
    "demo": ("demo", "demo", "Run a study with a known truth through a real server."),
    "design": ("design", "design", "The best channel for a question, and what every other one costs."),
    "estimate": ("estimate", "estimate", "Estimate true shares, with intervals, from report counts."),
    "export": ("export", "export", "Write a survey's sealed reports with codebook and scripts."),
    "plan": ("plan", "plan", "Number of answers, margin and epsilon: each from the other two."),
    "power": ("power", "power", "The chance to see a share or a difference, and the answers it takes."),
    "report": ("report", "report", "The debiased report of a survey."),
    "restore": ("backup", "restore", "Put a backup into an empty database, and verify it."),
    "serve": ("serve", "serve", "Run the web server."),
    "simulate": ("simulate", "simulate", "Simulate respondents with a known truth."),
    "survey": ("survey", "survey", "Check, publish, list, close surveys; make invitations."),
    "verify": ("verify", "verify", "Compare what a server serves with this release, byte for byte."),
    "user": ("user", "user", "Add and manage accounts."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(import_module(f"{__name__}.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][2]) for name in self.list_commands(ctx)])


@click.group(
    cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="hushpoll")
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
        name = error.ctx.command_path if error.ctx else "hushpoll"
        _fail(name, _asked_for(error) or error.format_message(), 2)
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
    except OSError as error:
        _fail_of_system(error)
    else:
        sys.exit(status if isinstance(status, int) else 0)


# Raised by click from 8.2 on; before, it printed the help itself.
_NO_COMMAND: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


def _asked_for(error: click.UsageError) -> str:
    """Name the commands to choose from where none was given: click's whole help does not fit a line."""
    if (
        not isinstance(error, _NO_COMMAND)
        or error.ctx is None
        or not isinstance(error.ctx.command, click.Group)
    ):
        return ""
    known = ", ".join(error.ctx.command.list_commands(error.ctx))
    return f"give one of these commands: {known}; see {error.ctx.command_path} --help"


def _fail_of_system(error: OSError) -> None:
    """Say what the system refused: a name that is too long, a device that is full."""
    named = "" if error.filename is None else f"{os.fsdecode(error.filename)[:80]}: "
    if error.errno == errno.ENOSPC:
        # What is left to be printed would fail once more when the program ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    message = f"{named}{error.strerror or error}".encode("utf-8", "replace").decode()
    _fail("hushpoll", message, 1 if error.errno == errno.ENOSPC else 2)


def _fail(name: str, message: str, status: int) -> None:
    click.echo(f"{name}: {' '.join(message.split())}", err=True)
    sys.exit(status)
