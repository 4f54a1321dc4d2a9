"""The workspace in two languages: which one a page uses, and that every text comes from the catalogues."""

from __future__ import annotations

import io
import json
import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_server.i18n.languages import WORKSPACE_LANGUAGES
from hushpoll_server.i18n.translation import LANGUAGE_COOKIE
from hushpoll_server.manual.pages import PAGES
from hushpoll_server.people import audit_log, audit_text, sharing
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents, storage
from hushpoll_server.workspace.survey_list.survey_templates import TEMPLATES, document_of

from tests.server.accounts_kit import (
    make_draft,
    make_published,
    signed_in,
    submit,
    token_of,
)
from tests.server.workspace.walking import PACKAGE, Walk, left_over, numbered, questions_of_every_kind

# Which language is spoken ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cookie", "query", "header", "language"),
    [
        ("", "", "", "en"),
        ("", "", "de-AT,de;q=0.9", "de"),
        ("", "", "fr,de;q=0.5", "de"),
        ("", "", "fr", "en"),
        ("", "?lang=de", "en", "de"),
        ("", "?lang=fr", "", "en"),
        ("en", "?lang=de", "de", "en"),
        ("de", "", "en", "de"),
        ("xx", "", "de", "de"),
    ],
)
def test_the_language_is_what_was_chosen_else_asked_for_else_the_browsers(
    site: tuple[Flask, Store], cookie: str, query: str, header: str, language: str
) -> None:
    client = site[0].test_client()
    if cookie:
        client.set_cookie(LANGUAGE_COOKIE, cookie)
    page = client.get(f"/sign-in{query}", headers={"Accept-Language": header} if header else {}).text
    assert f'<html lang="{language}"' in page
    assert ("<h1>Anmelden</h1>" in page) == (language == "de")


def test_a_language_is_chosen_at_the_foot_of_a_page_and_on_the_account_page(owner: FlaskClient) -> None:
    for page in ("/sign-in/forgotten", "/surveys?q=a"):
        assert "/language/de" in owner.get(page).text or page.startswith("/sign-in")
    answer = owner.get("/language/de?next=/account")
    assert answer.status_code == 302
    assert answer.location == "/account"
    assert "Ihr Konto" in owner.get("/account").text
    assert owner.get("/language/de?next=//elsewhere.example").location == "/surveys"
    # Another site cannot choose, by a link or a picture.
    owner.get("/language/en", headers={"Sec-Fetch-Site": "cross-site"})
    assert '<html lang="de"' in owner.get("/account").text
    owner.get("/language/en", headers={"Sec-Fetch-Site": "same-origin"})
    assert "Your account" in owner.get("/account", headers={"Accept-Language": "de"}).text
    assert owner.get("/language/fr").status_code == 404


def test_programs_are_answered_in_english(owner: FlaskClient) -> None:
    owner.set_cookie(LANGUAGE_COOKIE, "de")
    answer = owner.get(f"/api/surveys/{'0' * 64}", headers={"Accept-Language": "de"})
    assert "check the address" in answer.text


def test_the_documentation_is_english_and_says_so(owner: FlaskClient, store: Store, walk: Walk) -> None:
    owner.set_cookie(LANGUAGE_COOKIE, "de")
    page = owner.get("/docs/designers").text
    assert '<html lang="de"' in page
    assert re.search(r'<div lang="en">\s*<h1', page)
    draft = make_draft(store)
    assert "(auf Englisch)" in owner.get(f"/drafts/{draft.id}").text
    for name in PAGES:
        walk.look(f"/docs/{name}")
    walk.check()


def test_the_documentation_says_in_english_nothing_of_its_language(owner: FlaskClient) -> None:
    owner.set_cookie(LANGUAGE_COOKIE, "en")
    assert "The documentation is in English." not in owner.get("/docs/designers").text


def test_what_is_printed_and_previewed_has_its_own_language(owner: FlaskClient, store: Store) -> None:
    survey, draft = make_published(store), make_draft(store)
    page = owner.get(f"/surveys/{survey.hash}/poster?lang=de").text
    assert '<html lang="en"' in page
    assert '<article class="poster" lang="de"' in page
    assert '<html lang="fr"' in owner.get(f"/drafts/{draft.id}/preview?lang=fr").text
    owner.set_cookie(LANGUAGE_COOKIE, "de")
    assert '<html lang="de"' in owner.get(f"/drafts/{draft.id}/preview").text


