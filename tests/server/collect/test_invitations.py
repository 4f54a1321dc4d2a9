"""Invitations: one report each, kept only as hashes, spent together with the report or not at all."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from hushpoll_client import HushpollError, Survey
from hushpoll_client.delivery.link import survey_link
from hushpoll_server.collect import closing, invitations
from hushpoll_server.collect.report_writer import Writer
from hushpoll_server.security import Throttle
from hushpoll_server.store.schema import invitations as table
from hushpoll_server.store.surveys import Store
from sqlalchemy import select

from tests.serving import make_survey, new_report, post, used_codes


@pytest.fixture
def invited(store: Store) -> Survey:
    """A survey that asks for an invitation."""
    survey = make_survey(invitation=True)
    store.publish(survey)
    return survey


def test_codes_are_stored_only_as_hashes(store: Store, invited: Survey, backend: str) -> None:
    codes = invitations.invite(store, invited.hash, 200)
    assert len(set(codes)) == 200
    assert all(len(code) == 20 and code.isalnum() for code in codes)
    with store.read() as tx:
        digests = {bytes(row.digest) for row in tx.execute(select(table))}
    assert digests == {invitations.digest(invited.hash, code) for code in codes}
    if backend == "sqlite":
        files = b"".join(path.read_bytes() for path in Path(store.config.data).iterdir())
        assert not [code for code in codes if code.encode() in files]


def test_one_report_each(client: FlaskClient, store: Store, invited: Survey) -> None:
    (code,) = invitations.invite(store, invited.hash, 1)
    report = new_report(invited).to_bytes(code)
    assert post(client, invited, report).status_code == 201
    assert used_codes(store, invited.hash) == (1, 1)
    assert post(client, invited, report).status_code == 200
    assert post(client, invited, new_report(invited).to_bytes(code)).status_code == 403
    assert store.count(invited.hash) == 1


def test_a_code_is_good_for_its_own_survey_only(client: FlaskClient, store: Store, invited: Survey) -> None:
    other = make_survey("Other", invitation=True)
    store.publish(other)
    (code,) = invitations.invite(store, other.hash, 1)
    assert post(client, invited, new_report(invited).to_bytes(code)).status_code == 403
    assert post(client, other, new_report(other).to_bytes(code)).status_code == 201


def test_a_race_for_one_code_has_one_winner(client: FlaskClient, store: Store, invited: Survey) -> None:
    for _ in range(5):
        (code,) = invitations.invite(store, invited.hash, 1)
        statuses: list[int] = []

        def send(code: str = code, statuses: list[int] = statuses) -> None:
            body = new_report(invited).to_bytes(code)
            statuses.append(post(client.application.test_client(), invited, body).status_code)

        threads = [threading.Thread(target=send) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(statuses) == [201] + [403] * 5
    assert store.count(invited.hash) == 5


def test_two_nodes_and_one_code(store: Store, invited: Survey) -> None:
    """Two writers, as on two nodes: one stores, the other refuses; the same report sent to both is stored once."""
    other = Store(store.config, Writer)
    try:
        for _ in range(5):
            (code,) = invitations.invite(store, invited.hash, 1)
            results = _both(store, other, [_incoming(store, invited, code) for _ in range(2)])
            assert sorted(results) == [201, 403]
            (code,) = invitations.invite(store, invited.hash, 1)
            results = _both(store, other, [_incoming(store, invited, code)] * 2)
            assert sorted(results) == [200, 201]
    finally:
        other.close()
    assert store.count(invited.hash) == 10


def _incoming(store: Store, survey: Survey, code: str):  # type: ignore[no-untyped-def]
    from hushpoll_server.collect.accept import Incoming

    published = store.published(survey.hash)
    assert published is not None
    report = new_report(survey)
    return Incoming(
        published.number,
        store.id_digest(survey.hash, bytes.fromhex(report.id)),
        published.format.pack(report.reports),
        invitations.digest(survey.hash, code),
    )


def _both(first: Store, second: Store, incoming: list) -> list[int]:  # type: ignore[type-arg]
    results: list[int] = []
    start = threading.Barrier(2)

    def send(store: Store, report: object) -> None:
        start.wait()
        results.append(store.writer.submit([report])[0].value)

    threads = [
        threading.Thread(target=send, args=pair) for pair in zip((first, second), incoming, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_inviting_with_wrong_arguments_is_an_error(store: Store, invited: Survey) -> None:
    plain = make_survey("No invitations")
    store.publish(plain)
    with pytest.raises(HushpollError, match="asks for no invitation"):
        invitations.invite(store, plain.hash, 1)
    with pytest.raises(HushpollError, match="not known"):
        invitations.invite(store, "0" * 64, 1)
    for n in (0, -1, 100_001):
        with pytest.raises(HushpollError, match=str(n)):
            invitations.invite(store, invited.hash, n)


def test_the_code_is_in_the_fragment_of_the_link() -> None:
    link = survey_link("https://example.org", "ab" * 32, "code")
    assert link == f"https://example.org/s/{'ab' * 6}#{'ab' * 32}.code"


def looked_up(client: FlaskClient, survey: Survey, code: str) -> int:
    answer = client.post(f"/api/surveys/{survey.hash}/invitations/check", json={"invitation": code})
    assert answer.headers["Cache-Control"] == "no-store"
    return answer.status_code


def test_a_code_can_be_looked_up_before_anything_is_typed(
    client: FlaskClient, store: Store, invited: Survey
) -> None:
    code, other = invitations.invite(store, invited.hash, 2)
    assert looked_up(client, invited, code) == 204
    assert looked_up(client, invited, "0" * 20) == 403
    assert looked_up(client, invited, "\N{SNOWMAN}" * 60) == 403
    assert invitations.counts(store, invited.hash) == (2, 0)
    assert post(client, invited, new_report(invited).to_bytes(code)).status_code == 201
    # Until it is sealed nothing shows whether and when a code was used; a second report is refused all the same.
    assert looked_up(client, invited, code) == 204
    assert invitations.counts(store, invited.hash) == (2, 0)
    assert post(client, invited, new_report(invited).to_bytes(code)).status_code == 403
    closing.close(store, invited.hash)
    assert store.sealed_count(invited.hash) == 1
    assert (looked_up(client, invited, code), looked_up(client, invited, other)) == (403, 204)
    assert invitations.counts(store, invited.hash) == (2, 1)
    unknown = client.post(f"/api/surveys/{'0' * 64}/invitations/check", json={"invitation": code})
    assert unknown.status_code == 404


def test_a_code_in_the_path_is_refused_with_the_address_to_use(
    client: FlaskClient, store: Store, invited: Survey
) -> None:
    """Addresses end up in histories and in the logs of proxies."""
    (code,) = invitations.invite(store, invited.hash, 1)
    answer = client.get(f"/api/surveys/{invited.hash}/invitations/{code}")
    assert answer.status_code == 410
    assert "POST" in answer.json["detail"]
    assert "invitations/check" in answer.json["detail"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"invitation": 1}', 422),
        (b'{"invitation": ""}', 422),
        (b'{"invitation": "a", "group": 0}', 422),
        (b'{"invitation": "a", "invitation": "b"}', 422),
        (b'{"invitation": "a", "more": 1}', 422),
        (b'{"invitation": "' + b"a" * 65 + b'"}', 422),
        (b'{"invitation": "' + b"a" * 2000 + b'"}', 413),
    ],
)
@pytest.mark.parametrize("backend", ["sqlite"])
def test_a_check_that_is_not_one_is_refused(
    client: FlaskClient, invited: Survey, body: bytes, status: int
) -> None:
    path = f"/api/surveys/{invited.hash}/invitations/check"
    assert client.post(path, data=body, content_type="application/json").status_code == status
    assert client.post(path, data=body, content_type="text/plain").status_code == 415


@pytest.mark.parametrize("backend", ["sqlite"])
def test_looking_codes_up_stores_nothing_and_is_paced(
    client: FlaskClient, store: Store, invited: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = make_survey("No invitations")
    store.publish(plain)
    assert looked_up(client, plain, "x") == 404
    (code,) = invitations.invite(store, invited.hash, 1)
    store.database.empty_log()
    before = store.database.path.read_bytes()
    monkeypatch.setitem(client.application.extensions, "hushpoll_code_checks", Throttle(5))
    assert [looked_up(client, invited, code) for _ in range(5)] == [204] * 5
    refused = client.post(f"/api/surveys/{invited.hash}/invitations/check", json={"invitation": code})
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0
    store.database.empty_log()
    assert store.database.path.read_bytes() == before


def test_more_invitations_leave_the_spent_ones_spent(
    client: FlaskClient, store: Store, invited: Survey
) -> None:
    first = invitations.invite(store, invited.hash, 9)
    for code in first[:5]:
        assert post(client, invited, new_report(invited).to_bytes(code)).status_code == 201
    more = invitations.invite(store, invited.hash, 30)
    assert {looked_up(client, invited, code) for code in first} == {204}
    for code in first[:5]:
        assert post(client, invited, new_report(invited).to_bytes(code)).status_code == 403
    assert {looked_up(client, invited, code) for code in more} == {204}
    with store.read() as tx:
        assert sorted(tx.execute(select(table.c.place)).scalars()) == list(range(39))
    assert used_codes(store, invited.hash) == (39, 5)
