"""Report pages, the public page, downloads and the results API: who gets them, and what they say."""

from __future__ import annotations

import datetime
import io
import json
import runpy
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis import report
from hushpoll_client import Survey
from hushpoll_server.collect import closing, seal
from hushpoll_server.people import audit_log
from hushpoll_server.store.backup import write_backup
from hushpoll_server.store.surveys import Store

from tests.server.every_form import EVERY_FORM, send
from tests.server.reporting import fill, signed_in
from tests.serving import make_survey, post_batch, sealed_records

PAGES = [
    "report",
    "report/table?outcome=reason&by=cheated",
    "report.html",
    "report.csv",
    "report.json",
    "report.txt",
]


@pytest.fixture
def backend(request: pytest.FixtureRequest) -> str:
    """SQLite; a test that asks for it runs on PostgreSQL too (what is read is tested on both elsewhere)."""
    return str(getattr(request, "param", "sqlite"))


BOTH = pytest.mark.parametrize(
    "backend", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)


@pytest.fixture
def owned(store: Store) -> Survey:
    """A survey of ada's."""
    survey = make_survey("Ada's survey")
    store.publish(survey, "ada")
    return survey


@pytest.fixture
def ada(app: Flask, store: Store) -> FlaskClient:
    return signed_in(app, store, "ada", "designer")


def test_who_may_read_a_report(
    app: Flask, store: Store, client: FlaskClient, owned: Survey, ada: FlaskClient
) -> None:
    fill(client, owned, 120)
    visitors = {
        "admin": (signed_in(app, store, "root", "admin"), 200),
        "designer": (signed_in(app, store, "eve", "designer"), 404),
        "analyst": (signed_in(app, store, "bob", "analyst"), 404),
        "nobody": (app.test_client(), 302),
    }
    api = f"/api/surveys/{owned.hash}/results"
    for page in [*PAGES, "export.zip"]:
        address = f"/surveys/{owned.hash}/{page}"
        with ada.get(address) as answer:
            assert answer.status_code == 200, page
        for role, (visitor, expected) in visitors.items():
            with visitor.get(address) as answer:
                assert answer.status_code == expected, (page, role)
                if role == "nobody":
                    assert "/sign-in?next=" in answer.headers["Location"]
    for role, (visitor, expected) in visitors.items():
        assert visitor.get(api).status_code == (200 if expected == 200 else 403), role
        assert visitor.get(f"/results/{owned.hash}").status_code == 404, role
    assert ada.get(api).status_code == 200


def test_a_reader_with_whom_it_is_shared(
    app: Flask, store: Store, client: FlaskClient, owned: Survey, ada: FlaskClient
) -> None:
    from hushpoll_server.people import sharing

    bob = signed_in(app, store, "bob", "analyst")
    sharing.share(store, owned.hash, "bob", actor="ada")
    fill(client, owned, 60)
    closing.close(store, owned.hash)
    page = bob.get(f"/surveys/{owned.hash}/report")
    assert page.status_code == 200
    assert "Publish the results" not in page.text
    assert "Publish the results" in ada.get(f"/surveys/{owned.hash}/report").text
    with bob.get(f"/surveys/{owned.hash}/export.zip") as answer:
        assert answer.status_code == 200
    (line,) = [entry for entry in audit_log.audit_entries(store) if entry.action == "exported"]
    assert (line.actor, line.subject, line.detail, line.values) == (
        "bob",
        owned.hash,
        "reports",
        {"count": 60},
    )


