"""Groups by link: in the document, the link, the report and the record."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hushpoll_client import Report, ReportError, SubmitError, Survey, SurveyError
from hushpoll_client.delivery.link import Link, survey_link
from hushpoll_client.delivery.memory import Memory
from hushpoll_client.delivery.record import RecordFormat
from hushpoll_client.survey.group import MAX_GROUPS, named_group
from hushpoll_client.survey.series import changed_groups
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors.surveys import groups_and_blocks, groups_draft, survey, yes_no

WARNER = {"name": "warner", "epsilon": 1}
PLAIN = Survey.from_draft(survey(yes_no("cheated", WARNER)))
GROUPED = Survey.from_draft(groups_draft())


def with_groups(*names: object) -> dict[str, object]:
    return survey(yes_no("cheated", WARNER)) | {"groups": list(names)}


def test_names_are_composed_and_part_of_the_hash() -> None:
    assert GROUPED.groups == ("Science", "Beaux-arts études")
    assert Survey.from_published(GROUPED.canonical, GROUPED.hash) == GROUPED
    assert Survey.from_draft(GROUPED.as_document(published=False)).hash == GROUPED.hash
    assert GROUPED.hash != Survey.from_draft(groups_draft() | {"groups": ["Arts", "Science"]}).hash


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "groups: is empty; leave it out"),
        (["Science"], "groups: there is only one group; name two or more, or leave groups out"),
        ([f"G{n}" for n in range(MAX_GROUPS + 1)], "groups: there are 101 groups; keep at most 100"),
        (["Science", ""], "groups.1: is empty; write something"),
        (["Science", 3], "groups.1: must be text, got 3; write it in quotes"),
        (["Science", "x" * 201], "groups.1: has 201 characters; keep at most 200"),
        (["Science", "Arts", "science"], 'groups.2: "science" appears twice; give every group its own name'),
        (["Café", "Cafe\u0301"], 'groups.1: "Café" appears twice; give every group its own name'),
        (["Straße", "STRASSE"], 'groups.1: "STRASSE" appears twice'),
        (["Arts", " arts"], 'groups.1: " arts" appears twice'),
        (["Arts", "Other"], 'groups.1: "other" is what small groups are put together under'),
    ],
)
def test_each_fault_has_one_clear_message(names: list[object], message: str) -> None:
    with pytest.raises(SurveyError) as caught:
        Survey.from_draft(with_groups(*names))
    assert str(caught.value).startswith(message)


def test_no_question_has_the_id_of_the_groups() -> None:
    drafted = survey(yes_no("group", WARNER))
    assert Survey.from_draft(drafted).questions[0].id == "group"
    with pytest.raises(SurveyError, match='"group" is what the groups are called; use another id'):
        Survey.from_draft(drafted | {"groups": ["a", "b"]})


def test_a_report_names_its_group_first_in_the_record() -> None:
    report = Report.new(GROUPED, [1, 2], group=1)
    assert report.to_bytes().startswith(b'{"group":1,"id":"')
    assert Report.parse(GROUPED, report.to_bytes("code")) == (report, "code")
    form = RecordFormat.of(GROUPED)
    record = form.pack(report.values)
    assert record[: form.group_width] == b"\x01"
    assert form.unpack(record) == report.values
    assert form.read_body(report.to_bytes()) == (report.id.encode(), record)
    assert form.dtype[0] == ("group", "<u1")
    plain = RecordFormat.of(PLAIN)
    assert (plain.group_width, plain.names) == (0, ("cheated",))


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (None, "group: is missing; give the number in the link, from 0 to 1"),
        (2, "group: must be a whole number from 0 to 1"),
        (-1, "group: must be a whole number from 0 to 1"),
        (True, "group: must be a whole number from 0 to 1"),
        ("0", "group: must be a whole number from 0 to 1"),
        (0.0, "group: must be a whole number from 0 to 1"),
        ([0], "group: must be a whole number from 0 to 1"),
    ],
)
def test_a_report_without_its_group_is_refused(group: object, message: str) -> None:
    value = {"id": "0" * 32, "reports": [0, 0]} | ({} if group is None else {"group": group})
    with pytest.raises(ReportError) as caught:
        Report.check(GROUPED, value)
    assert (str(caught.value), caught.value.item) == (message, "group")


def test_a_group_is_refused_if_the_survey_has_none() -> None:
    with pytest.raises(ReportError, match="group: this survey has no groups; leave it out"):
        Report.check(PLAIN, {"id": "0" * 32, "reports": [0], "group": 0})
    with pytest.raises(ReportError, match="group: must not be null"):
        Report.check(PLAIN, {"id": "0" * 32, "reports": [0], "group": None})
    with pytest.raises(ReportError, match="this survey has no groups"):
        Report.new(PLAIN, [0], group=0)
    with pytest.raises(ReportError, match="is missing"):
        Report.new(GROUPED, [0, 0])


def test_a_link_names_the_group_only_where_there_are_groups() -> None:
    link = survey_link("https://example.org", GROUPED.hash, "g7code", 1)
    assert link.endswith(f"#{GROUPED.hash}.g1.g7code")
    parsed = Link.parse(link).of(GROUPED)
    assert (parsed.group, parsed.invitation, str(parsed)) == (1, "g7code", link)
    alone = Link.parse(survey_link("https://example.org", GROUPED.hash, group=0)).of(GROUPED)
    assert (alone.group, alone.invitation) == (0, None)
    # A code that looks like a group is a code where there are none.
    plain = Link.parse(survey_link("https://example.org", PLAIN.hash, "g1")).of(PLAIN)
    assert (plain.group, plain.invitation) == (None, "g1")


@pytest.mark.parametrize(
    "tail", ["", ".", ".g2", ".g", ".g-1", ".g01", ".g1x", ".G1", ".code", ".code.g1", ".g٣"]
)
def test_a_link_without_a_valid_group_is_refused(tail: str) -> None:
    link = Link.parse(f"https://example.org/s/{GROUPED.hash}#{GROUPED.hash}{tail}")
    with pytest.raises(
        SubmitError, match="the link names no group of this survey; ask for the link of your group"
    ):
        link.of(GROUPED)


def test_memory_stores_the_group(tmp_path) -> None:  # type: ignore[no-untyped-def]
    memory = Memory(tmp_path)
    report = Report.new(GROUPED, [0, 1], group=1)
    assert memory.keep(GROUPED, report).report == report
    assert memory.keep(GROUPED, Report.new(GROUPED, [0, 1], group=0)).report == report, (
        "drawn once, in one group"
    )
    record = Memory(tmp_path).recall(GROUPED)
    assert record is not None
    assert (record.id, record.report) == (report.id, report)


def test_groups_are_found_by_name() -> None:
    assert named_group(GROUPED.groups, "Science") == 0
    assert named_group((), None) is None
    for groups, name, message in (
        (GROUPED.groups, None, "which group is not said; name one of Science, Beaux-arts études"),
        (GROUPED.groups, "Law", '"Law" is none of them; name one of Science'),
        ((), "Science", "this survey has none; leave the group out"),
    ):
        with pytest.raises(SurveyError, match=message):
            named_group(groups, name)


@given(st.integers(0, 2), st.data())
def test_every_packed_record_is_read_back(group: int, data: st.DataObject) -> None:
    """Groups, a block, a decoy: the quick reader, the strict one and the record agree."""
    survey = Survey.from_draft(groups_and_blocks())
    answers = [data.draw(st.integers(0, len(question.options) - 1)) for question in survey.questions]
    report = Report.new(survey, answers, group=group)
    form = RecordFormat.of(survey)
    record = form.pack(report.values)
    parsed_bodies: dict[bytes, bytes | None] = {}
    for body in (report.to_bytes(), report.to_body(survey), report.to_body(survey) + b"  "):
        assert form.read_body(body, parsed_bodies) == (report.id.encode(), record)
        assert form.read_body(body) == (report.id.encode(), record)
    # What is not legal is refused however often it comes.
    other = report.to_bytes().replace(b'"group":%d' % group, b'"group":9')
    assert [form.read_body(other, parsed_bodies) for _ in range(2)] == [None, None]
    assert form.unpack(record) == report.values == (group, *report.reports)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (("a", "b"), ("b", "a"), ""),
        (("a",), ("a", "b", "c"), "(new: b, c)"),
        (("a", "b"), ("b",), "(no longer there: a)"),
        (("a", "b"), ("b", "c"), "(new: c; no longer there: a)"),
    ],
)
def test_groups_that_differ_between_waves_are_named(
    before: tuple[str, ...], after: tuple[str, ...], expected: str
) -> None:
    sentence = changed_groups(SimpleNamespace(groups=before), SimpleNamespace(groups=after))
    assert expected in sentence
    assert bool(sentence) == bool(expected)
