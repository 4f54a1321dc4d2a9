"""The export for other programs: .sav and .dta files, a Frictionless Data Package, a DDI codebook, a script in base R.

Each carries the mechanism, the channel and epsilon of every column, so that nobody takes reports for answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.group import FIELD, OTHER
from hushpoll_client.survey import Question
from hushpoll_client.words import epsilon_text

from hushpoll_analysis.channel.decoy import estimated_decoy
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.data.tally import column_of
from hushpoll_analysis.errors import AnalysisError

from .asked import are_numbers, asked_facts
from .labels import GROUP_TEXT, SPSS_NAME, STATA_LABEL, STATA_NAME, WARNING, column_names
from .method import question_note

__all__ = ["STATISTICAL", "data_package", "ddi_codebook", "package_files", "r_reproduce", "write_statistical"]

STATISTICAL = ("reports.sav", "reports.dta")
DDI = "ddi:codebook:2_5"
NO_REPORT = -9
"""The user-missing code of a row without a report."""
LARGEST_TABLE = 200_000
NOTE = 80


def package_files(survey: Survey, n: int) -> Iterator[tuple[str, bytes]]:
    """Give name and content of the files that need no data."""
    yield (
        "datapackage.json",
        (json.dumps(data_package(survey, n), ensure_ascii=False, indent=2) + "\n").encode(),
    )
    yield "codebook.xml", ddi_codebook(survey, n)
    yield "reproduce.R", r_reproduce(survey).encode()


def _facts(question: Question | Block) -> dict[str, Any]:
    """Give what randomized a column, as data."""
    return {
        "asked": asked_facts(question),
        "mechanism": question.mechanism.name,
        "parameters": question.mechanism.parameters,
        "channel": question.channel.to_json(),
        "epsilon": None if question.epsilon == float("inf") else question.epsilon,
        "epsilon_note": question.mechanism.epsilon_note,
    }


def data_package(survey: Survey, n: int) -> dict[str, Any]:
    """Describe the export as a Frictionless Data Package (version 1), with what it has no word for under `hushpoll`."""
    fields = []
    for question in survey.entries:
        listed = bool(question.report_labels)
        field: dict[str, Any] = {
            "name": column_of(question.id),
            "title": question.text,
            "description": f"{WARNING} {question_note(question)}",
            "type": "integer" if listed else "string",
            "hushpoll": {**_facts(question), "reports": list(question.report_labels)},
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
        "hushpoll": {"survey": survey.hash, "epsilon_total": epsilon_text(survey.epsilon_total)},
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
        _variable(data, question, number)
    if survey.groups:
        _group_variable(data, survey)
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _variable(data: ElementTree.Element, question: Question | Block, number: int) -> None:
    var = _child(data, "var", ID=f"V{number}", name=column_of(question.id), files="F1", intrvl="discrete")
    _child(var, "labl", f"Reported, not true: {question.text}")
    _child(_child(var, "qstn"), "qstnLit", question.text)
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
    _child(var, "notes", json.dumps(_facts(question), ensure_ascii=False), type="hushpoll", subject="channel")


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


def r_reproduce(survey: Survey) -> str:
    """Write a script in base R that recomputes estimates and standard errors from reports.csv."""
    lines = [
        f"# Estimates of survey {survey.hash} from reports.csv, in base R.",
        f"# {WARNING}",
        "# b has a row an answer and a column a report: estimate = b f, se^2 = (b^2 f - estimate^2)/(n - 1).",
        'reports <- read.csv("reports.csv", check.names = FALSE)',
        "found <- NULL",
        "add <- function(question, options, column, b, epsilon, drift = NULL, share = 0, of = Inf) {",
        "  f <- tabulate(reports[[column]] + 1, nbins = ncol(b)) / nrow(reports)",
        "  estimate <- as.vector(b %*% f)",
        "  variance <- (as.vector(b^2 %*% f) - estimate^2) / (nrow(reports) - 1)",
        "  # A decoy's share that was counted in another poll has its own error.",
        "  if (!is.null(drift))",
        "    variance <- variance + as.vector(b %*% t(drift) %*% estimate)^2 * share * (1 - share) / of",
        "  found <<- rbind(found, data.frame(question, option = options, estimate, se = sqrt(variance), epsilon))",
        "}",
    ]
    for question in survey.questions:
        lines += _r_question(question)
    lines += ['write.csv(found, "table_R.csv", row.names = FALSE)', "print(found, digits = 6)", ""]
    return "\n".join(lines)


def _r_question(question: Question) -> list[str]:
    if question.block is not None:
        return [f"# {question.id}: its reports stand in {column_of(question.block)}; see reproduce.py."]
    if not question.channel.listed or question.answers.spacing:
        return [f"# {question.id}: its reports speak of several answers at once; see reproduce.py."]
    view = channel_view(question.mechanism)
    if view.options * view.outcomes > LARGEST_TABLE:
        return [f"# {question.id}: {view.options} answers are too many for a script; see reproduce.py."]
    weights = view.shares(np.eye(view.outcomes)).T
    options = ", ".join(_r(label) for label in question.labels)
    epsilon = "Inf" if question.epsilon == float("inf") else repr(float(question.epsilon))
    call = (
        f"add({_r(question.id)}, c({options}), {_r(column_of(question.id))}, {_r_matrix(weights)}, {epsilon}"
    )
    decoy = estimated_decoy(question.mechanism)
    if decoy is not None:
        call += f", {_r_matrix(decoy.within - decoy.without)}, {decoy.share!r}, {decoy.of}"
    return [f"# {question.mechanism.name} {json.dumps(question.mechanism.parameters)}", f"{call})"]


def _r_matrix(table: Any) -> str:
    numbers = ", ".join(repr(float(value)) for value in np.asarray(table).reshape(-1))
    return f"matrix(c({numbers}), nrow = {len(table)}, byrow = TRUE)"


def _r(text: str) -> str:
    """Quote a text for R; everything but plain letters is escaped."""
    plain = (c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return '"' + "".join(plain) + '"'


def write_statistical(survey: Survey, frame: pd.DataFrame, path: Path) -> None:
    """Write reports as .sav (SPSS) or .dta (Stata) with labels, a missing code, and what randomized each column."""
    try:
        import pyreadstat
    except ImportError:
        raise AnalysisError(
            "pyreadstat is not installed, which writes .sav and .dta", 'run pip install "hushpoll[files]"'
        ) from None
    stata = path.suffix == ".dta"
    if not stata and path.suffix != ".sav":
        raise AnalysisError(f"{path.name}: cannot tell the format to write", "name it .sav or .dta")
    names = column_names(survey.entries, STATA_NAME if stata else SPSS_NAME, fold_case=not stata)
    columns: dict[str, Any] = {}
    labels: list[str | None] = []
    values: dict[str, Any] = {}
    missing: dict[str, Any] = {}
    for name, question in zip(names, survey.entries, strict=True):
        listed = bool(question.report_labels)
        column = frame[column_of(question.id)]
        columns[name] = column.astype("float64").fillna(NO_REPORT) if listed else column.astype(str)
        labels.append(_short_label(question, STATA_LABEL if stata else 256))
        if listed:
            values[name] = {code: label[:120] for code, label in enumerate(question.report_labels)}
            values[name][NO_REPORT] = "No report"
            missing[name] = [{"lo": NO_REPORT, "hi": NO_REPORT}]
    if survey.groups and FIELD in frame.columns:
        columns[FIELD] = frame[FIELD].astype(str)
        labels.append(GROUP_TEXT[: STATA_LABEL if stata else 256])
    table = pd.DataFrame(columns)
    title = f"hushpoll {survey.hash[:12]}: randomized reports, not true answers"
    if stata:
        whole = {
            name: column.astype("int32") if column.dtype.kind == "f" else column
            for name, column in table.items()
        }
        pyreadstat.write_dta(
            pd.DataFrame(whole),
            str(path),
            file_label=title[:80],
            column_labels=labels,
            variable_value_labels=values,
        )
        return
    notes = [
        line
        for name, one in zip(names, survey.entries, strict=True)
        for line in _in_lines(f"{name}: {json.dumps(_facts(one))}")
    ]
    pyreadstat.write_sav(
        table,
        str(path),
        file_label=title[:64],
        column_labels=labels,
        variable_value_labels=values,
        missing_ranges=missing,
        variable_measure=dict.fromkeys(columns, "nominal"),
        note=[*_in_lines(WARNING), *_in_lines(f"Survey {survey.hash}"), *notes],
    )


def _in_lines(text: str) -> list[str]:
    """Cut a text into the lines of a document of SPSS, which hold 80 bytes."""
    return [text[start : start + NOTE] for start in range(0, len(text), NOTE)]


def _short_label(question: Question | Block, limit: int) -> str:
    """Give the text with what randomized it; the latter is kept whole."""
    tail = f" [reported; {question.mechanism.name}, eps {epsilon_text(question.epsilon)}]"
    room = max(limit - len(tail.encode()), 0)
    head = question.text
    while len(head.encode()) > room:
        head = head[:-1]
    return (head + tail)[:limit]
