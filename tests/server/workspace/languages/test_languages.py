"""Languages of a survey in the workspace: the table, completeness, files in and out, the preview."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_client.survey.translations import translatable
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage, translated_texts
from hushpoll_server.workspace.drafts.draft import Draft

from tests.server.accounts_kit import QUESTION, again, make_draft, submit, token_of
from tests.vectors.surveys import about_draft


def around(store: Store) -> Draft:
    """A draft that has everything, in English, French and Arabic."""
    return storage.create(store, "owner", {**documents.blank(), **about_draft()})


def upload(client: FlaskClient, draft: Draft, value: Any) -> Any:
    page = f"/drafts/{draft.id}/languages"
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    fields = {"csrf_token": token_of(client, page), "revision": str(draft.revision)}
    return client.post(f"{page}/upload", data={**fields, "file": (io.BytesIO(body), "texts.json")})


def test_a_language_is_added_filled_completed_and_previewed(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    page = f"/drafts/{draft.id}/languages"
    assert f'href="{page}"' in owner.get(f"/drafts/{draft.id}").text
    answer = submit(owner, page, language="en", tag="fr")
    assert answer.location.endswith("/languages/fr")
    assert "en, fr 0 of 2." in owner.get(f"/drafts/{draft.id}").text
    assert "The translation “fr” has 0 of 2 texts." in owner.get(f"/drafts/{draft.id}/publish").text
    first = submit(owner, f"{page}/fr", autosave="yes", opened="2", t_0="Titre").get_json()
    assert first == {"errors": {}, "revision": 3}
    assert "fr 1 of 2" in owner.get(f"{page}/fr").text
    assert "Language of the preview" not in owner.get(f"/drafts/{draft.id}/phone").text
    assert submit(owner, f"{page}/fr", t_0="Titre", t_1="Avez-vous ?").status_code == 302
    saved = again(store, draft)
    assert saved.document["translations"]["fr"] == {
        "title": "Titre",
        "questions": {"q1": {"text": "Avez-vous ?"}},
    }
    assert saved.compiled().document["translations"] == saved.document["translations"]
    page_text = owner.get(page).text
    assert ">French</a>" in page_text
    assert "2 of 2" in page_text
    phone = owner.get(f"/drafts/{draft.id}/phone?lang=fr").text
    assert re.search(r'lang=fr" aria-current="true">French', phone)
    assert f'src="/drafts/{draft.id}/preview?lang=fr"' in phone
    published = submit(owner, f"/drafts/{draft.id}/publish", frozen="y")
    assert "/surveys/" in published.location


def test_languages_are_suggested_by_name(owner: FlaskClient, store: Store) -> None:
    """Designers need not know language tags."""
    page = owner.get(f"/drafts/{make_draft(store).id}/languages").text
    assert page.count('list="common-languages"') == 2
    for tag, name in (("de", "German"), ("pt-BR", "Portuguese (Brazil)"), ("ar", "Arabic")):
        assert f'<option value="{tag}">{name}</option>' in page


def test_the_table_has_every_text_beside_its_original(owner: FlaskClient, store: Store) -> None:
    draft = around(store)
    html = owner.get(f"/drafts/{draft.id}/languages/ar").text
    for _, original in translated_texts.texts_to_translate(draft.document):
        assert original.replace('"', "&#34;").replace("'", "&#39;") in html, original
    for label in ("Title", "Consent", "Section 2, text", "Question 2, option 1", "Question 3, label 2"):
        assert f">{label}</label>" in html, label
    assert "Question 4, harmless question" in html
    assert html.count('lang="ar" ') == html.count('dir="auto"') / 2 == 17


@pytest.mark.parametrize(
    ("which", "typed", "what"),
    [
        (4, "x | javascript:alert(1)", "Line 1: "),
        (0, "T" * 201, "keep at most 200"),
        (10, "y fr", "Appears twice; make every answer different"),
    ],
)
def test_a_text_that_cannot_be_is_refused_beside_its_field(
    owner: FlaskClient, store: Store, which: int, typed: str, what: str
) -> None:
    draft = around(store)
    listed = translated_texts.texts_to_translate(draft.document)
    texts = draft.document["translations"]["fr"]
    fields = {f"t_{n}": translated_texts.text_at(texts, at) for n, (at, _) in enumerate(listed)}
    page = f"/drafts/{draft.id}/languages/fr"
    refused = submit(owner, page, **{**fields, f"t_{which}": typed})
    assert refused.status_code == 422
    error = re.search(r'id="(t_\d+)-error"><span[^>]*>Error: </span>([^<]*)', refused.text)
    assert error is not None
    assert f'<a href="#{error[1]}">' in refused.text
    assert what in error[2]
    assert again(store, draft).document == draft.document
    assert submit(owner, page, revision="7", **fields).status_code == 409


def test_open_answers_never_count_as_equal(owner: FlaskClient, store: Store) -> None:
    draft = around(store)
    page = f"/drafts/{draft.id}/languages/fr"
    assert submit(owner, page).status_code == 302, "everything open is not a fault"
    assert translated_texts.completeness(again(store, draft).document, "fr") == (0, 17)
    assert owner.get(page).status_code == 200


@pytest.mark.parametrize(
    ("language", "tag", "where", "what"),
    [
        ("", "fr", "language", "say which language"),
        ("en", "Klingon!", "tag", "is not a language"),
        ("English", "", "language", "is not a language"),
        ("en", "en", "tag", "Is the language of the survey itself"),
    ],
)
def test_a_tag_that_cannot_be_is_refused(
    owner: FlaskClient, store: Store, language: str, tag: str, where: str, what: str
) -> None:
    draft = make_draft(store)
    refused = submit(owner, f"/drafts/{draft.id}/languages", language=language, tag=tag)
    assert refused.status_code == 422
    message = refused.text.partition(f'id="{where}-error"')[2].partition("</p>")[0]
    assert what in message
    assert again(store, draft).document == draft.document


def test_languages_that_are_there_already_and_too_many_are_refused(owner: FlaskClient, store: Store) -> None:
    draft = around(store)
    page = f"/drafts/{draft.id}/languages"
    assert "is there already" in submit(owner, page, language="en", tag="fr").text.replace("Is", "is")
    assert "one of the translations" in submit(owner, page, language="fr").text
    for letter in "bcdefghij":
        assert submit(owner, page, language="en", tag=f"x{letter}").status_code == 302
    refused = submit(owner, page, language="en", tag="xk")
    assert refused.status_code == 422
    assert "keep at most 12" in refused.text
    assert len(again(store, draft).document["translations"]) == 11


def test_a_language_travels_in_a_file(owner: FlaskClient, store: Store) -> None:
    draft = around(store)
    page = f"/drafts/{draft.id}/languages"
    file = owner.get(f"{page}/fr/texts.json")
    assert file.headers["Content-Disposition"].endswith(f"{draft.id}-fr.json")
    beside = json.loads(file.data)
    document, french = draft.document, draft.document["translations"]["fr"]
    assert beside["fr"]["title"] == {"original": document["title"], "translation": french["title"]}
    assert beside["fr"]["questions"]["b"]["options"][0]["original"] == document["questions"][1]["options"][0]
    submit(owner, f"{page}/fr/remove", page)
    assert set(again(store, draft).document["translations"]) == {"ar"}
    assert upload(owner, again(store, draft), beside).status_code == 302
    assert again(store, draft).document["translations"]["fr"] == french, "the originals are not taken"
    # The plain texts of older files are taken as well.
    texts = {"fr": french}
    assert upload(owner, again(store, draft), texts).status_code == 302
    assert again(store, draft).document["translations"]["fr"] == french
    # An empty text is open, and is kept so.
    texts["fr"]["questions"]["b"]["options"] = ["", ""]
    assert upload(owner, again(store, draft), texts).status_code == 302
    assert translated_texts.completeness(again(store, draft).document, "fr") == (15, 17)
    assert owner.get(f"/drafts/{draft.id}").status_code == 200


def _faulty(name: str) -> Any:
    texts = translatable({**documents.blank(), **about_draft()})
    if name == "missing":
        del texts["questions"]["a"]
    if name == "extra":
        texts["questions"]["z"] = {"text": "?"}
    if name == "short":
        texts["questions"]["b"]["options"] = ["one"]
    if name == "number":
        texts["title"] = 5
    if name == "script":
        texts["help"] = [{"label": "x", "url": "javascript:alert(1)"}]
    if name == "many":
        return {f"{first}{two}": texts for first in "abcdefgh" for two in "vwxyz"}
    return {"fr": texts}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing", "translations.fr.questions.a: is missing"),
        ("extra", "unknown key"),
        ("short", "must be a list of 2 texts"),
        ("number", "must be text"),
        ("script", "is not an address that can be opened"),
        ("many", "keep at most 12"),
    ],
)
def test_a_file_with_missing_or_unknown_keys_or_forty_languages_is_refused(
    owner: FlaskClient, store: Store, name: str, problem: str
) -> None:
    draft = around(store)
    refused = upload(owner, draft, _faulty(name))
    assert refused.status_code == 422
    message = refused.text.partition('id="file-error"')[2].partition("</p>")[0]
    assert "This file was refused and nothing was saved: " in message
    assert problem in message.replace("&#34;", '"')
    assert again(store, draft).document == draft.document


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"fr": 1', b"\xff", b'{"fr": "text"}'])
def test_a_file_that_is_none_is_refused(owner: FlaskClient, store: Store, body: bytes) -> None:
    draft = around(store)
    refused = upload(owner, draft, body)
    assert refused.status_code == 422
    assert "nothing was saved" in refused.text
    assert again(store, draft).document == draft.document


def test_a_translation_whose_original_changes_may_be_out_of_date(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    at, page = f"/drafts/{draft.id}", f"/drafts/{draft.id}/languages"
    submit(owner, page, language="en", tag="fr")
    submit(owner, f"{page}/fr", t_0="Titre", t_1="Avez-vous ?")
    assert "out of date" not in owner.get(page).text + owner.get(f"{page}/fr").text
    edited = {"kind": "yes_no", "text": "Did you?", "id": "other"}
    assert submit(owner, f"{at}/questions/q1", **{**edited, "text": "Have you?"}).status_code == 302
    assert "out of date" not in owner.get(f"{page}/fr").text, "a new name is no new text"
    assert submit(owner, f"{at}/questions/other", **edited).status_code == 302
    for address in (at, page, f"{page}/fr"):
        assert "may be out of date" in owner.get(address).text
    assert "fr 2 of 2 (1 may be out of date)" in owner.get(at).text
    # It blocks nothing, is in no document, and stays through what is saved beside it.
    assert submit(owner, f"{page}/fr", t_0="Autre titre", t_1="Avez-vous ?").status_code == 302
    assert owner.get(f"{page}/fr").text.count("may be out of date") == 1
    saved = again(store, draft)
    assert "fitting" not in json.dumps(saved.document)
    assert saved.compiled().document["translations"]["fr"]["title"] == "Autre titre"
    for cleared in ({"t_1": "Avez-vous ?", "right": "1"}, {"t_1": "L'avez-vous fait ?"}):
        assert submit(owner, f"{page}/fr", t_0="Autre titre", **cleared).status_code == 302
        assert "out of date" not in owner.get(f"{page}/fr").text
        assert submit(owner, f"{at}/undo", at).status_code == 302
        assert "may be out of date" in owner.get(f"{page}/fr").text
    upload(owner, again(store, draft), {"fr": {"title": "T", "questions": {"other": {"text": "Vous ?"}}}})
    assert "out of date" not in owner.get(page).text


def test_translations_that_came_with_a_document_fit_until_an_original_changes(
    owner: FlaskClient, store: Store
) -> None:
    draft = around(store)
    assert "out of date" not in owner.get(f"/drafts/{draft.id}/languages").text
    storage.save(store, draft.with_details(title="Another title"), draft.revision)
    assert owner.get(f"/drafts/{draft.id}/languages").text.count("1 may be out of date") == 2
