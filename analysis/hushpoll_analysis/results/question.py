"""One question of a report: its estimates, and the sentences that belong to the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client.messages import msg
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.view import set_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.option_shares import Pair, PartsEstimate, figures, read_option_reports
from hushpoll_analysis.estimand.quantiles import Quantile
from hushpoll_analysis.estimand.share_estimates import ShareEstimates
from hushpoll_analysis.estimand.shares import read_share_sample
from hushpoll_analysis.estimates import Estimate
from hushpoll_analysis.interval.student import critical
from hushpoll_analysis.planning.shuffle import ShuffledEpsilon, shuffled_epsilon
from hushpoll_analysis.result import PlottedResult, as_json
from hushpoll_analysis.sample.released import AT_ONCE
from hushpoll_analysis.sample.sample import Sample, read_sample
from hushpoll_analysis.sample.tally import Tally, total_of
from hushpoll_analysis.validity.sensitivity import Sensitivity

from .compliance import sensitivity_of
from .follow_up import likeliest_among_asked, shares_among_asked
from .method import question_note
from .numbers import Numbers, numbers_of
from .remarks import DISHONEST, remarks
from .respondents import Respondents
from .rows import FRAME_COLUMNS, question_rows
from .sampled import SampledQuestion
from .validity import LONG_LIST, TOP


@dataclass(frozen=True, kw_only=True)
class ReportedShare(Estimate):
    """The estimated share of one option with what a report adds to it: a row of a question's table.

    Attributes
    ----------
    simultaneous : Estimate
        The same share with limits that hold for all options together.
    constrained : float
        The likeliest share with every share possible at once.
    dishonest_shift : float
        How far a few people who send a chosen report could move the estimate.
    z : float
        The normal quantile of the level.
    """

    simultaneous: Estimate
    constrained: float
    dishonest_shift: float
    z: float

    @classmethod
    def of(
        cls, entry: Estimate, simultaneous: Estimate, *, constrained: float, dishonest_shift: float, z: float
    ) -> ReportedShare:
        """Return an estimate as a row of a question's table."""
        values = {name.name: getattr(entry, name.name) for name in fields(Estimate)}
        return cls(
            **values, simultaneous=simultaneous, constrained=constrained, dishonest_shift=dishonest_shift, z=z
        )

    @property
    def shown_estimate(self) -> float:
        """The estimate, cut to [0, 1]."""
        return self.shown.estimate

    @property
    def shown_low(self) -> float:
        """The lower limit, cut to [0, 1]."""
        return self.shown.low

    @property
    def shown_high(self) -> float:
        """The upper limit, cut to [0, 1]."""
        return self.shown.high

    @property
    def privacy_low(self) -> float:
        """The lower limit for these very respondents (normal, randomization only), cut to [0, 1]."""
        return min(1.0, max(0.0, self.estimate - self.z * self.se_privacy))

    @property
    def privacy_high(self) -> float:
        """The upper limit for these very respondents (normal, randomization only), cut to [0, 1]."""
        return min(1.0, max(0.0, self.estimate + self.z * self.se_privacy))

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the JSON contract, with what the report adds to it."""
        return {
            **as_json(super().to_dict()),
            "simultaneous": as_json({"low": self.simultaneous.low, "high": self.simultaneous.high}),
            "constrained": self.constrained,
            "dishonest_shift": self.dishonest_shift,
        }


@dataclass(frozen=True)
class QuestionResults(PlottedResult):
    """One question: its counts, and its estimates unless there are too few reports.

    `lines` are the shares, `numbers` what follows from the order of the answers or from their being numbers. A question
    whose reports determine a mean only has no lines.
    """

    question: Question
    n: int
    counts: tuple[int, ...]
    shares: tuple[ReportedShare, ...]
    estimate: ShareEstimates | PartsEstimate | None
    numbers: Numbers | None = None
    smallest: int | None = None
    """The reports of the smallest group that is shown beside the total, where groups are."""
    batch: float | None = None
    """The fewest reports that were released together; infinite where all were; None where nobody knows."""
    weighted: bool = False
    """Whether respondents stand for different numbers of people."""
    among_asked: tuple[ReportedShare, ...] = ()
    """The shares among those who were asked, where the question has a skip rule; `lines` are of everybody."""

    @property
    def id(self) -> str:
        """The question's id."""
        return self.question.id

    @property
    def ranked(self) -> tuple[ReportedShare, ...]:
        """The shares as they are shown: the largest first, unless the answers have an order of their own."""
        if not self.is_ranked:
            return self.shares
        return tuple(sorted(self.shares, key=lambda line: -line.estimate))

    @property
    def all_shares(self) -> tuple[ReportedShare, ...]:
        """The shares among those asked, where there are, and those among all respondents."""
        return (*self.among_asked, *self.shares)

    @property
    def is_ranked(self) -> bool:
        """Whether the shares are shown by size."""
        return len(self.shares) > 1 and not self.question.answers.ordered and not self.question.kind.yes_or_no

    @property
    def reports_are_options(self) -> bool:
        """Whether a report names an option."""
        return self.question.mechanism.reports_are_answers

    @property
    def privacy(self) -> str:
        """What this question's epsilon promises."""
        return question_note(self.question)

    @cached_property
    def shuffled(self) -> ShuffledEpsilon | None:
        """What this question's totals reveal of one person, if no report can be linked; None where unbounded.

        Where it is not known how reports were released, it holds if that was at once.
        """
        epsilon = self.question.epsilon
        if not (math.isfinite(epsilon) and self.n):
            return None
        return shuffled_epsilon(epsilon, self.released, variation=_variation(self.question))

    @property
    def released(self) -> int:
        """Among how many reports a person hides, at the least: all, those of a group, or those released together."""
        sizes = [self.n, *([] if self.smallest is None else [self.smallest])]
        if self.batch is not None and self.batch != AT_ONCE:
            # Of a batch chance decides how many were asked a question of a block: nothing is certain.
            sizes.append(int(self.batch) if self.question.block is None else 1)
        return min(sizes)

    @property
    def design_effect(self) -> float | None:
        """Variance over that of direct answers, summed over options; None where direct answers would not vary."""
        if self.estimate is None:
            return None
        direct = sum(line.constrained * (1 - line.constrained) for line in self.shares) / (self.n - 1)
        if direct > 1e-12:
            return sum(line.se**2 for line in self.shares) / direct
        return None

    @property
    def n_effective(self) -> float | None:
        """How many direct answers would be as precise."""
        effect = self.design_effect
        if effect is None:
            return None
        return self.n / effect

    @property
    def is_estimated(self) -> bool:
        """Whether there is anything but counts."""
        return bool(self.shares) or self.numbers is not None

    @cached_property
    def top(self) -> tuple[ReportedShare, ...]:
        """The largest shares of a long list; none of a short one."""
        if len(self.shares) <= LONG_LIST:
            return ()
        return self.ranked[:TOP]

    @cached_property
    def shown_shares(self) -> tuple[ReportedShare, ...]:
        """The shares that figures show: of a long list the largest."""
        return self.top or self.ranked

    @cached_property
    def shown_among_asked(self) -> tuple[ReportedShare, ...]:
        """The shares among those asked that figures show: of a long list the largest."""
        lines = self.among_asked
        if self.is_ranked:
            lines = tuple(sorted(lines, key=lambda line: -line.estimate))
        if self.top:
            return lines[: len(self.top)]
        return lines

    @cached_property
    def ticked(self) -> Estimate | None:
        """The mean number of options that a person ticks; None where the reports do not tell it."""
        if isinstance(self.estimate, PartsEstimate):
            return self.estimate.number_ticked()
        return None

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Pairs of options, where reports speak of two at once; of a long list they would be too many to read."""
        several = isinstance(self.estimate, PartsEstimate) and len(self.shares) <= LONG_LIST
        return self.estimate.pairs() if several else ()  # type: ignore[union-attr]

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """How the share of Yes, or the largest one, would move with careless and self-protective answers."""
        return sensitivity_of(self)

    @property
    def interval(self) -> str | None:
        """The method of the intervals."""
        if self.estimate is not None:
            return self.estimate.interval
        if self.numbers is None or self.numbers.mean is None:
            return None
        return self.numbers.mean.interval

    def quantile(self, p: float) -> Quantile:
        """Estimate a quantile; refused where answers have no order or the reports do not determine it."""
        if self.numbers is None:
            raise AnalysisError(
                msg('question "{question}", kind: its answers have no order', question=self.id),
                "ask for shares instead of quantiles",
            )
        return self.numbers.need(self.id, f"the {p:g} quantile")[p]

    @property
    def dishonest_weight(self) -> float:
        """How many honest reports one dishonest report can outweigh, at most."""
        return max((line.weight for line in self.shares), default=math.nan)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know about the numbers, one sentence each."""
        if self.is_estimated:
            return tuple(remarks(self))
        return ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per estimate, in the columns of the whole report's table."""
        columns = [name for name in FRAME_COLUMNS if name not in ("question", "level")]
        return pd.DataFrame(question_rows(self), columns=columns).set_index("option")

    def plot(self, axes: Any = None) -> Any:
        """Draw the shares with matplotlib, or the mean where there are none, and give the axes."""
        from .figures import draw_question

        return draw_question(self, axes)

    def _caption(self) -> str:
        return f"{self.question.text} ({self.n:,} reports; the figures are estimates of true answers)"

    def to_dict(self) -> dict[str, Any]:
        """Return the question in the JSON contract."""
        mechanism = self.question.mechanism
        # Whoever reads a number reads no condition beside it.
        if self.batch is None:
            shuffled = None
        else:
            shuffled = self.shuffled
        return {
            "id": self.id,
            "text": self.question.text,
            "kind": self.question.kind.name,
            "mechanism": mechanism.name,
            "epsilon": as_json(mechanism.epsilon),
            "epsilon_note": mechanism.epsilon_note,
            "epsilon_conditional": mechanism.epsilon_conditional,
            "epsilon_shuffled": None if shuffled is None else shuffled.epsilon,
            "epsilon_shuffled_delta": None if shuffled is None else shuffled.delta,
            **({} if self.question.block is None else {"block": self.question.block, "n": self.n}),
            # The counts of a few are their reports.
            "counts_reported": list(self.counts) if self.is_estimated else [],
            "interval": self.interval,
            "design_effect": self.design_effect,
            "n_effective": self.n_effective,
            "dishonest_weight": None if self.estimate is None else self.dishonest_weight,
            "estimates": [line.to_dict() for line in self.shares],
            **(
                {}
                if self.question.after is None
                else {"among_asked": [share.to_dict() for share in self.among_asked]}
            ),
            **({"top": [line.to_dict() for line in self.top]} if self.top else {}),
            **({} if self.ticked is None else {"ticked": figures(self.ticked)}),
            **({"pairs": [pair.to_dict() for pair in self.pairs]} if self.pairs else {}),
            **({} if self.numbers is None else self.numbers.to_dict()),
            **({} if self.sensitivity is None else {"sensitivity": self.sensitivity.to_dict()}),
            "notes": list(self.remarks),
        }


