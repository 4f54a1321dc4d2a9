"""What posters and paper promise follows the odds, and what protects little is published only on purpose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_client.cli import hushpoll
from hushpoll_server.config import Config
from hushpoll_server.people import tokens
from hushpoll_server.store.surveys import Store

from tests.server.accounts_kit import OR_POLL, make_draft, submit
from tests.serving import make_ready

STRONG = "Nobody, including us, receives what"
POSTER = {
    "strong": "From what is sent, no one can tell for certain what you choose.",
    "fair": "What we receive can hint at what you choose.",
    "weak": "but only a little: what we receive can give away what you choose.",
}
PAPER = {
    "strong": "From what you hand in, no one can tell for certain what is true for you.",
    "fair": "can hint at what is true for you.",
    "weak": "This protects little.",
}


def yes_no_questions(*mechanisms: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"id": f"q{index}", "kind": "yes_no", "text": f"Did you {index}?", "mechanism": mechanism}
        for index, mechanism in enumerate(mechanisms)
    ]


def at(*epsilons: str) -> list[dict[str, Any]]:
    return yes_no_questions(*({"name": "warner", "epsilon": epsilon} for epsilon in epsilons))


@pytest.mark.parametrize(
    ("epsilons", "tier"),
    [
        (["0.1"], "strong"),
        (["1"], "strong"),
        (["1.2"], "fair"),
        (["2"], "fair"),
        (["2.4"], "weak"),
        (["5"], "weak"),
        (["10"], "weak"),
        (["19.9"], "weak"),
        (["1"] * 5, "strong"),
        (["1"] * 6, "fair"),
        (["1"] * 10, "fair"),
        (["1"] * 11, "weak"),
    ],
)
def test_the_poster_is_as_strong_as_the_odds_allow(
    owner: FlaskClient, store: Store, epsilons: list[str], tier: str
) -> None:
    survey = Survey.from_draft({"hushpoll": 1, "title": f"At {epsilons}", "questions": at(*epsilons)})
    store.publish(survey, owner="owner")
    poster = owner.get(f"/surveys/{survey.hash}/poster").text
    assert [name for name, promise in POSTER.items() if promise in poster] == [tier]
    page = owner.get(f"/surveys/{survey.hash}").text
    assert ("protects little" in page) == (tier == "weak")


@pytest.mark.parametrize(
    ("truth", "tier"), [("2/3", "strong"), ("3/4", "strong"), ("5/6", "fair"), ("35/36", "weak")]
)
def test_so_is_paper(owner: FlaskClient, store: Store, truth: str, tier: str) -> None:
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": f"Paper {truth}",
            "questions": yes_no_questions({"name": "warner", "truth": truth}),
        }
    )
    store.publish(survey, owner="owner")
    page = owner.get(f"/s/{survey.hash}/paper").text
    assert [name for name, promise in PAPER.items() if promise in page] == [tier]


def test_a_weak_survey_among_one_sided_ones_is_called_weak(owner: FlaskClient, store: Store) -> None:
    survey = Survey.from_draft(
        {"hushpoll": 1, "title": "Both", "questions": [*at("10"), OR_POLL]},
    )
    store.publish(survey, owner="owner")
    assert POSTER["weak"] in owner.get(f"/surveys/{survey.hash}/poster").text


@pytest.mark.parametrize("typed", ["", "yes", "this protects a lot"])
def test_what_protects_little_is_published_only_on_purpose(
    owner: FlaskClient, store: Store, typed: str
) -> None:
    draft = make_draft(store, "owner", *at("2.4"))
    page = owner.get(f"/drafts/{draft.id}/publish").text
    assert "This survey protects its respondents little." in page
    assert "in at least 91 of 100 cases what is sent is the answer" in page
    path = f"/drafts/{draft.id}/publish"
    refused = submit(owner, path, frozen="y", revision=str(draft.revision), weak=typed)
    assert refused.status_code == 422
    assert "Type “this protects little”" in refused.text
    both = submit(owner, path, revision=str(draft.revision), weak=typed).text
    assert "Type “this protects little”" in both
    assert "Tick this to publish" in both, "all that is missing is said at once"
    done = submit(owner, path, frozen="y", revision=str(draft.revision), weak=" This  protects little")
    assert done.status_code == 302
    assert "protects little" in owner.get(done.headers["Location"]).text


def test_nothing_is_typed_for_a_survey_that_protects(owner: FlaskClient, store: Store) -> None:
    draft = make_draft(store, "owner", *at("2"))
    assert "protects its respondents little" not in owner.get(f"/drafts/{draft.id}/publish").text
    done = submit(owner, f"/drafts/{draft.id}/publish", frozen="y", revision=str(draft.revision))
    assert done.status_code == 302


def _written(folder: Path, epsilon: str) -> str:
    document = {"hushpoll": 1, "title": f"At {epsilon}", "questions": at(epsilon)}
    path = folder / "survey.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_the_command_line_warns_of_what_protects_little_and_publishes_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA", str(tmp_path / "data"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    make_ready(Config(data=tmp_path / "data"))
    weak = CliRunner().invoke(hushpoll, ["survey", "publish", _written(tmp_path, "2.4"), "--json"])
    assert weak.exit_code == 0
    warning = (
        "Question 1 changes the odds up to 11.1-fold: in at least 91 of 100 cases what is sent is the answer."
    )
    assert warning in weak.stderr
    assert weak.stderr.startswith("warning: This survey protects its respondents little")
    assert warning in json.loads(weak.stdout)["warning"]
    fair = CliRunner().invoke(hushpoll, ["survey", "publish", _written(tmp_path, "2"), "--json"])
    assert (fair.exit_code, fair.stderr) == (0, "")
    assert "warning" not in json.loads(fair.stdout)


def test_a_program_is_told_in_the_answer_and_the_list_marks_it(owner: FlaskClient, store: Store) -> None:
    headers = {"Authorization": f"Bearer {tokens.make(store, 'owner', 'test', ['publish'], actor='owner')}"}
    for epsilon, weak in (("2.4", True), ("2", False)):
        draft = {"hushpoll": 1, "title": f"By a program at {epsilon}", "questions": at(epsilon)}
        answer = owner.post("/api/surveys", json=draft, headers=headers)
        assert answer.status_code == 201
        assert ("warning" in answer.json) == weak
        card = owner.get("/surveys").text.partition(draft["title"])[2].partition("</li>")[0]
        assert ("protects little" in card) == weak


@pytest.mark.parametrize(
    ("language", "weak", "open_ones"),
    [
        ("en", "Questions 1 and 2 each change the odds up to 404-fold: ", "Questions 1 and 2 have no finite"),
        (
            "de",
            "Die Fragen 1 und 2 ändern die Chancen je bis auf das 404-Fache: ",
            "Die Fragen 1 und 2 haben kein endliches",
        ),
    ],
)
def test_several_questions_are_named_in_a_sentence_about_several(
    owner: FlaskClient, store: Store, language: str, weak: str, open_ones: str
) -> None:
    owner.set_cookie("hushpoll_language", language)
    low = make_draft(store, "owner", *at("6", "6"))
    assert weak in owner.get(f"/drafts/{low.id}/publish").text
    poll = {"name": "or_poll", "decoy": "Tea?", "decoy_share": "0.4"}
    unbounded = make_draft(store, "owner", *yes_no_questions(poll, poll))
    assert open_ones in owner.get(f"/drafts/{unbounded.id}/privacy").text
