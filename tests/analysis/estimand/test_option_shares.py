"""Reports that speak of several options at once: drawn, counted and estimated part by part."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import estimate, report, simulate
from hushpoll_analysis.channel.subset import SubsetSampler
from hushpoll_analysis.channel.view import channel_view, sampler
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.optimal import designed
from hushpoll_analysis.results.export import write_export, write_reports
from hushpoll_analysis.simulation.epsilon_audit import audit_channel, buffered
from hushpoll_analysis.simulation.respondents import row_shares, simulate_codes, simulate_survey
from hushpoll_client import Report, Survey, mechanisms
from hushpoll_client.delivery.record import RecordFormat
from scipy import stats

TOWNS = [f"town {number}" for number in range(40)]
DRAFT: dict[str, Any] = {
    "hushpoll": 1,
    "title": "Parts",
    "questions": [
        {"id": "town", "kind": "choice", "text": "Where?", "options": TOWNS, "mechanism": {"epsilon": 1}},
        {
            "id": "used",
            "kind": "multiple",
            "text": "Which?",
            "options": [*"abcdefgh"],
            "mechanism": {"epsilon": 2},
        },
        {
            "id": "few",
            "kind": "multiple",
            "text": "Which three?",
            "options": [*"abcdefgh"],
            "at_most": 3,
            "mechanism": {"epsilon": 1},
        },
        {
            "id": "hours",
            "kind": "number",
            "text": "Hours?",
            "min": 0,
            "max": 80,
            "step": 1,
            "mechanism": {"name": "krr", "epsilon": 2},
        },
        {"id": "cheated", "kind": "yes_no", "text": "Did you?", "mechanism": {"epsilon": 1}},
        {
            "id": "why",
            "kind": "choice",
            "text": "Why?",
            "options": ["Time", "Fear"],
            "after": {"question": "cheated", "answers": ["Yes"]},
            "mechanism": {"epsilon": 1},
        },
    ],
}
SURVEY = Survey.from_draft(DRAFT)
TRUTH: dict[str, Any] = {
    "town": [0.5, 0.3, 0.2, *[0.0] * 37],
    "used": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
    "few": {"sets": [["a"], ["a", "b", "h"], []], "shares": [0.5, 0.3, 0.2]},
    "hours": {"values": [10, 37, "80"], "shares": [0.5, 0.25, 0.25]},
    "cheated": [0.7, 0.3],
    "why": [0.4, 0.6],
}
CHANNELS = {
    "subset": mechanisms.subset(6, 1, 2).device,
    "sampled": mechanisms.sampled([2] * 4, 2, 2).device,
    "unequal": mechanisms.sampled([2, 3, 2], 1, 2).device,
    "padded": mechanisms.padded(5, 1, 2).device,
}
ANSWERS: dict[str, list[Any]] = {
    "subset": list(range(6)),
    "sampled": list(product((0, 1), repeat=4)),
    "unequal": list(product(range(2), range(3), range(2))),
    "padded": [chosen for size in range(3) for chosen in combinations(range(5), size)],
}


def as_row(name: str, answer: Any) -> Any:
    """An answer as the array functions take it: for ticks a column for each item."""
    return [int(item in answer) for item in range(5)] if name == "padded" else answer


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {f"{name}_reported": codes for name, codes in simulate_survey(SURVEY, 6000, TRUTH, seed=7)}
    )


@pytest.mark.parametrize("name", CHANNELS)
def test_arrays_are_drawn_with_the_chances_of_the_integers(name: str) -> None:
    channel, n = CHANNELS[name], 30_000
    for index, answer in enumerate(ANSWERS[name][:: max(1, len(ANSWERS[name]) // 3)]):
        simulated = simulate(channel, np.array([as_row(name, answer)] * n), seed=100 + index)
        chances = channel.chances(answer)
        reports, times = np.unique(simulated, return_counts=True)
        counts = dict(zip(reports.tolist(), times.tolist(), strict=True))
        assert set(counts) <= set(chances)
        expected = np.array([float(chance) for chance in chances.values()]) * n
        test = stats.chisquare([counts.get(report, 0) for report in chances], expected)
        assert test.pvalue > 1e-4, (name, answer)


@pytest.mark.parametrize("begin", [(0, 0), (1, 1), (3, 3), (1, 3)], ids=["drawn", "1/2", "3/8", "1/8"])
@pytest.mark.parametrize(("options", "size"), [(6, 2), (8, 3), (9, 8)])
def test_long_lists_are_drawn_with_the_chances_of_the_integers(
    options: int, size: int, begin: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sets too many to list begin with coins or draws: here forced on lists whose sets can all be counted."""
    monkeypatch.setattr("hushpoll_analysis.channel.subset.LISTED", 0)
    channel, n = mechanisms.subset(options, 1, size).device, 60_000
    subset_sampler = SubsetSampler(channel)
    vars(subset_sampler)["_chance"] = begin
    for answer in (0, options - 1):
        codes = subset_sampler.draw(np.full(n, answer), np.random.default_rng([9, options, answer]).bytes)
        assert subset_sampler.read(codes.view(f"V{subset_sampler.width}").reshape(-1))[1] is None
        reports, times = np.unique(subset_sampler.write(codes), return_counts=True)
        counts = dict(zip(reports.tolist(), times.tolist(), strict=True))
        chances = channel.chances(answer)
        assert set(counts) <= set(chances)
        expected = np.array([float(chance) for chance in chances.values()]) * n
        test = stats.chisquare([counts.get(report, 0) for report in chances], expected)
        assert test.pvalue > 1e-4, answer