def question_results(
    question: Question,
    counted: Tally,
    level: float,
    interval: str,
    enough: bool,
    minimum: int = 0,
    population: float | None = None,
    respondents: Respondents | None = None,
) -> QuestionResults:
    """Estimate one question, or only keep its counts when there are too few reports."""
    cells = counted.counts[question.id]
    counts = tuple(int(count) for count in cells)
    results = QuestionResults(question, counted.n, counts, (), None)
    if not enough or total_of(question, cells) < min(minimum, counted.n):
        return results
    if question.channel.listed:
        results = replace(results, n=total_of(question, cells))
    if respondents is not None:
        reports = SampledQuestion(question, counted, respondents.of(question.id), level, interval)
        return replace(_of_rows(results, reports), weighted=True)
    if question.channel.listed:
        return _of_counts(results, level, interval, population)
    return _in_parts(results, level, interval, population)


def _of_counts(
    results: QuestionResults, level: float, interval: str, population: float | None
) -> QuestionResults:
    """Estimate from counts of reports that name one answer each."""
    question = results.question
    if question.kind.yes_or_no and question.after is None:
        labels = None
    else:
        labels = question.labels
    sample = read_share_sample(results.counts, question.mechanism, labels, population)
    results = replace(results, numbers=numbers_of(question, sample, level, interval))
    # Where numbers were rounded at random, the rows are not answers whose shares anybody asked for.
    if sample.shares is None or question.answers.spacing:
        return results
    tables = [sample.table(level, interval, simultaneous=together) for together in (False, True)]
    results = _with_shares(results, tables, sample.likeliest.tolist())
    return _with_among_asked(results, sample, level, interval)


