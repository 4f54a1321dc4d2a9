"""An attack with all files in hand: which report came with which invitation?

    .venv/bin/python -m tests.linkage [--people 400] [--no-postgres]

People come singly, each with a code that the attacker knows, and each report says who sent it, so that the attacker's
success can be counted. At several moments of a survey's life the script takes everything that a thief of the database
has (SQL with `xmin`, `xmax` and `ctid`; `pg_dump`; the pages of tables and indexes, dead rows included; all of SQLite's
files), reads out of it every order in which codes and reports stand there, and matches each order of codes with each
order of reports, and with the order in which people came: who took part when is private too. Chance puts
one pair together and gives no correlation. Whatever chance would seldom give is measured again on new surveys, which
count by themselves: a leak grows from survey to survey, and chance does not. Two thousand pairs of orders, as many as
all tests and both databases have, raise a false alarm once in 700,000 runs: of each, less than 2 % are suspected, and
chance convicts one of those in 25 millions (four looks at 1e-8).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from flask import Flask
from hushpoll_client import Report, Survey
from hushpoll_server import create_app
from hushpoll_server.collect import accept, closing, invitations
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.collect.spent_invitations import is_set, marked, spent_bits
from hushpoll_server.config import Config
from hushpoll_server.store import inbox_cipher
from hushpoll_server.store.schema import inbox, seen, spent
from hushpoll_server.store.schema import invitations as invited
from hushpoll_server.store.schema import sealed as sealed_table
from hushpoll_server.store.surveys import Store, open_store
from scipy.stats import norm, poisson
from sqlalchemy import delete, func, insert, select, text, update

from tests.serving import DRAFT, Postgres, post

MINIMUM = 50
# Chances of as much without a leak: what is suspected, what stays so on new surveys, and what is a leak.
SUSPECTED, STILL_SUSPECTED, CERTAIN = 0.01, 0.1, 1e-8
MOST_NEW_SURVEYS = 4
FEWEST_IN_ORDER = 20
ARRIVAL = "arrival"
TABLES = (inbox, sealed_table, seen, invited, spent)
WIDTH = 12
# A report of twelve questions with 256 outcomes: as good as a signature.
SIGNED = Survey.from_draft(
    {
        **DRAFT,
        "questions": [
            {
                "id": f"q{number}",
                "kind": "choice",
                "text": "?",
                "options": [str(option) for option in range(256)],
                "mechanism": {"name": "krr", "epsilon": "1"},
            }
            for number in range(WIDTH)
        ],
        "settings": {"invitation": True},
    }
)

# The same in two groups: the group is open, and within one no person must be linked.
GROUPED = Survey.from_draft(SIGNED.as_document(published=False) | {"groups": ["Science", "Arts"]})

Order = list[int]
# A moment, and the names of an order of codes and of one of reports.
Suspect = tuple[str, str, str]


class Person(NamedTuple):
    """A respondent: a code, and a report that can be recognised."""

    code: str
    digest: bytes
    record: bytes


@dataclass
class Evidence:
    """Every order in which the attacker finds codes, and every order in which he finds reports."""

    codes: dict[str, Order] = field(default_factory=dict)
    reports: dict[str, Order] = field(default_factory=dict)
    # How many came; they are numbered in the order in which they did.
    came: int = 0

    def add(self, name: str, codes: Order, reports: Order) -> None:
        """Keep an order that is long enough to tell something."""
        for orders, order in ((self.codes, codes), (self.reports, reports)):
            if len(order) >= FEWEST_IN_ORDER:
                orders[name] = order


class Match(NamedTuple):
    """How well an order of codes and an order of reports fit together, on one survey or on several."""

    codes: str
    reports: str
    people: int
    # Right guesses from the first on, and from the last back.
    ends: tuple[int, int]
    z: float
    surveys: int = 1

    @property
    def hits(self) -> int:
        """Right guesses, from the better end."""
        return max(self.ends)

    @property
    def chance(self) -> float:
        """How probable as much is without a leak: right guesses are Poisson with mean 1, z is normal."""
        return 2 * min(float(poisson.sf(self.hits - 1, self.surveys)), float(norm.sf(abs(self.z))))

    def and_on(self, other: Match) -> Match:
        """Return this match pooled with that of the same two orders of further surveys."""
        surveys = self.surveys + other.surveys
        z = self.z * (self.surveys / surveys) ** 0.5 + other.z * (other.surveys / surveys) ** 0.5
        first, last = (hits + more for hits, more in zip(self.ends, other.ends, strict=True))
        return Match(self.codes, self.reports, self.people + other.people, (first, last), z, surveys)


# Reading the files -----------------------------------------------------------------------------------------------


def evidence(store: Store, people: list[Person], came: int, signed: Survey = SIGNED) -> Evidence:
    """Return what a thief of the whole database has."""
    collected = Evidence(came=came)
    gone = people[:came]
    bits = _bits(store, signed)
    for name, data in files_of(store):
        codes = {i: _places(data, person.digest[:16]) for i, person in enumerate(gone)}
        reports = {i: _places(data, person.record) for i, person in enumerate(gone)}
        for which, at in (("first", 0), ("last", -1)):
            collected.add(f"{name}, {which}", _sorted(codes, at), _sorted(reports, at))
        collected.add(f"{name}, marks", _marks(data, bits, _place_of(store, gone)), [])
    for name, order in _rows(store, gone):
        collected.add(name, *order)
    return collected


def files_of(store: Store) -> Iterator[tuple[str, bytes]]:
    """Yield every file of the database with its name, and what `pg_dump` prints."""
    if store.database.is_sqlite:
        for path in sorted(store.database.path.parent.glob(f"{store.database.path.name}*")):
            yield path.name.removeprefix(store.database.path.name) or "main", path.read_bytes()
        return
    with store.database.autocommit() as tx:
        tx.execute(text("CHECKPOINT"))
        folder = Path(tx.execute(text("SHOW data_directory")).scalar_one())
        query = text(
            "SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relkind IN ('r', 'i', 't')"
            " AND (relnamespace IN ('public'::regnamespace, 'pg_toast'::regnamespace) AND oid >= 16384"
            " OR relname = 'pg_statistic') ORDER BY 1"
        )
        for name, path in tx.execute(query).all():
            yield name, (folder / path).read_bytes()
    yield "dump", _dump(store)


def _dump(store: Store) -> bytes:
    """Return what `pg_dump` prints, with its hexadecimal digits as bytes again."""
    program = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_dump"))[-1]
    done = subprocess.run(
        [str(program), "--data-only", store.config.database_url], capture_output=True, check=True
    )
    lines = []
    for line in done.stdout.split(b"\n"):
        values = line.split(b"\t")
        lines.append(
            b"\t".join(
                bytes.fromhex(value[3:].decode()) if value.startswith(b"\\\\x") else value for value in values
            )
        )
    return b"\n".join(lines)


def _rows(store: Store, people: list[Person]) -> Iterator[tuple[str, tuple[Order, Order]]]:
    """Sort the rows of each table by each of its columns, and by whatever PostgreSQL knows of them."""
    hidden = (
        () if store.database.is_sqlite else ("xmin::text::bigint, ctid", "xmax::text::bigint, ctid", "ctid")
    )
    for table in TABLES:
        for by in (*table.c.keys(), *hidden):
            with store.read() as tx:
                query = text(f"SELECT * FROM {table.name} ORDER BY {by}")
                rows = [
                    b"".join(bytes(value) for value in row if isinstance(value, bytes | memoryview))
                    for row in tx.execute(query)
                ]
            yield (
                f"{table.name} by {by.split(':')[0]}",
                (_who(rows, people, "digest"), _who(rows, people, "record")),
            )


def _who(rows: list[bytes], people: list[Person], what: str) -> Order:
    tokens = [getattr(person, what)[:16] for person in people]
    return [i for row in rows for i, token in enumerate(tokens) if token in row]


def _places(data: bytes, token: bytes) -> list[int]:
    first = data.find(token)
    return [] if first < 0 else [first, data.rfind(token)]


def _sorted(offsets: dict[int, list[int]], at: int) -> Order:
    return sorted((i for i, hits in offsets.items() if hits), key=lambda i: offsets[i][at])


def _bits(store: Store, signed: Survey = SIGNED) -> bytes:
    published = store.published(signed.hash)
    assert published is not None
    with store.read() as tx:
        return spent_bits(tx, published.number)


def _place_of(store: Store, people: list[Person]) -> dict[int, int]:
    with store.read() as tx:
        place_by_digest = {bytes(row.digest): row.place for row in tx.execute(select(invited))}
    return {place_by_digest[person.digest]: i for i, person in enumerate(people)}


def _marks(data: bytes, bits: bytes, person_at: dict[int, int]) -> Order:
    """Find older versions of the value that says which codes are spent, and the order in which they were marked.

    An older version is a run of bytes that has no mark that today's has not. Half of the codes are never used, so
    that other bytes do not look like one.
    """
    # An older one may be a little shorter.
    bits = bits[: max(8, len(bits) * 3 // 4)]
    array, width = np.frombuffer(data, dtype=np.uint8), len(bits)
    if not width or len(array) < width:
        return []
    filled = np.concatenate([[0], np.cumsum(array != 0)])
    starts = np.flatnonzero(filled[width:] - filled[:-width] > 0)
    for at, byte in enumerate(bits):
        starts = starts[(array[starts + at] & (~byte & 0xFF)) == 0]
    versions = {bytes(array[start : start + width]) for start in starts}
    order: Order = []
    met: set[int] = set()
    for version in sorted(versions, key=lambda version: int.from_bytes(version).bit_count()):
        for position, person in sorted(person_at.items()):
            if is_set(version, position) and person not in met:
                met.add(person)
                order.append(person)
    return order


# Matching --------------------------------------------------------------------------------------------------------


def matches(collected: Evidence) -> list[Match]:
    """Match each order of codes with each of reports and with that of arrival: from both ends, and by rank."""
    report_orders = collected.reports | {ARRIVAL: list(range(collected.came))}
    return [
        _match(codes, other, collected.codes[codes], report_orders[other])
        for codes in collected.codes
        for other in report_orders
    ]


def _match(first: str, second: str, codes: Order, reports: Order) -> Match:
    codes, reports = list(dict.fromkeys(codes)), list(dict.fromkeys(reports))
    ends = (
        sum(a == b for a, b in zip(codes, reports, strict=False)),
        sum(a == b for a, b in zip(reversed(codes), reversed(reports), strict=False)),
    )
    rank = {person: position for position, person in enumerate(reports)}
    shared = [rank[person] for person in codes if person in rank]
    n = len(shared)
    if n < FEWEST_IN_ORDER:
        return Match(first, second, n, ends, 0.0)
    ranks = np.argsort(np.argsort(shared))
    rho = float(np.corrcoef(np.arange(n), ranks)[0, 1])
    return Match(first, second, n, ends, rho * (n - 1) ** 0.5)


# A survey's life -------------------------------------------------------------------------------------------------


def live_through(app: Flask, n: int, moments: Sequence[str], signed: Survey = SIGNED) -> dict[str, Evidence]:
    """Let n people come singly; look at each moment that is asked for.

    Where there are groups, these are the people of the first one, and as many of the second come between them.
    """
    store: Store = app.extensions["hushpoll"]
    store.publish(signed, minimum_batch=MINIMUM)
    group = 0 if signed.groups else None
    # Twice as many codes as people: the others never come.
    codes = invitations.invite(store, signed.hash, 2 * n, group)[:n]
    second_group = invitations.invite(store, signed.hash, 2 * n, 1)[:n] if signed.groups else []
    people = [
        Person(
            code, invitations.digest(signed.hash, code, group), hashlib.sha256(code.encode()).digest()[:WIDTH]
        )
        for code in codes
    ]
    looks: dict[str, Evidence] = {}
    at = {MINIMUM * 3 // 2: "while all wait", n * 3 // 4: "between two releases", n: "before closing"}
    client = app.test_client()
    for came, person in enumerate(people, 1):
        report = Report(os.urandom(16).hex(), tuple(person.record), group)
        assert post(client, signed, report.to_bytes(person.code)).status_code == 201
        for code in second_group[came - 1 : came]:
            other = Report(os.urandom(16).hex(), tuple(os.urandom(WIDTH)), 1)
            assert post(client, signed, other.to_bytes(code)).status_code == 201
        released = seal_due(store) if came % 10 == 0 else 0
        if released and "after a release" not in looks and "after a release" in moments:
            looks["after a release"] = evidence(store, people, came, signed)
        if at.get(came) in moments:
            looks[at[came]] = evidence(store, people, came, signed)
        if len(looks) == len(moments):
            return looks
    if "after closing" in moments:
        closing.close(store, signed.hash)
        assert store.sealed_count(signed.hash) == n + len(second_group)
        looks["after closing"] = evidence(store, people, n, signed)
    return looks


MOMENTS = ("while all wait", "after a release", "between two releases", "before closing", "after closing")


@contextmanager
def server(database_url: str = "") -> Iterator[Flask]:
    """An application on an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        config = Config(data=Path(folder) / "data", database_url=database_url, seal_every=86_400)
        open_store(config).close()
        app = create_app(config)
        try:
            yield app
        finally:
            app.extensions["hushpoll"].close()


