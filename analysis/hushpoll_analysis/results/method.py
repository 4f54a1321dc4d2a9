"""The method in words: formulas, notes on privacy, and references that a paper can take over."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from hushpoll_client import Block, Mechanism, Question, Survey
from hushpoll_client.formatting import epsilon_text, factor_text, number_text
from hushpoll_client.mechanism.decoy import CONDITION, UNBOUNDED_IF_KNOWN
from hushpoll_client.mechanism.matrix import Matrix
from hushpoll_client.mechanism.warner import Warner
from hushpoll_client.messages import constant, joined, msg

from hushpoll_analysis.interval import AUTO, WEIGHTED_INTERVALS, design_method, interval_method

Used = tuple[type[Mechanism], bool]
"""A mechanism, and whether the device flips what it gives."""


@dataclass(frozen=True)
class Formula:
    """One step of the method: what it gives, the formula, and what its letters mean."""

    title: str
    formula: str
    words: str


@dataclass(frozen=True)
class Method:
    """The method paragraph of a report, the formulas behind it and the works it rests on."""

    paragraph: str
    formulas: tuple[Formula, ...]
    references: tuple[str, ...]


WORKS = {
    "wilson": "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of "
    "the American Statistical Association 22, 209–212.",
    "bonferroni": "Miller, R. G. (1981). Simultaneous Statistical Inference, 2nd edition. Springer.",
    "dp": "Dwork, C., Roth, A. (2014). The algorithmic foundations of differential privacy. Foundations and Trends in "
    "Theoretical Computer Science 9, 211–407.",
    "ldp": "Duchi, J. C., Jordan, M. I., Wainwright, M. J. (2013). Local privacy and statistical minimax rates. 54th "
    "Annual Symposium on Foundations of Computer Science, 429–438.",
    "em": "Dempster, A. P., Laird, N. M., Rubin, D. B. (1977). Maximum likelihood from incomplete data via the EM "
    "algorithm. Journal of the Royal Statistical Society B 39, 1–38.",
    "kish": "Kish, L. (1965). Survey Sampling. Wiley.",
    "manipulation": "Cheu, A., Smith, A., Ullman, J. (2021). Manipulation attacks in local differential privacy. "
    "IEEE Symposium on Security and Privacy, 883–900.",
    "variation ratio": "Wang, S., Peng, Y., Li, J., Wen, Z., Li, Z., Yu, S., Wang, D., Yang, W. (2023). Privacy "
    "amplification via shuffling: unified, simplified, and tightened. arXiv 2304.05007.",
    "shuffle": "Feldman, V., McMillan, A., Talwar, K. (2021). Hiding among the clones: a simple and nearly optimal "
    "analysis of privacy amplification by shuffling. 62nd Annual Symposium on Foundations of Computer Science, "
    "954–964.",
}
WOODRUFF = (
    "Woodruff, R. S. (1952). Confidence intervals for medians and other position measures. Journal of the American "
    "Statistical Association 47, 635–646."
)
DESIGNS = {
    "weights": msg("weights"),
    "margins": msg("weights raked to known margins"),
    "strata": msg("strata"),
    "clusters": msg("clusters"),
}
BINDER = (
    "Binder, D. A. (1983). On the variances of asymptotically normal estimators from complex surveys. International "
    "Statistical Review 51, 279–292."
)
KORN = (
    "Korn, E. L., Graubard, B. I. (1998). Confidence intervals for proportions with small expected number of positive "
    "counts estimated from survey data. Survey Methodology 24, 193–201."
)
FLIPPED = msg(", whose report is then sent as it is with probability φ and otherwise as its opposite")


def method_of(
    survey: Survey,
    n: int | None,
    level: float,
    by: str | None = None,
    interval: str = "auto",
    sample: Collection[str] = (),
) -> Method:
    """Write the method of a report on `n` complete reports of `survey`; `sample` names what its design consists of.

    Where too few reports (None) were there to estimate from, the paragraph says how they were made and nothing else.
    """
    used = [question.mechanism for question in survey.questions]
    designs = list(dict.fromkeys((type(mechanism), flips(mechanism)) for mechanism in used))
    estimated = any(mechanism.decoy_counts is not None for mechanism in used)
    paragraph = _randomized(survey, designs)
    if n is not None:
        paragraph = joined(" ", [paragraph, _estimated(survey, n, level, interval, sample)])
    return Method(
        paragraph,
        (*_formulas(designs, estimated, by), *_among_asked(survey)),
        (*_references(designs, by, _has_quantiles(survey)), *((BINDER, KORN) if _weighted(sample) else ())),
    )


def flips(mechanism: Mechanism) -> bool:
    """Return whether the device flips the bit that a decoy design gives, by Warner's design."""
    return mechanism.has_decoy and "epsilon" in mechanism.parameters


def percent(share: float, digits: int = 1) -> str:
    """Write a share as a percentage with a true minus sign."""
    return msg("{number} %", number=number_text(100 * share, f".{digits}f", plain_zero=True))


