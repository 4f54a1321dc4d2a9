"""LimeSurvey's tab-separated structure: one row for each text, group, question, subquestion and answer."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from hushpoll_client import HushpollError
from hushpoll_client.fields import short

from .draft import Builder, Imported, plain_text

LISTS = {"L", "!", "O"}
FIVE = 5
READ = {"S", "SL", "G", "Q", "SQ", "A"}
PLACE = ("id", "related_id", "language")
"""Columns that say where a row belongs."""
OWN = {"class", "type/scale", "type", "name", "text", "relevance", "other", "help", *PLACE}
USED = {"M": {"max_answers"}, "N": {"min_num_value_n", "max_num_value_n", "num_value_int_only", "suffix"}}
"""Columns that a question of a type is made from."""
NOTHING = {("mandatory", "N"), ("other", "N"), ("same_default", "0"), ("relevance", "1")}
"""Cells that say what holds anyway."""
TENTH = 0.1
"""Decimals without a step are rounded to tenths."""
ARRAYS: dict[str, tuple[int, tuple[str, ...]]] = {
    "A": (FIVE, ()),
    "B": (10, ()),
    "C": (0, ("Yes", "Uncertain", "No")),
    "E": (0, ("Increase", "Same", "Decrease")),
    "F": (0, ()),
}
"""Arrays: the points of a scale, or the options; with neither, the array's own answers."""
PLACEHOLDER = r"\{[^\s{}][^{}]*\}"
"""An expression such as {INSERTANS:1X2X3} or {smoke.shown}."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_INSIDE = re.compile(r"\S *\t")
"""A tab behind a word, as between cells; tabs that indent are common in texts."""


def read_limesurvey(path: Path, epsilon: float) -> Imported:
    """Read a LimeSurvey structure into a draft."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise HushpollError(
            f"{path.name}: this is not UTF-8 text", "export the structure as tab-separated file"
        ) from None
    builder = Builder(path.stem, epsilon, PLACEHOLDER)
    rows = _rows(builder, text, path.name)
    language = next(
        (row.get("text") or "" for row in rows if row["class"] == "S" and row["name"] == "language"), ""
    )
    if language:
        other_languages = {
            row.get("language") for row in rows if row.get("language") not in (None, "", language)
        }
    else:
        other_languages = set()
    if other_languages:
        builder.skip(
            "the survey", f"translations are left out ({', '.join(sorted(map(str, other_languages)))})"
        )
    in_language = [row for row in rows if not language or row.get("language") in (None, "", language)]
    _texts(builder, in_language)
    for number, row in enumerate(in_language):
        if row["class"] == "Q":
            _question(builder, row, _below(in_language, number))
        elif row["class"] not in READ:
            builder.skip(
                f"{row['class']} {row.get('name') or ''}".strip(),
                f"rows of this class are left out{_said(row, {'class', 'name', *PLACE})}",
            )
    return builder.finish()


def _rows(builder: Builder, text: str, file: str) -> list[dict[str, str]]:
    """Return each row by the header's names, and list rows that do not fit it."""
    records = _records(text, file)
    _, head = next(records, (1, []))
    if "class" not in head:
        raise HushpollError(
            f"{file}: there is no column called class", "export the structure from LimeSurvey"
        )
    rows = []
    for line, cells in records:
        where = f"line {line}"
        if len(cells) != len(head):
            builder.skip(where, f"it has {len(cells)} cells and the header {len(head)}")
        builder.leave(where, {f"cell {k}": cell for k, cell in enumerate(cells[len(head) :], len(head) + 1)})
        if any(_INSIDE.search(cell) for cell in cells):
            builder.skip(where, "a quoted text has tabs in it: look whether it holds the rows that follow")
        rows.append(dict(zip(head, [*cells, *[""] * len(head)], strict=False)))
    return rows


