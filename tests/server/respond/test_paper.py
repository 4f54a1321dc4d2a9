"""Paper mode: instructions that follow the channel exactly, and a form that takes what they gave, once."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from flask_babel import gettext
from hushpoll_client import Question, Survey
from hushpoll_client.channel import SCALE
from hushpoll_client.formatting import at_most
from hushpoll_client.mechanism import Instruction, Mechanism
from hushpoll_client.survey.texts import read_in
from hushpoll_server.collect.closing import close
from hushpoll_server.collect.invitations import invite
from hushpoll_server.respond.paper import any_answer, is_possible, report_labels, warnings
from hushpoll_server.store.surveys import Store
from werkzeug.test import TestResponse

from tests.serving import waiting_records
from tests.vectors import surveys

DECOY = {"decoy": "Born in May?", "decoy_share": "1/12"}
# The texts of any survey that has no languages.
OWN = read_in(Survey.from_draft(surveys.survey(surveys.yes_no("a", {"name": "warner", "epsilon": 1}))), ())


def question(mechanism: dict[str, Any], kind: str = "yes_no", **more: Any) -> Question:
    draft = {"id": "q", "kind": kind, "text": "Is it true?", "mechanism": mechanism, **more}
    return Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [draft]}).questions[0]


def outcomes(how: Instruction) -> list[str]:
    """Every equally likely outcome of the coins or dice, as the person who follows the steps sees them."""
    if how.coins:
        return ["".join(toss) for toss in itertools.product("HT", repeat=how.coins)]
    rolls = ["".join(faces) for faces in itertools.product("123456", repeat=how.rolls)]
    return [roll for roll in rolls if not how.again or int(roll) <= int(how.last)]


def follow(how: Instruction, outcome: str, answers: list[int]) -> int:
    """Return the report that the steps give after one random outcome; answers are to the question and the decoy."""
    if how.coins:
        branch = how.branches[0 if outcome.count("H") == how.heads else 1]
    else:
        (branch,) = [b for b in how.branches if int(b.low) <= int(outcome) <= int(b.high)]
    done = {"truth": answers[0], "opposite": 1 - answers[0], "first": answers[0], "second": answers[-1]}
    return done[branch.what] if branch.option is None else branch.option


@pytest.mark.parametrize(
    "truth", ["3/4", "1/4", "2/3", "5/6", "7/8", "5/8", "15/16", "0.9", "0.73", "7/12", "55/216"]
)
def test_warner_steps_have_exactly_the_published_odds(truth: str) -> None:
    warner = question({"name": "warner", "truth": truth})
    how = warner.mechanism.by_hand()
    assert how is not None
    for answer in (0, 1):
        got = Counter(follow(how, outcome, [answer]) for outcome in outcomes(how))
        assert Fraction(got[answer], got.total()) == Fraction(truth)
        # The published integers are the same odds, rounded toward privacy by less than one part in 2^53.
        assert abs(Fraction(warner.channel.row(answer)[answer], SCALE) - Fraction(truth)) < Fraction(1, SCALE)


def test_two_coins_make_three_quarters_and_one_die_five_sixths() -> None:
    coins = question({"name": "warner", "truth": "3/4"}).mechanism.by_hand()
    assert coins is not None
    assert (coins.coins, coins.heads, [branch.what for branch in coins.branches]) == (
        2,
        2,
        ["opposite", "truth"],
    )
    die = question({"name": "warner", "truth": "5/6"}).mechanism.by_hand()
    assert die is not None
    assert [(b.low, b.high, b.what) for b in die.branches] == [("1", "1", "opposite"), ("2", "6", "truth")]
    assert not die.again


@pytest.mark.parametrize(
    "shares", [["1/6", "1/6"], ["0", "1/2"], ["1/10", "1/5", "1/5"], ["0.05", "0", "0.1"]]
)
def test_forced_steps_have_exactly_the_published_odds(shares: list[str]) -> None:
    if len(shares) == 2:
        forced = question({"name": "forced", "forced": shares})
    else:
        forced = question({"name": "forced", "forced": shares}, "choice", options=["A", "B", "C"])
    how = forced.mechanism.by_hand()
    assert how is not None
    for answer in range(len(shares)):
        got = Counter(follow(how, outcome, [answer]) for outcome in outcomes(how))
        for report, weight in enumerate(forced.channel.row(answer)):
            assert abs(Fraction(got[report], got.total()) - Fraction(weight, SCALE)) < Fraction(
                len(shares), SCALE
            )


def test_unrelated_steps_have_exactly_the_published_odds() -> None:
    unrelated = question({"name": "unrelated", "truth": "2/3", **DECOY})
    how = unrelated.mechanism.by_hand()
    assert how is not None
    for answer, decoy in itertools.product((0, 1), repeat=2):
        got = Counter(follow(how, outcome, [answer, decoy]) for outcome in outcomes(how))
        yes = Fraction(unrelated.channel.row(2 * answer + decoy)[1], SCALE)
        assert abs(Fraction(got[1], got.total()) - yes) < Fraction(1, SCALE)


@pytest.mark.parametrize(
    "mechanism",
    [
        {"name": "warner", "epsilon": "1"},
        {"name": "warner", "truth": "0.7311"},
        {"name": "krr", "epsilon": "1"},
        {"name": "or_poll", "epsilon": "1", **DECOY},
        {"name": "crosswise", "epsilon": "1", **DECOY},
        {"name": "unrelated", "truth": "2/3", "epsilon": "1", **DECOY},
    ],
)
def test_no_steps_where_coins_and_dice_cannot_be_exact(mechanism: dict[str, Any]) -> None:
    assert question(mechanism).mechanism.by_hand() is None


KNOWN = "Someone who knows your answer to the second question can learn more, up to your own answer."
BARE = "The instructions tell no one to choose this answer, so choosing it does reveal that it is true: "


@pytest.mark.parametrize(
    ("revealing", "sentences"),
    [
        (question({"name": "warner", "truth": "3/4"}), []),
        (question({"name": "forced", "forced": ["1/6", "0"]}), [f"{BARE}\u2068Yes\u2069"]),
        (
            question({"name": "forced", "forced": ["0", "0", "1/2"]}, "choice", options=["A", "B", "C"]),
            [f"{BARE}\u2068A\u2069, \u2068B\u2069"],
        ),
        (question({"name": "or_poll", **DECOY}), ["A No does reveal that both are No.", KNOWN]),
        (question({"name": "or_poll", "epsilon": "1", **DECOY}), []),
        (question({"name": "crosswise", **DECOY}), [KNOWN]),
        (question({"name": "unrelated", "truth": "2/3", **DECOY}), [KNOWN]),
    ],
    ids=lambda value: value.mechanism.name if isinstance(value, Question) else "",
)
def test_steps_that_reveal_the_truth_have_a_warning(
    app: Flask, revealing: Question, sentences: list[str]
) -> None:
    with app.test_request_context("/"):
        assert warnings(revealing, OWN) == sentences
        assert any_answer(revealing) is None


WIDE = {"form": "matrix", "rows": [[2**52, 2**51, 2**50, 2**50], [2**50, 2**50, 2**51, 2**52]]}


def test_a_report_that_is_no_answer_has_a_number_and_a_bound(app: Flask) -> None:
    matrix = question({"name": "matrix", "epsilon": "1.4"}, channel=WIDE)
    with app.test_request_context("/"):
        assert report_labels(matrix, OWN) == ["0", "1", "2", "3"]
        assert any_answer(matrix) == (
            "What is sent could come from any answer; it is at most 4 times likelier from yours."
        )
        assert report_labels(question({"name": "crosswise", **DECOY}), OWN) == ["different", "same"]


@pytest.mark.parametrize("tenths", range(1, 101))
def test_a_bound_is_never_written_below_its_value(tenths: int) -> None:
    ratio = question({"name": "warner", "epsilon": str(tenths / 10)}).channel.ratio
    assert ratio is not None
    assert 1 <= Fraction(at_most(float(ratio)).replace(",", "")) / ratio < Fraction(101, 100)


@pytest.fixture
def backend() -> str:
    """The page is made from the survey alone; where something is stored, a test asks for both databases."""
    return "sqlite"


@pytest.fixture
def paper_survey(store: Store) -> Survey:
    return publish(store)


def publish(store: Store, **settings: bool) -> Survey:
    questions = [
        {
            "id": "a",
            "kind": "yes_no",
            "text": "Did you cheat?",
            "mechanism": {"name": "warner", "truth": "3/4"},
        },
        {
            "id": "b",
            "kind": "yes_no",
            "text": "Did you fraud tax?",
            "mechanism": {"name": "or_poll", **DECOY},
        },
        {"id": "c", "kind": "yes_no", "text": "Do you steal?", "mechanism": {"name": "crosswise", **DECOY}},
        {
            "id": "d",
            "kind": "choice",
            "text": "Why?",
            "options": ["<b>Time</b>", "Fear"],
            "mechanism": {"name": "forced", "forced": ["1/6", "0"]},
        },
    ]
    survey = Survey.from_draft({"hushpoll": 1, "title": "Exam", "questions": questions, "settings": settings})
    store.publish(survey)
    return survey


def opened(client: FlaskClient, survey: Survey) -> dict[str, str]:
    """Return the filled form of the page, as a person without JavaScript opens it."""
    page = client.get(f"/s/{survey.hash}/paper")
    assert page.status_code == 200
    match = re.search(r'name="id" value="([0-9a-f]{32})"', page.text)
    assert match
    return {"id": match[1], "q0": "1", "q1": "0", "q2": "1", "q3": "0", "mixed": "y"}


def send(client: FlaskClient, survey: Survey, form: dict[str, str]) -> TestResponse:
    return client.post(f"/s/{survey.hash}/paper", data=form)


def stored(store: Store) -> list[bytes]:
    return [
        record for state in store.list_surveys() for record in waiting_records(store, state.hash).values()
    ]


def test_the_page_gives_steps_warnings_and_no_cookie(client: FlaskClient, paper_survey: Survey) -> None:
    page = client.get(f"/s/{paper_survey.hash}/paper")
    policy = page.headers["Content-Security-Policy"]
    assert "form-action 'self'" in policy
    assert "script-src 'none'" in policy
    assert "Set-Cookie" not in page.headers
    assert page.headers["Cache-Control"] == "no-store"
    assert "<script" not in page.text
    assert "Toss 2 coins where no one can see them." in page.text
    assert "A No does reveal that both are No." in page.text
    assert "Nobody, including us" not in page.text
    assert "&lt;b&gt;Time&lt;/b&gt;" in page.text
    assert "<b>" not in page.text
    assert page.text.count("<fieldset") == page.text.count("<legend") == 4
    assert f'href="/s/{paper_survey.hash}/paper"' in client.get(f"/s/{paper_survey.hash}").text


@pytest.mark.parametrize("backend", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_mixed_answers_are_stored_once(client: FlaskClient, store: Store, paper_survey: Survey) -> None:
    form = opened(client, paper_survey)
    first, again = send(client, paper_survey, form), send(client, paper_survey, form)
    assert (first.status_code, again.status_code) == (201, 200)
    assert "The survey has received your mixed answers." in first.text
    assert "Set-Cookie" not in first.headers
    assert stored(store) == [store.record_format(paper_survey.hash).pack((1, 0, 1, 0))]
    other = send(client, paper_survey, {**form, "q0": "0"})
    assert other.status_code == 409
    assert "sent before with other answers" in other.text
    assert opened(client, paper_survey)["id"] != form["id"]


def test_another_site_cannot_send_in_a_visitors_name(
    client: FlaskClient, store: Store, paper_survey: Survey
) -> None:
    form, address = opened(client, paper_survey), f"/s/{paper_survey.hash}/paper"
    for headers in (
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://["},
        {"Origin": "localhost"},
    ):
        assert client.post(address, data=form, headers=headers).status_code == 403, headers
    assert stored(store) == []
    same_origin = {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"}
    assert client.post(address, data=form, headers=same_origin).status_code == 201


@pytest.mark.parametrize(
    ("change", "link"),
    [
        ({"q1": ""}, "#q1-0"),
        ({"q1": "2"}, "#q1-0"),
        ({"q0": "1.0"}, "#q0-0"),
        ({"q3": "-1"}, "#q3-0"),
        ({"mixed": ""}, "#mixed"),
        ({"id": "00"}, None),
        ({"id": "0" * 32 + "\n"}, None),
    ],
)
def test_a_bad_form_is_refused_with_a_linked_message(
    client: FlaskClient, store: Store, paper_survey: Survey, change: dict[str, str], link: str | None
) -> None:
    response = send(client, paper_survey, {**opened(client, paper_survey), **change})
    assert response.status_code == 422
    assert stored(store) == []
    if link:
        assert f'<a href="{link}">' in response.text
        assert f'id="{link[1:]}"' in response.text


def test_a_closed_survey_takes_no_paper(client: FlaskClient, store: Store, paper_survey: Survey) -> None:
    form = opened(client, paper_survey)
    close(store, paper_survey.hash)
    assert send(client, paper_survey, form).status_code == 410
    assert "This survey is closed" in client.get(f"/s/{paper_survey.hash}/paper").text
    assert stored(store) == []


def test_the_form_requires_an_invitation_and_spends_it(client: FlaskClient, store: Store) -> None:
    survey = publish(store, invitation=True)
    (code,) = invite(store, survey.hash, 1)
    form = opened(client, survey)
    assert send(client, survey, form).status_code == 422
    assert send(client, survey, {**form, "invitation": "nonsense"}).status_code == 403
    assert send(client, survey, {**form, "invitation": f" {code} "}).status_code == 201
    assert send(client, survey, {**opened(client, survey), "invitation": code}).status_code == 403
    assert len(stored(store)) == 1


def test_a_survey_that_needs_a_device_explains_why(client: FlaskClient, survey: Survey, store: Store) -> None:
    assert not is_possible(survey)
    page = client.get(f"/s/{survey.hash}/paper")
    assert "This survey cannot be answered on paper." in page.text
    assert "Did you cheat at this exam?" in page.text
    assert "<form" not in page.text
    assert f'href="/s/{survey.hash}/paper"' not in client.get(f"/s/{survey.hash}").text
    assert (
        send(client, survey, {"id": "0" * 32, "q0": "0", "q1": "0", "q2": "0", "mixed": "y"}).status_code
        == 422
    )
    assert stored(store) == []


def test_a_report_that_is_no_answer_is_explained_on_the_form(
    client: FlaskClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No table can be made by hand so far; the form is ready for one that can."""
    monkeypatch.setattr(Mechanism, "by_hand", lambda _: Instruction())
    question = {"id": "q", "kind": "yes_no", "text": "?", "mechanism": {"name": "matrix", "epsilon": "1.4"}}
    survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [{**question, "channel": WIDE}]})
    store.publish(survey)
    page = client.get(f"/s/{survey.hash}/paper?lang=de")
    assert "mit höchstens 4-mal so großer Wahrscheinlichkeit" in page.text
    assert page.text.count('name="q0"') == 4


