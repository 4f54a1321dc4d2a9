"""Estimates where a report speaks of several options at once: for each a small channel and its own n."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from hushpoll_client import Channel
from hushpoll_client.messages import msg

from hushpoll_analysis.channel.base import Floats, Sampler
from hushpoll_analysis.channel.maximum_likelihood import nearest_on_simplex
from hushpoll_analysis.channel.parts import Marginal
from hushpoll_analysis.channel.view import analysis_channel, channel_view, sampler
from hushpoll_analysis.counts import Counts, check_level, level_of_each, whole_numbers
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimates import (
    Estimate,
    EstimateTable,
    Shown,
    estimates_of,
    largest_shares,
    linear_estimate,
)
from hushpoll_analysis.interval import AUTO, Resampling, interval_method, method_for
from hushpoll_analysis.interval.mover import Mover, correlations, sum_limits
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.interval.student import critical
from hushpoll_analysis.sample.sample import CountedSample, read_sample, sampled_fraction

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client.mechanism import Mechanism

_YES = 1


@dataclass(frozen=True)
class Pair:
    """How often two options are ticked together."""

    first: str
    second: str
    neither: Estimate
    only_second: Estimate
    only_first: Estimate
    both: Estimate

    def to_dict(self) -> dict[str, Any]:
        """Return the two options, and for each combination the figures of the JSON contract."""
        cells = ("both", "only_first", "only_second", "neither")
        return {"options": [self.first, self.second]} | {cell: figures(getattr(self, cell)) for cell in cells}


def figures(entry: Estimate) -> dict[str, Any]:
    """Return the figures of an estimate without what only a share by itself has."""
    values = entry.to_dict()
    return {key: values[key] for key in ("estimate", "se", "low", "high", "shown", "se_privacy", "interval")}


@dataclass(frozen=True, repr=False, kw_only=True)
class PartsEstimate(EstimateTable):
    """Estimated shares of options that are estimated one by one; made by `estimate`.

    Attributes
    ----------
    estimates : tuple of Estimate
        One entry per option; `reported` is None, because a report is not an option.
    asked : tuple of int
        How many reports say something about each option.
    """

    notebook_columns = ("shown_estimate", "shown_low", "shown_high", "se", "se_privacy", "asked")

    asked: tuple[int, ...]
    one_choice: bool
    fraction: float = 0.0
    """The fraction of a finite population that was asked; 0 for one without end."""
    reports: OptionReports = field(repr=False, compare=False)

    @property
    def shares(self) -> Floats:
        """The unbiased shares of all options."""
        return np.array([entry.estimate for entry in self.estimates])

    def possible_shares(self) -> Floats:
        """Return shares within [0, 1].

        Where one option is chosen also summing to one (nearest point of the simplex).
        """
        if self.one_choice:
            return nearest_on_simplex(self.shares)
        return np.clip(self.shares, 0.0, 1.0)

    def report_weights(self, option: str) -> Floats:
        """Return the weights b of the reports about an option: one report moves its estimate by b/n."""
        marginal = sampler(self.channel).parts[self.options.index(option)]
        view = channel_view(marginal.channel)
        return view.solution(view.unit(_YES))

    def top(self, k: int = 10) -> tuple[Estimate, ...]:
        """Return the k options with the largest estimates.

        Their intervals hold together, whichever options these are.
        """
        return tuple(
            entry for _, entry in largest_shares(self.reports.quantities, self.options, k, self.level)
        )

    def together(self) -> PartsEstimate:
        """Return the same estimates with intervals that hold for all options at once."""
        return self.reports.table(
            self.level, self.interval_requested, simultaneous=True, resampling=self.resampling
        )

    def pair(self, first: str, second: str) -> tuple[Estimate, ...]:
        """Estimate how often two options are ticked together: neither, only the second, only the first, both.

        Only reports that speak of both tell it, so the design has to ask each person about at least two options.
        """
        positions = [self._place(option) for option in (first, second)]
        low, high = sorted(positions)
        design = sampler(self.channel)
        matching = next((pair for pair in design.pairs if pair.members == (low, high)), None)
        if low == high or matching is None:
            raise AnalysisError(
                f'pair: no report speaks of "{first}" and "{second}" together',
                "name two options, of a question that was published with ask of 2 or more",
            )
        first_option, other = self.options[low], self.options[high]
        names = ("neither", f"only {other}", f"only {first_option}", "both")
        sample = read_sample(matching.counts(np.asarray(self.counts)), matching.channel)
        quantities = [sample.quantity(sample.view.unit(cell)) for cell in range(4)]
        method = method_for(quantities, self.interval_requested)
        order = (0, 2, 1, 3)
        if positions == [low, high]:
            order = (0, 1, 2, 3)
        return tuple(
            linear_estimate(quantities[cell], names[cell], None, method.name, self.level, self.resampling)
            for cell in order
        )

    def pairs(self) -> tuple[Pair, ...]:
        """Estimate all pairs of options that reports speak of together; none where people are asked about one each."""
        estimated = []
        for marginal in sampler(self.channel).pairs:
            first, second = (self.options[position] for position in marginal.members)
            if int(marginal.counts(np.asarray(self.counts)).sum()) >= 2:
                estimated.append(Pair(first, second, *self.pair(first, second)))
        return tuple(estimated)

    def _place(self, option: str) -> int:
        if option not in self.options:
            raise AnalysisError(f"option: {option!r} is none of {', '.join(self.options[:12])}")
        return self.options.index(option)

    def number_ticked(self) -> Estimate | None:
        """Estimate the mean number of options that a person ticks; None where one person's reports do not tell it."""
        design = sampler(self.channel)
        if self.one_choice or not design.pairs:
            return None
        return _number_ticked(design, np.asarray(self.counts), self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per option; `asked` is how many reports say something about it."""
        frame = super().to_frame()
        frame["asked"] = frame.pop("asked")
        return frame

    def _entries(self) -> list[dict[str, Any]]:
        return [
            entry.to_dict() | {"asked": count}
            for entry, count in zip(self.estimates, self.asked, strict=True)
        ]

    def _covariance(self) -> Floats:
        design = sampler(self.channel)
        if self.one_choice or not design.pairs:
            raise AnalysisError(
                "the joint covariance of these options is not estimated",
                "use the standard errors of to_frame(); top() has intervals that hold together",
            )
        sampling, _ = _covariances(design, np.asarray(self.counts), self)
        np.fill_diagonal(sampling, [entry.se**2 for entry in self.estimates])
        return sampling


def estimate_parts(
    counts: npt.ArrayLike,
    mechanism: Channel | Mechanism,
    level: float = 0.95,
    interval: str = AUTO,
    simultaneous: bool = False,
    options: Sequence[str] | None = None,
    resampling: Resampling = Resampling(),  # noqa: B008  (frozen)
    population: float | None = None,
) -> PartsEstimate:
    """Estimate the share of every option from reports that speak of several options at once.

    Counts are of a set of options how many reports hold each; of one of several items how often each item and each
    dummy was reported; of openly sampled answers how often each report came. Or they are those that `report` keeps.
    """
    check_level(level)
    interval_method(interval)
    reports = read_option_reports(counts, mechanism, options, population)
    return reports.table(level, interval, simultaneous=simultaneous, resampling=resampling)


@dataclass(frozen=True, eq=False, kw_only=True)
class OptionReports:
    """Reports that speak of several options at once, read and checked once."""

    name: str
    channel: Channel
    cells: Counts
    labels: tuple[str, ...]
    asked: tuple[int, ...]
    """How many reports say something about each option."""
    epsilon: float
    epsilon_note: str
    fraction: float
    """The fraction of a finite population that was asked; 0 for one without end."""

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The share of each option."""
        return [_quantity(marginal, self.cells, self.fraction) for marginal in sampler(self.channel).parts]

    def estimates(
        self, level: float, interval: str, *, simultaneous: bool = False, resampling: Resampling
    ) -> tuple[tuple[Estimate, ...], str]:
        """Return the share of each option, and the method of its interval."""
        count = len(self.quantities)
        method = method_for(self.quantities, interval, simultaneous and count > 1)
        each_level = level_of_each(level, count, simultaneous)
        return estimates_of(self.quantities, self.labels, method, each_level, resampling), method.name

    def table(
        self,
        level: float,
        interval: str,
        *,
        simultaneous: bool = False,
        resampling: Resampling = Resampling(),  # noqa: B008  (frozen)
    ) -> PartsEstimate:
        """Return the table of shares with intervals of a level, each alone or all together."""
        design = sampler(self.channel)
        estimates, method = self.estimates(level, interval, simultaneous=simultaneous, resampling=resampling)
        return PartsEstimate(
            mechanism=self.name,
            channel=self.channel,
            counts=tuple(int(cell) for cell in self.cells),
            n=design.total(self.cells),
            level=level,
            interval=method,
            interval_requested=interval,
            simultaneous=simultaneous,
            epsilon=self.epsilon,
            epsilon_note=self.epsilon_note,
            options=self.labels,
            asked=self.asked,
            estimates=estimates,
            notes=_notes(design, estimates),
            one_choice=not self.channel.several,
            resampling=resampling,
            fraction=self.fraction,
            reports=self,
        )


def read_option_reports(
    counts: npt.ArrayLike,
    mechanism: Channel | Mechanism,
    options: Sequence[str] | None = None,
    population: float | None = None,
) -> OptionReports:
    """Check counts of reports that speak of several options at once."""
    channel = analysis_channel(mechanism)
    design = sampler(channel)
    cells = design.from_counts(whole_numbers(counts, "counts"))
    if options is None:
        labels = tuple(str(k) for k in range(len(design.parts)))
    else:
        labels = tuple(options)
    if len(labels) != len(design.parts):
        raise AnalysisError(
            f"options: {len(design.parts)} labels expected, one per option, got {len(labels)}"
        )
    sizes = tuple(int(marginal.counts(cells).sum()) for marginal in design.parts)
    if min(sizes) < 2:
        few = labels[sizes.index(min(sizes))]
        raise AnalysisError(f'counts: fewer than two reports speak of "{few}"', "at least 2 are needed")
    bare = isinstance(mechanism, Channel)
    return OptionReports(
        name=channel.form if bare else mechanism.name,  # type: ignore[union-attr]
        channel=channel,
        cells=cells,
        labels=labels,
        asked=sizes,
        epsilon=mechanism.epsilon,
        epsilon_note="" if bare else mechanism.epsilon_note,  # type: ignore[union-attr]
        fraction=sampled_fraction(population, design.total(cells)),
    )


def _quantity(marginal: Marginal, cells: Counts, fraction: float) -> Quantity:
    view = channel_view(marginal.channel)
    # Where an open coin chose whom to ask, so much less of the population was asked.
    sample = CountedSample(view, marginal.counts(cells), fraction=fraction * marginal.asked)
    return sample.quantity(view.unit(_YES))


def _number_ticked(design: Sampler, cells: Counts, table: PartsEstimate) -> Estimate:
    """Return the mean number ticked: the sum of the shares, with the limits of each joined by their correlation."""
    entries, _ = table.reports.estimates(table.level, table.interval_requested, resampling=table.resampling)
    errors = np.array([entry.se for entry in entries])
    sampling, privacy = _covariances(design, cells, table)
    np.fill_diagonal(sampling, errors**2)
    np.fill_diagonal(privacy, [entry.se_privacy**2 for entry in entries])
    mean, se = float(table.shares.sum()), math.sqrt(max(float(sampling.sum()), 0.0))
    half = critical(table.level) * se
    low, high = sum_limits(entries, correlations(sampling, errors))
    # Rare ticks in each of many options have limits that are too near when they are added up.
    low, high = min(low, mean - half), max(high, mean + half)
    base, most = entries[0], float(len(table.options))
    inside = (min(most, max(0.0, value)) for value in (mean, low, high))
    return replace(
        base,
        option="number ticked",
        estimate=mean,
        se=se,
        low=low,
        high=high,
        shown=Shown(*inside),
        se_privacy=math.sqrt(max(float(privacy.sum()), 0.0)),
        interval=Mover.name,
        misfit=None,
        design_effect=None,
        n_effective=None,
        limits_at=None,
    )


def _covariances(design: Sampler, cells: Counts, table: PartsEstimate) -> tuple[Floats, Floats]:
    """Return the covariances of two options' shares, and what the randomization makes of each, off the diagonal.

    Two items of one report are randomized together: the mean product of their weights exceeds the share of both by
    what the coins add. Of N people n_i were asked about one option, n_j about the other and n_ij about both: the people
    themselves add S (n_ij / (n_i n_j) - 1 / N), with S the covariance of their true answers.
    """
    sampling, privacy = np.zeros((2, len(table.options), len(table.options)))
    weights = table.report_weights(table.options[0])
    for pair in design.pairs:
        counts = pair.counts(cells).reshape(2, 2)
        n, (i, j) = int(counts.sum()), pair.members
        if n < 2:
            continue
        frequencies, view = counts / n, channel_view(pair.channel)
        together = float(weights @ frequencies @ weights)
        both = float(view.shares(frequencies.reshape(-1))[-1])
        apart = float(weights @ frequencies.sum(axis=1)) * float(weights @ frequencies.sum(axis=0))
        overlap = n / (table.asked[i] * table.asked[j])
        coins, people = together - both, both - apart
        privacy[i, j] = privacy[j, i] = overlap * coins
        sampling[i, j] = sampling[j, i] = overlap * coins + (overlap - table.fraction / table.n) * people
    return sampling, privacy


def asked_notes(design: Sampler) -> tuple[str, ...]:
    """Return how many reports speak of an option, where not all of them do."""
    if all(marginal.asked >= 1 for marginal in design.parts):
        return ()
    note = msg(
        "Each person is asked about some of the options, drawn by an open coin: {percent:.0f} % of the reports "
        "speak of any one of them.",
        percent=100 * float(design.parts[0].asked),
    )
    return (note,)


def _notes(design: Sampler, estimates: Sequence[Estimate]) -> tuple[str, ...]:
    notes = [*asked_notes(design)]
    if design.pairs and notes:
        notes.append(
            msg(
                "Pairs are estimated from the reports that speak of both options, which are fewer: their sums need not "
                "be the share of either option."
            )
        )
    if any(not 0 <= entry.estimate <= 1 for entry in estimates):
        notes.append(
            msg(
                "An estimate below 0 or above 1 is chance, not an error. Shown values are cut to the possible ones; "
                "compute with the unclipped ones."
            )
        )
    return tuple(notes)
