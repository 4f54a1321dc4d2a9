"""Drafts and the editor: a form is saved, or refused with a message next to the field; nothing is lost silently."""

from __future__ import annotations

import html
import io
import json
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_analysis import recommend
from hushpoll_client import Survey
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_client.mechanism import matrix as table_mechanism
from hushpoll_server.serve.demo import DRAFT as DEMO
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace import kinds, mechanisms
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.draft import StaleDraft
from hushpoll_server.workspace.kinds import EDITORS
from hushpoll_server.workspace.privacy.question_plan import margin_at
from hushpoll_server.workspace.survey_list.survey_templates import TEMPLATES

from tests.server.accounts_kit import again, make_draft, submit, token_of

WARNER = {"id": "a", "kind": "yes_no", "text": "A?", "mechanism": {"epsilon": "1"}}
CHOICE = {
    "id": "b",
    "kind": "choice",
    "text": "B?",
    "options": ["x", "y", "z"],
    "mechanism": {"epsilon": "1"},
}


# Templates ------------------------------------------------------------------------------------------------------


def test_there_are_templates_for_the_promised_topics() -> None:
    assert {"exam", "tax", "drugs", "harassment", "vote", "alcohol"} <= set(TEMPLATES)
    used = {question["kind"] for question in TEMPLATES["alcohol"].document["questions"]}
    assert used >= {"scale", "number", "multiple"}
    assert any("after" in question for question in TEMPLATES["alcohol"].document["questions"])


@pytest.mark.parametrize(
    "intro", [*(template.document["intro"] for template in TEMPLATES.values()), DEMO["intro"]]
)
def test_no_introduction_of_ours_promises_what_the_odds_decide(intro: str) -> None:
    """The page says what is protected, by the odds; a change of epsilon does not change the introduction."""
    assert not re.search(
        r"(?i)can(not)? (see|learn|know)|never leaves|neither .* leaves|nobody receives|court", intro
    )


@pytest.mark.parametrize("key", TEMPLATES)
def test_every_template_makes_a_sound_draft_that_meets_its_own_plan(
    owner: FlaskClient, store: Store, key: str
) -> None:
    token = token_of(owner, "/surveys/new")
    response = owner.post("/drafts", data={"template": key, "csrf_token": token})
    draft = storage.find(store, response.location.rsplit("/", 1)[1])
    assert draft is not None
    survey = draft.survey()
    assert survey.epsilon_total < 5, "no template starts with a warning"
    for question in survey.questions:
        assert margin_at(question, draft.expected_n) <= draft.margin, question.id
    assert all(draft.follows_slider(question) for question in draft.questions)
    assert draft.document["look"] == {"layout": "steps"}
    assert owner.get(response.location).status_code == 200
    for word in ("anonymous", "lie", "fake"):
        assert not re.search(rf"\b{word}\b", json.dumps(draft.document), re.IGNORECASE)


# The editor -----------------------------------------------------------------------------------------------------