def test_the_page_speaks_the_readers_language(client: FlaskClient, paper_survey: Survey) -> None:
    page = client.get(f"/s/{paper_survey.hash}/paper?lang=ar")
    assert '<html lang="ar" dir="rtl">' in page.text
    assert "نعم" in page.text


RULED = {
    "hushpoll": 1,
    "title": "Rules on paper",
    "questions": [
        {"id": "did", "kind": "yes_no", "text": "Did you?", "mechanism": {"name": "warner", "truth": "3/4"}},
        {
            "id": "why",
            "kind": "choice",
            "text": "Why?",
            "options": ["Time", "Fear"],
            "after": {"question": "did", "answers": ["Yes"]},
            "mechanism": {"name": "forced", "forced": ["1/6", "1/6", "1/6"]},
        },
    ],
}


def test_a_question_with_a_rule_names_who_answers_it(client: FlaskClient, store: Store) -> None:
    survey = Survey.from_draft(RULED)
    store.publish(survey)
    text = client.get(f"/s/{survey.hash}/paper").text
    assert (
        "This question is for those whose true answer to question 1 is: \u2068Yes\u2069."
        " For everyone else the true answer here is “does not apply”." in text
    )
    assert (
        text.count('name="q1"') == 3
    )  # "does not apply" can be chosen, as what the die gave or as what is true
    name = re.search(r'name="id" value="([0-9a-f]{32})"', text)
    assert name
    sent = {"id": name[1], "q0": "1", "q1": "2", "mixed": "y"}
    assert client.post(f"/s/{survey.hash}/paper", data=sent).status_code == 201


