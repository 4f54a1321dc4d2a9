"""Replay the shared vectors in Python; tests/browser/test_vectors_js.py replays the same ones in Chromium."""

from __future__ import annotations

import hashlib
import json
import runpy
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hushpoll_client import SCALE, Channel, ChannelError, Report, Survey
from hushpoll_client.exact import exp_below

FOLDER = Path(__file__).parents[1] / "vectors"
PINS = Path(__file__).parents[1] / "fixtures" / "vectors.json"
# The keys that are pinned; figures of the analysis may gain digits, and a fault may be found at another place.
COMPARED_KEYS = {
    "bad_channels": ("channel",),
    "controls": ("parts", "hash", "cap"),
    "draws": ("channel", "ratio", "answers"),
    "hostile": ("parts", "hash", "cap"),
    "many_draws": ("channel", "ratio", "cases"),
    "reports": ("answers", "draws", "bytes"),
    "surveys": ("draft", "published", "hash"),
}


def digest(file: str, entry: dict[str, Any]) -> str:
    """Return a short digest of what one entry says."""
    text = json.dumps([entry.get(key) for key in COMPARED_KEYS[file]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def pins() -> dict[str, list[str]]:
    """Return the digests of all entries; the pinned file is written from this when entries are added."""
    return {
        file: sorted({digest(file, entry) for entry in vectors(f"{file}.json")}) for file in COMPARED_KEYS
    }


def vectors(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / name).read_text(encoding="ascii"))


def test_entries_are_added_and_never_changed() -> None:
    """Published hashes, draws and refusals never change; new entries need new pins."""
    pinned = json.loads(PINS.read_text(encoding="ascii"))
    current = pins()
    for file, digests in pinned.items():
        lost = set(digests) - set(current[file])
        assert not lost, f"{file}.json: {len(lost)} entries that were pinned have changed or are gone"
    assert current == pinned, f"new entries: write pins() to {PINS.name}"


def test_draws() -> None:
    count = 0
    for vector in vectors("draws.json"):
        channel = Channel.from_json(vector["channel"])
        for case in vector["answers"]:
            reports = [channel.report(case["answer"], r) for r in case["draws"]]
            assert reports == case["reports"], vector["name"]
            count += len(reports)
    assert count >= 10_000


def test_reports_of_several_draws() -> None:
    count = 0
    for vector in vectors("many_draws.json"):
        channel = Channel.from_json(vector["channel"])
        assert channel.ratio == Fraction(int(vector["ratio"][0]), int(vector["ratio"][1]))
        for case in vector["cases"]:
            left = list(reversed(case["draws"]))
            assert channel.pick(case["answer"], left.pop) == case["report"], vector["name"]
            assert not left, f"{vector['name']}: a draw was not used"
            count += 1
    columns = [
        len(answer["draws"])
        for vector in vectors("draws.json")
        if vector["channel"]["form"] == "columns"
        for answer in vector["answers"]
    ]
    # Answers with their draws and their report; how many draws one takes is not counted.
    assert count + sum(columns) >= 20_000


def test_every_boundary_of_every_weight_is_among_the_draws() -> None:
    """A report changes at every edge with weight on both sides, so a shifted edge cannot hide."""
    for vector in vectors("draws.json"):
        channel = Channel.from_json(vector["channel"])
        case = vector["answers"][0]
        listed = set(case["draws"])
        edge = 0
        for weight in dealt(channel, case["answer"]):
            edge += weight
            assert edge == SCALE or {edge - 1, edge} <= listed, vector["name"]


def dealt(channel: Channel, answer: int) -> Iterator[int]:
    row = channel.row(answer)
    turn = (
        answer if channel.form == "krr" else 0
    )  # the K-ary form deals from the truth onwards, around the circle
    yield from (*row[turn:], *row[:turn])


def test_epsilons() -> None:
    for vector in vectors("draws.json"):
        channel = Channel.from_json(vector["channel"])
        ratio = channel.ratio
        if vector["ratio"] is None:
            assert ratio is None
            assert channel.epsilon == float("inf")
        else:
            assert ratio == Fraction(int(vector["ratio"][0]), int(vector["ratio"][1]))
            assert channel.epsilon == vector["epsilon"]


def test_exponentials() -> None:
    for vector in vectors("numbers.json"):
        assert exp_below(Fraction(vector["epsilon"])) * 2**64 == int(vector["exp_below"])


def test_surveys() -> None:
    for vector in vectors("surveys.json"):
        data = vector["published"].encode()
        for survey in (Survey.from_draft(vector["draft"]), Survey.from_published(data, vector["hash"])):
            assert survey.canonical == data, vector["name"]
            assert survey.hash == vector["hash"]
            expected = vector["epsilon_total"]
            assert survey.epsilon_total == (float("inf") if expected is None else expected)
            assert [entry.mechanism.analysis.to_json() for entry in survey.entries] == vector["analysis"]
            assert [q.mechanism.combine for q in survey.questions] == vector["combine"]


def test_reports() -> None:
    pairs = {(name, answer["answer"], answer["decoy"]) for name, answer in decoy_answers()}
    assert pairs == {(name, x, y) for name in ("or", "same", "pair") for x in (0, 1) for y in (0, 1)}
    surveys = {v["hash"]: Survey.from_published(v["published"].encode()) for v in vectors("surveys.json")}
    for vector in vectors("reports.json"):
        survey = surveys[vector["survey"]]
        device_answers = [
            question.mechanism.device_answer(answer["answer"], answer["decoy"])
            if isinstance(answer, dict)
            else answer
            for question, answer in zip(survey.questions, vector["answers"], strict=True)
        ]
        assert device_answers == vector["device_answers"]
        parts = iter([bytes.fromhex(vector["id"]), *((r << 3).to_bytes(7, "big") for r in vector["draws"])])
        open_facts = (vector.get("ranks"), vector.get("group"))
        report = Report.new(survey, device_answers, lambda count, parts=parts: next(parts), *open_facts)
        assert report.to_bytes(vector["invitation"]) == vector["bytes"].encode()
        body = (vector["bytes"] + " " * vector["spaces"]).encode()
        assert report.to_body(survey, vector["invitation"]) == body
        assert Report.parse(survey, vector["bytes"].encode()) == (report, vector["invitation"])
        assert Report.parse(survey, body) == (report, vector["invitation"])


def decoy_answers() -> Iterator[tuple[str, Any]]:
    combine = {v["hash"]: v["combine"] for v in vectors("surveys.json")}
    for vector in vectors("reports.json"):
        for name, answer in zip(combine[vector["survey"]], vector["answers"], strict=True):
            if isinstance(answer, dict):
                yield name, answer


@pytest.mark.parametrize("vector", vectors("bad_channels.json"), ids=lambda vector: vector["fault"])
def test_bad_channel(vector: dict[str, Any]) -> None:
    with pytest.raises(ChannelError):
        Channel.from_json(vector["channel"])


@pytest.mark.parametrize(
    ("answer", "r"), [(-1, 0), (2, 0), (0, -1), (0, SCALE), (True, 0), (0, 0.5), ("0", 0)]
)
def test_bad_draw(answer: Any, r: Any) -> None:
    for channel in (Channel.krr(2, 5), Channel.identity(2)):
        with pytest.raises(ChannelError):
            channel.report(answer, r)


def test_the_vectors_equal_those_that_the_script_writes() -> None:
    build = runpy.run_path(str(FOLDER / "write.py"))["build"]
    for name, text in build().items():
        assert (FOLDER / name).read_text(encoding="ascii") == text, (
            f"{name} is stale: run tests/vectors/write.py"
        )
