"""The cells of an .xlsx workbook, read by openpyxl row by row, within limits."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from defusedxml.ElementTree import fromstring
from hushpoll_client import HushpollError

LARGEST = 8_000_000
"""Bytes of a file, and of all its parts of XML, unpacked."""
LARGEST_OTHER_PART = 200_000
"""Bytes of a part of XML that holds no cells. openpyxl makes an object of each of its elements."""
MOST_READ = 3 * LARGEST
"""Bytes of the largest sheet times the number of sheets: a form has up to three."""
MOST_PARTS = 5_000
MOST_SHEETS = 100
MOST_ROWS = 20_000
MOST_COLUMNS = 200
_CELLS = re.compile(r"/?xl/(worksheets/[^/]+|sharedStrings)\.xml", re.IGNORECASE)
_TYPES, _WORKBOOK = "[Content_Types].xml", "xl/workbook.xml"


def read_sheets(path: Path, names: Iterable[str]) -> dict[str, list[list[str]]]:
    """Return the sheets with these names, in lower case, as rows of text; others as no rows."""
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    try:
        if len(data) > LARGEST or _is_too_large(data):
            raise HushpollError(f"{path.name}: the workbook is too large", "keep the form's sheets only")
        return _read(path, data, set(names))
    except HushpollError:
        raise
    except Exception as error:
        # Whatever is wrong with a file, openpyxl, zipfile and the XML parser each have their own words for it.
        raise HushpollError(
            f"{path.name}: this is not an .xlsx workbook", "save it as Excel workbook (.xlsx)"
        ) from error


def _is_too_large(data: bytes) -> bool:
    """Return whether a workbook has more than a form needs, without reading its cells."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        xml = [member for member in members if member.filename.lower().endswith((".xml", ".rels"))]
        cells = [member.file_size for member in xml if _CELLS.fullmatch(member.filename)]
        other_sizes = [member.file_size for member in xml if not _CELLS.fullmatch(member.filename)]
        if (
            len(members) > MOST_PARTS
            or sum(cells + other_sizes) > LARGEST
            or max(other_sizes) > LARGEST_OTHER_PART
        ):
            return True
        sheets = _count_sheets(archive)
        # A sheet that does not say its size is read to its end for that, and several may be of the same part.
        return sheets > MOST_SHEETS or sheets * max(cells, default=0) > MOST_READ


def _count_sheets(archive: zipfile.ZipFile) -> int:
    """Return how many sheets the workbook lists."""
    workbooks = {_WORKBOOK}
    for override in fromstring(archive.read(_TYPES)).iter():
        if override.get("ContentType", "").endswith(".main+xml"):
            workbooks.add(override.get("PartName", _WORKBOOK).removeprefix("/"))
    if any(map(_CELLS.fullmatch, workbooks)):
        raise ValueError("a sheet is called the workbook")
    present = workbooks & set(archive.namelist())
    return max(len(fromstring(archive.read(name)).findall("{*}sheets/{*}sheet")) for name in present)


def _read(path: Path, data: bytes, names: set[str]) -> dict[str, list[list[str]]]:
    # Here, because it takes a third of a second and few commands read workbooks. Where defusedxml is installed, which
    # we require, it refuses entities, in every encoding.
    from openpyxl import load_workbook

    book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    try:
        return {
            sheet.title.lower(): _rows(path, sheet) if sheet.title.lower() in names else []
            for sheet in book.worksheets
        }
    finally:
        book.close()


def _rows(path: Path, sheet: Any) -> list[list[str]]:
    # What a file says of its own size may be anything.
    sheet.reset_dimensions()
    rows: list[list[str]] = []
    for row in sheet.iter_rows(max_col=MOST_COLUMNS, max_row=MOST_ROWS + 1, values_only=True):
        cells = [_text(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        rows.append(cells)
    if len(rows) > MOST_ROWS:
        raise HushpollError(
            f"{path.name}: the sheet {sheet.title!r} has more than {MOST_ROWS:,} rows",
            "keep the form's rows only",
        )
    return rows


def _text(value: Any) -> str:
    """Return a cell as an XLSForm means it: whole numbers without a point, true and false as 1 and 0."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