class Look(NamedTuple):
    """What an attack at one moment found: how many pairs of orders there were to match, and which of them link."""

    pairs: int
    leaks: list[Match]


def attack(
    make: Callable[[], Any], n: int, moments: Sequence[str] = MOMENTS, signed: Survey = SIGNED
) -> dict[str, Look]:
    """Look at each moment for leaks: what is suspected on a survey, and certain on new ones taken together."""
    first = _survey(make, n, moments, signed)
    looks = {moment: Look(len(pairs), []) for moment, pairs in first.items()}
    suspects: dict[Suspect, Match | None] = {
        (moment, match.codes, match.reports): None
        for moment, pairs in first.items()
        for match in pairs
        if match.chance < SUSPECTED
    }
    for _ in range(MOST_NEW_SURVEYS):
        if not suspects:
            break
        when = [moment for moment in moments if any(suspect[0] == moment for suspect in suspects)]
        suspects = _measured_again(suspects, _survey(make, n, when, signed))
        for suspect, match in suspects.items():
            if match is not None and match.chance < CERTAIN:
                looks[suspect[0]].leaks.append(match)
        # A moment with a leak needs no further survey.
        suspects = {suspect: match for suspect, match in suspects.items() if not looks[suspect[0]].leaks}
    return looks


def _survey(
    make: Callable[[], Any], n: int, moments: Sequence[str], signed: Survey
) -> dict[str, list[Match]]:
    """Live through a new survey, and match the evidence of each moment."""
    with make() as app:
        return {
            moment: matches(collected) for moment, collected in live_through(app, n, moments, signed).items()
        }


