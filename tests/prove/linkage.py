"""The linkage attacks at every moment of a survey's life, as `python -m tests.linkage` prints them."""

from __future__ import annotations

from collections.abc import Callable

from tests import linkage
from tests.serving import Postgres

from .places import BACKENDS


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Let 400 people come singly to each kind of database, and plant leaks that must be caught."""
    people, pairs, planted = max(120, round(400 * size)), 0, 0
    for backend in BACKENDS:
        make = linkage.empty_stores(backend, cluster)
        for moment, look in linkage.attack(make, people).items():
            tell(f"{backend} {moment}")
            assert not look.leaks, f"{backend} {moment}: {look.leaks[0]}"
            pairs += look.pairs
        for leak in linkage.PLANTS[backend]:
            with linkage.planted(leak):
                looks = linkage.attack(make, people, linkage.looked_for(leak))
            for moment, look in looks.items():
                assert look.leaks, f"{backend} {moment}: the planted leak {leak} was not caught"
            tell(f"{backend} planted {leak}")
            planted += 1
        with make() as app:
            assert linkage.with_key(app, 60) == 60
        with make() as app:
            releases, together, linked = linkage.with_every_copy(app, people)
            assert together == people
            assert linkage.at_chance(linked, releases), f"copies of each release link {linked} of {people}"
    with linkage.empty_stores("postgresql", cluster)() as app:
        releases, log = linkage.with_wal(app, people)
        assert linkage.at_chance(log.hits, releases), f"PostgreSQL's WAL links {log.hits} of {people}"
    return (
        f"{people} people, {len(linkage.MOMENTS)} moments, both databases: {pairs} pairs of orders at chance;"
        f" {planted} planted leaks caught; with the key 60 of 60 waiting, with a copy of each release {linked}"
        f" of {people} and with PostgreSQL's WAL {log.hits} of {log.people}, where chance gives {releases} (as stated)"
    )
