"""XLSForm: the sheets `survey`, `choices` and `settings` of ODK, KoBo and others."""

from __future__ import annotations

from pathlib import Path

from hushpoll_client import HushpollError

from .draft import Builder, Imported, plain_text
from .xlsx import read_sheets

__all__ = ["read_xlsform"]

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
CARELESS = ("constraint", "calculation", "appearance", "default", "repeat_count", "choice_filter", "hint")


def read_xlsform(path: Path, epsilon: float) -> Imported:
    """Read an XLSForm into a draft."""
    sheets = {name.lower(): _table(rows) for name, rows in read_sheets(path).items()}
    if "survey" not in sheets:
        raise HushpollError(f"{path.name}: there is no sheet called survey", "an XLSForm has one")
    settings = (sheets.get("settings") or [{}])[0]
    builder = Builder(plain_text(settings.get("form_title") or settings.get("title") or path.stem), epsilon)
    choices: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    for row in sheets.get("choices", []):
        key = row.get("list_name") or row.get("list name") or ""
        choices.setdefault(key, []).append(plain_text(_label(row) or row.get("name", "")))
        names.setdefault(key, []).append(row.get("name", ""))
    for number, row in enumerate(sheets["survey"], 2):
        if row.get("type"):
            _question(builder, row, choices, names, f"survey row {number} ({row.get('name') or row['type']})")
    return builder.finish()


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
    if "label" in row:
        return row["label"]
    return next((value for key, value in row.items() if key.startswith("label")), "")


def _question(
    builder: Builder,
    row: dict[str, str],
    choices: dict[str, list[str]],
    names: dict[str, list[str]],
    where: str,
) -> None:
    kind, _, rest = row["type"].partition(" ")
    name, text = row.get("name", kind), _label(row) or row.get("name", kind)
    if row["type"].lower() in QUIET:
        builder.skip(where, f"{row['type']} is no question")
        return
    if kind in ("select_one", "select_multiple"):
        key = rest.split()[0] if rest else ""
        options = choices.get(key, [])
        if len(options) < 2 or len(set(options)) != len(options):
            builder.skip(where, f"the list {key!r} needs at least two different choices")
            return
        _selected(builder, kind, name, text, options, names[key], where)
    elif kind in ("integer", "decimal", "range"):
        builder.skip(where, f"{kind}: a number needs its smallest and largest value; add it by hand")
        return
    elif kind == "note":
        builder.intro = " ".join(filter(None, [builder.intro, plain_text(text)]))
        return
    else:
        builder.skip(where, f"answers of type {row['type']} cannot be randomized")
        return
    for key in CARELESS:
        if row.get(key):
            builder.skip(where, f"{key} {row[key]!r} is left out")
    if row.get("relevant"):
        builder.skip(where, f"the skip rule {row['relevant']!r} is left out; add it with after")
    others = [key for key in row if key.startswith("label:")]
    if others:
        builder.skip(where, f"translations are left out ({', '.join(others)})")


def _selected(
    builder: Builder, kind: str, name: str, text: str, options: list[str], codes: list[str], where: str
) -> None:
    if kind == "select_multiple":
        builder.add("multiple", name, text, options=options)
        return
    if {code.lower() for code in codes} in YES_NO:
        builder.add("yes_no", name, text)
        if {option.lower() for option in options} != {"yes", "no"}:
            builder.skip(where, f"its words {', '.join(options)} become Yes and No")
        return
    builder.add("choice", name, text, options=options)
