"""Replay the shared vectors in a real Chromium, through the modules that respondents get. 0 differences."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hushpoll_client import Report, Survey
from playwright.sync_api import Page

pytestmark = pytest.mark.browser
FOLDER = Path(__file__).parents[1] / "vectors"
ON_DEMAND = ("extra_kinds", "block", "anchor", "group", "series", "presentation")
"""Modules outside the base bundle; the first one loads extra_channels.js."""


def replay(js: Page, script: str, *files: str) -> Any:
    """Run an async function of the files' values in the page; it returns {count, differences}."""
    texts = [(FOLDER / file).read_text(encoding="ascii") for file in files]
    run = f"({script})(...texts.map((text) => JSON.parse(text)))"
    modules = " ".join(f'await import("/{name}.js");' for name in ON_DEMAND)
    return js.evaluate(f"async (texts) => {{ {modules} return {run}; }}", texts)


TOO_LARGE_FOR_A_DOUBLE = {"weight_2_53_plus_1", "identity_2_53_plus_1"}
ASSEMBLE = """
const assemble = (parts) => {
  const pieces = parts.map((part) => part.hex !== undefined
    ? Uint8Array.from(part.hex.match(/../g), (byte) => parseInt(byte, 16))
    : new TextEncoder().encode(Array.isArray(part) ? part[0].repeat(part[1]) : part));
  return new Uint8Array(pieces.flatMap((piece) => [...piece]));
};
"""


def test_draws(js: Page) -> None:
    result = replay(
        js,
        """async (vectors) => {
          const { Channel } = await import("/channel.js");
          const differences = [];
          let count = 0;
          for (const vector of vectors) {
            const channel = Channel.fromJson(vector.channel);
            for (const { answer, draws, reports } of vector.answers) draws.forEach((r, i) => {
              count++;
              if (channel.report(answer, r) !== reports[i]) differences.push([vector.name, answer, r]);
            });
          }
          return { count, differences };
        }""",
        "draws.json",
    )
    assert result["differences"] == []
    assert result["count"] >= 10_000


def test_many_draws(js: Page) -> None:
    """Forms that draw more than once take the same draws in the same order, as many for every answer."""
    result = replay(
        js,
        """async (vectors) => {
          const { Channel } = await import("/channel.js");
          const differences = [];
          let count = 0;
          for (const vector of vectors) {
            const channel = Channel.fromJson(vector.channel);
            const [top, bottom] = vector.ratio.map(BigInt);
            if (channel.ratio[0] * bottom !== channel.ratio[1] * top) differences.push([vector.name, "ratio"]);
            if (Math.abs(channel.epsilon / vector.epsilon - 1) > 1e-13) differences.push([vector.name, "epsilon"]);
            const again = JSON.stringify(channel.toJson());
            if (again !== JSON.stringify(vector.channel)) differences.push([vector.name, "JSON"]);
            for (const { answer, draws, report } of vector.cases) {
              const left = [...draws];
              const found = channel.pick(answer, () => left.shift());
              if (found !== report || left.length) differences.push([vector.name, answer, draws]);
              else if (!channel.wire.legal(report)) differences.push([vector.name, report]);
              else count += 1;
            }
          }
          return { count, differences };
        }""",
        "many_draws.json",
    )
    assert result["differences"] == []
    columns = [
        len(case["draws"])
        for vector in json.loads((FOLDER / "draws.json").read_text(encoding="ascii"))
        if vector["channel"]["form"] == "columns"
        for case in vector["answers"]
    ]
    print(f"{result['count']} reports of forms that draw several times, {sum(columns)} of two-valued columns")
    assert result["count"] + sum(columns) >= 20_000


