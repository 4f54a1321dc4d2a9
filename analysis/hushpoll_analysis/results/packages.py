"""The export for other programs: .sav and .dta files, a Frictionless Data Package, a DDI codebook, a script in base R.

Each carries the mechanism, the channel and epsilon of every column, so that nobody takes reports for answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.formatting import epsilon_text
from hushpoll_client.survey import Question
from hushpoll_client.survey.group import FIELD, OTHER

from hushpoll_analysis.data.released import PACKAGE, written_release
from hushpoll_analysis.data.tally import column_of
from hushpoll_analysis.errors import AnalysisError

from .asked import are_numbers, asked_facts, block_questions
from .labels import GROUP_TEXT, SPSS_NAME, STATA_LABEL, STATA_NAME, WARNING, column_names
from .method import question_note
from .reproduce import r_reproduce
from .stata_notes import VERSION, WHOLE, write_notes

__all__ = ["STATISTICAL", "data_package", "ddi_codebook", "package_files", "write_statistical"]

STATISTICAL = ("reports.sav", "reports.dta")
DDI = "ddi:codebook:2_5"
NO_REPORT = -9
"""The user-missing code of a row without a report, in SPSS."""
NO_REPORT_STATA = "a"
"""The same in Stata: the extended missing value .a."""
MISSING = "No report"
NOTE = 80


def package_files(
    survey: Survey, n: int, level: float, batch: float | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the files that need no data."""
    yield (
        PACKAGE,
        (json.dumps(data_package(survey, n, batch), ensure_ascii=False, indent=2) + "\n").encode(),
    )
    yield "codebook.xml", ddi_codebook(survey, n)
    yield "reproduce.R", r_reproduce(survey, level).encode()


def _facts(survey: Survey, question: Question | Block) -> dict[str, Any]:
    """Return what randomized a column, as data."""
    return {
        "asked": asked_facts(survey, question),
        "mechanism": question.mechanism.name,
        "parameters": question.mechanism.parameters,
        "channel": question.channel.to_json(),
        "epsilon": None if question.epsilon == float("inf") else question.epsilon,
        "epsilon_note": question.mechanism.epsilon_note,
    }


def data_package(survey: Survey, n: int, batch: float | None = None) -> dict[str, Any]:
    """Describe the export as a Frictionless Data Package (version 1), with what it has no word for under `hushpoll`."""
    fields = []
    for question in survey.entries:
        listed = bool(question.report_labels)
        field: dict[str, Any] = {
            "name": column_of(question.id),
            "title": question.text,
            "description": f"{WARNING} {question_note(question)}",
            "type": "integer" if listed else "string",
            "hushpoll": {**_facts(survey, question), "reports": list(question.report_labels)},
        }
        if listed:
            field["constraints"] = {"required": True, "minimum": 0, "maximum": question.channel.outcomes - 1}
        fields.append(field)
    if survey.groups:
        values = {"enum": [*survey.groups, OTHER]}
        fields.append({"name": FIELD, "title": GROUP_TEXT, "type": "string", "constraints": values})
    return {
        "profile": "tabular-data-package",
        "name": f"hushpoll-{survey.hash[:12]}",
        "title": survey.title,
        "description": WARNING,
        "sources": [{"title": "The survey as it was published", "path": "survey.json"}],
        "hushpoll": {
            "survey": survey.hash,
            "epsilon_total": epsilon_text(survey.epsilon_total),
            **({} if batch is None else {"released_together": written_release(batch)}),
        },
        "resources": [
            {
                "profile": "tabular-data-resource",
                "name": "reports",
                "path": "reports.csv",
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "hushpoll": {"rows": n},
                "schema": {"fields": fields, "missingValues": [""]},
            }
        ],
    }


def ddi_codebook(survey: Survey, n: int) -> bytes:
    """Describe the export as DDI-Codebook 2.5; the channel of a variable stands in a note of type hushpoll."""
    ElementTree.register_namespace("", DDI)
    root = ElementTree.Element(f"{{{DDI}}}codeBook", {"version": "2.5"})
    study = _child(root, "stdyDscr")
    title = _child(_child(study, "citation"), "titlStmt")
    _child(title, "titl", survey.title)
    _child(title, "IDNo", survey.hash, agency="SHA-256 of survey.json")
    info = _child(study, "stdyInfo")
    _child(info, "abstract", survey.intro or survey.title)
    _child(_child(study, "method"), "notes", WARNING, type="hushpoll", subject="randomization")
    text = _child(_child(root, "fileDscr", ID="F1"), "fileTxt")
    _child(text, "fileName", "reports.csv")
    size = _child(text, "dimensns")
    _child(size, "caseQnty", str(n))
    _child(size, "varQnty", str(len(survey.entries) + bool(survey.groups)))
    data = _child(root, "dataDscr")
    for number, question in enumerate(survey.entries, 1):
        _variable(data, survey, question, number)
    if survey.groups:
        _group_variable(data, survey)
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _variable(data: ElementTree.Element, survey: Survey, question: Question | Block, number: int) -> None:
    var = _child(data, "var", ID=f"V{number}", name=column_of(question.id), files="F1", intrvl="discrete")
    _child(var, "labl", f"Reported, not true: {question.text}")
    asked = _child(var, "qstn")
    _child(asked, "qstnLit", question.text)
    for one in block_questions(survey, question) if isinstance(question, Block) else ():
        _child(asked, "qstnLit", f"{one.id}: {one.text}")
    if question.decoy:
        _child(asked, "postQTxt", f"Decoy question: {question.decoy}")
    labels = question.report_labels
    if labels:
        _child(_child(var, "valrng"), "range", min="0", max=str(question.channel.outcomes - 1))
    for code, label in enumerate(() if are_numbers(labels) else labels):
        category = _child(var, "catgry")
        _child(category, "catValu", str(code))
        _child(category, "labl", label)
    kind = "numeric" if labels else "character"
    _child(var, "varFormat", None, type=kind)
    _child(var, "notes", question_note(question), type="hushpoll", subject="privacy")
    facts = json.dumps(_facts(survey, question), ensure_ascii=False)
    _child(var, "notes", facts, type="hushpoll", subject="channel")