def test_a_question_is_added_changed_moved_copied_and_deleted(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", WARNER)
    at = f"/drafts/{draft.id}"
    submit(
        owner,
        f"{at}/questions/new",
        text="Second?",
        kind="choice",
        options="x\r\n\r\n y \r\nz",
        id="second",
        mechanism="",
    )
    assert again(store, draft).questions[1] == {
        "id": "second",
        "text": "Second?",
        "kind": "choice",
        "options": ["x", "y", "z"],
        "mechanism": {"epsilon": "1"},
    }
    submit(owner, f"{at}/questions/second/move", at, direction="up")
    assert [question["id"] for question in again(store, draft).questions] == ["second", "a"]
    submit(owner, f"{at}/questions/a/move", at, direction="down")
    assert [question["id"] for question in again(store, draft).questions] == ["second", "a"], "the edge holds"
    submit(owner, f"{at}/questions/a/duplicate", at)
    assert [question["id"] for question in again(store, draft).questions] == ["second", "a", "q1"]
    submit(owner, f"{at}/questions/a/delete", at)
    assert [question["id"] for question in again(store, draft).questions] == ["second", "q1"]
    submit(owner, f"{at}/questions/second", text="Changed?", kind="yes_no", id="renamed", mechanism="")
    assert again(store, draft).questions[0] == {
        "id": "renamed",
        "text": "Changed?",
        "kind": "yes_no",
        "mechanism": {"epsilon": "1"},
    }


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        ({"mechanism": "warner", "epsilon": "0.5"}, {"name": "warner", "epsilon": "0.5"}),
        ({"mechanism": "warner", "truth": "3/4"}, {"name": "warner", "truth": "3/4"}),
        ({"mechanism": "warner", "truth": "3/4", "linked": "y"}, {"name": "warner", "epsilon": "1"}),
        ({"mechanism": "krr", "epsilon": "2"}, {"name": "krr", "epsilon": "2"}),
        ({"mechanism": "forced", "forced": "1/6, 1/6"}, {"name": "forced", "forced": ["1/6", "1/6"]}),
        (
            {"mechanism": "or_poll", "decoy": "D?", "decoy_from": "share", "decoy_share": "0.4"},
            {"name": "or_poll", "decoy": "D?", "decoy_share": "0.4"},
        ),
        (
            {
                "mechanism": "or_poll",
                "decoy": "D?",
                "decoy_from": "counts",
                "decoy_yes": "412",
                "decoy_of": "1000",
                "epsilon": "1.5",
            },
            {"name": "or_poll", "decoy": "D?", "decoy_counts": [412, 1000], "epsilon": "1.5"},
        ),
        (
            {
                "mechanism": "unrelated",
                "truth": "0.7",
                "decoy": "D?",
                "decoy_from": "share",
                "decoy_share": "1/4",
                "linked": "y",
            },
            {"name": "unrelated", "truth": "0.7", "decoy": "D?", "decoy_share": "1/4", "epsilon": "1"},
        ),
        (
            {
                "mechanism": "crosswise",
                "decoy": "D?",
                "decoy_from": "share",
                "decoy_share": "0.25",
                "epsilon": "1",
            },
            {"name": "crosswise", "decoy": "D?", "decoy_share": "0.25", "epsilon": "1"},
        ),
    ],
)
def test_an_expert_can_choose_any_mechanism_and_finds_it_again(
    owner: FlaskClient, store: Store, fields: dict[str, str], written: dict[str, Any]
) -> None:
    draft = make_draft(store, "owner", WARNER)
    path = f"/drafts/{draft.id}/questions/a"
    response = submit(owner, path, text="A?", kind="yes_no", id="a", **fields)
    assert response.status_code == 302, response.text
    assert again(store, draft).questions[0]["mechanism"] == written
    page = owner.get(path).text
    assert 'checked class="form-check-input" id="mechanism' in page or "checked" in page
    for name in ("epsilon", "truth", "decoy_share", "decoy_yes", "decoy_of"):
        if name in fields and "linked" not in fields:
            assert re.search(rf'name="{name}"[^>]*value="{fields[name]}"', page), name
    assert ("linked" in fields) == (again(store, draft).linked == ("a",))


