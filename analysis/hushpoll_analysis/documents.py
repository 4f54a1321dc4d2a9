"""Survey documents from outside: drafts, also those whose channels have to be computed, and published ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hushpoll_client import DocumentError, Survey, strict_json
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import MECHANISMS


def parse_survey(data: bytes) -> Survey:
    """Read either form; a mechanism without a name, or one that is computed for its target, is resolved first.

    The analysis is loaded only then: a worker that only collects never needs it.
    """
    data, _ = split_plan(data)
    value = _loaded(data)
    if not _to_be_resolved(value):
        return _estimable(Survey.parse(data))
    from hushpoll_analysis.planning.draft_resolution import read_draft

    survey = read_draft(value)
    survey.check_cap()
    return survey


def _estimable(survey: Survey) -> Survey:
    """Refuse channels from elsewhere that cannot tell what shall be reported."""
    if any(question.kind.targets and not question.mechanism.recompiled for question in survey.questions):
        from hushpoll_analysis.planning.draft_resolution import check_targets

        check_targets(survey)
    return survey


def split_plan(data: bytes) -> tuple[bytes, Any]:
    """Take the plan out of a draft that was exported with one: it says what the survey is for, and is not part of it.

    Gives the document's bytes, and the plan or None.
    """
    value = _loaded(data)
    if not isinstance(value, dict) or "plan" not in value:
        return data, None
    plan = value.pop("plan")
    return json.dumps(value, ensure_ascii=False, default=float).encode(), plan


def _loaded(data: bytes) -> Any:
    try:
        return strict_json.loads(data)
    except DocumentError:
        return None  # which the survey's own reader refuses in its words


def _to_be_resolved(value: Any) -> bool:
    questions = None
    if isinstance(value, Mapping):
        questions = value.get("questions")
    return isinstance(questions, list) and any(map(_lacks_channel, questions))


def _lacks_channel(question: Any) -> bool:
    """Return whether a question may need a channel that has to be computed."""
    mechanism = None
    if isinstance(question, Mapping):
        mechanism = question.get("mechanism")
    if not isinstance(mechanism, Mapping) or "channel" in question:
        return False
    name, kind = mechanism.get("name"), question.get("kind")
    if name is not None:
        return isinstance(name, str) and name in MECHANISMS and not MECHANISMS[name].recompiled
    return isinstance(kind, str) and kind in KINDS and bool(KINDS[kind].targets)
