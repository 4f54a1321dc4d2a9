"""Every kind of question in the editor: saved, shown again, refused next to its field; and skip rules."""

from __future__ import annotations

import html
import re
from base64 import b64decode
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_client.kind import KINDS
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents
from hushpoll_server.workspace.kinds import EDITORS
from hushpoll_server.workspace.questions.forms import QuestionForm

from tests.server.accounts_kit import again, make_draft, shown_error, submit

FIRST = {"id": "first", "kind": "yes_no", "text": "Have you?", "mechanism": {"epsilon": "1"}}
REASON = {
    "id": "why",
    "kind": "choice",
    "text": "Why?",
    "options": ["x", "y"],
    "after": {"question": "first", "answers": ["Yes"]},
    "mechanism": {"epsilon": "1"},
}
SCALE = {"kind": "scale", "text": "How often?", "points": "5", "id": "s", "mechanism": ""}
NUMBER = {
    "kind": "number",
    "text": "Hours?",
    "min": "0",
    "max": "80",
    "step": "1",
    "unit": "hours",
    "id": "s",
    "mechanism": "",
}
TICKS = {"kind": "multiple", "text": "Which?", "options": "a\nb\nc\nd", "id": "s", "mechanism": ""}


# Written and found again ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "written"),
    [
        (SCALE, {"kind": "scale", "points": 5, "mechanism": {"epsilon": "1", "target": "cumulative"}}),
        (
            {**SCALE, "points": "11", "first": "0", "labels": ""},
            {
                "kind": "scale",
                "points": 11,
                "first": 0,
                "mechanism": {"epsilon": "1", "target": "cumulative"},
            },
        ),
        (
            {**SCALE, "labels": "Never\r\n\r\nAlways", "target_scale": "mean"},
            {
                "kind": "scale",
                "points": 5,
                "labels": ["Never", "Always"],
                "mechanism": {"epsilon": "1", "target": "mean"},
            },
        ),
        (
            {**NUMBER, "step": "0.5"},
            {
                "kind": "number",
                "min": "0",
                "max": "80",
                "step": "0.5",
                "unit": "hours",
                "mechanism": {"epsilon": "1", "target": "mean"},
            },
        ),
        (
            {**NUMBER, "unit": "", "target_number": "distribution", "bins": "8"},
            {
                "kind": "number",
                "min": "0",
                "max": "80",
                "step": "1",
                "mechanism": {"epsilon": "1", "target": "distribution", "bins": 8},
            },
        ),
        (TICKS, {"kind": "multiple", "options": ["a", "b", "c", "d"], "mechanism": {"epsilon": "1"}}),
        (
            {**TICKS, "pairs": "y"},
            {
                "kind": "multiple",
                "options": ["a", "b", "c", "d"],
                "mechanism": {"epsilon": "1", "pairs": True},
            },
        ),
        (
            {**TICKS, "at_most": "2", "mechanism": "padded", "epsilon": "2"},
            {
                "kind": "multiple",
                "options": ["a", "b", "c", "d"],
                "at_most": 2,
                "mechanism": {"name": "padded", "epsilon": "2"},
            },
        ),
        (
            {**TICKS, "mechanism": "sampled", "epsilon": "2", "ask": "2"},
            {
                "kind": "multiple",
                "options": ["a", "b", "c", "d"],
                "mechanism": {"name": "sampled", "epsilon": "2", "ask": 2},
            },
        ),
        (
            {
                "kind": "choice",
                "text": "?",
                "id": "s",
                "options": "a\nb\nc\nd",
                "mechanism": "subset",
                "size": "2",
                "linked": "y",
            },
            {
                "kind": "choice",
                "options": ["a", "b", "c", "d"],
                "mechanism": {"name": "subset", "epsilon": "1", "size": 2},
            },
        ),
    ],
)
def test_every_kind_is_written_as_a_document_and_found_again_in_the_form(
    owner: FlaskClient, store: Store, fields: dict[str, str], written: dict[str, Any]
) -> None:
    draft = make_draft(store, "owner", FIRST)
    answer = submit(owner, f"/drafts/{draft.id}/questions/new", **fields)
    assert answer.status_code == 302, answer.text
    question = again(store, draft).questions[1]
    assert question == {"id": "s", "text": fields["text"], **written}
    page = owner.get(f"/drafts/{draft.id}/questions/s").text
    for name in ("points", "min", "max", "step", "unit", "bins", "at_most", "size", "ask"):
        if fields.get(name) and "linked" not in fields:
            assert re.search(rf'name="{name}"[^>]*value="{fields[name]}"', page), name
    same = submit(owner, f"/drafts/{draft.id}/questions/s", **fields)
    assert same.status_code == 302
    assert again(store, draft).questions[1] == question, "saving it again changes nothing"
    assert owner.get(f"/drafts/{draft.id}").status_code == 200
    assert owner.get(f"/drafts/{draft.id}/preview.json").status_code == 200


