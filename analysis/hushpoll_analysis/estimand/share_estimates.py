"""The result of `estimate`: the shares of one question, with what follows from the same counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.arguments import one_or_more
from hushpoll_analysis.channel.base import ChannelView, Floats
from hushpoll_analysis.counts import finite_numbers, refuse_constant
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.constrained import ConstrainedEstimate, constrained_of
from hushpoll_analysis.estimand.ratios import RatioEstimate, ratio_of
from hushpoll_analysis.estimates import Estimate, EstimateTable, largest_shares, linear_estimate
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.sample.sample import CountedSample, Sample

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, repr=False, kw_only=True)
class ShareEstimates(EstimateTable):
    """Estimated shares of one question; made by `estimate`.

    `estimates` has one entry per option, or only Yes for a yes/no question; `shares` has every option.
    """

    sample: Sample = field(repr=False, compare=False)
    """The reports that all quantities are estimated from."""

    @property
    def shares(self) -> Floats | None:
        """The unbiased shares of all options; None where the channel leaves some open."""
        return self.sample.shares

    @property
    def view(self) -> ChannelView:
        """What the estimates invert."""
        return self.sample.view

    def functional(
        self, target: npt.ArrayLike, label: str = "quantity", interval: str | None = None
    ) -> Estimate:
        """Estimate a.h, where `target` has one number a per option.

        b.f with C b = a is unbiased; its variance is (sum b^2 f - (b.f)^2)/(n - 1). Shown values are clipped to the
        smallest and largest possible a.h.

        Parameters
        ----------
        target : array_like
            One number per option: grid values for a mean, 1 and -1 for a difference, ones for a sum of shares.
        label : str
        interval : str, optional
            Another method than the table's.
        """
        method = self.sample.method_name(interval or self.interval_requested)
        quantity = self._quantity(target)
        refuse_constant(quantity.target, label)
        return linear_estimate(quantity, label, None, method, self.level, self.resampling)

    def _quantity(self, target: npt.ArrayLike) -> Quantity:
        numbers = finite_numbers(target, "functional")
        view = self.view
        if numbers.shape != (view.options,):
            raise AnalysisError(
                f"functional: {view.options} numbers expected, one per option, got {numbers.size}"
            )
        return self.sample.quantity(numbers)

    def mean(self, values: npt.ArrayLike) -> Estimate:
        """Return the mean of a number per option, such as the points of a scale."""
        return self.functional(values, "mean")

    def difference(self, first: str | int, second: str | int) -> Estimate:
        """Return the share of one option minus the share of another."""
        i, j = self._place(first), self._place(second)
        return self.functional(
            self.view.unit(i) - self.view.unit(j), f"{self.options[i]} - {self.options[j]}"
        )

    def gap(self, first: str | int, second: str | int) -> tuple[float, float]:
        """Return the same difference and its standard error alone: an interval takes much longer."""
        difference = self._quantity(self.view.unit(self._place(first)) - self.view.unit(self._place(second)))
        return difference.estimate, difference.standard_error

    def share_of(self, chosen: Sequence[str | int]) -> Estimate:
        """Return the share of several options together."""
        positions = sorted({self._place(option) for option in one_or_more(chosen, "chosen")})
        target = np.zeros(self.view.options)
        target[positions] = 1.0
        return self.functional(target, " + ".join(self.options[position] for position in positions))

    def ratio(self, of: Sequence[str], among: Sequence[str]) -> RatioEstimate:
        """Estimate the share of some answers among others, as in Yes among those who did not decline."""
        return ratio_of(self, of, among)

    def top(self, k: int = 10) -> tuple[Estimate, ...]:
        """Return the k options with the largest estimates.

        Their intervals hold together, whichever options these are.
        """
        quantities = [self._quantity(self.view.unit(position)) for position in range(self.view.options)]
        return tuple(entry for _, entry in largest_shares(quantities, self.options, k, self.level))

    def constrained(self) -> ConstrainedEstimate:
        """Maximum likelihood shares: never negative, summing to one."""
        assert isinstance(self.sample, CountedSample)
        return constrained_of(self.sample)

    def possible_shares(self) -> Floats:
        """Return the maximum likelihood shares: never negative, summing to one."""
        return self.constrained().shares

    def report_weights(self, option: str) -> Floats:
        """Return the weights b of the possible reports: one report z moves the option's estimate by b_z/n."""
        weights = self.view.solution(self.view.unit(self._place(option)))
        return np.asarray(weights[self.view.possible])

    def covariance(self) -> Floats:
        """Covariance of the unbiased shares of all options, n - 1 in the denominator."""
        return self.sample.share_covariance()

    def plot(self, axes: Any = None) -> Any:
        """Draw the shares with matplotlib, from 0 to 1, and return the axes."""
        axes = super().plot(axes)
        axes.set_xlim(0, 1)
        return axes

    def _covariance(self) -> Floats:
        positions = [self._place(entry.option) for entry in self.estimates]
        return self.sample.joint_covariance(np.stack([self.view.unit(position) for position in positions]))

    def _place(self, option: str | int) -> int:
        position = self.options.index(option) if option in self.options else option
        if not isinstance(position, int) or not 0 <= position < len(self.options):
            raise AnalysisError(f"option: {option!r} is none of {', '.join(self.options)}")
        return position
