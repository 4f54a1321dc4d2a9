"""Write the test vectors that Python and JavaScript both replay: `python tests/vectors/write.py [--check]`.

Everything is deterministic: draws come from SHA-256 of a label, never from a generator. With --check nothing is
written; the exit status says whether the files are what this script gives today.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
if __name__ == "__main__":  # runs from a clone in which nothing is installed
    sys.path.insert(0, str(FOLDER.parents[1] / "client"))
sys.path.insert(0, str(FOLDER))

import bad_channels  # noqa: E402
import hostile  # noqa: E402
import surveys  # noqa: E402
from hushpoll_client import (  # noqa: E402
    SCALE,
    Channel,
    Question,
    Report,
    Survey,
    SurveyError,
    asked_questions,
    limits,
    mechanisms,
)
from hushpoll_client.exact import exp_below  # noqa: E402
from hushpoll_client.kind import KINDS  # noqa: E402
from hushpoll_client.survey.assurance import assurance, tier_of  # noqa: E402

EPSILONS = ["0.01", "0.1", "0.5", "1", "1.5", "2", "3", "4", "8", "14", "20"]
FEW = 10  # up to so many options every answer and every boundary is listed


def channels() -> Iterator[tuple[str, Channel]]:
    """Channels of every mechanism: the device's, and the analysis' where it differs."""
    for epsilon in EPSILONS:
        yield f"warner epsilon {epsilon}", mechanisms.warner(epsilon=epsilon).device
    for truth in ("3/4", "1/4", "2/3", "0.500001", "0.999999", "1/1000000"):
        yield f"warner truth {truth}", mechanisms.warner(truth=truth).device
    for options in (3, 4, 5, 7, 10, 25, 64, 100, 1000):
        for epsilon in ("0.1", "1", "4"):
            yield f"krr {options} options epsilon {epsilon}", mechanisms.krr(options, epsilon).device
    for shares in (
        ["1/6", "1/6"],
        ["0", "1/4"],
        ["0.1", "0"],
        ["0.2", "0.3"],
        ["0.1", "0.2", "0.3"],
        ["1/7"] * 6,
    ):
        yield f"forced {' '.join(shares)}", mechanisms.forced(shares).device
    decoys: list[tuple[str, mechanisms.Mechanism]] = [
        ("or_poll", mechanisms.or_poll(decoy_counts=(412, 1000))),
        ("or_poll + warner", mechanisms.or_poll(decoy_share="0.412", epsilon="1.5")),
        ("triangular", mechanisms.triangular(decoy_share="1/3")),
        ("crosswise", mechanisms.crosswise(decoy_share="0.25")),
        ("crosswise + warner", mechanisms.crosswise(decoy_counts=(1, 3), epsilon="2")),
        ("unrelated", mechanisms.unrelated(truth="0.7", decoy_share="1/3")),
        ("unrelated + warner", mechanisms.unrelated(truth="2/3", decoy_counts=(1, 7), epsilon="1")),
    ]
    for name, mechanism in decoys:
        yield f"{name}, device", mechanism.device
        yield f"{name}, analysis", mechanism.analysis
    yield "mangat", mechanisms.mangat(truth="0.6").device
    for draws in (1, 2, 5, 20):
        yield f"kuk {draws} draws", mechanisms.kuk(red_if_yes="0.8", red_if_no="1/5", draws=draws).device
    yield "matrix 3 x 3", mechanisms.matrix([[0.7, 0.2, 0.1], ["1/3", "1/3", "1/3"], [0, 0.5, 0.5]]).device
    yield "matrix 2 x 4", mechanisms.matrix(weights=[[5, 1, 0, 2], [1, 2, 0, 5]]).device
    scale = [[0.5 ** abs(x - z) for z in range(11)] for x in range(11)]
    yield "matrix 11 x 11", mechanisms.matrix(weights=scale).device
    for options, outcomes, epsilon in (
        (2, 2, "1"),
        (5, 7, "0.5"),
        (11, 40, "1"),
        (20, 64, "2"),
        (64, 64, "4"),
    ):
        form = surveys.two_valued(options, outcomes, epsilon)
        yield f"columns {options} x {outcomes}", Channel.from_json(form)
    yield "krr with the least weight", Channel.krr(2, 1)
    yield "krr with the largest weight", Channel.krr(2, SCALE - 1)


def pseudo_draws(label: str, count: int) -> list[int]:
    """Fixed draws for a label, spread over 0..2^53-1."""
    return [pseudo_draw(label, number) for number in range(count)]


def pseudo_draw(label: str, number: int) -> int:
    """Return one of them."""
    return int.from_bytes(hashlib.sha256(f"{label} {number}".encode()).digest()[:7], "big") >> 3


def edges(channel: Channel, answer: int) -> list[int]:
    """Where the report changes, in the order in which the draws are dealt out."""
    if channel.form != "krr":
        return list(accumulate(channel.row(answer)))
    return [channel.truth_weight + step * channel.weight for step in range(channel.options)]


def draw_vector(name: str, channel: Channel) -> dict[str, Any]:
    """All boundaries of one channel from both sides, and some draws between."""
    few = channel.options <= FEW + 1
    answers = range(channel.options) if few else (0, 1, channel.options // 2, channel.options - 1)
    draws = []
    for answer in answers:
        borders = edges(channel, answer)
        if not few and answer != 0:
            borders = [*borders[:3], borders[len(borders) // 2], *borders[-3:]]
        near = {border + side for border in borders for side in (-1, 0, 1)} | {0, 1, SCALE - 1}
        listed = sorted(r for r in near if 0 <= r < SCALE) + pseudo_draws(f"{name} {answer}", 12)
        draws.append(
            {"answer": answer, "draws": listed, "reports": [channel.report(answer, r) for r in listed]}
        )
    ratio = channel.ratio
    return {
        "name": name,
        "channel": channel.to_json(),
        "ratio": None if ratio is None else [str(ratio.numerator), str(ratio.denominator)],
        "epsilon": None if ratio is None else channel.epsilon,
        "answers": draws,
    }


def many_draws() -> Iterator[dict[str, Any]]:
    """Forms that draw more than once: answers, the draws they used and the report, with rejected draws among them."""
    for options, epsilon, size in (
        (3, "1", 2),
        (10, "1", 3),
        (64, "0.5", 20),
        (1000, "1", 269),
        (1000, "4", 18),
    ):
        channel = mechanisms.subset(options, epsilon, size).device
        answers: list[Any] = sorted({0, 1, options // 2, options - 1})
        yield many(f"subset {size} of {options}", channel, answers, 100 if options <= 64 else 6)
    for sizes, ask, epsilon in (
        ([2] * 8, 2, "2"),
        ([2] * 3, 3, "1"),
        ([2, 3, 5, 2, 11], 2, "1"),
        ([7, 2, 2], 1, "4"),
        ([2] * 60, 6, "3"),
    ):
        channel = mechanisms.sampled(sizes, epsilon, ask).device
        answers = [[index * step % size for index, size in enumerate(sizes)] for step in range(5)]
        yield many(f"sampled {ask} of {len(sizes)}", channel, answers, 400)
    for options, at_most, epsilon in ((8, 3, "1"), (2, 2, "0.5"), (100, 5, "2"), (4, 1, "3")):
        channel = mechanisms.padded(options, epsilon, at_most).device
        answers = [sorted({item * 7 % options for item in range(ticked)}) for ticked in range(at_most + 1)]
        yield many(f"padded {at_most} of {options}", channel, answers, 400)
    for options, epsilon, size in ((5, "0.5", 2), (11, "1", 3), (20, "2", 3), (100, "2", 12)):
        channel = mechanisms.subset(options, epsilon, size).device
        yield many(f"subset {size} of {options}", channel, [0, 1, options // 2, options - 1], 100)


def many(name: str, channel: Channel, answers: list[Any], times: int) -> dict[str, Any]:
    """Some reports of one channel, each with exactly the draws that it takes."""
    cases = []
    for answer in answers:
        for number in range(times):
            used = list(draws_and_report(f"{name} {answer} {number}", number, channel, answer))
            cases.append({"answer": answer, "draws": used[:-1], "report": used[-1]})
    ratio = channel.ratio
    assert ratio is not None
    return {
        "name": name,
        "channel": channel.to_json(),
        "ratio": [str(ratio.numerator), str(ratio.denominator)],
        "epsilon": channel.epsilon,
        "cases": cases,
    }


def draws_and_report(label: str, number: int, channel: Channel, answer: Any) -> Iterator[Any]:
    """Return the draws that a report takes, then the report; every fifth case starts with an edge of the range."""
    first = {0: 0, 5: SCALE - 1, 10: SCALE - 2}.get(number % 25)
    used: list[int] = []

    def draws() -> int:
        edge = first if not used else None
        used.append(edge if edge is not None else pseudo_draw(label, len(used)))
        return used[-1]

    report = channel.pick(answer, draws)
    yield from (*used, report)


def survey_vector(name: str, draft: dict[str, Any]) -> dict[str, Any]:
    """A draft, its published bytes and hash, and the channel that its analysis inverts."""
    survey = Survey.from_draft(draft)
    total = survey.epsilon_total
    return {
        "name": name,
        "draft": draft,
        "published": survey.canonical.decode(),
        "hash": survey.hash,
        "epsilon_total": None if total == float("inf") else total,
        "analysis": [entry.mechanism.analysis.to_json() for entry in survey.entries],
        "combine": [question.mechanism.combine for question in survey.questions],
    }


def report_vectors() -> list[dict[str, Any]]:
    """Whole reports: answers and coins in, bytes out."""
    vectors = []
    for name, draft in surveys.drafts():
        survey = Survey.from_draft(draft)
        # Decoys have four pairs of answers; sixteen reports show each of them nearly surely, and these do.
        for number in range(16 if any(q.mechanism.has_decoy for q in survey.questions) else 2):
            label = f"report {name} {number}"
            bits = hashlib.sha256(label.encode()).digest()
            answers: list[Any] = []
            device: list[Any] = []
            for index, question in enumerate(survey.questions):
                mechanism = question.mechanism
                answer = an_answer(question, bits[index % 32], index)
                if not mechanism.has_decoy:
                    answers.append(answer)
                    device.append(answer)
                else:
                    decoy = bits[-1 - index % 32] % 2
                    answers.append({"answer": answer, "decoy": decoy})
                    device.append(mechanism.device_answer(answer, decoy))
            identifier, draws = bits[16:].hex(), []
            invitation = "K7Q-é" if number % 2 else None
            ranks = [bits[-1] % block.channel.ranks for block in survey.blocks] if number % 2 else None
            if ranks:
                ids_asked = {question.id for question in asked_questions(survey, ranks)}
                pairs = zip(survey.questions, device, strict=True)
                device = [answer if question.id in ids_asked else None for question, answer in pairs]
                answers = device
            group = bits[0] % len(survey.groups) if survey.groups else None
            report = Report.new(survey, device, coins(identifier, label, draws), ranks or None, group)
            vectors.append(
                ({"ranks": ranks} if ranks else {})
                | ({} if group is None else {"group": group})
                | {
                    "survey": survey.hash,
                    "answers": answers,
                    "device_answers": device,
                    "id": identifier,
                    "draws": draws,
                    "invitation": invitation,
                    "bytes": report.to_bytes(invitation).decode(),
                    "spaces": len(report.to_body(survey, invitation)) - len(report.to_bytes(invitation)),
                }
            )
    return vectors


def an_answer(question: Question, byte: int, index: int) -> Any:
    """A true answer of any kind: an option, a number of steps, or the ticked options."""
    answers = question.answers
    if question.kind.several:
        most = answers.about()["at_most"] or len(question.options)
        return [option for option in range(len(question.options)) if byte >> option % 8 & 1][:most]
    if answers.steps is not None:
        return byte * (index + 1) * 7919 % (answers.steps + 1)
    return byte % len(question.labels)


def coins(identifier: str, label: str, draws: list[int]) -> Any:
    """A source that gives the id's bytes, then seven bytes for each draw, and lists the draws that were used."""

    def source(count: int) -> bytes:
        if count == 16:
            return bytes.fromhex(identifier)
        draws.append(pseudo_draw(label, len(draws)))
        return (draws[-1] << 3).to_bytes(7, "big")

    return source


