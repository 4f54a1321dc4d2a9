"""One question's epsilon: how it can vary, and the smallest that reaches a margin."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from hushpoll_client import HushpollError, MechanismError, Question, mechanisms
from hushpoll_client.exact import Number, read_decimal, spell
from hushpoll_client.limits import MAX_EPSILON
from hushpoll_client.mechanism import MECHANISMS, Mechanism
from hushpoll_client.mechanism.base import positive_epsilon
from hushpoll_client.messages import msg

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.bisection import least_positive
from hushpoll_analysis.planning.margins import SLIDER_STOPS
from hushpoll_analysis.planning.precision import Precision, recommended_for

if TYPE_CHECKING:
    from hushpoll_analysis.planning.block_epsilon import BlockEpsilonSearch

HIGH_TOTAL = 5.0
"""One person's total from which on it is too high: a whole report then multiplies odds by more than a hundred."""
_DIGITS = 4  # of an epsilon that was solved for; rounded up, so that the margin is reached
_LOWEST = 0.001
_QUICK = 7  # answers for which a channel is computed while somebody waits; above, those at hand are taken
_PATIENT = 11  # answers for which it is computed where somebody asked for it; a mean's is quicker
_FOLD = re.compile(r"(?:at most )?(.{1,40}?)[- ]?fold", re.IGNORECASE)


def read_lock(text: Number) -> str:
    """Read a protection: an epsilon such as 1.0, or an odds factor such as "3-fold", as the epsilon it allows."""
    match = _FOLD.fullmatch(str(text).strip())
    try:
        if match is None:
            return spell(positive_epsilon(text))
        factor = read_decimal(match[1], "lock")
    except MechanismError:
        factor = None
    if factor is None or factor <= 1:
        raise AnalysisError(
            msg("a lock of {text!r} is not a level of protection", text=str(text)[:40]),
            msg(
                "give an epsilon up to {most} such as 1.0, or an odds factor above 1 such as 3-fold",
                most=MAX_EPSILON,
            ),
        )
    # Rounded down: "at most 3-fold" must not become a little more.
    exact = Decimal(factor.numerator) / Decimal(factor.denominator)
    below = Context(prec=_DIGITS + 1, rounding=ROUND_FLOOR).create_decimal(exact.ln() - Decimal("1e-20"))
    return spell(positive_epsilon(format(below, "f")))


