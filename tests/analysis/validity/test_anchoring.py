"""Careless and self-protective answers: corrected estimates cover, and reports say what stays open."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import anchored, estimate, report, sensitivity, simulate
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.sample.files import tally
from hushpoll_client import Survey, mechanisms
from hushpoll_client.channel import SCALE
from hushpoll_client.cli import main
from hushpoll_client.delivery.record import RecordFormat
from hushpoll_client.mechanism import Mechanism
from scipy.stats import binom

COIN = mechanisms.warner(epsilon=2)


def draw(
    n: int,
    pi: float,
    rate: float,
    rng: np.random.Generator,
    mechanism: mechanisms.Mechanism = COIN,
    anchor: float = 0.0,
) -> pd.DataFrame:
    """Simulate people of whom a share answers both questions at random."""
    careless = rng.random(n) < rate
    table = np.array(COIN.analysis.rows) / SCALE
    columns = {}
    for name, share in (("y", pi), ("a", anchor)):
        truth = np.where(careless, rng.random(n) < 0.5, rng.random(n) < share).astype(int)
        columns[name] = (rng.random(n) < table[truth, 1]).astype(int)
    return pd.DataFrame(columns)


def coverage(
    repetitions: int, n: int, pi: float, rate: float, seed: int, anchor: float = 0.0
) -> dict[str, float]:
    rng, inside, plain, of_rate = np.random.default_rng(seed), 0, 0, 0
    for _ in range(repetitions):
        frame = draw(n, pi, rate, rng, anchor=anchor)
        counts = np.zeros((2, 2))
        np.add.at(counts, (frame["y"], frame["a"]), 1)
        got = anchored(counts, {"y": COIN, "a": COIN}, "y", "a", anchor)
        share = got.shares[0]
        inside += share.low <= pi <= share.high
        of_rate += got.careless.low <= rate <= got.careless.high
        alone = estimate(np.bincount(frame["y"], minlength=2), COIN)["Yes"]
        plain += alone.low <= pi <= alone.high
    return {"corrected": inside / repetitions, "plain": plain / repetitions, "rate": of_rate / repetitions}


@pytest.mark.parametrize(("pi", "rate"), [(0.3, 0.2), pytest.param(0.1, 0.2, marks=pytest.mark.long)])
def test_corrected_intervals_cover_with_careless_answers(pi: float, rate: float) -> None:
    got = coverage(700, 2000, pi, rate, 5)
    assert 0.925 <= got["corrected"] <= 0.98
    assert 0.925 <= got["rate"] <= 0.98
    assert got["plain"] < got["corrected"]


@pytest.mark.long
@pytest.mark.parametrize("n", [500, 2000, 8000])
@pytest.mark.parametrize(("pi", "rate"), [(0.02, 0.0), (0.1, 0.2), (0.3, 0.2), (0.5, 0.2), (0.2, 0.4)])
@pytest.mark.parametrize("anchor", [0.0, 1.0])
def test_corrected_intervals_cover_everywhere(n: int, pi: float, rate: float, anchor: float) -> None:
    got = coverage(3000, n, pi, rate, 6, anchor)
    print(got)
    assert 0.93 <= got["corrected"] <= 0.975
    assert 0.93 <= got["rate"] <= 0.975


def covers_careless(n: int, rate: float, how: Mechanism | None, share: float) -> float:
    """By enumeration of the anchor's reports: how often the interval holds the careless share."""
    yes = (1 - rate) * share + rate / 2
    if how is not None:
        no, some = (row[1] / SCALE for row in how.analysis.rows)
        yes = no + (some - no) * yes
    covered = 0.0
    chances = binom.pmf(np.arange(n + 1), n, yes)
    for k in np.flatnonzero(chances > 1e-6):
        anchors = np.array([n - k, k])
        counts = np.stack([anchors - anchors // 3, anchors // 3])
        got = anchored(counts, {"y": COIN, "a": how}, "y", "a", share).careless
        covered += float(chances[k]) * (got.low - 1e-9 <= rate <= got.high + 1e-9)
    return covered


@pytest.mark.parametrize(
    ("n", "rate", "how", "share"),
    [
        (100, 0.02, None, 1.0),
        (400, 0.02, None, 1.0),
        (100, 0.0, mechanisms.warner(epsilon=4), 0.0),
    ],
)
def test_the_careless_share_covers_where_a_report_is_rare(
    n: int, rate: float, how: Mechanism | None, share: float
) -> None:
    """The normal interval covered 67, 87 and 84 %."""
    assert covers_careless(n, rate, how, share) >= 0.93


def test_equal_reports_leave_the_correction_an_interval() -> None:
    corrected = anchored(
        [[0, 150], [0, 50]], {"y": mechanisms.warner(epsilon=2), "a": None}, "y", "a", share=1
    )
    assert (corrected.careless.se, corrected.careless.low) == (0, 0)
    assert 0.03 < corrected.careless.high == corrected.careless.shown.high < 0.05
    assert corrected.shares[0].low < corrected.shares[0].estimate < corrected.shares[0].high
    how = mechanisms.warner(epsilon=3)
    equal = anchored([[60, 0], [0, 0]], {"y": how, "a": how}, "y", "a", share=0)
    alone = estimate([60, 0], how)["Yes"]
    assert (equal.careless.low, equal.careless.high) == pytest.approx((2 * alone.low, 2 * alone.high))
    assert equal.shares[0].shown.high > 0.03


def test_it_is_the_bias_corrected_crosswise_estimate() -> None:
    """Atsusaka and Stevenson: pi_CM - (1/2 - 1/(2 g)) (lambda - 1/2)/(p - 1/2), g = (lambda' - 1/2)/(1/2 - p')."""
    p, p_anchor = 0.15, 0.1
    y, a = mechanisms.crosswise(decoy_share="0.15"), mechanisms.crosswise(decoy_share="0.1")
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {"y": (rng.random(900) < 0.7).astype(int), "a": (rng.random(900) < 0.85).astype(int)}
    )
    # Theirs: lambda is the share of "both or neither", report 1 here; decoys are Yes with chance p.
    same, same_anchor = frame["y"].mean(), frame["a"].mean()
    plain = (same + p - 1) / (2 * p - 1)
    attentive = (same_anchor - 0.5) / (0.5 - p_anchor)
    expected = plain - (0.5 - 0.5 / attentive) * (same - 0.5) / (p - 0.5)
    got = anchored(frame, {"y": y, "a": a}, "y", "a", 0)
    assert got.shares[0].uncorrected == pytest.approx(plain, abs=1e-9)
    assert 1 - got.careless.estimate == pytest.approx(attentive, abs=1e-9)
    assert got.shares[0].estimate == pytest.approx(expected, abs=1e-9)
    assert got.shares[0].uncorrected == pytest.approx(estimate(np.bincount(frame["y"]), y)["Yes"].estimate)


def test_an_anchored_crosswise_design_with_counted_decoys() -> None:
    """Both decoys' shares come from polls of 400: the standard error is the spread over everything that was drawn."""
    rng, n, pi, rate, decoys = np.random.default_rng(7), 1500, 0.2, 0.15, (0.15, 0.1)
    table = np.array([0.5, 0.5])
    shares_and_errors, inside = [], 0
    for _ in range(300):
        yes = np.clip(rng.binomial(400, decoys), 1, 399)
        # Truth of both questions, jointly: careless people answer both at random.
        truth = (1 - rate) * np.outer([1 - pi, pi], [1.0, 0.0]) + rate * np.outer(table, table)
        same = [np.array([[q, 1 - q], [1 - q, q]]) for q in decoys]
        counts = rng.multinomial(n, (same[0].T @ truth @ same[1]).ravel()).reshape(2, 2)
        how = {
            name: mechanisms.crosswise(decoy_counts=(int(k), 400)) for name, k in zip("ya", yes, strict=True)
        }
        share = anchored(counts, how, "y", "a", 0).shares[0]
        shares_and_errors.append((share.estimate, share.se))
        inside += share.low <= pi <= share.high
    estimates, errors = np.array(shares_and_errors).T
    assert estimates.mean() == pytest.approx(pi, abs=0.006)
    assert np.median(errors) == pytest.approx(estimates.std(), rel=0.15)
    assert 0.92 <= inside / 300 <= 0.98


def test_fieller_ends_are_where_the_test_turns() -> None:
    frame = draw(1500, 0.2, 0.2, np.random.default_rng(8))
    got = anchored(frame, {"y": COIN, "a": COIN}, "y", "a", 0)
    b = np.linalg.inv(np.array(COIN.analysis.rows) / SCALE)[:, 1]
    values = np.stack([b[frame["y"]], b[frame["a"]]])
    p, p0 = values.mean(axis=1)
    v = np.cov(values) / len(frame)
    rate, of_rate, mixed = 2 * p0, 4 * v[1, 1], 2 * v[0, 1]
    assert (got.careless.estimate, got.careless.se) == pytest.approx((rate, np.sqrt(of_rate)))
    for end in (got.shares[0].low, got.shares[0].high):
        gap = abs(p - end + rate * (end - 0.5))
        spread = np.sqrt(v[0, 0] + (end - 0.5) ** 2 * of_rate + 2 * (end - 0.5) * mixed)
        assert gap == pytest.approx(1.959964 * spread, rel=1e-5)
    assert got.shares[0].low < got.shares[0].estimate < got.shares[0].high


def test_an_instructed_answer_needs_no_randomization() -> None:
    """Asked to choose the third of four, careless people do in one of four cases; the check is asked openly."""
    rng = np.random.default_rng(2)
    n, rate = 6000, 0.2
    careless = rng.random(n) < rate
    four = mechanisms.krr(options=4, epsilon=3)
    table = np.array(four.analysis.rows) / SCALE
    truth = np.where(careless, rng.integers(0, 4, n), rng.choice(4, n, p=[0.5, 0.3, 0.15, 0.05]))
    reported = (rng.random(n)[:, None] > np.cumsum(table[truth], axis=1)).sum(axis=1).clip(max=3)
    check = np.where(careless, rng.integers(0, 4, n), 2)
    frame = pd.DataFrame({"why": reported, "check": check})
    got = anchored(frame, {"why": four}, "why", "check", 1, anchor_option=2)
    assert abs(got.careless.estimate - rate) < 4 * got.careless.se
    assert got.careless.se < 0.01
    for share, true in zip(got.shares, [0.5, 0.3, 0.15, 0.05], strict=True):
        assert abs(share.estimate - true) < 4 * share.se
    assert sum(share.estimate for share in got.shares) == pytest.approx(1.0)


def test_weights_and_designs_carry_over() -> None:
    rng = np.random.default_rng(3)
    frame = draw(2000, 0.2, 0.2, rng).assign(w=rng.lognormal(0, 0.5, 2000))
    unweighted = anchored(frame, {"y": COIN, "a": COIN}, "y", "a", 0)
    weighted = anchored(frame, {"y": COIN, "a": COIN}, "y", "a", 0, weights="w")
    assert weighted.careless.se > unweighted.careless.se
    arms = frame.assign(arm="coin")
    by_design = anchored(arms, {"y": "arm", "a": COIN}, "y", "a", 0, designs={"coin": COIN})
    assert by_design.shares[0].estimate == pytest.approx(unweighted.shares[0].estimate)


def test_nobody_to_trust_is_said() -> None:
    frame = draw(60, 0.2, 0.95, np.random.default_rng(1))
    got = anchored(frame, {"y": COIN, "a": COIN}, "y", "a", 0)
    assert np.isinf(got.shares[0].low)
    assert (got.shares[0].shown.low, got.shares[0].shown.high) == (0.0, 1.0)
    assert any("no end" in note for note in got.notes)
    assert json.loads(json.dumps(got.to_dict()))["estimates"][0]["low"] is None


def test_the_curve_of_sensitivity() -> None:
    result = estimate([700, 300], COIN)
    frame = sensitivity(result, careless=[0, 0.2], protective=[0, 0.1]).to_frame()
    p, se = result["Yes"].estimate, result["Yes"].se
    assert frame.loc[0, "estimate"] == pytest.approx(p)
    last = frame.iloc[-1]
    assert last["estimate"] == pytest.approx((p - 0.1) / 0.8)
    assert last["most"] == pytest.approx((p - 0.1) / 0.8 + 0.1)
    assert last["se"] == pytest.approx(se / 0.8)
    assert last["low"] == pytest.approx((result["Yes"].low - 0.1) / 0.8)
    assert last["high"] == pytest.approx((result["Yes"].high - 0.1) / 0.8 + 0.1)
    assert frame.loc[0, ["low", "high"]].to_list() == [result["Yes"].low, result["Yes"].high]
    assert json.dumps(sensitivity(result).to_dict())
    assert "careless" in sensitivity(result)._repr_html_()


def test_the_curve_follows_what_chance_gives() -> None:
    """Careless people choose one of K alike, and tick each option in half of the cases."""
    four = estimate([400, 300, 200, 100], mechanisms.krr(options=4, epsilon=2))
    ticks = estimate([60, 40, 30, 70, 55, 45], mechanisms.sampled([2, 2, 2], 2, 1))
    for result, chance in ((four, 0.25), (ticks, 0.5)):
        entry = result.estimates[0]
        row = sensitivity(result, entry.option, careless=[0.2], protective=[0]).to_frame().iloc[0]
        assert row["estimate"] == pytest.approx((entry.estimate - 0.2 * chance) / 0.8)
    row_at_half = sensitivity(four, "0", careless=[0.2], protective=[0], chance=0.5).to_frame().iloc[0]
    assert row_at_half["estimate"] == pytest.approx((four["0"].estimate - 0.1) / 0.8)


# On the results page. --------------------------------------------------------------------------------------------

WARNER = {"name": "warner", "epsilon": 2}
SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "Exam honesty",
        "questions": [
            {
                "id": "cheated",
                "kind": "yes_no",
                "text": "Did you cheat?",
                "mechanism": WARNER,
            },
            {
                "id": "reason",
                "kind": "choice",
                "text": "Why?",
                "options": ["Time", "Fear", "None"],
                "mechanism": {"name": "krr", "epsilon": 2},
            },
            {
                "id": "moon",
                "kind": "yes_no",
                "text": "Were you born on the moon?",
                "mechanism": WARNER,
            },
        ],
    }
)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    frame = draw(3000, 0.25, 0.2, rng).rename(columns={"y": "cheated_reported", "a": "moon_reported"})
    frame["reason_reported"] = rng.integers(0, 3, 3000)
    frame["town"] = rng.choice(["n", "s"], 3000)
    return frame


