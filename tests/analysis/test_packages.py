"""Files for other programs: read back by pyreadstat, well-formed XML, a data package, and R's own arithmetic."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from hushpoll_analysis import report
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.results.export import write_export
from hushpoll_analysis.results.packages import data_package, ddi_codebook, r_reproduce, write_statistical
from hushpoll_client import Survey

DRAFT = {
    "hushpoll": 1,
    "title": "Exam <honesty> & more",
    "intro": "Two questions.",
    "questions": [
        {
            "id": "cheated",
            "kind": "yes_no",
            "text": "Did you “cheat”?",
            "mechanism": {"name": "warner", "epsilon": 1},
        },
        {
            "id": "reason",
            "kind": "choice",
            "text": "Why?",
            "options": ["Time", 'Fear "of" failure', "Été", "None"],
            "mechanism": {"name": "krr", "epsilon": 2},
        },
        {
            "id": "tax",
            "kind": "yes_no",
            "text": "Tax?",
            "mechanism": {
                "name": "or_poll",
                "decoy": "Brittany?",
                "decoy_counts": [412, 1000],
                "epsilon": 1.5,
            },
        },
    ],
}


@pytest.fixture(scope="module")
def survey() -> Survey:
    return Survey.from_draft(DRAFT)


@pytest.fixture(scope="module")
def frame(survey: Survey) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {f"{one.id}_reported": rng.integers(0, one.channel.outcomes, 800) for one in survey.questions}
    )


def test_the_export_has_every_file(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    names = {path.name for path in write_export(survey, frame, tmp_path / "out")}
    wanted = {"reports.sav", "reports.dta", "datapackage.json", "codebook.xml", "reproduce.R", "reproduce.py"}
    assert wanted <= names


def test_sav_and_dta_come_back_with_labels(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    for name, read in (("a.sav", pyreadstat.read_sav), ("a.dta", pyreadstat.read_dta)):
        write_statistical(survey, frame, tmp_path / name)
        table, meta = read(str(tmp_path / name))
        assert table["cheated_reported"].astype(int).to_list() == frame["cheated_reported"].to_list()
        assert meta.variable_value_labels["reason_reported"][1] == 'Fear "of" failure'
        assert meta.variable_value_labels["reason_reported"][-9] == "No report"
        label = meta.column_names_to_labels["cheated_reported"]
        assert "warner" in label
        assert "eps 1" in label
        assert "not true answers" in meta.file_label
    _, meta = pyreadstat.read_sav(str(tmp_path / "a.sav"), user_missing=True)
    assert meta.missing_ranges["reason_reported"][0]["lo"] == -9
    notes = "".join(str(line) for line in meta.notes)
    assert '"weight"' in notes
    holes = frame.astype(float)
    holes.loc[0, "cheated_reported"] = np.nan
    write_statistical(survey, holes, tmp_path / "b.sav")
    table, _ = pyreadstat.read_sav(str(tmp_path / "b.sav"))
    assert np.isnan(table["cheated_reported"][0])
    with pytest.raises(AnalysisError, match=r"\.sav or \.dta"):
        write_statistical(survey, frame, tmp_path / "a.xyz")


def test_the_data_package_describes_reports(survey: Survey) -> None:
    package = json.loads(json.dumps(data_package(survey, 800)))
    assert package["profile"] == "tabular-data-package"
    schema = package["resources"][0]["schema"]
    assert [one["name"] for one in schema["fields"]] == [
        "cheated_reported",
        "reason_reported",
        "tax_reported",
    ]
    first = schema["fields"][0]
    assert first["type"] == "integer"
    assert first["constraints"] == {"required": True, "minimum": 0, "maximum": 1}
    assert first["hushpoll"]["channel"] == survey.questions[0].channel.to_json()
    assert first["hushpoll"]["epsilon"] == survey.questions[0].epsilon


def test_the_ddi_codebook_is_well_formed(survey: Survey) -> None:
    root = ElementTree.fromstring(ddi_codebook(survey, 800))
    space = "{ddi:codebook:2_5}"
    assert root.tag == f"{space}codeBook"
    assert [one.tag.removeprefix(space) for one in root] == ["stdyDscr", "fileDscr", "dataDscr"]
    variables = root.findall(f"{space}dataDscr/{space}var")
    assert [one.get("name") for one in variables] == ["cheated_reported", "reason_reported", "tax_reported"]
    values = [one.findtext(f"{space}labl") for one in variables[1].findall(f"{space}catgry")]
    assert values == ["Time", 'Fear "of" failure', "Été", "None"]
    channel = next(
        one.text for one in variables[0].findall(f"{space}notes") if one.get("subject") == "channel"
    )
    assert json.loads(channel)["channel"] == survey.questions[0].channel.to_json()
    assert root.findtext(f".//{space}titl") == "Exam <honesty> & more"


def test_the_r_script_holds_the_arithmetic(survey: Survey, frame: pd.DataFrame) -> None:
    text = r_reproduce(survey)
    assert text.count("\nadd(") == 3
    assert "library(" not in text
    assert all(c.isascii() for c in text)


def rscript(program: str, name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, "--vanilla", name], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.long
def test_r_recomputes_the_table(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    program = shutil.which("Rscript")
    assert program, "Rscript is missing: run `make prove`, or apt-get install r-base-core"
    write_export(survey, frame, tmp_path)
    ran = rscript(program, "reproduce.R", tmp_path)
    assert ran.returncode == 0, ran.stderr
    with (tmp_path / "table_R.csv").open(newline="", encoding="utf-8") as file:
        found = {(row["question"], row["option"]): row for row in csv.DictReader(file)}
    for part in report(survey, frame).questions:
        for line in part.lines:
            row = found[(part.id, line.option)]
            assert float(row["estimate"]) == pytest.approx(line.entry.estimate, abs=1e-9)
            assert float(row["se"]) == pytest.approx(line.entry.se, rel=1e-9)
            assert float(row["epsilon"]) == pytest.approx(part.question.epsilon)
    labels = rscript(program, "labels.R", tmp_path)
    assert labels.returncode == 0, labels.stderr
