"""From report counts to estimated true shares with standard errors and intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from hushpoll_client import Channel
from hushpoll_client.messages import joined, msg

from hushpoll_analysis.arguments import listed
from hushpoll_analysis.channel.base import ChannelView
from hushpoll_analysis.channel.decoy import estimated_decoy
from hushpoll_analysis.channel.view import analysis_channel, channel_view
from hushpoll_analysis.counts import (
    answer_names,
    check_level,
    finite_numbers,
    level_of_each,
    read_counts,
    refuse_constant,
    words_of,
)
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.option_shares import estimate_parts
from hushpoll_analysis.estimand.pooled_designs import RESPONDENTS, Mixed
from hushpoll_analysis.estimand.share_estimates import ShareEstimates
from hushpoll_analysis.estimates import Estimate, estimates_of, linear_estimate
from hushpoll_analysis.interval import (
    AUTO,
    IntervalMethod,
    Resampling,
    interval_method,
    is_no_chance,
    method_for,
    substitution_note,
)
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.sample.row_designs import Designs
from hushpoll_analysis.sample.sample import CountedSample, sampled_fraction

if TYPE_CHECKING:
    from hushpoll_client.mechanism import Mechanism

_CHOICES = {"least variance": msg("least variance"), "count-linear": msg("count-linear")}
"""How the solution was chosen where there are several."""


def estimate(
    counts: npt.ArrayLike | Mapping[Any, int],
    mechanism: Channel | Mechanism | npt.ArrayLike | None = None,
    level: float = 0.95,
    interval: str = AUTO,
    simultaneous: bool = False,
    options: Sequence[str] | None = None,
    replicates: int = 2000,
    seed: int = 1,
    *,
    designs: Designs | None = None,
    pooling: str = RESPONDENTS,
    population: float | None = None,
) -> ShareEstimates:
    """Estimate the true shares behind randomized reports.

    With report frequencies f over n reports, the share of option k is estimated without bias by b.f, where C b is the
    k-th unit vector; its variance is (sum b_z^2 f_z - (b.f)^2)/(n - 1). The privacy-only variance is
    (1/n) sum_x h_x Var(b_z | x). With a decoy share q estimated from m answers, (d(b.f)/dq)^2 q(1-q)/m is added; for
    the OR-poll this is ((1-z)/(1-q)^2)^2 q(1-q)/m. The estimate is then a ratio: consistent, not unbiased.

    Parameters
    ----------
    counts : array_like of int, Series or mapping
        Reports in outcome order: No, Yes for yes/no; different, same for crosswise; reds 0, 1, ... for Kuk. A Series
        (such as `value_counts()` gives) or a mapping is taken by its keys: report codes, option labels, or the words
        same and different.
    mechanism : Mechanism or Channel
        What randomized the answers. With `designs`: the name of each row's design.
    level : float
        Confidence level of each interval, or of all together if `simultaneous`.
    interval : {"auto", "wilson", "blaker", "clopper-pearson", "jeffreys", "wald", "score", "mover", "likelihood",
        "bootstrap"}
        "auto" is "wilson" where every report came in at least 15 times, else the exact "blaker". A binomial interval
        becomes "mover" where a decoy's share was estimated, and where the estimate depends on several report
        frequencies (a general table) "wald", or "score" with rare reports; the result names the method used.
        "likelihood" is restricted to possible values.
    simultaneous : bool
        Bonferroni: all entries of the table hold together with probability `level`. "auto" is then exact.
    options : sequence of str, optional
        Labels, one per true answer; every option then gets an entry. Without labels two options mean No and Yes, with
        one entry, Yes.
    replicates, seed : int
        For the bootstrap (percentile). The default seed makes results repeat; change it to see the simulation error.
    designs : mapping, optional
        A mechanism for each name (None: asked directly), where people went through different ones. Give either
        one report a row with `mechanism` the column of names, or ``{name: counts}`` and no `mechanism`.
    pooling : {"respondents", "precision"}
        With `designs`: every respondent counts alike (unbiased for these people whatever the groups are), or the
        designs are weighted by their precision (least variance at the uniform truth), which takes their people to be
        alike.
    population : number, optional
        The size N of the population from which these people are a simple random sample without replacement (at most 1:
        the fraction n/N). The variance is then (1 - f) se^2 + f se_privacy^2.

    Returns
    -------
    EstimateTable
        A `PartsEstimate` where a report speaks of several options at once (sets of options, ticked options).

    References
    ----------
    Warner (1965), JASA 60, 63-69; Chaudhuri, Mukerjee (1988), Randomized Response; Wilson (1927), JASA 22, 209-212;
    Brown, Cai, DasGupta (2001), Statist. Sci. 16, 101-133; Donner, Zou (2012), Stat. Methods Med. Res. 21, 347-359.

    Examples
    --------
    >>> from hushpoll_client import mechanisms
    >>> round(estimate([580, 420], mechanisms.warner(truth="3/4"))["Yes"].estimate, 6)
    0.34
    """
    check_level(level)
    interval_method(interval)
    resampling = Resampling(replicates, seed)
    if designs is None and not analysis_channel(mechanism).listed:  # type: ignore[arg-type]
        parts = estimate_parts(
            counts,  # type: ignore[arg-type]
            mechanism,  # type: ignore[arg-type]
            level=level,
            interval=interval,
            simultaneous=simultaneous,
            options=options,
            resampling=resampling,
            population=population,
        )
        return parts  # type: ignore[return-value]
    if designs is None:
        sample = read_share_sample(counts, mechanism, options, population)
    else:
        sample = _pooled_sample(Mixed.of(counts, mechanism, designs, pooling, options), options, population)
    return sample.table(level, interval, simultaneous=simultaneous, resampling=resampling)


@dataclass(frozen=True, eq=False)
class ShareSample(CountedSample):
    """The reports of one question, read, checked and inverted once, and what they went through."""

    name: str = field(kw_only=True)
    channel: Channel = field(kw_only=True)
    labels: tuple[str, ...] = field(kw_only=True)
    entries: range = field(kw_only=True)
    """The options that have a row of the table."""
    epsilon: float = field(kw_only=True)
    epsilon_note: str = field(kw_only=True)
    epsilon_conditional: float | None = field(kw_only=True, default=None)
    has_report_words: bool = field(kw_only=True, default=False)
    """Whether reports have words of their own, which are not answers."""
    has_report_names: bool = field(kw_only=True, default=False)
    """Whether a report names an answer, or at least has a word that stands for one."""
    notes: tuple[str, ...] = field(kw_only=True, default=())

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The share of each option that has a row; raise NotIdentifiedError if reports do not determine shares."""
        if self.shares is None:
            self.view.shares(self.counts / self.n)
        return [self.quantity(self.view.unit(k)) for k in self.entries]

    def table(
        self,
        level: float,
        interval: str,
        *,
        simultaneous: bool = False,
        resampling: Resampling = Resampling(),  # noqa: B008  (frozen)
    ) -> ShareEstimates:
        """Return the table of shares with intervals of a level, each alone or all together."""
        quantities = self.quantities
        method = method_for(quantities, interval, simultaneous and len(quantities) > 1)
        named = self.view.outcomes == self.view.options and self.has_report_names
        estimates = estimates_of(
            quantities,
            [self.labels[k] for k in self.entries],
            method,
            level_of_each(level, len(quantities), simultaneous),
            resampling,
            self.counts[list(self.entries)].tolist() if named else None,
        )
        return ShareEstimates(
            mechanism=self.name,
            channel=self.channel,
            counts=tuple(int(count) for count in self.counts),
            n=self.n,
            level=level,
            interval=method.name,
            interval_requested=interval,
            simultaneous=simultaneous,
            epsilon=self.epsilon,
            epsilon_note=self.epsilon_note,
            epsilon_conditional=self.epsilon_conditional,
            solution=self.view.choice,
            options=self.labels,
            estimates=estimates,
            notes=(*_notes(estimates, method, interval, self, simultaneous, level), *self.notes),
            sample=self,
            resampling=resampling,
        )


