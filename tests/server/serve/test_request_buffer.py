"""The request buffer knows when a request is complete, and reads each byte once."""

from __future__ import annotations

from typing import Any

import pytest
from hushpoll_server.serve import request_buffer
from hushpoll_server.serve.request_buffer import LARGEST, LARGEST_HEAD, Arrival, Incoming


@pytest.mark.parametrize(
    ("received", "stage"),
    [
        (b"", Arrival.PART),
        (b"GET / HTTP/1.1\r\nHost: a\r\n", Arrival.PART),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", Arrival.WHOLE),
        (b"POST / HTTP/1.1\r\ncontent-length:  3 \r\n\r\nab", Arrival.PART),
        (b"POST / HTTP/1.1\r\ncontent-length:  3 \r\n\r\nabc", Arrival.WHOLE),
        (b"POST / HTTP/1.1\r\nX: Content-Length: 3\r\n\r\n", Arrival.WHOLE),
        (b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (LARGEST - 100), Arrival.PART),
        (b"POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n", Arrival.LONG),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", Arrival.LONG),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n", Arrival.LONG),
        (b"GET /" + b"a" * (LARGEST_HEAD - 6), Arrival.PART),
        (b"GET /" + b"a" * (LARGEST_HEAD - 9) + b"\r\n\r\n", Arrival.WHOLE),
        (b"GET /" + b"a" * (LARGEST_HEAD - 8) + b"\r\n\r\n", Arrival.REFUSED),
        (b"GET /" + b"a" * LARGEST_HEAD, Arrival.REFUSED),
    ],
)
def test_how_much_of_a_request_is_there(received: bytes, stage: Arrival) -> None:
    assert Incoming().add(received) is stage
    bytewise = Incoming()
    for byte in received[:-1]:
        assert bytewise.add(bytes([byte])) is not Arrival.WHOLE
    assert bytewise.add(received[-1:]) is stage


def test_the_next_request_begins_anew() -> None:
    incoming, request_bytes = Incoming(), b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
    assert incoming.add(request_bytes) is Arrival.WHOLE
    assert incoming.take() == request_bytes
    assert incoming.add(request_bytes[:-1]) is Arrival.PART
    assert incoming.add(request_bytes[-1:]) is Arrival.WHOLE


class Watched(bytearray):
    """Counts the bytes that are searched."""

    searched = 0

    def find(self, needle: Any, start: Any = 0, end: Any = None) -> int:
        self.searched += min(len(self), len(self) if end is None else end) - start
        return super().find(needle, start, len(self) if end is None else end)


def test_single_bytes_are_not_searched_from_the_start_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 connections with long headers and a byte every tenth of a second each delayed reports by many seconds."""
    lengths: list[int] = []
    length = request_buffer.body_length
    monkeypatch.setattr(request_buffer, "body_length", lambda head: lengths.append(len(head)) or length(head))
    incoming = Incoming()
    incoming.received = watched = Watched()
    head = b"POST / HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\nContent-Length: 500\r\n\r\n"
    for byte in head + b"x" * 500:
        stage = incoming.add(bytes([byte]))
    assert stage is Arrival.WHOLE
    assert lengths == [len(head) - 2]
    assert watched.searched <= 4 * len(head)
