"""The buffer that collects a request and tells whether it is complete, before a thread handles it."""

from __future__ import annotations

import math
import re
from enum import Enum

# The largest report with its headers; the few threads for long bodies read what is longer (see worker.py).
LARGEST = 96 * 1024
# Browsers and proxies send a few hundred bytes, with the cookies of others on the same host a few thousand.
LARGEST_HEAD = 32 * 1024

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,15})[ \t]*\r\n", re.IGNORECASE)
# Chunks end where only a parser can tell, and who expects a go-ahead sends nothing before it.
_OPEN_ENDED = re.compile(rb"\r\n(?:transfer-encoding|expect)[ \t]*:", re.IGNORECASE)


class Arrival(Enum):
    """How much of a request is here."""

    PART = "wait for the rest"
    WHOLE = "everything is here"
    LONG = "too long, or of unknown length, to wait for"
    REFUSED = "its headers are too long"


class Incoming:
    """The received part of a connection's next request.

    A client may send single bytes, so no byte is examined twice: the end of the headers is searched only in new data,
    and the headers are read once.
    """

    def __init__(self) -> None:
        self.received = bytearray()
        self._searched = 0
        # How many bytes the request has, once its headers are there.
        self._whole = 0.0

    def add(self, data: bytes) -> Arrival:
        """Add the next piece, which may be empty, and return how much of the request has arrived."""
        self.received += data
        if not self._whole and not self._read_head():
            if len(self.received) < LARGEST_HEAD:
                return Arrival.PART
            return Arrival.REFUSED
        if len(self.received) >= self._whole:
            return Arrival.WHOLE
        if self._whole <= LARGEST:
            return Arrival.PART
        return Arrival.LONG

    def take(self) -> bytes:
        """Return what has arrived and start again."""
        data = bytes(self.received)
        self.received.clear()
        self._searched, self._whole = 0, 0.0
        return data

    def _read_head(self) -> bool:
        end = self.received.find(b"\r\n\r\n", max(0, self._searched - 3), LARGEST_HEAD)
        self._searched = len(self.received)
        if end >= 0:
            self._whole = end + 4 + body_length(bytes(self.received[: end + 2]))
        return end >= 0


def body_length(head: bytes) -> float:
    """Return how many bytes follow these headers; infinity if they do not say."""
    if _OPEN_ENDED.search(head):
        return math.inf
    length = _LENGTH.search(head)
    if length:
        return int(length[1])
    return 0
