"""Parts and query engines for every kind and form: bitmaps, ticks, blocks, groups; in constant memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.engines import weighted_counts
from hushpoll_analysis.sample.files import read_frame, tally
from hushpoll_analysis.sample.parts import engine_table, tally_parts, write_parts
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey
from hushpoll_client.delivery.record import RecordFormat
from hushpoll_client.survey.group import FIELD

from tests.analysis.sample.test_engines import same_counts
from tests.server.every_form import EVERY_FORM, TRUTH

SURVEY = Survey.from_draft(EVERY_FORM)
N = 3000


@pytest.fixture(scope="module")
def records() -> list[bytes]:
    layout = RecordFormat.of(SURVEY)
    columns = [codes.tolist() for _, codes in simulate_survey(SURVEY, N, TRUTH, 5)]
    rows = [layout.pack((index % 3, *row)) for index, row in enumerate(zip(*columns, strict=True))]
    return [b"".join(rows[start : start + 700]) for start in range(0, N, 700)]


@pytest.fixture(scope="module")
def parts(records: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    write_parts(SURVEY, records, folder, 800, shown_groups=tally(SURVEY, records, FIELD).groups)
    return folder


@pytest.mark.parametrize("by", [None, "a", "h", FIELD, "d", "e", "f", "c", "g", "c[c10]", "g[q]"])
def test_an_engine_counts_every_form_as_the_records_are_counted(
    records: list[bytes], parts: Path, by: str | None
) -> None:
    expected = tally(SURVEY, records, by)
    same_counts(tally_parts(SURVEY, parts, by), expected)
    same_counts(tally(SURVEY, parts, by), expected)
    same_counts(tally(SURVEY, f"{parts}/part-*.parquet", by), expected)


SAMPLED = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Sampled",
        "questions": [
            {"id": "y", "kind": "yes_no", "text": "Y?", "mechanism": {"epsilon": 1}},
            {
                "id": "used",
                "kind": "multiple",
                "text": "Which?",
                "options": [*"abcdefgh"],
                "mechanism": {"name": "sampled", "epsilon": 2, "ask": 2},
            },
        ],
    }
)


@pytest.mark.parametrize("by", ["used", "used[c]"])
@pytest.mark.parametrize("most", [10, 1000], ids=["read", "grouped"])
def test_people_who_were_not_asked_about_an_option_are_in_no_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, most: int
) -> None:
    """Where a question has more different reports than are grouped by, files are read block by block."""
    monkeypatch.setattr("hushpoll_analysis.sample.engine_codes.MOST_REPORTS", most)
    truth = {"y": [0.5, 0.5], "used": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]}
    frame = pd.DataFrame(
        {f"{name}_reported": codes for name, codes in simulate_survey(SAMPLED, 900, truth, 3)}
    )
    for start in range(0, 900, 400):
        frame[start : start + 400].to_parquet(tmp_path / f"{start}.parquet")
    expected = tally(SAMPLED, frame, by)
    same_counts(tally_parts(SAMPLED, tmp_path, by), expected)
    with engine_table(SAMPLED, tmp_path) as table:
        if most > 100:
            same_counts(tally(SAMPLED, table, by), expected)
        else:
            with pytest.raises(AnalysisError, match="112 different reports, too many to group by"):
                tally(SAMPLED, table, by)


@pytest.mark.parametrize("by", [None, "h", FIELD, "e", "c[c10]", "g[q]"])
def test_weights_of_every_form_are_added_up(records: list[bytes], parts: Path, by: str | None) -> None:
    frame = read_frame(SURVEY, records, 0)
    frame["w"] = 1.0 + (frame["b_reported"] % 3)
    with engine_table(SURVEY, parts) as table:
        sums = weighted_counts(SURVEY, table.mutate(w=1.0 + (table["b_reported"] % 3)), "w", by)
    frame["group_"] = "" if by is None else _groups(frame, by)
    frame = frame[frame["group_"] != "-1"]
    for entry in SURVEY.entries:
        report_sampler = sampler(entry.channel)
        codes, _ = report_sampler.read(frame[f"{entry.id}_reported"].to_numpy())
        columns = (
            {
                f"{entry.id}[{label}]": report_sampler.part_codes(option_part, codes)
                for option_part, label in zip(report_sampler.parts, entry.labels, strict=True)
            }
            if report_sampler.digits
            else {entry.id: codes}
        )
        for name, column in columns.items():
            expected = frame.assign(code=column.astype(np.int64), square=frame["w"] ** 2).groupby(
                ["group_", "code"]
            )
            mine = sums[sums["question"] == name]
            assert mine["n"].tolist() == expected.size().tolist(), name
            assert mine["weight"].tolist() == expected["w"].sum().tolist(), name
            assert mine["weight_squared"].tolist() == expected["square"].sum().tolist(), name


def _groups(frame: pd.DataFrame, by: str) -> pd.Series[Any]:
    if by == FIELD:
        return frame[FIELD]
    if "[" in by:
        name = by[0]
        entry = SURVEY.question(name)
        report_sampler = sampler(entry.channel)
        codes, _ = report_sampler.read(frame[f"{name}_reported"].to_numpy())
        option_part = report_sampler.parts[entry.labels.index(by[2:-1])]
        return pd.Series(report_sampler.part_codes(option_part, codes).astype(str), index=frame.index)
    question = SURVEY.question(by)
    block_and_member = SURVEY.block_of(question)
    if block_and_member is None:
        return frame[f"{by}_reported"].astype(str)
    block, member = block_and_member
    report_sampler = sampler(block.channel)
    codes = frame[f"{block.id}_reported"].to_numpy()
    return pd.Series(
        report_sampler.part_codes(report_sampler.parts[member], codes).astype(str), index=frame.index
    )


_WRITE = """
import sys
from pathlib import Path
import numpy as np
from hushpoll_analysis.sample.parts import write_parts
from hushpoll_analysis.errors import AnalysisError
from hushpoll_client import Survey
from hushpoll_client.delivery.record import RecordFormat

survey = Survey.from_draft({"hushpoll": 1, "title": "t", "questions": [
    {"id": "a", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 1}},
    {"id": "c", "kind": "choice", "text": "?", "options": [str(k) for k in range(40)],
     "mechanism": {"name": "subset", "epsilon": 1, "size": 8}}]})
layout = RecordFormat.of(survey)
one = b"".join(layout.pack((k % 2, f"{0xff << k % 32:010x}")) for k in range(20_000))
write_parts(survey, (one for _ in range(int(sys.argv[1]))), Path(sys.argv[2]), 40_000)
print(int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024)
"""


def test_memory_does_not_grow_with_the_number_of_parts(tmp_path: Path) -> None:
    peaks = []
    for blocks in (4, 32):
        folder = tmp_path / str(blocks)
        folder.mkdir()
        command = [sys.executable, "-c", _WRITE, str(blocks), str(folder)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=240)
        peaks.append(float(done.stdout))
        assert len(list(folder.iterdir())) == blocks // 2
    # 640,000 reports with their text would be 60 MB more than 80,000.
    assert peaks[1] < peaks[0] + 20, peaks