@pytest.mark.parametrize(
    ("options", "size"), [(24, 6), (63, 2), (64, 31), (65, 5), (128, 60), (1000, 18), (1000, 378)]
)
def test_pairs_of_options_of_a_long_list_come_as_often_as_they_should(options: int, size: int) -> None:
    channel, n, answer = mechanisms.subset(options, 1, size).device, 40_000, options - 1
    codes = sampler(channel).draw(np.full(n, answer), np.random.default_rng([options, size]).bytes)
    bits = np.unpackbits(codes, axis=1, bitorder="little")
    assert not bits[:, options:].any()
    bits = bits[:, :options]
    assert np.all(bits.sum(axis=1) == size)
    other, held = (float(chance) for chance in channel.member(answer))
    expected = np.full(options, other)
    expected[answer] = held
    score = (bits.mean(axis=0) - expected) / np.sqrt(expected * (1 - expected) / n)
    assert np.abs(score).max() < 5
    # Given that the truth is in or out, all pairs of others are equally frequent.
    for inside in (0, 1):
        some = bits[bits[:, answer] == inside][:, : options - 1].astype(np.float64)
        left = size - inside
        expected_pairs = len(some) * left * (left - 1) / ((options - 1) * (options - 2))
        if expected_pairs >= 20:
            counted = some[:, :20].T @ some[:, 20:40]
            assert np.abs(counted - expected_pairs).max() < 5.5 * np.sqrt(expected_pairs)


@pytest.mark.parametrize("options", [4, 5, 8, 13, 20])
def test_texts_of_sets_are_read_as_the_client_packs_them(options: int) -> None:
    channel = mechanisms.subset(options, 1, 2).device
    subset_sampler, wire = SubsetSampler(channel), channel.wire
    reports = sorted(channel.chances(0))
    packed = b"".join(wire.pack(report) for report in reports)
    for texts in (np.array(reports), np.array(reports, dtype=object), np.array(reports, dtype="S")):
        codes, wrong = subset_sampler.read(texts)
        assert wrong is None
        assert codes.dtype == np.uint8
        assert codes.tobytes() == packed
    good = reports[-1]
    malformed = (
        "", "0" + good, good + "0", good + "\0", good[:-1], " " + good, good[:-1] + "g", good[:-1] + "\u0661",
        good[:-1] + "\U0001d7ce", "f" * len(good), "0" * len(good), good.upper() if good.upper() != good else "A",
        b"\xff" * len(good), 7, 3.0, None,
    )  # fmt: skip
    for other in malformed:
        assert not wire.legal(other)
        assert subset_sampler.read(np.array([good, other, good], dtype=object))[1] == 1, other