def test_impossible_reports_are_not_legal(js: Page) -> None:
    """A kept record counts only if some answer could have led to it: whole numbers, ranks, bitmaps."""
    accepted = replay(
        js,
        """async (vectors) => {
          const { Channel } = await import("/channel.js");
          const kept = [];
          for (const { name, channel: json, cases } of vectors) {
            const { legal } = Channel.fromJson(json).wire;
            const good = cases[0].report;
            const bad = [null, true, -1, 0.5, "", "0", String(good).toUpperCase() + "A", [good], 2 ** 53];
            if (typeof good === "number") bad.push(String(good), Channel.fromJson(json).outcomes);
            else bad.push(good.slice(1), `0${good}`, good.replace(/[1-9a-f]/, "0"), "f".repeat(good.length), 0);
            kept.push(...bad.filter((report) => legal(report)).map((report) => [name, report]));
          }
          // Members of several sizes: some whole numbers below the largest are not reports.
          const mixed = vectors.find(({ channel }) => new Set(channel.sizes).size > 1);
          const { outcomes, wire } = Channel.fromJson(mixed.channel);
          return [kept, [...Array(outcomes).keys()].filter((report) => wire.legal(report)).length];
        }""",
        "many_draws.json",
    )
    assert accepted[0] == []
    sizes, ask = next(
        (vector["channel"]["sizes"], vector["channel"]["ask"])
        for vector in json.loads((FOLDER / "many_draws.json").read_text(encoding="ascii"))
        if len(set(vector["channel"].get("sizes", []))) > 1
    )
    assert accepted[1] == sum(math.prod(some) for some in combinations(sizes, ask))


def test_epsilons_and_tables(js: Page) -> None:
    result = replay(
        js,
        """async (vectors) => {
          const { Channel, SCALE } = await import("/channel.js");
          return vectors.map(({ channel: json }) => {
            const channel = Channel.fromJson(json);
            const table = channel.options <= 100 ? channel.rows : [channel.row(0)];
            const chances = table[0].map((_, z) => channel.probability(0, z));
            return {
              ratio: channel.ratio?.map(String) ?? null,
              epsilon: channel.epsilon === Infinity ? null : channel.epsilon,
              sums: table.every((row) => row.reduce((a, w) => a + BigInt(w), 0n) === BigInt(SCALE)),
              chances: Math.abs(chances.reduce((a, p) => a + p) - 1) < 1e-12,
              again: JSON.stringify(channel.toJson()) === JSON.stringify(json),
            };
          });
        }""",
        "draws.json",
    )
    expected = json.loads((FOLDER / "draws.json").read_text(encoding="ascii"))
    for channel, vector in zip(result, expected, strict=True):
        # The exact ratio is what claims are checked with; the double is for display.
        assert reduced(channel["ratio"]) == reduced(vector["ratio"]), vector["name"]
        assert near(channel["epsilon"], vector["epsilon"]), vector["name"]
        assert channel["sums"]
        assert channel["chances"]
        assert channel["again"]


def reduced(ratio: list[str] | None) -> Any:
    return None if ratio is None else Fraction(int(ratio[0]), int(ratio[1]))


def near(value: float | None, expected: float | None) -> bool:
    """Whether two doubles for display agree; unbounded is None."""
    if value is None or expected is None:
        return value is expected
    return math.isclose(value, expected, rel_tol=1e-13)


def test_exponentials(js: Page) -> None:
    differences = replay(
        js,
        """async (vectors) => {
          const { expBelow, readDecimal } = await import("/mechanism.js");
          return vectors.filter((v) => String(expBelow(readDecimal(v.epsilon, "epsilon"))) !== v.exp_below);
        }""",
        "numbers.json",
    )
    assert differences == []


