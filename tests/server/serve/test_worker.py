"""What gunicorn itself answers, clients that are slow or silent, and the end of a server."""

from __future__ import annotations

import http.client
import json
import os
import selectors
import signal
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from types import SimpleNamespace

import pytest
from gunicorn.config import Config as GunicornConfig
from hushpoll_client import Survey
from hushpoll_server.serve.connection import MOST_KEPT, ClientSocket, Connection
from hushpoll_server.serve.graceful_shutdown import ignore_new_connections_on_stop
from hushpoll_server.serve.request_buffer import LARGEST_HEAD
from hushpoll_server.serve.worker import Worker

from tests.serving import DRAFT, LONGEST, LiveServer, first_line, running_server


@pytest.fixture
def backend() -> str:
    """The worker does not know about databases."""
    return "sqlite"


@pytest.fixture(scope="module")
def patient_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with two threads that gives clients ten minutes, for all tests that leave it as it was."""
    with running_server(tmp_path_factory.mktemp("patient"), THREADS="2", REQUEST_SECONDS="600") as server:
        yield server


@pytest.fixture(scope="module")
def crowded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """The same, with at most twenty connections."""
    folder = tmp_path_factory.mktemp("crowded")
    most = "--worker-connections=20"
    with running_server(folder, THREADS="2", REQUEST_SECONDS="600", GUNICORN_CMD_ARGS=most) as server:
        yield server


def ask(port: int, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Send raw bytes and read the whole answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=LONGEST) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), body


def test_requests_that_cannot_be_read_get_our_headers_and_nothing_repeated(
    patient_server: LiveServer,
) -> None:
    for request, expected in [
        (b"CANARY nonsense\r\n\r\n", 400),
        (b"GET /" + b"canary" * 2000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"canary" * 4000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: canary\r\n\r\n", 501),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nca nary: 1\r\n\r\n", 400),
    ]:
        status, headers, body = ask(patient_server.port, request)
        assert status == expected
        assert headers["Content-Type"] == "application/problem+json"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert json.loads(body)["status"] == expected
        assert b"canary" not in body.lower()
    assert "canary" not in patient_server.log.read_text().lower()


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
def test_headers_are_refused_as_soon_as_they_are_too_long(patient_server: LiveServer, end: bytes) -> None:
    """Whether or not they end: the server does not wait ten minutes for the rest of them."""
    line = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
    status, headers, body = ask(patient_server.port, line + b"a" * (LARGEST_HEAD - len(line)) + end)
    assert status == json.loads(body)["status"] == 431
    assert headers["Connection"] == "close"


FORM = (
    b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)


@pytest.mark.parametrize("path", [b"/sign-in", b"/account"])
def test_malformed_chunks_of_a_form_are_the_clients_mistake(patient_server: LiveServer, path: bytes) -> None:
    for chunks in (b"zz\r\n\r\n", b"5\r\nabcdefgh\r\n0\r\n\r\n"):
        assert ask(patient_server.port, FORM % path + chunks)[0] == 400, chunks
    assert "Error" not in patient_server.log.read_text()


@pytest.mark.long
@pytest.mark.parametrize("path", [b"/sign-in", b"/account"])
def test_a_chunk_of_a_form_that_never_ends_is_the_clients_mistake(
    live: Callable[..., LiveServer], path: bytes
) -> None:
    server = live(REQUEST_SECONDS="2")
    assert ask(server.port, FORM % path + b"5\r\nab")[0] == 400
    assert "Error" not in server.log.read_text()


HALF_HEAD = b"POST /api/surveys/" + b"0" * 64 + b"/reports HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HALF_BODY = b"POST /api/surveys/x/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"
HALF_CHUNK = b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n40\r\na"
HALF_LONG = b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 999999\r\n\r\na"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@contextmanager
def held(port: int, beginnings: list[bytes]) -> Iterator[list[socket.socket]]:
    """Hold connections open, each with the beginning of a request."""
    with ExitStack() as stack:
        held = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), LONGEST)) for _ in beginnings
        ]
        for connection, beginning in zip(held, beginnings, strict=True):
            connection.sendall(beginning)
        yield held


def is_served(server: LiveServer) -> bool:
    """Return whether a new client gets an answer."""
    with urllib.request.urlopen(f"{server.url}/healthz", timeout=LONGEST) as answer:
        return bool(answer.status == 200)


@pytest.mark.parametrize("beginning", [b"", b"G", HALF_HEAD, HALF_BODY, HALF_CHUNK, HALF_LONG])
def test_clients_that_stop_half_way_block_no_others(patient_server: LiveServer, beginning: bytes) -> None:
    """There are many more than threads, for ten minutes: only a server that does not wait for them answers."""
    with held(patient_server.port, [beginning] * 40):
        assert is_served(patient_server)


@pytest.mark.long
@pytest.mark.parametrize(
    ("beginning", "status"), [(HALF_HEAD + b"X: ", 408), (HALF_BODY, 408), (HALF_CHUNK, 400)]
)
def test_a_request_has_one_deadline_however_often_a_byte_comes(
    live: Callable[..., LiveServer], beginning: bytes, status: int
) -> None:
    server = live(THREADS="2", REQUEST_SECONDS="2")
    with held(server.port, [beginning]) as (connection,):
        connection.settimeout(0.2)
        answer = b""
        # A minute of drips, thirty times the deadline.
        for _ in range(300):
            try:
                answer = connection.recv(65536)
                break
            except TimeoutError:
                with suppress(ConnectionError):  # the answer may come at this moment: it is read next
                    connection.sendall(b"a")
    assert answer.startswith(b"HTTP/1.1 %d" % status)


@pytest.mark.parametrize(
    "line",
    [b"Content-Length: 200000", b"Transfer-Encoding: chunked", b"Expect: 100-continue\r\nContent-Length: 5"],
)
def test_probes_with_a_missing_body_delay_no_other_probe(patient_server: LiveServer, line: bytes) -> None:
    with held(patient_server.port, [HEALTH + line + b"\r\n\r\n"] * 4):
        assert is_served(patient_server)


def test_a_client_that_never_closes_blocks_no_others(patient_server: LiveServer) -> None:
    with held(patient_server.port, [HEALTH + b"Connection: close\r\n\r\n"] * 40):
        assert is_served(patient_server)


@pytest.mark.long
def test_clients_that_do_not_read_block_no_others(live: Callable[..., LiveServer]) -> None:
    """Each thread would wait ten minutes for one of them; a client that does read gets all answers."""
    server = live(THREADS="2", REQUEST_SECONDS="600")
    request = b"GET /docs/threat-model HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    last = request.replace(b"Host", b"Connection: close\r\nHost")
    with ExitStack() as stack:
        for _ in range(12):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(LONGEST)
            client.connect(("127.0.0.1", server.port))
            client.sendall(request * 300)
        for _ in range(8):
            time.sleep(0.5)  # until what they have not read fills the system's memory for it
            assert ask(server.port, last)[0] == 200
    with socket.create_connection(("127.0.0.1", server.port), timeout=LONGEST) as client:
        sent = threading.Thread(target=client.sendall, args=(request * 50 + last,))
        sent.start()
        answers = b""
        while chunk := client.recv(1 << 20):
            answers += chunk
        sent.join()
    assert answers.count(b"HTTP/1.1 200 OK") == 51


def large_survey() -> Survey:
    """A survey whose document is nearly as large as one may be, and larger than what the system takes at once."""
    options = [f"{number} {'long ' * 38}" for number in range(100)]
    question = {
        "kind": "choice",
        "text": "?",
        "options": [option.strip() for option in options],
        "mechanism": {"name": "krr", "epsilon": "0.1"},
    }
    questions = [{"id": f"q{number}", **question} for number in range(46)]
    return Survey.from_draft({**DRAFT, "title": "Large", "questions": questions})


def test_clients_that_do_not_read_a_large_answer_block_no_others(patient_server: LiveServer) -> None:
    """Each thread would wait ten minutes for one of them; a slow reader gets the whole document."""
    survey = large_survey()
    patient_server.store.publish(survey)
    path = f"/api/surveys/{survey.hash}".encode()
    document = ask(patient_server.port, b"GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n" % path)[2]
    assert len(document) > 900_000
    request = b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % path
    last = b"GET /docs/threat-model HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1\r\n\r\n"
    with ExitStack() as stack:
        clients = []
        for _ in range(12):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(LONGEST)
            client.connect(("127.0.0.1", patient_server.port))
            client.sendall(request)
            clients.append(client)
        for client in clients:
            assert client.recv(1) == b"H"  # each answer has begun
        assert ask(patient_server.port, last)[0] == 200
        answer = bytearray()
        while len(answer.partition(b"\r\n\r\n")[2]) < len(document):
            answer += clients[0].recv(16384)
        assert answer.partition(b"\r\n\r\n")[2] == document
        # Its connection is kept, as every other one.
        clients[0].sendall(last)
        assert first_line(clients[0]).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("beginnings", [[b""] * 30 + [b"G"] * 30, [HALF_CHUNK] * 30, [HALF_LONG] * 30])
def test_above_the_limit_the_oldest_connection_is_closed(
    crowded_server: LiveServer, beginnings: list[bytes]
) -> None:
    with held(crowded_server.port, beginnings):
        assert is_served(crowded_server)


@pytest.mark.long
@pytest.mark.parametrize("beginning", [b"", b"G", HALF_BODY, HALF_LONG])
def test_a_visitor_is_not_dropped_between_connecting_and_asking(
    crowded_server: LiveServer, beginning: bytes
) -> None:
    """The connections that came before are closed instead."""
    with (
        held(crowded_server.port, [beginning] * 30),
        socket.create_connection(("127.0.0.1", crowded_server.port), LONGEST) as visitor,
        held(crowded_server.port, [beginning] * 5),
    ):
        assert is_served(crowded_server)  # and so the five are in
        visitor.sendall(HEALTH + b"\r\n")
        assert first_line(visitor).startswith(b"HTTP/1.1 200")


def test_requests_in_one_piece_and_in_many_are_answered_alike(patient_server: LiveServer) -> None:
    two = HEALTH + b"\r\n" + HEALTH + b"Connection: close\r\n\r\n"
    assert ask(patient_server.port, two)[2].count(b"HTTP/1.1 200") == 1  # behind the first body
    with socket.create_connection(("127.0.0.1", patient_server.port), timeout=LONGEST) as connection:
        for byte in HEALTH + b"Connection: close\r\n\r\n":
            connection.sendall(bytes([byte]))
        assert first_line(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.long
def test_a_stopping_server_answers_connections_in_the_backlog(live: Callable[..., LiveServer]) -> None:
    server = live()
    (worker,) = server.workers
    os.kill(worker, signal.SIGSTOP)
    with held(server.port, [HEALTH + b"\r\n"] * 20) as waiting:
        assert server.process is not None
        server.process.terminate()
        os.kill(worker, signal.SIGCONT)
        answers = [first_line(connection) for connection in waiting]
    assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers)
    assert server.process.wait(LONGEST) == 0


@pytest.mark.long
def test_a_stopping_server_accepts_only_connections_that_it_answers(live: Callable[..., LiveServer]) -> None:
    """No connection may be accepted after the last request and then broken."""
    server = live()
    (worker,) = server.workers
    with held(server.port, [HEALTH + b"\r\n"] * 3) as before:
        os.kill(worker, signal.SIGSTOP)
        assert server.process is not None
        server.process.terminate()
        end = time.monotonic() + LONGEST
        while is_let_in(server.port):
            assert time.monotonic() < end, "new connections are taken to the last"
        os.kill(worker, signal.SIGCONT)
        answers = [first_line(connection) for connection in before]
    assert all(answer.startswith(b"HTTP/1.1 200") for answer in answers)
    assert server.process.wait(LONGEST) == 0


@pytest.mark.long
def test_a_stopping_server_keeps_the_connections_that_it_promised_to_keep(
    live: Callable[..., LiveServer],
) -> None:
    """A client without `close` may have sent its next request already: the answer to that one has `close`."""
    server = live()
    began = threading.Barrier(9)
    with ThreadPoolExecutor(8) as clients:
        ends = [clients.submit(ask_until_close, server.port, began) for _ in range(8)]
        began.wait(LONGEST)
        time.sleep(0.5)
        assert server.process is not None
        server.process.terminate()
        assert [end.result() for end in ends] == ["close"] * 8
    assert server.process.wait(LONGEST) == 0


def ask_until_close(port: int, began: threading.Barrier) -> str | None:
    """Ask one question after another through one connection, without a pause."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    with closing(client):
        client.connect()
        began.wait(LONGEST)
        while True:
            client.request("GET", "/api/openapi.json")
            answer = client.getresponse()
            answer.read()
            if header := answer.getheader("Connection"):
                return header