@BOTH
def test_published_results_are_public_and_can_be_withdrawn(
    client: FlaskClient, store: Store, owned: Survey
) -> None:
    fill(client, owned, 200)
    store.set_results_public(owned.hash, True)
    # Not before it is closed: live results show what the last ones answered.
    assert client.get(f"/results/{owned.hash}").status_code == 403
    assert client.get(f"/results/{owned.hash}/report.csv").status_code == 403
    assert client.get(f"/api/surveys/{owned.hash}/results").status_code == 403
    assert "/sign-in" in client.get(f"/surveys/{owned.hash}/report").headers["Location"]
    closing.close(store, owned.hash)
    page = client.get(f"/results/{owned.hash}")
    assert {name.lower() for name in page.vary} == {"cookie", "accept-language"}
    assert page.headers["Cache-Control"] == "no-cache"
    assert page.status_code == 200
    assert "Set-Cookie" not in page.headers
    assert "Did you cheat at this exam?" in page.text
    assert client.get(f"/surveys/{owned.hash}/report").headers["Location"].endswith(f"/results/{owned.hash}")
    assert client.get(f"/results/{owned.hash}/report.csv").status_code == 200
    assert client.get(f"/api/surveys/{owned.hash}/results").get_json()["n"] == 200
    # Single reports stay with those who have access.
    assert "/sign-in" in client.get(f"/surveys/{owned.hash}/export.zip").headers["Location"]
    store.set_results_public(owned.hash, False)
    assert client.get(f"/results/{owned.hash}").status_code == 404
    assert client.get(f"/api/surveys/{owned.hash}/results").status_code == 403