def previewed(page: Any) -> dict[str, Any]:
    """The one question of the document that a preview brings along."""
    assert page.status_code == 200, page.text
    assert '"at_questions":true' in page.text, "it opens on the question"
    inside = re.search(r'"document":"data:application/json;base64,([^"]+)"', page.text)
    assert inside
    survey = Survey.parse(b64decode(inside[1]))
    assert len(survey.questions) == 1
    return survey.as_document(published=True)["questions"][0]


INCOMPLETE = [
    ({"kind": "yes_no", "text": ""}, {"text": "Your question"}),
    ({"kind": "yes_no", "text": " Did "}, {"text": "Did"}),
    ({"kind": "choice", "text": "Where?", "options": ""}, {"options": ["Option 1", "Option 2"]}),
    ({"kind": "choice", "text": "Where?", "options": "Here"}, {"options": ["Here", "Option 1"]}),
    ({"kind": "choice", "text": "Where?", "options": "a\na\nb"}, {"options": ["a", "b"]}),
    (
        {"kind": "multiple", "text": "Which?", "options": "tea", "at_most": "x"},
        {"options": ["tea", "Option 1"]},
    ),
    ({"kind": "scale", "text": "How?", "points": "99", "labels": "low"}, {"points": 5}),
    ({"kind": "scale", "text": "How?", "points": "", "labels": ""}, {"points": 5}),
    ({"kind": "number", "text": "How many?", "min": "5", "max": "", "step": ""}, {"min": "5", "max": "10"}),
    ({"kind": "number", "text": "How many?", "min": "a", "max": "b", "step": "0"}, {"min": "0", "max": "10"}),
    ({"kind": "yes_no", "text": "Did you?", "mechanism": "or_poll"}, {"text": "Did you?"}),
    ({"kind": "yes_no", "text": "Did you?", "mechanism": "warner", "truth": "x"}, {"text": "Did you?"}),
    ({"kind": "yes_no", "text": "Did you?", "mechanism": "warner", "epsilon": "40"}, {"text": "Did you?"}),
    ({"kind": "nonsense", "text": "Did you?"}, {"text": "Did you?"}),
]


@pytest.mark.parametrize(("fields", "previewed_values"), INCOMPLETE)
def test_an_incomplete_question_is_previewed_as_far_as_it_is_typed(
    owner: FlaskClient, store: Store, fields: dict[str, str], previewed_values: dict[str, Any]
) -> None:
    draft = make_draft(store, "owner", FIRST)
    page = submit(owner, f"/drafts/{draft.id}/preview", f"/drafts/{draft.id}/questions/new", **fields)
    question = previewed(page)
    assert {key: question[key] for key in previewed_values} == previewed_values
    assert again(store, draft).questions == draft.questions, "nothing is saved"


def test_a_long_list_is_previewed_while_it_is_typed(owner: FlaskClient, store: Store) -> None:
    """What an address could not hold is posted, and the page brings it along."""
    draft = make_draft(store, "owner", FIRST)
    options = [f"Département numéro {number}" for number in range(300)]
    fields = {"kind": "choice", "text": "Where?", "options": "\n".join(options), "id": "s", "mechanism": ""}
    page = submit(owner, f"/drafts/{draft.id}/preview", f"/drafts/{draft.id}/questions/new", **fields)
    assert previewed(page)["options"] == options
    assert "connect-src 'self' data:" in page.headers["Content-Security-Policy"]
    assert (
        "data:"
        not in owner.get(f"/drafts/{draft.id}/preview")
        .headers["Content-Security-Policy"]
        .split("connect-src")[1]
    )
    assert again(store, draft).questions == draft.questions, "nothing is saved"
    advice = submit(owner, f"/drafts/{draft.id}/live.json", f"/drafts/{draft.id}/questions/new", **fields)
    assert "fewer answers" in advice.json["reason"]
    assert "equally frequent" in advice.json["criterion"]


