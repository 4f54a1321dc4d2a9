"""Pages of a survey that was asked again: the waves of a series, and the change between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from flask import (
    abort,
    current_app,
    render_template,
    request,
)
from hushpoll_client import Survey
from hushpoll_client.survey.group import FIELD
from hushpoll_client.survey.series import changed_groups

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import option
from hushpoll_server.i18n.speech import speech
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.people.access import can_read_survey, signed_in
from hushpoll_server.problems import Problem
from hushpoll_server.respond.languages import language
from hushpoll_server.store.surveys import SurveyState

from .counts_cache import CountsCache
from .shared import (
    PICTURE_NAME,
    Page,
    access_refusal,
    as_picture,
    bp,
    frame_of,
    private,
    requested_level,
    results_of,
    state_of,
    survey_of,
    words_for,
)

if TYPE_CHECKING:
    from hushpoll_analysis.results.survey import SurveyResults
    from hushpoll_analysis.results.waves import FollowedQuestion


@bp.get("/surveys/<survey_hash>/report/trend")
def trend(survey_hash: str) -> Page:
    """All waves of a series that this account may read: estimates, and changes with their intervals."""
    state = state_of(survey_hash)
    away = access_refusal(state)
    if away is not None:
        return away
    level, listed = requested_level(), get_store().waves(survey_hash)
    readable, surveys = _waves(survey_hash)
    group, names = _group_of(surveys.values())
    results = _results_of_waves(surveys, group, level)
    page = render_template(
        "results/trend.html",
        **frame_of(state, survey_of(survey_hash)),
        waves=readable,
        group=group,
        names=names,
        changed=[
            change
            for earlier, later in pairwise(surveys.values())
            if (change := changed_groups(earlier, later))
        ],
        made=results,
        enough=_enough(results),
        hidden=len(listed) - len(readable),
        followed=_followed(results),
        picture=_waves_picture,
        asked={"group": group, "level": request.args.get("level"), "lang": request.args.get("lang")},
        figure_words=_figure_words(survey_hash),
    )
    return private(page)


@bp.get(f"/surveys/<survey_hash>/report/trend/{PICTURE_NAME}")
def trend_picture(survey_hash: str, question: str, ending: str) -> Page:
    """Send the picture of one question over the waves as a file."""
    away = access_refusal(state_of(survey_hash))
    if away is not None:
        return away
    from hushpoll_analysis.results.picture import waves_as_svg

    level, (_readable, surveys) = requested_level(), _waves(survey_hash)
    group, _names = _group_of(surveys.values())
    results = _results_of_waves(surveys, group, level)
    followed = next((entry for entry in _followed(results) if entry.id == question and entry.rows), None)
    survey = survey_of(survey_hash)
    if all(entry.id != question for entry in survey.questions):
        abort(404, "the survey has no such question; see its results")
    if followed is None:
        raise Problem(422, "there is no picture of this question over the waves; see the trend")
    w = words_for(survey)["w"]
    reports = sum(wave.n for number, wave in _enough(results).items() if str(number) in followed.waves)
    name = ": ".join(filter(None, [survey.series.name if survey.series else survey.title, group]))
    caption = (
        f"{name}. {w('figure_caption', number=reports, level=f'{100 * level:g}')} hushpoll {survey_hash[:12]}"
    )
    svg = waves_as_svg(followed, _wave_names(followed), caption, option, language(), speech())
    return as_picture(svg, f"{question}-waves-{survey_hash[:12]}", ending)


def _waves(survey_hash: str) -> tuple[dict[int, SurveyState], dict[int, Survey]]:
    """Return the waves that this account may read, by their number, and their surveys."""
    listed = enumerate(get_store().waves(survey_hash), 1)
    readable = {number: state for number, state in listed if can_read_survey(signed_in(), state.hash)}
    return readable, {number: survey_of(state.hash) for number, state in readable.items()}


def _group_of(surveys: Iterable[Survey]) -> tuple[str | None, list[str]]:
    """Return the group that is asked for, and those to choose from."""
    names = list(dict.fromkeys(name for survey in surveys for name in survey.groups))
    group = request.args.get("group") or None
    if group is not None and group not in names:
        raise Problem(422, f"group: no wave has a group {group[:64]!r}; choose one of {', '.join(names)}")
    return group, names


def _results_of_waves(
    surveys: Mapping[int, Survey], group: str | None, level: float
) -> dict[int, SurveyResults]:
    waves = ((number, _wave(wave, group, level)) for number, wave in surveys.items())
    return {number: wave for number, wave in waves if wave is not None}


def _enough(results: Mapping[int, SurveyResults]) -> dict[int, SurveyResults]:
    return {number: wave for number, wave in results.items() if not wave.too_few}


def _followed(results: Mapping[int, SurveyResults]) -> list[FollowedQuestion]:
    from hushpoll_analysis.results.waves import follow

    enough = _enough(results)
    if len(enough) > 1:
        return follow(enough)
    return []


def _figure_words(survey_hash: str) -> dict[str, str]:
    """Return what the links to a picture say; PNG needs Typst."""
    from hushpoll_analysis.results.typesetting import is_available

    say = words_for(survey_of(survey_hash))["w"]
    return {"svg": say("figure"), "png": say("figure_png") if is_available() else ""}


def _wave_names(question: FollowedQuestion) -> list[str]:
    return [_("Wave %(n)s", n=wave) for wave in question.waves]


def _waves_picture(question: FollowedQuestion, number: int) -> str:
    """Draw a question over its waves; the table below it says the same to who cannot see it."""
    from hushpoll_analysis.results.rendering import as_waves

    waves = _wave_names(question)
    name = _("Picture of question %(n)s over the waves; the table below has its numbers", n=number)
    return as_waves(question, waves, name, option, language(), speech())


def _wave(survey: Survey, group: str | None, level: float) -> SurveyResults | None:
    """Return the results of a wave, or of one of its groups; None where that is not shown on its own."""
    if group is None:
        return results_of(survey, None, level)
    from hushpoll_analysis.results.survey import report
    from hushpoll_analysis.sample.link_groups import tally_of

    tallies: CountsCache = current_app.extensions["hushpoll_counts"]
    counted = None
    if group in survey.groups:
        counted = tally_of(tallies.get(get_store(), survey, FIELD), group)
    if counted is None:
        return None
    return report(survey, counted, level=level)
