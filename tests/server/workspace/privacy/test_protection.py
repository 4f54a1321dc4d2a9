"""The privacy step's sentence and buttons: every figure is the channel's, and a button does what it shows."""

from __future__ import annotations

import html
import math
import re
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_analysis.planning.margins import plan
from hushpoll_client import Survey
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.privacy.protection import protection_of
from hushpoll_server.workspace.privacy.question_plan import margin_at

from tests.server.accounts_kit import OR_POLL, QUESTION, make_draft, submit

SETTINGS = {"epsilon_cap": "20"}
CHOICE = {
    "id": "c",
    "kind": "choice",
    "text": "Which?",
    "options": ["x", "y", "z"],
    "mechanism": {"epsilon": "1"},
}
SCALE = {"id": "s", "kind": "scale", "text": "How much?", "points": 5, "mechanism": {"epsilon": "1"}}


def survey_at(epsilon: str) -> Survey:
    question = {**QUESTION, "mechanism": {"name": "warner", "epsilon": epsilon}}
    return Survey.from_draft({"hushpoll": 1, "title": "T", "intro": "", "questions": [question]})


@pytest.mark.parametrize(
    ("epsilon", "tier", "guess"),
    [("0.1", "strong", "53"), ("1", "strong", "74"), ("3", "weak", "96"), ("10", "weak", "99.996")],
)
def test_the_guess_is_that_of_the_channel_rounded_up(epsilon: str, tier: str, guess: str) -> None:
    protection = protection_of(survey_at(epsilon))
    odds = math.exp(float(epsilon))
    assert float(protection.guess) == pytest.approx(odds / (1 + odds), rel=1e-9)
    assert float(protection.guess) <= float(guess) / 100
    assert (protection.tier, protection.guess_text) == (tier, guess)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_a_whole_report_can_tell_more_than_one_answer_of_it(epsilon: str) -> None:
    """Whether three more questions apply follows from the first answer, and so do reports on it."""
    first = {**QUESTION, "mechanism": {"epsilon": epsilon}}
    rule = {"question": first["id"], "answers": ["Yes"]}
    others = [{**first, "id": f"after{number}", "after": rule} for number in range(3)]
    survey = Survey.from_draft({"hushpoll": 1, "title": "T", "intro": "", "questions": [first, *others]})
    protection = protection_of(survey)
    # Yes to all four questions, against No and three times "does not apply", which is the last row.
    pairs = [(question.channel.rows[1], question.channel.rows[-1]) for question in survey.questions[1:]]
    no, yes = survey.questions[0].channel.rows
    odds = math.prod(
        max(Fraction(*weights) for weights in zip(chosen, other, strict=True))
        for chosen, other in [(yes, no), *pairs]
    )
    reached = float(odds / (1 + odds))
    assert float(protection.guess) < reached <= float(protection.guess_of_all) * (1 + 1e-12)
    assert protection.guess_text in protection.sentence


def live(owner: FlaskClient, draft_id: str, **query: Any) -> Any:
    answer = owner.get(f"/drafts/{draft_id}/plan.json", query_string=query)
    assert answer.status_code == 200, answer.text
    return answer.json


def test_margins_that_are_typed_find_the_privacy_and_the_sentence_says_it(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store, "owner", QUESTION)
    figures = live(owner, draft.id, expected_n=800, margin=8, epsilon="5.6", fit="yes")
    epsilon = plan("warner", n=800, margin=0.08).epsilon
    guess = math.ceil(100 * math.exp(epsilon) / (1 + math.exp(epsilon)))
    assert figures["texts"]["sentence"] == "About 800 people, ±8 points: protection is strong."
    assert figures["texts"]["guess"] == (
        f"A report can improve a guess about one answer from 50 % to at most {guess} %."
    )
    page = f"/drafts/{draft.id}/privacy"
    submit(owner, page, expected_n="800", margin="8", epsilon="5.6", fit="yes")
    saved = storage.find(store, draft.id)
    assert saved is not None
    assert margin_at(saved.compiled().questions[0], 800) == pytest.approx(0.08, abs=1e-4)
    assert "About 800 people, ±8 points: protection is strong." in owner.get(page).text


