"""Estimates corrected for careless answers, by an anchor question whose true share is known.

A share r of the respondents answers at random among the K options, so the observed share is p = (1 - r) pi + r/K. The
anchor, whose true share is pi_0, tells r = (p_0 - pi_0)/(1/K_0 - pi_0).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.arguments import by_name
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.view import analysis_channel
from hushpoll_analysis.counts import check_level, finite_numbers
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimates import Shown
from hushpoll_analysis.result import as_json
from hushpoll_analysis.sample.columns import Mechanisms, check_names
from hushpoll_analysis.sample.design_keywords import SampleKeys, takes_sample
from hushpoll_analysis.sample.missing import takes_missing
from hushpoll_analysis.sample.option_columns import each_option, options_of, with_yes_no
from hushpoll_analysis.sample.row_designs import Designs, with_designs
from hushpoll_analysis.sample.share_table import ShareTable
from hushpoll_analysis.tables.joint import JointReports
from hushpoll_analysis.tables.reading import read_joint
from hushpoll_analysis.tidy import keeps_call
from hushpoll_analysis.validity.fieller import (
    Anchor,
    AnchoredShare,
    Careless,
    corrected_mean,
    corrected_share,
    read_anchor,
)

ROUNDED = 0.005
"""How far chances with few digits may miss their sum: .333 three times."""


@dataclass(frozen=True)
class Anchored(ShareTable[AnchoredShare]):
    """Shares of one question, corrected for careless answers.

    `estimate`, `low` and `high` are unclipped; an interval without an end has infinite limits, because nearly all
    respondents could have answered at random.
    """

    question: str
    anchor: str
    anchor_share: float
    n: int
    level: float
    careless: Careless
    shares: tuple[AnchoredShare, ...]
    notes: tuple[str, ...]
    quantity: str = "share"
    """What the entries are: shares of answers, or one "mean"."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values: None stands for a limit that does not exist."""
        return {
            "question": self.question,
            "quantity": self.quantity,
            "anchor": self.anchor,
            "anchor_share": self.anchor_share,
            "n": self.n,
            "level": self.level,
            "careless": as_json(self.careless),
            "estimates": as_json(self.shares),
            "notes": list(self.notes),
        }

    def _words(self) -> str:
        return f"corrected {self.quantity}, {self.level:.0%} interval"


