"""A kind of question: what a document says about it, what its true answers are, and how one is given.

Every file beside this one is one kind. Everybody else asks the kind; nobody asks for its name to decide anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel.base import Draws
from hushpoll_client.document import Place, short
from hushpoll_client.errors import ReportError, SurveyError
from hushpoll_client.mechanism import MECHANISMS, Mechanism
from hushpoll_client.said import said

__all__ = ["Answers", "Kind", "read_target", "unknown_option"]

MOST_NAMED = 12  # options that a message lists


@dataclass(frozen=True)
class Answers:
    """The true answers of one question, as its document describes them.

    Attributes
    ----------
    labels : tuple of str
        What a channel's rows are called; for a set of ticked options, the options.
    """

    labels: tuple[str, ...]

    @property
    def values(self) -> tuple[Fraction, ...] | None:
        """The number that each row stands for; None where answers are not numbers."""
        return None

    @property
    def steps(self) -> int | None:
        """The number of steps from the least number to the largest; None where answers are no typed numbers."""
        return None

    @property
    def edges(self) -> tuple[tuple[Fraction, Fraction], ...] | None:
        """The first and the last number of each row; None where rows are no bins."""
        return None

    @property
    def spacing(self) -> Fraction:
        """How far apart the rows are that a number is rounded to at random; 0 where rows are the answers."""
        return Fraction(0)

    @property
    def chances(self) -> tuple[Fraction, ...]:
        """How often each row is given, or each option ticked, by people who pick any possible answer at random."""
        return (Fraction(1, len(self.labels)),) * len(self.labels)

    @property
    def ordered(self) -> bool:
        """Whether the answers have an order, so that "this or less" means something."""
        return False

    @property
    def pairs(self) -> bool:
        """Whether two options shall be seen together, so that people are asked about two or more."""
        return False

    @property
    def target(self) -> str | None:
        """What will be reported, where the kind lets designers choose."""
        return None

    @property
    def optimum(self) -> tuple[str, bool]:
        """What the best channel is best for (shares, mean or cumulative shares), and whether at the worst truth."""
        return "shares", False

    def document(self) -> dict[str, Any]:
        """Give the kind's own keys of the question."""
        return {}

    def in_mechanism(self) -> dict[str, Any]:
        """Give the kind's own keys of the mechanism's object."""
        return {}

    def wishes(self) -> dict[str, Any]:
        """Give the keys of a draft's mechanism that has no name: what the recommended one shall give."""
        return {}

    def about(self) -> dict[str, Any]:
        """Give what a mechanism may need to know of the question."""
        return {}

    def read(self, name: str, given: object) -> Any:
        """Turn what somebody chose, in a file or at a terminal, into a true answer of question `name`."""
        if isinstance(given, str) and given in self.labels:
            return self.labels.index(given)
        raise unknown_option(name, given, self.labels)

    def row(self, answer: Any, draws: Draws) -> Any:
        """Give what the mechanism takes for a true answer; how many draws that needs never depends on it."""
        return answer

    def mixture(self, answer: Any) -> tuple[tuple[int, Fraction], ...]:
        """Give the rows that `row` may give for a true answer, each with its chance."""
        return ((answer, Fraction(1)),)


class Kind(ABC):
    """One kind of question; there is one object of each."""

    name: ClassVar[str]
    label: ClassVar[str]
    help: ClassVar[str]
    widget: ClassVar[str]
    """What the respondent's page draws for it."""
    keys: ClassVar[tuple[str, ...]] = ()
    """Keys of the question's document beside those that every question has."""
    later: ClassVar[tuple[str, ...]] = ()
    """Keys that stand only where they say something."""
    in_mechanism: ClassVar[tuple[str, ...]] = ()
    """Keys of the mechanism's object that are the kind's own."""
    wishes: ClassVar[tuple[str, ...]] = ()
    """Keys of a draft's mechanism that has no name: what the recommended one shall give. They are never published."""
    targets: ClassVar[tuple[str, ...]] = ()
    """What designers may choose to report, the default first."""
    takes: ClassVar[tuple[str, ...]] = ("option",)
    """The sorts of mechanism that fit it: for one "option", for "ordered" answers, for a "set" of them."""
    fixed_words: ClassVar[bool] = False
    """Whether the answers' labels are the page's own words, to be said in the reader's language."""
    yes_or_no: ClassVar[bool] = False
    """Whether the answers are No and Yes, so that a decoy question can stand beside it."""
    may_be_skipped: ClassVar[bool] = False
    """Whether it may be asked only after certain answers, and decide whether a later one is."""
    several: ClassVar[bool] = False
    """Whether an answer is a set of options."""
    usual: ClassVar[bool] = False
    """Whether every page has its twin at hand; the others are loaded where a survey asks for one."""
    in_blocks: ClassVar[bool] = False
    """Whether it may be a question of a block, whose answers are sent jointly."""

    @abstractmethod
    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> Answers:
        """Read the kind's own keys."""

    @abstractmethod
    def recommend(self, answers: Answers, rows: int, epsilon: object) -> dict[str, Any]:
        """Give name and parameters of the mechanism that a document means which gives an epsilon and no name."""

    def optimum(self, target: str | None) -> tuple[str, bool]:
        """Give what the best channel for a target is best for, and whether at the worst truth, as in `Answers`."""
        return target or Answers(()).optimum[0], False

    @property
    def mechanisms(self) -> tuple[type[Mechanism], ...]:
        """The mechanisms that can carry its answers."""
        return tuple(
            one
            for one in MECHANISMS.values()
            if one.in_surveys and one.fits in self.takes and (self.yes_or_no or not one.has_decoy)
        )

    def fitting(self, options: int) -> tuple[type[Mechanism], ...]:
        """Give those of them that take so many answers."""
        return tuple(one for one in self.mechanisms if one.takes_so_many(options))

    def shown(self, options: int) -> tuple[int, ...]:
        """Give the answers whose shares are worth a line of their own."""
        return tuple(range(options))


def unknown_option(name: str, given: object, labels: tuple[str, ...]) -> ReportError:
    """Name the options there are; of a long list those that look like what was given."""
    if len(labels) <= MOST_NAMED:
        return ReportError(
            said(
                'question "{name}": {given} is not one of: {labels}',
                name=name,
                given=short(given),
                labels=", ".join(labels),
            )
        )
    problem = said(
        'question "{name}": {given} is not one of its {options:,} options',
        name=name,
        given=short(given),
        options=len(labels),
    )
    alike = {label.casefold(): label for label in reversed(labels)}
    near = get_close_matches(given.casefold(), alike, 3) if isinstance(given, str) else []
    if not near:
        return ReportError(problem, "write one as the survey spells it")
    return ReportError(
        problem, said("did you mean {near}?", near=" or ".join(short(alike[one]) for one in near))
    )


def read_target(kind: type[Kind] | Kind, fields: Mapping[str, Any], at: Place, published: bool) -> str:
    """Read what will be reported, from the mechanism's object; the default where a draft says nothing."""
    given = fields.get("mechanism")
    found = given.get("target") if isinstance(given, Mapping) else None
    # A question of a block has no mechanism of its own: its reports tell all that can be asked for.
    if found is None and (not published or "mechanism" not in fields):
        return kind.targets[0]
    if found not in kind.targets:
        raise SurveyError(
            (*at, "mechanism", "target"),
            said("{found} cannot be reported of a {kind}", found=short(found), kind=kind.name),
            said("use one of: {known}", known=", ".join(kind.targets)),
        )
    return str(found)
