"""A closed survey with fewer reports than the minimum gives away how many there are, and nothing else, everywhere."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_server.collect import closing
from hushpoll_server.config import Config
from hushpoll_server.people import tokens
from hushpoll_server.store.surveys import Store

from tests.command import run_command
from tests.server.reporting import fill, signed_in
from tests.serving import make_survey, post


@pytest.fixture
def backend() -> str:
    return "sqlite"


@pytest.fixture
def ada(app: Flask, store: Store) -> FlaskClient:
    return signed_in(app, store, "ada", "designer")


def closed_survey(client: FlaskClient, store: Store, reports: int) -> Survey:
    survey = make_survey(f"Of {reports} people")
    store.publish(survey, "ada", results_public=True)
    fill(client, survey, reports)
    closing.close(store, survey.hash)
    return survey


@pytest.fixture
def run(config: Config, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("DATA", str(config.data))
    monkeypatch.delenv("DATABASE_URL", raising=False)

    return partial(run_command, capsys)


@pytest.mark.parametrize("reports", [1, FEWEST_REPORTS - 1])
def test_no_download_holds_a_report(
    client: FlaskClient, ada: FlaskClient, store: Store, reports: int
) -> None:
    survey = closed_survey(client, store, reports)
    program = {"Authorization": f"Bearer {tokens.make(store, 'ada', 'files', ['export'], actor='test')}"}
    for answer in (
        ada.get(f"/surveys/{survey.hash}/export.zip"),
        client.get(f"/surveys/{survey.hash}/export.zip", headers=program),
    ):
        assert answer.status_code == 422
        assert f"{reports} report" in answer.text
        assert f"minimum of {FEWEST_REPORTS}" in answer.text
    page = ada.get(f"/surveys/{survey.hash}/report").text
    assert "export.zip" not in page
    assert f"minimum of {FEWEST_REPORTS}" in page


def test_the_command_line_gives_no_report_either(
    client: FlaskClient, store: Store, run, tmp_path: Path
) -> None:
    survey = closed_survey(client, store, 1)
    folder = tmp_path / "out"
    for more in ((), ("--parts", "10"), ("--json",)):
        status, out, err = run("export", survey.hash, "--out", str(folder), *more)
        assert (status, out) == (2, "")
        assert "1 report is fewer than the minimum of 50" in err
        assert not folder.exists(), "label files and codebooks say nothing of so few either"
    for minimum in ("0", "49"):
        status, out, err = run("report", survey.hash, "--minimum", minimum)
        assert (status, out) == (2, "")
        assert "--minimum" in err
    assert run("report", survey.hash, "--minimum", "60", "--json")[0] == 0


def test_from_the_minimum_on_everything_is_there(
    client: FlaskClient, ada: FlaskClient, store: Store, run, tmp_path: Path
) -> None:
    survey = closed_survey(client, store, FEWEST_REPORTS)
    with ada.get(f"/surveys/{survey.hash}/export.zip") as answer:
        assert answer.status_code == 200
    assert run("export", survey.hash, "--out", str(tmp_path / "out"))[0] == 0
    assert "export.zip" in ada.get(f"/surveys/{survey.hash}/report").text


def test_a_designer_is_warned_before_closing(client: FlaskClient, ada: FlaskClient, store: Store) -> None:
    survey = make_survey("About to close")
    store.publish(survey, "ada")
    page = ada.get(f"/surveys/{survey.hash}/close").text
    assert f"fewer than {FEWEST_REPORTS}" in page
    fill(client, survey, FEWEST_REPORTS)
    assert f"fewer than {FEWEST_REPORTS}" not in ada.get(f"/surveys/{survey.hash}/close").text
    assert post(client, survey, b"{}").status_code == 422
