"""Any table, with all its weights."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
from hushpoll_client.channel import SCALE, Channel
from hushpoll_client.messages import msg

from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError

from .base import RANK, Answers, ChannelView, Codes, Draws, Floats, OneDraw, Rule, read_target

# C b = a counts as solved when the residual is below this share of |a|: integer weights out of 2^53 leave about 1e-15.
RESIDUAL = 1e-9
# Up to this many outcomes, comparing with every threshold beats a binary search.
FEW_OUTCOMES = 8


class TableView(ChannelView):
    """Any table. Where several b solve C b = a, the one with the least variance at `planning_shares`.

    With p = C'h at these shares h (all alike if None), minimise sum p_z b_z^2 subject to C b = a:
    b = P^-1 C' (C P^-1 C')^- a. A `basis` (M x K) restricts b to its columns instead; Kuk's design uses 1 and z, as
    Kuk (1990) and RRreg do.
    """

    def __init__(
        self,
        table: npt.ArrayLike,
        basis: npt.ArrayLike | None = None,
        planning_shares: npt.ArrayLike | None = None,
    ) -> None:
        self.table: Floats = np.asarray(table, dtype=np.float64)
        self.options, self.outcomes = self.table.shape
        if planning_shares is None:
            planning_shares = np.full(self.options, 1.0 / self.options)
        self._planning_shares: Floats = np.asarray(planning_shares, dtype=np.float64)
        self._possible: npt.NDArray[np.bool_] = np.asarray(self.table.max(axis=0) > 0)
        self._inverse = self._right_inverse(None if basis is None else np.asarray(basis, dtype=np.float64))
        if basis is not None:
            self.choice = "count-linear"
        else:
            rank = np.linalg.matrix_rank(self.table, tol=RANK)
            if rank == self.possible.sum():
                self.choice = "unique"
            else:
                self.choice = "least variance"

    def _right_inverse(self, basis: Floats | None) -> Floats:
        """Return the M x K matrix G with b = G a."""
        if basis is not None:
            inner = np.linalg.pinv(self.table @ basis, rcond=RANK)
            return np.asarray(basis @ inner, dtype=np.float64)
        scale = np.zeros(self.outcomes)
        # A report that these shares rule out occurs where they are wrong: its weight is kept finite.
        expected = np.maximum(self._planning_shares @ self.table, RANK * self.table.mean(axis=0))
        scale[self._possible] = expected[self._possible] ** -0.5
        scaled = np.linalg.pinv(self.table * scale, rcond=RANK)
        return np.asarray(scale[:, None] * scaled, dtype=np.float64)

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        return self._possible

    def forward(self, shares: Floats) -> Floats:
        return np.asarray(shares @ self.table, dtype=np.float64)

    def backward(self, values: Floats) -> Floats:
        return np.asarray(values @ self.table.T, dtype=np.float64)

    def solution(self, target: npt.ArrayLike) -> Floats:
        coefficients = read_target(target, self.options)
        weights: Floats = self._inverse @ coefficients
        self._check(self.table @ weights - coefficients, coefficients)
        return weights

    def shares(self, frequencies: Floats) -> Floats:
        if not self._identified:
            identity = np.eye(self.options)
            self._check(self.table @ self._inverse - identity, identity)
        return np.asarray(frequencies @ self._inverse, dtype=np.float64)

    @cached_property
    def _identified(self) -> bool:
        """Whether the reports determine every share."""
        return bool(np.max(np.abs(self.table @ self._inverse - np.eye(self.options))) <= RESIDUAL)

    def _check(self, residual: Floats, coefficients: Floats) -> None:
        if np.max(np.abs(residual)) <= RESIDUAL * max(1.0, float(np.max(np.abs(coefficients)))):
            return
        raise NotIdentifiedError(
            msg(
                "the reports do not determine this quantity: their channel, {options} answers to "
                "{outcomes} reports, is singular for it ({fault})",
                options=self.options,
                outcomes=self.outcomes,
                fault=self._fault(),
            ),
            "ask for another quantity, such as the mean, or change the mechanism (truth = 1/2 tells nothing)",
        )

    def _fault(self) -> str:
        for x in range(self.options):
            for y in range(x + 1, self.options):
                if np.allclose(self.table[x], self.table[y], rtol=0, atol=RANK):
                    return msg("true answers {first} and {second} give the same reports", first=x, second=y)
        if self.options > self.outcomes:
            return msg("there are fewer reports than options")
        return msg("its rows are not independent")


class TableSampler(OneDraw):
    """What is drawn is the report itself, by another row for every answer."""

    def __init__(self, channel: Channel) -> None:
        self.options, self.outcomes = channel.options, channel.outcomes
        self.cells, self.rows = channel.outcomes, channel.options
        self.channel = channel

    def rule(self) -> Rule:
        return _rule(self.channel)

    def finish(self, answers: Answers, codes: Codes) -> Codes:
        return codes


def _rule(channel: Channel) -> Rule:
    """First column whose cumulative weight exceeds r."""
    cumulative = np.cumsum(np.array(channel.rows, dtype=np.uint64), axis=1)
    if channel.outcomes <= FEW_OUTCOMES:
        thresholds = cumulative[:, :-1].T.copy()

        def compare(answers: Answers, draws: Draws) -> Codes:
            reports = np.zeros(draws.shape, dtype=np.uint8)
            for column in thresholds:
                reports += draws >= column[answers]
            return reports

        return compare

    # One search serves all rows: row x occupies [x 2^53, (x + 1) 2^53) of one long cumulative list, which fits
    # 64 bits up to 2,047 rows (a survey has at most 1,000 options).
    if channel.options > 2047:
        raise AnalysisError(
            msg(
                "{rows} options are more than the 2,047 that a matrix channel can simulate",
                rows=channel.options,
            )
        )
    base = np.arange(channel.options, dtype=np.uint64) * np.uint64(SCALE)
    line = (cumulative + base[:, None]).reshape(-1)
    width = np.int64(channel.outcomes)

    def search(answers: Answers, draws: Draws) -> Codes:
        index = np.searchsorted(line, draws + base[answers], side="right")
        result: Codes = index - answers.astype(np.int64) * width
        return result

    return search
