"""Plans: number of answers, margin and epsilon, each from the other two.

Everything is closed form or a one-dimensional root in plain Python, because the designer's slider asks for it
at every move. The normal approximation is used throughout: margin = z * sqrt(variance).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from hushpoll_client.kind import KINDS, Answers, Kind
from hushpoll_client.limits import MAX_EPSILON
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.errors import AnalysisError

from .designs import PLANNED, Design, Number, build, mechanism_class, read_number, read_whole

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SLIDER_STOPS", "Candidate", "Plan", "Recommendation", "curve", "plan", "recommend"]

SLIDER_STOPS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6)
"""Ten stops of the designer's slider, a factor of about the square root of two apart."""

_LOWEST, _HIGHEST = 0.001, float(MAX_EPSILON)
_MOST = 10**11
_FINEST = 1e-6


def _frame(value: Any) -> pd.DataFrame:
    import pandas as pd  # only notebooks need it; the slider must not wait for it

    return pd.DataFrame(value)


@dataclass(frozen=True)
class Plan:
    """One plan: what `n` people, `epsilon` and a margin have to do with each other.

    Attributes
    ----------
    n, epsilon, margin
        Number of answers, the device's epsilon (infinite when unbounded) and half-width of the interval.
    margin_sampling_only
        The margin if everybody answered openly.
    margin_trusted_curator
        The margin if a trusted curator held the open answers and added Laplace noise of the same epsilon.
    recorded_as_chosen
        The chance that a person is recorded with the answer they chose (the smallest over the options); None
        where the report is no answer (crosswise).
    odds_factor
        e^epsilon, what one report can multiply an onlooker's odds by; infinite when unbounded.
    solved
        Which of n, epsilon, margin was computed.
    planned_share
        The true share at which the margin was taken: the one asked for, or the worst.
    design_effect
        How many randomized answers it takes to be as precise as one open answer.
    """

    mechanism: str
    options: int
    n: int
    epsilon: float
    margin: float
    margin_sampling_only: float
    margin_trusted_curator: float
    recorded_as_chosen: float | None
    odds_factor: float
    level: float
    share: float | None
    planned_share: float
    design_effect: float
    dishonest_weight: float
    epsilon_note: str
    solved: str

    def to_frame(self) -> pd.DataFrame:
        """Give the plan as a table of one column."""
        return _frame({"value": self.to_dict()})

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(na_rep="unbounded")

    def to_dict(self) -> dict[str, Any]:
        """Give the plan as JSON values: None stands for unbounded."""
        return {
            "mechanism": self.mechanism,
            "options": self.options,
            "n": self.n,
            "epsilon": _finite(self.epsilon),
            "margin": self.margin,
            "margin_sampling_only": self.margin_sampling_only,
            "margin_trusted_curator": self.margin_trusted_curator,
            "recorded_as_chosen": self.recorded_as_chosen,
            "odds_factor": _finite(self.odds_factor),
            "level": self.level,
            "share": self.share,
            "planned_share": self.planned_share,
            "design_effect": _finite(self.design_effect),
            "dishonest_weight": self.dishonest_weight,
            "epsilon_note": self.epsilon_note,
            "solved": self.solved,
        }


@dataclass(frozen=True)
class Candidate:
    """One mechanism that could be used, with the margin it would give."""

    mechanism: str
    parameters: dict[str, Any]
    margin: float
    recorded_as_chosen: float | None
    note: str


@dataclass(frozen=True)
class Recommendation:
    """The mechanism to use, one sentence why, and every candidate's margin (best first)."""

    mechanism: str
    reason: str
    candidates: tuple[Candidate, ...]

    def to_frame(self) -> pd.DataFrame:
        """Give the candidates as a table, best first."""
        return _frame([vars(candidate) for candidate in self.candidates])

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.reason)}</p>" + self.to_frame().to_html(
            float_format=lambda value: f"{value:.4f}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the recommendation as JSON values."""
        return {
            "mechanism": self.mechanism,
            "reason": self.reason,
            "candidates": [vars(candidate) for candidate in self.candidates],
        }