@pytest.mark.parametrize("name", CHANNELS)
def test_a_part_s_channel_is_what_the_reports_say_of_it(name: str) -> None:
    """By exact enumeration: the chance of each code of a part, given the answer, is the part's own table."""
    channel, report_sampler = CHANNELS[name], sampler(CHANNELS[name])
    for option_part in (*report_sampler.parts, *report_sampler.pairs):
        table = np.array(option_part.channel.rows, dtype=float) / 2**53
        for answer in ANSWERS[name]:
            reports, chances = zip(*channel.chances(answer).items(), strict=True)
            codes, first_bad = report_sampler.read(np.array(reports))
            assert first_bad is None
            part_codes = report_sampler.part_codes(option_part, codes)
            weights = np.array([float(chance) for chance in chances])
            answered = part_codes >= 0
            assert weights[answered].sum() == pytest.approx(option_part.asked, abs=1e-12)
            distribution = (
                np.bincount(part_codes[answered], weights[answered], minlength=option_part.channel.outcomes)
                / option_part.asked
            )
            assert distribution == pytest.approx(
                table[own_answer(name, option_part.members, answer)], abs=1e-12
            )


def own_answer(name: str, members: tuple[int, ...], answer: Any) -> int:
    """The true answer about some members alone."""
    if name == "subset":
        return int(answer == members[0])
    if name == "padded":
        return int(members[0] in answer)
    joint = 0
    for member in members:
        joint = joint * CHANNELS[name].sizes[member] + answer[member]
    return joint


@pytest.mark.parametrize("name", CHANNELS)
def test_counts_are_those_of_the_parts(name: str) -> None:
    report_sampler = sampler(CHANNELS[name])
    rng = np.random.default_rng(3)
    rows = np.array([as_row(name, ANSWERS[name][i]) for i in rng.integers(0, len(ANSWERS[name]), 500)])
    codes, _ = report_sampler.read(simulate(CHANNELS[name], rows, seed=4))
    cells = report_sampler.tally(codes)
    assert len(cells) == report_sampler.cells
    assert report_sampler.total(cells) == pytest.approx(500, abs=3)
    for option_part in (*report_sampler.parts, *report_sampler.pairs):
        part_codes = report_sampler.part_codes(option_part, codes)
        counted = np.bincount(part_codes[part_codes >= 0], minlength=option_part.channel.outcomes)
        assert option_part.counts(cells).tolist() == counted.tolist()


def test_estimates_of_every_kind_are_near_the_truth(frame: pd.DataFrame) -> None:
    results = report(SURVEY, frame)
    expected: dict[str, list[float]] = {
        "town": TRUTH["town"],
        "used": TRUTH["used"],
        "few": [0.8, 0.3, 0, 0, 0, 0, 0, 0.3],
        "hours": [],  # a mean: the grid points that numbers are rounded to are not answers
        "cheated": [0.3],
        "why": [0.3 * 0.4, 0.3 * 0.6, 0.7],
    }
    for question in results.questions:
        for line, true in zip(question.shares, expected[question.id], strict=True):
            assert abs(line.estimate - true) < 4.5 * line.se, (question.id, line.option)
    mean = results.questions[3].to_dict()["mean"]
    assert abs(mean["estimate"] - (0.5 * 10 + 0.25 * 37 + 0.25 * 80)) < 4.5 * mean["se"]
    assert row_shares(SURVEY.questions[3], TRUTH["hours"]).sum() == pytest.approx(1)
    assert [line.option for line in results.questions[5].shares] == ["Time", "Fear", "does not apply"]
    assert all(line.reported is None for line in results.questions[0].shares)


def test_files_and_records_give_the_same_counts(frame: pd.DataFrame, tmp_path: Path) -> None:
    expected = report(SURVEY, frame).to_dict()
    for name in ("reports.csv", "reports.parquet"):
        write_reports(SURVEY, frame, tmp_path / name)
        assert report(SURVEY, tmp_path / name).to_dict() == expected
    packed = RecordFormat.of(SURVEY)
    records = b"".join(
        packed.pack([value if isinstance(value, str) else int(value) for value in row])
        for row in frame.itertuples(index=False)
    )
    assert report(SURVEY, records).to_dict() == expected
    files = write_export(SURVEY, [records], tmp_path / "export")
    assert report(SURVEY, tmp_path / "export" / "reports.parquet").to_dict() == expected
    assert len(files) > 5
    assert "lower-case hexadecimal digits" in (tmp_path / "export" / "codebook.md").read_text("utf-8")


