"""Whether a request has arrived: asked for every piece that comes, before a thread is spent on it."""

from __future__ import annotations

import re
from enum import Enum

# The largest report with its headers; what is longer is read by a thread of its own kind (see worker.py).
LARGEST = 96 * 1024

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,15})[ \t]*\r\n", re.IGNORECASE)
# Chunks end where only a parser can tell, and who expects a go-ahead sends nothing before it.
_OPEN_ENDED = re.compile(rb"\r\n(?:transfer-encoding|expect)[ \t]*:", re.IGNORECASE)


class Arrival(Enum):
    """How much of a request is here."""

    PART = "wait for the rest"
    WHOLE = "everything is here"
    LONG = "too long, or of unknown length, to wait for"


def arrived(received: bytes | bytearray) -> Arrival:
    """Say how much of the first request in `received` is there."""
    end = received.find(b"\r\n\r\n")
    if end < 0:
        return Arrival.PART if len(received) <= LARGEST else Arrival.LONG
    head = bytes(received[: end + 2])
    if _OPEN_ENDED.search(head):
        return Arrival.LONG
    length = _LENGTH.search(head)
    whole = end + 4 + (int(length[1]) if length else 0)
    if len(received) >= whole:
        return Arrival.WHOLE
    return Arrival.PART if whole <= LARGEST else Arrival.LONG