def _measured_again(
    suspects: dict[Suspect, Match | None], new: dict[str, list[Match]]
) -> dict[Suspect, Match | None]:
    """Add a new survey to what the earlier new ones showed, and keep what is still beyond chance."""
    still_suspected: dict[Suspect, Match | None] = {}
    for moment, pairs in new.items():
        for match in pairs:
            suspect = (moment, match.codes, match.reports)
            if suspect in suspects:
                before = suspects[suspect]
                now = match if before is None else before.and_on(match)
                if now.chance < STILL_SUSPECTED:
                    still_suspected[suspect] = now
    return still_suspected


# What still links ------------------------------------------------------------------------------------------------


def with_key(app: Flask, n: int) -> int:
    """Return how many waiting reports the database and the key link to their codes."""
    store: Store = app.extensions["hushpoll"]
    store.publish(SIGNED, minimum_batch=n)
    codes = invitations.invite(store, SIGNED.hash, 2 * n)[:n]
    records = {hashlib.sha256(code.encode()).digest()[:WIDTH]: code for code in codes}
    for record, code in records.items():
        report = Report(os.urandom(16).hex(), tuple(record))
        assert post(app.test_client(), SIGNED, report.to_bytes(code)).status_code == 201
    with store.read() as tx:
        code_at = {row.place: bytes(row.digest) for row in tx.execute(select(invited))}
        opened = [
            store.waiting.open(row.survey, bytes(row.digest), bytes(row.box))
            for row in tx.execute(select(inbox))
        ]
    return sum(
        code_at[record[1]] == invitations.digest(SIGNED.hash, records[record[0]])
        for record in opened
        if record is not None and record[1] is not None
    )


