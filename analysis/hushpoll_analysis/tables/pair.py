"""Two questions of one block: their joint answer went through one K-ary channel, not each through its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from hushpoll_client import Channel
from hushpoll_client.channel import SCALE

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.maximum_likelihood import Maximum, maximise
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.sample.columns import Variable
from hushpoll_analysis.sample.design import SampleDesign

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
