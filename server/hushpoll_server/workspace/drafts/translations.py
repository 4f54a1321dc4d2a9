"""The translations of a draft, which follow its questions and sections."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from hushpoll_server.workspace.drafts.references import QuestionDocument, QuestionReferences

if TYPE_CHECKING:
    from hushpoll_server.workspace.drafts.draft import Draft

Texts = dict[str, Any]
"""The texts of one language, in the shape of a survey document's translation."""


class Translations(Mapping[str, Texts], QuestionReferences):
    """The texts of every language but the survey's own, by language tag; texts may be missing."""

    def __init__(self, languages: Mapping[str, Texts] | None = None) -> None:
        self._languages = dict(languages or {})

    def __getitem__(self, tag: str) -> Texts:
        return self._languages[tag]

    def __iter__(self) -> Iterator[str]:
        return iter(self._languages)

    def __len__(self) -> int:
        return len(self._languages)

    def with_language(self, tag: str, texts: Texts) -> Self:
        """Return the translations with one language added or replaced."""
        return type(self)({**self._languages, tag: texts})

    def without_language(self, tag: str) -> Self:
        """Return the translations without a language."""
        return type(self)({name: texts for name, texts in self.items() if name != tag})

    def with_sections(self, rows: list[int]) -> Self:
        """Return the translations with sections in another order: `rows` are their former indices."""
        return self._changed(lambda texts: _with_sections(texts, rows))

    def rename(self, before: QuestionDocument, after: QuestionDocument) -> Self:
        """Follow the question's new id, and keep the translations of the answers that it still has."""

        def renamed(texts: Texts) -> None:
            questions = texts.get("questions", {})
            if before["id"] in questions:
                questions[after["id"]] = _following(questions.pop(before["id"]), before, after)

        return self._changed(renamed)

    def copy(self, question_id: str, copy_id: str) -> Self:
        """Add the same texts for the copy."""

        def copied(texts: Texts) -> None:
            questions = texts.get("questions", {})
            if question_id in questions:
                questions[copy_id] = copy.deepcopy(questions[question_id])

        return self._changed(copied)

    def remove(self, question_id: str, draft: Draft) -> Self:
        """Drop the texts of the question, and those of its section if that goes with it."""
        emptied = draft.sections.emptied_by_removing(question_id, draft.order)

        def removed(texts: Texts) -> None:
            texts.get("questions", {}).pop(question_id, None)
            if emptied is not None:
                _with_sections(texts, [row for row in range(len(draft.sections)) if row != emptied])

        return self._changed(removed)

    def _changed(self, change: Any) -> Self:
        languages = copy.deepcopy(self._languages)
        for texts in languages.values():
            change(texts)
        return type(self)(languages)


def _with_sections(texts: Texts, rows: list[int]) -> None:
    """Keep the translated sections of these former indices, in this order."""
    sections = texts.pop("sections", [])
    if rows and sections:
        texts["sections"] = [sections[row] if row < len(sections) else {} for row in rows]


def _following(texts: Texts, before: QuestionDocument, after: QuestionDocument) -> Texts:
    """Return the translated texts of a question in the order of its answers now; new answers have none yet."""
    followed = dict(texts)
    for key in ("options", "labels"):
        translated, old, new = texts.get(key), before.get(key, []), after.get(key, [])
        if isinstance(translated, list) and old != new:
            followed[key] = _translated_answers(translated, old, new)
    return followed


def _translated_answers(translated: list[str], old: list[str], new: list[str]) -> list[str]:
    """Return the translation of every new answer: that of the same words, else that of the reworded answer."""
    by_answer = dict(zip(old, translated, strict=False))
    if len(old) == len(new):
        for index, answer in enumerate(new):
            if old[index] not in new and index < len(translated):
                by_answer.setdefault(answer, translated[index])
    return [by_answer.get(answer, "") for answer in new]