def test_templates_come_in_the_designers_language(site: tuple[Flask, Store]) -> None:
    with site[0].test_request_context("/", headers={"Accept-Language": "de"}):
        for key, template in TEMPLATES.items():
            german = document_of(key)
            assert german["language"] == "de"
            assert german["title"] != template.document["title"]
            documents.compiled(german)
    with site[0].test_request_context("/"):
        assert document_of("exam") == TEMPLATES["exam"].document


def test_numbers_and_days_are_written_as_the_language_does(owner: FlaskClient, store: Store) -> None:
    owner.set_cookie(LANGUAGE_COOKIE, "de")
    draft = make_draft(store, expected_n=12_345)
    page = owner.get(f"/drafts/{draft.id}/privacy").text
    assert "Epsilon 0,5" in page
    assert re.search(r"±\d+,\d Punkte", page)
    survey = make_published(store)
    assert re.search(
        r"Veröffentlicht am \d+\. \w+ 20\d\d von owner", owner.get(f"/surveys/{survey.hash}").text
    )
    typed = {"expected_n": "500", "margin": "4,5", "epsilon": "1", "focus": "q1"}
    assert submit(owner, f"/drafts/{draft.id}/privacy", **typed).status_code == 302
    assert 'value="4,5"' in owner.get(f"/drafts/{draft.id}/privacy").text


def test_a_lock_is_typed_in_either_language_and_kept_in_one(owner: FlaskClient, store: Store) -> None:
    owner.set_cookie(LANGUAGE_COOKIE, "de")
    draft = make_draft(store)
    locks = [("3-fach", "3-fold", "3-fach"), ("2,5-fold", "2.5-fold", "2,5-fach"), ("0,5", "0.5", "0,5")]
    for typed, stored, displayed in locks:
        plan = {"expected_n": "500", "margin": "5", "epsilon": "1", "lock_0": typed}
        assert submit(owner, f"/drafts/{draft.id}/privacy", **plan).status_code == 302
        saved = storage.find(store, draft.id)
        assert saved is not None
        assert saved.locks == {"q1": stored}
        assert f'value="{displayed}"' in owner.get(f"/drafts/{draft.id}/privacy").text


def test_three_decimals_are_read_back_as_they_were_written(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store)
    typed = {"expected_n": "500", "margin": "2.125", "epsilon": "1", "lock_0": "3.125-fold"}
    assert submit(owner, f"/drafts/{draft.id}/privacy", **typed).status_code == 302
    unclear = {**typed, "margin": "2,125"}  # in English this may be thousands
    assert submit(owner, f"/drafts/{draft.id}/privacy", **unclear).status_code == 422
    owner.set_cookie(LANGUAGE_COOKIE, "de")
    page = owner.get(f"/drafts/{draft.id}/privacy").text
    expected_values = {"margin": "2,125", "lock_0": "3,125-fach"}
    assert all(f'value="{value}"' in page for value in expected_values.values())
    assert submit(owner, f"/drafts/{draft.id}/privacy", **{**typed, **expected_values}).status_code == 302
    saved = storage.find(store, draft.id)
    assert saved is not None
    assert (saved.margin, saved.locks) == (0.02125, {"q1": "3.125-fold"})


def test_the_log_is_read_in_the_readers_language(site: tuple[Flask, Store], store: Store) -> None:
    owner, admin = (signed_in(*site, name) for name in ("owner", "admin"))
    survey = make_published(store)
    owner.set_cookie(LANGUAGE_COOKIE, "de")
    typed = {"when": "n", "at": "1200", "csrf_token": token_of(owner, f"/surveys/{survey.hash}")}
    assert owner.post(f"/surveys/{survey.hash}/closing", data=typed).status_code == 302
    assert "Closes at 1,200 reports." in admin.get("/audit-log").text
    admin.set_cookie(LANGUAGE_COOKIE, "de")
    page = admin.get("/audit-log").text
    assert "Schließt bei 1.200 Meldungen." in page
    assert "Schließung geplant" in page