def plan(
    mechanism: str | Mechanism,
    options: int | None = None,
    *,
    epsilon: float | None = None,
    n: int | None = None,
    margin: float | None = None,
    level: float = 0.95,
    share: float | None = None,
    truth: Number | None = None,
    forced: Sequence[Number] | None = None,
    decoy_share: Number | None = None,
    decoy_counts: tuple[int, int] | None = None,
) -> Plan:
    r"""Give the third of number of answers, epsilon and margin from the other two.

    Parameters
    ----------
    mechanism
        A name (warner, krr, forced, or_poll, unrelated, crosswise) or a ready mechanism, whose epsilon is
        then fixed.
    options
        Number of options; 2 unless said otherwise.
    epsilon, n, margin
        Two of the three. Where other parameters fix epsilon (`truth` of warner, `forced`, a ready mechanism)
        give one of n and margin. A decoy design without epsilon has no flip on the device: its epsilon is unbounded.
    level
        Confidence level of the margin.
    share
        The true share to plan for; by default the worst one.
    truth, forced, decoy_share, decoy_counts
        Parameters of the mechanism, as in `hushpoll_client.mechanisms`.

    Notes
    -----
    .. math:: m = z_{(1+level)/2} \sqrt{\max_s \left(s g_k + (1-s) \max_{x \ne k} g_x - s^2\right) / n},
       \qquad g_x = \sum_z C_{xz} b_z^2, \; C b = e_k

    Trusted curator: sampling variance s(1-s)/n plus 2 b^2 with b = 1/(n epsilon) for two options and
    2/(n epsilon) for more (one person replaced changes two cells). An estimated decoy share adds its own
    variance by the delta method.

    Examples
    --------
    >>> plan("warner", epsilon=1, margin=0.05).n
    1799
    """
    level = _between("level", level, "0.95, not 95")
    epsilon, margin, share = (
        None if value is None else read_number(value, name)
        for name, value in (("epsilon", epsilon), ("margin", margin), ("share", share))
    )
    n = None if n is None else read_whole(n, "n")
    if share is not None and not 0.0 <= share <= 1.0:
        raise AnalysisError(
            f"share is {share:g}", "give the true share to plan for as a proportion from 0 to 1"
        )
    _check_targets(epsilon, n, margin)
    named = {"truth": truth, "forced": forced, "decoy_share": decoy_share, "decoy_counts": decoy_counts}
    given = {key: value for key, value in named.items() if value is not None}
    kind = type(mechanism) if isinstance(mechanism, Mechanism) else mechanism_class(mechanism)
    fixed = isinstance(mechanism, Mechanism) or kind.fixes_epsilon(given)
    solved = _what_to_solve(kind, fixed, epsilon, n, margin)
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)

    def design(at: float | None) -> Design:
        ready = mechanism if isinstance(mechanism, Mechanism) else build(mechanism, options, at, given)
        return Design(ready, share, z)

    if solved == "epsilon":
        assert n is not None
        assert margin is not None
        epsilon = _solve_epsilon(design, n, margin, z, share)
    chosen = design(epsilon)
    if solved == "n":
        assert margin is not None
        n = chosen.answers(margin)
    assert n is not None
    return _finish(chosen, n, margin, epsilon, level, solved)


def curve(
    mechanism: str,
    options: int | None = None,
    *,
    n: int,
    epsilons: Sequence[float] = SLIDER_STOPS,
    level: float = 0.95,
    share: float | None = None,
    **parameters: Any,
) -> tuple[Plan, ...]:
    """Give the plan at each epsilon: the points of the margin-against-epsilon curve."""
    return tuple(
        plan(mechanism, options, epsilon=one, n=n, level=level, share=share, **parameters) for one in epsilons
    )


def recommend(
    kind: str,
    options: int = 2,
    epsilon: float = 1.0,
    *,
    n: int = 1000,
    level: float = 0.95,
    share: float | None = None,
    decoy_share: Number = "1/4",
) -> Recommendation:
    """Recommend a mechanism for a question, say why, and show the margin of each that could be used.

    Every candidate spends the same epsilon on the device, so that margins alone decide.
    """
    asked = KINDS.get(kind)
    if asked is None:
        raise AnalysisError(f"kind {kind!r} is not a kind of question", f"use {' or '.join(KINDS)}")
    options = 2 if asked.yes_or_no else options
    advised = asked.recommend(Answers(("",) * options), options, epsilon)
    trials: list[tuple[str, dict[str, Any]]] = [
        (one.name, {"decoy_share": decoy_share} if one.has_decoy else {})
        for one in _candidates(asked, advised["name"])
    ]
    candidates = []
    for name, parameters in trials:
        one = plan(name, options, epsilon=epsilon, n=n, level=level, share=share, **parameters)
        spelled = {"epsilon": epsilon, **{key: str(value) for key, value in parameters.items()}}
        candidates.append(Candidate(name, spelled, one.margin, one.recorded_as_chosen, one.epsilon_note))
    candidates.sort(key=lambda candidate: candidate.margin)
    best = candidates[0]
    return Recommendation(best.mechanism, _reason(best, options, epsilon), tuple(candidates))


def _candidates(kind: Kind, name: str) -> list[type[Mechanism]]:
    """Give the recommended mechanism, and beside it those that need nothing but an epsilon and a decoy's share."""
    needed = {"epsilon", "decoy_share", "decoy_counts"}
    fitting = [
        one for one in kind.mechanisms if one.has_decoy and {part.name for part in one.takes} <= needed
    ]
    return [PLANNED[name], *fitting]


