"""A mechanism for each respondent: direct and randomized questions, or waves, in one table of reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Channel, Survey
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.channel.base import ChannelView, Floats
from hushpoll_analysis.channel.decoy import EstimatedDecoy, estimated_decoy
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.channel.table import TableView
from hushpoll_analysis.channel.two_group_designs import PartlyKnown
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.row_order import in_row_order

Design = Mechanism | Channel | PartlyKnown | None
"""What one respondent went through; None means asked directly."""
Designs = Mapping[Any, Any]
"""A design for each name; a survey, or a mapping of columns to designs, where several columns were randomized."""


@dataclass(frozen=True, eq=False)
class RowDesigns:
    """The designs by name, and which of them each row of the data used."""

    names: tuple[Any, ...]
    designs: tuple[Design, ...]
    rows: npt.NDArray[np.int64]

    @property
    def unknown(self) -> tuple[PartlyKnown, ...]:
        """The designs whose table has an unknown in it."""
        return tuple(design for design in self.designs if isinstance(design, PartlyKnown))

    @property
    def fractions(self) -> Floats:
        """The share of the respondents in each design."""
        return np.bincount(self.rows, minlength=len(self.names)) / len(self.rows)

    def options(self, column: str) -> int:
        """Return the number of true answers, the same for every design; two where all were asked directly."""
        numbers = {_options(design) for design in self.designs if design is not None} or {2}
        if len(numbers) > 1:
            raise AnalysisError(
                f"{column}: its designs have different numbers of true answers ({sorted(numbers)})",
                "give designs of one and the same question",
            )
        return numbers.pop()

    def view(self, column: str) -> StackedView:
        """Return the view of all designs side by side."""
        if self.unknown:
            raise AnalysisError(
                f"{column}: its {self.unknown[0].unknown} share is unknown, which only logit can estimate beside the "
                "rest",
                f"use logit('{column} ~ ...'), or the functions for two groups",
            )
        options = self.options(column)
        blocks = [_block(design, options) for design in self.designs]
        return StackedView(blocks, self.fractions)

    def decoy(self, column: str) -> EstimatedDecoy | None:
        """Return the decoy whose share was counted, as one poll for the whole column."""
        decoys = [_decoy(design) for design in self.designs]
        polls = {(estimated.yes, estimated.of) for estimated in decoys if estimated is not None}
        if not polls:
            return None
        if len(polls) > 1:
            raise AnalysisError(
                f"{column}: its designs have decoy shares from {len(polls)} different polls",
                "put the polls together, or give the shares as known (decoy_share)",
            )
        options = self.options(column)
        tables: dict[bool, list[Floats]] = {False: [], True: []}
        for design, decoy, fraction in zip(self.designs, decoys, self.fractions, strict=True):
            for answer in (False, True):
                if decoy is None:
                    block = _block(design, options)
                    table = block.backward(np.eye(block.outcomes)).T
                else:
                    table = decoy.without
                    if answer:
                        table = decoy.within
                tables[answer].append(fraction * table)
        yes, of = polls.pop()
        without, within = (np.concatenate(tables[answer], axis=1) for answer in (False, True))
        return EstimatedDecoy(yes, of, without, within)

    def decoy_slope(self, view: StackedView) -> Floats:
        """How the weights of each report move with the counted decoy's share (K x M), for `EstimatedShare`."""
        parts = []
        for design, block in zip(self.designs, view.blocks, strict=True):
            decoy = _decoy(design)
            inverse = block.shares(np.eye(block.outcomes))
            if decoy is None:
                parts.append(np.zeros_like(inverse.T))
            else:
                parts.append(-(inverse @ (decoy.within - decoy.without) @ inverse).T)
        return np.concatenate(parts, axis=1)


def _decoy(design: Design) -> EstimatedDecoy | None:
    if isinstance(design, Mechanism):
        return estimated_decoy(design)
    return None


def _options(design: Design) -> int:
    assert design is not None
    if isinstance(design, PartlyKnown):
        return 2
    return channel_view(design).options


def _block(design: Design, options: int) -> ChannelView:
    if design is None:
        return TableView(np.eye(options))
    assert not isinstance(design, PartlyKnown)
    return channel_view(design)


