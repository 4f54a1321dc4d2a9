"""Logos: small raster pictures only, kept and served under their SHA-256."""

from __future__ import annotations

import hashlib

import pytest
from flask.testing import FlaskClient
from hushpoll_server.respond import logos
from hushpoll_server.store.surveys import Store

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
PICTURES = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\0" * 40,
    "image/gif": b"GIF89a" + b"\0" * 40,
    "image/webp": b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 40,
}


@pytest.fixture
def backend() -> str:
    return "sqlite"


@pytest.mark.parametrize("mimetype", PICTURES)
def test_a_picture_is_served_under_its_hash_for_ever(
    client: FlaskClient, store: Store, mimetype: str
) -> None:
    body = PICTURES[mimetype]
    name = logos.keep(store, body)
    assert name == hashlib.sha256(body).hexdigest() == logos.keep(store, body)
    served = client.get(f"/logos/{name}")
    assert served.data == body
    assert served.mimetype == mimetype
    assert "immutable" in served.headers["Cache-Control"]
    assert served.headers["X-Content-Type-Options"] == "nosniff"
    assert "Set-Cookie" not in served.headers


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
            "not a PNG, JPEG, GIF or WebP",
        ),
        (b"<?xml version='1.0'?><svg/>", "not a PNG, JPEG, GIF or WebP"),
        (b"<html>", "not a PNG, JPEG, GIF or WebP"),
        (b"%PDF-1.7", "not a PNG, JPEG, GIF or WebP"),
        (b"", "not a PNG, JPEG, GIF or WebP"),
        (b"RIFF\x24\0\0\0WAVE", "not a PNG, JPEG, GIF or WebP"),
        (PNG + b"\0" * 10_000, "more than 10 KB"),
        (PNG + b"\0" * 50_000_000, "more than 10 KB"),
    ],
    ids=["svg script", "svg", "html", "pdf", "nothing", "sound", "11 KB", "50 MB"],
)
def test_anything_else_is_refused_with_what_to_do(store: Store, body: bytes, problem: str) -> None:
    with pytest.raises(logos.LogoError) as refused:
        logos.keep(store, body)
    assert problem in refused.value.problem
    assert refused.value.remedy


@pytest.mark.parametrize("name", ["0" * 64, "x", "..%2f..%2fetc%2fpasswd"])
def test_an_unknown_logo_is_404(client: FlaskClient, name: str) -> None:
    assert client.get(f"/logos/{name}").status_code == 404
