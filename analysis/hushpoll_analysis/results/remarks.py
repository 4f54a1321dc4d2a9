"""What to know about the numbers of one question: precision, dishonest reports, what its totals reveal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushpoll_client.formatting import at_most, epsilon_text
from hushpoll_client.messages import joined, msg, plural
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.channel.view import channel_view, set_view

from .compliance import open_mean, open_question
from .numbers import BOUND, Numbers, in_unit, values_of

if TYPE_CHECKING:
    from .question import QuestionResults

# The share of dishonest people that "could move by" speaks of.
DISHONEST = 0.01


def remarks(question: QuestionResults) -> list[str]:
    """Return what to know about the numbers of one question, one sentence each."""
    sentences = []
    if question.estimate is not None:
        sentences = [*question.estimate.notes, *_share_remarks(question)]
    sentences += _number_remarks(question)
    shuffled = question.shuffled
    if shuffled is not None and shuffled.epsilon is not None:
        bound, local = epsilon_text(shuffled.epsilon, 3), epsilon_text(shuffled.local_epsilon, 2)
        if float(bound) < shuffled.local_epsilon:
            remark = msg(
                "This question's totals by themselves{shown} reveal less of one person than a report does: "
                "ε = {bound} (δ = 10⁻⁶, amplification by shuffling), as long as nobody can link a report to a person. "
                "Without that trust ε = {local} stands.",
                shown=_as_read(question),
                bound=bound,
                local=local,
            )
            closed = msg("This is the closed form, which is several times too large.")
            sentences.append(joined(" ", [remark, closed]) if shuffled.closed_form else remark)
    return sentences


def _as_read(question: QuestionResults) -> str:
    """Return when totals are read, and that groups are shown too, which no bound for the whole covers."""
    if question.batch is not None and question.released == question.batch < question.n:
        return msg(", read while reports come, {batch:,} or more at a time,", batch=question.batch)
    if question.smallest is None:
        # Whoever may read results before, the owner at least, could have followed them.
        if question.batch is None:
            return msg(", if they were released once, after the last report,")
        return msg(", read once, after the last report,")
    if question.batch is None:
        return msg(
            ", if they were released once, after the last report, by group with {smallest:,} reports in the smallest,",
            smallest=question.smallest,
        )
    return msg(
        ", read once, after the last report, by group with {smallest:,} reports in the smallest,",
        smallest=question.smallest,
    )


def _share_remarks(question: QuestionResults) -> list[str]:
    effect, effective = question.design_effect, question.n_effective
    if effect is not None and effective is not None and effective < 1.0:
        first = msg(
            "Design effect {effect:.2f}: {n:,} randomized reports are less precise than one direct answer would be.",
            effect=effect,
            n=question.n,
        )
    elif effect is not None and effective is not None:
        first = plural(
            round(effective),
            "Design effect {effect:.2f}: {n:,} randomized reports are as precise as {effective:,.0f} direct answer "
            "would be.",
            "Design effect {effect:.2f}: {n:,} randomized reports are as precise as {effective:,.0f} direct answers "
            "would be.",
            effect=effect,
            n=question.n,
            effective=effective,
        )
    else:
        first = msg(
            "The estimate lies at the edge, where direct answers would not vary: no design effect is given."
        )
    share = 1.0
    if question.question.block is not None:
        share = float(question.question.mechanism.asked)
    if share < 1.0:
        note = msg(
            "{n:,} people were asked this: the device draws, by an open coin, {percent:.0f} % of the people for it.",
            n=question.n,
            percent=100 * share,
        )
        first = joined(" ", [note, first])
    # Rounded, so that of equal shifts the first option of the question is named.
    worst = max(question.shares, key=lambda line: round(line.dishonest_shift, 12))
    if len(question.shares) == 1:
        whose = msg("this figure")
    else:
        whose = msg("“{option}”", option=worst.option)
    second = _dishonest(question, whose, at_most(100 * worst.dishonest_shift))
    third = open_question(question)
    return [first, second, *([third] if third else [])]


def _dishonest(question: QuestionResults, whose: str, points: str) -> str:
    """Return how far dishonest people can move a share; of the heaviest 1 % of respondents no bound is known."""
    weight = at_most(question.dishonest_weight)
    if weight == "1":
        honest = msg("an honest one")
    else:
        honest = msg("{weight} honest ones", weight=weight)
    if points == "1":
        moved = msg("1 percentage point")
    else:
        moved = msg("{points} percentage points", points=points)
    if question.weighted:
        return msg(
            "If dishonest respondents carried 1 % of the weights, {whose} could move by {moved}; one dishonest report "
            "weighs up to {honest}.",
            whose=whose,
            moved=moved,
            honest=honest,
        )
    return msg(
        "If 1 % of the respondents were dishonest, {whose} could move by {moved}; one dishonest report weighs up to "
        "{honest}.",
        whose=whose,
        moved=moved,
        honest=honest,
    )


def _number_remarks(question: QuestionResults) -> list[str]:
    numbers = question.numbers
    if numbers is None:
        return []
    sentences = [*([numbers.only] if numbers.only else []), *([BOUND] if numbers.bound else [])]
    if numbers.mean is not None:
        sentences += [
            sentence for sentence in (_dishonest_mean(question, numbers), open_mean(question)) if sentence
        ]
    if numbers.cumulative is not None:
        sentences.append(
            msg(
                "The band of the cumulative shares holds for all of them at once ({critical:.2f} standard errors on "
                "either side); quantiles invert their intervals, and hold at least as often as stated.",
                critical=numbers.cumulative.critical,
            )
        )
    return sentences


def _dishonest_mean(question: QuestionResults, numbers: Numbers) -> str:
    values = values_of(question.question)
    assert values is not None
    assert numbers.mean is not None
    low, high = _ends(question.question, values)
    middle = numbers.mean.shown.estimate
    shift = DISHONEST * max(high - middle, middle - low)
    moved = in_unit(at_most(shift), numbers.unit)
    if question.weighted:
        return msg(
            "If dishonest respondents carried 1 % of the weights, the mean could move by {shift}.",
            shift=moved,
        )
    return msg("If 1 % of the respondents were dishonest, the mean could move by {shift}.", shift=moved)


def _ends(question: Question, values: Floats) -> tuple[float, float]:
    """Return the least and the largest number that one report can stand for in the mean."""
    sets = set_view(question.mechanism)
    if sets is not None:
        return sets.ends(values)
    view = channel_view(question.mechanism)
    weights = view.solution(values)[view.possible]
    return float(weights.min()), float(weights.max())
