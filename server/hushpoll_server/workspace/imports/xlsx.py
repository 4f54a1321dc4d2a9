"""The cells of an .xlsx workbook, with the standard library: a zip of XML files."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from hushpoll_client import HushpollError

__all__ = ["read_sheets"]

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
LARGEST = 20_000_000


def read_sheets(path: Path) -> dict[str, list[list[str]]]:
    """Give every sheet as rows of text."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(one.file_size for one in archive.infolist()) > LARGEST:
                raise HushpollError(f"{path.name}: the workbook is too large", "keep the form's sheets only")
            shared = _shared(archive)
            book, links = _parse(archive, "xl/workbook.xml"), _parse(archive, "xl/_rels/workbook.xml.rels")
            targets = {one.get("Id"): one.get("Target", "") for one in links}
            sheets = {}
            for sheet in book.iter(f"{MAIN}sheet"):
                target = targets.get(sheet.get(LINK), "").removeprefix("/xl/")
                sheets[sheet.get("name", "")] = _rows(_parse(archive, f"xl/{target}"), shared)
            return sheets
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError):
        raise HushpollError(
            f"{path.name}: this is not an .xlsx workbook", "save it as Excel workbook (.xlsx)"
        ) from None


def _parse(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    data = archive.read(name)
    # Entities could blow a small file up; a workbook has none.
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise KeyError(name)
    return ElementTree.fromstring(data)  # noqa: S314 - documents with entities are refused above


def _shared(archive: zipfile.ZipFile) -> list[str]:
    if "xl/sharedStrings.xml" not in archive.namelist():
        return []
    root = _parse(archive, "xl/sharedStrings.xml")
    return ["".join(part.text or "" for part in one.iter(f"{MAIN}t")) for one in root.iter(f"{MAIN}si")]


def _rows(sheet: ElementTree.Element, shared: list[str]) -> list[list[str]]:
    rows = []
    for row in sheet.iter(f"{MAIN}row"):
        cells: dict[int, str] = {}
        for place, cell in enumerate(row.iter(f"{MAIN}c")):
            cells[_column(cell.get("r"), place)] = _text(cell, shared)
        rows.append([cells.get(k, "") for k in range(max(cells, default=-1) + 1)])
    return rows


def _column(reference: str | None, place: int) -> int:
    letters = re.match(r"[A-Z]+", reference or "")
    if letters is None:
        return place
    number = 0
    for letter in letters.group():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def _text(cell: ElementTree.Element, shared: list[str]) -> str:
    if cell.get("t") == "inlineStr":
        return "".join(part.text or "" for part in cell.iter(f"{MAIN}t"))
    value = cell.find(f"{MAIN}v")
    text = "" if value is None or value.text is None else value.text
    if cell.get("t") == "s" and text.isdigit() and int(text) < len(shared):
        return shared[int(text)]
    return text.removesuffix(".0")
