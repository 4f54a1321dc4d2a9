"""Reports of a sample design for every kind: options one by one, means, cumulative shares, quantiles."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import correlate, estimate, linear, report, simulate, weighted_estimate
from hushpoll_analysis.channel.view import analysis_channel, channel_view, sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.sample.replicates import Replicates
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import mechanisms
from hushpoll_client.cli import main

DRAFT = {
    "hushpoll": 1,
    "title": "Days",
    "questions": [
        {
            "id": "used",
            "kind": "multiple",
            "text": "?",
            "options": ["bus", "car", "bike", "train"],
            "mechanism": {"name": "sampled", "epsilon": 2, "ask": 2},
        },
        {
            "id": "hours",
            "kind": "number",
            "text": "?",
            "min": 0,
            "max": 100,
            "step": 1,
            "unit": "h",
            "mechanism": {"epsilon": 2.0, "target": "mean"},
        },
        {
            "id": "mood",
            "kind": "scale",
            "text": "?",
            "points": 5,
            "mechanism": {"name": "krr", "epsilon": 2},
        },
        {
            "id": "town",
            "kind": "choice",
            "text": "?",
            "options": [f"t{k}" for k in range(30)],
            "mechanism": {"name": "subset", "epsilon": 3},
        },
    ],
}
KINDS = read_draft(DRAFT)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    truth = {
        "used": [0.5, 0.3, 0.2, 0.1],
        "hours": {"values": [10, 30, 80], "shares": [0.3, 0.5, 0.2]},
        "mood": [0.1, 0.2, 0.4, 0.2, 0.1],
        "town": [1 / 30] * 30,
    }
    simulated = simulate_survey(KINDS, 900, truth, seed=4)
    frame = pd.DataFrame({f"{name}_reported": codes for name, codes in simulated})
    rng = np.random.default_rng(7)
    frame["w"] = rng.lognormal(0, 0.5, len(frame))
    frame["s"] = rng.choice(["n", "s"], len(frame))
    frame["c"] = rng.integers(0, 30, len(frame))
    return frame


def test_equal_weights_give_the_plain_report(people: pd.DataFrame) -> None:
    plain = report(KINDS, people)
    weighted = report(KINDS, people.assign(one=1.0), weights="one")
    for question in KINDS.questions:
        for a, b in zip(plain[question.id].shares, weighted[question.id].shares, strict=True):
            assert b.estimate == pytest.approx(a.estimate, abs=1e-12)
            assert b.se == pytest.approx(a.se, rel=2e-3)
            assert b.se_privacy == pytest.approx(a.se_privacy, rel=2e-3)
            assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=0.01)
    for name in ("hours", "mood"):
        a, b = plain[name].numbers, weighted[name].numbers
        assert b.mean.estimate == pytest.approx(a.mean.estimate)
        assert b.mean.se == pytest.approx(a.mean.se, rel=2e-3)
        assert b.mean.se_privacy == pytest.approx(a.mean.se_privacy, rel=2e-3)
        assert (b.mean.low, b.mean.high) == pytest.approx((a.mean.low, a.mean.high), rel=1e-2)
    first, again = plain["mood"].numbers, weighted["mood"].numbers
    for a, b in zip(first.cumulative.estimates, again.cumulative.estimates, strict=True):
        assert (b.estimate, b.se) == pytest.approx((a.estimate, a.se), rel=2e-3)
    assert again.quantiles.median == first.quantiles.median
    for a, b in zip(plain["town"].top, weighted["town"].top, strict=True):
        assert b.estimate == pytest.approx(a.estimate, abs=1e-9)
        assert (b.low, b.high) == pytest.approx((a.low, a.high), abs=0.01)


def test_an_option_by_hand(people: pd.DataFrame) -> None:
    """A domain mean: only people asked about the bus count, with the clusters of all."""
    keys = {"weights": "w", "strata": "s", "clusters": "c"}
    whole_clusters, people = people, people.assign(c=people["s"] + people["c"].astype(str))
    got = report(KINDS, people, **keys)["used"].shares[0]
    report_sampler = sampler(analysis_channel(KINDS.questions[0].mechanism))
    bus = report_sampler.parts[0]
    codes = report_sampler.part_codes(bus, report_sampler.read(people["used_reported"].to_numpy())[0])
    view = channel_view(bus.channel)
    weight = people["w"].to_numpy() * (codes >= 0)
    values = view.solution(view.unit(1))[np.maximum(codes, 0)]
    mean = np.average(values, weights=weight)
    pull = pd.DataFrame({"s": people["s"], "c": people["c"], "t": weight * (values - mean)})
    totals = pull.groupby(["s", "c"])["t"].sum()
    variance = 0.0
    for _, by_cluster in totals.groupby(level="s"):
        variance += len(by_cluster) / (len(by_cluster) - 1) * ((by_cluster - by_cluster.mean()) ** 2).sum()
    assert got.estimate == pytest.approx(mean, abs=1e-12)
    assert got.se == pytest.approx(np.sqrt(variance) / weight.sum(), rel=1e-9)
    alone = weighted_estimate(people, KINDS, "used[bus]", **keys)
    assert alone["Yes"].estimate == pytest.approx(mean, abs=1e-12)
    assert alone["Yes"].se == pytest.approx(got.se, rel=1e-12)
    assert alone.n == int((codes >= 0).sum())
    people = whole_clusters
    gone = people["c"].to_numpy()[:, None] == np.arange(30)
    deleted = Replicates(np.where(gone, 0.0, 30 / 29) * people["w"].to_numpy()[:, None], "jk1")
    jackknife = weighted_estimate(people, KINDS, "used[bus]", weights="w", replicates=deleted)
    plain = weighted_estimate(people, KINDS, "used[bus]", weights="w", clusters="c")
    assert jackknife["Yes"].se == pytest.approx(plain["Yes"].se, rel=0.03)


def test_a_weighted_mean_by_hand(people: pd.DataFrame) -> None:
    question = KINDS.questions[1]
    view = channel_view(question.mechanism)
    weights = view.solution([float(value) for value in question.answers.values])
    values, w = weights[people["hours_reported"]], people["w"].to_numpy()
    mean = np.average(values, weights=w)
    n = len(people)
    se = np.sqrt(n / (n - 1) * np.sum((w * (values - mean)) ** 2)) / w.sum()
    hours = report(KINDS, people, weights="w")["hours"]
    got = hours.numbers.mean
    assert (got.estimate, got.se) == pytest.approx((mean, se), rel=1e-9)
    assert got.low < mean < got.high
    assert hours.to_dict()["mean"]["se"] == pytest.approx(se)
    # Few clusters: the interval uses t, the standard error does not.
    clusters = people.assign(c=people["c"] % 6)
    few = report(KINDS, clusters, weights="w", clusters="c", interval="t")["hours"].numbers.mean
    assert (few.high - few.low) / 2 == pytest.approx(2.5706 * few.se, rel=1e-3)


@pytest.mark.parametrize("name", ["used", "hours", "mood", "town"])
def test_every_surface_shows_it(
    name: str, people: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = report(KINDS, people, weights="w", clusters="c")
    assert results.to_text()
    assert results.to_html()
    assert not results.to_frame().query("question == @name").empty
    path, document = tmp_path / "reports.parquet", tmp_path / "survey.json"
    people.to_parquet(path)
    document.write_bytes(KINDS.canonical)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(document), "--data", str(path), "--weights=w", "--clusters=c", "--json"])
    assert not ended.value.code
    parts = {question["id"]: question for question in json.loads(capsys.readouterr().out)["questions"]}
    assert parts[name]["estimates"] or parts[name]["mean"]["se"] > 0


def test_under_weights_dishonest_people_are_told_by_their_weight(people: pd.DataFrame) -> None:
    """The heaviest 1 % of the people carry more than 1 % of the weights."""
    plain, weighted = (report(KINDS, people, weights=weights).to_text() for weights in (None, "w"))
    assert "If 1 % of the respondents were dishonest" in plain
    assert "If 1 % of the respondents" not in weighted
    assert "If dishonest respondents carried 1 % of the weights, the mean could move by" in weighted
    mood = report(KINDS, people, weights="w")["mood"]
    line = mood.shares[0]
    weights = channel_view(mood.question.mechanism).solution([1, 0, 0, 0, 0])
    furthest = max(weights.max() - line.estimate, line.estimate - weights.min())
    assert line.dishonest_shift == pytest.approx(0.01 * furthest)


def test_a_weighted_report_says_what_it_leaves_out(people: pd.DataFrame) -> None:
    plain, weighted = (report(KINDS, people, weights=weights)["used"] for weights in (None, "w"))
    assert plain.ticked is not None
    assert weighted.ticked is None
    remark = "neither pairs of options nor the number of options ticked"
    assert any(remark in note for note in weighted.estimate.notes)
    assert not any(remark in note for note in report(KINDS, people, weights="w")["town"].estimate.notes)


@pytest.mark.parametrize("counts", [(59, 1), (58, 2), (40, 20)])
@pytest.mark.parametrize("population", [60, 61, 100, 10_000])
def test_counts_and_rows_agree_on_a_finite_population(counts: tuple[int, int], population: int) -> None:
    """(1 - f) se^2 + f se_privacy^2, also where by chance the reports vary less than their randomization would."""
    coin = mechanisms.warner(epsilon=3)
    rows = pd.DataFrame({"y": np.repeat([0, 1], counts)})
    f = 60 / population
    plain, finite = (estimate(counts, coin, population=size)["Yes"] for size in (None, population))
    assert finite.se == pytest.approx(np.sqrt((1 - f) * plain.se**2 + f * plain.se_privacy**2))
    other = weighted_estimate(rows, {"y": coin}, "y", population=population)[1]
    assert other.se == pytest.approx(finite.se, rel=1e-3)
    assert other.se_privacy == pytest.approx(finite.se_privacy, rel=1e-3)
    # A finite population never makes an interval longer.
    assert finite.high - finite.low <= plain.high - plain.low + 1e-12


def test_a_population_alone_shrinks_every_kind(people: pd.DataFrame) -> None:
    plain, census = report(KINDS, people), report(KINDS, people, population=900)
    for name in ("used", "mood", "town"):
        for a, b in zip(plain[name].shares, census[name].shares, strict=True):
            rate = 0.5 if name == "used" else 1.0
            variance = (1 - rate) * a.se**2 + rate * a.se_privacy**2
            assert b.se == pytest.approx(np.sqrt(variance), rel=1e-9)
    for name in ("hours", "mood"):
        assert census[name].numbers.mean.se <= plain[name].numbers.mean.se
    alone = estimate(plain["used"].counts, KINDS.questions[0].mechanism, population=900)
    assert alone[0].se == pytest.approx(census["used"].shares[0].se)


@pytest.mark.parametrize("repetitions", [20, pytest.param(50, marks=pytest.mark.long)])
def test_weighted_quantities_cover(repetitions: int) -> None:
    """The unhappy answer half as often and weigh double: means, shares of options and medians still cover."""
    rng = np.random.default_rng(2)
    both = read_draft({**DRAFT, "questions": [DRAFT["questions"][k] for k in (0, 2)]})
    mood, inside = both.questions[1], np.zeros(3)
    for seed in range(repetitions):
        answer = rng.choice(5, 1500, p=[0.1, 0.2, 0.4, 0.2, 0.1])
        respondents = answer[rng.random(1500) < np.where(answer < 2, 0.5, 1.0)]
        truth = {"used": [0.3, 0.2, 0.2, 0.1], "mood": [0.2] * 5}
        frame = pd.DataFrame(dict(simulate_survey(both, len(respondents), truth, seed))).add_suffix(
            "_reported"
        )
        frame["mood_reported"] = simulate(mood.channel, respondents, seed=seed)
        got = report(both, frame.assign(w=np.where(respondents < 2, 2.0, 1.0)), weights="w")
        bus, numbers = got["used"].shares[0], got["mood"].numbers
        inside += [
            numbers.mean.low <= 3.0 <= numbers.mean.high,
            bus.low <= 0.3 <= bus.high,
            numbers.quantiles.median.low <= 3 <= numbers.quantiles.median.high,
        ]
    slack = 3 * np.sqrt(0.05 * 0.95 / repetitions)
    assert np.all(inside / repetitions > 0.93 - slack), inside
    assert np.all(inside[:2] / repetitions < 0.975 + slack), inside


def test_options_stand_together_and_means_are_named(people: pd.DataFrame) -> None:
    listed = weighted_estimate(people, KINDS, "used", weights="w").shares
    assert listed[0].estimate == weighted_estimate(people, KINDS, "used[bus]", weights="w").shares[1].estimate
    with pytest.raises(AnalysisError, match=r"linear\('hours ~ 1'"):
        weighted_estimate(people, KINDS, "hours", weights="w")
    mean = linear("hours ~ 1", people, KINDS, weights="w")
    expected = report(KINDS, people, weights="w")["hours"].numbers.mean
    assert (mean.coef[0], mean.se[0]) == pytest.approx((expected.estimate, expected.se), rel=1e-6)
    bus = correlate(people, KINDS, ["used[bus]", "w"], weights="w")
    assert np.isfinite(bus.se[0, 1])
    assert bus.n < len(people)


def test_the_method_tells_the_sample_design(people: pd.DataFrame) -> None:
    plain = report(KINDS, people)
    assert "n − 1 in the denominator" in plain.method.paragraph
    assert "weights=" not in plain.snippet
    results = report(KINDS, people, weights="w", clusters="c")
    assert "sample design into account (weights and clusters)" in results.method.paragraph
    assert "at the effective sample size" in results.method.paragraph
    assert any("Binder" in reference for reference in results.method.references)
    assert "weights='w', clusters='c'" in results.snippet
    assert "finite population" in report(KINDS, people, population=5000).method.paragraph
    assert "raked" in report(KINDS, people, margins={"s": {"n": 0.4, "s": 0.6}}).method.paragraph
    assert "are t intervals" in report(KINDS, people, weights="w", interval="t").to_text().replace("\n", " ")
    gone = people["c"].to_numpy()[:, None] == np.arange(30)
    columns = np.where(gone, 0.0, 30 / 29) * people["w"].to_numpy()[:, None]
    again = report(KINDS, people, weights="w", replicates=Replicates(columns, "jk1"))
    assert "replicate weights" in again.method.paragraph
    assert "replicates=replicates" in again.snippet


@pytest.fixture(scope="module")
def jackknife() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(9)
    truth = rng.random(80) < 0.4
    frame = pd.DataFrame({"y": simulate(mechanisms.warner(epsilon=3).device, truth.astype(int), seed=1)})
    frame = frame.assign(x=truth + rng.normal(size=80), one=1.0)
    return frame, (1.0 - np.eye(80)) * 80 / 79


def test_replicates_in_correlations_and_linear_models(jackknife: tuple[pd.DataFrame, np.ndarray]) -> None:
    """The jackknife's error is close to the linearised one, and really comes from the replicates."""
    frame, weights = jackknife
    how = {"y": mechanisms.warner(epsilon=3)}
    for call in (
        lambda **keys: correlate(frame, how, ["x", "y"], **keys).se[0, 1],
        lambda **keys: linear("x ~ y", frame, how, **keys).se[1],
    ):
        plain = call(weights="one")
        replicated = call(weights="one", replicates=Replicates(weights, "jk1"))
        assert replicated == pytest.approx(plain, rel=0.2)
        assert call(
            weights="one", replicates=Replicates(weights, "other", scale=4 * 79 / 80)
        ) == pytest.approx(2 * replicated, rel=1e-9)


