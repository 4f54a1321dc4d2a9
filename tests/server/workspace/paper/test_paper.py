"""Paper in the workspace: odds that coins or dice make, slips with a code each, a stack of sheets typed in."""

from __future__ import annotations

import html
import re
import secrets
from fractions import Fraction
from typing import Any

import pytest
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_client.delivery.link import fingerprint
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_server.collect import closing, invitations
from hushpoll_server.respond.paper import by_hand, is_possible
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents

from tests.server.accounts_kit import OR_POLL, QUESTION, again, make_draft, submit
from tests.vectors.surveys import about_draft

CHOICE = {"id": "c", "kind": "choice", "text": "Which?", "options": ["x", "y", "z"]}
COINS = {"id": "w", "kind": "yes_no", "text": "Did you?", "mechanism": {"name": "warner", "truth": "3/4"}}
DIE = {**CHOICE, "mechanism": {"name": "forced", "forced": ["1/6", "1/6", "1/6"]}}


@pytest.mark.parametrize("options", range(2, 15))
def test_every_point_is_made_exactly_by_coins_or_dice_and_protects(options: int) -> None:
    by_hand = [
        kind.compile(options, point) for kind in MECHANISMS.values() for point in kind.points_by_hand(options)
    ]
    assert bool(by_hand) == (options <= 12)
    for mechanism in by_hand:
        how = mechanism.by_hand()
        assert how is not None
        assert not how.again, "nothing is rolled again"
        assert how.coins or how.rolls
        assert mechanism.device.ratio is not None
        assert mechanism.device.ratio <= Fraction(10), "none of them is weak"
    epsilons = [mechanism.epsilon for mechanism in by_hand]
    assert epsilons == sorted(epsilons), "the most private first"


def test_the_checklist_names_questions_briefly() -> None:
    from hushpoll_server.workspace.paper.conversion import _ranges

    assert _ranges([1, 2, 3, 4, 6, 8, 9]) == ["1–4", "6", "8", "9"]


def test_the_checklist_says_all_questions(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION, {**CHOICE, "mechanism": {"epsilon": "1"}})
    assert "Not for paper: all questions would need odds" in owner.get(f"/drafts/{draft.id}/publish").text


# Odds to snap to ------------------------------------------------------------------------------------------------


