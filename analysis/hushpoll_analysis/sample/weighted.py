"""Shares of one question from a weighted, stratified or clustered sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.channel.base import ChannelView
from hushpoll_analysis.channel.parts import Marginal
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.counts import check_level
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.estimates import Estimate, shown_share
from hushpoll_analysis.interval import (
    AUTO,
    DesignMethod,
    SampledShare,
    at_freedom,
    design_method,
    design_method_for,
    fallback,
    misfit,
    outside,
)
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.result import as_json
from hushpoll_analysis.sample.columns import Codes, Mechanisms, check_frame, check_names, read_variable
from hushpoll_analysis.sample.design_keywords import SampleKeys, takes_sample
from hushpoll_analysis.sample.design_sample import DesignSample, FullSample
from hushpoll_analysis.sample.distinct_rows import times_of
from hushpoll_analysis.sample.members import asked_in_block
from hushpoll_analysis.sample.missing import takes_missing
from hushpoll_analysis.sample.option_columns import YES_NO, option_of, options_of, part_codes, with_yes_no
from hushpoll_analysis.sample.row_designs import Designs, with_designs
from hushpoll_analysis.sample.share_table import ShareTable
from hushpoll_analysis.sample.weighted_notes import weighted_notes
from hushpoll_analysis.tidy import keeps_call

SHARE_KEYS = (
    "option",
    "estimate",
    "se",
    "low",
    "high",
    "shown",
    "se_privacy",
    "misfit",
    "total",
    "total_se",
    "design_effect",
    "sampling_effect",
)
"""The keys of a share in the JSON form, and the columns of the table."""


@dataclass(frozen=True, kw_only=True)
class WeightedShare(Estimate):
    """Share and population total of one answer; the attributes that `Estimate` has too mean the same.

    Attributes
    ----------
    total, total_se : float
        The number of people in the population who gave the answer, and its standard error.
    design_effect : float or None
        Variance over that of as many direct answers from a simple random sample; None where the estimate lies at or
        beyond an edge.
    sampling_effect : float
        The part of it that weights, strata and clusters make: variance over that of as many randomized reports drawn
        with replacement and equal weights (Kish's design effect, R's `deff = "replace"`).
    """

    option: Any
    total: float
    total_se: float
    sampling_effect: float

    def row(self) -> dict[str, Any]:
        """Return the row of a table."""
        return {key: vars(self)[key] for key in SHARE_KEYS}

    def to_dict(self) -> dict[str, Any]:
        """Return the share as JSON values; None stands for what cannot be given."""
        values: dict[str, Any] = as_json(self.row())
        return values


@dataclass(frozen=True)
class WeightedEstimate(ShareTable[WeightedShare]):
    """Shares of all answers of one question under a sample design; `effective_n` is Kish's."""

    words = "estimated share"

    name: str
    n: int
    effective_n: float
    degrees_of_freedom: int
    level: float
    interval: str
    shares: tuple[WeightedShare, ...]
    notes: tuple[str, ...]
    view: ChannelView | None = field(default=None, repr=False, compare=False)
    """The channel of the reports."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        shares = [share.to_dict() for share in self.shares]
        rest = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "view"}
        return {**rest, "shares": shares, "notes": list(self.notes)}

    def _notebook_notes(self) -> tuple[str, ...]:
        return self.notes


@keeps_call
@takes_missing
@takes_sample
def weighted_estimate(
    reports: pd.DataFrame,
    mechanisms: Mechanisms,
    name: str,
    *,
    level: float = 0.95,
    interval: str = AUTO,
    designs: Designs | None = None,
    sample: SampleKeys,
) -> WeightedEstimate:
    """Estimate the shares of one question from a sample with weights, strata or clusters.

    Parameters
    ----------
    reports, mechanisms, weights, strata, clusters, margins, designs
        As in `crosstab`.
    name
        The question; where its reports speak of several options at once, those who chose or ticked each of them.
    population
        The size N of a finite population (of each stratum: a mapping, or a column, as R's `fpc`; clusters where those
        were drawn; below 1 the fraction sampled). Without weights each respondent then stands for N/n people.
    replicates
        `Replicates`, or columns of bootstrap weights, in addition to `weights`: variances come from them.
    interval
        "auto" is Wilson's interval at the effective size with t in place of z, where one report frequency carries the
        estimate ("mover" with an estimated decoy share), and elsewhere the score interval at that size; "t" is the
        normal one on the share itself. With two reports also
        an interval of the reported share mapped through the line: "logit", "asin", "beta" (Korn and Graubard 1998) or
        "likelihood" (Rao and Scott 1984).

    Notes
    -----
    In a finite population the variance is (1 - f) se^2 + f se_privacy^2 for a simple random sample of a fraction f: who
    is drawn matters less, but the randomization stays. R's `survey` knows of no randomization and gives (1 - f) se^2.

    The effective size is the smaller one of f (1 - f) / Var(f), with the linearised variance, and Kish's
    (sum w)^2 / sum w^2. With lognormal weights of sigma 1.5 and 2 this covers 94 to 99 %, "t" 44 to 93 %.

    References
    ----------
    Binder, "On the variances of asymptotically normal estimators from complex surveys", Int. Stat. Rev. 51 (1983);
    Korn, Graubard, "Confidence intervals for proportions with small expected number of positive counts", Survey
    Methodology 24 (1998).
    """
    check_names(name, "name")
    design_method(interval)
    check_level(level)
    options = options_of(name, mechanisms)
    if not options:
        return read_weighted(reports, mechanisms, name, sample, designs).estimate(level, interval)
    tables = [
        read_weighted(
            reports, mechanisms, f"{name}[{option}]", sample, other_options=len(options) - 1
        ).estimate(level, interval)
        for option in options
    ]
    shares = [replace(table.shares[1], option=option) for table, option in zip(tables, options, strict=True)]
    return replace(
        max(tables, key=lambda table: table.n),
        name=name,
        shares=tuple(shares),
        notes=tuple(dict.fromkeys(note for table in tables for note in table.notes)),
    )


def read_weighted(
    reports: pd.DataFrame,
    mechanisms: Mechanisms,
    name: str,
    keys: SampleKeys,
    designs: Designs | None = None,
    other_options: int = 0,
) -> WeightedQuestion:
    """Read the reports of a question, or of one of its options, with their design."""
    everybody = _everybody(check_frame(reports, "reports"), mechanisms, name, keys)
    reports, keys = keys.among_asked(reports, mechanisms, [name])
    people = int(times_of(reports).sum())
    if people < 2:
        raise AnalysisError(f"a standard error needs at least 2 respondents, got {people}")
    option = option_of(name, mechanisms)
    if option is not None:
        question, marginal, design_of_reports = option
        codes = part_codes(reports, question, marginal, design_of_reports)
        return weighted_option(reports, marginal, codes, name, keys, other_options)
    try:
        mechanisms_of_rows = with_designs(mechanisms, designs, reports, name)
        variable, codes = read_variable(
            reports, name, mechanisms_of_rows, with_yes_no([name], mechanisms_of_rows).get(name)
        )
    except NotIdentifiedError as error:
        raise NotIdentifiedError(
            f"{name}: {error.problem}",
            f"its mean may be determined: linear('{name} ~ 1', ...), or report(..., weights=...)",
        ) from None
    design = keys.design_or_simple(reports)
    sample = DesignSample(
        variable.view, codes=codes, design=design, decoy=variable.counted_decoy, whole=everybody
    )
    return WeightedQuestion(name=name, labels=variable.labels, sample=sample)


def weighted_option(
    reports: pd.DataFrame,
    marginal: Marginal,
    codes: Codes,
    name: str,
    keys: SampleKeys,
    other_options: int = 0,
) -> WeightedQuestion:
    """Read what reports say of one option; respondents who were not asked about it (code -1) weigh nothing.

    `others` is how many options of the question are estimated as well.
    """
    design = keys.design_or_simple(reports)
    is_asked = codes >= 0
    among = design.among(is_asked, marginal.asked)
    everybody = FullSample(replace(design, fractions=among.fractions), is_asked)
    sample = DesignSample(
        channel_view(marginal.channel), codes=np.maximum(codes, 0), design=among, whole=everybody
    )
    return WeightedQuestion(name=name, labels=YES_NO, sample=sample, others=other_options)


def _everybody(
    reports: pd.DataFrame, mechanisms: Mechanisms, name: str, keys: SampleKeys
) -> FullSample | None:
    """Read the design of all respondents, where some were not asked a question of a block."""
    block = asked_in_block(reports, mechanisms, name)
    if block is None:
        return None
    design = keys.design_or_simple(reports)
    is_asked, share = block
    return FullSample(replace(design, fractions=design.among(is_asked, share).fractions), is_asked)


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedQuestion:
    """The reports of one question, or of one option, with their design: read once, estimated at any level."""

    name: str
    labels: Sequence[Any]
    sample: DesignSample
    others: int = 0
    """How many options of the question are estimated as well."""

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The share of each answer."""
        return [self.sample.quantity(self.sample.view.unit(k)) for k in range(len(self.labels))]

    def worth(self, option: int, level: float) -> Quantity:
        """Return a share at the size that its interval uses, t in place of z."""
        return at_freedom(self.quantities[option], level, self.sample.design.degrees_of_freedom)

    def estimate(self, level: float, interval: str) -> WeightedEstimate:
        """Return the shares with intervals of a level."""
        sample, design = self.sample, self.sample.design
        method = design_method_for(self.quantities, interval, simple=design.is_simple)
        method.check(
            self.name,
            sample.view.outcomes,
            counted_decoy=sample.decoy is not None,
            all_alike=bool(np.ptp(sample.codes) == 0),
        )
        automatic = design_method_for(self.quantities, AUTO, simple=design.is_simple)
        shares = tuple(
            self._share(option, quantity, method, level)
            for option, quantity in zip(self.labels, self.quantities, strict=True)
        )
        return WeightedEstimate(
            name=self.name,
            n=sample.n,
            effective_n=design.effective_n,
            degrees_of_freedom=design.degrees_of_freedom,
            level=level,
            interval=method.name,
            shares=shares,
            notes=weighted_notes(shares, sample, method, automatic, level, self.others),
            view=sample.view,
        )

    def _share(self, option: object, quantity: Quantity, method: DesignMethod, level: float) -> WeightedShare:
        sample, design = self.sample, self.sample.design
        sampled = SampledShare(quantity, design.n, design.degrees_of_freedom, sample.reported_share)
        interval, scaled = method.interval(sampled, level)
        visible = fallback(scaled, interval, level) or interval
        values = sample.values(quantity.target)
        plain = quantity.estimate * (1.0 - quantity.estimate) / (design.positive - 1)
        spread = float(design.mean(((values - quantity.estimate) ** 2)[:, None])[0]) / (design.positive - 1)
        total, total_se = sample.total(quantity)
        effect = None
        if plain > 0.0:
            effect = quantity.se**2 / plain
        return WeightedShare(
            option=option,
            reported=None,
            estimate=quantity.estimate,
            se=quantity.se,
            low=interval.low,
            high=interval.high,
            shown=shown_share(quantity.estimate, visible.low, visible.high),
            se_privacy=quantity.se_privacy,
            interval=method.name,
            misfit=misfit(scaled) if outside(scaled, interval) else None,
            total=total,
            total_se=total_se,
            weight=sample.heaviest * quantity.heaviest,
            design_effect=effect,
            n_effective=sample.n / effect if effect else None,
            sampling_effect=quantity.se**2 / spread if spread > 0.0 else math.nan,
        )
