"""A report of a weighted, stratified or clustered sample: every question's estimates under its design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from hushpoll_client.messages import msg
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import Floats, Sampler
from hushpoll_analysis.channel.maximum_likelihood import maximise
from hushpoll_analysis.channel.view import analysis_channel, sampler
from hushpoll_analysis.counts import level_of_each
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.constrained import ConstrainedEstimate
from hushpoll_analysis.estimand.option_shares import Pair, PartsEstimate, asked_notes, estimate_parts
from hushpoll_analysis.estimand.share_estimates import ShareEstimates
from hushpoll_analysis.estimates import Estimate, largest_shares
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.sample.design_sample import DesignSample, design_sample
from hushpoll_analysis.sample.option_columns import OPTION, option_rows
from hushpoll_analysis.sample.tally import Tally
from hushpoll_analysis.sample.weighted import (
    WeightedEstimate,
    WeightedQuestion,
    weighted_option,
)

from .numbers import Numbers, has_numbers, numbers_of
from .respondents import MOST_READ, Rows


@dataclass(frozen=True, repr=False, kw_only=True)
class SampleEstimate(ShareEstimates):
    """Estimated shares of one question under a sample design."""

    sample: DesignSample = field(repr=False, compare=False)
    degrees_of_freedom: int

    def top(self, k: int = 10) -> tuple[Estimate, ...]:
        """Return the k options with the largest estimates.

        Their intervals hold together, whichever options these are.
        """
        worth = [self.sample.quantity(self.view.unit(self._place(entry.option))) for entry in self.estimates]
        return _largest(self.estimates, worth, k, self.level)

    def constrained(self) -> ConstrainedEstimate:
        """Shares that make the weighted reports likeliest: never negative, summing to one."""
        counts = self.sample.frequencies * self.n
        start = np.full(self.view.options, 1.0 / self.view.options)
        maximum = maximise(counts, self.view.forward, self.view.backward, start)
        return ConstrainedEstimate(
            self.counts, maximum.shares, maximum.log_likelihood, float("nan"), maximum.gap, maximum.converged
        )


@dataclass(frozen=True, repr=False)
class SampleParts(PartsEstimate):
    """Estimated shares of options, estimated one by one, under a sample design."""

    worth: tuple[Quantity, ...] = field(default=(), repr=False, compare=False)
    degrees_of_freedom: int | None = None

    def top(self, k: int = 10) -> tuple[Estimate, ...]:
        """Return the k options with the largest estimates.

        Their intervals hold together, whichever options these are.
        """
        return _largest(self.estimates, self.worth, k, self.level)

    def _covariance(self) -> Floats:
        """Refuse: the design's covariance needs the rows."""
        raise AnalysisError(
            "under a sample design only variances are estimated", "use the standard errors of to_frame()"
        )

    def together(self) -> PartsEstimate:
        """Refuse: the rows are needed."""
        raise AnalysisError("under a sample design only the shares are estimated", "ask report for them")

    def pair(self, first: str, second: str) -> tuple[Estimate, ...]:
        """Refuse: the rows are needed."""
        raise AnalysisError("under a sample design only the shares are estimated", "leave the weights out")

    def pairs(self) -> tuple[Pair, ...]:
        """Return none: the rows are needed."""
        return ()

    def number_ticked(self) -> Estimate | None:
        """Return nothing: the sum's error needs the rows."""
        return None


