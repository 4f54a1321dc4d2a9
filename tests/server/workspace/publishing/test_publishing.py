"""Publishing, sharing, monitoring and closing."""

from __future__ import annotations

import csv
import datetime
import io
import re

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis.planning.margins import plan
from hushpoll_client import HushpollError, Report, Survey, mechanisms
from hushpoll_server.collect import closing
from hushpoll_server.people import accounts, audit_log
from hushpoll_server.store.surveys import Store, today
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.questions.routes import decoy_counts_from

from tests.server.accounts_kit import (
    OR_POLL,
    QUESTION,
    make_draft,
    make_published,
    signed_in,
    submit,
)
from tests.serving import post_batch

SETTINGS = {"epsilon_cap": "8"}


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
    assert sum(entry.subject == survey.hash for entry in audit_log.audit_entries(store)) == 1


def _hidden(client: FlaskClient, page: str) -> dict[str, str]:
    return dict(re.findall(r'name="(csrf_token|revision)"[^>]* value="([^"]*)"', client.get(page).text))


def test_a_stale_checklist_does_not_publish(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store)
    page = f"/drafts/{draft.id}/publish"
    form = {"frozen": "y", **_hidden(owner, page)}
    submit(owner, f"/drafts/{draft.id}", title="Changed meanwhile", intro="")
    assert owner.post(page, data=form).status_code == 409
    saved = storage.find(store, draft.id)
    assert saved is not None
    assert saved.published_hash is None


def test_what_stops_publishing_and_what_only_asks_for_a_look(owner: FlaskClient, store: Store) -> None:
    empty = storage.create(store, "owner", documents.blank())
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


@pytest.mark.parametrize("expected", [30, 300])
def test_a_designer_reads_before_publishing_that_few_reports_give_only_their_number(
    owner: FlaskClient, store: Store, expected: int
) -> None:
    draft = make_draft(store, "owner", QUESTION, expected_n=expected)
    page = owner.get(f"/drafts/{draft.id}/publish").text
    assert "With fewer than 50 reports, results and downloads give only their number." in page