def test_a_report_with_an_anchor(
    people: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = report(SURVEY, people, anchor=("moon", 0))
    alone = anchored(people, SURVEY, "cheated", "moon", 0)
    assert results.validity is not None
    assert results.validity.questions[0].shares[0].estimate == pytest.approx(alone.shares[0].estimate)
    assert results.validity.careless.estimate == pytest.approx(alone.careless.estimate)
    assert [question.question for question in results.validity.questions] == ["cheated", "reason"]
    for text in (results.to_text(), results.to_html(), results._repr_html_()):
        assert "Careless answers" in text
        assert "answered at random" in text
    data = json.loads(results.to_json())
    assert data["validity"]["anchor"] == "moon"
    assert "anchor=('moon', 0)" in results.snippet
    # Groups beside it, records read once, counts made before, the command line.
    grouped = report(SURVEY, people, anchor={"question": "moon", "share": "0"}, by="town")
    assert grouped.groups
    assert grouped.validity == results.validity or grouped.validity.careless == results.validity.careless
    counted = tally(SURVEY, people, "moon")
    assert report(SURVEY, counted, anchor="moon=0").validity.careless == results.validity.careless
    path, document = tmp_path / "reports.csv", tmp_path / "survey.json"
    people.to_csv(path, index=False)
    document.write_bytes(SURVEY.canonical)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(document), "--data", str(path), "--anchor", "moon=0", "--json"])
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["validity"]["careless"]["estimate"] == pytest.approx(
        alone.careless.estimate
    )
    with pytest.raises(SystemExit) as ended:
        main(["report", str(document), "--data", str(path), "--anchor", "moon"])
    assert ended.value.code == 2


