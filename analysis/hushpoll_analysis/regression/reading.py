"""From a formula and a table of reports to a likelihood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeGuard

import numpy as np
import pandas as pd
from hushpoll_client import Channel
from hushpoll_client.mechanism import Mechanism

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.decoy import EstimatedDecoy
from hushpoll_analysis.channel.stacked import StackedView
from hushpoll_analysis.channel.view import analysis_channel, channel_view, sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.columns import (
    Codes,
    Mechanisms,
    SetVariable,
    Variable,
    is_randomized,
    randomized_variable,
    read_column,
)
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.distinct_rows import DistinctRows

from .families import Family, ReadOutcome, report_tables, seen_chances
from .formula import (
    ModelTerms,
    check_rank,
    column_sizes,
    needs_all_rows,
    parse_formula,
    read_terms,
    variables_of,
)
from .likelihood import Evaluable, Likelihood
from .outcomes import BinaryOutcome


@dataclass(frozen=True, eq=False)
class DecoyShift:
    """A column whose decoy share was counted: its variance, and the likelihood if the share were another by a bit."""

    name: str
    answers: int
    variance: float
    at: Callable[[float], Likelihood]


@dataclass(frozen=True, eq=False)
class ModelData:
    """A likelihood with the names of its coefficients, and what predictions need."""

    likelihood: Evaluable
    names: tuple[str, ...]
    class_names: tuple[str, ...]
    outcome: ReadOutcome
    outcome_name: str
    terms: ModelTerms
    randomized: tuple[str, ...]
    naive: Floats
    decoys: tuple[DecoyShift, ...]
    scale: Floats
    """What each coefficient was multiplied by: columns are brought to size one, so that the search is well scaled."""
    random: str | None
    rows: DistinctRows
    """The different rows of the table that was given, and for how many respondents each stands."""
    members: Callable[[], Floats]
    """Unbiased weights of each respondent's reports for every class of the randomized predictors (n x J)."""

    @property
    def n(self) -> int:
        """The number of respondents."""
        return round(float(self.rows.times.sum()))

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about the standard errors."""
        return tuple(
            f"the decoy share of {decoy.name} was estimated from {decoy.answers:,} answers; its uncertainty is part of "
            "these standard errors"
            for decoy in self.decoys
        )


def read_model(
    formula: str,
    rows: DistinctRows,
    channels: Mechanisms,
    family: Family,
    predictors: str | None,
    design: SampleDesign | None,
) -> ModelData:
    """Read formula and data; refuse what is not there, does not fit, or cannot be identified."""
    outcome_name, right, random = parse_formula(formula)
    data, times = rows.frame, rows.times
    if data.empty:
        raise AnalysisError("the table of reports is empty", "there is nothing to fit")
    names = sorted(variables_of(right))
    _check_names(formula, outcome_name, names, channels)
    frame = pd.DataFrame(
        {
            name: read_column(data, name, is_randomized(name, channels)).reset_index(drop=True)
            for name in names
        },
        index=range(len(data)),
    )
    randomized = [
        (name, variable)
        for name in names
        if (variable := randomized_variable(name, channels, as_sets=True)) is not None
    ]
    other = needs_all_rows(right, [name for name, _ in randomized])
    if other is not None:
        raise AnalysisError(
            f"{other} looks at all rows of a randomized column, whose true answers nobody has",
            "use the column itself, or transform exact ones only",
        )
    reported = read_column(data, outcome_name, is_randomized(outcome_name, channels))
    outcome = family.read(reported.reset_index(drop=True), outcome_name, channels)
    codes = [variable.codes(frame[name]) for name, variable in randomized]
    terms, matrix, covariates = read_terms(right, frame, randomized, predictors, family.intercept)
    naive = _reported_design(matrix, randomized, codes)
    people = round(float(times.sum()))
    check_rank(
        naive if len(terms.levels) == 1 else matrix.reshape(-1, matrix.shape[2]),
        terms.names,
        people * (1 if len(terms.levels) == 1 else len(matrix)),
    )
    check_rank(covariates, terms.class_names[: covariates.shape[1]] if terms.class_names else (), people)
    size, class_size = column_sizes(matrix, times), column_sizes(covariates[None], times)
    likelihood = Likelihood(
        outcome=outcome.model,
        design=matrix / size,
        covariates=covariates / class_size,
        seen=_seen(randomized, codes, terms.levels, len(data)),
        weights=times if design is None else design.weights,
        offset=-sum(
            variable.scale for variable in (outcome.variable, *dict(randomized).values()) if _is_set(variable)
        ),
    )
    lines = outcome.model.lines
    scale = np.concatenate(
        [np.tile(size, lines), np.tile(class_size, len(terms.levels) - 1), np.ones(outcome.model.extra)]
    )
    hidden = (*((outcome_name,) if outcome.randomized else ()), *(name for name, _ in randomized))
    return ModelData(
        likelihood,
        _coefficient_names(terms.names, outcome, lines),
        class_names=terms.class_names,
        outcome=outcome,
        outcome_name=outcome_name,
        terms=terms,
        randomized=hidden,
        naive=naive / size,
        decoys=_decoys(likelihood, outcome, randomized, codes, terms.levels),
        scale=scale,
        random=random,
        rows=rows,
        members=partial(_members, randomized, codes, terms.levels, len(data)),
    )


def _check_names(formula: str, outcome: str, names: list[str], channels: Mechanisms) -> None:
    if outcome in names:
        raise AnalysisError(f"{outcome!r} is on both sides of the formula", "take it off one side")
    if isinstance(channels, Mapping):
        unused = {name for name, channel in channels.items() if channel is not None} - set(names) - {outcome}
        if unused:
            raise AnalysisError(
                f"a channel is given for {sorted(unused)[0]!r}, which is not in the formula {formula!r}",
                "correct its name, or leave it out",
            )


def _coefficient_names(names: tuple[str, ...], outcome: ReadOutcome, lines: int) -> tuple[str, ...]:
    if lines == 1:
        return names
    return tuple(f"{label}: {name}" for label in outcome.labels[1:] for name in names)


def _chances(variable: Variable) -> Floats:
    """P(report | truth), K x M; with a design a row the tables of the designs side by side."""
    return np.concatenate(report_tables(variable)[0], axis=1)


def _seen(
    randomized: list[tuple[str, Variable]], codes: list[Codes], levels: tuple[tuple[int, ...], ...], n: int
) -> Floats:
    """Chance of each respondent's predictor reports under every class."""
    seen = np.ones((n, len(levels)))
    for number, ((name, variable), reports) in enumerate(zip(randomized, codes, strict=True)):
        seen *= seen_chances(variable, reports, name)[:, [level[number] for level in levels]]
    return seen


