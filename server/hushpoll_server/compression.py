"""Answers that are smaller on the wire: gunicorn compresses nothing itself."""

from __future__ import annotations

import gzip

from flask import Response, request

__all__ = ["compress", "compressible"]

# Below this a compressed answer is hardly smaller.
_WORTH_IT = 1_000


def compress(response: Response) -> Response:
    """Compress a rendered page if the client accepts it.

    Only for pages behind a session cookie that other sites' requests do not carry (SameSite=Strict): no other site can
    insert guesses into them and learn from their length.
    """
    text = response.mimetype in ("text/html", "text/csv", "application/json")
    if (
        not text
        or response.is_streamed
        or response.direct_passthrough
        or "Content-Encoding" in response.headers
    ):
        return response
    response.vary.add("Accept-Encoding")
    if request.accept_encodings["gzip"] > 0 and len(response.get_data()) > _WORTH_IT:
        response.set_data(gzip.compress(response.get_data(), 6, mtime=0))
        response.content_encoding = "gzip"
    return response


def compressible(body: bytes, content_type: str, compressed: bytes | None = None) -> Response:
    """Answer with gzip where the other side takes it; `compressed` saves doing it again."""
    response = Response(body, content_type=content_type)
    response.vary.add("Accept-Encoding")
    if request.accept_encodings["gzip"] > 0:
        response.set_data(gzip.compress(body, 9, mtime=0) if compressed is None else compressed)
        response.content_encoding = "gzip"
    return response
