"""Sets of options with the design that their respondents were drawn by."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.sets import SetView
from hushpoll_analysis.interval.quantity import Quantity
from hushpoll_analysis.sample.sample import set_quantity
from hushpoll_analysis.sample.weighted import WeightedReports


@dataclass(frozen=True, eq=False)
class WeightedSets(WeightedReports):
    """One set a respondent; `codes` has a column for each option, 1 where the set holds it."""

    sets: SetView = field(kw_only=True)

    @property
    def frequencies(self) -> Floats:
        """The weighted shares of sets without and with each option."""
        held = self.design.mean(self.codes.astype(np.float64))
        return np.stack([1.0 - held, held], axis=1).reshape(-1)

    def values(self, target: Floats) -> Floats:
        """Return b of each respondent's set."""
        return self.sets.values(self.codes == 1, target)

    def noise(self, target: Floats) -> Floats:
        """Unbiased estimates of Var(b | truth), one a respondent."""
        noise = np.maximum(self.sets.moments(target) - target**2, 0.0)
        return self.values(noise) + (self.rounding / 2.0) ** 2

    def quantity(self, target: Floats) -> Quantity:
        """Estimate a.h, with the linearised standard error and the counts that it is worth."""
        design, variance = self.design, self.variance(target)
        if design.fractions is not None:
            least = variance
        else:
            least = self._kish_variance(target)
        shares = self.sets.shares(self.frequencies)
        # The counts are worth no more than Kish's size, as those of other reports.
        quantity = set_quantity(self.sets, target, shares, max(variance, least), float(design.positive))
        return replace(quantity, se=math.sqrt(variance), se_privacy=math.sqrt(self.privacy(target)))

    def _kish_variance(self, target: Floats) -> float:
        """Return the variance that as many respondents with equal weights as Kish's size would have."""
        values = self.values(target)
        mean = float(self.design.mean(values[:, None])[0])
        spread = float(self.design.mean(((values - mean) ** 2)[:, None])[0])
        return spread / max(self.design.effective_n - 1.0, 1.0)
