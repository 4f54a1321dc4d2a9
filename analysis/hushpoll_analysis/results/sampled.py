"""A report of a weighted, stratified or clustered sample: every question's estimates under its design."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.view import Floats, analysis_channel
from hushpoll_analysis.data.files import read_frame
from hushpoll_analysis.data.tally import Tally
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sampling.population import Population
from hushpoll_analysis.sampling.weighted import WeightedEstimate, weighted_sample
from hushpoll_analysis.sampling.weights import Column, Margins
from hushpoll_analysis.shares.constrained import ConstrainedEstimate, maximise
from hushpoll_analysis.shares.interval import Resampling
from hushpoll_analysis.shares.result import Estimate, LinearEstimate

__all__ = ["SampleEstimate", "SampleKeys", "sample_estimate", "sample_rows"]

KEYS = ("weights", "strata", "clusters", "margins", "population", "replicates")


@dataclass(frozen=True, eq=False)
class SampleKeys:
    """How the respondents were sampled, as the public functions take it."""

    weights: Column = None
    strata: Column = None
    clusters: Column = None
    margins: Margins | None = None
    population: Population = None
    replicates: Any = None

    @property
    def given(self) -> dict[str, Any]:
        """What was given, by name."""
        return {key: value for key, value in vars(self).items() if value is not None}

    @property
    def counts_suffice(self) -> bool:
        """Whether counts alone carry the estimate: there is at most a population."""
        one = isinstance(self.population, int | float | None)
        return one and set(self.given) <= {"population"}

    def in_frame(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Put values given beside the data into it, so that rows can be chosen; give the keys with names only."""
        keys, columns = {}, {}
        for key, value in self.given.items():
            if key in ("weights", "strata", "clusters", "population") and isinstance(
                value, list | np.ndarray | pd.Series
            ):
                columns[f"({key})"] = np.asarray(value)
                keys[key] = f"({key})"
            else:
                keys[key] = value
        return frame.assign(**columns) if columns else frame, keys


@dataclass(frozen=True)
class SampleEstimate(Estimate):
    """Estimated shares of one question under a sample design."""

    frequencies: Floats = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    def constrained(self) -> ConstrainedEstimate:
        """Shares that make the weighted reports likeliest: never negative, summing to one."""
        counts = self.frequencies * self.n
        start = np.full(self.view.options, 1.0 / self.view.options)
        found = maximise(counts, self.view.forward, self.view.backward, start)
        return ConstrainedEstimate(
            self.counts, found.shares, found.log_likelihood, float("nan"), found.gap, found.converged
        )

    def functional(self, target: Any, label: str = "quantity", interval: str | None = None) -> LinearEstimate:
        """Refuse: a linear quantity of a weighted sample needs its rows."""
        raise AnalysisError(
            "under a sample design only the shares are estimated", "use weighted_estimate on the rows"
        )


def sample_rows(survey: Survey, data: Any) -> pd.DataFrame:
    """One row a respondent with every column of the data, checked like `tally` does."""
    if isinstance(data, str | Path):
        path = Path(data)
        if path.suffix.lower() not in (".csv", ".parquet"):
            raise AnalysisError(
                f"{path.name}: weights and strata need a .csv or .parquet file with such columns"
            )
        try:
            data = pd.read_csv(path) if path.suffix.lower() == ".csv" else pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise AnalysisError(f"{path.name}: cannot be read ({str(error).splitlines()[0]})") from None
    if not isinstance(data, pd.DataFrame):
        raise AnalysisError(
            "weights, strata and clusters need a table of respondents: a data frame, or a file given with its columns"
        )
    read_frame(survey, data)
    return data


def sample_estimate(
    question: Question,
    counted: Tally,
    frame: pd.DataFrame,
    keys: dict[str, Any],
    level: float,
    interval: str,
    simultaneous: bool,
) -> SampleEstimate:
    """Estimate one question from rows with a sample design."""
    mechanism, options = question.mechanism, question.options
    entries = [1] if question.kind.yes_or_no else list(range(len(options)))
    each = 1.0 - (1.0 - level) / len(entries) if simultaneous else level
    given = tuple(keys.get(key) for key in KEYS)
    found, sample = weighted_sample(frame, {question.id: mechanism}, question.id, given, each, interval)
    counts = tuple(int(count) for count in counted.counts[question.id])
    view = sample.view
    same = view.options == view.outcomes
    weights = sample.design.weights
    heaviest = float(weights.max() / weights.mean())
    return SampleEstimate(
        mechanism=mechanism.name,
        channel=analysis_channel(mechanism),
        counts=counts,
        n=found.n,
        level=level,
        interval=found.interval,
        interval_requested=interval,
        simultaneous=simultaneous,
        epsilon=mechanism.epsilon,
        epsilon_note=mechanism.epsilon_note,
        epsilon_conditional=mechanism.epsilon_conditional,
        solution=view.choice,
        options=tuple(options),
        estimates=tuple(
            _entry(found, k, options[k], counts[k] if same else None, heaviest * _most(view, k))
            for k in entries
        ),
        notes=(_worth(found), *found.notes),
        shares=np.array([share.estimate for share in found.shares]),
        source=mechanism,
        view=view,
        decoy=sample.decoy,
        resampling=Resampling(),
        frequencies=sample.frequencies,
    )


def _worth(found: WeightedEstimate) -> str:
    return (
        f"Sample design: {found.n:,} respondents are worth {found.effective_n:,.0f} with equal weights; intervals "
        f"use t with {found.degrees_of_freedom:,} degrees of freedom."
    )


def _most(view: Any, option: int) -> float:
    weights = view.solution(view.unit(option))
    return float(np.max(np.abs(weights[view.possible])))


def _entry(
    found: WeightedEstimate, k: int, option: str, reported: int | None, weight: float
) -> LinearEstimate:
    share = found.shares[k]
    return LinearEstimate(
        option=option,
        reported=reported,
        estimate=share.estimate,
        se=share.se,
        low=share.low,
        high=share.high,
        shown=share.shown,
        se_privacy=share.se_privacy,
        interval=found.interval,
        misfit=share.misfit,
        weight=weight,
        design_effect=share.design_effect,
        n_effective=None if not share.design_effect else found.n / share.design_effect,
    )