def _finish(
    design: Design, n: int, margin: float | None, epsilon: float | None, level: float, solved: str
) -> Plan:
    mechanism = design.mechanism
    channel = mechanism.analysis
    share = design.at(n)
    open_share = 0.5 if design.share is None else design.share
    sampling = open_share * (1.0 - open_share) / n
    # A flip on the device keeps the epsilon that was asked for; otherwise it is the device's own.
    spent = mechanism.epsilon if epsilon is None else float(epsilon)
    laplace = (1.0 if channel.options == 2 else 2.0) / (n * spent) if spent > 0.0 else math.inf
    reached = design.margin(n)
    return Plan(
        mechanism=mechanism.name,
        options=channel.options,
        n=n,
        epsilon=spent,
        margin=reached if margin is None else margin,
        margin_sampling_only=design.z * math.sqrt(sampling),
        margin_trusted_curator=design.z * math.sqrt(sampling + 2.0 * laplace**2),
        recorded_as_chosen=mechanism.recorded_as_chosen,
        odds_factor=math.exp(spent),
        level=level,
        share=design.share,
        planned_share=share,
        design_effect=(reached / design.z) ** 2 / sampling if sampling > 0.0 else math.inf,
        dishonest_weight=design.spread.weight,
        epsilon_note=mechanism.epsilon_note,
        solved=solved,
    )


def _solve_epsilon(
    design: Callable[[float], Design], n: int, margin: float, z: float, share: float | None
) -> float:
    """Find the smallest epsilon whose margin is at most `margin`, by bisection on its logarithm.

    Less epsilon is the channel of more epsilon followed by noise, so the margin falls as epsilon grows.
    """
    best = design(_HIGHEST).margin(n)
    if best > margin:
        open_share = 0.5 if share is None else share
        alone = z * math.sqrt(open_share * (1.0 - open_share) / n)
        raise AnalysisError(
            f"a margin of {margin:g} cannot be reached with n = {n:,}: sampling alone gives {alone:.4f}"
            f" and this design at its best {best:.4f}",
            "ask more people or accept a wider margin",
        )
    low, high = math.log(_LOWEST), math.log(_HIGHEST)
    if design(_LOWEST).margin(n) <= margin:
        return _LOWEST
    for _ in range(48):
        middle = (low + high) / 2.0
        low, high = (low, middle) if design(math.exp(middle)).margin(n) <= margin else (middle, high)
    return math.exp(high)


def _what_to_solve(
    kind: type[Mechanism], fixed: bool, epsilon: float | None, n: int | None, margin: float | None
) -> str:
    """Say which of the three is wanted, or why that cannot be said."""
    if fixed:
        if epsilon is not None:
            raise AnalysisError(f"this {kind.name} has its epsilon fixed already", "give one of n and margin")
        if (n is None) == (margin is None):
            raise AnalysisError(f"this {kind.name} has its epsilon fixed", "give exactly one of n and margin")
        return "n" if n is None else "margin"
    given = [key for key, value in (("epsilon", epsilon), ("n", n), ("margin", margin)) if value is not None]
    if len(given) == 1 and kind.has_decoy and given != ["epsilon"]:
        return "n" if n is None else "margin"
    if len(given) != 2:
        had = " and ".join(given) if given else "none"
        raise AnalysisError(f"give two of epsilon, n and margin to get the third (given: {had})")
    return next(key for key in ("epsilon", "n", "margin") if key not in given)


def _check_targets(epsilon: float | None, n: int | None, margin: float | None) -> None:
    if epsilon is not None and not (math.isfinite(epsilon) and epsilon > 0.0):
        raise AnalysisError(f"epsilon is {epsilon:g}", "give a positive number such as 1")
    if n is not None and (isinstance(n, bool) or n != int(n) or n < 1):
        raise AnalysisError(f"n is {n}", "give the number of answers, a whole number of 1 or more")
    if n is not None and n > _MOST:
        raise AnalysisError(f"n is {n}", f"more than {_MOST:,} people do not exist")
    if margin is not None:
        _between("margin", margin, "0.05, not 5")
        if margin < _FINEST:
            raise AnalysisError(f"margin is {margin:g}", f"give one of at least {_FINEST:g}")


def _between(name: str, value: float, example: str) -> float:
    if not 0.0 < read_number(value, name) < 1.0:
        raise AnalysisError(f"{name} is {value:g}", f"give a proportion between 0 and 1 ({example})")
    return float(value)


def _reason(best: Candidate, options: int, epsilon: float) -> str:
    chosen = PLANNED[best.mechanism]
    if chosen.two_answers:
        return (
            f"{chosen.label} has the smallest margin for a yes/no question at epsilon {epsilon:g}, and its epsilon "
            "comes from the device's own coin, whatever an onlooker knows."
        )
    return (
        f"{chosen.label} keeps one report per person among the {options} options, and its epsilon of {epsilon:g} comes"
        " from the device's own coin, whatever an onlooker knows."
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
