"""Reports that are sets of few options, listed: one code for each set, and the table of all of them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.channel.table import TableView
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import Codes, SetVariable, Variable

# A scale of eleven points has at most 462 sets.
MOST_SETS = 5_000


def read_listed(variable: Variable, column: pd.Series[Any]) -> tuple[Variable, Codes]:
    """Read a column of reports; where these are sets, as numbers of a list of all sets, with their table."""
    codes = variable.codes(column)
    if not isinstance(variable, SetVariable):
        return variable, codes
    sets = variable.sets
    if sets.sets > MOST_SETS:
        raise AnalysisError(
            f'reports of "{variable.name}" are {sets.sets:,} different sets of options, too many to list',
            f"name one option, as in '{variable.name}[{variable.labels[0]}]'",
        )
    every = sets.every_set()
    bits = 1 << np.arange(len(variable.labels), dtype=np.int64)
    order = np.argsort(every @ bits)
    numbers = order[np.searchsorted((every @ bits)[order], codes @ bits)]
    values = {field.name: getattr(variable, field.name) for field in fields(Variable)}
    table = TableView(sets.relative(every).T / sets.sets)
    return Variable(**{**values, "view": table}), numbers
