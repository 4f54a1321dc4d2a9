"""Logos: small raster pictures, kept under their SHA-256, which the survey's document states."""

from __future__ import annotations

import hashlib

from flask import Blueprint, Response, url_for
from hushpoll_client import HushpollError
from sqlalchemy import insert, select

from hushpoll_server.current_store import get_store
from hushpoll_server.problems import Problem
from hushpoll_server.store.surveys import Store, is_hash
from hushpoll_server.store.workspace_schema import logos

bp = Blueprint("logos", __name__)

LARGEST = 10_000
"""Bytes of a logo: more would come before Start on a slow line."""
_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


class LogoError(HushpollError):
    """A file that cannot be a survey's logo."""


def picture_type(body: bytes) -> str:
    """Return the type of a raster picture by its first bytes, whatever its name says."""
    if len(body) > LARGEST:
        raise LogoError(
            f"the file has more than {LARGEST // 1000} KB",
            "make the picture smaller; a width of 300 pixels is plenty",
        )
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    media_type = next((name for magic, name in _TYPES.items() if body.startswith(magic)), None)
    if media_type is None:
        raise LogoError(
            "the file is not a PNG, JPEG, GIF or WebP picture",
            "save it as PNG; drawings such as SVG can hold scripts",
        )
    return media_type


def keep(store: Store, body: bytes) -> str:
    """Keep a logo and give its SHA-256, by which a survey's document names it."""
    mimetype = picture_type(body)
    digest = hashlib.sha256(body).hexdigest()
    with store.write() as tx:
        if tx.execute(select(logos.c.hash).where(logos.c.hash == digest)).one_or_none() is None:
            tx.execute(insert(logos).values(hash=digest, type=mimetype, body=body))
    return digest


def address(logo_hash: str) -> str:
    """Return where a logo is."""
    return url_for("respond.logos.logo", logo_hash=logo_hash)


@bp.get("/logos/<logo_hash>")
def logo(logo_hash: str) -> Response:
    """Serve a logo, for ever the same under its hash."""
    row = None
    if is_hash(logo_hash):
        with get_store().read() as tx:
            row = tx.execute(select(logos).where(logos.c.hash == logo_hash)).one_or_none()
    if row is None:
        raise Problem(404, "there is no logo at this address; check it")
    response = Response(bytes(row.body), content_type=row.type)
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response
