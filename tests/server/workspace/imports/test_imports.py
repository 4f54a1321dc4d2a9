"""Questionnaires of other programs become drafts, and everything that is lost is listed."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_client import HushpollError
from hushpoll_client.cli import main
from hushpoll_server.workspace.imports import read_questionnaire, xlsx
from openpyxl import Workbook

from tests.command import run_command

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def workbook(path: Path, sheets: dict[str, list[list[str]]], inline: bool = False) -> None:
    """Write a small .xlsx as spreadsheet programs do."""
    book = Workbook(write_only=inline)
    if not inline:
        book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append([text or None for text in row])
    book.save(path)


def with_part(path: Path, name: str, content: bytes) -> None:
    """Put another part in place of one of a workbook."""
    with zipfile.ZipFile(path) as archive:
        parts = {member: archive.read(member) for member in archive.namelist()}
    parts[name] = content
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in parts.items():
            archive.writestr(member, data)


def sheet_with(cell: str) -> bytes:
    """A sheet with one cell."""
    return f'<worksheet xmlns="{MAIN}"><sheetData><row r="1">{cell}</row></sheetData></worksheet>'.encode()


SHEET = "xl/worksheets/sheet1.xml"


@pytest.mark.parametrize(
    "reference", ["ZZZZZZZ2", "XFD1048576", "A99999999999", "1A", "", "\N{SNOWMAN}"], ids=range(6)
)
def test_a_cell_far_away_takes_no_memory(tmp_path: Path, reference: str) -> None:
    """A file of 753 bytes with a cell ZZZZZZZ2 exhausted the memory."""
    path = tmp_path / "far.xlsx"
    workbook(path, FORM)
    with_part(path, SHEET, sheet_with(f'<c r="{reference}" t="inlineStr"><is><t>type</t></is></c>'))
    tracemalloc.start()
    with pytest.raises(HushpollError):
        read_questionnaire(path)
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()


def test_a_workbook_with_too_many_sheets_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,000 sheets took more than a minute."""
    path = tmp_path / "many.xlsx"
    workbook(path, {**FORM, **{f"sheet {number}": [["a"]] for number in range(200)}})
    monkeypatch.setattr("openpyxl.load_workbook", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(HushpollError, match="too large"):
        read_questionnaire(path)


def reference_sheets(number: int) -> bytes:
    """A workbook that lists its first sheet many times."""
    sheet = '<sheet name="survey" sheetId="1" r:id="rId1"/>'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    return (
        f'<workbook xmlns="{MAIN}" xmlns:r="{office}"><sheets>{sheet * number}</sheets></workbook>'.encode()
    )


TYPES_OF_A_SHEET = b"""<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Override PartName="/xl/worksheets/book.xml"
ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>"""


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"xl/workbook.xml": reference_sheets(101)}, "too large"),
        ({"xl/workbook.xml": reference_sheets(50), SHEET: sheet_with("<c/>" * 150_000)}, "too large"),
        (
            {"xl/styles.xml": f'<styleSheet xmlns="{MAIN}">{"<xf/>" * 50_000}</styleSheet>'.encode()},
            "too large",
        ),
        ({"docProps/custom.xml": b"<Properties>" + b"<property/>" * 50_000 + b"</Properties>"}, "too large"),
        ({SHEET: sheet_with("<c/>" * 2_100_000)}, "too large"),
        ({f"media/{number}": b"" for number in range(6_000)}, "too large"),
        (
            {"[Content_Types].xml": TYPES_OF_A_SHEET, "xl/worksheets/book.xml": reference_sheets(20_000)},
            "not an .xlsx workbook",
        ),
    ],
    ids=["sheets", "same sheet", "styles", "properties", "cells", "parts", "workbook as sheet"],
)
def test_a_small_file_that_takes_minutes_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: dict[str, bytes], message: str
) -> None:
    """A file of 60 kB whose styles have four million elements exhausted memory; so did one that lists a sheet often."""
    path = tmp_path / "bomb.xlsx"
    workbook(path, FORM)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()} | parts
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    monkeypatch.setattr("openpyxl.load_workbook", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(HushpollError, match=message):
        read_questionnaire(path)


def test_a_sheet_with_too_many_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.xlsx"
    workbook(path, {**FORM, "survey": [FORM["survey"][0]] * 30})
    monkeypatch.setattr(xlsx, "MOST_ROWS", 20)
    with pytest.raises(HushpollError, match="more than 20 rows"):
        read_questionnaire(path)


DOCTYPE = '<!DOCTYPE a [<!ENTITY b "c">]><worksheet>&b;</worksheet>'


@pytest.mark.parametrize(
    ("member", "content"),
    [
        (SHEET, DOCTYPE.encode()),
        (SHEET, DOCTYPE.encode("utf-16")),
        (SHEET, b"<worksheet"),
        (SHEET, b""),
        (SHEET, sheet_with('<c r="A1" t="s"><v>99999</v></c>')),
        (SHEET, sheet_with('<c r="A1" t="s"><v>-1</v></c>')),
        (SHEET, sheet_with('<c r="A1" t="n"><v>many</v></c>')),
        ("xl/workbook.xml", b"<workbook/>"),
        ("xl/workbook.xml", DOCTYPE.encode("utf-16")),
        ("xl/_rels/workbook.xml.rels", b"<Relationships/>"),
        ("[Content_Types].xml", b"<Types/>"),
    ],
    ids=range(11),
)
def test_a_broken_workbook_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], member: str, content: bytes
) -> None:
    path = tmp_path / "broken.xlsx"
    workbook(path, FORM)
    with_part(path, member, content)
    status, out, err = run_command(capsys, "survey", "import", path)
    assert (status, out, len(err.splitlines())) == (2, "", 1), err


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
    kinds = [(question["id"], question["kind"]) for question in got.document["questions"]]
    assert kinds == [("cheated", "yes_no"), ("reason", "choice"), ("all", "multiple")]
    assert got.document["questions"][1]["after"] == {"question": "cheated", "answers": ["Yes"]}
    assert got.document["questions"][2]["at_most"] == 2
    assert got.document["questions"][0]["text"] == "Did you cheat ?"
    assert got.document["questions"][1]["options"] == ["Time", "Fear", "Habit"]
    assert all(question["mechanism"] == {"epsilon": 1.5} for question in got.document["questions"])
    lost = "\n".join(got.left_out)
    for remark in ("start", "(name)", "(age)", "smallest and largest"):
        assert remark in lost
    assert "skip rule" not in lost


