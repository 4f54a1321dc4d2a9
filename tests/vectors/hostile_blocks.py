"""Hostile documents with blocks, each with one fault, and controls that are accepted."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hushpoll_client import SCALE, Survey, mechanisms
from hushpoll_client.strict_json import dumps
from surveys import blocks_draft, yes_no

BASE = Survey.from_draft(blocks_draft()).document
FIRST, A, B, C, D, E, F = range(7)
_GONE = object()


def of(*path_and_value: Any) -> list[Any]:
    """The base document with one value put at a path; without a value, with something left out."""
    *path, last, value = path_and_value
    document = copy.deepcopy(BASE)
    target: Any = document
    for key in path:
        target = target[key]
    if value is _GONE:
        del target[last]
    else:
        target[last] = value
    return [dumps(document).decode()]


def outlines_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Blocks that name no questions, the wrong ones, or too few."""
    for name, value in {"empty": [], "null": None, "object": {"a": 1}, "text": "a", "number": 3}.items():
        yield f"blocks_{name}", of("blocks", value)
    yield "block_null", of("blocks", 0, None)
    yield "block_list", of("blocks", 0, [])
    for key in ("questions", "ask", "epsilon", "channel"):
        yield f"block_{key}_missing", of("blocks", 0, key, _GONE)
    yield "block_unknown_key", of("blocks", 0, "name", "x")
    for name, questions in {
        "none": [],
        "of_one": ["a"],
        "null": None,
        "text": "ab",
        "unknown": ["a", "nobody"],
        "number": ["a", 3],
        "twice": ["a", "a"],
        "of_another_block": ["a", "b", "c", "d"],
        "out_of_order": ["b", "a", "c"],
        "not_neighbours": ["a", "c"],
    }.items():
        yield f"block_questions_{name}", of("blocks", 0, "questions", questions)
    yield "block_questions_in_two_blocks", of("blocks", 1, "questions", ["c", "d", "e"])
    yield "blocks_out_of_order", of("blocks", list(reversed(copy.deepcopy(BASE["blocks"]))))
    for ask in (0, 4, -1, "2", None, True, [2]):
        yield f"block_ask_{ask}", of("blocks", 0, "ask", ask)
    for epsilon in (1, "0", "-1", "20.1", "x", "", None, True, "2.0", "1/2", ["2"]):
        yield f"block_epsilon_{epsilon}", of("blocks", 0, "epsilon", epsilon)


def channels_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Integers that are not those of the block."""
    channel = BASE["blocks"][0]["channel"]
    weights = channel["weights"]
    near = [[size, weight - 1] for size, weight in weights]
    for name, value in {
        "null": None,
        "of_another_form": {"form": "krr", "options": 2, "weight": SCALE // 4},
        "weaker_by_one_integer": {**channel, "weights": near},
        "stronger_by_one_integer": {**channel, "weights": [[size, weight + 1] for size, weight in weights]},
        "of_another_ask": mechanisms.sampled([2, 3, 5], "2", 1).device.to_json(),
        "of_other_sizes": mechanisms.sampled([2, 3, 4], "2", 2).device.to_json(),
        "of_another_epsilon": mechanisms.sampled([2, 3, 5], "2.5", 2).device.to_json(),
        "without_a_joint_size": {**channel, "weights": weights[:-1]},
        "with_a_key_more": {**channel, "rank": 0},
    }.items():
        yield f"block_channel_{name}", of("blocks", 0, "channel", value)
    yield "block_ask_of_another_channel", of("blocks", 0, "ask", 1)
    yield "block_epsilon_of_another_channel", of("blocks", 0, "epsilon", "1")
    yield "block_total_above_the_cap", of("blocks", 0, copy.deepcopy(BASE["blocks"][0]) | _at("18.5"))
    options = [f"o{number}" for number in range(400)]
    document = copy.deepcopy(BASE)
    document["questions"][B]["options"] = options
    document["questions"][C]["kind"] = "choice"
    document["questions"][C]["options"] = options
    del document["questions"][C]["points"], document["questions"][C]["labels"]
    yield "block_with_too_many_joint_answers", [dumps(document).decode()]


def _at(epsilon: str) -> dict[str, Any]:
    return {"epsilon": epsilon, "channel": mechanisms.sampled([2, 3, 5], epsilon, 2).device.to_json()}


def members_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Questions of a block with something of their own, or of a kind that no block takes."""
    mechanism = {"name": "warner", "epsilon": "1"}
    yield "member_with_a_mechanism", of("questions", A, "mechanism", mechanism)
    decoy = {"name": "or_poll", "decoy": "Brittany?", "decoy_counts": [412, 1000]}
    yield "member_with_a_decoy", of("questions", A, "mechanism", decoy)
    yield "member_with_a_null_mechanism", of("questions", A, "mechanism", None)
    yield "member_with_a_channel", of("questions", A, "channel", BASE["questions"][FIRST]["channel"])
    yield "member_with_a_rule", of("questions", A, "after", {"question": "first", "answers": ["Yes"]})
    number = {"id": "a", "kind": "number", "text": "?", "min": "0", "max": "9", "step": "1"}
    yield "member_of_kind_number", of("questions", A, number)
    ticks = {"id": "a", "kind": "multiple", "text": "?", "options": ["x", "y"]}
    yield "member_of_kind_multiple", of("questions", A, ticks)
    yield "member_of_an_unknown_kind", of("questions", A, "kind", "dance")
    yield "member_without_text", of("questions", A, "text", _GONE)
    yield "question_outside_without_a_mechanism", of("questions", FIRST, "mechanism", _GONE)
    yield "rule_that_a_member_decides", of("questions", F, "after", {"question": "a", "answers": ["Yes"]})
    yield "anchor_in_a_block", of("anchor", {"question": "a", "share": "0"})
    document = copy.deepcopy(BASE)
    document["questions"][FIRST]["id"] = "block2"
    yield "question_with_a_block_s_name", [dumps(document).decode()]
    document = copy.deepcopy(BASE)
    document["questions"][F]["id"] = "a"
    yield "member_whose_id_is_used_twice", [dumps(document).decode()]
    document = copy.deepcopy(BASE)
    del document["blocks"][1]
    yield "members_without_their_block", [dumps(document).decode()]


def documents() -> Iterator[tuple[str, list[Any]]]:
    """Return fault and parts."""
    yield from outlines_at_fault()
    yield from channels_at_fault()
    yield from members_at_fault()


def controls() -> Iterator[tuple[str, list[Any]]]:
    """Return name and parts of documents that are right."""
    yield "blocks", [dumps(BASE).decode()]
    yield "block_of_another_epsilon", of("blocks", 0, copy.deepcopy(BASE["blocks"][0]) | _at("2.5"))
    draft = blocks_draft()
    draft["questions"][FIRST] = yes_no("block3", {"name": "warner", "epsilon": 1})
    yield "question_called_like_a_third_block", [Survey.from_draft(draft).canonical.decode()]