def test_the_form_has_a_field_for_every_key_that_a_kind_declares() -> None:
    for name, kind in KINDS.items():
        assert name in EDITORS
        for key in (*kind.keys, *kind.optional_keys, *kind.in_mechanism):
            field = EDITORS[name].target_field if key == "target" else key
            assert hasattr(QuestionForm, field), (name, key)
        assert set(EDITORS[name].reports) == set(kind.targets)


def test_a_thousand_options_can_be_pasted(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", FIRST)
    options = [f"Option {number}" for number in range(1, 1001)]
    typed = {"kind": "choice", "text": "Which one?", "id": "long", "mechanism": ""}
    path = f"/drafts/{draft.id}/questions/new"
    assert submit(owner, path, options="\r\n".join(options), **typed).status_code == 302
    assert again(store, draft).questions[1]["options"] == options
    page = owner.get(f"/drafts/{draft.id}").text
    assert "and 976 more" in page
    assert "Option 1000" not in page.partition("Title and introduction")[0]
    refused = submit(owner, path, options="\n".join([*options, "One more"]), **{**typed, "id": "longer"})
    assert "1001 options; keep at most 1000" in shown_error(refused.text, "options")


def test_kinds_come_first_and_names_of_mechanisms_only_under_a_fold(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", FIRST)
    listed = owner.get(f"/drafts/{draft.id}").text
    for name, editor in EDITORS.items():
        assert f'<button name="kind" value="{name}"><strong>{editor.label}</strong>' in listed
        page = owner.get(f"/drafts/{draft.id}/questions/new?kind={name}").text
        before, _, fold = page.partition("<details")
        assert before.index('name="kind"') < before.index('name="text"')
        assert "randomized response" not in before
        assert "randomized response" in fold
        for other, other_editor in EDITORS.items():
            fieldset = f'<div data-kinds="{other}"' + ("" if other == name else " hidden") + ">"
            assert fieldset in before, (name, other)
            words = "What will you report?" if other_editor.reports else other_editor.always_reported
            assert words in before.partition(fieldset)[2].partition("data-kinds")[0], (name, other)


def test_without_a_script_the_fields_of_another_kind_are_one_click_away(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store, "owner", FIRST)
    path = f"/drafts/{draft.id}/questions/new"
    page = submit(owner, path, kind="scale", text="Typed?", id="s", switch="yes")
    assert page.status_code == 200
    assert "Typed?" in page.text
    assert 'role="alert"' not in page.text
    points = re.search(
        r'<div class="pair" data-inputs="points" data-kinds="scale "([^>]*)>'
        r'\s*<div class="field">\s*<label for="points"',
        page.text,
    )
    assert points
    assert "hidden" not in points[1]


# Refused beside the field ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({**SCALE, "points": ""}, "points", "missing"),
        ({**SCALE, "points": "1"}, "points", "write 2 to 11"),
        ({**SCALE, "points": "12"}, "points", "write 2 to 11"),
        ({**SCALE, "points": "five"}, "points", "write 2 to 11"),
        ({**SCALE, "points": "2.5"}, "points", "write 2 to 11"),
        ({**SCALE, "labels": "a\nb\nc"}, "labels", "give two labels, for the ends, or 5"),
        ({**SCALE, "labels": "a\na"}, "labels", "appears twice"),
        ({**SCALE, "target_scale": "median"}, "target_scale", ""),
        (
            {**SCALE, "mechanism": "one_bit", "epsilon": "1"},
            "target_scale",
            "The reports of “One bit for the mean” cannot tell this; report something else",
        ),
        ({**NUMBER, "min": ""}, "min", "missing"),
        ({**NUMBER, "max": "many"}, "max", "is not a number"),
        ({**NUMBER, "min": "81"}, "min", "write a smaller minimum or a larger maximum"),
        ({**NUMBER, "min": "80"}, "min", "write a smaller minimum or a larger maximum"),
        ({**NUMBER, "step": "0"}, "step", "Must be greater than 0"),
        ({**NUMBER, "step": "-1"}, "step", "Must be greater than 0"),
        ({**NUMBER, "step": "3"}, "step", "Does not divide the range"),
        ({**NUMBER, "max": "1000001"}, "step", "more than 1,000,000 steps"),
        ({**NUMBER, "unit": "x" * 41}, "unit", "keep at most 40"),
        ({**NUMBER, "target_number": "distribution", "bins": "1"}, "bins", "write 2 to 64"),
        ({**NUMBER, "target_number": "distribution", "bins": "65"}, "bins", "write 2 to 64"),
        ({**NUMBER, "max": "4", "target_number": "distribution", "bins": "6"}, "bins", "write 2 to 5"),
        ({**TICKS, "options": "a"}, "options", "at least two"),
        ({**TICKS, "at_most": "0"}, "at_most", "write 1 to 4"),
        ({**TICKS, "at_most": "5"}, "at_most", "write 1 to 4"),
        ({**TICKS, "at_most": "two"}, "at_most", "write 1 to 4"),
        ({**TICKS, "mechanism": "padded", "epsilon": "1"}, "mechanism", "how many options may be ticked"),
        ({**TICKS, "mechanism": "sampled", "epsilon": "1", "ask": "9"}, "ask", "1 to 4"),
        (
            {**TICKS, "mechanism": "krr", "epsilon": "1"},
            "mechanism",
            "is not a mechanism for a multiple question",
        ),
        (
            {"kind": "yes_no", "text": "?", "id": "s", "after_question": "later"},
            "after_question",
            "not an earlier question",
        ),
        (
            {"kind": "yes_no", "text": "?", "id": "s", "after_question": "s"},
            "after_question",
            "not an earlier question",
        ),
        (
            {"kind": "yes_no", "text": "?", "id": "s", "after_question": "first"},
            "after_answers",
            "use some of: No, Yes",
        ),
        (
            {
                "kind": "yes_no",
                "text": "?",
                "id": "s",
                "after_question": "first",
                "after_answers": ["first:0", "first:1"],
            },
            "after_answers",
            "always shown",
        ),
    ],
)
def test_what_makes_no_question_is_said_beside_its_field(
    owner: FlaskClient, store: Store, fields: dict[str, str], field: str, message: str
) -> None:
    draft = make_draft(store, "owner", FIRST)
    answer = submit(owner, f"/drafts/{draft.id}/questions/new", **fields)
    assert answer.status_code == 422
    assert message in shown_error(answer.text, field)
    assert again(store, draft) == draft, "nothing was saved"