def test_surveys(js: Page) -> None:
    result = replay(
        js,
        """async (vectors) => {
          const { loadSurvey } = await import("/survey.js");
          return vectors.map((vector) => {
            const survey = loadSurvey(new TextEncoder().encode(vector.published), vector.hash);
            return {
              hash: survey.hash,
              total: survey.epsilonTotal === Infinity ? null : survey.epsilonTotal,
              analysis: survey.entries.map(({ mechanism, channel }) => (mechanism?.analysis ?? channel).toJson()),
              combine: survey.questions.map((question) => question.mechanism.combine),
              decoys: survey.questions.map((question) => question.decoy),
              texts: [survey.title, survey.intro, ...survey.questions.map((q) => q.text)],
              options: survey.questions.map((q) => q.options),
              rules: survey.questions.map(({ after }) => after && {
                question: survey.questions[after.question].id,
                answers: after.answers.map((answer) => survey.questions[after.question].options[answer]),
              }),
              settings: survey.settings,
            };
          });
        }""",
        "surveys.json",
    )
    vectors = json.loads((FOLDER / "surveys.json").read_text(encoding="ascii"))
    for survey, vector in zip(result, vectors, strict=True):
        assert survey["hash"] == vector["hash"], vector["name"]
        assert near(survey["total"], vector["epsilon_total"])
        assert survey["analysis"] == vector["analysis"]
        assert survey["combine"] == vector["combine"]
        document = json.loads(vector["published"])
        questions = document["questions"]
        assert survey["decoys"] == [question.get("mechanism", {}).get("decoy") for question in questions]
        texts = [question["text"] for question in questions]
        assert survey["texts"] == [document["title"], document["intro"], *texts]
        assert survey["rules"] == [question.get("after") for question in questions]
        for question, options in zip(questions, survey["options"], strict=True):
            if question["kind"] in ("yes_no", "choice", "multiple"):
                assert options == question.get("options", ["No", "Yes"])
        compiled = Survey.from_published(vector["published"].encode())
        rows = [len(question.options) for question in compiled.questions]
        assert [len(options) for options in survey["options"]] == rows
        assert survey["settings"] == document["settings"]


def test_reports(js: Page) -> None:
    differences = replay(
        js,
        """async (surveys, vectors) => {
          const { loadSurvey } = await import("/survey.js");
          const { newReport, reportBytes } = await import("/report.js");
          const read = ({ hash, published }) => [hash, loadSurvey(new TextEncoder().encode(published))];
          const byHash = Object.fromEntries(surveys.map(read));
          return vectors.filter((vector) => {
            const draws = [...vector.draws];
            const source = (array) => {
              if (array.length === 16) array.set(vector.id.match(/../g).map((byte) => parseInt(byte, 16)));
              else {
                const r = draws.shift();
                array.set([Math.floor(r / 2 ** 32) * 2 ** 11, r % 2 ** 32]);
              }
            };
            const { survey, answers, ranks, group } = vector;
            const report = newReport(byHash[survey], answers, source, ranks, group);
            const bytes = new TextDecoder().decode(reportBytes(byHash[survey], report, vector.invitation));
            return bytes !== vector.bytes + " ".repeat(vector.spaces) || draws.length > 0;
          });
        }""",
        "surveys.json",
        "reports.json",
    )
    assert differences == []


def test_twelve_groups_have_one_length(js: Page) -> None:
    """The vectors have fewer than ten groups; more of them, a choice of twelve and a set are compared here."""
    options = [f"Option {number}" for number in range(12)]
    question = {"kind": "choice", "text": "Which?", "options": options}
    questions = [
        {"id": "one", **question, "mechanism": {"name": "krr", "epsilon": 1}},
        {"id": "set", **question, "mechanism": {"name": "subset", "epsilon": 1, "size": 3}},
    ]
    survey = Survey.from_draft({"hushpoll": 1, "title": "Groups", "questions": questions, "groups": options})
    reports = [Report("4f" * 16, (code, "007"), group) for group in (3, 11) for code in (0, 9, 10, 11)]
    bodies = js.evaluate(
        """async ([published, records]) => {
          await import("/extra_kinds.js");
          await import("/group.js");
          const { loadSurvey } = await import("/survey.js");
          const { reportBytes } = await import("/report.js");
          const survey = loadSurvey(new TextEncoder().encode(published));
          return records.map((record) => new TextDecoder().decode(reportBytes(survey, record)));
        }""",
        [survey.canonical.decode(), [vars(report) for report in reports]],
    )
    assert [body.encode() for body in bodies] == [report.to_body(survey) for report in reports]
    assert {len(body) for body in bodies} == {len(reports[-1].to_bytes())}


def test_assurance(js: Page) -> None:
    """The tier that every reassuring sentence follows is the same one in both languages."""
    differences = replay(
        js,
        """async (vectors) => {
          const { loadSurvey, tierOf } = await import("/survey.js");
          return vectors.filter((vector) => {
            const survey = loadSurvey(new TextEncoder().encode(vector.document));
            const { tier, oneSided, weakest, factor, kept } = survey.assurance;
            const [top, bottom] = vector.factor.map(BigInt);
            const tiers = survey.questions.map(({ channel }) => tierOf(channel.ratio));
            const found = [tier, oneSided, weakest, factor[0] * bottom === top * factor[1], kept, tiers];
            const expected = [vector.tier, vector.one_sided, vector.weakest, true, vector.kept, vector.tiers];
            return JSON.stringify(found) !== JSON.stringify(expected);
          });
        }""",
        "assurance.json",
    )
    assert differences == []