def test_paper_names_the_questions_that_only_a_device_can_mix(client: FlaskClient, store: Store) -> None:
    drafts = dict(surveys.drafts())
    survey = Survey.from_draft(
        drafts["every kind"]
    )  # one of them with more sets of options than could be listed
    store.publish(survey)
    assert not is_possible(survey)
    text = client.get(f"/s/{survey.hash}/paper").text
    assert "This survey cannot be answered on paper." in text
    for number, question in enumerate(survey.questions, 1):
        assert f'<li value="{number}" dir="auto">{question.text}</li>' in text
    assert client.post(f"/s/{survey.hash}/paper", data={"id": "0" * 32}).status_code == 422


def test_a_number_that_is_rounded_by_chance_has_no_steps() -> None:
    number = {"id": "n", "kind": "number", "text": "?", "min": 0, "step": 1}
    few = {**number, "max": 1, "mechanism": {"name": "warner", "truth": "3/4", "target": "mean"}}
    fine = {**number, "max": 80, "mechanism": {"name": "forced", "forced": ["1/42"] * 21, "target": "mean"}}
    for number_question, possible in ((few, True), (fine, False)):
        survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [number_question]})
        assert survey.questions[0].mechanism.by_hand() is not None
        assert is_possible(survey) is possible


ABOUT_ANSWERS = {"q0": "1", "q1": "0", "q2": "1", "mixed": "y"}


