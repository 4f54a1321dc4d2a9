"""The export for other programs: a Frictionless Data Package, a DDI codebook, a script in base R.

Each carries the mechanism, the channel and epsilon of every column, so that reports are not mistaken for answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from hushpoll_client import Block, Survey
from hushpoll_client.formatting import epsilon_text
from hushpoll_client.survey import Question
from hushpoll_client.survey.group import FIELD, OTHER

from hushpoll_analysis.sample.released import PACKAGE, written_release
from hushpoll_analysis.sample.tally import column_of

from .asked import are_numbers, block_questions, channel_facts
from .labels import GROUP_TEXT, WARNING
from .method import question_note
from .reproduce import r_reproduce

DDI = "ddi:codebook:2_5"


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
            "hushpoll": {**channel_facts(survey, question), "reports": list(question.report_labels)},
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
    text = _child(var, "qstn")
    _child(text, "qstnLit", question.text)
    for member in block_questions(survey, question) if isinstance(question, Block) else ():
        _child(text, "qstnLit", f"{member.id}: {member.text}")
    if question.decoy:
        _child(text, "postQTxt", f"Decoy question: {question.decoy}")
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
    facts = json.dumps(channel_facts(survey, question), ensure_ascii=False)
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
    element = ElementTree.SubElement(parent, f"{{{DDI}}}{tag}", keys)
    element.text = text
    return element
