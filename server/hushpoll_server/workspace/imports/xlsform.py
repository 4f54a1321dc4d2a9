"""XLSForm: the sheets `survey`, `choices` and `settings` of ODK, KoBo and others."""

from __future__ import annotations

import re
from pathlib import Path

from hushpoll_client import HushpollError

from .draft import Builder, Imported, plain_text
from .rules import bounds, most_ticked
from .xlsx import read_sheets

YES_NO = ({"yes", "no"}, {"y", "n"}, {"1", "0"}, {"true", "false"})
QUIET = {
    "start",
    "end",
    "today",
    "deviceid",
    "calculate",
    "begin_group",
    "end_group",
    "begin group",
    "end group",
}
SHEETS = ("survey", "choices", "settings")
REPEAT = ("begin_repeat", "end_repeat")
NESTS = ("group", "repeat")
CHOICE = {"list_name", "list name", "name"}
TENTH = 0.1
"""Decimals without a step are rounded to tenths."""
PLACEHOLDER = r"\$\{[^{}]*\}"
POINTS = range(2, 12)


def read_xlsform(path: Path, epsilon: float) -> Imported:
    """Read an XLSForm into a draft."""
    sheets = {name: _table(rows) for name, rows in read_sheets(path, SHEETS).items()}
    if "survey" not in sheets:
        raise HushpollError(f"{path.name}: there is no sheet called survey", "an XLSForm has one")
    settings = (sheets.get("settings") or [{}])[0]
    title = plain_text(settings.get("form_title") or settings.get("title") or path.stem)
    builder = Builder(title, epsilon, PLACEHOLDER)
    builder.leave("settings", settings, {"form_title", "title"})
    for name in sorted(sheets.keys() - set(SHEETS)):
        builder.skip(f"sheet {name}", "it is left out")
    choices, names = _choices(builder, sheets.get("choices", []))
    repeats: list[str] = []
    for number, row in enumerate(sheets["survey"], 2):
        where = _where(number, row)
        if not row.get("type"):
            builder.leave(where, row)
        elif not _repeat(builder, row, where, repeats):
            before = len(builder.questions)
            _question(builder, row, choices, names, where)
            if repeats and len(builder.questions) > before:
                builder.skip(where, f"it stands in the repeat {repeats[-1]!r} and is asked once")
    _unclosed(builder, sheets["survey"])
    return builder.finish()


def _where(number: int, row: dict[str, str]) -> str:
    return f"survey row {number} ({row.get('name') or row.get('type') or 'no type'})"


def _unclosed(builder: Builder, rows: list[dict[str, str]]) -> None:
    """List groups and repeats that begin without an end, or end without a beginning."""
    begun: list[tuple[str, str]] = []
    for number, row in enumerate(rows, 2):
        edge, _, what = row.get("type", "").lower().replace(" ", "_").partition("_")
        if what in NESTS and edge == "begin":
            begun.append((what, _where(number, row)))
        elif what in NESTS and edge == "end" and begun and begun[-1][0] == what:
            begun.pop()
        elif what in NESTS and edge == "end":
            builder.skip(_where(number, row), f"this {what} ends where none can end")
    for what, where in begun:
        builder.skip(where, f"this {what} has no end of its own")


