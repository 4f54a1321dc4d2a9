"""Privacy and accuracy, the rehearsal, publishing, sharing, monitoring, closing; `hushpoll user`."""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.planning import SLIDER_STOPS, plan
from hushpoll_client import HushpollError, Report, Survey, mechanisms
from hushpoll_server import closing, drafts, planner, workspace
from hushpoll_server.cli import hushpoll
from hushpoll_server.questions import counts_from_survey
from hushpoll_server.store import Store, today

from tests.server.accounts_kit import QUESTION, make_draft, make_published, open_place, signed_in, submit

OR_POLL = {
    "id": "o",
    "kind": "yes_no",
    "text": "O?",
    "mechanism": {"name": "or_poll", "decoy": "D?", "decoy_share": "0.4"},
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Flask, Store]]:
    with open_place(tmp_path_factory.mktemp("workspace"), epsilon_cap="8") as found:
        yield found


@pytest.fixture(scope="module")
def store(place: tuple[Flask, Store]) -> Store:
    return place[1]


@pytest.fixture(scope="module")
def owner(place: tuple[Flask, Store]) -> FlaskClient:
    return signed_in(*place, "owner")


def figures(owner: FlaskClient, draft: drafts.Draft, **query: Any) -> Any:
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
    assert texts["recorded"] == f"{100 * (expected.recorded_as_chosen or 0):.0f} of 100"
    submit(owner, f"/drafts/{draft.id}/privacy", expected_n="1000", margin="5", epsilon=epsilon)
    page = owner.get(f"/drafts/{draft.id}/privacy").text
    for key, text in texts.items():
        if key in ("mechanism", "share"):
            continue  # shown per question, in the table
        shown = re.search(rf'data-readout="{key}"[^>]*>(.*?)<', page)
        assert shown, key
        assert shown[1] == text.replace("'", "&#39;"), key


