"""PDF and PNG files: what they say, that they are tagged, of one page, and the same each time."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hushpoll_analysis import AnalysisError, report
from hushpoll_analysis.results.fieldwork import Fieldwork, facts
from hushpoll_analysis.results.formats import by_file_name, format_by_name
from hushpoll_analysis.results.numbers import rounded
from hushpoll_analysis.results.survey import SurveyResults
from hushpoll_analysis.results.texts import Texts, texts_of
from hushpoll_analysis.sample.tally import Tally
from hushpoll_client import Survey

QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "bet",
        "kind": "yes_no",
        "text": "Have you bet *money* online?",
        "mechanism": {"name": "warner", "epsilon": 1},
    },
    {
        "id": "where",
        "kind": "choice",
        "text": "Where #do you bet?",
        "options": ["On a phone", "In a shop", "With friends"],
        "mechanism": {"name": "krr", "epsilon": 1},
    },
    {
        "id": "mood",
        "kind": "scale",
        "text": "How calm?",
        "points": 5,
        "mechanism": {"name": "krr", "epsilon": 1, "target": "cumulative"},
    },
]
SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Betting & <students>",
        "asked_by": {"name": "University of Somewhere", "contact": "study@example.org"},
        "questions": QUESTIONS,
    }
)
COUNTS = {"bet": [1100, 900], "where": [900, 600, 500], "mood": [500, 400, 400, 350, 350]}
KNOWN = Fieldwork(datetime.date(2026, 5, 1), datetime.date(2026, 5, 30), 12_000)


@pytest.fixture(scope="module")
def results() -> SurveyResults:
    estimated = report(SURVEY, Tally.from_counts(SURVEY, COUNTS), needed=0.05)
    return replace(estimated, fieldwork=KNOWN)


def text_of(pdf: bytes, tmp_path: Path) -> str:
    file = tmp_path / "a.pdf"
    file.write_bytes(pdf)
    done = subprocess.run(
        ["pdftotext", "-layout", str(file), "-"], capture_output=True, text=True, check=True
    )
    return re.sub(r"\s+", " ", done.stdout)


@pytest.mark.parametrize("one_page", [True, False])
def test_a_pdf_says_who_asked_when_and_what_was_found(
    results: SurveyResults, tmp_path: Path, one_page: bool
) -> None:
    text = text_of(results.to_pdf(one_page=one_page), tmp_path)
    for expected in (
        "Betting & <students>",
        "University of Somewhere · May 1, 2026 to May 30, 2026 · 2,000 reports · population 12,000",
        "Have you bet *money* online?",
        "Where #do you bet?",
        "Answers were randomized on respondents’ devices.",
        *(finding.text for finding in results.findings()),
    ):
        assert expected in text
    assert ("Method" in text) != one_page


def test_a_survey_of_one_day_has_one_date(results: SurveyResults) -> None:
    one_day = replace(results, fieldwork=Fieldwork(KNOWN.opened, KNOWN.opened))
    assert facts(one_day, texts_of(SURVEY, "en"))[1] == "May 1, 2026"


def test_a_pdf_is_tagged_and_the_same_each_time(results: SurveyResults) -> None:
    for one_page in (True, False):
        pdf = results.to_pdf("de", one_page=one_page)
        assert pdf == results.to_pdf("de", one_page=one_page)
        assert b"pdfuaid" in pdf
        assert b"/StructTreeRoot" in pdf


def test_a_full_report_finds_its_findings_once(
    results: SurveyResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for all questions: once for each makes a long survey's file take minutes."""
    languages: list[str] = []

    def counted(survey: Survey, language: str) -> Texts:
        languages.append(language)
        return texts_of(survey, language)

    monkeypatch.setattr("hushpoll_analysis.results.findings.texts_of", counted)
    assert len(results.questions) > 2
    replace(results).to_pdf("de")
    assert languages == ["de"]


