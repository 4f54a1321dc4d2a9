"""An anchor in the workspace, in the published survey, and on the results page."""

from __future__ import annotations

import re

from flask.testing import FlaskClient
from hushpoll_analysis import report
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import storage

from tests.server.accounts_kit import make_draft, submit

MOON = {"id": "moon", "kind": "yes_no", "text": "Were you born on the moon?", "mechanism": {"epsilon": "2"}}
CHEATED = {"id": "cheated", "kind": "yes_no", "text": "Did you cheat?", "mechanism": {"epsilon": "2"}}
REASON = {
    "id": "reason",
    "kind": "choice",
    "text": "Why?",
    "options": ["Time", "Fear", "Habit"],
    "mechanism": {"epsilon": "2"},
}


def test_a_designer_names_the_anchor_and_its_share(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", MOON, CHEATED, REASON)
    page = f"/drafts/{draft.id}"
    page_text = owner.get(page).text
    assert "Check for careless answers with" in page_text
    assert page_text.count("<option") == 6, (
        "nothing, the two yes/no questions, and three answers of the choice"
    )
    fields = {"title": "Exam", "intro": "", "anchor_question": "moon", "anchor_share": "0"}
    assert submit(owner, page, **fields).status_code == 302
    saved = storage.find(store, draft.id)
    assert saved is not None
    assert saved.document["anchor"] == {"question": "moon", "share": "0"}
    survey = saved.survey()
    assert survey.anchor is not None
    assert Survey.from_published(survey.canonical, survey.hash).anchor == survey.anchor
    for share, problem in (("1/2", "tells nothing"), ("x", "must be a number"), ("2", "between 0 and 1")):
        refused = submit(owner, page, **{**fields, "anchor_share": share})
        assert refused.status_code == 422
        assert problem in refused.text
    assert "anchor" not in saved.without_question("moon").document
    assert submit(owner, page, **{**fields, "anchor_question": ""}).status_code == 302
    saved = storage.find(store, draft.id)
    assert saved is not None
    assert "anchor" not in saved.document


def test_a_designer_names_the_answer_that_people_are_told_to_give(owner: FlaskClient, store: Store) -> None:
    question_entry = {**REASON, "id": "told", "text": "Please choose “Fear” here."}
    draft = make_draft(store, "owner", CHEATED, question_entry)
    page = f"/drafts/{draft.id}"
    assert "Please choose “Fear” here. – Habit" in owner.get(page).text
    fields = {"title": "Exam", "intro": "", "anchor_question": "told:1", "anchor_share": "1"}
    assert submit(owner, page, **fields).status_code == 302
    saved = storage.find(store, draft.id)
    assert saved is not None
    assert saved.document["anchor"] == {"question": "told", "share": "1", "answer": "Fear"}
    assert re.search(
        r'<option[^>]*selected[^>]*value="told:1"|<option[^>]*value="told:1"[^>]*selected',
        owner.get(page).text,
    )
    survey = saved.survey()
    assert Survey.from_published(survey.canonical, survey.hash).anchor == survey.anchor
    refused = submit(owner, page, **{**fields, "anchor_share": "1/3"})
    assert refused.status_code == 422
    assert "tells nothing" in refused.text
    gone = submit(owner, page, **{**fields, "anchor_question": "told:9"})
    assert gone.status_code == 422
    assert "none is named" in gone.text
    # Question and answer may get other words.
    other = {**question_entry, "id": "check", "options": ["Time", "Worry", "Habit"]}
    renamed = saved.with_edited("told", other, rule=None)
    assert renamed.document["anchor"] == {"question": "check", "share": "1", "answer": "Worry"}


def test_an_instructed_answer_corrects_the_other_questions() -> None:
    question_entry = {**REASON, "id": "told", "text": "Please choose “Fear” here."}
    document = {
        "hushpoll": 1,
        "title": "Exam",
        "questions": [question_entry, CHEATED],
        "anchor": {"question": "told", "share": "1", "answer": "Fear"},
    }
    survey = Survey.from_draft(document)
    # A fifth answers at random: the answer's share is then .8 + .2/3, and .3 cheaters look like .34.
    truth = {"told": [1 / 15, 13 / 15, 1 / 15], "cheated": [0.66, 0.34]}
    data = {f"{name}_reported": codes for name, codes in simulate_survey(survey, 20_000, truth, seed=3)}
    results = report(survey, data)
    assert results.validity is not None
    assert abs(results.validity.careless.estimate - 0.2) < 0.03
    share = results.validity.questions[0].shares[0]
    assert abs(share.estimate - 0.3) < 0.03
    assert share.low < 0.3 < share.high
    assert "The answer “Fear” to" in results.to_html()
    assert "anchor=('told', 1, 'Fear')" in results.snippet
    assert results.to_dict()["validity"]["answer"] == "Fear"
    plain = Survey.from_draft({key: value for key, value in document.items() if key != "anchor"})
    again = report(plain, data, anchor="told[Fear]=1").validity
    assert again is not None
    assert again.careless == results.validity.careless


def test_results_correct_for_careless_answers_by_themselves() -> None:
    document = {
        "hushpoll": 1,
        "title": "Exam",
        "questions": [MOON, CHEATED],
        "anchor": {"question": "moon", "share": "0"},
    }
    survey = Survey.from_draft(document)
    # A fifth answers at random: the moon's share is then .1, and .3 cheaters look like .34.
    truth = {"moon": [0.9, 0.1], "cheated": [0.66, 0.34]}
    data = {f"{name}_reported": codes for name, codes in simulate_survey(survey, 20_000, truth, seed=3)}
    results = report(survey, data)
    assert results.validity is not None
    assert abs(results.validity.careless.estimate - 0.2) < 0.04
    share = results.validity.questions[0].shares[0]
    assert abs(share.estimate - 0.3) < 0.03
    assert share.low < 0.3 < share.high
    assert "answered at random" in " ".join(results.to_text().split())
    plain = Survey.from_draft({key: value for key, value in document.items() if key != "anchor"})
    assert report(plain, data).validity is None
