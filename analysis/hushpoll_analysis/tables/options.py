"""A question whose reports speak of several options at once, in a table: one yes/no table for each option, stacked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import level_of_each
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import Mechanisms
from hushpoll_analysis.sample.design_keywords import SampleKeys
from hushpoll_analysis.sample.option_columns import each_option, options_of
from hushpoll_analysis.sample.row_designs import Designs

from .cells import CrossTable
from .differences import Comparison, Outcome, compare_groups, stacked_groups
from .independence import IndependenceTest
from .joint import JointReports
from .shown_cells import Cells

Labels = Mapping[str, Sequence[Any]] | None
Chosen = tuple[str, ...]
MOST_TABLES = 10_000


@dataclass(frozen=True, eq=False)
class TableRequest:
    """What a cross-table or a comparison is made from, and the keywords that each of its parts takes over."""

    reports: Any
    mechanisms: Mechanisms
    labels: Labels
    level: float
    simultaneous: bool
    sample: SampleKeys
    designs: Designs | None

    def options_of(self, name: str) -> tuple[str, ...]:
        """Return the options that reports of a variable speak of one by one; none where a report is one answer."""
        return options_of(name, self.mechanisms, self.labels)

    def whole_lists(self, names: Sequence[str]) -> list[str]:
        """Return the variables whose reports speak of several options at once."""
        return [name for name in names if self.options_of(name)]

    def level_of_each(self, count: int) -> float:
        """Return the level of each of several tables that hold together where that is asked for."""
        return level_of_each(self.level, count, self.simultaneous)

    @cached_property
    def keyed(self) -> tuple[Any, SampleKeys]:
        """The reports with values of the sample's keys next to them, so that respondents can be left out."""
        if not isinstance(self.reports, pd.DataFrame):
            self.sample.design_of(self.reports)
        return self.sample.in_frame(self.reports)


@dataclass(frozen=True, eq=False)
class OptionTable(Cells):
    """Estimated shares of people who chose or ticked an option, together with the answers of other variables.

    A report of such a question was randomized as a whole, but of each option it says yes or no through a small channel.
    So each option has a separate cross-table, from the respondents who were asked about it, and the cells here are
    those of its Yes. Options of a tick list overlap, so their cells do not add up to one.

    Attributes
    ----------
    parts
        The cross-table of each option, No and Yes; the key names one option for each such question.
    test
        The strongest of the options' tests, its p-value times their number (Bonferroni).
    """

    parts: Mapping[Chosen, CrossTable] = field(repr=False)

    @property
    def joint(self) -> JointReports:
        """There is none: options of one report are not randomized one by one."""
        raise AnalysisError(
            f"one report of {', '.join(self._whole)} speaks of several options at once, which is not possible here",
            f"name one option, as in '{self._whole[0]}[{next(iter(self.parts))[0]}]'",
        )

    @property
    def _whole(self) -> list[str]:
        """The questions that are taken apart, in the order of the table."""
        first = next(iter(self.parts.values()))
        return [name for name, table_name in zip(self.names, first.names, strict=True) if name != table_name]

    @property
    def constrained(self) -> Floats:
        """Maximum likelihood shares of each option's own table."""
        return _assembled(self.parts, self.names, self.labels, lambda table: table.constrained)

    @property
    def unsettled(self) -> str:
        """A note that one of the constrained estimates is not the maximum; empty when all are."""
        return next((table.unsettled for table in self.parts.values() if table.unsettled), "")

    @property
    def tests(self) -> pd.DataFrame:
        """Tests of independence between each option and the other variables."""
        rows = [
            (*chosen, table.test.statistic, table.test.p_value, table.test.method)
            for chosen, table in self.parts.items()
            if table.test is not None
        ]
        return pd.DataFrame(rows, columns=[*self._whole, "statistic", "p_value", "method"]).set_index(
            self._whole
        )

    def marginal(self, name: str) -> pd.DataFrame:
        """Return the shares of one variable, with intervals."""
        self._check(name)
        if name not in self._whole:
            if len({table.n for table in self.parts.values()}) > 1:
                raise AnalysisError(
                    f"each option was asked of other people, so this table has no one share of {name}",
                    f"estimate {name} by itself, or take `parts`",
                )
            return next(iter(self.parts.values())).marginal(name)
        rows: dict[str, pd.Series[Any]] = {}
        for chosen, table in self.parts.items():
            option = chosen[self._whole.index(name)]
            rows.setdefault(option, table.marginal(f"{name}[{option}]").iloc[1])
        return pd.DataFrame(rows).T.rename_axis(name)

    def conditional(self, of: str, given: str) -> pd.DataFrame:
        """Return the shares of one variable within the answers of another: of options among all, or among who chose
        one.

        Given a question that is taken apart, the groups are the people who chose or ticked each option.
        """
        self._check(of)
        self._check(given)
        if not {of, given} & set(self._whole):
            raise AnalysisError(
                f"{of} and {given} stand beside the options here", "make a table of these two"
            )
        rows: dict[tuple[Any, Any], pd.Series[Any]] = {}
        for chosen, table in self.parts.items():
            chosen_of = dict(zip(self._whole, chosen, strict=True))
            names = [f"{name}[{chosen_of[name]}]" if name in chosen_of else name for name in (given, of)]
            for key, row in table.conditional(names[1], names[0]).iterrows():
                assert isinstance(key, tuple)
                if all(
                    value == "Yes" for value, name in zip(key, (given, of), strict=True) if name in chosen_of
                ):
                    key_of_row = [
                        chosen_of.get(name, value) for value, name in zip(key, (given, of), strict=True)
                    ]
                    rows.setdefault((key_of_row[0], key_of_row[1]), row)
        axes = [self.names.index(given), self.names.index(of)]
        index = pd.MultiIndex.from_product([self.labels[axis] for axis in axes], names=[given, of])
        return pd.DataFrame([rows[key] for key in index]).set_axis(index)

    def _check(self, name: str) -> None:
        if name not in self.names:
            raise AnalysisError(
                f"there is no variable {name!r} in this table", f"it has {', '.join(self.names)}"
            )


