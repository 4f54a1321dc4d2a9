"""Precision: a mechanism built from the planner's parameters, and the variance it gives at n answers.

A margin is that of one share, of one cumulative share ("4 or more"), or of an average as a part of its range: all lie
between 0 and 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from hushpoll_client import HushpollError, MechanismError, Question
from hushpoll_client.exact import Number, is_whole, spell
from hushpoll_client.kind import Answers, Kind, compile_mechanism
from hushpoll_client.limits import MAX_OPTIONS
from hushpoll_client.mechanism import MECHANISMS, Mechanism, designed
from hushpoll_client.mechanism.base import positive_epsilon
from hushpoll_client.messages import msg

from hushpoll_analysis.channel.spread import DecoyVariance, Spread
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.bisection import least_count
from hushpoll_analysis.planning.variance.spread import TARGETS, MeanSpread, spread

PLANNED = {
    name: mechanism
    for name, mechanism in MECHANISMS.items()
    if mechanism.in_surveys and (mechanism.recompiled or mechanism.fits == "ordered")
}
"""The mechanisms that a plan can be made for: those whose integers follow from a few parameters."""

PROVEN = 1.001
"""A designed channel so close to its bound needs no comparison with others."""


def read_number(value: Any, what: str) -> float:
    """Read one number, also one written as text ("1", "3/4"), as mechanisms take them."""
    try:
        if isinstance(value, str):
            number = float(Fraction(value))
        else:
            number = float(value)
    except (TypeError, ValueError, ZeroDivisionError):
        raise AnalysisError(msg("{what} is {value!r}", what=what, value=value), "give a number") from None
    if isinstance(value, bool):
        raise AnalysisError(msg("{what} is {value!r}", what=what, value=value), "give a number")
    return number


def read_whole(value: Any, what: str) -> int:
    """Read a number of answers."""
    number = read_number(value, what)
    if not math.isfinite(number) or number != int(number):
        raise AnalysisError(
            msg("{what} is {value!r}", what=what, value=value),
            "give the number of answers, a whole number of 1 or more",
        )
    return int(number)


def mechanism_class(name: str) -> type[Mechanism]:
    """Find a mechanism that can be planned."""
    if name not in PLANNED:
        raise AnalysisError(
            msg("mechanism {name!r} is not known to the planner", name=name),
            msg("use one of {known}", known=", ".join(sorted(PLANNED))),
        )
    return PLANNED[name]


def build(
    name: str,
    options: int | None,
    epsilon: Number | None,
    parameters: dict[str, Any],
    target: str = TARGETS[0],
) -> Mechanism:
    """Build a mechanism from the parameters that the command line and the planner share."""
    kind = mechanism_class(name)
    _check_options(kind, options)
    for key in parameters:
        if kind.takes_key(key) is None and key not in kind.needs:
            owners = [
                mechanism.name
                for mechanism in PLANNED.values()
                if mechanism.takes_key(key) or key in mechanism.needs
            ]
            raise AnalysisError(
                msg("{parameter} does not belong to {name}", parameter=key.replace("_", " "), name=name),
                msg("it is a parameter of {owners}", owners=", ".join(owners)),
            )
    if epsilon is not None:
        parameters = {**parameters, "epsilon": epsilon}
    for pair in kind.one_of:
        if sum(key in parameters for key in pair) != 1:
            raise AnalysisError(msg("{name} needs {pair}, one of the two", name=name, pair=" or ".join(pair)))
    for parameter in kind.declared_parameters:
        if parameter.missing and parameter.name not in parameters:
            raise AnalysisError(
                msg("{name} needs {parameter}", name=name, parameter=parameter.name), parameter.missing
            )
    return _compiled(kind, options or kind.answers_in(parameters) or 2, parameters, target)


def _compiled(kind: type[Mechanism], options: int, parameters: dict[str, Any], target: str) -> Mechanism:
    try:
        return kind.compile(options, parameters)
    except MechanismError as error:
        if _needs_solver(kind, error):
            return best_channel(options, parameters["epsilon"], target)
        raise AnalysisError(error.problem, error.remedy) from None
    except HushpollError as error:
        raise AnalysisError(error.problem, error.remedy) from None


def _needs_solver(kind: type[Mechanism], error: MechanismError) -> bool:
    """Return whether a mechanism refused only because its integers follow from what will be reported."""
    return not kind.recompiled and error.field == "name"


def best_channel(options: int, epsilon: Number, target: str, worst: bool = False) -> Mechanism:
    """Return the least-variance channel for a target, from the designs at hand or from the solver.

    Where nothing proves that it is near the best (64 reports can be too few), whatever does better takes its place.
    """
    from .optimal import (
        MOST_DESIGNED,
        best,
        best_worst_case,
    )  # which need the solver only where no design is at hand

    if worst:
        return designed(best_worst_case(options, epsilon).channel, epsilon)
    if options <= MOST_DESIGNED:
        optimum = best(options, epsilon, target)
        if optimum.bound is not None and optimum.n_variance <= PROVEN * optimum.bound:
            return designed(optimum.channel, epsilon)
    from hushpoll_analysis.planning.best_channel import design

    return design(options=options, epsilon=epsilon, target=target).mechanism


def recommended(question: Question, epsilon: Number) -> Mechanism:
    """Return the mechanism that a question would have if its document gave this epsilon and no name."""
    return recommended_for(question.kind, question.answers, len(question.labels), epsilon)


def recommended_for(kind: Kind, answers: Answers, rows: int, epsilon: Number) -> Mechanism:
    """Return the same for answers with this number of rows."""
    from .draft_resolution import advised

    named = kind.recommend(answers, rows, epsilon)
    try:
        return compile_mechanism(kind, answers, rows, named)
    except MechanismError as error:
        if not _needs_solver(MECHANISMS[named["name"]], error):
            raise
    return advised(answers, rows, spell(positive_epsilon(epsilon)))


def _check_options(kind: type[Mechanism], options: int | None) -> None:
    if options is None:
        return
    if not is_whole(options) or options < 2:
        raise AnalysisError(
            msg("options is {options}", options=options), "give the number of options, 2 or more"
        )
    if options > MAX_OPTIONS:
        raise AnalysisError(
            msg("options is {options}", options=options),
            msg("a question has at most {most:,}", most=MAX_OPTIONS),
        )
    if kind.two_answers and options != 2:
        alternatives = ", ".join(
            mechanism.name for mechanism in PLANNED.values() if not mechanism.two_answers
        )
        raise AnalysisError(
            msg("{mechanism} is for two options, not {options}", mechanism=kind.name, options=options),
            msg("use one of {known}", known=alternatives),
        )


@dataclass(frozen=True)
class Precision:
    """A mechanism with the share to plan for (None: the worst one) and the normal quantile."""

    mechanism: Mechanism
    share: float | None
    z: float
    target: str = TARGETS[0]

    @cached_property
    def spread(self) -> Spread | MeanSpread:
        """The spread of the quantity that is hardest to estimate."""
        return spread(self.mechanism, self.target)

    @cached_property
    def decoy(self) -> DecoyVariance:
        """What an estimated decoy share adds to the variance."""
        return DecoyVariance.of(self.mechanism)

    def at(self, n: float) -> float:
        """Return the true share at which the margin is taken."""
        if self.share is not None:
            return self.share
        return self.spread.worst_share(n, self.decoy)

    def margin(self, n: float) -> float:
        """Return the half-width of the interval at n answers."""
        return self.z * math.sqrt(self.variance(n, self.at(n)))

    def variance(self, n: float, share: float) -> float:
        """Return the variance of the estimate at n answers and a true share, with the other answers at their worst."""
        return self.spread.unit_variance(share) / n + self.decoy.at(share)

    def answers(self, margin: float) -> int:
        """Return the smallest n whose margin is at most `margin`."""
        if self.decoy.factor == 0.0:
            return _ceil((self.z / margin) ** 2 * self.spread.unit_variance(self.at(1.0)))
        enough = least_count(lambda n: self.margin(n) <= margin, 1, 10**15)
        if enough is not None:
            return enough
        assert self.mechanism.decoy_counts is not None
        raise AnalysisError(
            msg(
                "a margin of {margin:g} cannot be reached: the decoy share, known from {answers:,} "
                "answers only, leaves {left:.4f} by itself",
                margin=margin,
                answers=self.mechanism.decoy_counts[1],
                left=self.margin(1e15),
            ),
            "ask more people the decoy question",
        )


def curator_variance(mechanism: Mechanism, target: str, n: int, epsilon: float, at_most: int | None) -> float:
    """Return the variance of the Laplace noise with which a trusted curator would publish the same quantity.

    One person replaced moves an average by its whole range / n; one share of two by 1 / n, all shares of more by 2 / n
    together, the shares of a set of m options, at most c of them ticked, by min(m, 2c) / n. A cumulative share is a sum
    of noisy shares, over half of the answers at most.
    """
    options = mechanism.analysis.options
    if mechanism.analysis.several:
        return 2.0 * (min(options, 2 * (at_most or options)) / (n * epsilon)) ** 2
    moved = 2
    if options == 2 or target == "mean":
        moved = 1
    noisy_shares = 1
    if target == "cumulative":
        noisy_shares = options // 2
    return noisy_shares * 2.0 * (moved / (n * epsilon)) ** 2


def _ceil(value: float) -> int:
    """Round up, but not for a rounding error of the floating point."""
    return max(1, math.ceil(value - 1e-9 * max(1.0, value)))
