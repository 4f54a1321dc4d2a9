"""A client's connection: the received part of its next request, the unsent part of its answer, and deadlines."""

from __future__ import annotations

import errno
import fcntl
import select
import socket
import sys
import termios
import time
from collections import deque
from contextlib import suppress
from threading import BoundedSemaphore
from typing import Any

from hushpoll_server.config import Config
from hushpoll_server.gunicorn_adapter import SocketUnreader, TConn

from .request_buffer import Incoming

REQUEST_SECONDS = Config.from_environment().request_seconds
# A thread hands most answers to the kernel in one go and is free before the client has read a byte.
_SEND_BUFFER = 512 * 1024
# What the kernel does not take of an answer is kept for the poller to send: all of most answers. Threads write longer
# ones, such as exports, as fast as they are read; this many of them may wait for that at a time.
MOST_KEPT = 16 << 20
_MAY_WAIT = BoundedSemaphore(max(1, Config.from_environment().threads // 4))


class ClientSocket(socket.socket):
    """A socket that never blocks; a caller that must wait gives a deadline.

    gunicorn switches between waiting and not waiting several times for each request. Here these are no system calls,
    and no thread hands the interpreter over for them.
    """

    def __init__(self, accepted: socket.socket) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, accepted.detach())
        super().setblocking(False)
        # What is left to send, and how many bytes that are.
        self._kept: deque[memoryview] = deque()
        self.kept = 0
        with suppress(OSError):
            self.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)

    def setblocking(self, flag: bool) -> None:
        """Stay as it is."""

    def settimeout(self, value: float | None) -> None:
        """Stay as it is."""

    def gettimeout(self) -> None:
        """Return None: the socket itself has no time limit."""

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send what the system takes at once and keep the rest for the poller; wait only where that is too much."""
        self._kept.append(memoryview(data))
        self.kept += len(data)
        self.send_unsent()
        if self.kept > MOST_KEPT:
            self._wait_for_reader()

    def send_unsent(self) -> None:
        """Send as much of what was kept as the system takes."""
        while self._kept:
            try:
                sent = self.send(self._kept[0])
            except BlockingIOError:
                return
            self.kept -= sent
            self._kept[0] = self._kept[0][sent:]
            if not self._kept[0]:
                self._kept.popleft()

    def _wait_for_reader(self) -> None:
        """Wait until the client has read half of what is kept; drop the connection after the time of a request.

        If the limit of waiting threads is reached, drop the connection at once: slow readers delay only each other.
        """
        deadline = time.monotonic() + REQUEST_SECONDS
        if _MAY_WAIT.acquire(blocking=False):
            try:
                while self.kept > MOST_KEPT // 2 and self.wait(select.POLLOUT, deadline):
                    self.send_unsent()
            finally:
                _MAY_WAIT.release()
        if self.kept > MOST_KEPT:
            self._kept.clear()
            self.kept = 0
            raise ConnectionResetError(errno.ECONNRESET, "the answer was not read")

    def unread(self) -> int:
        """Return how many bytes of what was sent the other side has not taken yet; 0 where the system does not tell."""
        try:
            return int.from_bytes(fcntl.ioctl(self, termios.TIOCOUTQ, bytes(4)), sys.byteorder)
        except OSError:
            return 0

    def wait(self, event: int, deadline: float) -> bool:
        """Wait until something can be read or sent; False when it is too late."""
        poll = select.poll()
        poll.register(self, event)
        left = deadline - time.monotonic()
        return left > 0 and bool(poll.poll(left * 1000))


class Connection(TConn):  # type: ignore[misc]
    """A connection, with what has come of its next request."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # It comes from the poller, which has seen something to read.
        self.data_ready = True
        self.incoming = Incoming()
        self.deadline = 0.0
        self.is_polled = False
        self.is_busy = False
        self.is_long = False
        # Whether another request may follow the one that was just answered, and how much was unread at the last look.
        self.goes_on = False
        self.unread = 0
        # Nothing more can be read from it: it ended, or its time was up.
        self.is_over = False
        self.is_gone = False

    def init(self) -> None:
        """Feed the parser with what has come (gunicorn calls this in the thread, before every request)."""
        if not self.initialized:
            super().init()
            self.parser.unreader = Unreader(self)
        self.parser.unreader.unread(self.incoming.take())

    def take_left_over(self) -> bytes:
        """Return what came beyond the request that was just answered."""
        return bytes(self.parser.unreader.take_buffered())


class Unreader(SocketUnreader):  # type: ignore[misc]
    """Reads what the poller collected; from the socket only the rest of a long request, until its deadline."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.sock)
        self.connection = connection

    def chunk(self, size_hint: int | None = None) -> bytes:
        """Return the next piece, or nothing where no more may come, as if the client had gone."""
        data = b""
        if self.connection.is_long and self.sock.wait(select.POLLIN, self.connection.deadline):
            data = super().chunk(size_hint)
        self.connection.is_over = not data
        return data
