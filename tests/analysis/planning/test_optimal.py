"""The best channels: against published optima, a second solver, and their own certificates."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import clarabel
import numpy as np
import pytest
from hushpoll_analysis import AnalysisError, design
from hushpoll_analysis.planning import optimal
from hushpoll_analysis.planning.margins import SLIDER_STOPS
from hushpoll_analysis.planning.optimal import (
    OptimalChannel,
    best,
    best_worst_case,
    design_cache,
    designed,
    worst_case_mean,
)
from hushpoll_analysis.planning.optimal.problem import Problem
from hushpoll_analysis.planning.optimal.program import solve
from hushpoll_analysis.planning.optimal.search import search_best, search_worst_case
from hushpoll_analysis.planning.precision import best_channel
from hushpoll_analysis.planning.variance.spread import spread
from hushpoll_client import Channel, MechanismError, mechanisms
from hushpoll_client.channel import SCALE
from hushpoll_client.exact import exp_below, read_decimal
from scipy import sparse

GOLDEN = json.loads((Path(__file__).parents[2] / "results" / "designs.json").read_text())
SMALL = [case for case in GOLDEN["cases"] if case["options"] <= 11]
BINS = [case for case in GOLDEN["cases"] if case["options"] > 11]
LIMITS = {0.5: 16.003, 1: 3.991, 2: 0.8655, 4: 0.1271}
"""Worst variance of one report for the mean of any number in [-1, 1]: the least that is known."""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def exact_epsilon(epsilon: float) -> Fraction:
    return read_decimal(epsilon, "epsilon")


def keeps_the_bound(channel: Channel, epsilon: float) -> bool:
    """Every column's ratio, in exact arithmetic, and every row's sum."""
    limit = exp_below(exact_epsilon(epsilon))
    complete = all(sum(row) == SCALE for row in channel.rows)
    columns = list(zip(*channel.rows, strict=True))
    return complete and all(
        min(column) >= 1 and Fraction(max(column), min(column)) <= limit for column in columns
    )


def variance_by_hand(channel: Channel, rows: np.ndarray) -> float:
    """n times the variance at the uniform truth, from C b = a, least squares and nothing of the search."""
    table = np.array(channel.rows, dtype=float) / SCALE
    chance = table.mean(axis=0)
    scaled = table / np.sqrt(chance)
    total = 0.0
    for row in rows:
        solved, *_ = np.linalg.lstsq(scaled, row, rcond=1e-13)
        assert np.abs(scaled @ solved - row).max() < 1e-8
        total += float(solved @ solved - row.mean() ** 2)
    return total


def rows_of(target: str, options: int) -> np.ndarray:
    if target == "mean":
        return np.linspace(-1, 1, options)[None, :]
    return np.eye(options) if target == "shares" else np.tril(np.ones((options, options)))[:-1]


@pytest.mark.parametrize(
    "case", SMALL, ids=lambda case: f"{case['options']}-{case['target']}-{case['epsilon']}"
)
def test_every_scale_is_the_best_that_is_possible(case: dict[str, Any]) -> None:
    optimum = search_best(case["options"], exact_epsilon(case["epsilon"]), case["target"])
    value = case["n_variance"]
    assert optimum.n_variance <= 1.002 * value
    assert optimum.n_variance >= value * (1 - 1e-5)
    assert optimum.bound is not None
    assert optimum.bound <= optimum.n_variance
    assert optimum.bound <= value * (1 + max(1e-5, case.get("tolerance", 0.0)))
    assert optimum.bound >= 0.999 * value
    assert optimum.channel.outcomes <= 64
    assert keeps_the_bound(optimum.channel, case["epsilon"])
    rows = rows_of(case["target"], case["options"])
    assert variance_by_hand(optimum.channel, rows) == pytest.approx(optimum.n_variance, rel=1e-6)


@pytest.mark.parametrize(
    "case", BINS, ids=lambda case: f"{case['options']}-{case['target']}-{case['epsilon']}"
)
@pytest.mark.parametrize("searched", [False, pytest.param(True, marks=pytest.mark.long)])
def test_twenty_bins(case: dict[str, Any], searched: bool) -> None:
    request = case["options"], exact_epsilon(case["epsilon"]), case["target"]
    optimum = search_best(*request) if searched else best(*request)
    assert optimum.channel.outcomes <= 64
    assert case["n_variance"] * (1 - 1e-4) <= optimum.n_variance <= 1.016 * case["n_variance"]
    assert optimum.bound is not None
    assert 0.999 * case["n_variance"] <= optimum.bound <= case["n_variance"] * (1 + 1e-4)
    assert keeps_the_bound(optimum.channel, case["epsilon"])
    rows = rows_of(case["target"], case["options"])
    assert variance_by_hand(optimum.channel, rows) == pytest.approx(optimum.n_variance, rel=1e-6)


def semidefinite(problem: Problem) -> float:
    """The same program over all subsets as a matrix inequality: minimize tr X, [[X, R'], [R, J(v)]] >= 0."""
    masks = np.arange(1, 2**problem.options - 1, dtype=np.uint64)
    points = problem.places(masks)
    size = np.abs(points).max()
    points = points / size
    inner = (problem.centred @ problem.basis).T
    dims, many = inner.shape
    both, count = dims + many, len(masks)
    where = [(i, j) for j in range(both) for i in range(j + 1)]
    free = [(i, j) for i, j in where if j < many]
    left, right = np.zeros((len(where), count + len(free))), np.zeros(len(where))
    for line, (i, j) in enumerate(where):
        factor = 1.0 if i == j else math.sqrt(2.0)
        if j < many:
            left[line, count + free.index((i, j))] = -factor
        elif i < many:
            right[line] = factor * inner[j - many, i]
        else:
            left[line, :count] = -factor * points[:, i - many] * points[:, j - many]
    equal = np.vstack([np.ones(count), points.T])
    equal = np.hstack([equal, np.zeros((len(equal), len(free)))])
    positive = -np.eye(count, count + len(free))
    cost = np.array([0.0] * count + [float(i == j) for i, j in free])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((len(cost), len(cost))),
        cost,
        sparse.csc_matrix(np.vstack([equal, positive, left])),
        np.concatenate([[1.0], np.zeros(dims), np.zeros(count), right]),
        [clarabel.ZeroConeT(dims + 1), clarabel.NonnegativeConeT(count), clarabel.PSDTriangleConeT(both)],
        settings,
    )
    return float(solver.solve().obj_val) / size**2


@pytest.mark.parametrize(
    ("options", "epsilon", "target", "shares"),
    [
        (4, 1.0, "cumulative", None),
        (5, 0.5, "mean", None),
        (5, 2.0, "shares", None),
        (5, 1.0, "cumulative", [0.5, 0.2, 0.1, 0.1, 0.1]),
        (6, 1.0, [[0, 0, 0, 1, 1, 1], [1, 0, 0, 0, 0, 5]], None),
        (7, 0.7, "cumulative", None),
    ],
)
def test_a_semidefinite_program_agrees(
    options: int, epsilon: float, target: Any, shares: list[float] | None
) -> None:
    problem = Problem.of(options, epsilon, target, shares)
    solution = solve(problem)
    assert solution.bound is not None
    assert semidefinite(problem) == pytest.approx(solution.value, rel=2e-5)
    assert solution.bound <= solution.value <= solution.bound * (1 + 1e-4)


def test_the_bound_holds_for_channels_that_are_not_the_best() -> None:
    problem = Problem.of(6, 1.0, "cumulative")
    bound = solve(problem).bound
    assert bound is not None
    generator = np.random.default_rng(5)
    for _ in range(200):
        low = generator.uniform(0.5, 1.5, (6, 12))
        table = np.clip(low, low.min(axis=0), math.e * low.min(axis=0))
        table = table / table.sum(axis=1, keepdims=True)
        ratio = (table.max(axis=0) / table.min(axis=0)).max()
        value = problem.n_variance(table)
        if ratio <= math.e and value is not None:
            assert value >= bound


@pytest.mark.parametrize(
    "epsilon", [pytest.param(epsilon, marks=() if epsilon == 1 else pytest.mark.long) for epsilon in LIMITS]
)
def test_the_mean_of_a_number_at_the_worst_truth(epsilon: float) -> None:
    optimum = search_worst_case(21, exact_epsilon(epsilon))
    assert optimum.n_variance <= (1.01 if epsilon <= 2 else 1.06) * LIMITS[epsilon]
    assert optimum.bound is not None
    assert 0.99 * LIMITS[epsilon] <= optimum.bound <= LIMITS[epsilon] * 1.0005
    assert optimum.channel.outcomes <= 15
    assert keeps_the_bound(optimum.channel, epsilon)
    # Every number, not only the points: rounded at random to a neighbour, then reported.
    table = np.array(optimum.channel.rows, dtype=float) / SCALE
    points, chance = np.linspace(-1, 1, 21), table.mean(axis=0)
    solved, *_ = np.linalg.lstsq(table / np.sqrt(chance), points, rcond=1e-13)
    b = solved / np.sqrt(chance)
    assert table @ b == pytest.approx(points, abs=1e-8)
    for x in np.linspace(-1, 1, 777):
        left = min(int((x + 1) * 10), 19)
        share = (x - points[left]) / 0.1
        row = (1 - share) * table[left] + share * table[left + 1]
        assert row @ b == pytest.approx(x, abs=1e-8)
        assert row @ b**2 - x**2 <= optimum.n_variance * (1 + 1e-9)


@pytest.mark.parametrize(
    "epsilon", [0.001, 20.0, *(pytest.param(epsilon, marks=pytest.mark.long) for epsilon in (0.01, 12.0))]
)
@pytest.mark.parametrize("target", ["mean", "cumulative", "shares"])
def test_epsilons_at_the_edges(epsilon: float, target: str) -> None:
    optimum = search_best(5, exact_epsilon(epsilon), target)
    assert optimum.bound is not None
    assert optimum.bound <= optimum.n_variance <= 1.0001 * optimum.bound
    assert keeps_the_bound(optimum.channel, epsilon)
    worst = search_worst_case(3, exact_epsilon(epsilon))
    assert keeps_the_bound(worst.channel, epsilon)


def test_a_target_that_needs_few_directions_only() -> None:
    optimum = best(4, 1.0, [[0, 0, 1, 0]])
    assert optimum.channel.outcomes == 2
    # The search ends within 1e-5 of its certificate; how much nearer depends on the machine's arithmetic.
    assert optimum.n_variance == pytest.approx(optimum.bound, rel=1e-5)
    assert variance_by_hand(optimum.channel, np.array([[0, 0, 1.0, 0]])) == pytest.approx(optimum.n_variance)


@pytest.mark.long
@pytest.mark.parametrize("options", [24, 40])
def test_more_bins_than_can_be_proven(options: int) -> None:
    planned = design(options=options, epsilon=1, target="cumulative")
    assert planned.bound is None
    assert planned.outcomes <= 64
    assert keeps_the_bound(planned.channel, 1)
    assert planned.candidates[0]["mechanism"] == "designed"


@pytest.mark.long
def test_where_64_reports_are_too_few_another_mechanism_is_taken() -> None:
    planned = design(options=64, epsilon=1, target="cumulative")
    assert planned.mechanism.name == planned.candidates[0]["mechanism"] == "subset"
    assert planned.n_variance == planned.candidates[0]["n_variance"]
    optimum = best(64, 1, "cumulative")
    assert optimum.channel.outcomes <= 64
    assert keeps_the_bound(optimum.channel, 1)
    assert best_channel(64, 1, "cumulative").device == planned.channel


def test_a_mean_of_many_points_has_one_bit() -> None:
    for options in (65, 1000):
        planned = design(options=options, epsilon=1, target="mean")
        assert planned.candidates[0]["mechanism"] == planned.mechanism.name == "one_bit"
        assert planned.channel.options == options
        assert keeps_the_bound(planned.channel, 1)
        # Whatever is rounded to an end: a bit's variance, over the square of what it tells.
        assert planned.n_variance == pytest.approx(1 / math.tanh(0.5) ** 2, rel=1e-6)


@pytest.mark.parametrize("proven", [True, False])
def test_what_is_not_proven_to_be_the_best_is_held_against_all_others(
    monkeypatch: pytest.MonkeyPatch, proven: bool
) -> None:
    """A scale of seven with K-ary response in place of the design: 25.3 and more instead of 19.3."""
    poor = OptimalChannel(mechanisms.krr(7, 1).device, 30.0, 29.999 if proven else None)
    monkeypatch.setattr("hushpoll_analysis.planning.optimal.best", lambda *_, **__: poor)
    monkeypatch.setattr("hushpoll_analysis.planning.best_channel.best", lambda *_, **__: poor)
    mechanism = best_channel(7, 1, "cumulative")
    assert (mechanism.device == poor.channel) == proven
    assert spread(mechanism, "cumulative").unit_variance(0.5) <= spread(
        mechanisms.krr(7, 1), "cumulative"
    ).unit_variance(0.5)


# Shipped and kept. ----------------------------------------------------------------------------------------------


def test_what_the_slider_asks_for_is_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("searched for")

    monkeypatch.setattr("hushpoll_analysis.planning.optimal.search.search_best", refuse)
    monkeypatch.setattr("hushpoll_analysis.planning.optimal.search.search_worst_case", refuse)
    for stop in SLIDER_STOPS:
        for options in range(2, 12):
            for target in ("cumulative", "mean", "shares"):
                assert keeps_the_bound(designed(options, stop, target), stop)
        for bins in range(12, 21):
            assert keeps_the_bound(designed(bins, stop, "cumulative"), stop)
        for grid in range(2, 22):
            assert keeps_the_bound(worst_case_mean(grid, stop), stop)


def test_what_is_shipped_is_small_and_sound() -> None:
    path = Path(design_cache.__file__).with_name(design_cache.SHIPPED)
    assert path.stat().st_size < 400_000
    for entry in json.loads(gzip.decompress(path.read_bytes())).values():
        assert entry["bound"] is None or entry["bound"] <= entry["n_variance"]
        assert Channel.from_json(entry["channel"]).outcomes <= 64


def test_a_design_is_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = best(5, "1.234", "cumulative")
    assert len(list(design_cache.folder().glob("*.json"))) == 1
    monkeypatch.setattr("hushpoll_analysis.planning.optimal.search.search_best", None)
    assert best(5, 1.234, "cumulative") == first


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"channel": 1}', b"\xff\xfe", "other"])
def test_a_damaged_file_is_found_anew(damage: bytes | str) -> None:
    first = best(4, "1.5", "mean")
    (file,) = design_cache.folder().glob("*.json")
    if isinstance(damage, str):  # a sound channel, but for a larger epsilon than was asked for
        bolder = best(4, 3, "mean").to_json()
        damage = json.dumps(bolder).encode()
    file.write_bytes(damage)
    assert best(4, "1.5", "mean") == first
    assert json.loads(file.read_bytes()) == first.to_json()


