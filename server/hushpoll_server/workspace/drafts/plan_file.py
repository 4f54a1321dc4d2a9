"""The plan of a draft as an exported file carries it: how many people, which margins and locks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from hushpoll_client import HushpollError, SurveyError
from hushpoll_client.messages import msg
from hushpoll_client.survey.translations import MAX_LANGUAGES, read_language

from hushpoll_server.workspace.drafts.documents import Document
from hushpoll_server.workspace.drafts.draft import LARGEST_N, Draft
from hushpoll_server.workspace.drafts.translated_texts import (
    shaped_translation,
    text_at,
    unfinished,
    without_unfinished_languages,
)

_KEYS = {"answers", "margin", "margins", "locks", "epsilon", "linked", "unfinished"}


def document_with_plan(draft: Draft) -> Document:
    """Return the draft's document with its plan, as a file that can be imported again."""
    plan: Document = {"answers": draft.expected_n, "margin": draft.margin, "epsilon": draft.epsilon}
    more = {"margins": dict(draft.margins), "locks": dict(draft.locks), "linked": list(draft.linked)}
    # A language that is not finished is not part of the survey yet.
    open_ones = {tag: draft.translations[tag] for tag in unfinished(draft.document)}
    more["unfinished"] = open_ones
    entries = {key: value for key, value in more.items() if value}
    return {**without_unfinished_languages(draft.document), "plan": plan | entries}


def with_unfinished(document: Document, plan: Any) -> Document:
    """Return an imported document with the unfinished languages that are in its plan."""
    if isinstance(plan, Mapping):
        unfinished = plan.get("unfinished")
    else:
        unfinished = None
    if unfinished is None:
        return document
    done = document.get("translations", {})
    if (
        not isinstance(unfinished, Mapping)
        or "language" not in document
        or set(unfinished) & {*done, document["language"]}
    ):
        raise _wrong("unfinished", msg("must be an object with a language of its own for each entry"))
    if len(unfinished) + len(done) > MAX_LANGUAGES - 1:
        raise _wrong(
            "unfinished",
            msg("makes more than {most} languages with those of the survey", most=MAX_LANGUAGES),
        )
    translations = {}
    for tag, texts in unfinished.items():
        read_language(tag, ("plan", "unfinished"))
        translations[tag] = shaped_translation(document, partial(text_at, texts))
    return {**document, "translations": {**done, **translations}}


def read_plan(entries: Any, questions: set[str]) -> dict[str, Any]:
    """Return a plan for `storage.create`; SurveyError if it is wrong. Missing entries have their defaults."""
    if entries is None:
        return {}
    if not isinstance(entries, Mapping) or set(entries) - _KEYS:
        raise _wrong("", msg("must be an object with keys from {known}", known=", ".join(sorted(_KEYS))))
    plan: dict[str, Any] = {}
    if "answers" in entries:
        plan["expected_n"] = _answers(entries["answers"])
    if "margin" in entries:
        plan["margin"] = _margin("margin", entries["margin"])
    if "epsilon" in entries:
        plan["epsilon"] = _lock("epsilon", entries["epsilon"])
    margins, locks = (_by_question(key, entries.get(key, {}), questions) for key in ("margins", "locks"))
    plan["margins"] = {name: _margin("margins", value) for name, value in margins.items()}
    plan["locks"] = {name: _lock("locks", value) for name, value in locks.items()}
    plan["linked"] = tuple(_linked(entries.get("linked", []), questions))
    return plan


def _wrong(key: str, problem: str) -> SurveyError:
    path = tuple(filter(None, ("plan", key)))
    return SurveyError(path, problem, "correct it, or leave the plan out")


def _answers(value: Any) -> int:
    if type(value) is not int or not 1 <= value <= LARGEST_N:
        raise _wrong("answers", msg("must be a whole number from 1 to {most:,}", most=LARGEST_N))
    return value


def _margin(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0.001 <= float(value) <= 0.5:
        raise _wrong(key, msg("must be a part of 1, from 0.001 to 0.5"))
    return float(value)


def _lock(key: str, value: Any) -> str:
    from hushpoll_analysis.planning.epsilon_search import read_lock

    try:
        if not isinstance(value, str) or not math.isfinite(float(read_lock(value))):
            raise ValueError
    except (HushpollError, ValueError):
        raise _wrong(key, msg('must be an epsilon as text, such as "1"')) from None
    return value


def _by_question(key: str, value: Any, questions: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or set(value) - questions:
        raise _wrong(key, msg("must be an object whose keys are questions of the survey"))
    return value


def _linked(value: Any, questions: set[str]) -> list[str]:
    if not isinstance(value, list) or any(
        not isinstance(name, str) or name not in questions for name in value
    ):
        raise _wrong("linked", msg("must be a list of questions of the survey"))
    return value