def test_prefer_not_to_say_makes_a_yes_no_question_a_choice_and_comes_back_as_a_tick(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store, "owner", WARNER)
    path = f"/drafts/{draft.id}/questions/a"
    submit(owner, path, text="A?", kind="yes_no", id="a", mechanism="", prefer_not="y")
    question = again(store, draft).questions[0]
    assert (question["kind"], question["options"]) == ("choice", ["No", "Yes", kinds.PREFER_NOT])
    fields = mechanisms.read_question(question)
    assert (fields["kind"], fields["prefer_not"]) == ("yes_no", True)
    submit(owner, path, text="A?", kind="yes_no", id="a", mechanism="")
    assert again(store, draft).questions[0]["kind"] == "yes_no"


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"text": ""}, "text", "Write the question."),
        ({"text": "x" * 1001}, "text", "1001 characters"),
        ({"text": "a\x07b"}, "text", "control character"),
        ({"text": "a\u202eb"}, "text", "turns the direction of writing (U+202E) at position 2; remove it"),
        ({"kind": "choice", "options": "one"}, "options", "at least two options"),
        ({"kind": "choice", "options": "one\none"}, "options", "appears twice"),
        ({"id": "no spaces"}, "id", "is not an id"),
        ({"id": "b"}, "id", "used twice"),
        ({"mechanism": "warner", "epsilon": "0"}, "epsilon", ""),
        ({"mechanism": "warner", "epsilon": "nan"}, "epsilon", "number"),
        ({"mechanism": "warner", "truth": "1/2"}, "truth", "Truth = 1/2 carries no information"),
        ({"mechanism": "forced", "forced": "1/6"}, "forced", "Needs one share for each"),
        ({"mechanism": "forced", "forced": "0, 0"}, "forced", "Forced shares are all zero"),
        ({"mechanism": "forced", "forced": "2/3, 2/3"}, "forced", ""),
        ({"mechanism": "or_poll", "decoy_share": "0.4"}, "decoy", "missing"),
        ({"mechanism": "or_poll"}, "decoy", "missing"),
        ({"mechanism": "or_poll"}, "decoy_share", "how often"),
        (
            {"mechanism": "or_poll", "decoy": "D?", "decoy_share": "a quarter"},
            "decoy_share",
            "Must be a number",
        ),
        ({"mechanism": "or_poll", "decoy": "D?", "decoy_from": "share"}, "decoy_share", "how often"),
        (
            {"mechanism": "or_poll", "decoy": "D?", "decoy_from": "counts", "decoy_yes": "5"},
            "decoy_of",
            "how often",
        ),
        (
            {
                "mechanism": "or_poll",
                "decoy": "D?",
                "decoy_from": "counts",
                "decoy_yes": "5",
                "decoy_of": "9" * 5000,
            },
            "decoy_of",
            "",
        ),
        ({"mechanism": "or_poll", "decoy": "D?", "decoy_share": "1.5"}, "decoy_share", "between 0 and 1"),
        ({"mechanism": "or_poll", "decoy": "D?", "decoy_from": "survey"}, "decoy_from", "Choose one"),
        (
            {"mechanism": "or_poll", "kind": "choice", "options": "x\ny", "decoy": "D?", "decoy_share": ".4"},
            "mechanism",
            "choice",
        ),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_what_was_typed_stays(
    owner: FlaskClient, store: Store, fields: dict[str, str], field: str, message: str
) -> None:
    draft = make_draft(store, "owner", WARNER, CHOICE)
    typed = {
        "text": "Typed?",
        "kind": "yes_no",
        "id": "a",
        "mechanism": "",
        "decoy": "",
        "forced": "kept &c",
    } | fields
    response = submit(owner, f"/drafts/{draft.id}/questions/a", **typed)
    assert response.status_code == 422
    match = re.search(rf'<p class="field-error" id="{field}-error">.*?</p>', response.text, re.DOTALL)
    assert match, f"no message beside {field}"
    assert message in match[0]
    assert f'href="#{field}"' in response.text, "the summary links to the field"
    assert 'role="alert"' in response.text
    assert f'value="{typed["id"]}"' in response.text
    if typed["forced"] == "kept &c":
        assert "kept &amp;c" in response.text
    assert again(store, draft) == draft


