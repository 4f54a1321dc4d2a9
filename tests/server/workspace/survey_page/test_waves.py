"""Run again: the next wave of a series, in the workspace, in the store and on the results' pages."""

from __future__ import annotations

import html
import json
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis import simulate
from hushpoll_analysis.planning.shuffle import shuffled_epsilon
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey, SurveyError
from hushpoll_client.cli import main
from hushpoll_server.collect.seal import seal_due
from hushpoll_server.config import Config
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.draft import Draft

from tests.server.accounts_kit import QUESTION, make_draft, make_published, signed_in, submit
from tests.serving import make_ready, post_batch


def again(owner: FlaskClient, store: Store, survey_hash: str) -> Draft:
    page = f"/surveys/{survey_hash}"
    answer = submit(owner, f"{page}/again", page)
    assert answer.status_code == 302
    draft = storage.find(store, answer.location.rsplit("/", 1)[1])
    assert draft is not None
    return draft


def publish(owner: FlaskClient, draft: Draft) -> Any:
    return submit(owner, f"/drafts/{draft.id}/publish", frozen="y")


def fill(store: Store, client: FlaskClient, survey: Survey, share: float, n: int = 400) -> None:
    """Send the reports of simulated people, and close the survey so that they count."""
    truth = {question.id: [1 - share, share] for question in survey.questions}
    columns = [codes.tolist() for _, codes in simulate_survey(survey, n, truth, 3)]
    rows = np.array(columns).T.tolist()
    lines = [json.dumps({"id": secrets.token_hex(16), "reports": row}) for row in rows]
    assert post_batch(client, survey, "\n".join(lines).encode()).status_code == 201
    submit(client, f"/surveys/{survey.hash}/close", f"/surveys/{survey.hash}/close")


def test_the_next_wave_has_the_same_questions_and_a_hash_of_its_own(owner: FlaskClient, store: Store) -> None:
    first = make_published(store)
    draft = again(owner, store, first.hash)
    assert draft.document["series"] == {"name": first.title, "wave": 2, "previous": first.hash}
    assert publish(owner, draft).status_code == 302
    second = store.waves(first.hash)[-1]
    assert second.hash != first.hash
    assert [wave.hash for wave in store.waves(second.hash)] == [first.hash, second.hash]
    for here, other in ((first.hash, second.hash), (second.hash, first.hash)):
        page_text = owner.get(f"/surveys/{here}").text
        assert "Waves of this series" in page_text
        assert f"/surveys/{other}" in page_text
    third = again(owner, store, first.hash)
    assert third.document["series"]["wave"] == 3, "run again follows the last wave"
    assert third.document["series"]["previous"] == second.hash
    copied = submit(owner, f"/surveys/{second.hash}/copy", f"/surveys/{second.hash}")
    copy = storage.find(store, copied.location.rsplit("/", 1)[1])
    assert copy is not None
    assert "series" not in copy.document, "a copy is a survey of its own"


def test_privacy_may_change_and_questions_may_not(owner: FlaskClient, store: Store) -> None:
    first = make_published(store)
    draft = again(owner, store, first.hash)
    edited = {"id": "q1", "text": "Something else?", "kind": "yes_no", "mechanism": ""}
    assert submit(owner, f"/drafts/{draft.id}/questions/q1", **edited).status_code == 302
    answer = publish(owner, draft)
    assert answer.status_code == 422
    page_text = html.unescape(answer.text)
    assert "a wave asks the same questions again, but question 1" in page_text
    assert page_text.count("a wave asks the same questions again") == 1
    back = {**edited, "text": QUESTION["text"]}
    assert submit(owner, f"/drafts/{draft.id}/questions/q1", **back).status_code == 302
    submit(owner, f"/drafts/{draft.id}/privacy", expected_n="500", margin="5", epsilon="2")
    assert publish(owner, draft).status_code == 302
    assert len(store.waves(first.hash)) == 2


def test_change_is_shown_with_its_interval_across_two_epsilons(owner: FlaskClient, store: Store) -> None:
    first = make_published(store)
    page = f"/surveys/{first.hash}/report/trend"
    assert "A change needs two waves with enough reports" in owner.get(page).text
    draft = again(owner, store, first.hash)
    submit(owner, f"/drafts/{draft.id}/privacy", expected_n="500", margin="5", epsilon="2")
    publish(owner, draft)
    second = store.get_survey(store.waves(first.hash)[-1].hash)
    assert second is not None
    fill(store, owner, first, 0.2)
    fill(store, owner, second, 0.9)
    page_text = html.unescape(owner.get(page).text)
    assert "Change, 1 to 2" in page_text
    assert 'data-clear="yes"' in page_text
    assert "Randomized differently from wave to wave" in page_text
    assert "ε = 1; " in page_text
    picture = page_text[page_text.index('<div class="trends" role="img"') : page_text.index("<table")]
    assert "Picture of question 1 over the waves" in picture
    assert picture.count('<circle class="dot') == 2, "one dot a wave"
    assert "style=" not in picture
    assert "Change over 2 waves" in owner.get(f"/surveys/{second.hash}/report").text


