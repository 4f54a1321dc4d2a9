"""The same figure reads the same on every page of the workspace, and in the unit of its question."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from flask.testing import FlaskClient
from flask_babel import force_locale
from hushpoll_server.respond.languages import GROUPS
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.kinds import points

from tests.server.accounts_kit import QUESTION, make_draft, submit

INCOME = {
    "id": "income",
    "kind": "number",
    "text": "Income?",
    "min": "0",
    "max": "2000000",
    "step": "1000",
    "unit": "euro",
    "mechanism": {"epsilon": "2", "target": "mean"},
}
PERCENT = {**INCOME, "id": "part", "max": "100", "step": "1", "unit": "%"}
LITRES = {**INCOME, "id": "litres", "max": "2.5", "step": "0.1", "unit": "litres"}
FACULTY = {
    "id": "faculty",
    "kind": "choice",
    "text": "Faculty?",
    "options": ["Law", "Arts", "Medicine", "Economics"],
    "mechanism": {"epsilon": "1"},
}


def text_of(page: str) -> str:
    """Return the text of a page on one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def rehearsal_of(owner: FlaskClient, store: Store, *questions: dict[str, Any], **plan: Any) -> str:
    draft = make_draft(store, "owner", *questions, **plan)
    page = text_of(owner.get(f"/drafts/{draft.id}/rehearsal").text)
    return page.partition("The report as it will look")[0]


def test_the_axis_of_a_rehearsed_average_is_written_in_digits(owner: FlaskClient, store: Store) -> None:
    page = rehearsal_of(owner, store, INCOME)
    assert "0 2,000,000" in page
    assert "e+06" not in page


@pytest.mark.parametrize("target", ["mean", "distribution"])
def test_a_number_in_percent_is_rehearsed_on_its_own_scale(
    owner: FlaskClient, store: Store, target: str
) -> None:
    """An average of 50 % was shown as 100.0 %, as if it were a share."""
    question = {**PERCENT, "mechanism": {"epsilon": "4", "target": target}}
    page = rehearsal_of(owner, store, question, expected_n=2000)
    label = {"mean": "Average, in %", "distribution": "Median, in %"}[target]
    match = re.search(re.escape(label) + r" ([\d.]+) ([\d.]+) ([\d.]+) to ([\d.]+) ", page)
    assert match, page
    truth, estimate, low, high = map(float, match.groups())
    assert (truth, estimate) == pytest.approx((50, 50), abs=8)
    assert low < estimate < high < 70


def test_a_margin_reads_the_same_in_the_plan_and_in_the_checklist(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", LITRES, expected_n=500, margin=0.05)
    privacy = text_of(owner.get(f"/drafts/{draft.id}/privacy").text)
    publish = text_of(owner.get(f"/drafts/{draft.id}/publish").text)
    assert "needs ±0.125 litres" in privacy
    assert "you said you need ±0.125 litres" in publish or "as precise as you need" in publish
    (planned,) = set(re.findall(r"margin of (±[\d.]+ litres)", publish))
    assert planned in privacy


def test_a_large_margin_has_no_more_digits_than_it_can_have(owner: FlaskClient, store: Store) -> None:
    """±180,995 euro is a precision that no plan has, and filled its column to the edge."""
    draft = make_draft(store, "owner", {**INCOME, "mechanism": {"epsilon": "0.5", "target": "mean"}})
    page = text_of(owner.get(f"/drafts/{draft.id}/privacy").text)
    margins = re.findall(r"±([\d,]+) euro", page)
    assert len(margins) > 3
    assert all(len(margin.replace(",", "").rstrip("0")) <= 3 for margin in margins), margins


def test_a_margin_of_one_is_one_point(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION, expected_n=500, margin=0.01)
    for page in ("privacy", "publish"):
        text = text_of(owner.get(f"/drafts/{draft.id}/{page}").text)
        assert "±1 point" in text
        assert "±1 points" not in text


def test_other_margins_are_several_points(owner: FlaskClient) -> None:
    with owner.application.test_request_context():
        assert points(0.02) == "±2 points"
        assert points(0.001) == "±0.1 points"


def test_the_slider_stands_near_the_epsilons_that_questions_have(owner: FlaskClient, store: Store) -> None:
    """It stayed at 1 while each question had its own."""
    with_epsilons = [{**QUESTION, "mechanism": {"epsilon": "4"}}, {**FACULTY, "mechanism": {"epsilon": "3"}}]
    for questions, stop in ((with_epsilons, "4"), ([QUESTION, FACULTY], "1")):
        draft = make_draft(store, "owner", *questions)
        page = owner.get(f"/drafts/{draft.id}/privacy").text
        assert re.search(r'data-middle="([^"]+)"', page)[1] == stop  # type: ignore[index]


def test_what_is_asked_for_is_what_the_rehearsal_shows(owner: FlaskClient, store: Store) -> None:
    """Asked for ±8 points, the rehearsal showed ±10: its intervals held together, planned ones one by one."""
    draft = make_draft(store, "owner", FACULTY, expected_n=500, margin=0.08)
    submit(owner, f"/drafts/{draft.id}/privacy", expected_n="500", margin="8", epsilon="1", solve="yes")
    page = text_of(owner.get(f"/drafts/{draft.id}/rehearsal").text).partition("The report as it will look")[0]
    limits = re.findall(r"([\d.]+) to ([\d.]+) %", page)
    assert len(limits) == 4
    halves = [(float(high) - float(low)) / 2 for low, high in limits]
    assert max(halves) < 8.5
    assert max(halves) > 6


def test_the_hint_about_scales_offers_points_from_1_and_from_0(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    page = text_of(owner.get(f"/drafts/{draft.id}/questions/new?kind=scale").text)
    assert "1 to 10" in page
    assert "0 to 10" in page


def test_margins_of_a_follow_up_question_say_whose_they_are(owner: FlaskClient, store: Store) -> None:
    """The plan said ±7.8 points among all, and the report began with ±23 points among those asked."""
    question_entry = {**FACULTY, "after": {"question": QUESTION["id"], "answers": ["Yes"]}}
    draft = make_draft(store, "owner", QUESTION, question_entry)
    for page in ("", "/privacy"):
        text = text_of(owner.get(f"/drafts/{draft.id}{page}").text)
        assert text.count("the share of each answer, of everybody") == 1
        assert "the share of Yes, of everybody" not in text


def test_what_many_questions_need_reads_well(owner: FlaskClient, store: Store) -> None:
    """“… 5.6 for question 6 and more for 1 other” named no thing."""
    questions = [{**QUESTION, "id": f"q{number}"} for number in range(7)]
    text = text_of(owner.get(f"/drafts/{make_draft(store, 'owner', *questions).id}/privacy").text)
    assert re.search(r"for question 6 and another for 1 more question: a total of", text)


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "ar"])
def test_no_sentence_says_that_waiting_answers_cannot_be_told(owner: FlaskClient, language: str) -> None:
    """“Nobody can tell which answers were yours” contradicted “your invitation code waits with your answers”."""
    with owner.application.test_request_context(), force_locale(language):
        sentences = {
            key: str(text) for group in ("why", "presentation") for key, text in GROUPS[group].items()
        }
    assert sentences["withdraw"] == sentences["stop_any_time"]
    assert (sentences["withdraw"].startswith("You can stop")) == (language == "en")
    assert not re.search("nobody|niemand|nadie|personne|لأحد", sentences["withdraw"])
