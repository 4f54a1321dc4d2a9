"""The question that shows careless answers, in a draft: which answers can be named, and how they follow changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hushpoll_client.kind import KINDS

from hushpoll_server.fields import option

Document = dict[str, Any]
MOST = 20
"""Answers of one question that can be told apart in a list to choose from."""


def offered(questions: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """List what can be named: a yes/no question by itself, and every answer of another one, as "question:place"."""
    for question in questions:
        kind = KINDS[question["kind"]]
        if not kind.in_blocks or "after" in question or "mechanism" not in question:
            continue
        if kind.yes_or_no:
            yield question["id"], question["text"]
            continue
        labels = _labels(question)
        if len(labels) <= MOST:
            for index, label in enumerate(labels):
                yield f"{question['id']}:{index}", f"{question['text']} – {option(label)}"


def written(document: Mapping[str, Any], chosen: str, share: str) -> Document:
    """Return the document's key for what was chosen in the list."""
    name, _, index = chosen.partition(":")
    question = next((question for question in document["questions"] if question["id"] == name), None)
    labels = () if question is None or not index else _labels(question)
    answer = {"answer": labels[int(index)]} if index.isdecimal() and int(index) < len(labels) else {}
    return {"question": name, "share": share, **answer}


def named(document: Mapping[str, Any]) -> str:
    """Return what is chosen in the list."""
    anchor = document.get("anchor", {})
    name = str(anchor.get("question", ""))
    question = next((question for question in document["questions"] if question["id"] == name), None)
    if question is None or "answer" not in anchor:
        return name
    labels = _labels(question)
    return f"{name}:{labels.index(anchor['answer'])}" if anchor["answer"] in labels else name


def follow(document: Document, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Let the anchor follow its question's new name, and the new words of the answer, in place."""
    anchor = document.get("anchor", {})
    if anchor.get("question") != before["id"]:
        return
    anchor["question"] = now["id"]
    old, new = _labels(before), _labels(now)
    if anchor.get("answer") in old and len(old) == len(new):
        anchor["answer"] = new[old.index(anchor["answer"])]


def _labels(question: Mapping[str, Any]) -> tuple[str, ...]:
    return KINDS[question["kind"]].read(question, (), False).labels