def test_a_report_draws_what_nobody_can_check(people: pd.DataFrame) -> None:
    """Both curves, folded with the details, in words, as a table for a terminal, and as numbers."""
    results = report(SURVEY, people)
    cheated, reason = results["cheated"], results["reason"]
    assert cheated.sensitivity is not None
    assert cheated.sensitivity.option == "Yes"
    page = results.to_html()
    assert page.count("If some had answered at random") == 3
    assert page.count("If some had said No to protect themselves") == 2, "of yes/no questions only"
    for position in [match.start() for match in re.finditer("If some had", page)]:
        assert page.rfind("<details", 0, position) > page.rfind("</details>", 0, position), "folded"
    text = " ".join(results.to_text().split())
    yes = cheated.estimate["Yes"].estimate
    assert f"would be {100 * yes:.1f} % {100 * (yes - 0.025) / 0.95:.1f} %" in text
    assert f"would be at most {100 * (yes + 0.02):.1f} %" in text
    # The largest share of a choice moves away from a third.
    largest = max(reason.shares, key=lambda share: share.estimate)
    assert reason.sensitivity.option == largest.option
    rows = reason.sensitivity.to_frame().set_index("careless")["estimate"]
    assert rows[0.3] == pytest.approx((largest.estimate - 0.1) / 0.7)
    data = json.loads(results.to_json())["questions"]
    assert [question["sensitivity"]["option"] for question in data] == ["Yes", largest.option, "Yes"]
    assert data[0]["sensitivity"]["curve"][0]["low"] == pytest.approx(cheated.estimate["Yes"].low)


