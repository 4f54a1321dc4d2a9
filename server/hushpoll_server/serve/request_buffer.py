"""Whether a request has arrived: asked for every piece that comes, before a thread is spent on it."""

from __future__ import annotations

import math
import re
from enum import Enum

# The largest report with its headers; what is longer is read by a thread of its own kind (see worker.py).
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
    """A connection's next request, as far as it has come.

    A client may send single bytes, so no byte is examined twice: the end of the headers is searched only in new data,
    and the headers are read once.
    """

    def __init__(self) -> None:
        self.received = bytearray()
        self._searched = 0
        # How many bytes the request has, once its headers are there.
        self._whole = 0.0

    def add(self, data: bytes) -> Arrival:
        """Take the next piece, or nothing; say how much of the request is there."""
        self.received += data
        if not self._whole and not self._read_head():
            return Arrival.PART if len(self.received) < LARGEST_HEAD else Arrival.REFUSED
        if len(self.received) >= self._whole:
            return Arrival.WHOLE
        return Arrival.PART if self._whole <= LARGEST else Arrival.LONG

    def take(self) -> bytes:
        """Hand over what has come and begin anew."""
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
    """Read from the headers how many bytes follow them; infinite where they do not tell."""
    if _OPEN_ENDED.search(head):
        return math.inf
    length = _LENGTH.search(head)
    return int(length[1]) if length else 0
