"""A bound is never printed below its value: e^1.1 is 3.004, and every command and screen has to say 3.01."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import run_command
from tests.server.accounts_kit import QUESTION, make_draft, open_site, signed_in, submit

BELOW = re.compile(
    r"\b3(\.00?)?(?=[ -]?(fold|times|for somebody| at most))|factor of (at most )?3(\.00?)?\b(?!\.?\d)"
)
SURVEY = {
    "hushpoll": 1,
    "title": "Odds",
    "questions": [
        {
            "id": "cheated",
            "kind": "yes_no",
            "text": "Did you?",
            "mechanism": {"name": "warner", "epsilon": 1.1},
        }
    ],
}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status, out, err = run_command(capsys, *arguments)
    assert status == 0, err
    return out


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(SURVEY))
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        "plan --mechanism warner --epsilon 1.1 --n 1000",
        "estimate --mechanism warner --epsilon 1.1 --counts 580,420",
        "plan --survey {survey} --n 1000 --lock cheated=1.1",
        "report {survey} --data {reports}",
        "report {survey} --data {reports} --format html",
        "report {survey} --data {reports} --format json",
    ],
)
def test_commands_round_the_odds_up(
    arguments: str, survey: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports = tmp_path / "reports.csv"
    reports.write_text("cheated_reported\n" + "0\n1\n" * 200)
    printed = run(capsys, *arguments.format(survey=survey, reports=reports).split())
    if "json" in arguments:
        assert json.loads(printed)["questions"][0]["epsilon"] <= 1.1
        return
    assert "3.01" in printed
    assert not BELOW.search(printed)


def test_the_planned_factor_is_no_lower_than_the_bound(capsys: pytest.CaptureFixture[str]) -> None:
    planned: dict[str, Any] = json.loads(
        run(capsys, *["plan", "--mechanism", "warner", "--epsilon", "1.1", "--n", "1000", "--json"])
    )
    assert 3.004 < planned["odds_factor"] < 3.01


def test_the_privacy_screen_rounds_the_odds_up(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        owner = signed_in(*site, "owner")
        page = f"/drafts/{make_draft(site[1], 'owner', QUESTION).id}/privacy"
        submit(owner, page, expected_n="500", margin="10", epsilon="1", lock_0="1.1", solve="yes")
        text = html.unescape(owner.get(page).text)
    # What may be typed as a lock is not a bound.
    page_text = re.sub(r"<[^>]+>", "", text).replace("such as 3-fold", "")
    assert "× 3.01" in page_text
    assert not BELOW.search(page_text)


def test_the_pattern_finds_what_is_too_low() -> None:
    for sentence in (
        "at most 3-fold",
        "a factor of at most 3.",
        "3.00 times likelier",
        "by a factor of 3 at most",
    ):
        assert BELOW.search(sentence), sentence
    for sentence in ("at most 3.01-fold", "a factor of at most 3.01", "13 times", "3.01 times likelier"):
        assert not BELOW.search(sentence), sentence