def test_odds_are_chosen_and_the_checklist_says_so(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", QUESTION, {**CHOICE, "mechanism": {"epsilon": "1"}}, OR_POLL)
    page = f"/drafts/{draft.id}/paper"
    page_text = owner.get(page).text
    assert "works with two coins: 75 of 100 recorded as chosen, epsilon 1.1" in page_text
    assert "works with one die: 83 of 100 recorded as chosen, epsilon 1.61" in page_text
    assert "Not for paper: Questions 1 and 2 would need odds" in owner.get(f"/drafts/{draft.id}/publish").text
    values = dict(re.findall(r'<option value="(\d)">works with (two coins|one die: 67 of 100)', page_text))
    two_coins = next(value for value, label in values.items() if label == "two coins")
    # The first list is question 1's; a choice of three by one die is the first of question 2's.
    assert submit(owner, page, point_0=two_coins, point_1="0").status_code == 302
    saved = again(store, draft)
    assert saved.questions[0]["mechanism"] == {"name": "warner", "truth": "3/4"}
    assert saved.questions[1]["mechanism"] == {"name": "forced", "forced": ["1/6", "1/6", "1/6"]}
    assert saved.questions[2] == draft.questions[2]
    assert is_possible(saved.compiled())
    assert "People can also answer on paper" in owner.get(f"/drafts/{draft.id}/publish").text
    assert "All questions of this survey can be answered on paper." in owner.get(page).text
    assert submit(owner, page, point_0="9").status_code == 422
    assert submit(owner, page, point_0=two_coins, point_1="", revision="1").status_code == 409
    submit(owner, f"/drafts/{draft.id}/undo", f"/drafts/{draft.id}")
    assert again(store, draft).questions == draft.questions, "both in one step"


def test_a_question_that_has_no_such_odds_says_so(owner: FlaskClient, store: Store) -> None:
    number = {"id": "n", "kind": "number", "text": "How many?", "min": "0", "max": "100", "step": "1"}
    draft = make_draft(store, "owner", {**number, "mechanism": {"epsilon": "1", "target": "mean"}})
    page_text = owner.get(f"/drafts/{draft.id}/paper").text
    assert "There are no such odds for this kind of question" in page_text
    assert by_hand(draft.compiled().questions[0]) is None


# Slips ----------------------------------------------------------------------------------------------------------


def published(store: Store, *questions: dict[str, Any], **more: Any) -> Survey:
    document = {**documents.blank(f"Paper {secrets.token_hex(4)}"), "questions": list(questions), **more}
    survey = Survey.from_draft(document)
    store.publish(survey, "owner")
    return survey


def test_slips_have_a_qr_and_the_fingerprint_and_codes_where_they_are_asked_for(
    owner: FlaskClient, store: Store
) -> None:
    plain = published(store, COINS)
    page_text = owner.get(f"/surveys/{plain.hash}/slips?n=12").text
    assert page_text.count('class="slip"') == page_text.count('src="data:image/svg+xml') == 12
    assert page_text.count(f'<span class="fingerprint" dir="ltr">{fingerprint(plain.hash)}') == 12
    assert fingerprint(plain.hash).replace(" ", "") == plain.hash[:8]
    assert "Code:" not in page_text
    invited = published(store, COINS, settings={"kiosk": False, "invitation": True})
    path = f"/surveys/{invited.hash}/slips"
    assert 'class="slip"' not in owner.get(f"{path}?n=3").text, "looking makes no codes"
    assert invitations.counts(store, invited.hash) == (0, 0)
    slips = submit(owner, path, n="3").text
    codes = re.findall(r'Code: <strong class="fingerprint" dir="ltr">([^<]+)', slips)
    assert len(set(codes)) == 3
    assert invitations.counts(store, invited.hash) == (3, 0)
    for n in ("0", "501", "many", ""):
        refused = submit(owner, path, n=n)
        assert refused.status_code == 422
        assert "Type a whole number from 1 to 500." in refused.text


def test_slips_of_a_survey_with_groups_are_for_one_of_them(owner: FlaskClient, store: Store) -> None:
    survey = published(store, COINS, groups=["Science", "Arts"])
    path = f"/surveys/{survey.hash}/slips"
    assert submit(owner, path, n="2", group="Sports").status_code == 422
    assert submit(owner, path, n="2", group="Arts").text.count('For: <span dir="auto">Arts</span>') == 2


# Sheets ---------------------------------------------------------------------------------------------------------


def sheet(client: FlaskClient, survey: Survey, **fields: Any) -> Any:
    path = f"/surveys/{survey.hash}/enter"
    html = client.get(path).text
    hidden = dict(re.findall(r'name="(csrf_token|id|done)"[^>]* value="([^"]*)"', html))
    return client.post(path, data={**hidden, **fields})


def test_sheets_are_stored_through_the_writer_one_after_the_other(owner: FlaskClient, store: Store) -> None:
    survey = published(store, COINS, DIE)
    page_text = owner.get(f"/surveys/{survey.hash}/enter").text
    assert "1 No · 2 Yes" in page_text
    assert "1 x · 2 y · 3 z" in page_text
    first = sheet(owner, survey, q0="2", q1="3")
    assert first.location.endswith("/enter?done=1")
    assert "<strong>1</strong> sheet entered" in owner.get(first.location).text
    same = {"id": "ab" * 16, "q0": "1", "q1": "1", "done": "1"}
    assert sheet(owner, survey, **same).location.endswith("done=2")
    notice = owner.get(sheet(owner, survey, **same).location).text
    assert "counts once" in notice
    other = sheet(owner, survey, **{**same, "q0": "2"})
    assert "Nothing was changed" in owner.get(other.location).text
    assert store.count(survey.hash) == 2
    assert f"/surveys/{survey.hash}/enter" in owner.get(f"/surveys/{survey.hash}").text


@pytest.mark.parametrize("typed", ["0", "3", "", "x", "-1", "1.5"])
def test_a_number_that_is_no_answer_is_refused_beside_its_field(
    owner: FlaskClient, store: Store, typed: str
) -> None:
    survey = published(store, COINS)
    refused = sheet(owner, survey, q0=typed)
    assert refused.status_code == 422
    assert 'href="#q0"' in refused.text
    assert store.count(survey.hash) == 0


def test_a_sheet_of_an_invited_survey_spends_its_code(owner: FlaskClient, store: Store) -> None:
    more = {"settings": {"kiosk": False, "invitation": True}, "groups": ["Science", "Arts"]}
    survey = published(store, COINS, **more)
    (code,) = invitations.invite(store, survey.hash, 1, 1)
    assert sheet(owner, survey, q0="1", group="Arts").status_code == 422
    wrong = sheet(owner, survey, q0="1", group="Science", invitation=code)
    assert wrong.status_code == 422
    assert 'href="#invitation"' in wrong.text
    done = sheet(owner, survey, q0="1", group="Arts", invitation=f" {code} ")
    assert done.location.endswith("done=1&group=Arts")
    assert sheet(owner, survey, q0="1", group="Arts", invitation=code).status_code == 422
    assert store.count(survey.hash) == 1


def test_nothing_is_taken_where_paper_is_not_possible_or_the_survey_is_closed(
    owner: FlaskClient, store: Store
) -> None:
    survey = published(store, QUESTION)
    refused = owner.get(f"/surveys/{survey.hash}/enter")
    assert refused.status_code == 422
    assert "cannot be answered on paper" in refused.text
    assert "Enter sheets" not in owner.get(f"/surveys/{survey.hash}").text
    closed = published(store, COINS)
    html = owner.get(f"/surveys/{closed.hash}/enter").text
    hidden = dict(re.findall(r'name="(csrf_token|id|done)"[^>]* value="([^"]*)"', html))
    closing.close(store, closed.hash)
    late = owner.post(f"/surveys/{closed.hash}/enter", data={**hidden, "q0": "1"})
    assert "The sheet was not stored" in owner.get(late.location).text
    assert "takes no more sheets" in owner.get(f"/surveys/{closed.hash}/enter").text
    assert store.count(closed.hash) == 0


@pytest.mark.parametrize("language", ["fr", "ar"])
def test_posters_and_slips_speak_the_survey_s_languages(
    owner: FlaskClient, store: Store, language: str
) -> None:
    """Title and our words in the language that was chosen, with its direction; without a choice in the survey's own."""
    survey = Survey.from_draft({**documents.blank(), **about_draft()})
    store.publish(survey, "owner")
    title = survey.presentation["translations"][language]["title"]
    lead = {"fr": "La page affiche une empreinte", "ar": "تعرض الصفحة بصمة"}[language]
    plain = html.unescape(owner.get(f"/surveys/{survey.hash}/poster").text)
    assert survey.title in plain
    assert "The page shows a fingerprint." in plain
    poster = html.unescape(owner.get(f"/surveys/{survey.hash}/poster?lang={language}").text)
    direction = "rtl" if language == "ar" else "ltr"
    assert f'class="poster" lang="{language}" dir="{direction}"' in poster
    assert title in poster
    assert lead in poster
    assert "The page shows" not in poster
    slips = html.unescape(owner.get(f"/surveys/{survey.hash}/slips?n=2&lang={language}").text)
    assert slips.count(f"{title}</strong>") == 2
    assert "Fingerprint:" not in slips
    assert set(re.findall(r'hreflang="(\w+)"', poster)) == {"en", "fr", "ar"}
    odd = html.unescape(owner.get(f"/surveys/{survey.hash}/poster?lang=xx").text)
    assert survey.title in odd