@pytest.mark.filterwarnings(r"ignore:fetch_arrow_table\(\) is deprecated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")
def test_engines_count_bitmaps_and_joint_reports_alike(frame: pd.DataFrame, tmp_path: Path) -> None:
    import ibis

    write_reports(SURVEY, frame, tmp_path / "reports.parquet")
    table = ibis.duckdb.connect().read_parquet(tmp_path / "reports.parquet")
    assert report(SURVEY, table).to_dict() == report(SURVEY, frame).to_dict()
    short = table.mutate(town_reported=table.town_reported.substr(0, 9))
    with pytest.raises(AnalysisError, match='column "town_reported" holds'):
        report(SURVEY, short)


def test_groups_are_counted_part_by_part(frame: pd.DataFrame) -> None:
    from hushpoll_analysis.sample.files import tally

    grouped = frame.assign(site=np.where(np.arange(len(frame)) % 3 == 0, "north", "south"))
    counted = tally(SURVEY, grouped, by="site")
    for question in SURVEY.questions:
        assert counted.joint[question.id].sum(axis=0).tolist() == counted.counts[question.id].tolist()
    ticked = tally(SURVEY, frame, by="used")
    options = SURVEY.question("used").labels
    assert [groups.by for groups in ticked.by_option] == [f"used[{option}]" for option in options]
    for groups in ticked.by_option:
        assert groups.by is not None
        alone = tally(SURVEY, frame, by=groups.by)
        assert all(np.array_equal(groups.joint[name], table) for name, table in alone.joint.items())


@pytest.mark.parametrize("bad", ["00", "zz" * 5, "f" * 10, "0" * 10, None, "0000000001"])
def test_a_bitmap_that_nobody_could_send_is_named_with_its_place(frame: pd.DataFrame, bad: Any) -> None:
    broken = frame.copy()
    broken.loc[17, "town_reported"] = bad
    with pytest.raises(AnalysisError, match=r'column "town_reported" holds .* in row 18'):
        report(SURVEY, broken)


def test_one_device_and_arrays_agree() -> None:
    """Reports drawn one by one through the client, and the same counts by arrays."""
    answers = [0, (0, 3), (1,), 10, 1, 0]
    reports = [Report.new(SURVEY, answers).reports for _ in range(300)]
    frame = pd.DataFrame(reports, columns=[f"{question.id}_reported" for question in SURVEY.questions])
    assert report(SURVEY, frame).n == 300


def test_the_number_ticked_has_a_standard_error_that_holds() -> None:
    """Simulated with dependent ticks: people who tick one tick most."""
    channel = mechanisms.sampled([2] * 6, 2, 2)
    rng = np.random.default_rng(5)
    estimates, errors = [], []
    for repetition in range(200):
        keen = rng.random(600) < 0.4
        ticks = (rng.random((600, 6)) < np.where(keen, 0.9, 0.1)[:, None]).astype(np.uint8)
        report_sampler = sampler(channel.device)
        number_ticked = estimate(
            report_sampler.tally(simulate(channel, ticks, seed=repetition)), channel
        ).number_ticked()
        estimates.append(number_ticked.estimate)
        errors.append(number_ticked.se)
    assert np.mean(estimates) == pytest.approx(6 * (0.4 * 0.9 + 0.6 * 0.1), abs=0.05)
    assert np.std(estimates) == pytest.approx(np.mean(errors), rel=0.15)