@pytest.mark.parametrize("field", ["title", "intro"])
def test_text_that_turns_is_refused_beside_its_field(owner: FlaskClient, store: Store, field: str) -> None:
    draft = make_draft(store)
    typed = {"title": "Exam", "intro": "We ask."} | {field: "Exam \u202eytsenoh"}
    response = submit(owner, f"/drafts/{draft.id}", **typed)
    assert response.status_code == 422
    match = re.search(rf'id="{field}-error">.*?</p>', response.text, re.DOTALL)
    assert match
    assert (
        "an invisible sign that turns the direction of writing (U+202E) at position 6; remove it" in match[0]
    )
    assert again(store, draft) == draft


def test_hostile_text_is_shown_as_text(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store)
    evil = "<script>alert(1)</script>\"'{{7*7}}"
    submit(owner, f"/drafts/{draft.id}/questions/q1", text=evil, kind="yes_no", id="q1", mechanism="")
    submit(owner, f"/drafts/{draft.id}", title=evil, intro=evil)
    for page in ("", "/questions/q1", "/privacy", "/rehearsal", "/publish", "/delete", "/phone", "/preview"):
        text = owner.get(f"/drafts/{draft.id}{page}").text
        assert "<script>alert" not in text, page
        assert "49" not in re.findall(r"alert\(1\).{0,40}", text), page


