"""Counts of sealed reports, kept in the transaction that seals them: results need not wait for a scan.

Counts are sums over many sealed reports, which any reader of the database could compute. There is one row for each
group, question or block (a part), and second question if the owner has asked for the two together. Reports that wait
in the inbox are not in them.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hushpoll_client import Survey
from hushpoll_client.delivery.record import RecordFormat
from sqlalchemy import Connection, delete, insert, select

from .schema import counts, sealed, surveys

__all__ = [
    "ALONE",
    "LARGEST_TABLE",
    "Cells",
    "Place",
    "Recount",
    "add_counts",
    "forget_counts",
    "keep_pairs",
    "read_counts",
    "sealed_parts",
    "stored_pairs",
    "write_counts",
]

ALONE = ""
"""What stands for the second question where there is none."""
LARGEST_TABLE = 1 << 18
"""Cells of one part jointly with a question beyond which the two are not kept: they are counted when asked for."""
_ROWS = 50_000


class Place(NamedTuple):
    """Which counts: of a group, of a part, by a second question; 0 where there are no groups or two questions."""

    grp: int
    by: str
    part: str


Cells = dict[Place, "array[int]"]
"""Counts by place; with a second question one row of cells for each of its reports, one after the other."""


@dataclass
class Recount:
    """Counts that are made record by record, in plain Python: collecting workers load nothing else for it."""

    survey: Survey
    pairs: Iterable[tuple[str, str]] = ()
    """(second question, part) to be counted together."""
    cells: Cells = field(default_factory=dict)
    n: int = 0

    def __post_init__(self) -> None:
        self._format = RecordFormat.of(self.survey)
        self._by: dict[str, list[str]] = {}
        for by, entry_id in self.pairs:
            self._by.setdefault(by, []).append(entry_id)

    def add(self, records: bytes) -> None:
        """Count whole records that stand one after the other."""
        self.n += len(records) // self._format.size
        for grp, mine in self._split(records, self._format.groups):
            self._add(grp, ALONE, 0, mine, None)
        for by, parts in self._by.items():
            for code, some in self._answers_of(by, records):
                self._add(0, by, code, some, parts)

    def _split(self, records: bytes, groups: int) -> Iterator[tuple[int, bytes]]:
        if not groups:
            yield 0, records
            return
        yield from self._apart(records, self._format.wires[0].column(self._format.columns(records)[0]))

    def _apart(self, records: bytes, values: Iterable[int | None]) -> Iterator[tuple[int, bytes]]:
        """Put the records together that have the same value; those without one are left out."""
        groups: dict[int, list[bytes]] = {}
        size = self._format.size
        for index, value in enumerate(values):
            if value is not None:
                groups.setdefault(value, []).append(records[index * size : (index + 1) * size])
        for value, group in groups.items():
            yield value, b"".join(group)

    def _answers_of(self, by: str, records: bytes) -> Iterator[tuple[int, bytes]]:
        question = self.survey.question(by)
        block = self.survey.block_of(question)
        if block is None:
            name = question.id
        else:
            name = block[0].id
        index = self._format.names.index(name)
        values = self._format.wires[index].column(self._format.columns(records)[index])
        if block is None:
            yield from self._apart(records, values)
            return
        channel: Any = block[0].channel
        yield from self._apart(records, (channel.member_report(block[1], value) for value in values))

    def _add(self, grp: int, by: str, code: int, records: bytes, parts: list[str] | None) -> None:
        columns = self._format.columns(records)[1 if self._format.groups else 0 :]
        for entry, column in zip(self.survey.entries, columns, strict=True):
            if parts is not None and entry.id not in parts:
                continue
            key, width = Place(grp, by, entry.id), entry.channel.cells
            cells = self.cells.get(key)
            if cells is None:
                rows = 1
                if by:
                    rows = self.survey.question(by).channel.outcomes
                cells = self.cells[key] = array("q", bytes(8 * rows * width))
            start = code * width
            for cell, times in entry.channel.tally(column).items():
                cells[start + cell] += times


def keep_pairs(survey: Survey, by: str) -> list[tuple[str, str]]:
    """Return the pairs that are kept for a question which others are grouped by: not tables beyond any use."""
    question = survey.question(by)
    if not question.channel.listed:
        return []
    rows = question.channel.outcomes
    listed = [entry for entry in survey.entries if entry.id != by]
    if any(rows * entry.channel.cells > LARGEST_TABLE for entry in listed):
        return []
    return [(by, entry.id) for entry in listed]


def stored_pairs(tx: Connection, number: int, survey: Survey) -> list[tuple[str, str]]:
    """Return the pairs whose counts are kept: those with the survey's anchor, and what was asked for."""
    query = select(counts.c.by, counts.c.part).where(counts.c.survey == number, counts.c.by != ALONE)
    stored = [(row.by, row.part) for row in tx.execute(query.distinct())]
    anchored = []
    if survey.anchor is not None:
        anchored = keep_pairs(survey, survey.anchor.question)
    return list(dict.fromkeys([*anchored, *sorted(stored)]))


