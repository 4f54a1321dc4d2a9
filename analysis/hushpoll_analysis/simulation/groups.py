"""Made-up respondents of a survey with groups: each group may have its own truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client import Survey
from hushpoll_client.survey.group import FIELD

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.simulation.respondents import simulate_survey

Columns = dict[str, npt.NDArray[Any]]


def simulate_columns(
    survey: Survey,
    n: int,
    truth: Mapping[str, Any],
    seed: int | None = None,
    progress: Callable[[int], object] = lambda rows: None,
) -> Columns:
    """Return the reports of n respondents, entry by entry, and the group of each where the survey has groups.

    `truth` is that of `simulate_survey`. With groups it may have `group`, the share of people in each (by default equal
    ones), and for any question a truth for each group by its name: {"Science": [...], "Arts": [...]}.
    """
    if not survey.groups:
        return _simulated_columns(survey, n, truth, seed, progress)
    rest = {name: shares for name, shares in truth.items() if name != FIELD}
    sizes = _sizes(survey, n, truth.get(FIELD))
    parts = []
    for number, (name, size) in enumerate(zip(survey.groups, sizes, strict=True)):
        group_truth = {
            key: shares[name] if _is_split(survey, shares) else shares for key, shares in rest.items()
        }
        columns = _simulated_columns(
            survey, size, group_truth, None if seed is None else seed * 1000 + number, progress
        )
        parts.append(columns | {FIELD: np.full(size, name, dtype=object)})
    return {key: np.concatenate([group_columns[key] for group_columns in parts]) for key in parts[0]}


def _simulated_columns(
    survey: Survey, n: int, truth: Mapping[str, Any], seed: int | None, progress: Callable[[int], object]
) -> Columns:
    columns = {}
    for name, reports in simulate_survey(survey, n, truth, seed):
        columns[name] = reports
        progress(n)
    return columns


def _is_split(survey: Survey, truth: Any) -> bool:
    return isinstance(truth, Mapping) and set(truth) == set(survey.groups)


def _sizes(survey: Survey, n: int, shares: Any) -> list[int]:
    """Deal people out to groups by their shares; the first groups get what rounding leaves."""
    count = len(survey.groups)
    if shares is None:
        shares = [1.0 / count] * count
    sound = isinstance(shares, Sequence) and not isinstance(shares, str) and len(shares) == count
    if not sound or not all(isinstance(share, int | float) and 0 <= share <= 1 for share in shares):
        raise AnalysisError(
            f'truth: "{FIELD}" needs {count} shares from 0 to 1',
            f"one for each of {', '.join(survey.groups)}",
        )
    if abs(sum(shares) - 1.0) > 1e-6:
        raise AnalysisError(f'truth: the shares of "{FIELD}" add up to {sum(shares):.6g}', "make it 1")
    sizes = [int(n * share) for share in shares]
    for number in range(n - sum(sizes)):
        sizes[number % count] += 1
    return sizes
