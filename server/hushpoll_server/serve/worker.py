"""gunicorn's thread worker, changed so that a slow client delays no other client.

A browser opens connections that it may never use, a phone loses its network in the middle of a request, and some
clients do such things on purpose. gunicorn gives each of them a thread for seconds; a few dozen stop the server. Here
the poller collects a request and hands it to a thread when it is complete. A request has one deadline, from its first
byte to its last: sending a byte now and then does not extend it. A few threads read bodies that are too long to
collect, so that these delay only each other. The poller sends what a client has not read of its answer, as long as
the client keeps reading.
"""

from __future__ import annotations

import errno
import selectors
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import Any

from hushpoll_server.gunicorn_adapter import ThreadWorker
from hushpoll_server.problems import HEALTH

from .connection import REQUEST_SECONDS, ClientSocket, Connection
from .early_errors import refusal, refusal_of
from .request_buffer import LARGEST_HEAD, Arrival

# A refused client may still be sending. Its data is read for this long, or it could not read the refusal.
LEAVING_SECONDS = 2.0
# When the server stops, connections that are silent, waiting or newly promised to be kept have this long to send a
# request.
LAST_CALL_SECONDS = 0.5
_PIECE = 64 * 1024
# Limit of unsent bytes of all answers; beyond it the connection that has not read for longest is dropped.
MOST_KEPT_BY_ALL = 64 << 20
_PROBES = tuple(f"GET {path} ".encode() for path in HEALTH)
_TOO_SLOW = (408, f"the request took longer than {REQUEST_SECONDS} seconds to arrive; send it again")
_TOO_LARGE = (431, f"the request has more than {LARGEST_HEAD:,} bytes of headers; send fewer")


