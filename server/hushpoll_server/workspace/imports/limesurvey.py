"""LimeSurvey's tab-separated structure: one row for each text, group, question, subquestion and answer."""

from __future__ import annotations

import csv
from pathlib import Path

from hushpoll_client import HushpollError

from .draft import Builder, Imported, plain_text

__all__ = ["read_limesurvey"]

LISTS = {"L", "!", "O"}
FIVE = 5


def read_limesurvey(path: Path, epsilon: float) -> Imported:
    """Read a LimeSurvey structure into a draft."""
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise HushpollError(
            f"{path.name}: this is no UTF-8 text", "export the structure as tab-separated file"
        ) from None
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t"))
    if not rows or "class" not in rows[0]:
        raise HushpollError(
            f"{path.name}: there is no column called class", "export the structure from LimeSurvey"
        )
    language = next(
        (row.get("text") or "" for row in rows if row["class"] == "S" and row["name"] == "language"), ""
    )
    builder = Builder(path.stem, epsilon)
    others = (
        {row.get("language") for row in rows if row.get("language") not in (None, "", language)}
        if language
        else set()
    )
    if others:
        builder.skip("the survey", f"translations are left out ({', '.join(sorted(map(str, others)))})")
    kept = [row for row in rows if not language or row.get("language") in (None, "", language)]
    _texts(builder, kept)
    for number, row in enumerate(kept):
        if row["class"] == "Q":
            _question(builder, row, _below(kept, number))
    return builder.finish()


def _texts(builder: Builder, rows: list[dict[str, str]]) -> None:
    for row in rows:
        where, text = row.get("name") or "", plain_text(row.get("text") or "")
        if row["class"] == "SL" and where == "surveyls_title" and text:
            builder.title = text
        elif row["class"] == "SL" and where in ("surveyls_description", "surveyls_welcometext") and text:
            builder.intro = " ".join(filter(None, [builder.intro, text]))
        elif row["class"] == "G":
            builder.skip(f"group {where}", "groups become one page; sections can be added by hand")


def _below(rows: list[dict[str, str]], number: int) -> list[dict[str, str]]:
    """Give the subquestions and answers of a question: rows up to the next one."""
    found = []
    for row in rows[number + 1 :]:
        if row["class"] not in ("SQ", "A"):
            break
        found.append(row)
    return found


def _question(builder: Builder, row: dict[str, str], below: list[dict[str, str]]) -> None:
    kind, name = row.get("type/scale") or row.get("type") or "", row.get("name") or "question"
    where, text = f"question {name}", row.get("text") or name
    options = [plain_text(one.get("text") or one.get("name") or "") for one in below]
    if kind == "Y":
        builder.add("yes_no", name, text)
    elif kind in LISTS and _several(options):
        builder.add("choice", name, text, options=options)
        if kind == "O":
            builder.skip(where, "the comment field is left out")
    elif kind == "M" and _several(options):
        builder.add("multiple", name, text, options=options)
    elif kind == str(FIVE):
        builder.add("scale", name, text, points=FIVE)
    else:
        builder.skip(where, f"LimeSurvey's type {kind or 'none'} cannot be carried over")
        return
    if (row.get("relevance") or "1") != "1":
        builder.skip(where, f"the condition {row['relevance']!r} is left out; add it with after")
    if (row.get("other") or "N") == "Y":
        builder.skip(where, "the answer Other with its text is left out")
    if row.get("help"):
        builder.skip(where, "its help text is left out")


def _several(options: list[str]) -> bool:
    return len(options) > 1 and len(set(options)) == len(options) and all(options)
