"""Reading joint reports: from respondents, from counts, or of two questions of one block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Channel, Survey

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
from .pair import pair_reports

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
