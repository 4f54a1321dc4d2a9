"""The texts of posters and slips in one language."""

from __future__ import annotations

from dataclasses import dataclass

from flask import request
from flask_babel import force_locale
from hushpoll_client import Survey
from hushpoll_client.survey.assurance import assurance
from hushpoll_client.survey.texts import Texts, direction_of, languages_of, read_in

from hushpoll_server.respond.languages import LANGUAGES, poster_lead, printed_words


@dataclass(frozen=True)
class PrintTexts:
    """One language of a poster or of slips."""

    texts: Texts
    language: str
    words: dict[str, str]
    lead: str
    offered: dict[str, str]
    """The languages to choose from, each in its own words."""

    @property
    def direction(self) -> str:
        """The direction of writing."""
        return direction_of(self.language)


def print_texts(survey: Survey) -> PrintTexts:
    """Return the texts to print in the chosen language, by default the survey's own."""
    spoken = [tag.split("-")[0] for tag in languages_of(survey)]
    offered = {tag: name for tag, name in LANGUAGES.items() if tag in spoken} or LANGUAGES
    if spoken and spoken[0] in offered:
        own_language = spoken[0]
    else:
        own_language = next(iter(offered))
    code = request.values.get("lang", "")
    chosen = code if code in offered else own_language
    with force_locale(chosen):
        return PrintTexts(
            read_in(survey, [chosen]), chosen, printed_words(), poster_lead(assurance(survey)), offered
        )
