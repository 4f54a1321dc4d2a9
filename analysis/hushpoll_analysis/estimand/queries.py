"""Statistical queries: averages of a function over the population, each from fresh people and one randomized bit each.

A query is a function of one person's value with numbers between two bounds. A person's device rounds its value at
random to one of the bounds, so that the mean is kept, and sends that bit through Warner's coin. Each person is asked in
one round only, so a person's epsilon is that of one coin however many rounds there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import mechanisms

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.counts import finite_numbers
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.shares import estimate
from hushpoll_analysis.estimates import IntervalEstimate
from hushpoll_analysis.result import PlottedResult, as_json
from hushpoll_analysis.simulation.draws import simulate

Step = Callable[[float], tuple[float, int]]


@dataclass(frozen=True)
class Bisection(PlottedResult):
    """Where a search by halving ended: the last point, and the bounds that the answers leave.

    `found` tells that the last answer was as near to what was looked for as the tolerance can tell; otherwise the
    rounds were used up.
    """

    words = "point asked about in each round"
    plotted_column = "asked"

    estimate: float
    low: float
    high: float
    found: bool
    steps: tuple[tuple[float, float], ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each round: the point asked about and the share answered."""
        index = pd.RangeIndex(1, len(self.steps) + 1, name="round")
        return pd.DataFrame(list(self.steps), columns=["asked", "share"], index=index)

    def _caption(self) -> str:
        return f"{self.estimate:.4g}, between {self.low:.4g} and {self.high:.4g}" + (
            "" if self.found else " (the rounds were used up)"
        )


