"""Read the fenced blocks of a Markdown page and run them the way a reader would.

```pycon`` is a session with its output, ``python`` a script, ``console`` shell commands with their output, and a
block with ``title="name"`` a file in the folder where the page's commands run, or of the product if it is a path.
``sh`` blocks need a machine of their own (root, nginx, PostgreSQL): their syntax is checked, and every `hushpoll`
command in them must exist.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SHOWN_PORT = "127.0.0.1:8000"  # what the pages print; the tests' own server listens elsewhere
_FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*([\w+-]*)(.*)$")
_TITLE = re.compile(r'title="([^"]+)"')
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


@dataclass(frozen=True)
class Block:
    """One fenced block: where it stands, its language, its file name if any, its text."""

    page: Path
    line: int
    language: str
    title: str | None
    text: str

    @property
    def place(self) -> str:
        """Page and line, for messages."""
        return f"{self.page.name}:{self.line}"


def read_blocks(page: Path) -> list[Block]:
    """Return the page's fenced blocks in order."""
    return list(_blocks(page, page.read_text("utf-8").splitlines()))


def _blocks(page: Path, lines: list[str]) -> Iterator[Block]:
    rest = iter(enumerate(lines, 1))
    for number, line in rest:
        opened = _FENCE.match(line)
        if not opened:
            continue
        indent, fence, language, info = opened.groups()
        body: list[str] = []
        for _, inner in rest:
            if inner.strip() == fence:
                break
            body.append(inner.removeprefix(indent))
        else:
            raise AssertionError(f"{page.name}:{number}: this block is never closed")
        title = _TITLE.search(info)
        yield Block(page, number, language, title[1] if title else None, "\n".join(body) + "\n")


@dataclass
class PageRunner:
    """Runs the blocks of one page in order; names and files carry on from block to block."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    address: str = SHOWN_PORT
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})

    def run(self, block: Block) -> None:
        """Run one block, or raise an AssertionError that names its place."""
        if block.title and "/" not in block.title:
            (self.folder / block.title).write_text(block.text, "utf-8")
        if block.language == "pycon":
            self._session(block)
        elif block.language == "python" and not block.title:
            self._script(block)
        elif block.language == "console":
            self._console(block)
        elif block.language == "sh":
            check_shell(block)

    def _session(self, block: Block) -> None:
        text = block.text.replace(SHOWN_PORT, self.address)
        test = doctest.DocTestParser().get_doctest(text, self.names, block.place, str(block.page), block.line)
        assert test.examples, f"{block.place}: a pycon block without >>>"
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=_FLAGS)
        with contextlib.chdir(self.folder), _environment(self.environment):
            runner.run(test, out=report.write, clear_globs=False)
        self.names.update(test.globs)
        assert not runner.failures, f"{block.place}\n{report.getvalue()}"

    def _script(self, block: Block) -> None:
        code = compile(
            "\n" * block.line + block.text.replace(SHOWN_PORT, self.address), str(block.page), "exec"
        )
        with (
            contextlib.chdir(self.folder),
            _environment(self.environment),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            exec(code, self.names)

    def _console(self, block: Block) -> None:
        for command, expected in commands(block):
            got, status = self._command(command.replace(SHOWN_PORT, self.address))
            got = got.replace(self.address, SHOWN_PORT)
            refused = expected.startswith("hushpoll") and status == 2
            assert status == 0 or refused, f"{block.place}: `{command}` ended with {status}:\n{got}"
            if expected:
                same = doctest.OutputChecker().check_output(expected, got, _FLAGS)
                assert same, f"{block.place}: `{command}` printed\n{got}\nand the page says\n{expected}"

    def _command(self, command: str) -> tuple[str, int]:
        words = shlex.split(command)
        if words[0] == "hushpoll" and not {"|", ">", "&&", "<", ";"} & set(words):
            return self._in_process(words[1:])
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env={**os.environ, **self.environment, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.stdout + done.stderr, done.returncode

    def _in_process(self, arguments: list[str]) -> tuple[str, int]:
        # A second less for each command: pandas and scipy stay loaded.
        from hushpoll_client.cli import main

        out = io.StringIO()
        status: Any = 0
        with (
            contextlib.chdir(self.folder),
            _environment(self.environment),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
        ):
            try:
                main(arguments)
            except SystemExit as stop:
                status = stop.code or 0
        return out.getvalue(), status


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Return each command of a console block with the output that the page shows for it."""
    command: str | None = None
    output: list[str] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield command, _joined(output)
            command, output = line[2:], []
        elif command is not None and command.endswith("\\"):
            command = command[:-1] + line.removeprefix("> ").strip()
        elif command is not None and command.count("'") % 2:  # a text in quotes goes over several lines
            command += " " + line.removeprefix("> ").strip()
        else:
            assert command is not None, f"{block.place}: a console block starts with `$ `"
            output.append(line)
    assert command is not None, f"{block.place}: a console block without a command"
    yield command, _joined(output)


def _joined(lines: list[str]) -> str:
    text = "\n".join(lines).strip("\n")
    return text + "\n" if text else ""


def check_shell(block: Block) -> None:
    """Check a block that cannot run here: its syntax, and every hushpoll command and option in it."""
    done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
    assert done.returncode == 0, f"{block.place}: {done.stderr}"
    for line in block.text.replace("\\\n", " ").splitlines():
        for match in re.finditer(r"(?:^|/bin/|[A-Z_]=\S+ )hushpoll\s+([a-z][^|>&;#]*)", line):
            check_hushpoll(block.place, shlex.split(match[1]))


def check_hushpoll(place: str, words: list[str]) -> None:
    """Check that a `hushpoll` command line names a command and options that exist."""
    import click
    from hushpoll_client.cli import hushpoll

    command: click.Command = hushpoll
    context = click.Context(hushpoll)
    words = list(words)
    while isinstance(command, click.Group) and words:
        name = words.pop(0)
        subcommand = command.get_command(context, name)
        assert subcommand is not None, f"{place}: there is no command `hushpoll {name}`"
        command = subcommand
    options = {flag for parameter in command.params for flag in parameter.opts + parameter.secondary_opts}
    for word in words:
        flag = word.partition("=")[0]
        if flag.startswith("--"):
            assert flag in options | {"--help"}, f"{place}: {command.name} has no option {flag}"


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
