"""What a report looks like on the wire and in a record is its form's affair: a whole number, or a bitmap."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pytest
from hushpoll_client import (
    SCALE,
    Channel,
    ChannelError,
    MechanismError,
    Report,
    ReportError,
    Survey,
    mechanisms,
    randomize,
)
from hushpoll_client.channel import Bitmap, Code, Whole, Wire
from hushpoll_client.channel.base import Draws
from hushpoll_client.delivery.record import RecordFormat
from hypothesis import given
from hypothesis import strategies as st

from tests.client.documents import exam


@dataclass(frozen=True)
class Pairs(Channel):
    """A form of this test only: with weight T the truth and another option are reported together, else two others."""

    form: ClassVar[str] = "test-pairs"
    keys: ClassVar[frozenset[str]] = frozenset({"options"})
    options: int

    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Pairs:
        return cls(value["options"])

    @property
    def outcomes(self) -> int:
        return self.options * (self.options - 1) // 2

    @property
    def ratio(self) -> Fraction:
        return Fraction(3)

    @property
    def wire(self) -> Wire:
        return Bitmap(self.options, 2)

    def row(self, answer: int) -> tuple[int, ...]:
        weights = [3 if answer in pair else 1 for pair in combinations(range(self.options), 2)]
        return tuple(weight * SCALE // sum(weights) for weight in weights)

    def pick(self, answer: int, draws: Draws) -> Code:
        self.check_answer(answer)
        number = draws() % self.outcomes
        first, second = list(combinations(range(self.options), 2))[number]
        return f"{(1 << first) | (1 << second):0{self.wire.digits}x}"  # type: ignore[attr-defined]

    def to_json(self) -> dict[str, Any]:
        return {"form": self.form, "options": self.options}


del Channel.forms[Pairs.form]  # other tests of the same process must not see it


@pytest.fixture(autouse=True)
def forget_the_form() -> Iterator[None]:
    """Register the form for the duration of each test."""
    Channel.forms[Pairs.form] = Pairs
    yield
    del Channel.forms[Pairs.form]


@given(
    st.integers(1, 70).flatmap(lambda k: st.tuples(st.just(k), st.sets(st.integers(0, k - 1), min_size=1)))
)
def test_a_bitmap_survives_wire_and_record(case: tuple[int, set[int]]) -> None:
    options, chosen = case
    wire = Bitmap(options, len(chosen))
    report = f"{sum(1 << option for option in chosen):0{wire.digits}x}"
    assert wire.legal(report)
    assert wire.read(json.dumps(report).encode()) == report
    assert wire.unpack(wire.pack(report)) == report
    assert np.dtype(wire.dtype).itemsize == wire.width


@pytest.mark.parametrize(
    "report", [7, None, True, "", "3", "003", "0G", "0A", "07", "01", "20", "60", "3\n", ["03"], b"03", "０3"]
)
def test_other_values_than_bitmaps_of_two_among_five_are_refused(report: object) -> None:
    wire = Bitmap(5, 2)
    assert not wire.legal(report)
    assert wire.legal("03")
    assert wire.legal("18")


@pytest.mark.parametrize("report", [-1, 3, 1.0, "1", None, True, [1]])
def test_other_values_than_whole_numbers_below_three_are_refused(report: object) -> None:
    assert not Whole(3).legal(report)
    assert Whole(3).legal(2)


def test_a_record_holds_numbers_and_bitmaps_side_by_side() -> None:
    form = RecordFormat(("a", "b", "c"), (Whole(3), Bitmap(10, 2), Whole(300)))
    reports: tuple[Code, ...] = (2, "201", 299)
    assert form.holds(reports)
    assert form.unpack(form.pack(reports)) == reports
    assert form.size == 1 + 2 + 2 == np.dtype(form.dtype).itemsize
    body = b'{"id":"%032x","reports":[2,"201",299]}' % 5
    match = form.pattern.fullmatch(body)
    assert match is not None
    assert form.read(match[2]) == reports
    assert form.pattern.fullmatch(body.replace(b'"201"', b'"2010"')) is None
    assert form.read(b'2,"301",299') is None
    assert form.read(b'3,"201",299') is None


def test_a_whole_survey_can_carry_another_shape() -> None:
    document = exam(questions=exam()["questions"][:2])
    document["questions"][1]["mechanism"] = {"name": "matrix", "epsilon": 1.1}
    document["questions"][1]["channel"] = {"form": "test-pairs", "options": 4}
    survey = Survey.from_draft(document)
    assert Survey.from_published(survey.canonical, survey.hash) == survey
    report = Report.new(survey, [1, 3])
    body = report.to_bytes()
    assert Report.parse(survey, body) == (report, None)
    form = RecordFormat.of(survey)
    assert form.unpack(form.pack(report.reports)) == report.reports
    for bad in ("f", "1", 3):
        with pytest.raises(ReportError, match=r'reports\[1\] \("reason"\): must be 1 lower-case') as refused:
            Report.check(survey, {"id": report.id, "reports": [0, bad]})
        assert refused.value.item == 'reports[1] ("reason")'


def test_integers_of_numpy_are_integers() -> None:
    assert mechanisms.krr(np.int64(4), 1) == mechanisms.krr(4, 1)
    assert mechanisms.krr(np.uint8(4), np.float64(1)).device == mechanisms.krr(4, 1).device
    assert mechanisms.or_poll(decoy_counts=np.array([412, 1000])) == mechanisms.or_poll(
        decoy_counts=(412, 1000)
    )
    assert mechanisms.kuk("0.8", "0.2", np.int32(3)) == mechanisms.kuk("0.8", "0.2", 3)
    assert Channel.krr(np.int64(3), np.int64(5)) == Channel.krr(3, 5)
    table = Channel.matrix(np.array([[SCALE // 2] * 2] * 2))
    assert table == Channel.matrix([[SCALE // 2] * 2] * 2)
    assert type(table.row(np.int64(1))[0]) is int
    assert randomize(Channel.krr(3, 5), np.int64(2), lambda count: bytes(count)) == 2
    assert json.dumps(mechanisms.krr(np.int64(4), 1).device.to_json())


@pytest.mark.parametrize("options", [True, np.True_, 4.0, "4", None, np.float64(4)])
def test_other_values_than_integers_are_refused_by_their_type(options: Any) -> None:
    constructors = (
        mechanisms.krr,
        mechanisms.subset,
        mechanisms.geometric,
        mechanisms.one_bit,
        mechanisms.discrete_gaussian,
    )
    for constructor in (*constructors, lambda options, epsilon: mechanisms.padded(options, epsilon, 2)):
        with pytest.raises(MechanismError, match="number of options must be a whole number, got"):
            constructor(options, 1)
    with pytest.raises(MechanismError, match="answers of every question must be a whole number, got"):
        mechanisms.sampled([2, options], 1)
    with pytest.raises(MechanismError, match="must be a whole number from 1 to 63, got"):
        mechanisms.kuk("0.8", "0.2", options)


@pytest.mark.parametrize(
    "rows", [[[0.85, 0.15], [0.15, 0.58]], [[2, 1], [1, 2]], [[1, 1], [1, 0]], [[SCALE, 1], [0, SCALE]]]
)
def test_rows_that_do_not_sum_to_one_are_refused_never_stretched(rows: list[list[float]]) -> None:
    with pytest.raises(ChannelError, match="sums to"):
        mechanisms.matrix(rows)
    assert mechanisms.matrix(weights=rows).options == 2


def test_rows_may_miss_one_by_rounding_only_and_may_be_integers_out_of_the_scale() -> None:
    third = 1 / 3
    assert mechanisms.matrix([[third, third, third], [0.2, 0.3, 0.5]]).options == 2
    assert mechanisms.matrix([[SCALE - 5, 5], [5, SCALE - 5]]).device.row(0) == (SCALE - 5, 5)
    with pytest.raises(ChannelError, match=r"row 1 sums to 0\.99999999"):
        mechanisms.matrix([[0.5, 0.499999998], [0.5, 0.5]])
    with pytest.raises(MechanismError, match="either rows or weights"):
        mechanisms.matrix()