def test_the_longest_lists_show_a_top_that_holds_together() -> None:
    """Coverage of all options at once, at the edges: most shares are 0."""
    mechanism = mechanisms.subset(40, 2)
    shares = np.array([0.4, 0.3, 0.2, 0.1, *[0.0] * 36])
    rng = np.random.default_rng(11)
    report_sampler, held = sampler(mechanism.device), 0
    for repetition in range(60):
        answers = rng.choice(40, size=300, p=shares)
        codes, _ = report_sampler.read(simulate(mechanism, answers, seed=repetition))
        estimates = estimate(report_sampler.tally(codes), mechanism)
        top = estimates.top(5)
        assert [entry.estimate for entry in top] == sorted(
            (e.estimate for e in estimates.estimates), reverse=True
        )[:5]
        together = estimates.together()
        held += all(
            entry.low <= share <= entry.high for entry, share in zip(together.estimates, shares, strict=True)
        )
    assert held >= 55


def test_counts_may_be_given_as_a_person_has_them() -> None:
    subset = mechanisms.subset(6, 1, 2)
    estimates = estimate([50, 40, 30, 30, 30, 20], subset, options=[*"abcdef"])
    assert estimates.n == 100
    assert estimates["a"].estimate > estimates["f"].estimate
    padded = mechanisms.padded(4, 1, 2)
    assert estimate([30, 20, 20, 10, 10, 10], padded).n == 100
    for counts, problem in (([50, 40, 30, 30, 30, 21], "no number of sets"), ([1, 2, 3], "3 given")):
        with pytest.raises(AnalysisError, match=problem):
            estimate(counts, subset)


@pytest.mark.parametrize("options", [2, 7, 8, 9, 12, 13, 20])
def test_ticks_of_every_length_are_drawn_with_the_chances_of_the_integers(options: int) -> None:
    """Rows of up to eight, twelve and more items are looked up in different ways."""
    channel, n = mechanisms.padded(options, 1, 2).device, 40_000
    for ticked in ((), (options - 1,), (0, options - 1)):
        held = {*ticked, *range(options, options + 2 - len(ticked))}
        row = [int(item in ticked) for item in range(options)]
        counts = np.bincount(simulate(channel, [row] * n, seed=options), minlength=channel.outcomes)
        inside = channel.weight / 2**53
        chances = [inside / 2 if item in held else (1 - inside) / options for item in range(channel.outcomes)]
        assert stats.chisquare(counts, n * np.array(chances)).pvalue > 1e-4


def test_more_ways_to_ask_than_are_listed_are_drawn_alike() -> None:
    """120 members, 3 of them asked: 280,840 ranks are taken apart one by one."""
    channel, n = mechanisms.sampled([2] * 120, 1, 3).device, 60_000
    report_sampler = sampler(channel)
    cells = report_sampler.tally(
        report_sampler.read(simulate(channel, np.ones((n, 120), dtype=int), seed=3))[0]
    )
    seen = [report_sampler.parts[member].counts(cells[None, :])[0] for member in range(120)]
    assert stats.chisquare([part_counts.sum() for part_counts in seen]).pvalue > 1e-4
    total = np.array(seen).sum(axis=0)
    truth = channel_view(report_sampler.parts[0].channel).forward(np.array([0.0, 1.0]))
    assert stats.chisquare(total, total.sum() * truth).pvalue > 1e-4