@dataclass(frozen=True, eq=False)
class SampledQuestion:
    """The reports of one question under a sample design, read once."""

    question: Question
    counted: Tally
    rows: Rows
    level: float
    interval: str

    @property
    def has_whole_reports(self) -> bool:
        """Whether rows are whole reports: those of very long lists come as one row an option."""
        return OPTION not in self.rows[0].columns

    @cached_property
    def sample(self) -> DesignSample:
        """The reports with their design."""
        question = self.question
        if not self.has_whole_reports:
            raise AnalysisError(
                msg(
                    'question "{question}": its reports are too many different sets to put together, and the mean and '
                    "the quantiles of their answers need them whole",
                    question=question.id,
                ),
                msg(
                    "estimate a random part of at most {most:,} reports, or leave the sample design out",
                    most=MOST_READ,
                ),
            )
        spacing = float(question.answers.spacing)
        frame, keys = self.rows
        return design_sample(frame, question.mechanism, question.id, keys, self.level, spacing)

    @property
    def numbers(self) -> Numbers | None:
        """Mean, cumulative shares and quantiles."""
        if not has_numbers(self.question):
            return None
        return numbers_of(self.question, self.sample, self.level, self.interval)

    @cached_property
    def _weighted(self) -> WeightedQuestion:
        question = self.question
        return WeightedQuestion(
            name=question.id,
            labels=question.labels,
            sample=replace(self.sample, level=None),
        )

    def table(self, *, simultaneous: bool) -> SampleEstimate:
        """Return the shares of answers, of which each report names one."""
        question, mechanism = self.question, self.question.mechanism
        options = question.labels
        entries = list(range(len(options)))
        if question.kind.yes_or_no and question.after is None:
            entries = [1]
        weighted = self._weighted.estimate(
            level_of_each(self.level, len(entries), simultaneous), self.interval
        )
        counts = tuple(int(count) for count in self.counted.counts[question.id])
        view = self.sample.view
        same = view.options == view.outcomes
        return SampleEstimate(
            mechanism=mechanism.name,
            channel=analysis_channel(mechanism),
            counts=counts,
            n=weighted.n,
            level=self.level,
            interval=weighted.interval,
            interval_requested=self.interval,
            simultaneous=simultaneous,
            epsilon=mechanism.epsilon,
            epsilon_note=mechanism.epsilon_note,
            epsilon_conditional=mechanism.epsilon_conditional,
            solution=view.choice,
            options=tuple(options),
            estimates=tuple(
                replace(weighted.shares[k], reported=counts[k] if same else None) for k in entries
            ),
            notes=(_worth(weighted), *weighted.notes),
            sample=self.sample,
            degrees_of_freedom=weighted.degrees_of_freedom,
        )

    @cached_property
    def _options(self) -> list[WeightedQuestion]:
        question, keys = self.question, self.rows[1]
        design = sampler(analysis_channel(question.mechanism))
        rows_of = option_rows(self.rows[0], question.id, design)
        options = []
        for marginal, option in zip(design.parts, question.labels, strict=True):
            rows, codes = rows_of(marginal)
            name, other_options = f"{question.id}[{option}]", len(question.labels) - 1
            options.append(weighted_option(rows, marginal, codes, name, keys, other_options))
        return options

    def option_table(self, *, simultaneous: bool) -> SampleParts:
        """Return the shares of options that are estimated one by one."""
        question = self.question
        options, design = question.labels, sampler(analysis_channel(question.mechanism))
        counts = self.counted.counts[question.id]
        plain = estimate_parts(
            counts, question.mechanism, self.level, simultaneous=simultaneous, options=options
        )
        each_level = level_of_each(self.level, len(options), simultaneous)
        tables = [option.estimate(each_level, self.interval) for option in self._options]
        first = tables[0]
        notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
        values = {entry.name: getattr(plain, entry.name) for entry in fields(plain)} | {
            "interval": first.interval,
            "interval_requested": self.interval,
            "estimates": tuple(
                replace(table.shares[1], option=option) for table, option in zip(tables, options, strict=True)
            ),
            "notes": (_worth(first), *asked_notes(design), *_left_out(question, design), *notes),
            "worth": tuple(option.worth(1, self.level) for option in self._options),
            "degrees_of_freedom": first.degrees_of_freedom,
        }
        return SampleParts(**values)


def _largest(
    entries: Sequence[Estimate], worth: Sequence[Quantity], k: int, level: float
) -> tuple[Estimate, ...]:
    labels = [entry.option for entry in entries]
    return tuple(
        replace(
            entries[position],
            low=listed.low,
            high=listed.high,
            shown=listed.shown,
            interval=listed.interval,
        )
        for position, listed in largest_shares(worth, labels, k, level)
    )


def _left_out(question: Question, design: Sampler) -> tuple[str, ...]:
    """Return what reports without a design have besides the shares."""
    if not design.pairs or not question.channel.several:
        return ()
    return (
        msg(
            "Under a sample design neither pairs of options nor the number of options ticked are estimated; a report "
            "without one has them."
        ),
    )


def _worth(table: WeightedEstimate) -> str:
    return msg(
        "Sample design: {n:,} respondents are worth {effective:,.0f} with equal weights; intervals use t with "
        "{freedom:,} degrees of freedom.",
        n=table.n,
        effective=table.effective_n,
        freedom=table.degrees_of_freedom,
    )
