"""Raw requests over sockets, nearly right and wrong in one or several ways: no 500, no dead worker, no bad row.

A hundred thousand requests with broken heads, odd lengths, chunks that are none, several in one packet, and twenty
thousand reports with bytes changed.
"""

from __future__ import annotations

import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from hushpoll_client import Survey
from hushpoll_server.collect import closing

from tests.serving import LiveServer, Postgres, sealed_records

from .crowd import fresh_report
from .places import BACKENDS, live_server, signed_survey

T = TypeVar("T")
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

    def pick(self, options: Sequence[T]) -> T:
        """One of several, by the dice."""
        return options[self.below(len(options))]

    def below(self, n: int) -> int:
        """A number from 0, by the dice."""
        return int(self.dice.integers(n))

    def report(self) -> bytes:
        """A report, most often with a byte or two changed, cut, doubled or put in."""
        body = bytearray(fresh_report(self.survey).to_bytes())
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
        return bytes(body)

    def mutated(self) -> bytes:
        """A well-formed request with a report that was changed."""
        body = self.report()
        return self._request(b"POST", self.path, [b"Content-Type: application/json"], body)

    def raw(self) -> bytes:
        """A request that may be wrong anywhere."""
        method = self.pick(METHODS)
        path = self.path if self.dice.random() < 0.6 else self.pick(PATHS)
        heads = [b"Content-Type: application/json"] if self.dice.random() < 0.8 else []
        if self.dice.random() < 0.5:
            heads.append(self.pick(HEADS))
        if self.dice.random() < 0.3:
            chunks = self.pick(CHUNKS)
            return self._head(method, path, [*heads, b"Transfer-Encoding: chunked"]) + chunks
        body = self.report() if self.dice.random() < 0.5 else b""
        request = self._request(method, path, heads, body)
        luck = self.dice.random()
        if luck < 0.1:
            return request[: 1 + self.below(len(request) - 1)]
        if luck < 0.2:
            at = self.below(len(request))
            return request[:at] + os.urandom(3) + request[at:]
        return request * 2 if luck < 0.25 else request

    def _head(self, method: bytes, path: bytes, heads: list[bytes]) -> bytes:
        first = b" ".join(part for part in (method, path, self.pick(VERSIONS)) if part)
        return b"\r\n".join([first, b"Host: 127.0.0.1", *heads, b"", b""])

    def _request(self, method: bytes, path: bytes, heads: list[bytes], body: bytes) -> bytes:
        return self._head(method, path, [*heads, b"Content-Length: " + str(len(body)).encode()]) + body


def statuses(port: int, request: bytes) -> list[int]:
    """Send bytes, say that there is no more, and give the statuses of all that comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        got = bytearray()
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65_536):
                got += part
        except (ConnectionResetError, BrokenPipeError):
            pass
    lines = [bytes(got)] if got.startswith(b"HTTP/1.1 ") else []
    return [int(line[9:12]) for line in lines]


def attack(
    server: LiveServer, raw: int, mutated: int, tell: Callable[[int], None] = lambda _: None, clients: int = 6
) -> Counter[int]:
    """Send so many of each from several clients; give the statuses, having looked at every row."""
    survey = signed_survey("Attacked", width=3)
    server.store.publish(survey, minimum_batch=50)
    workers = server.workers
    found: Counter[int] = Counter()
    problems: list[str] = []

    def work(number: int) -> None:
        attacker = Attacker(survey, number)
        for count in range((raw + mutated) // clients):
            request = attacker.mutated() if count < mutated // clients else attacker.raw()
            for status in statuses(server.port, request):
                found[status] += 1
                # 501 and 505 are what HTTP says to a coding or a version that nobody knows.
                if status >= 500 and status not in (501, 505):
                    problems.append(f"{status} for {request[:300]!r}")
            if number == 0 and count % 50 == 0:
                tell(count * clients)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems[:3]
    assert server.workers == workers, "a worker died"
    assert server.status("/healthz") == 200
    assert {201, 400, 404, 422} <= set(found), found
    closing.close(server.store, survey.hash)
    form = server.store.record_format(survey.hash)
    records = sealed_records(server.store, survey.hash)
    rows = [form.unpack(records[at : at + form.size]) for at in range(0, len(records), form.size)]
    assert all(form.holds(row) for row in rows)
    assert len(rows) <= found[201] + raw, (len(rows), found)
    return found


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Send 100,000 raw requests and 20,000 changed reports, half to each kind of database."""
    raw, mutated, total = round(50_000 * size), round(10_000 * size), Counter[int]()
    for backend in BACKENDS:
        with live_server(backend, cluster) as server:
            total += attack(
                server, raw, mutated, lambda n, name=backend: tell(f"{name} {n:,}/{raw + mutated:,}")
            )  # type: ignore[misc]
    told = ", ".join(f"{status}: {n:,}" for status, n in sorted(total.items()))
    sent = f"{2 * raw:,} raw requests and {2 * mutated:,} changed reports"
    return f"{sent}: no 500, no 503, no dead worker, 0 bad rows ({told})"
