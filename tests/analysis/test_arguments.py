"""Every public function explains what it cannot use: never a raw error from inside."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import hushpoll_analysis
import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis.simulation.draws import random_bytes
from hushpoll_client import Survey, mechanisms
from hushpoll_client.errors import HushpollError

COIN = mechanisms.warner(epsilon=2)
FOUR = mechanisms.krr(options=4, epsilon=2)
RNG = np.random.default_rng(1)
DATA = pd.DataFrame({name: RNG.integers(0, 2, 400) for name in ("y", "a", "g")}).assign(
    x=RNG.normal(size=400), w=1.0, k=RNG.integers(0, 4, 400)
)
HOW = {"y": COIN, "a": COIN}
SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "t",
        "questions": [
            {"id": "y", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 2}}
        ],
    }
)
GROUPS = [(300, 200), (110, 390)]
ONE = hushpoll_analysis.estimate([250, 150], COIN)
CALLS: dict[str, tuple[Any, ...]] = {
    "anchored": (DATA, HOW, "y", "a", 0),
    "answers_for_difference": (COIN, 0.8, (0.1, 0.2)),
    "answers_for_power": (COIN, 0.8, 0.2),
    "cheating_detection": (GROUPS, (0.25, 0.75)),
    "cheating_detection_symmetric": (GROUPS, (0.25, 0.4), (0.3, 0.2)),
    "clusters": (DATA, HOW, ["y", "a"], 2),
    "compare": (DATA, HOW, "y", "g"),
    "constrained_estimate": ([250, 150], COIN),
    "correlate": (DATA, HOW, ["x", "y"]),
    "crosstab": (DATA, HOW, "g", "y"),
    "cumulative": ([60, 50, 40, 30], FOUR),
    "density": ([60, 50, 40, 30], FOUR, [0, 1, 2, 3, 4]),
    "estimate": ([250, 150], COIN),
    "functional": ([250, 150], COIN, [0, 1]),
    "lie_detection": (GROUPS, (0.2, 0.8)),
    "linear": ("x ~ y", DATA, {"y": COIN}),
    "logit": ("y ~ x", DATA, {"y": COIN}),
    "mean": ([60, 50, 40, 30], FOUR, [1, 2, 3, 4]),
    "mean_difference": (
        hushpoll_analysis.mean([60, 50, 40, 30], FOUR, [1, 2, 3, 4]),
        hushpoll_analysis.mean([60, 50, 40, 30], FOUR, [1, 2, 3, 4]),
    ),
    "multinomial": ("k ~ x", DATA, {"k": FOUR}),
    "ordinal": ("k ~ x", DATA, {"k": FOUR}),
    "plan": ("warner",),
    "power": (COIN, 500, 0.2),
    "power_of_difference": (COIN, (500, 500), (0.1, 0.2)),
    "quantiles": ([60, 50, 40, 30], FOUR, [0.5]),
    "rake": (DATA, {"g": {0: 0.5, 1: 0.5}}),
    "report": (SURVEY, DATA[["y"]].rename(columns={"y": "y_reported"})),
    "rubin": ([[1.0], [1.1]], [[0.1], [0.1]]),
    "sensitivity": (ONE,),
    "shuffled_epsilon": (1.0, 1000),
    "simulate": (COIN.device, [0, 1, 1]),
    "sum_score": (DATA, HOW, ["y", "a"]),
    "trend": ({1: ONE, 2: ONE},),
    "unrelated_two_groups": (GROUPS, (0.7, 0.3)),
    "weighted_estimate": (DATA, HOW, "y"),
    "impute": (hushpoll_analysis.logit("y ~ x", DATA, {"y": COIN}),),
}
ODD = [
    None,
    {},
    {"z": None},
    "zz",
    "",
    [],
    [None],
    pd.DataFrame(),
    pd.DataFrame({"q": [1]}),
    float("nan"),
    -1,
    object(),
]


# What a keyword may be given by mistake: a word for a number, a number for a list, the wrong number of them.
ODD_KEYWORDS = [
    *(odd for odd in ODD if not isinstance(odd, pd.DataFrame)),
    *(0, 0.5, 3, True, float("inf"), [0.5], ["x"] * 3, [5, 5, 5], {"y": 1}, (1, 2)),
]
# Anything that can be called will do, and nothing is called before the work has begun.
CALLED = {"progress"}
# Fewer draws than by default, whose number says nothing here.
FEWER: dict[str, dict[str, Any]] = {"clusters": {"runs": 20, "starts": 1}}


@pytest.mark.parametrize("name", sorted(CALLS | {"recommend": ()}))
def test_odd_keywords_are_explained(name: str) -> None:
    function: Callable[..., Any] = getattr(hushpoll_analysis, name)
    arguments = CALLS.get(name, ("choice", 4))
    raw = []
    for keyword in list(inspect.signature(function).parameters)[len(arguments) :]:
        for odd in [] if keyword in CALLED else ODD_KEYWORDS:
            try:
                function(*arguments, **FEWER.get(name, {}) | {keyword: odd})
            except HushpollError:
                continue
            except Exception as error:
                raw.append(f"{keyword}={odd!r}: {type(error).__name__}: {error}")
    assert not raw


# What matplotlib draws on, and what json takes for itself.
OTHERS = {"axes", "indent"}


def _methods(result: object) -> list[str]:
    names = [name for name in dir(type(result)) if not name.startswith("_") and name != "plot"]
    return [name for name in names if inspect.isfunction(getattr(type(result), name, None))]


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"plan"}))
def test_odd_arguments_of_results_are_explained(name: str) -> None:
    """Methods of what the functions give: predict, margins, top, share_of and the others."""
    outcome = getattr(hushpoll_analysis, name)(*CALLS[name], **FEWER.get(name, {}))
    results = [outcome, outcome["y"]] if name == "report" else [outcome]
    raw = []
    for result in results if type(outcome).__module__.startswith("hushpoll") else []:
        for method in _methods(result):
            call = getattr(result, method)
            keywords = inspect.signature(call).parameters
            required = {
                key: "y" for key, parameter in keywords.items() if parameter.default is parameter.empty
            }
            for keyword, odd in itertools.product(set(keywords) - OTHERS, ODD_KEYWORDS):
                try:
                    call(**required | {keyword: odd})
                except HushpollError:
                    continue
                except Exception as error:
                    raw.append(f"{method}({keyword}={odd!r}): {type(error).__name__}: {error}")
    assert not raw


def test_what_would_be_computed_wrong_is_refused() -> None:
    three = pd.DataFrame({"k": RNG.integers(0, 3, 400), "a": RNG.integers(0, 2, 400)})
    how = {"k": mechanisms.krr(options=3, epsilon=2), "a": COIN}
    refused: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: hushpoll_analysis.anchored(three, how, "k", "a", chances=[0.5]),
            "1 given for the 3 answers",
        ),
        (lambda: hushpoll_analysis.anchored(three, how, "k", "a", chances=[5, 5, 5]), "0 to 1 that sum to 1"),
        (lambda: hushpoll_analysis.recommend("choice", 1), "2 or more"),
        (lambda: hushpoll_analysis.sensitivity(ONE, chance=2.0), "0 to 1"),
        (lambda: hushpoll_analysis.report(*CALLS["report"], batch=-3), "batch is -3"),
        (
            lambda: hushpoll_analysis.crosstab(DATA, HOW, "g", "y", designs={"d": COIN}),
            "which row used which",
        ),
        (lambda: ONE.top(-1), "1 or more"),
        (lambda: hushpoll_analysis.rubin([[1.0], [1.1]], [[0.1], [0.1]], names=["a", "b"]), "2 given for 1"),
    ]
    for call, match in refused:
        with pytest.raises(HushpollError, match=match):
            call()


@pytest.mark.parametrize("name", sorted(CALLS))
def test_odd_arguments_are_explained(name: str) -> None:
    function: Callable[..., Any] = getattr(hushpoll_analysis, name)
    arguments = CALLS[name]
    if name != "plan":
        function(*arguments)
    raw = []
    for position, odd in itertools.product(range(len(arguments)), ODD):
        try:
            function(*arguments[:position], odd, *arguments[position + 1 :])
        except HushpollError:
            continue
        except Exception as error:
            raw.append(f"argument {position + 1} = {odd!r}: {type(error).__name__}: {error}")
    assert not raw


def test_what_numpy_takes_for_a_seed_and_people_for_a_third_will_do() -> None:
    fit = CALLS["impute"][0]
    for seed in (3, [1, 2], (1, 2), np.array([1, 2]), np.random.SeedSequence(5)):
        first, other = (hushpoll_analysis.impute(fit, 1, seed=seed).frames[0] for _ in range(2))
        assert first.equals(other)
        codes = [hushpoll_analysis.simulate(COIN.device, [0, 1] * 40, seed=seed) for _ in range(2)]
        assert (codes[0] == codes[1]).all()
        # Never the stream that answers made with the same seed came from.
        seeded = np.random.default_rng(seed).bytes(16)
        assert random_bytes(seed, 1)(16) not in (seeded, random_bytes(seed, 2)(16))
    three = pd.DataFrame({"k": RNG.integers(0, 3, 400), "a": RNG.integers(0, 2, 400)})
    how = {"k": mechanisms.krr(options=3, epsilon=2), "a": COIN}
    assert hushpoll_analysis.anchored(three, how, "k", "a", chances=[0.333] * 3).n == 400
    result = hushpoll_analysis.estimate([60, 50, 40], how["k"])
    assert hushpoll_analysis.sensitivity(result, 1).option == result.estimates[1].option
    named = hushpoll_analysis.estimate([60, 50, 40], how["k"], options=["10", "20", "30"])
    assert hushpoll_analysis.sensitivity(named, "20").option == "20"
    with pytest.raises(HushpollError, match="seed is"):
        hushpoll_analysis.estimate([600, 400], COIN, interval="bootstrap", seed=3.5)  # type: ignore[arg-type]
