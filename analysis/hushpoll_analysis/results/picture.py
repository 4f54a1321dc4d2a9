"""One question's picture as a file: SVG that needs nothing else, for slides and papers.

The marks are those of the page; positions are percentages inside drawings that are placed in points.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushpoll_analysis.errors import AnalysisError

from .curves import Panel, cumulative_panel, histogram_panel
from .figures import Axis, axis_for
from .rendering import environment
from .texts import Texts, texts_of

if TYPE_CHECKING:
    from .question import Line, QuestionResults
    from .survey import SurveyResults

__all__ = ["as_svg"]

WIDTH, EDGE, LABELS, VALUES, ROW, PANEL = 720, 24, 190, 170, 30, 200
TITLE_LETTERS, LABEL_LETTERS = 68, 26


@dataclass(frozen=True)
class Row:
    """One share: its label, cut where it is long, and how far down it stands."""

    line: Line
    label: str
    y: int


@dataclass(frozen=True)
class Drawn:
    """A distribution, and how far down it begins."""

    panel: Panel
    y: int


def as_svg(report: SurveyResults, question: str, language: str = "en") -> str:
    """Draw the estimates of one question, by its id, as an SVG document."""
    part, texts = report[question], texts_of(report.survey, language)
    say = texts.say
    if not part.is_estimated:
        raise AnalysisError(
            f'question "{question}" has no estimates to draw: {report.n} reports, at least {report.minimum} are needed'
        )
    title = textwrap.wrap(texts.question(part.question), TITLE_LETTERS)
    y = EDGE + 22 * len(title) + 12
    rows = [
        Row(line, _cut(texts.option(part.question, line.option)), y + ROW * place)
        for place, line in enumerate(part.shown_lines)
    ]
    y += ROW * len(rows) + (32 if rows else 0)
    panels = []
    for panel in _panels(part, report, texts):
        panels.append(Drawn(panel, y))
        y += PANEL + 66
    caption = textwrap.wrap(_caption(report, texts), 100)
    values = {"title": title, "rows": rows, "axis": _axis(part), "panels": panels, "caption": caption}
    sizes = {
        "width": WIDTH,
        "edge": EDGE,
        "labels": LABELS,
        "values": VALUES,
        "row_height": ROW,
        "panel_height": PANEL,
    }
    mean = "" if rows or part.numbers is None else report.findings(language)[_place(report, part)].text
    bottom = y + (30 if mean else 0)
    height = bottom + 18 * len(caption) + EDGE
    template = environment().get_template("picture.svg")
    return template.render(
        w=say, part=part, bottom=bottom, height=height, mean=mean, mean_y=y, **values, **sizes
    )


def _place(report: SurveyResults, part: QuestionResults) -> int:
    return [one.id for one in report.findings()].index(part.id)


def _axis(part: QuestionResults) -> Axis:
    return axis_for(line.shown_high for line in part.shown_lines)


def _panels(part: QuestionResults, report: SurveyResults, texts: Texts) -> list[Panel]:
    numbers = part.numbers
    if numbers is None:
        return []
    made = []
    unit, say = texts.unit(part.question, numbers.unit), texts.say
    labels = texts.options(part.question)
    if numbers.histogram is not None:
        made.append(histogram_panel(numbers.histogram, labels, unit, say))
    if numbers.cumulative is not None:
        made.append(cumulative_panel(numbers.cumulative, labels, report.level, unit, say))
    return made


def _caption(report: SurveyResults, texts: Texts) -> str:
    said = texts.say("figure_caption", number=report.n, level=f"{100 * report.level:g}")
    return f"{texts.title}. {said} hushpoll {report.survey.hash[:12]}"


def _cut(text: str) -> str:
    return text if len(text) <= LABEL_LETTERS else text[: LABEL_LETTERS - 1] + "…"