def with_every_copy(app: Flask, n: int) -> tuple[int, int, int]:
    """Follow copies from before and after each release, as PostgreSQL's WAL or an archive of backups holds them.

    Return the number of releases, the people whose code and report are known to belong to the same one, and the people
    that are linked by guessing within it.
    """
    store: Store = app.extensions["hushpoll"]
    store.publish(SIGNED, minimum_batch=MINIMUM)
    codes = invitations.invite(store, SIGNED.hash, 2 * n)[:n]
    person_of = {hashlib.sha256(code.encode()).digest()[:WIDTH]: i for i, code in enumerate(codes)}
    people = [Person(code, invitations.digest(SIGNED.hash, code), b"") for code in codes]
    place_of = _place_of(store, people)
    earlier: tuple[set[int], set[int]] = (set(), set())
    releases = together = linked = 0
    for came, (record, person) in enumerate(person_of.items(), 1):
        report = Report(os.urandom(16).hex(), tuple(record))
        assert post(app.test_client(), SIGNED, report.to_bytes(codes[person])).status_code == 201
        if came == n:
            closing.close(store, SIGNED.hash)
        elif came % 10 or not seal_due(store):
            continue
        bits = _bits(store)
        with store.read() as tx:
            rows = [person_of[bytes(row.record)] for row in tx.execute(select(sealed_table))]
        spent_now = [person for position, person in sorted(place_of.items()) if is_set(bits, position)]
        new_codes = [person for person in spent_now if person not in earlier[0]]
        new_reports = [person for person in rows if person not in earlier[1]]
        earlier = (set(spent_now), set(rows))
        releases += 1
        together += len(set(new_codes) & set(new_reports))
        linked += sum(a == b for a, b in zip(new_codes, new_reports, strict=True))
    return releases, together, linked


