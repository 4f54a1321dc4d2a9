"""Answers that are smaller on the wire: gunicorn compresses nothing itself."""

from __future__ import annotations

import gzip

from flask import Response, request

__all__ = ["compressible"]


def compressible(body: bytes, content_type: str, compressed: bytes | None = None) -> Response:
    """Answer with gzip where the other side takes it; `compressed` saves doing it again."""
    response = Response(body, content_type=content_type)
    response.vary.add("Accept-Encoding")
    if request.accept_encodings["gzip"] > 0:
        response.set_data(gzip.compress(body, 6, mtime=0) if compressed is None else compressed)
        response.content_encoding = "gzip"
    return response