def option_table(make: Callable[..., Any], request: TableRequest, names: Sequence[str]) -> OptionTable:
    """Make the cross-table of every option, and put those of their Yes together."""
    lists = request.whole_lists(names)
    _check_size(request.reports, lists, [request.options_of(name) for name in lists])
    reports, keys = request.keyed
    each_level = request.level_of_each(int(np.prod([len(request.options_of(name)) for name in lists])))
    parts: dict[Chosen, CrossTable] = {}
    every = _every(reports, request.mechanisms, lists, names, request.labels)
    for chosen, seen, channels, labels in every:
        chosen_of = dict(zip(lists, chosen, strict=True))
        rows, *columns = [f"{name}[{chosen_of[name]}]" if name in chosen_of else name for name in names]
        parts[chosen] = make(
            seen,
            channels,
            rows,
            columns,
            labels=labels,
            level=each_level,
            simultaneous=request.simultaneous,
            designs=request.designs,
            **keys.given,
        )
    first = next(iter(parts.values()))
    visible_labels = [
        request.options_of(name) if name in lists else first.labels[axis] for axis, name in enumerate(names)
    ]
    test = _strongest(parts)
    arrays: dict[str, Any] = {
        what: _assembled(parts, names, visible_labels, attrgetter(what))
        for what in ("counts", "estimate", "se", "low", "high")
    }
    return OptionTable(
        names=tuple(names),
        labels=tuple(tuple(labels_of_axis) for labels_of_axis in visible_labels),
        n=max(table.n for table in parts.values()),
        effective_n=max(table.effective_n for table in parts.values()),
        level=request.level,
        simultaneous=request.simultaneous,
        interval=", ".join(dict.fromkeys(table.interval for table in parts.values())),
        test=test,
        remarks=tuple(dict.fromkeys(note for table in parts.values() for note in table.remarks)),
        parts=parts,
        untested="" if test is not None else first.untested,
        **arrays,
    )


def _every(
    reports: Any, mechanisms: Mechanisms, lists: Sequence[str], names: Sequence[str], labels: Labels
) -> Iterator[tuple[Chosen, Any, Mechanisms, Labels]]:
    """Go through every option of the first question, and with it through those of the others."""
    if not lists:
        yield (), reports, mechanisms, labels
        return
    for option, seen, channels, labels_of_option in each_option(reports, mechanisms, lists[0], names, labels):
        names_of_rest = [name if name != lists[0] else f"{lists[0]}[{option}]" for name in names]
        for rest, *tail in _every(seen, channels, lists[1:], names_of_rest, labels_of_option):
            yield (option, *rest), tail[0], tail[1], tail[2]