def _choices(
    builder: Builder, rows: list[dict[str, str]]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the labels and the codes of every list."""
    choices: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    for row in rows:
        key = row.get("list_name") or row.get("list name") or ""
        choices.setdefault(key, []).append(plain_text(_label(row) or row.get("name", "")))
        names.setdefault(key, []).append(row.get("name", ""))
        builder.leave(f"choice {row.get('name', '')} of {key}", row, {*CHOICE, _label_column(row)})
    return choices, names


def _repeat(builder: Builder, row: dict[str, str], where: str, repeats: list[str]) -> bool:
    """Track repeats; return whether the row begins or ends one."""
    kind = row["type"].lower().replace(" ", "_")
    if kind not in REPEAT:
        return False
    if kind == REPEAT[0]:
        repeats.append(row.get("name", ""))
        builder.skip(where, "a repeat is not a question: what stands in it is asked once")
        builder.leave(where, row, {"type", "name"})
    elif repeats:
        repeats.pop()
    return True


def _table(rows: list[list[str]]) -> list[dict[str, str]]:
    if not rows:
        return []
    head = [cell.strip().lower() for cell in rows[0]]
    return [
        {name: cell.strip() for name, cell in zip(head, row, strict=False) if name and cell.strip()}
        for row in rows[1:]
    ]


def _label(row: dict[str, str]) -> str:
    """Find the label; in several languages the first."""
    return row.get(_label_column(row), "")


def _label_column(row: dict[str, str]) -> str:
    if "label" in row:
        return "label"
    return next((key for key in row if key.startswith("label")), "label")


def _question(
    builder: Builder,
    row: dict[str, str],
    choices: dict[str, list[str]],
    names: dict[str, list[str]],
    where: str,
) -> None:
    kind, _, rest = row["type"].partition(" ")
    name, text = row.get("name", kind), _label(row) or row.get("name", kind)
    before = len(builder.questions)
    used: set[str] = set()
    if row["type"].lower() in QUIET:
        builder.skip(where, f"{row['type']} is not a question")
        builder.leave(where, row, {"type", "name"})
        return
    if kind in ("select_one", "select_multiple"):
        key = ""
        if rest:
            key = rest.split()[0]
        options = choices.get(key, [])
        if len(options) < 2 or len(set(options)) != len(options):
            builder.skip(where, f"the list {key!r} needs at least two different choices")
            return
        used = _selected(builder, row, name, text, options, codes=names[key], where=where)
        if rest.split()[1:]:
            builder.skip(where, f"{' '.join(rest.split()[1:])} is left out")
    elif kind in ("integer", "decimal"):
        used = _number(builder, row, name, text, where)
    elif kind == "range":
        used = _range(builder, row, name, text, where)
    elif kind == "note":
        builder.note(where, plain_text(text))
        builder.leave(where, row, {"type", "name", _label_column(row)})
        return
    else:
        builder.skip(where, f"answers of type {row['type']} cannot be randomized")
        return
    if len(builder.questions) > before:
        _rest(builder, row, where, used)


def _rest(builder: Builder, row: dict[str, str], where: str, used: set[str]) -> None:
    """Set the skip rule, and list the cells of the question that were not used."""
    other_labels = [key for key in row if key.startswith("label:") and key != _label_column(row)]
    builder.leave(where, row, {"type", "name", "relevant", _label_column(row), *other_labels, *used})
    if row.get("relevant"):
        builder.condition(where, row["relevant"])
    if other_labels:
        builder.skip(where, f"translations are left out ({', '.join(other_labels)})")


def _selected(
    builder: Builder,
    row: dict[str, str],
    name: str,
    text: str,
    options: list[str],
    codes: list[str],
    where: str,
) -> set[str]:
    """Add a list of choices; return the columns that were used."""
    if row["type"].startswith("select_multiple"):
        most = most_ticked(row.get("constraint", ""))
        if builder.add_ticks(name, text, options, most):
            return {"constraint"}
        return set()
    if {code.lower() for code in codes} in YES_NO:
        no = next(k for k, code in enumerate(codes) if code.lower() in ("no", "n", "0", "false"))
        builder.add("yes_no", name, text, codes=[codes[no], codes[1 - no]])
        if {option.lower() for option in options} != {"yes", "no"}:
            builder.skip(where, f"its words {', '.join(options)} become Yes and No")
        return set()
    if row.get("appearance", "").startswith("likert") and len(options) in POINTS:
        builder.add("scale", name, text, points=len(options), labels=options)
        return {"appearance"}
    builder.add("choice", name, text, codes=codes, options=options)
    return set()


def _number(builder: Builder, row: dict[str, str], name: str, text: str, where: str) -> set[str]:
    """Add a number with the range of its constraint; return the columns that were used."""
    step = 1.0 if row["type"].startswith("integer") else TENTH
    ends = bounds(row.get("constraint", ""), step)
    if ends is None:
        builder.skip(
            where,
            f"{row['type']}: a number needs its smallest and largest value, as in the constraint "
            "'. >= 0 and . <= 120'; add it by hand",
        )
        return set()
    builder.add_number(name, text, *ends, step, where)
    if step == TENTH:
        builder.skip(where, "decimals are rounded to tenths")
    return {"constraint"}


def _range(builder: Builder, row: dict[str, str], name: str, text: str, where: str) -> set[str]:
    """Add a range: points from 1 as a scale, else a number."""
    parameters = dict(re.findall(r"(start|end|step)\s*=\s*(-?\d+(?:\.\d+)?)", row.get("parameters", "")))
    if "end" not in parameters:
        builder.skip(where, "range: its parameters need at least start and end; add it by hand")
        return set()
    low, high, step = (
        float(parameters.get(key, default)) for key, default in (("start", 1), ("end", 1), ("step", 1))
    )
    if (low, step) == (1.0, 1.0) and int(high) in POINTS:
        builder.add("scale", name, text, points=int(high))
    else:
        builder.add_number(name, text, low, high, step, where)
    return {"parameters"}