def test_a_report_that_shows_an_answer_is_said_to(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION, OR_POLL)
    page = owner.get(f"/drafts/{draft.id}/privacy").text
    assert "protection is one-sided." in page
    assert "Some reports show an answer for certain." in page
    assert "to at most" not in page


@pytest.mark.parametrize("name", ["people", "margin", "block", "drop"])
def test_a_button_shows_its_effect_and_then_has_it(owner: FlaskClient, store: Store, name: str) -> None:
    draft = make_draft(store, "owner", CHOICE, {**CHOICE, "id": "d", "text": "And then?"}, SCALE, QUESTION)
    typed = {"expected_n": "800", "margin": "8", "epsilon": "1", "fit": "yes"}
    offered = {remedy["name"]: remedy for remedy in live(owner, draft.id, **typed)["remedies"]}
    before = storage.find(store, draft.id)
    answer = submit(owner, f"/drafts/{draft.id}/privacy", **typed, apply=name)
    assert answer.status_code == 302
    after = storage.find(store, draft.id)
    assert before is not None
    assert after is not None
    protection = protection_of(after.compiled())
    page = html.unescape(owner.get(f"/drafts/{draft.id}/privacy").text)
    assert f"{offered[name]['label']}. You can undo this." in page
    effect = offered[name]["effect"]
    if "total" in effect:
        (promised,) = re.findall(r"to ([\d.]+)\. A guess", effect)
        assert protection.total <= float(promised)
    else:
        assert f"Protection: {protection.word}" in effect
    (guess,) = re.findall(r"at most ([\d.]+) %", effect)
    assert 100 * protection.guess <= float(guess)
    changed = {
        "people": after.expected_n > 800,
        "margin": after.margin > 0.08,
        "block": len(after.blocks) == 1,
        "drop": len(after.questions) == 3,
    }
    assert changed.pop(name)
    assert not any(changed.values()), "one thing at a time"
    assert all(
        margin_at(question, after.expected_n) <= after.margin * 1.0005
        for question in after.compiled().questions
    )


def test_undoing_a_button_keeps_the_plan_that_was_typed_before(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    page = f"/drafts/{draft.id}/privacy"
    typed = {"expected_n": "800", "margin": "8", "epsilon": "1", "fit": "yes", "opened": "1"}
    submit(owner, page, **typed, autosave="yes")
    submit(owner, page, **typed, apply="people")
    changed = storage.find(store, draft.id)
    assert changed is not None
    assert changed.expected_n > 800
    submit(owner, f"/drafts/{draft.id}/undo", page)
    undone = storage.find(store, draft.id)
    assert undone is not None
    assert (undone.expected_n, undone.margin) == (800, 0.08)


def test_a_button_that_a_change_has_made_useless_says_so(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    submit(owner, f"/drafts/{draft.id}/privacy", expected_n="800", margin="8", epsilon="1", apply="drop")
    assert "That would no longer change anything." in owner.get(f"/drafts/{draft.id}/privacy").text


def test_long_lists_are_to_be_merged_in_the_editor(owner: FlaskClient, store: Store) -> None:
    long = {**CHOICE, "options": [f"o{number}" for number in range(12)]}
    draft = make_draft(store, "owner", QUESTION, long)
    submit(owner, f"/drafts/{draft.id}/privacy", expected_n="500", margin="8", epsilon="1", fit="yes")
    page = owner.get(f"/drafts/{draft.id}/privacy").text
    assert "Merge the 12 answers of question 2 to 5" in page
    assert f'href="/drafts/{draft.id}/questions/c"' in page


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_open_answers_break_even_where_their_error_is_what_the_randomization_adds(
    owner: FlaskClient, store: Store, epsilon: str
) -> None:
    draft = make_draft(store, "owner", QUESTION)
    text = live(owner, draft.id, expected_n=1000, margin=5, epsilon=epsilon)["texts"]["break_even"]
    expected = plan("warner", epsilon=float(epsilon), n=1000)
    z = NormalDist().inv_cdf(0.975)
    error = 100 * math.sqrt((expected.margin / z) ** 2 - (expected.margin_sampling_only / z) ** 2)
    assert (
        text
        == f"Asking openly would be as accurate only if answers were off by less than {round(error, 1):g} points."
    )
