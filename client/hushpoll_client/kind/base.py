"""A kind of question: what a document says about it, what its true answers are, and how one is given.

Every other file of this folder is one kind. Other code asks the kind, and never decides by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, ClassVar

from hushpoll_client.channel.base import Draws
from hushpoll_client.errors import ReportError, SurveyError
from hushpoll_client.fields import Place, short
from hushpoll_client.mechanism import MECHANISMS, Mechanism
from hushpoll_client.messages import msg

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
    def upward(self) -> bool:
        """Whether shares are reported from each answer upwards, as in "4 or more"."""
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
        """Return the kind's own keys of the question."""
        return {}

    def in_mechanism(self) -> dict[str, Any]:
        """Return the kind's own keys of the mechanism's object."""
        return {}

    def draft_keys(self) -> dict[str, Any]:
        """Return the keys of a draft's mechanism that has no name: what the recommended one shall give."""
        return {}

    def about(self) -> dict[str, Any]:
        """Return what a mechanism may need to know of the question."""
        return {}

    def read(self, name: str, value: object) -> Any:
        """Return the true answer of question `name` for what a person chose, in a file or at a terminal."""
        if isinstance(value, str) and value in self.labels:
            return self.labels.index(value)
        raise unknown_option(name, value, self.labels)

    def row(self, answer: Any, draws: Draws) -> Any:
        """Return what the mechanism takes for a true answer; how many draws that needs never depends on it."""
        return answer

    def mixture(self, answer: Any) -> tuple[tuple[int, Fraction], ...]:
        """Return the rows that `row` may give for a true answer, each with its chance."""
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
    optional_keys: ClassVar[tuple[str, ...]] = ()
    """Keys that stand only where they say something."""
    in_mechanism: ClassVar[tuple[str, ...]] = ()
    """Keys of the mechanism's object that are the kind's own."""
    draft_keys: ClassVar[tuple[str, ...]] = ()
    """Keys of a draft's mechanism that has no name: what the recommended one shall give. They are never published."""
    targets: ClassVar[tuple[str, ...]] = ()
    """What designers may choose to report, the default first."""
    mechanism_fits: ClassVar[tuple[str, ...]] = ("option",)
    """The sorts of mechanism that fit it: for one "option", for "ordered" answers, for a "set" of them."""
    fixed_words: ClassVar[bool] = False
    """Whether the answers' labels are the page's own words, to be said in the reader's language."""
    yes_or_no: ClassVar[bool] = False
    """Whether the answers are No and Yes, so that a decoy question can stand beside it."""
    may_be_skipped: ClassVar[bool] = False
    """Whether it may be asked only after certain answers, and decide whether a later one is."""
    several: ClassVar[bool] = False
    """Whether an answer is a set of options."""
    in_base_bundle: ClassVar[bool] = False
    """Whether every page has its twin at hand; the others are loaded where a survey asks for one."""
    in_blocks: ClassVar[bool] = False
    """Whether it may be a question of a block, whose answers are sent jointly."""

    @abstractmethod
    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> Answers:
        """Read the kind's own keys."""

    @abstractmethod
    def recommend(self, answers: Answers, rows: int, epsilon: object) -> dict[str, Any]:
        """Return name and parameters of the mechanism that a document means which gives an epsilon and no name."""

    def optimum(self, target: str | None) -> tuple[str, bool]:
        """Return what the best channel for a target is best for, and whether at the worst truth, as in `Answers`."""
        return target or Answers(()).optimum[0], False

    @property
    def mechanisms(self) -> tuple[type[Mechanism], ...]:
        """The mechanisms that can carry its answers."""
        return tuple(
            mechanism
            for mechanism in MECHANISMS.values()
            if mechanism.in_surveys
            and mechanism.fits in self.mechanism_fits
            and (self.yes_or_no or not mechanism.has_decoy)
        )

    def fitting(self, options: int) -> tuple[type[Mechanism], ...]:
        """Return the mechanisms that take `options` answers."""
        return tuple(mechanism for mechanism in self.mechanisms if mechanism.fits_options(options))

    def shown(self, options: int) -> tuple[int, ...]:
        """Return the answers whose shares are worth a line of their own."""
        return tuple(range(options))


def unknown_option(name: str, value: object, labels: tuple[str, ...]) -> ReportError:
    """Name the options there are; of a long list those that look like what was given."""
    if len(labels) <= MOST_NAMED:
        return ReportError(
            msg(
                'question "{name}": {given} is not one of: {labels}',
                name=name,
                given=short(value),
                labels=", ".join(labels),
            )
        )
    problem = msg(
        'question "{name}": {given} is not one of its {options:,} options',
        name=name,
        given=short(value),
        options=len(labels),
    )
    alike = {label.casefold(): label for label in reversed(labels)}
    near = []
    if isinstance(value, str):
        near = get_close_matches(value.casefold(), alike, 3)
    if not near:
        return ReportError(problem, "write one as the survey spells it")
    return ReportError(
        problem, msg("did you mean {near}?", near=" or ".join(short(alike[key]) for key in near))
    )


def read_target(kind: type[Kind] | Kind, fields: Mapping[str, Any], at: Place, published: bool) -> str:
    """Read what will be reported, from the mechanism's object; the default where a draft says nothing."""
    mechanism = fields.get("mechanism")
    target = None
    if isinstance(mechanism, Mapping):
        target = mechanism.get("target")
    # A question of a block has no mechanism of its own: its reports tell all that can be asked for.
    if target is None and (not published or "mechanism" not in fields):
        return kind.targets[0]
    if target not in kind.targets:
        raise SurveyError(
            (*at, "mechanism", "target"),
            msg("{found} cannot be reported of a {kind}", found=short(target), kind=kind.name),
            msg("use one of: {known}", known=", ".join(kind.targets)),
        )
    return str(target)
