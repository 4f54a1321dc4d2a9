"""Read reports in the form in which they are counted."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pandas as pd
from hushpoll_client.messages import msg

from hushpoll_analysis.channel.base import Sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.row_order import value_at


def sampled_codes(column: pd.Series[Any], reports: Sampler) -> npt.NDArray[Any]:
    """Read a column of reports in the form in which they are counted, or say which is none."""
    codes, wrong = reports.read(column.to_numpy())
    if wrong is not None:
        raise AnalysisError(
            msg(
                "column {column!r} holds {value!r} in row {row}, which is not a report of this question",
                column=column.name,
                value=value_at(column, wrong),
                row=wrong,
            ),
            "check that column and mechanism belong together",
        )
    return codes
