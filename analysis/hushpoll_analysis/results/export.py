"""The download of a survey: reports as CSV and Parquet, a codebook, label scripts, and a script that repeats the table.

Rows are shuffled once more on the way out, columns end in `_reported`, and nothing but the randomized codes is there.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from hushpoll_client import Block, Survey
from hushpoll_client.delivery.report import FEWEST_REPORTS
from hushpoll_client.formatting import epsilon_text
from hushpoll_client.survey import Question
from hushpoll_client.survey.group import FIELD, OTHER

from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.arrow import has_arrow
from hushpoll_analysis.sample.files import Progress, read_frame
from hushpoll_analysis.sample.guarding import guarded_csv
from hushpoll_analysis.sample.parts import shuffled, write_parts
from hushpoll_analysis.sample.released import AT_ONCE
from hushpoll_analysis.sample.tally import column_of

from .asked import are_numbers, asked_facts, asked_words, block_questions, block_reading
from .formats import REPORT_FORMATS, ReportRelease
from .labels import GROUP_TEXT, r_script, spss_script, stata_script
from .method import method_of, question_note, total_note
from .packages import package_files

NUMBERED = "numbers without words of their own; survey.json has the chance of each for every answer"
PARTS = "parts"


def write_export(
    survey: Survey,
    data: Any,
    folder: Path,
    level: float = 0.95,
    fewest: int = FEWEST_REPORTS,
    batch: float | None = None,
) -> list[Path]:
    """Write every file of the export into `folder` and give their paths; groups with fewer reports are put together.

    The export says how few reports were released together (`batch`), where that is known: a report that is made from
    it claims no more than one of the store's.
    """
    _make_folder(folder)
    frame = shuffled(read_frame(survey, data, fewest))
    paths = _write_around(survey, folder, len(frame), level, reports_name(), batch)
    for name in report_files():
        write_reports(survey, frame, folder / name, batch=batch)
        paths.append(folder / name)
    return sorted(paths)


def write_large_export(
    survey: Survey,
    records: Iterable[bytes],
    folder: Path,
    level: float = 0.95,
    *,
    rows: int,
    n: int,
    shown_groups: Sequence[str] | None = None,
    batch: float | None = None,
) -> list[Path]:
    """Write the database's records as Parquet parts of at most `rows` rows, with everything else of an export.

    Memory does not grow with n; parts that are whole from an earlier run are kept. Groups not in `shown_groups` are put
    together.
    """
    _make_folder(folder / PARTS)
    written = write_parts(survey, records, folder / PARTS, rows, shown_groups=shown_groups, batch=batch)
    return sorted([*_write_around(survey, folder, n, level, PARTS, batch), *written])


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AnalysisError(
            f"{folder}: the folder cannot be made ({error.strerror})", "choose another"
        ) from None


def _write_around(
    survey: Survey, folder: Path, n: int, level: float, reports: str, batch: float | None
) -> list[Path]:
    paths = []
    for name, content in export_files(survey, n, level, reports, batch):
        if reports == PARTS and b"reports.csv" in content:
            continue  # it reads one file of reports, and there is none
        (folder / name).write_bytes(content)
        paths.append(folder / name)
    return paths


def zip_export(
    survey: Survey,
    data: Any,
    target: Path,
    level: float = 0.95,
    fewest: int = FEWEST_REPORTS,
    batch: float | None = None,
) -> None:
    """Write the export as one zip file; members carry no time of day."""
    frame = shuffled(read_frame(survey, data, fewest))
    folder = f"hushpoll-{survey.hash[:12]}"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in export_files(survey, len(frame), level, batch=batch):
            archive.writestr(_member(f"{folder}/{name}"), content)
        for name in report_files():
            partial = target.with_name(f"{target.name}.{name}")
            try:
                write_reports(survey, frame, partial, batch=batch)
                with (
                    partial.open("rb") as source,
                    archive.open(_member(f"{folder}/{name}"), "w", force_zip64=True) as sink,
                ):
                    while block := source.read(1 << 20):
                        sink.write(block)
            finally:
                partial.unlink(missing_ok=True)


def report_files() -> tuple[str, ...]:
    """Return the names of the files of reports: those of the formats whose libraries are installed."""
    return tuple(entry.file_name for entry in REPORT_FORMATS if entry.is_available())


def reports_name() -> str:
    """Return the name of the file of reports that an export's scripts read."""
    if has_arrow():
        return "reports.parquet"
    return "reports.csv"