@pytest.mark.usefixtures("one_day")
@BOTH
def test_live_results_are_chosen_and_change_once_a_day(
    client: FlaskClient, store: Store, owned: Survey, ada: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.set_results_public(owned.hash, True, live=True)
    fill(client, owned, 120)
    address = f"/api/surveys/{owned.hash}/results"
    assert client.get(address).get_json()["n"] == 70
    fill(client, owned, 200, seed=5)
    # Neither for the public nor for the owner, because readers could compare the two.
    assert (client.get(address).get_json()["n"], ada.get(address).get_json()["n"]) == (70, 70)
    assert "change once a day at most" in client.get(f"/results/{owned.hash}").text
    tomorrow = seal.today() + datetime.timedelta(days=1)
    monkeypatch.setattr(seal, "today", lambda: tomorrow)
    seal.seal_due(store)
    assert client.get(address).get_json()["n"] == 270
    closing.close(store, owned.hash)
    assert client.get(address).get_json()["n"] == 320


def test_the_api_gives_what_the_command_prints(
    client: FlaskClient, store: Store, owned: Survey, ada: FlaskClient
) -> None:
    fill(client, owned, 300)
    value = ada.get(f"/api/surveys/{owned.hash}/results").get_json()
    state = store.state(owned.hash)
    assert state is not None
    expected = report(
        owned, [sealed_records(store, owned.hash)], batch=state.min_distinguishable_batch
    ).to_json()
    assert value == json.loads(expected)
    assert value["hash"] == owned.hash
    assert value["level"] == 0.95
    assert value["epsilon_total"] is None
    assert [question["id"] for question in value["questions"]] == ["cheated", "reason", "tax"]
    assert set(value["questions"][0]["estimates"][0]) >= {
        "option", "reported", "estimate", "se", "low", "high", "shown", "se_privacy",
    }  # fmt: skip


def test_too_few_reports_show_no_estimate(
    client: FlaskClient, owned: Survey, ada: FlaskClient, store: Store
) -> None:
    fill(client, owned, 49)
    page = ada.get(f"/surveys/{owned.hash}/report").text
    assert "No estimates: no report is counted, and it takes 50." in page
    waits = "49 reports have arrived and wait to be counted."
    for path in ("report", "report/table?outcome=tax&by=cheated", ""):
        assert waits in ada.get(f"/surveys/{owned.hash}/{path}".rstrip("/")).text, path
    assert "forest" not in page
    assert ada.get(f"/api/surveys/{owned.hash}/results").get_json()["questions"][0]["estimates"] == []
    assert "No estimates" in ada.get(f"/surveys/{owned.hash}/report/table?outcome=tax&by=cheated").text
    fill(client, owned, 1, seed=9)
    assert "50 reports have arrived" in ada.get(f"/surveys/{owned.hash}/report").text
    closing.close(store, owned.hash)
    page = ada.get(f"/surveys/{owned.hash}/report").text
    assert "forest" in page
    assert "to be counted" not in page


def test_no_file_gives_the_counts_of_a_few_to_strangers(
    client: FlaskClient, owned: Survey, ada: FlaskClient, store: Store
) -> None:
    """The JSON must withhold them as the page does: the counts of one person are the whole report."""
    fill(client, owned, 1)
    store.set_results_public(owned.hash, True)
    closing.close(store, owned.hash)
    for path in (f"/api/surveys/{owned.hash}/results", f"/results/{owned.hash}/report.json"):
        answer = client.get(path)
        assert answer.status_code == 200
        results = json.loads(answer.get_data())
        assert results["n"] == 1
        assert [question["counts_reported"] for question in results["questions"]] == [[], [], []]
        assert [question["estimates"] for question in results["questions"]] == [[], [], []]


def test_new_reports_change_the_page_and_old_counts_are_not_read_again(
    app: Flask,
    client: FlaskClient,
    owned: Survey,
    ada: FlaskClient,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(client, owned, 100)
    read_hashes: list[str] = []
    parts = Store.record_parts

    def watched(self: Store, survey_hash: str, rows: int = 50_000) -> object:
        read_hashes.append(survey_hash)
        return parts(self, survey_hash, rows)

    monkeypatch.setattr(Store, "record_parts", watched)
    address = f"/api/surveys/{owned.hash}/results"
    assert [ada.get(address).get_json()["n"] for _ in range(3)] == [50, 50, 50]
    fill(client, owned, 50, seed=5)
    assert ada.get(address).get_json()["n"] == 100
    assert read_hashes == []
    # Two questions together are read once, when they are first asked for.
    for _ in range(2):
        assert ada.get(f"{address}?by=cheated").get_json()["n"] == 100
    assert len(read_hashes) == 1


def test_two_questions_together(client: FlaskClient, owned: Survey, ada: FlaskClient) -> None:
    fill(client, owned, 2000)
    base = f"/surveys/{owned.hash}/report/table"
    page = ada.get(f"{base}?outcome=reason&by=cheated&reference=Yes&level=90").text
    assert "Pearson χ²" in page
    assert "Differences between groups" in page
    assert "90 % interval" in page
    assert "<td>No</td><td>Yes</td>" in page
    assert ada.get(base).status_code == 200
    assert ada.get(f"{base}?outcome=tax&by=tax").status_code == 422
    refused = ada.get(f"{base}?outcome=reason&by=cheated&reference=Maybe")
    assert refused.status_code == 422
    page = ada.get(f"/surveys/{owned.hash}/report?by=cheated").text
    assert page.count("Pearson χ²") == 2


def test_a_whole_list_makes_a_table_for_each_option(
    client: FlaskClient, store: Store, ada: FlaskClient
) -> None:
    """Those who ticked an option and those who did not; no option is compared with another."""
    questions = [question for question in EVERY_FORM["questions"] if question["id"] in ("c", "g", "h")]
    survey = Survey.from_draft({"hushpoll": 1, "title": "Lists", "questions": questions})
    store.publish(survey, "ada")
    send(client, survey, 600)
    seal.seal_due(store)
    page = ada.get(f"/surveys/{survey.hash}/report/table?outcome=h&by=g")
    assert page.status_code == 200
    assert all(f"G? {option}" in page.text for option in "pqrs")
    assert 'name="reference"' not in page.text
    results = ada.get(f"/surveys/{survey.hash}/report.json?by=g").get_json()
    assert {group["by"] for group in results["groups"]} == {f"g[{option}]" for option in "pqrs"}
    assert ada.get(f"/surveys/{survey.hash}/report?by=c").status_code == 200


@pytest.mark.parametrize("query", ["by=nothing", "level=42", "by=cheated'--"])
def test_requests_that_cannot_be_met_say_why(owned: Survey, ada: FlaskClient, query: str) -> None:
    answer = ada.get(f"/surveys/{owned.hash}/report?{query}", headers={"Accept": "application/problem+json"})
    assert answer.status_code == 422
    assert answer.content_type == "application/problem+json"
    assert "choose one of" in answer.get_json()["detail"]


def test_unknown_surveys(ada: FlaskClient, client: FlaskClient) -> None:
    for visitor in (ada, client):
        assert visitor.get(f"/surveys/{'0' * 64}/report").status_code == 404
        assert visitor.get("/results/nothing").status_code == 404
        answer = visitor.get(f"/api/surveys/{'0' * 64}/results")
        assert answer.status_code == 404
        assert answer.content_type == "application/problem+json"


def test_the_style_and_page_need_no_exception_from_the_policy(
    client: FlaskClient, owned: Survey, ada: FlaskClient
) -> None:
    fill(client, owned, 80)
    answer = ada.get(f"/surveys/{owned.hash}/report?by=cheated")
    assert "'unsafe-inline'" not in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"
    assert " style=" not in answer.text
    assert "<style" not in answer.text
    style = client.get("/reports/report.css")
    assert style.content_type == "text/css; charset=utf-8"
    assert ".forest" in style.text


def test_a_survey_cannot_put_markup_into_its_report(
    client: FlaskClient, store: Store, ada: FlaskClient
) -> None:
    evil = "<script>alert(1)</script>"
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": evil,
            "questions": [
                {
                    "id": "q",
                    "kind": "choice",
                    "text": evil,
                    "options": [evil, "=1+1", '"><img src=x onerror=alert(1)>'],
                    "mechanism": {"name": "krr", "epsilon": "1"},
                }
            ],
        }
    )
    store.publish(survey, "ada")
    lines = [json.dumps({"id": f"{n:032x}", "reports": [n % 3]}) for n in range(120)]
    post_batch(client, survey, "\n".join(lines).encode())
    seal.seal_due(store)
    for page in ("report", "report.html"):
        text = ada.get(f"/surveys/{survey.hash}/{page}").text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    table = ada.get(f"/surveys/{survey.hash}/report.csv").data.decode("utf-8-sig")
    assert "q,'=1+1," in table