def add_counts(tx: Connection, number: int, survey: Survey, records: Iterable[bytes]) -> None:
    """Add reports that are sealed in this transaction to the counts of their survey."""
    recount = Recount(survey, stored_pairs(tx, number, survey))
    recount.add(b"".join(records))
    before, _ = read_counts(tx, number)
    for key, cells in recount.cells.items():
        for cell, times in enumerate(before.get(key, ())):
            cells[cell] += times
    write_counts(tx, number, recount.cells)


def read_counts(tx: Connection, number: int, by: Iterable[str] | None = None) -> tuple[Cells, int]:
    """Return a survey's counts, or only those by these second questions, and how many reports were sealed then."""
    query = select(surveys.c.sealed_n, counts).where(surveys.c.number == number)
    mine = counts.c.survey == surveys.c.number
    if by is not None:
        mine &= counts.c.by.in_(list(by))
    # One statement: counts and number are of one moment.
    rows = tx.execute(query.join_from(surveys, counts, mine, isouter=True)).all()
    cells = {
        Place(row.grp, row.by, row.part): _opened(bytes(row.cells)) for row in rows if row.by is not None
    }
    return cells, rows[0].sealed_n if rows else 0


def write_counts(tx: Connection, number: int, cells: Mapping[Place, Sequence[int]]) -> None:
    """Write counts over those that are stored."""
    for key in cells:
        here = [counts.c[name] == value for name, value in key._asdict().items()]
        tx.execute(delete(counts).where(counts.c.survey == number, *here))
    rows = [{"survey": number, **key._asdict(), "cells": _packed(table)} for key, table in cells.items()]
    if rows:
        tx.execute(insert(counts), rows)


def _packed(cells: Sequence[int]) -> bytes:
    """Write whole numbers of eight bytes, the lowest first, on every machine."""
    numbers = array("q", cells)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _opened(stored: bytes) -> array[int]:
    numbers = array("q", stored)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def forget_counts(tx: Connection, number: int) -> None:
    """Delete the counts of a survey whose reports are deleted."""
    tx.execute(delete(counts).where(counts.c.survey == number))


def sealed_parts(tx: Connection, number: int, rows: int = _ROWS) -> Iterator[bytes]:
    """Yield the sealed records of a survey in parts of at most `rows`, in an order that says nothing."""
    # Fresh random keys: their order is neither that of arrival nor that of the batches.
    query = select(sealed.c.record).where(sealed.c.survey == number).order_by(sealed.c.key)
    if tx.dialect.name != "sqlite":
        for chunk in tx.execute(query, execution_options={"yield_per": rows}).scalars().partitions():
            yield b"".join(chunk)
        return
    # SQLite's own cursor, which SQLAlchemy has not read from unless it streams: a Row object for each record
    # would take several times as long as reading it.
    with tx.execute(query) as result:
        while block := result.cursor.fetchmany(rows):
            yield b"".join([row[0] for row in block])
