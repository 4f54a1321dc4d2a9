"""The results as text for a terminal, at most a hundred columns wide."""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .compliance import compliance_text
from .group_findings import group_findings, leaves_doubt
from .method import between, percent
from .numbers import in_unit, measure, quantile_name, rounded
from .shown import points, reported_words
from .wording import wording

if TYPE_CHECKING:
    from hushpoll_analysis.tables.means import GroupMean

    from .group_table import GroupTable
    from .numbers import Numbers
    from .question import QuestionResults
    from .survey import SurveyResults
    from .validity import Validity

TEXT_WIDTH = 100


def as_text(report: SurveyResults) -> str:
    """Write the report for a terminal."""
    lines = [
        report.survey.title,
        "=" * min(TEXT_WIDTH, _width(report.survey.title)),
        f"survey   {report.survey.hash}",
        f"reports  {report.n:,} (randomized)",
        f"privacy  {report.privacy}",
        f"level    {100 * report.level:g} %",
        *([f"note     {report.incomplete}"] if report.incomplete else []),
        "",
    ]
    if report.too_few:
        return "\n".join([*lines, *_wrapped(report.too_few), ""])
    lines += ["What was found", "--------------"]
    for finding in report.findings():
        lines += _wrapped(finding.question)
        lines += _wrapped(finding.text, "  ", "  ")
        lines += [] if finding.verdict is None else _wrapped(finding.verdict.text, "  ", "  ")
    lines.append("")
    for question in report.questions:
        lines += _question_text(question, report)
    if report.validity is not None:
        lines += _validity_text(report.validity)
    for table in report.groups:
        lines += _group_text(table)
    lines += ["Method", "------", *_wrapped(report.method.paragraph), ""]
    lines += [f"  {step.title}: {step.formula}" for step in report.method.formulas]
    lines += ["", "References", "----------"]
    for work in report.method.references:
        lines += _wrapped(work, "  ", "- ")
    lines += ["", "To repeat this report", "---------------------", report.snippet]
    return "\n".join(lines)


def _validity_text(validity: Validity) -> list[str]:
    rows = [["", "answer", "as reported", "corrected"], *(list(row) for row in validity.rows())]
    lines = [line for note in validity.notes for line in _wrapped(note)]
    table = []
    if len(rows) > 1:
        table = _aligned(rows)
    return ["Careless answers", "----------------", *_wrapped(validity.sentence), *table, *lines, ""]


def _question_text(question: QuestionResults, report: SurveyResults) -> list[str]:
    lines = [
        *_wrapped(f"{question.id}: {question.question.text}"),
        *_wrapped(f"{question.question.mechanism.name}; {question.privacy}"),
    ]
    if question.top:
        rows = [[f"the {len(question.top)} largest", "estimate", f"{100 * report.level:g} % interval"]]
        rows += [
            [_cut(line.option, 30), percent(line.shown_estimate), between(line.shown_low, line.shown_high)]
            for line in question.top
        ]
        lines += _aligned(rows)
    if question.among_asked:
        lines += _asked_text(question, f"{100 * report.level:g} %")
    if question.shares:
        lines += _share_text(question, f"{100 * report.level:g} %")
    if question.reports_are_options and question.shares:
        lines.append("  * reported, not true: what the devices sent after randomizing")
    else:
        words = reported_words(question)
        lines += _wrapped(words[0].lower() + words[1:], "  ", "  ")
    if question.numbers is not None:
        lines += _number_text(question.numbers, f"{100 * report.level:g} %")
    lines += _tick_text(question, f"{100 * report.level:g} %")
    for line in question.shares:
        unclipped = percent(line.estimate)
        if line.outside and unclipped != percent(line.shown_estimate):
            lines.append(f"  {_cut(line.option, 30)}: unclipped estimate {unclipped}")
    for remark in question.remarks:
        lines += _wrapped(remark, "    ", "  - ")
    for table in compliance_text(question):
        lines += _aligned(table)
    return [*lines, ""]


def _asked_text(question: QuestionResults, level: str) -> list[str]:
    rows = [["among those asked", "estimate", f"{level} interval", "SE", "SE privacy"]]
    for line in question.shown_among_asked:
        limits = between(line.shown_low, line.shown_high)
        errors = [f"{line.se:.4f}", f"{line.se_privacy:.4f}"]
        rows.append([_cut(line.option, 30), percent(line.shown_estimate), limits, *errors])
    return _aligned(rows)


def _share_text(question: QuestionResults, level: str) -> list[str]:
    title = ""
    if question.among_asked:
        title = "of everybody"
    rows = [[title, "estimate", f"{level} interval", "SE", "SE privacy"]]
    rows[0] += ["reported*"] if question.reports_are_options else []
    for line in question.shares:
        entry = line
        row = [
            _cut(line.option, 30),
            percent(line.shown_estimate),
            between(line.shown_low, line.shown_high),
        ]
        row += [f"{entry.se:.4f}", f"{entry.se_privacy:.4f}"]
        row += [f"{entry.reported:,}"] if question.reports_are_options else []
        rows.append(row)
    return _aligned(rows)