@dataclass(frozen=True)
class EpsilonSearch:
    """A question whose epsilon may vary: by the recommended mechanism at each, or by its own.

    Attributes
    ----------
    question : Question
        As it stands now.
    recommended : bool
        Whether its document leaves the mechanism open.
    """

    question: Question
    recommended: bool
    level: float = 0.95

    @property
    def computed(self) -> bool:
        """Whether its channels come from the solver, so that only a few are at hand."""
        if not self.follows_advice:
            return False
        question = self.question
        named = question.kind.recommend(question.answers, len(question.labels), "1")
        return not MECHANISMS[named["name"]].recompiled

    @property
    def follows_advice(self) -> bool:
        """Whether another epsilon means the recommended mechanism there: also where a table came with the document."""
        mechanism = self.question.mechanism
        return self.recommended or (mechanism.has_epsilon() and not mechanism.recompiled)

    @property
    def can_move(self) -> bool:
        """Whether there is an epsilon to choose: not where a table or a truth probability fixes it."""
        return self.follows_advice or "epsilon" in self.question.mechanism.parameters

    @property
    def stated_epsilon(self) -> str:
        """The epsilon that its document states, or that of its integers."""
        stated = self.question.mechanism.parameters.get("epsilon")
        if stated is not None:
            return str(stated)
        return spell(read_decimal(self.question.epsilon, "epsilon"))

    def at(self, epsilon: Number) -> Mechanism:
        """Return its mechanism at another epsilon."""
        question = self.question
        if self.follows_advice:
            return recommended_for(question.kind, question.answers, len(question.labels), epsilon)
        return question.mechanism.at(epsilon)

    def margin(self, n: int, epsilon: Number | None = None) -> float:
        """Return its margin at n answers, as it stands or at another epsilon."""
        return self._precision(epsilon).margin(n)

    def answers(self, margin: float, epsilon: Number | None = None) -> int:
        """Return the answers that it takes to reach a margin."""
        return self._precision(epsilon).answers(margin)

    @property
    def open_margin(self) -> float:
        """The margin of one open answer at the worst truth: divide it by the square root of the number of people."""
        return 0.5 * self._z / math.sqrt(self.question.mechanism.asked)

    def smallest(self, n: int, margin: float, designs: int = 0) -> str | None:
        """Find the smallest epsilon that reaches a margin with n answers; None where there is none.

        Channels that have to be computed for more than a few answers are at hand for the slider's stops alone: then it
        is the smallest of these and of what the question has now, narrowed down by up to `designs` further channels.
        """
        return _smallest(self, n, margin, designs)

    @property
    def at_stops(self) -> bool:
        """Whether its channels take too long to compute between the slider's stops."""
        question = self.question
        return self.computed and len(question.labels) > _PATIENT and question.answers.optimum[0] != "mean"

    def usable(self, epsilon: float) -> str:
        """Return the largest epsilon not above this one for which a channel is at hand."""
        if not self.computed:
            return _decimal(epsilon, ROUND_FLOOR)
        return f"{max((stop for stop in SLIDER_STOPS if stop <= epsilon), default=SLIDER_STOPS[0]):g}"

    def reduced(self, count: int) -> EpsilonSearch | None:
        """Return the same question with fewer answers to choose from; None where it has no list to shorten."""
        question = self.question
        written = _shortened(question, count)
        if written is None or not self.follows_advice:
            return None
        try:
            answers = question.kind.read(written, ("question",), False)
            rows = len(answers.labels) + (question.after is not None)
            mechanism = recommended_for(question.kind, answers, rows, self.usable(1.0))
        except HushpollError:
            return None
        changed = replace(question, answers=answers, mechanism=mechanism, block=None)
        return EpsilonSearch(changed, True, self.level)

    @property
    def _z(self) -> float:
        return NormalDist().inv_cdf((1.0 + self.level) / 2.0)

    def _precision(self, epsilon: Number | None) -> Precision:
        mechanism = self.question.mechanism
        if epsilon is not None:
            mechanism = self.at(epsilon)
        return Precision(mechanism, None, self._z, self.question.answers.optimum[0])


@dataclass(frozen=True)
class QuestionBudget:
    """One question: what it spends, how precise that makes it, and whether that is what was needed.

    Attributes
    ----------
    stated_epsilon : str or None
        The epsilon as a document spells it; None where the mechanism has none to choose.
    problem : str
        Why its margin is out of reach, and what to do; empty where it is reached.
    name : str
        What sentences call it.
    missed : str
        Why a lock or a hand leaves it short of its margin, and what to do; empty where it is reached.
    block : BlockEpsilonSearch or None
        The block that spends for it.
    """

    search: EpsilonSearch
    number: int
    epsilon: float
    margin: float
    target_margin: float
    locked: bool
    stated_epsilon: str | None
    problem: str = ""
    name: str = ""
    missed: str = ""
    block: BlockEpsilonSearch | None = None

    @property
    def leads(self) -> bool:
        """Whether what it spends counts: of a block's questions, which share it, the first one's."""
        return self.block is None or self.block.members[0].question == self.search.question

    @property
    def payer(self) -> str:
        """What sentences call the one that spends: the question, or its block."""
        if self.block is None:
            return self.name
        return self.block.name

    @property
    def id(self) -> str:
        """The question's id."""
        return self.search.question.id

    @property
    def met(self) -> bool:
        """Whether it is as precise as is needed."""
        return self.margin <= self.target_margin * 1.0005

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "id": self.id,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "margin": self.margin,
            "needed": self.target_margin,
            "locked": self.locked,
            "mechanism": self.search.question.mechanism.name
            if self.stated_epsilon is None
            else self.search.at(self.stated_epsilon).name,
            **({} if self.block is None else {"block": self.search.question.block}),
        }