def between(low: float, high: float) -> str:
    """Write an interval of shares."""
    ends = [number_text(100 * end, ".1f", plain_zero=True) for end in (low, high)]
    return msg("{low} – {high} %", low=ends[0], high=ends[1])


def question_note(question: Question | Block) -> str:
    """Return in one sentence what this question's epsilon promises, and under which condition."""
    mechanism = question.mechanism
    note = _plain_note(mechanism)
    if math.isinf(mechanism.epsilon):
        return msg("ε is {note}.", note=constant(note) if note else msg("unbounded"))
    values = {"epsilon": epsilon_text(mechanism.epsilon, 2), "factor": factor_text(mechanism.epsilon)}
    if note:
        return msg(
            "ε = {epsilon}: one report changes anybody's odds by a factor of at most {factor} ({note}).",
            note=constant(note),
            **values,
        )
    return msg("ε = {epsilon}: one report changes anybody's odds by a factor of at most {factor}.", **values)


def total_note(survey: Survey) -> str:
    """Return what the whole survey promises."""
    unbounded = [entry.id for entry in survey.entries if math.isinf(entry.epsilon)]
    count = len(survey.questions) - sum(len(block.questions) - block.ask for block in survey.blocks)
    if not unbounded:
        total = epsilon_text(survey.epsilon_total, 2)
        if len(survey.entries) > 1:
            return msg(
                "The {count} answers of one person add up to ε = {total} (sequential composition).",
                count=count,
                total=total,
            )
        return msg("One person's report has ε = {total}.", total=total)
    bounded = sum(entry.epsilon for entry in survey.entries if math.isfinite(entry.epsilon))
    names = ", ".join(unbounded)
    if not bounded:
        return msg(
            "The total is unbounded because of {names}, whose reports can reveal an answer.", names=names
        )
    return msg(
        "The total is unbounded because of {names}, whose reports can reveal an answer; the other questions add up to "
        "ε = {total}.",
        names=names,
        total=epsilon_text(bounded, 2),
    )


def _plain_note(mechanism: Mechanism) -> str:
    if mechanism.epsilon_conditional is None:
        return mechanism.epsilon_note
    # A conditional figure never stands without its condition.
    condition = UNBOUNDED_IF_KNOWN
    if math.isfinite(mechanism.epsilon):
        condition = msg("unconditional")
    return msg(
        "{known}; a conditional ε = {epsilon} {condition}",
        known=condition,
        epsilon=epsilon_text(mechanism.epsilon_conditional, 2),
        condition=CONDITION,
    )


def _randomized(survey: Survey, used: Iterable[Used]) -> str:
    designs = [
        joined("", [constant(mechanism.design), *([FLIPPED] if flip else [])]) for mechanism, flip in used
    ]
    if math.isfinite(survey.epsilon_total):
        total = msg(
            "The total privacy loss per respondent is ε = {epsilon}",
            epsilon=epsilon_text(survey.epsilon_total, 2),
        )
    else:
        total = msg("The privacy loss per respondent is unbounded for the questions marked so")
    return msg(
        "Answers were randomized on the respondents' devices before transmission (local differential privacy) by "
        "{designs}; the randomization probabilities are integers out of 2⁵³, fixed in the survey definition with "
        "SHA-256 {hash}. {total}.",
        designs=_listed(designs),
        hash=survey.hash,
        total=total,
    )


def _estimated(survey: Survey, n: int, level: float, interval: str, sample: Collection[str]) -> str:
    return msg(
        "Shares were estimated from n = {n:,} complete randomized reports by inverting the known randomization, which "
        "is {bias} and may give values outside [0, 1]; these are kept for further calculation and cut at 0 and 1 for "
        "display only. {errors}; those marked “privacy only” contain the randomization alone and describe the "
        "uncertainty about these respondents{decoys}. Intervals at the {level:g} % level are {intervals}; "
        "simultaneous intervals use the Bonferroni correction{bands}.",
        n=n,
        bias=_bias(survey),
        errors=_errors(sample),
        decoys=_decoys(survey),
        level=100 * level,
        intervals=_intervals(interval, sample),
        bands=_bands(survey),
    )


def _bias(survey: Survey) -> str:
    """Return how the estimates relate to the truth: a counted decoy makes a ratio of them."""
    if any(question.mechanism.decoy_counts is not None for question in survey.questions):
        return msg("unbiased (consistent for the questions whose decoy's share was itself estimated)")
    return msg("unbiased")


def _weighted(sample: Collection[str]) -> bool:
    """Return whether there is more of a sample design than a population alone."""
    return bool(set(sample) - {"population"})


def _errors(sample: Collection[str]) -> str:
    finite = ""
    if "population" in sample:
        finite = msg(
            ", in a finite population: the part of the sampling shrinks by the fraction that was asked, that of the "
            "randomization stays"
        )
    if not _weighted(sample):
        return msg(
            "Standard errors contain sampling and randomization (n − 1 in the denominator){finite}",
            finite=finite,
        )
    if "replicates" in sample:
        return msg(
            "Estimates are weighted; standard errors contain sampling and randomization, from replicate weights"
        )
    return msg(
        "Estimates take the sample design into account ({parts}); standard errors contain sampling and randomization, "
        "by linearisation with primary units drawn with replacement (Binder 1983){finite}",
        parts=_listed([DESIGNS[key] for key in DESIGNS if key in sample]),
        finite=finite,
    )


