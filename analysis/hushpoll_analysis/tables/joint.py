"""Joint reports of several variables: the Kronecker structure that cross-tables and comparisons share.

Cell (i, j, ...) of the true table is estimated by the mean of B1[i, z1] B2[j, z2] ... over the respondents, so every
step works along one axis at a time and no matrix of the whole table is ever made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product

import numpy as np
import numpy.typing as npt
from hushpoll_client.messages import msg

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.maximum_likelihood import Maximum, maximise
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import Codes, EstimatedShare, Variable
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.weighted_notes import heavy_notes


@dataclass(frozen=True, eq=False)
class JointReports:
    """Counts of joint reports, with each variable's channel and, for a sample design, each respondent's codes."""

    variables: tuple[Variable, ...]
    counts: Floats
    codes: tuple[Codes, ...] | None = None
    design: SampleDesign | None = None

    @property
    def together(self) -> bool:
        """Whether two of the variables were randomized together, as questions of one block are."""
        return False

    @property
    def n(self) -> int:
        """Number of respondents."""
        return round(float(self.counts.sum()))

    @property
    def effective_n(self) -> float:
        """Kish's effective number of respondents; n without weights."""
        if self.design is None:
            return float(self.n)
        return self.design.effective_n

    @property
    def freedom(self) -> int | None:
        """Degrees of freedom of intervals under a sample design; None means normal ones."""
        if self.design is None:
            return None
        return self.design.freedom

    @cached_property
    def frequencies(self) -> Floats:
        """Share of each joint report, weighted where there are weights."""
        if self.design is None:
            return np.asarray(self.counts / self.counts.sum(), dtype=np.float64)
        flat = np.bincount(self.cells, weights=self.design.weights, minlength=self.counts.size)
        return np.asarray(flat / flat.sum(), dtype=np.float64).reshape(self.counts.shape)

    def expected_reports(self, truth: Floats) -> Floats:
        """Return the chance of each joint report where the true table is this one."""
        for axis, variable in enumerate(self.variables):
            truth = np.moveaxis(variable.view.forward(np.moveaxis(truth, axis, -1)), -1, axis)
        return truth

    @cached_property
    def cells(self) -> Codes:
        """The joint report of each respondent, counted through the table."""
        assert self.codes is not None
        return np.ravel_multi_index(self.codes, self.counts.shape).astype(np.int64)

    @cached_property
    def matrices(self) -> tuple[Floats, ...]:
        """The K x M estimator weights of each variable."""
        return tuple(variable.weights for variable in self.variables)

    @cached_property
    def estimate(self) -> Floats:
        """Unbiased shares of all cells of the true table."""
        return along_axes(self.frequencies, self.matrices)

    def standard_errors(self) -> Floats:
        """Return every cell's standard error: (sum b^2 f - (b.f)^2) / (n - 1), axis by axis, and the decoys' own
        part.
        """
        if self.design is None:
            self._need(2)
            squares = along_axes(self.frequencies, [matrix**2 for matrix in self.matrices])
            variance = (squares - self.estimate**2) / (self.n - 1)
        else:
            variance = self._design_variances(self.design)
        for axis, decoy in self.decoys:
            matrices = [*self.matrices[:axis], decoy.slope, *self.matrices[axis + 1 :]]
            variance = variance + along_axes(self.frequencies, matrices) ** 2 * decoy.variance
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)), dtype=np.float64)

    def report_variances(self, finite: bool = True) -> Floats:
        """Return every cell's variance under the sample design, without what estimated decoy shares add.

        Without `finite` as if the population had no end.
        """
        assert self.design is not None
        return self._design_variances(self.design if finite else self.design.without_population)

    def _design_variances(self, design: SampleDesign) -> Floats:
        assert self.codes is not None
        result = np.empty(self.estimate.shape)
        columns = [matrix[:, codes] for matrix, codes in zip(self.matrices, self.codes, strict=True)]
        for cell in np.ndindex(*result.shape):
            values = np.prod([column[k] for column, k in zip(columns, cell, strict=True)], axis=0)
            noise = partial(self._noise_in, cell)
            result[cell] = design.covariance((values - self.estimate[cell])[:, None], noise)[0, 0]
        return result

    def noise_by_report(self, influence: Floats) -> Floats:
        """Unbiased estimates of Cov(influence | truth), one a joint report (reports x q x q)."""
        back = [matrix.T for matrix in self.matrices]
        result = np.zeros((self.counts.size, len(influence), len(influence)))
        for forward, mine in self._by_design():
            means = [along_axes(row, forward) for row in influence]
            for a in range(len(influence)):
                for b in range(a, len(influence)):
                    spread = along_axes(influence[a] * influence[b], forward) - means[a] * means[b]
                    values = along_axes(spread, back).reshape(-1)[mine]
                    result[mine, a, b] = result[mine, b, a] = values
        return result

    def noise_by_truth(self, influence: Floats) -> Floats:
        """Return Cov(influence | truth) for each true answer and design (answers x q x q)."""
        truths = []
        for forward, _ in self._by_design():
            means = np.stack([along_axes(row, forward).reshape(-1) for row in influence], axis=1)
            products = [
                [along_axes(row * other, forward).reshape(-1) for other in influence] for row in influence
            ]
            truths.append(np.moveaxis(np.array(products), -1, 0) - means[:, :, None] * means[:, None, :])
        return np.concatenate(truths)

    def _noise(self, influence: Floats) -> Floats:
        """Return the same for each respondent (n x q x q)."""
        return self.noise_by_report(influence)[self.cells]

    def _noise_in(self, cell: tuple[int, ...]) -> Floats:
        rows = [matrix[k] for matrix, k in zip(self.matrices, cell, strict=True)]
        return self._noise(self.functional(rows)[None])

    def _by_design(self) -> Iterator[tuple[list[Floats], npt.NDArray[np.bool_]]]:
        """Yield P(report | truth) of each variable, with the joint reports of these designs: mostly all, by one
        each.
        """
        tables = [variable.view.tables for variable in self.variables]
        used = np.meshgrid(*(variable.view.design_of for variable in self.variables), indexing="ij")
        for designs in product(*(range(len(table)) for table in tables)):
            mine = np.all(
                [used_by_row == number for used_by_row, number in zip(used, designs, strict=True)], axis=0
            ).reshape(-1)
            if np.any(mine):
                yield (
                    [table_of_axis[number] for table_of_axis, number in zip(tables, designs, strict=True)],
                    mine,
                )

    @cached_property
    def decoys(self) -> tuple[tuple[int, EstimatedShare], ...]:
        """The variables whose decoy share is itself an estimate, by axis."""
        return tuple(
            (axis, variable.decoy)
            for axis, variable in enumerate(self.variables)
            if variable.decoy is not None
        )

    def covariance(self, influence: Floats, slopes: Floats | None = None) -> Floats:
        """Covariance of q statistics from their influence values on each joint report (q x report shape).

        `slopes` (decoys x q) says how each statistic moves with each estimated decoy share.
        """
        flat = influence.reshape(len(influence), -1)
        if self.design is None:
            self._need(2)
            result = np.asarray(
                (flat * self.frequencies.reshape(-1)) @ flat.T / (self.n - 1), dtype=np.float64
            )
        else:
            result = self.design.covariance(flat[:, self.cells].T, lambda: self._noise(influence))
        if slopes is not None:
            for (_, decoy), slope in zip(self.decoys, slopes, strict=True):
                result = result + np.outer(slope, slope) * decoy.variance
        return result

    def mean(self, answers: Mapping[int, int]) -> float:
        """Estimated share of people with the given answer (by number) on each named axis."""
        rows = [
            self.matrices[axis][answers[axis]] if axis in answers else None
            for axis in range(len(self.variables))
        ]
        return float(np.sum(self.functional(rows) * self.frequencies))

    def mean_slopes(self, answers: Mapping[int, int]) -> Floats:
        """Return how that share moves with each estimated decoy share."""
        result = np.zeros(len(self.decoys))
        for number, (axis, decoy) in enumerate(self.decoys):
            if axis not in answers:
                continue
            rows = [
                self.matrices[number][answers[number]] if number in answers else None
                for number in range(len(self.variables))
            ]
            rows[axis] = decoy.slope[answers[axis]]
            result[number] = float(np.sum(self.functional(rows) * self.frequencies))
        return result

    def functional(self, rows: Sequence[Floats | None]) -> Floats:
        """Spread b1, b2, ... (report weights of each variable; None for all ones) over the joint reports."""
        result = np.ones(())
        for row, length in zip(rows, self.counts.shape, strict=True):
            result = np.multiply.outer(result, np.ones(length) if row is None else row)
        return result

    def constrained(self) -> Maximum:
        """Maximum likelihood table on the simplex (no cell below zero), and whether the search reached it."""
        views = [variable.view for variable in self.variables]

        def backward(values: Floats) -> Floats:
            for axis, view in enumerate(views):
                values = np.moveaxis(view.backward(np.moveaxis(values, axis, -1)), -1, axis)
            return values

        start = np.maximum(self.estimate, 0.0) + 1.0 / self.estimate.size
        return maximise(self.frequencies * self.n, self.expected_reports, backward, start)

    def notes(self) -> tuple[str, ...]:
        """Return what to know about the standard errors."""
        decoys = tuple(
            msg(
                "the decoy share of {question} was estimated from {answers:,} answers; its uncertainty is part of "
                "these standard errors",
                question=self.variables[axis].name,
                answers=decoy.answers,
            )
            for axis, decoy in self.decoys
        )
        return (*decoys, *heavy_notes(self.design, allowed=True))

    def axis(self, name: str) -> int:
        """Find a variable by its name."""
        for number, variable in enumerate(self.variables):
            if variable.name == name:
                return number
        names = ", ".join(variable.name for variable in self.variables)
        raise AnalysisError(f"there is no variable {name!r} in this table", f"it has {names}")

    def _need(self, least: int) -> None:
        if self.n < least:
            raise AnalysisError(f"a standard error needs at least {least} respondents, got {self.n}")


def along_axes(table: Floats, matrices: Sequence[Floats]) -> Floats:
    """Multiply each axis of a table by its own matrix."""
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return np.asarray(table, dtype=np.float64)
