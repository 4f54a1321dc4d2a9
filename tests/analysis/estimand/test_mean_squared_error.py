"""The mean squared error of every mechanism and target is what the theory says, and there is no bias."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hushpoll_analysis import simulate
from hushpoll_analysis.channel.view import channel_view, sampler
from hushpoll_analysis.errors import NotIdentifiedError
from hushpoll_analysis.planning.optimal import designed
from hushpoll_client import Channel, Mechanism, mechanisms
from hushpoll_client.mechanism import MECHANISMS

from tests.analysis.estimand.test_coverage import EPSILONS, surveys, truths

Floats = npt.NDArray[np.float64]
Errors = Iterator[tuple[str, str, Floats, float]]

POINTS, N = 7, 1000
FEW, ITEMS = 200, 4  # respondents of a survey whose reports are drawn one by one, and their options


def table(epsilon: float) -> Channel:
    """Return a table of no known design with the ratio that epsilon allows: neighbours are likelier, but unequally."""
    near = np.abs(np.subtract.outer(np.arange(POINTS), np.arange(POINTS))) <= 1
    near[0, POINTS - 1] = True
    weights = np.where(near, math.exp(epsilon / 2), 1.0)
    return Channel.from_probabilities((weights / weights.sum(axis=1, keepdims=True)).tolist())


MADE: dict[str, Callable[[float], Mechanism | Channel]] = {
    "warner": mechanisms.warner,
    "krr": lambda epsilon: mechanisms.krr(POINTS, epsilon),
    "forced": lambda epsilon: mechanisms.forced([1 / (math.exp(epsilon) + 9)] * POINTS),
    "or_poll": lambda epsilon: mechanisms.or_poll(decoy_share=0.3, epsilon=epsilon),
    "unrelated": lambda epsilon: mechanisms.unrelated(truth=0.7, decoy_share=0.3, epsilon=epsilon),
    "crosswise": lambda epsilon: mechanisms.crosswise(decoy_share=0.2, epsilon=epsilon),
    "mangat": lambda epsilon: mechanisms.mangat(truth=math.tanh(epsilon / 2)),
    "triangular": lambda epsilon: mechanisms.triangular(decoy_share=1 / (1 + math.exp(epsilon))),
    "kuk": lambda epsilon: mechanisms.kuk(0.5 + math.tanh(epsilon / 2) / 2.5, 0.4, 3),
    "matrix": table,
    "designed": lambda epsilon: designed(POINTS, str(epsilon), "cumulative"),
    "geometric": lambda epsilon: mechanisms.geometric(POINTS, epsilon),
    "exponential": lambda epsilon: mechanisms.exponential(POINTS, epsilon),
    "one_bit": lambda epsilon: mechanisms.one_bit(POINTS, epsilon),
    "square_wave": lambda epsilon: mechanisms.square_wave(POINTS, epsilon),
    # Narrower ones have reports so rare and so heavy that 20,000 surveys do not measure the error.
    "discrete_gaussian": lambda epsilon: mechanisms.discrete_gaussian(POINTS, 1 + 1 / epsilon),
}
SETS: dict[str, Callable[[float], Mechanism]] = {
    "subset": lambda epsilon: mechanisms.subset(ITEMS, epsilon, size=2),
    "sampled": lambda epsilon: mechanisms.sampled([2] * ITEMS, epsilon, 2),
    "padded": lambda epsilon: mechanisms.padded(ITEMS, epsilon, 2),
}


def targets(options: int) -> dict[str, list[Floats]]:
    """Every share, every cumulative share, and the mean."""
    running = list(np.tril(np.ones((options, options)))[:-1])
    return {"shares": list(np.eye(options)), "cumulative": running, "mean": [np.linspace(-1, 1, options)]}


def of_table(name: str, epsilon: float, repetitions: int) -> Errors:
    """Errors of what a listed channel determines: (sum_x h_x sum_z C[x, z] b_z^2 - (a.h)^2) / n in theory."""
    view = channel_view(MADE[name](epsilon))
    for seed, (shape, truth) in enumerate(truths(view.options).items()):
        frequencies = surveys(view, truth, N, repetitions, seed) / N
        for what, target_list in targets(view.options).items():
            for target in target_list:
                try:
                    weights = view.solution(target)
                except NotIdentifiedError:
                    continue
                theory = float(truth @ view.backward(weights**2) - (target @ truth) ** 2) / N
                yield what, shape, frequencies @ weights - target @ truth, theory


def answers_of(name: str, rng: np.random.Generator, count: int) -> tuple[npt.NDArray[np.int64], list[float]]:
    """Return true answers, and the share of people who hold each option."""
    if MECHANISMS[name].fits != "set":
        shares = [0.5, 0.3, 0.2, 0.0]
        return rng.choice(ITEMS, size=count, p=shares), shares
    every = [row for row in itertools.product((0, 1), repeat=ITEMS) if sum(row) <= 2]
    chances = np.array([1.0 + row[0] for row in every])
    chosen = rng.choice(len(every), size=count, p=chances / chances.sum())
    return np.array(every)[chosen], list(chances @ np.array(every) / chances.sum())


def of_sets(name: str, epsilon: float, repetitions: int) -> Errors:
    """Errors of each option's share, from reports that were drawn one by one."""
    mechanism = SETS[name](epsilon)
    report_sampler = sampler(mechanism.device)
    rng = np.random.default_rng(11)
    answers, shares = answers_of(name, rng, FEW * repetitions)
    codes, wrong = report_sampler.read(simulate(mechanism, answers, seed=12))
    assert wrong is None
    for option_part, share in zip(report_sampler.parts, shares, strict=True):
        part_codes = report_sampler.part_codes(option_part, codes).reshape(repetitions, FEW)
        view = channel_view(option_part.channel)
        weights = view.solution([0.0, 1.0])
        answered = (part_codes >= 0).sum(axis=1)
        estimates = np.where(part_codes >= 0, weights[np.maximum(part_codes, 0)], 0.0).sum(axis=1) / answered
        truth = np.array([1 - share, share])
        theory = float(truth @ view.backward(weights**2) - share**2) * float(np.mean(1 / answered))
        yield "shares", str(option_part.members[0]), estimates - share, theory


def check_errors(name: str, epsilon: float, repetitions: int) -> None:
    slack = 0.05 if repetitions >= 20_000 else 0.05 + 4 * math.sqrt(2 / repetitions)
    quantities = set()
    for what, shape, error, theory in (of_table if name in MADE else of_sets)(name, epsilon, repetitions):
        quantities.add(what)
        # A report that tells a true answer for certain, as Mangat's No, has no error there.
        if theory < 1e-15:
            assert np.allclose(error, 0.0, atol=1e-12)
            continue
        ratio = float(np.mean(error**2)) / theory
        assert abs(ratio - 1) <= slack, (name, what, epsilon, shape, ratio)
        assert abs(error.mean()) <= 5 * math.sqrt(theory / repetitions), (name, what, epsilon, shape)
    assert quantities == ({"mean"} if MECHANISMS[name].tells_only == "mean" else quantities | {"shares"})


def test_every_mechanism_is_here() -> None:
    assert {*MADE, *SETS} == set(MECHANISMS)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("name", MECHANISMS)
def test_errors_of_every_mechanism_are_as_the_theory_says(name: str, epsilon: float) -> None:
    check_errors(name, epsilon, 1000)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_errors_of_every_mechanism_are_as_the_theory_says_everywhere(name: str, epsilon: float) -> None:
    check_errors(name, epsilon, 20_000)
