"""Measure the peers' mean squared errors; runs in bench/peers, called by efficiency.py.

    bench/peers/bin/python bench/efficiency_peers.py PEER < cases.json

Writes one line of JSON per case and epsilon: every mechanism of the peer that was tried, with n times its mean squared
error. A first round of all of them finds those that may be the best; these are measured until their standard error is
small. Reports are made and counted by the peer's own functions, called as its documentation does.
"""

from __future__ import annotations

import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Answers = np.ndarray
Estimator = Callable[[Answers], np.ndarray]
# Points that numbers are rounded to at random, for mechanisms that know options only.
GRIDS = (2, 3, 4, 5, 6)
# The first round takes this part of the repetitions, and so many seconds at most for each mechanism.
FIRST, FIRST_SECONDS = 0.1, 5.0
# Looking for the worst number: values, groups of people at each; again for the worst of them; people in a group.
SEARCHED, GROUPS, AGAIN, GROUP = 26, 100, (5, 600), 4
# Histograms of more values than this are tried with few mechanisms: none came near in a mean.
MANY_VALUES = 20
NOISE = np.random.default_rng()


# pure-ldp -------------------------------------------------------------------------------------------------------


def pure_oracles(options: int, epsilon: float) -> dict[str, Estimator]:
    """Every frequency oracle that is not a sketch: those trade accuracy for huge domains."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient, HadamardMechServer
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.histogram_encoding import HEClient, HEServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    same = {"index_mapper": lambda x: x}
    power = 1 << max(1, math.ceil(math.log2(options)))
    response = HadamardResponseServer(epsilon, options, **same)
    pairs = {
        "direct encoding": (DEClient(epsilon, options, **same), DEServer(epsilon, options, **same)),
        "OUE": (
            UEClient(epsilon, options, use_oue=True, **same),
            UEServer(epsilon, options, use_oue=True, **same),
        ),
        "SUE": (UEClient(epsilon, options, **same), UEServer(epsilon, options, **same)),
        "OLH": (
            LHClient(epsilon, options, use_olh=True, **same),
            LHServer(epsilon, options, use_olh=True, **same),
        ),
        "HE": (HEClient(epsilon, options, **same), HEServer(epsilon, options, **same)),
        "THE": (HEClient(epsilon, options, **same), HEServer(epsilon, options, use_the=True, **same)),
        "Hadamard response": (
            HadamardResponseClient(epsilon, options, response.get_hash_funcs(), **same),
            response,
        ),
        "Hadamard mechanism": (
            HadamardMechClient(epsilon, power, None, use_optimal_t=True, **same),
            HadamardMechServer(epsilon, power, None, use_optimal_t=True, **same),
        ),
    }
    return {name: _pure(client, server, options) for name, (client, server) in pairs.items()}


def _pure(client: Any, server: Any, options: int) -> Estimator:
    def shares(answers: Answers) -> np.ndarray:
        server.reset()
        for answer in answers.tolist():
            server.aggregate(client.privatise(answer))
        return server.estimate_all(range(options), suppress_warnings=True) / len(answers)

    return shares


def pure_ticks(boxes: int, epsilon: float) -> dict[str, Estimator]:
    """It has nothing for several answers of a person: split, draw one box, or take every combination."""
    each = pure_oracles(2, epsilon / boxes)["direct encoding"]
    one = pure_oracles(2, epsilon)["direct encoding"]
    found = {
        "direct encoding, epsilon split": _split(each),
        "direct encoding, one box drawn": _one_drawn(one),
    }
    joint = pure_oracles(1 << boxes, epsilon)
    return found | {f"{name}, {1 << boxes} combinations": _joint(joint[name], boxes) for name in ("OUE",)}


# multi-freq-ldpy ------------------------------------------------------------------------------------------------


def _unclipped(counts: np.ndarray, n: int, p: float, q: float) -> np.ndarray:
    """The package's own inversion before its last step, which cuts at 0 and rescales: that has no margin."""
    return (np.asarray(counts) - n * q) / ((p - q) * n)


def _multi_modules() -> dict[str, Any]:
    from multi_freq_ldpy.pure_frequency_oracles import GRR, HE, LH, SS, UE

    modules = {"GRR": GRR, "HE": HE, "LH": LH, "SS": SS, "UE": UE}
    for module in modules.values():
        module.MI = _unclipped
    return modules