def test_the_export_repeats_the_table(
    client: FlaskClient, owned: Survey, ada: FlaskClient, store: Store, tmp_path: Path
) -> None:
    fill(client, owned, 400)
    with ada.get(f"/surveys/{owned.hash}/export.zip") as answer:
        assert answer.content_type == "application/zip"
        zipfile.ZipFile(io.BytesIO(answer.data)).extractall(tmp_path)
    folder = tmp_path / f"hushpoll-{owned.hash[:12]}"
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "reports.csv", "reports.parquet", "survey.json", "codebook.csv", "codebook.md",
        "labels.sps", "labels.do", "labels.R", "reproduce.py", "reproduce.R", "reports.sav", "reports.dta",
        "datapackage.json", "codebook.xml",
    }  # fmt: skip
    runpy.run_path(str(folder / "reproduce.py"))
    repeated = pd.read_csv(folder / "table.csv", keep_default_na=False)
    expected = report(owned, [sealed_records(store, owned.hash)]).to_frame()
    assert repeated["estimate"].astype(float).to_numpy() == pytest.approx(
        expected["estimate"].to_numpy(), abs=1e-12
    )
    assert repeated["option"].tolist() == expected["option"].tolist()


@BOTH
def test_results_are_shown_while_a_backup_is_made(
    client: FlaskClient, store: Store, owned: Survey, ada: FlaskClient, tmp_path: Path
) -> None:
    """A backup delays sealing for as long as it lasts; readers of results must not wait for that."""
    fill(client, owned, 120)
    api = f"/api/surveys/{owned.hash}/results"
    answers: list[tuple[int, int]] = []

    def on_progress(name: str, rows: int) -> None:
        if not answers:
            fill(client, owned, 120, seed=5)  # more is due to be sealed meanwhile
            answer = ada.get(api)
            answers.append((answer.status_code, answer.get_json()["n"]))

    before = ada.get(api).get_json()["n"]
    write_backup(store.database, tmp_path / "backup", on_progress)
    assert before == 70  # all but the minimum
    assert answers[0] in [(200, 70), (200, 190)]
    seal.seal_due(store)
    assert ada.get(api).get_json()["n"] == 190
