"""Groups by link on the server: taken, refused, invited, sealed within each group; on the command line and on paper."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Report, Survey
from hushpoll_server.collect import closing, invitations
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.people import accounts, tokens
from hushpoll_server.store.schema import sealed, seen
from hushpoll_server.store.surveys import Store
from sqlalchemy import select, text

from tests.serving import DRAFT, post, post_batch, used_codes, waiting_records

NAMES = ["Science", "Arts", "Law"]
GROUPED = Survey.from_draft({**DRAFT, "groups": NAMES})
INVITED = Survey.from_draft({**DRAFT, "groups": NAMES, "settings": {"invitation": True}})


def new_report(group: int, survey: Survey = GROUPED) -> Report:
    return Report.new(survey, [0] * len(survey.questions), group=group)


def arrive(client: FlaskClient, group: int, n: int, survey: Survey = GROUPED) -> None:
    lines = b"\n".join(new_report(group, survey).to_bytes() for _ in range(n))
    assert post_batch(client, survey, lines).status_code == 201


def sealed_in(store: Store, survey: Survey = GROUPED) -> dict[int, int]:
    """Return how many sealed reports each group has."""
    published = store.published(survey.hash)
    assert published is not None
    with store.read() as tx:
        rows = tx.execute(select(sealed.c.record).where(sealed.c.survey == published.number)).scalars()
        return dict(sorted(Counter(published.format.unpack(bytes(row))[0] for row in rows).items()))


# Taken and refused ----------------------------------------------------------------------------------------------


def test_the_group_is_stored_with_the_report(client: FlaskClient, store: Store) -> None:
    store.publish(GROUPED)
    report = new_report(2)
    assert post(client, GROUPED, report.to_bytes()).status_code == 201
    assert post(client, GROUPED, report.to_bytes()).status_code == 200
    spaced = json.dumps({"id": report.id, "reports": list(report.reports), "group": 2}, indent=1)
    assert post(client, GROUPED, spaced.encode()).status_code == 200
    (record,) = waiting_records(store, GROUPED.hash).values()
    assert record == store.record_format(GROUPED.hash).pack(report.values)
    other = Report(report.id, report.reports, 1)
    assert post(client, GROUPED, other.to_bytes()).status_code == 409


@pytest.mark.parametrize("group", [None, 3, -1, "0", True, 1.5, [0], "gone"])
def test_a_wrong_group_is_named(client: FlaskClient, store: Store, group: object) -> None:
    store.publish(GROUPED)
    value: dict[str, Any] = {"id": "0" * 32, "reports": [0, 0, 0], "group": group}
    if group == "gone":
        del value["group"]
    answer = post(client, GROUPED, json.dumps(value).encode())
    assert answer.status_code == 422
    assert (answer.mimetype, answer.json["item"]) == (
        "application/problem+json",
        "body" if group == 1.5 else "group",
    )
    line = post_batch(client, GROUPED, new_report(0).to_bytes() + b"\n" + json.dumps(value).encode())
    assert (line.status_code, line.json["line"]) == (422, 2)
    assert store.count(GROUPED.hash) == 0


def test_a_group_of_a_survey_without_groups_is_refused(
    client: FlaskClient, store: Store, survey: Survey
) -> None:
    value = {"id": "0" * 32, "reports": [0, 0, 0], "group": 0}
    answer = post(client, survey, json.dumps(value).encode())
    assert (answer.status_code, answer.json["item"]) == (422, "group")
    assert "this survey has no groups; leave it out" in answer.json["detail"]


# Invitations ----------------------------------------------------------------------------------------------------


def test_a_code_belongs_to_its_group(client: FlaskClient, store: Store) -> None:
    store.publish(INVITED)
    (code,) = invitations.invite(store, INVITED.hash, 1, 1)

    def check(**group: object) -> Any:
        path = f"/api/surveys/{INVITED.hash}/invitations/check"
        return client.post(path, json={"invitation": code, **group})

    assert check(group=1).status_code == 204
    assert check(group=0).status_code == 403
    for group in ({}, {"group": None}, {"group": 3}, {"group": "1"}, {"group": -1}):
        answer = check(**group)
        assert (answer.status_code, answer.json["item"]) == (422, "group"), group
    assert post(client, INVITED, new_report(0, INVITED).to_bytes(code)).status_code == 403
    assert post(client, INVITED, new_report(1, INVITED).to_bytes(code)).status_code == 201
    assert post(client, INVITED, new_report(1, INVITED).to_bytes(code)).status_code == 403
    assert used_codes(store, INVITED.hash) == (1, 1)


def test_no_column_holds_the_group_of_a_code(client: FlaskClient, store: Store) -> None:
    store.publish(INVITED)
    codes = {group: invitations.invite(store, INVITED.hash, 5, group) for group in (0, 1)}
    with store.read() as tx:
        columns = tx.execute(text("SELECT * FROM invitations")).keys()
    assert set(columns) == {"survey", "digest", "place"}
    digests = {invitations.digest(INVITED.hash, code, group) for group in codes for code in codes[group]}
    assert len(digests) == 10


# Sealing --------------------------------------------------------------------------------------------------------


def test_the_rule_holds_within_each_group(client: FlaskClient, store: Store) -> None:
    """A hundred reports in all are no release; a hundred of one group are, and none of another group goes along."""
    store.publish(GROUPED)
    arrive(client, 0, 99)
    arrive(client, 1, 60)
    assert seal_due(store) == 0
    arrive(client, 0, 1)
    assert seal_due(store) == 50
    assert sealed_in(store) == {0: 50}
    arrive(client, 1, 45)
    arrive(client, 2, 3)
    assert seal_due(store) == 55
    assert sealed_in(store) == {0: 50, 1: 55}
    waiting = Counter(record[0] for record in waiting_records(store, GROUPED.hash).values())
    assert waiting == {0: 50, 1: 50, 2: 3}
    closing.close(store, GROUPED.hash)
    assert sealed_in(store) == {0: 100, 1: 105, 2: 3}
    assert waiting_records(store, GROUPED.hash) == {}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
def test_every_release_of_a_group_has_at_least_the_minimum(
    client: FlaskClient, store: Store, seed: int
) -> None:
    """Random arrivals and looks: while open, a group's sealed reports grow by the minimum or more, or not at all."""
    least, before = 5, Counter[int]()
    store.publish(GROUPED, minimum_batch=least)
    came = Counter[int]()
    for byte in np.random.default_rng(seed).bytes(60):
        group, n = byte % 3, 1 + byte // 3 % 7
        arrive(client, group, n)
        came[group] += n
        seal_due(store)
        now = Counter(sealed_in(store))
        for group in range(3):
            grown = now[group] - before[group]
            assert grown == 0 or grown >= least
            waits = came[group] - now[group]
            assert waits < 2 * least
            assert waits >= least or now[group] == 0
        before = now
    closing.close(store, GROUPED.hash)
    assert sealed_in(store) == dict(sorted(came.items()))


