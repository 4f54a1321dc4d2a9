"""Label scripts for SPSS, Stata and R: read reports.csv, name what every code means, and say that it is a report.

Texts come from survey designers, so every one is quoted for its language; names are kept within each program's limits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from hushpoll_client import Block, Survey
from hushpoll_client.survey import Question
from hushpoll_client.survey.group import FIELD, OTHER

from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.sample.tally import column_of

Labels = Sequence[tuple[Question | Block, Sequence[str]]]

GROUP_TEXT = "Group, named openly by the link that was used: exact, not randomized"
WARNING = "These are randomized reports, not true answers: plain frequencies of them are biased."
SPSS_NAME, SPSS_VARIABLE_LABEL, SPSS_VALUE_LABEL = 64, 256, 120
STATA_NAME, STATA_LABEL = 32, 80


def spss_script(survey: Survey, labels: Labels) -> str:
    """Write the SPSS syntax."""
    names = column_names([question for question, _ in labels], SPSS_NAME, fold_case=True)
    formats = [_spss_format(question) for question, _ in labels]
    lines = [
        f"* Survey {survey.hash}.",
        f"* {WARNING}",
        "SET UNICODE=ON.",
        'GET DATA /TYPE=TXT /FILE="reports.csv" /ENCODING="UTF8" /DELIMITERS="," /QUALIFIER=\'"\'',
        "  /ARRANGEMENT=DELIMITED /FIRSTCASE=2 /VARIABLES=",
        *(f"  {name} {kind}" for name, kind in zip(names, formats, strict=True)),
        *([f"  {FIELD} A{_widest(survey)}"] if survey.groups else []),
        "  .",
    ]
    for name, (question, codes) in zip(names, labels, strict=True):
        lines.append(f"VARIABLE LABELS {name} {_spss(_label(question), SPSS_VARIABLE_LABEL)}.")
        if codes:
            lines.append(f"VALUE LABELS {name}")
            lines += [f"  {code} {_spss(text, SPSS_VALUE_LABEL)}" for code, text in enumerate(codes)]
            lines.append("  .")
        lines.append(f"VARIABLE LEVEL {name} (NOMINAL).")
    if survey.groups:
        lines.append(f"VARIABLE LABELS {FIELD} {_spss(GROUP_TEXT, SPSS_VARIABLE_LABEL)}.")
    return "\n".join([*lines, "EXECUTE.", ""])


def stata_script(survey: Survey, labels: Labels) -> str:
    """Write the Stata do-file. Columns are read by position: Stata would cut names at 32 characters by itself."""
    names = column_names([question for question, _ in labels], STATA_NAME, fold_case=False)
    lines = [
        "version 14",
        f"* Survey {survey.hash}",
        f"* {WARNING}",
        'import delimited using "reports.csv", varnames(nonames) rowrange(2) encoding("utf-8") clear',
    ]
    for position, (name, (question, codes)) in enumerate(zip(names, labels, strict=True), 1):
        lines.append(f"rename v{position} {name}")
        lines.append(f"label variable {name} {_stata(_label(question), STATA_LABEL)}")
        lines.append(f"notes {name}: {_stata(question.text, 1000)}")
        lines += [
            f"label define q{position} {code} {_stata(text, 1000)}{', add' if code else ''}"
            for code, text in enumerate(codes)
        ]
        if codes:
            lines.append(f"label values {name} q{position}")
    if survey.groups:
        lines.append(f"rename v{len(names) + 1} {FIELD}")
        lines.append(f"label variable {FIELD} {_stata(GROUP_TEXT, STATA_LABEL)}")
    return "\n".join([*lines, ""])


def r_script(survey: Survey, labels: Labels) -> str:
    """Write the R script: factors with labels, and the question's text as attribute `label`."""
    lines = [
        f"# Survey {survey.hash}",
        f"# {WARNING}",
        f'reports <- read.csv("reports.csv", check.names = FALSE{_r_text(labels)})',
    ]
    for question, codes in labels:
        column = f"reports[[{_r(column_of(question.id))}]]"
        if not codes:
            lines.append(f'attr({column}, "label") <- {_r(_label(question))}')
            continue
        values = ",\n    ".join(_r(text) for text in codes)
        lines.append(f"{column} <- factor({column}, levels = 0:{len(codes) - 1}, labels = c(\n    {values}))")
        lines.append(f'attr({column}, "label") <- {_r(_label(question))}')
    if survey.groups:
        lines.append(f'attr(reports[[{_r(FIELD)}]], "label") <- {_r(GROUP_TEXT)}')
    return "\n".join([*lines, ""])


def _widest(survey: Survey) -> int:
    """Return the bytes of the longest name in the column of groups, with room for a guard."""
    return 1 + max(len(name.encode()) for name in (*survey.groups, OTHER))


def _r_text(labels: Labels) -> str:
    """Keep bitmaps as text, also where all their digits are decimal ones."""
    text = [question for question, _ in labels if sampler(question.channel).digits]
    named = ", ".join(f'{_r(column_of(question.id))} = "character"' for question in text)
    if text:
        return f", colClasses = c({named})"
    return ""


def _spss_format(question: Question | Block) -> str:
    digits = sampler(question.channel).digits
    if digits:
        return f"A{digits}"
    return f"F{len(str(question.channel.outcomes - 1))}.0"


def _label(question: Question | Block) -> str:
    return f"reported, not true: {question.text}"


def column_names(questions: Sequence[Question | Block], limit: int, fold_case: bool) -> list[str]:
    """Return every column a name the program accepts; one that is too long or taken becomes q<place>_reported."""
    used: set[str] = set()
    names = []
    for position, question in enumerate(questions, 1):
        name = column_of(question.id)
        key = name.lower() if fold_case else name
        if len(name) > limit or key in used:
            name = f"q{position}_reported"
            key = name
            while key in used:
                name = key = f"x{name}"
        used.add(key)
        names.append(name)
    return names


def _spss(text: str, limit: int) -> str:
    """Quote for SPSS: doubled apostrophes; limits count bytes."""
    return "'" + _cut(text, limit).replace("'", "''") + "'"


def _stata(text: str, limit: int) -> str:
    """Quote for Stata. Backquotes and dollar signs would expand macros and quotes could end the string."""
    harmless = text.translate(str.maketrans('`"$\\', "''＄/"))
    return '`"' + harmless[:limit].rstrip() + "\"'"


def _r(text: str) -> str:
    """Quote for R: JSON's escapes of quote and backslash are R's."""
    return json.dumps(text, ensure_ascii=False)


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode("utf-8", "ignore")
