"""Notes in a Stata file (.dta 118), which pyreadstat cannot write: what `notes` shows of data and variables."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

VERSION = 14
"""Format 118, which every edition of Stata from 14 on opens; 119 is for more than 32,767 variables and not for all."""
WHOLE = "_dta"
NAME = 129
LONGEST = 60_000
"""Bytes of one note; Stata takes a few thousand more."""
MAP = 14
AFTER = 9
"""Entries of the map, and the first that stands behind the characteristics."""


def write_notes(path: Path, notes: Mapping[str, Sequence[str]]) -> None:
    """Add notes to a file that has none: those of the data under `_dta`, the others under their variable's name."""
    content = path.read_bytes()
    start = content.index(b"<map>") + len(b"<map>")
    offsets = list(struct.unpack_from(f"<{MAP}Q", content, start))
    at = offsets[AFTER - 1] + len(b"<characteristics>")
    characteristics = b"".join(_characteristics(name, texts) for name, texts in notes.items())
    moved = [
        offset + (len(characteristics) if number >= AFTER else 0) for number, offset in enumerate(offsets)
    ]
    head = content[:start] + struct.pack(f"<{MAP}Q", *moved) + content[start + 8 * MAP : at]
    path.write_bytes(head + characteristics + content[at:])


def _characteristics(name: str, texts: Sequence[str]) -> bytes:
    """Return the number of notes as note0, then the notes, cut where they are too long for one."""
    pieces = [
        piece
        for text in texts
        for piece in (text[start : start + LONGEST // 4] for start in range(0, len(text), LONGEST // 4))
    ]
    listed = [str(len(pieces)), *pieces]
    return b"".join(_one(name, f"note{number}", text) for number, text in enumerate(listed))


def _one(name: str, key: str, text: str) -> bytes:
    names = name.encode().ljust(NAME, b"\0") + key.encode().ljust(NAME, b"\0")
    content = names + text.encode() + b"\0"
    return b"<ch>" + struct.pack("<I", len(content)) + content + b"</ch>"
