"""What a question asked, for codebooks: its kind with the kind's own keys, what is reported, and when it was shown."""

from __future__ import annotations

from typing import Any

from hushpoll_client import Block, Survey
from hushpoll_client.survey import Question


def asked_facts(survey: Survey, entry: Question | Block) -> dict[str, Any]:
    """Return the keys of the document that say what was asked.

    Of a block how to read it, and those of its questions.
    """
    if isinstance(entry, Block):
        return {
            "read": block_reading(entry),
            "questions": [_member(question) for question in block_questions(survey, entry)],
        }
    return _own(entry) | ({"decoy": entry.decoy} if entry.decoy else {})


def channel_facts(survey: Survey, question: Question | Block) -> dict[str, Any]:
    """Return what randomized a column, as data."""
    return {
        "asked": asked_facts(survey, question),
        "mechanism": question.mechanism.name,
        "parameters": question.mechanism.parameters,
        "channel": question.channel.to_json(),
        "epsilon": None if question.epsilon == float("inf") else question.epsilon,
        "epsilon_note": question.mechanism.epsilon_note,
    }


def asked_words(question: Question) -> str:
    """Write the same for people, without the options and the decoy, which are listed by themselves."""
    facts = _own(question)
    after = facts.pop("after", None)
    facts.pop("options", None)
    parts = [f"{key} {_written(value)}" for key, value in facts.items()]
    if after is not None:
        parts.append(f"shown only after {after['question']} = {' or '.join(map(str, after['answers']))}")
    return "; ".join(parts)


def block_questions(survey: Survey, block: Block) -> list[Question]:
    """Return the questions of a block, in the order in which its reports count them."""
    return [question for question in survey.questions if question.block == block.id]


def block_reading(block: Block) -> str:
    """Return which questions a report of a block speaks of, and what it says of them."""
    channel: Any = block.channel
    return (
        f"A report r: r div {channel.largest} is the rank of the questions asked, the sum of C(c_i, i) over their "
        f"numbers c_1 < c_2 < ...; r mod {channel.largest} is their joint answer in mixed radix, c_1 most significant."
    )


def _own(question: Question) -> dict[str, Any]:
    facts = {"kind": question.kind.name, **question.answers.document(), **question.answers.in_mechanism()}
    return facts | ({} if question.after is None else {"after": question.after.document()})


def _member(question: Question) -> dict[str, Any]:
    return {"id": question.id, "text": question.text, **_own(question), "options": list(question.options)}


def are_numbers(names: tuple[str, ...]) -> bool:
    """Return whether reports have no words, only their own numbers, so that a list of them says nothing."""
    return bool(names) and names == tuple(str(code) for code in range(len(names)))


def _written(value: object) -> str:
    if isinstance(value, list | tuple):
        return " … ".join(map(str, value))
    return str(value)
