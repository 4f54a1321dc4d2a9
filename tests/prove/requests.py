"""Raw requests over sockets, nearly right and wrong in one or several ways: no 500, no dead worker, no bad row.

A hundred thousand requests with broken heads, odd lengths, chunks that are none, several in one packet, and twenty
thousand reports with bytes changed. The answer to each changed report and every stored row are held against a ledger
of what was sent, and a server that does not look at numbers must be found out.
"""

from __future__ import annotations

import re
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from hushpoll_client import Survey
from hushpoll_server.collect import closing

from tests.serving import LONGEST, LiveServer, Postgres

from .crowd import fresh_report
from .ledger import OUTCOMES, WIDTH, Answer, Ledger
from .places import BACKENDS, live_server, signed_survey

T = TypeVar("T")
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) [A-Z]")
HEADS = [
    b"Content-Length: -1",
    b"Content-Length: 1e3",
    b"Content-Length: 99999999999999999999",
    b"Content-Length: 5\r\nContent-Length: 6",
    b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding: gzip",
    b"Transfer-Encoding: \x0bchunked",
    b"Expect: 100-continue",
    b"Expect: nothing",
    b"Connection: close",
    b"Connection: upgrade\r\nUpgrade: websocket",
    b"Content-Encoding: gzip",
    b"Host: evil.example",
    b"X: " + b"y" * 9000,
    b"Bad Header: 1",
    b": 1",
    b"\xff\xfe: 1",
    b"Content-Type: \x00",
    b"Range: bytes=5-1",
    b"Cookie: a=\xff; session=x",
    b'If-None-Match: "',
    b"X-Forwarded-For: ::1, x",
    b"Accept-Encoding: gzip;q=nan",
    b"Accept-Language: *;q=2, \x80",
]
PATHS = [
    b"/",
    b"/healthz",
    b"/s/%ff",
    b"/s/" + b"a" * 64,
    b"/api/openapi.json",
    b"/static/client/../x",
    b"/%2e%2e/%2e%2e/etc/passwd",
    b"/sign-in",
    b"//evil.example/",
    b"/api/surveys/x/invitations/%00",
    b"/s/x?lang=%F0",
    b"*",
    b"http://evil.example/",
    b"/\xc3\x28",
    b"/surveys/new",
]
METHODS = [b"GET", b"POST", b"HEAD", b"PUT", b"BREW", b"OPTIONS", b"get", b"PRI", b"G\x00T"]
VERSIONS = [b"HTTP/1.1"] * 8 + [b"HTTP/1.0", b"HTTP/9.9", b"HTTP/1.1 x", b"", b"HTTP/2.0"]
NUMBERS = [
    b"199",
    b"200",
    b"255",
    b"256",
    b"-1",
    b"-0",
    b"00",
    b"1e1",
    b"1.0",
    b"true",
    b"null",
    b'"7"',
    b"9" * 5000,
]
CHUNKS = [
    b"zz\r\nabc\r\n0\r\n\r\n",
    b"3\r\nabcXX0\r\n\r\n",
    b"-1\r\n\r\n",
    b"ffffffffffffffffff\r\nx",
    b"3;x=y\r\nabc\r\n0\r\nTrailer: x\r\n\r\n",
    b"0\r\n\r\n",
    b"0x3\r\nabc\r\n0\r\n\r\n",
    b"3\nabc\n0\n\n",
    b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
]


class Attacker:
    """Makes requests by the dice of a seed, so that a failure can be repeated."""

    def __init__(self, survey: Survey, seed: int) -> None:
        self.survey, self.dice = survey, np.random.default_rng(seed)
        self.path = f"/api/surveys/{survey.hash}/reports".encode()
        # The bodies of the request that was made last.
        self.bodies: list[bytes] = []

    def pick(self, options: Sequence[T]) -> T:
        """One of several, by the dice."""
        return options[self.below(len(options))]

    def below(self, n: int) -> int:
        """A number from 0, by the dice."""
        return int(self.dice.integers(n))

    def report(self) -> bytes:
        """A report, most often with a byte or two changed, cut, doubled or put in, or with another number."""
        body = bytearray(fresh_report(self.survey).to_bytes())
        if self.dice.random() < 0.2:
            numbers = list(re.finditer(rb"\d+(?=[,\]])", body))
            match = self.pick(numbers)
            body[match.start() : match.end()] = self.pick(NUMBERS)
        for _ in range(self.pick([0, 1, 1, 1, 2, 4])):
            at = self.below(len(body))
            kind = self.below(4)
            if kind == 0:
                body[at] = self.below(256)
            elif kind == 1:
                del body[at]
            elif kind == 2:
                body.insert(at, self.pick(b'0123456789",:{}[]\\ \x00\xff'))
            else:
                body[at:at] = body[at : at + 1 + self.below(8)]
        self.bodies.append(bytes(body))
        return bytes(body)

    def mutated(self) -> bytes:
        """A well-formed request with a report that was changed."""
        self.bodies = []
        body = self.report()
        return self._request(b"POST", self.path, [b"Content-Type: application/json"], body, b"HTTP/1.1")

    def raw(self) -> bytes:
        """A request that may be wrong anywhere."""
        self.bodies = []
        method = self.pick(METHODS)
        path = self.path if self.dice.random() < 0.6 else self.pick(PATHS)
        heads = [b"Content-Type: application/json"] if self.dice.random() < 0.8 else []
        if self.dice.random() < 0.5:
            heads.append(self.pick(HEADS))
        if self.dice.random() < 0.3:
            chunks = self.pick(CHUNKS) if self.dice.random() < 0.5 else self._chunked(self.report())
            request = self._head(method, path, [*heads, b"Transfer-Encoding: chunked"]) + chunks
        else:
            body = self.report() if self.dice.random() < 0.5 else b""
            request = self._request(method, path, heads, body)
        luck = self.dice.random()
        if luck < 0.1:
            return request[: 1 + self.below(len(request) - 1)]
        if luck < 0.2:
            at = self.below(len(request))
            return request[:at] + self.dice.bytes(3) + request[at:]
        return request * 2 if luck < 0.25 else request

    def _chunked(self, body: bytes) -> bytes:
        cut = self.below(len(body)) + 1
        chunks = [chunk for chunk in (body[:cut], body[cut:]) if chunk]
        return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"

    def _head(self, method: bytes, path: bytes, heads: list[bytes], version: bytes | None = None) -> bytes:
        version = self.pick(VERSIONS) if version is None else version
        first = b" ".join(word for word in (method, path, version) if word)
        return b"\r\n".join([first, b"Host: 127.0.0.1", *heads, b"", b""])

    def _request(
        self, method: bytes, path: bytes, heads: list[bytes], body: bytes, version: bytes | None = None
    ) -> bytes:
        length = b"Content-Length: " + str(len(body)).encode()
        return self._head(method, path, [*heads, length], version) + body


