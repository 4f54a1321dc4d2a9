"""The checklist before publishing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hushpoll_client import Survey, SurveyError
from hushpoll_client.delivery.report import FEWEST_REPORTS

from hushpoll_server.current_store import get_store
from hushpoll_server.fields import either, option, quoted
from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import localize_number, ngettext, translate
from hushpoll_server.workspace.drafts import documents, translated_texts
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.kinds import margin_text
from hushpoll_server.workspace.mechanisms import what_it_reveals
from hushpoll_server.workspace.paper.conversion import paper_items
from hushpoll_server.workspace.privacy.epsilon_search import total_text
from hushpoll_server.workspace.privacy.number_text import count_text, epsilon_text
from hushpoll_server.workspace.privacy.question_plan import question_plans
from hushpoll_server.workspace.privacy.summaries import cap
from hushpoll_server.workspace.sharing.groups import group_items

NONE = ("none", "none of these", "none of the above")
"""How designers write the answer of those who tick nothing."""


def checklist(draft: Draft) -> list[tuple[str, str]]:
    """Return the checklist: pairs of a state ("ok", "look" or "stop") and a sentence."""
    items = [("ok", _("The title is “%(title)s”.", title=draft.title))]
    if draft.title == documents.UNTITLED:
        items = [("look", _("The survey has no title yet."))]
    if not draft.details["intro"]:
        items.append(("look", _("There is no introduction, so respondents do not learn who asks and why.")))
    if not draft.questions:
        return [*items, ("stop", _("There is no question yet."))]
    try:
        survey = draft.survey(cap())
    except SurveyError as error:
        return [*items, ("stop", f"{translate(error)}.")]
    items.append(
        (
            "ok",
            ngettext(
                "%(num)s question, all complete.", "%(num)s questions, all complete.", len(survey.questions)
            ),
        )
    )
    items += (
        _language_items(draft)
        + _repeated_question_items(draft)
        + _wave_items(survey)
        + _rule_items(survey)
        + _block_items(survey)
        + _none_items(survey)
    )
    items += group_items(survey)
    items += _privacy_items(survey) + _accuracy_items(draft, survey)
    return items + _access_items(survey) + paper_items(survey)


def _repeated_question_items(draft: Draft) -> list[tuple[str, str]]:
    """Warn of questions with the same text."""
    numbers = {question["id"]: number for number, question in enumerate(draft.questions, 1)}
    return [
        (
            "look",
            _(
                "Questions %(first)s and %(second)s have the same text. Everyone would answer"
                " twice, and both epsilons add up.",
                first=first + 1,
                second=numbers[name],
            ),
        )
        for name, first in draft.repeated_questions().items()
    ]


def _language_items(draft: Draft) -> list[tuple[str, str]]:
    """Return which languages are complete; one that is not stops publishing."""
    items, unfinished = [], translated_texts.unfinished(draft.document)
    for tag in draft.translations:
        have, of = translated_texts.completeness(draft.document, tag)
        values = {"language": tag, "have": have, "all": of}
        if tag not in unfinished:
            message = _(
                "The translation “%(language)s” has %(have)s of %(all)s texts: it is complete.", **values
            )
            items.append(("ok", message))
        elif have < of:
            message = _(
                "The translation “%(language)s” has %(have)s of %(all)s texts. Complete or remove it under"
                " “Languages”.",
                **values,
            )
            items.append(("stop", message))
        else:
            message = _(
                "The translation “%(language)s” has %(have)s of %(all)s texts, but not all of them can be used. See"
                " “Languages”.",
                **values,
            )
            items.append(("stop", message))
    return items


def _wave_items(survey: Survey) -> list[tuple[str, str]]:
    """Return which wave this is; one whose questions changed cannot be published."""
    if survey.series is None:
        return []
    try:
        get_store().check_wave(survey)
    except SurveyError as error:
        return [("stop", f"{translate(error)}.")]
    return [
        (
            "ok",
            _(
                "Wave %(n)s of “%(series)s”, with the same questions as before.",
                n=survey.series.wave,
                series=survey.series.name,
            ),
        )
    ]


def _rule_items(survey: Survey) -> list[tuple[str, str]]:
    """Return the price of skip rules: one more possible answer, and fewer people who answer."""
    numbers = {question.id: number for number, question in enumerate(survey.questions, 1)}
    items = []
    for question in survey.questions:
        if question.after is not None:
            message = _(
                "Question %(n)s is asked only after %(answers)s to question %(decider)s. This"
                " adds the answer “Does not apply” for everyone, which costs some precision;"
                " shares among those asked have a wider margin than shares of everyone.",
                n=numbers[question.id],
                answers=_or([option(answer) for answer in question.after.answers]),
                decider=numbers[question.after.question],
            )
            items.append(("look", message))
    return items


def _none_items(survey: Survey) -> list[tuple[str, str]]:
    """Warn of an option that the page adds automatically, and that would be there twice."""
    items = []
    for number, question in enumerate(survey.questions, 1):
        listed = [text for text in question.options if text.casefold().rstrip(".") in NONE]
        if question.kind.several and listed:
            message = _(
                "Question %(n)s lists “%(option)s”, which the page adds automatically. Remove this option.",
                n=number,
                option=listed[0],
            )
            items.append(("look", message))
    return items


def _block_items(survey: Survey) -> list[tuple[str, str]]:
    """Return how many questions of each block a person is asked."""
    numbers = {question.id: number for number, question in enumerate(survey.questions, 1)}
    items = []
    for block in survey.blocks:
        first, last = numbers[block.questions[0]], numbers[block.questions[-1]]
        message = _(
            "Each person is asked %(ask)s of questions %(first)s to %(last)s, drawn by chance, for an epsilon of"
            " %(epsilon)s together.",
            ask=block.ask,
            first=first,
            last=last,
            epsilon=epsilon_text(block.epsilon),
        )
        if block.ask == 1:
            message += " " + _("No one answers two of them, so there are no cross-tables inside it.")
        items.append(("ok" if block.ask > 1 else "look", message))
    return items


def _or(answers: Sequence[str]) -> str:
    if len(answers) <= 3:
        return either(answers)
    more = len(answers) - 3
    return _(
        "%(list)s or %(last)s",
        list=", ".join(quoted(answer) for answer in answers[:3]),
        last=ngettext("%(num)s more answer", "%(num)s more answers", more),
    )


def _privacy_items(survey: Survey) -> list[tuple[str, str]]:
    total, warning = total_text(survey)
    if warning:
        return [("look", warning)]
    return [
        (
            "ok",
            _(
                "The total epsilon of one person is %(total)s, within this server's cap of %(cap)s.",
                total=total,
                cap=localize_number(cap()),
            ),
        )
    ]


def _accuracy_items(draft: Draft, survey: Survey) -> list[tuple[str, str]]:
    plans = question_plans(draft, survey, draft.expected_n)
    worst = max(plans, key=lambda plan: plan.figures.margin / plan.margin_needed)
    values = {
        "n": count_text(draft.expected_n),
        "question": worst.number,
        "margin": margin_text(worst.question, worst.figures.margin),
    }
    if worst.met:
        message = _(
            "With %(n)s answers, question %(question)s will have a margin of %(margin)s, as precise as you need.",
            **values,
        )
        items = [("ok", message)]
    else:
        message = _(
            "With %(n)s answers, question %(question)s will have a margin of %(margin)s; you said you need %(wanted)s.",
            **values,
            wanted=margin_text(worst.question, worst.margin_needed),
        )
        items = [("look", message)]
    enough = "ok" if draft.expected_n >= FEWEST_REPORTS else "look"
    message = _(
        "With fewer than %(n)s reports, results and downloads give only their number.", n=FEWEST_REPORTS
    )
    items.append((enough, message))
    return items


def _access_items(survey: Survey) -> list[tuple[str, str]]:
    if survey.settings.invitation:
        return [("ok", _("Only people with an invitation code can answer, once each."))]
    message = _("Anyone with the link can answer, and more than once. Invitation codes prevent that.")
    return [("look", message)]


def one_sided(draft: Draft) -> list[dict[str, Any]]:
    """Return the questions without a finite epsilon, with what one of their reports reveals."""
    survey = draft.survey(cap())
    return [
        {"number": number, "text": question.text, "note": what_it_reveals(question)}
        for number, question in enumerate(survey.questions, 1)
        if not math.isfinite(question.epsilon)
    ]