def test_a_mean_says_what_stays_open() -> None:
    """Careless people average the middle of the range, 5 of 0 to 10."""
    survey = read_draft(
        {"hushpoll": 1, "title": "t", "questions": [{"id": "hours", "text": "?", **KINDS["hours"]}]}
    )
    channel = survey.questions[0].channel
    results = report(survey, {"hours_reported": simulate(channel, np.full(3000, 2), seed=1)})["hours"]
    mean = results.numbers.mean
    remark = next(note for note in results.remarks if "answered at random" in note)
    assert float(remark.split("would be ")[1].rstrip(".")) == pytest.approx(
        (mean.estimate - 0.5) / 0.9, abs=0.01
    )


def test_an_instructed_answer_covers_with_careless_people() -> None:
    """Four options, one of which people are asked to choose, and another question of four: 20 % choose at random."""
    rng, rate, shares = np.random.default_rng(3), 0.2, np.array([0.55, 0.3, 0.15, 0.0])
    four = mechanisms.krr(options=4, epsilon=2)
    table = np.array(four.analysis.rows) / SCALE
    inside, rates = np.zeros(4), 0
    truth = (1 - rate) * np.outer(shares, [0, 0, 1, 0]) + rate / 16
    cells = table.T @ truth @ table
    for _ in range(400):
        counts = rng.multinomial(2000, cells.ravel()).reshape(4, 4)
        got = anchored(counts, {"y": four, "told": four}, "y", "told", 1, anchor_option=2)
        inside += [
            share_estimate.low <= share <= share_estimate.high
            for share_estimate, share in zip(got.shares, shares, strict=True)
        ]
        rates += got.careless.low <= rate <= got.careless.high
    assert min(*inside, rates) / 400 >= 0.92
    assert max(*inside, rates) / 400 <= 0.98


