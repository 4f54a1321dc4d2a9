"""Questionnaires of other programs become drafts, and everything that is lost is listed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hushpoll_client import HushpollError
from hushpoll_server.cli import main
from hushpoll_server.workspace.imports import read_questionnaire

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def workbook(path: Path, sheets: dict[str, list[list[str]]], shared: bool = True) -> None:
    """Write a small .xlsx as spreadsheet programs do."""
    texts: list[str] = []

    def cell(text: str, place: int, row: int) -> str:
        reference = f"{chr(65 + place)}{row}"
        if not text:
            return ""
        if shared:
            texts.append(text)
            return f'<c r="{reference}" t="s"><v>{len(texts) - 1}</v></c>'
        return f'<c r="{reference}" t="inlineStr"><is><t>{escape(text)}</t></is></c>'

    with zipfile.ZipFile(path, "w") as archive:
        names = "".join(
            f'<sheet name="{name}" sheetId="{k}" r:id="rId{k}"/>' for k, name in enumerate(sheets, 1)
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{names}</sheets></workbook>',
        )
        links = "".join(
            f'<Relationship Id="rId{k}" Target="worksheets/s{k}.xml"/>' for k in range(1, len(sheets) + 1)
        )
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{links}</Relationships>")
        for k, rows in enumerate(sheets.values(), 1):
            body = "".join(
                f'<row r="{r}">{"".join(cell(text, c, r) for c, text in enumerate(row))}</row>'
                for r, row in enumerate(rows, 1)
            )
            archive.writestr(
                f"xl/worksheets/s{k}.xml",
                f'<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData></worksheet>',
            )
        strings = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
        archive.writestr("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}">{strings}</sst>')


FORM = {
    "survey": [
        ["type", "name", "label", "relevant", "constraint"],
        ["start", "start", "", "", ""],
        ["note", "hello", "Welcome & thanks", "", ""],
        ["select_one yn", "cheated", "Did you <b>cheat</b>?", "", ""],
        ["select_one why", "reason", "Why?", "${cheated} = 'yes'", ""],
        ["select_multiple why", "all", "Which?", "", "count-selected(.) < 3"],
        ["text", "name", "Your name?", "", ""],
        ["integer", "age", "Age?", "", ""],
    ],
    "choices": [
        ["list_name", "name", "label"],
        ["yn", "yes", "Yes"],
        ["yn", "no", "No"],
        ["why", "time", "Time"],
        ["why", "fear", "Fear"],
        ["why", "habit", "Habit"],
    ],
    "settings": [["form_title"], ["Exam honesty"]],
}


@pytest.mark.parametrize("shared", [True, False])
def test_an_xlsform_becomes_a_draft(tmp_path: Path, shared: bool) -> None:
    path = tmp_path / "form.xlsx"
    workbook(path, FORM, shared)
    got = read_questionnaire(path, 1.5)
    assert got.document["title"] == "Exam honesty"
    assert got.document["intro"] == "Welcome & thanks"
    kinds = [(one["id"], one["kind"]) for one in got.document["questions"]]
    assert kinds == [("cheated", "yes_no"), ("reason", "choice"), ("all", "multiple")]
    assert got.document["questions"][0]["text"] == "Did you cheat ?"
    assert got.document["questions"][1]["options"] == ["Time", "Fear", "Habit"]
    assert all(one["mechanism"] == {"epsilon": 1.5} for one in got.document["questions"])
    lost = "\n".join(got.left_out)
    for part in ("start", "relevant", "skip rule", "constraint", "(name)", "(age)"):
        assert part in lost or part == "relevant"


LIME = "\n".join(
    "\t".join(row)
    for row in (
        ["class", "type/scale", "name", "relevance", "text", "help", "language", "other"],
        ["S", "", "language", "", "en", "", "", ""],
        ["SL", "", "surveyls_title", "", "Exam honesty", "", "en", ""],
        ["SL", "", "surveyls_welcometext", "", "<p>Hello</p>", "", "en", ""],
        ["SL", "", "surveyls_title", "", "Ehrlich", "", "de", ""],
        ["G", "", "First", "1", "", "", "en", ""],
        ["Q", "Y", "cheated", "1", "Did you cheat?", "", "en", ""],
        ["Q", "L", "reason", "cheated.NAOK == 'Y'", "Why?", "Think", "en", "Y"],
        ["A", "0", "A1", "", "Time", "", "en", ""],
        ["A", "0", "A2", "", "Fear", "", "en", ""],
        ["Q", "M", "which", "1", "Which?", "", "en", ""],
        ["SQ", "", "a", "", "One", "", "en", ""],
        ["SQ", "", "b", "", "Two", "", "en", ""],
        ["Q", "5", "often", "1", "How often?", "", "en", ""],
        ["Q", "T", "story", "1", "Tell", "", "en", ""],
        ["Q", "Y", "cheated", "1", "Gemogelt?", "", "de", ""],
    )
)


def test_a_limesurvey_structure_becomes_a_draft(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lime.txt"
    path.write_text("\ufeff" + LIME, encoding="utf-8")
    got = read_questionnaire(path)
    assert got.document["title"] == "Exam honesty"
    assert got.document["intro"] == "Hello"
    kinds = [(one["id"], one["kind"]) for one in got.document["questions"]]
    assert kinds == [("cheated", "yes_no"), ("reason", "choice"), ("which", "multiple"), ("often", "scale")]
    assert got.document["questions"][3]["points"] == 5
    lost = "\n".join(got.left_out)
    for part in ("de", "condition", "Other", "help text", "type T", "group First"):
        assert part in lost
    out = tmp_path / "draft.json"
    with pytest.raises(SystemExit) as ended:
        main(["survey", "import", str(path), "--out", str(out), "--epsilon", "2"])
    assert not ended.value.code
    assert "Not carried over: question story" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["survey", "check", str(out), "--json"])
    assert not ended.value.code
    assert len(json.loads(capsys.readouterr().out)["questions"]) == 4


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", b"no zip", "no .xlsx workbook"),
        ("a.pdf", b"", "whose questionnaire"),
        ("a.txt", b"\xff\xfe\x00", "UTF-8"),
        ("a.txt", b"hello\tworld\n1\t2", "column called class"),
        ("a.txt", b"class\tname\ttype/scale\ttext\nQ\tx\tT\tTell", "no question"),
        ("missing.txt", None, "cannot be read"),
    ],
)
def test_odd_files_are_explained(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HushpollError, match=message):
        read_questionnaire(path)


def test_a_workbook_with_entities_or_without_a_survey_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><workbook/>")
    with pytest.raises(HushpollError, match="workbook"):
        read_questionnaire(path)
    workbook(path, {"other": [["a"]]})
    with pytest.raises(HushpollError, match="no sheet called survey"):
        read_questionnaire(path)
