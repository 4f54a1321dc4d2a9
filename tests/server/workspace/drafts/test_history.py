"""What makes a designer's work easier: saving by itself, undo, plans that travel, decimal commas, equal questions."""

from __future__ import annotations

import html
import io
import json
import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.documents import parse_survey
from hushpoll_client import SurveyError
from hushpoll_server.fields import both, decimal, decimals
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import history, storage
from hushpoll_server.workspace.drafts.draft import Draft

from tests.server.accounts_kit import QUESTION, again, make_draft, submit, token_of

SECOND = {"id": "q2", "kind": "yes_no", "text": "Would you?", "mechanism": {"epsilon": "1"}}


# Saving by itself, and undo ------------------------------------------------------------------------------------------


def live(client: FlaskClient, draft: Draft, **fields: Any) -> Any:
    at = f"/drafts/{draft.id}/questions/new"
    question_entry = {"kind": "yes_no", "id": "q2", "mechanism": "", **fields}
    return submit(client, f"/drafts/{draft.id}/live.json", at, **question_entry).get_json()


def test_a_question_is_kept_while_it_is_typed_and_undone_in_one_step(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store)
    assert live(owner, draft, text="")["errors"] == {"text": "Write the question."}
    assert again(store, draft).revision == 1
    first = live(owner, draft, text="Did y", opened="1")
    assert (first["errors"], first["id"], first["revision"]) == ({}, "q2", 2)
    assert re.fullmatch(r"With 500 answers: ±[\d.]+ points\. You need ±5 points: .*", first["margin"])
    second = live(owner, draft, text="Did you ever?", instead_of="q2", opened="1", revision=2)
    assert second["revision"] == 3
    same = live(owner, draft, text="Did you ever?", instead_of="q2", opened="1", revision=3)
    assert same["revision"] == 3, "nothing changed, nothing is written"
    assert [question["text"] for question in again(store, draft).questions] == ["Have you?", "Did you ever?"]
    page = f"/drafts/{draft.id}"
    assert "Undo the last change" in owner.get(page).text
    assert submit(owner, f"{page}/undo", page).status_code == 302
    assert again(store, draft).questions == draft.questions, "one step takes back all that the page saved"
    nothing = {"csrf_token": token_of(owner, page), "revision": "4"}
    response = owner.post(f"{page}/undo", data=nothing, follow_redirects=True).text
    assert "There is nothing to undo" in response


def test_title_and_plan_are_kept_while_they_are_typed(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store)
    page = f"/drafts/{draft.id}"
    response = submit(owner, page, autosave="yes", title="Better", intro="Why").get_json()
    assert response == {"errors": {}, "revision": 2}
    assert submit(owner, page, autosave="yes", title=" ").get_json()["errors"].keys() == {"title"}
    fields = {"autosave": "yes", "expected_n": "900", "margin": "4,5", "epsilon": "1"}
    assert submit(owner, f"{page}/privacy", **fields).get_json() == {"errors": {}, "revision": 3}
    saved = again(store, draft)
    assert (saved.title, saved.expected_n, saved.margin) == ("Better", 900, pytest.approx(0.045))
    bad = submit(owner, f"{page}/privacy", **{**fields, "expected_n": "0"}).get_json()
    assert bad["errors"].keys() == {"expected_n"}


def test_a_page_that_is_out_of_date_keeps_nothing_and_undoes_nothing(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store)
    storage.save(store, draft, 1)
    assert "another tab" in live(owner, draft, text="Did you?", revision="1")["stale"]
    page = f"/drafts/{draft.id}"
    late = submit(owner, f"{page}/undo", page, revision="1")
    assert "edited in another tab" in owner.get(late.location).text
    assert again(store, draft).revision == 2
    assert history.can_undo(store, draft.id)


def test_fifty_changes_can_be_undone_and_none_of_a_deleted_draft(store: Store) -> None:
    draft = make_draft(store)
    for revision in range(1, 61):
        storage.save(store, draft, revision)
    undone = 0
    while storage.undo(store, draft.id, again(store, draft).revision):
        undone += 1
    assert undone == history.MOST_VERSIONS
    storage.save(store, draft, again(store, draft).revision)
    storage.remove(store, draft, actor="test")
    assert not history.can_undo(store, draft.id)


# Order and equal questions -------------------------------------------------------------------------------------------


def test_a_question_moves_by_several_places_and_the_page_comes_back_to_it(
    owner: FlaskClient, store: Store
) -> None:
    third = {**SECOND, "id": "q3", "text": "Could you?"}
    draft = make_draft(store, "owner", QUESTION, SECOND, third)
    page = f"/drafts/{draft.id}"
    answer = submit(owner, f"{page}/questions/q1/move", page, direction="down", places="2")
    assert answer.location.endswith("#question-q1")
    assert [question["id"] for question in again(store, draft).questions] == ["q2", "q3", "q1"]
    submit(owner, f"{page}/questions/q1/move", page, direction="up", places="nonsense")
    assert [question["id"] for question in again(store, draft).questions] == ["q2", "q1", "q3"]