@pytest.mark.parametrize("title", [", reports", "for , seconds", "9" * 150 + " letters", "%(n)s {n} reports"])
def test_the_log_is_read_whatever_a_designer_calls_a_draft(
    title: str, site: tuple[Flask, Store], store: Store
) -> None:
    draft = storage.create(store, "owner", {**documents.blank(title), "questions": []})
    storage.remove(store, draft, actor="owner")
    admin = signed_in(*site, "admin")
    for language in WORKSPACE_LANGUAGES:
        admin.set_cookie(LANGUAGE_COOKIE, language)
        response = admin.get("/audit-log")
        assert response.status_code == 200
        assert title in response.text


def test_every_action_that_is_logged_is_known_to_the_catalogue() -> None:
    with pytest.MonkeyPatch.context():
        translated_actions = {action._args[0] for action in audit_text.ACTIONS}
    logged_actions = set()
    for file in PACKAGE.rglob("*.py"):
        logged_actions |= set(
            re.findall(r'\b(?:audit|note|record)\(\s*(?:[\w.()]+, )*"([a-z -]+)"', file.read_text("utf-8"))
        )
    assert logged_actions - translated_actions == set()


def test_who_has_no_account_is_named_in_german_too(site: tuple[Flask, Store], store: Store) -> None:
    for actor in audit_log.NO_ACCOUNTS:
        audit_log.record(store, actor, "account added", "somebody")
    admin = signed_in(*site, "admin")
    admin.set_cookie(LANGUAGE_COOKIE, "de")
    page = admin.get("/audit-log").text
    assert {name for name in audit_log.NO_ACCOUNTS if f">{name}<" in page} == set()
    assert all(f">{name}<" in page for name in ("Kommandozeile", "erster Start", "niemand"))


def test_no_rule_of_a_style_names_what_only_some_browsers_know_beside_others() -> None:
    """Chromium leaves out a rule with a Firefox name in its list: a bar that should be ours was bright green."""
    for file in PACKAGE.rglob("*.css"):
        for selectors in re.findall(r"([^{}]+)\{", file.read_text("utf-8")):
            assert not ("::-moz-" in selectors and "," in selectors), f"{file.name}: {selectors.strip()}"


# Every page, in brackets -----------------------------------------------------------------------------------------


def test_people_s_pages_are_all_said(walk: Walk) -> None:
    for path in ("/sign-in", "/sign-in?next=/surveys"):
        walk.look(path, None)
    walk.send("/sign-in", who=None, name="", password="")
    walk.send("/sign-in", who=None, name="owner", password="no")
    for path in (
        "/account",
        "/account/second-factor",
        "/account/second-factor/off",
        "/account/second-factor/recovery-codes",
        "/account/tokens",
    ):
        walk.look(path)
    walk.send("/account", present="", password="", again="1")
    walk.send("/account", present="no", password="12", again="12")
    walk.send("/account/email", "/account", email="no", email_present="no")
    walk.send("/account/tokens", label="", present="")
    walk.send("/account/second-factor", code="", present="")
    walk.look("/accounts", "admin")
    walk.send("/accounts", who="admin", name="", role="designer")
    walk.send("/accounts/change", "/accounts", "admin", 200, name="stranger", change="lock")
    walk.send("/accounts/change", "/accounts", "admin", 200, name="stranger", change="unlock")
    walk.send("/accounts/change", "/accounts", "admin", 200, name="stranger", change="password")
    walk.look("/audit-log", "admin")
    walk.look("/audit-log?before=1", "admin")
    walk.check()


def test_errors_are_all_said(walk: Walk) -> None:
    walk.look("/accounts", "owner", 403)
    walk.look("/drafts/nothing", "owner", 404)
    walk.look(f"/surveys/{'0' * 64}", "owner", 404)
    walk.look("/language/xx", "owner", 404)
    walk.look("/surveys", "owner", 405, method="POST")
    walk.look("/drafts", "owner", 400, method="POST")
    walk.check()