def test_one_page_is_one_page_and_counts_what_it_leaves_out(tmp_path: Path) -> None:
    questions = [
        {**QUESTIONS[1], "id": f"q{number}", "text": "Where do you bet? " * 8} for number in range(14)
    ]
    survey = Survey.from_draft({"hushpoll": 1, "title": "Long", "questions": questions})
    counts = {f"q{number}": COUNTS["where"] for number in range(14)}
    pdf = report(survey, Tally.from_counts(survey, counts)).to_pdf(one_page=True)
    text = text_of(pdf, tmp_path)
    assert "\f" not in text
    shown = text.count("“On a phone”: ")
    assert 3 <= shown < 14
    assert f"More questions, in the full report: {14 - shown}" in text


def test_the_pdf_speaks_arabic(results: SurveyResults) -> None:
    assert results.to_pdf("ar", one_page=True).startswith(b"%PDF-")


@pytest.mark.parametrize("one_page", [True, False])
def test_letters_that_no_font_has_do_not_prevent_a_pdf(
    monkeypatch: pytest.MonkeyPatch, one_page: bool
) -> None:
    """UA-1 does not allow them, so the file is tagged all the same but does not claim to conform."""
    # No fonts of the machine: those of Typst have neither Thai nor emoji.
    monkeypatch.setattr("hushpoll_analysis.results.typesetting._OWN_LETTERS", re.compile("(?s:.*)"))
    question = {**QUESTIONS[1], "options": ["ร้านค้า", "😀", "With friends"]}
    survey = Survey.from_draft({"hushpoll": 1, "title": "Letters", "questions": [question]})
    pdf = report(survey, Tally.from_counts(survey, COUNTS)).to_pdf(one_page=one_page)
    assert b"/StructTreeRoot" in pdf
    assert b"pdfuaid" not in pdf


def test_groups_are_in_the_full_report(tmp_path: Path) -> None:
    import pandas as pd

    rows = 400
    table = pd.DataFrame(
        {
            "bet_reported": [index % 2 for index in range(rows)],
            "where_reported": [index % 3 for index in range(rows)],
            "mood_reported": [index % 5 for index in range(rows)],
            "sex": ["f" if index % 3 else "m" for index in range(rows)],
        }
    )
    grouped = report(SURVEY, table, by="sex")
    text = text_of(grouped.to_pdf(), tmp_path)
    assert "How calm? By: sex" in text
    assert "which may be chance" in text
    page = grouped.to_html()
    table = grouped.groups[2]
    assert "Means within groups" in page
    for mean in table.means:
        assert f"<strong>{rounded(mean.estimate, mean.se)}</strong>" in page
    assert page.index("Means within groups") < page.index("All 5 options"), "means first, shares folded"
    # The upper half of the scale is the mean of what is 1 there: the sum of its shares.
    assert table.upper_half is not None
    assert table.upper_option == "4"
    for share in table.upper_half.means:
        above = sum(s.estimate for s in table.shares if s.group == share.group and s.option in ("4", "5"))
        assert share.estimate == pytest.approx(above)
        assert f"{100 * share.estimate:.1f} %" in page
    assert "“4 or more”: “" in page
    shares = [share for share in grouped.groups[0].shares if share.group == "m"]
    assert f"{100 * shares[0].estimate:.1f}".replace("-", "−") in text


def test_a_picture_is_headed_by_its_finding_and_comes_as_png(results: SurveyResults) -> None:
    svg = results.to_svg("bet")
    for expected in (
        results.findings()[0].headline,
        "Have you bet *money* online?",
        "University of Somewhere · May 1, 2026 to May 30, 2026 · 2,000 reports",
        "Answers were randomized on respondents’ devices.",
        "Share of people",
    ):
        assert expected in re.sub(r"\s*</text>\s*<text[^>]*>\s*", " ", svg)
    assert "On average" in results.to_svg("mood")
    assert results.to_png("bet").startswith(b"\x89PNG")


def test_the_formats_write_the_same_files(results: SurveyResults) -> None:
    assert format_by_name("pdf").file_content(results) == results.to_pdf()
    assert format_by_name("summary").file_content(results) == results.to_pdf(one_page=True)
    assert by_file_name("a.summary.pdf").name == "summary"
    assert by_file_name("a.pdf").name == "pdf"


def test_without_typst_the_error_says_what_to_install(
    results: SurveyResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(AnalysisError, match="hushpoll\\[pdf\\]"):
        results.to_pdf()