@pytest.mark.parametrize("draws", [20_000, pytest.param(60_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["subset", "sampled", "padded", "unequal", "columns"])
def test_an_audit_of_the_real_randomizer_comes_close_and_catches_a_planted_fault(
    name: str, draws: int
) -> None:
    make: dict[str, Any] = {
        "subset": lambda epsilon: mechanisms.subset(12, epsilon, 3),
        "sampled": lambda epsilon: mechanisms.sampled([2] * 6, epsilon, 2),
        "unequal": lambda epsilon: mechanisms.sampled([2, 3, 2], epsilon, 2),
        "padded": lambda epsilon: mechanisms.padded(6, epsilon, 2),
        "columns": lambda epsilon: mechanisms.designed(designed(5, str(epsilon), "cumulative"), epsilon),
    }
    assert name != "columns" or make[name](1).device.form == "columns"
    coins = buffered(np.random.default_rng(1).bytes)
    bound = audit_channel(make[name](1).device, draws, coins)
    assert (0.8 if draws == 60_000 else 0.7) < bound <= 1
    assert audit_channel(make[name](1.3).device, draws, coins) > 1


@pytest.mark.parametrize(
    ("question", "truth", "problem"),
    [
        ("hours", [0.5, 0.5], "needs values with shares"),
        ("hours", {"values": [81], "shares": [1]}, "not a number on its grid"),
        ("hours", {"values": [1, 2], "shares": [1]}, "needs a list of 2 shares"),
        ("used", [0.5], "a list of 8 shares"),
        ("used", [2.0] + [0.5] * 7, r"must lie in \[0, 1\]"),
        ("few", [0.5] * 8, "needs sets with shares"),
        ("few", {"sets": [[*"abcd"]], "shares": [1]}, "4 options are ticked"),
        ("why", [0.2, 0.2], "add up to 1"),
    ],
)
def test_a_truth_that_does_not_fit_is_refused(question: str, truth: Any, problem: str) -> None:
    with pytest.raises(AnalysisError, match=problem):
        list(simulate_codes(SURVEY, 10, TRUTH | {question: truth}))


def test_a_channel_without_a_table_sends_people_to_its_parts() -> None:
    with pytest.raises(AnalysisError, match=r"question\[option\]"):
        channel_view(mechanisms.subset(6, 1, 2))


def ticks(epsilon: float, ask: int, options: int, n: int, shares: list[float], draws: int) -> list[Any]:
    """Mean numbers of ticks, from people drawn anew each time."""
    channel = mechanisms.sampled(sizes=[2] * options, epsilon=epsilon, ask=ask).device
    rng = np.random.default_rng(51)
    estimates = []
    for _ in range(draws):
        people = (rng.random((n, options)) < shares).astype(int)
        cells = sampler(channel).tally(simulate(channel, people, seed=rng))
        estimates.append(estimate(cells, channel).number_ticked())
    return estimates


@pytest.mark.parametrize(
    ("epsilon", "ask", "n", "shares"),
    [
        (4, 2, 60, [0, 0, 0, 0]),
        pytest.param(4, 3, 60, [0, 0, 0, 0], marks=pytest.mark.long),
        pytest.param(4, 2, 100, [0.02, 0, 0, 0], marks=pytest.mark.long),
    ],
)
def test_the_number_ticked_covers_where_ticks_are_rare(
    epsilon: float, ask: int, n: int, shares: list[float]
) -> None:
    """The normal interval covered 86, 91 and 88 %."""
    estimates = ticks(epsilon, ask, len(shares), n, shares, 300)
    got = np.mean([estimate.low <= sum(shares) <= estimate.high for estimate in estimates])
    assert got >= 0.93 - 3 * np.sqrt(0.05 * 0.95 / 300)
    assert {estimate.interval for estimate in estimates} == {"mover"}


def test_the_number_ticked_covers_no_more_than_it_says_where_ticks_are_many() -> None:
    estimates = ticks(2, 2, 4, 2000, [0.5, 0.3, 0.2, 0.4], 300)
    got = np.mean([estimate.low <= 1.4 <= estimate.high for estimate in estimates])
    assert 0.93 - 3 * np.sqrt(0.05 * 0.95 / 300) <= got <= 0.975 + 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize("options", [2, pytest.param(3, marks=pytest.mark.long)])
def test_the_privacy_error_of_the_number_ticked_is_that_of_coins_drawn_anew(options: int) -> None:
    """Items of one report are randomized together, so their errors add up more than independent ones."""
    channel = mechanisms.sampled(sizes=[2] * options, epsilon=2, ask=options).device
    people = np.zeros((400, options), dtype=int)
    people[::4] = 1
    rng = np.random.default_rng(52)
    tallies = [sampler(channel).tally(simulate(channel, people, seed=rng)) for _ in range(600)]
    estimates = [estimate(cells, channel).number_ticked() for cells in tallies]
    census = [estimate(cells, channel, population=400).number_ticked() for cells in tallies[:100]]
    scatter = np.std([estimate.estimate for estimate in estimates])
    assert np.mean([estimate.se_privacy for estimate in estimates]) == pytest.approx(scatter, rel=0.1)
    assert np.mean([estimate.se for estimate in census]) == pytest.approx(scatter, rel=0.1)
    assert np.mean([estimate.se for estimate in estimates]) > 1.05 * scatter
