"""What is asked: K true answers, an epsilon, the functionals to report, and the truth that is planned for.

A column S of an extreme channel has two values, e^epsilon for the answers in S and 1 for the others (Kairouz, Oh,
Viswanath 2014). Divided by its mean over the planned truth h it is 1 + c_S with c_S . h = 0. With v_S the chance of
report S, a channel is a distribution v over the points c_S whose mean is 0, and n times the variance of the best
unbiased estimates of functionals a_j, made to have mean 0 under h, is tr(A J^-1): A = sum a_j a_j',
J = sum v_S c_S c_S', both within the K - 1 dimensions across h.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, sparse

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError

_linprog: Any = optimize.linprog
_sparse: Any = sparse


def linear_program(cost: Any, tolerance: float, vertex: bool = False, **constraints: Any) -> Any:
    """Minimize cost . x over x >= 0; `vertex` asks for a basic solution. The result's `x` is None without one."""
    options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
    return _linprog(cost, method="highs-ds" if vertex else "highs", options=options, **constraints)


def beside(*parts: Any) -> Any:
    """Put blocks of a constraint matrix side by side."""
    return _sparse.hstack(parts, format="csr")


Masks = npt.NDArray[np.uint64]
Target = str | Sequence[Sequence[float]]


def points(options: int) -> Floats:
    """Return the numbers that the points of a scale stand for: spread evenly over [-1, 1]."""
    return np.linspace(-1.0, 1.0, options)


TARGETS: dict[str, Callable[[int], Floats]] = {
    "shares": lambda options: np.eye(options),
    "mean": lambda options: points(options)[None, :],
    "cumulative": lambda options: np.tril(np.ones((options, options)))[:-1],
}
"""What can be reported, by name: one row for each functional."""


def functionals(target: Target, options: int) -> Floats:
    """Return the functionals of a target, one row of K numbers each."""
    if isinstance(target, str):
        if target not in TARGETS:
            raise AnalysisError(
                f"target {target!r} is not known", f"use {', '.join(TARGETS)}, or a list of vectors"
            )
        return np.asarray(TARGETS[target](options), dtype=np.float64)
    try:
        rows = np.atleast_2d(np.asarray(target, dtype=np.float64))
    except (TypeError, ValueError):
        rows = np.empty((0, 0))
    if rows.ndim != 2 or rows.shape[1] != options or not len(rows) or not np.all(np.isfinite(rows)):
        raise AnalysisError(
            f"target must be a list of vectors of {options} finite numbers, one number for each option",
            f"or use {', '.join(TARGETS)}",
        )
    if np.any(np.ptp(rows, axis=1) <= 1e-12 * np.abs(rows).max(initial=1e-300)):
        raise AnalysisError("target has a vector whose numbers are all the same", "leave it out: it is known")
    return rows


def planned_truth(shares: npt.ArrayLike | None, options: int) -> Floats:
    """Return the truth to plan for: the shares expected, or all the same."""
    if shares is None:
        return np.full(options, 1.0 / options)
    try:
        truth = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        truth = np.empty(0)
    if truth.shape != (options,) or not np.all(np.isfinite(truth)) or np.any(truth < 0.0):
        raise AnalysisError(f"shares must be {options} numbers of 0 or more, one for each option")
    if abs(truth.sum() - 1.0) > 1e-6:
        raise AnalysisError(f"shares sum to {truth.sum():g}, not to 1", "give proportions")
    return np.asarray(truth / truth.sum(), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Problem:
    """One design problem; `rows` are the functionals, `truth` is h."""

    options: int
    epsilon: float
    rows: Floats
    truth: Floats

    @classmethod
    def of(
        cls, options: int, epsilon: float, target: Target, shares: Sequence[float] | None = None
    ) -> Problem:
        """Make one of what a designer says."""
        return cls(options, float(epsilon), functionals(target, options), planned_truth(shares, options))

    @cached_property
    def gain(self) -> float:
        """e^epsilon - 1."""
        return math.expm1(self.epsilon)

    @cached_property
    def basis(self) -> Floats:
        """An orthonormal basis of the K - 1 dimensions across h."""
        frame, _ = np.linalg.qr(np.column_stack([self.truth, np.eye(self.options)]))
        return np.asarray(frame[:, 1 : self.options], dtype=np.float64)

    @cached_property
    def target(self) -> Floats:
        """A = sum a_j a_j', in that basis."""
        inner = self.centred @ self.basis
        return np.asarray(inner.T @ inner, dtype=np.float64)

    @cached_property
    def centred(self) -> Floats:
        """The functionals with mean 0 under h: a constant added to one changes no variance."""
        return np.asarray(self.rows - (self.rows @ self.truth)[:, None], dtype=np.float64)

    @cached_property
    def mirrored(self) -> bool:
        """Whether reading the answers backwards gives the same problem, so that columns come in pairs."""
        turned = self.basis.T @ self.centred[:, ::-1].T
        same = np.allclose(turned @ turned.T, self.target, rtol=1e-9, atol=1e-12)
        return bool(same and np.allclose(self.truth, self.truth[::-1], rtol=0, atol=1e-12))

    def columns(self, masks: Masks) -> Floats:
        """Return 1 + c_S for each mask (bit x is set where answer x is in S), one row each."""
        inside = (masks[:, None] >> np.arange(self.options, dtype=np.uint64)) & np.uint64(1)
        values = 1.0 + self.gain * inside.astype(np.float64)
        return np.asarray(values / (values @ self.truth)[:, None], dtype=np.float64)

    def places(self, masks: Masks) -> Floats:
        """Return the points c_S in the basis, one row each."""
        return np.asarray((self.columns(masks) - 1.0) @ self.basis, dtype=np.float64)

    def n_variance(self, table: npt.ArrayLike) -> float | None:
        """Return n times the variance that a table of probabilities reaches.

        None where it cannot estimate the target.
        """
        rows = np.asarray(table, dtype=np.float64)
        chance = self.truth @ rows
        used = rows.max(axis=0) > 0
        # A report that nobody gives at this truth says everything about those who would: its weight is kept finite.
        deviation = (rows[:, used] / np.maximum(chance[used], 1e-300) - 1.0).T @ self.basis
        scaled = deviation * np.sqrt(chance[used])[:, None]
        functionals = (self.centred @ self.basis).T
        solved, *_ = np.linalg.lstsq(scaled.T, functionals, rcond=1e-12)
        missed = np.abs(scaled.T @ solved - functionals).max(axis=0)
        if np.any(missed > 1e-9 * np.ptp(self.rows, axis=1)):
            return None
        return float(np.sum(solved**2))

    def describe(self) -> dict[str, Any]:
        """Return what tells this problem from every other, for a key."""
        return {"options": self.options, "rows": self.rows.tolist(), "truth": self.truth.tolist()}
