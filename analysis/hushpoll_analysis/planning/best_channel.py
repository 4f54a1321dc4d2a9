"""`design`: the best channel for a question, with its proof, and how every other mechanism compares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hushpoll_client import Channel
from hushpoll_client.errors import MechanismError
from hushpoll_client.exact import Number, is_whole, spell
from hushpoll_client.formatting import at_most
from hushpoll_client.limits import MAX_OPTIONS
from hushpoll_client.mechanism import MECHANISMS, Mechanism, designed
from hushpoll_client.mechanism.base import positive_epsilon
from hushpoll_client.messages import msg

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.result import PlottedResult

from .least_variance import least_variance_at
from .optimal import MOST_DESIGNED, OptimalChannel, best, best_worst_case
from .optimal.pricing import ENUMERATED
from .optimal.problem import Problem, Target
from .optimal.program import Progress
from .variance.total import n_variance, unary_n_variance

if TYPE_CHECKING:
    import pandas as pd


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


# A designed channel is listed behind one that is as good: what everybody knows is easier to explain.
_AS_GOOD = 1e-5
_NEAR = 1e-3


@dataclass(frozen=True)
class DesignResult(PlottedResult):
    """The best channel for a question and a target.

    Attributes
    ----------
    options : int
        The number of true answers.
    epsilon : float
        Of the published integers: never more than was asked for.
    target : str
        What it is best for: shares, mean, cumulative or functionals.
    worst : bool
        Whether `n_variance` is the largest variance of one report over all truths; otherwise it is n times the
        variance, sampling included, at the planning truth, summed over the functionals of the target.
    n_variance : float
        What `channel` reaches.
    bound : float or None
        Proven: no channel with this epsilon is below it. None where nothing is proven.
    outcomes : int
        The number of possible reports.
    candidates : tuple of dict
        `mechanism`, `n_variance` and `respondents` (how many the same margin takes, the best = 1.0), best first.
    left_out : dict
        Mechanisms that cannot be used here, with the reason.
    channel : Channel
        The integers, to be published.
    mechanism : Mechanism
        The same as a mechanism, for `estimate`, `simulate` and surveys. With `shares` its estimates vary least at
        those, as `n_variance` says. A published survey does not hold them: see `least_variance_at`.
    """

    words = "respondents for the same margin, the best = 1"
    plotted_column = "respondents"
    from_zero = True

    options: int
    epsilon: float
    target: str
    worst: bool
    n_variance: float
    bound: float | None
    outcomes: int
    candidates: tuple[dict[str, Any], ...]
    left_out: dict[str, str] = field(hash=False)
    channel: Channel = field(repr=False)
    mechanism: Mechanism = field(repr=False)

    @property
    def verdict(self) -> str:
        """How close to the best possible it is, in words."""
        if self.bound is None or self.bound <= 0.0:
            return "no bound was proven"
        over = 100.0 * (self.n_variance / self.bound - 1.0)
        if over < 1e-3:
            return "the best possible"
        return f"within {at_most(over, 2)} % of the best possible"

    def to_frame(self) -> pd.DataFrame:
        """Return the candidates as a table, best first."""
        import pandas as pd

        return pd.DataFrame(list(self.candidates)).set_index("mechanism")

    def to_dict(self) -> dict[str, Any]:
        """Return the design as JSON values."""
        return {**super().to_dict(), "channel": self.channel.to_json()}

    def __str__(self) -> str:
        what = "n × variance"
        if self.worst:
            what = "largest variance of one report"
        lines = [
            f"{self.mechanism.name}, {self.options} options, target {self.target}",
            f"  epsilon       {self.epsilon:.10g}",
            f"  {what}  {self.n_variance:.6g} ({self.verdict})",
            f"  outcomes      {self.outcomes if self.outcomes < 10**9 else 'more than a billion'}",
            "",
            f"  {'mechanism':<14}{'n × variance':>14}{'respondents':>13}",
        ]
        for candidate in self.candidates:
            lines.append(
                f"  {candidate['mechanism']:<14}{candidate['n_variance']:>14.6g}{candidate['respondents']:>13.2f}"
            )
        lines += [f"  {name:<14}{reason}" for name, reason in self.left_out.items()]
        return "\n".join(lines)

    def _caption(self) -> str:
        return f"{self.mechanism.name}: n × variance {self.n_variance:.6g}, {self.verdict}"


def design(
    options: int,
    epsilon: Number,
    target: Target = "cumulative",
    worst: bool = False,
    shares: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> DesignResult:
    r"""Find the channel with the least variance for what will be reported, and prove it.

    Parameters
    ----------
    options
        Number of true answers: points of a scale, bins, options.
    epsilon
        The privacy of one answer.
    target
        "shares", "mean" (of points spread evenly over [-1, 1]), "cumulative" (the K - 1 cumulative shares), or a list
        of vectors of K numbers: any linear functionals.
    worst
        For the mean: make the variance least at the worst truth, for any number in [-1, 1] that is first rounded to
        one of the points at random.
    shares
        The truth to plan for; all answers alike if nothing is given. Estimates are unbiased whatever the truth, and
        those of the returned `mechanism` vary least at this one.
    progress
        Is called with the gap that remains, as a share of the variance.

    Returns
    -------
    DesignResult

    Notes
    -----
    The best is meant among all epsilon-private channels, for unbiased, non-adaptive estimation at the planning truth h:

    .. math:: \min_w \operatorname{tr}(A I(w)^{-1}) - h'Ah, \quad I(w) = \sum_S w_S \frac{g_S g_S'}{g_S \cdot h},
       \quad \sum_S w_S g_S = 1

    over columns :math:`g_S` that are :math:`e^\epsilon` on a subset S of the answers and 1 elsewhere.

    References
    ----------
    Kairouz, Oh, Viswanath, "Extremal mechanisms for local differential privacy", JMLR 17 (2016). Pukelsheim, "Optimal
    Design of Experiments" (1993).

    Examples
    --------
    >>> from hushpoll_analysis import design
    >>> made = design(options=5, epsilon=1, target="cumulative")
    >>> f"{made.n_variance:.3f}", made.candidates[1]["mechanism"], made.outcomes <= 64
    ('10.445', 'krr', True)
    """
    exponent = positive_epsilon(epsilon)
    _check(options, target, worst, shares)
    problem = Problem.of(int(options), float(exponent), target, shares)
    listed = list(offers(problem, exponent, worst))
    optimum = _designed(problem, exponent, target, worst, shares, progress)
    if isinstance(optimum, OptimalChannel):
        listed.append(Offer(designed.__name__, optimum.n_variance, "", designed(optimum.channel, exponent)))
    else:
        listed.append(Offer(designed.__name__, None, optimum))
    best_offer = _chosen(listed)
    assert best_offer.mechanism is not None
    assert best_offer.n_variance is not None
    channel, mechanism = best_offer.mechanism.device, best_offer.mechanism
    if shares is not None and channel.listed:
        mechanism = least_variance_at(mechanism, shares)
    return DesignResult(
        options=problem.options,
        epsilon=channel.epsilon,
        target=target if isinstance(target, str) else "functionals",
        worst=worst,
        n_variance=best_offer.n_variance,
        bound=optimum.bound if isinstance(optimum, OptimalChannel) else None,
        outcomes=channel.outcomes,
        candidates=_ranked(listed),
        left_out={offer.name: offer.reason for offer in listed if offer.n_variance is None},
        channel=channel,
        mechanism=mechanism,
    )


def _check(options: int, target: Target, worst: bool, shares: Sequence[float] | None) -> None:
    if not is_whole(options) or not 2 <= options <= MAX_OPTIONS:
        raise AnalysisError(
            msg("options is {options}", options=options),
            msg("give the number of answers, 2 to {most:,}", most=MAX_OPTIONS),
        )
    if worst and target != "mean":
        raise AnalysisError(
            "the worst case is known for the mean only", "use target mean, or leave worst out"
        )
    if worst and shares is not None:
        raise AnalysisError("the worst case looks at every truth", "leave shares out, or worst")
    if worst and options > MOST_DESIGNED:
        raise AnalysisError(
            msg("a grid of {options} points is too fine", options=options),
            msg("use at most {most}: 21 are close to the limit", most=MOST_DESIGNED),
        )


def _designed(
    problem: Problem,
    epsilon: Fraction,
    target: Target,
    worst: bool,
    shares: Sequence[float] | None,
    progress: Progress | None,
) -> OptimalChannel | str:
    """Return the designed channel, or why there is none."""
    if worst:
        return best_worst_case(problem.options, epsilon)
    if problem.options > MOST_DESIGNED:
        return f"takes at most {MOST_DESIGNED} options"
    if target == "shares" and problem.options > ENUMERATED:
        return "single shares gain nothing over subset selection, which is the best for them"
    return best(problem.options, epsilon, target, shares, progress)


def _chosen(listed: list[Offer]) -> Offer:
    """Return the designed channel, unless there is none or 64 reports are so few that another mechanism does better."""
    usable = [offer for offer in listed if offer.n_variance is not None and offer.mechanism is not None]
    least = min(usable, key=lambda offer: offer.n_variance or 0.0)
    design_offer = next((offer for offer in usable if offer.name == designed.__name__), least)
    close = (design_offer.n_variance or 0.0) <= (1.0 + _NEAR) * (least.n_variance or 0.0)
    if close:
        return design_offer
    return least


def _ranked(listed: list[Offer]) -> tuple[dict[str, Any], ...]:
    def rank(offer: Offer) -> float:
        assert offer.n_variance is not None
        return offer.n_variance * (1.0 if offer.name != designed.__name__ else 1.0 + _AS_GOOD)

    usable = sorted((offer for offer in listed if offer.n_variance is not None), key=rank)
    least = min(offer.n_variance or 0.0 for offer in usable)
    return tuple(
        {
            "mechanism": offer.name,
            "n_variance": offer.n_variance,
            "respondents": 1.0 if number == 0 else (offer.n_variance or 0.0) / least,
        }
        for number, offer in enumerate(usable)
    )