def test_the_last_few_of_a_group_hide_among_its_own(client: FlaskClient, store: Store, backend: str) -> None:
    """A survey that is opened again: five late reports of one group are sealed again with forty-five of that group."""
    store.publish(GROUPED)
    arrive(client, 0, 60)
    arrive(client, 1, 60)
    closing.close(store, GROUPED.hash)
    with store.read() as tx:
        before = {bytes(row.key) for row in tx.execute(select(sealed))}
    closing.reopen(store, GROUPED.hash)
    arrive(client, 1, 5)
    closing.close(store, GROUPED.hash)
    with store.read() as tx:
        rows = {bytes(row.key): bytes(row.record)[0] for row in tx.execute(select(sealed))}
        assert len(tx.execute(select(seen)).all()) == 125
        if backend == "postgresql":
            sizes = tx.execute(text("SELECT count(*) FROM sealed GROUP BY xmin::text")).scalars().all()
            assert sorted(sizes) == [50, 75]
    new_groups = [group for key, group in rows.items() if key not in before]
    assert new_groups == [1] * 50
    assert sealed_in(store) == {0: 60, 1: 65}


# On the command line --------------------------------------------------------------------------------------------


def test_check_publish_and_invite(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "survey.json"
    path.write_text(json.dumps({**DRAFT, "groups": NAMES, "settings": {"invitation": True}}))
    assert json.loads(run("survey", "check", str(path), "--json")[1])["groups"] == NAMES
    assert "Science, Arts, Law" in run("survey", "check", str(path))[1]
    published = json.loads(run("survey", "publish", str(path), "--json")[1])
    start = f"http://127.0.0.1:8123/s/{INVITED.hash[:12]}#{INVITED.hash}"
    assert published["url"] == start
    assert published["links"] == {name: f"{start}.g{index}" for index, name in enumerate(NAMES)}
    assert f"{start}.g1  for Arts" in run("survey", "publish", str(path))[1]
    invited = ("survey", "invite", INVITED.hash[:12], "-n", "2")
    status, out, _ = run(*invited, "--group", "Arts")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == 0
    assert [row["url"] for row in rows] == [f"{start}.g1.{row['code']}" for row in rows]
    invited_group = json.loads(run(*invited, "--group", "Law", "--json")[1])
    assert invited_group["group"] == "Law"
    for more, message in (
        ((), "--group: which group is not said; name one of Science, Arts, Law"),
        (("--group", "Medicine"), '--group: "Medicine" is none of them; name one of Science, Arts, Law'),
    ):
        status, _, err = run(*invited, *more)
        assert (status, message in err) == (2, True), err


def test_a_group_for_a_survey_without_groups(run, store: Store) -> None:  # type: ignore[no-untyped-def]
    plain = Survey.from_draft({**DRAFT, "settings": {"invitation": True}})
    store.publish(plain)
    command = ["survey", "invite", plain.hash[:12], "-n", "2", "--group", "Arts"]
    status, _, err = run(*command)
    assert status == 2
    assert "--group: this survey has none; leave the group out" in err


# On paper -------------------------------------------------------------------------------------------------------


def test_the_paper_form_asks_for_the_group_and_sends_it(client: FlaskClient, store: Store) -> None:
    coins = {"id": "q", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "truth": "3/4"}}
    survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [coins], "groups": ["A & B", "C"]})
    store.publish(survey)
    address = f"/s/{survey.hash}/paper"
    group_page = client.get(address).text
    assert "Which group do your answers belong to?" in group_page
    assert '<a href="?group=0&amp;lang=en">A &amp; B</a>' in group_page
    assert "<form" not in group_page
    for wrong in ("?group=2", "?group=x", "?group=-1", "?group=0000001"):
        assert "<form" not in client.get(address + wrong).text
    form_page = client.get(f"{address}?group=1&lang=fr").text
    assert "Vos réponses seront comptées avec" in form_page
    assert "?lang=de&amp;group=1" in form_page
    name = re.search('name="id" value="([0-9a-f]{32})"', form_page)
    assert name is not None
    form = {"id": name[1], "q0": "1", "mixed": "y"}
    assert client.post(address, data=form).status_code == 422
    assert client.post(f"{address}?group=1", data=form).status_code == 201
    assert client.post(f"{address}?group=1", data=form).status_code == 200
    assert client.post(f"{address}?group=0", data=form).status_code == 409
    assert list(waiting_records(store, survey.hash).values()) == [b"\x01\x01"]


def test_the_api_makes_codes_for_a_group(app: Flask, store: Store) -> None:
    accounts.add_user(store, "maker", "designer", actor="test")
    token = tokens.make(store, "maker", "codes", ["invite"], actor="test")
    store.publish(INVITED, "maker")
    client, headers = app.test_client(), {"Authorization": f"Bearer {token}"}
    address = f"/api/surveys/{INVITED.hash}/invitations"
    response = client.post(address, json={"number": 2, "group": "Arts"}, headers=headers)
    assert response.status_code == 201
    assert all(
        f".g1.{invitation['code']}" in invitation["url"] for invitation in response.json["invitations"]
    )
    for body in (
        {"number": 2},
        {"number": 2, "group": "x"},
        {"number": 2, "group": 1},
        {"number": 2, "g": "Arts"},
    ):
        assert client.post(address, json=body, headers=headers).status_code == 422, body