class Worker(ThreadWorker):  # type: ignore[misc]
    """Runs the application in threads, for complete requests."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.long_threads = max(1, self.cfg.threads // 4)
        self.long_busy = 0
        self.probes = ThreadPoolExecutor(max_workers=2)
        # When each must have done what is expected of it. All of one kind get the same time: the first is due first.
        self.silent: dict[Connection, float] = {}
        self.sending: dict[Connection, float] = {}
        self.queued: dict[Connection, float] = {}
        self.reading: dict[Connection, float] = {}
        self.leaving: dict[Connection, float] = {}
        self.last_call = 0.0

    def enqueue_req(self, conn: Connection) -> None:
        """Hand a request to a thread; health checks have their own threads, for when all others wait for a database.

        Not health checks with a long body: two of them would occupy both threads.
        """
        is_probe = not conn.is_long and conn.incoming.received.startswith(_PROBES)
        pool = self.probes if is_probe else self.tpool
        future = pool.submit(self.handle, conn)
        future.add_done_callback(partial(self.method_queue.defer, self.finish_request, conn))

    def get_thread_pool(self) -> ThreadPoolExecutor:
        """Return a pool with the threads of the settings and those that read long bodies."""
        return ThreadPoolExecutor(max_workers=self.cfg.threads + self.long_threads)

    # The poller -------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Collect requests and hand them to threads until asked to stop, then finish those that have begun."""
        queue = self.method_queue
        self.poller.register(queue.fileno(), selectors.EVENT_READ, queue.run_callbacks)
        while self.alive and self.is_parent_alive():
            self.notify()
            self.set_accept_enabled(self._has_room())
            self.wait_for_and_dispatch_events(timeout=1.0)
            self._end_overdue()
        self._finish()

    def accept(self, listener: socket.socket) -> bool:
        """Accept a connection and return True if one waits; without room, drop the one that has waited longest."""
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._make_room()
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED):
                raise
            return error.errno != errno.EAGAIN
        if self.nr_conns >= self.worker_connections:
            self._make_room()
        self.nr_conns += 1
        self._collect(Connection(self.cfg, ClientSocket(client), address, listener.getsockname()))
        return True

    def _collect(self, conn: Connection, left_over: bytes = b"") -> None:
        """Wait for a connection's next request, whose beginning may have come with the last one."""
        stage = conn.incoming.add(left_over)
        if stage is not Arrival.PART:
            self._begin(conn, stage)
            return
        self._wait(conn)
        self._poll(conn)

    def _poll(
        self, conn: Connection, event: int = selectors.EVENT_READ, react: Callable[..., None] | None = None
    ) -> None:
        if conn.is_polled:
            return
        react = partial(react or self._react, conn)
        try:
            self.poller.register(conn.sock, event, react)
        except KeyError:
            # Somebody else's, closed by a thread; the system has given its number away again.
            self.poller.unregister(conn.sock.fileno())
            self.poller.register(conn.sock, event, react)
        conn.is_polled = True

    def _unpoll(self, conn: Connection) -> None:
        with suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)
        conn.is_polled = False

    def _react(self, conn: Connection, client: socket.socket) -> None:
        """Read what a client sent, unless its request is being answered: then that can wait."""
        if conn.is_busy:
            self._unpoll(conn)
            return
        data = _receive(client)
        if data == b"":
            self._drop(conn)
        elif data is not None and conn not in self.leaving:
            self._read(conn, data)

    def _read(self, conn: Connection, data: bytes) -> None:
        """Add to a request, and hand it to a thread if it is complete."""
        self.silent.pop(conn, None)
        stage = conn.incoming.add(data)
        if stage is Arrival.PART:
            self._wait(conn)
            return
        conn.deadline = self.sending.pop(conn, 0.0)
        self._begin(conn, stage)

    def _wait(self, conn: Connection) -> None:
        due = time.monotonic() + REQUEST_SECONDS
        if conn.incoming.received:
            # Only the first byte starts the clock.
            self.sending.setdefault(conn, due)
        else:
            self.silent[conn] = due

    def _begin(self, conn: Connection, stage: Arrival) -> None:
        """Hand a request to a thread; a long one waits until one of the few for long ones is free."""
        if stage is Arrival.REFUSED:
            self._refuse(conn, *_TOO_LARGE)
            return
        conn.is_busy = True
        conn.is_long = stage is Arrival.LONG
        if conn.is_long:
            conn.deadline = conn.deadline or time.monotonic() + REQUEST_SECONDS
            if self.long_busy >= self.long_threads:
                self.queued[conn] = conn.deadline
                return
            self.long_busy += 1
        self.enqueue_req(conn)

    def finish_request(self, conn: Connection, future: Future[Any]) -> None:
        """Wait for the next request of the connection, or end it."""
        if conn.is_long:
            self.long_busy -= 1
            if self.queued:
                following = next(iter(self.queued))
                del self.queued[following]
                self._begin(following, Arrival.LONG)
        conn.is_busy = False
        conn.goes_on = bool(not future.cancelled() and not future.exception() and future.result())
        if conn.sock.kept:
            self._watch_reading(conn)
        else:
            self._end_answer(conn)

    def _end_answer(self, conn: Connection) -> None:
        """Wait for the next request, or for the end of the connection."""
        try:
            if conn.goes_on and not conn.is_over:
                # Also when told to stop: its client has read `keep-alive` and may have sent the next request, which is
                # answered with `close`.
                self.last_call = time.monotonic() + LAST_CALL_SECONDS
                self._collect(conn, conn.take_left_over())
            else:
                self._leave(conn)
        except (OSError, ValueError):
            self._drop(conn)

    # Answers that are not read at once --------------------------------------------------------------------------

    def _watch_reading(self, conn: Connection) -> None:
        """Send the rest of an answer when there is room for it; the client's requests are not read meanwhile."""
        self._unpoll(conn)
        self._poll(conn, selectors.EVENT_WRITE, self._send_unsent)
        self._give_time(conn)
        while sum(connection.sock.kept for connection in self.reading) > MOST_KEPT_BY_ALL:
            self._drop(next(iter(self.reading)))

    def _send_unsent(self, conn: Connection, client: ClientSocket) -> None:
        try:
            client.send_unsent()
        except OSError:
            self._drop(conn)
            return
        if client.kept:
            self._give_time(conn)
            return
        del self.reading[conn]
        self._unpoll(conn)
        self._end_answer(conn)

    def _give_time(self, conn: Connection) -> None:
        """Keep waiting for a client that reads; those that have not read for longest come first."""
        self.reading.pop(conn, None)
        self.reading[conn] = time.monotonic() + REQUEST_SECONDS
        conn.unread = conn.sock.unread()

    def _end_unless_read(self, conn: Connection) -> None:
        """Close connections that have read nothing in the time of a request."""
        if conn.sock.unread() < conn.unread:
            self._give_time(conn)
        else:
            self._drop(conn)

    # Endings ----------------------------------------------------------------------------------------------------

    def _leave(self, conn: Connection) -> None:
        """Shut down the sending side, and listen on for a moment, so that the answer is not lost (RFC 9112, 9.6)."""
        conn.sock.shutdown(socket.SHUT_WR)
        self._poll(conn)
        self.leaving[conn] = time.monotonic() + LEAVING_SECONDS

    def _drop(self, conn: Connection) -> None:
        if conn.is_gone:
            # The poller may have had two pieces of news about it at once.
            return
        conn.is_gone = True
        for group in self._waiting():
            group.pop(conn, None)
        self._unpoll(conn)
        self.nr_conns -= 1
        conn.close()

    def _refuse_slow(self, conn: Connection) -> None:
        self._refuse(conn, *_TOO_SLOW)

    def _refuse(self, conn: Connection, status: int, detail: str) -> None:
        conn.is_busy = False
        self.sending.pop(conn, None)
        self.queued.pop(conn, None)
        try:
            conn.sock.send(refusal(status, detail))
            self._leave(conn)
        except OSError:
            self._drop(conn)

    def _end_overdue(self) -> None:
        now = time.monotonic()
        for group, end in (
            (self.silent, self._drop),
            (self.sending, self._refuse_slow),
            (self.queued, self._refuse_slow),
            (self.reading, self._end_unless_read),
            (self.leaving, self._drop),
        ):
            while group and next(iter(group.values())) <= now:
                end(next(iter(group)))

    def _waiting(self) -> list[dict[Connection, float]]:
        return [self.silent, self.sending, self.queued, self.reading, self.leaving]

    def _has_room(self) -> bool:
        return self.nr_conns < self.worker_connections or any(self._waiting())

    def _make_room(self) -> None:
        """End the connection that has waited longest, in any state.

        If one state went first, a client could fill the server with connections in another and push visitors out: each
        visitor is silent for a moment between connecting and asking.
        """
        longest = [
            (due - (LEAVING_SECONDS if group is self.leaving else REQUEST_SECONDS), conn)
            for group in self._waiting()
            for conn, due in islice(group.items(), 1)
        ]
        if longest:
            self._drop(min(longest, key=itemgetter(0))[1])

    def _finish(self) -> None:
        """Answer every request that has begun or waits in a listener's queue, then end."""
        until = time.monotonic() + self.cfg.graceful_timeout
        accept_until = time.monotonic() + LAST_CALL_SECONDS
        self.set_accept_enabled(True)
        while time.monotonic() < accept_until:
            self._handle_events()
        self._close_listeners()
        while time.monotonic() < until and (
            self.nr_conns > len(self.silent) or time.monotonic() < self.last_call
        ):
            self._handle_events()
        self.tpool.shutdown(wait=False)
        self.probes.shutdown(wait=False)
        self.poller.close()
        self.method_queue.close()

    def _handle_events(self) -> None:
        self.notify()
        self.wait_for_and_dispatch_events(timeout=0.1)
        self._end_overdue()

    def _close_listeners(self) -> None:
        self.set_accept_enabled(False)
        for listener in self.sockets:
            listener.setblocking(False)
            while self.accept(listener):
                pass
            listener.close()

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Answer a request that could not be read, or that failed outside the application."""
        status, detail = refusal_of(exc)
        if status == 500:
            self.log.exception("a request could not be answered")
        else:
            self.log.warning("a request could not be read")
        try:
            client.sendall(refusal(status, detail))
        except OSError:
            self.log.debug("the client left before the refusal was sent")


def _receive(client: socket.socket) -> bytes | None:
    """Take what is there: None where nothing is, nothing where the client has gone."""
    try:
        return client.recv(_PIECE)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return b""