def _tick_text(question: QuestionResults, level: str) -> list[str]:
    """Write the number ticked, and how often two options are ticked together."""
    lines = []
    if question.ticked is not None:
        clipped, se = question.ticked.shown, question.ticked.se
        limits = f"{rounded(clipped.low, se)} – {rounded(clipped.high, se)}"
        rows = [
            ["", "estimate", f"{level} interval"],
            ["options ticked, on average", rounded(clipped.estimate, se), limits],
        ]
        lines += _aligned(rows)
    if question.pairs:
        rows = [["ticked together", "estimate", f"{level} interval"]]
        for pair in question.pairs:
            name = f"{_cut(pair.first, 20)} and {_cut(pair.second, 20)}"
            both = pair.both.shown
            rows.append([name, percent(both.estimate), between(both.low, both.high)])
        lines += _aligned(rows)
    return lines


def _number_text(numbers: Numbers, level: str) -> list[str]:
    rows = []
    unit = ""
    if numbers.unit:
        unit = f" ({numbers.unit})"
    if numbers.mean is not None:
        se, clipped = numbers.mean.se, numbers.mean.shown
        limits = f"{rounded(clipped.low, se)} – {rounded(clipped.high, se)}"
        rows.append([f"mean{unit}", rounded(clipped.estimate, se), limits])
    if numbers.quantiles is not None:
        rows += [
            [
                f"{quantile_name(entry.p)}{unit}",
                measure(entry.estimate),
                f"{measure(entry.low)} – {measure(entry.high)}",
            ]
            for entry in numbers.quantiles.entries
        ]
        iqr = numbers.quantiles.iqr
        limits = f"{measure(iqr.low)} – {measure(iqr.high)}"
        rows.append([f"interquartile range{unit}", measure(iqr.estimate), limits])
    lines = []
    if rows:
        lines = _aligned([["", "estimate", f"{level} interval"], *rows])
    if numbers.cumulative is not None:
        cumulative, heading = numbers.cumulative, "this or less"
        entries, band_entries = cumulative.estimates, cumulative.band
        if numbers.upward:
            heading = "this or more"
            entries, band_entries = cumulative.upward, cumulative.upward_band
        table = [[heading, "estimate", f"{level} interval", "band for all"]]
        for alone, both in zip(entries, band_entries, strict=True):
            limits, band = (between(entry.shown.low, entry.shown.high) for entry in (alone, both))
            table.append([_cut(alone.option, 30), percent(alone.shown.estimate), limits, band])
        lines += _aligned(table)
    return lines


def _group_notes(table: GroupTable) -> list[str]:
    """Return what to know about the sentences before."""
    texts = {
        "chance_note": leaves_doubt(table),
        "everybody_note": table.is_follow_up,
        "rounding_note": table.rounds_apart,
    }
    return [wording("en")(key) for key, applies in texts.items() if applies]


def _group_text(table: GroupTable) -> list[str]:
    lines = _wrapped(f"{table.id} by {table.by}: {table.question.text}")
    for sentence in (*group_findings(table), *_group_notes(table)):
        lines += _wrapped(sentence, "  ", "  ")
    rows = [["", *table.groups]] if table.groups else []
    for option in table.options:
        cells = []
        for share in table.of_option(option):
            interval = f"({between(*share.limits)[:-2]})"
            cells.append("–" if math.isnan(share.estimate) else f"{percent(share.estimate)} {interval}")
        rows.append([_cut(option, 30), *cells])
    if table.means:
        name = f"mean ({table.unit})" if table.unit else "mean"
        rows.append([name, *(_mean_cell(mean) for mean in table.means)])
    lines += _aligned(rows)
    if table.test:
        lines += _wrapped(f"Independence: {table.test}", "  ", "  ")
    for difference in table.differences:
        if not math.isnan(difference.difference):
            chance = "p < 0.0001" if difference.p_value < 1e-4 else f"p = {difference.p_value:.4f}"
            groups = f"{difference.group} against {difference.reference}"
            low, high = points(difference.low), points(difference.high)
            text = f"{difference.option}: {groups} {points(difference.difference)} points ({low} to {high}), {chance}"
            lines += _wrapped(text, "    ", "  - ")
    for gap in table.mean_differences:
        chance = "p < 0.0001" if gap.p_value < 1e-4 else f"p = {gap.p_value:.4f}"
        low, middle, high = (rounded(value, gap.se) for value in (gap.low, gap.difference, gap.high))
        text = in_unit(f"mean: {gap.group} against {gap.reference} {middle}", table.unit)
        lines += _wrapped(f"{text} ({low} to {high}), {chance}", "    ", "  - ")
    for note in table.notes:
        lines += _wrapped(note, "    ", "  - ")
    return [*lines, ""]


def _mean_cell(mean: GroupMean) -> str:
    if math.isnan(mean.estimate):
        return "–"
    low, middle, high = (rounded(value, mean.se) for value in (mean.low, mean.estimate, mean.high))
    return f"{middle} ({low} – {high})"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Pad a table: the first column to the left, the others to the right."""
    if not rows:
        return []
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        first = row[0] + " " * (widths[0] - _width(row[0]))
        rest = [" " * (width - _width(cell)) + cell for width, cell in zip(widths[1:], row[1:], strict=True)]
        lines.append(("  " + "  ".join([first, *rest])).rstrip())
    return lines


def _width(text: str) -> int:
    """Columns that a text takes on a terminal: wide letters two, combining marks none."""
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def _wrapped(text: str, indent: str = "", first: str | None = None) -> list[str]:
    start = indent if first is None else first
    return textwrap.wrap(text, TEXT_WIDTH, initial_indent=start, subsequent_indent=indent) or [""]


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: limit - 1] + "…"
