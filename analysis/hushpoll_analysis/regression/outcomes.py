"""Models of an outcome: the logarithm of a report's chance, with exact first and second derivatives.

An outcome has R linear predictors (one for yes/no, ordered answers and numbers; one an answer but the first for
unordered answers) and E further parameters (unknown shares of the design, cut points, a spread). Derivatives are taken
in these R + E together; the likelihood adds the chain rule to the coefficients.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from hushpoll_analysis.channel.base import ChannelView, Floats
from hushpoll_analysis.sample.columns import Codes

from .links import chance_of

TINY = 1e-300


@dataclass(frozen=True)
class Terms:
    """log g of each respondent, its gradient (n x (R + E)) and Hessian (n x (R + E) x (R + E))."""

    log: Floats
    first: Floats
    second: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome(ABC):
    """What the likelihood needs to know of an outcome; by default of one linear predictor on the scale of log-odds."""

    tables: tuple[Floats, ...] = ()
    """The chances of reports under every true answer (K x M), one table a design."""
    table_of: Codes | None = None
    """Whose table is whose; None where all have one."""

    @property
    def lines(self) -> int:
        """Number R of linear predictors."""
        return 1

    @property
    def extra(self) -> int:
        """Number E of parameters besides the coefficients."""
        return 0

    @property
    def extra_names(self) -> tuple[str, ...]:
        """What they are called."""
        return ()

    @property
    def log_odds(self) -> bool:
        """Whether coefficients are of the size of log-odds, so that a large one is on its way to infinity."""
        return True

    @property
    def reports(self) -> int:
        """How many different reports there can be."""
        return max(int(table.shape[1]) for table in self.tables)

    def start(self, extra: int) -> Floats:
        """Where to start the search for the further parameters."""
        return np.zeros(extra)

    def natural(self, extra: Floats) -> tuple[Floats, Floats]:
        """Return the further parameters as people read them, and the derivative from the ones of the search."""
        return extra, np.eye(self.extra)

    @abstractmethod
    def terms(self, eta: Floats, extra: Floats) -> Terms:
        """Return log g and its derivatives at linear predictors (n x R)."""

    @abstractmethod
    def chances(self, eta: Floats, extra: Floats) -> Floats:
        """Return the chance of each true answer (n x K); the mean of a number (n x 1)."""

    @abstractmethod
    def reporting(self, report: int) -> Outcome:
        """Return the outcome if each respondent had sent this report."""

    @abstractmethod
    def given(self, extra: Floats) -> Floats:
        """Return the chance of each respondent's report under every true answer (n x K)."""


@dataclass(frozen=True, eq=False)
class AnswersOutcome(Outcome):
    """One of several answers; `seen` is n x K, C[k, z_i]."""

    seen: Floats

    def reporting(self, report: int) -> AnswersOutcome:
        return replace(self, seen=report_column(self.tables, self.table_of, report, len(self.seen)))

    def given(self, extra: Floats) -> Floats:
        return self.seen


def report_column(tables: Sequence[Floats], table_of: Codes | None, report: int, n: int) -> Floats:
    """Return the chance of one report under every true answer (n x K), by each respondent's own table.

    It is 0 where a respondent's design has no such report.
    """
    columns = np.stack(
        [table[:, report] if report < table.shape[1] else np.zeros(len(table)) for table in tables]
    )
    return np.asarray(columns[np.zeros(n, dtype=np.int64) if table_of is None else table_of])


def logarithm(chance: Floats, first: Floats, second: Floats) -> Terms:
    """From a chance and its derivatives to those of its logarithm."""
    likely = np.maximum(chance, TINY)
    slope = first / likely[:, None]
    bend = second / likely[:, None, None] - slope[:, :, None] * slope[:, None, :]
    return Terms(np.log(likely), slope, bend)


