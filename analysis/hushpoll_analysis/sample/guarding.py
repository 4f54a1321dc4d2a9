"""Text cells of spreadsheets: none may act as a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

# Spreadsheets run a cell that begins with one of these as a formula.
# The full-width signs are those of East Asian keyboards, which spreadsheets there take for the same.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def guard_cell(value: object) -> object:
    """Make text harmless in a spreadsheet: a leading apostrophe keeps it from being run as a formula."""
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return "'" + value
    return value


def guarded_csv(rows: Iterable[Iterable[object]]) -> str:
    """Write rows as CSV with every text cell guarded; numbers stay numbers."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    for row in rows:
        writer.writerow([guard_cell(value) for value in row])
    return buffer.getvalue()


def unguarded(text: str) -> str:
    """Take the apostrophe away again."""
    if text.startswith("'") and text[1:].startswith(FORMULA_STARTS):
        return text[1:]
    return text