# Every kind beside an anchor. -------------------------------------------------------------------------------------

MOON = {"id": "moon", "kind": "yes_no", "text": "Born on the moon?", "mechanism": WARNER}
FILTER = {"id": "smokes", "kind": "yes_no", "text": "Smoke?", "mechanism": WARNER}
KINDS: dict[str, dict[str, object]] = {
    "used": {
        "kind": "multiple",
        "options": ["a", "b", "c"],
        "mechanism": {"name": "sampled", "epsilon": 2, "ask": 2},
    },
    "two": {
        "kind": "multiple",
        "options": list("abcdef"),
        "at_most": 2,
        "mechanism": {"name": "padded", "epsilon": 2},
    },
    "mood": {"kind": "scale", "points": 5, "mechanism": {"epsilon": 2}},
    "hours": {
        "kind": "number",
        "min": 0,
        "max": 10,
        "step": 1,
        "mechanism": {"epsilon": 2, "target": "mean"},
    },
    "money": {
        "kind": "number",
        "min": 0,
        "max": 900,
        "step": 1,
        "mechanism": {"epsilon": 2, "target": "mean"},
    },
    "age": {
        "kind": "number",
        "min": 0,
        "max": 10,
        "step": 1,
        "mechanism": {"epsilon": 2, "target": "distribution", "bins": 4},
    },
    "why": {"kind": "choice", "options": ["x", "y", "z"], "mechanism": {"epsilon": 2}},
    "town": {"kind": "choice", "options": [f"t{k}" for k in range(40)], "mechanism": {"epsilon": 2}},
    "brand": {
        "kind": "choice",
        "options": ["p", "q"],
        "after": {"question": "smokes", "answers": ["Yes"]},
        "mechanism": {"epsilon": 2},
    },
}
CARELESS_RATE = 0.2


