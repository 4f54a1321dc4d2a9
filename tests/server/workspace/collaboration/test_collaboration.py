"""Drafts that others read and edit: accounts, links, handing over, and a closed survey that is opened again."""

from __future__ import annotations

import html
import math
import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_analysis import report
from hushpoll_analysis.sample.tally import Tally
from hushpoll_server.collect import closing
from hushpoll_server.people import audit_log, draft_sharing
from hushpoll_server.people.errors import AccountError
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import draft_links
from hushpoll_server.workspace.drafts import storage
from hushpoll_server.workspace.drafts.draft import Draft
from sqlalchemy import select

from tests.server.accounts_kit import QUESTION, make_draft, make_published, signed_in, submit

CHOICE = {"id": "c", "kind": "choice", "text": "Which?", "options": ["x", "y"], "mechanism": {"epsilon": "1"}}


@pytest.fixture
def draft(store: Store) -> Draft:
    return make_draft(store, "owner", QUESTION, CHOICE)


def send(client: FlaskClient, draft: Draft, **fields: str) -> str:
    page = f"/drafts/{draft.id}/sharing"
    answer = submit(client, page, **fields)
    assert answer.status_code in (302, 422), answer.status_code
    return html.unescape(client.get(page).text if answer.status_code == 302 else answer.text)


def test_a_draft_is_shared_for_reading_then_for_editing_then_not(
    site: tuple[Flask, Store], owner: FlaskClient, store: Store, draft: Draft
) -> None:
    other, home = signed_in(*site, "stranger"), f"/drafts/{draft.id}"
    assert [other.get(f"{home}{page}").status_code for page in ("", "/review")] == [404, 404]
    assert "stranger can read this draft now." in send(
        owner, draft, share="yes", name="stranger", role="read"
    )
    assert [other.get(f"{home}{page}").status_code for page in ("", "/review")] == [404, 200]
    listed = html.unescape(other.get("/surveys").text)
    assert f'href="{home}/review"' in listed
    assert "you may read it" in listed
    assert "stranger can edit this draft now." in send(
        owner, draft, share="yes", name="stranger", role="edit"
    )
    assert submit(other, f"{home}/questions/q1/text", f"{home}?edit=q1", text="Edited?").status_code == 302
    saved = storage.find(store, draft.id)
    assert saved is not None
    assert saved.questions[0]["text"] == "Edited?"
    assert other.get(f"{home}/sharing").status_code == 404, "who edits does not share"
    assert other.get(f"{home}/delete").status_code == 404
    assert "Only the owner, owner, publishes this draft." in other.get(f"{home}/publish").text
    assert submit(other, f"{home}/publish", home, frozen="y", revision=str(saved.revision)).status_code == 403
    assert "can no longer open this draft" in send(owner, draft, unshare="stranger")
    assert [other.get(f"{home}{page}").status_code for page in ("", "/review")] == [404, 404]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"share": "yes", "name": "nobody", "role": "read"}, "no active account named"),
        ({"share": "yes", "name": "owner", "role": "read"}, "owns this draft"),
        ({"share": "yes", "name": "analyst", "role": "edit"}, "is an analyst and edits no surveys"),
        ({"share": "yes", "name": ""}, "Type the name of an account."),
        ({"hand_over": "yes", "owner": "analyst"}, "is an analyst and owns no surveys"),
        ({"hand_over": "yes", "owner": "owner"}, "owns this draft"),
    ],
)
def test_what_cannot_be_shared_is_refused_beside_its_field(
    owner: FlaskClient, store: Store, draft: Draft, fields: dict[str, str], message: str
) -> None:
    assert message in send(owner, draft, **fields)
    assert draft_sharing.shared_with(store, draft.id) == {}


def test_a_link_shows_the_draft_to_anybody_until_it_is_revoked(
    site: tuple[Flask, Store], owner: FlaskClient, store: Store, draft: Draft
) -> None:
    page = send(owner, draft, link="yes", days="7")
    (address,) = re.findall(r"shown only once: \S+?(/review/[\w-]+)", page)
    token = address.rpartition("/")[2]
    with store.read() as tx:
        rows = tx.execute(select(draft_links)).all()
    assert token not in str(rows), "only its hash is kept"
    assert token not in owner.get(f"/drafts/{draft.id}/sharing").text
    anybody = site[0].test_client()
    seen = anybody.get(address)
    assert seen.status_code == 200
    assert (seen.headers["Cache-Control"], seen.headers["X-Robots-Tag"]) == ("no-store", "noindex")
    for text in ("Have you?", "Which?", "One sent answer can turn a 50 % guess into at most"):
        assert text in html.unescape(seen.text)
    for form in ('method="post" action="/drafts', 'name="revision"'):
        assert form not in seen.text
    assert anybody.get(f"{address}/preview").status_code == 200
    assert anybody.get(f"{address}/document").data == draft.survey().canonical
    assert anybody.get(f"/drafts/{draft.id}").status_code == 302, "nothing else opens"
    (link,) = draft_sharing.links(store, draft.id)
    assert "no longer opens this draft" in send(owner, draft, revoke=link.id)
    for part in ("", "/preview", "/document"):
        assert anybody.get(address + part).status_code == 404


