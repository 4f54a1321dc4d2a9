"""Recommendations: the way to randomize a question that needs the fewest answers, and what all others would need."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hushpoll_client.exact import Number
from hushpoll_client.formatting import at_most as rounded_up
from hushpoll_client.kind import KINDS, Answers, Kind
from hushpoll_client.mechanism import MECHANISMS, padded, sampled
from hushpoll_client.mechanism.sampled import PLANNING_SHARE, best_ask
from hushpoll_client.messages import Message, constant, joined, msg

from hushpoll_analysis.arguments import whole_number
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.margins import plan
from hushpoll_analysis.planning.precision import PLANNED, build, recommended_for
from hushpoll_analysis.planning.variance.spread import TARGETS, spread
from hushpoll_analysis.result import PlottedResult

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client.mechanism import Mechanism

_TIE = 1e-5
_MOST_DESIGNED = 64  # rows for which the designs compare all candidates; longer lists have shares only
_OTHERS = {
    "unary": msg("Every option by itself, in one report"),
    "split": msg("Every option by itself, with a part of the epsilon"),
}
"""Ways that are compared and cannot be chosen."""
_REPORTED = {
    "shares": msg("the shares of all options"),
    "mean": msg("the mean"),
    "cumulative": msg("the cumulative shares"),
}
_AT_PLANNING = msg(
    "Compared by the variance of one option's share, the option being ticked by {share:g} % of people; where most "
    "people tick it, the order can differ.",
    share=100 * PLANNING_SHARE,
)


@dataclass(frozen=True)
class Candidate:
    """One way to randomize, and how many answers it needs for the same margin, as a multiple of the best one's."""

    mechanism: str
    respondents: float
    parameters: dict[str, Any] = field(default_factory=dict)
    margin: float | None = None
    recorded_as_chosen: float | None = None
    note: str = ""

    @property
    def label(self) -> str:
        """What the pages call it."""
        mechanism = MECHANISMS.get(self.mechanism)
        if mechanism:
            return mechanism.label
        return _OTHERS.get(self.mechanism, self.mechanism.replace("_", " ").capitalize())


@dataclass(frozen=True)
class Recommendation(PlottedResult):
    """The mechanism to use, one sentence why, and every candidate (best first).

    Attributes
    ----------
    proof
        How far the recommended channel can be from the best one that exists; empty where nothing is proved.
    criterion
        The truth at which all candidates are compared, and what of.
    """

    json_keys = ("mechanism", "reason", "proof", "criterion", "candidates")
    words = "respondents for the same margin, the best = 1"
    plotted_column = "respondents"
    from_zero = True

    mechanism: str
    reason: str
    candidates: tuple[Candidate, ...]
    proof: str = ""
    criterion: str = ""

    def to_frame(self) -> pd.DataFrame:
        """Return the candidates as a table, best first."""
        import pandas as pd

        return pd.DataFrame([vars(candidate) for candidate in self.candidates])

    def _picture(self) -> pd.DataFrame:
        return self.to_frame().set_axis([candidate.label for candidate in self.candidates])

    def _caption(self) -> str:
        return self.reason


@dataclass(frozen=True)
class _PlannedAnswers(Answers):
    """Answers of which only their number is known, and what will be reported."""

    kind: Kind
    reported: str | None
    at_most: int | None
    tabulates_pairs: bool = False

    @property
    def pairs(self) -> bool:
        """Whether two options shall be seen together."""
        return self.tabulates_pairs

    @property
    def target(self) -> str | None:
        """What will be reported."""
        return self.reported

    @property
    def optimum(self) -> tuple[str, bool]:
        """What the best channel is best for."""
        return self.kind.optimum(self.reported)

    def about(self) -> dict[str, Any]:
        """Return how many options may be ticked."""
        return {"at_most": self.at_most}


