"""Audit the browser's randomizer as the Python one is audited: by its draws, inside a real Chromium.

The asserted draws use seeded coins, so that they do not flake; one smoke test uses the
browser's own generator.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hushpoll_analysis.planning.optimal import designed
from hushpoll_analysis.simulation.epsilon_audit import lower_bound
from hushpoll_client import Channel, Survey, mechanisms
from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.browser
DRAWS = 100_000

COUNT = """
async ([json, draws, seed, given]) => {
  await import("/extra_kinds.js");
  const { Channel, randomize } = await import("/channel.js");
  const { sha256 } = await import("/sha256.js");
  // Coins from a seed: xoshiro128** (Blackman and Vigna 2018), quick enough for millions of draws.
  const state = sha256(new TextEncoder().encode(seed)).match(/.{8}/g).map((word) => parseInt(word, 16));
  let [a, b, c, d] = state;
  const turn = (x, n) => (x << n) | (x >>> (32 - n));
  const next = () => {
    const result = Math.imul(turn(Math.imul(b, 5), 7), 9);
    const shifted = b << 9;
    c ^= a; d ^= b; b ^= c; a ^= d; c ^= shifted; d = turn(d, 11);
    return result;
  };
  const seeded = (array) => { for (let i = 0; i < array.length; i++) array[i] = next(); };
  const channel = Channel.fromJson(json);
  const source = seed === null ? [] : [seeded];
  const rows = (given ?? [...Array(channel.options).keys()]).map((answer) => {
    const counts = new Map();
    for (let i = 0; i < draws; i++) {
      const report = randomize(channel, answer, ...source);
      counts.set(report, (counts.get(report) ?? 0) + 1);
    }
    return counts;
  });
  const reports = given ? [...new Set(rows.flatMap((row) => [...row.keys()]))] : [...Array(channel.outcomes).keys()];
  return rows.map((row) => reports.map((report) => row.get(report) ?? 0));
}
"""


def counts(
    js: Page, channel: Channel, seed: str | None, draws: int = DRAWS, answers: list[Any] | None = None
) -> list[list[int]]:
    """Reports counted by true answer, drawn by the browser's modules."""
    return js.evaluate(COUNT, [channel.to_json(), draws, seed, answers])


AUDITED = {
    "warner 0.5": mechanisms.warner(epsilon="0.5"),
    "warner 1": mechanisms.warner(epsilon="1"),
    "warner 4": mechanisms.warner(epsilon="4"),
    "krr of 4 at 2": mechanisms.krr(4, "2"),
    "forced": mechanisms.forced(["1/6", "1/6", "1/3"]),
    "or_poll + warner": mechanisms.or_poll(decoy_share="0.4", epsilon="1.5"),
    "unrelated + warner": mechanisms.unrelated(truth="0.7", decoy_share="0.4", epsilon="1"),
}


@pytest.mark.parametrize("name", AUDITED)
def test_the_draws_show_the_claimed_epsilon_and_no_more(js: Page, name: str) -> None:
    mechanism = AUDITED[name]
    bound = lower_bound(counts(js, mechanism.device, f"audit {name}"))
    assert bound <= mechanism.epsilon
    assert bound >= 0.92 * mechanism.epsilon


# Forms whose reports are sets, items or joint answers, with answers that lie as far apart as can be.
SEVERAL: dict[str, tuple[mechanisms.Mechanism, list[Any]]] = {
    "subset of 2 of 4 at 1": (mechanisms.subset(4, "1", 2), [0, 1, 2, 3]),
    "sampled 1 of 3 at 1": (mechanisms.sampled([2] * 3, "1", 1), [[0, 0, 0], [1, 1, 1]]),
    "sampled 2 of 3 at 2": (mechanisms.sampled([2] * 3, "2", 2), [[0, 0, 0], [1, 1, 1], [0, 1, 0]]),
    "padded 2 of 4 at 1": (mechanisms.padded(4, "1", 2), [[], [0, 1], [2, 3]]),
    "square wave of 4 at 1": (mechanisms.square_wave(4, "1"), [0, 1, 2, 3]),
    "columns of 4 at 1": (mechanisms.designed(designed(4, "1", "cumulative"), "1"), [0, 1, 2, 3]),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_forms_that_report_more_than_an_answer_keep_their_epsilon(js: Page, name: str) -> None:
    mechanism, answers = SEVERAL[name]
    bound = lower_bound(counts(js, mechanism.device, f"audit {name}", answers=answers))
    assert bound <= mechanism.epsilon
    assert bound >= 0.9 * mechanism.epsilon


@pytest.mark.parametrize("name", ["subset", "sampled", "padded"])
def test_a_planted_form_with_a_fifth_more_is_caught(js: Page, name: str) -> None:
    make = {
        "subset": lambda epsilon: mechanisms.subset(4, epsilon, 2),
        "sampled": lambda epsilon: mechanisms.sampled([2] * 2, epsilon, 1),
        "padded": lambda epsilon: mechanisms.padded(3, epsilon, 1),
    }[name]
    answers = {"subset": [0, 1, 2, 3], "sampled": [[0, 0], [1, 1]], "padded": [[], [0], [1]]}[name]
    bound = lower_bound(counts(js, make("1.2").device, f"planted {name}", answers=answers))
    assert bound > make("1").epsilon


@pytest.mark.parametrize(("options", "epsilon"), [(2, "0.5"), (2, "1"), (2, "4"), (4, "2")])
def test_a_planted_channel_with_a_tenth_more_is_caught(js: Page, options: int, epsilon: str) -> None:
    planted = mechanisms.krr(options, str(float(epsilon) * 1.1)).device
    bound = lower_bound(counts(js, planted, f"planted {options} {epsilon}"))
    assert bound > mechanisms.krr(options, epsilon).epsilon


def test_the_same_seed_gives_the_same_counts(js: Page) -> None:
    channel = mechanisms.warner(epsilon="1").device
    assert counts(js, channel, "again", 500) == counts(js, channel, "again", 500)
    assert counts(js, channel, "again", 500) != counts(js, channel, "other", 500)


def test_the_generator_of_the_browser_draws_from_the_channel(js: Page) -> None:
    """Eight standard deviations: chance fails this once in 10^15 runs."""
    channel = mechanisms.krr(3, "1").device
    draws = 20_000
    for answer, row in enumerate(counts(js, channel, None, draws)):
        for count, weight in zip(row, channel.row(answer), strict=True):
            share = weight / 2**53
            assert abs(count - draws * share) < 8 * math.sqrt(draws * share * (1 - share))


def test_the_generator_uses_all_53_bits(js: Page) -> None:
    bits = js.evaluate(
        """async () => {
          const { draw } = await import("/channel.js");
          let [some, all] = [0n, 2n ** 53n - 1n];
          for (let i = 0; i < 500; i++) {
            const r = BigInt(draw());
            some |= r;
            all &= r;
          }
          const ends = [0, 2 ** 32 - 1].map((word) => draw((array) => array.fill(word)));
          return [String(some), String(all), ends];
        }"""
    )
    assert bits == [str(2**53 - 1), "0", [0, 2**53 - 1]]


SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "t",
        "questions": [
            {"id": "a", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 1}},
            {
                "id": "b",
                "kind": "yes_no",
                "text": "?",
                "mechanism": {"name": "or_poll", "decoy": "?", "decoy_share": 0.5},
            },
            {
                "id": "c",
                "kind": "yes_no",
                "text": "?",
                "mechanism": {"name": "crosswise", "decoy": "?", "decoy_share": 0.25},
            },
        ],
    }
)

