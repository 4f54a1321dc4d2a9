"""What is deleted is gone from the files, not only from the tables."""

from __future__ import annotations

import time

import pytest
from flask.testing import FlaskClient
from hushpoll_client import HushpollError
from hushpoll_server.collect import closing, scrubbing
from hushpoll_server.collect.retention import delete_due, delete_reports
from hushpoll_server.collect.scrubbing import ADDRESSES, DELETED, SOON, is_left
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.collect.sealing_state import sealing_state
from hushpoll_server.store.schema import inbox, surveys
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import mailings
from hushpoll_server.workspace.invitations import mailing
from psycopg.errors import DiskFull
from sqlalchemy import func, select, text
from sqlalchemy.exc import OperationalError

from tests.linkage import files_of
from tests.prove.crowd import fresh_report
from tests.prove.places import signed_survey
from tests.serving import LONGEST, post


class Sealed:
    """A survey with sealed reports, between which those of another survey lie."""

    def __init__(self, client: FlaskClient, store: Store) -> None:
        self.store = store
        self.survey, self.other = signed_survey("Deleted", width=12), signed_survey("Kept", width=12)
        self.reports = [fresh_report(self.survey) for _ in range(60)]
        store.publish(self.survey, minimum_batch=10)
        store.publish(self.other, minimum_batch=10)
        for number, report in enumerate(self.reports):
            assert post(client, self.survey, report.to_bytes()).status_code == 201
            assert post(client, self.other, fresh_report(self.other).to_bytes()).status_code == 201
            if number % 20 == 19:
                assert seal_due(store)

    def count_in_files(self) -> int:
        """Return how many of the reports are in any file."""
        form = self.store.record_format(self.survey.hash)
        contents = [content for _, content in files_of(self.store)]
        packed = [form.pack(report.reports) for report in self.reports]
        return sum(any(record in content for content in contents) for record in packed)


