"""From a column of reports to an outcome: yes or no, one of several answers, ordered answers, an exact number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.channel.two_group_designs import PartlyKnown
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sample.columns import (
    Codes,
    Mechanisms,
    SetVariable,
    Variable,
    randomized_variable,
    read_variable,
    report_codes,
)
from hushpoll_analysis.sample.row_designs import Design, RowDesigns

from .links import chance_of
from .outcomes import (
    BinaryOutcome,
    GaussianOutcome,
    HiddenNumber,
    MultinomialOutcome,
    OrdinalOutcome,
    Outcome,
)

MOST_CURVED = 50_000_000
"""Second derivatives that a search holds at once: one for each row and pair of answers, about 400 MB."""
MOST_REPORTS = 1024
"""Reports that are listed, where a sum over all that could have come is needed."""


@dataclass(frozen=True, eq=False)
class ReadOutcome:
    """An outcome with the labels of its answers; `variable` where it was randomized by known channels."""

    model: Outcome
    labels: tuple[Any, ...]
    randomized: bool
    variable: Variable | None = None
    codes: Codes | None = None
    shown: tuple[int, ...] = (1,)
    """Which of the chances predictions show: Yes of a yes/no outcome, else every one."""


@dataclass(frozen=True, eq=False)
class Family:
    """How an outcome is read, and whether its model has a separate intercept."""

    name: str
    link: str
    read: Callable[[pd.Series[Any], str, Mechanisms], ReadOutcome]
    intercept: bool = True


def number(hidden: HiddenNumber | None = None) -> Family:
    """Return a number with normal errors: an exact one, or the unbiased ones of reports in its place."""

    def read(column: pd.Series[Any], name: str, channels: Mechanisms) -> ReadOutcome:
        values = _numbers(column, name, channels)
        return ReadOutcome(GaussianOutcome(values, hidden), (name,), False, shown=(0,))

    return Family("linear", "identity", read)


def _numbers(column: pd.Series[Any], name: str, channels: Mechanisms) -> Floats:
    if randomized_variable(name, channels, of_shares=False, as_sets=True) is not None:
        raise AnalysisError(
            f"the outcome {name!r} is randomized, and nothing says which number each of its answers stands for",
            "give the survey in which it is a scale or a number, or use logit, multinomial or ordinal",
        )
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    if not np.all(np.isfinite(values)):
        raise AnalysisError(f"the outcome {name!r} has values that are not finite numbers")
    return values


def binary(link: str, event: Any) -> Family:
    """One answer against the rest."""
    chance_of(link)

    def read(column: pd.Series[Any], name: str, channels: Mechanisms) -> ReadOutcome:
        source = None
        if hasattr(channels, "get"):
            source = channels.get(name)
        if isinstance(source, RowDesigns):
            return _binary_by_rows(column, name, source, link, event)
        variable = randomized_variable(name, channels)
        if variable is None:
            return _exact_binary(column, name, link, event)
        table = _event_table(_table(variable), variable, event)
        codes = report_codes(column, variable.view.outcomes)
        model = BinaryOutcome(
            table[0][codes],
            table[1][codes],
            link,
            tables=(table,),
            table_of=np.zeros(len(codes), dtype=np.int64),
        )
        _check_possible(model.no, model.yes, name)
        return ReadOutcome(model, _event_labels(variable, event), True, variable, codes)

    return Family("logit", link, read)


def _exact_binary(column: pd.Series[Any], name: str, link: str, event: Any) -> ReadOutcome:
    if event is not None:
        yes = (column == event).to_numpy(dtype=np.float64)
        if yes.min() == yes.max():
            raise AnalysisError(
                f"the outcome {name!r} is {'always' if yes[0] else 'never'} {event!r}", "nothing to fit"
            )
    else:
        yes = report_codes(column, 2).astype(np.float64)
        if yes.min() == yes.max():
            raise AnalysisError(f"the outcome {name!r} has one value only", "nothing to fit")
    every = np.zeros(len(yes), dtype=np.int64)
    model = BinaryOutcome(1.0 - yes, yes, link, tables=(np.eye(2),), table_of=every)
    return ReadOutcome(model, ("not", event) if event is not None else (0, 1), False)


def _binary_by_rows(
    column: pd.Series[Any], name: str, source: RowDesigns, link: str, event: Any
) -> ReadOutcome:
    """Return a design for each respondent, some of them with an unknown share."""
    if len(source.rows) != len(column):
        raise AnalysisError(f"{name}: {len(source.rows)} names of designs for {len(column)} reports")
    options = source.options(name)
    variable = None
    if not source.unknown:
        variable = randomized_variable(name, {name: source})
    elif event not in (None, 1):
        raise AnalysisError(f"{name}: designs with an unknown share model 1, Yes", "leave event= out")
    tables = [_own_table(design, options, variable, event) for design in source.designs]
    slopes = [_own_slope(design, table) for design, table in zip(source.designs, tables, strict=True)]
    sizes = np.array([table.shape[1] for table in tables])[source.rows]
    codes = report_codes(column, int(sizes.max()))
    if np.any(codes >= sizes):
        row = int(np.flatnonzero(codes >= sizes)[0])
        raise AnalysisError(
            f"column {column.name!r} has the report {codes[row]} in row {row}, which the design "
            f"{source.names[source.rows[row]]!r} cannot give",
            "check that rows and designs belong together",
        )
    names = tuple(dict.fromkeys(parameter.unknown for parameter in source.unknown))
    owners = np.array(
        [names.index(design.unknown) if isinstance(design, PartlyKnown) else -1 for design in source.designs]
    )
    _check_determined(name, names, owners, tables, slopes)
    number_of = owners[source.rows]
    parts = np.empty((4, len(codes)))
    for g, (table, slope) in enumerate(zip(tables, slopes, strict=True)):
        mine = source.rows == g
        parts[:, mine] = np.concatenate([table, slope])[:, codes[mine]]
    model = BinaryOutcome(
        parts[0],
        parts[1],
        link=link,
        tables=tuple(tables),
        table_of=source.rows,
        unknown=names,
        unknown_of=number_of if names else None,
        no_slope=parts[2],
        yes_slope=parts[3],
        slopes=tuple(slopes),
        honest=_honest(source, parts[1]),
    )
    if not names:
        _check_possible(model.no, model.yes, name)
    through = None
    if variable is not None:
        assert isinstance(variable.view, StackedView)
        through = variable.view.codes(codes, source.rows)
    labels = (0, 1)
    if variable is not None:
        labels = _event_labels(variable, event)
    return ReadOutcome(model, labels, True, variable, through)


def _honest(source: RowDesigns, yes: Floats) -> Floats | None:
    """Return the chances of reports from a Yes where the unknown share stands aside; None where it never does."""
    aside = np.array([isinstance(design, PartlyKnown) and design.aside for design in source.designs])
    if aside.any():
        return np.where(aside[source.rows], yes, np.nan)
    return None


def _check_determined(
    name: str, names: tuple[str, ...], owners: Codes, tables: list[Floats], slopes: list[Floats]
) -> None:
    """Refuse designs that leave share and unknowns open: the chances of their reports move together with all of them.

    A model with predictors would then be held by the shape of its curve alone.
    """
    share, unknown = 0.3, 0.4  # any inner point tells
    rows = []
    for owner, table, slope in zip(owners, tables, slopes, strict=True):
        moves = np.zeros((table.shape[1], 1 + len(names)))
        moves[:, 0] = table[1] - table[0] + unknown * (slope[1] - slope[0])
        if owner >= 0:
            moves[:, 1 + owner] = (1.0 - share) * slope[0] + share * slope[1]
        rows.append(moves)
    if names and np.linalg.matrix_rank(np.concatenate(rows), tol=1e-9) <= len(names):
        raise NotIdentifiedError(
            f"{name}: respondents were asked in too few ways to tell the unknown share ({', '.join(names)}) from the "
            "trait",
            "use one more group with other probabilities",
        )


def _own_table(design: Design, options: int, variable: Variable | None, event: Any) -> Floats:
    """Return the 2 x M table of one design; an unknown share is at 0."""
    if isinstance(design, PartlyKnown):
        return np.array([[1.0 - chance, chance] for chance in design.fixed_chance])
    if design is None:
        table = np.eye(options)
    else:
        view = channel_view(design)
        table = view.backward(np.eye(view.outcomes)).T
    if variable is None:
        return table
    return _event_table(table, variable, event)


def _own_slope(design: Design, table: Floats) -> Floats:
    if isinstance(design, PartlyKnown):
        return np.array([[-slope, slope] for slope in design.slope])
    return np.zeros_like(table)


def _check_possible(no: Floats, yes: Floats, name: str) -> None:
    if np.any((no == 0.0) & (yes == 0.0)):
        raise AnalysisError(f"the outcome {name!r} has reports that its channel can never give")


def _table(variable: Variable) -> Floats:
    return variable.view.backward(np.eye(variable.view.outcomes)).T


def _event_labels(variable: Variable, event: Any) -> tuple[Any, ...]:
    if len(variable.labels) == 2:
        yes = 1
        if event is not None:
            yes = variable.position(event)
        return variable.labels[1 - yes], variable.labels[yes]
    return "not", event


def _event_table(table: Floats, variable: Variable, event: Any) -> Floats:
    """Rows "not the event" and "the event" of the outcome's channel.

    Several answers can be put together as "not the event" only where they give the same reports but for themselves, as
    in K-ary and forced response: then the event's own report is all that matters.
    """
    if len(variable.labels) == 2:
        yes = 1
        if event is not None:
            yes = variable.position(event)
        return table[[1 - yes, yes]]
    if event is None:
        answers = ", ".join(map(str, variable.labels))
        raise AnalysisError(
            f"{variable.name} has several answers",
            f"name the one to model with event= ({answers}), or use multinomial",
        )
    yes = variable.position(event)
    other_rows = np.delete(table[:, yes], yes)
    if table.shape[0] != table.shape[1] or np.ptp(other_rows) > 1e-12:
        raise AnalysisError(
            f"{variable.name}: its channel does not let you model {event!r} against the rest, because the other "
            "answers are reported as it with different chances",
            "use multinomial",
        )
    # Each report is reduced to "the event's own report or not"; its chance is shared out over the other reports.
    result = np.empty((2, table.shape[1]))
    for row, chance in enumerate((other_rows[0], table[yes, yes])):
        result[row] = (1.0 - chance) / (table.shape[1] - 1)
        result[row, yes] = chance
    return result


def multinomial(reference: Any) -> Family:
    """Unordered answers against a reference answer."""

    def read(column: pd.Series[Any], name: str, channels: Mechanisms) -> ReadOutcome:
        variable, codes = _several(column, name, channels)
        first = 0
        if reference is not None:
            first = variable.position(reference)
        order = [first, *(k for k in range(len(variable.labels)) if k != first)]
        seen = seen_chances(variable, codes, name)[:, order]
        tables, table_of = report_tables(variable)
        model = MultinomialOutcome(seen, tables=tuple(table[order] for table in tables), table_of=table_of)
        labels = tuple(variable.labels[k] for k in order)
        every = tuple(range(len(labels)))
        return ReadOutcome(model, labels, variable.randomized, variable, codes, every)

    return Family("multinomial", "logit", read)


def ordinal(link: str) -> Family:
    """Answers in the order of their codes."""
    chance_of(link)

    def read(column: pd.Series[Any], name: str, channels: Mechanisms) -> ReadOutcome:
        variable, codes = _several(column, name, channels)
        labels = tuple(map(str, variable.labels))
        tables, table_of = report_tables(variable)
        seen = seen_chances(variable, codes, name)
        model = OrdinalOutcome(seen, link, labels, tables=tables, table_of=table_of)
        every = tuple(range(len(variable.labels)))
        return ReadOutcome(model, variable.labels, variable.randomized, variable, codes, every)

    return Family("ordinal", link, read, intercept=False)


def _several(column: pd.Series[Any], name: str, channels: Mechanisms) -> tuple[Variable, Codes]:
    variable = randomized_variable(name, channels, as_sets=True)
    if variable is None:
        # The column may carry the export's name; the variable is found by its own.
        variable, codes = read_variable(pd.DataFrame({name: column.to_numpy()}), name, channels)
    else:
        codes = variable.codes(column)
    if len(variable.labels) < 3:
        raise AnalysisError(f"the outcome {name!r} has {len(variable.labels)} answers", "use logit")
    if len(column) * len(variable.labels) ** 2 > MOST_CURVED:
        raise AnalysisError(
            f"{name} has {len(variable.labels)} answers, too many for a model of all of them with {len(column):,} rows",
            f"model one against the rest, as in logit(..., event={variable.labels[0]!r})",
        )
    return variable, codes


def report_tables(variable: Variable) -> tuple[tuple[Floats, ...], Codes | None]:
    """P(report | truth), K x M, of each design, and whose is whose; None where all have one design.

    None at all where reports are sets of which there are too many to list.
    """
    view, source = variable.view, variable.source
    if isinstance(variable, SetVariable):
        sets = variable.sets
        if sets.sets > MOST_REPORTS:
            return (), None
        return (sets.relative(sets.every_set()).T / sets.sets,), None
    if isinstance(view, StackedView):
        assert isinstance(source, RowDesigns)
        return tuple(block.backward(np.eye(block.outcomes)).T for block in view.blocks), source.rows
    return (view.backward(np.eye(view.outcomes)).T,), None


def seen_chances(variable: Variable, codes: Codes, name: str) -> Floats:
    """Return the chance of each respondent's report under every true answer (n x K), of sets times their number."""
    if isinstance(variable, SetVariable):
        return variable.sets.relative(codes.astype(bool, copy=False))
    tables, _ = report_tables(variable)
    # With several designs codes run through all of their reports.
    seen = np.asarray(np.concatenate(tables, axis=1).T[codes], dtype=np.float64)
    if np.any(seen.max(axis=1) == 0.0):
        raise AnalysisError(f"{name!r} has reports that its channel can never give")
    return seen