def test_the_command_takes_a_population_and_every_kind_of_replicates(
    jackknife: tuple[pd.DataFrame, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame, weights = jackknife
    question = {"id": "y", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 3}}
    survey = read_draft({"hushpoll": 1, "title": "t", "questions": [question]})
    (tmp_path / "s.json").write_bytes(survey.canonical)
    columns = pd.DataFrame(weights, columns=[f"rep{k}" for k in range(80)])
    table = pd.concat([frame.rename(columns={"y": "y_reported"})[["y_reported", "one"]], columns], axis=1)
    table.to_csv(tmp_path / "d.csv", index=False)

    def run(*more: str) -> dict[str, float]:
        with pytest.raises(SystemExit) as ended:
            main(["report", str(tmp_path / "s.json"), "--data", str(tmp_path / "d.csv"), "--json", *more])
        assert not ended.value.code, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)["questions"][0]["estimates"][0]

    plain = run()
    census = run("--population", "80")
    assert census["se"] == pytest.approx(plain["se_privacy"], rel=1e-6)
    replicates = ("--weights", "one", "--replicates", "rep")
    unscaled = run(*replicates, "--replicates-kind", "jk1")["se"]
    assert unscaled == pytest.approx(plain["se"], rel=1e-3)
    scales = ",".join(["0.9875"] * 80)
    assert run(*replicates, "--replicates-kind", "jkn", "--replicates-scales", scales)["se"] == pytest.approx(
        unscaled
    )
    fay = run(*replicates, "--replicates-kind", "fay", "--replicates-rho", "0.5")["se"]
    assert fay == pytest.approx(unscaled * np.sqrt(4 / 79), rel=1e-6)
    for wrong in (
        ("--replicates-kind", "jkn"),
        ("--replicates-kind", "fay"),
        ("--replicates-kind", "fay", "--replicates-rho", "x"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["report", str(tmp_path / "s.json"), "--data", str(tmp_path / "d.csv"), *replicates, *wrong])
        assert ended.value.code == 2


def test_equal_weights_give_the_plain_functionals(people: pd.DataFrame) -> None:
    plain = report(KINDS, people)["mood"].estimate
    weighted = report(KINDS, people.assign(one=1.0), weights="one")["mood"].estimate
    pairs = [
        (table.difference("1", "2"), table.mean(range(5)), table.share_of(["1", "5"]))
        for table in (plain, weighted)
    ]
    for expected, entry in zip(*pairs, strict=True):
        assert entry.estimate == pytest.approx(expected.estimate, abs=1e-9)
        assert entry.se == pytest.approx(expected.se, rel=2e-3)
        assert (entry.low, entry.high) == pytest.approx((expected.low, expected.high), abs=0.01)
    np.testing.assert_allclose(weighted.covariance(), plain.covariance(), rtol=2e-3, atol=1e-9)
    np.testing.assert_allclose(weighted.vcov(), plain.vcov(), rtol=2e-3, atol=1e-9)
    assert weighted.gap("1", "2") == pytest.approx(plain.gap("1", "2"), rel=2e-3)


def test_functionals_and_covariances_are_those_of_the_design(people: pd.DataFrame) -> None:
    """Not those of the counts, which know of no weights, strata and clusters."""
    clustered = people.assign(c=people["s"] + people["c"].astype(str))
    table = report(KINDS, clustered, weights="w", strata="s", clusters="c")["mood"].estimate
    errors = np.array([entry.se for entry in table.estimates])
    np.testing.assert_allclose(np.sqrt(np.diag(table.covariance())), errors, rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(table.vcov())), errors, rtol=1e-9)
    for position, entry in enumerate(table.estimates):
        alone = table.functional(np.eye(5)[position])
        assert (alone.estimate, alone.se) == pytest.approx((entry.estimate, entry.se), rel=1e-9)
    difference = table.difference("1", "2")
    contrast = np.array([1.0, -1.0, 0.0, 0.0, 0.0])
    assert difference.se == pytest.approx(np.sqrt(contrast @ table.covariance() @ contrast), rel=1e-9)


def test_covariances_of_a_finite_population_are_not_given(people: pd.DataFrame) -> None:
    table = report(KINDS, people, weights="w", population=2000)["mood"].estimate
    assert table.difference("1", "2").se > 0.0
    with pytest.raises(AnalysisError, match="finite population"):
        table.covariance()