def _of_rows(results: QuestionResults, reports: SampledQuestion) -> QuestionResults:
    """Estimate under a sample design, from the respondents who were asked."""
    question, tables = results.question, list[ShareEstimates | PartsEstimate]()
    if question.channel.listed:
        results = replace(results, numbers=reports.numbers)
        if reports.sample.shares is None or question.answers.spacing:
            return results
        tables += [reports.table(simultaneous=together) for together in (False, True)]
    else:
        if set_view(question.mechanism) is not None:
            results = replace(results, numbers=reports.numbers)
        if question.answers.spacing:
            return results
        tables += [reports.option_table(simultaneous=together) for together in (False, True)]
    results = _with_shares(results, tables, tables[0].possible_shares().tolist())
    # A ratio of two options needs reports whole.
    if question.after is None or not reports.has_whole_reports:
        return results
    return _with_among_asked(results, reports.sample, reports.level, reports.interval)


def _in_parts(
    results: QuestionResults, level: float, interval: str, population: float | None
) -> QuestionResults:
    """Estimate options one by one, where reports speak of several at once, and what follows from their order."""
    question, sample = results.question, None
    if set_view(question.mechanism) is not None or question.after is not None:
        sample = read_sample(results.counts, question.mechanism, population=population)
    if sample is not None and set_view(question.mechanism) is not None:
        results = replace(results, numbers=numbers_of(question, sample, level, interval))
    if question.answers.spacing:
        return results
    reports = read_option_reports(results.counts, question.mechanism, question.labels, population)
    tables = [reports.table(level, interval, simultaneous=together) for together in (False, True)]
    results = _with_shares(results, tables, tables[0].possible_shares().tolist())
    if sample is None:
        return results
    return _with_among_asked(results, sample, level, interval)