def recommend(
    kind: str,
    options: int = 2,
    epsilon: float = 1.0,
    *,
    target: str | None = None,
    at_most: int | None = None,
    pairs: bool = False,
    n: int = 1000,
    level: float = 0.95,
    share: float | None = None,
    decoy_share: Number = "1/4",
) -> Recommendation:
    """Recommend a mechanism for a question, say why, and show how many answers each one needs that could be used.

    Parameters
    ----------
    kind
        The kind of question: yes_no, choice, scale, number, multiple.
    options
        Its options or points; for a number the grid points (21) or bins.
    epsilon
        What every candidate spends on the device, so that the number of answers alone decides.
    target
        What will be reported, where the kind lets you choose; its default otherwise.
    at_most
        How many options may be ticked.
    pairs
        Of a tick list: whether pairs of options and the number ticked are wanted, so that people are asked about at
        least two.

    Examples
    --------
    >>> recommend("choice", 1000, 1.0).mechanism
    'subset'
    """
    question_kind = KINDS.get(kind)
    if question_kind is None:
        raise AnalysisError(
            msg("kind {kind!r} is not a kind of question", kind=kind),
            msg("use {known}", known=" or ".join(KINDS)),
        )
    reported = target or next(iter(question_kind.targets), None)
    if target is not None and target not in question_kind.targets:
        remedy: str = msg("leave the target out")
        if question_kind.targets:
            remedy = f"use one of: {', '.join(question_kind.targets)}"
        raise AnalysisError(
            msg("target is {target!r}, which a {kind} question does not have", target=target, kind=kind),
            remedy,
        )
    if pairs and not question_kind.several:
        raise AnalysisError(
            msg("pairs is for tick lists, and a {kind} question has one answer", kind=kind), "leave it out"
        )
    if question_kind.yes_or_no:
        options = 2
    else:
        options = whole_number(options, "options", 2)
    answers = _PlannedAnswers(("",) * options, question_kind, reported, at_most, pairs)
    return recommend_for(
        question_kind, answers, options, epsilon, n=n, level=level, share=share, decoy_share=decoy_share
    )


def recommend_for(
    kind: Kind,
    answers: Answers,
    rows: int,
    epsilon: float,
    *,
    n: int = 1000,
    level: float = 0.95,
    share: float | None = None,
    decoy_share: Number = "1/4",
) -> Recommendation:
    """Recommend a mechanism for the answers of a question, which have `rows` rows."""
    advised = recommended_for(kind, answers, rows, epsilon).name
    criterion = _at_uniform("shares")
    if kind.several:
        at_most = answers.about()["at_most"]
        variances, criterion = _for_sets(rows, at_most, epsilon, answers.pairs), _AT_PLANNING
    elif kind.yes_or_no and rows == 2:
        return _for_yes_no(kind, advised, epsilon, n=n, level=level, share=share, decoy_share=decoy_share)
    elif rows > _MOST_DESIGNED:
        variances = _for_shares(kind, rows, epsilon)
    else:
        return _designed(kind, advised, answers.optimum, rows, epsilon, n=n, level=level, share=share)
    ranked = _ranked(variances)
    reason = _reason(kind, advised, ranked, rows)
    if answers.pairs:
        alone = _for_sets(rows, answers.about()["at_most"], epsilon, False)
        times = dict(variances)[advised] / min(variance for _, variance in alone)
        if times > 1.0:
            pairs = msg(
                "Pairs need two options of each person and cost {times:.1f} times as many people.",
                times=times,
            )
            reason = joined(" ", [reason, pairs])
    return Recommendation(advised, reason, ranked, "", criterion)