def hostile_vectors() -> list[dict[str, Any]]:
    """Documents that every client refuses, named by their fault, with the place that the refusal names."""
    vectors = []
    for fault, parts, more in hostile.documents():
        data = hostile.assemble(parts)
        expected = more.get("expected_hash", hashlib.sha256(data).hexdigest())
        try:
            Survey.from_published(data, expected, more.get("cap", "20"))
        except SurveyError as error:
            path = list(error.path)
        else:
            raise AssertionError(f"{fault}: accepted")
        vectors.append(
            {"fault": fault, "parts": parts, "hash": expected, "cap": more.get("cap", "20"), "path": path}
        )
    return vectors


def control_vectors() -> list[dict[str, Any]]:
    """Documents close to the hostile ones that every client accepts."""
    vectors = []
    for name, parts, more in hostile.controls():
        data = hostile.assemble(parts)
        digest, cap = hashlib.sha256(data).hexdigest(), more.get("cap", "20")
        Survey.from_published(data, digest, cap)
        vectors.append({"name": name, "parts": parts, "hash": digest, "cap": cap})
    return vectors


def number_vectors() -> list[dict[str, str]]:
    """The integer floor(2^64 e^epsilon) for epsilons over the whole range."""
    texts = [
        *EPSILONS,
        "0",
        "0.000001",
        "0.7",
        "2.718281828",
        "5.25",
        "13.999999",
        "17",
        "19.999999999999",
        "30",
        "50",
    ]
    return [{"epsilon": text, "exp_below": str(int(exp_below(Fraction(text)) * 2**64))} for text in texts]