def at_chance(linked: int, releases: int) -> bool:
    """Return whether guessing within each release links as many; chance gives more once in 100 million."""
    return float(poisson.sf(linked - 1, releases)) > CERTAIN


def with_wal(app: Flask, n: int) -> tuple[int, Match]:
    """Read PostgreSQL's own log of a survey's life; return the number of releases, and how codes and reports match.

    It holds what was marked and what was sealed at each release, so the order of releases shows in both. Chance gives
    one right guess per release.
    """
    store: Store = app.extensions["hushpoll"]
    store.publish(SIGNED, minimum_batch=MINIMUM)
    codes = invitations.invite(store, SIGNED.hash, 2 * n)[:n]
    people = [
        Person(code, invitations.digest(SIGNED.hash, code), hashlib.sha256(code.encode()).digest()[:WIDTH])
        for code in codes
    ]
    with store.database.autocommit() as tx:
        start = tx.execute(text("SELECT pg_walfile_name(pg_switch_wal())")).scalar_one()
    releases = 1
    for came, person in enumerate(people, 1):
        report = Report(os.urandom(16).hex(), tuple(person.record))
        assert post(app.test_client(), SIGNED, report.to_bytes(person.code)).status_code == 201
        releases += bool(came % 10 == 0 and seal_due(store))
    closing.close(store, SIGNED.hash)
    with store.database.autocommit() as tx:
        tx.execute(text("SELECT pg_switch_wal()"))
        folder = Path(tx.execute(text("SHOW data_directory")).scalar_one()) / "pg_wal"
    log = b"".join(path.read_bytes() for path in sorted(folder.glob("0*")) if path.name > start)
    marked_order = _marks(log, _bits(store), _place_of(store, people))
    reports = _sorted({i: _places(log, person.record) for i, person in enumerate(people)}, 0)
    # Those who are found in both, so that the places fit.
    both = set(marked_order) & set(reports)
    orders = [[i for i in order if i in both] for order in (marked_order, reports)]
    return releases, _match("marks in the log", "reports in the log", *orders)


# Leaks on purpose ------------------------------------------------------------------------------------------------


def _plain_lock(self: Any, survey: int, digest: bytes, record: bytes, position: int | None = None) -> bytes:
    return bytes(12) + ((1 << 32) - 1 if position is None else position).to_bytes(4) + record


def _plain_open(self: Any, survey: int, digest: bytes, box: bytes) -> tuple[bytes, int | None]:
    return box[16:], int.from_bytes(box[12:16])


def _plain_tag(self: Any, survey: int, code: bytes) -> bytes:
    return code[:16]


_insert = accept._insert


def _insert_and_mark(tx: Any, locks: Any, new_reports: Any) -> None:
    _insert(tx, locks, new_reports)
    for report, position in new_reports:
        bits = marked(spent_bits(tx, report.survey).ljust(100, b"\0"), [position])
        if tx.dialect.name == "postgresql":
            done = tx.execute(update(spent).where(spent.c.survey == report.survey).values(bits=bits)).rowcount
        else:
            tx.execute(delete(spent).where(spent.c.survey == report.survey))
            done = 0
        if not done:
            tx.execute(insert(spent).values(survey=report.survey, bits=bits))


def _insert_and_touch(tx: Any, locks: Any, new_reports: Any) -> None:
    _insert(tx, locks, new_reports)
    for report, _ in new_reports:
        mine = invited.c.digest == report.invitation
        tx.execute(update(invited).where(mine).values(place=invited.c.place))


