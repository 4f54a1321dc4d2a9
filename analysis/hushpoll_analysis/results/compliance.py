"""What no report can tell: how far a share would move if some people had not answered as they were asked to.

Two curves, drawn in columns like a distribution: against the share who answer at random, and for yes/no questions
against the share who say No to protect themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hushpoll_client.messages import constant, msg

from hushpoll_analysis.estimates import Estimate
from hushpoll_analysis.validity.sensitivity import (
    CARELESS,
    PROTECTIVE,
    Sensitivity,
    if_careless,
    moved,
    sensitivity,
)

from .curves import Panel, column_steps, joined, share_ticks
from .figures import ENDS, axis_for
from .method import percent
from .numbers import in_unit, rounded, values_of

if TYPE_CHECKING:
    from .question import QuestionResults

RANDOM, GUARDED = 0.1, 0.05
"""The shares of careless and of self-protective people that the sentence beside a question speaks of."""
FINE = {"careless": [3 * step / 100 for step in range(11)], "protective": [step / 100 for step in range(11)]}
"""Where the curves are drawn."""


class _Followed(NamedTuple):
    """The share that is followed: of Yes, or the largest one; and how often careless people give that answer."""

    entry: Estimate
    chance: float
    level: float

    def at(self, careless: float = 0.0, protective: float = 0.0) -> dict[str, float]:
        """Return a row of the curve."""
        return moved(self.entry, careless, protective, self.chance)


def _followed(question: QuestionResults) -> _Followed | None:
    """Choose what is followed; None where chance gives the answers another way than by the question itself."""
    if question.estimate is None or not question.shares or question.question.after is not None:
        return None
    entry = max(question.shares, key=lambda share: share.estimate)
    chance = question.question.answers.chances[question.estimate.options.index(entry.option)]
    return _Followed(entry, float(chance), question.estimate.level)


def sensitivity_of(question: QuestionResults) -> Sensitivity | None:
    """Return the curve of a question's share, with self-protective answers where a No protects."""
    followed = _followed(question)
    if followed is None:
        return None
    assert question.estimate is not None
    guards = PROTECTIVE if question.question.kind.yes_or_no else (0.0,)
    return sensitivity(question.estimate, followed.entry.option, protective=guards, chance=followed.chance)


def open_question(question: QuestionResults) -> str:
    """Return how far a yes/no share would move with answers that cannot be checked; empty for other questions."""
    followed = _followed(question)
    if followed is None or not question.question.kind.yes_or_no:
        return ""
    at_random = percent(followed.at(careless=RANDOM)["shown_estimate"])
    guarded = followed.at(protective=GUARDED)
    return msg(
        "Not in these figures: if {random:g} % of the respondents had answered at random, {option} would be "
        "{at_random}; if {guarded:g} % of them had said No to protect themselves, it would lie between {low} and "
        "{high}.",
        random=100 * RANDOM,
        option=constant(followed.entry.option),
        at_random=at_random,
        guarded=100 * GUARDED,
        low=percent(guarded["shown_estimate"]),
        high=percent(guarded["shown_most"]),
    )


def open_mean(question: QuestionResults) -> str:
    """Return how far a mean would move with careless answers, which average the middle of the range."""
    mean, values = None if question.numbers is None else question.numbers.mean, values_of(question.question)
    if mean is None or values is None or question.question.after is not None:
        return ""
    middle = float(values.min() + values.max()) / 2.0
    moved = min(max(if_careless(mean, RANDOM, middle)[0], float(values.min())), float(values.max()))
    value = rounded(moved, mean.se)
    assert question.numbers is not None
    return msg(
        "Not in these figures: if {random:g} % of the respondents had answered at random, the mean would be {mean}.",
        random=100 * RANDOM,
        mean=in_unit(value, question.numbers.unit),
    )


def careless_panel(question: QuestionResults) -> Panel | None:
    """Draw the share against the share of people who answer at random."""
    followed = _followed(question)
    if followed is None:
        return None
    words = msg(
        "How large the share of {option} would be if so many of the respondents had answered at random; the shade is "
        "its {level:g} % interval, if that many had. Reports cannot tell how many did; an anchor question can.",
        option=_own_word(question, followed.entry.option),
        level=100 * followed.level,
    )
    rows = [followed.at(careless=rate) for rate in FINE["careless"]]
    return _panel(msg("If some had answered at random"), words, rows, "careless", ("low", "high"))


def _own_word(question: QuestionResults, option: str) -> str:
    """Return an answer as it is, or as a word of the page's own where the kind has those."""
    if question.question.kind.fixed_words:
        return constant(option)
    return option


def protective_panel(question: QuestionResults) -> Panel | None:
    """Draw the range of the share against the share of people who deny it, where a No protects."""
    followed = _followed(question)
    if followed is None or not question.question.kind.yes_or_no:
        return None
    words = msg(
        "Between which bounds the share of {option} would lie if so many of all respondents had said No to protect "
        "themselves: from the line to the top of the darker shade; the paler one adds the {level:g} % interval.",
        option=constant(followed.entry.option),
        level=100 * followed.level,
    )
    rows = [followed.at(protective=guard) for guard in FINE["protective"]]
    return _panel(
        msg("If some had said No to protect themselves"), words, rows, "protective", ("estimate", "most")
    )


def _panel(
    title: str, words: str, rows: list[dict[str, float]], against: str, inner: tuple[str, str]
) -> Panel:
    end = axis_for(row["high"] for row in rows).end
    steps = column_steps([[row[key] / end for key in ("estimate", *inner, "low", "high")] for row in rows])
    labels = [f"{100 * row[against]:g} %" for row in rows]
    edges = [100.0 * step / len(steps) for step in range(len(steps) + 1)]
    return Panel(
        title,
        words,
        steps=steps,
        joins=joined(steps),
        ticks=share_ticks(end, ENDS[end]),
        answers=labels,
        edges=edges,
        bars=False,
    )


def compliance_text(question: QuestionResults) -> list[list[list[str]]]:
    """Return both curves as tables for a terminal."""
    followed = _followed(question)
    if followed is None:
        return []
    option, guards = followed.entry.option, [guard for guard in PROTECTIVE if guard > 0.0]
    tables = [
        [
            ["if so many had answered at random", *(f"{100 * rate:g} %" for rate in CARELESS)],
            [
                f"{option} would be",
                *(percent(followed.at(careless=rate)["shown_estimate"]) for rate in CARELESS),
            ],
        ]
    ]
    if question.question.kind.yes_or_no:
        tables.append(
            [
                ["if so many had said No to protect themselves", *(f"{100 * guard:g} %" for guard in guards)],
                [
                    f"{option} would be at most",
                    *(percent(followed.at(protective=guard)["shown_most"]) for guard in guards),
                ],
            ]
        )
    return tables
