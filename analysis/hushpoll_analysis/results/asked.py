"""What a question asked, for codebooks: its kind with the kind's own keys, what is reported, and when it was shown."""

from __future__ import annotations

from typing import Any

from hushpoll_client import Block
from hushpoll_client.survey import Question

__all__ = ["are_numbers", "asked_facts", "asked_words"]


def asked_facts(question: Question | Block) -> dict[str, Any]:
    """Give the keys of the document that say what was asked; a block's questions stand in survey.json."""
    if isinstance(question, Block):
        return {}
    facts = {"kind": question.kind.name, **question.answers.document(), **question.answers.in_mechanism()}
    if question.after is not None:
        facts["after"] = question.after.document()
    return facts


def asked_words(question: Question) -> str:
    """Write the same for people, without the options, which are listed by themselves."""
    facts = asked_facts(question)
    after = facts.pop("after", None)
    facts.pop("options", None)
    parts = [f"{key} {_written(value)}" for key, value in facts.items()]
    if after is not None:
        parts.append(f"shown only after {after['question']} = {' or '.join(map(str, after['answers']))}")
    return "; ".join(parts)


def are_numbers(names: tuple[str, ...]) -> bool:
    """Tell whether reports have no words, only their own numbers, so that a list of them says nothing."""
    return bool(names) and names == tuple(str(code) for code in range(len(names)))


def _written(value: object) -> str:
    return " … ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
