"""Every mechanism that could carry a question, with n times the variance it would give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import spell
from hushpoll_client.mechanism import MECHANISMS, Mechanism

from .optimal.problem import Problem
from .variance.total import n_variance, unary_n_variance


@dataclass(frozen=True)
class Offer:
    """A mechanism with its variance, or with the reason why there is none."""

    name: str
    n_variance: float | None
    reason: str = ""
    mechanism: Mechanism | None = None


def offers(problem: Problem, epsilon: Fraction, worst: bool) -> Iterator[Offer]:
    """Yield every mechanism that needs nothing but an epsilon, in the order of the registry, then unary."""
    for mechanism in MECHANISMS.values():
        if (
            not mechanism.in_surveys
            or mechanism.has_decoy
            or mechanism.fits == "set"
            or not mechanism.has_epsilon()
        ):
            continue
        if not mechanism.fits_options(problem.options):
            yield Offer(mechanism.name, None, f"does not take {problem.options} options")
            continue
        try:
            compiled = mechanism.compile(problem.options, {"epsilon": spell(epsilon)})
        except MechanismError as error:
            # A table of one's own and a designed one come with their integers: they are no offer by name.
            if error.field != "name":
                yield Offer(mechanism.name, None, error.problem)
            continue
        value = n_variance(problem, compiled.device, worst=worst)
        yield Offer(mechanism.name, value, "" if value is not None else "cannot estimate this", compiled)
    yield Offer("unary", unary_n_variance(problem, float(epsilon), worst=worst))
