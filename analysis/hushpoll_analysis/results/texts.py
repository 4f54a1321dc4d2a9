"""The survey's own texts as a reader of results reads them: in their language where the survey has it.

The words that are the same in every survey (Yes, No, Prefer not to say) are said in the reader's language always.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hushpoll_client.question import NOT_APPLICABLE
from hushpoll_client.texts import Texts as OwnTexts
from hushpoll_client.texts import direction_of, read_in
from markupsafe import Markup

from .wording import Wording, wording

if TYPE_CHECKING:
    from hushpoll_client import Question, Survey

    from .groups import GroupTable

__all__ = ["Texts", "texts_of"]

PREFER_NOT = "Prefer not to say"


@dataclass(frozen=True)
class Texts:
    """A survey's texts in one language, its own where it has no other; `say` speaks the reader's."""

    survey: Survey
    say: Wording

    @cached_property
    def own(self) -> OwnTexts:
        """The designer's words."""
        return read_in(self.survey, [self.say.language])

    @property
    def attributes(self) -> Markup:
        """The language and direction of the survey's own texts, as HTML names them."""
        if self.own.tag is None:
            return Markup('dir="auto"')
        return Markup('lang="{}" dir="{}"').format(self.own.tag, direction_of(self.own.tag))

    @property
    def title(self) -> str:
        """The survey's title."""
        return self.own.title

    def question(self, question: Question) -> str:
        """Give what was asked."""
        return self.own.question(question)

    def unit(self, question: Question, unit: str) -> str:
        """Give the unit of a number; nothing where there is none."""
        return self.own.unit(question, unit)

    def options(self, question: Question) -> list[str]:
        """Give every option."""
        return [self.option(question, one) for one in question.options]

    def option(self, question: Question, option: str) -> str:
        """Give one option, named as the survey names it."""
        ours = self._ours(question, option)
        return self.own.option(question, option) if ours is None else self.say(ours)

    def option_attributes(self, question: Question, option: str) -> Markup:
        """Give the language and direction of an option; none for words that are the page's own."""
        return Markup("") if self._ours(question, option) else self.attributes

    def by(self, table: GroupTable) -> str:
        """Give what made the groups of a table."""
        asked = self._asked(table.by)
        return table.by_text if asked is None else self.question(asked)

    def group(self, table: GroupTable, name: str) -> str:
        """Give the name of a group, which is an option where a question made the groups."""
        asked = self._asked(table.by)
        return name if asked is None else self.option(asked, name)

    def revealing(self, ids: Any) -> str:
        """Give the texts of some questions, by id."""
        return " · ".join(self.question(one) for one in self.survey.questions if one.id in ids)

    def _asked(self, name: str) -> Question | None:
        return next((one for one in self.survey.questions if one.id == name), None)

    def _ours(self, question: Question, option: str) -> str | None:
        """Name the phrase for an option whose words are the same in every survey."""
        if question.kind.fixed_words and option in question.options:
            return ("no", "yes")[question.options.index(option)]
        if option == NOT_APPLICABLE and option not in question.options:
            return "does_not_apply"
        return "prefer_not" if self.own.option(question, option) == PREFER_NOT else None


def texts_of(survey: Survey, language: str) -> Texts:
    """Give a survey's texts for readers of a language."""
    return Texts(survey, wording(language))