def test_the_list_and_the_beginning_are_all_said(walk: Walk) -> None:
    for who in ("owner", "analyst", "reader"):
        walk.look("/surveys", who)
    walk.look("/surveys/new")
    walk.look("/surveys?archived=yes")
    walk.look("/surveys?q=§§§")
    numbered(walk.store, *questions_of_every_kind())
    survey = Survey.from_draft({**documents.blank("№ 0"), "questions": questions_of_every_kind()[:2]})
    walk.store.publish(survey, "owner", target_n=100)
    sharing.share(walk.store, survey.hash, "reader", actor="test")
    for who in ("owner", "reader", "admin"):
        walk.look("/surveys", who)
    walk.send("/drafts/import", "/surveys/new")
    walk.send("/drafts/import", "/surveys/new", file=(io.BytesIO(b"{"), "a.json"))
    walk.check()


def test_drafts_are_all_said(walk: Walk) -> None:
    empty = numbered(walk.store)
    for step in ("", "/privacy", "/phone", "/rehearsal", "/publish", "/presentation", "/languages", "/paper"):
        walk.look(f"/drafts/{empty.id}{step}")
    draft = numbered(
        walk.store,
        *questions_of_every_kind(),
        groups=["§1", "§2"],
        language="en",
        translations={"fr": {}},
        sections=[{"before": "q2", "title": "§"}],
        help=[{"label": "§", "url": "tel:+49800111"}],
        look={"accent": "#17605d"},
        anchor={"question": "q10", "share": "0"},
    )
    steps = [
        "",
        "/privacy",
        "/phone",
        "/rehearsal",
        "/publish",
        "/presentation",
        "/languages",
        "/languages/fr",
        "/paper",
    ]
    steps += ["/delete", "/blocks/new", "/questions/new", "?edit=q2", "?add=1"]
    steps += [f"/questions/{question['id']}" for question in questions_of_every_kind()] + [
        f"/questions/new?kind={kind}" for kind in KINDS
    ]
    for step in steps:
        walk.look(f"/drafts/{draft.id}{step}")
    block = storage.create(
        walk.store,
        "owner",
        {
            **documents.blank("№ 3"),
            "questions": [{"id": f"b{n}", "kind": "yes_no", "text": f"¿{n}?"} for n in range(3)],
            "blocks": [{"questions": ["b0", "b1", "b2"], "ask": 1, "epsilon": "1"}],
        },
    )
    for step in ("", "/privacy", "/publish", "/blocks/0", "/paper"):
        walk.look(f"/drafts/{block.id}{step}")
    weak = numbered(walk.store, {**questions_of_every_kind()[0], "mechanism": {"epsilon": "9"}})
    open_one = numbered(walk.store, questions_of_every_kind()[7])
    for unsafe_draft in (weak, open_one):
        walk.look(f"/drafts/{unsafe_draft.id}/publish")
        walk.send(f"/drafts/{unsafe_draft.id}/publish", frozen="y")
    walk.send(f"/drafts/{block.id}/blocks/0", questions=["b0", "b1"], epsilon="1", ask="1", cross_tables="y")
    walk.check()


def test_refused_drafts_are_all_said(walk: Walk) -> None:
    draft = numbered(walk.store, *questions_of_every_kind())
    at = f"/drafts/{draft.id}"
    walk.send(at, title="")
    walk.send(f"{at}/privacy", expected_n="no", margin="99", lock_0="§", margin_1="99")
    for kind in KINDS:
        walk.send(f"{at}/questions/new", kind=kind, text="", id="")
        walk.send(
            f"{at}/questions/new", kind=kind, text="¿?", id="§", options="1", points="99", min="9", max="1"
        )
    walk.send(f"{at}/questions/new", kind="yes_no", text="¿?", id="q1")
    walk.send(f"{at}/questions/new", kind="yes_no", text="¿?", id="a", mechanism="or_poll")
    walk.send(f"{at}/questions/new", kind="yes_no", text="¿?", id="a", mechanism="warner", epsilon="§")
    walk.send(f"{at}/rehearsal", n="1", truth_0_1="101")
    walk.send(f"{at}/publish")
    walk.send(f"{at}/presentation", contact="§", asked_by="")
    walk.send(f"{at}/presentation", help="§", accent="123", title_0="§")
    walk.send(f"{at}/languages", tag="fr")
    walk.send(f"{at}/languages", language="§ §", tag="")
    walk.send(f"{at}/languages/upload", f"{at}/languages")
    walk.send(f"{at}/logo", f"{at}/presentation")
    walk.send(f"{at}/blocks/new", questions=["q1"], epsilon="no", ask="9")
    stale = {"revision": "0"}
    walk.send(f"{at}/questions/q1", kind="yes_no", text="¿?", id="q1", status=409, **stale)
    walk.send(f"{at}/privacy", expected_n="500", margin="5", epsilon="1", status=409, **stale)
    walk.send(f"{at}/questions/q1/move", at, status=200, direction="down", **stale)
    walk.check()


