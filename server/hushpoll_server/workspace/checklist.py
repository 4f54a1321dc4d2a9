"""What to look at before publishing."""

from __future__ import annotations

import math
from typing import Any

from hushpoll_client import Survey, SurveyError
from hushpoll_client.report import FEWEST_REPORTS

from hushpoll_server.store.surveys import get_store

from . import about_rules, drafts, planner
from .drafts import Draft
from .groups import group_items
from .kinds import margin_text
from .mechanisms import what_it_reveals
from .on_paper import paper_items
from .privacy import cap

NONE = ("none", "none of these", "none of the above")
"""How designers write the answer of those who tick nothing."""


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
    items += (
        _language_items(draft)
        + _alike_items(draft)
        + _wave_items(survey)
        + _rule_items(survey)
        + _block_items(survey)
        + _none_items(survey)
    )
    items += group_items(survey)
    items += _privacy_items(survey) + _accuracy_items(draft, survey)
    return items + _access_items(survey) + paper_items(survey)


def _alike_items(draft: Draft) -> list[tuple[str, str]]:
    """Point at questions that are asked twice."""
    numbers = {one["id"]: number for number, one in enumerate(draft.questions, 1)}
    cost = "Everybody would answer twice, and both epsilons add up."
    return [
        ("look", f"Questions {first + 1} and {numbers[name]} ask the same in the same words. {cost}")
        for name, first in drafts.alike(draft.document).items()
    ]


def _language_items(draft: Draft) -> list[tuple[str, str]]:
    """Say which languages are complete; one that is not stops publishing."""
    items, open_ones = [], about_rules.unfinished(draft.document)
    for tag in draft.document.get("translations", {}):
        have, of = about_rules.completeness(draft.document, tag)
        said = f"The translation “{tag}” has {have} of {of} texts"
        if tag not in open_ones:
            items.append(("ok", f"{said}: it is complete."))
        elif have < of:
            items.append(("stop", f"{said}. Complete or remove it under “Languages”."))
        else:
            items.append(("stop", f"{said}, but not all of them can be used. See “Languages”."))
    return items


def _wave_items(survey: Survey) -> list[tuple[str, str]]:
    """Say which wave this is; one whose questions changed cannot be published."""
    if survey.series is None:
        return []
    try:
        get_store().check_wave(survey)
    except SurveyError as error:
        return [("stop", f"{error}.")]
    return [
        ("ok", f"Wave {survey.series.wave} of “{survey.series.name}”, with the same questions as before.")
    ]


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


def _none_items(survey: Survey) -> list[tuple[str, str]]:
    """Point at an option that the page offers by itself: it would stand there twice, and be ticked with others."""
    items = []
    for number, one in enumerate(survey.questions, 1):
        listed = [option for option in one.options if option.casefold().rstrip(".") in NONE]
        if one.kind.several and listed:
            said = (
                f"Question {number} lists “{listed[0]}”, which the page offers by itself. Remove this option."
            )
            items.append(("look", said))
    return items


def _block_items(survey: Survey) -> list[tuple[str, str]]:
    """Say what each person is asked of a block."""
    numbers = {one.id: number for number, one in enumerate(survey.questions, 1)}
    items = []
    for block in survey.blocks:
        first, last = numbers[block.questions[0]], numbers[block.questions[-1]]
        tables = (
            "" if block.ask > 1 else " Nobody answers two of them, so there are no cross-tables inside it."
        )
        said = (
            f"Each person is asked {block.ask} of questions {first} to {last}, drawn by chance, for an epsilon of"
            f" {planner.epsilon_text(block.epsilon)} together.{tables}"
        )
        items.append(("ok" if block.ask > 1 else "look", said))
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
    plans = planner.question_plans(draft, survey, draft.expected_n)
    worst = max(plans, key=lambda one: one.plan.margin / one.wanted)
    n, margin = planner.whole(draft.expected_n), margin_text(worst.question, worst.plan.margin)
    said = f"With {n} answers, question {worst.number} will have a margin of {margin}"
    # Nothing is green while one person's total is in the red.
    good = "look" if planner.total_text(survey)[1] else "ok"
    items = [
        (good, f"{said}, as precise as you need.")
        if worst.met
        else ("look", f"{said}; you said you need {margin_text(worst.question, worst.wanted)}.")
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