# Rules ----------------------------------------------------------------------------------------------------------


def test_a_rule_is_picked_from_earlier_questions_and_comes_back_ticked(
    owner: FlaskClient, store: Store
) -> None:
    decoy = {"name": "or_poll", "decoy": "D?", "decoy_share": "0.4"}
    other = {**FIRST, "id": "decoyed", "mechanism": decoy}
    number = {
        "id": "n",
        "kind": "number",
        "text": "N?",
        "min": "0",
        "max": "9",
        "step": "1",
        "mechanism": {"epsilon": "1"},
    }
    draft = make_draft(store, "owner", FIRST, other, number)
    path = f"/drafts/{draft.id}/questions/new"
    page = owner.get(path).text
    offered = page.partition('id="after_question"')[2].partition("</select>")[0]
    assert re.findall(r'<option[^>]*value="(\w*)"', offered) == ["", "first"]
    fields = {"kind": "choice", "text": "Why?", "options": "x\ny", "id": "why", "mechanism": ""}
    rule = {"after_question": "first", "after_answers": ["first:1", "decoyed:0"]}
    assert submit(owner, path, **fields, **rule).status_code == 302
    assert again(store, draft).document["questions"][3]["after"] == {"question": "first", "answers": ["Yes"]}
    page = owner.get(f"/drafts/{draft.id}/questions/why").text
    assert re.search(r'value="first:1" id="after-first-1" checked', page)
    assert not re.search(r'value="first:0" id="after-first-0" checked', page)
    assert "Asked only after “Yes” to “Have you?”" in owner.get(f"/drafts/{draft.id}").text
    submit(owner, f"/drafts/{draft.id}/questions/why", **fields, after_question="")
    assert "after" not in again(store, draft).questions[3]