def test_no_deleted_report_is_left_in_any_file(client: FlaskClient, store: Store) -> None:
    sealed = Sealed(client, store)
    # The same search finds those that are sealed; the others wait, locked.
    assert sealed.count_in_files() == store.sealed_count(sealed.survey.hash) == 50
    assert delete_reports(store, sealed.survey.hash, "test") == 60
    seal_due(store)  # as maintenance does every second; there is nothing to seal
    assert sealed.count_in_files() == 0
    assert store.count(sealed.other.hash) == 60


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_no_deleted_report_survives_a_long_reader(client: FlaskClient, store: Store) -> None:
    """PostgreSQL keeps what an older reader may look at, also in a table that is written anew: it is done again."""
    sealed = Sealed(client, store)
    with store.engine.connect().execution_options(isolation_level="REPEATABLE READ") as reader:
        reader.execute(select(func.count()).select_from(surveys)).scalar_one()
        assert delete_reports(store, sealed.survey.hash, "test") == 60
        assert sealed.count_in_files() == 60
        assert is_left(store, DELETED)
    sealing_state(store).scrub_at.clear()  # as after the pause
    seal_due(store)
    assert not is_left(store, DELETED)
    assert sealed.count_in_files() == 0
    assert store.count(sealed.other.hash) == 60


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_a_full_disk_puts_the_removal_off(
    client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Writing a table anew takes as much room again; the reports are deleted, and their bytes a minute later."""
    sealed = Sealed(client, store)

    def full(*_: object) -> None:
        raise OperationalError("VACUUM", {}, DiskFull("no space left"))

    with monkeypatch.context() as patch:
        patch.setattr(scrubbing, "_dead_rows", full)
        assert delete_reports(store, sealed.survey.hash, "test") == 60
    assert "dead rows were not removed yet: DiskFull" in caplog.text
    assert is_left(store, DELETED)
    sealing_state(store).scrub_at.clear()
    seal_due(store)
    assert sealed.count_in_files() == 0


def test_no_box_of_addresses_is_left_in_any_file_after_closing(store: Store) -> None:
    survey = signed_survey("By mail", invitation=True)
    store.publish(survey)
    boxes = []
    for batch in range(3):  # the box is written anew each time
        mailing.add(store, survey.hash, [f"{batch}-{number}@example.org" for number in range(40)])
        with store.read() as tx:
            boxes.append(bytes(tx.execute(select(mailings.c.box)).scalar_one()))

    def boxes_in_files() -> list[bool]:
        contents = [content for _, content in files_of(store)]
        # Both databases cut long values into pieces.
        pieces = [[box[start : start + 32] for start in range(0, len(box), 512)] for box in boxes]
        return [any(piece in content for piece in mine for content in contents) for mine in pieces]

    assert boxes_in_files()[-1]
    closing.close(store, survey.hash)
    delete_due(store)
    remove_dead_rows(store, ADDRESSES)
    assert not any(boxes_in_files())


def remove_dead_rows(store: Store, what: str) -> None:
    """Remove dead rows, as maintenance does, until nothing is left.

    PostgreSQL counts dead rows a little late, and its own vacuum may hold the table for a moment: what could not be
    removed then stays marked, and is removed at one of the next looks.
    """
    deadline = time.monotonic() + LONGEST
    while True:
        sealing_state(store).scrub_at.clear()
        seal_due(store)
        if not is_left(store, what):
            return
        assert time.monotonic() < deadline, f"{what} for good"
        time.sleep(0.1)


@pytest.mark.postgres
@pytest.mark.parametrize("backend", ["postgresql"])
def test_addresses_left_by_an_autovacuum_are_removed_soon_after_it(store: Store) -> None:
    """The autovacuum holds the table, so that the removal is delayed by a minute."""
    survey = signed_survey("By mail, vacuumed", invitation=True)
    store.publish(survey)
    mailing.add(store, survey.hash, [f"{number}@example.org" for number in range(40)])
    closing.close(store, survey.hash)
    with store.engine.begin() as autovacuum:
        store.database.allow_pauses(autovacuum)
        autovacuum.execute(text("LOCK TABLE mailings IN SHARE UPDATE EXCLUSIVE MODE"))
        delete_due(store)
        seal_due(store)
        assert is_left(store, ADDRESSES), "it is marked, and whoever comes next removes it"
        assert sealing_state(store).scrub_at[ADDRESSES] - time.monotonic() <= SOON
        sealing_state(store).scrub_at[ADDRESSES] = time.monotonic() - 1
        seal_due(store)
        assert sealing_state(store).scrub_at[ADDRESSES] - time.monotonic() > SOON, (
            "a long reader is not asked again and again"
        )
    remove_dead_rows(store, ADDRESSES)
    assert not is_left(store, ADDRESSES)


def test_reports_that_a_cut_off_closing_left_waiting_are_deleted_too(
    client: FlaskClient, store: Store, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = signed_survey("Cut off", width=12)
    store.publish(survey, minimum_batch=10)
    reports = [fresh_report(survey) for _ in range(40)]
    for report in reports:
        assert post(client, survey, report.to_bytes()).status_code == 201
    with store.read() as tx:
        boxes = [bytes(box) for box in tx.execute(select(inbox.c.box)).scalars()]
    with monkeypatch.context() as patch:
        patch.setattr(closing, "seal_due", lambda *_: 0)
        closing.close(store, survey.hash)
    if backend == "postgresql":
        assert all(any(box in content for _, content in files_of(store)) for box in boxes)
    assert delete_reports(store, survey.hash, "test") == 40
    assert store.count(survey.hash) == 0
    assert not any(box in content for _, content in files_of(store) for box in boxes)
    # Each device that sends again learns that its report had arrived.
    assert {post(client, survey, report.to_bytes()).status_code for report in reports} == {200}


def test_a_survey_whose_reports_were_deleted_is_not_opened_again(store: Store) -> None:
    """Its pages say that reports are deleted, and new ones could never be deleted."""
    survey = signed_survey("Deleted")
    store.publish(survey)
    delete_reports(store, survey.hash, "test")
    with pytest.raises(HushpollError, match=r"were deleted on \d{4}-\d\d-\d\d.*new survey"):
        closing.reopen(store, survey.hash)
    state = store.state(survey.hash)
    assert state is not None
    assert not state.is_open