def fact_vectors() -> list[dict[str, Any]]:
    """What the reports of every question give away for certain."""
    vectors = []
    for _name, draft in surveys.drafts():
        survey = Survey.from_draft(draft)
        for question in survey.questions:
            mechanism = question.mechanism
            facts = [
                {"report": fact.report, "leaves": list(fact.leaves), "decoy": fact.decoy}
                for fact in mechanism.facts
            ]
            vectors.append(
                {
                    "survey": survey.hash,
                    "question": question.id,
                    "reports_are_answers": mechanism.reports_are_answers,
                    "known_decoy_tells": mechanism.known_decoy_tells,
                    "facts": facts,
                }
            )
    return vectors


def assurance_vectors() -> list[dict[str, Any]]:
    """What may be promised of every survey, and of yes/no questions by their epsilons and their total."""
    drafts = dict(surveys.drafts()) | {
        f"epsilon {' '.join(epsilons)}": surveys.yes_no_at(*epsilons) for epsilons in surveys.ASSURED
    }
    vectors = []
    for name, draft in drafts.items():
        survey = Survey.from_draft(draft)
        promise = assurance(survey)
        vectors.append(
            {
                "name": name,
                "document": survey.canonical.decode(),
                "tier": promise.tier,
                "one_sided": promise.one_sided,
                "weakest": list(promise.weakest),
                "factor": [str(promise.factor.numerator), str(promise.factor.denominator)],
                "kept": promise.kept,
                "tiers": [tier_of(question.channel.ratio) for question in survey.questions],
            }
        )
    return vectors


