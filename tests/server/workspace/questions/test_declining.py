"""“Prefer not to say” in all questions with one tick: inside the randomized set, undone in one step."""

from __future__ import annotations

from flask.testing import FlaskClient
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.kinds import PREFER_NOT

from tests.server.accounts_kit import OR_POLL, submit

EPSILON = {"mechanism": {"epsilon": "1"}}
PLAIN = {"id": "plain", "kind": "yes_no", "text": "Have you?", **EPSILON}
CHOICE = {"id": "choice", "kind": "choice", "text": "Which?", "options": ["x", "y"], **EPSILON}
AFTER = {**CHOICE, "id": "after", "text": "Why?", "after": {"question": "plain", "answers": ["Yes"]}}
SCALE = {"id": "scale", "kind": "scale", "text": "How?", "points": 5, "mechanism": {"epsilon": "1"}}
WARNER = {**PLAIN, "id": "coins", "text": "And?", "mechanism": {"name": "warner", "epsilon": "1"}}
ANCHOR = {**PLAIN, "id": "moon", "text": "Born on the moon?"}
IN_BLOCK = [{"id": name, "kind": "yes_no", "text": f"{name}?"} for name in ("b1", "b2")]


def every(store: Store) -> Draft:
    """A draft with a question of every sort."""
    questions = [PLAIN, CHOICE, AFTER, SCALE, WARNER, ANCHOR, OR_POLL, *IN_BLOCK]
    blocks = [{"questions": ["b1", "b2"], "ask": 1, "epsilon": "1"}]
    more = {"anchor": {"question": "moon", "share": "0"}, "blocks": blocks}
    return storage.create(store, "owner", {**documents.blank("Every"), "questions": questions, **more})


def options(store: Store, draft: Draft) -> dict[str, tuple[str, ...]]:
    saved = storage.find(store, draft.id)
    assert saved is not None
    return {question.id: tuple(question.options) for question in saved.compiled().questions}


def test_one_tick_offers_it_everywhere_it_can_be_and_one_undo_takes_it_back(
    owner: FlaskClient, store: Store
) -> None:
    draft = every(store)
    page = f"/drafts/{draft.id}"
    before = options(store, draft)
    page_text = owner.get(page).text
    assert 'aria-checked="false"' in page_text
    assert "as private as any other" in page_text
    answer = submit(owner, f"{page}/declining", page, offered="yes")
    after = options(store, draft)
    assert after["plain"] == ("No", "Yes", PREFER_NOT)
    assert after["choice"] == after["after"] == ("x", "y", PREFER_NOT)
    for name in ("scale", "coins", "moon", "o", "b1", "b2"):
        assert after[name] == before[name], name
    notice = owner.get(answer.location).text
    assert "Question 5 is unchanged" in notice
    saved = storage.find(store, draft.id)
    assert saved is not None
    compiled = {question.id: question for question in saved.compiled().questions}
    assert compiled["plain"].channel.options == 3, "it is one of the answers that are mixed"
    assert compiled["after"].after is not None
    assert compiled["after"].after.answers == ("Yes",), "rules follow"
    submit(owner, f"{page}/undo", page)
    assert options(store, draft) == before


def test_the_same_button_takes_it_away_and_never_an_answer_that_a_rule_names(
    owner: FlaskClient, store: Store
) -> None:
    question_entry = {**CHOICE, "id": "late", "text": "Later?"}
    question_entry["after"] = {"question": "plain", "answers": [PREFER_NOT]}
    declined = {**PLAIN, "kind": "choice", "options": ["No", "Yes", PREFER_NOT]}
    questions = [declined, {**CHOICE, "options": ["x", "y", PREFER_NOT]}, question_entry]
    draft = storage.create(store, "owner", {**documents.blank("Away"), "questions": questions})
    page = f"/drafts/{draft.id}"
    submit(owner, f"{page}/declining", page, offered="yes")
    assert 'aria-checked="true"' in owner.get(page).text
    submit(owner, f"{page}/declining", page, offered="no")
    current_options = options(store, draft)
    assert current_options["choice"] == current_options["late"] == ("x", "y")
    assert current_options["plain"] == ("No", "Yes", PREFER_NOT)
    stale = submit(owner, f"{page}/declining", page, offered="yes", revision="1")
    assert "edited in another tab" in owner.get(stale.location).text