def test_the_reference_values_of_the_design_are_shown(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    found = {
        epsilon: figures(owner, draft, expected_n=1000, margin=5, epsilon=epsilon)["texts"]
        for epsilon in ("0.5", "1", "2", "4")
    }
    assert [texts["margin"] for texts in found.values()] == [
        "±12.7 points",
        "±6.7 points",
        "±4.1 points",
        "±3.2 points",
    ]
    assert [texts["needed_5"] for texts in found.values()] == ["6,405", "1,799", "663", "414"]


def test_expected_answers_and_needed_margin_in_epsilon_out(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION)
    page = f"/drafts/{draft.id}/privacy"
    assert submit(owner, page, expected_n="1000", margin="5", epsilon="0.25", solve="yes").status_code == 302
    kept = drafts.find(store, draft.id)
    assert kept is not None
    stop = min(stop for stop in SLIDER_STOPS if plan("warner", epsilon=stop, n=1000).margin <= 0.05)
    assert kept.epsilon == f"{stop:g}"
    assert kept.questions[0]["mechanism"] == {"epsilon": kept.epsilon}
    assert "as precise as you need" in owner.get(page).text
    submit(owner, page, expected_n="100", margin="5", epsilon="1", solve="yes")
    assert "cannot be reached with 100 answers" in owner.get(page).text


def test_the_slider_moves_linked_questions_and_leaves_the_others(owner: FlaskClient, store: Store) -> None:
    own = {"id": "w", "kind": "yes_no", "text": "W?", "mechanism": {"name": "warner", "epsilon": "0.5"}}
    coin = {**OR_POLL, "mechanism": {**OR_POLL["mechanism"], "epsilon": "1"}}  # type: ignore[dict-item]
    draft = make_draft(store, "owner", QUESTION, own, coin, linked=("o",))
    submit(owner, f"/drafts/{draft.id}/privacy", expected_n="500", margin="5", epsilon="2.8")
    kept = drafts.find(store, draft.id)
    assert kept is not None
    assert [question["mechanism"]["epsilon"] for question in kept.questions] == ["2.8", "0.5", "2.8"]


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
    question = Survey.from_draft({**drafts.blank("T"), "questions": [QUESTION]}).questions[0]
    one = planner.QuestionPlan(question, 1, True, plan(question.mechanism, n=1000), 1.0, (1799, 4996))
    curve = planner.curve(one, 1000, 0.05)
    assert curve is not None
    assert curve.point is not None
    spots = [tuple(map(float, part.split())) for part in curve.line.removeprefix("M").split(" L")]
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
    shown = submit(owner, page, n="50000", truth_0_1="30", truth_1_0="90", truth_1_1="10").text
    found = [float(text) for text in re.findall(r"<strong>([\d.]+) %</strong>", shown)]
    # Five standard errors at 50,000 answers and epsilon 4 are below 1.5 points.
    assert found == pytest.approx([30, 90, 10], abs=1.5)


def test_percentages_that_do_not_add_up_are_refused(owner: FlaskClient, store: Store) -> None:
    choice = {"id": "c", "kind": "choice", "text": "C?", "options": ["x", "y"], "mechanism": {"epsilon": "4"}}
    draft = make_draft(store, "owner", choice)
    page = f"/drafts/{draft.id}/rehearsal"
    for fields in ({"truth_0_0": "60", "truth_0_1": "60"}, {"truth_0_0": "x", "truth_0_1": "50"}):
        response = submit(owner, page, n="100", **fields)
        assert response.status_code == 422
        assert "Please look at this again" in response.text
    assert submit(owner, page, n="1000000000", truth_0_0="50", truth_0_1="50").status_code == 422


# Publishing -----------------------------------------------------------------------------------------------------


def test_publishing_freezes_the_draft_and_a_second_click_changes_nothing(
    owner: FlaskClient, store: Store
) -> None:
    draft = make_draft(store, "owner", QUESTION, expected_n=321)
    page = f"/drafts/{draft.id}/publish"
    unticked = submit(owner, page)
    assert unticked.status_code == 422
    assert "Tick this to publish" in unticked.text
    form = {"frozen": "y", **_hidden(owner, page)}
    first, second = owner.post(page, data=form), owner.post(page, data=form)
    survey = draft.survey()
    assert first.location == second.location == f"/surveys/{survey.hash}"
    state = store.state(survey.hash)
    assert state is not None
    assert (state.owner, state.target_n) == ("owner", 321)
    for path in ("", "/questions/q1", "/privacy", "/rehearsal"):
        assert owner.get(f"/drafts/{draft.id}{path}").location == f"/surveys/{survey.hash}"
    assert sum(entry.subject == survey.hash for entry in workspace.audit_entries(store)) == 1


def _hidden(client: FlaskClient, page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(csrf_token|revision)"[^>]* value="([^"]*)"', client.get(page).text))


def test_a_stale_checklist_does_not_publish(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store)
    page = f"/drafts/{draft.id}/publish"
    form = {"frozen": "y", **_hidden(owner, page)}
    submit(owner, f"/drafts/{draft.id}", title="Changed meanwhile", intro="")
    assert owner.post(page, data=form).status_code == 409
    found = drafts.find(store, draft.id)
    assert found is not None
    assert found.published_hash is None


def test_what_stops_publishing_and_what_only_asks_for_a_look(owner: FlaskClient, store: Store) -> None:
    empty = drafts.create(store, "owner", drafts.blank())
    page = owner.get(f"/drafts/{empty.id}/publish").text
    assert "There is no question yet" in page
    assert "Publish for good" not in page
    over = make_draft(
        store, "owner", *({**QUESTION, "id": f"q{i}", "mechanism": {"epsilon": "4"}} for i in range(3))
    )
    refused = submit(owner, f"/drafts/{over.id}/publish", f"/drafts/{over.id}", frozen="y")
    assert refused.status_code == 422
    assert "above 8" in refused.text
    assert store.state(Survey.from_draft(over.document).hash) is None


def test_an_unbounded_question_is_published_only_with_its_own_tick(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", OR_POLL)
    page = f"/drafts/{draft.id}/publish"
    refused = submit(owner, page, frozen="y")
    assert refused.status_code == 422
    assert 'id="one_sided-error"' in refused.text
    assert submit(owner, page, frozen="y", one_sided="y").status_code == 302


def test_the_same_definition_of_somebody_else_is_not_handed_over(
    place: tuple[Flask, Store], owner: FlaskClient, store: Store
) -> None:
    theirs = make_published(store, "stranger")
    document, _ = drafts.imported(theirs)
    mine = drafts.create(store, "owner", document)
    response = submit(owner, f"/drafts/{mine.id}/publish", frozen="y")
    assert response.status_code == 422
    assert owner.get(f"/surveys/{theirs.hash}").status_code == 404


def test_an_edit_of_a_published_survey_makes_a_copy(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store)
    made = submit(owner, f"/surveys/{survey.hash}/copy", f"/surveys/{survey.hash}")
    copy = drafts.find(store, made.location.rsplit("/", 1)[1])
    assert copy is not None
    assert copy.title == f"{survey.title} (copy)"
    assert copy.follows_slider(copy.questions[0])
    assert owner.get(f"/surveys/{survey.hash}/definition.json").data == survey.canonical


# Share, monitor, close ------------------------------------------------------------------------------------------


def test_the_link_carries_the_hash_in_its_fragment_also_as_qr(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store)
    link = f"http://localhost/s/{survey.hash}#{survey.hash}"
    assert link in owner.get(f"/surveys/{survey.hash}").text
    svg = owner.get(f"/surveys/{survey.hash}/qr.svg")
    png = owner.get(f"/surveys/{survey.hash}/qr.png")
    assert (svg.mimetype, png.mimetype) == ("image/svg+xml", "image/png")
    assert png.data.startswith(b"\x89PNG")
    assert b"style=" not in svg.data
    import segno

    expected = io.BytesIO()
    segno.make(link, error="m", micro=False).save(
        expected, kind="svg", scale=8, border=4, dark="#12211f", light="#ffffff"
    )
    assert svg.data == expected.getvalue()
    assert owner.get(f"/surveys/{survey.hash}/qr.pdf").status_code == 404


def test_the_poster_promises_no_more_than_the_survey_keeps(owner: FlaskClient, store: Store) -> None:
    finite = make_published(store)
    assert "receives what you actually choose" in owner.get(f"/surveys/{finite.hash}/poster").text
    open_one = Survey.from_draft({**drafts.blank("Open"), "questions": [OR_POLL]})
    store.publish(open_one, "owner")
    assert "receives what you actually choose" not in owner.get(f"/surveys/{open_one.hash}/poster").text


def test_invitation_codes_come_as_csv_and_are_counted(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store, invitation=True)
    page = f"/surveys/{survey.hash}"
    answer = submit(owner, f"{page}/invitations", page, n="3")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len({row["code"] for row in rows}) == 3
    assert all(row["link"] == f"http://localhost/s/{survey.hash}#{survey.hash}.{row['code']}" for row in rows)
    assert "3 made, 0 used" in owner.get(page).text
    for number in ("0", "x", "100001", ""):
        refused = submit(owner, f"{page}/invitations", page, n=number)
        assert refused.status_code == 422
        assert 'id="n-error"' in refused.text


def test_sharing_lets_an_analyst_read_and_ends_again(
    place: tuple[Flask, Store], owner: FlaskClient, store: Store
) -> None:
    survey = make_published(store)
    page = f"/surveys/{survey.hash}"
    analyst = signed_in(*place, "analyst")
    assert survey.title not in analyst.get("/surveys").text
    assert submit(owner, f"{page}/share", page, name="analyst").status_code == 302
    assert survey.title in analyst.get("/surveys").text
    assert analyst.get(page).status_code == 200
    assert "Hand it out" not in analyst.get(page).text
    for name, said in (("nobody", "no active account"), ("owner", "owns this survey"), ("", "Type the name")):
        refused = submit(owner, f"{page}/share", page, name=name)
        assert refused.status_code == 422
        assert said in refused.text
    submit(owner, f"{page}/unshare", page, name="analyst")
    assert analyst.get(page).status_code == 404


def test_the_monitor_shows_numbers_and_never_an_answer(
    place: tuple[Flask, Store], owner: FlaskClient, store: Store
) -> None:
    app, _ = place
    survey = make_published(store)
    respondent = app.test_client()
    for _ in range(3):
        assert respondent.get(f"/s/{survey.hash}").status_code == 200
    for _ in range(20):
        body = Report.new(survey, [1]).to_bytes()
        sent = respondent.post(
            f"/api/surveys/{survey.hash}/reports", data=body, content_type="application/json"
        )
        assert sent.status_code == 201
    page = owner.get(f"/surveys/{survey.hash}").text
    assert re.search(r'class="big-number">20\s', page)
    margin = plan(mechanisms.warner(epsilon=1), n=20).margin
    assert f"±{100 * margin:.1f} points" in page
    assert f'<td>{today().isoformat()}</td><td class="number">3</td>' in page
    for word in ("estimate ", "reported", "Yes", "share of Yes"):
        assert word not in page.replace("estimates", ""), word


def test_closing_now_at_a_date_and_at_a_number(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store)
    page = f"/surveys/{survey.hash}"
    tomorrow = today() + datetime.timedelta(days=1)
    submit(owner, f"{page}/closing", page, when="date", on=tomorrow.isoformat())
    assert store.state(survey.hash).closes_on == tomorrow  # type: ignore[union-attr]
    submit(owner, f"{page}/closing", page, when="n", at="50")
    state = store.state(survey.hash)
    assert state is not None
    assert (state.closes_on, state.closes_at) == (None, 50)
    submit(owner, f"{page}/closing", page, when="never")
    assert store.state(survey.hash).closes_at is None  # type: ignore[union-attr]
    for fields, field in (
        ({"when": "date"}, "on"),
        ({"when": "date", "on": "2001-01-01"}, "on"),
        ({"when": "date", "on": "soon"}, "on"),
        ({"when": "n"}, "at"),
        ({"when": "n", "at": "0"}, "at"),
    ):
        refused = submit(owner, f"{page}/closing", page, **fields)
        assert refused.status_code == 422, fields
        assert f'id="{field}-error"' in refused.text
    assert "cannot be opened again" in owner.get(f"{page}/close").text
    submit(owner, f"{page}/close")
    assert not store.state(survey.hash).is_open  # type: ignore[union-attr]
    closed = owner.get(page).text
    assert "No more reports are taken" in closed
    assert "Hand it out" not in closed
    with pytest.raises(HushpollError):
        closing.keep_open(store, survey.hash)
    actions = [entry.action for entry in workspace.audit_entries(store) if entry.subject == survey.hash]
    assert actions[0] == "closed"


def test_results_are_made_public_and_private_again(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store)
    page = f"/surveys/{survey.hash}"
    for public in ("yes", "no"):
        submit(owner, f"{page}/results", page, public=public)
        assert store.state(survey.hash).results_public is (public == "yes")  # type: ignore[union-attr]


def test_a_decoys_share_is_taken_from_another_surveys_estimate(
    place: tuple[Flask, Store], owner: FlaskClient, store: Store
) -> None:
    app, _ = place
    source = make_published(store)
    respondent = app.test_client()
    lines = [Report.new(source, [int(place < 60)]).to_bytes() for place in range(200)]
    sent = respondent.post(
        f"/api/surveys/{source.hash}/reports/batch",
        data=b"\n".join(lines),
        content_type="application/x-ndjson",
    )
    assert sent.status_code == 201
    closing.close(store, source.hash)
    draft = make_draft(store)
    fields = {
        "decoy": "Have you?",
        "decoy_from": "survey",
        "decoy_survey": f"{source.hash}:q1",
        "mechanism": "or_poll",
    }
    path = f"/drafts/{draft.id}/questions/q1"
    answer = submit(owner, path, text="T?", kind="yes_no", id="q1", linked="y", **fields)
    kept = drafts.find(store, draft.id)
    assert kept is not None
    with app.test_request_context():
        from flask import g

        g.user = workspace.find_user(store, "owner")
        from hushpoll_analysis import estimate
        from hushpoll_analysis.sources import tally

        tallied = tally(source, store.record_parts(source.hash)).counts["q1"]
        found = estimate(tallied, source.questions[0].mechanism)["Yes"]
        if 0 < found.estimate < 1:
            assert answer.status_code == 302
            yes, of = kept.questions[0]["mechanism"]["decoy_counts"]
            assert yes / of == pytest.approx(found.estimate, abs=1 / of)
            assert (yes / of * (1 - yes / of) / of) ** 0.5 == pytest.approx(found.se, rel=0.1)
        else:
            assert answer.status_code == 422
        with pytest.raises(HushpollError, match="choose one"):
            counts_from_survey(f"{'0' * 64}:q1")


def test_ends_of_the_whole_way_are_in_the_audit_log(place: tuple[Flask, Store], store: Store) -> None:
    survey = make_published(store)
    admin = signed_in(*place, "admin")
    submit(admin, f"/surveys/{survey.hash}/close")
    assert "closed" in admin.get("/audit-log").text
    assert survey.hash in admin.get("/audit-log").text


# The command line -----------------------------------------------------------------------------------------------


def run(*arguments: str, **environment: str) -> Any:
    return CliRunner().invoke(hushpoll, ["user", *arguments], env=environment, standalone_mode=False)


def test_hushpoll_user_adds_lists_changes_and_resets(tmp_path: Any) -> None:
    data = {"DATA": str(tmp_path / "data"), "DATABASE_URL": ""}
    made = run("add", "ines", "--role", "admin", "--json", **data)
    password = json.loads(made.output)["password"]
    assert len(password) >= 16
    plain = run("add", "olu", "--role", "analyst", **data)
    assert "shown only now" in plain.output, "without a terminal the password is generated and printed once"
    assert json.loads(run("list", "--json", **data).output)["users"] == [
        {"name": "ines", "role": "admin", "active": True},
        {"name": "olu", "role": "analyst", "active": True},
    ]
    assert "analyst   olu" in run("list", **data).output
    assert run("change", "olu", "--lock", **data).exception is None
    assert "(locked)" in run("list", **data).output
    fresh = json.loads(run("password", "ines", "--json", **data).output)["password"]
    assert fresh != password
    for arguments, said in (
        (("add", "ines", "--role", "admin"), "already"),
        (("password", "nobody", "--generate"), "no account named"),
        (("change", "ines", "--role", "analyst"), "last active admin"),
        (("change", "ines"), "say what to change"),
        (("add", "x", "--role", "boss"), "boss"),
    ):
        error = run(*arguments, **data).exception
        assert error is not None
        assert said in str(getattr(error, "message", error)), arguments