NEW_REPORT = """
async ([published, answers]) => {
  await import("/extra_kinds.js");
  const { loadSurvey } = await import("/survey.js");
  const { newReport } = await import("/report.js");
  const survey = loadSurvey(new TextEncoder().encode(published));
  try {
    return { report: newReport(survey, answers) };
  } catch (error) {
    return { name: error.name, message: error.message };
  }
}
"""


def new_report(page: Page, answers: Any) -> dict[str, Any]:
    return page.evaluate(NEW_REPORT, [SURVEY.canonical.decode(), answers])


BOTH = {"answer": 1, "decoy": 0}


@pytest.mark.parametrize(
    "broken",
    [
        "undefined",
        "{}",
        "{ getRandomValues: null }",
        "{ getRandomValues() { throw new Error('QuotaExceeded'); } }",
        "{ getRandomValues: (array) => array }",
    ],
)
def test_without_a_safe_generator_nothing_is_drawn(
    context: BrowserContext, js_server: str, broken: str
) -> None:
    context.add_init_script(f"Object.defineProperty(globalThis, 'crypto', {{ value: {broken} }});")
    page = context.new_page()
    page.goto(f"{js_server}/")
    assert new_report(page, [1, BOTH, BOTH]).get("name") == "RandomnessError"


def test_reports_have_fresh_ids_and_legal_values(js: Page) -> None:
    reports = [new_report(js, [1, BOTH, BOTH])["report"] for _ in range(20)]
    assert len({report["id"] for report in reports}) == 20
    for report in reports:
        assert len(report["id"]) == 32
        assert [report["reports"][1], report["reports"][2]] == [
            1,
            0,
        ]  # the OR and "different", drawn by no coin
        assert report["reports"][0] in (0, 1)


def test_an_or_poll_accepts_the_combined_answer(js: Page) -> None:
    assert new_report(js, [0, 1, BOTH])["report"]["reports"][1] == 1
    assert new_report(js, [0, 0, BOTH])["report"]["reports"][1] == 0


UNFIT = [
    [],
    [1],
    [1, BOTH, BOTH, 0],
    None,
    [None, BOTH, BOTH],
    [2, BOTH, BOTH],
    [-1, BOTH, BOTH],
    ["1", BOTH, BOTH],
    [True, BOTH, BOTH],
    [0.5, BOTH, BOTH],
    [BOTH, BOTH, BOTH],
    [1, None, BOTH],
    [1, {"answer": 1}, BOTH],
    [1, {"answer": 2, "decoy": 0}, BOTH],
    [1, BOTH, 1],
]


def test_invalid_answers_are_refused_before_anything_is_drawn(js: Page) -> None:
    js.evaluate(
        """() => {
          globalThis.drawn = 0;
          const fill = crypto.getRandomValues.bind(crypto);
          crypto.getRandomValues = (array) => { globalThis.drawn++; return fill(array); };
        }"""
    )
    for answers in UNFIT:
        assert new_report(js, answers).get("name") in ("ReportError", "MechanismError"), answers
    assert js.evaluate("globalThis.drawn") == 0
    assert "report" in new_report(js, [1, BOTH, BOTH])
    assert js.evaluate("globalThis.drawn") == 4  # an id and one draw for each answer, never more, never fewer