def _insert_and_move(tx: Any, locks: Any, new_reports: Any) -> None:
    _insert(tx, locks, new_reports)
    last = select(func.max(invited.c.place)).scalar_subquery()
    for report, _ in new_reports:
        tx.execute(update(invited).where(invited.c.digest == report.invitation).values(place=last + 1))


@contextmanager
def planted(leak: str) -> Iterator[None]:
    """Break a protection: reports that wait in plain sight, codes marked one by one, rows with a history.

    With "rewritten" and "moved" reports stay locked and are sealed in random order; only the rows of invitations are
    written, or get another place, as people come.
    """
    inserts = {
        "marked": _insert_and_mark,
        "touched": _insert_and_touch,
        "rewritten": _insert_and_touch,
        "moved": _insert_and_move,
    }
    patches = []
    if leak not in ("rewritten", "moved"):
        patches.append(mock.patch.object(inbox_cipher.InboxCipher, "lock", _plain_lock))
        patches.append(mock.patch.object(inbox_cipher.InboxCipher, "open", _plain_open))
    if leak == "unlocked":
        patches.append(mock.patch.object(inbox_cipher.InboxCipher, "tag", _plain_tag))
    else:
        patches.append(mock.patch.object(accept, "_insert", inserts[leak]))
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


# Rows with a history of their own are PostgreSQL's; a row of SQLite that is written with the same value is not written.
PLANTS = {
    "sqlite": ("unlocked", "marked", "moved"),
    "postgresql": ("unlocked", "marked", "touched", "moved", "rewritten"),
}


def looked_for(leak: str) -> tuple[str, ...]:
    """Return the moments at which a planted leak must show: some show after closing too."""
    return (MOMENTS[0], MOMENTS[-1]) if leak in ("moved", "rewritten") else MOMENTS[:1]


def main() -> int:
    """Print what the attack finds at each moment, and that it finds what is planted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=400)
    parser.add_argument("--no-postgres", action="store_true")
    options = parser.parse_args()
    cluster = None if options.no_postgres else Postgres()
    failed = 0
    try:
        for backend in ("sqlite",) if cluster is None else ("sqlite", "postgresql"):
            failed += _run(backend, cluster, options.people)
    finally:
        if cluster is not None:
            cluster.close()
    return 1 if failed else 0


def empty_stores(backend: str, cluster: Postgres | None) -> Callable[[], Any]:
    """Make empty stores of a kind, one after the other."""

    def make() -> Any:
        if cluster is None or backend == "sqlite":
            return server()
        return server(cluster.create(f"link_{os.urandom(6).hex()}", "migrated"))

    return make


def _print_limits(make: Callable[[], Any], backend: str, n: int) -> None:
    with make() as app:
        print(
            f"{backend:10}  {60} people  database and key       {with_key(app, 60)} linked (as stated)",
            flush=True,
        )
    with make() as app:
        releases, together, linked = with_every_copy(app, n)
    print(
        f"{backend:10}  {n} people  a copy of each release {together} placed in one of {releases} releases (as stated),"
        f" {linked} linked (chance: {releases})",
        flush=True,
    )
    if backend == "postgresql":
        with make() as app:
            releases, match = with_wal(app, n)
        print(
            f"{backend:10}  {n} people  its WAL                {match.people} ordered by release (as stated),"
            f" {match.hits} linked (chance: {releases})",
            flush=True,
        )


def _run(backend: str, cluster: Postgres | None, n: int) -> int:
    failed = 0
    for moment, look in attack(empty_stores(backend, cluster), n).items():
        print(f"{backend:10}  {n} people  {moment:22} {_words(look)}", flush=True)
        failed += bool(look.leaks)
    _print_limits(empty_stores(backend, cluster), backend, n)
    for leak in PLANTS[backend]:
        with planted(leak):
            looks = attack(empty_stores(backend, cluster), n, looked_for(leak))
        for moment, look in looks.items():
            print(f"{backend:10}  {n} people  planted leak {leak:9} {moment} {_words(look)}", flush=True)
            failed += not look.leaks
    return failed


def _words(look: Look) -> str:
    if not look.leaks:
        return f"at chance ({look.pairs} pairs of orders)"
    worst = max(look.leaks, key=lambda leak: leak.hits)
    return f"LINKED: {worst.hits} of {worst.people} ({worst.codes} with {worst.reports})"


if __name__ == "__main__":
    sys.exit(main())