def test_texts_of_an_xlsform_keep_their_places(tmp_path: Path) -> None:
    """A note at the end stood in the introduction, and nothing said so."""
    survey = [
        *FORM["survey"][:4],
        ["note", "between", "Now the reasons", "", ""],
        *FORM["survey"][4:],
        ["note", "n1", "Thank you!", "", ""],
    ]
    workbook(tmp_path / "form.xlsx", {**FORM, "survey": survey}, True)
    got = read_questionnaire(tmp_path / "form.xlsx", 1.5)
    assert got.document["intro"] == "Welcome & thanks Now the reasons"
    assert got.document["thanks"] == "Thank you!"
    assert "survey row 5 (between): a text between questions stands in the introduction" in got.left_out
    assert read_draft(got.document).as_document(False)["thanks"] == "Thank you!"


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
    kinds = [(question["id"], question["kind"]) for question in got.document["questions"]]
    assert kinds == [("cheated", "yes_no"), ("reason", "choice"), ("which", "multiple"), ("often", "scale")]
    assert got.document["questions"][3]["points"] == 5
    lost = "\n".join(got.left_out)
    assert got.document["questions"][1]["after"] == {"question": "cheated", "answers": ["Yes"]}
    for remark in ("de", "Other", "help text", "type T", "group First"):
        assert remark in lost
    out = tmp_path / "draft.json"
    with pytest.raises(SystemExit) as ended:
        main(["survey", "import", str(path), "--out", str(out), "--epsilon", "2"])
    assert not ended.value.code
    assert "Not carried over: question story" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["survey", "check", str(out), "--json"])
    assert not ended.value.code
    assert len(json.loads(capsys.readouterr().out)["questions"]) == 4


