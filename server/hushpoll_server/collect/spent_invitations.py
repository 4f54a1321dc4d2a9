"""Which invitations are spent: one value per survey for those that are sealed, keyed tags for those that wait."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from hushpoll_server.store.inbox_cipher import InboxCipher
from hushpoll_server.store.schema import inbox, invitations, spent

# SQLite takes at least 32,766 variables in a statement; PostgreSQL 65,535.
_CHUNK = 10_000


def unsealed(tx: Connection, survey: int, codes: Iterable[bytes]) -> dict[bytes, int]:
    """Return the places of those codes, by their hashes, that are known and that no sealed report has spent."""
    query = select(invitations.c.digest, invitations.c.place).where(invitations.c.survey == survey)
    positions = {bytes(row.digest): row.place for row in among(tx, query, invitations.c.digest, codes)}
    bits = spent_bits(tx, survey)
    return {code: position for code, position in positions.items() if not is_set(bits, position)}


def unspent(tx: Connection, cipher: InboxCipher, survey: int, codes: Iterable[bytes]) -> dict[bytes, int]:
    """Return those of `unsealed` that no waiting report has spent either."""
    positions = unsealed(tx, survey, codes)
    tags = {cipher.tag(survey, code): code for code in positions}
    spent_tags = among(tx, select(inbox.c.tag).where(inbox.c.survey == survey), inbox.c.tag, tags)
    for row in spent_tags:
        del positions[tags[bytes(row.tag)]]
    return positions


def spent_bits(tx: Connection, survey: int) -> bytes:
    """Read the value that says which of a survey's invitations are spent by sealed reports."""
    return bytes(tx.execute(select(spent.c.bits).where(spent.c.survey == survey)).scalar() or b"")


def is_set(bits: bytes, position: int) -> bool:
    """Return whether a place is marked; those beyond the end are not."""
    return position >> 3 < len(bits) and bool(bits[position >> 3] >> (position & 7) & 1)


def marked(bits: bytes, positions: Iterable[int]) -> bytes:
    """Mark more places."""
    changed = bytearray(bits)
    for position in positions:
        changed.extend(bytes(max(0, (position >> 3) + 1 - len(changed))))
        changed[position >> 3] |= 1 << (position & 7)
    return bytes(changed)


def among(tx: Connection, query: Any, column: Any, values: Iterable[bytes]) -> list[Any]:
    """Run a query for the rows whose `column` is one of `values`."""
    sorted_values = sorted(values)
    rows: list[Any] = []
    for start in range(0, len(sorted_values), _CHUNK):
        rows += tx.execute(query.where(column.in_(sorted_values[start : start + _CHUNK]))).all()
    return rows
