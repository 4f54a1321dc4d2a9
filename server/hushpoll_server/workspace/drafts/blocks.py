"""Blocks in a draft: which questions share an epsilon, kept sound while questions change, move, come and go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hushpoll_client import SurveyError
from hushpoll_client.kind import KINDS

Document = dict[str, Any]


def block_at(document: Document, question_id: str) -> int | None:
    """Return the number of the block that a question stands in; None where it stands alone."""
    blocks = document.get("blocks", [])
    return next((number for number, block in enumerate(blocks) if question_id in block["questions"]), None)


def can_be_member(question: Document) -> bool:
    """Return whether a question may be asked in a block: its kind fits, and it has no skip rule."""
    return KINDS[question["kind"]].in_blocks and "after" not in question


def with_block(
    document: Document, chosen: Sequence[str], ask: Any, epsilon: str, instead_of: int | None, slider: str
) -> Document:
    """Make a block of questions, or replace another block; its members lose their own mechanisms."""
    changed = document if instead_of is None else dissolved(document, instead_of, slider)
    changed = {**changed, "questions": [dict(question) for question in changed["questions"]]}
    order = [question["id"] for question in changed["questions"]]
    for question in changed["questions"]:
        if question["id"] in chosen and not _decoy(question):
            question.pop("mechanism", None)
            question.pop("channel", None)
    new_block = {"questions": [name for name in order if name in chosen], "ask": ask, "epsilon": epsilon}
    blocks = [*changed.get("blocks", []), new_block]
    blocks.sort(key=lambda block: [order.index(name) for name in block["questions"][:1]])
    return {**changed, "blocks": blocks}


def dissolved(document: Document, number: int, slider: str) -> Document:
    """Take a block apart: its questions follow the slider again."""
    blocks = list(document["blocks"])
    gone = blocks.pop(number)
    questions = [
        {**question, "mechanism": {"epsilon": slider}} if question["id"] in gone["questions"] else question
        for question in document["questions"]
    ]
    rest = {key: value for key, value in document.items() if key != "blocks"}
    return {**rest, "questions": questions, **({"blocks": blocks} if blocks else {})}


def follow(document: Document, before: str, now: str) -> None:
    """Let a block follow the new name of one of its questions, in place."""
    for block in document.get("blocks", []):
        block["questions"] = [now if name == before else name for name in block["questions"]]


def grown(document: Document, question_id: str, twin: str) -> None:
    """Put a copy of a question into its block, in place."""
    number = block_at(document, question_id)
    if number is not None:
        names = document["blocks"][number]["questions"]
        names.insert(names.index(question_id) + 1, twin)


def shrunk(document: Document, question_id: str, slider: str) -> Document:
    """Take a question out of its block; a block of one question is none."""
    number = block_at(document, question_id)
    if number is None:
        return document
    block = document["blocks"][number]
    names = [name for name in block["questions"] if name != question_id]
    if len(names) < 2:
        return dissolved(document, number, slider)
    smaller = {**block, "questions": names, "ask": min(block["ask"], len(names))}
    blocks = [smaller if candidate is block else candidate for candidate in document["blocks"]]
    return {**document, "blocks": blocks}


def epsilons(document: Document) -> dict[str, str]:
    """Return the epsilon of its block for every question that stands in one."""
    return {
        name: str(block["epsilon"]) for block in document.get("blocks", []) for name in block["questions"]
    }


def spend(document: Document, epsilons: Mapping[str, str]) -> None:
    """Set the epsilons of blocks that are named for their questions, the smallest where several are, in place."""
    for block in document.get("blocks", []):
        member_epsilons = [epsilons[name] for name in block["questions"] if name in epsilons]
        if member_epsilons:
            block["epsilon"] = min(member_epsilons, key=float)


def place_of(document: Document, question_id: str, by: int) -> int:
    """Return where a question goes that moves up or down: a block stays together, and others jump over it."""
    order = [question["id"] for question in document["questions"]]
    index = order.index(question_id)
    target = min(max(index + by, 0), len(order) - 1)
    block, target_block = block_at(document, question_id), block_at(document, order[target])
    if block == target_block:
        return target
    if block is not None:
        raise SurveyError(
            ("blocks", block, "questions"), "stay together", "change or dissolve the block first"
        )
    names = document["blocks"][target_block]["questions"]
    return order.index(names[0] if by < 0 else names[-1])


def reordered(document: Document) -> None:
    """Write the questions of every block in the survey's order, in place."""
    order = [question["id"] for question in document["questions"]]
    for block in document.get("blocks", []):
        block["questions"].sort(key=order.index)
    if "blocks" in document:
        document["blocks"].sort(key=lambda entry: order.index(entry["questions"][0]))


def _decoy(question: Document) -> bool:
    return "decoy" in question.get("mechanism", {})
