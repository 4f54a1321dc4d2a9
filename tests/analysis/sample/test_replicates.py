"""Finite populations and replicate weights: simulation, jackknife identities, and what R's survey does."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import compare, correlate, crosstab, estimate, linear, logit, report, weighted_estimate
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.files import tally
from hushpoll_analysis.sample.replicates import Replicates
from hushpoll_client import Survey, mechanisms
from hushpoll_client.channel import SCALE
from scipy import special

from tests.command import run_command

RESULTS = Path(__file__).parents[2] / "results"
WARNER = mechanisms.warner(truth="3/4")
COIN = mechanisms.warner(epsilon=1)


@pytest.fixture(scope="module")
def design() -> pd.DataFrame:
    return pd.read_csv(RESULTS / "data" / "synthA_design.csv")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    status, out, err = run_command(capsys, *arguments)
    return status, out + err


def reported(truth: np.ndarray, mechanism: mechanisms.Mechanism, rng: np.random.Generator) -> np.ndarray:
    table = np.array(mechanism.analysis.rows) / SCALE
    return (rng.random(len(truth)) < table[truth, 1]).astype(int)


def test_a_finite_population_has_the_stated_variance() -> None:
    plain = estimate([640, 360], COIN)["Yes"]
    for size, fraction in ((2000, 0.5), (1000, 1.0), (0.25, 0.25)):
        got = estimate([640, 360], COIN, population=size)["Yes"]
        variance = (1 - fraction) * plain.se**2 + fraction * plain.se_privacy**2
        assert got.se == pytest.approx(np.sqrt(variance), rel=1e-12)
        assert plain.low < got.low < got.estimate < got.high < plain.high
    rows = pd.DataFrame({"y": [0] * 640 + [1] * 360})
    weighted = weighted_estimate(rows, {"y": COIN}, "y", population=2000).shares[1]
    assert weighted.se == pytest.approx(estimate([640, 360], COIN, population=2000)["Yes"].se, rel=1e-9)
    assert weighted.se_privacy == pytest.approx(plain.se_privacy, rel=1e-9)
    assert weighted.total == pytest.approx(2000 * plain.estimate)
    assert weighted.total_se == pytest.approx(2000 * weighted.se, rel=1e-9)


def test_without_randomization_it_is_the_usual_correction() -> None:
    """The figure that R prints: svymean(~y, svydesign(~1, fpc = ~fpc)) has sqrt(1 - f) times the standard error."""
    rows = pd.DataFrame({"y": [0] * 70 + [1] * 30})
    plain = weighted_estimate(rows, {}, "y").shares[1]
    got = weighted_estimate(rows, {}, "y", population=400).shares[1]
    assert got.se == pytest.approx(np.sqrt(0.3 * 0.7 / 99 * 0.75), rel=1e-12)
    assert got.se == pytest.approx(plain.se * np.sqrt(0.75), rel=1e-12)
    assert (got.total, got.total_se) == pytest.approx((120.0, 400 * got.se))


def strata_by_hand(frame: pd.DataFrame, sizes: dict[str, int]) -> tuple[float, float]:
    table = np.array(WARNER.analysis.rows) / SCALE
    b = np.linalg.inv(table)[:, 1]
    noise = (table * b**2).sum(axis=1) - np.array([0.0, 1.0])
    c = np.linalg.inv(table) @ noise
    total, variance, people = 0.0, 0.0, sum(sizes.values())
    for name, stratum in frame.groupby("s"):
        n, size = len(stratum), sizes[name]
        values = b[stratum["y"]]
        total += size * values.mean()
        f = n / size
        variance += size**2 * ((1 - f) * values.var(ddof=1) / n + f * c[stratum["y"]].mean() / n)
    return total / people, np.sqrt(variance) / people


def test_strata_of_a_finite_population() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"s": ["a"] * 200 + ["b"] * 300, "y": rng.integers(0, 2, 500)})
    sizes = {"a": 1000, "b": 600}
    mean, se = strata_by_hand(frame, sizes)
    got = weighted_estimate(frame, {"y": WARNER}, "y", strata="s", population=sizes).shares[1]
    assert (got.estimate, got.se) == pytest.approx((mean, se), rel=1e-9)
    assert got.total == pytest.approx(1600 * mean)
    column = frame.assign(N=frame["s"].map(sizes))
    again = weighted_estimate(column, {"y": WARNER}, "y", strata="s", population="N").shares[1]
    assert again.se == pytest.approx(got.se, rel=1e-12)


@pytest.mark.parametrize("samples", [300, pytest.param(1500, marks=pytest.mark.long)])
def test_a_census_leaves_the_randomization_only(samples: int) -> None:
    """In a census, the interval of `population` must cover the true share of exactly these people."""
    rng = np.random.default_rng(8)
    truth = np.repeat([0, 1], [420, 80])
    table = np.array(COIN.analysis.rows) / SCALE
    covered = {None: 0, 500: 0}
    for _ in range(samples):
        yes = rng.binomial(420, table[0, 1]) + rng.binomial(80, table[1, 1])
        for size in covered:
            got = estimate([500 - yes, yes], COIN, population=size)["Yes"]
            covered[size] += got.low <= truth.mean() <= got.high
    assert abs(covered[500] / samples - 0.9535) <= (0.0185 if samples == 1500 else 0.038)
    assert covered[None] >= covered[500]


@pytest.mark.parametrize(
    ("fraction", "samples"),
    [(0.8, 300), *(pytest.param(share, 1500, marks=pytest.mark.long) for share in (0.3, 0.8))],
)
def test_coverage_of_a_finite_population(fraction: float, samples: int) -> None:
    rng = np.random.default_rng(9)
    people = 1000
    n = int(fraction * people)
    table = np.array(mechanisms.warner(epsilon=2).analysis.rows) / SCALE
    inside = 0
    for _ in range(samples):
        carriers = rng.hypergeometric(250, people - 250, n)
        yes = rng.binomial(n - carriers, table[0, 1]) + rng.binomial(carriers, table[1, 1])
        got = estimate([n - yes, yes], mechanisms.warner(epsilon=2), population=people)["Yes"]
        inside += got.low <= 0.25 <= got.high
    assert abs(inside / samples - 0.9535) <= (0.0185 if samples == 1500 else 0.038)


@pytest.mark.parametrize(("samples", "within"), [(40, 0.3), pytest.param(110, 0.15, marks=pytest.mark.long)])
def test_tables_and_correlations_of_a_census_agree_with_simulation(samples: int, within: float) -> None:
    """A census randomized anew: the spread over randomizations is the standard error."""
    rng = np.random.default_rng(10)
    n = 400
    x = rng.standard_normal(n)
    group = rng.integers(0, 2, n)
    truth = (rng.random(n) < special.expit(-0.5 + x + 0.5 * group)).astype(int)
    mechanism = mechanisms.warner(epsilon=2)
    estimates: dict[str, list[tuple[float, float]]] = {"cell": [], "difference": [], "r": [], "beta": []}
    for _ in range(samples):
        frame = pd.DataFrame({"x": x, "g": group, "y": reported(truth, mechanism, rng)})
        how = {"y": mechanism}
        table = crosstab(frame, how, "g", "y", population=n)
        estimates["cell"].append((table.table().loc[1, 1], table.table("se").loc[1, 1]))
        difference = compare(frame, how, "y", "g", population=n).differences[0]
        estimates["difference"].append((difference.difference, difference.se))
        pair = correlate(frame, how, ["x", "y"], population=n)
        estimates["r"].append((pair.r[0, 1], pair.se[0, 1]))
        fit = logit("y ~ x", frame, how, population=n)
        estimates["beta"].append((fit.coef[1], fit.se[1]))
    for name, pairs in estimates.items():
        values, errors = np.array(pairs).T
        assert np.median(errors) == pytest.approx(values.std(ddof=1), rel=within), name


def test_replicates_of_the_jackknife_are_the_linearised_variance() -> None:
    """For a mean with equal weights, leaving one out gives exactly s^2/n."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"y": rng.integers(0, 2, 60), "one": 1.0})
    n = len(frame)
    weights = (1.0 - np.eye(n)) * n / (n - 1)
    for mse in (False, True):
        got = weighted_estimate(
            frame, {"y": COIN}, "y", weights="one", replicates=Replicates(weights, kind="jk1", mse=mse)
        )
        plain = weighted_estimate(frame, {"y": COIN}, "y")
        assert got.shares[1].se == pytest.approx(plain.shares[1].se, rel=1e-9)
    assert got.degrees_of_freedom == n - 1


