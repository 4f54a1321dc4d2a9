"""Variables of a table or model: a column of reports with the channel it went through, or an exact column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hushpoll_client import Channel, Survey
from hushpoll_client.channel import SCALE
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.channel.base import ChannelView, Floats
from hushpoll_analysis.channel.decoy import EstimatedDecoy, estimated_decoy
from hushpoll_analysis.channel.sets import SetView
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.channel.view import analysis_channel, channel_view, sampler, set_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.distinct_rows import times_of
from hushpoll_analysis.sample.row_designs import RowDesigns
from hushpoll_analysis.sample.row_order import value_at
from hushpoll_analysis.sample.sampled_codes import sampled_codes

MAX_GROUPS = 1000

Codes = npt.NDArray[np.int64]
Mechanisms = Survey | Mapping[str, Any]
"""A survey, or for each column its mechanism; None, or a column that is not named, means exact.

With designs (`row_designs.with_designs`) also a column of their names."""


class ExactView(ChannelView):
    """A column that was not randomized: the identity, without a table."""

    def __init__(self, options: int) -> None:
        self.options = self.outcomes = options
        self.choice = "unique"

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        return np.ones(self.options, dtype=bool)

    def forward(self, shares: Floats) -> Floats:
        return shares

    def backward(self, values: Floats) -> Floats:
        return values

    def solution(self, target: npt.ArrayLike) -> Floats:
        return np.asarray(target, dtype=np.float64)

    def shares(self, frequencies: Floats) -> Floats:
        return frequencies


@dataclass(frozen=True, eq=False)
class EstimatedShare:
    """A decoy share q known from a separate poll: its variance q(1-q)/m, and how the estimator weights move with q.

    The channel is linear in q, C = (1 - q) C_no + q C_yes, so with C B = 1 the weights move by -B (C_yes - C_no) B.
    """

    answers: int
    variance: float
    slope: Floats

    @classmethod
    def of(cls, mechanism: Mechanism, weights: Floats) -> EstimatedShare | None:
        """Read it from a mechanism; None where the decoy share is known, or there is no decoy."""
        if mechanism.decoy_counts is None:
            return None
        yes, of = mechanism.decoy_counts
        q = yes / of
        no_rows, yes_rows = (
            np.array(
                [mechanism.device.row(mechanism.device_answer(x, decoy)) for x in (0, 1)], dtype=np.float64
            )
            / SCALE
            for decoy in (0, 1)
        )
        inverse = weights.T
        return cls(of, q * (1.0 - q) / of, -(inverse @ (yes_rows - no_rows) @ inverse).T)


@dataclass(frozen=True, eq=False)
class Variable:
    """One column: its name, the labels of its true answers, and the view of its channel."""

    name: str
    labels: tuple[Any, ...]
    view: ChannelView
    randomized: bool
    decoy: EstimatedShare | None = None
    source: Mechanism | Channel | RowDesigns | None = None
    """What randomized it; None for an exact column."""

    @property
    def counted_decoy(self) -> EstimatedDecoy | None:
        """The decoy whose share was itself estimated; None where there is none."""
        if isinstance(self.source, RowDesigns):
            return self.source.decoy(self.name)
        if self.source is None:
            return None
        return estimated_decoy(self.source)

    def codes(self, column: pd.Series[Any]) -> Codes:
        """Read a column of reports; with a design a row, codes run through all designs."""
        view, source = self.view, self.source
        if not isinstance(source, RowDesigns):
            return report_codes(column, view.outcomes)
        assert isinstance(view, StackedView)
        if len(column) != len(source.rows):
            raise AnalysisError(
                f"{self.name}: {len(source.rows)} names of designs for {len(column)} reports",
                "give one for each",
            )
        numbers = report_codes(column, max(block.outcomes for block in view.blocks))
        sizes = np.array([block.outcomes for block in view.blocks])[source.rows]
        if np.any(numbers >= sizes):
            row = int(np.flatnonzero(numbers >= sizes)[0])
            raise AnalysisError(
                f"column {column.name!r} has the report {numbers[row]} in row {row}, which the design "
                f"{source.names[source.rows[row]]!r} cannot give",
                "check that rows and designs belong together",
            )
        return view.codes(numbers, source.rows)

    @property
    def weights(self) -> Floats:
        """The K x M matrix of b: row k estimates the share of answer k."""
        return self.view.shares(np.eye(self.view.outcomes)).T

    def chosen(self, option: object = None) -> list[int]:
        """Return the answers to estimate: the one that is named, Yes of two, or each of several."""
        if option is not None:
            return [self.position(option)]
        return list(range(1 if len(self.labels) == 2 else 0, len(self.labels)))

    def position(self, label: object) -> int:
        """Find an answer by its label; No and Yes by their codes too."""
        if self.randomized and self.labels == ("No", "Yes") and label in (0, 1):
            return int(label == 1)
        if label not in self.labels:
            answers = ", ".join(map(str, self.labels[:12]))
            raise AnalysisError(f"{self.name} has no answer {label!r}", f"its answers are {answers}")
        return self.labels.index(label)


@dataclass(frozen=True, eq=False)
class SetVariable(Variable):
    """One answer of which each report is a set that may hold it: a code is a row of what the set holds."""

    sets: SetView = field(kw_only=True)

    def codes(self, column: pd.Series[Any]) -> npt.NDArray[Any]:
        """Read a column of sets: which options each holds."""
        assert isinstance(self.source, Mechanism | Channel)
        packed = sampled_codes(column, sampler(analysis_channel(self.source)))
        bits = np.unpackbits(packed, axis=1, count=len(self.labels), bitorder="little")
        return np.asarray(bits, dtype=bool)

    @property
    def scale(self) -> float:
        """The logarithm of what `SetView.relative` multiplies the chances by."""
        return math.log(self.sets.sets)


def read_variable(
    data: pd.DataFrame,
    name: str,
    mechanisms: Mechanisms,
    labels: Sequence[Any] | None = None,
    of_shares: bool = True,
) -> tuple[Variable, Codes]:
    """Read one column and what is known of it: the variable and a code for each respondent."""
    variable = randomized_variable(name, mechanisms, labels, of_shares)
    column = read_column(data, name, variable is not None)
    if variable is not None:
        return variable, variable.codes(column)
    return _exact(column, name, labels)


def randomized_variable(
    name: str,
    mechanisms: Mechanisms,
    labels: Sequence[Any] | None = None,
    of_shares: bool = True,
    as_sets: bool = False,
) -> Variable | None:
    """Return the variable of a randomized column; None for an exact one.

    Without `of_shares` a channel will do that tells less than the shares, such as a mean. With `as_sets` reports may be
    sets that hold the answer or not, which are not listed: a `SetVariable`.
    """
    mechanism: Mechanism | Channel | RowDesigns | None
    if isinstance(mechanisms, Survey):
        question = mechanisms.questions_by_id.get(name)
        if question is None:
            return None
        mechanism, labels = question.mechanism, labels or question.labels
    elif isinstance(mechanisms, Mapping):
        mechanism = mechanisms.get(name)
    else:
        raise AnalysisError(
            f"mechanisms: expected a survey, or a mechanism for each randomized column such as {{{name!r}: ...}}, got "
            f"{type(mechanisms).__name__}"
        )
    if mechanism is None:
        return None
    if as_sets and isinstance(mechanism, Mechanism | Channel) and (sets := set_view(mechanism)) is not None:
        named = _labels_of(name, sets, labels)
        return SetVariable(name, named, sets, True, None, mechanism, sets=sets)
    return _variable(name, mechanism, labels, of_shares)


def _variable(
    name: str, mechanism: Mechanism | Channel | RowDesigns, labels: Sequence[Any] | None, of_shares: bool
) -> Variable:
    if isinstance(mechanism, RowDesigns):
        view: ChannelView = mechanism.view(name)
    else:
        view = _view_of(name, mechanism, labels)
    if of_shares:
        view.shares(np.zeros(view.outcomes))  # a singular channel is refused here, by name
    named = _labels_of(name, view, labels)
    if not of_shares:
        return Variable(name, named, view, True, None, mechanism)
    weights = view.shares(np.eye(view.outcomes)).T
    decoy = None
    if isinstance(mechanism, Mechanism):
        decoy = EstimatedShare.of(mechanism, weights)
    elif isinstance(mechanism, RowDesigns):
        decoy = _shared_decoy(name, mechanism, view)
    return Variable(name, named, view, True, decoy, mechanism)


def _labels_of(name: str, view: ChannelView | SetView, labels: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return a label for each true answer that a report may come from; numbers where they have no names."""
    named = tuple(range(view.options) if labels is None else labels)
    if len(named) != view.options:
        raise AnalysisError(f"{name}: {len(named)} labels for {view.options} answers", "give one for each")
    return named


