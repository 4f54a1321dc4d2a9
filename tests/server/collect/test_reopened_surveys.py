"""The last few reports of a survey that was opened again: nothing in the files distinguishes them from the others."""

from __future__ import annotations

from flask.testing import FlaskClient
from hushpoll_server.collect import closing
from hushpoll_server.store.schema import sealed
from hushpoll_server.store.surveys import Store
from sqlalchemy import select

from tests.linkage import files_of
from tests.prove.crowd import fresh_report
from tests.prove.places import signed_survey
from tests.serving import post


def keys_and_records(store: Store) -> dict[bytes, bytes]:
    with store.read() as tx:
        return {bytes(row.key): bytes(row.record) for row in tx.execute(select(sealed))}


def test_one_late_report_is_one_of_fifty_in_the_files_too(client: FlaskClient, store: Store) -> None:
    """Old copies of the other reports in free space would show it: each record is in the files once."""
    survey = signed_survey("Opened again", width=12)
    store.publish(survey)
    for _ in range(1000):
        assert post(client, survey, fresh_report(survey).to_bytes()).status_code == 201
    closing.close(store, survey.hash)
    before = keys_and_records(store)
    closing.reopen(store, survey.hash)
    late = fresh_report(survey)
    assert post(client, survey, late.to_bytes()).status_code == 201
    closing.close(store, survey.hash)
    written = [record for key, record in keys_and_records(store).items() if key not in before]
    contents = b"".join(content for name, content in files_of(store) if name != "dump")
    suspects = [record for record in written if contents.count(record) == 1]
    assert store.record_format(survey.hash).pack(late.reports) in suspects
    assert len(suspects) == len(written) == 50
