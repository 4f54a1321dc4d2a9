"""Time the search for the best channel: scales in a fraction of a second, twenty bins in some.

    python bench/design.py

Nothing shipped or kept is used. Printed: the time of search, reduction and rounding together, what of it one core was
used, the gap that is proven, what bringing the columns down to 64 costs, and the number of reports. Exit status 1 when
5 points use .3 s, 11 points 5 s or 20 bins 30 s, or a proven gap exceeds 1e-4.
"""

from __future__ import annotations

import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hushpoll_analysis.planning.optimal.problem import Problem
from hushpoll_analysis.planning.optimal.program import GAP, solve
from hushpoll_analysis.planning.optimal.search import search_best
from hushpoll_client.exact import read_decimal

CASES = {5: 0.3, 11: 5.0, 20: 30.0}
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)


def main() -> int:
    """Print the table."""
    failed = False
    search_best(3, read_decimal(1, "epsilon"), "mean")  # what is imported at first use is not timed
    print("points  epsilon  seconds     used     gap    loss  reports")
    for options, most in CASES.items():
        for epsilon in EPSILONS:
            start, used = time.perf_counter(), time.process_time()
            found = search_best(options, read_decimal(epsilon, "epsilon"), "cumulative")
            seconds, used = time.perf_counter() - start, time.process_time() - used
            solution = solve(Problem.of(options, epsilon, "cumulative"))
            assert solution.bound is not None
            gap, loss = solution.value / solution.bound - 1.0, found.n_variance / solution.value - 1.0
            failed |= used > most or gap > GAP
            print(
                f"{options:6} {epsilon:8} {seconds:8.2f} {used:8.2f} {gap:7.0e} {100 * max(loss, 0.0):6.2f}% "
                f"{found.channel.outcomes:8}"
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
