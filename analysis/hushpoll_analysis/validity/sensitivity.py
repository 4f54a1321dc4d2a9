"""How an estimate would move if some people answered at random, or said No to protect themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.arguments import number
from hushpoll_analysis.counts import finite_numbers
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.estimand.option_shares import PartsEstimate
from hushpoll_analysis.estimand.share_estimates import ShareEstimates
from hushpoll_analysis.estimates import Estimate
from hushpoll_analysis.plotting import draw_line
from hushpoll_analysis.result import Summary

CARELESS = (0.0, 0.05, 0.1, 0.2, 0.3)
PROTECTIVE = (0.0, 0.02, 0.05, 0.1)
MOST = 0.95


@dataclass(frozen=True)
class Sensitivity(Summary):
    """The curve of one share against what is not known: `careless` (r) and `protective` (c) shares of respondents.

    With c the share lies in a range even if everything else were known: `estimate` is its lower end, `most` its upper.
    """

    option: Any
    level: float
    frame: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each pair of r and c."""
        return self.frame

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON values."""
        return {"option": self.option, "level": self.level, "curve": self.frame.to_dict(orient="records")}

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        frame = self.frame[self.frame["protective"] == self.frame["protective"].min()]
        limits = (frame["estimate"], frame["low"], frame["high"])
        return draw_line(
            frame["careless"], *limits, ("share who answer at random", f"share of {self.option}"), axes
        )

    def _repr_html_(self) -> str:
        return self.frame.to_html(float_format=lambda value: f"{value:.4f}", index=False)


def if_careless(entry: Estimate, rate: float, chance: float) -> tuple[float, float, float, float]:
    """Correct a share, its standard error and its limits for a known share r of careless people: (p - r c)/(1 - r)."""
    value, low, high = (
        (value - rate * chance) / (1.0 - rate) for value in (entry.estimate, entry.low, entry.high)
    )
    return value, entry.se / (1.0 - rate), low, high


def if_protective(estimate: float, rate: float) -> tuple[float, float]:
    """Bound a share if a share c of all respondents has the trait and says No: from p to p + c."""
    return estimate, estimate + rate


def sensitivity(
    found: ShareEstimates | PartsEstimate,
    option: str | None = None,
    *,
    careless: Sequence[float] = CARELESS,
    protective: Sequence[float] = PROTECTIVE,
    chance: float | None = None,
) -> Sensitivity:
    r"""Show how a share would move with careless and with self-protective answers.

    Parameters
    ----------
    found
        The result of `estimate`.
    option
        The answer; by default Yes, or the last one.
    careless
        Shares r of respondents who answer at random.
    protective
        Shares c of respondents who have the trait but answer otherwise.
    chance
        How often a careless person gives this answer: by default as often as any other, and in half of the cases where
        each option is ticked by itself.

    Notes
    -----
    :math:`\pi = (p - r/K)/(1 - r)`, and then from :math:`\pi` to :math:`\pi + c`. Limits are those of the estimate,
    moved likewise, of the lower end below and of the upper end above. Neither r nor c can be read from the reports
    themselves; an anchor question tells r (`anchored`), two groups tell c (`cheating_detection`).
    """
    if not isinstance(found, ShareEstimates | PartsEstimate):
        raise AnalysisError(f"found is a {type(found).__name__}", "give the result of estimate")
    if option is None:
        entry = found.estimates[-1]
    else:
        entry = _entry(found, option)
    if chance is not None:
        number(chance, "chance", 0.0, 1.0)
    else:
        ticked = isinstance(found, PartsEstimate) and not found.one_choice
        chance = 0.5
        if not ticked:
            chance = 1.0 / len(found.options)
    rates, guards = _shares(careless, "careless"), _shares(protective, "protective")
    rows = [moved(entry, float(rate), float(guard), chance) for rate in rates for guard in guards]
    return Sensitivity(entry.option, found.level, pd.DataFrame(rows))


def _entry(table: ShareEstimates | PartsEstimate, option: Any) -> Estimate:
    """Find an answer by its label, or by its place."""
    labels = [estimate.option for estimate in table.estimates]
    if option in labels:
        return table.estimates[labels.index(option)]
    if isinstance(option, bool) or not isinstance(option, int) or not 0 <= option < len(labels):
        raise AnalysisError(f"option: {option!r} is none of {', '.join(map(str, labels))}")
    return table.estimates[option]


def moved(entry: Estimate, rate: float, guard: float, chance: float) -> dict[str, float]:
    """Return a share as it would be with these shares of careless and of self-protective people: a row of the curve."""
    value, se, low, high = if_careless(entry, rate, chance)
    least, most = if_protective(value, guard)
    return {
        "careless": rate,
        "protective": guard,
        "estimate": least,
        "most": most,
        "se": se,
        "low": low,
        "high": high + guard,
        "shown_estimate": min(max(least, 0.0), 1.0),
        "shown_most": min(max(most, 0.0), 1.0),
    }


def _shares(values: Sequence[float], what: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    numbers = finite_numbers(values, what)
    if np.any(numbers < 0.0) or np.any(numbers > MOST):
        raise AnalysisError(f"{what}: {list(values)} has a share outside 0 to {MOST:g}", "give proportions")
    return numbers
