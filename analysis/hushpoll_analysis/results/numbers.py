"""What the order of a question's answers, or their being numbers, adds to its shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hushpoll_client.formatting import number_text
from hushpoll_client.messages import msg
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.estimand.cumulative import Cumulative, cumulative_of
from hushpoll_analysis.estimand.density import Density, density_of
from hushpoll_analysis.estimand.means import mean_of, privacy_is_bound
from hushpoll_analysis.estimand.quantiles import Places, Quantiles, quantiles_of
from hushpoll_analysis.estimates import Estimate
from hushpoll_analysis.sample.sample import Sample

ONLY_MEANS = msg("This question's reports determine the mean only: its mechanism was made for that.")
BOUND = msg(
    "The privacy-only standard error of the mean is an upper bound: these reports do not determine it exactly."
)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Mean, cumulative shares, quantiles and histogram of one question, as far as its kind and mechanism allow.

    `only` says why there is no more, where the reports determine less than the kind could have.
    """

    unit: str
    mean: Estimate | None
    quantiles: Quantiles | None
    histogram: Density | None
    only: str
    bound: bool = False
    """Whether the mean's privacy-only standard error is an upper bound."""
    upward: bool = False
    """Whether shares are shown from each answer upwards, as in "4 or more"."""
    freedom: int | None = None
    """Degrees of freedom of the intervals under a sample design; None means normal ones."""

    @property
    def cumulative(self) -> Cumulative | None:
        """The cumulative shares."""
        if self.quantiles is None:
            return None
        return self.quantiles.cumulative

    def need(self, question: str, what: str) -> Quantiles:
        """Return the quantiles, or refuse what needs them."""
        if self.quantiles is None:
            raise AnalysisError(
                msg(
                    'question "{question}", mechanism: its reports do not determine {what}',
                    question=question,
                    what=what,
                ),
                'set the mechanism\'s "target" to "cumulative" or, for a number, to "distribution" next time',
            )
        return self.quantiles

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of the JSON contract that the question has."""
        value: dict[str, Any] = {"unit": self.unit} if self.unit else {}
        if self.mean is not None:
            entry = self.mean.to_dict()
            keys = ("estimate", "se", "low", "high", "shown", "se_privacy", "interval")
            value["mean"] = {key: entry[key] for key in keys}
        if self.quantiles is not None:
            value["cumulative"] = self.quantiles.cumulative.to_dict()
            if self.upward:
                value["at_least"] = self._at_least(self.quantiles.cumulative)
            value |= self.quantiles.to_dict()
        if self.histogram is not None:
            value["histogram"] = [
                dict(zip(("x", *HEIGHTS), row, strict=True))
                for row in zip(
                    self.histogram.x.tolist(),
                    *(getattr(self.histogram, name).tolist() for name in HEIGHTS),
                    strict=True,
                )
            ]
        return value

    @staticmethod
    def _at_least(cumulative: Cumulative) -> list[dict[str, Any]]:
        return [
            entry.to_dict() | {"simultaneous": {"low": both.low, "high": both.high}}
            for entry, both in zip(cumulative.upward, cumulative.upward_band, strict=True)
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the report's table: quantity, option, and figures."""
        rows: list[dict[str, Any]] = []
        if self.mean is not None:
            rows.append(entry_row("mean", "", self.mean, None))
        if self.quantiles is not None:
            cumulative = self.quantiles.cumulative
            rows += [
                entry_row("cumulative", alone.option, alone, both)
                for alone, both in zip(cumulative.estimates, cumulative.band, strict=True)
            ]
            for quantile in self.quantiles.entries:
                rows.append({"quantity": "quantile", "option": f"{quantile.p:g}", **_limits(quantile)})
            rows.append({"quantity": "iqr", "option": "", **_limits(self.quantiles.iqr)})
        return rows


HEIGHTS = ("estimate", "se", "low", "high", "band_low", "band_high", "picture")


