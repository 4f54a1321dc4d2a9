"""Pictures: of pages, which `make test PICTURES=1` writes to artefacts/ for people to look at, and a logo."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from playwright.sync_api import Page


def keep_picture(page: Page, path: Path | str) -> None:
    """Write a picture of the whole page where PICTURES is set; no test compares it with anything."""
    if os.environ.get("PICTURES"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=path, full_page=True)


def png(side: int = 8, *, noise: bool = False) -> bytes:
    """Return a PNG file: a plain square, or one that no compression makes small."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    rows = b"".join(b"\0" + (os.urandom(3 * side) if noise else b"\x5b\x2a\x86" * side) for _ in range(side))
    size = struct.pack(">II", side, side) + bytes([8, 2, 0, 0, 0])
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", size)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
