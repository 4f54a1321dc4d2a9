"""Plans: number of answers, margin and epsilon, each from the other two.

Everything is closed form or a one-dimensional root in plain Python, because the designer's slider asks for it
at every move. The normal approximation is used throughout: margin = z * sqrt(variance).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from hushpoll_client.exact import Number
from hushpoll_client.limits import MAX_EPSILON
from hushpoll_client.mechanism import Mechanism
from hushpoll_client.messages import msg

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.bisection import least_positive
from hushpoll_analysis.planning.variance.spread import TARGETS
from hushpoll_analysis.result import PlottedResult

from .precision import Precision, build, curator_variance, mechanism_class, read_number, read_whole

if TYPE_CHECKING:
    import pandas as pd

SLIDER_STOPS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6)
"""Ten stops of the designer's slider, a factor of about the square root of two apart."""

_LOWEST, _HIGHEST = 0.001, float(MAX_EPSILON)
_MOST = 10**11
_FINEST = 1e-6


@dataclass(frozen=True)
class Plan(PlottedResult):
    """One plan: what `n` people, `epsilon` and a margin have to do with each other.

    Attributes
    ----------
    n, epsilon, margin
        Number of answers, the device's epsilon (infinite when unbounded) and half-width of the interval.
    margin_sampling_only
        The margin if all people answered openly.
    margin_trusted_curator
        The margin if a trusted curator held the open answers and added Laplace noise of the same epsilon.
    recorded_as_chosen
        The chance that a person is recorded with the answer they chose (the smallest over the options); None
        where the report is not an answer (crosswise).
    odds_factor
        e^epsilon, what one report can multiply an onlooker's odds by; infinite when unbounded.
    solved
        Which of n, epsilon, margin was computed.
    target
        What the margin is of: each of the shares, the mean (then all margins are parts of its range), or each of the
        cumulative shares.
    planned_share
        The true share at which the margin was taken: the one asked for, or the worst. For a mean: its place in the
        range.
    design_effect
        How many randomized answers it takes to be as precise as one open answer.
    """

    plotted_column = "margin"
    from_zero = True

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
    target: str = TARGETS[0]

    def to_frame(self) -> pd.DataFrame:
        """Return the plan as a table of one row; what is unbounded is infinite."""
        import pandas as pd

        return pd.DataFrame([{name: getattr(self, name) for name in self.to_dict()}]).set_index("mechanism")

    def _words(self) -> str:
        return f"margin of the {self.level:.0%} interval with {self.n:,} answers"

    def _picture(self) -> pd.DataFrame:
        """Return the margin, that without randomization and that with a trusted curator."""
        import pandas as pd

        names = ("asked openly", "trusted curator", self.mechanism)
        margins = (self.margin_sampling_only, self.margin_trusted_curator, self.margin)
        return pd.DataFrame({"margin": margins}, index=list(names))


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
    size: int | None = None,
    ask: int | None = None,
    at_most: int | None = None,
    target: str = TARGETS[0],
) -> Plan:
    r"""Return the third of number of answers, epsilon and margin from the other two.

    Parameters
    ----------
    mechanism
        A name (warner, krr, subset, sampled, designed, ...) or a ready mechanism, whose epsilon is then fixed.
    options
        Number of options or points; 2 unless said otherwise.
    epsilon, n, margin
        Two of the three. Where other parameters fix epsilon (`truth` of warner, `forced`, a ready mechanism)
        give one of n and margin. A decoy design without epsilon has no flip on the device: its epsilon is unbounded.
    level
        Confidence level of the margin.
    share
        The true share to plan for; by default the worst one.
    truth, forced, decoy_share, decoy_counts, size, ask, at_most
        Parameters of the mechanism, as in `hushpoll_client.mechanisms`.
    target
        What will be reported: "shares", "mean" (of evenly spaced points; its margin is a part of their range) or
        "cumulative" ("4 or more", medians and quartiles).

    Notes
    -----
    .. math:: m = z_{(1+level)/2} \sqrt{\max_s \left(s g_k + (1-s) \max_{x \ne k} g_x - s^2\right) / n},
       \qquad g_x = \sum_z C_{xz} b_z^2, \; C b = e_k

    Trusted curator: sampling variance s(1-s)/n plus 2 b^2 with b = 1/(n epsilon) for two options and for a mean, and
    2/(n epsilon) for more (one person replaced changes two cells). An estimated decoy share adds its own
    variance by the delta method. For a mean and for cumulative shares the maximum runs over all true distributions.

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
    if n is None:
        n = None
    else:
        n = read_whole(n, "n")
    if share is not None and not 0.0 <= share <= 1.0:
        raise AnalysisError(
            msg("share is {share:g}", share=share),
            "give the true share to plan for as a proportion from 0 to 1",
        )
    if target not in TARGETS:
        raise AnalysisError(
            msg("target is {target!r}", target=target), msg("use one of: {known}", known=", ".join(TARGETS))
        )
    _check_targets(epsilon, n, margin)
    named = {"truth": truth, "forced": forced, "decoy_share": decoy_share, "decoy_counts": decoy_counts}
    named |= {"size": size, "ask": ask, "at_most": at_most}
    if isinstance(mechanism, Mechanism):
        named.pop("at_most")  # it is in the mechanism, and otherwise only of use to the trusted curator
    parameters = {key: value for key, value in named.items() if value is not None}
    if not isinstance(mechanism, Mechanism | str):
        raise AnalysisError(
            msg("mechanism is a {kind}", kind=type(mechanism).__name__),
            "give its name, or one of hushpoll_client.mechanisms",
        )
    kind = type(mechanism) if isinstance(mechanism, Mechanism) else mechanism_class(mechanism)
    fixed = isinstance(mechanism, Mechanism) or kind.fixes_epsilon(parameters)
    solved = _what_to_solve(kind, fixed, epsilon, n, margin)
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)

    def precision(at: float | None) -> Precision:
        if isinstance(mechanism, Mechanism):
            return Precision(mechanism, share, z, target)
        return Precision(build(mechanism, options, at, parameters, target), share, z, target)

    if solved == "epsilon":
        assert n is not None
        assert margin is not None
        solve = _solve_epsilon if kind.recompiled else _search_epsilon
        epsilon = solve(precision, n, margin, z, share)
    chosen = precision(epsilon)
    if solved == "n":
        assert margin is not None
        n = chosen.answers(margin)
    assert n is not None
    return _finish(chosen, n, margin, epsilon=epsilon, level=level, solved=solved, at_most=at_most)


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
    """Return the plan at each epsilon: the points of the margin-against-epsilon curve."""
    return tuple(
        plan(mechanism, options, epsilon=epsilon, n=n, level=level, share=share, **parameters)
        for epsilon in epsilons
    )


def _finish(
    precision: Precision,
    n: int,
    margin: float | None,
    epsilon: float | None,
    level: float,
    solved: str,
    at_most: int | None,
) -> Plan:
    mechanism = precision.mechanism
    share = precision.at(n)
    if precision.share is None:
        open_share = 0.5
    else:
        open_share = precision.share
    sampling = open_share * (1.0 - open_share) / n
    # A flip on the device keeps the epsilon that was asked for; otherwise it is the device's own.
    final_epsilon = mechanism.epsilon
    if epsilon is not None:
        final_epsilon = float(epsilon)
    noise = math.inf
    if final_epsilon > 0.0:
        noise = curator_variance(mechanism, precision.target, n, final_epsilon, at_most)
    reached = precision.margin(n)
    return Plan(
        mechanism=mechanism.name,
        options=mechanism.analysis.options,
        n=n,
        epsilon=final_epsilon,
        margin=reached if margin is None else margin,
        margin_sampling_only=precision.z * math.sqrt(sampling),
        margin_trusted_curator=precision.z * math.sqrt(sampling + noise),
        recorded_as_chosen=mechanism.recorded_as_chosen,
        odds_factor=math.exp(final_epsilon),
        level=level,
        share=precision.share,
        planned_share=share,
        design_effect=(reached / precision.z) ** 2 / sampling if sampling > 0.0 else math.inf,
        dishonest_weight=precision.spread.weight,
        epsilon_note=mechanism.epsilon_note,
        solved=solved,
        target=precision.target,
    )


def _solve_epsilon(
    precision: Callable[[float], Precision], n: int, margin: float, z: float, share: float | None
) -> float:
    """Find the smallest epsilon whose margin is at most `margin`, by bisection on its logarithm.

    Less epsilon is the channel of more epsilon followed by noise, so the margin falls as epsilon grows.
    """
    _check_reach(precision(_HIGHEST).margin(n), n, margin, z, share)
    if precision(_LOWEST).margin(n) <= margin:
        return _LOWEST
    return least_positive(lambda epsilon: precision(epsilon).margin(n) <= margin, _LOWEST, _HIGHEST, 48)


def _search_epsilon(
    precision: Callable[[float], Precision], n: int, margin: float, z: float, share: float | None
) -> float:
    """Find it with few designs, where each has to be computed: on logarithms the margin is nearly a straight line."""
    low, high = SLIDER_STOPS[0], SLIDER_STOPS[-1]
    at_low, at_high = precision(low).margin(n), precision(high).margin(n)
    _check_reach(at_high, n, margin, z, share)
    if at_low <= margin:
        return low
    while high / low > 1.002:
        fraction = math.log(at_low / margin) / math.log(at_low / at_high)
        # Away from the ends, so that both close in.
        middle = low * (high / low) ** min(max(fraction * 1.02, 0.02), 0.98)
        reached = precision(float(f"{middle:.4g}")).margin(n)
        if reached <= margin:
            high, at_high = float(f"{middle:.4g}"), reached
        else:
            low, at_low = float(f"{middle:.4g}"), reached
    return high


def _check_reach(best: float, n: int, margin: float, z: float, share: float | None) -> None:
    if best <= margin:
        return
    open_share = 0.5 if share is None else share
    alone = z * math.sqrt(open_share * (1.0 - open_share) / n)
    raise AnalysisError(
        msg(
            "a margin of {margin:g} cannot be reached with n = {n:,}: sampling alone gives "
            "{alone:.4f} and this design at its best {best:.4f}",
            margin=margin,
            n=n,
            alone=alone,
            best=best,
        ),
        "ask more people or accept a wider margin",
    )


def _what_to_solve(
    kind: type[Mechanism], fixed: bool, epsilon: float | None, n: int | None, margin: float | None
) -> str:
    """Return which of the three is wanted, or why that cannot be said."""
    if fixed:
        if epsilon is not None:
            raise AnalysisError(
                msg("this {kind} has its epsilon fixed already", kind=kind.name), "give one of n and margin"
            )
        if (n is None) == (margin is None):
            raise AnalysisError(
                msg("this {kind} has its epsilon fixed", kind=kind.name), "give exactly one of n and margin"
            )
        return "n" if n is None else "margin"
    given_names = [
        key for key, value in (("epsilon", epsilon), ("n", n), ("margin", margin)) if value is not None
    ]
    if len(given_names) == 1 and kind.has_decoy and given_names != ["epsilon"]:
        return "n" if n is None else "margin"
    if len(given_names) != 2:
        had = "none"
        if given_names:
            had = " and ".join(given_names)
        raise AnalysisError(msg("give two of epsilon, n and margin to get the third (given: {had})", had=had))
    return next(key for key in ("epsilon", "n", "margin") if key not in given_names)


def _check_targets(epsilon: float | None, n: int | None, margin: float | None) -> None:
    if epsilon is not None and not (math.isfinite(epsilon) and epsilon > 0.0):
        raise AnalysisError(
            msg("epsilon is {epsilon:g}", epsilon=epsilon), "give a positive number such as 1"
        )
    if n is not None and (isinstance(n, bool) or n != int(n) or n < 1):
        raise AnalysisError(msg("n is {n}", n=n), "give the number of answers, a whole number of 1 or more")
    if n is not None and n > _MOST:
        raise AnalysisError(msg("n is {n}", n=n), msg("more than {most:,} people do not exist", most=_MOST))
    if margin is not None:
        _between("margin", margin, "0.05, not 5")
        if margin < _FINEST:
            raise AnalysisError(
                msg("margin is {margin:g}", margin=margin),
                msg("give one of at least {finest:g}", finest=_FINEST),
            )


def _between(name: str, value: float, example: str) -> float:
    if not 0.0 < read_number(value, name) < 1.0:
        raise AnalysisError(
            msg("{name} is {value:g}", name=name, value=value),
            msg("give a proportion between 0 and 1 ({example})", example=example),
        )
    return float(value)
