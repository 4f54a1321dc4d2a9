"""Whoever has all files of the database, at any moment, links no invitation to a report (see tests/linkage.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests import linkage


@pytest.fixture
def make(backend: str, request: pytest.FixtureRequest) -> Callable[[], Any]:
    """Empty stores, one after the other."""
    cluster = request.getfixturevalue("postgres") if backend == "postgresql" else None
    return linkage.fresh(backend, cluster)


@pytest.mark.parametrize("people", [160, pytest.param(400, marks=pytest.mark.long)])
def test_codes_and_reports_are_linked_at_chance_at_every_moment(make: Callable[[], Any], people: int) -> None:
    looks = linkage.attack(make, people)
    assert set(looks) == set(linkage.MOMENTS)
    assert {moment: look.leaks for moment, look in looks.items()} == {
        moment: [] for moment in linkage.MOMENTS
    }
    # Once reports are sealed, the attacker has something to work with.
    assert all(looks[moment].pairs for moment in linkage.MOMENTS[1:])


def test_within_a_group_they_are_linked_at_chance_too(make: Callable[[], Any]) -> None:
    """A report names its group openly, and a code belongs to one; which of its reports a code gave stays unknown."""
    looks = linkage.attack(make, 160, signed=linkage.GROUPED)
    assert {moment: look.leaks for moment, look in looks.items()} == {
        moment: [] for moment in linkage.MOMENTS
    }
    assert all(looks[moment].pairs for moment in linkage.MOMENTS[1:])


def test_planted_leaks_show_in_a_group(make: Callable[[], Any], backend: str) -> None:
    with linkage.planted("unlocked"):
        (look,) = linkage.attack(make, 80, linkage.MOMENTS[:1], linkage.GROUPED).values()
    assert look.leaks


def test_the_same_script_catches_planted_leaks(make: Callable[[], Any], backend: str) -> None:
    for leak in linkage.PLANTS[backend]:
        with linkage.planted(leak):
            looks = linkage.attack(make, 80, linkage.looked_for(leak))
        assert all(look.leaks for look in looks.values()), leak


def test_the_order_of_taking_part_is_attacked_too(make: Callable[[], Any], backend: str) -> None:
    """With reports locked and sealed as they should be, invitations that are written one by one tell who came when."""
    leak = "rewritten" if backend == "postgresql" else "moved"
    with linkage.planted(leak):
        looks = linkage.attack(make, 80, linkage.looked_for(leak))
    assert set(looks) == {"while all wait", "after closing"}
    for look in looks.values():
        assert {one.reports for one in look.leaks} == {linkage.ARRIVAL}
        assert max(one.hits for one in look.leaks) > 70


def test_what_the_threat_model_admits_is_so(make: Callable[[], Any]) -> None:
    """With the key, whatever waits; with a copy of each release, the release but not the person."""
    with make() as app:
        assert linkage.with_key(app, 60) == 60
    with make() as app:
        releases, together, linked = linkage.with_every_copy(app, 160)
    assert (releases >= 2, together) == (True, 160)
    # Each release adds one right guess, as chance does: mean and variance are the number of releases.
    assert linked <= releases + 5 * releases**0.5


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_the_wal_tells_the_release_and_not_the_person(make: Callable[[], Any]) -> None:
    with make() as app:
        releases, found = linkage.with_wal(app, 160)
    assert found.people > 100
    assert found.z > 3  # the order of the releases does show: this is what the threat model says
    assert found.hits <= releases + 5 * releases**0.5
