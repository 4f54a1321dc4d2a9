"""Reports under a sample design by a query engine, respondents who are alike put together: those of one table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import report
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.results import respondents
from hushpoll_analysis.sample import engine_codes, engine_reports
from hushpoll_analysis.sample.parts import engine_table
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey

from tests.server.cli.test_report_files import SURVEYS

N = 1200
MARGINS = {"site": {"u": 0.45, "v": 0.55}, "age": {1: 0.2, 2: 0.3, 3: 0.5}}
SIZES = {"Science": 900, "Arts": 1900, "Law": 9900}
DESIGNS: dict[str, dict[str, Any]] = {
    "weights": {"weights": "w"},
    "strata": {"weights": "w", "strata": "site"},
    "clusters": {"weights": "w", "strata": "site", "clusters": "class"},
    "margins": {"weights": "w", "clusters": "class", "margins": MARGINS},
    "population": {"weights": "w", "strata": "site", "population": "size"},
    "all": {"strata": "site", "clusters": "class", "population": "classes", "margins": MARGINS},
}
ASKED: dict[str, list[dict[str, Any]]] = {
    "forms": [
        {"weights": "w", "by": "group"},
        {"weights": "w", "strata": "site", "by": "site"},
        {"weights": "w", "strata": "site", "population": "size", "by": "d"},
        {"weights": "w", "clusters": "class", "by": "g[q]"},
        {"weights": "w", "strata": "site", "by": "c[c3]"},
        {"strata": "site", "by": "f"},
        {"weights": "w", "by": "far"},
        {"weights": "w", "by": "age", "reference": "2"},
        {"population": 90_000, "by": "h"},
        {"population": SIZES},
        {"population": SIZES, "by": "group", "fewest": 350},
        {"weights": "gap", "strata": "hole", "na_action": "omit"},
        {"weights": "w", "by": "hole", "na_action": "omit"},
        {"weights": "text", "anchor": ("h", 0.2, "u")},
        {"weights": "zero", "strata": "site"},
        {"strata": "w2", "weights": "w2", "by": "w2", "anchor": None},
        {"margins": {"site": {"u": 5000, "v": 7000}}},
    ],
    "kinds": [
        {"weights": "w", "strata": "site", "by": "used"},
        {"weights": "w", "strata": "site", "by": "why"},
        {"weights": "w", "clusters": "class", "by": "cheated"},
        {"weights": "w", "margins": MARGINS, "anchor": ("cheated", 0.3)},
        {"weights": "gap", "na_action": "omit", "clusters": "class"},
        {"na_action": "omit", "by": "hole"},
    ],
}
# Each way to read a column once: the others run in `make prove-analysis`.
SHORT_DESIGNS = {"kinds": ("clusters", "all"), "forms": ()}
SHORT_ASKED = {"forms": (3, 10, 11), "kinds": (0, 3)}
CASES = [
    *(
        pytest.param(name, keys, marks=() if design in SHORT_DESIGNS[name] else pytest.mark.long)
        for name in SURVEYS
        for design, keys in DESIGNS.items()
    ),
    *(
        pytest.param(name, keys, marks=() if number in SHORT_ASKED[name] else pytest.mark.long)
        for name, listed in ASKED.items()
        for number, keys in enumerate(listed)
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two surveys with their reports in three files, and columns of sample designs."""
    folder = tmp_path_factory.mktemp("engine")
    rng = np.random.default_rng(7)
    for name, (draft, truth) in SURVEYS.items():
        survey = Survey.from_draft(draft)
        frame = pd.DataFrame(
            {f"{name}_reported": codes for name, codes in simulate_survey(survey, N, truth, seed=8)}
        )
        if survey.groups:
            frame["group"] = rng.choice(["Science", "Arts", "Law"], N, p=[0.6, 0.37, 0.03])
        frame["w"], frame["site"] = rng.uniform(0.5, 2, N).round(2), rng.choice(["u", "v"], N)
        frame["class"], frame["age"] = rng.integers(0, 60, N), rng.integers(1, 4, N)
        frame["class"] = 2 * frame["class"] + (frame["site"] == "u")
        frame["size"] = np.where(frame["site"] == "u", 5000, 4000)
        frame["classes"] = np.where(frame["site"] == "u", 90, 200)
        frame["far"], frame["text"] = rng.uniform(size=N) < 0.4, frame["w"].astype(str)
        frame["zero"] = np.where(rng.uniform(size=N) < 0.3, 0.0, frame["w"])
        frame["w2"] = rng.choice([0.5, 1.0], N)
        frame["gap"] = np.where(np.arange(N) % 100 == 0, np.nan, frame["w"])
        frame["hole"] = frame["site"].where(np.arange(N) % 60 != 1)
        (folder / name).mkdir()
        for start in range(0, N, 500):
            frame[start : start + 500].to_parquet(folder / name / f"part-{start:05d}.parquet", index=False)
    return folder