def test_what_is_done_is_all_said(walk: Walk) -> None:
    draft = numbered(walk.store, *questions_of_every_kind())
    at = f"/drafts/{draft.id}"
    walk.send(at, status=200, title="№ 5")
    walk.send(f"{at}/questions/q2/move", at, status=200, direction="up")
    walk.send(f"{at}/questions/q2/duplicate", at, status=200)
    walk.send(f"{at}/questions/q7/delete", at, status=200)
    walk.send(f"{at}/questions/q2/text", at, status=422, text="")
    walk.send(f"{at}/questions/add", at, status=200, text="№ 6", kind="choice")
    walk.send(f"{at}/undo", at, status=200)
    walk.send(f"{at}/declining", at, status=200, offered="yes")
    walk.send(f"{at}/privacy", status=200, expected_n="900", margin="6", epsilon="1", solve="yes")
    walk.send(
        f"{at}/privacy", status=200, expected_n="900", margin="6", epsilon="2", margin_0="3", lock_1="3-fold"
    )
    walk.send(f"{at}/questions/new", at + "/questions/new", status=200, kind="yes_no", text="¿1?", id="new")
    walk.send(f"{at}/languages", status=200, language="en", tag="fr")
    walk.send(f"{at}/languages/fr", status=200, t_0="§")
    walk.send(at, status=200, title="№ 6")
    for step in ("", "/languages", "/languages/fr"):
        assert "⟦ｍａｙ" in walk.look(at + step) or "1 ｍａｙ" in walk.look(at + step)
    walk.send(f"{at}/duplicate", at, status=200)
    walk.send(f"{at}/archive", at, status=200, archived="yes")
    walk.send(f"{at}/rehearsal", status=200, n="900", **_defaults(walk, f"{at}/rehearsal"))
    walk.check()


def _defaults(walk: Walk, path: str) -> dict[str, str]:
    page = walk.people["owner"].get(path).text
    fields = dict(re.findall(r'<input[^>]* name="(truth_\w+)"[^>]* value="([^"]*)"', page))
    selects = re.findall(r'<select[^>]* name="(truth_\w+)".*?value="(\w+)"', page, re.DOTALL)
    return {**fields, **dict(selects)}


def test_published_surveys_are_all_said(walk: Walk, bracketed: tuple[Flask, Store]) -> None:
    store = walk.store
    plain = Survey.from_draft({**documents.blank("№ 10"), "questions": questions_of_every_kind()[:2]})
    grouped = Survey.from_draft(
        {**documents.blank("№ 11"), "questions": questions_of_every_kind()[:2], "groups": ["§1", "§2"]}
    )
    invited = Survey.from_draft(
        {
            **documents.blank("№ 12"),
            "questions": questions_of_every_kind()[:2],
            "settings": {"invitation": True, "kiosk": False},
        }
    )
    paper = Survey.from_draft(
        {
            **documents.blank("№ 13"),
            "questions": [
                {"id": "a", "kind": "yes_no", "text": "¿?", "mechanism": {"name": "warner", "truth": "3/4"}}
            ],
        }
    )
    for survey in (plain, grouped, invited, paper):
        assert store.publish(survey, "owner", target_n=100)
        sharing.share(store, survey.hash, "reader", actor="test")
    for survey in (plain, grouped, invited, paper):
        at = f"/surveys/{survey.hash}"
        for step in ("", "/close", "/slips", "/report", "/report/table", "/report/trend"):
            walk.look(at + step)
        walk.look(at, "reader")
        walk.look(at, "admin")
        walk.send(f"{at}/share", at, name="nobody-here")
        walk.send(f"{at}/share", at, name="")
        walk.send(f"{at}/closing", at, when="date", on="")
        walk.send(f"{at}/closing", at, when="n", at="0")
        walk.send(f"{at}/retention", at, delete_on="2001-01-01")
    at = f"/surveys/{plain.hash}"
    walk.look(f"{at}/poster")
    walk.look(f"{at}/report/table?outcome=q1&by=q1", status=422)
    walk.look(f"{at}/report?level=7", status=422)
    walk.send(f"{at}/closing", at, status=200, when="date", on="2101-01-01")
    walk.send(f"{at}/results", at, status=200, public="yes")
    walk.send(f"{at}/embedding", at, status=200, embed="yes")
    walk.send(f"{at}/retention", at, status=200, delete_on="2101-01-01")
    walk.send(f"{at}/copy", at, status=200)
    walk.send(f"{at}/again", at, status=200)
    walk.send(f"{at}/close", at, status=200)
    walk.look(at)
    walk.look(f"{at}/report")
    walk.send(f"/surveys/{grouped.hash}/sizes", f"/surveys/{grouped.hash}", size_0="5")
    walk.send(f"/surveys/{grouped.hash}/slips", n="0")
    walk.send(f"/surveys/{invited.hash}/invitations", f"/surveys/{invited.hash}", n="no")
    walk.send(f"/surveys/{invited.hash}/merge", f"/surveys/{invited.hash}")
    walk.send(
        f"/surveys/{invited.hash}/letters", f"/surveys/{invited.hash}", addresses="no", subject="", text=""
    )
    walk.look(f"/surveys/{paper.hash}/enter")
    walk.send(f"/surveys/{paper.hash}/enter", q0="9")
    walk.look("/audit-log", "admin")
    walk.check()


