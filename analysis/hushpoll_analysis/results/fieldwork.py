"""Who asked, when, and of whom: what a reader of a picture or a PDF needs to know besides the numbers."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

from babel.dates import format_date

if TYPE_CHECKING:
    from .survey import SurveyResults
    from .texts import Texts


@dataclass(frozen=True)
class Fieldwork:
    """When a survey was open, and how many people it is about; None where that is not known."""

    opened: datetime.date | None = None
    closed: datetime.date | None = None
    population: int | None = None


def facts(results: SurveyResults, texts: Texts) -> tuple[str, ...]:
    """Return who asked, when, how many reports came, and of how many people."""
    say, fieldwork = texts.say, results.fieldwork
    lines = []
    if "asked_by" in results.survey.presentation:
        lines.append(results.survey.presentation["asked_by"]["name"])
    if fieldwork.opened is not None:
        opened = format_date(fieldwork.opened, "long", locale=say.language)
        if fieldwork.closed is None:
            lines.append(say("period_open", opened=opened))
        elif fieldwork.closed == fieldwork.opened:
            lines.append(opened)
        else:
            closed = format_date(fieldwork.closed, "long", locale=say.language)
            lines.append(say("period", opened=opened, closed=closed))
    lines.append(say("reports", number=results.n))
    population = fieldwork.population or results.sample.get("population")
    if isinstance(population, int):
        lines.append(say("population", number=population))
    return tuple(lines)
