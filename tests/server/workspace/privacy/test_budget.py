"""Privacy question by question: margins and locks of the draft, and nothing green while the total is in the red."""

from __future__ import annotations

import html
import re

import pytest
from flask.testing import FlaskClient
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.privacy.question_plan import margin_at
from hushpoll_server.workspace.publishing.checklist import checklist

from tests.server.accounts_kit import QUESTION, make_draft, submit

FACULTY = {
    "id": "faculty",
    "kind": "choice",
    "text": "Faculty?",
    "options": [f"f{number}" for number in range(12)],
    "mechanism": {"epsilon": "1"},
}


SETTINGS = {"epsilon_cap": "20"}


def stored(store: Store, draft: Draft) -> Draft:
    saved = storage.find(store, draft.id)
    assert saved is not None
    return saved


def epsilons(draft: Draft) -> list[str]:
    return [question["mechanism"]["epsilon"] for question in draft.questions]


def test_a_harmless_question_no_longer_pushes_the_sensitive_one(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION, FACULTY)
    page = f"/drafts/{draft.id}/privacy"
    submit(owner, page, expected_n="500", margin="8", epsilon="1", lock_0="1", solve="yes")
    saved = stored(store, draft)
    assert epsilons(saved)[0] == "1", "one slider gave it 2.8, and 94 of 100 were recorded as chosen"
    assert 2.5 < float(epsilons(saved)[1]) < 2.8
    assert dict(saved.locks) == {"q1": "1"}
    page_text = html.unescape(owner.get(page).text)
    assert "Question 2 costs most: epsilon 2.75 of 3.75 in total." in page_text
    assert "Merging its 12 answers to 5 would bring it to epsilon 1.96." in page_text
    assert "73 of 100" in page_text


def test_margins_and_locks_stay_with_the_draft_and_out_of_the_survey(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store, "owner", QUESTION, FACULTY)
    before = draft.compiled().hash
    page = f"/drafts/{draft.id}/privacy"
    submit(owner, page, expected_n="500", margin="5", epsilon="1", margin_1="12", lock_0="3-fold")
    saved = stored(store, draft)
    assert (dict(saved.margins), dict(saved.locks)) == ({"faculty": 0.12}, {"q1": "3-fold"})
    assert epsilons(saved) == ["1.0986", "1"], "a lock holds at once"
    assert "margins" not in saved.document
    page_text = owner.get(page).text
    assert re.search(r'name="margin_1"[^>]*value="12', page_text)
    assert re.search(r'name="lock_0"[^>]*value="3-fold"', page_text)
    submit(owner, page, expected_n="500", margin="5", epsilon="1", margin_1="", lock_0="")
    assert stored(store, draft).locks == {}
    assert stored(store, draft).compiled().hash == before


def test_the_slider_moves_what_is_not_locked(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION, FACULTY)
    page = f"/drafts/{draft.id}/privacy"
    submit(owner, page, expected_n="500", margin="5", epsilon="2", lock_0="0.7")
    assert epsilons(stored(store, draft)) == ["0.7", "2"]
    submit(owner, page, expected_n="500", margin="8", epsilon="2", lock_0="", solve="yes")
    balanced = epsilons(stored(store, draft))
    assert balanced[0] != balanced[1]
    assert re.search(r'<option selected value="own">', owner.get(page).text)
    submit(owner, page, expected_n="500", margin="8", epsilon="own")
    assert epsilons(stored(store, draft)) == balanced, "saving keeps what was found"
    submit(owner, page, expected_n="500", margin="8", epsilon="1.4")
    assert epsilons(stored(store, draft)) == ["1.4", "1.4"]


