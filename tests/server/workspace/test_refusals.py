"""What the workspace says when it refuses something, before it is confirmed and in words that are true."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_server.store.surveys import Store

from tests.server.accounts_kit import QUESTION, again, make_draft, make_published, submit

CHOICE = {
    "id": "why",
    "kind": "choice",
    "text": "Why?",
    "options": ["Time", "Fear", "Habit"],
    "mechanism": {"epsilon": "1"},
}
FOLLOW_UP = {**CHOICE, "after": {"question": "q1", "answers": ["Yes"]}}


def text_of(page: str) -> str:
    """Return the text of a page on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_more_options_than_a_survey_may_have_are_previewed_and_refused(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store)
    pasted = "\n".join(f"Option {n}" for n in range(1200))
    fields = {"kind": "choice", "id": "which", "text": "Which?", "options": pasted, "mechanism": ""}
    response = submit(
        owner, f"/drafts/{draft.id}/preview", page=f"/drafts/{draft.id}/questions/new", **fields
    )
    assert response.status_code == 200
    refused = submit(owner, f"/drafts/{draft.id}/questions/new", **fields)
    assert refused.status_code == 422
    assert "1,000" in refused.text


@pytest.mark.parametrize("form", ["invitations", "merge", "letters"])
def test_the_address_of_a_refused_form_leads_back_to_the_survey(
    owner: FlaskClient, store: Store, form: str
) -> None:
    survey = make_published(store, invitation=True)
    page = owner.get(f"/surveys/{survey.hash}/{form}")
    assert page.status_code == 302
    assert page.location.startswith(f"/surveys/{survey.hash}")


def test_the_count_of_invitations_is_fetched_from_the_survey(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store, invitation=True)
    refused = submit(
        owner, f"/surveys/{survey.hash}/invitations", page=f"/surveys/{survey.hash}", n="100000000"
    )
    assert refused.status_code == 422
    assert f'data-download="/surveys/{survey.hash}"' in refused.text


def test_deleting_a_question_says_that_it_can_be_undone(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION, CHOICE)
    submit(owner, f"/drafts/{draft.id}/questions/why/delete", f"/drafts/{draft.id}")
    assert "Question deleted. You can undo this." in text_of(owner.get(f"/drafts/{draft.id}").text)
    submit(owner, f"/drafts/{draft.id}/undo", f"/drafts/{draft.id}")
    assert len(again(store, draft).questions) == 2


def test_a_question_that_a_rule_needs_is_not_deleted(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION, FOLLOW_UP)
    submit(owner, f"/drafts/{draft.id}/questions/q1/delete", f"/drafts/{draft.id}")
    assert "Question 2 is asked only after it" in text_of(owner.get(f"/drafts/{draft.id}").text)
    assert len(again(store, draft).questions) == 2


def test_a_margin_in_a_large_unit_is_written_in_digits(owner: FlaskClient, store: Store) -> None:
    income = {
        "id": "income",
        "kind": "number",
        "text": "Income?",
        "min": "0",
        "max": "1000000",
        "step": "1000",
        "unit": "euro",
        "mechanism": {"epsilon": "1", "target": "mean"},
    }
    draft = make_draft(store, "owner", income, expected_n=60, margin=0.05)
    page = text_of(owner.get(f"/drafts/{draft.id}/privacy").text)
    assert "e+" not in page
    assert "±50,000 euro cannot be reached" in page


def test_options_that_differ_in_case_only_are_refused(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store)
    fields = {"kind": "choice", "id": "which", "text": "Which?", "options": "Yes\nyes\nNo", "mechanism": ""}
    refused = submit(owner, f"/drafts/{draft.id}/questions/new", **fields)
    assert refused.status_code == 422
    assert '"yes" and "Yes" differ only in case' in text_of(refused.text)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("choice", {"options": "Every day\nevery  day\nNever"}),
        ("multiple", {"options": "A phone\nA  phone\nA friend"}),
        ("scale", {"points": "3", "labels": "Often\noften\nNever"}),
    ],
)
def test_answers_that_read_the_same_are_refused(
    owner: FlaskClient, store: Store, kind: str, fields: dict[str, str]
) -> None:
    draft = make_draft(store)
    fields = {"kind": kind, "id": "which", "text": "Which?", "mechanism": "", **fields}
    refused = submit(owner, f"/drafts/{draft.id}/questions/new", **fields)
    assert refused.status_code == 422
    assert "differ only in case or spaces" in text_of(refused.text)


def test_all_mistakes_around_the_questions_are_told_at_once(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store)
    refused = submit(
        owner,
        f"/drafts/{draft.id}/presentation",
        contact="somebody",
        accent="yellow",
        help="no address here",
        thanks="x" * 5000,
    )
    assert refused.status_code == 422
    summary = text_of(refused.text.split("error-summary", 1)[1].split("</ul>", 1)[0])
    for word in ("Accent", "address", "characters"):
        assert word in summary, summary


def test_a_closed_survey_projects_no_margin(owner: FlaskClient, store: Store) -> None:
    from hushpoll_server.collect.closing import close

    survey = make_published(store)
    assert "Projected margin" in owner.get(f"/surveys/{survey.hash}").text
    close(store, survey.hash)
    assert "Projected margin" not in owner.get(f"/surveys/{survey.hash}").text


def test_a_poster_says_who_asks(owner: FlaskClient, store: Store) -> None:
    from hushpoll_client import Survey

    document: dict[str, Any] = {
        "hushpoll": 1,
        "title": "Exam honesty on a poster",
        "questions": [QUESTION],
        "asked_by": {"name": "University of Somewhere", "contact": "Room 12"},
    }
    survey = Survey.from_draft(document)
    store.publish(survey, "owner")
    poster = text_of(owner.get(f"/surveys/{survey.hash}/poster").text)
    assert "University of Somewhere" in poster
    assert "Room 12" in poster