def test_replicates_that_do_not_differ_are_refused() -> None:
    data = pd.DataFrame({"y": [0, 1] * 50})
    with pytest.raises(AnalysisError, match="no variance"):
        weighted_estimate(data, {"y": mechanisms.warner(epsilon=2)}, "y", replicates=np.ones((100, 5)))


def test_replicates_by_hand() -> None:
    """Balanced half-samples of four strata of two units: scale 1/R around the replicates' mean, as R's default."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"h": np.repeat(range(4), 2), "unit": [0, 1] * 4, "w": rng.uniform(1, 3, 8)})
    frame = frame.loc[frame.index.repeat(25)].reset_index(drop=True)
    frame["y"] = rng.integers(0, 2, len(frame))
    signs = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    unit = frame["unit"].to_numpy()[:, None]
    keep = np.where(signs[:, frame["h"]].T == 1, unit == 0, unit == 1)
    weights = 2.0 * keep * frame["w"].to_numpy()[:, None]
    names = [f"r{k}" for k in range(4)]
    data = pd.concat([frame, pd.DataFrame(weights, columns=names)], axis=1)
    b = np.linalg.inv(np.array(COIN.analysis.rows) / SCALE)[:, 1][frame["y"]]
    means = np.array([np.average(b, weights=w) for w in weights.T])
    for mse in (False, True):
        centre = np.average(b, weights=frame["w"]) if mse else means.mean()
        expected = np.sqrt(np.mean((means - centre) ** 2))
        got = weighted_estimate(
            data, {"y": COIN}, "y", weights="w", replicates=Replicates(names, "brr", mse=mse)
        )
        assert got.shares[1].se == pytest.approx(expected, rel=1e-9)
    fay = weighted_estimate(data, {"y": COIN}, "y", weights="w", replicates=Replicates(names, "fay", rho=0.5))
    brr = weighted_estimate(data, {"y": COIN}, "y", weights="w", replicates=Replicates(names, "brr"))
    assert fay.shares[1].se == pytest.approx(2 * brr.shares[1].se, rel=1e-9)


def test_replicate_weights_refit_models(design: pd.DataFrame) -> None:
    """Leaving one cluster out of each stratum (JKn) comes close to the linearised standard errors."""
    frame = design.copy()
    pairs = frame[["stratum", "cluster"]].drop_duplicates().to_numpy()
    sizes = frame.groupby("stratum")["cluster"].nunique()
    columns, rscales = [], []
    for stratum, cluster in pairs:
        n = sizes[stratum]
        mine = (frame["stratum"] == stratum).to_numpy()
        gone = mine & (frame["cluster"] == cluster).to_numpy()
        columns.append(frame["w"].to_numpy() * np.where(gone, 0.0, np.where(mine, n / (n - 1), 1.0)))
        rscales.append((n - 1) / n)
    replicates = Replicates(np.stack(columns, axis=1), "jkn", rscales=rscales)
    how = {"warner75": WARNER}
    keys = {"weights": "w", "strata": "stratum", "clusters": "cluster"}
    first = logit("warner75 ~ x1 + x2", frame, how, **keys)
    again = logit("warner75 ~ x1 + x2", frame, how, weights="w", replicates=replicates)
    assert again.coef == pytest.approx(first.coef, abs=1e-8)
    assert again.se == pytest.approx(first.se, rel=0.1)
    assert again.degrees_of_freedom == first.degrees_of_freedom == 25
    share = weighted_estimate(frame, how, "warner75", weights="w", replicates=replicates).shares[1]
    assert share.se == pytest.approx(0.0276451, rel=0.01)
    table = crosstab(frame, how, "x2", "warner75", weights="w", replicates=replicates)
    assert table.se == pytest.approx(crosstab(frame, how, "x2", "warner75", **keys).se, rel=0.05)
    difference = compare(frame, how, "warner75", "x2", weights="w", replicates=replicates).differences[0]
    assert difference.se == pytest.approx(
        compare(frame, how, "warner75", "x2", **keys).differences[0].se, rel=0.05
    )


def test_weighted_correlations_and_linear_models_agree_with_weighted_least_squares(
    design: pd.DataFrame,
) -> None:
    import statsmodels.api as sm

    frame = design.assign(
        yc=2.0 + design["x1"] + design["x2"] + np.random.default_rng(1).normal(size=len(design))
    )
    got = linear("yc ~ x1 + x2", frame, {}, weights="w", clusters="cluster")
    x = sm.add_constant(frame[["x1", "x2"]].to_numpy())
    peer = sm.WLS(frame["yc"].to_numpy(), x, weights=frame["w"].to_numpy()).fit(
        cov_type="cluster", cov_kwds={"groups": frame["cluster"].to_numpy(), "use_correction": False}
    )
    clusters = frame["cluster"].nunique()
    assert got.coef[:3] == pytest.approx(peer.params, abs=1e-6)
    assert got.se[:3] == pytest.approx(peer.bse * np.sqrt(clusters / (clusters - 1)), rel=1e-4)
    r = correlate(frame, {}, ["x1", "yc"], weights="w").r[0, 1]
    w = frame["w"] / frame["w"].sum()
    cov = np.cov(frame["x1"], frame["yc"], aweights=w)
    assert r == pytest.approx(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]), abs=1e-9)
    unweighted, weighted = (
        correlate(frame, {"warner75": WARNER}, ["x1", "warner75"], **keys) for keys in ({}, {"weights": "w"})
    )
    assert weighted.se[0, 1] > unweighted.se[0, 1]
    assert weighted.to_frame().shape == (1, 8)


# Reports of whole surveys. ---------------------------------------------------------------------------------------

SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Exam honesty",
        "questions": [
            {"id": "cheated", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 1}},
            {
                "id": "reason",
                "kind": "choice",
                "text": "Why?",
                "options": ["Time", "Fear", "None"],
                "mechanism": {"name": "krr", "epsilon": 2},
            },
        ],
    }
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(15)
    n = 1200
    return pd.DataFrame(
        {
            "cheated_reported": rng.integers(0, 2, n),
            "reason_reported": rng.integers(0, 3, n),
            "w": rng.lognormal(0, 0.6, n),
            "s": rng.choice(["n", "s"], n),
            "c": rng.integers(0, 40, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


def test_a_report_takes_a_sample_design(
    people: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {"weights": "w", "strata": "s", "clusters": "c"}
    people = people.assign(c=people["s"].astype(str) + people["c"].astype(str))
    results = report(SURVEY, people, **keys)
    for question in ("cheated", "reason"):
        alone = weighted_estimate(people, SURVEY, question, **keys)
        lines = results[question].shares
        shares = alone.shares[1:] if question == "cheated" else alone.shares
        for line, share in zip(lines, shares, strict=True):
            assert (line.estimate, line.se) == pytest.approx((share.estimate, share.se))
            assert (line.low, line.high) == pytest.approx((share.low, share.high))
        assert sum(line.constrained for line in results["reason"].shares) == pytest.approx(1.0)
    assert any("equal weights" in note for note in results["cheated"].remarks)
    assert "equal weights" in results.to_text()
    assert json.loads(results.to_json())["n"] == 1200
    assert results.to_html()
    # By groups, from a file, on the command line.
    grouped = report(SURVEY, people, by="sex", only="cheated", **keys)
    expected = compare(people, SURVEY, "cheated", "sex", **keys).differences[0]
    assert grouped.groups[0].differences[0].difference == pytest.approx(expected.difference)
    assert grouped.groups[0].differences[0].se == pytest.approx(expected.se)
    path = tmp_path / "reports.csv"
    people.to_csv(path, index=False)
    document = tmp_path / "survey.json"
    document.write_bytes(SURVEY.canonical)
    status, out = run(
        capsys,
        "report",
        str(document),
        "--data",
        str(path),
        "--weights=w",
        "--strata=s",
        "--clusters=c",
        "--json",
    )
    assert status == 0, out
    first = json.loads(out)["questions"][0]["estimates"][0]
    assert first["se"] == pytest.approx(results["cheated"].shares[0].se)


@pytest.mark.parametrize("key", ["weights", "strata", "clusters"])
def test_a_report_refuses_reports_as_a_sample_design(people: pd.DataFrame, key: str) -> None:
    for name in ("cheated", "cheated_reported"):
        with pytest.raises(AnalysisError, match=f"{key}: '{name}' was randomized"):
            report(SURVEY, people, **{key: name})


def test_a_population_may_be_a_number_of_numpy(people: pd.DataFrame) -> None:
    counts = tally(SURVEY, people)
    expected, got = (report(SURVEY, counts, population=size) for size in (5000, np.int64(5000)))
    assert got["cheated"].shares[0] == expected["cheated"].shares[0]


def test_a_report_of_a_finite_population(people: pd.DataFrame) -> None:
    plain, finite = report(SURVEY, people), report(SURVEY, people, population=1500)
    for a, b in zip(
        itertools.chain.from_iterable(q.shares for q in plain.questions),
        itertools.chain.from_iterable(q.shares for q in finite.questions),
        strict=True,
    ):
        assert b.estimate == a.estimate
        variance = 0.2 * a.se**2 + 0.8 * a.se_privacy**2
        assert b.se == pytest.approx(np.sqrt(variance), rel=1e-9)
    columns = people.assign(N=np.where(people["s"] == "n", 900, 800))
    assert report(SURVEY, columns, strata="s", population="N").n == 1200


def test_replicates_on_the_command_line(
    people: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(5)
    counts = rng.poisson(1, (len(people), 30))
    weights = pd.DataFrame(people["w"].to_numpy()[:, None] * counts, columns=[f"rep{k}" for k in range(30)])
    path, document = tmp_path / "reports.parquet", tmp_path / "survey.json"
    pd.concat([people, weights], axis=1).to_parquet(path)
    document.write_bytes(SURVEY.canonical)
    base = ["report", str(document), "--data", str(path), "--json"]
    status, out = run(capsys, *base, "--weights=w", "--replicates=rep")
    assert status == 0, out
    got = json.loads(out)["questions"][0]["estimates"][0]
    plain = json.loads(run(capsys, *base, "--weights=w")[1])["questions"][0]["estimates"][0]
    assert got["estimate"] == pytest.approx(plain["estimate"])
    assert got["se"] == pytest.approx(plain["se"], rel=0.5)
    status, out = run(capsys, *base, "--replicates=nothing")
    assert status == 2
    assert "no column" in out
    status, out = run(capsys, "report", str(document), "--weights=w")
    assert status == 2
    assert "--data" in out
    command = [
        "estimate",
        "--mechanism=warner",
        "--truth=3/4",
        "--counts=580,420",
        "--population=1000",
        "--json",
    ]
    share = json.loads(run(capsys, *command)[1])["estimates"][0]
    assert share["se"] == pytest.approx(share["se_privacy"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: estimate([60, 40], COIN, population=50), "fewer than the 100"),
        (lambda d: estimate([60, 40], COIN, population="many"), "number of people"),
        (lambda d: estimate([60, 40], COIN, population=-1), "positive"),
        (
            lambda d: weighted_estimate(d, SURVEY, "cheated", strata="s", population=5000),
            "give the size of each",
        ),
        (
            lambda d: weighted_estimate(d, SURVEY, "cheated", strata="s", population={"n": 900}),
            "for the stratum 's'",
        ),
        (lambda d: weighted_estimate(d, SURVEY, "cheated", strata="s", population="w"), "several sizes"),
        (lambda d: weighted_estimate(d, SURVEY, "cheated", population="nobody"), "no column 'nobody'"),
        (lambda d: weighted_estimate(d, SURVEY, "cheated", replicates=["w"]), "at least two"),
        (lambda d: weighted_estimate(d, SURVEY, "cheated", replicates=["w", "v"]), "no column 'v'"),
        (
            lambda d: weighted_estimate(d, SURVEY, "cheated", replicates=["w", "w"], strata="s"),
            "carry the whole design",
        ),
        (
            lambda d: weighted_estimate(d, SURVEY, "cheated", replicates=Replicates(["w", "w"], "jkn")),
            "rscales",
        ),
        (lambda d: weighted_estimate(d, SURVEY, "cheated", replicates=Replicates(["w", "w"], "fay")), "rho"),
        (
            lambda d: weighted_estimate(d, SURVEY, "cheated", replicates=Replicates(["w", "w"], "magic")),
            "kind",
        ),
        (lambda d: weighted_estimate(d, SURVEY, "cheated", replicates=np.ones((3, 2))), "one row for each"),
        (lambda d: crosstab([[1, 2], [3, 4]], {"y": COIN}, "g", "y", population=100), "table of respondents"),
        (lambda d: report(SURVEY, {"cheated_reported": [0, 1]}, weights="w"), "table of respondents"),
    ],
)
def test_odd_samples_are_explained(people: pd.DataFrame, call, message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        call(people)
