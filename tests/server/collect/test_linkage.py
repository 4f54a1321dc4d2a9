"""All files of the database, at any moment, link no invitation to a report (see tests/linkage.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests import linkage
from tests.serving import ON_ONE_DATABASE


@pytest.fixture
def make(backend: str, request: pytest.FixtureRequest) -> Callable[[], Any]:
    """Empty stores, one after the other."""
    cluster = request.getfixturevalue("postgres") if backend == "postgresql" else None
    return linkage.empty_stores(backend, cluster)


@pytest.mark.parametrize("backend", ON_ONE_DATABASE)
@pytest.mark.parametrize("people", [160, pytest.param(400, marks=pytest.mark.long)])
def test_codes_and_reports_are_linked_at_chance_at_every_moment(make: Callable[[], Any], people: int) -> None:
    looks = linkage.attack(make, people)
    assert set(looks) == set(linkage.MOMENTS)
    assert {moment: look.leaks for moment, look in looks.items()} == {
        moment: [] for moment in linkage.MOMENTS
    }
    # Once reports are sealed, the attacker has something to work with.
    assert all(looks[moment].pairs for moment in linkage.MOMENTS[1:])


@pytest.mark.parametrize("backend", ON_ONE_DATABASE)
def test_within_a_group_they_are_linked_at_chance_too(make: Callable[[], Any]) -> None:
    """A report names its group openly, and a code belongs to one; which of its reports a code gave stays unknown."""
    looks = linkage.attack(make, 160, signed=linkage.GROUPED)
    assert {moment: look.leaks for moment, look in looks.items()} == {
        moment: [] for moment in linkage.MOMENTS
    }
    assert all(looks[moment].pairs for moment in linkage.MOMENTS[1:])


def pretended(seed: int, leak: float) -> Callable[..., dict[str, linkage.Evidence]]:
    """Surveys whose codes and reports are in random order, except for a share of people in order of arrival."""
    dice = np.random.default_rng(seed)

    def order(n: int) -> list[int]:
        scores = np.where(dice.random(n) < leak, np.arange(n), dice.random(n) * n)
        return [int(person) for person in np.argsort(scores)]

    def live(_: Any, n: int, moments: Sequence[str], signed: Any) -> dict[str, linkage.Evidence]:
        return {
            moment: linkage.Evidence(
                {name: order(n) for name in "abc"}, {name: order(n) for name in "xyz"}, came=n
            )
            for moment in moments
        }

    return live


def test_chance_is_no_leak_and_a_slight_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2,400 pairs at chance none is called a leak, though many are suspected; half of the people in order are."""
    surveys = 0

    @contextmanager
    def make_survey() -> Iterator[None]:
        nonlocal surveys
        surveys += 1
        yield

    monkeypatch.setattr(linkage, "live_through", pretended(1, 0.0))
    for _ in range(40):
        assert not any(look.leaks for look in linkage.attack(make_survey, 160).values())
    assert surveys > 50, surveys
    monkeypatch.setattr(linkage, "live_through", pretended(2, 0.5))
    for _ in range(5):
        looks = linkage.attack(make_survey, 160)
        assert all(linkage.ARRIVAL in {leak.reports for leak in look.leaks} for look in looks.values())


@pytest.mark.parametrize("backend", ON_ONE_DATABASE)
def test_planted_leaks_show_in_a_group(make: Callable[[], Any], backend: str) -> None:
    with linkage.planted("unlocked"):
        (look,) = linkage.attack(make, 80, linkage.MOMENTS[:1], linkage.GROUPED).values()
    assert look.leaks


@pytest.mark.parametrize(
    ("backend", "leaks"),
    [
        ("sqlite", linkage.PLANTS["sqlite"]),
        # "rewritten" is planted below.
        pytest.param("postgresql", ("touched",), marks=pytest.mark.postgres),
        pytest.param(
            "postgresql", linkage.PLANTS["postgresql"], marks=[pytest.mark.postgres, pytest.mark.long]
        ),
    ],
)
def test_the_same_script_catches_planted_leaks(make: Callable[[], Any], leaks: tuple[str, ...]) -> None:
    for leak in leaks:
        with linkage.planted(leak):
            looks = linkage.attack(make, 80, linkage.looked_for(leak))
        assert all(look.leaks for look in looks.values()), leak


def test_the_order_of_taking_part_is_attacked_too(make: Callable[[], Any], backend: str) -> None:
    """With reports locked and sealed as they should be, invitations that are written one by one show who came when."""
    leak = "rewritten" if backend == "postgresql" else "moved"
    with linkage.planted(leak):
        looks = linkage.attack(make, 80, linkage.looked_for(leak))
    assert set(looks) == {"while all wait", "after closing"}
    for look in looks.values():
        assert {match.reports for match in look.leaks} == {linkage.ARRIVAL}
        assert max(match.hits for match in look.leaks) > 70


def test_what_the_threat_model_admits_is_so(make: Callable[[], Any]) -> None:
    """With the key, whatever waits; with a copy of each release, the release but not the person."""
    with make() as app:
        assert linkage.with_key(app, 60) == 60
    with make() as app:
        releases, together, linked = linkage.with_every_copy(app, 160)
    assert (releases >= 2, together) == (True, 160)
    # Each release adds one right guess, as chance does.
    assert linkage.at_chance(linked, releases)
    assert not linkage.at_chance(25, releases), "a sixth of the people would be noticed"


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_the_wal_shows_the_release_and_not_the_person(make: Callable[[], Any]) -> None:
    """The order of the releases shows by z of about 6, at times less than 3 on one survey and never on six."""
    releases, pooled = 0, None
    while pooled is None or (pooled.z < 3 and pooled.surveys < 6):
        with make() as app:
            more, match = linkage.with_wal(app, 160)
        assert match.people > 90
        releases, pooled = releases + more, match if pooled is None else pooled.and_on(match)
    assert pooled.z > 3  # this is what the threat model says
    assert linkage.at_chance(pooled.hits, releases)
