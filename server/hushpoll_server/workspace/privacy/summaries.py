"""One line per question: how it is randomized and why."""

from __future__ import annotations

from typing import Any

from flask import current_app

from hushpoll_server.i18n.translation import translate
from hushpoll_server.workspace.drafts.draft import Draft
from hushpoll_server.workspace.kinds import EDITORS, editor_of, margin_text
from hushpoll_server.workspace.mechanisms import what_it_reveals
from hushpoll_server.workspace.privacy.question_plan import margin_at

MOST_SHOWN = 24  # options of one question in a list of questions


def cap() -> str:
    """Return the largest total epsilon that this server publishes."""
    return str(current_app.config["HUSHPOLL"].epsilon_cap)


def summaries(draft: Draft) -> list[dict[str, Any]]:
    """Return one line per question for lists: what is asked, how it is randomized and why."""
    if not draft.questions:
        return []
    from hushpoll_analysis.planning.recommendation import recommend_for

    rows, survey = [], draft.compiled()
    by_id = {question.id: question for question in survey.questions}
    for source, question in zip(draft.questions, survey.questions, strict=True):
        automatic = draft.is_recommended(source)
        descriptions = EDITORS[question.kind.name].answer_texts(question)
        epsilon, many = float(draft.epsilon_of(source)), len(question.labels)
        advice = recommend_for(question.kind, question.answers, many, epsilon, n=draft.expected_n)
        decider = reason = proof = ""
        if question.after is not None:
            decider = by_id[question.after.question].text
        if automatic:
            reason, proof = translate(advice.reason), translate(advice.proof)
        rows.append(
            {
                "question": question,
                "shown": descriptions[:MOST_SHOWN],
                "more": max(0, len(descriptions) - MOST_SHOWN),
                "at_most": question.answers.about().get("at_most"),
                "decider": decider,
                "automatic": automatic,
                "linked": draft.follows_slider(source),
                "kind": EDITORS[editor_of(source)[0]].label,
                "reported": EDITORS[question.kind.name].reported_of(question),
                "mechanism": translate(question.mechanism.label),
                "reason": reason,
                "proof": proof,
                "note": what_it_reveals(question),
                "block": survey.block_of(question),
                "margin": margin_text(question, margin_at(question, draft.expected_n)),
            }
        )
    return rows
