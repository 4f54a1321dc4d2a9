"""How a model is fitted: the search, its checks, the penalty, and the standard errors."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np

from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.sample.design import SampleDesign
from hushpoll_analysis.sample.replicates import ReplicateWeights
from hushpoll_analysis.sample.weighted_notes import heavy_notes

from .families import Family
from .fit import ModelFit
from .likelihood import Evaluable, Evaluation, Penalized
from .noise import score_noise
from .outcomes import GaussianOutcome
from .reading import ModelData
from .search import best_maximum, highest_step, maximum

INFORMATION = ("observed", "expected", "opg")
WHERE_NEEDED, NEVER, ALWAYS = PENALTIES = ("auto", "none", "log-f")
_FLAT = 1e-10
_HIGHER = 1e-6
WILD = 25.0
_SURE = (
    0.5  # coefficients (of size-one columns) with smaller standard errors leave no room for another maximum
)
EDGE = 5.0  # log-odds of an unknown share beyond which its edge itself is tried
BEYOND = 40.0  # log-odds that stand for the edge
_STEP = 1e-5
_HELD = (
    "the likelihood alone has no maximum here (separation, or an estimated share at 0 or 1), so this fit is penalized: "
    "a weak log-F(1,1) prior on each coefficient holds it; read the intervals with care"
)
PENALIZED = f"{_HELD}, likelihood_intervals() are better than the normal ones"
PENALIZED_SAMPLE = f"{_HELD}: under a sample design there are no others than those of to_frame()"
ASKED = "this fit is penalized, as asked: a weak log-F(1,1) prior holds each coefficient"


def fit_model(
    formula: str,
    data: ModelData,
    family: Family,
    level: float,
    information: str,
    design: SampleDesign | None,
    penalty: str = NEVER,
) -> ModelFit:
    """Maximise the likelihood, check that its maximum is one, and penalize it where it has none."""
    model = data.likelihood.outcome
    names = (*data.names, *data.class_names, *model.extra_names)
    note = ASKED if penalty == ALWAYS else ""
    if not note:
        try:
            maximum = _maximised(names, data, information)
        except NotIdentifiedError:
            if penalty == NEVER:
                raise
            note = PENALIZED if design is None else PENALIZED_SAMPLE
    if note:
        data = replace(data, likelihood=Penalized(data.likelihood.base))
        maximum = _maximised(names, data, information)
    theta, evaluation, bread, held = maximum
    covariance = _covariance(data, theta, evaluation, bread, held, design)
    df = None if design is None else design.degrees_of_freedom + 1 - len(theta)
    if df is not None and df < 1:
        raise AnalysisError(
            f"{len(theta)} coefficients are too many for the clusters and strata of this design"
        )
    coef, slope = natural_scale(data, theta)
    remarks = tuple(edge_note(names[position], float(coef[position])) for position in held)
    return ModelFit(
        formula=formula,
        family=family.name,
        link=family.link,
        n=data.n,
        names=names,
        coef=coef,
        covariance=read_covariance(covariance, slope, held),
        log_likelihood=data.likelihood.base.evaluate(theta).log_likelihood,
        level=level,
        information=information,
        outcome_size=len(data.names),
        randomized=data.randomized,
        degrees_of_freedom=df,
        data=data,
        theta=theta,
        slope=slope,
        held=held,
        penalized=bool(note),
        remarks=(*((note,) if note else ()), *remarks, *heavy_notes(design, allowed=False)),
    )


def edge_note(name: str, share: float) -> str:
    """Return the note that an unknown share lies at 0 or 1."""
    return f"the unknown share {name!r} is at its edge, {round(share)}; the rest is estimated given that"


def natural_scale(data: ModelData, theta: Floats) -> tuple[Floats, Floats]:
    """Return the parameters as people read them, and their derivative in the ones of the search."""
    model = data.likelihood.outcome
    values, slope = theta / data.scale, np.diag(1.0 / data.scale)
    if model.extra:
        natural, inner = model.natural(theta[-model.extra :])
        values = np.concatenate([values[: -model.extra], natural])
        slope[-model.extra :, -model.extra :] = inner
    return values, slope


def _maximised(
    names: tuple[str, ...], data: ModelData, information: str
) -> tuple[Floats, Evaluation, Floats, dict[int, float]]:
    """Find the highest maximum with its information, refused where it is none; parameters at an edge are held there."""
    start = _start(data)
    best = None
    with suppress(NotIdentifiedError):
        best = maximum(data.likelihood, start)
    if best is None or (data.randomized and not _sure(best[1].information)):
        best = best_maximum(data.likelihood, start)
        _refuse_step(data.likelihood, best[1].log_likelihood)
    theta, evaluation, settled = best
    held = _at_edges(data, theta)
    if held:
        theta, evaluation, settled = maximum(data.likelihood, theta, held)
    bread = _information(data, theta, evaluation, information)
    free = [position for position in range(len(theta)) if position not in held]
    _check_identified(names, theta, bread, settled, data, free)
    return theta, evaluation, bread, held


def _refuse_step(likelihood: Evaluable, height: float) -> None:
    """Refuse a maximum if there is a higher one at infinity."""
    if highest_step(likelihood) > height + _HIGHER:
        raise NotIdentifiedError(
            "the likelihood has no maximum: it is highest where coefficients run away to infinity (separation)",
            "simplify the model or collect more reports",
        )


def _at_edges(data: ModelData, theta: Floats) -> dict[int, float]:
    """Unknown shares whose likelihood is largest at 0 or 1."""
    model = data.likelihood.outcome
    held: dict[int, float] = {}
    if not model.log_odds or not getattr(model, "unknown", ()):
        return held
    top = data.likelihood.evaluate(theta).log_likelihood
    for position in range(len(theta) - model.extra, len(theta)):
        if abs(theta[position]) > EDGE:
            edge = {**held, position: math.copysign(BEYOND, theta[position])}
            if maximum(data.likelihood, theta, edge)[1].log_likelihood >= top - 1e-6:
                held = edge
    return held


def _covariance(
    data: ModelData,
    theta: Floats,
    evaluation: Evaluation,
    bread: Floats,
    held: dict[int, float],
    design: SampleDesign | None,
) -> Floats:
    """Inverse information, or the linearised covariance of a sample design, with the counted decoys' own part."""
    free = np.array([position for position in range(len(theta)) if position not in held])
    inverse = np.linalg.inv(bread[np.ix_(free, free)])
    inner = inverse
    if design is not None and design.replicates is not None:
        inner = _replicated(data, theta, held, design.replicates)[np.ix_(free, free)]
    elif design is not None:
        noise = lambda: score_noise(data, theta)[:, free][:, :, free]  # noqa: E731
        inner = inverse @ design.total_covariance(evaluation.scores[:, free], noise) @ inverse
    for decoy in data.decoys:
        ends = [decoy.at(side * _STEP).evaluate(theta) for side in (1.0, -1.0)]
        totals = [data.likelihood.weights @ end.scores for end in ends]
        pull = inverse @ ((totals[0] - totals[1]) / (2.0 * _STEP))[free]
        inner = inner + np.outer(pull, pull) * decoy.variance
    result = np.zeros((len(theta), len(theta)))
    result[np.ix_(free, free)] = inner
    return result


