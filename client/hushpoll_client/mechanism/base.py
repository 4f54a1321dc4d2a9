"""A mechanism: what a respondent's device does with an answer, and what the analysis undoes.

Most other files of this folder are one mechanism each: a class that declares what it is called, what it takes, where
it fits and what it gives away. Other code asks it, and never decides by its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.errors import ChannelError, MechanismError
from hushpoll_client.exact import Number, exp_below, is_whole, read_decimal, spell
from hushpoll_client.limits import MAX_EPSILON
from hushpoll_client.messages import msg

from .by_hand import Instruction
from .parameters import Parameter

__all__ = ["BrokenPromise", "Fact", "Mechanism", "krr_channel", "positive_epsilon", "whole_options"]


class BrokenPromise(ChannelError):
    """Published integers that are not what their mechanism promises."""


@dataclass(frozen=True)
class Fact:
    """Something that a report gives away for certain.

    Attributes
    ----------
    report : int
        The report in question.
    leaves : tuple of int
        The true answers that could have led to it: never all of them.
    decoy : int or None
        The decoy's answer, where the report tells that as well.
    """

    report: int
    leaves: tuple[int, ...]
    decoy: int | None = None


@dataclass(frozen=True)
class Mechanism(ABC):
    """One mechanism with its parameters, compiled to integers.

    Attributes
    ----------
    parameters : dict
        In their published spelling.
    device : Channel
        What the device draws from; `epsilon` is always this one's.
    analysis : Channel
        From the true answer to the report, with the decoy's share in it where there is a decoy. Otherwise `device`.
    epsilon_note : str
        What the epsilon does not say by itself: a condition, or why there is none.
    """

    # Declared by each class. ------------------------------------------------------------------------------------
    name: ClassVar[str]
    label: ClassVar[str]
    help: ClassVar[str]
    """What the device does, in one sentence for a designer."""
    design: ClassVar[str]
    """The same for the method section of a paper."""
    formula: ClassVar[str]
    symbols: ClassVar[str]
    citation: ClassVar[str]
    declared_parameters: ClassVar[tuple[Parameter, ...]]
    one_of: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Parameters of which exactly one has to be given."""
    needs: ClassVar[tuple[str, ...]] = ()
    """What it also has to know of the question; given beside the parameters, not published among them."""
    needs_channel: ClassVar[bool] = False
    """Whether its integers have to come along: name and parameters alone do not tell them."""
    searched: ClassVar[bool] = False
    """Whether the analysis finds its integers, at check or publish."""
    fits: ClassVar[str] = "option"
    """The answers it takes: one "option" of several, "ordered" ones only, or a "set" of them."""
    in_surveys: ClassVar[bool] = True
    two_answers: ClassVar[bool] = False
    """Whether it fits questions with two answers only."""
    has_decoy: ClassVar[bool] = False
    """Whether the device also asks a decoy question, which has to be answered by Yes or No."""
    combine: ClassVar[str] = "none"
    """The published word for what the device does with an answer and a decoy's answer before it draws."""
    reports_answers: ClassVar[bool] = True
    """Whether a report says one of the answers, as far as the mechanism is concerned."""
    report_words: ClassVar[tuple[str, ...]] = ()
    """What the reports are called where they are not answers but words of the mechanism's own."""
    takes_combined: ClassVar[bool] = True
    """Whether the device can be given the combined answer alone."""
    recompiled: ClassVar[bool] = True
    """Whether clients compute the integers anew; otherwise they check the published ones against the epsilon."""
    tells_only: ClassVar[str | None] = None
    """The one target that its reports can tell, where there are more than two answers; None where they tell all."""
    in_base_bundle: ClassVar[bool] = False
    """Whether every page has its twin at hand; the others are loaded where a survey asks for one."""
    count_linear: ClassVar[bool] = False
    """Whether the estimate is linear in the number that a report is, where several solutions exist."""

    # Compiled. --------------------------------------------------------------------------------------------------
    parameters: dict[str, Any] = field(hash=False)
    device: Channel
    analysis: Channel
    epsilon_note: str = ""
    decoy_share: Fraction | None = None
    decoy_counts: tuple[int, int] | None = None
    planning_shares: tuple[float, ...] | None = None
    """The true shares at which estimates vary least; None means all answers alike. Never published."""

    @classmethod
    @abstractmethod
    def compile(cls, options: int, parameters: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism of a question with `options` answers, from a document's parameters."""

    @classmethod
    def check(cls, options: int, parameters: Mapping[str, Any], channel: Channel) -> Mechanism:
        """Return the mechanism from published parameters and integers, which must be the ones that it compiles to."""
        for parameter in cls.declared_parameters:
            # A client recomputes weights, never a designer's choice: it would have to guess as the designer did.
            if parameter.chosen and parameter.name not in parameters:
                raise MechanismError(
                    msg("{name} is missing", name=parameter.name),
                    "ask the owner to publish it again",
                    parameter.name,
                )
        mechanism = cls.compile(options, parameters)
        if mechanism.device != channel:
            raise BrokenPromise(msg("is not the channel of this {name}", name=cls.name))
        return mechanism

    @classmethod
    def takes_key(cls, key: str) -> Parameter | None:
        """Return the parameter of that name."""
        return next((parameter for parameter in cls.declared_parameters if parameter.name == key), None)

    @classmethod
    def answers_in(cls, parameters: Mapping[str, Any]) -> int | None:
        """Return the number of answers that a list with one entry for each tells; None where there is no such list."""
        lists = [
            parameter.name
            for parameter in cls.declared_parameters
            if parameter.shape.listed and parameter.shape.length is None
        ]
        return next((len(parameters[name]) for name in lists if name in parameters), None)

    @classmethod
    def fixes_epsilon(cls, parameters: Mapping[str, Any]) -> bool:
        """Return whether these parameters leave no epsilon to choose."""
        return any(
            parameter.alone and parameters.get(parameter.name) is not None
            for parameter in cls.declared_parameters
        )

    @classmethod
    def fits_options(cls, options: int) -> bool:
        """Return whether it can carry `options` answers."""
        return options == 2 or not cls.two_answers

    @classmethod
    def has_epsilon(cls) -> bool:
        """Return whether an epsilon is among the parameters."""
        return cls.takes_key("epsilon") is not None

    @property
    def epsilon(self) -> float:
        """The privacy of one answer whatever anybody else knows; infinity when unbounded."""
        return self.device.epsilon

    @property
    def epsilon_conditional(self) -> float | None:
        """For a decoy: the epsilon against people who know only the decoy's share; None where it is unbounded."""
        return None

    @property
    def options(self) -> int:
        """The number of true answers."""
        return self.analysis.options

    @property
    def asked(self) -> Fraction:
        """The share of people who are asked the question at all."""
        return Fraction(1)

    @property
    def reports_are_answers(self) -> bool:
        """Whether the list of reports is the list of answers."""
        same = self.device.listed and self.device.outcomes == self.analysis.options
        return self.reports_answers and same

    @property
    def recorded_as_chosen(self) -> float | None:
        """The chance that a person is recorded with the answer they chose, the smallest over the answers."""
        if self.reports_are_answers:
            return self.analysis.kept / SCALE
        return None

    @cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What reports give away for certain, whatever their epsilon says about chance."""
        if self.analysis.ratio is not None:
            return ()
        facts = []
        for report, column in enumerate(zip(*self.analysis.rows, strict=True)):
            leaves = tuple(answer for answer, weight in enumerate(column) if weight)
            if 0 < len(leaves) < len(column):
                facts.append(Fact(report, leaves, self._revealed_decoy(report)))
        return tuple(facts)

    @property
    def known_decoy_tells(self) -> bool:
        """Whether knowing a person's decoy answer tells more than the odds allow."""
        return False

    def device_answer(self, answer: Any, decoy: int | None = None) -> Any:
        """Combine a true answer with the decoy's; the result is what the device's channel randomizes."""
        if decoy is not None:
            raise ChannelError(msg("{name} asks no decoy question", name=self.name))
        return answer

    def given_decoy(self, decoy: int) -> tuple[tuple[int, ...], ...]:
        """Return the table for people whose decoy answer is known: without a decoy the device's own."""
        return self.device.rows

    def by_hand(self) -> Instruction | None:
        """Find coins or dice that make the odds exactly; None where there are none."""
        return None

    @classmethod
    def points_by_hand(cls, options: int) -> tuple[dict[str, Any], ...]:
        """Return parameters at which coins or dice make the odds of `options` options, the most private first."""
        return ()

    def at(self, epsilon: Number) -> Mechanism:
        """Return the same mechanism with another epsilon."""
        parameters = {key: value for key, value in self.parameters.items() if key != "epsilon"}
        return self.compile(self.options, {**parameters, "epsilon": epsilon})

    def _revealed_decoy(self, report: int) -> int | None:
        return None


def positive_epsilon(value: Number) -> Fraction:
    """Read the epsilon of one mechanism."""
    epsilon = read_decimal(value, "epsilon")
    if epsilon <= 0:
        raise MechanismError.about(
            "epsilon", msg("must be greater than 0, got {epsilon}", epsilon=spell(epsilon)), "try 1.0"
        )
    if epsilon > MAX_EPSILON:
        raise MechanismError.about(
            "epsilon",
            msg("must be at most {most}, got {epsilon}", most=MAX_EPSILON, epsilon=spell(epsilon)),
            "clients refuse more",
        )
    return epsilon


def whole_options(options: object) -> int:
    """Read the number of options, an integer of any type."""
    if not is_whole(options):
        raise MechanismError(
            msg("the number of options must be a whole number, got {options!r}", options=options),
            field="options",
        )
    return int(options)  # type: ignore[call-overload, no-any-return]


def krr_channel(options: int, epsilon: Number) -> Channel:
    """W = ceil(2^53 / (L + K - 1)) with L just below e^epsilon, so that T/W <= L <= e^epsilon exactly."""
    options = whole_options(options)
    if options < 2:
        raise MechanismError(
            msg("a question needs at least two options, got {options!r}", options=options), field="options"
        )
    exponent = positive_epsilon(epsilon)
    weight = -int(-SCALE // (exp_below(exponent) + options - 1))
    truth = SCALE - (options - 1) * weight
    if truth <= weight:
        raise MechanismError(
            msg(
                "{options} options at epsilon {exponent} are too many for integers out of 2^53",
                options=options,
                exponent=spell(exponent),
            ),
            "use fewer options or a larger epsilon",
            "options",
        )
    channel: Channel = Channel.krr(options, weight)
    return channel