def test_several_may_write_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        designs = list(pool.map(lambda _: best(3, "0.9", "cumulative"), range(16)))
    assert all(optimum == designs[0] for optimum in designs)
    assert [file.name for file in design_cache.folder().iterdir()] == [f"{_key(3, '0.9')}.json"]


def _key(options: int, epsilon: str) -> str:
    return design_cache.key({"options": options, "epsilon": epsilon, "target": "cumulative"})


def test_a_folder_that_cannot_be_written_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert best(3, "0.9", "cumulative").channel.options == 3


def test_what_is_shipped_needs_no_solver() -> None:
    script = (
        "import sys; from hushpoll_analysis.planning.optimal import designed; designed(11, 1, 'cumulative'); "
        "print([name for name in ('numpy', 'scipy', 'clarabel') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# The public function. -------------------------------------------------------------------------------------------


def test_candidates_are_ranked_and_relative_to_the_best() -> None:
    planned = design(options=5, epsilon=1, target="cumulative")
    values = [candidate["n_variance"] for candidate in planned.candidates]
    assert values == sorted(values)
    assert planned.candidates[0] == {
        "mechanism": "designed",
        "n_variance": planned.n_variance,
        "respondents": 1.0,
    }
    by_name = {candidate["mechanism"]: candidate for candidate in planned.candidates}
    assert by_name["krr"]["n_variance"] == pytest.approx(12.2298, abs=1e-3)
    assert by_name["krr"]["respondents"] == pytest.approx(12.2298 / 10.4452, abs=1e-4)
    assert set(planned.left_out) == {"warner", "one_bit"}
    assert planned.epsilon <= 1
    assert planned.mechanism.device == planned.channel
    assert Channel.from_json(planned.to_dict()["channel"]) == planned.channel
    assert json.loads(json.dumps(planned.to_dict()))["outcomes"] == planned.outcomes
    assert "krr" in planned._repr_html_()
    assert "the best possible" in str(planned)


def test_an_established_mechanism_that_is_as_good_comes_first() -> None:
    planned = design(options=11, epsilon=4, target="shares")
    assert planned.candidates[0]["mechanism"] == "krr"
    assert planned.candidates[0]["n_variance"] == pytest.approx(planned.n_variance, rel=1e-5)
    assert design(options=2, epsilon=1, target="shares").candidates[0]["mechanism"] == "warner"


@pytest.mark.parametrize("shares", [None, [0.4, 0.3, 0.1, 0.1, 0.05, 0.05]])
def test_sets_have_the_variance_of_their_whole_table(shares: list[float] | None) -> None:
    """Subset selection in closed form against its fifteen written-out reports."""
    planned = design(options=6, epsilon=1, target=[[0, 1, 2, 3, 4, 9]], shares=shares)
    from hushpoll_client import mechanisms

    channel = mechanisms.subset(6, 1).device
    table = np.array([[float(chance) for chance in channel.chances(x).values()] for x in range(6)])
    truth = np.full(6, 1 / 6) if shares is None else np.array(shares)
    inside = np.array([[int(report, 16) >> k & 1 for k in range(6)] for report in channel.chances(0)])
    other, held = (float(chance) for chance in channel.member(0))
    b = ((inside - other) / (held - other)) @ np.array([0, 1, 2, 3, 4, 9.0])
    assert table @ b == pytest.approx([0, 1, 2, 3, 4, 9])
    chance = truth @ table
    expected = chance @ b**2 - (chance @ b) ** 2
    by_name = {candidate["mechanism"]: candidate["n_variance"] for candidate in planned.candidates}
    assert by_name["subset"] == pytest.approx(expected)


def test_unary_is_measured_like_its_bits() -> None:
    planned = design(options=10, epsilon=1, target="shares")
    by_name = {candidate["mechanism"]: candidate["n_variance"] for candidate in planned.candidates}
    q = 1 / (math.e + 1)
    z = q + (0.5 - q) / 10
    assert by_name["unary"] == pytest.approx(10 * z * (1 - z) / (0.5 - q) ** 2, rel=1e-9)


def test_a_long_list_has_subset_selection() -> None:
    planned = design(options=1000, epsilon=1, target="shares")
    assert planned.mechanism.name == planned.candidates[0]["mechanism"] == "subset"
    # One share at 0 has 3.673 (Ye and Barg's formula); summed at the uniform truth it is about a thousand times that.
    assert planned.n_variance / 1000 == pytest.approx(3.675, abs=2e-3)
    assert "designed" in planned.left_out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": 1}, "options is 1"),
        ({"options": 1001}, "options is 1001"),
        ({"options": True}, "options is True"),
        ({"target": "median"}, "target 'median' is not known"),
        ({"target": [[1, 2, 3]]}, "vectors of 5 finite numbers"),
        ({"target": [[1, 1, 1, 1, 1]]}, "all the same"),
        ({"target": [[1, 2, 3, 4, math.nan]]}, "finite"),
        ({"target": []}, "vectors of 5"),
        ({"shares": [0.5, 0.5]}, "shares must be 5 numbers"),
        ({"shares": [1, 1, 1, 1, 1]}, "shares sum to 5"),
        ({"target": "shares", "worst": True}, "the worst case is known for the mean only"),
        ({"target": "mean", "worst": True, "shares": [0.2] * 5}, "leave shares out"),
        ({"target": "mean", "worst": True, "options": 100}, "too fine"),
    ],
)
def test_bad_requests_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AnalysisError, match=message.replace("(", r"\(")):
        design(**{"options": 5, "epsilon": 1, "target": "cumulative", **changes})


@pytest.mark.parametrize("epsilon", [0, -1, 21, "x", math.nan])
def test_bad_epsilons_are_named(epsilon: Any) -> None:
    with pytest.raises(MechanismError, match="epsilon"):
        design(options=5, epsilon=epsilon, target="mean")


def test_progress_is_told() -> None:
    gaps: list[float] = []
    optimal.designed(8, "0.77", "cumulative", progress=gaps.append)
    assert len(gaps) > 1
    assert gaps[-1] < 1e-4


def test_searches_are_told_to_who_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    gaps: list[float] = []
    with optimal.watched(gaps.append):
        optimal.designed(6, "0.77", "cumulative")
        assert gaps[0] == 1
        assert gaps[-1] < 1e-4
        reported = len(gaps)
        optimal.designed(6, "0.77", "cumulative")
        assert len(gaps) == reported  # it is at hand now
        optimal.worst_case_mean(5, "1.13")
        assert gaps[reported:] == [1]
    optimal.designed(6, "0.78", "cumulative")
    assert len(gaps) == reported + 1


def test_the_worst_case_is_kept_too() -> None:
    assert best_worst_case(5, "1.1") == best_worst_case(5, 1.1)
