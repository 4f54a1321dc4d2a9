"""Linear programs, solved by HiGHS to a tolerance that suits probabilities."""

from __future__ import annotations

from typing import Any

from scipy import optimize, sparse

_linprog: Any = optimize.linprog
_sparse: Any = sparse


def linear_program(cost: Any, tolerance: float, vertex: bool = False, **constraints: Any) -> Any:
    """Minimize cost . x over x >= 0; `vertex` asks for a basic solution. The result's `x` is None without one."""
    options = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
    return _linprog(cost, method="highs-ds" if vertex else "highs", options=options, **constraints)


def beside(*parts: Any) -> Any:
    """Put blocks of a constraint matrix side by side."""
    return _sparse.hstack(parts, format="csr")
