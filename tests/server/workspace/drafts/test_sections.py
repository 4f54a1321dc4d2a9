"""Drafts with sections and translations: whatever is done to their questions, they stay whole and open."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_client import Survey, SurveyError
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage, translated_texts
from hushpoll_server.workspace.drafts.draft import Draft

from tests.server.accounts_kit import again, submit, token_of
from tests.vectors.surveys import about_draft


def around(store: Store, *leave_out: str, **more: Any) -> Draft:
    """A draft that has everything: sections before a and c, translations into French and Arabic."""
    document = {**documents.blank(), **about_draft(), **more}
    return storage.create(
        store, "owner", {key: name for key, name in document.items() if key not in leave_out}
    )


def sections(draft: Draft) -> list[tuple[str, str]]:
    return [(section["before"], section["title"]) for section in draft.document.get("sections", [])]


def opens(client: FlaskClient, draft: Draft) -> None:
    """Every page of a draft can be opened."""
    for page in ("", "/privacy", "/preview", "/rehearsal", "/publish"):
        assert client.get(f"/drafts/{draft.id}{page}").status_code == 200, page


def test_a_title_can_be_saved_beside_sections_and_translations(owner: FlaskClient, store: Store) -> None:
    draft = around(store)
    assert submit(owner, f"/drafts/{draft.id}", title="Other", asked_by="We").status_code == 302
    saved = again(store, draft)
    assert saved.title == "Other"
    assert saved.document["sections"] == draft.document["sections"]
    opens(owner, draft)


@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ("a", [("b", "You"), ("c", "Often")]),
        ("b", [("a", "You"), ("c", "Often")]),
        ("c", [("a", "You"), ("d", "Often")]),
    ],
)
def test_a_section_begins_at_its_next_question_when_its_first_is_deleted(
    owner: FlaskClient, store: Store, gone: str, left: list[tuple[str, str]]
) -> None:
    draft = around(store)
    page = f"/drafts/{draft.id}/questions/{gone}/delete"
    assert submit(owner, page, f"/drafts/{draft.id}").status_code == 302
    assert sections(again(store, draft)) == left
    assert translated_texts.unfinished(again(store, draft).document) == []
    opens(owner, draft)


def test_a_section_goes_with_its_last_question_in_every_language(owner: FlaskClient, store: Store) -> None:
    draft = around(store)
    for name in ("a", "b"):
        submit(owner, f"/drafts/{draft.id}/questions/{name}/delete", f"/drafts/{draft.id}")
        page_text = owner.get(f"/drafts/{draft.id}").text
        assert ("Question deleted, and the section “You” with it." in page_text) == (name == "b")
    saved = again(store, draft)
    assert sections(saved) == [("c", "Often")]
    assert saved.document["translations"]["fr"]["sections"] == [{"title": "Two fr", "text": "Text fr"}]
    opens(owner, draft)
    for name in ("c", "d"):
        submit(owner, f"/drafts/{draft.id}/questions/{name}/delete", f"/drafts/{draft.id}")
    assert "sections" not in again(store, draft).document
    assert owner.get(f"/drafts/{draft.id}").status_code == 200


@pytest.mark.parametrize(
    ("name", "direction", "steps", "order", "left"),
    [
        ("b", "down", 1, "acbd", ["a", "c"]),
        ("c", "up", 1, "acbd", ["a", "d"]),
        ("a", "down", 3, "bcda", ["b", "c"]),
        ("d", "up", 3, "dabc", ["d", "c"]),
        ("d", "up", 1, "abdc", ["a", "d"]),
        ("a", "up", 1, "abcd", ["a", "c"]),
        ("d", "down", 1, "abcd", ["a", "c"]),
    ],
)
def test_only_the_question_that_moves_changes_its_section(
    owner: FlaskClient, store: Store, name: str, direction: str, steps: int, order: str, left: list[str]
) -> None:
    draft = around(store)
    page = f"/drafts/{draft.id}"
    submit(owner, f"{page}/questions/{name}/move", page, direction=direction, places=str(steps))
    saved = again(store, draft)
    assert "".join(question["id"] for question in saved.questions) == order
    assert [before for before, _ in sections(saved)] == left
    opens(owner, draft)


def test_the_only_question_of_a_section_cannot_be_moved_out_of_it(owner: FlaskClient, store: Store) -> None:
    alone = [{"before": "a", "title": "You"}, {"before": "b", "title": "Rest"}]
    draft = around(store, "translations", sections=alone)
    page = f"/drafts/{draft.id}"
    answer = submit(owner, f"{page}/questions/a/move", page, direction="down")
    assert "“You” would have no question left" in owner.get(answer.location).text
    assert again(store, draft).document == draft.document


def test_a_draft_whose_sections_were_broken_before_opens_again(owner: FlaskClient, store: Store) -> None:
    wrong = [
        {"before": "c", "title": "Often"},
        {"before": "a", "title": "You"},
        {"before": "x", "title": "?"},
    ]
    draft = around(store, sections=wrong)
    assert sections(again(store, draft)) == [("a", "You"), ("c", "Often")]
    opens(owner, draft)
    gone = around(store, sections=[{"before": "x", "title": "?"}])
    assert "sections" not in again(store, gone).document
    opens(owner, gone)


# Languages ------------------------------------------------------------------------------------------------------


def test_a_new_question_leaves_the_languages_open_and_publishing_waits(
    owner: FlaskClient, store: Store
) -> None:
    draft = around(store)
    page = f"/drafts/{draft.id}"
    new = {"kind": "yes_no", "text": "New?", "id": "e", "mechanism": ""}
    assert submit(owner, f"{page}/questions/new", **new).status_code == 302
    saved = again(store, draft)
    assert translated_texts.completeness(saved.document, "fr") == (17, 18)
    assert saved.document["translations"]["fr"] == draft.document["translations"]["fr"], "nothing is lost"
    opens(owner, draft)
    page_text = owner.get(f"{page}/publish").text
    assert "The translation “fr” has 17 of 18 texts. Complete or remove it" in page_text
    late = submit(owner, f"{page}/publish", frozen="y", one_sided="y")
    assert late.status_code == 422
    assert again(store, draft).published_hash is None
    # Without the open languages the preview compiles; with the question gone again, all of them are back.
    assert "translations" not in saved.compiled().document
    submit(owner, f"{page}/questions/e/delete", page)
    assert set(again(store, draft).compiled().document["translations"]) == {"fr", "ar"}
    assert "The translation “fr” has 17 of 17 texts: it is complete." in owner.get(f"{page}/publish").text


def test_a_question_is_renamed_and_duplicated_with_its_translations(owner: FlaskClient, store: Store) -> None:
    draft = around(store)
    page = f"/drafts/{draft.id}"
    fields = {
        "kind": "scale",
        "text": "How often?",
        "points": "5",
        "labels": "Never\nAlways",
        "mechanism": "",
    }
    answer = submit(owner, f"{page}/questions/c", **fields, id="often", target_scale="shares")
    assert answer.status_code == 302
    saved = again(store, draft)
    assert sections(saved)[1][0] == "often"
    assert saved.document["translations"]["fr"]["questions"]["often"]["text"] == "C fr"
    submit(owner, f"{page}/questions/often/duplicate", page)
    twin = again(store, draft).questions[3]["id"]
    assert again(store, draft).document["translations"]["ar"]["questions"][twin]["labels"][0] == "low ar"
    assert translated_texts.unfinished(again(store, draft).document) == []
    opens(owner, draft)


def test_translated_answers_follow_their_originals(store: Store) -> None:
    draft = around(store)
    question_entry = draft.questions[1]

    def options(*now: str) -> list[str]:
        changed = draft.with_edited("b", {**question_entry, "options": list(now)}, rule=None)
        labels: list[str] = changed.translations["fr"]["questions"]["b"]["options"]
        return labels

    assert options("Prefer not to say", "x") == ["y fr", "x fr"], "another order"
    assert options("X", "Prefer not to say") == ["x fr", "y fr"], "other words in the same place"
    assert options("w", "x", "Prefer not to say") == ["", "x fr", "y fr"], "a new answer is open"
    assert options("w", "x") == ["", "x fr"]


def test_a_draft_with_open_languages_travels_in_a_file(owner: FlaskClient, store: Store) -> None:
    draft = around(store)
    del draft.translations["fr"]["questions"]["a"]
    saved = storage.save(store, draft, draft.revision)
    file = owner.get(f"/drafts/{draft.id}/definition.json").data
    assert set(json.loads(file)["translations"]) == {"ar"}
    fields = {"csrf_token": token_of(owner, "/surveys/new"), "file": (io.BytesIO(file), "draft.json")}
    answer = owner.post("/drafts/import", data=fields)
    copied = storage.find(store, answer.location.rpartition("/")[2])
    assert copied is not None
    assert translated_texts.completeness(copied.document, "fr") == (16, 17)
    texts = copied.document["translations"]["fr"]
    assert texts["questions"]["b"] == saved.document["translations"]["fr"]["questions"]["b"]
    wrong = json.loads(file)
    for unfinished in (
        {"ar": {}},
        {"en": {}},
        ["fr"],
        {"Klingon!": {}},
        {f"a{letter}": {} for letter in "bcdefghijklm"},
    ):
        wrong["plan"]["unfinished"] = unfinished
        fields["file"] = (io.BytesIO(json.dumps(wrong).encode()), "draft.json")
        refused = owner.post("/drafts/import", data=fields)
        assert refused.status_code == 422
        assert "This file was refused" in refused.text


def test_a_finished_language_with_two_equal_answers_stops_publishing(
    owner: FlaskClient, store: Store
) -> None:
    draft = around(store)
    draft.translations["fr"]["questions"]["b"]["options"] = ["x", "x"]
    storage.save(store, draft, draft.revision)
    opens(owner, draft)
    assert "but not all of them can be used" in owner.get(f"/drafts/{draft.id}/publish").text
    with pytest.raises(SurveyError, match="appears twice"):
        Survey.from_draft(draft.document)