def _with_shares(
    results: QuestionResults, tables: Sequence[ShareEstimates | PartsEstimate], likeliest: list[float]
) -> QuestionResults:
    """Add the shares; `tables` have each interval alone and all of them together."""
    alone, together = tables
    constrained = dict(zip(results.question.labels, likeliest, strict=True))
    z = critical(alone.level)
    shares = tuple(
        ReportedShare.of(
            entry,
            both,
            constrained=constrained[entry.option],
            dishonest_shift=_shift(alone, entry),
            z=z,
        )
        for entry, both in zip(alone.estimates, together.estimates, strict=True)
    )
    return replace(results, shares=shares, estimate=alone)


def _with_among_asked(
    results: QuestionResults, sample: Sample, level: float, interval: str
) -> QuestionResults:
    """Add the shares among those asked to the results of a question with a skip rule."""
    if results.question.after is None:
        return results
    entries = shares_among_asked(results.question, sample, level, interval)
    possible = likeliest_among_asked([share.constrained for share in results.shares])
    z = critical(level)
    shares = tuple(
        ReportedShare.of(entry, together, constrained=share, dishonest_shift=DISHONEST * entry.weight, z=z)
        for (entry, together), share in zip(entries, possible, strict=False)
    )
    return replace(results, among_asked=shares)


def _shift(table: ShareEstimates | PartsEstimate, entry: Estimate) -> float:
    possible = table.report_weights(entry.option)
    share = entry.shown.estimate
    return DISHONEST * max(float(np.max(possible)) - share, share - float(np.min(possible)))


_LONG = 64  # answers beyond which two rows are not compared with all others


def _variation(question: Question) -> float:
    """Return the total variation of a question's reports; 0, which claims nothing, where that would be long to find."""
    if len(question.labels) > _LONG:
        return 0.0
    ((_, variation),) = question.channel.profile([0])
    return variation
