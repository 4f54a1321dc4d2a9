"""What to look at before publishing."""

from __future__ import annotations

import math
from typing import Any

from hushpoll_client import Survey, SurveyError
from hushpoll_client.report import FEWEST_REPORTS

from . import drafts, planner
from .drafts import Draft
from .kinds import margin_text
from .mechanisms import what_it_reveals
from .privacy import cap


def checklist(draft: Draft) -> list[tuple[str, str]]:
    """Say what to look at before publishing: ("ok" | "look" | "stop", a sentence)."""
    items = [
        ("ok", f"The title is “{draft.title}”.")
        if draft.title != drafts.UNTITLED
        else ("look", "The survey still has no title of its own.")
    ]
    if not draft.document["intro"]:
        items.append(("look", "There is no introduction: respondents will not read who asks and why."))
    if not draft.questions:
        return [*items, ("stop", "There is no question yet.")]
    try:
        survey = draft.survey(cap())
    except SurveyError as error:
        return [*items, ("stop", f"{error}.")]
    items.append(
        ("ok", f"{len(survey.questions)} question{'s' if len(survey.questions) > 1 else ''}, all complete.")
    )
    items += _rule_items(survey)
    return items + _privacy_items(survey) + _accuracy_items(draft, survey) + _access_items(survey)


def _rule_items(survey: Survey) -> list[tuple[str, str]]:
    """Say what questions that are not asked of everybody cost: one answer more, and fewer people who can answer."""
    numbers = {one.id: number for number, one in enumerate(survey.questions, 1)}
    items = []
    for one in survey.questions:
        if one.after is not None:
            said = (
                f"Question {numbers[one.id]} is asked only after {_or(one.after.answers)} to question"
                f" {numbers[one.after.question]}. “Does not apply” is one answer more for everybody, which costs some"
                " precision; shares among those who are asked have a wider margin than shares of everybody."
            )
            items.append(("look", said))
    return items


def _or(answers: tuple[str, ...]) -> str:
    shown = [f"“{one}”" for one in answers[:3]]
    return " or ".join(shown) + (f" or {len(answers) - 3} more answers" if len(answers) > 3 else "")


def _privacy_items(survey: Survey) -> list[tuple[str, str]]:
    total, warning = planner.total_text(survey)
    if warning:
        return [("look", warning)]
    return [("ok", f"The total epsilon of one person is {total}, within this server's cap of {cap()}.")]


def _accuracy_items(draft: Draft, survey: Survey) -> list[tuple[str, str]]:
    worst = max(planner.question_plans(draft, survey, draft.expected_n), key=lambda one: one.plan.margin)
    n, margin = planner.whole(draft.expected_n), margin_text(worst.question, worst.plan.margin)
    said = f"With {n} answers, question {worst.number} will have a margin of {margin}"
    items = [
        ("ok", f"{said}, as precise as you need.")
        if worst.plan.margin <= draft.margin * 1.0005
        else ("look", f"{said}; you said you need {margin_text(worst.question, draft.margin)}.")
    ]
    if draft.expected_n < FEWEST_REPORTS:
        items.append(("look", f"Below {FEWEST_REPORTS} reports the report shows no estimate."))
    return items


def _access_items(survey: Survey) -> list[tuple[str, str]]:
    if survey.settings.invitation:
        return [("ok", "Only people with an invitation code can answer, once each.")]
    return [("look", "Anybody with the link can answer, also more than once. Invitation codes prevent that.")]


def one_sided(draft: Draft) -> list[dict[str, Any]]:
    """Give the questions without a finite epsilon, with what one of their reports reveals."""
    survey = draft.survey(cap())
    return [
        {"number": number, "text": one.text, "note": what_it_reveals(one)}
        for number, one in enumerate(survey.questions, 1)
        if not math.isfinite(one.epsilon)
    ]