def test_two_equal_questions_are_noticed(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store)
    page = f"/drafts/{draft.id}"
    fields = {"kind": "yes_no", "text": "  have   YOU ", "id": "q2", "mechanism": ""}
    answer = submit(owner, f"{page}/questions/new", **fields)
    page_text = owner.get(answer.location).text
    assert "It has the same text as question 1" in page_text
    assert "This has the same text as question 1" in page_text
    assert "Questions 1 and 2 have the same text." in owner.get(f"{page}/publish").text
    other = make_draft(store, "owner", QUESTION, SECOND)
    assert "the same text" not in owner.get(f"/drafts/{other.id}/publish").text


# Plans travel --------------------------------------------------------------------------------------------------------


def planned(store: Store) -> Draft:
    linked = {**SECOND, "mechanism": {"name": "warner", "epsilon": "0.5"}}
    plan: dict[str, Any] = {"expected_n": 1234, "margin": 0.07, "epsilon": "0.5"}
    plan |= {"linked": ("q2",), "margins": {"q1": 0.03}, "locks": {"q2": "0.5"}}
    return make_draft(store, "owner", {**QUESTION, "mechanism": {"epsilon": "0.5"}}, linked, **plan)


def import_file(owner: FlaskClient, document: bytes) -> Any:
    data = {"csrf_token": token_of(owner, "/surveys/new"), "file": (io.BytesIO(document), "survey.json")}
    return owner.post("/drafts/import", data=data)


def draft_from(store: Store, answer: Any) -> Draft:
    assert answer.status_code == 302, answer.text
    saved = storage.find(store, answer.location.rsplit("/", 1)[1])
    assert saved is not None
    return saved


def test_exporting_and_importing_keeps_the_plan(owner: FlaskClient, store: Store) -> None:
    draft = planned(store)
    file = owner.get(f"/drafts/{draft.id}/definition.json").data
    assert parse_survey(file).hash == draft.compiled().hash, "the plan is not part of the survey"
    saved = draft_from(store, import_file(owner, file))
    assert {**saved.plan, "linked": ()} == {**draft.plan, "linked": ()}


def test_copying_a_survey_and_running_it_again_keeps_the_plan(owner: FlaskClient, store: Store) -> None:
    draft = planned(store)
    survey = draft.compiled()
    storage.publish(store, draft, survey, "owner")
    for action in ("copy", "again"):
        answer = submit(owner, f"/surveys/{survey.hash}/{action}", f"/surveys/{survey.hash}")
        assert {**draft_from(store, answer).plan, "linked": ()} == {**draft.plan, "linked": ()}


@pytest.mark.parametrize(
    "plan",
    [
        [],
        {"answers": 0},
        {"answers": "500"},
        {"answers": True},
        {"margin": 2},
        {"margin": "5"},
        {"margin": True},
        {"epsilon": 1},
        {"epsilon": "much"},
        {"margins": {"nobody": 0.1}},
        {"locks": {"q1": 5}},
        {"linked": ["nobody"]},
        {"linked": [[]]},
        {"more": 1},
    ],
)
def test_a_bad_plan_is_refused_with_its_place(owner: FlaskClient, store: Store, plan: Any) -> None:
    document = {**make_draft(store).document, "plan": plan}
    before = len(storage.unpublished(store, "owner"))
    answer = import_file(owner, json.dumps(document).encode())
    assert answer.status_code == 422
    assert "This file was refused and nothing was saved: plan" in answer.text
    assert len(storage.unpublished(store, "owner")) == before


# Decimal commas ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("0,25", "0.25"),
        (",5", "0.5"),
        ("-1,5", "-1.5"),
        ("−1,5", "-1.5"),
        ("12,5%", "12.5%"),
        ("1234,5", "1234.5"),
        ("0,125", "0.125"),
        ("1.5", "1.5"),
        ("3/4", "3/4"),
        ("1,2,3", "1,2,3"),
        ("a,b", "a,b"),
    ],
)
def test_a_decimal_comma_is_read(typed: str, expected: str) -> None:
    assert decimal(typed) == expected


UNCLEAR = {
    "en": {
        "12,500": "“12,500” can be read in two ways; write 12500, or 12.500",
        "−1,234": "“−1,234” can be read in two ways; write -1234, or -1.234",
        "1,000,000": "“1,000,000” has signs between thousands; write 1000000",
    },
    "de": {
        "12.500": "„12.500“ lässt sich auf zwei Arten lesen; schreiben Sie 12500 oder 12,500",
        "−1.234": "„−1.234“ lässt sich auf zwei Arten lesen; schreiben Sie -1234 oder -1,234",
        "1.000.000": "„1.000.000“ hat Zeichen zwischen den Tausendern; schreiben Sie 1000000",
    },
}


@pytest.mark.parametrize("language", UNCLEAR)
def test_what_could_be_thousands_is_refused_in_every_language(app: Flask, language: str) -> None:
    """Ten thousand in English is ten in German, and the other way round: neither is guessed."""
    with app.test_request_context("/surveys", headers={"Accept-Language": language}):
        for typed, message in UNCLEAR[language].items():
            with pytest.raises(SurveyError) as refused:
                decimal(typed, ("max",))
            assert both(refused.value) == message
            assert refused.value.path == ("max",)
        # The other language's thousands are decimals here, and so is what no thousands look like.
        other = "10.000" if language == "en" else "10,000"
        assert [decimal(text) for text in (other, "0,125", "0.125", "1234,5")] == [
            "10.000",
            "0.125",
            "0.125",
            "1234.5",
        ]