def bisect(step: Step, low: float, high: float, rounds: int) -> Bisection:
    """Halve between two numbers; a step gives an answer, and where to go on: up (1), down (-1) or nowhere (0)."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise AnalysisError(
            f"the search goes from {low!r} to {high!r}", "give two numbers, the smaller first"
        )
    if rounds < 1:
        raise AnalysisError("no round is left for a search", "plan for more of them with rounds=")
    steps: list[tuple[float, float]] = []
    for _ in range(rounds):
        middle = (low + high) / 2.0
        share, way = step(middle)
        steps.append((middle, share))
        if way == 0:
            return Bisection(middle, low, high, True, tuple(steps))
        if way > 0:
            low = middle
        else:
            high = middle
    return Bisection((low + high) / 2.0, low, high, False, tuple(steps))


Query = Callable[[Floats], npt.ArrayLike]
Round = Callable[[Query, int], tuple[int, int]]
SIGNED = (-1.0, 1.0)
SHARE = (0.0, 1.0)
LEVEL = 0.95


@dataclass(frozen=True, kw_only=True)
class QueryAnswer(IntervalEstimate, PlottedResult):
    """The answer to one query, with the 95 % interval of this round alone.

    `tolerance` is how far off it may be at most, for all rounds together, except with the chance of a failure.
    """

    words = "answer, 95% interval"

    tolerance: float
    n: int


class Queries(PlottedResult):
    """Answers queries in rounds; made by `queries`."""

    words = "answer of each round, 95% interval"

    def __init__(
        self,
        people: Floats | Round | None,
        epsilon: float,
        tolerance: float,
        rounds: int,
        failure: float,
        seed: int | np.random.Generator | None,
    ) -> None:
        self.epsilon, self.tolerance, self.rounds, self.failure = epsilon, tolerance, rounds, failure
        self.mechanism = mechanisms.warner(epsilon=epsilon)
        self.asked: list[QueryAnswer] = []
        self._people = people
        self._used = 0
        self._generator = np.random.default_rng(seed)
        if isinstance(people, np.ndarray):
            # Who comes in which round must not depend on the order of the list.
            self._people = self._generator.permutation(people)

    def respondents(self, bounds: tuple[float, float] = SIGNED) -> int:
        """Return the people that one round needs for a query with these bounds."""
        low, high = _bounds(bounds)
        yes = channel_view(self.mechanism).backward(np.array([0.0, 1.0]))
        share = self.tolerance / (high - low) * float(yes[1] - yes[0])
        return math.ceil(math.log(2.0 * self.rounds / self.failure) / (2.0 * share**2))

    @property
    def constant(self) -> float:
        """The C in n = C rounds / (epsilon^2 tolerance^2): the people of all rounds, for queries from -1 to 1."""
        return self.respondents() * self.epsilon**2 * self.tolerance**2

    @property
    def left(self) -> int:
        """How many rounds are left."""
        return self.rounds - len(self.asked)

    def ask(self, query: Query, bounds: tuple[float, float] = SIGNED) -> QueryAnswer:
        """Ask a round of fresh people, and give the mean of the query over the population."""
        if not self.left:
            raise AnalysisError(f"all {self.rounds} rounds are used up", "plan for more of them with rounds=")
        low, high = _bounds(bounds)
        n = self.respondents(bounds)
        no, yes = self._reports(query, n, low, high)
        share = estimate([no, yes], self.mechanism, level=LEVEL).estimates[0]
        width = high - low
        answer = QueryAnswer(
            estimate=low + width * share.estimate,
            se=width * share.se,
            low=low + width * share.low,
            high=low + width * share.high,
            tolerance=self.tolerance,
            n=no + yes,
        )
        self.asked.append(answer)
        return answer

    def quantile(self, p: float, low: float, high: float) -> Bisection:
        """Search for a quantile between two numbers by halving: is a value at most so much?"""
        if not 0.0 < p < 1.0:
            raise AnalysisError(f"p is {p!r}", "give a share between 0 and 1, such as 0.5")

        def step(middle: float) -> tuple[float, int]:
            share = self.ask(lambda x: x <= middle, SHARE).estimate
            near = abs(share - p) <= self.tolerance
            return share, 0 if near else (1 if share < p else -1)

        return bisect(step, low, high, self.left)

    def median(self, low: float, high: float) -> Bisection:
        """Search for the median between two numbers."""
        return self.quantile(0.5, low, high)

    def range_end(self, low: float, high: float) -> Bisection:
        """Search for the largest value between two numbers: is a value at least so much?

        `low` of the result is below the largest value; at most twice the tolerance of the people lie above `high`.
        """

        def step(middle: float) -> tuple[float, int]:
            share = self.ask(lambda x: x >= middle, SHARE).estimate
            return share, 1 if share > self.tolerance else -1

        return bisect(step, low, high, self.left)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan and the answers so far as JSON values."""
        plan = {name: getattr(self, name) for name in ("epsilon", "tolerance", "rounds", "failure")}
        return plan | {"asked": as_json(self.asked)}

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each round."""
        rows = [answer.row() for answer in self.asked]
        index = pd.RangeIndex(1, len(rows) + 1, name="round")
        return pd.DataFrame(rows, index=index, columns=["estimate", "se", "low", "high", "tolerance", "n"])

    def _reports(self, query: Query, n: int, low: float, high: float) -> tuple[int, int]:
        people = self._people
        if people is None:
            raise AnalysisError("nobody is there to ask", "give people=: true values, or a function")
        if callable(people):
            no, yes = people(query, n)
            return int(no), int(yes)
        if self._used + n > len(people):
            raise AnalysisError(
                f"round {len(self.asked) + 1} needs {n:,} people, {len(people) - self._used:,} were not asked yet",
                "find more people, or take a larger tolerance or epsilon, or fewer rounds",
            )
        values = np.asarray(query(people[self._used : self._used + n]), dtype=np.float64)
        self._used += n
        if values.shape != (n,) or not np.all((values >= low) & (values <= high)):
            raise AnalysisError(
                f"the query does not give one number from {low:g} to {high:g} for each person",
                "correct it, or give its bounds",
            )
        bits = (low + (high - low) * self._generator.random(n) < values).astype(np.int64)
        counts = np.bincount(simulate(self.mechanism, bits, self._generator), minlength=2)
        return int(counts[0]), int(counts[1])


def queries(
    people: npt.ArrayLike | Round | None = None,
    *,
    epsilon: float,
    tolerance: float,
    rounds: int,
    failure: float = 0.05,
    seed: int | np.random.Generator | None = None,
) -> Queries:
    r"""Answer statistical queries one after the other, each from people who were not asked before.

    Parameters
    ----------
    people
        For a simulation, each person's true value. For a real study a function that runs one round: it gets the query
        and the number of people, asks them through `queries(...).mechanism`, and gives the counts of No and Yes.
        Without it, only `respondents` can be asked for.
    epsilon
        The protection of each person, who answers once.
    tolerance
        How far an answer may be off.
    rounds
        How many queries may be asked.
    failure
        The chance that any one of the answers is off by more.

    Notes
    -----
    The mean of a query in [a, b] is :math:`a + (b - a) \hat s` with the share :math:`\hat s` that Warner's estimator
    gives. By Hoeffding's inequality :math:`n = \ln(2T/\beta)(b-a)^2 / (2 \tau^2 \tanh^2(\epsilon/2))` people in each of
    T rounds keep all answers within the tolerance, except with probability :math:`\beta`: for small epsilon, and
    queries between -1 and 1, :math:`8\ln(2T/\beta)\,T/(\epsilon^2\tau^2)` people in all.

    References
    ----------
    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith, "What can we learn privately?", SIAM J. Comput. 40 (2011).
    """
    for name, value in (("tolerance", tolerance), ("failure", failure)):
        if not (isinstance(value, int | float) and 0.0 < value < 1.0):
            raise AnalysisError(f"{name} is {value!r}", "give a number between 0 and 1")
    if not isinstance(rounds, int) or isinstance(rounds, bool) or rounds < 1:
        raise AnalysisError(f"rounds is {rounds!r}", "give the number of queries, 1 or more")
    values: Any = people
    if people is not None and not callable(people):
        values = finite_numbers(people, "people")
    return Queries(values, epsilon, tolerance, rounds, failure, seed)


def _bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = map(float, bounds)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise AnalysisError(f"bounds are {bounds!r}", "give the least and the largest value of the query")
    return low, high
