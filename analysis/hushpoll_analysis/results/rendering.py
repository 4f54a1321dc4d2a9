"""The report as text, JSON, CSV and HTML. Every text of a survey is escaped for where it goes."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2
from hushpoll_client import __version__
from hushpoll_client.words import epsilon_text, factor_text
from markupsafe import Markup

from .curves import cumulative_panel, histogram_panel
from .export import guarded_csv
from .figures import axis_for
from .findings import group_findings
from .method import percent
from .numbers import in_unit, measure, quantile_name, rounded
from .texts import texts_of

if TYPE_CHECKING:
    from hushpoll_analysis.tables.means import GroupMean

    from .groups import GroupTable
    from .numbers import Numbers
    from .question import QuestionResults
    from .survey import SurveyResults
    from .validity import Validity

__all__ = [
    "as_body",
    "as_csv",
    "as_groups",
    "as_html",
    "as_json",
    "as_method",
    "as_notebook",
    "as_text",
    "environment",
    "stylesheet",
]

TEXT_WIDTH = 100


def as_json(report: SurveyResults, indent: int | None = None) -> str:
    """Write one JSON object; a number that JSON cannot write would be an error, not a nan."""
    return json.dumps(report.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)


def as_csv(report: SurveyResults) -> str:
    """Give the table of estimates; empty where a number cannot be given.

    With groups, their shares follow in the same columns, and `by`, `group` and `note` are added.
    """
    frame = report.to_frame()
    columns = [*frame.columns, *(["by", "group", "note"] if report.by is not None else [])]
    lines: list[dict[Any, Any]] = [*frame.to_dict(orient="records"), *_group_lines(report)]
    rows: list[list[object]] = [list(columns)]
    rows += [[_cell(line.get(column)) for column in columns] for line in lines]
    return guarded_csv(rows)


def _group_lines(report: SurveyResults) -> list[dict[Any, Any]]:
    lines = []
    for table in report.groups:
        common = {
            "question": table.id,
            "by": table.by,
            "level": report.level,
            "mechanism": table.question.mechanism.name,
            "epsilon": table.question.epsilon,
        }
        for share in table.shares:
            shown = {"shown_estimate": share.shown_estimate, "quantity": "share"}
            lines.append(common | vars(share) | shown)
        lines += [common | vars(one) | {"quantity": "mean"} for one in table.means]
    return lines


def as_html(report: SurveyResults, language: str = "en") -> str:
    """Write one self-contained file."""
    page = environment().get_template("report.html")
    body = as_body(report, language=language)
    style = stylesheet(alone=True)
    texts = texts_of(report.survey, language)
    return page.render(report=report, body=body, style=style, version=__version__, w=texts.say, t=texts)


def as_body(
    report: SurveyResults,
    heading: int = 2,
    method: bool = True,
    language: str = "en",
    picture_address: Callable[[str], str] | None = None,
) -> Markup:
    """Write the report without page around it, for a page that has its own head and title.

    `picture_address` says where the picture of a question, by its id, can be had as a file.
    """
    values = {"method": method, "picture_address": picture_address}
    return _part("body.html", report, heading, language, **values)


def as_method(report: SurveyResults, heading: int = 2) -> Markup:
    """Only the method, for a page that puts something before it."""
    return Markup('<div class="report">{}</div>').format(_part("method.html", report, heading, "en"))


def as_groups(report: SurveyResults, heading: int = 2, language: str = "en") -> Markup:
    """Only the tables by groups, for a page that shows two questions."""
    return _part("two_questions.html", report, heading, language)


def _part(name: str, report: SurveyResults, heading: int, language: str, **values: Any) -> Markup:
    template = environment().get_template(name)
    texts = texts_of(report.survey, language)
    text = template.render(report=report, h=heading, w=texts.say, t=texts, **values)
    return Markup(text)  # noqa: S704 - the templates escape every value


def as_notebook(report: SurveyResults) -> str:
    """Write the report for a notebook's cell: its style applies to nothing else."""
    title = Markup("<h1>{}</h1>").format(report.survey.title)
    style = (
        stylesheet(alone=True)
        .replace("\nbody {", "\n.report-alone {")
        .replace("\nmain {", "\n.report-alone main {")
    )
    style = style.replace("\nh1 {", "\n.report-alone h1 {")
    return f'<style>{style}</style><div class="report-alone"><main>{title}{as_body(report)}</main></div>'


@cache
def stylesheet(alone: bool = False) -> str:
    """Give the rules of the report; `alone` adds the palette that pages bring themselves."""
    names = ["palette.css", "report.css"] if alone else ["report.css"]
    folder = files(__package__) / "templates"
    return "\n".join((folder / name).read_text("utf-8") for name in names)


