"""Privacy and accuracy, the rehearsal; `hushpoll user`."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient
from hushpoll_analysis.planning.margins import plan
from hushpoll_client import Survey
from hushpoll_client.cli import hushpoll
from hushpoll_client.formatting import about_of_100
from hushpoll_server.config import Config
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.privacy.charts import margin_curve
from hushpoll_server.workspace.privacy.question_plan import QuestionPlan, question_plans

from tests.server.accounts_kit import OR_POLL, QUESTION, make_draft, submit
from tests.serving import make_ready

SETTINGS = {"epsilon_cap": "8"}


def figures(owner: FlaskClient, draft: Draft, **query: Any) -> Any:
    answer = owner.get(f"/drafts/{draft.id}/plan.json", query_string=query)
    assert answer.status_code == 200, answer.text
    return answer.json


# Privacy and accuracy -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_the_screen_the_api_and_the_planner_say_the_same(
    owner: FlaskClient, store: Store, epsilon: str
) -> None:
    draft = make_draft(store, "owner", QUESTION)
    expected = plan("warner", epsilon=float(epsilon), n=1000)
    texts = figures(owner, draft, expected_n=1000, margin=5, epsilon=epsilon)["texts"]
    assert texts["margin"] == f"±{100 * expected.margin:.1f} points"
    assert texts["margin_sampling"] == "±3.1 points"
    assert texts["margin_curator"] == f"±{100 * expected.margin_trusted_curator:.1f} points"
    assert texts["needed_5"] == f"{plan('warner', epsilon=float(epsilon), margin=0.05).n:,}"
    assert texts["recorded"] == f"about {about_of_100(expected.recorded_as_chosen or 0)} of 100"
    submit(owner, f"/drafts/{draft.id}/privacy", expected_n="1000", margin="5", epsilon=epsilon)
    page = owner.get(f"/drafts/{draft.id}/privacy").text
    for key, text in texts.items():
        if key in ("mechanism", "share", "wanted", "state"):
            continue  # shown question by question
        match = re.search(rf'data-readout="{key}"[^>]*>(.*?)<', page)
        assert match, key
        assert match[1] == text.replace("'", "&#39;"), key


def test_bounds_on_the_screen_are_rounded_up_and_promises_down(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    screen = figures(owner, draft, expected_n=1000, margin=7, epsilon="1")["texts"]["advice"]
    (named,) = re.findall(r"needs epsilon ([\d.]+) for question 1", screen)
    exact = plan("warner", n=1000, margin=0.07).epsilon
    assert exact <= float(named) < exact + 0.1
    # 81.757 of 100 at epsilon 1.5: the number that respondents read, who get "about 82".
    question_entry = {**QUESTION, "mechanism": {"name": "warner", "epsilon": "1.5"}}
    plans = question_plans(
        draft, Survey.from_draft({"hushpoll": 1, "title": "T", "questions": [question_entry]}), 1000
    )
    assert plans[0].texts()["recorded"] == "about 82 of 100"
    page = owner.get(f"/drafts/{draft.id}/privacy").text
    assert "by a factor of at most 2.72" in page  # e is 2.71828...: 2.7 would be too little


def test_the_reference_values_of_the_design_are_shown(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    texts_by_epsilon = {
        epsilon: figures(owner, draft, expected_n=1000, margin=5, epsilon=epsilon)["texts"]
        for epsilon in ("0.5", "1", "2", "4")
    }
    assert [texts["margin"] for texts in texts_by_epsilon.values()] == [
        "±12.7 points",
        "±6.7 points",
        "±4.1 points",
        "±3.2 points",
    ]
    assert [texts["needed_5"] for texts in texts_by_epsilon.values()] == ["6,405", "1,799", "663", "414"]


def test_expected_answers_and_needed_margin_in_epsilon_out(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    page = f"/drafts/{draft.id}/privacy"
    assert submit(owner, page, expected_n="1000", margin="5", epsilon="0.25", solve="yes").status_code == 302
    saved = storage.find(store, draft.id)
    assert saved is not None
    exact = plan("warner", n=1000, margin=0.05).epsilon
    assert exact <= float(saved.epsilon) < 1.001 * exact
    assert saved.questions[0]["mechanism"] == {"epsilon": saved.epsilon}
    assert "as precise as you need" in owner.get(page).text
    submit(owner, page, expected_n="100", margin="5", epsilon="1", solve="yes")
    page_text = owner.get(page).text
    assert "cannot be reached with 100 answers: even without privacy the margin is ±9.8 points" in page_text


def test_a_margin_that_a_harmless_question_puts_out_of_reach_is_not_blamed_on_too_few_people(
    owner: FlaskClient, store: Store
) -> None:
    coin = {**OR_POLL, "mechanism": {**OR_POLL["mechanism"], "epsilon": "1"}}  # type: ignore[dict-item]
    draft = make_draft(store, "owner", QUESTION, coin, linked=("o",))
    submit(owner, f"/drafts/{draft.id}/privacy", expected_n="500", margin="5", epsilon="1", solve="yes")
    page_text = owner.get(f"/drafts/{draft.id}/privacy").text
    assert "its harmless question takes more precision than that at any epsilon" in page_text
    assert "even without privacy" not in page_text, "without privacy 500 answers would do"


def test_the_slider_moves_linked_questions_and_leaves_the_others(owner: FlaskClient, store: Store) -> None:
    question_entry = {
        "id": "w",
        "kind": "yes_no",
        "text": "W?",
        "mechanism": {"name": "warner", "epsilon": "0.5"},
    }
    coin = {**OR_POLL, "mechanism": {**OR_POLL["mechanism"], "epsilon": "1"}}  # type: ignore[dict-item]
    draft = make_draft(store, "owner", QUESTION, question_entry, coin, linked=("o",))
    submit(owner, f"/drafts/{draft.id}/privacy", expected_n="500", margin="5", epsilon="2.8")
    saved = storage.find(store, draft.id)
    assert saved is not None
    assert [question["mechanism"]["epsilon"] for question in saved.questions] == ["2.8", "0.5", "2.8"]


def test_totals_add_up_and_only_high_ones_warn(owner: FlaskClient, store: Store) -> None:
    two = make_draft(store, "owner", QUESTION, {**QUESTION, "id": "q2"})
    low = figures(owner, two, expected_n=500, margin=5, epsilon="0.25")
    assert (low["texts"]["total"], low["texts"]["warning"]) == ("0.5", "")
    assert {row["share"] for row in low["rows"].values()} == {"50 %"}
    high = figures(owner, two, expected_n=500, margin=5, epsilon="2.8")
    assert high["texts"]["total"] == "5.6"
    assert "Ask fewer questions" in high["texts"]["warning"]
    over = figures(owner, two, expected_n=500, margin=5, epsilon="5.6")
    assert "above a total of 8" in over["texts"]["over_cap"], "the cap is the server's"
    page = owner.get(f"/drafts/{two.id}/privacy").text
    for mark in ("Apple Health", "Apple emoji", "Apple QuickType"):
        assert mark in page


def test_an_or_poll_says_what_its_no_reveals_and_has_no_finite_total(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store, "owner", QUESTION, OR_POLL)
    seen = figures(owner, draft, expected_n=500, margin=5, epsilon="1", focus="o")
    assert seen["texts"]["total"] == "unbounded"
    assert "reveals" in seen["texts"]["warning"]
    assert seen["curve"] is None
    assert seen["texts"]["odds"] == "without limit"
    assert "A No reveals two true Noes" in owner.get(f"/drafts/{draft.id}/questions/o").text


@pytest.mark.parametrize(
    "query",
    [
        {"expected_n": "0"},
        {"expected_n": "ten"},
        {"margin": "0"},
        {"margin": "51"},
        {"epsilon": "3"},
        {"epsilon": "-1"},
        {"expected_n": "9" * 30},
    ],
)
def test_figures_that_cannot_be_are_refused_beside_their_field(
    owner: FlaskClient, store: Store, query: dict[str, str]
) -> None:
    draft = make_draft(store, "owner", QUESTION)
    typed = {"expected_n": "500", "margin": "5", "epsilon": "1"} | query
    answer = owner.get(f"/drafts/{draft.id}/plan.json", query_string=typed)
    assert answer.status_code == 422
    assert set(answer.json["errors"]) == set(query)
    page = submit(owner, f"/drafts/{draft.id}/privacy", **typed)
    assert page.status_code == 422
    assert f'id="{next(iter(query))}-error"' in page.text


def test_the_curve_falls_and_carries_its_point() -> None:
    question = Survey.from_draft({**documents.blank("T"), "questions": [QUESTION]}).questions[0]
    planned = QuestionPlan(question, 1, True, plan(question.mechanism, n=1000), 1.0, (1799, 4996))
    curve = margin_curve(planned, 1000, 0.05)
    assert curve is not None
    assert curve.point is not None
    spots = [tuple(map(float, point.split())) for point in curve.line.removeprefix("M").split(" L")]
    assert all(x < y for (x, _), (y, _) in itertools.pairwise(spots))
    assert all(x < y for (_, x), (_, y) in itertools.pairwise(spots)), "downward on the screen"
    near = min(spots, key=lambda spot: abs(spot[0] - curve.point[0]))  # type: ignore[index]
    assert abs(near[1] - curve.point[1]) < 3


# The rehearsal --------------------------------------------------------------------------------------------------


def test_the_rehearsal_shows_estimates_around_the_truth_that_was_set(
    owner: FlaskClient, store: Store
) -> None:
    choice = {"id": "c", "kind": "choice", "text": "C?", "options": ["x", "y"], "mechanism": {"epsilon": "4"}}
    draft = make_draft(store, "owner", {**QUESTION, "mechanism": {"epsilon": "4"}}, choice)
    page = f"/drafts/{draft.id}/rehearsal"
    displayed = submit(owner, page, n="50000", truth_0_1="30", truth_1_0="90", truth_1_1="10").text
    displayed, _, report_page = displayed.partition("The report as it will look")
    matches = [float(text) for text in re.findall(r"<strong>([\d.]+) %</strong>", displayed)]
    assert re.findall(r"<strong>([\d.]+) %</strong>", report_page), "the report itself stands below"
    # Five standard errors at 50,000 answers and epsilon 4 are below 1.5 points.
    assert matches == pytest.approx([30, 90, 10], abs=1.5)


def test_percentages_that_cannot_be_are_refused(owner: FlaskClient, store: Store) -> None:
    choice = {"id": "c", "kind": "choice", "text": "C?", "options": ["x", "y"], "mechanism": {"epsilon": "4"}}
    draft = make_draft(store, "owner", choice)
    page = f"/drafts/{draft.id}/rehearsal"
    for fields in ({"truth_0_0": "0", "truth_0_1": "0"}, {"truth_0_0": "x", "truth_0_1": "50"}):
        response = submit(owner, page, n="100", **fields)
        assert response.status_code == 422
        assert "Please look at this again" in response.text
    assert submit(owner, page, n="1000000000", truth_0_0="50", truth_0_1="50").status_code == 422


# The command line -----------------------------------------------------------------------------------------------


def run(*arguments: str, **environment: str) -> Any:
    return CliRunner().invoke(hushpoll, ["user", *arguments], env=environment, standalone_mode=False)


def test_hushpoll_user_adds_lists_changes_and_resets(tmp_path: Any) -> None:
    data = {"DATA": str(tmp_path / "data"), "DATABASE_URL": ""}
    make_ready(Config(data=tmp_path / "data"))
    output = run("add", "ines", "--role", "admin", "--json", **data)
    password = json.loads(output.output)["password"]
    assert len(password) >= 16
    plain = run("add", "olu", "--role", "analyst", **data)
    assert "shown only now" in plain.output, "without a terminal the password is generated and printed once"
    assert json.loads(run("list", "--json", **data).output)["users"] == [
        {"name": "ines", "role": "admin", "active": True, "second_factor": False},
        {"name": "olu", "role": "analyst", "active": True, "second_factor": False},
    ]
    assert "analyst   olu" in run("list", **data).output
    changed = run("change", "olu", "--lock", "--json", **data)
    assert (changed.exception, json.loads(changed.output)["active"]) == (None, False)
    assert "(locked)" in run("list", **data).output
    generated = json.loads(run("password", "ines", "--json", **data).output)["password"]
    assert generated != password
    for arguments, message in (
        (("add", "ines", "--role", "admin"), "already"),
        (("password", "nobody", "--generate"), "no account named"),
        (("change", "ines", "--role", "analyst"), "last active admin"),
        (("change", "ines"), "say what to change"),
        (("add", "x", "--role", "boss"), "boss"),
    ):
        error = run(*arguments, **data).exception
        assert error is not None
        assert message in str(getattr(error, "message", error)), arguments
