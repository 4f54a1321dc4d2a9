"""Questions written and changed on the draft's page: where they stand, with everything else of them as it was."""

from __future__ import annotations

import html
import re

import pytest
from flask.testing import FlaskClient
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.kinds import EDITORS

from tests.server.accounts_kit import OR_POLL, QUESTION, make_draft, submit

CHOICE = {"id": "c", "kind": "choice", "text": "Which?", "options": ["x", "y"], "mechanism": {"epsilon": "1"}}
SCALE = {"id": "s", "kind": "scale", "text": "How much?", "points": 5, "mechanism": {"epsilon": "1"}}
RULE = {
    "id": "r",
    "kind": "yes_no",
    "text": "Why?",
    "mechanism": {"epsilon": "1"},
    "after": {"question": "c", "answers": ["y"]},
}


def again(store: Store, draft: Draft) -> Draft:
    saved = storage.find(store, draft.id)
    assert saved is not None
    return saved


@pytest.mark.parametrize("kind", EDITORS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_question_of_every_kind_is_added_where_it_is_wanted(
    owner: FlaskClient, store: Store, kind: str, place: int
) -> None:
    draft = make_draft(store, "owner", QUESTION, CHOICE)
    home = f"/drafts/{draft.id}"
    page = owner.get(f"{home}?add={place}").text
    assert re.search(rf'name="at" value="{place}"', page)
    answer = submit(owner, f"{home}/questions/add", home, text=" New? ", kind=kind, at=str(place))
    saved = again(store, draft)
    assert [question["text"] for question in saved.questions].index("New?") == place
    saved.survey()
    new = saved.questions[place]
    assert new["kind"] == kind
    assert new["mechanism"]["epsilon"] == saved.epsilon
    assert (f"edit={new['id']}" in answer.location) != EDITORS[kind].begins_complete, (
        "what is made up is to be changed"
    )
    assert answer.location.endswith(f"#question-{new['id']}")


def test_without_a_text_the_whole_editor_opens(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    home = f"/drafts/{draft.id}"
    answer = submit(owner, f"{home}/questions/add", home, text=" ", kind="number")
    assert answer.location == f"{home}/questions/new?kind=number"
    assert again(store, draft).revision == draft.revision


def test_the_text_and_options_change_and_nothing_else(owner: FlaskClient, store: Store) -> None:
    poll = {**OR_POLL, "mechanism": {**OR_POLL["mechanism"], "epsilon": "1"}}  # type: ignore[dict-item]
    draft = make_draft(store, "owner", CHOICE, RULE, SCALE, poll, linked=("o",), locks={"c": "2"})
    home = f"/drafts/{draft.id}"
    before = again(store, draft)
    page = html.unescape(owner.get(f"{home}?edit=c").text)
    assert re.search(r'<textarea[^>]*name="options"[^>]*>\s*x\s+y</textarea>', page)
    changes = {
        "c": {"text": "Which one?", "options": "y\nx\nz"},
        "r": {"text": "Why so?"},
        "s": {"text": "And how much?", "points": "7", "first": "1", "labels": "low\nhigh"},
        "o": {"text": "Really?"},
    }
    for name, typed in changes.items():
        assert (
            submit(owner, f"{home}/questions/{name}/text", f"{home}?edit={name}", **typed).status_code == 302
        )
    saved = again(store, draft)
    assert [question["text"] for question in saved.questions] == [
        "Which one?",
        "Why so?",
        "And how much?",
        "Really?",
    ]
    assert saved.question("c")["options"] == ["y", "x", "z"]  # type: ignore[index]
    assert saved.question("s")["labels"] == ["low", "high"]  # type: ignore[index]
    assert saved.question("o")["mechanism"] == before.question("o")["mechanism"]  # type: ignore[index]
    assert (saved.rules, saved.linked, saved.locks) == (before.rules, before.linked, before.locks)


def test_all_mistakes_are_shown_at_once_beside_their_fields(owner: FlaskClient, store: Store) -> None:
    number = {"id": "n", "kind": "number", "text": "How many?", "min": "0", "max": "9", "step": "1"}
    draft = make_draft(store, "owner", {**number, "mechanism": {"epsilon": "1"}})
    home = f"/drafts/{draft.id}"
    typed = {"text": "", "min": "", "max": "", "step": "1", "unit": ""}
    for path in (f"{home}/questions/n/text", f"{home}/questions/n"):
        answer = submit(owner, path, f"{home}?edit=n", **typed, kind="number", id="n", mechanism="")
        assert answer.status_code == 422
        for field in ("text", "min", "max"):
            assert f'id="{field}-error"' in answer.text, (path, field)
    assert again(store, draft).revision == draft.revision