def test_an_unbounded_question_is_published_only_with_its_own_tick(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", OR_POLL)
    page = f"/drafts/{draft.id}/publish"
    refused = submit(owner, page, frozen="y")
    assert refused.status_code == 422
    assert 'id="one_sided-error"' in refused.text
    assert submit(owner, page, frozen="y", one_sided="y").status_code == 302


def test_the_same_definition_of_somebody_else_is_not_handed_over(
    site: tuple[Flask, Store], owner: FlaskClient, store: Store
) -> None:
    theirs = make_published(store, "stranger")
    document, _ = documents.imported(theirs)
    mine = storage.create(store, "owner", document)
    response = submit(owner, f"/drafts/{mine.id}/publish", frozen="y")
    assert response.status_code == 422
    assert owner.get(f"/surveys/{theirs.hash}").status_code == 404


def test_an_edit_of_a_published_survey_makes_a_copy(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store)
    response = submit(owner, f"/surveys/{survey.hash}/copy", f"/surveys/{survey.hash}")
    copy = storage.find(store, response.location.rsplit("/", 1)[1])
    assert copy is not None
    assert copy.title == f"{survey.title} (copy)"
    assert copy.follows_slider(copy.questions[0])
    assert owner.get(f"/surveys/{survey.hash}/definition.json").data == survey.canonical


# Share, monitor, close ------------------------------------------------------------------------------------------


def test_the_link_carries_the_hash_in_its_fragment_also_as_qr(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store)
    link = f"http://localhost/s/{survey.hash[:12]}#{survey.hash}"
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
    assert "no one can tell for certain what you choose" in owner.get(f"/surveys/{finite.hash}/poster").text
    open_one = Survey.from_draft({**documents.blank("Open"), "questions": [OR_POLL]})
    store.publish(open_one, "owner")
    assert (
        "no one can tell for certain what you choose"
        not in owner.get(f"/surveys/{open_one.hash}/poster").text
    )
    invited = make_published(store, invitation=True)
    assert "the link from your own invitation" in owner.get(f"/surveys/{invited.hash}/poster").text
    assert "your own invitation" not in owner.get(f"/surveys/{finite.hash}/poster").text


def test_what_is_handed_out_carries_the_characters_to_compare(owner: FlaskClient, store: Store) -> None:
    """The page can only say that a survey equals the address bar; these tell whether the address is the right one."""
    survey = make_published(store, invitation=True)
    page = f"/surveys/{survey.hash}"
    printed = f'<strong class="fingerprint">{survey.hash[:8]}</strong>'
    assert f'fingerprint" dir="ltr">{survey.hash[:8]}</strong>' in owner.get(f"{page}/poster").text
    assert printed in owner.get(page).text
    rows = csv.DictReader(io.StringIO(submit(owner, f"{page}/invitations", page, n="2").text))
    assert [row["fingerprint"] for row in rows] == [survey.hash[:8]] * 2
    assert f"<strong>{survey.hash[:8]}</strong>{survey.hash[8:]}" in owner.get(f"/s/{survey.hash}/paper").text


def test_a_survey_with_invitations_offers_no_link_that_nobody_can_use(
    owner: FlaskClient, store: Store
) -> None:
    invited = owner.get(f"/surveys/{make_published(store, invitation=True).hash}").text
    assert invited.index("Invite people") < invited.index("So far"), "what is to be done next stands first"
    assert "Invite people to get going." in invited
    for unusable in ("Hand it out", 'id="link"', "qr.svg", "Poster to print"):
        assert unusable not in invited
    plain = owner.get(f"/surveys/{make_published(store).hash}").text
    assert plain.index("Hand it out") < plain.index("So far")
    assert "Hand out the link to get going." in plain
    assert 'id="link"' in plain
    assert "Invite people" not in plain


def test_after_publishing_the_page_names_what_there_is_to_hand_out(owner: FlaskClient, store: Store) -> None:
    for invited, next_step in (
        (False, "Below is the link to hand out."),
        (True, "Below you can make invitations."),
    ):
        document = {
            **documents.blank(next_step),
            "questions": [QUESTION],
            "settings": {"invitation": invited},
        }
        draft = storage.create(store, "owner", document)
        path = f"/drafts/{draft.id}/publish"
        done = owner.post(path, data={"frozen": "y", **_hidden(owner, path)})
        assert f"Published. {next_step}" in owner.get(done.location).text


def test_the_page_says_from_how_many_reports_on_there_are_estimates(
    site: tuple[Flask, Store], owner: FlaskClient, store: Store
) -> None:
    """An open survey counts its reports when twice the minimum wait; 50 alone show nothing."""
    survey = make_published(store)
    page = f"/surveys/{survey.hash}"
    notice = "Estimates appear when 100 reports have arrived, or when you close the survey with 50 or more."
    assert notice in owner.get(page).text
    lines = b"\n".join(Report.new(survey, [1]).to_bytes() for _ in range(60))
    assert post_batch(site[0].test_client(), survey, lines).status_code == 201
    after = owner.get(page).text
    assert notice in after
    assert after.index("So far") < after.index("Hand it out"), "once somebody has answered"


def test_invitation_codes_come_as_csv_and_are_counted(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store, invitation=True)
    page = f"/surveys/{survey.hash}"
    answer = submit(owner, f"{page}/invitations", page, n="3")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len({row["code"] for row in rows}) == 3
    assert all(
        row["link"] == f"http://localhost/s/{survey.hash[:12]}#{survey.hash}.{row['code']}" for row in rows
    )
    assert "3 made, 0 used" in owner.get(page).text
    for number in ("0", "x", "100001", ""):
        refused = submit(owner, f"{page}/invitations", page, n=number)
        assert refused.status_code == 422
        assert 'id="n-error"' in refused.text


def test_sharing_lets_an_analyst_read_and_ends_again(
    site: tuple[Flask, Store], owner: FlaskClient, store: Store
) -> None:
    survey = make_published(store)
    page = f"/surveys/{survey.hash}"
    analyst = signed_in(*site, "analyst")
    assert survey.title not in analyst.get("/surveys").text
    assert submit(owner, f"{page}/share", page, name="analyst").status_code == 302
    assert survey.title in analyst.get("/surveys").text
    assert analyst.get(page).status_code == 200
    assert "Hand it out" not in analyst.get(page).text
    for name, problem in (
        ("nobody", "no active account"),
        ("owner", "owns this survey"),
        ("", "Type the name"),
    ):
        refused = submit(owner, f"{page}/share", page, name=name)
        assert refused.status_code == 422
        assert problem in refused.text
    submit(owner, f"{page}/unshare", page, name="analyst")
    assert analyst.get(page).status_code == 404


@pytest.mark.usefixtures("one_day")
def test_the_monitor_shows_numbers_and_never_an_answer(
    site: tuple[Flask, Store], owner: FlaskClient, store: Store
) -> None:
    app, _ = site
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


@pytest.mark.usefixtures("one_day")
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
    assert "you can open it again" in owner.get(f"{page}/close").text
    submit(owner, f"{page}/close")
    assert not store.state(survey.hash).is_open  # type: ignore[union-attr]
    closed = owner.get(page).text
    assert "takes no more reports" in closed
    assert "Hand it out" not in closed
    with pytest.raises(HushpollError):
        closing.plan(store, survey.hash)
    actions = [entry.action for entry in audit_log.audit_entries(store) if entry.subject == survey.hash]
    assert actions[0] == "closed"


def test_results_are_made_public_and_private_again(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store)
    page = f"/surveys/{survey.hash}"
    for public in ("yes", "no"):
        submit(owner, f"{page}/results", page, public=public)
        assert store.state(survey.hash).results_public is (public == "yes")  # type: ignore[union-attr]


def test_a_decoys_share_is_taken_from_another_surveys_estimate(
    site: tuple[Flask, Store], owner: FlaskClient, store: Store
) -> None:
    app, _ = site
    source = make_published(store)
    respondent = app.test_client()
    # From a seed: by chance the estimate may be so small that few counts say it, and too coarsely.
    coins = np.random.default_rng(1).bytes
    lines = [Report.new(source, [int(site < 60)], coins).to_bytes() for site in range(200)]
    sent = post_batch(respondent, source, b"\n".join(lines))
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
    saved = storage.find(store, draft.id)
    assert saved is not None
    with app.test_request_context():
        from flask import g

        g.user = next(user for user in accounts.all_users(store) if user.name == "owner")
        from hushpoll_analysis import estimate
        from hushpoll_analysis.sample.files import tally

        tallied = tally(source, store.record_parts(source.hash)).counts["q1"]
        estimates = estimate(tallied, source.questions[0].mechanism)["Yes"]
        if 0 < estimates.estimate < 1:
            assert answer.status_code == 302
            yes, of = saved.questions[0]["mechanism"]["decoy_counts"]
            assert yes / of == pytest.approx(estimates.estimate, abs=1 / of)
            assert (yes / of * (1 - yes / of) / of) ** 0.5 == pytest.approx(estimates.se, rel=0.1)
        else:
            assert answer.status_code == 422
        with pytest.raises(HushpollError, match="choose one"):
            decoy_counts_from(f"{'0' * 64}:q1")


def test_ends_of_the_whole_way_are_in_the_audit_log(site: tuple[Flask, Store], store: Store) -> None:
    survey = make_published(store)
    admin = signed_in(*site, "admin")
    submit(admin, f"/surveys/{survey.hash}/close")
    assert "closed" in admin.get("/audit-log").text
    assert survey.hash in admin.get("/audit-log").text
