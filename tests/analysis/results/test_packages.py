"""Files for other programs: read back by pyreadstat, well-formed XML, a data package, and R's own arithmetic."""

from __future__ import annotations

import csv
import json
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from hushpoll_analysis import report
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.results.export import write_export, write_reports
from hushpoll_analysis.results.formats.stata_notes import write_notes
from hushpoll_analysis.results.labels import WARNING
from hushpoll_analysis.results.packages import data_package, ddi_codebook
from hushpoll_analysis.results.reproduce import r_reproduce
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey

DRAFT: dict[str, Any] = {
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
        {
            f"{question.id}_reported": rng.integers(0, question.channel.outcomes, 800)
            for question in survey.questions
        }
    )


def test_the_export_has_every_file(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    names = {path.name for path in write_export(survey, frame, tmp_path / "out")}
    expected = {
        "reports.sav",
        "reports.dta",
        "datapackage.json",
        "codebook.xml",
        "reproduce.R",
        "reproduce.py",
    }
    assert expected <= names


def test_sav_and_dta_come_back_with_labels(survey: Survey, frame: pd.DataFrame, tmp_path: Path) -> None:
    for name, reader in (("a.sav", pyreadstat.read_sav), ("a.dta", pyreadstat.read_dta)):
        write_reports(survey, frame, tmp_path / name)
        table, meta = reader(str(tmp_path / name))
        assert table["cheated_reported"].astype(int).to_list() == frame["cheated_reported"].to_list()
        assert meta.variable_value_labels["reason_reported"][1] == 'Fear "of" failure'
        label = meta.column_names_to_labels["cheated_reported"]
        assert "warner" in label
        assert "eps 1" in label
        assert "not true answers" in meta.file_label
    _, meta = pyreadstat.read_sav(str(tmp_path / "a.sav"), user_missing=True)
    assert meta.variable_value_labels["reason_reported"][-9] == "No report"
    assert meta.missing_ranges["reason_reported"][0]["lo"] == -9
    notes = "".join(str(line) for line in meta.notes)
    assert '"weight"' in notes
    holes = frame.astype(float)
    holes.loc[0, "cheated_reported"] = np.nan
    write_reports(survey, holes, tmp_path / "b.sav")
    table, _ = pyreadstat.read_sav(str(tmp_path / "b.sav"))
    assert np.isnan(table["cheated_reported"][0])
    write_reports(survey, holes, tmp_path / "b.dta")
    table, _ = pyreadstat.read_dta(str(tmp_path / "b.dta"))
    assert pd.isna(table["cheated_reported"][0])
    assert table["cheated_reported"][1] == frame["cheated_reported"][1]
    table, meta = pyreadstat.read_dta(str(tmp_path / "b.dta"), user_missing=True)
    assert table["cheated_reported"][0] == "a", "Stata's .a"
    assert meta.variable_value_labels["cheated_reported"]["a"] == "No report"
    assert meta.missing_user_values["cheated_reported"] == ["a"]
    with pytest.raises(AnalysisError, match=r"name it .*\.sav or \.dta"):
        write_reports(survey, frame, tmp_path / "a.xyz")


def test_a_stata_file_has_channel_and_epsilon_in_its_notes(
    survey: Survey, frame: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "a.dta"
    write_reports(survey, frame, path)
    content = path.read_bytes()
    assert b"<release>118</release>" in content, "119 opens in one edition of Stata only"
    notes = stata_notes(content)
    assert notes["_dta", "note1"] == WARNING
    assert survey.hash in notes["_dta", "note2"]
    assert notes["_dta", "note0"] == "2"
    for question in survey.questions:
        note = json.loads(notes[f"{question.id}_reported", "note1"])
        assert note["channel"] == question.channel.to_json()
        assert note["epsilon"] == question.epsilon
        assert note["mechanism"] == question.mechanism.name
    # Two other programs read it as before.
    assert (
        pd.read_stata(path, convert_categoricals=False)["tax_reported"].to_list()
        == frame["tax_reported"].to_list()
    )
    table, meta = pyreadstat.read_dta(str(path))
    assert table["tax_reported"].to_list() == frame["tax_reported"].to_list()
    assert survey.hash in " ".join(map(str, meta.notes))
    # A channel that is long stands in several notes.
    pyreadstat.write_dta(frame, str(path), version=14)
    write_notes(path, {"_dta": ["x" * 40_000]})
    assert "".join(stata_notes(path.read_bytes())["_dta", f"note{k}"] for k in (1, 2, 3)) == "x" * 40_000


def stata_notes(content: bytes) -> dict[tuple[str, str], str]:
    """Read characteristics by the published description of the format, places from the map."""
    at = content.index(b"<map>") + 5
    offsets = struct.unpack_from("<14Q", content, at)
    tags = (b"<stata_dta>", b"<map>", b"<variable_types>", b"<varnames>", b"<sortlist>", b"<formats>")
    tags += (b"<value_label_names>", b"<variable_labels>", b"<characteristics>", b"<data>", b"<strls>")
    for offset, tag in zip(offsets, (*tags, b"<value_labels>", b"</stata_dta>"), strict=False):
        assert content[offset:].startswith(tag)
    assert offsets[-1] == len(content)
    notes = {}
    offset = offsets[8] + len(b"<characteristics>")
    while content.startswith(b"<ch>", offset):
        (length,) = struct.unpack_from("<I", content, offset + 4)
        entry = content[offset + 8 : offset + 8 + length]
        names = (entry[:129], entry[129:258])
        first, second = (name.split(b"\0")[0].decode() for name in names)
        notes[first, second] = entry[258:-1].decode()
        assert content.startswith(b"</ch>", offset + 8 + length)
        offset += 8 + length + 5
    assert content.startswith(b"</characteristics>", offset)
    return notes


def test_the_data_package_describes_reports(survey: Survey) -> None:
    package = json.loads(json.dumps(data_package(survey, 800)))
    assert package["profile"] == "tabular-data-package"
    schema = package["resources"][0]["schema"]
    assert [field["name"] for field in schema["fields"]] == [
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
    assert [element.tag.removeprefix(space) for element in root] == ["stdyDscr", "fileDscr", "dataDscr"]
    variables = root.findall(f"{space}dataDscr/{space}var")
    assert [variable.get("name") for variable in variables] == [
        "cheated_reported",
        "reason_reported",
        "tax_reported",
    ]
    values = [category.findtext(f"{space}labl") for category in variables[1].findall(f"{space}catgry")]
    assert values == ["Time", 'Fear "of" failure', "Été", "None"]
    channel = next(
        note.text for note in variables[0].findall(f"{space}notes") if note.get("subject") == "channel"
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


def table_of_r(folder: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    """Read what reproduce.R wrote, by question, quantity and option."""
    with (folder / "table_R.csv").open(newline="", encoding="utf-8") as file:
        return {(row["question"], row["quantity"], row["option"]): row for row in csv.DictReader(file)}


def question_of(name: str, kind: str, mechanism: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": name, "kind": kind, "text": "?", "mechanism": mechanism, **more}


NUMBER: dict[str, Any] = {"min": 0, "max": 10, "step": 1}
TICKED = ["bus", "car", "bike", "walk"]
BLOCK = ["first", "second", "third"]
EVERY_KIND = {
    "hushpoll": 1,
    "title": "Every kind",
    "questions": [
        *DRAFT["questions"],
        question_of("mood", "scale", {"epsilon": 1, "target": "cumulative"}, points=5),
        question_of("calm", "scale", {"name": "krr", "epsilon": 2}, points=4),
        question_of("often", "scale", {"name": "subset", "epsilon": 1}, points=7),
        question_of("hours", "number", {"epsilon": 1, "target": "mean"}, **NUMBER),
        question_of("money", "number", {"epsilon": 1, "target": "mean"}, min=0, max=900, step=1),
        question_of("age", "number", {"epsilon": 2, "target": "distribution", "bins": 4}, **NUMBER),
        question_of("used", "multiple", {"name": "sampled", "epsilon": 2, "ask": 2}, options=TICKED),
        question_of("most", "multiple", {"name": "padded", "epsilon": 2}, options=TICKED, at_most=2),
        question_of("town", "choice", {"epsilon": 2}, options=[f"t{k}" for k in range(30)]),
        question_of(
            "forced", "choice", {"name": "forced", "forced": ["0.1", "0.2", "0.1"]}, options=["a", "b", "c"]
        ),
        question_of("sure", "yes_no", {"name": "mangat", "truth": "0.6"}),
        question_of(
            "cross", "yes_no", {"name": "crosswise", "decoy": "Born in May?", "decoy_counts": [20, 240]}
        ),
        question_of("smokes", "yes_no", {"name": "warner", "epsilon": 2}),
        question_of(
            "brand",
            "choice",
            {"epsilon": 2},
            options=["p", "q"],
            after={"question": "smokes", "answers": ["Yes"]},
        ),
        *({"id": name, "kind": "yes_no", "text": "?"} for name in BLOCK[:2]),
        {"id": BLOCK[2], "kind": "choice", "text": "?", "options": ["x", "y", "z"]},
    ],
    "blocks": [{"questions": BLOCK, "ask": 2, "epsilon": 3}],
}


def every_report(n: int, seed: int, shares: str) -> tuple[Survey, pd.DataFrame]:
    """Simulate people; their answers are even, or all but few the first one, so that some reports are rare."""
    survey = read_draft(EVERY_KIND)
    truth: dict[str, Any] = {}
    for question in survey.questions:
        options = len(question.options)
        likely = [1 / options] * options if shares == "even" else [1.0] + [0.0] * (options - 1)
        if question.kind.several:
            likely = [0.4] * options if shares == "even" else [0.0] * (options - 1) + [0.5]
        truth[question.id] = likely
    for name in ("hours", "money", "age"):
        truth[name] = {"values": [0, 7], "shares": [0.5, 0.5] if shares == "even" else [1.0, 0.0]}
    truth["most"] = {
        "sets": [["bus"], ["car", "walk"]],
        "shares": [0.5, 0.5] if shares == "even" else [1.0, 0.0],
    }
    simulated = simulate_survey(survey, n, truth, seed=seed)
    return survey, pd.DataFrame({f"{name}_reported": codes for name, codes in simulated})


def same(written: str, expected: float | None, name: tuple[str, ...]) -> None:
    if expected is None or np.isnan(expected):
        assert written == "NA", name
    else:
        assert float(written) == pytest.approx(expected, abs=1e-9, rel=1e-9), name


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "shares"), [(60, "even"), (60, "few"), (400, "few"), (5000, "even"), (5000, "few")]
)
def test_r_recomputes_every_interval(n: int, shares: str, tmp_path: Path) -> None:
    program = shutil.which("Rscript")
    assert program, "Rscript is missing: run `make prove`, or apt-get install r-base-core"
    survey, data = every_report(n, n, shares)
    write_export(survey, data, tmp_path, level=0.9)
    script = tmp_path / "reproduce.R"
    script.write_text(script.read_text().replace("\nminimum <- 50\n", "\nminimum <- 2\n"))
    ran = rscript(program, "reproduce.R", tmp_path)
    assert ran.returncode == 0, ran.stderr
    table = table_of_r(tmp_path)
    frame = report(survey, data, level=0.9, minimum=2).to_frame()
    last = {question.id: question.options[-1] for question in survey.questions}
    compared = set()
    for row in frame.to_dict(orient="records"):
        name = (row["question"], row["quantity"], row["option"])
        certain = row["quantity"] == "cumulative" and row["option"] == last[row["question"]]
        if row["quantity"] in ("quantile", "iqr") or certain:
            continue
        compared.add(name)
        for column in ("estimate", "se", "low", "high"):
            same(table[name][column], row[column], (*name, column))
        if row["quantity"] == "share":
            for column in ("simultaneous_low", "simultaneous_high"):
                same(table[name][column], row[column], (*name, column))
        assert table[name]["interval"] == row["interval"], name
    assert compared == set(table)
    assert {name[0] for name in compared} == {question.id for question in survey.questions}
    labels = rscript(program, "labels.R", tmp_path)
    assert labels.returncode == 0, labels.stderr


@pytest.mark.long
def test_r_says_that_there_is_nothing_to_estimate(tmp_path: Path) -> None:
    survey, data = every_report(60, 1, "even")
    write_export(survey, data.head(0), tmp_path)
    ran = rscript(str(shutil.which("Rscript")), "reproduce.R", tmp_path)
    assert ran.returncode != 0
    assert "reports.csv has 0 reports; at least 2 are needed" in ran.stderr


def test_the_r_script_knows_the_minimum_of_a_report() -> None:
    """It printed a whole table of 40 reports, where a report shows none."""
    survey, _ = every_report(60, 1, "even")
    text = r_reproduce(survey)
    assert f"\nminimum <- {report(survey, every_report(60, 1, 'even')[1]).minimum}\n" in text
    calls = [line for line in text.splitlines() if line.startswith("add(")]
    assert all(", sum(counts), " in line or ", nrow(reports), " in line for line in calls)
    assert [line for line in calls if line.startswith('add("first"') and ", sum(counts), " in line]
    assert "if (asked < minimum)" in text


@pytest.mark.long
@pytest.mark.parametrize("n", [40, 60, 90])
def test_r_shows_what_a_report_shows(n: int, tmp_path: Path) -> None:
    survey, data = every_report(n, n, "even")
    write_export(survey, data, tmp_path)
    ran = rscript(str(shutil.which("Rscript")), "reproduce.R", tmp_path)
    assert ran.returncode == 0, ran.stderr
    displayed = set(report(survey, data).to_frame()["question"])
    assert {name for name, _, _ in table_of_r(tmp_path)} == displayed
    hidden = {question.id for question in survey.questions} - displayed
    assert {line.partition(":")[0] for line in ran.stderr.splitlines()} == hidden
    assert hidden == {40: {question.id for question in survey.questions}, 60: set(BLOCK), 90: set()}[n]


def test_files_for_other_programs_say_what_a_block_and_a_decoy_asked(tmp_path: Path) -> None:
    """A block's column said `"asked": {}`, and no file but survey.json had a decoy's text."""
    texts = {"first": "Ever “lied”?", "second": "Ever late?", "third": "Which way?"}
    draft = [
        question | {"text": texts.get(question["id"], question["text"])}
        for question in EVERY_KIND["questions"]
    ]
    survey = read_draft({**EVERY_KIND, "questions": draft})
    _, data = every_report(60, 1, "even")
    descriptions = list(asked_of(survey, data, tmp_path))
    assert len(descriptions) == 4
    for block, decoy in descriptions:
        assert decoy == {"kind": "yes_no", "decoy": "Brittany?"}
        assert [(member["id"], member["text"]) for member in block["questions"]] == list(texts.items())
        assert [member["kind"] for member in block["questions"]] == ["yes_no", "yes_no", "choice"]
        assert [member["options"] for member in block["questions"]] == [
            ["No", "Yes"],
            ["No", "Yes"],
            ["x", "y", "z"],
        ]
        assert "r div 6 is the rank" in block["read"]
    assert data_package(survey, 60)["sources"][0]["path"] == "survey.json"
    literal = ElementTree.fromstring(ddi_codebook(survey, 60)).iter("{ddi:codebook:2_5}qstnLit")
    assert "third: Which way?" in [text.text for text in literal]


def asked_of(survey: Survey, data: pd.DataFrame, folder: Path) -> Iterator[list[dict[str, Any]]]:
    """Read what the block's column and that of `tax` asked, from each of the four files."""
    columns = ("block1_reported", "tax_reported")
    fields = {field["name"]: field for field in data_package(survey, 60)["resources"][0]["schema"]["fields"]}
    yield [fields[name]["hushpoll"]["asked"] for name in columns]
    space = "{ddi:codebook:2_5}"
    variables = {
        variable.get("name"): [
            note.text for note in variable.iter(f"{space}notes") if note.get("subject") == "channel"
        ]
        for variable in ElementTree.fromstring(ddi_codebook(survey, 60)).iter(f"{space}var")
    }
    yield [json.loads(variables[name][0])["asked"] for name in columns]
    write_reports(survey, data, folder / "a.dta")
    notes = stata_notes((folder / "a.dta").read_bytes())
    yield [json.loads(notes[name, "note1"])["asked"] for name in columns]
    write_reports(survey, data, folder / "a.sav")
    _, meta = pyreadstat.read_sav(str(folder / "a.sav"))
    written = "".join(line.ljust(80) for line in meta.notes)
    positions = [written.index(f"{name}: ") + len(name) + 2 for name in columns]
    yield [json.JSONDecoder().raw_decode(written[at:])[0]["asked"] for at in positions]