def as_text(report: SurveyResults) -> str:
    """Write the report for a terminal."""
    lines = [
        report.survey.title,
        "=" * min(TEXT_WIDTH, _width(report.survey.title)),
        f"survey   {report.survey.hash}",
        f"reports  {report.n:,} (randomized)",
        f"privacy  {report.privacy}",
        f"level    {100 * report.level:g} %",
        "",
    ]
    if report.too_few:
        return "\n".join([*lines, *_wrapped(report.too_few), ""])
    lines += ["What was found", "--------------"]
    for one in report.findings():
        lines += _wrapped(one.question)
        lines += _wrapped(one.text, "  ", "  ")
        lines += [] if one.verdict is None else _wrapped(one.verdict.text, "  ", "  ")
    lines.append("")
    for part in report.questions:
        lines += _question_text(part, report)
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
    said = [line for note in validity.notes for line in _wrapped(note)]
    table = _aligned(rows) if len(rows) > 1 else []
    return ["Careless answers", "----------------", *_wrapped(validity.sentence), *table, *said, ""]


def _question_text(part: QuestionResults, report: SurveyResults) -> list[str]:
    lines = [
        *_wrapped(f"{part.id}: {part.question.text}"),
        *_wrapped(f"{part.question.mechanism.name}; {part.privacy}"),
    ]
    if part.top:
        rows = [[f"the {len(part.top)} largest", "estimate", f"{100 * report.level:g} % together"]]
        rows += [
            [_cut(one.option, 30), percent(one.shown.estimate), _interval(one.shown.low, one.shown.high)]
            for one in part.top
        ]
        lines += _aligned(rows)
    if part.lines:
        lines += _share_text(part, f"{100 * report.level:g} %")
    if part.reports_are_options and part.lines:
        lines.append("  * reported, not true: what the devices sent after randomizing")
    else:
        words = reported_words(part)
        lines += _wrapped(words[0].lower() + words[1:], "  ", "  ")
    if part.numbers is not None:
        lines += _number_text(part.numbers, f"{100 * report.level:g} %")
    lines += _tick_text(part, f"{100 * report.level:g} %")
    for line in part.lines:
        unclipped = percent(line.entry.estimate)
        if line.outside and unclipped != percent(line.shown_estimate):
            lines.append(f"  {_cut(line.option, 30)}: unclipped estimate {unclipped}")
    for remark in part.remarks:
        lines += _wrapped(remark, "    ", "  - ")
    return [*lines, ""]


def _share_text(part: QuestionResults, level: str) -> list[str]:
    several = len(part.lines) > 1
    rows = [["", "estimate", f"{level} interval", "SE", "SE privacy"]]
    rows[0] += (["simultaneous"] if several else []) + (["reported*"] if part.reports_are_options else [])
    for line in part.lines:
        entry = line.entry
        row = [
            _cut(line.option, 30),
            percent(line.shown_estimate),
            _interval(line.shown_low, line.shown_high),
        ]
        row += [f"{entry.se:.4f}", f"{entry.se_privacy:.4f}"]
        row += [_interval(line.simultaneous.shown.low, line.simultaneous.shown.high)] if several else []
        row += [f"{entry.reported:,}"] if part.reports_are_options else []
        rows.append(row)
    return _aligned(rows)


def _tick_text(part: QuestionResults, level: str) -> list[str]:
    """Write the number ticked, and how often two options are ticked together."""
    lines = []
    if part.ticked is not None:
        shown, se = part.ticked.shown, part.ticked.se
        limits = f"{rounded(shown.low, se)} – {rounded(shown.high, se)}"
        rows = [
            ["", "estimate", f"{level} interval"],
            ["options ticked, on average", rounded(shown.estimate, se), limits],
        ]
        lines += _aligned(rows)
    if part.pairs:
        rows = [["ticked together", "estimate", f"{level} interval"]]
        for pair in part.pairs:
            name = f"{_cut(pair.first, 20)} and {_cut(pair.second, 20)}"
            both = pair.both.shown
            rows.append([name, percent(both.estimate), _interval(both.low, both.high)])
        lines += _aligned(rows)
    return lines


def _number_text(numbers: Numbers, level: str) -> list[str]:
    rows = []
    unit = f" ({numbers.unit})" if numbers.unit else ""
    if numbers.mean is not None:
        se, shown = numbers.mean.se, numbers.mean.shown
        limits = f"{rounded(shown.low, se)} – {rounded(shown.high, se)}"
        rows.append([f"mean{unit}", rounded(shown.estimate, se), limits])
    if numbers.quantiles is not None:
        rows += [
            [
                f"{quantile_name(one.p)}{unit}",
                measure(one.estimate),
                f"{measure(one.low)} – {measure(one.high)}",
            ]
            for one in numbers.quantiles.entries
        ]
        iqr = numbers.quantiles.iqr
        limits = f"{measure(iqr.low)} – {measure(iqr.high)}"
        rows.append([f"interquartile range{unit}", measure(iqr.estimate), limits])
    lines = _aligned([["", "estimate", f"{level} interval"], *rows]) if rows else []
    if numbers.cumulative is not None:
        table = [["this or less", "estimate", f"{level} interval", "band for all"]]
        for one, both in zip(numbers.cumulative.estimates, numbers.cumulative.band, strict=True):
            limits, band = (_interval(entry.shown.low, entry.shown.high) for entry in (one, both))
            table.append([_cut(one.option, 30), percent(one.shown.estimate), limits, band])
        lines += _aligned(table)
    return lines