def multi_oracles(options: int, epsilon: float) -> dict[str, Estimator]:
    """Every frequency oracle of the package."""
    m, k, e = _multi_modules(), options, epsilon
    makers: dict[str, tuple[Callable[[int], Any], Callable[[list], Any]]] = {
        "GRR": (
            lambda x: m["GRR"].GRR_Client(x, k, e),
            lambda reports: m["GRR"].GRR_Aggregator_MI(reports, k, e),
        ),
        "subset selection": (
            lambda x: m["SS"].SS_Client(x, k, e),
            lambda reports: m["SS"].SS_Aggregator_MI(reports, k, e),
        ),
        "OUE": (
            lambda x: m["UE"].UE_Client(x, k, e, True),
            lambda reports: m["UE"].UE_Aggregator_MI(reports, e, True),
        ),
        "SUE": (
            lambda x: m["UE"].UE_Client(x, k, e, False),
            lambda reports: m["UE"].UE_Aggregator_MI(reports, e, False),
        ),
        "OLH": (
            lambda x: m["LH"].LH_Client(x, k, e, True),
            lambda reports: m["LH"].LH_Aggregator_MI(reports, k, e, True),
        ),
        "THE": (
            lambda x: m["HE"].HE_Client(x, k, e),
            lambda reports: m["HE"].HE_Aggregator_MI(reports, k, e, True),
        ),
    }
    return {name: _multi(*pair) for name, pair in makers.items()}


def _multi(client: Callable[[int], Any], aggregate: Callable[[list], Any]) -> Estimator:
    return lambda answers: np.asarray(aggregate([client(answer) for answer in answers.tolist()]), dtype=float)


def multi_ticks(boxes: int, epsilon: float) -> dict[str, Estimator]:
    """Splitting and sampling as the package has them; not RS+FD, whose epsilon for the whole person is larger."""
    _multi_modules()
    from multi_freq_ldpy.mdim_freq_est import SMP_solution as smp
    from multi_freq_ldpy.mdim_freq_est import SPL_solution as spl

    sizes = [2] * boxes
    found = {
        "SPL[GRR]": (
            lambda row: spl.SPL_GRR_Client(row, sizes, boxes, epsilon),
            lambda reports: spl.SPL_GRR_Aggregator_MI(np.array(reports), sizes, boxes, epsilon),
        ),
        "SMP[GRR]": (
            lambda row: smp.SMP_GRR_Client(row, sizes, boxes, epsilon),
            lambda reports: smp.SMP_GRR_Aggregator_MI(reports, sizes, boxes, epsilon),
        ),
        "SMP[OUE]": (
            lambda row: smp.SMP_UE_Client(row, sizes, boxes, epsilon, True),
            lambda reports: smp.SMP_UE_Aggregator_MI(reports, boxes, epsilon, True),
        ),
    }
    whole = {name: _second_column(_multi(*pair)) for name, pair in found.items()}
    joint = multi_oracles(1 << boxes, epsilon)["subset selection"]
    return whole | {f"subset selection, {1 << boxes} combinations": _joint(joint, boxes)}


def _second_column(tables: Estimator) -> Estimator:
    return lambda answers: np.array([row[1] for row in tables(answers)], dtype=float)


# OpenDP ---------------------------------------------------------------------------------------------------------


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def opendp_oracles(options: int, epsilon: float) -> dict[str, Estimator]:
    """Randomized response on categories, and on one bit per category."""
    dp = _opendp()
    found: dict[str, Estimator] = {}
    other = 1.0 / (math.exp(epsilon) + options - 1.0)
    kept = math.exp(epsilon) * other
    one = dp.m.make_randomized_response(list(range(options)), prob=kept)

    def categories(answers: Answers) -> np.ndarray:
        counts = np.bincount([one(answer) for answer in answers.tolist()], minlength=options)
        return (counts / len(answers) - other) / (kept - other)

    found["randomized response"] = categories
    flipped = 2.0 / (math.exp(epsilon / 2.0) + 1.0)
    bits = dp.m.make_randomized_response_bitvec(
        dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=flipped
    )
    coded = [row.tobytes() for row in np.packbits(np.eye(options, dtype=np.uint8), axis=1)]

    def vectors(answers: Answers) -> np.ndarray:
        reports = [bits(coded[answer]) for answer in answers.tolist()]
        counts = dp.m.debias_randomized_response_bitvec(reports, flipped)
        return np.array(counts[:options]) / len(answers)

    found["randomized response on bits"] = vectors
    return found