HEAD = "class\ttype/scale\tname\trelevance\ttext\tlanguage\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", b"no zip", "not an .xlsx workbook"),
        ("a.pdf", b"", "whose questionnaire"),
        ("a.txt", b"\xff\xfe\x00", "UTF-8"),
        ("a.txt", b"hello\tworld\n1\t2", "column called class"),
        ("a.txt", b"class\tname\ttype/scale\ttext\nQ\tx\tT\tTell", "no question"),
        ("a.txt", HEAD.encode(), "no question of this file"),
        ("a.txt", b"", "column called class"),
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


MORE = {
    "survey": [
        ["type", "name", "label", "relevant", "constraint", "parameters", "appearance"],
        ["integer", "age", "Age?", "", ". >= 16 and .<=100", "", ""],
        ["integer", "kids", "Children?", "${party} = 'a'", ". > -1 and . < 13", "", ""],
        ["decimal", "hours", "Hours?", "", "(. >= 0.5) and (. <= 24)", "", ""],
        ["range", "mood", "Mood?", "", "", "start=1 end=7 step=1", ""],
        ["range", "share", "Share?", "", "", "start=0 end=100 step=5", ""],
        ["range", "lost", "Lost?", "", "", "", ""],
        ["select_one party", "party", "Party?", "", "", "", ""],
        ["select_one agree", "agree", "Agree?", "", "", "", "likert"],
        ["select_one yn", "voted", "Voted?", "${party} = 'a' or selected(${party}, 'b')", "", "", ""],
        ["select_one party", "why", "Why?", "${voted} != '0'", "", "", ""],
        ["select_one party", "last", "Last?", "${voted} = '1' and ${party} = 'a'", "", "", ""],
        ["select_one party", "what", "What?", "${mood} = '3'", "", "", ""],
        ["select_one party", "who", "Who?", "${party} = 'z'", "", "", ""],
        ["select_one party", "all", "All?", "${party}='a' or ${party}='b' or ${party}='c'", "", "", ""],
    ],
    "choices": [
        ["list_name", "name", "label"],
        ["yn", "1", "Ja"],
        ["yn", "0", "Nein"],
        *(["party", code, label] for code, label in (("a", "Left"), ("b", "Middle"), ("c", "Right"))),
        *(["agree", str(k), label] for k, label in enumerate(("No", "Partly", "Quite", "Fully"))),
    ],
}