def _designed(
    kind: Kind,
    advised: str,
    optimum: tuple[str, bool],
    rows: int,
    epsilon: float,
    n: int,
    level: float,
    share: float | None,
) -> Recommendation:
    from hushpoll_analysis.planning.best_channel import design

    target, worst = optimum
    best = design(options=rows, epsilon=epsilon, target=target, worst=worst)
    ready = {best.mechanism.name: best.mechanism}

    def planned(name: str) -> tuple[float | None, float | None]:
        if name not in ready and name not in PLANNED:
            return None, None
        mechanism = ready.get(name) or build(name, rows, epsilon, {})
        planned_margin = plan(mechanism, n=n, level=level, share=share, target=target)
        return planned_margin.margin, planned_margin.recorded_as_chosen

    fitting = {mechanism.name for mechanism in kind.mechanisms}
    listed = [
        Candidate(
            candidate["mechanism"],
            candidate["respondents"],
            {"epsilon": epsilon},
            *planned(candidate["mechanism"]),
        )
        for candidate in best.candidates
        if candidate["mechanism"] in fitting or candidate["mechanism"] not in MECHANISMS
    ]
    # Of two that are as good the recommended one comes first.
    ranked = tuple(
        sorted(
            listed, key=lambda offered: offered.respondents * (1.0 - _TIE * (offered.mechanism == advised))
        )
    )
    if worst:
        criterion = _at_worst(_REPORTED["mean"])
    else:
        criterion = _at_uniform(target)
    reason = _reason(kind, advised, ranked, rows)
    return Recommendation(advised, reason, ranked, _proof(best.n_variance, best.bound), criterion)


def _proof(reached: float, bound: float | None) -> str:
    if bound is None or not bound > 0.0:
        return ""
    gap = rounded_up(max(100.0 * (1.0 - bound / reached), 0.01), 1)
    return msg(
        "Proved: no way to randomize with this epsilon needs more than {gap} % fewer answers.", gap=gap
    )


def _at_uniform(target: str) -> Message:
    return msg(
        "Compared by the variance of {what}, all answers being equally frequent.", what=_REPORTED[target]
    )


def _at_worst(what: Message) -> Message:
    return msg("Compared by the variance of {what}, each way at the truth that is worst for it.", what=what)


def _for_shares(kind: Kind, rows: int, epsilon: float) -> list[tuple[str, float]]:
    """Return n times the variance, summed over the shares at the uniform truth, of all that need only an epsilon."""
    simple = [
        mechanism
        for mechanism in kind.fitting(rows)
        if mechanism.recompiled and not any(parameter.alone for parameter in mechanism.declared_parameters)
    ]
    return [
        (mechanism.name, _variance(build(mechanism.name, rows, epsilon, {}), 1.0 / rows))
        for mechanism in simple
    ]


def _for_sets(options: int, at_most: int | None, epsilon: float, pairs: bool) -> list[tuple[str, float]]:
    """Return n times the variance of one option's share at the planning share; of ways that tell pairs where wanted."""
    tried: list[Mechanism] = [sampled([2] * options, epsilon, best_ask(options, epsilon, 1 + pairs))]
    if at_most is not None and not pairs:
        tried.append(padded(options, epsilon, at_most))
    variances = [(mechanism.name, _variance(mechanism, PLANNING_SHARE)) for mechanism in tried]
    return [*variances, ("split", _split_variance(options, epsilon))]


def _variance(mechanism: Mechanism, share: float) -> float:
    return spread(mechanism, TARGETS[0]).unit_variance(share)


def _split_variance(options: int, epsilon: float) -> float:
    """Return it for a coin on every option, each with epsilon / m: s (1 - s) + w (1 - w) / (1 - 2w)^2."""
    wrong = 1.0 / (math.exp(epsilon / options) + 1.0)
    return PLANNING_SHARE * (1.0 - PLANNING_SHARE) + wrong * (1.0 - wrong) / (1.0 - 2.0 * wrong) ** 2


def _ranked(variances: Iterable[tuple[str, float]]) -> tuple[Candidate, ...]:
    listed = sorted(variances, key=lambda pair: pair[1])
    return tuple(Candidate(name, variance / listed[0][1]) for name, variance in listed)