@keeps_call
@takes_missing
@takes_sample
def anchored(
    reports: pd.DataFrame | npt.ArrayLike,
    mechanisms: Mechanisms,
    question: str,
    anchor: str,
    share: float = 0.0,
    *,
    option: Any = None,
    anchor_option: Any = None,
    values: npt.ArrayLike | None = None,
    chances: Sequence[float] | None = None,
    labels: Mapping[str, Sequence[Any]] | None = None,
    level: float = 0.95,
    designs: Designs | None = None,
    sample: SampleKeys,
) -> Anchored:
    r"""Correct the shares of a question for people who answered at random, by an anchor of known share.

    Parameters
    ----------
    reports, mechanisms, labels, weights, strata, clusters, margins, designs, population, replicates
        As in `crosstab`, with the question first and the anchor second in joint counts.
    question
        What to estimate.
    anchor
        The question whose true share is known: no one has the trait (`share` 0), or the question says what to answer
        (`share` 1, an instructed answer, which may be asked without randomizing: it holds nothing sensitive).
    share
        The known share of the anchor's answer.
    option
        One answer of the question; by default Yes of a yes/no question, and every answer otherwise.
    anchor_option
        The anchor's answer whose share is known; by default Yes.
    values
        The number that each answer stands for: correct their mean in place of the shares. A careless answer is then the
        middle of the range on average.
    chances
        How often careless people give each answer; by default all of them alike, and any option of a list of ticks in
        half of the cases. Who decides at random whether a question with a skip rule is shown to them chooses "does not
        apply" as often as that happens.

    Returns
    -------
    Anchored

    Notes
    -----
    :math:`\hat\pi = (\hat p - \hat r/K)/(1 - \hat r)`. The interval is Fieller's: all :math:`\pi` with
    :math:`|\hat p - \pi + \hat r(\pi - 1/K)| \le z \sqrt{V_p + (\pi - 1/K)^2 V_r + 2 (\pi - 1/K) C_{pr}}`, with the
    covariance of both questions; where all reports of one are the same, the limits of its share stand for its
    standard error. The careless share has the interval that `estimate` gives the anchor's share. Taking r as known
    would cover 89 % in place of 95 %. **Assumes** that the same people are careless in both questions, and that these
    pick every option alike. With two options and a symmetric channel (warner, crosswise) a random answer and a random
    report are the same, so this is the bias-corrected crosswise estimate with anchor.

    References
    ----------
    Atsusaka, Stevenson, "A bias-corrected estimator for the crosswise model with inattentive respondents", Political
    Analysis 31 (2023); Fieller, JRSS B 16 (1954).
    """
    check_level(level)
    check_names([question, anchor], "question and anchor")
    mechanisms = with_designs(mechanisms, designs, reports, question)
    labels = by_name(labels, "labels")
    options = options_of(question, mechanisms, labels)
    labels = with_yes_no([question, anchor], mechanisms, labels)
    if options:
        chosen = options
        if option is not None:
            chosen = (_one_of(option, options, question),)
        parts = _read_parts(reports, mechanisms, (question, anchor), chosen, sample, labels)
        option_chances = _of_options(mechanisms, question, options)
        if chances is not None:
            option_chances = _checked(chances, options, question).tolist()
        chosen_chances = [option_chances[options.index(name)] for name in chosen]
        return anchored_parts(parts, question, share, anchor_option, level, chosen_chances)
    if isinstance(reports, pd.DataFrame):
        reports, sample = sample.among_asked(reports, mechanisms, [question, anchor])
    design = sample.design_of(reports)
    if values is not None:
        joint = read_joint(reports, mechanisms, [question, anchor], design, labels, [question])
        return anchored_mean(joint, values, share, anchor_option, level)
    joint = read_joint(reports, mechanisms, [question, anchor], design, labels)
    if chances is None and isinstance(mechanisms, Survey):
        chances = [float(chance) for chance in careless_chances(mechanisms, mechanisms.question(question))]
    return anchored_joint(joint, share, option, anchor_option, level, chances)


def careless_chances(survey: Survey, question: Question) -> list[Fraction]:
    """Return how often careless people give each true answer, "does not apply" last where there is a rule."""
    chances_if_shown = question.answers.chances
    if question.after is None:
        return list(chances_if_shown)
    before = survey.question(question.after.question)
    chances = dict(zip(before.labels, careless_chances(survey, before), strict=True))
    chance_shown = sum((chances[answer] for answer in question.after.answers), Fraction(0))
    return [*(chance_shown * chance for chance in chances_if_shown), 1 - chance_shown]


def _read_parts(
    reports: Any,
    mechanisms: Mechanisms,
    names: tuple[str, str],
    options: Sequence[str],
    sample: SampleKeys,
    labels: Mapping[str, Sequence[Any]] | None,
) -> list[tuple[str, JointReports]]:
    """Read what the reports say of each option and the anchor, which is the second axis of counts."""
    question, anchor = names
    reports, sample = sample.in_frame(reports)
    joints = []
    for option, rows, channels, labels_of_option in each_option(
        reports, mechanisms, question, names, labels, options
    ):
        pair = [f"{question}[{option}]", anchor]
        joints.append((option, read_joint(rows, channels, pair, sample.design_of(rows), labels_of_option)))
    return joints


def _of_options(mechanisms: Mechanisms, question: str, options: Sequence[str]) -> list[float]:
    """Return how often careless people choose, or tick, each option."""
    if isinstance(mechanisms, Survey):
        return [float(chance) for chance in careless_chances(mechanisms, mechanisms.question(question))]
    several = analysis_channel(mechanisms[question]).several
    return [0.5 if several else 1.0 / len(options)] * len(options)


def _checked(chances: Any, options: Sequence[Any], name: str, total: float | None = None) -> Floats:
    """Read how often careless people give each answer; of answers that exclude each other this has a total."""
    proportions = finite_numbers(chances, "chances")
    if len(proportions) != len(options):
        raise AnalysisError(
            f"chances: {len(proportions)} given for the {len(options)} answers of {name}", "give one for each"
        )
    if (
        proportions.min() < 0.0
        or proportions.max() > 1.0
        or (total is not None and abs(proportions.sum() - total) > ROUNDED)
    ):
        together = ""
        if total is not None:
            together = f" that sum to {total:g}"
        raise AnalysisError(f"chances: {proportions.tolist()}", f"give proportions of 0 to 1{together}")
    return proportions