def _group_variable(data: ElementTree.Element, survey: Survey) -> None:
    number = len(survey.entries) + 1
    var = _child(data, "var", ID=f"V{number}", name=FIELD, files="F1", intrvl="discrete")
    _child(var, "labl", GROUP_TEXT)
    for name in (*survey.groups, OTHER):
        _child(_child(var, "catgry"), "catValu", name)
    _child(var, "varFormat", None, type="character")


def _child(
    parent: ElementTree.Element, tag: str, text: str | None = None, **keys: str
) -> ElementTree.Element:
    one = ElementTree.SubElement(parent, f"{{{DDI}}}{tag}", keys)
    one.text = text
    return one


def write_statistical(survey: Survey, frame: pd.DataFrame, path: Path) -> None:
    """Write reports as .sav (SPSS) or .dta (Stata) with labels, a missing code, and what randomized each column."""
    try:
        import pyreadstat  # noqa: F401
    except ImportError:
        raise AnalysisError(
            "pyreadstat is not installed, which writes .sav and .dta", 'run pip install "hushpoll[files]"'
        ) from None
    write = {".sav": _write_sav, ".dta": _write_dta}.get(path.suffix)
    if write is None:
        raise AnalysisError(f"{path.name}: cannot tell the format to write", "name it .sav or .dta")
    write(survey, frame, path)


def _write_sav(survey: Survey, frame: pd.DataFrame, path: Path) -> None:
    import pyreadstat

    names = column_names(survey.entries, SPSS_NAME, fold_case=True)
    listed = {name: one for name, one in zip(names, survey.entries, strict=True) if one.report_labels}
    columns = {
        name: column.astype("float64").fillna(NO_REPORT) if name in listed else column.astype(str)
        for name, column in _columns(survey, names, frame).items()
    }
    notes = [
        line
        for name, one in zip(names, survey.entries, strict=True)
        for line in _in_lines(f"{name}: {json.dumps(_facts(survey, one))}")
    ]
    pyreadstat.write_sav(
        pd.DataFrame(columns),
        str(path),
        file_label=_title(survey)[:64],
        column_labels=_labels(survey, columns, 256),
        variable_value_labels={name: _codes(one) | {NO_REPORT: MISSING} for name, one in listed.items()},
        missing_ranges={name: [{"lo": NO_REPORT, "hi": NO_REPORT}] for name in listed},
        variable_measure=dict.fromkeys(columns, "nominal"),
        note=[*_in_lines(WARNING), *_in_lines(f"Survey {survey.hash}"), *notes],
    )


def _write_dta(survey: Survey, frame: pd.DataFrame, path: Path) -> None:
    import pyreadstat

    names = column_names(survey.entries, STATA_NAME, fold_case=False)
    listed = {name: one for name, one in zip(names, survey.entries, strict=True) if one.report_labels}
    columns = {
        name: _with_extended_missing(column) if name in listed else column.astype(str)
        for name, column in _columns(survey, names, frame).items()
    }
    lost = [name for name in listed if columns[name].dtype == object]
    values = {
        name: _codes(one) | ({NO_REPORT_STATA: MISSING} if name in lost else {})
        for name, one in listed.items()
    }
    pyreadstat.write_dta(
        pd.DataFrame(columns),
        str(path),
        file_label=_title(survey)[:80],
        column_labels=_labels(survey, columns, STATA_LABEL),
        version=VERSION,
        variable_value_labels=values,
        missing_user_values={name: [NO_REPORT_STATA] for name in lost},
    )
    facts = {name: [json.dumps(_facts(survey, one))] for name, one in zip(names, survey.entries, strict=True)}
    write_notes(path, {WHOLE: [WARNING, f"Survey {survey.hash}"], **facts})


def _with_extended_missing(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return whole numbers, and Stata's .a where there is no report."""
    if not column.isna().any():
        return column.astype("int32")
    return column.map(lambda value: NO_REPORT_STATA if pd.isna(value) else int(value)).astype(object)


def _columns(survey: Survey, names: Sequence[str], frame: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    found = {name: frame[column_of(one.id)] for name, one in zip(names, survey.entries, strict=True)}
    return found | ({FIELD: frame[FIELD]} if survey.groups and FIELD in frame.columns else {})


def _labels(survey: Survey, columns: Mapping[str, Any], limit: int) -> list[str | None]:
    found: list[str | None] = [_short_label(entry, limit) for entry in survey.entries]
    return [*found, *([GROUP_TEXT[:limit]] if FIELD in columns else [])]


def _codes(question: Question | Block) -> dict[Any, str]:
    return {code: label[:120] for code, label in enumerate(question.report_labels)}


def _title(survey: Survey) -> str:
    return f"hushpoll {survey.hash[:12]}: randomized reports, not true answers"


def _in_lines(text: str) -> list[str]:
    """Cut a text into the lines of a document of SPSS, which hold 80 bytes."""
    return [text[start : start + NOTE] for start in range(0, len(text), NOTE)]


def _short_label(question: Question | Block, limit: int) -> str:
    """Return the text with what randomized it; the latter is kept whole."""
    tail = f" [reported; {question.mechanism.name}, eps {epsilon_text(question.epsilon)}]"
    room = max(limit - len(tail.encode()), 0)
    head = question.text
    while len(head.encode()) > room:
        head = head[:-1]
    return (head + tail)[:limit]
