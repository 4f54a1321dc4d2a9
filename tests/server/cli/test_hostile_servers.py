"""`hushpoll verify` and `hushpoll answer` before a server that sends anything, for ever, or byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hushpoll_client.delivery import send
from hushpoll_client.delivery.deadline import within
from hushpoll_server.cli import verify

from tests.command import run_command

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ANSWERS = {
    "status": b"HTTP/1.1 999999 \xff\xff\r\n\r\n",
    "junk": b"\xff\x00SSH-2.0\r\n",
    "chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "short": HEAD + b"Content-Length: 100\r\n\r\n{}",
    "nothing": b"",
    "headers": HEAD + b"a: b\r\n" * 2000 + b"\r\n",
    "control": b"HTTP/1.1 200 \x1b[2J\r\nX\x1b: \r\n\r\n",
}
ENDLESS = HEAD + b"\r\n"
DRIPPED = {"body": HEAD + b"Content-Length: 99999\r\n\r\n", "head": HEAD + b"X: "}


class Hostile:
    """Sends every client the same answer, and then more until the client closes the connection."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.answer, self.more, self.pause = b"", b"", 0.0
        self.over = threading.Event()
        self.sent = 0
        threading.Thread(target=self.serve, daemon=True).start()

    @property
    def link(self) -> str:
        """Return a link to a survey that does not exist."""
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/s/{'0' * 12}#{'0' * 64}"

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.handle, args=(client,), daemon=True).start()

    def handle(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            client.recv(65536)
            client.sendall(self.answer)
            while self.more and not self.over.wait(self.pause):
                client.sendall(self.more)
                self.sent += len(self.more)


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    server = Hostile()
    yield server
    server.over.set()
    server.listener.close()


@pytest.fixture
def error_line(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[[str], str]:
    """Return a function that runs a command on the hostile link, expects status 2, and returns its one line."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def run(command: str) -> str:
        status, out, err = run_command(capsys, command, hostile.link)
        assert (status, out, err.count("\n"), err[:-1].isprintable()) == (2, "", 1, True), err
        return err

    return run


@pytest.mark.parametrize("command", ["verify", "answer"])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_an_invalid_response_is_one_line_on_stderr(
    hostile: Hostile, error_line: Callable[[str], str], command: str, answer: bytes
) -> None:
    hostile.answer = answer
    assert error_line(command).startswith("hushpoll: ")


@pytest.mark.parametrize("command", ["verify", "answer"])
def test_an_endless_answer_is_not_read_to_its_end(
    hostile: Hostile, error_line: Callable[[str], str], command: str
) -> None:
    hostile.answer, hostile.more = ENDLESS, b"x" * (1 << 20)
    error_line(command)
    assert hostile.sent < 64 << 20


@pytest.mark.parametrize("command", ["verify", "answer"])
@pytest.mark.parametrize("answer", DRIPPED.values(), ids=DRIPPED)
def test_an_answer_has_one_deadline_however_often_a_byte_comes(
    hostile: Hostile,
    error_line: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    answer: bytes,
) -> None:
    hostile.answer, hostile.more, hostile.pause = answer, b"{", 0.05
    monkeypatch.setattr(verify, "_SECONDS", 1.0)
    monkeypatch.setattr(send.fetch_survey, "__defaults__", (send.CAP, 1.0))
    assert "not finished in 1 seconds" in error_line(command)


def test_all_answers_together_have_a_deadline(
    hostile: Hostile, error_line: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.answer, hostile.more, hostile.pause = DRIPPED["body"], b"{", 0.05
    monkeypatch.setattr(verify, "_SECONDS_IN_ALL", 0.0)
    assert "not finished in 0 seconds" in error_line("verify")


def test_errors_before_the_deadline_are_raised_unchanged() -> None:
    def refuse() -> None:
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        within(60, refuse)
    assert within(60, lambda: 5) == 5
