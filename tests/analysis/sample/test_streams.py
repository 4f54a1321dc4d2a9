"""Rows that are alike, put together: the same fits and tables from fewer rows, in memory, from files, from records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import compare, correlate, crosstab, impute, linear, logit, multinomial, ordinal
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.regression import models
from hushpoll_analysis.sample import files, streams
from hushpoll_analysis.sample.distinct_rows import merge_equal_rows
from hushpoll_analysis.sample.parts import engine_table, write_parts
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey
from hushpoll_client.delivery.record import RecordFormat

OPTIONS = ["x", "y", "z"]
KRR = {"name": "krr", "epsilon": 2}


def choice(name: str, options: list[str]) -> dict[str, Any]:
    return {"id": name, "kind": "choice", "text": f"{name}?", "options": options, "mechanism": KRR}


DRAFT: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Streams",
    "questions": [
        {"id": "a", "kind": "yes_no", "text": "A?", "mechanism": {"name": "warner", "epsilon": 2}},
        choice("b", OPTIONS),
        choice("s", ["1", "2", "3", "4"]),
        {"id": "k", "kind": "scale", "text": "K?", "points": 5, "mechanism": {"name": "krr", "epsilon": 2}},
    ],
}
TRUTH = {"a": [0.6, 0.4], "b": [0.5, 0.3, 0.2], "s": [0.25] * 4, "k": [0.2] * 5}
N = 2400


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey.from_draft(DRAFT)


@pytest.fixture(scope="module")
def data(survey: Survey) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {f"{name}_reported": codes for name, codes in simulate_survey(survey, N, TRUTH, seed=1)}
    )
    frame["year"], frame["town"] = rng.integers(1, 5, N), rng.choice(["u", "v", "w"], N)
    frame["w"] = rng.choice([0.5, 1.0, 2.0], N)
    frame["age"] = rng.normal(40.0, 10.0, N)
    frame["class"], frame["size"] = (
        rng.integers(0, 30, N),
        frame["town"].map({"u": 9000, "v": 8000, "w": 7000}),
    )
    frame["school"] = frame["town"] + frame["year"].astype(str)
    return frame.set_index(pd.Index(np.arange(N) * 2 + 7, name="person"))


@pytest.fixture(scope="module")
def folder(data: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table as Parquet parts, and as a CSV file."""
    root = tmp_path_factory.mktemp("parts")
    for number in range(3):
        data[number * 800 : (number + 1) * 800].to_parquet(root / f"part-{number}.parquet", index=False)
    (root / "csv").mkdir()
    data.to_csv(root / "csv" / "all.csv", index=False)
    return root


FITS: list[tuple[Callable[..., Any], str, dict[str, Any]]] = [
    (logit, "a ~ year + town", {}),
    (logit, "a ~ np.log(year) + C(town)", {"link": "probit"}),
    (logit, "a ~ year * town", {"link": "cloglog", "information": "opg"}),
    (logit, "a ~ year", {"information": "expected"}),
    (logit, "a ~ b + town", {}),
    (logit, "a ~ b + year", {"predictors": "~ 1"}),
    (logit, "a ~ year", {"penalty": "log-f"}),
    (logit, "a ~ year + town", {"weights": "w"}),
    (logit, "a ~ year", {"weights": "w", "strata": "town"}),
    (logit, "a ~ year", {"strata": "town"}),
    (multinomial, "b ~ year + town", {}),
    (multinomial, "b ~ a + year", {"reference": "z"}),
    (ordinal, "s ~ town", {}),
    (linear, "year ~ b + town", {}),
    (linear, "k ~ year + town", {}),
    (linear, "k ~ year + town", {"weights": "w"}),
    (logit, "a ~ w", {"weights": "w"}),
    (logit, "a ~ year", {"weights": "w", "strata": "w"}),
]
MARGINS = {"town": {"u": 0.3, "v": 0.3, "w": 0.4}}
DESIGNS: list[dict[str, Any]] = [
    {"weights": "w", "strata": "town", "clusters": "school"},
    {"clusters": "class", "population": 900},
    {"weights": "w", "margins": MARGINS},
    {"strata": "town", "population": {"u": 9000, "v": 8000, "w": 7000}},
    {"weights": "w", "strata": "town", "population": "size", "margins": MARGINS},
]


