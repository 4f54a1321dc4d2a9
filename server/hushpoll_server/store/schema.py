"""Tables of the collecting server.

No column can hold a true answer, a time of arrival, an address or an order of arrival. Reports wait in `inbox`, locked
with a key that is not in the database (see inbox_cipher.py), under a keyed hash of the random id that the client made.
Sealing moves them to `sealed` under fresh random keys and leaves in `seen` only that hash, so that a replay is
recognised and nothing links an id to a report. Which invitations are spent is one value per survey, written anew at
each sealing: a row for each would have a history.
"""

from __future__ import annotations

from sqlalchemy import (
    BindParameter,
    Boolean,
    Column,
    Date,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    false,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

surveys = Table(
    "surveys",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("document", LargeBinary, nullable=False),
    Column("title", Text, nullable=False),
    Column("owner", String(64)),
    Column("published_on", Date, nullable=False),
    # The last day on which reports are taken, and the number of reports after which none is.
    Column("closes_on", Date),
    Column("closes_at", Integer),
    Column("closed_on", Date),
    # Whether it was opened again after it was closed, which every release after that shows by what changes.
    Column("reopened", Boolean, nullable=False, server_default=false()),
    Column("results_public", Boolean, nullable=False, server_default=false()),
    # Whether everybody reads public results while reports still come: new ones are then added once a day.
    Column("results_live", Boolean, nullable=False, server_default=false()),
    Column("released_on", Date),
    Column("target_n", Integer),
    Column("minimum_batch", Integer, nullable=False),
    Column("sealed_n", Integer, nullable=False, server_default="0"),
    # The hash of the wave before, as its document says: to find the next one.
    Column("previous", String(64), index=True),
    # How many people each group has, as JSON in the order of the groups; none where nobody said.
    Column("populations", Text),
)

# A SQLite table with a rowid would keep the order of arrival: none of these has one. Nor has any a foreign key but
# those about invitations: surveys are never deleted, and PostgreSQL would look one up again for every report.
inbox = Table(
    "inbox",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary(16), primary_key=True),
    # A keyed hash of the invitation's code, where the survey asks for one.
    Column("tag", LargeBinary(16)),
    Column("box", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
# Two nodes cannot store two reports for one code. Only where there is one: other reports need not pay for it.
Index(
    "uq_inbox_tag",
    inbox.c.survey,
    inbox.c.tag,
    unique=True,
    sqlite_where=inbox.c.tag.is_not(None),
    postgresql_where=inbox.c.tag.is_not(None),
)

sealed = Table(
    "sealed",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("key", LargeBinary(16), primary_key=True),
    Column("record", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

seen = Table(
    "seen",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary(16), primary_key=True),
    sqlite_with_rowid=False,
)

# What sealed reports add up to (see counts.py): whole numbers of eight bytes, one after the other.
counts = Table(
    "counts",
    metadata,
    Column("survey", Integer, primary_key=True, autoincrement=False),
    Column("grp", Integer, primary_key=True, autoincrement=False),
    Column("by", String(64), primary_key=True),
    Column("part", String(64), primary_key=True),
    Column("cells", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

invitations = Table(
    "invitations",
    metadata,
    Column("survey", ForeignKey("surveys.number"), primary_key=True),
    Column("digest", LargeBinary(32), primary_key=True),
    # Its bit in `spent`; given in the order of the digests, and never changed.
    Column("place", Integer, nullable=False),
    sqlite_with_rowid=False,
)

spent = Table(
    "spent",
    metadata,
    Column("survey", ForeignKey("surveys.number"), primary_key=True),
    Column("bits", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)


PLACES = "WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i + 1 < :n)"
"""Many rows in one statement: what they hold is one string of bytes a column, cut in the database at these places."""


def binary(*names: str) -> list[BindParameter[bytes]]:
    """Parameters of a textual statement that are bytes."""
    return [bindparam(name, type_=LargeBinary) for name in names]


def whole(*names: str) -> list[BindParameter[int]]:
    """Parameters of a textual statement that are whole numbers."""
    return [bindparam(name, type_=Integer) for name in names]