def refuse_skipped(mechanisms: Mechanisms | str, names: Iterable[str], remedy: str) -> None:
    """Refuse questions with a skip rule where answers have to be in order: "does not apply" has no place there.

    People who were not asked are hidden among the reports, so they cannot be left out.
    """
    if not isinstance(mechanisms, Survey):
        return
    skipped = next(
        (question for question in mechanisms.questions if question.after and question.id in set(names)), None
    )
    if skipped is not None:
        raise AnalysisError(
            f'"{skipped.id}" has a skip rule, and its answer "{skipped.labels[-1]}", which is hidden like the others, '
            "has no place in their order",
            remedy,
        )


def _view_of(name: str, mechanism: Mechanism | Channel, labels: Sequence[Any] | None) -> ChannelView:
    """Return the view of reports that speak of one answer; refuse others with what to name instead."""
    channel = analysis_channel(mechanism)
    if not channel.listed:
        option = labels[0] if labels else 0
        raise AnalysisError(
            f'one report of "{name}" speaks of several options at once, so it is not a variable as a whole',
            f"name one option, as in '{name}[{option}]': whether it was chosen or ticked",
        )
    return channel_view(mechanism)


def _shared_decoy(name: str, designs: RowDesigns, view: ChannelView) -> EstimatedShare | None:
    decoy = designs.decoy(name)
    if decoy is None:
        return None
    assert isinstance(view, StackedView)
    return EstimatedShare(decoy.of, decoy.variance, designs.decoy_slope(view))