@pytest.mark.parametrize("language", UNCLEAR)
def test_thousands_are_refused_beside_every_field(owner: FlaskClient, store: Store, language: str) -> None:
    typed, message = next(iter(UNCLEAR[language].items()))
    owner.set_cookie("hushpoll_language", language)
    draft = make_draft(store, "owner", QUESTION, {**QUESTION, "id": "q2"})
    page = f"/drafts/{draft.id}"
    question_entry = {"id": "q3", "text": "Did you?", "mechanism": ""}
    number = {**question_entry, "kind": "number", "min": "0", "max": "80", "step": "1"}
    yes_no_question = {**question_entry, "kind": "yes_no", "mechanism": "warner", "epsilon": typed}
    plan = {"expected_n": "1000", "margin": "5", "epsilon": "1"}
    block = {"questions": ["q1", "q2"], "ask": "1", "epsilon": typed}
    details = {"title": "A", "anchor_question": "q1", "anchor_share": typed}
    forms = [
        ("/questions/new", {**number, "max": typed}, "max"),
        ("/questions/new", {**number, "step": typed}, "step"),
        ("/questions/new", yes_no_question, "epsilon"),
        ("/privacy", {**plan, "margin": typed}, "margin"),
        ("/privacy", {**plan, "margin_0": typed}, "margin_0"),
        ("/privacy", {**plan, "lock_0": typed}, "lock_0"),
        ("/blocks/new", block, "epsilon"),
        ("", details, "anchor_share"),
    ]
    before = again(store, draft)
    for path, fields, field in forms:
        answer = submit(owner, page + path, **fields)
        assert answer.status_code == 422, (path, field)
        match = re.search(
            rf'id="{field}-error"[^>]*><span[^>]*>[^<]*</span>(.*?)</p>', answer.text, re.DOTALL
        )
        assert match, (path, field)
        assert html.unescape(match[1]).startswith(f"{message}."), (path, field)
    assert again(store, draft) == before, "nothing was saved"
    # What only another kind uses is not looked at.
    assert (
        submit(
            owner, f"{page}/questions/new", **{**question_entry, "kind": "yes_no", "max": typed}
        ).status_code
        == 302
    )


def test_a_list_with_decimal_commas_has_semicolons() -> None:
    assert decimals("0,1; 0,25") == "0.1, 0.25"
    assert decimals("0.1, 0.25") == "0.1, 0.25"


def test_decimal_commas_are_read_in_every_field(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store)
    page = f"/drafts/{draft.id}"
    number = {"kind": "number", "text": "Hours?", "id": "q2", "mechanism": ""}
    number |= {"min": "0,5", "max": "10,5", "step": "0,5"}
    submit(owner, f"{page}/questions/new", **number)
    question_entry = {
        "kind": "yes_no",
        "text": "Did you?",
        "id": "q3",
        "mechanism": "warner",
        "epsilon": "0,7",
    }
    submit(owner, f"{page}/questions/new", **question_entry)
    saved = again(store, draft)
    assert [saved.questions[1][key] for key in ("min", "max", "step")] == ["0.5", "10.5", "0.5"]
    assert saved.questions[2]["mechanism"]["epsilon"] == "0.7"
    refused = submit(owner, f"{page}/questions/new", **{**number, "id": "q4", "max": "12,500"})
    assert refused.status_code == 422


# The rehearsal -------------------------------------------------------------------------------------------------------

CHOICE = {
    "id": "c",
    "kind": "choice",
    "text": "Which?",
    "options": ["a", "b", "c"],
    "mechanism": {"epsilon": "1"},
}
TICKS = {**CHOICE, "id": "t", "kind": "multiple", "text": "Which of these?", "at_most": 1}


def test_shares_of_the_rehearsal_balance_themselves(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", CHOICE, TICKS)
    page = f"/drafts/{draft.id}/rehearsal"
    typed = {"n": "500", "truth_0_0": "30", "truth_0_1": "7,5", "truth_0_2": "37,5"}
    typed |= {"truth_1_0": "100", "truth_1_1": "60", "truth_1_2": "40"}
    answer = submit(owner, page, **typed)
    assert answer.status_code == 200
    displayed = dict(re.findall(r'name="(truth_\d_\d)"[^>]*value="([^"]*)"', answer.text))
    assert [displayed[f"truth_0_{index}"] for index in range(3)] == ["40", "10", "50"]
    assert [displayed[f"truth_1_{index}"] for index in range(3)] == ["50", "30", "20"], "one may be ticked"
    nothing = submit(owner, page, **{**typed, "truth_0_0": "0", "truth_0_1": "0", "truth_0_2": "0"})
    assert nothing.status_code == 422
    assert "are all 0" in nothing.text
