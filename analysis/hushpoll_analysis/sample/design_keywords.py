"""How respondents were sampled, as every public function takes it: six keywords, read in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from numbers import Real
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from hushpoll_client import Survey

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import Mechanisms
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.design_reading import Population, read_sample_design, simple_design
from hushpoll_analysis.sample.members import with_members
from hushpoll_analysis.sample.raking import Margins
from hushpoll_analysis.sample.replicates import replicates_beside
from hushpoll_analysis.sample.weights import Column, row_values

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
        is_one_number = isinstance(self.population, Real | None)
        return is_one_number and set(self.given) <= {"population"}

    def design(self, data: pd.DataFrame) -> SampleDesign | None:
        """Read the design from a table of respondents; None when nothing was asked for."""
        return read_sample_design(data, **vars(self))

    def design_or_simple(self, data: pd.DataFrame) -> SampleDesign:
        """Read the design; that of a simple random sample when nothing was asked for."""
        return self.design(data) or simple_design(data)

    def design_of(self, reports: Any) -> SampleDesign | None:
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

    def in_frame(self, frame: Any) -> tuple[Any, SampleKeys]:
        """Put values that were given separately into a table; return the keys with names of columns only."""
        if not isinstance(frame, pd.DataFrame):
            return frame, self
        keys: dict[str, Any] = {}
        columns: dict[str, Any] = {}
        for key, value in self.given.items():
            if key in ("weights", "strata", "clusters", "population") and isinstance(
                value, list | np.ndarray | pd.Series
            ):
                columns[f"({key})"] = row_values(frame, value, key)
                keys[key] = f"({key})"
            elif key == "replicates":
                columns_of_key, keys[key] = replicates_beside(frame, value)
                columns |= columns_of_key
            else:
                keys[key] = value
        if not columns:
            return frame, self
        # All at once: hundreds of replicates one by one would be copied as often.
        return pd.concat([frame, pd.DataFrame(columns, index=frame.index)], axis=1), SampleKeys(**keys)

    def refuse_reports(self, mechanisms: Any) -> None:
        """Refuse a randomized column as part of the design: its reports are not what people are."""
        reports = randomized_names(mechanisms)
        for key, value in self.given.items():
            named = value if key == "margins" and isinstance(value, Mapping) else [value]
            for name in named:
                if isinstance(name, str) and name.removesuffix("_reported") in reports:
                    raise AnalysisError(
                        f"{key}: {name!r} was randomized, so its reports tell nobody's true group",
                        "take a column that was not",
                    )

    def among_asked(
        self, frame: pd.DataFrame, mechanisms: Mechanisms, names: Sequence[str]
    ) -> tuple[pd.DataFrame, SampleKeys]:
        """Add columns for questions of a block; leave out people who were not asked, with their weights."""
        rows, keys = self.in_frame(frame)
        among = with_members(rows, mechanisms, names)
        if among is rows:
            return (frame, self)
        return (among, keys)


NAMES = tuple(key.name for key in fields(SampleKeys))
ASKED = ("mechanisms", "channels", "survey")
"""Where the functions take what was randomized."""


def randomized_names(mechanisms: Any) -> set[str]:
    """Name the columns that went through a mechanism, as far as they are named."""
    if isinstance(mechanisms, Survey):
        return {question.id for question in mechanisms.questions}
    if isinstance(mechanisms, Mapping):
        return {str(name) for name, mechanism in mechanisms.items() if mechanism is not None}
    return set()


def takes_sample(function: Callable[..., Result]) -> Callable[..., Result]:
    """Return a function the six keywords of a sample in place of its parameter `sample`."""

    @wraps(function)
    def sampled(*args: Any, **keys: Any) -> Result:
        sample = SampleKeys(**{name: keys.pop(name) for name in NAMES if name in keys})
        if sample.given:
            arguments = signature.bind_partial(*args, **keys).arguments
            sample.refuse_reports(next((arguments[key] for key in ASKED if key in arguments), None))
        return function(*args, sample=sample, **keys)

    signature = inspect.signature(function)
    keywords = [
        inspect.Parameter(key.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=key.type)
        for key in fields(SampleKeys)
    ]
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "sample"]
    sampled.__signature__ = signature.replace(parameters=[*parameters, *keywords])  # type: ignore[attr-defined]
    return sampled
