"""Counting without numpy, while sealing, equals the counts of the analysis, for every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hushpoll_analysis.channel.view import sampler
from hushpoll_client import Channel, Survey, mechanisms
from hushpoll_client.channel import SCALE
from hushpoll_client.delivery.record import RecordFormat

FORMS: dict[str, Channel] = {
    "krr": mechanisms.krr(options=4, epsilon=1).device,
    "wide krr": mechanisms.krr(options=300, epsilon=1).device,
    "matrix": mechanisms.warner(epsilon=1).device,
    "columns": Channel.columns(3, [0b011, 0b101], [SCALE // 8] * 2, [SCALE // 4] * 2),
    "subset": mechanisms.subset(options=13, size=4, epsilon=1).device,
    "wide subset": mechanisms.subset(options=301, size=70, epsilon=1).device,
    "padded": mechanisms.padded(options=9, at_most=3, epsilon=2).device,
    "sampled": mechanisms.sampled([2, 2, 2, 2], 2, 2).device,
    "sampled alone": mechanisms.sampled([2, 5, 3], 1, 2).device,
    "sampled of several sizes": mechanisms.sampled([2, 3, 5, 2, 4], 3, 2).device,
    "too many to pair": mechanisms.sampled([2] * 65, 2, 2).device,
}


def some_reports(channel: Channel, n: int) -> bytes:
    """Legal reports of one question, as a column of records."""
    source = np.random.default_rng(7)
    answers: Any = sampler(channel).audited
    reports = (
        channel.pick(answers[source.integers(len(answers))], lambda: int(source.integers(SCALE)))
        for _ in range(n)
    )
    wire = channel.wire
    record_format = RecordFormat(("one",), (wire,))
    return b"".join(record_format.pack([report]) for report in reports)


@pytest.mark.parametrize("name", FORMS)
def test_counts_without_numpy_are_those_of_the_analysis(name: str) -> None:
    channel = FORMS[name]
    fields = some_reports(channel, 700)
    sampler_of_channel = sampler(channel)
    codes, wrong = sampler_of_channel.read(np.frombuffer(fields, dtype=channel.wire.dtype))
    assert wrong is None
    assert channel.cells == sampler_of_channel.cells
    counts = np.zeros(channel.cells, dtype=np.int64)
    for cell, times in channel.tally(fields).items():
        counts[cell] = times
    assert counts.tolist() == sampler_of_channel.tally(codes).tolist()
    assert sampler_of_channel.total(counts) == 700


@pytest.mark.parametrize("name", [member_report for member_report in FORMS if "sampled" in member_report])
def test_the_report_of_a_member_is_extracted(name: str) -> None:
    channel: Any = FORMS[name]
    fields = some_reports(channel, 300)
    sampler_of_channel = sampler(channel)
    codes = np.frombuffer(fields, dtype=channel.wire.dtype)
    for index, member in enumerate(sampler_of_channel.parts):
        answers = [channel.member_report(index, report) for report in codes.tolist()]
        member_codes = [-1 if answer is None else answer for answer in answers]
        assert member_codes == sampler_of_channel.part_codes(member, codes).tolist()


def test_records_are_cut_into_their_columns() -> None:
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": "Three widths",
            "groups": ["Science", "Arts"],
            "questions": [
                {"id": "a", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 1}},
                {
                    "id": "b",
                    "kind": "choice",
                    "text": "?",
                    "options": [str(number) for number in range(300)],
                    "mechanism": {"name": "krr", "epsilon": 1},
                },
                {
                    "id": "c",
                    "kind": "choice",
                    "text": "?",
                    "options": [str(number) for number in range(20)],
                    "mechanism": {"name": "subset", "epsilon": 1, "size": 2},
                },
            ],
        }
    )
    record_format = RecordFormat.of(survey)
    rows = [(1, 0, 299, "00003"), (0, 1, 2, "80001"), (1, 1, 256, "00030")]
    group, *columns = record_format.columns(b"".join(record_format.pack(row) for row in rows))
    assert list(group) == [1, 0, 1]
    assert list(columns[0]) == [0, 1, 1]
    assert list(record_format.wires[2].column(columns[1])) == [299, 2, 256]
    assert [
        record_format.wires[3].unpack(report) for report in record_format.wires[3].column(columns[2])
    ] == [
        "00003",
        "80001",
        "00030",
    ]