def test_facts(js: Page) -> None:
    differences = replay(
        js,
        """async (surveys, vectors) => {
          const { loadSurvey } = await import("/survey.js");
          const read = ({ hash, published }) => [hash, loadSurvey(new TextEncoder().encode(published))];
          const byHash = Object.fromEntries(surveys.map(read));
          return vectors.filter((vector) => {
            const { mechanism } = byHash[vector.survey].questions.find(({ id }) => id === vector.question);
            const found = [mechanism.reportsAreAnswers, mechanism.knownDecoyTells, mechanism.facts];
            const expected = [vector.reports_are_answers, vector.known_decoy_tells, vector.facts];
            return JSON.stringify(found) !== JSON.stringify(expected);
          });
        }""",
        "surveys.json",
        "facts.json",
    )
    assert differences == []


def test_registry(js: Page) -> None:
    """Python and JavaScript know the same forms, mechanisms, kinds and limits, in the same order."""
    registry = js.evaluate(
        """async () => {
          await import("/extra_kinds.js");
          const { FORMS, MAX_TABLE } = await import("/channel.js");
          const { MAX_EPSILON, MECHANISMS } = await import("/mechanism.js");
          const { KINDS, LENGTHS, MAX_OPTIONS } = await import("/kind.js");
          const { CAP, MAX_BYTES, MAX_QUESTIONS, VERSION } = await import("/survey.js");
          return [
            ...Object.entries(FORMS).map(([form, { keys }]) => ({ form, keys: [...keys].sort() })),
            ...Object.entries(MECHANISMS).map(([mechanism, one]) => ({
              mechanism,
              parameters: [...one.declaredParameters].sort(),
              two_answers: one.twoAnswers,
              decoy: one.hasDecoy,
              combine: one.combine,
              reports_answers: one.reportsAnswers,
              takes_combined: one.takesCombined,
              recompiled: one.recompiled,
              fits: one.fits,
            })),
            ...Object.entries(KINDS).map(([kind, one]) => ({
              kind,
              keys: one.keys,
              optional_keys: one.optionalKeys,
              in_mechanism: one.inMechanism,
              targets: one.targets,
              may_be_skipped: one.mayBeSkipped,
              several: one.several,
              widget: one.widget,
              yes_or_no: one.yesOrNo,
              fixed_words: one.fixedWords,
              mechanisms: one.mechanisms.map(({ name }) => name),
            })),
            {
              limits: {
                cap: CAP,
                max_bytes: MAX_BYTES,
                max_epsilon: MAX_EPSILON,
                max_options: MAX_OPTIONS,
                max_questions: MAX_QUESTIONS,
                max_table: MAX_TABLE,
                version: VERSION,
                lengths: LENGTHS,
              },
            },
          ];
        }"""
    )
    assert registry == json.loads((FOLDER / "registry.json").read_text(encoding="ascii"))


def test_objects_carry_their_names(js: Page) -> None:
    named = replay(
        js,
        """async (single, several) => {
          const { FORMS, Channel } = await import("/channel.js");
          const { MECHANISMS } = await import("/mechanism.js");
          const { KINDS } = await import("/kind.js");
          const forms = [...single, ...several].map(({ channel }) => Channel.fromJson(channel).toJson().form);
          const own = [MECHANISMS, KINDS].every((all) => Object.entries(all).every(([name, one]) => one.name === name));
          return own && Object.keys(FORMS).every((form) => forms.includes(form));
        }""",
        "draws.json",
        "many_draws.json",
    )
    assert named