def _replicated(
    data: ModelData, theta: Floats, held: dict[int, float], replicates: ReplicateWeights
) -> Floats:
    """Covariance from fits under each set of replicate weights."""
    refits = []
    for weights in replicates.weights.T:
        again = replace(data.likelihood.base, weights=np.asarray(weights, dtype=np.float64))
        penalized = isinstance(data.likelihood, Penalized)
        refits.append(maximum(Penalized(again) if penalized else again, theta, held)[0])
    return replicates.spread(np.stack(refits), theta)


def read_covariance(covariance: Floats, slope: Floats, held: dict[int, float]) -> Floats:
    """Return the covariance on the scale that people read; what lies at its edge has no standard error."""
    result = np.asarray(slope @ covariance @ slope.T, dtype=np.float64)
    for position in held:
        result[position, position] = np.nan
    return result


def _sure(information: Floats) -> bool:
    """Return whether all coefficients are so well determined that the likelihood is nearly normal."""
    try:
        variances = np.diag(np.linalg.inv(information))
    except np.linalg.LinAlgError:
        return False
    return bool(np.all((variances > 0.0) & (variances < _SURE**2)))


def _start(data: ModelData) -> Floats:
    """Zero for answers; least squares on the reports for a number."""
    model = data.likelihood.outcome
    width, inner, extra = data.likelihood.sizes
    start = np.zeros(width + inner + extra)
    if extra:
        start[-extra:] = model.start(extra)
    if isinstance(model, GaussianOutcome):
        times = data.rows.times
        root = np.sqrt(times)
        beta, *_ = np.linalg.lstsq(data.naive * root[:, None], model.values * root, rcond=None)
        errors = model.values - data.naive @ beta
        middle = np.average(errors, weights=times)
        spread = float(np.sqrt(np.average((errors - middle) ** 2, weights=times)))
        if spread == 0.0:
            raise NotIdentifiedError(
                "the outcome is an exact combination of the predictors", "there is nothing to fit"
            )
        start[:width], start[-1] = beta, math.log(spread)
    return start


def _information(data: ModelData, theta: Floats, evaluation: Evaluation, kind: str) -> Floats:
    if kind == "observed":
        return evaluation.information
    if kind == "opg":
        weighted = data.likelihood.weights[:, None] * evaluation.scores
        return np.asarray(weighted.T @ evaluation.scores, dtype=np.float64)
    return data.likelihood.expected_information(theta)


def _check_identified(
    names: tuple[str, ...], theta: Floats, bread: Floats, settled: bool, data: ModelData, free: list[int]
) -> None:
    """Refuse a fit whose likelihood is flat, or still rising at infinity (separation, a share at its boundary)."""
    inner = bread[np.ix_(free, free)]
    scale = np.sqrt(np.maximum(np.diag(inner), 1e-300))
    values, vectors = np.linalg.eigh(inner / np.outer(scale, scale))
    if values[0] <= _FLAT:
        worst = names[free[int(np.argmax(np.abs(vectors[:, 0])))]]
        raise NotIdentifiedError(
            f"the coefficient of {worst!r} is not identified: the information is singular there (separation, too few "
            "reports, or an estimated share at 0 or 1)",
            "simplify the model",
        )
    # Columns have size one: a yes/no outcome's coefficient beyond this, or as uncertain, is on its way to infinity.
    size = np.zeros(len(theta))
    size[free] = np.maximum(np.abs(theta[free]), np.sqrt(np.diag(np.linalg.inv(inner))))
    model = data.likelihood.outcome
    if not model.log_odds:
        size[: len(data.names)] = 0.0
    if model.extra:
        size[-model.extra :] = 0.0
    wild = size.max() > WILD and not isinstance(data.likelihood, Penalized)
    if wild or not settled:
        raise NotIdentifiedError(
            f"the likelihood has no maximum: it keeps rising with the coefficient of {names[int(np.argmax(size))]!r} "
            "(separation, or an estimated share at 0 or 1)",
            "simplify the model or collect more reports",
        )
