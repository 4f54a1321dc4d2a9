"""Drafts in the database open as they were stored, and every part of a draft follows its questions."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import drafts
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.drafts.references import QuestionReferences
from sqlalchemy import insert, select

from tests.server.accounts_kit import again

BINARY = {"kind": "yes_no", "mechanism": {"epsilon": "1"}}
MEMBER = {"kind": "choice", "options": ["x", "y"]}
TEXTS = {"b": {"text": "B fr", "options": ["x fr", "y fr"]}, "d": {"text": "D fr"}}
# A row as it was stored before drafts had types.
DOCUMENT: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Everything",
    "intro": "",
    "questions": [
        {"id": "a", "text": "A?", **BINARY},
        {"id": "b", "text": "B?", **MEMBER},
        {"id": "c", "text": "C?", **MEMBER},
        {"id": "d", "text": "D?", **BINARY, "after": {"question": "a", "answers": ["Yes"]}},
        {
            "id": "e",
            "kind": "yes_no",
            "text": "E?",
            "mechanism": {"name": "or_poll", "decoy": "Moon?", "decoy_share": "0.25", "epsilon": "1"},
        },
    ],
    "settings": {"kiosk": False, "invitation": False},
    "groups": ["Science", "Arts"],
    "language": "en",
    "translations": {
        "fr": {"title": "Tout", "questions": TEXTS, "sections": [{"title": "Un"}, {"title": "Deux"}]}
    },
    "sections": [{"before": "b", "title": "One", "text": "Text"}, {"before": "d", "title": "Two"}],
    "blocks": [{"questions": ["b", "c"], "ask": 1, "epsilon": "2"}],
    "anchor": {"question": "a", "share": "0"},
}
BUDGET = {
    "margins": {"a": 0.03, "b": 0.04},
    "locks": {"a": "1", "d": "3-fold"},
    "cross_tables": {"b": True},
    "fitting": {"fr": ["0123456789abcdef"]},
}
ROW = {
    "id": "0123456789abcdef",
    "owner": "owner",
    "title": "Everything",
    "document": json.dumps(DOCUMENT),
    "revision": 7,
    "expected_n": 900,
    "margin": 0.06,
    "epsilon": "1",
    "linked": '["e"]',
    "updated_at": 1_700_000_000,
    "published_hash": None,
    "budget": json.dumps(BUDGET),
}


def stored(store: Store) -> Draft:
    """Return the draft of the row."""
    with store.write() as tx:
        tx.execute(drafts.delete().where(drafts.c.id == ROW["id"]))
        tx.execute(insert(drafts).values(**ROW))
    draft = storage.find(store, str(ROW["id"]))
    assert draft is not None
    return draft


def names(draft: Draft, question_id: str) -> list[str]:
    """Return the parts of a draft that name a question."""
    mark = f"{question_id!r}"
    return [
        entry.name
        for entry in fields(draft)
        if isinstance(references := getattr(draft, entry.name), QuestionReferences)
        and mark
        in repr(
            dict(references)
            if entry.name in ("margins", "locks", "cross_tables", "translations")
            else references
        )
    ]


def test_a_draft_that_was_stored_before_drafts_had_types_opens_and_is_saved_unchanged(store: Store) -> None:
    draft = stored(store)
    assert draft.document == DOCUMENT
    assert draft.title == "Everything"
    assert (draft.expected_n, draft.margin, draft.epsilon, draft.linked) == (900, 0.06, "1", ("e",))
    assert draft.margins == BUDGET["margins"]
    assert draft.locks == BUDGET["locks"]
    assert draft.cross_tables == BUDGET["cross_tables"]
    assert draft.fitting == BUDGET["fitting"]
    storage.save(store, draft, draft.revision)
    with store.read() as tx:
        row = tx.execute(select(drafts).where(drafts.c.id == draft.id)).one()._mapping
    for column in ("document", "linked", "budget"):
        assert json.loads(row[column]) == json.loads(str(ROW[column])), column
    assert row["revision"] == 8
    assert again(store, draft).document == DOCUMENT


def test_every_part_follows_a_question_s_new_id(store: Store) -> None:
    draft = stored(store)
    assert names(draft, "a") == ["rules", "anchor", "margins", "locks"]
    assert names(draft, "b") == ["blocks", "sections", "translations", "margins", "cross_tables"]
    for question in draft.questions:
        question_id = question["id"]
        rule = draft.rules.of(question_id)
        renamed = draft.with_edited(question_id, {**question, "id": "z"}, rule)
        assert names(renamed, "z") == names(draft, question_id)
        assert names(renamed, question_id) == []


def test_no_part_names_a_question_that_was_removed(store: Store) -> None:
    draft = stored(store).without_question("d").without_question("a")
    assert "anchor" not in draft.document
    assert names(draft, "a") == names(draft, "d") == []
    assert [section.before for section in draft.sections] == ["b", "e"]
    draft = draft.without_question("e")
    assert draft.document["sections"] == [{"before": "b", "title": "One", "text": "Text"}]
    assert draft.translations["fr"]["sections"] == [{"title": "Un"}]
    assert draft.linked == ()
    left = draft.without_question("b")
    assert left.blocks == ()
    assert left.question("c") == {"id": "c", "text": "C?", **MEMBER, "mechanism": {"epsilon": "1"}}
    assert left.sections[0].before == "c"


def test_a_copy_is_in_the_same_block_and_section_with_the_same_rule_and_texts(store: Store) -> None:
    draft = stored(store).with_copy("b").with_copy("d")
    assert draft.order == ["a", "b", "q1", "c", "d", "q2", "e"]
    assert draft.blocks[0].questions == ("b", "q1", "c")
    assert draft.rules.of("q2") == draft.rules.of("d")
    assert draft.translations["fr"]["questions"]["q1"] == TEXTS["b"]
    assert names(draft, "q1") == ["blocks", "translations"]
