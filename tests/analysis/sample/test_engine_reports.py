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
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two surveys with their reports in three files, and columns of sample designs."""
    folder = tmp_path_factory.mktemp("engine")
    rng = np.random.default_rng(7)
    for name, (draft, truth) in SURVEYS.items():
        survey = Survey.from_draft(draft)
        frame = pd.DataFrame(
            {f"{one}_reported": codes for one, codes in simulate_survey(survey, N, truth, seed=8)}
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


def same(found: Any, expected: Any, where: str = "") -> None:
    """Compare two reports: counts and words to the last sign, figures up to the order of their sums."""
    assert type(found) is type(expected), where
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, one in expected.items():
            same(found[key], one, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            same(one, other, f"{where}[{number}]")
    elif isinstance(expected, float):
        # A constrained share is searched for, until the likelihood is near enough to its maximum.
        near = 1e-6 if where.endswith(".constrained") else 1e-11
        close = math.isclose(found, expected, rel_tol=1e-9, abs_tol=near)
        unknown = math.isnan(found) and math.isnan(expected)
        assert close or found == expected or unknown, (where, found, expected)
    else:
        assert found == expected, (where, found, expected)


@pytest.fixture
def by_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Leave even a few reports to the engine."""
    with monkeypatch.context() as patched:
        patched.setattr(respondents, "MOST_READ", 0)
        yield patched


def check(place: Path, name: str, keys: dict[str, Any], patched: pytest.MonkeyPatch) -> None:
    survey = Survey.from_draft(SURVEYS[name][0])
    found = report(survey, str(place / name / "*.parquet"), **keys)
    patched.setattr(respondents, "MOST_READ", 10 * N)
    expected = report(survey, place / name, **keys)
    assert expected.n == (N if "na_action" not in keys else expected.n)
    same(found.to_dict(), expected.to_dict())


@pytest.mark.parametrize(("name", "keys"), CASES, ids=str)
def test_duckdb_gives_what_one_table_gives(
    place: Path, name: str, keys: dict[str, Any], by_engine: pytest.MonkeyPatch
) -> None:
    check(place, name, keys, by_engine)


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
    place: Path, name: str, keys: dict[str, Any], by_engine: pytest.MonkeyPatch
) -> None:
    by_engine.setattr(engine_codes, "FEW_REPORTS", 0)
    check(place, name, keys, by_engine)


def test_many_options_are_read_some_digits_at_a_time(
    place: Path, by_engine: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options = [f"o{number}" for number in range(30)]
    how = {"name": "subset", "epsilon": 2, "size": 8}
    asked = {"id": "long", "kind": "choice", "text": "Which?", "options": options, "mechanism": how}
    survey = Survey.from_draft({"hushpoll": 1, "title": "Long", "questions": [asked]})
    rng = np.random.default_rng(3)
    ((_, codes),) = simulate_survey(survey, N, {"long": [1 / 30] * 30}, seed=2)
    data = pd.DataFrame({"long_reported": codes, "w": rng.uniform(1, 2, N), "town": rng.integers(0, 40, N)})
    data.to_parquet(tmp_path / "one.parquet")
    for most in (engine_reports.MOST_ALIKE, 2 * 30 * 40):
        by_engine.setattr(engine_reports, "MOST_ALIKE", most)
        found = report(survey, tmp_path, weights="w", strata="town")
        same(found.to_dict(), report(survey, data, weights="w", strata="town").to_dict())
    by_engine.setattr(engine_reports, "MOST_ALIKE", 2 * 30 * 40 - 1)
    with pytest.raises(
        AnalysisError, match=r"long: respondents differ in more than 2,399 ways .*merge strata"
    ):
        report(survey, tmp_path, weights="w", strata="town")


def test_what_needs_sets_whole_is_refused_by_name(tmp_path: Path, by_engine: pytest.MonkeyPatch) -> None:
    how = {"name": "subset", "epsilon": 2, "size": 8}
    asked = {
        "id": "much",
        "kind": "number",
        "text": "How much?",
        "min": 0,
        "max": 29,
        "step": 1,
        "mechanism": how,
    }
    survey = Survey.from_draft({"hushpoll": 1, "title": "Order", "questions": [asked]})
    ((_, codes),) = simulate_survey(survey, N, {"much": {"values": [3, 20], "shares": [0.5, 0.5]}}, seed=2)
    pd.DataFrame({"much_reported": codes, "w": 1.5}).to_parquet(tmp_path / "one.parquet")
    with pytest.raises(AnalysisError, match='question "much": its reports are too many different sets'):
        report(survey, tmp_path, weights="w")


def test_wrong_weights_and_columns_are_named(place: Path, by_engine: pytest.MonkeyPatch) -> None:
    survey = Survey.from_draft(SURVEYS["kinds"][0])
    parts = place / "kinds"
    for keys, said in (
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
        with pytest.raises(AnalysisError, match=said):
            report(survey, parts, **keys)
    one = pd.read_parquet(next(parts.glob("*.parquet")))
    for number, (column, values, said) in enumerate(
        (
            ("w", -1.0, "weight -1 is negative"),
            ("w", 0.0, "all weights are 0"),
            ("w", [1.0, *[0.0] * (len(one) - 1)], "all weights but one are 0"),
            ("cheated_reported", 7, 'column "cheated_reported" holds'),
        )
    ):
        wrong = place / f"wrong {number}"
        wrong.mkdir()
        one.assign(**{column: values}).to_parquet(wrong / "one.parquet")
        with pytest.raises(AnalysisError, match=said):
            report(survey, wrong, weights="w")
    (place / "uneven").mkdir()
    one.to_parquet(place / "uneven" / "a.parquet")
    one.drop(columns="w").to_parquet(place / "uneven" / "b.parquet")
    with pytest.raises(AnalysisError, match=r'b\.parquet: no column "w", which other files have'):
        report(survey, place / "uneven", weights="w")


def test_missing_reports_are_left_out(place: Path, by_engine: pytest.MonkeyPatch, tmp_path: Path) -> None:
    survey = Survey.from_draft(SURVEYS["kinds"][0])
    data = pd.concat(map(pd.read_parquet, sorted((place / "kinds").glob("*.parquet"))), ignore_index=True)
    data["hours_reported"] = data["hours_reported"].where(np.arange(N) % 50 > 0)
    data.to_parquet(tmp_path / "one.parquet")
    found, expected = (
        report(survey, one, weights="w", strata="site", na_action="omit") for one in (tmp_path, data)
    )
    assert found.left_out == N // 50
    same(found.to_dict(), expected.to_dict())


def test_too_many_different_rows_are_named(place: Path, by_engine: pytest.MonkeyPatch) -> None:
    survey = Survey.from_draft(SURVEYS["kinds"][0])
    by_engine.setattr(engine_reports, "MOST_ALIKE", 100)
    with pytest.raises(AnalysisError, match=r"respondents differ in more than 100 ways \(class, \w+\)"):
        report(survey, place / "kinds", weights="w", clusters="class")


def test_nothing_is_shown_where_nobody_looks(
    place: Path, by_engine: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    report(Survey.from_draft(SURVEYS["kinds"][0]), place / "kinds", weights="w")
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
    place: Path, name: str, few: int, keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Needs requirements/spark.txt and Java, as `make prove` installs them."""
    monkeypatch.setattr(engine_codes, "FEW_REPORTS", few)
    survey = Survey.from_draft(SURVEYS[name][0])
    with engine_table(survey, place / name, "spark", "local[2]") as table:
        found = report(survey, table, **keys)
    same(found.to_dict(), report(survey, place / name, **keys).to_dict())
