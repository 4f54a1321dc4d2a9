"""Every error that hushpoll raises on purpose.

HushpollError (a ValueError)
├── ChannelError       a table of weights that is not a channel, or an answer outside it
├── MechanismError     a request that no mechanism can honour
├── DocumentError      a file that cannot be opened, or bytes that are not strict JSON
├── SurveyError        a survey document that breaks a rule; knows which question and field
├── ReportError        a report that does not fit its survey
└── SubmitError        a report that could not be delivered

Each carries what is wrong (`problem`) and what to do (`remedy`) as fields; its message is the two together, and
`sentence` is the message as it can be said again in another language (see messages.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from .messages import constant, msg

__all__ = [
    "ChannelError",
    "DocumentError",
    "HushpollError",
    "MechanismError",
    "ReportError",
    "SubmitError",
    "SurveyError",
]


class HushpollError(ValueError):
    """Something the caller can put right; the message says what, where and how."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem = problem
        self.remedy = remedy
        self.sentence = _both(problem, remedy)
        super().__init__(self.sentence)


class ChannelError(HushpollError):
    """A table of weights that is not a channel, or an answer outside it."""


class MechanismError(HushpollError):
    """A request that no mechanism can honour.

    `field` names the parameter at fault, so that a form can point at it. `predicate` is what is wrong with it, where
    the problem is a sentence about that parameter.
    """

    def __init__(self, problem: str, remedy: str = "", field: str | None = None, predicate: str = "") -> None:
        super().__init__(problem, remedy)
        self.field = field
        self.predicate = predicate

    @classmethod
    def about(cls, field: str, predicate: str, remedy: str = "") -> MechanismError:
        """Return what is wrong with a parameter: "epsilon", "must be greater than 0"."""
        problem = msg("{field} {predicate}", field=field, predicate=constant(predicate))
        return cls(problem, remedy, field, predicate)


class DocumentError(HushpollError):
    """A file that cannot be opened, or bytes that are not strict JSON."""


class SurveyError(HushpollError):
    """A survey document that breaks a rule.

    `path` leads to the place, as in ("questions", 1, "mechanism", "epsilon"); `where` is the same for people.
    """

    def __init__(
        self, path: Sequence[str | int], problem: str, remedy: str, question: str | None = None
    ) -> None:
        self.path = tuple(path)
        self.where = _spell(self.path, question)
        super().__init__(_at(self.where, problem), remedy)
        self.problem = problem


class ReportError(HushpollError):
    """A report that does not fit its survey; `item` names the part at fault."""

    def __init__(self, problem: str, remedy: str = "", item: str = "") -> None:
        super().__init__(_at(item, problem) if item else problem, remedy)
        self.problem = problem
        self.item = item


class SubmitError(HushpollError):
    """A report that could not be delivered; it is kept and can be sent again as it is."""


def _spell(path: tuple[str | int, ...], question: str | None) -> str:
    """Write a path as people count: question 2 ("reason"), mechanism.epsilon."""
    if not path:
        return msg("survey")
    if path[0] != "questions" or len(path) < 2 or not isinstance(path[1], int):
        return ".".join(str(step) for step in path)
    number = path[1] + 1
    name = msg("question {number}", number=number)
    if question:
        name = msg('question {number} ("{question}")', number=number, question=question)
    rest = ""
    for step in path[2:]:
        if isinstance(step, int):
            rest += f" {step + 1}"
        else:
            rest += f".{step}" if rest else step
    if rest:
        return msg("{name}, {rest}", name=name, rest=rest)
    return name


def _at(where: str, problem: str) -> str:
    return msg("{place}: {problem}", place=constant(where), problem=constant(problem))


def _both(problem: str, remedy: str) -> str:
    if not remedy:
        return problem
    return msg("{problem}; {remedy}", problem=constant(problem), remedy=constant(remedy))
