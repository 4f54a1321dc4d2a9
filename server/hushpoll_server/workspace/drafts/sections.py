"""Sections of a draft, which follow its questions when they are changed, moved, copied or deleted."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from hushpoll_client import SurveyError
from hushpoll_client.fields import HIDDEN
from hushpoll_client.messages import msg

from hushpoll_server.workspace.drafts.translations import Document


def _members(document: Document) -> dict[str, int]:
    """Return the section that every question stands in; -1 before the first."""
    starts = {
        section_entry["before"]: number for number, section_entry in enumerate(document.get("sections", []))
    }
    section_of, section = {}, -1
    for question in document["questions"]:
        section = starts.get(question["id"], section)
        section_of[question["id"]] = section
    return section_of


def reordered(document: Document, before: Document, question_id: str, down: bool) -> None:
    """Let every section begin at the first of its questions again after one of them was moved, in place.

    All other questions stay in their section; the one that was moved belongs where it is put now.
    """
    order = [question["id"] for question in document["questions"]]
    if "sections" not in document or order == [question["id"] for question in before["questions"]]:
        return
    section_of = _members(before)
    section_of[question_id] = section_of[order[order.index(question_id) + (-1 if down else 1)]]
    for number, section in enumerate(document["sections"]):
        first = next((name for name in order if section_of[name] == number), None)
        if first is None:
            raise SurveyError(
                ("sections", number),
                msg("“{section}” would have no question left", section=section["title"]),
                "put another question into this section, or remove it under “Around the questions”",
            )
        section["before"] = first


def shrunk(document: Document, question_id: str) -> None:
    """Prepare for a question to go, in place: its section begins at the next question, or goes with its last one."""
    sections = document.get("sections", [])
    number = next((index for index, entry in enumerate(sections) if entry["before"] == question_id), None)
    if number is not None:
        section_of = _members(document)
        rest = [name for name, index in section_of.items() if index == number and name != question_id]
        if rest:
            sections[number]["before"] = rest[0]
        else:
            _drop_section(document, number)
    for texts in document.get("translations", {}).values():
        texts.get("questions", {}).pop(question_id, None)


def goes_with(document: Document, question_id: str) -> str:
    """Name the section that would go with a question, its only one; nothing where none would."""
    section_of = _members(document)
    number = section_of.get(question_id, -1)
    if number < 0 or list(section_of.values()).count(number) > 1:
        return ""
    return str(document["sections"][number]["title"])


def _drop_section(document: Document, number: int) -> None:
    del document["sections"][number]
    for texts in document.get("translations", {}).values():
        del texts.get("sections", [])[number : number + 1]
    if not document["sections"]:
        del document["sections"]
        for texts in document.get("translations", {}).values():
            texts.pop("sections", None)


def grown(document: Document, question_id: str, twin: str) -> None:
    """Copy to a copied question the translated texts of the one that it was copied from, in place."""
    for texts in document.get("translations", {}).values():
        if question_id in texts.get("questions", {}):
            texts["questions"][twin] = copy.deepcopy(texts["questions"][question_id])


def mended(document: Document) -> Document:
    """Return a draft without sections that stand before no question of it, in its order, and without turned text.

    Signs that turn the direction of writing are refused where a text is written; a draft may be older than that.
    """
    document = _unturned(document)
    order = [question["id"] for question in document["questions"]]
    sections = document.get("sections", [])
    indices = [order.index(section["before"]) if section["before"] in order else -1 for section in sections]
    if all(later > earlier for earlier, later in zip([-1, *indices], indices, strict=False)):
        return document
    by_question = {section["before"]: section for section in sections}
    ordered = [by_question[name] for name in order if name in by_question]
    rest = {key: value for key, value in document.items() if key != "sections"}
    return {**rest, **({"sections": ordered} if ordered else {})}


def _unturned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unturned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_unturned(inner) for inner in value]
    if isinstance(value, str) and not HIDDEN.isdisjoint(value):
        return "".join(sign for sign in value if sign not in HIDDEN)
    return value


def follow(document: Document, before: Document, now: Document) -> None:
    """Let sections and translations follow a question's new name, and lists of translated answers their originals."""
    for section in document.get("sections", []):
        if section["before"] == before["id"]:
            section["before"] = now["id"]
    for texts in document.get("translations", {}).values():
        question_texts = texts.get("questions", {})
        if before["id"] in question_texts:
            question_texts[now["id"]] = _following(question_texts.pop(before["id"]), before, now)


def _following(texts: Mapping[str, Any], before: Document, now: Document) -> Document:
    """Return the translated texts of a question in the order of its answers now; new answers are open."""
    followed = dict(texts)
    for key in ("options", "labels"):
        translated, old, new = texts.get(key), before.get(key, []), now.get(key, [])
        if not isinstance(translated, list) or old == new:
            continue
        by_answer = dict(zip(old, translated, strict=False))
        same = len(old) == len(new)
        followed[key] = [
            by_answer.get(
                text, translated[index] if same and index < len(translated) and old[index] not in new else ""
            )
            for index, text in enumerate(new)
        ]
    return followed