def read_share_sample(
    counts: npt.ArrayLike | Mapping[Any, int],
    mechanism: Any,
    options: Sequence[str] | None = None,
    population: float | None = None,
) -> ShareSample:
    """Check report counts against a mechanism whose reports speak of one option each."""
    channel, view = analysis_channel(mechanism), channel_view(mechanism)
    labels, entries = _labels(options, view)
    report_counts = read_counts(counts, view, least=2, labels=labels, words=words_of(mechanism))
    bare = isinstance(mechanism, Channel)
    return ShareSample(
        view,
        report_counts,
        decoy=estimated_decoy(mechanism),
        fraction=sampled_fraction(population, int(report_counts.sum())),
        name=channel.form if bare else mechanism.name,
        channel=channel,
        labels=labels,
        entries=entries,
        epsilon=mechanism.epsilon,
        epsilon_note=_epsilon_note(mechanism, mechanism.epsilon),
        epsilon_conditional=None if bare else mechanism.epsilon_conditional,
        has_report_words=bool(words_of(mechanism)),
        has_report_names=_reports_have_names(mechanism),
    )


def _pooled_sample(mixed: Mixed, options: Sequence[str] | None, population: float | None) -> ShareSample:
    labels, entries = _labels(options, mixed.view)
    return ShareSample(
        mixed.view,
        mixed.counts,
        decoy=mixed.decoy,
        fraction=sampled_fraction(population, int(mixed.counts.sum())),
        name=", ".join(mixed.names),
        channel=mixed.channel,
        labels=labels,
        entries=entries,
        epsilon=mixed.epsilon,
        epsilon_note=mixed.epsilon_note,
        notes=mixed.notes,
    )