@dataclass(frozen=True, eq=False)
class BinaryOutcome(Outcome):
    """A yes/no outcome: `no` and `yes` are the chances of each respondent's report under either truth.

    Where a design has an unknown share s, these are no + s * no_slope and yes + s * yes_slope; `unknown_of` names the
    share of each respondent by number, -1 where there is none. The search uses logit(s). `tables` are the 2 x M tables
    of the designs and `table_of` says whose is whose.
    """

    no: Floats
    yes: Floats
    link: str
    unknown: tuple[str, ...] = ()
    unknown_of: Codes | None = None
    no_slope: Floats | None = None
    yes_slope: Floats | None = None
    slopes: tuple[Floats, ...] = ()
    """How the tables move with the unknown share."""
    honest: Floats | None = None
    """The chance of a report from a Yes where the unknown share stands aside; NaN where it does not."""

    @property
    def extra(self) -> int:
        return len(self.unknown)

    @property
    def extra_names(self) -> tuple[str, ...]:
        return self.unknown

    def rows(self, extra: Floats) -> tuple[Floats, Floats]:
        """Chances of each respondent's report if the truth is No, and if it is Yes."""
        if not self.unknown:
            return self.no, self.yes
        assert self.unknown_of is not None
        assert self.no_slope is not None
        assert self.yes_slope is not None
        share = np.append(special.expit(extra), 0.0)[self.unknown_of]
        return self.no + share * self.no_slope, self.yes + share * self.yes_slope

    def known(self, extra: Floats) -> BinaryOutcome:
        """Return the outcome with its unknown shares where they are, as if they were known."""
        if not self.unknown:
            return self
        assert self.unknown_of is not None
        assert self.table_of is not None
        no, yes = self.rows(extra)
        share = np.append(special.expit(extra), 0.0)
        of_table = np.full(len(self.tables), -1)
        of_table[self.table_of] = self.unknown_of
        tables = tuple(
            table + share[number] * slope
            for table, slope, number in zip(self.tables, self.slopes, of_table, strict=True)
        )
        return BinaryOutcome(no, yes, self.link, honest=self.honest, tables=tables, table_of=self.table_of)

    def with_report(self, low: Floats, high: Floats, extra: Floats) -> Floats:
        """Return the chances of No and of Yes (`low`, `high`) together with each respondent's report (n x 2)."""
        no, yes = self.rows(extra)
        both = np.stack([no * low, yes * high], axis=1)
        if self.honest is None:
            return both
        total = both.sum(axis=1)
        mine = np.minimum(np.where(np.isnan(self.honest), both[:, 1], self.honest * high), total)
        return np.stack([total - mine, mine], axis=1)

    def moves(self, high: Floats, low: Floats, extra: Floats) -> Floats:
        """Return how each report's chance moves with the log-odds of each unknown share (E x n)."""
        slopes = np.zeros((self.extra, len(high)))
        for number in range(self.extra):
            assert self.unknown_of is not None
            assert self.no_slope is not None
            assert self.yes_slope is not None
            share = float(special.expit(extra[number]))
            move = (self.no_slope * low + self.yes_slope * high) * share * (1.0 - share)
            slopes[number] = np.where(self.unknown_of == number, move, 0.0)
        return slopes

    def terms(self, eta: Floats, extra: Floats) -> Terms:
        """Return log(c0 (1 - mu) + c1 mu) and its derivatives."""
        high, low, slope, bend = chance_of(self.link)(eta[:, 0])
        no, yes = self.rows(extra)
        size = 1 + self.extra
        first, second = np.zeros((len(no), size)), np.zeros((len(no), size, size))
        first[:, 0], second[:, 0, 0] = (yes - no) * slope, (yes - no) * bend
        moves = self.moves(high, low, extra)
        turns = self.moves(slope, -slope, extra)
        for number in range(self.extra):
            share, k = float(special.expit(extra[number])), 1 + number
            first[:, k], second[:, k, k] = moves[number], moves[number] * (1.0 - 2.0 * share)
            second[:, 0, k] = second[:, k, 0] = turns[number]
        return logarithm(no * low + yes * high, first, second)

    def natural(self, extra: Floats) -> tuple[Floats, Floats]:
        share = special.expit(extra)
        return share, np.diag(share * (1.0 - share))

    def chances(self, eta: Floats, extra: Floats) -> Floats:
        high, low, _, _ = chance_of(self.link)(eta[:, 0])
        return np.stack([low, high], axis=1)

    def fisher(self, eta: Floats) -> Floats:
        """Return expected information of one respondent about the linear predictor: slope^2 sum (c1 - c0)^2 / P."""
        assert self.table_of is not None
        high, low, slope, _ = chance_of(self.link)(eta)
        if len(self.tables) == 1:
            # Report by report: everybody has the same table, and nothing has to be picked out.
            table = self.tables[0]
            information = np.zeros(len(eta))
            for no, yes in zip(table[0].tolist(), table[1].tolist(), strict=True):
                if no != yes:
                    chance = no * low + yes * high
                    information += np.divide(
                        (yes - no) ** 2, chance, out=np.zeros_like(eta), where=chance > TINY
                    )
            return np.asarray(slope**2 * information)
        result = np.zeros(len(eta))
        for number, table in enumerate(self.tables):
            mine = self.table_of == number
            chance = np.outer(low[mine], table[0]) + np.outer(high[mine], table[1])
            gaps = np.broadcast_to((table[1] - table[0]) ** 2, chance.shape)
            possible = chance > TINY
            parts = np.divide(gaps, chance, out=np.zeros_like(chance), where=possible)
            result[mine] = slope[mine] ** 2 * parts.sum(axis=1)
        return result

    def reporting(self, report: int) -> BinaryOutcome:
        chance = report_column(self.tables, self.table_of, report, len(self.no))
        if not self.unknown:
            return replace(self, no=chance[:, 0], yes=chance[:, 1])
        move = report_column(self.slopes, self.table_of, report, len(self.no))
        return replace(self, no=chance[:, 0], yes=chance[:, 1], no_slope=move[:, 0], yes_slope=move[:, 1])

    def given(self, extra: Floats) -> Floats:
        return np.stack(self.rows(extra), axis=1)