@pytest.mark.parametrize("way", ["move up", "move the other down", "delete"])
def test_a_question_that_a_rule_names_stays_before_the_one_it_decides_about(
    owner: FlaskClient, store: Store, way: str
) -> None:
    draft = make_draft(store, "owner", FIRST, REASON)
    at = f"/drafts/{draft.id}"
    if way == "move up":
        submit(owner, f"{at}/questions/why/move", at, direction="up")
    elif way == "move the other down":
        submit(owner, f"{at}/questions/first/move", at, direction="down")
    else:
        submit(owner, f"{at}/questions/first/delete", at)
    page_text = html.unescape(owner.get(at).text)
    refusal = 'only after certain answers to "first", which has to come before it; change or remove that'
    if way == "delete":
        refusal = "Question 2 is asked only after it. Change or remove that rule first."
    assert refusal in page_text
    assert again(store, draft).document == draft.document


def test_rules_follow_a_question_s_new_name_and_its_options_new_words(
    owner: FlaskClient, store: Store
) -> None:
    choice = {
        "id": "first",
        "kind": "choice",
        "text": "F?",
        "options": ["Ja", "No"],
        "mechanism": {"epsilon": "1"},
    }
    rule = {**REASON, "after": {"question": "first", "answers": ["Ja"]}}
    draft = make_draft(store, "owner", choice, rule)
    typed = {"kind": "choice", "text": "F?", "options": "Yes\nNo", "id": "renamed", "mechanism": ""}
    assert submit(owner, f"/drafts/{draft.id}/questions/first", **typed).status_code == 302
    assert again(store, draft).document["questions"][1]["after"] == {
        "question": "renamed",
        "answers": ["Yes"],
    }


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kind": "choice", "options": "No\nMaybe\nNever"}, "options"),
        ({"kind": "scale", "points": "5"}, "kind"),
    ],
)
def test_a_change_that_breaks_another_question_s_rule_is_refused_with_its_name(
    owner: FlaskClient, store: Store, fields: dict[str, str], field: str
) -> None:
    draft = make_draft(store, "owner", FIRST, REASON)
    typed = {"text": "Have you?", "id": "first", "mechanism": "", **fields}
    answer = submit(owner, f"/drafts/{draft.id}/questions/first", **typed)
    assert answer.status_code == 422
    assert 'Question 2 ("why"), after' in shown_error(answer.text, field)


@pytest.mark.parametrize("option", ["None of these", "none", "None of the above."])
def test_what_the_page_offers_by_itself_is_not_listed_twice(
    owner: FlaskClient, store: Store, option: str
) -> None:
    ticks = {
        "id": "t",
        "kind": "multiple",
        "text": "Which?",
        "options": ["a", "b"],
        "mechanism": {"epsilon": "1"},
    }
    draft = make_draft(store, "owner", {**ticks, "options": ["a", "b", option]})
    page = html.unescape(owner.get(f"/drafts/{draft.id}/publish").text)
    assert f"Question 1 lists “{option}”, which the page adds automatically." in page
    draft = make_draft(store, "owner", ticks)
    assert "adds automatically" not in owner.get(f"/drafts/{draft.id}/publish").text


