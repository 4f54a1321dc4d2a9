"""How respondents were sampled, as every public function takes it: six keywords, read in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from hushpoll_analysis.errors import AnalysisError

from .population import Population
from .weights import Column, Margins, SurveyDesign, read_design

__all__ = ["SampleKeys", "takes_sample"]

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class SampleKeys:
    """The keywords `weights`, `strata`, `clusters`, `margins`, `population` and `replicates`."""

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

    def design(self, data: pd.DataFrame) -> SurveyDesign | None:
        """Read the design from a table of respondents; None when nothing was asked for."""
        return read_design(data, **vars(self))

    def design_or_simple(self, data: pd.DataFrame) -> tuple[SurveyDesign, bool]:
        """Read the design, and say whether it is only that of a simple random sample, because nothing was given."""
        found = self.design(data)
        if found is not None:
            return found, False
        n = len(data)
        return SurveyDesign(np.ones(n), np.zeros(n, dtype=np.int64), np.arange(n)), True

    def design_of(self, reports: Any) -> SurveyDesign | None:
        """Read the design of a table of respondents; joint counts have none."""
        if isinstance(reports, pd.DataFrame):
            return self.design(reports)
        if self.given:
            raise AnalysisError(
                "weights, strata, clusters, margins and population need a table of respondents, not joint counts",
                "give one row for each respondent",
            )
        if isinstance(reports, np.ndarray | list | tuple):
            return None
        raise AnalysisError(
            f"reports must be a DataFrame or an array of counts, not {type(reports).__name__}"
        )

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


NAMES = tuple(one.name for one in fields(SampleKeys))


def takes_sample(function: Callable[..., Result]) -> Callable[..., Result]:
    """Give a function the six keywords of a sample in place of its parameter `sample`."""

    @wraps(function)
    def sampled(*args: Any, **keys: Any) -> Result:
        given = {name: keys.pop(name) for name in NAMES if name in keys}
        return function(*args, sample=SampleKeys(**given), **keys)

    known = inspect.signature(function)
    keywords = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=one.type)
        for one in fields(SampleKeys)
    ]
    kept = [one for one in known.parameters.values() if one.name != "sample"]
    sampled.__signature__ = known.replace(parameters=[*kept, *keywords])  # type: ignore[attr-defined]
    return sampled
