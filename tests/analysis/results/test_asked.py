"""The codebooks of an export tell what every kind of question asked."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.results.export import export_files

SURVEY = read_draft(
    {
        "hushpoll": 1,
        "title": "All kinds",
        "questions": [
            {"id": "did", "kind": "yes_no", "text": "Did you?", "mechanism": {"epsilon": 1}},
            {
                "id": "why",
                "kind": "choice",
                "text": "Why?",
                "options": ["Time", "Fear", "Habit"],
                "after": {"question": "did", "answers": ["Yes"]},
                "mechanism": {"epsilon": 1},
            },
            {
                "id": "mood",
                "kind": "scale",
                "text": "How often?",
                "points": 5,
                "labels": ["Never", "Always"],
                "mechanism": {"epsilon": 1, "target": "cumulative"},
            },
            {
                "id": "hours",
                "kind": "number",
                "text": "Hours?",
                "min": 0,
                "max": 80,
                "step": 1,
                "unit": "hours",
                "mechanism": {"epsilon": 1, "target": "mean"},
            },
            {
                "id": "age",
                "kind": "number",
                "text": "Age?",
                "min": 18,
                "max": 97,
                "step": 1,
                "mechanism": {"epsilon": 1, "target": "distribution", "bins": 20},
            },
            {
                "id": "used",
                "kind": "multiple",
                "text": "Which?",
                "options": ["a", "b", "c", "d"],
                "at_most": 2,
                "mechanism": {"epsilon": 2},
            },
        ],
    }
)
EXPECTED = {
    "did": {"kind": "yes_no"},
    "why": {"kind": "choice", "after": {"question": "did", "answers": ["Yes"]}},
    "mood": {"kind": "scale", "points": 5, "labels": ["Never", "Always"], "target": "cumulative"},
    "hours": {"kind": "number", "unit": "hours", "target": "mean"},
    "age": {"kind": "number", "target": "distribution", "bins": 20},
    "used": {"kind": "multiple", "at_most": 2, "options": ["a", "b", "c", "d"]},
}


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {name: content.decode("utf-8-sig") for name, content in export_files(SURVEY, 1000)}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_codebook_tells_what_was_asked(name: str, files: dict[str, str]) -> None:
    rows = [
        row
        for row in csv.DictReader(io.StringIO(files["codebook.csv"]))
        if row["column"] == f"{name}_reported"
    ]
    descriptions = [json.loads(row["asked"]) for row in rows]
    variables = ElementTree.fromstring(files["codebook.xml"]).iter("{ddi:codebook:2_5}var")
    (variable,) = (entry for entry in variables if entry.get("name") == f"{name}_reported")
    (note,) = (
        entry for entry in variable.iter("{ddi:codebook:2_5}notes") if entry.get("subject") == "channel"
    )
    for description in (*descriptions, json.loads(note.text or "")["asked"]):
        assert description.items() >= EXPECTED[name].items()
        if name in ("hours", "age"):
            assert {str(description[key]) for key in ("min", "max", "step")} >= {"1"}
    section = (
        files["codebook.md"].split(f"## {name.replace('_', chr(92) + '_')}_reported")[1].split("\n## ")[0]
    )
    for key, value in EXPECTED[name].items():
        if key in ("points", "target", "bins", "unit", "at_most"):
            assert f"{key.replace('_', chr(92) + '_')} {value}" in section
    if name == "why":
        assert "shown only after did = Yes" in section
        assert "does not apply" in section.lower()
    if name == "mood":
        assert "Never … Always" in section


def test_reports_without_words_take_one_row(files: dict[str, str]) -> None:
    rows = list(csv.DictReader(io.StringIO(files["codebook.csv"])))
    for name in ("mood", "hours", "age"):
        (row,) = [row for row in rows if row["column"] == f"{name}_reported"]
        outcomes = SURVEY.question(name).channel.outcomes
        assert row["code"] == f"0 to {outcomes - 1}"
        assert f"Reports 0 to {outcomes - 1}" in files["codebook.md"]
    assert len([row for row in rows if row["column"] == "why_reported"]) == 4
    assert "| 7 | 7 |" not in files["codebook.md"]