def test_a_rule_costs_an_answer_and_the_checklist_says_so(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", FIRST, REASON)
    page = html.unescape(owner.get(f"/drafts/{draft.id}/publish").text)
    assert "Question 2 is asked only after “Yes” to question 1. This adds the answer “Does not apply”" in page


# Pairs of options -----------------------------------------------------------------------------------------------

EIGHT = {**TICKS, "options": "\n".join("abcdefgh")}


def test_pairs_are_ticked_planned_and_published(store: Store, owner: FlaskClient) -> None:
    """At epsilon 1 one option of each person is best; who wants pairs gets the best number from two on."""
    draft = make_draft(store, "owner", FIRST)
    add = f"/drafts/{draft.id}/questions/new"
    assert submit(owner, add, **EIGHT, pairs="y").status_code == 302
    saved = again(store, draft)
    assert saved.questions[1]["mechanism"] == {"epsilon": "1", "pairs": True}
    survey = saved.survey()
    assert survey.questions[1].mechanism.parameters == {"ask": 2, "epsilon": "1"}
    assert "pairs" not in survey.canonical.decode()
    page = owner.get(f"/drafts/{draft.id}/questions/s").text
    assert re.search(r'<input[^>]*checked[^>]*name="pairs"', page)
    assert "Pairs need two options of each person and cost 1.2 times as many people." in html.unescape(page)
    # The slider finds the best number at every stop, never one.
    assert [
        saved.with_slider_at(stop).survey().questions[1].mechanism.parameters["ask"] for stop in ("0.5", "4")
    ] == [
        2,
        3,
    ]
    assert submit(owner, f"/drafts/{draft.id}/questions/s", **EIGHT).status_code == 302
    assert again(store, draft).questions[1]["mechanism"] == {"epsilon": "1"}
    assert again(store, draft).survey().questions[1].mechanism.parameters["ask"] == 1


def test_a_chosen_way_that_tells_no_pairs_is_refused_beside_its_field(
    store: Store, owner: FlaskClient
) -> None:
    draft = make_draft(store, "owner", FIRST)
    add = f"/drafts/{draft.id}/questions/new"
    response = submit(owner, add, **{**EIGHT, "mechanism": "sampled", "epsilon": "2", "ask": "1"}, pairs="y")
    assert response.status_code == 422
    assert (
        shown_error(response.text, "ask")
        == "Error: Pairs need at least two options per person: ask 2 or more."
    )
    none = submit(owner, add, **{**EIGHT, "mechanism": "padded", "at_most": "2", "epsilon": "2"}, pairs="y")
    assert none.status_code == 422
    assert "cannot show pairs of options" in html.unescape(none.text)
    two = submit(owner, add, **{**EIGHT, "mechanism": "sampled", "epsilon": "2", "ask": "2"}, pairs="y")
    assert two.status_code == 302
    assert again(store, draft).questions[1]["mechanism"] == {"name": "sampled", "epsilon": "2", "ask": 2}
    page = owner.get(f"/drafts/{draft.id}/questions/s").text
    assert re.search(r'<input[^>]*checked[^>]*name="pairs"', page)


def test_a_draft_with_pairs_comes_back_from_a_file(store: Store) -> None:
    document = documents.blank("Ways") | {
        "questions": [
            {"id": "s", "kind": "multiple", "text": "Which?", "options": [*"abcdefgh"],
             "mechanism": {"epsilon": "0.5", "pairs": True}}
        ]
    }  # fmt: skip
    imported, epsilon = documents.imported(documents.compiled(document))
    assert imported["questions"][0]["mechanism"] == {"epsilon": "0.5", "pairs": True}
    assert epsilon == "0.5"


@pytest.mark.parametrize("field", ["kind", "mechanism"])
def test_a_choice_that_no_page_offers_is_refused_beside_its_field(
    owner: FlaskClient, store: Store, field: str
) -> None:
    """Whatever a form holds, its page comes back; the preview shows the usual choice."""
    draft = make_draft(store, "owner", FIRST)
    page = f"/drafts/{draft.id}"
    question_entry = {**NUMBER, field: "zzz"}
    for path in ("/questions/new", "/questions/first"):
        answer = submit(owner, page + path, **question_entry)
        assert answer.status_code == 422
        assert f'id="{field}-error"' in answer.text
        assert submit(owner, page + path, switch="yes", **question_entry).status_code == 200
    for path in ("/preview", "/live.json"):
        assert submit(owner, page + path, f"{page}/questions/new", **question_entry).status_code == 200
    assert again(store, draft).document == draft.document