def test_a_question_that_too_few_were_asked_in_one_wave_says_so(owner: FlaskClient, store: Store) -> None:
    """A block asks each person one of five: 120 reports are enough, and 24 answers to a question are not."""
    questions = [
        {"id": f"q{number}", "kind": "yes_no", "text": f"Number {number}?"} for number in range(1, 6)
    ]
    block = {"questions": [question["id"] for question in questions], "ask": 1, "epsilon": "2"}
    first = Survey.from_draft({"hushpoll": 1, "title": "Five", "questions": questions, "blocks": [block]})
    assert store.publish(first, "owner")
    publish(owner, again(owner, store, first.hash))
    second = store.get_survey(store.waves(first.hash)[-1].hash)
    assert second is not None
    for survey, n in ((first, 1000), (second, 120)):
        codes = simulate(survey.blocks[0].channel, np.zeros((n, 5), dtype=np.uint8), n).tolist()
        lines = [json.dumps({"id": secrets.token_hex(16), "reports": [code]}) for code in codes]
        assert post_batch(owner, survey, "\n".join(lines).encode()).status_code == 201
        submit(owner, f"/surveys/{survey.hash}/close", f"/surveys/{survey.hash}/close")
    response = owner.get(f"/surveys/{first.hash}/report/trend")
    assert response.status_code == 200
    assert response.text.count("Wave 2 is left out here: fewer than 50 people were asked this question.") == 5
    assert "<table" not in response.text
    assert "A change needs two waves with enough people who were asked." in response.text


def test_totals_of_an_open_survey_count_what_is_released_together(owner: FlaskClient, store: Store) -> None:
    """While results can be read as they come, a person hides among one release; after closing among all."""
    survey = make_published(store)
    rows = np.array([codes.tolist() for _, codes in simulate_survey(survey, 800, {"q1": [0.7, 0.3]}, 3)]).T
    lines = [json.dumps({"id": secrets.token_hex(16), "reports": row}) for row in rows.tolist()]
    assert post_batch(owner, survey, "\n".join(lines).encode()).status_code == 201
    seal_due(store)
    page = f"/surveys/{survey.hash}/report.json"
    opened = owner.get(page).json["questions"][0]
    submit(owner, f"/surveys/{survey.hash}/close", f"/surveys/{survey.hash}/close")
    closed = owner.get(page).json["questions"][0]
    epsilon = survey.questions[0].epsilon
    assert closed["epsilon_shuffled"] == shuffled_epsilon(epsilon, 800).epsilon
    assert opened["epsilon_shuffled"] == shuffled_epsilon(epsilon, 50).epsilon
    assert any("read while reports come, 50 or more at a time" in note for note in opened["notes"])
    assert not any("read while reports come" in note for note in closed["notes"])


def test_somebody_who_may_read_one_wave_sees_that_there_are_more_and_nothing_of_them(
    site: tuple[Flask, Store], owner: FlaskClient, store: Store
) -> None:
    first = make_published(store)
    publish(owner, again(owner, store, first.hash))
    second = store.waves(first.hash)[-1]
    reader = signed_in(*site, "reader")
    page_text = reader.get(f"/surveys/{first.hash}/report/trend").text
    assert "1 more wave is not shared with you" in page_text
    assert second.hash not in page_text
    assert second.hash not in reader.get(f"/surveys/{first.hash}").text


def test_a_wave_of_a_survey_that_is_not_here_is_refused(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = make_draft(store).document
    lost = Survey.from_draft({**draft, "series": {"name": "N", "wave": 2, "previous": "ab" * 32}})
    with pytest.raises(SurveyError, match="is not a survey of this server"):
        store.publish(lost)
    first = make_published(store)
    wrong = {"name": "N", "wave": 5, "previous": first.hash}
    with pytest.raises(SurveyError, match="does not follow wave 1; write 2"):
        store.publish(Survey.from_draft({**draft, "series": wrong}))
    make_ready(Config(data=tmp_path / "data"))
    monkeypatch.setenv("DATA", str(tmp_path / "data"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    file = tmp_path / "wave.json"
    file.write_text(json.dumps({**draft, "series": {"name": "N", "wave": 2, "previous": "ab" * 32}}))
    with pytest.raises(SystemExit) as stopped:
        main(["survey", "publish", str(file)])
    assert stopped.value.code == 2
    assert "is not a survey of this server; publish the wave before here first" in capsys.readouterr().err


def test_the_command_refuses_a_wave_whose_questions_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_ready(Config(data=tmp_path / "data"))
    monkeypatch.setenv("DATA", str(tmp_path / "data"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    first = {**documents.blank("Series"), "questions": [QUESTION]}
    series = {"name": "Series", "wave": 2, "previous": Survey.from_draft(first).hash}
    for name, document, status in (
        ("first", first, 0),
        ("other", {**first, "questions": [{**QUESTION, "text": "Other?"}], "series": series}, 2),
        ("second", {**first, "series": series}, 0),
    ):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(document))
        with pytest.raises(SystemExit) as stopped:
            main(["survey", "publish", str(file)])
        output = capsys.readouterr()
        assert stopped.value.code == status, output.err
        if status:
            assert "a wave asks the same questions again, but question 1" in output.err