def test_a_link_ends_with_its_day_with_the_draft_and_when_it_is_published(
    site: tuple[Flask, Store], store: Store, draft: Draft, monkeypatch: pytest.MonkeyPatch
) -> None:
    anybody = site[0].test_client()
    expired = draft_sharing.make_link(store, draft.id, 7, actor="owner")
    assert anybody.get(f"/review/{expired}").status_code == 200
    later = audit_log.now() + 8 * draft_sharing.DAY
    with monkeypatch.context() as patch:
        patch.setattr(draft_sharing, "now", lambda: later)
        assert anybody.get(f"/review/{expired}").status_code == 404
        assert draft_sharing.links(store, draft.id) == []
        for _ in range(draft_sharing.MOST_LINKS):  # those that have expired do not count
            draft_sharing.make_link(store, draft.id, 7, actor="owner")
        with pytest.raises(AccountError, match="20 links already"):
            draft_sharing.make_link(store, draft.id, 7, actor="owner")
    draft_sharing.share(store, draft.id, "owner", "reader", editing=False, actor="owner")
    assert storage.publish(store, draft, draft.survey(), "owner")
    assert anybody.get(f"/review/{expired}").status_code == 404
    assert draft_sharing.shared_with(store, draft.id) == {}
    assert draft_sharing.links(store, draft.id) == []
    gone = make_draft(store, "owner", QUESTION)
    token = draft_sharing.make_link(store, gone.id, 7, actor="owner")
    storage.remove(store, gone, actor="owner")
    assert draft_sharing.linked_draft(store, token) is None


def test_a_draft_is_handed_over_and_the_owner_before_may_still_edit(
    site: tuple[Flask, Store], owner: FlaskClient, store: Store, draft: Draft
) -> None:
    send(owner, draft, share="yes", name="stranger", role="read")
    submit(owner, f"/drafts/{draft.id}/sharing", hand_over="yes", owner="stranger")
    saved = storage.find(store, draft.id)
    assert saved is not None
    assert saved.owner == "stranger"
    with pytest.raises(storage.StaleDraft):  # a page that was open before knows another owner
        storage.save(store, draft, draft.revision)
    assert draft_sharing.shared_with(store, draft.id) == {"owner": True}
    assert owner.get(f"/drafts/{draft.id}").status_code == 200
    assert owner.get(f"/drafts/{draft.id}/sharing").status_code == 404
    assert signed_in(*site, "stranger").get(f"/drafts/{draft.id}/sharing").status_code == 200
    actions = [entry.action for entry in audit_log.audit_entries(store)]
    assert {"draft shared", "draft handed over"} <= set(actions)


def test_a_closed_survey_is_opened_again_on_its_page(owner: FlaskClient, store: Store) -> None:
    survey = make_published(store)
    page = f"/surveys/{survey.hash}"
    closing.close(store, survey.hash, actor="owner", wait=False)
    assert "Open it again" in owner.get(page).text
    submit(owner, f"{page}/reopen", page)
    state = store.state(survey.hash)
    assert state is not None
    assert state.is_open
    assert "The survey is open again" in owner.get(page).text


def test_results_of_a_reopened_survey_promise_no_shuffling(owner: FlaskClient, store: Store) -> None:
    """Two totals that differ by one report show that report."""
    survey = make_published(store)
    closing.close(store, survey.hash, actor="owner", wait=False)
    state = store.state(survey.hash)
    assert state is not None
    assert state.min_distinguishable_batch == math.inf
    closing.reopen(store, survey.hash)
    closing.close(store, survey.hash, actor="owner", wait=False)
    state = store.state(survey.hash)
    assert state is not None
    assert state.min_distinguishable_batch == 1
    reports = Tally.from_counts(survey, {survey.questions[0].id: [600, 400]})
    for batch, is_said in ((math.inf, True), (1, False)):
        text = " ".join(report(survey, reports, batch=batch).to_text().split())
        assert ("reveal less of one person than a report does" in text) == is_said