def around(store: Store) -> Survey:
    """Return a survey with a full presentation, which coins and dice can answer."""
    document = surveys.about_draft()
    del document["look"]
    document["questions"] = [question for question in document["questions"] if question["id"] != "c"]
    for question in document["questions"][:2]:
        question["mechanism"] = {"name": "warner", "truth": "3/4"}
    document["sections"][1]["before"] = "d"
    for texts in document["translations"].values():
        del texts["questions"]["c"]
    survey = Survey.from_draft(document)
    assert is_possible(survey)
    store.publish(survey)
    return survey


@pytest.mark.parametrize(("language", "direction"), [("fr", "ltr"), ("ar", "rtl")])
def test_paper_is_in_the_surveys_language(
    client: FlaskClient, store: Store, language: str, direction: str
) -> None:
    survey = around(store)
    text = client.get(f"/s/{survey.hash}/paper?lang={language}").text
    marked = f'lang="{language}" dir="{direction}"'
    for sentence in (
        f"<h1 {marked}>Title {language}<",
        f"{marked}>Intro {language}<",
        f"{marked}>Consent {language}<",
    ):
        assert sentence in text
    for sentence in (
        f"{marked}>A {language}</legend>",
        f"{marked}>D {language}</li>",
        f"{marked}>Decoy {language}</li>",
    ):
        assert sentence in text
    assert f"{marked}>One {language}</h2>" in text
    assert f"{marked}>x {language}</span>" in text
    assert f'<html lang="{language}" dir="{direction}">' in text
    assert "Prefer not to say" not in text
    assert "University of Somewhere" in text
    assert 'href="https://example.org/privacy?survey=1#top" rel="noreferrer"' in text
    assert re.findall(r'hreflang="(\w+)"', text) == ["en", "ar", "fr"]