def registry() -> list[dict[str, Any]]:
    """What every client knows: forms, the mechanisms that surveys use, kinds, limits; in the order they are offered."""
    forms = [{"form": name, "keys": sorted(form.keys)} for name, form in Channel.forms.items()]
    used = [
        {
            "mechanism": entry.name,
            "parameters": sorted(parameter.name for parameter in entry.declared_parameters),
            "two_answers": entry.two_answers,
            "decoy": entry.has_decoy,
            "combine": entry.combine,
            "reports_answers": entry.reports_answers,
            "takes_combined": entry.takes_combined,
            "recompiled": entry.recompiled,
            "fits": entry.fits,
        }
        for entry in mechanisms.MECHANISMS.values()
        if entry.in_surveys
    ]
    kinds = [
        {
            "kind": kind.name,
            "keys": list(kind.keys),
            "optional_keys": list(kind.optional_keys),
            "in_mechanism": list(kind.in_mechanism),
            "targets": list(kind.targets),
            "may_be_skipped": kind.may_be_skipped,
            "several": kind.several,
            "widget": kind.widget,
            "yes_or_no": kind.yes_or_no,
            "fixed_words": kind.fixed_words,
            "mechanisms": [entry.name for entry in kind.mechanisms],
        }
        for kind in KINDS.values()
    ]
    names = [name for name in limits.__all__ if name != "LENGTHS"]
    numbers = {name.lower(): getattr(limits, name) for name in sorted(names)}
    return [*forms, *used, *kinds, {"limits": numbers | {"lengths": limits.LENGTHS}}]


def build() -> dict[str, str]:
    """Return the text of every file."""
    files: dict[str, list[Any]] = {
        "registry.json": registry(),
        "facts.json": fact_vectors(),
        "assurance.json": assurance_vectors(),
        "draws.json": [draw_vector(name, channel) for name, channel in channels()],
        "many_draws.json": list(many_draws()),
        "surveys.json": [survey_vector(name, draft) for name, draft in surveys.drafts()],
        "reports.json": report_vectors(),
        "numbers.json": number_vectors(),
        "bad_channels.json": bad_channels.bad_channels(),
        "hostile.json": hostile_vectors(),
        "controls.json": control_vectors(),
    }
    return {name: lines(values) for name, values in files.items()}


def lines(values: list[Any]) -> str:
    """One vector per line, ASCII only: a change shows as one line, and no editor alters a character."""
    return "[\n" + ",\n".join(json.dumps(value, separators=(",", ":")) for value in values) + "\n]\n"


def main(arguments: list[str]) -> int:
    """Write the files, or compare them."""
    stale = []
    for name, text in build().items():
        file = FOLDER / name
        if "--check" not in arguments:
            file.write_text(text, encoding="ascii")
        elif not file.is_file() or file.read_text(encoding="ascii") != text:
            stale.append(name)
    if stale:
        print(f"stale vectors: {', '.join(stale)}; run python tests/vectors/write.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