def test_a_recommendation_gives_its_reason(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", WARNER, CHOICE)
    page = owner.get(f"/drafts/{draft.id}").text
    assert "Warner&#39;s randomized response has the smallest margin" in page
    advice = recommend("choice", 3, 1.0)
    assert advice.reason in html.unescape(page)
    assert f"How it is randomized</summary><p>{MECHANISMS[advice.mechanism].label}" in page


def test_the_editor_offers_what_a_survey_can_use() -> None:
    for name, editor in EDITORS.items():
        for answers in (2, 3):
            offered = {mechanism.name for mechanism in editor.fitting(answers)}
            if answers == editor.answers or editor.answers is None:
                assert offered == {mechanism.name for mechanism in KINDS[name].fitting(answers)}
            if "option" in editor.kind.mechanism_fits:
                assert (answers == 2) == ("warner" in offered)
    assert {mechanism.name for kind in KINDS.values() for mechanism in kind.mechanisms} >= set(
        mechanisms.OFFERED
    )


def test_every_parameter_has_its_field_with_what_it_means(owner: FlaskClient, store: Store) -> None:
    page = owner.get(f"/drafts/{make_draft(store, 'owner', WARNER).id}/questions/new").text
    for name, mechanism in mechanisms.OFFERED.items():
        for parameter in mechanism.declared_parameters:
            if parameter.name == "decoy_counts":
                continue  # two fields: how many, of how many
            assert parameter.label, f"{parameter.name} has no label"
            assert f'name="{parameter.name}"' in page
            assert f">{parameter.label}</label>" in page
        for parameter in mechanism.declared_parameters:
            if parameter.name in mechanisms.PARAMETERS:
                help_text = html.escape(parameter.help, quote=False).replace("'", "&#39;")
                assert f'data-mechanisms="{name}">{help_text}</p>' in page


def test_whole_numbers_and_shares_are_written_as_the_document_wants_them() -> None:
    typed = {"id": "b", "text": "B?", "kind": "choice", "options": "x\ny\nz\nw"}
    written = mechanisms.write_question(
        typed | {"mechanism": "subset", "size": "2", "epsilon": "1", "truth": "50 %"}, "1"
    )
    assert written["mechanism"] == {"name": "subset", "size": 2, "epsilon": "1"}
    typed = {"id": "a", "text": "A?", "kind": "yes_no", "mechanism": "mangat", "truth": "50 %", "size": "2"}
    assert mechanisms.write_question(typed, "1")["mechanism"] == {"name": "mangat", "truth": "0.5"}


def test_an_imported_table_stays_while_its_question_is_edited(owner: FlaskClient, store: Store) -> None:
    channel = table_mechanism([["3/4", "1/4"], ["1/3", "2/3"]]).device.to_json()
    question = {"id": "own", "kind": "yes_no", "text": "Did you?", "channel": channel}
    draft = make_draft(store, "owner", {**question, "mechanism": {"name": "matrix", "epsilon": "2"}})
    page = owner.get(f"/drafts/{draft.id}/questions/own").text
    assert "A table of your own" in page
    assert "A table of your own" not in owner.get(f"/drafts/{draft.id}/questions/new").text
    fields = {
        "kind": "yes_no",
        "text": "Did you ever?",
        "id": "own",
        "mechanism": "matrix",
        "revision": draft.revision,
    }
    assert submit(owner, f"/drafts/{draft.id}/questions/own", **fields).status_code == 302
    saved = storage.find(store, draft.id)
    assert saved is not None
    assert saved.question("own") == {
        **question,
        "text": "Did you ever?",
        "mechanism": {"name": "matrix", "epsilon": "2"},
    }


# Stale tabs -----------------------------------------------------------------------------------------------------


def test_a_stale_tab_changes_nothing_keeps_what_was_typed_and_may_insist(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store)
    path = f"/drafts/{draft.id}"
    token = token_of(owner, path)
    submit(owner, path, title="From the other tab", intro="")
    typed = {"csrf_token": token, "revision": "1", "title": "From the stale tab", "intro": ""}
    response = owner.post(path, data=typed)
    assert response.status_code == 409
    assert "changed in another tab" in response.text
    assert 'value="From the stale tab"' in response.text
    assert again(store, draft).title == "From the other tab"
    revision = re.search(r'name="revision"[^>]*value="(\d+)"', response.text)
    assert revision
    assert owner.post(path, data=typed | {"revision": revision[1]}).status_code == 302
    assert again(store, draft).title == "From the stale tab"


@pytest.mark.parametrize(
    "page",
    [
        "questions/q1",
        "questions/new",
        "privacy",
        "questions/q1/move",
        "questions/q1/delete",
        "questions/q1/text",
        "questions/add",
    ],
)
def test_every_form_of_a_draft_minds_the_revision(owner: FlaskClient, store: Store, page: str) -> None:
    draft = make_draft(store)
    other = submit(owner, f"/drafts/{draft.id}", title="Newer", intro="")
    assert other.status_code == 302
    token = token_of(owner, f"/drafts/{draft.id}")
    before = again(store, draft)
    fields = {
        "text": "T?",
        "kind": "yes_no",
        "id": "z",
        "expected_n": "7",
        "margin": "9",
        "epsilon": "2",
        "mechanism": "",
    }
    for revision in ("1", "", "x", "-1", "99999999999999"):
        response = owner.post(
            f"/drafts/{draft.id}/{page}", data=fields | {"csrf_token": token, "revision": revision}
        )
        assert response.status_code in (409, 302), revision
        assert again(store, draft) == before


def test_the_store_refuses_a_stale_save(store: Store) -> None:
    draft = make_draft(store)
    storage.save(store, draft, 1)
    with pytest.raises(StaleDraft):
        storage.save(store, draft, 1)


# Definition in and out ------------------------------------------------------------------------------------------


def test_a_definition_goes_out_and_comes_in_again(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", WARNER, CHOICE)
    file = owner.get(f"/drafts/{draft.id}/definition.json").data
    token = token_of(owner, "/surveys/new")
    response = owner.post("/drafts/import", data={"file": (io.BytesIO(file), "x.json"), "csrf_token": token})
    twin = storage.find(store, response.location.rsplit("/", 1)[1])
    assert twin is not None
    assert twin.document == draft.document
    assert twin.survey().hash == draft.survey().hash


def test_importing_changes_no_question() -> None:
    question_entry = {
        "id": "c",
        "kind": "yes_no",
        "text": "C?",
        "mechanism": {"name": "warner", "epsilon": "2"},
    }
    survey = Survey.from_draft({**documents.blank("T"), "questions": [WARNER, CHOICE, question_entry]})
    document, epsilon = documents.imported(survey)
    assert Survey.from_draft(document).hash == survey.hash
    assert epsilon == "1"
    assert not any("name" in question["mechanism"] for question in document["questions"])
    assert [question["mechanism"]["epsilon"] for question in document["questions"]] == ["1", "1", "2"]


HOSTILE = {
    "empty": b"",
    "not JSON": b"PK\x03\x04 a zip",
    "another JSON": b'{"surveys": []}',
    "a list": b"[1, 2]",
    "deep": b"[" * 30_000,
    "unknown key": json.dumps({**documents.blank("T"), "questions": [WARNER], "owner": "me"}).encode(),
    "duplicate key": b'{"hushpoll": 1, "hushpoll": 1, "title": "T", "questions": []}',
    "NaN": json.dumps(
        {**documents.blank("T"), "questions": [{**WARNER, "mechanism": {"epsilon": float("nan")}}]}
    ).encode(),
    "no questions": json.dumps(documents.blank("T")).encode(),
    "epsilon above the cap": json.dumps(
        {
            **documents.blank("T"),
            "questions": [{**WARNER, "id": f"a{i}", "mechanism": {"epsilon": "3"}} for i in range(9)],
        }
    ).encode(),
    "too large": b" " * (1 << 20) + b"{}",
    "forged channel": Survey.from_draft({**documents.blank("T"), "questions": [WARNER]}).canonical.replace(
        b'"epsilon":"1"', b'"epsilon":"0.1"'
    ),
}


@pytest.mark.parametrize("fault", HOSTILE)
def test_a_foreign_or_hostile_file_is_refused_without_loss(
    owner: FlaskClient, store: Store, fault: str
) -> None:
    before = storage.unpublished(store, "owner")
    token = token_of(owner, "/surveys/new")
    data = {"file": (io.BytesIO(HOSTILE[fault]), "x.json"), "csrf_token": token}
    response = owner.post("/drafts/import", data=data)
    response.request.environ["wsgi.input"].close()  # the test client keeps a large upload in an open file
    assert response.status_code == 422
    assert 'id="file-error"' in response.text
    assert storage.unpublished(store, "owner") == before


def test_deleting_a_draft_asks_first(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store)
    assert "for good" in owner.get(f"/drafts/{draft.id}/delete").text
    assert storage.find(store, draft.id)
    submit(owner, f"/drafts/{draft.id}/delete")
    assert storage.find(store, draft.id) is None


@pytest.mark.parametrize(
    ("typed", "stored"), [("25%", "0.25"), ("12.5 %", "0.125"), ("1/4", "1/4"), ("a%", "a%")]
)
def test_a_percentage_is_read_as_the_share_it_means(typed: str, stored: str) -> None:
    fields = {
        "id": "q",
        "text": "T?",
        "kind": "yes_no",
        "mechanism": "crosswise",
        "decoy": "D?",
        "decoy_share": typed,
    }
    assert mechanisms.write_question(fields, "1")["mechanism"]["decoy_share"] == stored
    forced = fields | {"mechanism": "forced", "forced": f"{typed}, 0.1"}
    assert mechanisms.write_question(forced, "1")["mechanism"]["forced"] == [stored, "0.1"]


def test_a_draft_that_is_older_than_the_rule_on_turned_text_loses_it(
    owner: FlaskClient, store: Store
) -> None:
    """Its pages would fail for ever: what is kept compiles."""
    question_entry = {"id": "q1", "kind": "yes_no", "text": "Did \u202eyou?", "mechanism": {"epsilon": "1"}}
    draft = make_draft(store, "owner", question_entry)
    for question in ("", "/questions/q1", "/privacy", "/preview", "/rehearsal", "/publish", "/languages"):
        assert owner.get(f"/drafts/{draft.id}{question}").status_code == 200, question
    assert "Did you?" in owner.get(f"/drafts/{draft.id}").text
