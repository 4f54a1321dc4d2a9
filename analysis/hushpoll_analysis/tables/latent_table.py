"""The estimated joint distribution of true answers: what can be drawn from, because nothing in it is negative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.counts import finite_numbers
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sample.columns import Mechanisms, Variable
from hushpoll_analysis.sample.members import refuse_together, with_members

from .joint import JointReports
from .reading import read_joint

MOST_CELLS = 20_000
MOST_REPORTS = 200_000


@dataclass(frozen=True, eq=False)
class LatentTable:
    """The maximum likelihood shares of all joint answers, with the reports they come from."""

    joint: JointReports

    @cached_property
    def shares(self) -> Floats:
        """The shares, none of them negative, summing to one."""
        return shares_of(self.joint)

    @cached_property
    def report_chances(self) -> Floats:
        """The chances of all joint reports at these shares."""
        chances = np.maximum(self.joint.expected_reports(self.shares), 0.0)
        return np.asarray(chances / chances.sum(), dtype=np.float64)

    def again(self, generator: np.random.Generator) -> LatentTable:
        """Draw as many reports from the estimate as there were, and estimate once more (parametric bootstrap)."""
        counts = generator.multinomial(self.joint.n, self.report_chances.ravel())
        resampled = counts.reshape(self.joint.counts.shape).astype(np.float64)
        return LatentTable(replace(self.joint, counts=resampled, codes=None))


def shares_of(joint: JointReports) -> Floats:
    """Find the likeliest table; one that did not settle is refused."""
    best = joint.constrained()
    # What is looked for are a few centres or made-up people: a gap of a thousandth per report moves neither.
    if best.gap > 1e-3:
        raise AnalysisError(
            f"the constrained likelihood did not settle (gap {best.gap:.2g} per report)",
            "take fewer questions, or ones with a larger epsilon",
        )
    return best.shares


def read_latent(
    reports: Any,
    mechanisms: Mechanisms,
    columns: Sequence[str],
    labels: Mapping[str, Sequence[Any]] | None,
    what: str,
) -> LatentTable:
    """Read the reports of some questions, all of which must have been randomized."""
    if isinstance(columns, str) or len(columns) < 2:
        raise AnalysisError(f"{what} needs at least two questions", "name them in a list")
    if len(columns) > 2:
        refuse_together(mechanisms, columns, "take two questions of a block at a time")
    if isinstance(mechanisms, Survey):
        _refuse_means(mechanisms, columns)
    if isinstance(reports, pd.DataFrame):
        reports = with_members(reports, mechanisms, columns)
    joint = read_joint(reports, mechanisms, list(columns), None, labels)
    for variable in joint.variables:
        if not variable.randomized:
            raise AnalysisError(
                f"{variable.name} was not randomized, so nothing would protect what is made from it",
                "name randomized questions only",
            )
    cells = int(np.prod([variable.view.options for variable in joint.variables], dtype=np.float64))
    if cells > MOST_CELLS or joint.counts.size > MOST_REPORTS:
        raise AnalysisError(
            f"the questions have {cells:,} joint answers and {joint.counts.size:,} joint reports, too many to estimate",
            "take fewer questions",
        )
    return LatentTable(joint)


def points_of(variable: Variable, mechanisms: Mechanisms, values: Mapping[str, Sequence[float]]) -> Floats:
    """Return the number that each answer stands for: those given, the survey's, or 0, 1, 2, ..."""
    if variable.name in values:
        points = finite_numbers(values[variable.name], f"values of {variable.name}")
    elif isinstance(mechanisms, Survey):
        points = _survey_points(mechanisms, variable.name)
    else:
        points = np.arange(len(variable.labels), dtype=np.float64)
    if len(points) != len(variable.labels):
        raise AnalysisError(
            f"{variable.name} has {len(variable.labels)} answers, {len(points)} values are given",
            "give one for each",
        )
    return points


def _refuse_means(survey: Survey, columns: Sequence[str]) -> None:
    """Refuse a question whose reports tell its mean and not the shares of its answers, before anything is estimated."""
    for question in survey.questions:
        if question.id in columns and question.answers.optimum[0] == "mean" and not _shares_known(question):
            raise AnalysisError(
                f"the reports of {question.id} tell its mean only",
                'set its mechanism\'s "target" to "distribution" next time',
            )


def _shares_known(question: Question) -> bool:
    view = channel_view(question.mechanism)
    try:
        view.shares(np.zeros(view.outcomes))
    except NotIdentifiedError:
        return False
    return question.answers.ordered


def _survey_points(survey: Survey, name: str) -> Floats:
    answers = survey.question(name).answers
    if answers.values is not None:
        return np.array([float(value) for value in answers.values])
    if answers.edges is None:
        raise AnalysisError(
            f"the answers of {name} are not numbers",
            f"take a scale or a number, or say what they stand for: values={{{name!r}: [...]}}",
        )
    # A bin stands for its middle: within it the reports tell nothing.
    return np.array([float(first + last) / 2.0 for first, last in answers.edges])
