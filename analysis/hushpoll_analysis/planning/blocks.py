"""Several questions for one epsilon: splitting it, asking one of them, or asking some of them jointly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from hushpoll_client import HushpollError
from hushpoll_client.exact import Number, spell
from hushpoll_client.mechanism import Mechanism, Member, sampled
from hushpoll_client.mechanism.base import positive_epsilon
from hushpoll_client.mechanism.subset import recommended_subset
from hushpoll_client.messages import joined, msg

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.variance.spread import spread
from hushpoll_analysis.result import PlottedResult

if TYPE_CHECKING:
    import pandas as pd

_MOST_ASKED = 16


@dataclass(frozen=True)
class BlockOption:
    """One way to ask several questions of one person for one epsilon.

    Attributes
    ----------
    ask
        How many of the questions a person is asked; None where all are, each with its part of the epsilon.
    n_variance
        n times the variance of one share at the uniform truth, the mean over the questions.
    members
        The same for every question.
    respondents
        How many people it takes, relative to the best way.
    """

    ask: int | None
    n_variance: float
    members: tuple[float, ...]
    respondents: float = 1.0

    @property
    def label(self) -> str:
        """What is done, in a few words."""
        if self.ask is None:
            return msg("All {count} questions, the epsilon split", count=len(self.members))
        if self.ask == len(self.members):
            return msg("All {count} questions, answered jointly", count=self.ask)
        return msg(
            "{ask} of {count} questions, drawn by chance, answered jointly",
            ask=self.ask,
            count=len(self.members),
        )

    def margin(self, n: int, level: float = 0.95) -> float:
        """Return the largest margin of the questions with n respondents."""
        z = NormalDist().inv_cdf((1.0 + level) / 2.0)
        return z * math.sqrt(max(self.members) / n)

    def to_dict(self) -> dict[str, Any]:
        """Return the option as JSON values."""
        return {
            "ask": self.ask,
            "label": self.label,
            "n_variance": self.n_variance,
            "members": list(self.members),
            "respondents": self.respondents,
        }


@dataclass(frozen=True)
class BlockPlan(PlottedResult):
    """The ways to ask, the best first, and the recommended one."""

    json_keys = ("sizes", "epsilon", "cross_tables", "ask", "reason", "options")
    words = "respondents for the same margin, the best = 1"
    plotted_column = "respondents"
    from_zero = True

    sizes: tuple[int, ...]
    epsilon: float
    cross_tables: bool
    options: tuple[BlockOption, ...]

    @property
    def split(self) -> BlockOption:
        """The way that asks all people all questions, each with its part of the epsilon."""
        return next(option for option in self.options if option.ask is None)

    @property
    def one(self) -> BlockOption:
        """The way that asks each person one question, with the whole epsilon."""
        return next(option for option in self.options if option.ask == 1)

    @property
    def recommended(self) -> BlockOption:
        """The best number of questions to ask: at least two where cross-tables are wanted."""
        least = 2 if self.cross_tables else 1
        return next(option for option in self.options if option.ask is not None and option.ask >= least)

    @property
    def ask(self) -> int:
        """How many questions the recommended block asks."""
        assert self.recommended.ask is not None
        return self.recommended.ask

    @property
    def reason(self) -> str:
        """Why, with figures."""
        best, d = self.recommended, len(self.sizes)
        sentences = [msg("Ask each person {ask} of the {count} questions.", ask=best.ask, count=d)]
        if (times := self.split.n_variance / best.n_variance) > 1.0:
            sentences.append(
                msg(
                    "Asking all {count} with the epsilon split takes {times:.1f} times as many people for the same "
                    "margin.",
                    count=d,
                    times=times,
                )
            )
        if best.ask != 1 and (times := self.one.n_variance / best.n_variance) > 1.0:
            sentences.append(
                msg(
                    "Asking one question each takes {times:.1f} times as many people for the same margin.",
                    times=times,
                )
            )
        if (times := best.n_variance / self.one.n_variance) > 1.0:
            sentences.append(
                msg(
                    "Cross-tables need two questions of each person and cost {times:.1f} times as many people.",
                    times=times,
                )
            )
        return joined(" ", sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as JSON values."""
        return super().to_dict() | {"options": [option.to_dict() for option in self.options]}

    def to_frame(self) -> pd.DataFrame:
        """Return the ways to ask as a table, best first; `ask` is missing where all people are asked all questions."""
        import pandas as pd

        frame = pd.DataFrame([option.to_dict() for option in self.options]).drop(columns="members")
        return frame.astype({"ask": "Int64"}).set_index("label")

    def _caption(self) -> str:
        return self.reason


def plan_block(sizes: Sequence[int], epsilon: Number, cross_tables: bool = False) -> BlockPlan:
    r"""Compare the ways to ask questions of these sizes for one epsilon of the whole person.

    Parameters
    ----------
    sizes
        The number of answers of each question; yes/no has 2.
    epsilon
        Of one person, all questions together.
    cross_tables
        Whether questions shall be tabulated against each other: then people are asked at least two.

    Returns
    -------
    BlockPlan

    Notes
    -----
    With s of d questions asked and N joint answers the reports that ask a question with k answers go through
    :math:`w = (N/k)/(e^\epsilon + N - 1)` for each wrong answer, and n times the variance of a share f is
    :math:`(d/s)\, z(1-z)/(1-kw)^2` with :math:`z = w + (1-kw)f`, computed from the integers that are published.

    Examples
    --------
    >>> plan_block([2] * 5, 2).ask
    2
    """
    if len(sizes) < 2:
        raise AnalysisError(msg("a block of {count} questions", count=len(sizes)), "give two or more")
    try:
        exponent = positive_epsilon(epsilon)
        joint_options = [_joint(sizes, exponent, ask) for ask in range(1, min(len(sizes), _MOST_ASKED) + 1)]
        split = [recommended_subset(size, float(exponent / len(sizes))) for size in sizes]
    except HushpollError as error:
        raise AnalysisError(error.problem, error.remedy) from None
    options = [option for option in joint_options if option is not None] + [_option(None, split)]
    if options[0].ask != 1 or (cross_tables and len(options) < 3):
        raise AnalysisError("these questions have too many joint answers for a block", "take fewer options")
    ranked = sorted(options, key=lambda option: option.n_variance)
    best = ranked[0].n_variance
    options = [
        BlockOption(option.ask, option.n_variance, option.members, option.n_variance / best)
        for option in ranked
    ]
    return BlockPlan(tuple(sizes), float(exponent), cross_tables, tuple(options))


def _joint(sizes: Sequence[int], epsilon: Fraction, ask: int) -> BlockOption | None:
    """Return the block that asks `ask` questions; None where it has too many joint answers."""
    try:
        block = sampled(sizes, spell(epsilon), ask)
    except HushpollError:
        if ask == 1:
            raise
        return None
    return _option(ask, [Member.of(block, index) for index in range(len(sizes))])


def _option(ask: int | None, members: Sequence[Mechanism]) -> BlockOption:
    variances = tuple(spread(member).unit_variance(1.0 / member.options) for member in members)
    return BlockOption(ask, sum(variances) / len(variances), variances)
