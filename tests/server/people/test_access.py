"""Every route x role pair. A new route without a line in the table fails."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from hushpoll_server.respond import logos
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage
from werkzeug.routing import Rule

from tests.server.accounts_kit import PEOPLE, make_draft, make_published, signed_in

WHO = ("nobody", "owner", "stranger", "analyst", "reader", "admin")


def _row(*answers: str) -> dict[str, str]:
    return dict(zip(WHO, answers, strict=True))


# What each kind of asker gets: ok, sign-in (sent to the sign-in page), token (401), no (403), hidden (404).
PUBLIC = _row("ok", "ok", "ok", "ok", "ok", "ok")
SIGNED_IN = _row("sign-in", "ok", "ok", "ok", "ok", "ok")
ACCOUNTS = _row("token", "ok", "ok", "ok", "ok", "ok")
DESIGNERS = _row("sign-in", "ok", "ok", "no", "no", "ok")
OWN_DRAFT = _row("sign-in", "ok", "hidden", "no", "no", "ok")
DRAFT_READERS = _row("sign-in", "ok", "hidden", "hidden", "hidden", "ok")
READERS = _row("sign-in", "ok", "hidden", "hidden", "ok", "ok")
EDITORS = _row("sign-in", "ok", "hidden", "no", "no", "ok")
ADMINS = _row("sign-in", "no", "no", "no", "no", "ok")
RESULTS_API = _row("no", "ok", "no", "no", "ok", "ok")
NOT_PUBLISHED = _row("hidden", "hidden", "hidden", "hidden", "hidden", "hidden")

TABLE: dict[str, dict[str, str]] = {
    "files": PUBLIC,
    "bootstrap.static": PUBLIC,
    "api.describe": PUBLIC,
    "api.health": PUBLIC,
    "api.live": PUBLIC,
    "api.survey": PUBLIC,
    # The survey of this table asks for no invitation.
    "api.check_invitation": NOT_PUBLISHED,
    "api.former_check": PUBLIC,
    "api.submit": PUBLIC,
    "api.submit_batch": ACCOUNTS,
    "manage.publish": _row("token", "ok", "ok", "no", "no", "ok"),
    "manage.invite": _row("token", "ok", "no", "no", "no", "ok"),
    "respond.page": PUBLIC,
    "respond.static_file": PUBLIC,
    "respond.words": PUBLIC,
    "respond.logos.logo": PUBLIC,
    "respond.paper.page": PUBLIC,
    "respond.paper.send": PUBLIC,
    "accounts.sign_in": PUBLIC,
    "accounts.sign_in_code": _row("sign-in", "sign-in", "sign-in", "sign-in", "sign-in", "sign-in"),
    # Without a mail server, and with no good link.
    "accounts.forgotten": NOT_PUBLISHED,
    "accounts.new_password": NOT_PUBLISHED,
    # Without the settings of an institution.
    "accounts.sign_in_at_institution": NOT_PUBLISHED,
    "accounts.return_from_institution": NOT_PUBLISHED,
    "accounts.connect_institution": _row("sign-in", "hidden", "hidden", "hidden", "hidden", "hidden"),
    "accounts.disconnect_institution": SIGNED_IN,
    "accounts.add_passkey": SIGNED_IN,
    "accounts.remove_passkey": SIGNED_IN,
    "accounts.sign_out": PUBLIC,
    "accounts.choose_language": PUBLIC,
    "accounts.account": SIGNED_IN,
    "accounts.change_email": SIGNED_IN,
    "accounts.set_up_second_factor": SIGNED_IN,
    "accounts.turn_second_factor_off": SIGNED_IN,
    "accounts.renew_recovery_codes": SIGNED_IN,
    "accounts.own_tokens": SIGNED_IN,
    "accounts.revoke_token": SIGNED_IN,
    "accounts.sign_out_everywhere": SIGNED_IN,
    "accounts.list_accounts": ADMINS,
    "accounts.change_account": ADMINS,
    "accounts.audit_log": ADMINS,
    "workspace.survey_list.front": PUBLIC,
    "workspace.survey_list.home": SIGNED_IN,
    "workspace.survey_list.new": DESIGNERS,
    "workspace.survey_list.create": DESIGNERS,
    "workspace.survey_list.import_definition": DESIGNERS,
    "workspace.draft.draft": OWN_DRAFT,
    "workspace.draft.save_details": OWN_DRAFT,
    "workspace.draft.draft_definition": OWN_DRAFT,
    "workspace.draft.delete": OWN_DRAFT,
    "workspace.questions.new_question": OWN_DRAFT,
    "workspace.questions.question": OWN_DRAFT,
    "workspace.collaboration.share": OWN_DRAFT,
    "workspace.collaboration.read": DRAFT_READERS,
    "workspace.collaboration.read_preview": DRAFT_READERS,
    "workspace.collaboration.read_document": DRAFT_READERS,
    # What opens nothing; links have a test of their own.
    "workspace.collaboration.review": NOT_PUBLISHED,
    "workspace.collaboration.preview": NOT_PUBLISHED,
    "workspace.collaboration.document": NOT_PUBLISHED,
    "workspace.closing.reopen_survey": EDITORS,
    "workspace.questions.move_question": OWN_DRAFT,
    "workspace.in_place.add": OWN_DRAFT,
    "workspace.in_place.edit": OWN_DRAFT,
    "workspace.questions.duplicate_question": OWN_DRAFT,
    "workspace.questions.delete_question": OWN_DRAFT,
    "workspace.presentation.edit": OWN_DRAFT,
    "workspace.presentation.logo": OWN_DRAFT,
    "workspace.declining.decline_all": OWN_DRAFT,
    "workspace.paper.on_paper": OWN_DRAFT,
    "workspace.languages.languages": OWN_DRAFT,
    "workspace.languages.upload_languages": OWN_DRAFT,
    "workspace.languages.language": OWN_DRAFT,
    "workspace.languages.language_file": OWN_DRAFT,
    "workspace.languages.remove_language": OWN_DRAFT,
    "workspace.blocks.new_block": OWN_DRAFT,
    "workspace.blocks.block": OWN_DRAFT,
    "workspace.blocks.dissolve_block": OWN_DRAFT,
    "workspace.privacy.privacy": OWN_DRAFT,
    "workspace.privacy.plan_json": OWN_DRAFT,
    "workspace.autosave.live_question": OWN_DRAFT,
    "workspace.draft.undo": OWN_DRAFT,
    "workspace.survey_list.archive_draft": OWN_DRAFT,
    "workspace.survey_list.duplicate_draft": OWN_DRAFT,
    "workspace.survey_list.archive_survey": EDITORS,
    "manual.page": PUBLIC,
    "manual.image": PUBLIC,
    "workspace.preview.phone": OWN_DRAFT,
    "workspace.preview.preview": OWN_DRAFT,
    "workspace.preview.preview_question": OWN_DRAFT,
    "workspace.preview.preview_document": OWN_DRAFT,
    "workspace.rehearsal.rehearsal": OWN_DRAFT,
    "workspace.publishing.publish": OWN_DRAFT,
    "workspace.survey.survey": READERS,
    "workspace.survey.definition": READERS,
    "workspace.survey.copy_survey": EDITORS,
    "workspace.survey.run_again": EDITORS,
    "workspace.sharing.share": EDITORS,
    "workspace.group_sizes.group_sizes": EDITORS,
    "workspace.sharing.unshare": EDITORS,
    "workspace.sharing.publish_results": EDITORS,
    "workspace.invitations.invite": EDITORS,
    "workspace.survey.refused_form": EDITORS,
    "workspace.invitations.merge": EDITORS,
    "workspace.invitations.letters": EDITORS,
    "workspace.sharing.embedding": EDITORS,
    "workspace.closing.plan_deletion": EDITORS,
    "workspace.links.qr": EDITORS,
    "workspace.links.poster": EDITORS,
    "workspace.slips.slips": EDITORS,
    "workspace.sheets.enter": EDITORS,
    "workspace.closing.schedule_closing": EDITORS,
    "workspace.closing.close_survey": EDITORS,
    "results.show": READERS,
    "results.table": READERS,
    "results.trend": READERS,
    "results.trend_picture": READERS,
    "results.download": READERS,
    "results.picture": READERS,
    "results.export": READERS,
    "results.results": RESULTS_API,
    "results.public": NOT_PUBLISHED,
    "results.embedded": NOT_PUBLISHED,
    "results.public_download": NOT_PUBLISHED,
    "results.public_picture": NOT_PUBLISHED,
    "results.stylesheet": PUBLIC,
}
# Values for the parts of an address that are neither a draft nor a survey.
PLACES = {"code": "0" * 20, "ending": "json", "form": "share"}
"""Parts of addresses that may be the same in every one."""
FILES = {
    "results.picture": {"ending": "svg"},
    "results.public_picture": {"ending": "svg"},
    "results.trend_picture": {"ending": "svg"},
    "files": {"digest": "0", "name": "palette.css"},
    "bootstrap.static": {"filename": "css/bootstrap.min.css"},
    "respond.static_file": {"release": "0", "folder": "respond", "name": "page.js"},
    "respond.words": {"release": "0", "language": "fr"},
    "workspace.links.qr": {"kind": "svg"},
    "accounts.new_password": {"token": "x"},
    "workspace.collaboration.review": {"token": "x"},
    "workspace.collaboration.preview": {"token": "x"},
    "workspace.collaboration.document": {"token": "x"},
    "accounts.choose_language": {"chosen": "en"},
    "manual.page": {"name": "designers"},
    "manual.image": {"name": "efficiency.svg"},
}
NEEDS_SESSION = {"accounts", "workspace"}


def _routes(app: Flask) -> list[tuple[Rule, str]]:
    rules = sorted(app.url_map.iter_rules(), key=lambda rule: (rule.endpoint, rule.rule))
    return [(rule, method) for rule in rules for method in sorted((rule.methods or set()) & {"GET", "POST"})]


def _address(store: Store, app: Flask, rule: Rule) -> str:
    values: dict[str, Any] = {**PLACES, **FILES.get(rule.endpoint, {})}
    if "draft_id" in rule.arguments:
        values["draft_id"] = make_draft(store).id
    if "question_id" in rule.arguments:
        values["question_id"] = "q1"
    if "number" in rule.arguments:
        values |= {"draft_id": _with_block(store), "number": 0}
    if "tag" in rule.arguments:
        values |= {"draft_id": _in_two_languages(store), "tag": "fr"}
    if "survey_hash" in rule.arguments:
        values["survey_hash"] = make_published(store).hash
    if "question" in rule.arguments:
        values["question"] = make_published(store).questions[0].id
    if "logo_hash" in rule.arguments:
        values["logo_hash"] = logos.keep(store, b"GIF89a" + bytes(20))
    with app.test_request_context():
        built = rule.build({name: value for name, value in values.items() if name in rule.arguments})
    assert built is not None, f"{rule.endpoint}: no value for one of {rule.arguments}"
    return built[1]


def _with_block(store: Store) -> str:
    """Return a draft whose two questions are a block."""
    questions = [{"id": name, "kind": "yes_no", "text": f"{name}?"} for name in ("a", "b")]
    block = {"questions": ["a", "b"], "ask": 1, "epsilon": "1"}
    document = {**documents.blank("A block"), "questions": questions, "blocks": [block]}
    return storage.create(store, "owner", document).id


def _in_two_languages(store: Store) -> str:
    """Return a draft with an open translation."""
    questions = [{"id": "a", "kind": "yes_no", "text": "A?", "mechanism": {"epsilon": "1"}}]
    document = {
        **documents.blank("Two"),
        "questions": questions,
        "language": "en",
        "translations": {"fr": {}},
    }
    return storage.create(store, "owner", document).id


def _outcome(response: Any) -> str:
    if response.status_code in (301, 302) and "/sign-in" in response.location:
        return "sign-in"
    if response.status_code in (401, 403, 404):
        return {401: "token", 403: "no", 404: "hidden"}[response.status_code]
    # 409, 415 and 422: the route did its work and found the empty form wanting.
    assert response.status_code < 400 or response.status_code in (409, 410, 415, 422), response.text
    return "ok"


def test_every_route_has_a_line_in_the_table(site: tuple[Flask, Store]) -> None:
    app, _ = site
    assert {rule.endpoint for rule in app.url_map.iter_rules()} == set(TABLE)


def test_every_route_answers_every_role_as_in_the_table(
    site: tuple[Flask, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, store = site
    # Tokens have a test of their own, below.
    monkeypatch.setitem(app.config, "WTF_CSRF_ENABLED", False)
    monkeypatch.setitem(app.config, "WTF_CSRF_METHODS", set())
    wrong = []
    clients = {who: signed_in(app, store, None if who == "nobody" else who) for who in WHO}
    for rule, method in _routes(app):
        address = _address(store, app, rule)
        for who in WHO:
            if method == "POST":
                # Each request that changes something gets its own draft and survey.
                address = _address(store, app, rule)
            with clients[who].open(address, method=method) as response:
                outcome = _outcome(response)
            if method == "POST" and rule.endpoint.startswith("accounts."):
                clients[who] = signed_in(app, store, None if who == "nobody" else who)
            # Signing out and the first page redirect everyone to the sign-in page.
            if (
                rule.endpoint in ("accounts.sign_out", "accounts.sign_out_everywhere")
                and outcome == "sign-in"
            ):
                outcome = "ok" if TABLE[rule.endpoint][who] == "ok" else outcome
            if outcome != TABLE[rule.endpoint][who]:
                wrong.append(f"{method} {rule.rule} as {who}: {outcome}, not {TABLE[rule.endpoint][who]}")
    assert wrong == []


def test_every_form_of_the_workspace_needs_its_token(site: tuple[Flask, Store]) -> None:
    app, store = site
    client = signed_in(app, store, "admin")
    for rule, method in _routes(app):
        if method == "POST" and rule.endpoint.split(".")[0] in NEEDS_SESSION:
            response = client.post(_address(store, app, rule), data={"revision": "1", "frozen": "y"})
            assert response.status_code == 400, rule.rule
            assert "Nothing was changed" in response.text


def test_roles_of_the_table_are_all_there_are() -> None:
    from hushpoll_server.people.accounts import ROLES

    assert set(PEOPLE.values()) == set(ROLES)


def test_only_admins_see_a_survey_without_an_owner(site: tuple[Flask, Store]) -> None:
    app, store = site
    house = make_published(store, owner=None)
    expected = {"owner": 404, "analyst": 404, "admin": 200}
    statuses = {who: signed_in(app, store, who).get(f"/surveys/{house.hash}").status_code for who in expected}
    assert statuses == expected


def test_no_cache_stores_pages_of_accounts(site: tuple[Flask, Store]) -> None:
    app, store = site
    client = signed_in(app, store, "owner")
    for path in ("/surveys", "/account", "/surveys/new"):
        response = client.get(path)
        assert response.headers["Cache-Control"] == "no-store", path
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