def test_only_http_1_0_clients_get_a_keep_alive_header(patient_server: LiveServer) -> None:
    """HTTP/1.1 keeps connections open without the header, which each of a page's files would carry."""
    for version, is_announced in ((b"1.1", False), (b"1.0", True)):
        with socket.create_connection(("127.0.0.1", patient_server.port), timeout=LONGEST) as client:
            for _ in range(2):
                client.sendall(HEALTH.replace(b"1.1", version, 1) + b"Connection: keep-alive\r\n\r\n")
                head = b""
                while not head.endswith(b"}"):  # head and body may come one after the other
                    head += client.recv(65536)
                assert head.startswith(b"HTTP/%s 200" % version)
                assert (b"Connection: keep-alive" in head) == is_announced


def is_let_in(port: int) -> bool:
    """Return whether a new connection is accepted; a shut socket does not answer, a closed one refuses."""
    with socket.socket() as connection:
        connection.settimeout(0.5)
        try:
            connection.connect(("127.0.0.1", port))
        except TimeoutError:
            return False
    return True


@pytest.mark.parametrize(
    ("field", "value"), [("reexec_pid", 7), ("master_pid", 7), ("systemd", True), ("", None)]
)
def test_the_listening_socket_is_shut_only_if_no_other_process_uses_it(field: str, value: object) -> None:
    """After an upgrade another process listens on the same socket, and systemd keeps it for the next one."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stops: list[bool] = []
        arbiter = SimpleNamespace(
            reexec_pid=0,
            master_pid=0,
            systemd=False,
            LISTENERS=[listener],
            stop=lambda graceful: stops.append(graceful),
        )
        setattr(arbiter, field or "LISTENERS", value or [listener])
        ignore_new_connections_on_stop(arbiter)
        arbiter.stop(graceful=False)
        assert stops == [False]
        assert is_let_in(listener.getsockname()[1]) is bool(field)


def test_a_connection_that_ends_twice_is_counted_once() -> None:
    """Its own end and the end of its request may reach the poller together; a wrong count would cut others off."""
    worker = Worker(0, os.getpid(), [], None, 30, GunicornConfig(), None)
    worker.poller = selectors.DefaultSelector()
    ours, theirs = socket.socketpair()
    with theirs:
        connection = Connection(worker.cfg, ClientSocket(ours), "", "")
        worker.nr_conns = 2
        worker._collect(connection)
        theirs.close()
        for _ in range(2):
            worker._react(connection, connection.sock)
    assert worker.nr_conns == 1
    worker.poller.close()
    worker.tmp.close()


class Reader:
    """A worker with one connection, and the client at its other end, which reads on request."""

    def __init__(self, worker: Worker) -> None:
        ours, self.client = socket.socketpair()
        self.connection = Connection(worker.cfg, ClientSocket(ours), "", "")
        worker.nr_conns += 1
        self.worker = worker

    def answer(self, size: int) -> None:
        """Send an answer as a thread does, and end it as the poller does."""
        self.connection.sock.sendall(bytes(size))
        done: Future[bool] = Future()
        done.set_result(False)
        self.worker.finish_request(self.connection, done)


@pytest.fixture
def worker() -> Iterator[Worker]:
    """A worker that is not running."""
    worker = Worker(0, os.getpid(), [], None, 30, GunicornConfig(), None)
    worker.poller = selectors.DefaultSelector()
    yield worker
    worker.poller.close()
    worker.tmp.close()


def test_above_the_limit_the_longest_silent_reader_is_dropped(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hushpoll_server.serve.worker.MOST_KEPT_BY_ALL", 5 << 20)
    first, second, third = (Reader(worker) for _ in range(3))
    first.answer(3 << 20)
    second.answer(3 << 20)
    assert first.client.recv(1 << 16)
    worker._send_unsent(first.connection, first.connection.sock)  # it has read, and is behind the second now
    third.answer(3 << 20)
    assert [reader.connection.is_gone for reader in (first, second, third)] == [False, True, False]
    assert worker.nr_conns == 2
    for reader in (first, second, third):
        reader.client.close()
        worker._drop(reader.connection)


def test_slow_readers_get_more_time_and_silent_ones_do_not(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hushpoll_server.serve.worker.REQUEST_SECONDS", 0)
    slow, still = Reader(worker), Reader(worker)
    unread = {slow: iter([900, 800]), still: iter([900, 900])}
    for reader, sizes in unread.items():
        monkeypatch.setattr(reader.connection.sock, "unread", lambda sizes=sizes: next(sizes, 800))
        reader.answer(3 << 20)
    for reader in (slow, still):
        worker._end_unless_read(reader.connection)
    assert [reader.connection.is_gone for reader in (slow, still)] == [False, True]
    for reader in (slow, still):
        reader.client.close()
        worker._drop(reader.connection)


def test_threads_that_wait_for_readers_of_long_answers_are_few(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A waiting thread gets through when the client reads; above the limit the connection is dropped."""
    may_wait = threading.BoundedSemaphore(1)
    monkeypatch.setattr("hushpoll_server.serve.connection._MAY_WAIT", may_wait)
    first, second = Reader(worker), Reader(worker)
    with may_wait, pytest.raises(ConnectionResetError):
        second.connection.sock.sendall(bytes(MOST_KEPT * 2))
    # The client reads until at most half of the limit is left, and no further: then the thread continues.
    to_read = MOST_KEPT * 2 - MOST_KEPT // 2
    with ThreadPoolExecutor(1) as thread:
        sent = thread.submit(first.connection.sock.sendall, bytes(MOST_KEPT * 2))
        while to_read:
            to_read -= len(first.client.recv(min(to_read, 1 << 16)))
        sent.result()
    assert 0 < first.connection.sock.kept <= MOST_KEPT // 2
    for reader in (first, second):
        reader.client.close()
        reader.connection.sock.close()