def _check_size(reports: Any, lists: Sequence[str], options: Sequence[Sequence[str]]) -> None:
    if len(lists) > 1 and not isinstance(reports, pd.DataFrame):
        raise AnalysisError(
            f"counts of {' and '.join(lists)} cannot tell two options together", "give a table of respondents"
        )
    count = int(np.prod([len(option) for option in options]))
    if count > MOST_TABLES:
        raise AnalysisError(
            f"{' and '.join(lists)} have {count:,} combinations of options, each with a table of its own",
            f"name one option, as in '{lists[0]}[{options[0][0]}]'",
        )


def _assembled(
    parts: Mapping[Chosen, CrossTable],
    names: Sequence[str],
    labels: Sequence[Sequence[Any]],
    what: Callable[[CrossTable], Floats],
) -> Floats:
    """Put the Yes of every option's table in its place."""
    first = next(iter(parts.values()))
    axes = [axis for axis, name in enumerate(names) if name != first.names[axis]]
    shape = list(what(first).shape)
    for axis in axes:
        shape[axis] = len(labels[axis])
    result = np.empty(shape)
    cells = product(*(range(shape[axis]) for axis in axes))
    for cell, table in zip(cells, parts.values(), strict=True):
        inside: list[Any] = [slice(None)] * len(shape)
        yes = list(inside)
        for axis, number in zip(axes, cell, strict=True):
            inside[axis], yes[axis] = number, 1
        result[tuple(inside)] = what(table)[tuple(yes)]
    return result


def _strongest(parts: Mapping[Chosen, CrossTable]) -> IndependenceTest | None:
    """Return the smallest p-value of the options, times their number: a test that holds however they depend."""
    tests = [table.test for table in parts.values() if table.test is not None]
    if not tests:
        return None
    best = min(tests, key=lambda test: test.p_value)
    note = f"the strongest of {len(tests)} options, its p-value times {len(tests)} (Bonferroni)"
    return IndependenceTest(best.statistic, best.df, min(1.0, best.p_value * len(tests)), best.method, note)


def compare_options(
    read_reports: Callable[[TableRequest, str, str], JointReports],
    request: TableRequest,
    outcome: str,
    by: str,
    option: Any,
    reference: Any,
) -> Comparison:
    """Compare every option of a whole list, or one of them, each from its own joint reports with the groups."""
    chosen = request.options_of(outcome) if option is None else (option,)
    reports, keys = request.keyed
    comparisons = []
    for name, seen, channels, labels in each_option(
        reports, request.mechanisms, outcome, [by, outcome], request.labels, chosen
    ):
        part = replace(request, reports=seen, mechanisms=channels, labels=labels, sample=keys)
        comparisons.append(Outcome(read_reports(part, f"{outcome}[{name}]", by), 1, name))
    each_level = request.level_of_each(len(chosen))
    return compare_groups(
        outcome, comparisons, reference, request.level, each_level, int(request.simultaneous)
    )


def compare_by_options(
    make: Callable[..., Any], request: TableRequest, outcome: str, by: str, option: Any, reference: Any
) -> Comparison:
    """Compare those who chose or ticked each option of a whole list with those who did not."""
    if reference is not None:
        raise AnalysisError(
            f'two options of "{by}" were randomized together, so they are not compared with each other',
            "leave reference= out: each option is compared with those who did not choose it",
        )
    chosen = request.options_of(by)
    reports, sample = request.keyed
    keys = sample.given | {"level": request.level_of_each(len(chosen)), "simultaneous": request.simultaneous}
    options: Iterable[tuple[str, Any, Mechanisms, Labels]]
    if isinstance(reports, pd.DataFrame):
        # A survey knows what its numbers stand for, which its mechanisms alone do not.
        options = ((name, reports, request.mechanisms, request.labels) for name in chosen)
    else:
        options = each_option(reports, request.mechanisms, by, [by, outcome], request.labels, chosen)
    comparisons = [
        (
            name,
            make(
                *(seen, channels, outcome, f"{by}[{name}]"),
                option=option,
                labels=labels,
                designs=request.designs,
                **keys,
            ),
        )
        for name, seen, channels, labels in options
    ]
    # Of a number whose reports tell the mean only, these are means, as in `compare`.
    joined: Comparison = stacked_groups(by, request.level, comparisons)
    return joined