def write_reports(
    survey: Survey,
    frame: pd.DataFrame,
    path: Path,
    progress: Progress | None = None,
    batch: float | None = None,
) -> None:
    """Write reports in the format that the ending of the name means: .csv, .parquet, .sav or .dta."""
    formats = {f".{entry.ending}": entry for entry in REPORT_FORMATS}
    if path.suffix not in formats:
        raise AnalysisError(
            f"{path.name}: cannot tell the format to write", f"name it {' or '.join(formats)}"
        )
    try:
        formats[path.suffix].write(survey, frame, path, ReportRelease(batch, progress))
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise AnalysisError(f"{path.name}: cannot be written ({reason})", "choose another place") from None


def export_files(
    survey: Survey,
    n: int,
    level: float = 0.95,
    reports: str | None = None,
    batch: float | None = None,
) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every file of the export but the reports themselves."""
    reports = reports or reports_name()
    labels = [(entry, entry.report_labels) for entry in survey.entries]
    yield "survey.json", survey.canonical
    yield "codebook.csv", _codebook_table(survey, labels).encode("utf-8-sig")
    yield "codebook.md", _codebook_text(survey, n, labels, level, batch).encode()
    yield "labels.sps", spss_script(survey, labels).encode("utf-8-sig")
    yield "labels.do", stata_script(survey, labels).encode()
    yield "labels.R", r_script(survey, labels).encode()
    yield "reproduce.py", reproduce_script(survey, level, reports).encode()
    yield from package_files(survey, n, level, batch)


def reproduce_script(survey: Survey, level: float, reports: str = "reports.parquet") -> str:
    """Write the script that repeats the report's table from the files in the same folder."""
    return f'''"""Repeat the table of estimates from the reports beside this file.

Needs Python 3.11 and `pip install hushpoll`. The survey's hash is checked, so the table belongs to this definition.
"""

from pathlib import Path

from hushpoll_analysis import report
from hushpoll_client import Survey

here = Path(__file__).parent
survey = Survey.load(here / "survey.json")
assert survey.hash == "{survey.hash}", "survey.json is not the published definition"

table = report(survey, here / "{reports}", level={level!r}).to_frame()
print(table.to_string())
table.to_csv(here / "table.csv", index=False)
'''


def _codebook_table(survey: Survey, labels: list[tuple[Question | Block, tuple[str, ...]]]) -> str:
    rows: list[list[object]] = [
        [
            "column",
            "question",
            "code",
            "reported_as",
            "mechanism",
            "epsilon",
            "epsilon_note",
            "parameters",
            "asked",
        ]
    ]
    for question, names in labels:
        for code, name in _coded(question, names):
            rows.append(
                [
                    column_of(question.id),
                    question.text,
                    code,
                    name,
                    question.mechanism.name,
                    epsilon_text(question.epsilon),
                    question.mechanism.epsilon_note,
                    json.dumps(question.mechanism.parameters, ensure_ascii=False),
                    json.dumps(asked_facts(survey, question), ensure_ascii=False),
                ]
            )
    for name in (*survey.groups, OTHER) if survey.groups else ():
        rows.append([FIELD, GROUP_TEXT, name, name, "", "", "", "", ""])
    return guarded_csv(rows)


def _coded(question: Question | Block, names: tuple[str, ...]) -> list[tuple[object, str]]:
    """Return codes with what each says; reports without words stand in one row."""
    if not names:
        return [("", question.channel.wire.words)]
    if are_numbers(names):
        return [(f"0 to {len(names) - 1}", NUMBERED)]
    return list(enumerate(names))