def _group_text(table: GroupTable) -> list[str]:
    lines = _wrapped(f"{table.id} by {table.by}: {table.question.text}")
    for sentence in group_findings(table):
        lines += _wrapped(sentence, "  ", "  ")
    rows = [["", *table.groups]] if table.groups else []
    for option in table.options:
        cells = []
        for share in table.of_option(option):
            interval = f"({_interval(share.shown_low, share.shown_high)[:-2]})"
            cells.append("–" if math.isnan(share.estimate) else f"{percent(share.shown_estimate)} {interval}")
        rows.append([_cut(option, 30), *cells])
    if table.means:
        name = f"mean ({table.unit})" if table.unit else "mean"
        rows.append([name, *(_mean_cell(one) for one in table.means)])
    lines += _aligned(rows)
    if table.test:
        lines += _wrapped(f"Independence: {table.test}", "  ", "  ")
    for one in table.differences:
        if not math.isnan(one.difference):
            chance = "p < 0.0001" if one.p_value < 1e-4 else f"p = {one.p_value:.4f}"
            text = (
                f"{one.option}: {one.group} against {one.reference} {points(one.difference)} points "
                f"({points(one.low)} to {points(one.high)}), {chance}"
            )
            lines += _wrapped(text, "    ", "  - ")
    for gap in table.mean_differences:
        chance = "p < 0.0001" if gap.p_value < 1e-4 else f"p = {gap.p_value:.4f}"
        low, middle, high = (rounded(value, gap.se) for value in (gap.low, gap.difference, gap.high))
        text = in_unit(f"mean: {gap.group} against {gap.reference} {middle}", table.unit)
        lines += _wrapped(f"{text} ({low} to {high}), {chance}", "    ", "  - ")
    for note in table.notes:
        lines += _wrapped(note, "    ", "  - ")
    return [*lines, ""]


def _mean_cell(one: GroupMean) -> str:
    if math.isnan(one.estimate):
        return "–"
    low, middle, high = (rounded(value, one.se) for value in (one.low, one.estimate, one.high))
    return f"{middle} ({low} – {high})"


def reported(part: QuestionResults) -> list[tuple[str, int]]:
    """List reports as they came in, by what they say: reported, not true."""
    return list(zip(part.question.report_labels, part.counts, strict=True))


def reported_words(part: QuestionResults) -> str:
    """Give what the devices sent: counts of what can be named, or why a report by itself names no answer."""
    mechanism = part.question.mechanism
    if mechanism.reports_answers or mechanism.report_words:
        counts = ", ".join(f"{label} {count:,}" for label, count in reported(part))
        return f"Reported, not true: {counts}."
    return (
        "Reports are no answers: each could come from any answer, and is at most "
        f"{factor_text(mechanism.epsilon)} times likelier from one than from another."
    )


def _interval(low: float, high: float) -> str:
    return f"{percent(low)[:-2]} – {percent(high)}"


def points(value: float) -> str:
    """Write a difference of shares in percentage points with its sign, cut to what is possible."""
    text = f"{100 * min(1.0, max(-1.0, value)):+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


def p_text(value: float) -> str:
    """Write a p-value as people read it."""
    return "" if math.isnan(value) else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def number(value: float | None, digits: int = 4) -> str:
    """Write a number, or a dash where there is none."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")


@cache
def environment() -> jinja2.Environment:
    """Give what renders the templates of results, with their filters."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hushpoll_analysis.results", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        epsilon=epsilon_text, number=number, p=p_text, percent=percent, points=points, thousands=_thousands
    )
    environment.globals.update(
        axis_for=axis_for,
        cumulative_panel=cumulative_panel,
        group_findings=group_findings,
        histogram_panel=histogram_panel,
        in_unit=in_unit,
        isnan=math.isnan,
        measure=measure,
        quantile_name=quantile_name,
        reported_words=reported_words,
        rounded=rounded,
    )
    return environment


def _thousands(value: float) -> str:
    return f"{value:,.0f}"


def _cell(value: Any) -> object:
    """Give a cell of the table: numbers as Python's own, so that they are written as numbers."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, float):
        return "" if math.isnan(value) else "unbounded" if math.isinf(value) else float(value)
    return int(value)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Pad a table: the first column to the left, the others to the right."""
    if not rows:
        return []
    widths = [max(_width(row[place]) for row in rows) for place in range(len(rows[0]))]
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
    import textwrap

    start = indent if first is None else first
    return textwrap.wrap(text, TEXT_WIDTH, initial_indent=start, subsequent_indent=indent) or [""]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
