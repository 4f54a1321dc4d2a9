"""Made-up respondents that answer as the population is estimated to, for trying out software and for teaching."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.result import PlottedResult, rows_as_json
from hushpoll_analysis.sample.columns import Mechanisms
from hushpoll_analysis.sample.missing import takes_missing

from .latent_table import LatentTable, read_latent

SUFFIX = "_synthetic"
MOST = 10_000_000
NOT_KEPT = (
    "No row is a person: rows were drawn from estimated shares, and nobody's answer is among them.",
    "Only the questions named here are related to each other; nothing connects a row with any other data.",
    "Intervals computed from this table leave out the noise of randomization and of the sample: they are too narrow.",
    "Where shares were estimated near 0, rare answers and rare combinations may be missing or made up.",
)


@dataclass(frozen=True, eq=False)
class Synthetic(PlottedResult):
    """A table of made-up respondents; every column's name ends in `_synthetic`."""

    words = "largest difference from the estimates; the line is what chance explains (95%)"
    plotted_column = "difference"
    from_zero = True

    data: pd.DataFrame
    names: tuple[str, ...]
    n: int
    reports: int
    not_kept: tuple[str, ...] = NOT_KEPT
    table: LatentTable = field(repr=False, default=None)  # type: ignore[assignment]

    def check(self) -> pd.DataFrame:
        """Compare the made-up people with the estimates they were drawn from: each question, then each pair.

        `difference` is the largest difference between a share of the table and the unbiased estimate; `se` the largest
        standard error of these estimates; `drawing` what chance in drawing n people makes of it (one standard
        deviation, the largest). What is within a few `se` and `drawing` is kept; `too_narrow` says how many times too
        narrow an interval is that takes this table for a sample of people.
        """
        axes_of_rows: list[tuple[int, ...]] = [(axis,) for axis in range(len(self.names))]
        axes_of_rows += list(combinations(range(len(self.names)), 2))
        rows = [self._row(axes) for axes in axes_of_rows]
        index = pd.Index(
            [" x ".join(self.names[axis] for axis in axes) for axes in axes_of_rows], name="kept"
        )
        return pd.DataFrame(rows, index=index)

    def _row(self, axes: tuple[int, ...]) -> dict[str, float]:
        variables = self.table.joint.variables
        summed = tuple(axis for axis in range(len(variables)) if axis not in axes)
        synthetic = self._shares(axes)
        estimated, se = self._estimates(axes, summed)
        shares = self.table.shares.sum(axis=summed)
        drawing = np.sqrt(shares * (1.0 - shares) / self.n)
        naive = float(np.sqrt(np.mean(drawing**2)))
        return {
            "difference": float(np.max(np.abs(synthetic - estimated))),
            "se": float(np.max(se)),
            "drawing": float(np.max(drawing)),
            "too_narrow": float(np.sqrt(np.mean(se**2))) / naive if naive > 0 else float("inf"),
        }

    def _estimates(self, axes: tuple[int, ...], summed: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Return unbiased shares of one question or a pair, with standard errors, from their own reports."""
        joint = self.table.joint
        if not summed:
            return joint.estimate, joint.standard_errors()
        reports = joint.frequencies.sum(axis=summed)
        first_moments, squares = reports, reports
        for number, axis in enumerate(axes):
            weights = joint.variables[axis].weights
            first_moments = np.moveaxis(np.tensordot(weights, first_moments, axes=(1, number)), 0, number)
            squares = np.moveaxis(np.tensordot(weights**2, squares, axes=(1, number)), 0, number)
        variance = np.maximum(squares - first_moments**2, 0.0) / max(joint.n - 1, 1)
        return first_moments, np.sqrt(variance)

    def _shares(self, axes: tuple[int, ...]) -> Floats:
        variables = [self.table.joint.variables[axis] for axis in axes]
        codes = [
            pd.Index(variable.labels).get_indexer(self.data[variable.name + SUFFIX]) for variable in variables
        ]
        shape = tuple(len(variable.labels) for variable in variables)
        counts = np.bincount(np.ravel_multi_index(codes, shape), minlength=int(np.prod(shape)))
        return np.asarray(counts.reshape(shape) / self.n, dtype=np.float64)

    def save(self, folder: str | Path) -> list[Path]:
        """Write synthetic.csv and synthetic.json, which says what this is, into a folder."""
        target = Path(folder)
        about = {
            "synthetic": True,
            "about": f"{self.n} made-up people, drawn from shares estimated from {self.reports} randomized reports",
            "columns": list(self.data.columns),
            "kept": json.loads(self.check().to_json(orient="index")),
            "not_kept": list(self.not_kept),
        }
        paths = [target / "synthetic.csv", target / "synthetic.json"]
        try:
            target.mkdir(parents=True, exist_ok=True)
            self.data.to_csv(paths[0], index=False)
            paths[1].write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as error:
            raise AnalysisError(
                f"{target}: cannot be written ({error.strerror})", "choose another place"
            ) from None
        return paths

    def to_frame(self) -> pd.DataFrame:
        """Return the made-up respondents, one row each."""
        return self.data

    def to_dict(self) -> dict[str, Any]:
        """Return the made-up respondents as JSON values, with what they do not keep."""
        return {
            "names": list(self.names),
            "n": self.n,
            "reports": self.reports,
            "not_kept": list(self.not_kept),
            "rows": rows_as_json(self.data),
        }

    def _picture(self) -> pd.DataFrame:
        """Return how far the table is from the estimates, against what chance explains."""
        checks = self.check()
        return checks.assign(low=0.0, high=1.96 * np.hypot(checks["se"], checks["drawing"]))

    def _repr_html_(self) -> str:
        words = " ".join(self.not_kept)
        return f"<p>Synthetic. {words}</p>" + self.data.head(10).to_html(index=False)


@takes_missing
def synthesize(
    reports: Any,
    mechanisms: Mechanisms,
    columns: Sequence[str],
    n: int,
    *,
    labels: Mapping[str, Sequence[Any]] | None = None,
    seed: int | None = None,
) -> Synthetic:
    r"""Make up n respondents whose answers are distributed as the true answers are estimated to be.

    Parameters
    ----------
    reports, mechanisms, labels
        As in `crosstab`.
    columns
        The questions to make up answers to, two or more, all of them randomized: an exact column has nothing that
        protects it.
    n
        How many respondents to make up.
    seed
        For a table that can be made again.

    Notes
    -----
    Rows are drawn from the maximum likelihood shares of all joint answers, which come from randomized reports only:
    whatever is made from them keeps every person's epsilon (post-processing). One-way and two-way shares are kept up to
    the error of estimation and the chance of drawing; `check` shows both.
    """
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MOST:
        raise AnalysisError(f"n is {n!r}", f"give the number of respondents to make up, 1 to {MOST:,}")
    table = read_latent(reports, mechanisms, columns, labels, "a synthetic table")
    generator = np.random.default_rng(seed)
    shares = table.shares.ravel()
    cells = generator.choice(len(shares), size=n, p=shares / shares.sum())
    codes = np.unravel_index(cells, table.shares.shape)
    data = pd.DataFrame(
        {
            variable.name + SUFFIX: np.asarray(variable.labels, dtype=object)[code]
            for variable, code in zip(table.joint.variables, codes, strict=True)
        }
    )
    return Synthetic(data, tuple(columns), n, table.joint.n, table=table)
