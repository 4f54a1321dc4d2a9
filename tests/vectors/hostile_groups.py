"""Hostile documents with groups, each with one fault, and controls that are accepted."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hushpoll_client import Survey
from hushpoll_client.strict_json import dumps
from hushpoll_client.survey.group import MAX_GROUPS
from surveys import groups_draft

BASE = Survey.from_draft(groups_draft()).document
MANY = [f"Group {number}" for number in range(MAX_GROUPS + 1)]


def of(groups: Any, question: str = "cheated") -> list[Any]:
    """The base document with other groups, perhaps with another id of its first question."""
    document = copy.deepcopy(BASE)
    document["groups"] = groups
    document["questions"][0]["id"] = question
    return [dumps(document).decode()]


def documents() -> Iterator[tuple[str, list[Any]]]:
    """Return fault and parts."""
    for name, groups in {
        "empty": [],
        "null": None,
        "false": False,
        "zero": 0,
        "true": True,
        "text": "Science",
        "object": {"Science": 1},
        "number": 2,
        "of_one": ["Science"],
        "too_many": MANY,
        "with_null": ["Science", None],
        "with_a_number": ["Science", 3],
        "with_a_list": ["Science", ["Arts"]],
        "with_an_empty_name": ["Science", ""],
        "with_a_blank_name": ["Science", "  "],
        "with_a_name_too_long": ["Science", "a" * 201],
        "with_a_newline": ["Science", "Arts\n"],
        "twice": ["Science", "Arts", "Science"],
        "twice_but_for_case": ["Science", "SCIENCE"],
        "twice_but_for_spaces": ["Fine arts", "Fine  arts "],
        "twice_but_for_a_hidden_mark": ["Arts", "Arts\ufeff"],
        "twice_but_for_composition": ["Caf\u00e9", "Cafe\u0301"],
        "with_the_name_of_the_rest": ["Science", "Other"],
    }.items():
        yield f"groups_{name}", of(groups)
    yield "groups_and_a_question_of_that_name", of(["Science", "Arts"], "group")


def controls() -> Iterator[tuple[str, list[Any]]]:
    """Return name and parts of documents that are right."""
    yield "groups", of(["Science", "Arts"])
    yield "as_many_groups_as_may_be", of(MANY[:-1])
    yield "groups_in_other_scripts", of(["科学", "الآداب", "Ελληνικά", "Fine arts", "a" * 200, "others"])
    document = copy.deepcopy(BASE)
    del document["groups"]
    document["questions"][0]["id"] = "group"
    yield "a_question_called_group_without_groups", [dumps(document).decode()]
