"""The whole report of a survey as data: what a statistician needs to use the numbers and to defend them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import pandas as pd
from hushpoll_client import Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.messages import msg, plural
from hushpoll_client.survey.assurance import assurance
from hushpoll_client.survey.group import FIELD

from hushpoll_analysis.arguments import listed, number, whole_number
from hushpoll_analysis.counts import check_level
from hushpoll_analysis.documents import parse_survey
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.result import as_json
from hushpoll_analysis.results.group_table import GroupTable
from hushpoll_analysis.sample.design_keywords import SampleKeys
from hushpoll_analysis.sample.design_reading import Population
from hushpoll_analysis.sample.engine_sums import is_engine_table
from hushpoll_analysis.sample.files import Progress, tally_records
from hushpoll_analysis.sample.link_groups import by_link, folded_population, group_sizes
from hushpoll_analysis.sample.missing import FAIL, OMIT
from hushpoll_analysis.sample.raking import Margins
from hushpoll_analysis.sample.released import released_together
from hushpoll_analysis.sample.tally import Tally, question_of, total_of
from hushpoll_analysis.sample.weights import Column

from .complete import complete_rows
from .export import reports_name
from .fieldwork import Fieldwork
from .findings import Finding, findings, read_needed
from .groups import group_tables
from .method import Method, method_of, total_note
from .question import QuestionResults, question_results
from .respondents import count_reports, group_rows, respondents_of
from .rows import FRAME_COLUMNS, question_rows
from .texts import texts_of
from .validity import Validity, anchor_of, validity_of

# Below this many reports the noise of the randomization drowns nearly everything, and a table invites misreading.
MINIMUM = FEWEST_REPORTS
# Data that can be read a second time.
_COUNTED_AGAIN = (pd.DataFrame, Mapping, str, Path, bytes, Tally)


@dataclass(frozen=True, repr=False)
class SurveyResults:
    """The report of a survey; made by `report`. Shows itself as text, HTML, JSON, CSV, data frame and figure."""

    survey: Survey
    n: int
    level: float
    interval: str
    minimum: int
    questions: tuple[QuestionResults, ...]
    by: str | None = None
    groups: tuple[GroupTable, ...] = ()
    validity: Validity | None = None
    sample: Mapping[str, Any] = field(default_factory=dict)
    """What was given of the sample design, by its keyword."""
    needed: Mapping[str, float] = field(default_factory=dict)
    """The margin that was planned for, by question."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The reports of each group by link, small ones together."""
    left_out: int = 0
    """Rows of the data with missing values that were left out."""
    fieldwork: Fieldwork = field(default_factory=Fieldwork)
    """When the survey was open and of how many people, as the store knows it."""

    def __getitem__(self, question: str) -> QuestionResults:
        """Return the part of one question, by its id."""
        asked_question = question_of(self.survey, question)
        return next(
            question_results
            for question_results in self.questions
            if question_results.question is asked_question
        )

    @property
    def is_shown(self) -> bool:
        """Whether there are enough reports for estimates."""
        return self.n >= self.minimum

    @property
    def too_few(self) -> str:
        """Why there are no estimates; empty when there are."""
        if self.is_shown:
            return ""
        if self.n == 0:
            return msg("No estimates: no report is counted, and it takes {minimum}.", minimum=self.minimum)
        return plural(
            self.n,
            "No estimates: {count} report is fewer than the minimum of {minimum}.",
            "No estimates: {count} reports are fewer than the minimum of {minimum}.",
            minimum=self.minimum,
        )

    @property
    def incomplete(self) -> str:
        """That rows were left out; empty when none were."""
        if not self.left_out:
            return ""
        return plural(
            self.left_out,
            "{count} row with a missing value was left out: these figures are about the others.",
            "{count:,} rows with missing values were left out: these figures are about the others.",
        )

    @property
    def privacy(self) -> str:
        """What the whole survey promises to one person."""
        return total_note(self.survey)

    @property
    def tier(self) -> str:
        """How much respondents were promised, by the worst question and the total: strong, fair or weak."""
        return assurance(self.survey).tier

    @property
    def revealing(self) -> tuple[str, ...]:
        """The questions whose single reports can reveal an answer: those with an unbounded epsilon."""
        return tuple(question.id for question in self.survey.questions if question.epsilon == math.inf)

    def findings(self, language: str = "en") -> tuple[Finding, ...]:
        """Return in a sentence or two what was found of each question, and whether it is as precise as was needed."""
        spoken = texts_of(self.survey, language).say.language
        if spoken not in self._findings:
            self._findings[spoken] = findings(self, spoken)
        return self._findings[spoken]

    @cached_property
    def _findings(self) -> dict[str, tuple[Finding, ...]]:
        """What was found, by language: a document names it, and again each of its pictures."""
        return {}

    @cached_property
    def method(self) -> Method:
        """Method paragraph, formulas and references."""
        n = self.n if self.is_shown else None
        return method_of(self.survey, n, self.level, self.by, self.interval, tuple(self.sample))

    @property
    def snippet(self) -> str:
        """Python that repeats this report from the export."""
        by = f", by={self.by!r}" if self.by else ""
        interval = ""
        if self.interval != "auto":
            interval = f", interval={self.interval!r}"
        minimum = ""
        if self.minimum != MINIMUM:
            minimum = f", minimum={self.minimum}"
        minimum += f", na_action={OMIT!r}" if self.left_out else ""
        for key, value in self.sample.items():
            # Values that stood beside the data are named; whoever repeats the report has to have them too.
            minimum += (
                f", {key}={value!r}" if isinstance(value, str | int | float | dict) else f", {key}={key}"
            )
        if self.validity is not None:
            answer = ""
            if self.validity.answer is not None:
                answer = f", {self.validity.answer!r}"
            minimum += f", anchor=({self.validity.anchor!r}, {self.validity.share:g}{answer})"
        return (
            "from hushpoll_analysis import report\n"
            "from hushpoll_client import Survey\n\n"
            'survey = Survey.load("survey.json")  # both files are in the export\n'
            f'assert survey.hash == "{self.survey.hash}"\n'
            f'print(report(survey, "{reports_name()}", level={self.level!r}{by}{interval}{minimum}))\n'
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready data; null stands for unbounded."""
        findings = {
            finding.id: {
                "finding": finding.text,
                **({"margin": finding.verdict.to_dict()} if finding.verdict else {}),
            }
            for finding in self.findings()
        }
        value: dict[str, Any] = {
            "hash": self.survey.hash,
            "title": self.survey.title,
            "n": self.n,
            "level": self.level,
            "minimum": self.minimum,
            "note": self.too_few,
            **({"left_out": self.left_out} if self.left_out else {}),
            "questions": [question.to_dict() | findings.get(question.id, {}) for question in self.questions],
            "epsilon_total": as_json(self.survey.epsilon_total),
            "epsilon_total_note": self.privacy,
            "method": self.method.paragraph,
            "references": list(self.method.references),
        }
        if self.validity is not None:
            value["validity"] = self.validity.to_dict()
        if self.by is not None:
            value["by"] = self.by
            value["groups"] = [table.to_dict() for table in self.groups]
            if self.sizes:
                value["group_sizes"] = dict(self.sizes)
        return value

    def to_frame(self) -> pd.DataFrame:
        """Return one row per estimate, unclipped and shown, as a pandas table."""
        rows = [
            {"level": self.level, **row} for question in self.questions for row in question_rows(question)
        ]
        return pd.DataFrame(rows, columns=list(FRAME_COLUMNS))

    def to_json(self, indent: int | None = None) -> str:
        """Write the report as one JSON object."""
        from .rendering import as_json

        return as_json(self, indent)

    def to_csv(self) -> str:
        """Write the table of estimates as CSV; text cells cannot act as formulas."""
        from .rendering import as_csv

        return as_csv(self)

    def to_text(self) -> str:
        """Write the report for a terminal."""
        from .terminal import as_text

        return as_text(self)

    def to_html(self, language: str = "en") -> str:
        """Write the report as one self-contained file: no script, nothing loaded, light and dark, printable."""
        from .rendering import as_html

        return as_html(self, language)

    def to_svg(self, question: str, language: str = "en") -> str:
        """Draw the estimates of one question as an SVG file that needs nothing else."""
        from .picture import as_svg

        return as_svg(self, question, language)

    def to_png(self, question: str, language: str = "en") -> bytes:
        """Draw the same as a PNG file; needs Typst (the extra `pdf`)."""
        from .picture import as_svg
        from .typesetting import picture_as_png

        return picture_as_png(as_svg(self, question, language))

    def to_pdf(self, language: str = "en", *, one_page: bool = False) -> bytes:
        """Write the whole report, or one page of what was found, as tagged PDF; needs Typst (the extra `pdf`)."""
        from .pdf import full_report
        from .pdf import one_page as on_one_page

        if one_page:
            return on_one_page(self, language)
        return full_report(self, language)

    def plot(self, axes: Any = None) -> Any:
        """Dots and whiskers of every question with matplotlib; gives the figure."""
        from .figures import draw

        return draw(self, axes)

    def __repr__(self) -> str:
        return f"<SurveyResults of {self.survey.title!r}: {self.n} reports, {len(self.questions)} questions; print it>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from .rendering import as_notebook

        return as_notebook(self)


def report(
    survey: Survey | str | Path,
    data: Any,
    by: str | None = None,
    level: float = 0.95,
    interval: str = "auto",
    minimum: int = MINIMUM,
    progress: Progress | None = None,
    only: str | None = None,
    reference: str | None = None,
    *,
    weights: Column = None,
    strata: Column = None,
    clusters: Column = None,
    margins: Margins | None = None,
    population: Population = None,
    replicates: Any = None,
    anchor: Any = None,
    anchor_counts: Tally | None = None,
    questions: Sequence[str] | None = None,
    fewest: int = FEWEST_REPORTS,
    needed: Mapping[str, float] | float | None = None,
    batch: float | None = None,
    na_action: str = FAIL,
) -> SurveyResults:
    """Make the report of a survey from its randomized reports.

    Parameters
    ----------
    survey : Survey or path
        What was asked.
    data : DataFrame, mapping, path, Tally, Ibis table or records
        The reports, in columns `<question id>_reported`; see `hushpoll_analysis.sample.files.tally`.
    by : str, optional
        Estimate every other question within the groups of this question (randomized too), or of this column of the
        data (exact), with a test of independence and differences between groups. A tick list or a long list makes a
        table for each of its options, of those who chose it and those who did not; `question[option]` only that one.
    level : float
        Confidence level.
    interval : str
        As in `estimate`.
    minimum : int
        Fewer reports than this give no estimates (default 50).
    progress : callable, optional
        Called with the number of reports read since the last call.
    only, reference : str, optional
        With `by`: group this question only, and compare with this group rather than with the first.
    weights, strata, clusters, margins, population, replicates
        How the respondents were sampled, as in `weighted_estimate`; columns of the data (a data frame, .csv, .parquet
        files or a query engine's table). A population alone needs no columns. Of more than a million reports in
        .parquet files, and of an engine's table, those who are alike are put together by the engine.
    anchor : (question, share) or (question, share, answer), optional
        A question with an answer, by default Yes, whose true share is known: 1 where the question says which one to
        give. The other questions are also given corrected for careless answers, as in `anchored`.
    fewest : int
        What a group by link needs to be shown on its own; never below 50.
    questions : sequence of str, optional
        Estimate these questions only, by their ids: a page of a long report.
    needed : float or {question id: float}, optional
        The margin that was planned for, as a proportion: the findings then say whether it was reached.
    batch : number, optional
        The fewest reports that were released together, where results could be read while they came: what is
        said about shuffling then holds for that number. `math.inf` says that this was not possible. Without it, what an
        export says of itself; where that is nothing, the sentence on shuffling has a condition and `epsilon_shuffled`
        is None.
    na_action : str
        What happens to rows of a table or file with a missing report, group or value of the sample design: "fail", or
        "omit", which leaves them out and says how many.

    Returns
    -------
    SurveyResults

    Notes
    -----
    The design effect of a question is sum_k Var(h_k) over sum_k h_k(1 - h_k)/(n - 1) at the constrained estimate; one
    option's is in its own row. If a share d of the respondents send a chosen report z, the expected estimate is
    (1 - d) h + d b_z, so it moves by at most d max(max_z b_z - h, h - min_z b_z).

    References
    ----------
    Kish (1965), Survey Sampling; Cheu, Smith, Ullman (2021), Manipulation attacks in local differential privacy.
    """
    if not isinstance(survey, Survey):
        survey = load_survey(survey)
    check_level(level)
    _check_given(by, minimum, fewest, batch)
    batch = released_together(survey, data) if batch is None else batch
    minimum = max(minimum, 2)  # one report has no variance
    least = max(fewest, FEWEST_REPORTS)
    _check_asked(survey, questions, only)
    planned = read_needed([question.id for question in survey.questions], needed)
    data, (weights, strata, clusters, population, replicates, _), left_out = complete_rows(
        survey, data, na_action, (weights, strata, clusters, population, replicates, (by, margins))
    )
    by_groups = strata is None or (isinstance(strata, str) and strata == FIELD)
    if survey.groups and isinstance(population, Mapping) and by_groups:
        data, rows_of_groups = group_rows(survey, data, least)
        strata, population = FIELD, folded_population(survey, population, rows_of_groups)
    sample = SampleKeys(weights, strata, clusters, margins, population, replicates)
    sample.refuse_reports(survey)
    respondents, alone = None, None
    if sample.given and (by is not None or not sample.counts_suffice):
        data, respondents = respondents_of(survey, data, sample, least)
    elif isinstance(population, Real):
        alone = float(population)
    if anchor is None and survey.anchor is not None:
        anchor = (survey.anchor.question, float(survey.anchor.share), survey.anchor.answer)
        if isinstance(data, Tally) and anchor_counts is None and data.by != anchor[0]:
            anchor = None  # these counts cannot tell; whoever keeps counts gives those of the anchor too
    data, joint = (
        (data, anchor_counts) if anchor_counts else _with_anchor(survey, data, anchor, by, progress, least)
    )
    counted = count_reports(survey, data, by, progress, least)
    enough = counted.n >= minimum
    parts = tuple(
        question_results(
            q,
            counted,
            level=level,
            interval=interval,
            enough=enough,
            minimum=minimum,
            population=alone,
            respondents=respondents,
        )
        for q in survey.questions
        if questions is None or q.id in questions
    )
    groups: tuple[GroupTable, ...] = ()
    # A page that shows the grouping question alone has nothing to group.
    if by is not None and enough and (questions is None or set(questions) - {by}):
        least_shown = max(minimum, fewest) if by_link(survey, by) else minimum
        chosen = questions if only is None else [only]
        groups = tuple(
            table
            for table_counts in counted.by_option or (counted,)
            for table in group_tables(table_counts, level, least_shown, chosen, reference, respondents)
        )
        parts = tuple(_beside_groups(results, counted) for results in parts)
    parts = tuple(replace(results, batch=batch) for results in parts)
    checked = None
    if joint is not None and enough:
        checked = validity_of(survey, anchor, joint, level, respondents)
    return SurveyResults(
        survey,
        counted.n,
        level=level,
        interval=interval,
        minimum=minimum,
        questions=parts,
        by=by,
        groups=groups,
        validity=checked,
        sample=sample.given,
        needed=planned,
        sizes=group_sizes(counted),
        left_out=left_out,
    )


def _check_given(by: Any, minimum: Any, fewest: Any, batch: Any) -> None:
    """Refuse what names no column, or counts nothing."""
    if by is not None and not isinstance(by, str):
        raise AnalysisError(f"by is {by!r}", "name a question, or a column of the data")
    if not isinstance(minimum, int) or minimum < 0:
        raise AnalysisError(
            msg("minimum is {minimum!r}", minimum=minimum),
            msg("give the least number of reports, such as {minimum}", minimum=MINIMUM),
        )
    whole_number(fewest, "fewest", 0)
    if batch is not None and batch != math.inf:
        number(batch, "batch", 1.0)


def _check_asked(survey: Survey, questions: Sequence[str] | None, only: str | None) -> None:
    """Refuse names of questions that the survey does not have."""
    for name in [
        *(() if questions is None else listed(questions, "questions")),
        *([] if only is None else [only]),
    ]:
        question_of(survey, name)


def _beside_groups(results: QuestionResults, counted: Tally) -> QuestionResults:
    """Note the size of the smallest group that is shown next to a question's totals, where groups are exact."""
    if not by_link(counted.survey, counted.by) or results.id not in counted.joint:
        return results
    sizes = [total_of(results.question, row) for row in counted.joint[results.id]]
    return replace(results, smallest=min((size for size in sizes if size), default=None))


def _with_anchor(
    survey: Survey, data: Any, anchor: Any, by: str | None, progress: Progress | None, fewest: int
) -> tuple[Any, Tally | None]:
    """Count jointly with the anchor too; give the data in a form that can be read again."""
    if anchor is None:
        return data, None
    anchor_question, *_ = anchor_of(survey, anchor)
    if not (isinstance(data, _COUNTED_AGAIN) or is_engine_table(data)) and isinstance(data, Iterable):
        counted, joint = tally_records(survey, data, [by, anchor_question.id], progress, fewest)
        return counted, joint
    if isinstance(data, Tally) and data.by != anchor_question.id:
        raise AnalysisError(
            "an anchor needs the reports, or counts joint with it",
            msg("count with by={asked!r}", asked=anchor_question.id),
        )
    joint = count_reports(survey, data, anchor_question.id)
    return (replace(joint, by=None, joint={}) if isinstance(data, Tally) and by is None else data), joint


def load_survey(survey: str | Path) -> Survey:
    """Read a published definition or a draft, whose channels are computed; raise AnalysisError if there is none."""
    if not isinstance(survey, str | os.PathLike):
        raise AnalysisError(
            msg(
                "survey: expected a Survey or the path of its file, got {kind}",
                kind=type(survey).__name__,
            ),
            "make one with Survey.load(path) or Survey.from_draft(...)",
        )
    try:
        content = Path(survey).read_bytes()
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise AnalysisError(
            msg("survey: {survey!s}: {reason}", survey=survey, reason=reason),
            "give the path of the survey's file",
        ) from None
    return parse_survey(content)
