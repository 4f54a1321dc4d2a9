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
    own = survey.about.get("language")
    return [] if own is None else [own, *survey.about.get("translations", {})]


def direction_of(tag: str) -> str:
    """Give the direction of a language's writing, as HTML names it."""
    return "rtl" if _RIGHT_TO_LEFT.match(tag) else "ltr"


def read_in(survey: Survey, asked: Sequence[str]) -> Texts:
    """Give the texts in the first language that was asked for and the survey has, else in its own."""
    tags = languages_of(survey)
    for wanted in asked:
        near = (one for one in tags if one.split("-")[0] == wanted.split("-")[0])
        found = wanted if wanted in tags else next(near, None)
        if found is not None:
            return Texts(survey, found)
    return Texts(survey, tags[0] if tags else None)


class Texts:
    """The texts of a survey; `tag` is their language, None where the survey does not say."""

    def __init__(self, survey: Survey, tag: str | None) -> None:
        self.survey, self.tag = survey, tag
        self._translated: dict[str, Any] = survey.about.get("translations", {}).get(tag, {})

    def _text(self, key: str) -> Any:
        return self._translated.get(key, self.survey.about.get(key))

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
        """What is said after answering."""
        return self._text("thanks")  # type: ignore[no-any-return]

    @property
    def help(self) -> list[dict[str, str]]:
        """Where to find somebody to talk to: labels and addresses."""
        return self._text("help") or []

    @property
    def sections(self) -> dict[str, dict[str, str]]:
        """Titles and texts of the sections, by the question that each stands before."""
        own = self.survey.about.get("sections", [])
        shown = self._text("sections") or []
        return {one["before"]: text for one, text in zip(own, shown, strict=True)}

    def question(self, question: Question) -> str:
        """Give what is asked."""
        return str(self._of(question).get("text", question.text))

    def decoy(self, question: Question) -> str | None:
        """Give the second question, where there is one."""
        return self._of(question).get("decoy", question.decoy)

    def unit(self, question: Question, unit: str) -> str:
        """Give the unit of a number; nothing where there is none."""
        return str(self._of(question).get("unit", unit)) if unit else ""

    def option(self, question: Question, option: str) -> str:
        """Give one option; as it is where it has no translation of its own."""
        given = self._of(question)
        listed = given.get("options") or given.get("labels") or ()
        if option not in question.options:
            return option
        place = question.options.index(option)
        return str(listed[place]) if len(listed) == len(question.options) else question.options[place]

    def _of(self, question: Question) -> dict[str, Any]:
        found: dict[str, Any] = self._translated.get("questions", {}).get(question.id, {})
        return found