@lru_cache(maxsize=2048)
def _smallest(search: EpsilonSearch, n: int, margin: float, designs: int) -> str | None:
    if not search.computed:
        return _bisected(search, n, margin)
    at_hand = [f"{stop:g}" for stop in SLIDER_STOPS]
    reached = next((stop for stop in at_hand if search.margin(n, stop) <= margin), None)
    if reached is None or reached == at_hand[0]:
        return reached
    if len(search.question.labels) <= _QUICK:
        tries = 4
    elif search.at_stops:
        tries = 0
    else:
        tries = designs
    now = search.stated_epsilon
    # What was found between the stops before is at hand too.
    if float(now) < float(reached) and search.margin(n) <= margin:
        reached = now
    below = max((stop for stop in at_hand if float(stop) < float(reached)), key=float, default=None)
    if below is None:
        return reached
    return _between(search, n, margin, below, reached, tries)


def _bisected(search: EpsilonSearch, n: int, margin: float) -> str | None:
    """Climb to the first epsilon that is enough, then bisect down from it.

    With one mechanism the margin falls as epsilon grows, but it may rise a little where the recommended one changes.
    """
    low, high = _LOWEST / 2.0, _LOWEST
    while not _fits(search, n, margin, _decimal(high)):
        if high >= float(MAX_EPSILON):
            return None
        low, high = high, min(high * (1.25 if high < 0.5 else 1.03), float(MAX_EPSILON))
    while high / low > 1.00001 and high > _LOWEST:
        middle = math.sqrt(low * high)
        if _fits(search, n, margin, _decimal(middle)):
            high = middle
        else:
            low = middle
    return _decimal(high)


def _fits(search: EpsilonSearch, n: int, margin: float, epsilon: str) -> bool:
    try:
        return search.margin(n, epsilon) <= margin
    except MechanismError:
        return False  # so little epsilon that the integers cannot hold it


def _between(search: EpsilonSearch, n: int, margin: float, low: str, high: str, tries: int) -> str:
    """Narrow it down between two stops with few designs: on logarithms the margin is nearly a straight line."""
    at_low, at_high = search.margin(n, low), search.margin(n, high)
    for _ in range(tries):
        if float(high) / float(low) < 1.005 or at_low <= at_high:
            break
        fraction = math.log(at_low / margin) / math.log(at_low / at_high)
        middle = _decimal(float(low) * (float(high) / float(low)) ** min(max(fraction * 1.01, 0.02), 0.99))
        reached = search.margin(n, middle)
        if reached <= margin:
            high, at_high = middle, reached
        else:
            low, at_low = middle, reached
    return high


def _decimal(value: float, rounding: str = ROUND_CEILING) -> str:
    rounded = Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value))
    return spell(read_decimal(format(rounded, "f"), "epsilon"))


def _shortened(question: Question, count: int) -> dict[str, Any] | None:
    """Return the question's document with fewer options, points or bins, whichever it has."""
    written = question.document(published=False)
    if "bins" in written["mechanism"]:
        return {**written, "mechanism": {**written["mechanism"], "bins": count}}
    if "points" in written:
        return {key: value for key, value in written.items() if key != "labels"} | {"points": count}
    if "options" in written:
        fewer = {**written, "options": written["options"][:count]}
        if fewer.get("at_most", 0) >= count:
            del fewer["at_most"]
        return fewer
    return None


def krr_needed(options: int, target: str, n: int, margin: float, level: float) -> float | None:
    """Return the epsilon that K-ary response needs for a margin; None where none is enough."""
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)

    def reached(epsilon: float) -> float:
        return Precision(mechanisms.krr(options=options, epsilon=epsilon), None, z, target).margin(n)

    most = float(MAX_EPSILON) - 4.0
    if n < 1 or reached(most) > margin:
        return None
    return least_positive(lambda epsilon: reached(epsilon) <= margin, 0.01, most, 17)