def anchored_survey(name: str) -> Survey:
    extra = [FILTER] if "after" in KINDS[name] else []
    question = {"id": name, "text": "?", **KINDS[name]}
    return read_draft(
        {
            "hushpoll": 1,
            "title": "t",
            "questions": [MOON, *extra, question],
            "anchor": {"question": "moon", "share": "0"},
        }
    )


def random_answer(name: str, rng: np.random.Generator) -> object:
    """Return a possible answer, each with the same probability."""
    if name in ("used", "two"):
        options, most = (3, 3) if name == "used" else (6, 2)
        sets = [members for size in range(most + 1) for members in combinations(range(options), size)]
        return sets[rng.integers(len(sets))]
    return int(rng.integers({"mood": 5, "hours": 11, "money": 901, "age": 11, "why": 3, "town": 40}[name]))


def careful_answer(name: str) -> object:
    """Return the answer of careful respondents."""
    return {"used": (1,), "two": (0, 3), "mood": 4, "hours": 2, "money": 100, "age": 1, "why": 1, "town": 7}[
        name
    ]


def with_careless(survey: Survey, name: str, n: int, rng: np.random.Generator) -> pd.DataFrame:
    careless = rng.random(n) < CARELESS_RATE
    truth: dict[str, list[object]] = {
        "moon": [int(rng.random() < 0.5) if is_careless else 0 for is_careless in careless]
    }
    if name == "brand":  # the careful smoke, and choose q
        truth["smokes"] = [int(rng.random() < 0.5) if is_careless else 1 for is_careless in careless]
        truth["brand"] = [
            (int(rng.integers(2)) if is_careless else 1) if smokes else 2
            for is_careless, smokes in zip(careless, truth["smokes"], strict=True)
        ]
    else:
        truth[name] = [
            random_answer(name, rng) if is_careless else careful_answer(name) for is_careless in careless
        ]
    columns = {}
    for question in survey.questions:
        draws = np.random.default_rng(int(rng.integers(2**31)))

        def uniform(draws: np.random.Generator = draws) -> int:
            return int(draws.integers(2**53))

        rows = [
            answer
            if question.after and answer == len(question.options)
            else question.answers.row(answer, uniform)
            for answer in truth[question.id]
        ]
        if question.kind.several:
            rows = [[int(k in ticks) for k in range(len(question.options))] for ticks in rows]
        codes = simulate(question.mechanism.device, rows, seed=int(rng.integers(2**31)))
        columns[f"{question.id}_reported"] = codes
    return pd.DataFrame(columns)