def ask(port: int, request: bytes) -> Answer:
    """Send bytes, say that there is no more, and return the statuses of all answers."""
    got, is_cut = bytearray(), False
    with socket.create_connection(("127.0.0.1", port), timeout=LONGEST) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while data := connection.recv(65_536):
                got += data
        except (ConnectionResetError, BrokenPipeError):
            is_cut = True
    return Answer([int(status) for status in _STATUS.findall(got)], is_cut)


def attack(
    server: LiveServer, raw: int, mutated: int, tell: Callable[[int], None] = lambda _: None, clients: int = 6
) -> Counter[int]:
    """Send this many of each from several clients; check every answer and row and return the statuses."""
    survey = signed_survey("Attacked", WIDTH, OUTCOMES)
    server.store.publish(survey, minimum_batch=50)
    workers = server.workers
    ledger = Ledger()

    def work(number: int) -> None:
        attacker = Attacker(survey, number)
        for count in range((raw + mutated) // clients):
            is_mutated = count < mutated // clients
            request = attacker.mutated() if is_mutated else attacker.raw()
            answer = ask(server.port, request)
            ledger.note(request, attacker.bodies, answer)
            if is_mutated:
                ledger.expect(request, attacker.bodies[0], answer)
            if number == 0 and count % 50 == 0:
                tell(count * clients)

    def guarded(number: int) -> None:
        try:
            work(number)
        except Exception as error:
            ledger.problems.append(f"client {number} gave up: {error!r}")

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not ledger.problems, f"{len(ledger.problems)} wrong answers, {ledger.problems[:3]}"
    assert server.workers == workers, "a worker died"
    assert server.status("/healthz") == 200
    assert {200, 201, 400, 404, 422} <= set(ledger.statuses), ledger.statuses
    closing.close(server.store, survey.hash)
    assert ledger.check(server, survey) >= ledger.statuses[201]
    return ledger.statuses


class Unchecked(LiveServer):
    """A server that takes every number, cut to a byte: what this harness is to find."""

    def command(self) -> list[str]:
        program = (
            "import sys; from hushpoll_client.delivery.record import RecordFormat\n"
            "def read(self, reports): return tuple(int(one) % 256 for one in reports.split(b','))\n"
            "RecordFormat.read = read\n"
            "from gunicorn.app.wsgiapp import run\n"
            "sys.argv[0] = 'gunicorn'; run()"
        )
        return [sys.executable, "-c", program, "-c", "python:hushpoll_server.serve.gunicorn_conf"]


def caught(server: LiveServer, mutated: int) -> str:
    """Attack a server that checks too little and return what was found; raise if nothing was."""
    try:
        attack(server, 0, mutated)
    except AssertionError as error:
        return str(error)
    raise AssertionError("a server that does not check reports was not found out")


def caught_by_rows(server: LiveServer, mutated: int) -> str:
    """The same by the stored rows alone, as if no answer had been looked at."""
    survey = signed_survey("Attacked", WIDTH, OUTCOMES)
    # They wait: what is not a report could not be counted, and sealing would stop at it.
    server.store.publish(survey, minimum_batch=mutated)
    ledger, attacker = Ledger(), Attacker(survey, 0)
    for _ in range(mutated):
        ledger.note(request := attacker.mutated(), attacker.bodies, ask(server.port, request))
    try:
        ledger.check(server, survey)
    except AssertionError as error:
        return str(error)
    raise AssertionError("rows that are not reports were not found")


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Send 100,000 raw requests and 20,000 changed reports, half to each kind of database."""
    raw, mutated, total = round(50_000 * size), round(10_000 * size), Counter[int]()
    for backend in BACKENDS:
        with live_server(backend, cluster) as server:
            total += attack(
                server, raw, mutated, lambda n, name=backend: tell(f"{name} {n:,}/{raw + mutated:,}")
            )  # type: ignore[misc]
    with live_server("sqlite", None, Unchecked) as server:
        caught(server, 600)
    with live_server("sqlite", None, Unchecked) as server:
        caught_by_rows(server, 600)
    statuses = ", ".join(f"{status}: {n:,}" for status, n in sorted(total.items()))
    sent = f"{2 * raw:,} raw requests and {2 * mutated:,} changed reports"
    return (
        f"{sent}: every answer right, no 500, no 503, no dead worker, {total[201]:,} rows and each is what was"
        f" sent; a server that checks no numbers is found out ({statuses})"
    )