def opendp_numbers(epsilon: float) -> dict[str, Estimator]:
    """Noise on a number in [-1, 1]: each person is a data set of one, sensitivity 2."""
    dp = _opendp()
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=2.0 / epsilon)
    # With delta = 0 it ends the interpreter; the largest delta that costs nothing is in its favour.
    canonical = dp.m.make_canonical_noise(*space, d_in=2.0, d_out=(epsilon, 1e-9))
    found = {"Laplace": laplace, "canonical noise": canonical}
    return {name: _mean_of(one) for name, one in found.items()}


def _mean_of(noisy: Callable[[float], float]) -> Estimator:
    return lambda numbers: np.array([np.mean([noisy(number) for number in numbers.tolist()])])


def opendp_ticks(boxes: int, epsilon: float) -> dict[str, Estimator]:
    """Randomized response on a bit: epsilon split, or one box drawn."""
    dp = _opendp()

    def bit(spent: float) -> Estimator:
        kept = 1.0 / (1.0 + math.exp(-spent))
        one = dp.m.make_randomized_response_bool(prob=kept)

        def shares(answers: Answers) -> np.ndarray:
            yes = np.mean([one(bool(answer)) for answer in answers.tolist()])
            share = (yes - (1.0 - kept)) / (2.0 * kept - 1.0)
            return np.array([1.0 - share, share])

        return shares

    return {
        "randomized response, epsilon split": _split(bit(epsilon / boxes)),
        "randomized response, one box drawn": _one_drawn(bit(epsilon)),
    }


PEERS: dict[str, tuple[Callable, Callable, Callable]] = {
    "pure-ldp": (pure_oracles, pure_ticks, lambda epsilon: {}),
    "multi-freq-ldpy": (multi_oracles, multi_ticks, lambda epsilon: {}),
    "OpenDP": (opendp_oracles, opendp_ticks, opendp_numbers),
}
# The one with the fewest reports: for numbers rounded to a few points.
K_ARY = {"pure-ldp": "direct encoding", "multi-freq-ldpy": "GRR", "OpenDP": "randomized response"}


# Answers of several boxes ---------------------------------------------------------------------------------------


def _split(each: Estimator) -> Estimator:
    return lambda rows: np.array([each(column)[1] for column in rows.T])


def _one_drawn(one: Estimator) -> Estimator:
    def shares(rows: Answers) -> np.ndarray:
        drawn = NOISE.integers(0, rows.shape[1], len(rows))
        return np.array([one(rows[drawn == box, box])[1] for box in range(rows.shape[1])])

    return shares


def _joint(oracle: Estimator, boxes: int) -> Estimator:
    powers = 1 << np.arange(boxes)
    ticked = (np.arange(1 << boxes)[None, :] & powers[:, None]) > 0
    return lambda rows: ticked @ oracle(rows @ powers)


# Targets --------------------------------------------------------------------------------------------------------


def estimators(peer: str, case: dict[str, Any], epsilon: float) -> dict[str, Estimator]:
    """Give the peer's ways to estimate what the case asks for."""
    oracles, ticks, numbers = PEERS[peer]
    if case["target"] == "ticks":
        return ticks(case["options"], epsilon)
    if case["target"] == "mean":
        return _means(peer, case, epsilon) | {
            name: (lambda answers, one=one: one(2.0 * answers / (case["options"] - 1) - 1.0))
            for name, one in numbers(epsilon).items()
        }
    found = oracles(case["options"], epsilon)
    if case["options"] > 100:
        # One category in a thousand says next to nothing, and takes minutes to show it.
        found.pop(K_ARY[peer])
    if case["target"] == "cumulative":
        return {name: (lambda answers, one=one: np.cumsum(one(answers))[:-1]) for name, one in found.items()}
    return found


