"""A survey with a question of every form, in groups and with a block, and simulated reports of its questions."""

from __future__ import annotations

import json
import secrets
from typing import Any

from flask.testing import FlaskClient
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey

from tests.serving import post_batch

EVERY_FORM: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Every form",
    "groups": ["Science", "Arts", "Law"],
    "anchor": {"question": "a", "share": "0"},
    "questions": [
        {"id": "a", "kind": "yes_no", "text": "A?", "mechanism": {"name": "warner", "epsilon": 1}},
        {
            "id": "b",
            "kind": "choice",
            "text": "B?",
            "options": [f"b{number}" for number in range(300)],
            "mechanism": {"name": "krr", "epsilon": 1},
        },
        {
            "id": "c",
            "kind": "choice",
            "text": "C?",
            "options": [f"c{number}" for number in range(11)],
            "mechanism": {"name": "subset", "epsilon": 1, "size": 4},
        },
        {"id": "d", "kind": "yes_no", "text": "D?"},
        {"id": "e", "kind": "choice", "text": "E?", "options": ["x", "y", "z"]},
        {"id": "f", "kind": "scale", "text": "F?", "points": 5},
        {
            "id": "g",
            "kind": "multiple",
            "text": "G?",
            "options": ["p", "q", "r", "s"],
            "at_most": 2,
            "mechanism": {"name": "padded", "epsilon": 2},
        },
        {
            "id": "h",
            "kind": "choice",
            "text": "H?",
            "options": ["u", "v", "w"],
            "mechanism": {"name": "krr", "epsilon": 1},
        },
    ],
    "blocks": [{"questions": ["d", "e", "f"], "ask": 2, "epsilon": 2}],
}
TRUTH: dict[str, Any] = {
    "a": [1.0, 0.0],
    "b": [1 / 300] * 300,
    "c": [1 / 11] * 11,
    "d": [0.6, 0.4],
    "e": [0.5, 0.3, 0.2],
    "f": [0.2] * 5,
    "g": {"sets": [[], ["p"], ["q", "r"]], "shares": [0.5, 0.25, 0.25]},
    "h": [0.2, 0.3, 0.5],
}


def send(client: FlaskClient, survey: Survey, n: int, seed: int = 1) -> None:
    """Send simulated reports, every third to the last group."""
    truth = {question.id: TRUTH[question.id] for question in survey.questions}
    columns = [codes.tolist() for _, codes in simulate_survey(survey, n, truth, seed)]
    lines = []
    for index, row in enumerate(zip(*columns, strict=True)):
        group = {"group": index % 3} if survey.groups else {}
        lines.append(json.dumps({"id": secrets.token_hex(16), "reports": list(row), **group}))
    for start in range(0, len(lines), 5000):
        answer = post_batch(client, survey, "\n".join(lines[start : start + 5000]).encode())
        assert answer.status_code == 201, answer.text