def test_numbers_scales_and_rules_of_an_xlsform(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "more.xlsx"
    workbook(path, MORE)
    got = read_questionnaire(path, 1.0)
    by = {question["id"]: question for question in got.document["questions"]}
    assert {key: by["age"][key] for key in ("kind", "min", "max", "step")} == {
        "kind": "number",
        "min": 16,
        "max": 100,
        "step": 1,
    }
    assert (by["kids"]["min"], by["kids"]["max"]) == (0, 12)
    assert (by["hours"]["min"], by["hours"]["max"], by["hours"]["step"]) == (0.5, 24, 0.1)
    assert (by["mood"]["kind"], by["mood"]["points"]) == ("scale", 7)
    assert (by["share"]["kind"], by["share"]["step"]) == ("number", 5)
    assert by["agree"]["labels"] == ["No", "Partly", "Quite", "Fully"]
    assert by["voted"]["after"] == {"question": "party", "answers": ["Left", "Middle"]}
    assert by["why"]["after"] == {"question": "voted", "answers": ["Yes"]}
    lost = "\n".join(got.left_out)
    for remark in (
        "(kids): the skip rule",
        "a number question is always asked",
        "(lost): range",
        "(last): the skip rule",
        "only answers to one earlier question",
        "mood is not an earlier choice",
        "an answer that party does not have",
        "names all answers",
        "rounded to tenths",
        "Ja, Nein become Yes and No",
    ):
        assert remark in lost, remark
    assert "after" not in by["last"]
    out = tmp_path / "draft.json"
    out.write_text(json.dumps(got.document))
    with pytest.raises(SystemExit) as ended:
        main(["survey", "check", str(out), "--json"])
    assert not ended.value.code
    assert len(json.loads(capsys.readouterr().out)["questions"]) == len(by)


def test_numbers_and_arrays_of_limesurvey(tmp_path: Path) -> None:
    head = ["class", "type/scale", "name", "relevance", "text", "min_num_value_n", "max_num_value_n"]
    rows = [
        [*head, "num_value_int_only", "suffix", "max_answers"],
        ["Q", "N", "age", "1", "Age?", "16", "99", "1", "years", ""],
        ["Q", "N", "pay", "1", "Pay?", "", "", "", "", ""],
        ["Q", "A", "mood", "1", "How are", "", "", "", "", ""],
        ["SQ", "", "m1", "", "you?", "", "", "", "", ""],
        ["SQ", "", "m2", "", "they?", "", "", "", "", ""],
        ["Q", "F", "trust", "1", "Trust", "", "", "", "", ""],
        ["SQ", "", "t1", "", "courts?", "", "", "", "", ""],
        ["A", "0", "A1", "", "Yes, fully", "", "", "", "", ""],
        ["A", "0", "A2", "", "Hardly", "", "", "", "", ""],
        ["Q", "M", "used", "1", "Which?", "", "", "", "", "1"],
        ["SQ", "", "a", "", "One", "", "", "", "", ""],
        ["SQ", "", "b", "", "Two", "", "", "", "", ""],
        ["Q", "G", "sex", '((trust_t1.NAOK == "A2"))', "Sex?", "", "", "", "", ""],
        ["Q", "Y", "last", "used_a.NAOK == 'Y'", "Last?", "", "", "", "", ""],
    ]
    path = tmp_path / "lime.tsv"
    path.write_text("\n".join("\t".join(row) for row in rows), encoding="utf-8")
    got = read_questionnaire(path)
    by = {question["id"]: question for question in got.document["questions"]}
    assert (by["age"]["kind"], by["age"]["max"], by["age"]["unit"]) == ("number", 99, "years")
    assert (by["mood_m1"]["points"], by["mood_m2"]["text"]) == (5, "How are they?")
    assert by["trust_t1"]["options"] == ["Yes, fully", "Hardly"]
    assert by["used"]["at_most"] == 1
    assert by["sex"]["after"] == {"question": "trust_t1", "answers": ["Hardly"]}
    assert "after" not in by["last"]
    lost = "\n".join(got.left_out)
    for remark in ("question pay", "2 rows become", "used_a is not an earlier choice"):
        assert remark in lost, remark


def planted(left_out: tuple[str, ...], expected: dict[str, str]) -> None:
    """Check that each planted cell is named in a line that begins with its place."""
    for text, origin in expected.items():
        assert any(text in line and line.startswith(origin) for line in left_out), (text, left_out)


def test_every_cell_of_an_xlsform_that_is_lost_is_listed(tmp_path: Path) -> None:
    head = [
        "type",
        "name",
        "label",
        "required",
        "relevant",
        "media::image",
        "guidance_hint",
        "parameters",
        "read_only",
        "hint",
    ]
    rows = [
        ["begin_group", "g", "Group title", "", "${a} = 'yes'"],
        [
            "select_one yn or_other",
            "a",
            "Cheated?",
            "yes",
            "",
            "pic.png",
            "guide",
            "randomize=true",
            "true",
            "hin",
        ],
        ["end_group"],
        ["begin_repeat", "r", "Rep title", "", "${a} = 'no'"],
        ["select_one p", "b", "Which " + "x" * 1100 + " END", "sometimes"],
        ["end_repeat"],
        ["note", "n", "Only for some", "", "${a} = 'maybe'"],
        ["", "stray", "A stray label"],
    ]
    workbook(
        tmp_path / "a.xlsx",
        {
            "survey": [head, *([*row, *[""] * (len(head) - len(row))] for row in rows)],
            "choices": [
                ["list_name", "name", "label", "image", "label::fr"],
                ["yn", "yes", "Yes", "y.png", ""],
                ["yn", "no", "No", "", "Non"],
                ["p", "u", "U", "", ""],
                ["p", "v", "V", "", ""],
            ],
            "settings": [["form_title", "style", "default_language"], ["T" * 250, "pages", "en"]],
            "entities": [["dataset"], ["people"]],
        },
    )
    imported = read_questionnaire(tmp_path / "a.xlsx", 1.0)
    assert [question["id"] for question in imported.document["questions"]] == ["a", "b"]
    planted(
        imported.left_out,
        {
            "Group title": "survey row 2",
            "${a} = 'yes'": "survey row 2",
            "or_other": "survey row 3",
            'required "yes"': "survey row 3",
            "pic.png": "survey row 3",
            "guide": "survey row 3",
            "randomize=true": "survey row 3",
            'read_only "true"': "survey row 3",
            'hint "hin"': "survey row 3",
            "Rep title": "survey row 5",
            "${a} = 'no'": "survey row 5",
            "sometimes": "survey row 6",
            "the repeat 'r' and is asked once": "survey row 6",
            "cut after 1,000 characters": "question b",
            "${a} = 'maybe'": "survey row 8",
            "A stray label": "survey row 9",
            "y.png": "choice yes of yn",
            "Non": "choice no of yn",
            'style "pages"': "settings",
            'default_language "en"': "settings",
            "it is left out": "sheet entities",
            "cut after 200 characters": "the title",
        },
    )


def test_every_cell_of_a_limesurvey_structure_that_is_lost_is_listed(tmp_path: Path) -> None:
    head = [
        "class",
        "type/scale",
        "name",
        "relevance",
        "text",
        "help",
        "language",
        "mandatory",
        "other",
        "default",
        "random_order",
        "preg",
        "em_validation_q",
    ]
    rows = [
        ["S", "", "language", "", "en"],
        ["S", "", "anonymized", "", "Yes please"],
        ["SL", "", "surveyls_title", "", "T", "", "en"],
        ["SL", "", "surveyls_endtext", "", "Thanks!", "", "en"],
        ["G", "", "Grp", "a.NAOK=='Y'", "Group description", "", "en"],
        ["Q", "Y", "a", "1", "Cheat?", "", "en", "Y", "", "Yes!"],
        ["Q", "L", "b", "1", "Which?", "helping", "en", "N", "N", "A1", "1", "/x/", "that.NAOK>1"],
        ["A", "0", "A1", "", "U", "answer help", "en"],
        ["A", "0", "A2", "", "V", "", "en"],
        ["QTA", "", "quota", "", "50", "", "en"],
    ]
    (tmp_path / "b.txt").write_text(
        "\n".join("\t".join([*row, *[""] * (len(head) - len(row))]) for row in [head, *rows])
    )
    imported = read_questionnaire(tmp_path / "b.txt", 1.0)
    assert [question["id"] for question in imported.document["questions"]] == ["a", "b"]
    planted(
        imported.left_out,
        {
            "Yes please": "setting anonymized",
            "Thanks!": "setting surveyls_endtext",
            "a.NAOK=='Y'": "group Grp",
            "Group description": "group Grp",
            'mandatory "Y"': "question a",
            'default "Yes!"': "question a",
            'default "A1"': "question b",
            'random_order "1"': "question b",
            "/x/": "question b",
            "that.NAOK>1": "question b",
            "help text": "question b",
            "answer help": "question b, A1",
            '"50"': "QTA quota",
        },
    )
    assert not any('mandatory "N"' in line or 'other "N"' in line for line in imported.left_out)


def lime(path: Path, *rows: str) -> Path:
    """Write a LimeSurvey structure as it stands, lines of texts included."""
    path.write_bytes((HEAD + "".join(rows)).encode())
    return path


def test_lines_of_a_limesurvey_text_stay_apart(tmp_path: Path) -> None:
    path = lime(tmp_path / "a.txt", 'Q\tY\tq\t1\t"Do you smoke\r\nregularly?"\ten\n')
    got = read_questionnaire(path)
    assert got.document["questions"][0]["text"] == "Do you smoke regularly?"
    assert not got.left_out


@pytest.mark.parametrize(
    "rows",
    [
        ('Q\tY\tq\t1\t"never closed\ten\n', "Q\tY\tq2\t1\tTwo?\ten\n"),
        ('Q\tY\tq\t1\t"never closed\ten\n', 'Q\tY\tq2\t1\t"Two?"\ten\n'),
    ],
)
def test_an_unclosed_quotation_mark_is_refused(tmp_path: Path, rows: tuple[str, ...]) -> None:
    """It swallowed the next question without a word."""
    path = lime(tmp_path / "a.txt", "Q\tY\tfirst\t1\tOne?\ten\n", *rows)
    with pytest.raises(HushpollError, match="quotation mark in line 3"):
        read_questionnaire(path)


def test_rows_of_limesurvey_that_do_not_fit_the_header_are_listed(tmp_path: Path) -> None:
    path = lime(
        tmp_path / "a.txt",
        "Q\tY\tshort\t1\tShort?\n",
        "\n",
        "Q\tY\tlong\t1\tLong?\ten\tplanted\n",
        'Q\tY\topen\t1\t"Open?\ten\nQ\tY\tlost\t1\tLost?"\ten\n',
        'Q\tY\tlast\t1\t"Last\n\t<b>one</b>?"\ten\n',
    )
    got = read_questionnaire(path)
    assert [question["id"] for question in got.document["questions"]] == ["short", "long", "open", "last"]
    assert got.left_out == (
        "line 2: it has 5 cells and the header 6",
        "line 4: it has 7 cells and the header 6",
        'line 4: cell 7 "planted" is left out',
        "line 5: a quoted text has tabs in it: look whether it holds the rows that follow",
    )


def test_texts_that_show_another_answer_are_listed(tmp_path: Path) -> None:
    survey = [
        *FORM["survey"][:4],
        ["select_one why", "reason", "Why ${cheated}, ${cheated}?", "", ""],
        ["note", "end", "Thanks for ${reason}", "", ""],
    ]
    choices = [*FORM["choices"], ["why", "said", "As ${cheated} says"], ["why", "set", "{one, two}"]]
    workbook(tmp_path / "a.xlsx", {**FORM, "survey": survey, "choices": choices})
    lost = read_questionnaire(tmp_path / "a.xlsx").left_out
    assert [line for line in lost if "refers" in line] == [
        "question reason: its text refers to another answer (${cheated}): write it anew",
        'question reason, answer "As ${cheated} says": its text refers to another answer (${cheated}): write it anew',
        "the thanks: its text refers to another answer (${reason}): write it anew",
    ]
    rows = (
        "SL\t\tsurveyls_welcometext\t\tDear {TOKEN:FIRSTNAME}\ten\n",
        "Q\tY\tone\t1\tDo { you } smoke?\ten\n",
        "Q\tY\ttwo\t1\tWhy {one.shown} and {INSERTANS:1X2X3}?\ten\n",
    )
    assert read_questionnaire(lime(tmp_path / "a.txt", *rows)).left_out == (
        "question two: its text refers to another answer ({one.shown}, {INSERTANS:1X2X3}): write it anew",
        "the introduction: its text refers to another answer ({TOKEN:FIRSTNAME}): write it anew",
    )


def test_ids_that_change_are_listed(tmp_path: Path) -> None:
    survey = [
        FORM["survey"][0],
        *(["select_one yn", name, "?", "", ""] for name in ("bad name!", "smoke", "smoke")),
    ]
    workbook(tmp_path / "a.xlsx", {**FORM, "survey": survey})
    assert read_questionnaire(tmp_path / "a.xlsx").left_out[-2:] == (
        "question bad name!: its id becomes bad_name",
        "question smoke: its id becomes smoke_2",
    )


def test_a_file_without_a_usable_question_says_why_of_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = lime(tmp_path / "a.txt", "Q\tT\tstory\t1\tTell\ten\n", "Q\tN\tpay\t1\tPay?\ten\n")
    with pytest.raises(SystemExit) as ended:
        main(["survey", "import", str(path)])
    assert ended.value.code == 2
    output = capsys.readouterr().err
    for phrase in (
        "question story: LimeSurvey's type T",
        "question pay: a number needs",
        "no question of this file",
    ):
        assert phrase in output, phrase


def test_groups_that_do_not_close_are_listed(tmp_path: Path) -> None:
    edges = (["begin group", "outer"], ["begin_group", "inner"], ["begin repeat", "again"])
    ends = (["end repeat"], ["end_group"], ["end repeat", "late"])
    workbook(tmp_path / "a.xlsx", {**FORM, "survey": [*FORM["survey"], *edges, *ends]})
    lost = read_questionnaire(tmp_path / "a.xlsx").left_out
    assert lost[-2:] == (
        "survey row 14 (late): this repeat ends where none can end",
        "survey row 9 (outer): this group has no end of its own",
    )
    assert not [line for line in lost[:-2] if "this group" in line or "this repeat" in line]
