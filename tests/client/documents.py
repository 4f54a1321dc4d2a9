"""Survey documents that several tests start from."""

from __future__ import annotations

import copy
from typing import Any

EXAM: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Exam honesty",
    "intro": "Two questions.",
    "questions": [
        {
            "id": "cheated",
            "kind": "yes_no",
            "text": "Did you cheat at this exam?",
            "mechanism": {"name": "warner", "epsilon": 1.0},
        },
        {
            "id": "reason",
            "kind": "choice",
            "text": "Main reason?",
            "options": ["Time", "Fear", "Habit", "None"],
            "mechanism": {"name": "krr", "epsilon": 1.0},
        },
        {
            "id": "tax",
            "kind": "yes_no",
            "text": "Did you fraud tax?",
            "mechanism": {
                "name": "or_poll",
                "decoy": "Have you ever visited Brittany?",
                "decoy_counts": [412, 1000],
            },
        },
    ],
}


def exam(**changes: Any) -> dict[str, Any]:
    """A fresh copy of the example of the contract, with top-level fields replaced."""
    return copy.deepcopy(EXAM) | changes


def question(name: str, **fields: Any) -> dict[str, Any]:
    """A fresh copy of one of its questions, with fields replaced."""
    question = next(candidate for candidate in EXAM["questions"] if candidate["id"] == name)
    return copy.deepcopy(question) | fields


def one_question(**fields: Any) -> dict[str, Any]:
    """A survey of one yes/no question, with that question's fields replaced (None removes a field)."""
    entry = {key: value for key, value in question("cheated", **fields).items() if value is not None}
    return {"hushpoll": 1, "title": "One question", "questions": [entry]}
