"""Reading results writes nothing, and stored counts serve pages: strangers cannot make the server read every report."""

from __future__ import annotations

import json
import secrets

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.results.survey import report
from hushpoll_analysis.sample.stored_tally import GroupCounts
from hushpoll_client import Report, Survey
from hushpoll_server.collect import closing
from hushpoll_server.collect import seal as sealing
from hushpoll_server.results.counts_cache import CountsCache
from hushpoll_server.store.surveys import Store

from tests.client.documents import question
from tests.server.reporting import fill, signed_in, statements_that_write
from tests.serving import make_survey, post_batch, sealed_records

GROUPS = ["Science", "Arts", "Law"]
SIZES = {"Science": 400, "Arts": 300, "Law": 200}
PAGES = ["/results/{0}", "/results/{0}/embed", "/results/{0}/report.json", "/api/surveys/{0}/results"]


@pytest.fixture
def backend() -> str:
    return "sqlite"


@pytest.fixture
def sized(client: FlaskClient, store: Store) -> Survey:
    """A closed survey with public results and stated group sizes."""
    questions = [question("cheated"), question("reason")]
    survey = Survey.from_draft({"hushpoll": 1, "title": "By group", "questions": questions, "groups": GROUPS})
    store.publish(survey, "ada", results_public=True)
    lines = [
        json.dumps({"id": secrets.token_hex(16), "reports": [number % 2, number % 3], "group": group})
        for group, n in enumerate((120, 90, 60))
        for number in range(n)
    ]
    assert post_batch(client, survey, "\n".join(lines).encode()).status_code == 201
    closing.close(store, survey.hash)
    store.set_group_sizes(survey.hash, SIZES)
    return survey


def test_pages_of_a_survey_with_group_sizes_read_no_record(
    client: FlaskClient, store: Store, sized: Survey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "record_parts", lambda *_: pytest.fail("every sealed report was read"))
    page = client.get(f"/results/{sized.hash}")
    assert page.status_code == 200
    value = client.get(f"/api/surveys/{sized.hash}/results").json
    assert value["n"] == 270
    by_group = client.get(f"/api/surveys/{sized.hash}/results?by=group").json
    assert by_group["group_sizes"] == {"Science": 120, "Arts": 90, "Law": 60}
    assert client.get(f"/results/{sized.hash}/cheated.svg").status_code == 200


def test_reports_that_counts_do_not_suffice_for_are_read_once_for_all_strangers(
    client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports of a question with several answers speak of several options: with group sizes they have to be read."""
    several = {"id": "used", "kind": "multiple", "text": "Which?", "options": ["a", "b", "c", "d"]}
    questions = [question("cheated"), {**several, "mechanism": {"name": "sampled", "epsilon": 2.0, "ask": 2}}]
    draft = {"hushpoll": 1, "title": "Several", "questions": questions, "groups": GROUPS[:2]}
    survey = Survey.from_draft(draft)
    assert not GroupCounts.suffices(survey, None)
    store.publish(survey, "ada", results_public=True)
    lines = [Report.new(survey, [0, [0]], group=number % 2).to_bytes() for number in range(120)]
    assert post_batch(client, survey, b"\n".join(lines)).status_code == 201
    closing.close(store, survey.hash)
    store.set_group_sizes(survey.hash, {"Science": 400, "Arts": 300})
    paths = [
        f"/results/{survey.hash}",
        f"/results/{survey.hash}/used.svg",
        f"/results/{survey.hash}/cheated.svg",
    ]
    first = [client.get(path).text for path in paths]
    with monkeypatch.context() as patch:
        patch.setattr(Store, "record_parts", lambda *_: pytest.fail("every sealed report was read again"))
        assert [client.get(path).text for path in paths] == first
    store.set_group_sizes(survey.hash, {"Science": 300, "Arts": 400})
    assert client.get(paths[0]).status_code == 200
    assert client.get(f"/api/surveys/{survey.hash}/results").json["n"] == 120


@pytest.mark.parametrize("by", [None, "group"])
def test_stored_counts_give_the_estimates_of_the_records(store: Store, sized: Survey, by: str | None) -> None:
    counts = GroupCounts(sized, CountsCache().get(store, sized, "group"))
    assert GroupCounts.suffices(sized, by)
    keys = {"by": by, "population": SIZES}
    from_counts = json.loads(report(sized, counts, **keys).to_json())
    from_records = json.loads(report(sized, [sealed_records(store, sized.hash)], **keys).to_json())
    assert flat(from_counts) == pytest.approx(flat(from_records))


def flat(value: object, path: str = "") -> dict[str, object]:
    """Return every number of a document by its path."""
    if isinstance(value, dict):
        return {
            key: number
            for name, item in value.items()
            for key, number in flat(item, f"{path}.{name}").items()
        }
    if isinstance(value, list):
        items = enumerate(value)
        return {
            key: number for index, item in items for key, number in flat(item, f"{path}[{index}]").items()
        }
    return {path: value} if isinstance(value, int | float) else {}


def test_reading_results_seals_and_writes_nothing(
    app: Flask, client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = make_survey("Read often")
    store.publish(survey, "ada", results_public=True, results_live=True)
    fill(client, survey, 200)
    ada = signed_in(app, store, "ada", "designer")
    lines = [json.dumps({"id": secrets.token_hex(16), "reports": [0, 0, 0]}) for _ in range(150)]
    assert post_batch(client, survey, "\n".join(lines).encode()).status_code == 201
    before = store.sealed_count(survey.hash)
    monkeypatch.setattr(sealing, "_seal_all", lambda *_: pytest.fail("a page sealed"))
    written = statements_that_write(store)
    for path in (
        f"/results/{survey.hash}",
        f"/results/{survey.hash}/report.csv",
        f"/api/surveys/{survey.hash}/results",
    ):
        assert client.get(path).status_code == 200
    for path in ("report", "report.json"):
        assert ada.get(f"/surveys/{survey.hash}/{path}").status_code == 200
    assert written == []
    assert store.sealed_count(survey.hash) == before