@pytest.mark.parametrize("name", list(KINDS))
@pytest.mark.parametrize("weighted", [False, True])
def test_every_kind_is_corrected(name: str, weighted: bool) -> None:
    survey = anchored_survey(name)
    data = with_careless(survey, name, 6000, np.random.default_rng(7))
    keys = {"weights": "w"} if weighted else {}
    results = report(survey, data.assign(w=1.0), **keys)
    assert results.validity is not None
    assert not results.validity.skipped
    assert abs(results.validity.careless.estimate - CARELESS_RATE) < 4 * results.validity.careless.se
    corrections = [correction for correction in results.validity.questions if correction.question == name]
    truth = careful_answer(name) if name != "brand" else 1
    for correction in corrections:
        for index, share in enumerate(correction.shares):
            if correction.quantity == "mean":
                true = {"mood": 5.0, "hours": 2.0, "money": 100.0}[name]
            elif name == "age":
                true = float(index == 0)
            else:
                true = float(index in truth if isinstance(truth, tuple) else index == truth)
            assert abs(share.estimate - true) < 4 * share.se, (correction.quantity, share)
    # The same through the function, the same words in every form.
    if not weighted and name in ("used", "town", "why", "mood"):
        alone = anchored(data, survey, name, "moon", 0)
        assert [entry.estimate for entry in alone.shares] == pytest.approx(
            [entry.estimate for entry in corrections[0].shares]
        )
    for text in (results.to_text(), results.to_html(), results._repr_html_()):
        assert "Careless answers" in text
    if name == "town":
        assert len(results.validity.rows()) == 10
        assert "40 options" in results.to_html()
    json.loads(results.to_json())


def test_a_block_is_corrected_and_all_anchor_reports_count() -> None:
    members = [{"id": name, "kind": "yes_no", "text": "?"} for name in "abc"]
    survey = Survey.from_draft(
        {
            "hushpoll": 1,
            "title": "t",
            "questions": [MOON, *members],
            "blocks": [{"questions": ["a", "b", "c"], "ask": 2, "epsilon": 2}],
            "anchor": {"question": "moon", "share": "0"},
        }
    )
    rng = np.random.default_rng(3)
    n = 6000
    careless = rng.random(n) < CARELESS_RATE
    moon = np.where(careless, rng.random(n) < 0.5, False).astype(int)
    three = np.where(careless[:, None], rng.random((n, 3)) < 0.5, [True, False, False]).astype(int)
    data = pd.DataFrame(
        {
            "moon_reported": simulate(survey.questions[0].mechanism.device, moon, seed=1),
            "block1_reported": simulate(survey.blocks[0].channel, three, seed=2),
            "w": np.ones(n),
        }
    )
    for keys in ({}, {"weights": "w"}):
        results = report(survey, data, **keys)
        assert results.validity is not None
        assert [question.question for question in results.validity.questions] == ["a", "b", "c"]
        for question, true in zip(results.validity.questions, (1.0, 0.0, 0.0), strict=True):
            assert abs(question.shares[0].estimate - true) < 4 * question.shares[0].se
            # Two of three are asked: each question's own correction knows less than the page's sentence.
            assert question.careless.se > 1.15 * results.validity.careless.se
        moon_estimate = estimate(
            np.bincount(data["moon_reported"], minlength=2), survey.questions[0].mechanism
        )["Yes"]
        assert results.validity.careless.estimate == pytest.approx(2 * moon_estimate.estimate)
        assert results.validity.careless.se == pytest.approx(2 * moon_estimate.se, rel=1e-3)


def test_what_cannot_be_corrected_is_named() -> None:
    """A mean-only channel does not tell what a finite population would need; the rest of the report stands."""
    survey = anchored_survey("hours")
    data = with_careless(survey, "hours", 500, np.random.default_rng(1)).assign(w=1.0)
    results = report(survey, data, weights="w", population=5000)
    assert results.validity is not None
    assert results.validity.questions == ()
    assert any("hours" in note and "not corrected" in note for note in results.validity.notes)
    assert "not corrected" in results.to_text()
    assert "not corrected" in results.to_html()
    assert results["hours"].numbers is not None
    alone = read_draft(
        {"hushpoll": 1, "title": "t", "questions": [MOON], "anchor": {"question": "moon", "share": "0"}}
    )
    validity = report(alone, data[["moon_reported"]]).validity
    assert validity is not None
    assert "figures below" not in validity.sentence