def test_nothing_is_green_while_the_total_is_in_the_red(owner: FlaskClient, store: Store) -> None:
    many = [{**FACULTY, "id": f"f{number}"} for number in range(3)]
    draft = make_draft(store, "owner", *many)
    page = f"/drafts/{draft.id}/privacy"
    answer = submit(
        owner, page, follow_redirects=True, expected_n="500", margin="8", epsilon="1", solve="yes"
    )
    page_text = html.unescape(answer.text if answer.status_code == 200 else owner.get(page).text)
    assert "A total of 8.24 lets one person's whole report multiply" in page_text
    assert 'data-met="yes"' not in page_text
    # What is precise enough is not in a warning colour either.
    assert page_text.count('class="plan-question" data-row') == page_text.count('data-met="plain"') == 3
    assert "as precise as you need." not in page_text
    assert "Precise enough, but one person's total is too high." in page_text
    assert "notice-done" not in page_text
    accuracy = [mark for mark, text in checklist_of(owner, stored(store, draft)) if "margin of" in text]
    assert accuracy == ["ok"], "the total is warned of in a line of its own"
    live = owner.get(
        f"/drafts/{draft.id}/plan.json", query_string={"expected_n": 500, "margin": 8, "epsilon": "own"}
    ).json
    assert (live["met"], live["green"]) == (False, False)


def test_saving_is_not_green_while_the_total_is_in_the_red(owner: FlaskClient, store: Store) -> None:
    many = [{**FACULTY, "id": f"f{number}"} for number in range(3)]
    draft = make_draft(store, "owner", *many)
    page = f"/drafts/{draft.id}/privacy"
    for epsilon, notice in (("2.8", "notice-plain"), ("1", "notice-done")):
        submit(owner, page, expected_n="500", margin="8", epsilon=epsilon)
        page_text = owner.get(page).text
        assert f'class="notice {notice}" role="status">Saved.' in page_text
        assert ("notice-done" in page_text) == (epsilon == "1")


def test_a_lock_that_misses_the_common_margin_is_said_and_not_green(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION, FACULTY)
    page = f"/drafts/{draft.id}/privacy"
    submit(owner, page, expected_n="900", margin="8", epsilon="1", lock_0="0.2", solve="yes")
    page_text = html.unescape(owner.get(page).text)
    assert 'class="notice notice-problem" role="status">Question 1 is locked at epsilon 0.2' in page_text
    assert "not the ±8 points it needs; lock it at epsilon" in page_text
    assert "<li>Question 1 is locked" not in page_text, "said above the button"
    assert re.search(r'name="margin"[^>]* value="8"', page_text)
    assert "notice-done" not in page_text


ASKED = [{"id": f"q{number}", "kind": "yes_no", "text": f"Number {number}?"} for number in range(1, 6)]


def block_draft(store: Store, epsilon: str = "4") -> Draft:
    """Five questions in a block that asks two of them, and one outside it."""
    block = {"questions": [question["id"] for question in ASKED], "ask": 2, "epsilon": epsilon}
    document = {**documents.blank("Block"), "questions": [*ASKED, FACULTY], "blocks": [block]}
    return storage.create(store, "owner", document)


def test_a_block_gets_the_privacy_that_fits_as_one(owner: FlaskClient, store: Store) -> None:
    draft = block_draft(store)
    page = f"/drafts/{draft.id}/privacy"
    page_text = owner.get(page).text
    for index in range(5):
        assert f'name="margin_{index}"' in page_text
        assert f'name="lock_{index}"' in page_text
    assert "the strictest lock among them applies to all" in page_text
    submit(owner, page, expected_n="4000", margin="8", epsilon="1", margin_0="6", solve="yes")
    saved = stored(store, draft)
    (block,) = saved.document["blocks"]
    assert block["ask"] == 2
    survey = saved.compiled()
    assert margin_at(survey.questions[0], 4000) <= 0.06
    assert float(block["epsilon"]) < 2
    less = {**saved.document, "blocks": [{**block, "epsilon": f"{0.99 * float(block['epsilon']):.5f}"}]}
    assert margin_at(documents.compiled(less).questions[0], 4000) > 0.06, "not the smallest"
    displayed = html.unescape(owner.get(page).text)
    assert "for the block of questions 1 to 5" in displayed
    assert "in the block" in displayed