def _for_yes_no(
    kind: Kind, advised: str, epsilon: float, n: int, level: float, share: float | None, decoy_share: Number
) -> Recommendation:
    """Compare the device's own coin with the decoy designs, by the margins of the share of Yes."""
    allowed_parameters = {"epsilon", "decoy_share", "decoy_counts"}
    decoys = [
        mechanism
        for mechanism in kind.mechanisms
        if mechanism.has_decoy
        and {parameter.name for parameter in mechanism.declared_parameters} <= allowed_parameters
    ]
    plans = []
    for compared in [MECHANISMS[advised], *decoys]:
        parameters: dict[str, Any]
        parameters = {}
        if compared.has_decoy:
            parameters = {"decoy_share": decoy_share}
        planned = plan(compared.name, 2, epsilon=epsilon, n=n, level=level, share=share, **parameters)
        spelled = {"epsilon": epsilon, **{key: str(value) for key, value in parameters.items()}}
        plans.append((planned, spelled))
    plans.sort(key=lambda pair: pair[0].margin)
    best = plans[0][0]
    ranked = tuple(
        Candidate(
            planned.mechanism,
            (planned.margin / best.margin) ** 2,
            spelled,
            planned.margin,
            planned.recorded_as_chosen,
            planned.epsilon_note,
        )
        for planned, spelled in plans
    )
    reason = msg(
        "{label} has the smallest margin for a yes/no question at epsilon {epsilon:g}, and its epsilon comes from the "
        "device's own coin, whatever an onlooker knows.",
        label=constant(ranked[0].label),
        epsilon=epsilon,
    )
    of_yes = msg("the share of Yes")
    if share is None:
        criterion = _at_worst(of_yes)
    else:
        criterion = msg(
            "Compared by the variance of {what}, at a true share of {share:g}.", what=of_yes, share=share
        )
    return Recommendation(best.mechanism, reason, ranked, "", criterion)


def _reason(kind: Kind, advised: str, ranked: tuple[Candidate, ...], rows: int) -> str:
    """Return in one sentence how many answers the recommended way saves, against the plain one and the next best."""
    chosen = next(candidate for candidate in ranked if candidate.mechanism == advised)
    alternatives = [candidate for candidate in ranked if candidate is not chosen]
    if not alternatives:
        return msg("“{label}” is the only way to randomize this question.", label=constant(chosen.label))
    plain, following = _plain(kind, alternatives, rows), alternatives[0]
    fewer, next_fewer = _fewer(chosen, plain), _fewer(chosen, following)
    if fewer < 1:
        return msg(
            "“{label}” needs as few answers as any other way that was compared.", label=constant(chosen.label)
        )
    figures: dict[str, Any] = {
        "label": constant(chosen.label),
        "fewer": fewer,
        "plain": constant(plain.label),
        "following": constant(following.label),
    }
    if following is plain:
        return msg("“{label}” needs {fewer} % fewer answers than “{plain}” for the same margin.", **figures)
    if next_fewer < 1:
        return msg(
            "“{label}” needs {fewer} % fewer answers than “{plain}” for the same margin; the next best, “{following}”, "
            "needs about as few.",
            **figures,
        )
    return msg(
        "“{label}” needs {fewer} % fewer answers than “{plain}” for the same margin, and {next_fewer} % fewer than the "
        "next best, “{following}”.",
        next_fewer=next_fewer,
        **figures,
    )


def _plain(kind: Kind, alternatives: list[Candidate], rows: int) -> Candidate:
    """Return the way that one would think of first: the first that fits the kind, for ticks each option by itself."""
    named = {candidate.mechanism: candidate for candidate in alternatives}
    first = next(
        (named[mechanism.name] for mechanism in kind.fitting(rows) if mechanism.name in named),
        alternatives[0],
    )
    if kind.several:
        return alternatives[-1]
    return first


def _fewer(chosen: Candidate, other: Candidate) -> int:
    """Return the percentage of answers saved, a promise and so rounded down."""
    return math.floor(100.0 * (1.0 - chosen.respondents / other.respondents) + 1e-9)