def same(actual: Any, expected: Any) -> None:
    assert actual.n == expected.n == N
    assert actual.names == expected.names
    for key in ("coef", "se", "log_likelihood", "theta"):
        assert np.allclose(
            getattr(actual, key), getattr(expected, key), rtol=1e-9, atol=1e-9, equal_nan=True
        ), key
    assert actual.degrees_of_freedom == expected.degrees_of_freedom
    assert actual.notes == expected.notes
    assert actual.summary() == expected.summary()
    if expected.degrees_of_freedom is None:
        assert actual.aic == pytest.approx(expected.aic, rel=1e-9)
        assert actual.bic == pytest.approx(expected.bic, rel=1e-9)
    mine, theirs = (fit.margins().to_numpy() for fit in (actual, expected))
    assert np.allclose(mine[:, 0], theirs[:, 0], rtol=1e-9, atol=1e-9)
    assert np.allclose(mine[:, 1], theirs[:, 1], rtol=1e-6, atol=1e-8)  # a difference of differences


@pytest.mark.parametrize(
    ("model", "formula", "keys"),
    [
        pytest.param(*fit, marks=() if number % 3 == 1 else pytest.mark.long)
        for number, fit in enumerate(FITS)
    ],
    ids=lambda argument: argument if isinstance(argument, str) else "",
)
def test_a_fit_of_rows_put_together_is_that_of_all_rows(
    model: Callable[..., Any],
    formula: str,
    keys: dict[str, Any],
    survey: Survey,
    data: pd.DataFrame,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fit = model(formula, data, survey, **keys)
    assert len(fit.data.rows.frame) < 100
    with monkeypatch.context() as patched:
        patched.setattr(models, "merge_equal_rows", lambda *_: None)
        row_fit = model(formula, data, survey, **keys)
    assert len(row_fit.data.rows.frame) == N
    same(fit, row_fit)
    pd.testing.assert_frame_equal(fit.predict(), row_fit.predict(), rtol=1e-7)
    if fit.randomized:
        hidden = fit.randomized[0]
        pd.testing.assert_frame_equal(fit.posterior(hidden), row_fit.posterior(hidden), rtol=1e-9)
        imputed = [impute(fit, 1, seed=4)[0] for fit in (fit, row_fit)]
        pd.testing.assert_frame_equal(*imputed)
    for source in (folder, str(folder / "part-*.parquet"), folder / "csv" / "all.csv"):
        same(model(formula, source, survey, **keys), row_fit)


def test_a_random_intercept_of_rows_put_together(
    survey: Survey, data: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = data.head(400)
    few.to_parquet(tmp_path / "one.parquet")
    from_frame, from_files = (
        logit("a ~ year + (1 | town)", source, survey, points=3) for source in (few, tmp_path)
    )
    monkeypatch.setattr(models, "merge_equal_rows", lambda *_: None)
    row_fit = logit("a ~ year + (1 | town)", few, survey, points=3)
    for fit in (from_frame, from_files):
        assert fit.n == 400
        assert fit.log_likelihood == pytest.approx(row_fit.log_likelihood, rel=1e-9)
        assert np.allclose(
            fit.coef, row_fit.coef, rtol=1e-5, atol=1e-6
        )  # searched without second derivatives
        assert np.allclose(fit.se, row_fit.se, rtol=1e-5, equal_nan=True)
    assert np.allclose(from_frame.posterior(), row_fit.posterior(), rtol=1e-5)


@pytest.mark.parametrize("keys", DESIGNS, ids=lambda keys: " ".join(keys))
def test_a_fit_of_files_under_any_sample_design_is_that_of_all_rows(
    keys: dict[str, Any], survey: Survey, data: pd.DataFrame, folder: Path
) -> None:
    for model, formula in ((logit, "a ~ year + town"), (linear, "k ~ town"), (multinomial, "b ~ year")):
        same(model(formula, folder, survey, **keys), model(formula, data, survey, **keys))


@pytest.mark.parametrize(
    "keys",
    [
        {},
        DESIGNS[-1],
        *(
            pytest.param(keys, marks=pytest.mark.long)
            for keys in ({"weights": "w"}, {"weights": "w", "strata": "town"}, *DESIGNS[:-1])
        ),
    ],
    ids=str,
)
def test_tables_of_files_are_those_of_the_table(
    keys: dict[str, Any], survey: Survey, data: pd.DataFrame, folder: Path
) -> None:
    for make in (
        lambda source: crosstab(source, survey, "a", "town", **keys),
        lambda source: crosstab(source, survey, "a", ["b", "year"], **keys),
        lambda source: compare(source, survey, "b", "town", **keys),
        lambda source: compare(source, survey, "a", "b", **keys),
        lambda source: correlate(source, survey, ["a", "b", "year"], **keys),
    ):
        expected = make(data)
        for source in (folder, folder / "csv" / "all.csv"):
            result = make(source)
            pd.testing.assert_frame_equal(result.to_frame(), expected.to_frame(), rtol=1e-9)
            assert getattr(result, "n", N) == N
            assert getattr(result, "effective_n", 0.0) == pytest.approx(getattr(expected, "effective_n", 0.0))
            if getattr(expected, "test", None) is not None:
                assert result.test.p_value == pytest.approx(expected.test.p_value, rel=1e-9)


def test_a_query_engines_table_will_do(survey: Survey, data: pd.DataFrame, folder: Path) -> None:
    with engine_table(survey, str(folder / "part-*.parquet")) as table:
        fit = logit("a ~ year + town", table, survey, weights="w")
    same(fit, logit("a ~ year + town", data, survey, weights="w"))


def test_a_row_that_stands_for_many_is_called_by_what_it_holds(survey: Survey, folder: Path) -> None:
    fit = multinomial("b ~ town", folder, survey)
    assert fit.posterior().index.names == ["b_reported", "town"]
    assert len(fit.posterior()) == 9
    assert fit.predict().index.names == ["answer", "b_reported", "town"]
    assert fit.predict(pd.DataFrame({"town": ["u"]})).shape == (3, 4)
    with pytest.raises(AnalysisError, match="nobody's row is known"):
        impute(fit)


# Records of the database ----------------------------------------------------------------------------------------

BLOCKS: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Records",
    "questions": [
        {"id": "a", "kind": "yes_no", "text": "A?", "mechanism": {"name": "warner", "epsilon": 2}},
        {
            "id": "used",
            "kind": "multiple",
            "at_most": 2,
            "text": "Used?",
            "options": ["bus", "car", "bike"],
            "mechanism": {"epsilon": 3},
        },
        {
            "id": "long",
            "kind": "choice",
            "text": "Which?",
            "options": [f"option {number}" for number in range(30)],
            "mechanism": {"name": "subset", "epsilon": 2, "size": 8},
        },
    ],
    "groups": ["north", "south", "tiny"],
}


TOLD = {
    "a": [0.5, 0.5],
    "used": {"sets": [["bus"], ["bus", "car"], ["bike"]], "shares": [0.5, 0.3, 0.2]},
    "long": [1 / 30] * 30,
}


@pytest.fixture(scope="module")
def grouped() -> Survey:
    return Survey.from_draft(BLOCKS)


@pytest.fixture(scope="module")
def records(grouped: Survey) -> list[bytes]:
    columns = [codes.tolist() for _, codes in simulate_survey(grouped, 1500, TOLD, seed=4)]
    layout = RecordFormat.of(grouped)
    named = np.random.default_rng(5).choice(3, 1500, p=[0.5, 0.495, 0.005]).tolist()
    packed = [layout.pack(row) for row in zip(named, *columns, strict=True)]
    return [b"".join(packed[start : start + 400]) for start in range(0, 1500, 400)]


def test_records_are_read_in_blocks(grouped: Survey, records: list[bytes]) -> None:
    from hushpoll_analysis.sample.files import read_frame

    frame = read_frame(grouped, records)
    assert set(frame["group"]) == {"north", "other"}
    for source in (records, iter(records)):
        fit = logit("a ~ group", source, grouped)
        expected = logit("a ~ group", frame, grouped)
        assert fit.names == expected.names
        assert np.allclose(fit.coef, expected.coef, rtol=1e-9)
        assert np.allclose(fit.se, expected.se, rtol=1e-9)
    option = logit("`used[bus]` ~ group", records, grouped)
    assert np.allclose(option.coef, logit("`used[bus]` ~ group", frame, grouped).coef, rtol=1e-9)
    every = logit("used ~ 1", records, grouped)
    assert every.to_frame()["coef"].tolist() == pytest.approx(
        logit("used ~ 1", frame, grouped).to_frame()["coef"].tolist()
    )
    fit = crosstab(records, grouped, "a", "used[car]")
    pd.testing.assert_frame_equal(fit.to_frame(), crosstab(frame, grouped, "a", "used[car]").to_frame())


def test_parts_of_records_tell_the_same(grouped: Survey, records: list[bytes], tmp_path: Path) -> None:
    write_parts(grouped, records, tmp_path, 700, shown_groups=["north"])
    from_parts, expected = (crosstab(source, grouped, "a", "group") for source in (tmp_path, records))
    pd.testing.assert_frame_equal(from_parts.to_frame(), expected.to_frame())


# What cannot be read so ------------------------------------------------------------------------------------------


def test_what_needs_every_row_is_refused(survey: Survey, folder: Path, data: pd.DataFrame) -> None:
    with pytest.raises(AnalysisError, match="replicates needs a row for each respondent"):
        logit("a ~ year", folder, survey, weights="w", replicates=["w", "year"])
    for key in ("weights", "clusters", "population"):
        with pytest.raises(AnalysisError, match=r"needs a row for each respondent.*name a column"):
            logit("a ~ year", folder, survey, **{key: np.ones(N)})
    with pytest.raises(AnalysisError, match=r"scale\(year\) in the formula"):
        logit("a ~ scale(year)", folder, survey)
    with pytest.raises(AnalysisError, match="need the survey"):
        logit("a ~ year", folder, {"a": survey.questions[0].mechanism})
    with pytest.raises(AnalysisError, match="no column 'month'"):
        logit("a ~ month", folder, survey)
    with pytest.raises(AnalysisError, match="no file is found"):
        logit("a ~ year", folder / "*.csv.parquet", survey)
    for source in (folder, folder / "csv" / "all.csv"):
        with pytest.raises(AnalysisError, match='no column "heavy"'):
            logit("a ~ year", source, survey, weights="heavy")
    negative = data.assign(w=-1.0).to_parquet
    (folder / "negative").mkdir()
    negative(folder / "negative" / "one.parquet")
    with pytest.raises(AnalysisError, match="weight -1 is negative"):
        logit("a ~ year", folder / "negative", survey, weights="w")


def test_a_column_that_is_text_in_one_block_is_text_in_all(
    survey: Survey, data: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BLOCK_ROWS", 500)
    rooms = [*(str(row % 3) for row in range(N // 2)), *("012x"[row % 4] for row in range(N // 2))]
    frame = data.assign(room=rooms)
    frame.to_csv(tmp_path / "all.csv", index=False)
    same(logit("a ~ room", tmp_path / "all.csv", survey), logit("a ~ room", frame, survey))
    from_file, expected = (compare(source, survey, "a", "room") for source in (tmp_path / "all.csv", frame))
    pd.testing.assert_frame_equal(from_file.to_frame(), expected.to_frame())


def test_too_many_different_rows_are_named(
    survey: Survey, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "MOST_ROWS", 1000)
    with pytest.raises(
        AnalysisError, match=r"more than 1,000 different combinations.*values of age into classes"
    ):
        logit("a ~ age", folder, survey)


def test_missing_values_count_the_people(survey: Survey, data: pd.DataFrame, tmp_path: Path) -> None:
    holes = data.assign(town=data["town"].where(data["year"] > 1))
    holes.to_parquet(tmp_path / "one.parquet")
    missing = int((data["year"] == 1).sum())
    with pytest.raises(AnalysisError, match=f"'town' has {missing} missing values"):
        logit("a ~ town", tmp_path, survey)
    fit = logit("a ~ town", tmp_path, survey, na_action="omit")
    assert fit.n == N - missing
    assert fit.notes == (f"{missing} rows with missing values were left out",)


@pytest.mark.parametrize("lacking", ["w", "a_reported", "year"])
@pytest.mark.parametrize("how", ["parquet", "csv", "engine"])
def test_who_lacks_a_value_is_left_out_wherever_rows_are_read(
    survey: Survey, data: pd.DataFrame, tmp_path: Path, lacking: str, how: str
) -> None:
    """Weights too, and reports: what is left is what the table itself gives."""
    gaps = data.assign(**{lacking: data[lacking].where(np.arange(N) % 7 > 0)})
    missing = int(gaps[lacking].isna().sum())
    (tmp_path / "parts").mkdir()
    gaps.to_parquet(tmp_path / "parts" / "one.parquet", index=False)
    gaps.to_csv(tmp_path / "all.csv", index=False)
    keys: dict[str, Any] = {"weights": "w", "na_action": "omit"}
    expected, fitted = compare(gaps, survey, "a", "year", **keys), logit("a ~ year", gaps, survey, **keys)
    assert fitted.n == N - missing
    with engine_table(survey, tmp_path / "parts") as table:
        source: Any = {"parquet": tmp_path / "parts", "csv": tmp_path / "all.csv", "engine": table}[how]
        comparison = compare(source, survey, "a", "year", **keys)
        fit = logit("a ~ year", source, survey, **keys)
    left_out = f"{missing} rows with missing values were left out"
    assert left_out in comparison.notes
    assert left_out in fit.notes
    pd.testing.assert_frame_equal(comparison.to_frame(), expected.to_frame(), atol=1e-9)
    pd.testing.assert_frame_equal(fit.to_frame(), fitted.to_frame(), atol=1e-6)
    assert fit.n == fitted.n


def test_a_wrong_report_has_its_row_where_others_are_left_out(
    survey: Survey, data: pd.DataFrame, tmp_path: Path
) -> None:
    gaps = data.assign(a_reported=data["a_reported"].where(np.arange(N) > 9)).reset_index(drop=True)
    gaps.loc[50, "a_reported"] = 9
    gaps.to_csv(tmp_path / "all.csv", index=False)
    with pytest.raises(AnalysisError, match="in row 51"):
        logit("a ~ year", tmp_path / "all.csv", survey, na_action="omit")


def test_formulas_that_look_at_other_rows_are_fitted_row_by_row(survey: Survey, data: pd.DataFrame) -> None:
    fit = logit("a ~ I(year - year.mean())", data, survey)
    assert len(fit.data.rows.frame) == N
    assert fit.log_likelihood == pytest.approx(logit("a ~ year", data, survey).log_likelihood, rel=1e-12)
    assert len(logit("a ~ age", data, survey).data.rows.frame) == N


def test_columns_are_found_in_backquotes_and_before_a_dot(
    survey: Survey, data: pd.DataFrame, folder: Path
) -> None:
    named = data.rename(columns={"year": "school year"})
    for formula in ("a ~ scale(`school year`)", "a ~ scale(`school year`.clip(0, 9))"):
        fit = logit(formula, named, survey)
        assert fit.log_likelihood == pytest.approx(logit("a ~ year", data, survey).log_likelihood, rel=1e-9)
    assert len(logit("a ~ np.log(`school year`)", named, survey).data.rows.frame) < 20
    fit = logit("a ~ np.log(`year`)", folder, survey)
    assert np.allclose(fit.coef, logit("a ~ np.log(year)", data, survey).coef, rtol=1e-9)
    for formula in ("a ~ k.rank()", "a ~ I(`k`.rank())", "a ~ scale(`k`)", "a ~ town + C(k.rank())"):
        with pytest.raises(AnalysisError, match="all rows of a randomized column"):
            logit(formula, data, survey)


def test_rows_that_are_alike() -> None:
    frame = pd.DataFrame({"x": ["u", "v", "u", "u"], "y": [1.0, 2.0, 1.0, 1.0], "z": range(4)})
    rows = merge_equal_rows(frame, ["x", "y"])
    assert rows is not None
    assert rows.of_row is not None
    assert rows.of_row.tolist() == [0, 1, 0, 0]
    assert rows.times.tolist() == [3.0, 1.0]
    assert rows.frame["x"].tolist() == ["u", "v"]
    assert merge_equal_rows(frame, ["x", "z"]) is None


def test_nothing_is_shown_where_nobody_looks(
    survey: Survey, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    crosstab(folder, survey, "a", "town")
    crosstab(folder / "csv" / "all.csv", survey, "a", "town")
    assert capfd.readouterr() == ("", "")


def test_an_ibis_table_in_memory(survey: Survey, data: pd.DataFrame) -> None:
    table = crosstab(ibis.memtable(data), survey, "a", "b")
    pd.testing.assert_frame_equal(table.to_frame(), crosstab(data, survey, "a", "b").to_frame())
