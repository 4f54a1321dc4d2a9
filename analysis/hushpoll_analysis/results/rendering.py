"""The results as JSON, CSV and HTML. Every text of a survey is escaped for where it goes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import hushpoll_client
import jinja2
from hushpoll_client.formatting import epsilon_text, number_text
from hushpoll_client.messages import Message, msg
from markupsafe import Markup

from hushpoll_analysis.sample.guarding import guarded_csv

from .compliance import careless_panel, protective_panel
from .curves import cumulative_panel, histogram_panel
from .fieldwork import facts
from .figures import NumberAxis, axis_for
from .group_findings import group_findings, leaves_doubt
from .method import between, percent
from .numbers import in_unit, measure, quantile_name, rounded
from .shown import number, p_text, points, reported_words
from .texts import texts_of
from .typesetting import is_available
from .wording import wording

if TYPE_CHECKING:
    from hushpoll_analysis.tables.means import GroupMean

    from .survey import SurveyResults
    from .waves import FollowedQuestion


@dataclass(frozen=True)
class Speech:
    """Who says what only a statistician needs: the details are in English, or in the language that `say` knows."""

    language: str = "en"
    say: Callable[[str], str] = str


ENGLISH = Speech()


def as_json(report: SurveyResults, indent: int | None = None) -> str:
    """Write one JSON object; a number that JSON cannot write would be an error, not a nan."""
    return json.dumps(report.to_dict(), ensure_ascii=False, allow_nan=False, indent=indent)


def as_csv(report: SurveyResults) -> str:
    """Return the table of estimates; empty where a number cannot be given.

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
            common_values = {"shown_estimate": share.shown_estimate, "quantity": "share"}
            lines.append(common | vars(share) | common_values)
        lines += [common | vars(mean) | {"quantity": "mean"} for mean in table.means]
    return lines


def as_html(report: SurveyResults, language: str = "en", speech: Speech = ENGLISH) -> str:
    """Write one self-contained file."""
    page = environment().get_template("report.html")
    body = as_body(report, language=language, speech=speech)
    style = stylesheet(alone=True)
    texts = texts_of(report.survey, language)
    return page.render(
        report=report, body=body, style=style, version=hushpoll_client.__version__, w=texts.say, t=texts
    )


def as_body(
    report: SurveyResults,
    heading: int = 2,
    method: bool = True,
    language: str = "en",
    picture_address: Callable[[str, str], str] | None = None,
    speech: Speech = ENGLISH,
) -> Markup:
    """Write the report without page around it, for a page that has its own head and title.

    `picture_address` says where the picture of a question, by its id and the ending of the file, can be had; `speech`
    says the details.
    """
    values = {"method": method, "picture_address": picture_address, "has_png": is_available()}
    return _part("body.html", report, heading, language, speech, **values)


def as_method(
    report: SurveyResults, heading: int = 2, language: str = "en", speech: Speech = ENGLISH
) -> Markup:
    """Only the method, for a page that puts something before it."""
    method = _part("method.html", report, heading, language, speech)
    return Markup('<div class="report">{}</div>').format(method)


def as_groups(
    report: SurveyResults, heading: int = 2, language: str = "en", speech: Speech = ENGLISH
) -> Markup:
    """Only the tables by groups, for a page that shows two questions."""
    return _part("two_questions.html", report, heading, language, speech=speech)


def as_waves(
    question: FollowedQuestion,
    waves: Sequence[str],
    name: str,
    label: Callable[[str], str] = str,
    language: str = "en",
    speech: Speech = ENGLISH,
) -> Markup:
    """Draw one question over its waves, named so; `name` is what a screen reader says, `label` names an answer."""
    template = environment().get_template("waves.html")
    values = {"w": wording(language), "speak": speech.say, "label": label}
    text = template.render(question=question, waves=waves, name=name, **values)
    return Markup(text)  # noqa: S704 - the template escapes every value


def _part(
    name: str, report: SurveyResults, heading: int, language: str, speech: Speech = ENGLISH, **values: Any
) -> Markup:
    template = environment().get_template(name)
    texts = texts_of(report.survey, language)
    values |= {"speak": speech.say, "details": speech.language}
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
    """Return the rules of the report; `alone` adds the palette that pages bring themselves."""
    names = ["report.css"]
    if alone:
        names = ["palette.css", "report.css"]
    folder = files(__package__) / "templates"
    return "\n".join((folder / name).read_text("utf-8") for name in names)


@cache
def environment() -> jinja2.Environment:
    """Return what renders the templates of results, with their filters."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hushpoll_analysis.results", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        epsilon=lambda epsilon: epsilon_text(epsilon, 2),
        number=number,
        p=p_text,
        percent=percent,
        points=points,
        thousands=_thousands,
        spoken=_spoken,
    )
    environment.globals.update(
        axis_for=axis_for,
        between=between,
        careless_panel=careless_panel,
        facts=facts,
        cumulative_panel=cumulative_panel,
        group_findings=group_findings,
        leaves_doubt=leaves_doubt,
        histogram_panel=histogram_panel,
        in_unit=in_unit,
        isinf=math.isinf,
        isnan=math.isnan,
        mean_axis=NumberAxis.of,
        mean_axis_around=_axis_around,
        measure=measure,
        protective_panel=protective_panel,
        quantile_name=quantile_name,
        reported_words=reported_words,
        rounded=rounded,
        msg=msg,
    )
    return environment


def _axis_around(means: Sequence[GroupMean]) -> NumberAxis:
    """Return the axis that holds the intervals of all means."""
    return NumberAxis.around(min(mean.low for mean in means), max(mean.high for mean in means))


def _thousands(value: float) -> str:
    return number_text(value, ",.0f")


def _spoken(text: str, say: Callable[[str], str]) -> str:
    """Return what is a sentence of ours; a survey's own words stay as they are."""
    if isinstance(text, Message):
        return say(text)
    return text


def _cell(value: Any) -> object:
    """Return a cell of the table: numbers as Python's own, so that they are written as numbers."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        if math.isinf(value):
            return "unbounded"
        return float(value)
    return int(value)