def check_names(names: object, what: str = "columns") -> None:
    """Refuse what is not a name of a column, or no list of names."""
    listed: Any = names
    if not isinstance(names, list | tuple):
        listed = [names]
    wrong = [name for name in listed if not isinstance(name, str)]
    if wrong or not listed:
        received = "none"
        if wrong:
            received = repr(wrong[0])
        raise AnalysisError(f"{what}: expected names of columns, got {received}", "write each as a text")


def check_frame(data: object, what: str = "data") -> pd.DataFrame:
    """Refuse what is not a table of respondents."""
    if not isinstance(data, pd.DataFrame):
        raise AnalysisError(
            f"{what}: expected a pandas DataFrame, one row per respondent, got {type(data).__name__}",
            "make one with pandas.DataFrame(...)",
        )
    return data


def check_once(data: pd.DataFrame, names: Sequence[Any]) -> None:
    """Refuse a table that has two columns of one name, where this name is used."""
    twice = set(data.columns[data.columns.duplicated()]) & set(names)
    if twice:
        raise AnalysisError(f"the data have two columns {min(twice)!r}", "give each column a name of its own")


def is_randomized(name: str, mechanisms: Mechanisms) -> bool:
    """Return whether a variable's column holds reports; of an exact one it holds the values themselves."""
    if isinstance(mechanisms, Survey):
        return name in mechanisms.questions_by_id
    return isinstance(mechanisms, Mapping) and mechanisms.get(name) is not None


def find_column(data: pd.DataFrame, name: str, randomized: bool = False) -> str | None:
    """Name the column of a variable: its own name, or the one that an export gives it (`..._reported`).

    Where a table has both, reports are in the second: the first has true values, as simulated data do.
    """
    names = (name, f"{name}_reported")
    if randomized:
        names = names[::-1]
    return next((candidate for candidate in names if candidate in data.columns), None)


YES_NO_CODES = {"No": 0, "Yes": 1}


def read_column(data: pd.DataFrame, name: str, randomized: bool = False) -> pd.Series[Any]:
    """Return the column of a variable, which must have a value in every row."""
    column_name = find_column(data, name, randomized)
    if column_name is None:
        dotted = next((str(column) for column in data.columns if str(column).startswith(f"{name}.")), None)
        remedy = f"the columns are {', '.join(map(str, list(data.columns)[:12]))}"
        if dotted is not None:
            remedy = f"write `{dotted}` in backquotes if that is meant; {remedy}"
        raise AnalysisError(f"there is no column {name!r} (nor {name}_reported)", remedy)
    check_once(data, [column_name])
    column: pd.Series[Any] = data[column_name]
    if column.isna().any():
        missing = int(times_of(data)[column.isna().to_numpy()].sum())
        raise AnalysisError(
            f"column {column_name!r} has {missing} missing values", "drop those rows, or fill them, first"
        )
    return column


def report_codes(column: pd.Series[Any], outcomes: int) -> Codes:
    """Check that a column holds report codes 0..outcomes-1; of two, the texts No and Yes stand for 0 and 1."""
    if outcomes == len(YES_NO_CODES) and column.isin(list(YES_NO_CODES)).all():
        return np.asarray(column.map(YES_NO_CODES), dtype=np.int64)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    bad = ~(np.isfinite(numbers) & (numbers >= 0) & (numbers < outcomes) & (numbers == np.floor(numbers)))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise AnalysisError(
            f"column {column.name!r} has {int(bad.sum())} values that are not report codes (0 to {outcomes - 1}), the"
            f" first is {value_at(column, row)!r} in row {row}",
            "check that column and mechanism belong together",
        )
    return numbers.astype(np.int64)


def _exact(column: pd.Series[Any], name: str, labels: Sequence[Any] | None) -> tuple[Variable, Codes]:
    if labels is not None:
        index = pd.Index(list(labels))
    else:
        index = pd.Categorical(column).categories
    codes = index.get_indexer(pd.Index(column))
    if (codes < 0).any():
        value = value_at(column, int(np.flatnonzero(codes < 0)[0]))
        raise AnalysisError(
            f"column {name!r} has the value {value!r}, which is not among its labels {list(index)}"
        )
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in index)
    if len(values) > MAX_GROUPS:
        raise AnalysisError(
            f"column {name!r} has {len(values)} different values", "a table needs a column with few groups"
        )
    variable = Variable(name, values, ExactView(len(values)), False)
    return variable, codes.astype(np.int64)
