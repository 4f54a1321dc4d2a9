"""When a survey was open and of how many people, from what the store knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushpoll_analysis.results.fieldwork import Fieldwork
    from hushpoll_client import Survey

    from hushpoll_server.store.surveys import SurveyState


def fieldwork_of(state: SurveyState, survey: Survey) -> Fieldwork:
    """Return the days from publishing to closing, and the people in all groups if their numbers are stated."""
    from hushpoll_analysis.results.fieldwork import Fieldwork

    sizes = state.group_sizes(survey) or {}
    population = sum(sizes.values()) or None
    return Fieldwork(state.published_on, state.closed_on or state.closes_on, population)
