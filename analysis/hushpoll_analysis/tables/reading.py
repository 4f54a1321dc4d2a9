"""Reading joint reports: from respondents, from counts, or of two questions of one block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Channel, Survey
from hushpoll_client.channel import SCALE

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.maximum_likelihood import Maximum, maximise
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import (
    MAX_GROUPS,
    ExactView,
    Mechanisms,
    Variable,
    randomized_variable,
    read_variable,
)
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.distinct_rows import times_of
from hushpoll_analysis.sample.members import pair_of, refuse_together

from .joint import JointReports


@dataclass(frozen=True, eq=False)
class PairReports(JointReports):
    """Joint reports of two questions that were randomized together.

    A report names each wrong cell with chance `low` and the true one with `low + gap`, so a cell is estimated by
    (f - low) / gap; a statistic a over the true cells has the weights (a - low sum(a)) / gap.
    """

    low: float = 0.0
    gap: float = 1.0

    @property
    def together(self) -> bool:
        """Two answers of one report are randomized together."""
        return True

    def _weights(self, target: Floats) -> Floats:
        """Return the weights of the reports whose mean is a.h, for a over the last two axes."""
        total = target.sum(axis=(-2, -1), keepdims=True)
        return np.asarray((target - self.low * total) / self.gap, dtype=np.float64)

    def _expected(self, values: Floats) -> Floats:
        """Return the mean of a number per report for every true cell; the table is symmetric."""
        total = values.sum(axis=(-2, -1), keepdims=True)
        return np.asarray(self.low * total + self.gap * values, dtype=np.float64)

    @property
    def estimate(self) -> Floats:
        """Unbiased shares of all cells of the true table."""
        return np.asarray((self.frequencies - self.low) / self.gap, dtype=np.float64)

    def standard_errors(self) -> Floats:
        """Return every cell's standard error."""
        if self.design is not None:
            return np.asarray(np.sqrt(np.maximum(self._design_variances(self.design), 0.0)))
        self._need(2)
        hit, miss = ((1.0 - self.low) / self.gap) ** 2, (self.low / self.gap) ** 2
        squares = hit * self.frequencies + miss * (1.0 - self.frequencies)
        return np.asarray(np.sqrt(np.maximum((squares - self.estimate**2) / (self.n - 1), 0.0)))

    def _design_variances(self, design: SampleDesign) -> Floats:
        result = np.empty(self.estimate.shape)
        for cell in np.ndindex(*result.shape):
            target = np.zeros(result.shape)
            target[cell] = 1.0
            weights = self._weights(target)
            values = weights.reshape(-1)[self.cells] - self.estimate[cell]
            result[cell] = design.covariance(values[:, None], partial(self._noise, weights[None]))[0, 0]
        return result

    def _noise(self, influence: Floats) -> Floats:
        means = self._expected(influence)
        result = np.empty((len(self.cells), len(influence), len(influence)))
        for a in range(len(influence)):
            for b in range(len(influence)):
                spread = self._expected(influence[a] * influence[b]) - means[a] * means[b]
                result[:, a, b] = self._weights(spread).reshape(-1)[self.cells]
        return result

    def functional(self, rows: Sequence[Floats | None]) -> Floats:
        """Return the weights of the joint reports that estimate the product of what `rows` estimate, one a variable."""
        tables = []
        for row, variable in zip(rows, self.variables, strict=True):
            if row is None:
                answers = np.ones(variable.view.options)
            else:
                answers = variable.view.backward(row)
            tables.append(answers)
        return self._weights(np.multiply.outer(*tables))

    def constrained(self) -> Maximum:
        """Maximum likelihood table on the simplex."""
        start = np.maximum(self.estimate, 0.0) + 1.0 / self.estimate.size
        return maximise(self.frequencies * self.n, self._expected, self._expected, start)

    def expected_reports(self, truth: Floats) -> Floats:
        """Return the chance of each joint report where the true table is this one."""
        return self._expected(truth)


def _variables(
    names: Sequence[str], labels: Sequence[Sequence[str]], channel: Channel
) -> tuple[Variable, ...]:
    """Return each of the two as it looks in the reports that asked both."""
    sizes = [len(label) for label in labels]
    weight = channel.row(0)[1]
    variables = []
    for name, labels_of_question, other in zip(names, labels, reversed(sizes), strict=True):
        pair_channel = Channel.krr(len(labels_of_question), weight * other)
        variables.append(
            Variable(name, tuple(labels_of_question), channel_view(pair_channel), True, None, pair_channel)
        )
    return tuple(variables)


def pair_reports(
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
    channel: Channel,
    counts: Floats,
    codes: tuple[np.ndarray, ...] | None = None,
    design: SampleDesign | None = None,
) -> PairReports:
    """Make the joint reports of two questions from a table of counts and what randomized their joint answer."""
    low, high = channel.row(0)[1] / SCALE, channel.kept / SCALE
    return PairReports(_variables(names, labels, channel), counts, codes, design, low, high - low)


MAX_CELLS = 10_000_000


