"""Made-up respondents: true answers drawn from stated shares, and their reports to a whole survey.

What a question's truth looks like follows from its answers: a share for each option or point, values with shares for a
number, a share for each option that may be ticked (independently), or sets of ticked options with shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_client import HushpollError, Survey
from hushpoll_client.survey import Question

from hushpoll_analysis.channel.base import Answers, Floats
from hushpoll_analysis.channel.view import analysis_channel, sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.simulation.draws import draw_codes, draw_truth

Seed = int | np.random.Generator | None


def simulate_survey(
    survey: Survey, n: int, truth: Mapping[str, Any], seed: int | None = None
) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Give, entry by entry, the reports of n respondents drawn independently from the given truth.

    `truth` maps every question's id to one share per option; a number's to {"values": [...], "shares": [...]}; options
    that may be ticked have one share each, or {"sets": [[...], ...], "shares": [...]}. A question that is shown after
    certain answers has the shares among those who are asked.
    """
    for name, codes in simulate_codes(survey, n, truth, seed):
        entry = next(entry for entry in survey.entries if entry.id == name)
        yield name, sampler(entry.channel).write(codes)


def simulate_codes(
    survey: Survey, n: int, truth: Mapping[str, Any], seed: int | None = None
) -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Return the same, with reports in the form in which they are counted."""
    check_truth(survey, truth)
    source: Seed
    source = None
    if seed is not None:
        source = np.random.default_rng(seed)
    decided: dict[str, Answers] = {}
    members: list[Answers] = []
    deciders = {question.after.question for question in survey.questions if question.after is not None}
    for question in survey.questions:
        answers = draw_answers(question, truth[question.id], n, source)
        if question.after is not None:
            decider = survey.question(question.after.question)
            is_shown = np.isin(
                decided[decider.id], [decider.options.index(answer) for answer in question.after.answers]
            )
            answers = np.where(is_shown, answers, len(question.options)).astype(np.uint16)
        if question.id in deciders:
            decided[question.id] = answers
        membership = survey.block_of(question)
        if membership is not None:
            block, position = membership
            members = [*(members if position else []), answers]
            if len(members) == len(block.questions):
                yield block.id, draw_codes(block.channel, np.stack(members, axis=1), source)
            continue
        yield question.id, draw_codes(analysis_channel(question.mechanism), answers, source)


def draw_answers(question: Question, truth: Any, n: int, seed: Seed) -> Answers:
    """Draw n true answers as the channel takes them: rows of its table, or rows of ticks."""
    if not question.kind.several:
        return draw_truth(list(row_shares(question, truth)), n, seed)
    if isinstance(truth, Mapping):
        sets = np.zeros((len(truth["sets"]), len(question.options)), dtype=np.uint8)
        for number, chosen in enumerate(truth["sets"]):
            sets[number, list(_read_answer(question, chosen))] = 1
        return sets[draw_truth(truth["shares"], n, seed)]
    columns = [
        draw_truth([1 - share, share], n, _seed_of_column(seed, option)) for option, share in enumerate(truth)
    ]
    return np.stack(columns, axis=1).astype(np.uint8)


def row_shares(question: Question, truth: Any) -> Floats:
    """Return the share of each row of the channel: a number's values are spread over the points that they round to."""
    if not isinstance(truth, Mapping):
        return np.asarray(truth, dtype=np.float64)
    shares = np.zeros(len(question.options))
    for value, share in zip(truth["values"], truth["shares"], strict=True):
        for row, weight in question.answers.mixture(_read_answer(question, value)):
            shares[row] += share * float(weight)
    return shares


def _seed_of_column(seed: Seed, column: int) -> Seed:
    """Return the columns of one respondent independent chances, also where a number is the seed."""
    if isinstance(seed, int):
        return np.random.default_rng([seed, column])
    return seed


def _read_answer(question: Question, answer: object) -> Any:
    try:
        return question.read_answer(answer)
    except HushpollError as error:
        raise AnalysisError(f"truth: {error.problem}", error.remedy) from None


# Checks ---------------------------------------------------------------------------------------------------------


def check_truth(survey: Survey, truth: Mapping[str, Any]) -> None:
    """Refuse a truth that does not name every question and option of the survey."""
    ids = [question.id for question in survey.questions]
    missing = [name for name in ids if name not in truth]
    unknown = [name for name in truth if name not in ids]
    if missing:
        raise AnalysisError(
            f'truth: no shares for question "{missing[0]}"', "give one list of shares per question"
        )
    if unknown:
        raise AnalysisError(
            f'truth: the survey has no question "{unknown[0]}"', f"its questions are {', '.join(ids)}"
        )
    for question in survey.questions:
        _check(question, truth[question.id])


def _check(question: Question, truth: object) -> None:
    if question.kind.several:
        _check_several(question, truth)
    elif question.answers.steps is not None:
        values = _pairs(question, truth, "values", "a number of its grid")
        for value in values:
            _read_answer(question, value)
    else:
        _check_shares(question.id, len(question.options), truth)


def _check_several(question: Question, truth: Any) -> None:
    if isinstance(truth, Mapping) or question.answers.about().get("at_most"):
        for chosen in _pairs(question, truth, "sets", "a list of options"):
            _read_answer(question, list(chosen) if isinstance(chosen, Sequence) else chosen)
        return
    if not _numbers(truth) or len(truth) != len(question.options):
        raise AnalysisError(
            f'truth: question "{question.id}" needs a list of {len(question.options)} shares, one per option'
        )
    if not all(0 <= share <= 1 for share in truth):
        raise AnalysisError(f'truth: the shares of question "{question.id}" must lie in [0, 1]')


def _pairs(question: Question, truth: object, key: str, what: str) -> Sequence[Any]:
    """Return the values or sets of a truth that lists them with their shares."""
    shape = f'give {{"{key}": [{what}, ...], "shares": [a share for each, ...]}}'
    if not isinstance(truth, Mapping) or set(truth) != {key, "shares"}:
        raise AnalysisError(f'truth: question "{question.id}" needs {key} with shares', shape)
    listed = truth[key]
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
        raise AnalysisError(f'truth: question "{question.id}" needs a list of {key}', shape)
    _check_shares(question.id, len(listed), truth["shares"])
    return listed


def _numbers(shares: object) -> Any:
    return (
        isinstance(shares, Sequence)
        and not isinstance(shares, str)
        and all(isinstance(share, int | float) and not isinstance(share, bool) for share in shares)
    )


def _check_shares(name: str, options: int, shares: Any) -> None:
    if not isinstance(shares, Sequence) or isinstance(shares, str) or len(shares) != options:
        raise AnalysisError(f'truth: question "{name}" needs a list of {options} shares, one per option')
    if not _numbers(shares):
        raise AnalysisError(
            f'truth: question "{name}" has a share that is not a number', "give shares such as 0.3"
        )
    total = sum(shares)
    if not all(0 <= share <= 1 for share in shares) or abs(total - 1) > 1e-6:
        raise AnalysisError(
            f'truth: the shares of question "{name}" must lie in [0, 1] and add up to 1, not {total:.6g}'
        )