def _codebook_text(
    survey: Survey,
    n: int,
    labels: list[tuple[Question | Block, tuple[str, ...]]],
    level: float,
    batch: float | None,
) -> str:
    method = method_of(survey, n if n >= FEWEST_REPORTS else None, level)
    lines = [
        f"# Codebook: {_plain(survey.title)}",
        "",
        f"- Survey: SHA-256 `{survey.hash}` (the bytes of survey.json)",
        f"- Reports: {n:,}, one row each, in random order",
        *([] if batch is None else [f"- Released {_together(batch)}"]),
        f"- Privacy of one person's report: {total_note(survey)}",
        "",
        "**Columns end in `_reported`: they hold what the device sent after randomizing, not what people answered.**",
        "Plain frequencies of these columns are biased. `reproduce.py` removes the bias and gives intervals.",
        "",
    ]
    for question, names in labels:
        lines += [f"## {column_of(question.id)}", "", _plain(question.text), ""]
        if question.decoy:
            lines += [f"Decoy question: {_plain(question.decoy)}", ""]
        parameters = json.dumps(question.mechanism.parameters, ensure_ascii=False)
        if isinstance(question, Block):
            lines += [*_block_codes(survey, question), ""]
            continue
        lines += [
            f"- Kind: {_plain(asked_words(question)).removeprefix('kind ')}",
            f"- Mechanism: {question.mechanism.name} {parameters}",
            f"- Privacy: {question_note(question)}",
            "",
            *_codes(question, names),
            "",
        ]
    if survey.groups:
        lines += [f"## {FIELD}", "", f"{GROUP_TEXT}.", ""]
        lines += [f"- {_plain(name)}" for name in survey.groups]
        lines += [f"- {OTHER}: groups that are too small to be shown on their own, put together", ""]
    lines += ["## Method", "", method.paragraph, ""]
    lines += [f"- {entry.title}: `{entry.formula}` ({entry.words})" for entry in method.formulas]
    lines += ["", "## References", "", *(f"- {work}" for work in method.references), ""]
    return "\n".join(lines)


def _together(batch: float) -> str:
    """Return among how many others a report came out."""
    if batch == AT_ONCE:
        return "all at once: nobody could read results before the last report had come"
    return f"{batch:,} or more at a time, because results could be read while reports came"


def _block_codes(survey: Survey, block: Block) -> list[str]:
    """Return how the column of a block is read: which questions were asked, and what was reported of them together."""
    listed = [
        f"  - {number}: `{member.id}` ({'; '.join(_plain(name) for name in member.options)}): {_plain(member.text)}"
        for number, member in enumerate(block_questions(survey, block))
    ]
    return [
        f"- Privacy: {question_note(block)}",
        f"- A block: each person was asked {block.text}.",
        f"- {block_reading(block)}",
        "- `report`, `crosstab` and the models take it apart by themselves. Its questions, counted from 0:",
        *listed,
    ]


def _codes(question: Question, names: tuple[str, ...]) -> list[str]:
    """Return the table of codes, or what a report is where it speaks of several options at once."""
    if are_numbers(names):
        answers = "; ".join(f"{position}: {_plain(name)}" for position, name in enumerate(question.labels))
        return [
            f"- Reports 0 to {len(names) - 1}: {NUMBERED}",
            f"- Rows of the channel, counted from 0: {answers}",
        ]
    if names:
        listed = [f"| {code} | {_plain(name)} |" for code, name in enumerate(names)]
        return ["| code | reported as |", "|---:|---|", *listed]
    options = "; ".join(f"{position}: {_plain(name)}" for position, name in enumerate(question.labels))
    return [f"- A report: {question.channel.wire.words}", f"- Options, counted from 0: {options}"]


def _plain(text: str) -> str:
    """Keep a designer's text from acting as markup in the codebook."""
    escaped = "".join("\\" + character if character in "\\`*_{}[]<>|#" else character for character in text)
    return " ".join(escaped.split())


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info