def read_joint(
    reports: pd.DataFrame | npt.ArrayLike,
    mechanisms: Mechanisms,
    names: Sequence[str],
    design: SampleDesign | None,
    labels: Mapping[str, Sequence[Any]] | None = None,
    means: Sequence[str] = (),
) -> JointReports:
    """Read joint reports from a table of respondents, or from an array of joint counts (one axis a variable).

    Of the variables named in `means` only a mean is wanted, which their reports may tell without telling the shares.
    """
    if len(set(names)) != len(names):
        raise AnalysisError(f"a variable is named twice: {', '.join(names)}", "name each once")
    if len(names) < 2:
        raise AnalysisError("a cross-table needs at least two variables", "use estimate for one")
    labels = labels or {}
    if len(names) == 2 and isinstance(mechanisms, Survey):
        block_pair = pair_of(mechanisms, names[0], names[1])
        if block_pair is not None:
            return _from_block(reports, mechanisms, names, design, block_pair[1].channel)
    refuse_together(mechanisms, names, "put two questions of a block in a table of their own")
    if isinstance(reports, pd.DataFrame):
        return _from_rows(reports, mechanisms, names, design, labels, means)
    if design is not None:
        raise AnalysisError("weights, strata and clusters need a table of respondents, not joint counts")
    try:
        counts = np.asarray(reports)
    except ValueError:
        raise AnalysisError(
            "counts: the rows have different lengths", "give one number for each cell"
        ) from None
    return _from_counts(counts, mechanisms, names, labels, means)


def _from_rows(
    data: pd.DataFrame,
    mechanisms: Mechanisms,
    names: Sequence[str],
    design: SampleDesign | None,
    labels: Mapping[str, Sequence[Any]],
    means: Sequence[str],
) -> JointReports:
    if data.empty:
        raise AnalysisError("the table of reports is empty", "there is nothing to estimate")
    pairs = [read_variable(data, name, mechanisms, labels.get(name), name not in means) for name in names]
    variables = tuple(variable for variable, _ in pairs)
    codes = tuple(values for _, values in pairs)
    shape = tuple(variable.view.outcomes for variable in variables)
    cells = float(np.prod(shape, dtype=np.float64))
    if cells > MAX_CELLS:
        raise AnalysisError(f"the table would have {cells:.3g} cells", "leave a variable out")
    cell = np.ravel_multi_index(codes, shape)
    counts = np.bincount(cell, weights=times_of(data), minlength=int(cells)).reshape(shape).astype(np.float64)
    return JointReports(variables, counts, codes, design)


def _from_block(
    reports: pd.DataFrame | npt.ArrayLike,
    survey: Survey,
    names: Sequence[str],
    design: SampleDesign | None,
    channel: Channel,
) -> JointReports:
    """Read two questions of one block, from respondents who were asked both or from their table of counts."""
    questions = [survey.question(name) for name in names]
    labels = [question.options for question in questions]
    shape = tuple(map(len, labels))
    if not isinstance(reports, pd.DataFrame):
        counts = np.asarray(reports, dtype=np.float64)
        if counts.shape != shape:
            raise AnalysisError(
                f"counts have shape {counts.shape}", f"give a table of {shape[0]} x {shape[1]}"
            )
        return pair_reports(names, labels, channel, counts)
    codes = []
    for question, size in zip(questions, shape, strict=True):
        # Joint sizes, where they are told apart, come before the answer.
        codes.append(read_variable(reports, question.id, survey)[1] % size)
    cell = np.ravel_multi_index(codes, shape)
    joint_counts = np.bincount(cell, weights=times_of(reports), minlength=shape[0] * shape[1])
    counts = joint_counts.reshape(shape).astype(np.float64)
    return pair_reports(names, labels, channel, counts, tuple(codes), design)


def _from_counts(
    counts: npt.NDArray[Any],
    mechanisms: Mechanisms,
    names: Sequence[str],
    labels: Mapping[str, Sequence[Any]],
    means: Sequence[str],
) -> JointReports:
    if counts.ndim != len(names):
        raise AnalysisError(
            f"{counts.ndim} axes of counts for {len(names)} variables", "give one axis for each"
        )
    if counts.dtype.kind not in "iuf" or not np.all(np.isfinite(counts)):
        raise AnalysisError("counts must be whole numbers of 0 or more")
    if np.any(counts < 0) or np.any(counts != np.floor(counts)):
        raise AnalysisError(
            "counts must be whole numbers of 0 or more", "a negative or fractional one was given"
        )
    if counts.sum() == 0:
        raise AnalysisError("all counts are 0", "there is nothing to estimate")
    variables = []
    for axis, name in enumerate(names):
        variable = randomized_variable(name, mechanisms, labels.get(name), name not in means)
        if variable is None:
            variable = _exact(name, list(labels.get(name, range(counts.shape[axis]))))
        if variable.view.outcomes != counts.shape[axis]:
            raise AnalysisError(
                f"{name} has {variable.view.outcomes} possible reports but axis {axis} of the counts has "
                f"{counts.shape[axis]}"
            )
        variables.append(variable)
    return JointReports(tuple(variables), counts.astype(np.float64))


def _exact(name: str, labels: list[Any]) -> Variable:
    """Return the variable of groups that were not randomized."""
    if all(isinstance(label, str) for label in labels) and len(set(labels)) == len(labels) <= MAX_GROUPS:
        return Variable(name, tuple(labels), ExactView(len(labels)), False)
    return read_variable(pd.DataFrame({name: labels}), name, {}, labels)[0]