def _records(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row's first line and cells; a quotation mark that is not closed is refused."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True)
    first = 1
    try:
        for cells in reader:
            if cells:
                yield first, cells
            first = reader.line_num + 1
    except csv.Error:
        raise HushpollError(
            f"{file}: a quotation mark in line {first} is not closed or stands within a quoted text",
            "put quotation marks around the whole text, and double those in it",
        ) from None


def _said(row: dict[str, str], used: Collection[str]) -> str:
    """Return the cells with content that were not used, as text."""
    left = [f"{key} {short(value)}" for key, value in row.items() if value and key and key not in used]
    if left:
        return f" ({', '.join(left)})"
    return ""


def _texts(builder: Builder, rows: list[dict[str, str]]) -> None:
    for row in rows:
        where, text = row.get("name") or "", plain_text(row.get("text") or "")
        if row["class"] == "SL" and where == "surveyls_title" and text:
            builder.title = text
        elif row["class"] == "SL" and where in ("surveyls_description", "surveyls_welcometext") and text:
            builder.intro = " ".join(filter(None, [builder.intro, text]))
        elif row["class"] == "G":
            row = {**row, "relevance": "" if row.get("relevance") == "1" else row.get("relevance") or ""}
            leftover = _said(row, {"class", "name", "type/scale", *PLACE})
            builder.skip(f"group {where}", f"groups become one page; sections can be added by hand{leftover}")
        elif row["class"] in ("S", "SL") and text and where != "language":
            builder.skip(f"setting {where}", f"{short(text)} is left out")


def _below(rows: list[dict[str, str]], number: int) -> list[dict[str, str]]:
    """Return the subquestions and answers of a question: rows up to the next one."""
    below = []
    for row in rows[number + 1 :]:
        if row["class"] not in ("SQ", "A"):
            break
        below.append(row)
    return below


def _question(builder: Builder, row: dict[str, str], below: list[dict[str, str]]) -> None:
    kind, name = row.get("type/scale") or row.get("type") or "", row.get("name") or "question"
    where, text = f"question {name}", row.get("text") or name
    before = len(builder.questions)
    _leftovers(builder, kind, row, below, where)
    if kind in ARRAYS:
        _array(builder, kind, name, text, below, where)
        if row.get("relevance") not in (None, "", "1"):
            builder.skip(where, f"the condition {row['relevance']!r} is left out")
        return
    _single(builder, kind, row, name, text, below)
    if len(builder.questions) == before:
        return
    if kind == "O":
        builder.skip(where, "the comment field is left out")
    if row.get("relevance") not in (None, "", "1"):
        builder.condition(where, row["relevance"].replace("&quot;", '"'))
    if (row.get("other") or "N") == "Y":
        builder.skip(where, "the answer Other with its text is left out")
    if row.get("help"):
        builder.skip(where, "its help text is left out")


def _leftovers(
    builder: Builder, kind: str, row: dict[str, str], below: list[dict[str, str]], where: str
) -> None:
    """List every cell of a question, its rows and its answers that no draft can hold."""
    used = {*OWN, *USED.get(kind, ())}
    plain = {key: "" if (key, value) in NOTHING else value for key, value in row.items()}
    leftover = _said(plain, used)
    if leftover:
        builder.skip(where, f"left out{leftover}")
    for row_below in below:
        cells = {key: "" if (key, value) in NOTHING else value for key, value in row_below.items()}
        leftover = _said(cells, {"class", "type/scale", "name", "text", *PLACE})
        if leftover:
            builder.skip(f"{where}, {row_below.get('name') or ''}", f"left out{leftover}")


def _single(
    builder: Builder, kind: str, row: dict[str, str], name: str, text: str, below: list[dict[str, str]]
) -> None:
    """Add a question of one row."""
    where, options = f"question {name}", _texts_of(below)
    codes = [answer.get("name") or "" for answer in below]
    if kind == "Y":
        builder.add("yes_no", name, text, codes=["N", "Y"])
    elif kind == "G":
        builder.add("choice", name, text, codes=["F", "M"], options=["Female", "Male"])
    elif kind in LISTS and _several(options):
        builder.add("choice", name, text, codes=codes, options=options)
    elif kind == "M" and _several(options):
        most = row.get("max_answers") or ""
        builder.add_ticks(name, text, options, int(most) if most.isdigit() else None)
    elif kind == str(FIVE):
        builder.add("scale", name, text, points=FIVE)
    elif kind == "N":
        _number(builder, row, name, text, where)
    else:
        builder.skip(where, f"LimeSurvey's type {kind or 'none'} cannot be carried over")


def _number(builder: Builder, row: dict[str, str], name: str, text: str, where: str) -> None:
    ends = [row.get(key) or "" for key in ("min_num_value_n", "max_num_value_n")]
    if not all(_NUMBER.fullmatch(end) for end in ends):
        builder.skip(where, "a number needs its smallest and largest value; add it by hand")
        return
    is_integer = row.get("num_value_int_only") == "1"
    unit = plain_text(row.get("suffix") or "")
    step = TENTH
    if is_integer:
        step = 1.0
    else:
        builder.skip(where, "decimals are rounded to tenths")
    builder.add_number(name, text, float(ends[0]), float(ends[1]), step, where, unit=unit)


def _array(
    builder: Builder, kind: str, name: str, text: str, below: list[dict[str, str]], where: str
) -> None:
    """Add one question for each row of an array."""
    rows = [subquestion for subquestion in below if subquestion["class"] == "SQ"]
    answers = [subquestion for subquestion in below if subquestion["class"] == "A"]
    points, options = ARRAYS[kind]
    codes: list[str] = []
    if not points and not options:
        options, codes = tuple(_texts_of(answers)), [answer.get("name") or "" for answer in answers]
    if not rows or not (points or _several(list(options))):
        builder.skip(where, "its rows or answers are missing")
        return
    for subquestion in rows:
        full_text = (
            f"{plain_text(text)} {plain_text(subquestion.get('text') or subquestion.get('name') or '')}"
        )
        question_name = f"{name}_{subquestion.get('name') or ''}"
        if points:
            builder.add("scale", question_name, full_text, points=points)
        else:
            builder.add("choice", question_name, full_text, codes=codes, options=list(options))
    builder.skip(where, f"its {len(rows)} rows become questions of their own")


def _texts_of(rows: list[dict[str, str]]) -> list[str]:
    return [plain_text(row.get("text") or row.get("name") or "") for row in rows]


def _several(options: list[str]) -> bool:
    return len(options) > 1 and len(set(options)) == len(options) and all(options)