def test_what_scripts_are_told_is_all_said(walk: Walk) -> None:
    draft = numbered(walk.store, *questions_of_every_kind())
    owner, at = walk.people["owner"], f"/drafts/{draft.id}"
    query = {"expected_n": 900, "margin": 5, "epsilon": "1"}
    answers = [owner.get(f"{at}/plan.json", query_string=query).get_json()["texts"]]
    answers.append(
        owner.get(f"{at}/plan.json", query_string={**query, "expected_n": "no"}).get_json()["errors"]
    )
    form = {
        "csrf_token": token_of(owner, f"{at}/questions/q1"),
        "revision": draft.revision,
        "instead_of": "q2",
    }
    for typed in (
        {"kind": "choice", "text": "¿?", "options": "1\n2", "id": "q2"},
        {"kind": "choice", "text": ""},
    ):
        answer = owner.post(f"{at}/live.json", data={**form, **typed}).get_json()
        answers.append({key: answer[key] for key in ("margin", "errors", "rows")})
    page = "".join(
        f"<p>{text}</p>"
        for text in re.findall(r'"((?:[^"\\]|\\.)*)"', json.dumps(answers, ensure_ascii=False))
    )
    keys = {key for texts in answers for key in texts} | {"text", "options", *MECHANISMS}
    assert [text for text in left_over(page) if text not in keys] == []


def test_numbers_of_the_editor_are_written_with_a_comma_and_read_back(
    owner: FlaskClient, store: Store
) -> None:
    span = {"min": "-0.5", "max": "2.5", "step": "0.125"}
    number = {"id": "n", "kind": "number", "text": "N?", **span, "mechanism": {"epsilon": "1"}}
    shares = {"name": "forced", "forced": ["0.1", "1/4", "0.25"]}
    choice = {"id": "f", "kind": "choice", "text": "F?", "options": ["a", "b", "c"], "mechanism": shares}
    draft = make_draft(store, "owner", number, choice)
    owner.set_cookie(LANGUAGE_COOKIE, "de")
    typed = {
        "n": {"kind": "number", "min": "-0,5", "max": "2,5", "step": "0,125"},
        "f": {"kind": "choice", "options": "a\nb\nc", "mechanism": "forced", "forced": "0,1; 1/4; 0,25"},
    }
    for name, fields in typed.items():
        at = f"/drafts/{draft.id}/questions/{name}"
        page = owner.get(at).text
        numbers = [text for text in fields.values() if "," in text]
        assert all(f'value="{text}"' in page for text in numbers)
        assert submit(owner, at, id=name, text=f"{name.upper()}?", **fields).status_code == 302
    after = storage.find(store, draft.id)
    assert after is not None
    assert {key: after.questions[0][key] for key in span} == span
    assert after.questions[1]["mechanism"] == shares
