"""What `estimate` promises: unbiased, invertible, permutable; its result carries and shows everything."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import hushpoll_analysis
import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import AnalysisError, EstimateTable, constrained_estimate, estimate, functional, mean
from hushpoll_analysis.channel.view import channel_view
from hushpoll_client import Channel, mechanisms
from hypothesis import assume, given, settings
from hypothesis import strategies as st

MECHANISMS = {
    "warner": mechanisms.warner(epsilon=1),
    "forced": mechanisms.forced(["1/6", "1/6"]),
    "krr": mechanisms.krr(options=4, epsilon=1),
    "or_poll": mechanisms.or_poll(decoy_share=0.412),
    "or_poll, flipped": mechanisms.or_poll(decoy_share=0.412, epsilon=1.5),
    "or_poll, decoy estimated": mechanisms.or_poll(decoy_counts=(412, 1000)),
    "unrelated": mechanisms.unrelated(truth=0.7, decoy_share=0.3),
    "unrelated, decoy estimated": mechanisms.unrelated(truth=0.7, decoy_counts=(30, 100), epsilon=2),
    "crosswise": mechanisms.crosswise(decoy_share=0.25),
    "triangular": mechanisms.triangular(decoy_share=0.25),
    "mangat": mechanisms.mangat(truth=0.7),
    "kuk": mechanisms.kuk(0.8, 0.2, 3),
    "matrix": mechanisms.matrix(weights=[[6, 3, 1], [2, 6, 2], [1, 3, 6]]),
}
METHODS = (
    "auto",
    "wilson",
    "wald",
    "clopper-pearson",
    "jeffreys",
    "score",
    "mover",
    "likelihood",
    "bootstrap",
)


@st.composite
def channels(draw: st.DrawFn) -> Channel:
    """Random tables with a dominant diagonal, square or with more reports than answers."""
    options = draw(st.integers(2, 6))
    outcomes = options + draw(st.integers(0, 2))
    rows = []
    for x in range(options):
        row = [draw(st.integers(1, 20)) for _ in range(outcomes)]
        row[x] += sum(row)  # dominant, hence invertible
        rows.append(row)
    return Channel.from_weights(rows)


def counts_for(channel: Channel, draw_from: st.DataObject) -> list[int]:
    return draw_from.draw(st.lists(st.integers(0, 500), min_size=channel.outcomes, max_size=channel.outcomes))


@given(channels(), st.data())
@settings(max_examples=60, deadline=None)
def test_any_valid_channel_inverts(channel: Channel, data: st.DataObject) -> None:
    view = channel_view(channel)
    weights = data.draw(st.lists(st.floats(0.01, 1), min_size=channel.options, max_size=channel.options))
    truth = np.array(weights) / sum(weights)
    assert view.shares(view.forward(truth)) == pytest.approx(truth, abs=1e-9)
    target = np.arange(channel.options, dtype=float)
    assert view.backward(view.solution(target)) == pytest.approx(target, abs=1e-9)


@given(channels(), st.data())
@settings(max_examples=25, deadline=None)
def test_shares_sum_to_one(channel: Channel, data: st.DataObject) -> None:
    counts = counts_for(channel, data)
    assume(sum(counts) >= 2)
    result = estimate(counts, channel, options=[str(k) for k in range(channel.options)])
    assert sum(entry.estimate for entry in result.estimates) == pytest.approx(1, abs=1e-9)
    assert result.shares is not None
    assert result.shares.sum() == pytest.approx(1, abs=1e-9)
    # Two independent ways to the standard error.
    assert np.sqrt(np.diag(result.covariance())) == pytest.approx(
        [entry.se for entry in result.estimates], abs=1e-9
    )


@given(channels(), st.data())
@settings(max_examples=15, deadline=None)
def test_permuting_options_permutes_estimates(channel: Channel, data: st.DataObject) -> None:
    counts = counts_for(channel, data)
    assume(sum(counts) >= 2)
    labels = [f"option {k}" for k in range(channel.options)]
    order = data.draw(st.permutations(range(channel.options)))
    columns = [*order, *range(channel.options, channel.outcomes)]
    permuted = Channel.matrix([[channel.rows[x][z] for z in columns] for x in order])
    plain = estimate(counts, channel, options=labels)
    moved = estimate([counts[z] for z in columns], permuted, options=[labels[x] for x in order])
    for label in labels:
        for name in ("estimate", "se", "se_privacy", "low", "high"):
            assert getattr(moved[label], name) == pytest.approx(getattr(plain[label], name), abs=1e-9), name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_has_every_interval(name: str, method: str) -> None:
    mechanism = MECHANISMS[name]
    view = channel_view(mechanism)
    truth = np.linspace(2, 1, view.options) / np.linspace(2, 1, view.options).sum()
    counts = np.rint(view.forward(truth) * 5000).astype(int)
    result = estimate(counts, mechanism, interval=method)
    for entry in result.estimates:
        share = truth[result.options.index(entry.option)]
        assert entry.estimate == pytest.approx(share, abs=2e-3)
        assert entry.low < entry.estimate < entry.high
        # At 5,000 reports all methods agree with the normal one.
        assert (entry.high - entry.low) / (2 * 1.96 * entry.se) == pytest.approx(1, abs=0.12)
        assert 0 < entry.se_privacy <= entry.se * 1.0001
        assert entry.misfit is None
        assert entry.design_effect is not None
        assert entry.design_effect > 1


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
@pytest.mark.parametrize("options", [2, 4, 10])
def test_one_dishonest_report_weighs_what_the_formula_says(options: int, epsilon: float) -> None:
    result = estimate([20] * options, mechanisms.krr(options=options, epsilon=epsilon))
    assert result[0].weight == pytest.approx(1 + (options - 1) / (math.exp(epsilon) - 1))
    # And by doing it: change one report.
    moved = estimate([19, 21, *[20] * (options - 2)], mechanisms.krr(options=options, epsilon=epsilon))
    labels = [str(k) for k in range(options)]
    if options > 2:
        change = moved[labels[1]].estimate - result[labels[1]].estimate
        assert abs(change) * 20 * options <= 2 * result[0].weight


def test_exercise_7_1_variance_of_warner() -> None:
    n, yes, phi = 1000, 420, 0.75
    z = yes / n
    entry = estimate([n - yes, yes], mechanisms.warner(truth=phi))["Yes"]
    assert entry.se**2 * (n - 1) / n == pytest.approx(z * (1 - z) / (n * (2 * phi - 1) ** 2))


def test_exercise_7_2_variance_of_the_or_poll_with_estimated_decoy() -> None:
    n, yes, m, decoy = 1000, 600, 500, 206
    z, q = yes / n, decoy / m
    entry = estimate([n - yes, yes], mechanisms.or_poll(decoy_counts=(decoy, m)))["Yes"]
    sampling = z * (1 - z) / ((n - 1) * (1 - q) ** 2)
    from_decoy = ((1 - z) / (1 - q) ** 2) ** 2 * q * (1 - q) / m
    assert entry.estimate == pytest.approx((z - q) / (1 - q))
    assert entry.se**2 == pytest.approx(sampling + from_decoy)
    assert entry.interval == "mover"


@pytest.mark.parametrize("epsilon", [None, 1.5])
def test_delta_method_is_the_slope_in_the_decoy_share(epsilon: float | None) -> None:
    """The unrelated question with estimated q against a numerical derivative."""
    counts, decoy, m, step = [550, 450], 300, 1000, 1e-5
    share = estimate(counts, mechanisms.unrelated(truth=0.7, decoy_counts=(decoy, m), epsilon=epsilon))["Yes"]

    def at(q: float) -> float:
        return estimate(counts, mechanisms.unrelated(truth=0.7, decoy_share=q, epsilon=epsilon))[
            "Yes"
        ].estimate

    slope = (at(0.3 + step) - at(0.3 - step)) / (2 * step)
    exact = estimate(counts, mechanisms.unrelated(truth=0.7, decoy_share=0.3, epsilon=epsilon))["Yes"]
    assert share.se**2 == pytest.approx(exact.se**2 + slope**2 * 0.3 * 0.7 / m, rel=1e-6)


def test_erratum_truth_probability_from_epsilon() -> None:
    """Truth with probability 1/2 + alpha needs alpha = (e^eps - 1)/(2(e^eps + 1)), half of the printed value."""
    alpha = (math.e - 1) / (2 * (math.e + 1))
    by_epsilon = estimate([600, 400], mechanisms.warner(epsilon=1))["Yes"]
    by_truth = estimate([600, 400], mechanisms.warner(truth=0.5 + alpha))["Yes"]
    assert by_epsilon.estimate == pytest.approx(by_truth.estimate, abs=1e-9)


def test_linear_quantities() -> None:
    mechanism = mechanisms.krr(options=4, epsilon=1)
    result = estimate([620, 500, 470, 410], mechanism, options=["a", "b", "c", "d"])
    shares = result.shares
    assert shares is not None
    assert result.mean([1, 2, 3, 4]).estimate == pytest.approx(shares @ [1, 2, 3, 4])
    assert result.mean([1, 2, 3, 4]).interval == "wald"
    difference = result.difference("a", "c")
    assert result.gap("a", "c") == (difference.estimate, difference.se)
    assert difference.estimate == pytest.approx(shares[0] - shares[2])
    covariance = result.covariance()
    expected = covariance[0, 0] + covariance[2, 2] - 2 * covariance[0, 2]
    assert difference.se == pytest.approx(math.sqrt(expected))
    both = result.share_of(["a", "b"])
    # A sum of options of a K-ary question is still one report frequency.
    assert both.interval == "wilson"
    assert both.estimate == pytest.approx(shares[0] + shares[1])
    rest = result.share_of(["c", "d"])
    assert (rest.low, rest.high) == pytest.approx((1 - both.high, 1 - both.low))
    with pytest.raises(AnalysisError, match="'e' is none of a, b, c, d"):
        result.difference("a", "e")
    with pytest.raises(AnalysisError, match="4 numbers expected"):
        result.functional([1, 2])


def test_a_mean_can_be_estimated_where_shares_cannot() -> None:
    """One bit per answer about a number on a grid (K x 2): the mean is determined, the shares are not."""
    grid = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    channel = Channel.from_probabilities([[f"{0.75 - 0.5 * x}", f"{0.25 + 0.5 * x}"] for x in grid])
    average = functional([420, 580], channel, grid, label="mean")
    assert average.estimate == pytest.approx((0.58 - 0.25) / 0.5)
    assert average.interval == "wilson"
    with pytest.raises(AnalysisError, match="fewer reports than options"):
        estimate([420, 580], channel)


def test_counts_with_keys_are_taken_by_their_keys() -> None:
    """`value_counts` sorts by size: Yes first where it is more frequent."""
    coin, four = mechanisms.warner(truth="3/4"), mechanisms.krr(options=4, epsilon=1)
    reports = pd.Series([1] * 620 + [0] * 380)
    plain = estimate([380, 620], coin)
    assert estimate(reports.value_counts(), coin) == plain
    assert estimate(reports.map({0: "No", 1: "Yes"}).value_counts(), coin) == plain
    assert estimate({"Yes": 620, "No": 380}, coin) == plain
    assert estimate(pd.Series([380, 620]), coin) == plain
    labels = ["a", "b", "c", "d"]
    rare = pd.Series(["c"] * 300 + ["a"] * 200 + ["b"] * 100)
    assert estimate(rare.value_counts(), four, options=labels).counts == (200, 100, 300, 0)
    assert estimate(pd.Series([2, 2, 0]).value_counts(), four).counts == (1, 0, 2, 0)
    with pytest.raises(AnalysisError, match=r"key 'e' is not a report code \(0 to 3\) or one of a, b, c, d"):
        estimate({"e": 3}, four, options=labels)
    with pytest.raises(AnalysisError, match="key 7 is not a report code"):
        estimate(pd.Series([380, 620], index=[6, 7]).iloc[1:], coin)
    with pytest.raises(AnalysisError, match="counted twice"):
        estimate({0: 3, "No": 4}, coin)


def test_counts_of_crosswise_are_taken_by_its_own_words() -> None:
    crosswise = mechanisms.crosswise(decoy_share="1/4")
    counts = {"same": 380, "different": 620}
    plain = estimate([620, 380], crosswise)
    assert estimate(counts, crosswise) == plain
    assert estimate(pd.Series(counts), crosswise) == plain
    assert (
        estimate(counts, crosswise, options=["fine", "cheated"])["cheated"].estimate == plain["Yes"].estimate
    )
    assert constrained_estimate(counts, crosswise).counts == (620, 380)
    assert mean(counts, crosswise, [0, 1]).estimate == plain["Yes"].estimate
    assert functional(counts, crosswise, [0, 1]).estimate == plain["Yes"].estimate  # type: ignore[arg-type]
    coin = mechanisms.warner(epsilon=1)
    both = estimate({"a": counts, "b": [40, 60]}, designs={"a": crosswise, "b": coin})
    assert both == estimate({"a": [620, 380], "b": [40, 60]}, designs={"a": crosswise, "b": coin})
    with pytest.raises(AnalysisError, match="or one of different, same"):
        estimate({"alike": 3}, crosswise)
    with pytest.raises(AnalysisError, match="key 'same' is not a report code"):
        estimate(counts, coin)


def test_kuk_uses_the_count_linear_solution() -> None:
    counts = [50, 100, 120, 70]
    result = estimate(counts, mechanisms.kuk(0.8, 0.2, 3))
    red = sum(z * count for z, count in enumerate(counts)) / (3 * sum(counts))
    assert result["Yes"].estimate == pytest.approx((red - 0.2) / 0.6)
    assert result.solution == "count-linear"
    assert any("count-linear" in note for note in result.notes)


def test_more_reports_than_options_take_the_least_variance_solution() -> None:
    rows = [[5, 3, 1, 1], [1, 1, 4, 4]]
    view = channel_view(mechanisms.matrix(weights=rows))
    weights = view.solution([0, 1])
    uniform = view.forward(np.array([0.5, 0.5]))
    table = np.array(rows) / 10
    for move in np.linalg.svd(table)[2][2:]:  # directions that change b but not C b
        for step in (-0.01, 0.01):
            assert uniform @ (weights + step * move) ** 2 > uniform @ weights**2


def test_bootstrap_repeats_and_its_seed_matters() -> None:
    mechanism = mechanisms.warner(epsilon=1)
    first = estimate([580, 420], mechanism, interval="bootstrap")
    assert first == estimate([580, 420], mechanism, interval="bootstrap")
    other = estimate([580, 420], mechanism, interval="bootstrap", seed=2)
    assert (first["Yes"].low, first["Yes"].high) != (other["Yes"].low, other["Yes"].high)


def test_result_shows_itself() -> None:
    result = estimate(
        [620, 500, 470, 410], mechanisms.krr(options=4, epsilon=1), options=["<b>", "b", "c", "d"]
    )
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.index) == ["<b>", "b", "c", "d"]
    assert frame.loc["b", "shown_low"] == result["b"].shown.low
    page = result._repr_html_()
    assert "reported, not true" in page
    assert "<b>" not in page.replace("&lt;b&gt;", "")
    axes = result.plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["<b>", "b", "c", "d"]
    with pytest.raises(KeyError):
        result["e"]


def test_json_has_the_contracts_shape() -> None:
    value = json.loads(
        json.dumps(estimate([580, 420], mechanisms.or_poll(decoy_share=0.3)).to_dict(), allow_nan=False)
    )
    assert {"mechanism", "epsilon", "epsilon_note", "n", "level", "interval", "estimates"} <= set(value)
    assert value["epsilon"] is None
    assert value["epsilon_note"].startswith("unbounded")
    (entry,) = value["estimates"]
    assert {"option", "reported", "estimate", "se", "low", "high", "shown", "se_privacy"} <= set(entry)
    assert set(entry["shown"]) == {"estimate", "low", "high"}
    assert (entry["option"], entry["reported"]) == ("Yes", 420)


BAD = [
    ([580], "warner", "1 given, but this channel has 2"),
    ([580, 420, 3], "warner", "3 given, but this channel has 2"),
    ([580, -1], "warner", "-1 at position 2 is negative"),
    ([580, 1.5], "warner", "1.5 at position 2 is not a whole number"),
    ([580, float("nan")], "warner", "nan at position 2 is not a whole number"),
    ([580, 2.0**60], "warner", "too large"),
    ([0, 0], "warner", "no reports"),
    ([0, 1], "warner", "one report has no standard error"),
    ([True, False], "warner", "expected whole numbers"),
    (["580", "420"], "warner", "expected whole numbers"),
    ([[1, 2], [3, 4]], "warner", "flat list"),
    ([[1, 2], [3]], "warner", "flat list"),
    ([], "warner", "flat list"),
]


@pytest.mark.parametrize(("counts", "name", "message"), BAD)
def test_bad_counts_say_what_and_where(counts: list[float], name: str, message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        estimate(counts, MECHANISMS[name])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": 95}, "level: expected a proportion"),
        ({"level": 1.0}, "level: expected a proportion"),
        ({"interval": "exact"}, "interval: unknown method 'exact'"),
        ({"options": ["No"]}, "options: 2 different labels"),
        ({"options": ["Yes", "Yes"]}, "options: 2 different labels"),
        ({"interval": "bootstrap", "replicates": 10}, "replicates: at least 200"),
    ],
)
def test_bad_requests_say_what(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        estimate([580, 420], mechanisms.warner(epsilon=1), **arguments)  # type: ignore[arg-type]


def test_singular_channels_are_refused() -> None:
    half = Channel.krr(2, 2**52)
    with pytest.raises(AnalysisError, match="same probability whatever the truth"):
        estimate([10, 20], half)
    table = Channel.from_weights([[1, 1, 2], [1, 1, 2], [2, 1, 1]])
    with pytest.raises(AnalysisError, match="true answers 0 and 1 give the same reports"):
        estimate([10, 20, 30], table)
    dependent = Channel.from_weights([[2, 1, 1], [1, 2, 1], [1.5, 1.5, 1]])
    with pytest.raises(AnalysisError, match="rows are not independent"):
        estimate([10, 20, 30], dependent)
    with pytest.raises(AnalysisError, match="expected a mechanism or a channel, got str"):
        estimate([10, 20], "warner")  # type: ignore[arg-type]


def test_a_report_that_cannot_occur_is_refused() -> None:
    channel = Channel.from_weights([[3, 1, 0], [1, 3, 0]])
    assert estimate([30, 20, 0], channel)["Yes"].estimate == pytest.approx((0.4 - 0.25) / 0.5)
    with pytest.raises(AnalysisError, match="report 2 came in 4 times"):
        estimate([30, 20, 4], channel)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("n", [2, 40])
def test_all_reports_in_one_cell_give_numbers_and_a_word(name: str, method: str, n: int) -> None:
    mechanism = MECHANISMS[name]
    outcomes = channel_view(mechanism).outcomes
    for cell in range(outcomes):
        counts = [n if z == cell else 0 for z in range(outcomes)]
        result = estimate(counts, mechanism, interval=method)
        assert any("All reports are in one cell" in note for note in result.notes)
        for entry in result.estimates:
            numbers = [entry.estimate, entry.se, entry.low, entry.high, entry.se_privacy]
            assert all(math.isfinite(number) for number in numbers)
            assert 0 <= entry.shown.low < entry.shown.high <= 1


def test_public_names_are_functions_whatever_was_imported() -> None:
    """In a fresh interpreter, with every module of the package imported first."""
    code = (
        "import pkgutil, importlib, hushpoll_analysis as package\n"
        "for module in pkgutil.iter_modules(package.__path__):\n"
        "    importlib.import_module('hushpoll_analysis.' + module.name)\n"
        "from hushpoll_analysis import estimate, crosstab, compare, logit, plan, report, simulate\n"
        "public = (estimate, crosstab, compare, logit, plan, report, simulate)\n"
        "assert all(type(name).__name__ == 'function' for name in public)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    )


def test_importing_the_package_is_cheap() -> None:
    code = "import sys, hushpoll_analysis; assert not {'numpy', 'scipy', 'pandas'} & set(sys.modules)"
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path), "PATH": ""}
    )


def test_all_is_sorted_and_complete() -> None:
    names = hushpoll_analysis.__all__
    assert names == sorted(names)
    assert all(hasattr(hushpoll_analysis, name) for name in names), "the stub names modules that hold them"
    assert hushpoll_analysis.EstimateTable is EstimateTable
    with pytest.raises(AttributeError, match="attribute nothing"):
        hushpoll_analysis.nothing  # noqa: B018


def test_a_column_of_reports_is_to_be_counted_first() -> None:
    pd = pytest.importorskip("pandas")
    column = pd.Series([1] * 50 + [0] * 30)
    with pytest.raises(AnalysisError, match="value_counts"):
        estimate(column, mechanisms.warner(epsilon=1))
    assert estimate(column.value_counts(), mechanisms.warner(epsilon=1)).counts == (30, 50)