def test_base_modules_read_most_surveys(js: Page) -> None:
    """The base bundle knows the plain kinds and forms, and refuses the others by their place."""
    paths = js.evaluate(
        """async (texts) => {
          const { loadSurvey } = await import("/survey.js");
          return texts.map((text) => {
            try { loadSurvey(new TextEncoder().encode(text)); } catch (error) { return error.path; }
            return [];
          });
        }""",
        [
            vector["published"]
            for vector in json.loads((FOLDER / "surveys.json").read_text(encoding="ascii"))
            if vector["name"] in ("smallest", "every mechanism", "every kind")
        ],
    )
    assert paths[0] == []
    # Most surveys ask directly, or with one harmless question whose answer is combined by "or".
    assert paths[1][0] == paths[2][0] == "questions"
    assert paths[1][2:] == ["mechanism", "name"]


def test_bad_channels_and_draws(js: Page) -> None:
    accepted = replay(
        js,
        """async (vectors) => {
          const { Channel, SCALE } = await import("/channel.js");
          const refused = (work) => {
            try { work(); } catch (error) { return error.name === "ChannelError"; }
            return false;
          };
          const channels = vectors.filter(({ channel }) => !refused(() => Channel.fromJson(channel)));
          const draws = [[-1, 0], [2, 0], [0, -1], [0, SCALE], [true, 0], [0, 0.5], ["0", 0], [0, NaN], [NaN, 0], [0]];
          const kept = draws.filter(([answer, r]) =>
            [Channel.krr(2, 5), Channel.identity(2)].some((channel) => !refused(() => channel.report(answer, r))));
          return [...channels.map((vector) => vector.fault), ...kept];
        }""",
        "bad_channels.json",
    )
    assert accepted == []


def test_hostile_documents_are_refused_at_their_place(js: Page) -> None:
    results = replay(
        js,
        "async (documents) => {"
        + ASSEMBLE
        + """
          const { loadSurvey } = await import("/survey.js");
          return documents.map(({ parts, hash, cap }) => {
            try { loadSurvey(assemble(parts), hash, { cap }); } catch (error) {
              return { name: error.name, path: error.path ?? null, message: error.message };
            }
            return { name: "accepted" };
          });
        }""",
        "hostile.json",
    )
    documents = json.loads((FOLDER / "hostile.json").read_text(encoding="ascii"))
    assert len(results) >= 50
    differences = []
    for refusal, document in zip(results, documents, strict=True):
        # 2^53 + 1 reads as 2^53 in a double: only the whole document shows the difference.
        path = [] if document["fault"] in TOO_LARGE_FOR_A_DOUBLE else document["path"]
        # The same place, or one inside it: JavaScript also names the parameter that is not in its published spelling.
        inside = len(path) if path[-1:] == ["mechanism"] else None
        at_place = refusal["name"] == "SurveyError" and refusal["path"][:inside] == path
        if not at_place or "\n" in refusal["message"]:
            differences.append((document["fault"], path, refusal))
    assert differences == []


def test_controls_are_accepted(js: Page) -> None:
    hashes = replay(
        js,
        "async (documents) => {"
        + ASSEMBLE
        + """
          const { loadSurvey } = await import("/survey.js");
          return documents.map(({ parts, hash, cap }) => loadSurvey(assemble(parts), hash, { cap }).hash);
        }""",
        "controls.json",
    )
    documents = json.loads((FOLDER / "controls.json").read_text(encoding="ascii"))
    assert hashes == [document["hash"] for document in documents]


# FIPS 180-2, appendix B, and the digest of no bytes.
PUBLISHED = {
    "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq": (
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    "a" * 1_000_000: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
}


def test_sha256_matches_the_published_digests(js: Page) -> None:
    digests = js.evaluate(
        """async (texts) => {
          const { sha256 } = await import("/sha256.js");
          return texts.map((text) => sha256(new TextEncoder().encode(text)));
        }""",
        list(PUBLISHED),
    )
    assert digests == list(PUBLISHED.values())


def test_sha256_agrees_with_the_browser_at_every_length(js: Page) -> None:
    differences = js.evaluate(
        """async () => {
          const { sha256 } = await import("/sha256.js");
          const differences = [];
          for (let length = 0; length < 300; length++) {
            const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + length * 7) % 256);
            const own = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
            const hex = [...own].map((byte) => byte.toString(16).padStart(2, "0")).join("");
            if (sha256(bytes) !== hex) differences.push(length);
          }
          return differences;
        }"""
    )
    assert differences == []
