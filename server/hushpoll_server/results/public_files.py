"""Files of public results: strangers may ask for them as often as they like, and each is made once.

The file of a hundred questions of 300 options takes about ten seconds to make. It is kept, compressed, as long as
nothing changes; few threads make such files or wait for one, so that reports always find another.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress

from cachetools import LRUCache
from flask import Response, request

from hushpoll_server.compression import compressible
from hushpoll_server.problems import Problem

__all__ = ["PublicFiles", "file_answer"]

MOST_BYTES = 32 << 20
"""Compressed files in memory of one process; the ones that were asked for longest ago go first."""
_RETRY_SECONDS = "5"


class PublicFiles:
    """Files by everything that they are made of."""

    def __init__(self, most_threads: int) -> None:
        self._lock = threading.Lock()
        self._files: LRUCache[Hashable, bytes] = LRUCache(MOST_BYTES, getsizeof=len)
        self._making = threading.Lock()
        self._places = threading.BoundedSemaphore(most_threads)

    def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return a file, compressed: from memory, or made now, where not too many wait for one."""
        file = self._cached(key)
        if file is not None:
            return file
        if not self._places.acquire(blocking=False):
            raise Problem(
                503,
                "files of results are being made for others just now; ask again in a few seconds",
                {"Retry-After": _RETRY_SECONDS},
            )
        try:
            with self._making:
                return self._cached(key) or self._make(key, make)
        finally:
            self._places.release()

    def _cached(self, key: Hashable) -> bytes | None:
        with self._lock:
            file: bytes | None = self._files.get(key)
            return file

    def _make(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        file = gzip.compress(make(), 6, mtime=0)
        # One that is larger than the whole cache is made each time.
        with self._lock, suppress(ValueError):
            self._files[key] = file
        return file


def file_answer(compressed: bytes, content_type: str) -> Response:
    """Send a file as it is kept, or as it was where the other side does not take that."""
    if request.accept_encodings["gzip"] > 0:
        return compressible(b"", content_type, compressed)
    response = Response(gzip.decompress(compressed), content_type=content_type)
    response.vary.add("Accept-Encoding")
    return response
