"""One question as a file, also over the waves of a series: SVG that needs nothing else, for slides and papers.

The marks are those of the page; positions are percentages inside drawings that are placed in points.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushpoll_analysis.errors import AnalysisError

from .curves import Panel, cumulative_panel, histogram_panel
from .fieldwork import facts
from .figures import Axis, NumberAxis, axis_for
from .numbers import rounded
from .rendering import ENGLISH, Speech, environment
from .texts import Texts, texts_of
from .wording import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .question import QuestionResults, ReportedShare
    from .survey import SurveyResults
    from .waves import FollowedQuestion, FollowedRow, Point

WIDTH, EDGE, LABELS, VALUES, ROW, PANEL, PLOT = 720, 24, 190, 170, 30, 200, 120
TITLE_LETTERS, SUBTITLE_LETTERS, LABEL_LETTERS, BAND_LETTERS = 68, 92, 26, 80


@dataclass(frozen=True)
class Row:
    """One share: its label, cut where it is long, and how far down it stands."""

    line: ReportedShare
    label: str
    y: int


@dataclass(frozen=True)
class Drawn:
    """A distribution, and how far down it begins."""

    panel: Panel
    y: int


@dataclass(frozen=True)
class Band:
    """One answer over the waves, its axis, and how far down it stands."""

    row: FollowedRow
    label: str
    axis: Axis | NumberAxis
    y: int


def as_svg(report: SurveyResults, question: str, language: str = "en", *, headed: bool = True) -> str:
    """Draw the estimates of one question, by its id, as an SVG document.

    It is headed by what was found, the question, and who asked when and of how many; without `headed` by nothing, for a
    page that says so next to it.
    """
    question_results, texts = report[question], texts_of(report.survey, language)
    say = texts.say
    if not question_results.is_estimated:
        raise AnalysisError(
            f'question "{question}" has no estimates to draw: {report.n} reports, at least {report.minimum} are needed'
        )
    title, subtitle, caption, y, edge = [], [], [], 0, 0
    finding = next(finding for finding in report.findings(language) if finding.id == question)
    if headed:
        title = textwrap.wrap(finding.headline, TITLE_LETTERS)
        subtitle = textwrap.wrap(finding.question, SUBTITLE_LETTERS)
        subtitle += textwrap.wrap(" · ".join((*facts(report, texts), texts.title)), SUBTITLE_LETTERS)
        caption = textwrap.wrap(_caption(report, texts), 100)
        edge = EDGE
        y = edge + 22 * len(title) + 19 * len(subtitle) + 16
    rows, headings = [], []
    for heading, lines in _sections(question_results, texts):
        if heading:
            headings.append((heading, y + 20))
            y += ROW
        for line in lines:
            rows.append(Row(line, _cut(texts.option(question_results.question, line.option)), y))
            y += ROW
    y += 52 if rows else 0
    panels = []
    for panel in _panels(question_results, report, texts):
        panels.append(Drawn(panel, y))
        y += PANEL + 66
    values = {
        "title": title,
        "subtitle": subtitle,
        "finding": finding.text,
        "rows": rows,
        "axis": _axis(question_results),
        "panels": panels,
        "caption": caption,
    }
    values["headings"] = headings
    sizes = {
        "width": WIDTH,
        "edge": EDGE,
        "labels": LABELS,
        "values": VALUES,
        "row_height": ROW,
        "panel_height": PANEL,
    }
    mean, bottom = None, y
    if not rows and question_results.numbers is not None and question_results.numbers.mean is not None:
        mean = question_results.numbers.mean.shown
        values["axis"] = NumberAxis.of(question_results.question.answers.values or ())
        values["unit"] = texts.unit(question_results.question, question_results.numbers.unit)
        bottom += ROW + 52
    height = bottom + 18 * len(caption) + edge
    template = environment().get_template("picture.svg")
    return template.render(
        w=say, part=question_results, bottom=bottom, height=height, mean=mean, mean_y=y, **values, **sizes
    )


def waves_as_svg(
    question: FollowedQuestion,
    waves: Sequence[str],
    caption: str,
    label: Callable[[str], str] = str,
    language: str = "en",
    speech: Speech = ENGLISH,
) -> str:
    """Draw one question over its waves, named so, as an SVG document; `label` names an answer."""
    if not question.rows:
        raise AnalysisError(
            f'question "{question.id}" has no change to draw', "it needs two waves with enough reports"
        )
    say = wording(language)
    title = textwrap.wrap(next(iter(question.sentences(say, label, waves))), TITLE_LETTERS)
    subtitle = textwrap.wrap(question.text, SUBTITLE_LETTERS)
    y = EDGE + 22 * len(title) + 19 * len(subtitle) + 16
    bands = []
    for row in (*question.averages, *question.shares):
        axis = row.axis if row.average else question.axis
        bands.append(Band(row, _cut(label(row.label), BAND_LETTERS), axis, y))
        y += PLOT + 96

    def written(row: FollowedRow, point: Point) -> tuple[str, str]:
        low, middle, high = point.shown_low, point.shown_estimate, point.shown_high
        if row.average:
            least, middle_text, most = (speech.say(rounded(value, point.se)) for value in (low, middle, high))
            return middle_text, f"{least} – {most}"
        return say.percent(middle), f"{say.number(100 * low, 1)} – {say.percent(high)}"

    lines = textwrap.wrap(f"{say('on_devices')} {caption}", 100)
    values = {"title": title, "subtitle": subtitle, "bands": bands, "caption": lines, "waves": waves}
    sizes = {"width": WIDTH, "edge": EDGE, "plot_height": PLOT, "written": written}
    template = environment().get_template("waves.svg")
    height = y + 18 * len(lines) + EDGE
    return template.render(question=question, w=say, bottom=y, height=height, **values, **sizes)


def _axis(question: QuestionResults) -> Axis:
    return axis_for(line.shown_high for line in (*question.shown_among_asked, *question.shown_shares))


def _sections(question: QuestionResults, texts: Texts) -> list[tuple[str, Sequence[ReportedShare]]]:
    """Return the shares with their headings: of a follow-up question first those among the people asked."""
    if not question.among_asked:
        return [("", question.shown_shares)]
    say = texts.say
    return [(say("among_asked"), question.shown_among_asked), (say("of_everybody"), question.shown_shares)]


def _panels(question: QuestionResults, report: SurveyResults, texts: Texts) -> list[Panel]:
    numbers = question.numbers
    if numbers is None:
        return []
    panels = []
    unit, say = texts.unit(question.question, numbers.unit), texts.say
    labels = texts.options(question.question)
    if numbers.histogram is not None:
        panels.append(histogram_panel(numbers.histogram, labels, unit, say))
    if numbers.cumulative is not None:
        panels.append(
            cumulative_panel(numbers.cumulative, labels, report.level, unit, say, upward=numbers.upward)
        )
    return panels


def _caption(report: SurveyResults, texts: Texts) -> str:
    caption = texts.say("figure_caption", number=report.n, level=f"{100 * report.level:g}")
    return f"{texts.say('on_devices')} {caption} hushpoll {report.survey.hash[:12]}"


def _cut(text: str, most: int = LABEL_LETTERS) -> str:
    if len(text) <= most:
        return text
    return text[: most - 1] + "…"
