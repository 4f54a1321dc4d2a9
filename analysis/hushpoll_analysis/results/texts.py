"""The survey's own texts as a reader of results reads them: in their language where the survey has it.

The words that are the same in every survey (Yes, No, Prefer not to say) are said in the reader's language always.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hushpoll_client.messages import Message, msg
from hushpoll_client.survey.group import OTHER
from hushpoll_client.survey.question import NOT_APPLICABLE
from hushpoll_client.survey.texts import Texts as OwnTexts
from hushpoll_client.survey.texts import direction_of, read_in
from markupsafe import Markup

from hushpoll_analysis.errors import AnalysisError

from .wording import Wording, wording

if TYPE_CHECKING:
    from hushpoll_client import Question, Survey

    from hushpoll_analysis.results.group_table import GroupTable

PREFER_NOT = msg("Prefer not to say")
_TICKED = {"Yes": "yes", "No": "no"}
_WORDS = {**_TICKED, PREFER_NOT: "prefer_not", NOT_APPLICABLE: "does_not_apply"}
"""The phrases of the words that are ours."""


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
        """Return what was asked."""
        return self.own.question(question)

    def unit(self, question: Question, unit: str) -> str:
        """Return the unit of a number; nothing where there is none."""
        return self.own.unit(question, unit)

    def options(self, question: Question) -> list[str]:
        """Return every option."""
        return [self.option(question, option) for option in question.options]

    def option(self, question: Question, option: str) -> str:
        """Return one option, named as the survey names it."""
        name = self._name(question, option)
        if name in _WORDS and isinstance(name, Message):
            return self.say(_WORDS[name])
        if isinstance(name, Message):
            return self.say.label(name)
        return name

    def quoted(self, question: Question, option: str) -> str:
        """Return one option inside a sentence: in quotes, unless it is a word of the page's own such as Yes."""
        name = self.option(question, option)
        if self._is_ours(question, option):
            return name
        return self.say("quoted", option=name)

    def or_more(self, question: Question, option: str) -> str:
        """Return an option of a scale with those above it, as in "4 or more"; the last one alone."""
        if option == question.options[-1]:
            return self.quoted(question, option)
        name = self.option(question, option)
        if name[:1].isdigit():
            # In quotation marks as a whole: a sentence must not begin with a number after one that ends with a number.
            return self.say("quoted", option=self.say("or_more", option=name))
        return self.say("or_more", option=self.quoted(question, option))

    def option_attributes(self, question: Question, option: str) -> Markup:
        """Return the language and direction of an option; none for words that are the page's own."""
        if self._is_ours(question, option):
            return Markup("")
        if self.own.tag is not None and isinstance(self._name(question, option), Message):
            return Markup('lang="{}" dir="{}"').format(self.say.language, self.say.direction)
        return self.attributes

    def by(self, table: GroupTable) -> str:
        """Return what made the groups of a table."""
        if table.by_link:
            return self.say("by_link")
        grouping = self._asked(table.by)
        if grouping is None:
            return table.by_text
        return self.question(grouping)

    def group(self, table: GroupTable, name: str) -> str:
        """Return the name of a group, which is an option where a question made the groups."""
        if table.by_link:
            if name == OTHER:
                return self.say("other_groups")
            return name
        grouping = self._asked(table.by)
        if grouping is not None:
            return self.option(grouping, name)
        # Those who ticked an option of a list, and those who did not.
        if name in _TICKED:
            return self.say(_TICKED[name])
        return name

    def revealing(self, ids: Any) -> str:
        """Return the texts of some questions, by id."""
        return " · ".join(self.question(question) for question in self.survey.questions if question.id in ids)

    def _asked(self, name: str) -> Question | None:
        return self.survey.questions_by_id.get(name)

    def _name(self, question: Question, option: str) -> str:
        """Return an option in the survey's words, or as a sentence where the words are ours."""
        if option == NOT_APPLICABLE and option not in question.options:
            return NOT_APPLICABLE
        name = self.own.option(question, option)
        if name == PREFER_NOT:
            return PREFER_NOT
        return name

    def _is_ours(self, question: Question, option: str) -> bool:
        """Return whether an option is the same in every survey."""
        return question.kind.fixed_words or self._name(question, option) in (NOT_APPLICABLE, PREFER_NOT)


def texts_of(survey: Survey, language: str) -> Texts:
    """Return a survey's texts for readers of a language."""
    if not isinstance(language, str):
        raise AnalysisError(f"language is {language!r}", "give its tag, such as en or de")
    return Texts(survey, wording(language))