def same(actual: Any, expected: Any, where: str = "") -> None:
    """Compare two reports: counts and words to the last sign, figures up to the order of their sums."""
    assert type(actual) is type(expected), where
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), where
        for key, value in expected.items():
            same(actual[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), where
        for number, (value, other) in enumerate(zip(actual, expected, strict=True)):
            same(value, other, f"{where}[{number}]")
    elif isinstance(expected, float):
        # A constrained share is searched for, until the likelihood is near enough to its maximum.
        near = 1e-6 if where.endswith(".constrained") else 1e-11
        close = math.isclose(actual, expected, rel_tol=1e-9, abs_tol=near)
        unknown = math.isnan(actual) and math.isnan(expected)
        assert close or actual == expected or unknown, (where, actual, expected)
    else:
        assert actual == expected, (where, actual, expected)


@pytest.fixture
def by_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Leave even a few reports to the engine."""
    with monkeypatch.context() as patched:
        patched.setattr(respondents, "MOST_READ", 0)
        yield patched


def check(folder: Path, name: str, keys: dict[str, Any], patched: pytest.MonkeyPatch) -> None:
    survey = Survey.from_draft(SURVEYS[name][0])
    by_engine = report(survey, str(folder / name / "*.parquet"), **keys)
    patched.setattr(respondents, "MOST_READ", 10 * N)
    expected = report(survey, folder / name, **keys)
    assert expected.n == (N if "na_action" not in keys else expected.n)
    same(by_engine.to_dict(), expected.to_dict())


@pytest.mark.parametrize(("name", "keys"), CASES, ids=str)
def test_duckdb_gives_what_one_table_gives(
    folder: Path, name: str, keys: dict[str, Any], by_engine: pytest.MonkeyPatch
) -> None:
    check(folder, name, keys, by_engine)


SETS: list[tuple[str, dict[str, Any]]] = [
    ("forms", {"weights": "w", "strata": "site"}),
    ("forms", {"weights": "w", "by": "group"}),
    ("forms", {"weights": "w", "clusters": "class", "by": "d"}),
    ("forms", {"weights": "w", "strata": "site", "population": "size", "by": "c[c3]"}),
    ("forms", {"margins": MARGINS, "by": "g[q]"}),
    ("kinds", {"weights": "w", "strata": "site", "population": "size", "by": "cheated"}),
    ("kinds", {"clusters": "class", "anchor": ("cheated", 0.3)}),
]


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        pytest.param(*case, marks=() if number in (2, 6) else pytest.mark.long)
        for number, case in enumerate(SETS)
    ],
    ids=str,
)
def test_reports_of_several_options_are_taken_apart_by_the_engine(
    folder: Path, name: str, keys: dict[str, Any], by_engine: pytest.MonkeyPatch
) -> None:
    by_engine.setattr(engine_codes, "FEW_REPORTS", 0)
    check(folder, name, keys, by_engine)


def test_many_options_are_read_some_digits_at_a_time(
    folder: Path, by_engine: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = [f"o{number}" for number in range(30)]
    how = {"name": "subset", "epsilon": 2, "size": 8}
    question = {"id": "long", "kind": "choice", "text": "Which?", "options": options, "mechanism": how}
    survey = Survey.from_draft({"hushpoll": 1, "title": "Long", "questions": [question]})
    rng = np.random.default_rng(3)
    ((_, codes),) = simulate_survey(survey, N, {"long": [1 / 30] * 30}, seed=2)
    data = pd.DataFrame({"long_reported": codes, "w": rng.uniform(1, 2, N), "town": rng.integers(0, 40, N)})
    data.to_parquet(tmp_path / "one.parquet")
    for most in (engine_reports.MOST_ALIKE, 2 * 30 * 40):
        by_engine.setattr(engine_reports, "MOST_ALIKE", most)
        results = report(survey, tmp_path, weights="w", strata="town")
        same(results.to_dict(), report(survey, data, weights="w", strata="town").to_dict())
    by_engine.setattr(engine_reports, "MOST_ALIKE", 2 * 30 * 40 - 1)
    with pytest.raises(
        AnalysisError, match=r"long: respondents differ in more than 2,399 ways .*merge strata"
    ):
        report(survey, tmp_path, weights="w", strata="town")


def test_what_needs_sets_whole_is_refused_by_name(tmp_path: Path, by_engine: pytest.MonkeyPatch) -> None:
    how = {"name": "subset", "epsilon": 2, "size": 8}
    question = {
        "id": "much",
        "kind": "number",
        "text": "How much?",
        "min": 0,
        "max": 29,
        "step": 1,
        "mechanism": how,
    }
    survey = Survey.from_draft({"hushpoll": 1, "title": "Order", "questions": [question]})
    ((_, codes),) = simulate_survey(survey, N, {"much": {"values": [3, 20], "shares": [0.5, 0.5]}}, seed=2)
    pd.DataFrame({"much_reported": codes, "w": 1.5}).to_parquet(tmp_path / "one.parquet")
    with pytest.raises(AnalysisError, match='question "much": its reports are too many different sets'):
        report(survey, tmp_path, weights="w")


def test_wrong_weights_and_columns_are_named(folder: Path, by_engine: pytest.MonkeyPatch) -> None:
    survey = Survey.from_draft(SURVEYS["kinds"][0])
    parts = folder / "kinds"
    for keys, message in (
        ({"weights": "gap"}, "gap: some weights are missing or no numbers"),
        ({"weights": "site"}, "site: some weights are missing or no numbers"),
        ({"weights": "none"}, "there is no column 'none'"),
        ({"strata": "none"}, "there is no column 'none'"),
        ({"weights": "w", "strata": "hole"}, "column 'hole' has 20 missing values"),
        ({"weights": np.ones(N)}, "weights needs a row for each respondent.*name a column"),
        ({"weights": "w", "by": "none"}, "neither a question of the survey nor a column"),
        ({"weights": "w", "by": "hole"}, "has empty cells"),
        ({"weights": "w", "replicates": ["w", "gap"]}, "replicate weights need a row for each respondent"),
        ({"strata": "cheated"}, "was randomized"),
        ({"margins": {"age": {1: 0.5, 2: 0.5}}}, "has no share for the value 3"),
    ):
        with pytest.raises(AnalysisError, match=message):
            report(survey, parts, **keys)
    sample = pd.read_parquet(next(parts.glob("*.parquet")))
    for number, (column, values, message) in enumerate(
        (
            ("w", -1.0, "weight -1 is negative"),
            ("w", 0.0, "all weights are 0"),
            ("w", [1.0, *[0.0] * (len(sample) - 1)], "all weights but one are 0"),
            ("cheated_reported", 7, 'column "cheated_reported" holds'),
        )
    ):
        wrong = folder / f"wrong {number}"
        wrong.mkdir()
        sample.assign(**{column: values}).to_parquet(wrong / "one.parquet")
        with pytest.raises(AnalysisError, match=message):
            report(survey, wrong, weights="w")
    (folder / "uneven").mkdir()
    sample.to_parquet(folder / "uneven" / "a.parquet")
    sample.drop(columns="w").to_parquet(folder / "uneven" / "b.parquet")
    with pytest.raises(AnalysisError, match=r'b\.parquet: no column "w", which other files have'):
        report(survey, folder / "uneven", weights="w")


def test_missing_reports_are_left_out(folder: Path, by_engine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    survey = Survey.from_draft(SURVEYS["kinds"][0])
    data = pd.concat(map(pd.read_parquet, sorted((folder / "kinds").glob("*.parquet"))), ignore_index=True)
    data["hours_reported"] = data["hours_reported"].where(np.arange(N) % 50 > 0)
    data.to_parquet(tmp_path / "one.parquet")
    results, expected = (
        report(survey, source, weights="w", strata="site", na_action="omit") for source in (tmp_path, data)
    )
    assert results.left_out == N // 50
    same(results.to_dict(), expected.to_dict())


def test_too_many_different_rows_are_named(folder: Path, by_engine: pytest.MonkeyPatch) -> None:
    survey = Survey.from_draft(SURVEYS["kinds"][0])
    by_engine.setattr(engine_reports, "MOST_ALIKE", 100)
    with pytest.raises(AnalysisError, match=r"respondents differ in more than 100 ways \(class, \w+\)"):
        report(survey, folder / "kinds", weights="w", clusters="class")


def test_nothing_is_shown_where_nobody_looks(
    folder: Path, by_engine: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    report(Survey.from_draft(SURVEYS["kinds"][0]), folder / "kinds", weights="w")
    assert capfd.readouterr() == ("", "")


ON_SPARK: list[tuple[str, int, dict[str, Any]]] = [
    ("kinds", engine_codes.FEW_REPORTS, {"weights": "w", "strata": "site", "population": "size"}),
    ("kinds", 0, {"weights": "gap", "clusters": "class", "na_action": "omit", "by": "cheated"}),
    ("kinds", engine_codes.FEW_REPORTS, {"weights": "text", "margins": MARGINS, "anchor": ("cheated", 0.3)}),
    ("forms", engine_codes.FEW_REPORTS, {"weights": "w", "strata": "site", "clusters": "class", "by": "far"}),
    ("forms", 0, {"population": SIZES, "by": "d"}),
]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::FutureWarning:pyspark")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("name", "few", "keys"), ON_SPARK, ids=str)
def test_spark_gives_what_one_table_gives(
    folder: Path, name: str, few: int, keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Needs requirements/spark.txt and Java, as `make prove` installs them."""
    monkeypatch.setattr(engine_codes, "FEW_REPORTS", few)
    survey = Survey.from_draft(SURVEYS[name][0])
    with engine_table(survey, folder / name, "spark", "local[2]") as table:
        results = report(survey, table, **keys)
    same(results.to_dict(), report(survey, folder / name, **keys).to_dict())
