"""The export can be used elsewhere: its files agree, its scripts are sound, and one of them repeats the table."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hushpoll_analysis import report
from hushpoll_analysis.results.export import (
    export_files,
    report_files,
    shuffled,
    write_export,
    zip_export,
)
from hushpoll_analysis.results.labels import column_names
from hushpoll_analysis.sample.guarding import guard_cell
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import HushpollError, Survey

NASTY = "It's \"5 $\" `x' \\ a|b*c"
DRAFT: dict[str, Any] = {
    "hushpoll": 1,
    "title": "=HYPERLINK()",
    "questions": [
        {"id": "cheated", "kind": "yes_no", "text": NASTY, "mechanism": {"name": "warner", "epsilon": 1}},
        {
            "id": "a_question_with_a_name_that_is_too_long_for_stata_and_for_spss",
            "kind": "choice",
            "text": "Why?",
            "options": ["+1", NASTY, "Ünïcode ✓"],
            "mechanism": {"name": "krr", "epsilon": 2},
        },
        {
            "id": "drugs",
            "kind": "yes_no",
            "text": "Drugs?",
            "mechanism": {"name": "crosswise", "decoy": "Spring?", "decoy_share": "0.25", "epsilon": 2},
        },
    ],
}


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey.from_draft(DRAFT)


@pytest.fixture(scope="module")
def frame(survey: Survey) -> pd.DataFrame:
    truth = {
        question.id: [1 / len(question.options)] * len(question.options) for question in survey.questions
    }
    return pd.DataFrame(
        {f"{name}_reported": codes for name, codes in simulate_survey(survey, 500, truth, seed=7)}
    )


@pytest.fixture(scope="module")
def folder(survey: Survey, frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("export") / "new" / "folder"
    write_export(survey, frame, target)
    return target


def test_csv_and_parquet_hold_the_same_reports_in_another_order(folder: Path, frame: pd.DataFrame) -> None:
    text, columnar = pd.read_csv(folder / "reports.csv"), pd.read_parquet(folder / "reports.parquet")
    assert text.to_numpy().tolist() == columnar.to_numpy().tolist()
    assert list(text.columns) == list(frame.columns)
    assert all(name.endswith("_reported") for name in text.columns)
    assert text.to_numpy().tolist() != frame.to_numpy().tolist()
    assert sorted(text.to_numpy().tolist()) == sorted(frame.to_numpy().tolist())
    assert {str(kind) for kind in columnar.dtypes} == {"uint8"}


def test_parquet_carries_the_hash(folder: Path, survey: Survey) -> None:
    metadata = pq.read_schema(folder / "reports.parquet").metadata
    assert metadata == {b"hushpoll_survey": survey.hash.encode()}


def test_shuffling_puts_every_row_anywhere() -> None:
    positions = np.array(
        [shuffled(pd.DataFrame({"x": range(5)}))["x"].to_list().index(0) for _ in range(600)]
    )
    assert np.all(np.bincount(positions, minlength=5) > 60)


def test_the_script_repeats_the_table(folder: Path, survey: Survey) -> None:
    done = subprocess.run(
        [sys.executable, folder / "reproduce.py"], capture_output=True, text=True, check=True
    )
    table = pd.read_csv(folder / "table.csv", keep_default_na=False)
    expected = report(survey, folder / "reports.parquet").to_frame()
    assert table["option"].tolist() == expected["option"].tolist()
    for column in ("estimate", "se", "low", "high", "se_privacy"):
        assert table[column].to_numpy() == pytest.approx(expected[column].to_numpy(), abs=1e-12)
    assert "cheated" in done.stdout


def test_the_script_imports_only_what_it_uses(folder: Path) -> None:
    script = (folder / "reproduce.py").read_text("utf-8")
    for names in re.findall(r"^from \S+ import (.+)$", script, re.MULTILINE):
        for name in names.split(", "):
            assert len(re.findall(rf"\b{name}\b", script)) > 1, name


def test_survey_json_is_the_published_document(folder: Path, survey: Survey) -> None:
    assert Survey.from_published((folder / "survey.json").read_bytes(), expected_hash=survey.hash) == survey


def test_codebook_explains_every_code(folder: Path, survey: Survey) -> None:
    rows = list(
        csv.DictReader(io.StringIO((folder / "codebook.csv").read_bytes().decode("utf-8-sig"), newline=""))
    )
    assert [(row["column"], row["code"], row["reported_as"]) for row in rows[:2]] == [
        ("cheated_reported", "0", "No"),
        ("cheated_reported", "1", "Yes"),
    ]
    assert rows[2]["reported_as"] == "'+1"
    assert [row["reported_as"] for row in rows[-2:]] == ["different", "same"]
    text = (folder / "codebook.md").read_text()
    assert survey.hash in text
    assert "not what people answered" in text
    assert "\\|" in text


def test_crosswise_reports_say_whether_two_answers_agree(survey: Survey) -> None:
    assert survey.questions[2].report_labels == ("different", "same")
    assert survey.questions[0].report_labels == ("No", "Yes")


@pytest.mark.parametrize(
    ("cell", "guarded"),
    [
        *(("=1+1", "'=1+1"), ("@x", "'@x"), ("-1", "'-1"), ("a=1", "a=1"), ("", ""), (-1.5, -1.5), (3, 3)),
        ("\uff1dcmd", "'\uff1dcmd"),
    ],
)
def test_cells_are_guarded_only_where_a_formula_begins(cell: object, guarded: object) -> None:
    assert guard_cell(cell) == guarded


def test_spss_syntax_is_quoted_and_terminated(folder: Path) -> None:
    text = (folder / "labels.sps").read_bytes().decode("utf-8-sig")
    assert NASTY.replace("'", "''") in text
    for line in text.splitlines():
        assert line.count("'") % 2 == 0, line
        assert len(line.encode()) < 400
    assert "q2_reported F1.0" in text
    assert text.count("VALUE LABELS") == 3
    assert text.rstrip().endswith("EXECUTE.")


def test_stata_script_cannot_expand_macros(folder: Path) -> None:
    text = (folder / "labels.do").read_text()
    for line in text.splitlines():
        inside = re.findall(r"`\"(.*?)\"'", line)
        for quoted in inside:
            assert not set(quoted) & set('`"$\\'), line
    assert "rename v2 q2_reported" in text
    assert max(len(name) for name in re.findall(r"rename v\d+ (\w+)", text)) <= 32
    assert text.count("label values") == 3


def test_r_script_quotes_texts(folder: Path) -> None:
    text = (folder / "labels.R").read_text()
    assert r"It's \"5 $\" `x' \\ a|b*c" in text
    assert text.count("factor(") == 3
    assert text.count("(") == text.count(")")


def test_names_are_unique_for_programs_that_ignore_case() -> None:
    questions = [
        {"id": name, "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 1}}
        for name in ("Q2", "q2", "q3")
    ]
    survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": questions})
    assert column_names(survey.questions, 64, fold_case=True) == [
        "Q2_reported",
        "xq2_reported",
        "q3_reported",
    ]
    assert column_names(survey.questions, 64, fold_case=False) == [
        "Q2_reported",
        "q2_reported",
        "q3_reported",
    ]


def test_zip_has_the_same_files_and_no_times(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    zip_export(survey, frame, tmp_path / "export.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["export.zip"]
    with zipfile.ZipFile(tmp_path / "export.zip") as archive:
        assert archive.testzip() is None
        names = {Path(name).name for name in archive.namelist()}
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert names == {name for name, _ in export_files(survey, 500)} | set(report_files())


def test_places_that_cannot_be_written_are_named(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(HushpollError, match="cannot be made"):
        write_export(survey, frame, tmp_path / "file" / "folder")


def test_an_export_without_reports_is_sound(survey: Survey, tmp_path: Path) -> None:
    write_export(survey, [], tmp_path / "empty")
    assert len(pd.read_csv(tmp_path / "empty" / "reports.csv")) == 0
    assert report(survey, tmp_path / "empty" / "reports.parquet").n == 0
