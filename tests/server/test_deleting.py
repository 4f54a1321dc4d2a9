"""What is deleted is gone from the files, not only from the tables."""

from __future__ import annotations

from flask.testing import FlaskClient
from hushpoll_server.collect.retention import delete_reports
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.store.surveys import Store

from tests.linkage import files_of
from tests.prove.crowd import fresh_report
from tests.prove.places import signed_survey
from tests.serving import post


def test_no_deleted_report_is_left_in_any_file(client: FlaskClient, store: Store) -> None:
    survey, other = signed_survey("Deleted", width=12), signed_survey("Kept", width=12)
    reports = [fresh_report(survey) for _ in range(60)]
    form = store.record_format(survey.hash) if store.publish(survey, minimum_batch=10) else None
    assert form is not None
    store.publish(other, minimum_batch=10)
    # Those of another survey lie between them and stay.
    for number, report in enumerate(reports):
        assert post(client, survey, report.to_bytes()).status_code == 201
        assert post(client, other, fresh_report(other).to_bytes()).status_code == 201
        if number % 20 == 19:
            assert seal_due(store)
    sealed = store.sealed_count(survey.hash)

    def found() -> int:
        contents = [content for _, content in files_of(store)]
        return sum(any(form.pack(report.reports) in content for content in contents) for report in reports)

    assert found() == sealed == 50  # the same search finds those that are sealed; the others wait, locked
    assert delete_reports(store, survey.hash, "test") == 60
    seal_due(store)  # as the keeper does every second; there is nothing to seal
    assert found() == 0
    assert store.count(other.hash) == 60