@dataclass(frozen=True, eq=False)
class MultinomialOutcome(AnswersOutcome):
    """Unordered answers: multinomial logit with the first answer as reference."""

    @property
    def lines(self) -> int:
        return int(self.seen.shape[1]) - 1

    def chances(self, eta: Floats, extra: Floats) -> Floats:
        lines = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
        return np.asarray(special.softmax(lines, axis=1), dtype=np.float64)

    def terms(self, eta: Floats, extra: Floats) -> Terms:
        """With mu the softmax and q = sum c_k mu_k: dq/deta_r = mu_r (c_r - q)."""
        mu = self.chances(eta, extra)
        chance = np.sum(self.seen * mu, axis=1)
        gap = self.seen[:, 1:] - chance[:, None]
        rest = mu[:, 1:]
        first = rest * gap
        second = np.eye(self.lines) * first[:, :, None]
        second = second - rest[:, :, None] * rest[:, None, :] * (gap[:, :, None] + gap[:, None, :])
        return logarithm(chance, first, second)


@dataclass(frozen=True, eq=False)
class OrdinalOutcome(AnswersOutcome):
    """Ordered answers: P(answer <= k) = F(zeta_k - eta), as R's polr.

    The search uses zeta_1 and the logarithms of the gaps between cut points, which keeps them in order.
    """

    link: str
    labels: tuple[str, ...]

    @property
    def extra(self) -> int:
        return int(self.seen.shape[1]) - 1

    @property
    def extra_names(self) -> tuple[str, ...]:
        return tuple(f"{a}|{b}" for a, b in zip(self.labels[:-1], self.labels[1:], strict=True))

    def start(self, extra: int) -> Floats:
        cuts = special.logit(np.arange(1, extra + 1) / (extra + 1.0))
        return np.concatenate([cuts[:1], np.log(np.diff(cuts))])

    def natural(self, extra: Floats) -> tuple[Floats, Floats]:
        steps = np.exp(extra[1:])
        cuts = np.concatenate([extra[:1], extra[0] + np.cumsum(steps)])
        slope = np.tril(np.ones((len(extra), len(extra)))) * np.concatenate([[1.0], steps])
        return cuts, slope

    def _below(self, eta: Floats, extra: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """F, F' and F'' at each cut point (n x E), and the slope of the cut points."""
        cuts, slope = self.natural(extra)
        high, _, first, second = chance_of(self.link)(cuts - eta)
        return high, first, second, slope

    def chances(self, eta: Floats, extra: Floats) -> Floats:
        below, _, _, _ = self._below(eta, extra)
        edges = np.concatenate([np.zeros((len(eta), 1)), below, np.ones((len(eta), 1))], axis=1)
        return np.diff(edges, axis=1)

    def terms(self, eta: Floats, extra: Floats) -> Terms:
        """With d_k = c_k - c_(k+1), the chance is c_K + sum F(zeta_k - eta) d_k."""
        below, first_cut, second_cut, slope = self._below(eta, extra)
        gaps = self.seen[:, :-1] - self.seen[:, 1:]
        chance = self.seen[:, -1] + np.sum(below * gaps, axis=1)
        pull, bend = first_cut * gaps, second_cut * gaps
        size = 1 + self.extra
        first, second = np.empty((len(chance), size)), np.zeros((len(chance), size, size))
        first[:, 0], first[:, 1:] = -pull.sum(axis=1), pull @ slope
        second[:, 0, 0] = bend.sum(axis=1)
        second[:, 0, 1:] = second[:, 1:, 0] = -bend @ slope
        second[:, 1:, 1:] = np.einsum("nk,ka,kb->nab", bend, slope, slope, optimize=True)
        later = np.cumsum(pull[:, ::-1], axis=1)[:, ::-1]
        for number in range(1, self.extra):
            second[:, 1 + number, 1 + number] += later[:, number] * np.exp(extra[number])
        return logarithm(chance, first, second)


@dataclass(frozen=True, eq=False)
class HiddenNumber:
    """A randomized number whose reports z stand for b_z = `weights[z]`; rounded at random to points `spacing` apart."""

    view: ChannelView
    codes: Codes
    weights: Floats
    spacing: float


@dataclass(frozen=True, eq=False)
class GaussianOutcome(Outcome):
    """An exact number with normal errors; the further parameter is the log of their standard deviation."""

    values: npt.NDArray[np.float64]
    hidden: HiddenNumber | None = None

    @property
    def extra(self) -> int:
        return 1

    @property
    def extra_names(self) -> tuple[str, ...]:
        return ("log(sigma)",)

    @property
    def log_odds(self) -> bool:
        return False

    def chances(self, eta: Floats, extra: Floats) -> Floats:
        return eta

    def terms(self, eta: Floats, extra: Floats) -> Terms:
        """Return the normal log density and its derivatives."""
        precision = float(np.exp(-2.0 * extra[0]))
        error = self.values - eta[:, 0]
        square = error**2 * precision
        log = -0.5 * np.log(2.0 * np.pi) - extra[0] - 0.5 * square
        first = np.stack([error * precision, square - 1.0], axis=1)
        second = np.empty((len(error), 2, 2))
        second[:, 0, 0], second[:, 1, 1] = -precision, -2.0 * square
        second[:, 0, 1] = second[:, 1, 0] = -2.0 * error * precision
        return Terms(log, first, second)

    @property
    def reports(self) -> int:
        return 1

    def reporting(self, report: int) -> GaussianOutcome:
        return self

    def given(self, extra: Floats) -> Floats:
        return np.ones((len(self.values), 1))