@pytest.mark.parametrize("name", ["used", "hours"])
def test_corrected_means_and_ticks_cover(name: str) -> None:
    survey = anchored_survey(name)
    rng, inside, tried = np.random.default_rng(8), 0, 0
    for _ in range(60):
        validity = report(survey, with_careless(survey, name, 400, rng)).validity
        assert validity is not None
        truth = {"used": (0.0, 1.0, 0.0), "hours": (2.0,)}[name]
        for share, true in zip(validity.questions[0].shares, truth, strict=True):
            inside += share.low <= true <= share.high
            tried += 1
    assert inside / tried > 0.88  # three standard errors below .95


def test_every_yes_no_question_says_what_stays_open(people: pd.DataFrame) -> None:
    results = report(SURVEY, people)
    assert results.validity is None
    remark = next(note for note in results["cheated"].remarks if "answered at random" in note)
    assert "protect themselves" in remark
    assert not any("answered at random" in note for note in results["reason"].remarks)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: anchored(d, SURVEY, "cheated", "moon", 0.5), "cannot tell them apart"),
        (lambda d: anchored(d, SURVEY, "cheated", "moon", 2), "proportion from 0 to 1"),
        (lambda d: anchored(d, SURVEY, "cheated", "reason", 0), "anchor_option"),
        (lambda d: anchored(d, SURVEY, "cheated", "cheated", 0), "named twice"),
        (lambda d: report(SURVEY, d, anchor="moon"), "known share"),
        (lambda d: report(SURVEY, d, anchor=("moon", "few")), "not a share"),
        (lambda d: report(SURVEY, d, anchor=("reason", 0)), "two answers"),
        (lambda d: report(SURVEY, d, anchor=("reason", 1, "Boredom")), "not an answer to"),
        (lambda d: report(SURVEY, d, anchor="reason[Fear]=1/3"), "not a share"),
        (lambda d: report(SURVEY, d, anchor=("nobody", 0)), "no question"),
        (lambda d: sensitivity(3), "result of estimate"),
        (lambda d: sensitivity(estimate([6, 4], COIN), careless=[1]), "outside 0"),
    ],
)
def test_odd_anchors_are_explained(people: pd.DataFrame, call, message: str) -> None:
    with pytest.raises((AnalysisError, NotIdentifiedError), match=message):
        call(people)


def test_an_anchor_that_says_too_much_or_too_little_is_named() -> None:
    both = {"a": mechanisms.warner(epsilon=2), "b": mechanisms.warner(epsilon=2)}
    equal = anchored([[20, 0], [0, 0]], both, "a", "b", share=0)
    assert any("standard error is 0 and says nothing" in note for note in equal.notes)
    beyond = anchored([[50, 50], [50, 500]], both, "a", "b", share=0)
    assert beyond.careless.estimate > 1
    assert any("nothing is left to correct" in note for note in beyond.notes)
    plain = anchored([[900, 60], [500, 90]], both, "a", "b", share=0)
    assert not any("too narrow" in note or "nothing is left" in note for note in plain.notes)


class Block(bytearray):
    """Records that count how many of them are kept at once."""

    alive = most = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        Block.alive += 1
        Block.most = max(Block.most, Block.alive)

    def __del__(self) -> None:
        Block.alive -= 1


@pytest.mark.parametrize("by", [None, "y"])
def test_records_with_an_anchor_are_read_once_and_not_kept(by: str | None) -> None:
    """The database's records can be read once, and are more than memory holds."""
    questions = [
        {"id": name, "kind": "yes_no", "text": f"{name}?", "mechanism": {"name": "warner", "epsilon": 2}}
        for name in ("y", "a", "z")
    ]
    survey = Survey.from_draft({"hushpoll": 1, "title": "T", "questions": questions})
    codes = np.random.default_rng(2).integers(0, 2, (2_000, 3))
    form = RecordFormat.of(survey)
    progress: list[int] = []
    blocks = (
        Block(b"".join(form.pack(row) for row in codes[at : at + 50].tolist())) for at in range(0, 2_000, 50)
    )
    Block.most = 0
    results = report(survey, blocks, by, anchor=("a", 0.0), progress=progress.append)
    frame = pd.DataFrame(codes, columns=["y_reported", "a_reported", "z_reported"])
    assert results.to_json() == report(survey, frame, by, anchor=("a", 0.0)).to_json()
    assert results.validity is not None
    assert Block.most < 5
    assert sum(progress) == 2_000