def test_prefer_not_to_say_is_translated_on_paper(client: FlaskClient, store: Store) -> None:
    survey = around(store)
    text = client.get(f"/s/{survey.hash}/paper?lang=de").text
    assert 'lang="en" dir="ltr">Did you?</legend>' in text
    assert "Prefer not to say" not in text
    with client.application.test_request_context(f"/s/{survey.hash}?lang=de"):
        assert f">{gettext('Prefer not to say')}</span>" in text


def test_all_words_of_a_declined_yes_no_question_are_translated_on_paper(
    client: FlaskClient, store: Store
) -> None:
    question = {
        "id": "a",
        "kind": "choice",
        "text": "?",
        "mechanism": {"name": "forced", "forced": ["1/6"] * 3},
    }
    for words, there, absent in (
        (["No", "Yes", "Prefer not to say"], ("Nein", "Ja", "Keine Angabe"), ("No", "Yes")),
        (["Yes", "No", "Maybe"], ("Yes", "No", "Maybe"), ("Nein", "Ja")),
    ):
        questions = [{**question, "options": words}]
        survey = Survey.from_draft(
            {"hushpoll": 1, "title": words[-1], "language": "en", "questions": questions}
        )
        store.publish(survey)
        text = client.get(f"/s/{survey.hash}/paper?lang=de").text
        assert all(f">{word}</span>" in text for word in there)
        assert not any(f">{word}</span>" in text for word in absent)


def test_paper_asks_for_consent_and_thanks(client: FlaskClient, store: Store) -> None:
    survey = around(store)
    path = f"/s/{survey.hash}/paper?lang=fr"
    match = re.search(r'name="id" value="(\w+)"', client.get(path).text)
    assert match
    refused = client.post(path, data={**ABOUT_ANSWERS, "id": match[1]})
    assert refused.status_code == 422
    assert 'href="#consent"' in refused.text
    assert 'aria-describedby="consent-error"' in refused.text
    sent = client.post(path, data={**ABOUT_ANSWERS, "id": match[1], "consent": "y"})
    assert sent.status_code == 201
    assert "Thanks fr" in sent.text
    assert '<a lang="fr" dir="ltr" href="tel:112" rel="noreferrer">Help fr</a>' in sent.text