def _members(
    randomized: list[tuple[str, Variable]], codes: list[Codes], levels: tuple[tuple[int, ...], ...], n: int
) -> Floats:
    """Return b_j(z) with mean 1 where the true predictors are in class j, else 0; reports are drawn independently."""
    members = np.ones((n, len(levels)))
    for number, ((_, variable), reports) in enumerate(zip(randomized, codes, strict=True)):
        if _is_set(variable):
            assert isinstance(variable.source, Mechanism | Channel)
            parts = sampler(analysis_channel(variable.source)).parts
            codes_of_row = [
                channel_view(table.channel).solution([0.0, 1.0])[reports[:, k].astype(int)]
                for k, table in enumerate(parts)
            ]
        else:
            codes_of_row = [
                variable.view.solution(variable.view.unit(k))[reports] for k in range(variable.view.options)
            ]
        members *= np.stack(codes_of_row, axis=1)[:, [level[number] for level in levels]]
    return members


def _is_set(variable: Variable | None) -> TypeGuard[SetVariable]:
    return isinstance(variable, SetVariable)


def _reported_design(matrix: Floats, randomized: list[tuple[str, Variable]], codes: list[Codes]) -> Floats:
    """Return the model matrix with reports taken for answers: a place to start the search from."""
    chosen = np.zeros(matrix.shape[1], dtype=np.int64)
    for (_, variable), reports in zip(randomized, codes, strict=True):
        if isinstance(variable.view, StackedView):
            reports = (
                reports
                - variable.view.offsets[np.searchsorted(variable.view.offsets, reports, side="right") - 1]
            )
        elif _is_set(variable):
            reports = reports.argmax(axis=1)
        chosen = chosen * variable.view.options + np.minimum(reports, variable.view.options - 1)
    return np.asarray(matrix[chosen, np.arange(matrix.shape[1])], dtype=np.float64)


def _decoys(
    likelihood: Likelihood,
    outcome: ReadOutcome,
    randomized: list[tuple[str, Variable]],
    codes: list[Codes],
    levels: tuple[tuple[int, ...], ...],
) -> tuple[DecoyShift, ...]:
    """How the likelihood moves with each decoy share that was counted; a channel is linear in it."""
    decoys = []
    model = outcome.model
    if outcome.variable is not None and isinstance(model, BinaryOutcome):
        assert outcome.codes is not None
        variable, decoy = outcome.variable, outcome.variable.counted_decoy
        if decoy is not None:
            yes = variable.labels.index(outcome.labels[1])
            move = _move(variable, decoy)[:, outcome.codes]

            def shifted(step: float) -> Likelihood:
                moved = replace(model, no=model.no + step * move[1 - yes], yes=model.yes + step * move[yes])
                return replace(likelihood, outcome=moved)

            decoys.append(DecoyShift(variable.name, decoy.of, decoy.variance, shifted))
    for number, ((name, randomized_term), reports) in enumerate(zip(randomized, codes, strict=True)):
        decoy = randomized_term.counted_decoy
        if decoy is not None:
            decoys.append(
                DecoyShift(
                    name,
                    decoy.of,
                    decoy.variance,
                    _predictor_shift(likelihood, randomized_term, decoy, reports, levels, number),
                )
            )
    return tuple(decoys)


def _predictor_shift(
    likelihood: Likelihood,
    variable: Variable,
    decoy: EstimatedDecoy,
    reports: Codes,
    levels: tuple[tuple[int, ...], ...],
    number: int,
) -> Callable[[float], Likelihood]:
    rows = [level[number] for level in levels]
    now = _chances(variable)[rows][:, reports].T
    move = _move(variable, decoy)[rows][:, reports].T

    def shifted(step: float) -> Likelihood:
        factor = np.divide(now + step * move, now, out=np.ones_like(now), where=now > 0.0)
        return replace(likelihood, seen=likelihood.seen * factor)

    return shifted


def _move(variable: Variable, decoy: EstimatedDecoy) -> Floats:
    """How P(report | truth) moves with the decoy's share."""
    move = decoy.within - decoy.without
    view = variable.view
    if isinstance(view, StackedView):
        # The decoy's tables carry the designs' fractions, which no single respondent's chances do.
        sizes = [block.outcomes for block in view.blocks]
        move = move / np.repeat(view.fractions, sizes)
    return move
