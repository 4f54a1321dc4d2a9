"""Rendered pages, kept compressed: a crowd that opens one survey has its page rendered and compressed once."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Callable, Hashable
from typing import NamedTuple

from cachetools import LRUCache
from flask import Response, request
from werkzeug.wrappers import Response as BaseResponse

from hushpoll_server.compression import compressible

__all__ = ["PageCache", "answer"]

MOST = 200
"""Pages in memory, of about 10 KB each; the ones that were asked for longest ago go first."""


class Page(NamedTuple):
    """A page as it goes over the network, and the tag by which a browser asks whether it has changed."""

    compressed: bytes
    tag: str


class PageCache:
    """Pages by everything that they are made of."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: LRUCache[Hashable, Page] = LRUCache(MOST)

    def get(self, key: Hashable, render: Callable[[], str]) -> Page:
        """Return a page from memory, or render it now."""
        with self._lock:
            page: Page | None = self._pages.get(key)
        if page is not None:
            return page
        # Outside the lock: two that arrive together may both render, which is the same page twice.
        page = _pack(render())
        with self._lock:
            self._pages[key] = page
        return page


def _pack(html: str) -> Page:
    body = html.encode()
    return Page(gzip.compress(body, 9, mtime=0), hashlib.sha256(body).hexdigest()[:16])


def answer(page: Page) -> BaseResponse:
    """Send a page, or say that the browser has it already."""
    if request.accept_encodings["gzip"] > 0:
        response = compressible(b"", "text/html; charset=utf-8", page.compressed)
    else:
        response = Response(gzip.decompress(page.compressed), content_type="text/html; charset=utf-8")
        response.vary.add("Accept-Encoding")
    response.vary.add("Accept-Language")
    response.headers["Cache-Control"] = "no-cache"
    response.set_etag(page.tag, weak=True)
    return response.make_conditional(request)