def _means(peer: str, case: dict[str, Any], epsilon: float) -> dict[str, Estimator]:
    """The mean of the estimated histogram: of all values, and of a few points that values are rounded to."""
    oracles, options = PEERS[peer][0], case["options"]
    found = {f"{K_ARY[peer]} on {grid} points": (grid, K_ARY[peer]) for grid in GRIDS if grid < options}
    few = (K_ARY[peer], "OUE", "subset selection", "randomized response on bits")
    found |= {
        f"{name} on {options} points": (options, name)
        for name in oracles(options, epsilon)
        if options <= MANY_VALUES or name in few
    }
    return {name: _mean(oracles(grid, epsilon)[one], grid, options) for name, (grid, one) in found.items()}


def _mean(oracle: Estimator, grid: int, options: int) -> Estimator:
    points = np.linspace(-1.0, 1.0, grid)

    def mean(answers: Answers) -> np.ndarray:
        point, rest = np.divmod(answers * (grid - 1), options - 1)
        rounded = point + (NOISE.integers(0, options - 1, len(answers)) < rest)
        return np.array([points @ oracle(rounded)])

    return mean


def respondents(case: dict[str, Any], at: int | None) -> tuple[Answers, np.ndarray]:
    """Draw true answers, and give what should come out."""
    n, options, target = case["n"], case["options"], case["target"]
    if target == "ticks":
        share = case["share"]
        return (NOISE.random((n, options)) < share).astype(np.int64), np.full(options, share)
    if at is not None:
        return np.full(n, at), np.array([2.0 * at / (options - 1) - 1.0])
    answers = NOISE.integers(0, options, n)
    if target == "mean":
        return answers, np.zeros(1)
    shares = np.full(options, 1.0 / options)
    return answers, np.cumsum(shares)[:-1] if target == "cumulative" else shares


# Measuring ------------------------------------------------------------------------------------------------------


def worst_value(estimate: Estimator, case: dict[str, Any]) -> int:
    """Find the number at which the error is largest, when all people have it."""

    def error(at: int, groups: int) -> float:
        answers, truth = respondents(case | {"n": GROUP}, at)
        return float(np.mean([np.sum((estimate(answers) - truth) ** 2) for _ in range(groups)]))

    tried = np.linspace(0, (case["options"] - 1) // 2, SEARCHED).astype(int).tolist()
    likely = sorted(tried, key=lambda at: -error(at, GROUPS))[: AGAIN[0]]
    return max(likely, key=lambda at: error(at, AGAIN[1]))


def errors(estimate: Estimator, case: dict[str, Any], at: int | None) -> Iterator[float]:
    """Give n times the squared error, summed over what is estimated, one repetition after the other."""
    while True:
        answers, truth = respondents(case, at)
        yield case["n"] * float(np.sum((estimate(answers) - truth) ** 2))


def summary(found: list[float]) -> dict[str, float]:
    """Give the mean, its standard error and the number of repetitions."""
    return {
        "n_mse": float(np.mean(found)),
        "se": float(np.std(found, ddof=1) / math.sqrt(len(found))),
        "repetitions": len(found),
    }


def take(source: Iterator[float], repetitions: float, seconds: float) -> list[float]:
    """Repeat so often, or as often as there is time for: what is found never decides when to stop."""
    found: list[float] = []
    end = time.monotonic() + seconds
    while len(found) < max(5.0, repetitions) and (len(found) < 5 or time.monotonic() < end):
        found.append(next(source))
    return found


def compare(peer: str, case: dict[str, Any], epsilon: float) -> dict[str, Any]:
    """Measure all mechanisms a little, and those that may be the best well."""
    sources, measured = {}, {}
    for name, estimate in estimators(peer, case, epsilon).items():
        at = worst_value(estimate, case) if case["worst"] else None
        sources[name] = errors(estimate, case, at)
        measured[name] = summary(take(sources[name], FIRST * case["repetitions"], FIRST_SECONDS))
    reachable = min(one["n_mse"] + 3.0 * one["se"] for one in measured.values())
    last = [name for name, one in measured.items() if one["n_mse"] - 3.0 * one["se"] <= reachable]
    for name in last:
        # What chose it is not counted again.
        measured[name] = summary(take(sources[name], case["repetitions"], case["seconds"]))
    best = min(last, key=lambda name: measured[name]["n_mse"])
    return {"mechanism": best, **measured[best], "tried": measured}


def main() -> None:
    warnings.simplefilter("ignore")
    for asked in json.load(sys.stdin):
        found = compare(sys.argv[1], asked["case"], asked["epsilon"])
        print(json.dumps({"asked": asked, **found}), flush=True)


if __name__ == "__main__":
    main()
