"""Groups by link in the analysis: exact groups, small ones hidden, strata of known sizes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import compare, crosstab, report
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.shuffle import shuffled_epsilon
from hushpoll_analysis.results.export import write_export
from hushpoll_analysis.results.question import QuestionResults
from hushpoll_analysis.sample.files import read_frame, tally
from hushpoll_analysis.sample.link_groups import displayed_names
from hushpoll_analysis.sample.parts import tally_parts, write_parts
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey
from hushpoll_client.delivery.record import RecordFormat
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors.surveys import blocks_draft, choice, survey, yes_no

NAMES = ["Science", "Arts, fine", "=Law", "NA"]
CHEATED = yes_no("cheated", {"name": "warner", "epsilon": 2})
WHY = choice("why", ["Time", "Fear", "Habit"], {"name": "krr", "epsilon": 2})
SURVEY = Survey.from_draft(survey(CHEATED, WHY) | {"groups": NAMES})


def frame_of(
    sizes: list[int], yes: list[float] | float = 0.3, seed: int = 1, survey_of_groups: Survey = SURVEY
) -> pd.DataFrame:
    """Return reports of groups of the given sizes, each with its own share of Yes."""
    rates = yes if isinstance(yes, list) else [yes] * len(sizes)
    parts = []
    for index, (n, rate) in enumerate(zip(sizes, rates, strict=True)):
        truth = {"cheated": [1 - rate, rate], "why": [0.5, 0.3, 0.2]}
        columns = dict(simulate_survey(survey_of_groups, n, truth, seed * 1000 + index)) if n else {}
        group_rows = pd.DataFrame({f"{name}_reported": codes for name, codes in columns.items()})
        parts.append(group_rows.assign(group=survey_of_groups.groups[index]))
    return pd.concat([group_rows for group_rows in parts if len(group_rows)], ignore_index=True)


def records(frame: pd.DataFrame, survey_of_groups: Survey = SURVEY) -> list[bytes]:
    """The same as the database holds them."""
    form = RecordFormat.of(survey_of_groups)
    columns = [f"{entry.id}_reported" for entry in survey_of_groups.entries]
    rows = zip(frame["group"], *(frame[name] for name in columns), strict=True)
    return [
        b"".join(form.pack((survey_of_groups.groups.index(group), *map(int, rest))) for group, *rest in rows)
    ]


# Which groups are shown -----------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 300), min_size=2, max_size=8), st.sampled_from([2, 50, 100]))
def test_nobody_can_subtract_a_small_group(sizes: list[int], fewest: int) -> None:
    """What is shown alone has the minimum; what is hidden is nothing, all, or two or more with the minimum."""
    named = displayed_names({str(index): size for index, size in enumerate(sizes)}, fewest)
    hidden = [sizes[int(name)] for name, displayed in named.items() if displayed == "other"]
    alone = [
        sizes[int(name)] for name, displayed in named.items() if displayed != "other" and sizes[int(name)]
    ]
    assert all(size >= fewest for size in alone)
    assert not hidden or not alone or (len(hidden) >= 2 and sum(hidden) >= fewest)
    if all(size >= fewest or size == 0 for size in sizes):
        assert not hidden, "nothing is hidden without need"
    if hidden and alone:
        added = [size for size in hidden if size >= fewest]
        assert not added or max(added) <= min(alone), "the smallest are hidden first"


@pytest.mark.parametrize(
    ("sizes", "other"),
    [
        ([120, 90, 60, 80], []),
        ([120, 90, 49, 80], ["c", "d"]),
        ([120, 90, 30, 40], ["c", "d"]),
        ([120, 90, 3, 4], ["b", "c", "d"]),
        ([120, 90, 0, 80], []),
        ([120, 3, 0, 0], ["a", "b"]),
        ([3, 4, 5, 6], ["a", "b", "c", "d"]),
    ],
)
def test_small_groups_are_put_together(sizes: list[int], other: list[str]) -> None:
    named = displayed_names(dict(zip("abcd", sizes, strict=True)))
    assert [name for name, displayed in named.items() if displayed == "other"] == other


# Every way in ---------------------------------------------------------------------------------------------------


def ways_in(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """The same reports as a frame, from the database, and as the files of an export."""
    write_export(SURVEY, records(frame), folder)
    return {
        "frame": frame,
        "records": records(frame),
        "csv": folder / "reports.csv",
        "parquet": folder / "reports.parquet",
    }


def test_every_way_in_gives_the_same_groups(tmp_path: Path) -> None:
    frame = frame_of([200, 150, 30, 70])
    tallies = {way: tally(SURVEY, data, "group") for way, data in ways_in(frame, tmp_path).items()}
    for way, counted in tallies.items():
        assert counted.groups == ("Science", "Arts, fine", "other"), way
        assert counted.joint["why"].sum(axis=1).tolist() == [200, 150, 100], way
        assert (counted.joint["why"] == tallies["frame"].joint["why"]).all(), way
    plain = tally(SURVEY, records(frame))
    assert (plain.n, plain.by) == (450, None)
    with pytest.raises(AnalysisError, match='"faculty" is not a question of the survey'):
        tally(SURVEY, records(frame), "faculty")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_engine_gives_the_same_groups(tmp_path: Path) -> None:
    ibis = pytest.importorskip("ibis")
    frame_of([200, 150, 30, 70]).to_parquet(tmp_path / "reports.parquet")
    counted = tally(SURVEY, ibis.duckdb.connect().read_parquet(tmp_path / "reports.parquet"), "group")
    assert counted.groups == ("Science", "Arts, fine", "other")
    assert tally_parts(SURVEY, tmp_path, "group").groups == counted.groups


def test_parts_name_no_small_group(tmp_path: Path) -> None:
    """A part does not know how many reports a group has in all; the counts of the whole survey do."""
    frame = frame_of([200, 150, 30, 70])
    with pytest.raises(AnalysisError, match="say which groups are shown on their own"):
        write_parts(SURVEY, records(frame), tmp_path)
    counted = tally(SURVEY, records(frame), "group")
    paths = write_parts(SURVEY, records(frame), tmp_path, 40, shown_groups=counted.groups)
    assert {name for path in paths for name in pd.read_parquet(path)["group"]} == {
        "Science",
        "Arts, fine",
        "other",
    }
    combined = tally_parts(SURVEY, tmp_path, "group")
    assert combined.groups == counted.groups
    for name, table in counted.joint.items():
        assert (combined.joint[name] == table).all()
    # When a group has grown, parts that named it otherwise are written again.
    again = write_parts(SURVEY, records(frame), tmp_path, 40, shown_groups=SURVEY.groups)
    assert {name for path in again for name in pd.read_parquet(path)["group"]} == set(SURVEY.groups)


def test_the_export_names_no_small_group(tmp_path: Path) -> None:
    frame = frame_of([200, 150, 30, 70])
    paths = write_export(SURVEY, records(frame), tmp_path)
    exported = read_frame(SURVEY, tmp_path / "reports.csv")
    assert exported["group"].value_counts().to_dict() == {"Science": 200, "Arts, fine": 150, "other": 100}
    table = (tmp_path / "reports.csv").read_text()
    assert "Law" not in table
    assert table.splitlines()[0] == '"cheated_reported","why_reported","group"'
    assert "cheated_reported" in (tmp_path / "codebook.csv").read_text("utf-8-sig")
    assert 'group,"Group, named openly' in (tmp_path / "codebook.csv").read_text("utf-8-sig")
    assert "## group" in (tmp_path / "codebook.md").read_text()
    package = json.loads((tmp_path / "datapackage.json").read_text())
    field = package["resources"][0]["schema"]["fields"][-1]
    assert (field["name"], field["constraints"]["enum"]) == ("group", [*NAMES, "other"])
    assert 'name="group"' in (tmp_path / "codebook.xml").read_text()
    for name in ("labels.sps", "labels.do", "labels.R"):
        assert "group" in (tmp_path / name).read_text("utf-8-sig")
    if tmp_path / "reports.sav" in paths:
        import pyreadstat

        for name, reader in (("reports.sav", pyreadstat.read_sav), ("reports.dta", pyreadstat.read_dta)):
            data, _ = reader(str(tmp_path / name))
            assert set(data["group"]) == {"Science", "Arts, fine", "other"}, name
    # With a formula's sign in front the cell is guarded, and read back as it was.
    write_export(SURVEY, records(frame_of([200, 150, 90, 70])), tmp_path / "more")
    assert "'=Law" in (tmp_path / "more" / "reports.csv").read_text()
    assert set(read_frame(SURVEY, tmp_path / "more" / "reports.csv")["group"]) == set(NAMES)


def test_exports_of_surveys_without_groups_stay_as_they_were(tmp_path: Path) -> None:
    plain = Survey.from_draft(survey(CHEATED, WHY))
    frame = frame_of([60, 0, 0, 0]).drop(columns="group")
    write_export(plain, frame, tmp_path)
    assert (tmp_path / "reports.csv").read_text().splitlines()[0] == '"cheated_reported","why_reported"'


def test_a_foreign_group_is_named() -> None:
    frame = frame_of([60, 60, 0, 0]).replace({"group": {"Science": "Medicine"}})
    with pytest.raises(
        AnalysisError, match="'Medicine', which is not a group of this survey; its groups are Science"
    ):
        tally(SURVEY, frame, "group")
    with pytest.raises(AnalysisError, match="is not a group of this survey"):
        read_frame(SURVEY, frame)


# Results --------------------------------------------------------------------------------------------------------


def test_results_by_group(tmp_path: Path) -> None:
    frame = frame_of([600, 500, 30, 70], [0.1, 0.5, 0.3, 0.3], seed=2)
    results = report(SURVEY, records(frame), by="group")
    (cheated, _) = results.groups
    assert cheated.groups == ("Science", "Arts, fine", "other")
    assert not cheated.randomized
    shares = {share.group: share for share in cheated.shares if share.option == "Yes"}
    assert shares["Science"].low < 0.1 < shares["Science"].high
    assert shares["Arts, fine"].low < 0.5 < shares["Arts, fine"].high
    note = "Shown together as “other”: =Law, NA. A group of fewer than 50 reports is not shown on its own"
    assert note in cheated.notes[0]
    value = results.to_dict()
    assert value["group_sizes"] == {"Science": 600, "Arts, fine": 500, "other": 100}
    for text in (results.to_json(), results.to_text(), results.to_html(), results.to_csv()):
        assert "Science" in text
    # Neither crosstab nor compare of the exported table shows more.
    exported = read_frame(SURVEY, records(frame))
    assert crosstab(exported, SURVEY, "group", "cheated").labels[0] == ("Arts, fine", "Science", "other")
    assert {difference.group for difference in compare(exported, SURVEY, "cheated", "group").differences} <= {
        "Arts, fine",
        "Science",
        "other",
    }


def test_the_bound_of_totals_counts_the_smallest_group_shown() -> None:
    frame = frame_of([600, 300, 0, 0])
    overall, split = (report(SURVEY, frame, by=by, batch=math.inf) for by in (None, "group"))
    epsilon = SURVEY.questions[0].epsilon
    assert overall["cheated"].shuffled == shuffled_epsilon(epsilon, 900)
    assert split["cheated"].shuffled == shuffled_epsilon(epsilon, 300)
    assert any(
        "by group with 300 reports in the smallest, reveal less" in remark
        for remark in split["cheated"].remarks
    )
    assert not any("shown by group" in remark for remark in overall["cheated"].remarks)
    unsaid = report(SURVEY, frame, by="group")["cheated"]
    assert any(
        "released once, after the last report, by group with 300 reports" in remark
        for remark in unsaid.remarks
    )


def test_the_bound_of_totals_counts_what_is_released_together_while_a_survey_is_open() -> None:
    frame = frame_of([600, 300, 0, 0])
    epsilon = SURVEY.questions[0].epsilon
    for batch, n in ((None, 900), (100, 100), (5000, 900)):
        results = report(SURVEY, frame, batch=batch)["cheated"]
        assert results.shuffled == shuffled_epsilon(epsilon, n)
        remarks = " ".join(results.remarks)
        assert ("read while reports come, 100 or more at a time, reveal less" in remarks) is (n == 100)
    block_survey = Survey.from_draft(blocks_draft())
    member = block_survey.questions[1]
    member_results = QuestionResults(member, 400, (), (), None, batch=50)
    assert member_results.shuffled is not None
    assert member_results.shuffled.epsilon is None, (
        "of 50 chance decides how many were asked: nothing is claimed"
    )


def test_a_question_that_few_of_a_group_were_asked() -> None:
    """In a block some are asked: where fewer than the minimum were, that question hides the group, and one more."""
    block_survey = Survey.from_draft(blocks_draft() | {"groups": ["North", "South", "East"]})
    truth = {
        "first": [0.5, 0.5], "a": [0.7, 0.3], "b": [0.2, 0.3, 0.5], "c": [0.1, 0.2, 0.3, 0.2, 0.2],
        "d": [0.6, 0.4], "e": [0.9, 0.1], "last": [0.8, 0.2],
    }  # fmt: skip
    parts = []
    for index, n in enumerate((400, 300, 70)):
        columns = {
            f"{name}_reported": codes for name, codes in simulate_survey(block_survey, n, truth, index)
        }
        parts.append(pd.DataFrame(columns).assign(group=block_survey.groups[index]))
    results = report(block_survey, pd.concat(parts, ignore_index=True), by="group")
    tables = {table.id: table for table in results.groups}
    assert tables["first"].groups == ("North", "South", "East")
    assert tables["a"].groups == ("North", "other"), "47 of 70 were asked"
    assert "South, East" in tables["a"].notes[0]


# Known sizes ----------------------------------------------------------------------------------------------------


def test_known_sizes_weight_and_correct() -> None:
    """Two groups, half and half in the sample, nine to one in the population."""
    frame = frame_of([400, 400, 0, 0], [0.1, 0.7, 0.0, 0.0])
    sizes = {"Science": 9000, "Arts, fine": 1000, "=Law": 1, "NA": 1}
    weighted = report(SURVEY, frame, population=sizes)["cheated"].shares[0]
    by_group = {
        name: report(SURVEY, frame[frame["group"] == name])["cheated"].shares[0] for name in NAMES[:2]
    }
    expected = 0.9 * by_group["Science"].estimate + 0.1 * by_group["Arts, fine"].estimate
    assert weighted.estimate == pytest.approx(expected, abs=1e-9)
    variance = (0.9 * by_group["Science"].se) ** 2 + (0.1 * by_group["Arts, fine"].se) ** 2
    assert weighted.se == pytest.approx(variance**0.5, rel=0.05)
    # The randomization is not part of the population, so only the sampling part shrinks.
    full = report(SURVEY, frame, population=dict.fromkeys(NAMES, 400))["cheated"].shares[0]
    open_ended = report(SURVEY, frame, population=dict.fromkeys(NAMES, 4e8))["cheated"].shares[0]
    assert full.se < open_ended.se
    assert full.se >= full.se_privacy * 0.99


def test_known_sizes_from_the_database_and_of_hidden_groups() -> None:
    """Two totals with other weights would tell two hidden groups apart: they are one stratum of both their sizes."""
    frame = frame_of([300, 200, 30, 40], [0.1, 0.5, 0.9, 0.0])
    sizes = {"Science": 3000, "Arts, fine": 2000, "=Law": 700, "NA": 100}
    results = report(SURVEY, records(frame), population=sizes)
    same = report(SURVEY, frame, population=sizes | {"=Law": 100, "NA": 700})
    assert results["cheated"].shares[0] == same["cheated"].shares[0]
    for text in (results.to_json(), results.to_text(), results.to_html(), results.to_csv()):
        assert "cheat" in text
    assert report(SURVEY, records(frame), population=sizes, by="group").groups


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"Science": 100}, "nothing is given for the group 'Arts, fine'"),
        ({**dict.fromkeys(NAMES, 100), "Medicine": 3}, "'Medicine' is not a group of this survey"),
        (dict.fromkeys(NAMES, 100), "population is 100, fewer than the 300 in the sample"),
        (dict.fromkeys(NAMES, -1), "population is -1"),
    ],
)
def test_wrong_sizes_are_named(sizes: dict[str, float], message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        report(SURVEY, frame_of([300, 200, 90, 90]), population=sizes)


@pytest.mark.parametrize("repeats", [80, pytest.param(600, marks=pytest.mark.long)])
def test_intervals_of_groups_cover(repeats: int) -> None:
    """A small check: 95 % intervals of shares within groups and of their difference, in simulated surveys."""
    inside = np.zeros(3)
    two_groups = Survey.from_draft(survey(CHEATED) | {"groups": ["a", "b"]})
    rng = np.random.default_rng(7)
    channel = np.array(two_groups.questions[0].channel.rows, dtype=float) / 2**53
    for _ in range(repeats):
        parts = []
        for name, n, rate in (("a", 300, 0.2), ("b", 150, 0.5)):
            truth = (rng.random(n) < rate).astype(int)
            sent = (rng.random(n) < channel[truth, 1]).astype(int)
            parts.append(pd.DataFrame({"cheated_reported": sent, "group": name}))
        results = report(two_groups, pd.concat(parts, ignore_index=True), by="group")
        shares = {share.group: share for share in results.groups[0].shares if share.option == "Yes"}
        (difference,) = [item for item in results.groups[0].differences if item.option == "Yes"]
        inside += [
            shares["a"].low <= 0.2 <= shares["a"].high,
            shares["b"].low <= 0.5 <= shares["b"].high,
            difference.low <= 0.3 <= difference.high,
        ]
    print("coverage of a, b and their difference:", inside / repeats)
    three_errors = 3 * np.sqrt(0.05 * 0.95 / repeats)
    assert (inside / repeats >= 0.95 - three_errors).all()
    assert (inside / repeats <= 0.95 + three_errors).all()
