"""A report of a weighted, stratified or clustered sample: every question's estimates under its design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from hushpoll_client.messages import msg
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import Floats, Sampler
from hushpoll_analysis.channel.maximum_likelihood import maximise
from hushpoll_analysis.channel.view import analysis_channel, sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.constrained import ConstrainedEstimate
from hushpoll_analysis.estimand.option_shares import Pair, PartsEstimate, asked_notes, estimate_parts
from hushpoll_analysis.estimand.share_estimates import ShareEstimates
from hushpoll_analysis.estimates import Estimate, largest_shares
from hushpoll_analysis.interval import Resampling, quantity_method
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.sample.design_keywords import SampleKeys
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
    worth: tuple[Quantity, ...] = field(repr=False, compare=False)
    """Each share with the counts that its interval used."""
    degrees_of_freedom: int

    def top(self, k: int = 10) -> tuple[Estimate, ...]:
        """Return the k options with the largest estimates.

        Their intervals hold together, whichever options these are.
        """
        return _largest(self.estimates, self.worth, k, self.level)

    def constrained(self) -> ConstrainedEstimate:
        """Shares that make the weighted reports likeliest: never negative, summing to one."""
        counts = self.sample.reports.frequencies * self.n
        start = np.full(self.view.options, 1.0 / self.view.options)
        maximum = maximise(counts, self.view.forward, self.view.backward, start)
        return ConstrainedEstimate(
            self.counts, maximum.shares, maximum.log_likelihood, float("nan"), maximum.gap, maximum.converged
        )

    def functional(
        self, target: npt.ArrayLike, label: str = "quantity", interval: str | None = None
    ) -> Estimate:
        """Estimate a.h with its linearised standard error, and an interval at the effective size with t."""
        method = quantity_method(interval or self.interval_requested)
        plain: Estimate = self.sample.plainly(super().functional(target, label, method))
        return plain

    def gap(self, first: str | int, second: str | int) -> tuple[float, float]:
        """Return the difference of two shares and its standard error alone."""
        difference, error = super().gap(first, second)
        return difference, error * self.sample.shrink

    def covariance(self) -> Floats:
        """Linearised covariance of the shares of all options."""
        if self.decoy is not None or self.sample.reports.design.fractions is not None:
            raise AnalysisError(
                "the covariance is not estimated for a finite population or a decoy whose share was estimated",
                "use the standard errors of to_frame()",
            )
        return self.sample.covariance(np.eye(self.view.options))

    def _target_quantity(self, target: Floats) -> Quantity:
        return self.sample.quantity(target)

    def _covariance(self) -> Floats:
        positions = [self._place(entry.option) for entry in self.estimates]
        return self.covariance()[np.ix_(positions, positions)]


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
        keys = SampleKeys(**self.rows[1])
        return design_sample(self.rows[0], question.mechanism, question.id, keys, self.level, spacing)

    @property
    def numbers(self) -> Numbers | None:
        """Mean, cumulative shares and quantiles."""
        if not has_numbers(self.question):
            return None
        numbers = numbers_of(self.question, self.sample, self.level, quantity_method(self.interval))
        if numbers is None:
            return None
        return _plainly(numbers, self.sample)

    @cached_property
    def _weighted(self) -> WeightedQuestion:
        keys, question = SampleKeys(**self.rows[1]), self.question
        return WeightedQuestion(
            name=question.id,
            labels=question.labels,
            reports=self.sample.reports,
            n=self.sample.n,
            simple=keys.design(self.rows[0]) is None,
        )

    def _each(self, entries: int, *, simultaneous: bool) -> float:
        if simultaneous:
            return 1.0 - (1.0 - self.level) / entries
        return self.level

    def table(self, *, simultaneous: bool) -> SampleEstimate:
        """Return the shares of answers, of which each report names one."""
        question, mechanism = self.question, self.question.mechanism
        options = question.labels
        entries = list(range(len(options)))
        if question.kind.yes_or_no and question.after is None:
            entries = [1]
        weighted = self._weighted.estimate(self._each(len(entries), simultaneous=simultaneous), self.interval)
        counts = tuple(int(count) for count in self.counted.counts[question.id])
        reports = self._weighted.reports
        view = reports.view
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
            shares=np.array([share.estimate for share in weighted.shares]),
            source=mechanism,
            view=view,
            decoy=reports.decoy,
            resampling=Resampling(),
            sample=self.sample,
            worth=tuple(reports.worth(k, self.level) for k in entries),
            degrees_of_freedom=weighted.degrees_of_freedom,
        )

    @cached_property
    def _options(self) -> list[WeightedQuestion]:
        question, keys = self.question, SampleKeys(**self.rows[1])
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
        each_level = self._each(len(options), simultaneous=simultaneous)
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
            "worth": tuple(option.reports.worth(1, self.level) for option in self._options),
            "degrees_of_freedom": first.degrees_of_freedom,
        }
        return SampleParts(**values)


def _plainly(numbers: Numbers, sample: DesignSample) -> Numbers:
    """Take the factor t/z out of the standard errors; limits keep it."""
    if numbers.mean is None:
        mean = None
    else:
        mean = sample.plainly(numbers.mean)
    quantiles, histogram = numbers.quantiles, numbers.histogram
    if quantiles is not None:
        cumulative = quantiles.cumulative
        plain = replace(
            cumulative,
            estimates=tuple(sample.plainly(estimate) for estimate in cumulative.estimates),
            band=tuple(sample.plainly(estimate) for estimate in cumulative.band),
        )
        quantiles = replace(quantiles, cumulative=plain)
    if histogram is not None:
        histogram = sample.plainly(histogram)
    freedom = sample.reports.design.degrees_of_freedom
    return replace(numbers, mean=mean, quantiles=quantiles, histogram=histogram, freedom=freedom)


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