def _one_of(option: Any, options: Sequence[str], name: str) -> str:
    if option not in options:
        raise AnalysisError(f"{name} has no answer {option!r}", f"its answers are {', '.join(options[:12])}")
    return str(option)


def anchored_joint(
    joint: JointReports,
    share: float,
    option: Any,
    anchor_option: Any,
    level: float,
    chances: Sequence[float] | None = None,
) -> Anchored:
    """Correct the shares of the first variable of joint reports by the second.

    `chances` says how often careless people give each answer; by default all of them alike.
    """
    question, anchor_variable = joint.variables
    anchor = read_anchor(anchor_variable, share, anchor_option)
    if chances is None:
        known_chances = np.full(len(question.labels), 1.0 / len(question.labels))
    else:
        known_chances = _checked(chances, question.labels, question.name, 1.0)
    shares = []
    for k in question.chosen(option):
        careless, corrected = corrected_share(joint, k, anchor, float(known_chances[k]), level)
        shares.append(corrected)
    return _result(joint, anchor, level, careless, shares)


def anchored_parts(
    parts: Sequence[tuple[Any, JointReports]],
    name: str,
    share: float,
    anchor_option: Any,
    level: float,
    chances: Sequence[float],
) -> Anchored:
    """Correct options that are estimated one by one, each from the joint reports of the option and the anchor."""
    shares: list[AnchoredShare] = []
    notes: list[str] = []
    for (option, joint), chance in zip(parts, chances, strict=True):
        alone = anchored_joint(joint, share, None, anchor_option, level, (1.0 - chance, chance))
        shares.append(replace(alone.shares[0], option=option))
        notes += alone.notes
    return replace(alone, question=name, shares=tuple(shares), notes=tuple(dict.fromkeys(notes)))


def anchored_mean(
    joint: JointReports, values: npt.ArrayLike, share: float, anchor_option: Any, level: float
) -> Anchored:
    """Correct the mean of the first variable; careless answers average the middle of the range."""
    numbers = finite_numbers(values, "values")
    if len(numbers) != len(joint.variables[0].labels):
        raise AnalysisError(
            f"values: {len(numbers)} given for {len(joint.variables[0].labels)} answers", "give one for each"
        )
    anchor = read_anchor(joint.variables[1], share, anchor_option)
    low, high = float(numbers.min()), float(numbers.max())
    careless, mean = corrected_mean(joint, numbers, anchor, (low + high) / 2.0, level)
    limits = (min(max(value, low), high) for value in (mean.estimate, mean.low, mean.high))
    mean = replace(mean, shown=Shown(*limits))
    return replace(_result(joint, anchor, level, careless, [mean]), quantity="mean")


def _result(
    joint: JointReports, anchor: Anchor, level: float, careless: Careless, shares: Sequence[AnchoredShare]
) -> Anchored:
    question, anchor_variable = joint.variables
    notes = (*joint.notes(), *_notes(careless, shares))
    return Anchored(
        question=question.name,
        anchor=anchor_variable.name,
        anchor_share=anchor.share,
        n=joint.n,
        level=level,
        careless=careless,
        shares=tuple(shares),
        notes=notes,
    )


def _notes(careless: Careless, shares: Sequence[AnchoredShare]) -> list[str]:
    notes = []
    if careless.estimate < 0.0:
        notes.append(
            "The anchor came out on the far side of its known share, which is chance: the estimated share of careless "
            "answers is below 0, and the correction goes the other way by a little."
        )
    if careless.estimate >= 1.0:
        notes.append(
            "The anchor is at least as far off as if everybody had answered at random, so nothing is left to correct; "
            "check that the anchor's share is known."
        )
    if careless.se == 0.0 or any(share.uncorrected_se == 0.0 for share in shares):
        notes.append(
            "All reports of the question or of the anchor are the same, so a standard error is 0 and says nothing; "
            "intervals of shares are made from the limits of the frequency, and that of a mean is too narrow."
        )
    if any(math.isinf(share.low) for share in shares):
        notes.append(
            "Nearly everybody could have answered at random, so the corrected interval has no end: the data say "
            "nothing about the share."
        )
    return notes
