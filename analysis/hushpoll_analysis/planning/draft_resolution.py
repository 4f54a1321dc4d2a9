"""From a designer's draft to one that can be published: mechanisms without a name get theirs, and computed channels.

Clients compute every mechanism's integers anew but one: a channel designed for a target needs a solver. So a draft that
means one is resolved here, at check or publish, and carries its channel from then on.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hushpoll_client import HushpollError, Survey, SurveyError, strict_json
from hushpoll_client.exact import spell
from hushpoll_client.fields import Place
from hushpoll_client.kind import KINDS, Answers, Kind
from hushpoll_client.mechanism import MECHANISMS, Mechanism
from hushpoll_client.mechanism.base import positive_epsilon
from hushpoll_client.messages import msg

from hushpoll_analysis.errors import NotIdentifiedError
from hushpoll_analysis.planning.variance.spread import spread

# A mechanism that clients compute anew, and whose reports are answers, is taken where it is as good as the best.
AS_GOOD = 1.0001


def read_draft(document: Mapping[str, Any] | str | bytes) -> Survey:
    """Read what a designer wrote, with everything in it that an epsilon alone leaves open decided."""
    if isinstance(document, str | bytes):
        try:
            document = strict_json.loads(document, constants=True)
        except HushpollError as error:
            raise SurveyError((), error.problem, error.remedy) from None
    survey = Survey.from_draft(resolve(document))
    check_targets(survey)
    return survey


def check_targets(survey: Survey) -> None:
    """Raise SurveyError if the reports of a question cannot estimate what shall be reported of it.

    Every quantity of the target needs weights b with C b = a, to within 1e-9 of its range.
    """
    for index, question in enumerate(survey.questions):
        if not question.kind.targets or question.block is not None:
            continue
        try:
            spread(question.mechanism, question.answers.optimum[0])
        except NotIdentifiedError:
            raise SurveyError(
                ("questions", index, "mechanism", "target"),
                msg("the reports of “{label}” cannot tell this", label=question.mechanism.label),
                "report something else, or choose another way to randomize the answer",
                question.id,
            ) from None


def resolve(document: Any) -> Any:
    """Return the draft with name, parameters and channel filled in where a question leaves its mechanism open.

    What is wrong with a question is for the survey to say: such a question stays as it is.
    """
    changed = copy.deepcopy(document)
    listed = None
    if isinstance(changed, Mapping):
        listed = changed.get("questions")
    for index, question in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(question, dict):
            _resolve_question(question, ("questions", index))
    return changed


def _resolve_question(question: dict[str, Any], at: Place) -> None:
    kind, parameters = KINDS.get(str(question.get("kind"))), question.get("mechanism")
    if kind is None or not isinstance(parameters, Mapping) or "channel" in question:
        return
    if not (set(parameters) <= {"name", "epsilon", *kind.in_mechanism} and "epsilon" in parameters):
        return
    try:
        answers = kind.read(question, at, False)
        mechanism = _mechanism(kind, answers, len(answers.labels) + ("after" in question), parameters)
    except (HushpollError, KeyError):
        return
    if mechanism is None:
        return
    question["mechanism"] = {"name": mechanism.name, **mechanism.parameters, **answers.in_mechanism()}
    if not mechanism.recompiled:
        question["channel"] = mechanism.device.to_json()


def _mechanism(kind: Kind, answers: Answers, rows: int, parameters: Mapping[str, Any]) -> Mechanism | None:
    """Return the mechanism that the analysis has to find; None where clients know it by themselves."""
    name = parameters.get("name") or kind.recommend(answers, rows, parameters["epsilon"])["name"]
    if name not in MECHANISMS or not MECHANISMS[name].searched:
        return None
    return advised(answers, rows, spell(positive_epsilon(parameters["epsilon"])), "name" in parameters)


def advised(answers: Answers, rows: int, epsilon: str, designed: bool = False) -> Mechanism:
    """Return the mechanism with the least variance for what will be reported.

    `designed` asks for the computed channel, also where a simpler mechanism is as good.
    """
    target, worst = answers.optimum
    return _best(rows, epsilon, target, worst, designed)


@lru_cache(maxsize=512)
def _best(rows: int, epsilon: str, target: str, worst: bool, designed: bool) -> Mechanism:
    from hushpoll_analysis.planning.best_channel import design

    result = design(options=rows, epsilon=epsilon, target=target, worst=worst)
    if designed:
        return result.mechanism
    simple = [
        candidate["mechanism"]
        for candidate in result.candidates
        if candidate["n_variance"] <= AS_GOOD * result.n_variance and _is_simple(candidate["mechanism"], rows)
    ]
    if not simple:
        return result.mechanism
    return MECHANISMS[simple[0]].compile(rows, {"epsilon": epsilon})


def _is_simple(name: str, rows: int) -> bool:
    mechanism = MECHANISMS.get(name)
    return (
        mechanism is not None
        and mechanism.recompiled
        and mechanism.reports_answers
        and mechanism.fits_options(rows)
    )
