"""What the randomization adds to each respondent's score: the part of an error that a finite population leaves.

Whom a sample takes matters less, the more of a finite population it takes; what the devices drew matters as before. So
the standard errors of a model need Var(score | truth) and the variance of the scores. It is summed over all reports
that could have come, at the fitted chances of the truths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from hushpoll_analysis.channel.base import ChannelView, Floats
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sample.columns import SetVariable, Variable

from .families import MOST_REPORTS, report_tables
from .likelihood import Likelihood
from .outcomes import GaussianOutcome, HiddenNumber, report_column
from .reading import ModelData


def score_noise(data: ModelData, theta: Floats) -> Floats:
    """Return Var(score | truth) of each respondent, on average over the truths (n x k x k)."""
    likelihood = data.likelihood.base
    model = likelihood.outcome
    if isinstance(model, GaussianOutcome) and model.hidden is not None:
        return _number_noise(likelihood, model, model.hidden, theta)
    size = len(theta)
    second = np.zeros((len(likelihood.weights), size, size))
    if not data.randomized:
        return second
    truth = _truths(data, likelihood, theta)
    means = np.zeros((*truth.shape, size))
    for reported, scores in _reports(data, likelihood, theta, truth.shape):
        chance = np.sum(truth * reported, axis=(1, 2))
        second += chance[:, None, None] * scores[:, :, None] * scores[:, None, :]
        means += reported[..., None] * scores[:, None, None, :]
    second -= np.einsum("njk,njka,njkb->nab", truth, means, means, optimize=True)
    return second


def _truths(data: ModelData, likelihood: Likelihood, theta: Floats) -> Floats:
    """Chances of the true predictors and the true answer (n x J x K); an exact outcome is known, and K is 1."""
    beta, gamma, extra = likelihood.split(theta)
    classes = likelihood.class_chances(gamma)
    if data.outcome.randomized:
        answers = [likelihood.outcome.chances(design @ beta.T, extra) for design in likelihood.design]
        return np.asarray(classes[:, :, None] * np.stack(answers, axis=1))
    logs = [likelihood.outcome.terms(design @ beta.T, extra).log for design in likelihood.design]
    joint = np.stack(logs, axis=1) + np.log(np.maximum(classes, 1e-300))
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray((joint / joint.sum(axis=1, keepdims=True))[:, :, None])


def _reports(
    data: ModelData, likelihood: Likelihood, theta: Floats, shape: tuple[int, ...]
) -> Iterator[tuple[Floats, Floats]]:
    """Every report that could have come: its chance under each truth, and the scores that it would have given."""
    model = likelihood.outcome
    variable = data.outcome.variable
    sizes = [_reports_of(variable) for _, variable in data.terms.randomized]
    if data.outcome.randomized:
        sizes.append(variable.sets.sets if isinstance(variable, SetVariable) else model.reports)
    if math.prod(sizes) > MOST_REPORTS:
        raise AnalysisError(
            f"a finite population needs a sum over all reports, and these columns have {math.prod(sizes):,} together, "
            f"more than {MOST_REPORTS:,}",
            "use fewer randomized predictors, or leave population= out (standard errors are then a little too large)",
        )
    if data.outcome.randomized:
        outcomes = range(model.reports)
    else:
        outcomes = range(1)
    hidden = [report_tables(variable) for _, variable in data.terms.randomized]
    for report, *hidden_reports in product(outcomes, *map(range, sizes[: len(hidden)])):
        seen = np.ones(likelihood.seen.shape)
        for number, ((tables, rows), other) in enumerate(zip(hidden, hidden_reports, strict=True)):
            column = report_column(tables, rows, other, len(seen))
            seen = seen * column[:, [level[number] for level in data.terms.levels]]
        chances = np.broadcast_to(seen[:, :, None], shape)
        changed = replace(likelihood, seen=seen)
        if data.outcome.randomized:
            changed = replace(changed, outcome=model.reporting(report))
            chances = chances * changed.outcome.given(likelihood.split(theta)[2])[:, None, :]
        yield chances, changed.scores(theta)


def _reports_of(variable: Variable) -> int:
    """Count the reports of one column; with several designs those of the largest."""
    if isinstance(variable, SetVariable):
        return variable.sets.sets
    return max(int(table.shape[1]) for table in report_tables(variable)[0])


def _number_noise(
    likelihood: Likelihood, model: GaussianOutcome, hidden: HiddenNumber, theta: Floats
) -> Floats:
    """Return the same for least squares of the unbiased numbers b_z, whose truth has no model.

    The scores are p e x and p e^2 - 1 with e = b - x'beta, so Var(b | truth), Cov(b, b^2 | truth) and Var(b^2 | truth)
    are needed. Each is a number for each true answer and has its own unbiased estimate; where the channel determines
    none (one-bit reports), the largest stands in.
    """
    view, b = hidden.view, hidden.weights
    try:
        of_mean, of_square = (view.noise_by_report(weights)[hidden.codes] for weights in (b, b**2))
        of_both = view.by_report(_with_square, b)[hidden.codes]
    except NotIdentifiedError:
        of_mean, of_square = (np.full(len(hidden.codes), view.noise(weights).max()) for weights in (b, b**2))
        of_both = np.zeros(len(hidden.codes))
    of_mean = of_mean + (hidden.spacing / 2.0) ** 2
    design = likelihood.design[0]
    eta, precision = design @ theta[:-1], np.exp(-2.0 * theta[-1])
    result = np.zeros((len(eta), len(theta), len(theta)))
    result[:, :-1, :-1] = of_mean[:, None, None] * design[:, :, None] * design[:, None, :]
    across = (of_both - 2.0 * eta * of_mean)[:, None] * design
    result[:, :-1, -1] = result[:, -1, :-1] = across
    result[:, -1, -1] = of_square - 4.0 * eta * of_both + 4.0 * eta**2 * of_mean
    return np.asarray(result * precision**2)


def _with_square(view: ChannelView, b: Floats) -> Floats:
    """Cov(b, b^2 | x) for each truth x."""
    return np.asarray(view.backward(b**3) - view.backward(b) * view.backward(b**2))