def functional(
    counts: npt.ArrayLike,
    mechanism: Channel | Mechanism,
    target: npt.ArrayLike,
    level: float = 0.95,
    interval: str = AUTO,
    label: str = "quantity",
    replicates: int = 2000,
    seed: int = 1,
) -> Estimate:
    """Estimate one linear quantity a.h, also where the channel does not determine every share.

    Parameters
    ----------
    counts, mechanism, level, interval, replicates, seed
        As for `estimate`.
    target : array_like
        One number a per true answer: grid values for a mean, ones for a sum of shares.
    label : str
        The name of the quantity in the result.

    Returns
    -------
    Estimate

    Notes
    -----
    b.f with C b = a is unbiased. Where the shares are not determined, the privacy-only standard error is the largest
    one over the true answers.
    """
    check_level(level)
    sample = read_share_sample(counts, mechanism)
    numbers = finite_numbers(target, "target")
    quantity = sample.quantity(numbers)
    refuse_constant(numbers, "target")
    return linear_estimate(quantity, label, None, interval, level, Resampling(replicates, seed))


def _labels(options: Sequence[str] | None, view: ChannelView) -> tuple[tuple[str, ...], range]:
    """Labels of all options, and which of them get an entry."""
    if options is None:
        return answer_names(view.options), range(1 if view.options == 2 else 0, view.options)
    options = listed(options, "options")
    if len(options) != view.options or len(set(options)) != len(options):
        raise AnalysisError(
            f"options: {view.options} different labels expected, one per true answer, got {len(options)}"
        )
    return tuple(options), range(view.options)


def _reports_have_names(mechanism: Channel | Mechanism) -> bool:
    """Whether a report says an answer, or at least a word that stands for one; a designed channel's does not."""
    if isinstance(mechanism, Channel):
        return True
    return mechanism.reports_answers or bool(mechanism.report_words)


def _epsilon_note(mechanism: Channel | Mechanism, epsilon: float) -> str:
    if not isinstance(mechanism, Channel):
        return mechanism.epsilon_note
    if math.isfinite(epsilon):
        return ""
    return msg("unbounded: some report is impossible for one true answer, not for another")


def _notes(
    estimates: Sequence[Estimate],
    method: IntervalMethod,
    interval: str,
    sample: ShareSample,
    together: bool,
    level: float,
) -> tuple[str, ...]:
    """Return what a reader must know to use the numbers."""
    view, counts = sample.view, sample.counts
    notes = substitution_note(method, interval, together)
    if sample.decoy is not None:
        notes.append(
            msg(
                "The decoy's share is itself an estimate, so the estimate is consistent, not unbiased: with few "
                "answers about the decoy it leans a little."
            )
        )
    if view.choice not in ("unique", RESPONDENTS):
        notes.append(
            msg(
                "There are more reports than options; the {choice} solution of C b = a is used.",
                choice=_CHOICES.get(view.choice, view.choice),
            )
        )
    if sample.has_report_words:
        notes.append(msg("A report says only whether two answers agree; “reported” counts those that do."))
    if np.count_nonzero(counts) == 1:
        notes.append(
            msg(
                "All reports are in one cell, so the standard error is 0 and says nothing; the likelihood interval is "
                "shown."
            )
            if any(entry.low == entry.high for entry in estimates)
            else msg("All reports are in one cell, so the standard error is 0 and says nothing.")
        )
    # No and Yes say the same, and of several answers somebody gave one: that one is not at its edge.
    tests = max(len(estimates) - 1, 1)
    outside = [entry for entry in estimates if is_no_chance(entry.misfit, tests, level)]
    if outside:
        names = [
            msg("{option} (p = {misfit:.2g})", option=entry.option, misfit=tests * (entry.misfit or 0.0))
            for entry in outside
        ]
        notes.append(
            msg(
                "The estimate of {names} lies so far outside the possible values that data and design disagree by more "
                "than chance explains. The likelihood interval inside the possible values is shown.",
                names=joined(", ", names),
            )
        )
    elif any(not 0 <= entry.estimate <= 1 for entry in estimates):
        notes.append(
            msg(
                "An estimate below 0 or above 1 is chance, not an error: the randomization was a little more lopsided "
                "than expected. Shown values are cut to the possible ones; compute with the unclipped ones."
            )
        )
    if any(not entry.low <= entry.estimate <= entry.high and entry.misfit is None for entry in estimates):
        notes.append(
            msg(
                "A likelihood interval keeps every share possible at once, so an unbiased estimate can lie outside its "
                "own interval when another one is negative; the constrained estimate lies inside."
            )
        )
    return tuple(notes)
