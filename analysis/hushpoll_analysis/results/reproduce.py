"""A script in base R that recomputes the table of a report from the export: estimates, errors and intervals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from hushpoll_client import Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import ChannelView, Floats
from hushpoll_analysis.channel.decoy import estimated_decoy
from hushpoll_analysis.channel.view import channel_view, sampler, set_view
from hushpoll_analysis.errors import NotIdentifiedError
from hushpoll_analysis.sample.tally import column_of

from .labels import WARNING
from .numbers import values_of

LARGEST_TABLE = 200_000


def r_reproduce(survey: Survey, level: float = 0.95) -> str:
    """Write a script in base R that recomputes estimates, standard errors and intervals from reports.csv."""
    head = [
        f"# Estimates of survey {survey.hash} from reports.csv, in base R.",
        f"# {WARNING}",
        f"level <- {level!r}",
        f"minimum <- {FEWEST_REPORTS}",
    ]
    calls = [line for question in survey.questions for line in _question(survey, question)]
    tail = ['write.csv(found, "table_R.csv", row.names = FALSE)', "print(found, digits = 6)", ""]
    return "\n".join([*head, _functions(), *calls, *tail])


@cache
def _functions() -> str:
    return (files(__package__) / "templates" / "reproduce.R").read_text("utf-8")


def _question(survey: Survey, question: Question) -> Iterator[str]:
    yield f"# {question.id}: {question.mechanism.name} {json.dumps(question.mechanism.parameters)}"
    if question.channel.listed:
        yield from _table(survey, question)
    elif set_view(question.mechanism) is not None:
        yield from _sets(question)
    else:
        yield from _ticks(question)


def _table(survey: Survey, question: Question) -> Iterator[str]:
    """Recompute what a table of reports determines: shares, the mean of numbers, cumulative shares of an order."""
    view = channel_view(question.mechanism)
    coded = _coded(survey, question)
    if coded is None or view.options * view.outcomes > LARGEST_TABLE:
        yield "# It has too many answers or reports for a script; see reproduce.py."
        return
    possible = ""
    if not view.possible.all():
        possible = f"[{_vector(view.possible.nonzero()[0] + 1)}]"
    yield f"counts <- counted({coded}, {view.outcomes}){possible}"
    decoy = _decoy(question, view)
    if question.after is not None:
        yield _among_asked(question, view)
    for kind, options, targets in _wanted(question, view):
        weights = np.stack([view.solution(target) for target in targets])[:, view.possible]
        yield _add(question, kind, options, f"rows_of({_matrix(weights)}, counts{decoy})", "sum(counts)")


def _among_asked(question: Question, view: ChannelView) -> str:
    """Recompute the shares among those asked."""
    options = len(question.options)
    targets = [*np.eye(options, options + 1), np.append(np.ones(options), 0.0)]
    *tops, bottom = (view.solution(target)[view.possible] for target in targets)
    names = ", ".join(_text(label) for label in question.options)
    weights = f"{_matrix(np.stack(tops))}, {_vector(bottom)}"
    return f"among_asked({_text(question.id)}, c({names}), {weights}, counts, {float(question.epsilon)!r})"


def _coded(survey: Survey, question: Question) -> str | None:
    """Return what R reads the reports by; a question of a block has a code for each report of the block."""
    block_of_question = survey.block_of(question)
    if block_of_question is None:
        return f"codes({_text(column_of(question.id))})"
    block, position = block_of_question
    design = sampler(block.channel)
    if design.outcomes > LARGEST_TABLE:
        return None
    words = _said(design, design.parts[position])
    return f"codes({_text(column_of(block.id))}, {words})"


def _said(design: Any, marginal: Any) -> str:
    return _vector(design.part_codes(marginal, np.arange(design.outcomes)))


def _wanted(question: Question, view: ChannelView) -> Iterator[tuple[str, Sequence[str], Floats]]:
    """Yield the tables that the report has of a question: kind, names of the rows, and a for each."""
    identity = np.eye(view.options)
    determined = _determines(view, identity)
    if determined and not question.answers.spacing:
        only_yes = question.kind.yes_or_no and question.after is None
        first = 1 if only_yes else 0
        yield "share", question.labels[first:], identity[first:]
    values = values_of(question)
    if values is not None and _determines(view, values[None]):
        yield "mean", ("",), values[None]
    if question.answers.ordered and determined:
        yield "cumulative", question.labels[:-1], np.tril(np.ones_like(identity))[:-1]


def _determines(view: ChannelView, targets: Floats) -> bool:
    try:
        for target in targets:
            view.solution(target)
    except NotIdentifiedError:
        return False
    return True


def _decoy(question: Question, view: ChannelView) -> str:
    decoy = estimated_decoy(question.mechanism)
    if decoy is None:
        return ""
    inverse = np.stack([view.solution(target) for target in np.eye(view.options)])
    return (
        f", list(yes = {decoy.yes}, of = {decoy.of}, share = {decoy.share!r}, without = {_matrix(decoy.without)},"
        f" within = {_matrix(decoy.within)}, inverse = {_matrix(inverse)})"
    )


def _ticks(question: Question) -> Iterator[str]:
    """Recompute options one by one, each from the reports that say something about it."""
    design = sampler(question.channel)
    if design.outcomes * len(design.parts) > LARGEST_TABLE:
        yield "# It has too many reports for a script; see reproduce.py."
        return
    column = _text(column_of(question.id))
    lines = []
    for marginal in design.parts:
        view = channel_view(marginal.channel)
        weights = _vector(view.solution(view.unit(1)))
        lines.append(
            f"quantity({weights}, counted(codes({column}, {_said(design, marginal)}), {view.outcomes}))"
        )
    listed = ",\n  ".join(lines)
    yield _add(question, "share", question.labels, f"list(\n  {listed}\n)")


def _sets(question: Question) -> Iterator[str]:
    """Recompute from sets of options: each option by itself, and what follows from the order of the answers."""
    design, view = sampler(question.channel), set_view(question.mechanism)
    assert view is not None
    yield f"held <- holding({_text(column_of(question.id))}, {view.options})"
    if not question.answers.spacing:
        first_view = channel_view(design.parts[0].channel)
        weights = _vector(first_view.solution(first_view.unit(1)))
        each_option = f"lapply(held, function(k) quantity({weights}, c(nrow(reports) - k, k)))"
        yield _add(question, "share", question.labels, each_option)
    if question.after is not None:
        yield "# Shares among those asked need pairs of options: see reproduce.py."
    chances = _vector(np.array([view.low, view.high]))
    for kind, options, targets in _wanted(question, view):
        if kind != "share":
            rows = f"function(a) of_sets(a, held, nrow(reports), {view.size}, {chances})"
            yield _add(question, kind, options, f"apply({_matrix(targets)}, 1, {rows}, simplify = FALSE)")


def _add(
    question: Question, kind: str, options: Sequence[str], quantity: str, size: str = "nrow(reports)"
) -> str:
    names = ", ".join(_text(label) for label in options)
    epsilon = "Inf"
    if question.epsilon != float("inf"):
        epsilon = repr(float(question.epsilon))
    together = ", TRUE" if kind == "share" else ""
    return f"add({_text(question.id)}, {_text(kind)}, c({names}), {size}, {quantity}, {epsilon}{together})"


def _vector(numbers: Any) -> str:
    are_whole = np.issubdtype(np.asarray(numbers).dtype, np.integer)
    return f"c({', '.join(str(int(number)) if are_whole else repr(float(number)) for number in numbers)})"


def _matrix(table: Floats) -> str:
    return f"matrix({_vector(np.asarray(table, dtype=np.float64).reshape(-1))}, nrow = {len(table)}, byrow = TRUE)"


def _text(text: str) -> str:
    """Quote a text for R; everything but plain letters is escaped."""
    plain = (c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return '"' + "".join(plain) + '"'