def numbers_of(question: Question, sample: Sample, level: float, interval: str) -> Numbers | None:
    """Estimate whatever the kind has and the channel determines; None for answers without order."""
    answers = question.answers
    values = values_of(question)
    if not has_numbers(question):
        return None
    mean = quantiles = histogram = None
    bound = False
    if values is not None:
        try:
            mean = mean_of(sample, values, level, interval, float(answers.spacing))
            bound = privacy_is_bound(sample, values, float(answers.spacing))
        except NotIdentifiedError:
            mean = None
    determined = answers.ordered and sample.shares is not None
    if determined:
        cumulative = cumulative_of(sample, question.options, level, interval)
        quantiles = quantiles_of(cumulative, _places(question))
    if determined and answers.edges is not None:
        histogram = density_of(sample, _histogram_edges(question), level=level, interval=interval)
    only = "" if determined else _only(question)
    return Numbers(
        unit_of(question),
        mean,
        quantiles=quantiles,
        histogram=histogram,
        only=only,
        bound=bound,
        upward=answers.upward,
        freedom=sample.freedom,
    )


def has_numbers(question: Question) -> bool:
    """Return whether answers are numbers, or have an order."""
    return question.answers.ordered or values_of(question) is not None


def values_of(question: Question) -> Floats | None:
    """Return the number that each true answer stands for; None where answers are not numbers."""
    values = question.answers.values
    if values is None:
        return None
    return np.array([float(value) for value in values])


def unit_of(question: Question) -> str:
    """Return what numbers are counted in."""
    return str(question.answers.document().get("unit", ""))


def _only(question: Question) -> str:
    spacing = question.answers.spacing
    if not spacing:
        return ONLY_MEANS
    return msg(
        "Numbers were rounded at random to points {spacing} apart before they were randomized, so that each keeps its "
        "mean; the standard error contains that. Only the mean can be estimated.",
        spacing=in_unit(measure(float(spacing)), unit_of(question)),
    )


def _places(question: Question) -> Places:
    edges = question.answers.edges
    if edges is None:
        return Places.points([float(value) for value in question.answers.values or ()])
    first, last = (np.array([float(pair[end]) for pair in edges]) for end in (0, 1))
    return Places(first, last, float(edges[1][0] - edges[0][1]))


def _histogram_edges(question: Question) -> Floats:
    """Half a step around the numbers of each bin, so that heights divide by the numbers in it."""
    edges = question.answers.edges
    assert edges is not None
    half = float(edges[1][0] - edges[0][1]) / 2.0
    return np.array([float(first) - half for first, _ in edges] + [float(edges[-1][1]) + half])


def entry_row(quantity: str, option: str, entry: Estimate, both: Estimate | None) -> dict[str, Any]:
    """Return an estimate as a row of the report's table; `both` has the limits that hold together."""
    return {
        "quantity": quantity,
        "option": option,
        "estimate": entry.estimate,
        "se": entry.se,
        "se_privacy": entry.se_privacy,
        "low": entry.low,
        "high": entry.high,
        "shown_estimate": entry.shown.estimate,
        "shown_low": entry.shown.low,
        "shown_high": entry.shown.high,
        "simultaneous_low": None if both is None else both.low,
        "simultaneous_high": None if both is None else both.high,
        "interval": entry.interval,
    }


def _limits(estimate: Any) -> dict[str, float]:
    clipped = {f"shown_{name}": getattr(estimate, name) for name in ("estimate", "low", "high")}
    return {"estimate": estimate.estimate, "low": estimate.low, "high": estimate.high, **clipped}


def quantile_name(p: float) -> str:
    """Name a quantile as people do."""
    named = {0.25: msg("first quartile"), 0.5: msg("median"), 0.75: msg("third quartile")}
    return named.get(p) or msg("{percent:g} % quantile", percent=100 * p)


def measure(value: float) -> str:
    """Write a number of the answers' own scale."""
    return number_text(value, ",.6g")


def in_unit(text: str, unit: str) -> str:
    """Add the unit, where there is one."""
    if unit:
        return msg("{text} {unit}", text=text, unit=unit)
    return text


def rounded(value: float, se: float, sign: str = "") -> str:
    """Write a number with as many decimals as its standard error makes sense of, two digits of it."""
    digits = 2
    if se > 0.0:
        digits = min(max(1 - math.floor(math.log10(se)), 0), 6)
    return number_text(value, f"{sign},.{digits}f", plain_zero=True)