def test_a_lock_of_a_member_caps_its_block_and_the_slider_leaves_it(owner: FlaskClient, store: Store) -> None:
    draft = block_draft(store)
    page = f"/drafts/{draft.id}/privacy"
    submit(owner, page, expected_n="4000", margin="8", epsilon="2", lock_2="3-fold")
    saved = stored(store, draft)
    assert saved.document["blocks"][0]["epsilon"] == "1.0986", "a lock holds at once"
    assert saved.question("faculty")["mechanism"]["epsilon"] == "2"  # type: ignore[index]
    assert dict(saved.locks) == {"q3": "3-fold"}
    submit(owner, page, expected_n="4000", margin="3", epsilon="own", lock_2="3-fold", solve="yes")
    assert stored(store, draft).document["blocks"][0]["epsilon"] == "1.0986"
    page_text = html.unescape(owner.get(page).text)
    assert "The block of questions 1 to 5 is locked at epsilon 1.0986, which gives question 1 ±" in page_text
    assert "notice-done" not in page_text
    submit(owner, page, expected_n="4000", margin="20", epsilon="own", lock_2="3-fold", solve="yes")
    assert float(stored(store, draft).document["blocks"][0]["epsilon"]) < 1, "a cap, not a wish to spend it"


def checklist_of(owner: FlaskClient, draft: Draft) -> list[tuple[str, str]]:
    with owner.application.test_request_context():
        return checklist(draft)


def test_a_lock_that_makes_the_margin_unreachable_is_said_once(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION, FACULTY)
    page = f"/drafts/{draft.id}/privacy"
    submit(owner, page, expected_n="500", margin="8", epsilon="1", margin_0="5", lock_0="1", solve="yes")
    page_text = html.unescape(owner.get(page).text)
    assert (
        "Question 1 is locked at epsilon 1, which gives ±9.5 points with 500 answers, not the ±5 points"
        in page_text
    )
    assert epsilons(stored(store, draft))[0] == "1"


@pytest.mark.parametrize(
    ("field", "typed", "message"),
    [
        ("lock_0", "much", "is not a level of protection"),
        ("lock_0", "1-fold", "is not a level of protection"),
        ("margin_1", "60", "0.1 to 50"),
    ],
)
def test_bad_margins_and_locks_are_refused_beside_their_field(
    owner: FlaskClient, store: Store, field: str, typed: str, message: str
) -> None:
    draft = make_draft(store, "owner", QUESTION, FACULTY)
    fields = {"expected_n": "500", "margin": "5", "epsilon": "1", field: typed}
    answer = submit(owner, f"/drafts/{draft.id}/privacy", **fields)
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert message in answer.text
    live = owner.get(f"/drafts/{draft.id}/plan.json", query_string=fields)
    assert (live.status_code, list(live.json["errors"])) == (422, [field])


def test_a_question_keeps_its_epsilon_and_its_plan_when_it_is_edited(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store, "owner", QUESTION, FACULTY)
    page = f"/drafts/{draft.id}"
    submit(owner, f"{page}/privacy", expected_n="500", margin="8", epsilon="1", lock_0="0.5", margin_0="9")
    edited = {"id": "renamed", "text": "Have you ever?", "kind": "yes_no", "mechanism": ""}
    assert submit(owner, f"{page}/questions/q1", **edited).status_code == 302
    saved = stored(store, draft)
    assert epsilons(saved) == ["0.5", "1"]
    assert (dict(saved.locks), dict(saved.margins)) == ({"renamed": "0.5"}, {"renamed": 0.09})
    submit(owner, f"{page}/questions/renamed/delete", page)
    assert stored(store, draft).locks == {}, "a plan for a question that is gone is gone"


def test_what_is_no_number_is_told_by_the_sentence_of_its_range(owner: FlaskClient, store: Store) -> None:
    """The forms' library said “Not a valid float value.” before it."""
    page = f"/drafts/{make_draft(store, 'owner', QUESTION, FACULTY).id}/privacy"
    typed = {"expected_n": "many", "margin": "wide", "epsilon": "1", "margin_0": "x", "margin_1": "1,000"}
    page_text = html.unescape(submit(owner, page, follow_redirects=True, **typed).text)
    for sentence in (
        "Type a whole number from 1 to 100,000,000.",
        "Type a number from 0.1 to 50.",
        "Type a number from 0.1 to 50, or nothing.",
        "“1,000” can be read in two ways; write 1000, or 1.000.",
    ):
        assert sentence in page_text
    assert "Not a valid" not in page_text
    summary = [line for line in page_text.splitlines() if "margin_1" in line and "or nothing" in line]
    assert not summary, "one thing was said twice of a field"