def _intervals(interval: str, sample: Collection[str]) -> str:
    if not _weighted(sample):
        return interval_method(interval).description
    if interval in WEIGHTED_INTERVALS:
        return design_method(interval).description
    return design_method(AUTO).description


def _has_quantiles(survey: Survey) -> bool:
    """Return whether some question has ordered answers whose shares its reports can tell."""
    return any(
        question.kind.targets and not question.answers.spacing and question.mechanism.tells_only is None
        for question in survey.questions
    )


def _bands(survey: Survey) -> str:
    if not _has_quantiles(survey):
        return ""
    return msg(
        ", bands of cumulative shares the largest deviation of all of them under their joint covariance; quantiles "
        "invert the intervals of the cumulative shares (Woodruff 1952)"
    )


def _decoys(survey: Survey) -> str:
    if all(question.mechanism.decoy_counts is None for question in survey.questions):
        return ""
    return msg(" (where a decoy's share was estimated, both contain its error too)")


def _formulas(designs: list[Used], estimated: bool, by: str | None) -> Iterable[Formula]:
    for mechanism, flip in designs:
        if flip:
            undone = mechanism.formula.replace("(f", "(s") + ",   s = (f − (1 − φ)) / (2φ − 1)"
            words = msg(
                "{symbols}; s: the share before the flip; φ: probability that the device does not flip",
                symbols=constant(mechanism.symbols),
            )
            yield Formula(msg("Estimate ({name}, then flipped)", name=mechanism.name), undone, words)
        else:
            yield Formula(
                msg("Estimate ({name})", name=mechanism.name), mechanism.formula, constant(mechanism.symbols)
            )
    yield Formula(
        msg("Standard error, sampling and privacy"),
        "SE² = (Σ_z b_z² f_z − (Σ_z b_z f_z)²) / (n − 1)",
        msg(
            "b: the estimator's weight of report z, so that the estimate is Σ b_z f_z and C b picks the option"
        ),
    )
    yield Formula(
        msg("Standard error, privacy only"),
        "SE² = (1/n) Σ_x ĥ_x Var(b_z | x)",
        msg(
            "the composition of these respondents is taken as fixed; ĥ: the unbiased estimates. It can exceed the "
            "other standard error where an estimate lies outside [0, 1], since the part left out, p̂(1 − p̂), is "
            "negative there"
        ),
    )
    if estimated:
        yield Formula(
            msg("Decoy share estimated from m answers, added to both"),
            "SE² + (∂p̂/∂q)² q (1 − q) / m",
            msg(
                "q: the decoy's share of Yes, yes / m (delta method); for the OR-poll ∂p̂/∂q = −(1 − f) / (1 − q)²"
            ),
        )
    yield Formula(
        msg("Design effect and effective sample size"),
        "deff = Σ_k Var(ĥ_k) / (Σ_k h_k (1 − h_k) / (n − 1)),   n_eff = n / deff",
        msg(
            "n_eff direct answers without randomization would be as precise (Kish); h: the constrained estimate"
        ),
    )
    yield Formula(
        msg("One dishonest report"),
        msg(
            "weight = max_z |b_z|;   shift at 1 % dishonest = {share:g} · max(max_z b_z − ĥ, ĥ − min_z b_z)",
            share=0.01,
        ),
        msg("the most that people who send a chosen report can move the figure"),
    )
    if by:
        yield Formula(
            msg("Shares within groups"),
            "E[F] = A′ H B,   Ĥ = A⁻¹′ F B⁻¹",
            msg(
                "F: joint report frequencies, A and B: the two randomization tables, H: joint true shares (rows: "
                "groups)"
            ),
        )


def _among_asked(survey: Survey) -> Iterable[Formula]:
    if any(question.after is not None for question in survey.questions):
        yield Formula(
            msg("Share among those asked a follow-up question"),
            "ĝ_k = ĥ_k / (1 − ĥ_K)",
            msg(
                "ĥ_K: the share to whom the question does not apply. The interval holds each ratio R for which 0 is "
                "not rejected as the value of h_k − R (1 − h_K)"
            ),
        )


def _references(designs: list[Used], by: str | None, quantiles: bool) -> Iterable[str]:
    works = [mechanism.citation for mechanism, _ in designs]
    works += [Warner.citation] if any(flip for _, flip in designs) else []
    works += [Matrix.citation] if by else []
    works += [WOODRUFF] if quantiles else []
    return sorted(dict.fromkeys([*works, *WORKS.values()]))


def _listed(items: Sequence[str]) -> str:
    if len(items) == 1:
        return items[0]
    return msg("{first} and {second}", first=joined(", ", items[:-1]), second=items[-1])