def with_designs(mechanisms: Any, designs: Designs | None, data: Any, outcome: str | None = None) -> Any:
    """Put a `RowDesigns` in place of every column of names; nothing changes where there are no designs.

    `mechanisms` may then be a mapping whose values are mechanisms or columns of names, or one column of names: for
    the outcome, or, where the designs are surveys, for every question.
    """
    if designs is None:
        _refuse_names(mechanisms)
        return mechanisms
    if not isinstance(data, pd.DataFrame):
        raise AnalysisError(
            "a design for each row needs a table of respondents with a column of their names, not joint counts"
        )
    if isinstance(mechanisms, Mapping) and any(map(is_column, mechanisms.values())):
        return {
            name: _for_column(mechanism, designs, data, name) if is_column(mechanism) else mechanism
            for name, mechanism in mechanisms.items()
        }
    if not is_column(mechanisms):
        raise AnalysisError(
            "designs= is given, so tell which row used which: a column of their names, as in {'cheated': 'wave'}"
        )
    columns = _named_columns(designs) or ([outcome] if outcome is not None else [])
    if not columns:
        raise AnalysisError("name the randomized column, as in {'cheated': 'wave'}")
    return {name: _for_column(mechanisms, designs, data, name) for name in columns}


def in_columns(mechanisms: Any, designs: Designs | None, data: Any) -> tuple[Any, Any]:
    """Put names of designs that were given with a table into columns, so that respondents can be left out."""
    if designs is None or not isinstance(data, pd.DataFrame) or not isinstance(mechanisms, Mapping):
        return mechanisms, data
    names, beside = dict(mechanisms), {}
    for name, mechanism in mechanisms.items():
        if is_column(mechanism) and not isinstance(mechanism, str):
            names[name] = f"(designs of {name})"
            beside[names[name]] = in_row_order(mechanism, data, "names of designs")
    return names, data.assign(**beside) if beside else data


def _refuse_names(mechanisms: Any) -> None:
    values = [mechanisms]
    if isinstance(mechanisms, Mapping):
        values = list(mechanisms.values())
    for value in values:
        if is_column(value):
            raise AnalysisError(
                f"{value!r} is not a mechanism",
                "where it names a column of designs, give designs={name: mechanism} too",
            )


def is_column(value: Any) -> bool:
    """Return whether this is a column (its name, or its values) rather than a mechanism."""
    return isinstance(value, str | list | tuple | np.ndarray | pd.Series | pd.Categorical)


def _named_columns(designs: Designs) -> list[str]:
    """Return the columns that the designs themselves name: questions of surveys, keys of mappings."""
    names: dict[str, None] = {}
    for design in designs.values():
        if isinstance(design, Survey):
            names |= {question.id: None for question in design.questions}
        elif isinstance(design, Mapping):
            names |= dict.fromkeys(map(str, design))
    return list(names)


def _for_column(names: Any, designs: Designs, data: pd.DataFrame, column: str) -> RowDesigns:
    if isinstance(names, str):
        if names not in data.columns:
            columns = ", ".join(map(str, list(data.columns)[:12]))
            raise AnalysisError(f"there is no column {names!r} of designs", f"the columns are {columns}")
        names = data[names]
    return read_designs(in_row_order(names, data, "names of designs"), designs, len(data), column)


def read_designs(
    names: Sequence[Any] | npt.NDArray[Any] | pd.Series[Any], designs: Designs, n: int, column: str
) -> RowDesigns:
    """Read a column of names; every name needs a design, and unused designs are left out."""
    if not isinstance(designs, Mapping) or not designs:
        raise AnalysisError(
            "designs: expected a mechanism for each name, as in {'direct': None, 'coin': ...}"
        )
    values = pd.Series(np.asarray(names))
    if len(values) != n:
        raise AnalysisError(f"{len(values)} names of designs for {n} respondents", "give one for each")
    codes, used_names = pd.factorize(values)
    if (codes < 0).any():
        raise AnalysisError(f"{int((codes < 0).sum())} rows have no name of a design", "give each row one")
    for name in used_names:
        if name not in designs:
            available = ", ".join(map(repr, designs))
            raise AnalysisError(f"designs: nothing is given for {name!r} ({column})", f"there is {available}")
    used = [name for name in designs if name in set(used_names)]
    numbers = {name: number for number, name in enumerate(used)}
    rows = np.array([numbers[name] for name in used_names], dtype=np.int64)[codes]
    return RowDesigns(tuple(used), tuple(_design(designs[name], name, column) for name in used), rows)


def _design(design: Any, name: object, column: str) -> Design:
    if isinstance(design, Survey):
        question = design.questions_by_id.get(column)
        if question is None:
            raise AnalysisError(
                f"designs: the survey {name!r} has no question {column!r}", "leave its rows out"
            )
        return question.mechanism
    if isinstance(design, Mapping):
        design = design.get(column)
    if design is None or isinstance(design, Mechanism | Channel | PartlyKnown):
        return design
    raise AnalysisError(
        f"designs: {name!r} is a {type(design).__name__}",
        "give a mechanism, or None for people asked directly",
    )
