"""A survey's own texts in one of its languages: what a paper form, a terminal and a page of results show alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .question import Question
    from .survey import Survey

__all__ = ["Texts", "direction_of", "languages_of", "read_in"]

_RIGHT_TO_LEFT = re.compile(r"(ar|arc|ckb|dv|fa|he|ks|ku-Arab|ps|sd|ug|ur|yi)\b")


def languages_of(survey: Survey) -> list[str]:
    """List the tags of a survey's languages, its own first; none where it does not say."""
    language = survey.presentation.get("language")
    if language is None:
        return []
    return [language, *survey.presentation.get("translations", {})]


def direction_of(tag: str) -> str:
    """Return the direction of a language's writing, as HTML names it."""
    if _RIGHT_TO_LEFT.match(tag):
        return "rtl"
    return "ltr"


def read_in(survey: Survey, preferred: Sequence[str]) -> Texts:
    """Return the texts in the first language that was asked for and the survey has, else in its own."""
    tags = languages_of(survey)
    for tag in preferred:
        candidates = (candidate for candidate in tags if candidate.split("-")[0] == tag.split("-")[0])
        match = next((candidate for candidate in (tag, *candidates) if candidate in tags), None)
        if match is not None:
            return Texts(survey, match)
    return Texts(survey, tags[0] if tags else None)


class Texts:
    """The texts of a survey; `tag` is their language, None where the survey does not say."""

    def __init__(self, survey: Survey, tag: str | None) -> None:
        self.survey, self.tag = survey, tag
        self._translated: dict[str, Any] = survey.presentation.get("translations", {}).get(tag, {})

    def _text(self, key: str) -> Any:
        return self._translated.get(key, self.survey.presentation.get(key))

    @property
    def title(self) -> str:
        """What the survey is called."""
        return str(self._translated.get("title", self.survey.title))

    @property
    def intro(self) -> str:
        """What stands before the questions."""
        return str(self._translated.get("intro", self.survey.intro))

    @property
    def consent(self) -> str | None:
        """What a respondent agrees to before answering."""
        return self._text("consent")  # type: ignore[no-any-return]

    @property
    def thanks(self) -> str | None:
        """The text after answering."""
        return self._text("thanks")  # type: ignore[no-any-return]

    @property
    def help(self) -> list[dict[str, str]]:
        """Where to find help: labels and addresses."""
        return self._text("help") or []

    @property
    def sections(self) -> dict[str, dict[str, str]]:
        """Titles and texts of the sections, by the question that each stands before."""
        sections = self.survey.presentation.get("sections", [])
        texts = self._text("sections") or []
        return {section["before"]: text for section, text in zip(sections, texts, strict=True)}

    def question(self, question: Question) -> str:
        """Return what is asked."""
        return str(self._of(question).get("text", question.text))

    def decoy(self, question: Question) -> str | None:
        """Return the second question, where there is one."""
        return self._of(question).get("decoy", question.decoy)

    def unit(self, question: Question, unit: str) -> str:
        """Return the unit of a number; nothing where there is none."""
        if unit:
            return str(self._of(question).get("unit", unit))
        return ""

    def option(self, question: Question, option: str) -> str:
        """Return one option; as it is where it has no translation."""
        texts = self._of(question)
        listed = texts.get("options") or texts.get("labels") or ()
        if option not in question.options:
            return option
        index = question.options.index(option)
        if len(listed) == len(question.options):
            return str(listed[index])
        return question.options[index]

    def _of(self, question: Question) -> dict[str, Any]:
        texts: dict[str, Any] = self._translated.get("questions", {}).get(question.id, {})
        return texts
