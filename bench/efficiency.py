"""Count the respondents that the same margin takes, against other packages at the same epsilon.

    python bench/efficiency.py [--epsilons .5,1,2,4] [--cases NAME,...] [--quick] [--out docs/data/efficiency.json]

Ours is what a survey gets whose question gives an epsilon and what will be reported. Theirs is the best of all
mechanisms that pure-ldp, multi-freq-ldpy and OpenDP have for the same (efficiency_peers.py, in bench/peers). Nothing
is a formula: reports are drawn, estimates made and their squared errors averaged. All estimates are unbiased, so that
n times the mean squared error is a number that does not depend on n, and the ratio of two such numbers is the ratio of
the respondents needed. Exit status 1 when we need more than a peer by 3 standard errors.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hushpoll_analysis import channel_view, cumulative, estimate, mean
from hushpoll_analysis.channel.view import sampler
from hushpoll_analysis.planning.draft_resolution import read_draft
from hushpoll_analysis.simulation.respondents import simulate_codes
from hushpoll_client import Survey
from peer_packages import PACKAGES, peers_python

HERE = Path(__file__).resolve().parent
Floats = npt.NDArray[np.float64]
EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEERS = ("pure-ldp", "multi-freq-ldpy", "OpenDP")
# Ours is fast: its own standard error should not be what decides.
OFTENER = 8
SIGMAS = 3.0
SEARCHED, LOOKED = 26, 200_000


@dataclass(frozen=True)
class Case:
    """A question, what is reported of it, and how it is measured.

    `worst`: all people have the number at which the error is largest. Otherwise all answers are equally frequent, or
    each box is ticked by the share.
    """

    name: str
    label: str
    target: str
    options: int
    n: int
    repetitions: int
    worst: bool = False
    share: float = 0.2
    seconds: float = 60.0


CASES = (
    Case("scale-5", "5 points, cumulative shares", "cumulative", 5, 20, 20_000),
    Case("scale-11", "11 points, cumulative shares", "cumulative", 11, 20, 20_000),
    Case("bins-20", "20 bins, cumulative shares", "cumulative", 20, 20, 2000),
    Case("choice-1000", "1,000 options, all shares", "shares", 1000, 100, 40),
    Case("mean-11", "11 points, mean", "mean", 11, 10, 20_000),
    Case("number", "A number from 0 to 100, mean, at the worst truth", "mean", 101, 10, 3000, worst=True),
    Case("ticks-8", "8 tick boxes, each share", "ticks", 8, 400, 1200),
)


# Ours -----------------------------------------------------------------------------------------------------------


def survey_for(case: Case, epsilon: float) -> Survey:
    """Write the question as a designer would, and let the recommendation decide how it is randomized."""
    mechanism: dict[str, Any] = {"epsilon": epsilon}
    listed = [str(option) for option in range(case.options)]
    question: dict[str, Any] = {
        "shares": {"kind": "choice", "options": listed},
        "ticks": {"kind": "multiple", "options": listed},
        "mean": {"kind": "scale", "points": case.options, "labels": ["low", "high"]},
        "cumulative": {"kind": "scale", "points": case.options, "labels": ["low", "high"]},
    }[case.target]
    if case.target in ("mean", "cumulative"):
        mechanism["target"] = case.target
    if case.target in ("mean", "cumulative") and case.options > 11:
        question = {"kind": "number", "min": 0, "max": case.options - 1, "step": 1}
        mechanism["target"] = "mean" if case.target == "mean" else "distribution"
        if case.target == "cumulative":
            mechanism["bins"] = case.options
    asked = {"id": "q", "text": "How much?", **question, "mechanism": mechanism}
    return read_draft({"hushpoll": 1, "title": "Efficiency", "questions": [asked]})


class Ours:
    """One question, drawn, counted and estimated many times by the package."""

    def __init__(self, case: Case, epsilon: float) -> None:
        self.case, self.survey = case, survey_for(case, epsilon)
        (self.question,) = self.survey.questions
        self.mechanism = self.question.mechanism
        self.sampler = sampler(self.question.channel)

    @property
    def name(self) -> str:
        """The mechanism, with how many boxes are drawn or how large the sets are."""
        more = self.mechanism.parameters
        told = {"ask": "{} drawn", "size": "sets of {}"}
        return ", ".join([self.mechanism.name, *(told[key].format(more[key]) for key in told if key in more)])

    def truth(self, at: int | None) -> Any:
        if at is not None:
            return {"values": [at], "shares": [1.0]}
        if self.case.target == "ticks":
            return [self.case.share] * self.case.options
        shares = [1.0 / self.case.options] * self.case.options
        if self.question.answers.steps is not None:
            return {"values": list(range(self.case.options)), "shares": shares}
        return shares

    def counts(self, repetitions: int, n: int, at: int | None) -> npt.NDArray[np.int64]:
        """Draw n reports again and again, and count each time."""
        ((_, codes),) = simulate_codes(self.survey, repetitions * n, {"q": self.truth(at)})
        groups = codes.reshape(repetitions, n, *codes.shape[1:])
        return np.stack([self.sampler.tally(group) for group in groups])

    @property
    def values(self) -> Floats:
        """The numbers of the rows, spread over [-1, 1]."""
        return np.linspace(-1.0, 1.0, len(self.question.options))

    def wanted(self, at: int | None) -> Floats:
        """Give what the estimates should be."""
        if self.case.target == "mean":
            return np.array([0.0 if at is None else 2.0 * at / (self.case.options - 1) - 1.0])
        if self.case.target == "ticks":
            return np.full(self.case.options, self.case.share)
        shares = np.full(self.case.options, 1.0 / self.case.options)
        return np.cumsum(shares)[:-1] if self.case.target == "cumulative" else shares

    def estimates(self, counts: npt.NDArray[np.int64]) -> Floats:
        """Estimate all repetitions at once, by the weights that the estimators use."""
        if self.sampler.parts:
            found = []
            for part in self.sampler.parts:
                seen = part.counts(counts)
                found.append(channel_view(part.channel).shares(seen / seen.sum(axis=1, keepdims=True))[:, 1])
            return np.stack(found, axis=1)
        view, frequencies = channel_view(self.mechanism), counts / counts.sum(axis=1, keepdims=True)
        rows = np.tril(np.ones((view.options, view.options)))[:-1]
        targets = [self.values] if self.case.target == "mean" else rows
        return np.stack([frequencies @ view.solution(target) for target in targets], axis=1)

    def check(self) -> None:
        """See on one sample that the public functions give the same estimates."""
        (counts,) = self.counts(1, 4 * self.case.n, None)
        if self.sampler.parts:
            public = estimate(counts, self.mechanism).shares
        elif self.case.target == "mean":
            public = np.array([mean(counts, self.mechanism, self.values).estimate])
        else:
            public = np.array([one.estimate for one in cumulative(counts, self.mechanism).estimates[:-1]])
        np.testing.assert_allclose(self.estimates(counts[None, :])[0], public, rtol=0, atol=1e-9)

    def worst_value(self) -> int:
        """Find the number at which the error is largest, when all people have it."""
        tried = np.linspace(0, (self.case.options - 1) // 2, SEARCHED).astype(int).tolist()
        errors = []
        for at in tried:
            found = self.estimates(self.counts(LOOKED // 20, 20, at))
            errors.append(float(np.mean((found - self.wanted(at)) ** 2)))
        return int(tried[int(np.argmax(errors))])

    def measure(self) -> dict[str, Any]:
        """Give n times the mean squared error, summed over what is estimated."""
        self.check()
        at = self.worst_value() if self.case.worst else None
        repetitions = OFTENER * self.case.repetitions
        found = self.estimates(self.counts(repetitions, self.case.n, at))
        errors = self.case.n * np.sum((found - self.wanted(at)) ** 2, axis=1)
        return {
            "mechanism": self.name,
            "n_mse": float(errors.mean()),
            "se": float(errors.std(ddof=1) / math.sqrt(repetitions)),
            "repetitions": repetitions,
        }


# Theirs ---------------------------------------------------------------------------------------------------------


def peer_figures(cases: list[Case], epsilons: list[float]) -> dict[tuple[str, str, float], dict[str, Any]]:
    """Run the three packages beside each other in their own environment, and say how far they are.

    What is measured is kept in bench/peers until all of it is there: a run that was ended goes on from there.
    """
    python, start = peers_python(), time.monotonic()

    def run(peer: str) -> list[dict[str, Any]]:
        kept = python.parents[1] / f"efficiency-{peer}.jsonl"
        known = [json.loads(line) for line in kept.read_text("utf-8").splitlines()] if kept.exists() else []
        asked = [{"case": asdict(case), "epsilon": epsilon} for case in cases for epsilon in epsilons]
        found = [one for one in known if one["asked"] in asked]
        missing = [one for one in asked if one not in [other["asked"] for other in found]]
        with kept.open("a", encoding="utf-8") as file:
            for line in _lines([str(python), str(HERE / "efficiency_peers.py"), peer], json.dumps(missing)):
                file.write(line)
                file.flush()
                found.append(one := json.loads(line))
                told = (
                    f"{one['asked']['case']['name']}, epsilon {one['asked']['epsilon']:g}: {one['mechanism']}"
                )
                print(f"{time.monotonic() - start:6.0f} s  {peer:16} {told}", file=sys.stderr, flush=True)
        return found

    with ThreadPoolExecutor(len(PEERS)) as pool:
        several = dict(zip(PEERS, pool.map(run, PEERS), strict=True))
    for peer in PEERS:
        (python.parents[1] / f"efficiency-{peer}.jsonl").unlink()
    return {
        (peer, one["asked"]["case"]["name"], one["asked"]["epsilon"]): one
        for peer, found in several.items()
        for one in found
    }


def _lines(command: list[str], given: str) -> Iterator[str]:
    """Give what a program writes, line by line."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(given)
    process.stdin.close()
    yield from process.stdout
    if process.wait():
        raise SystemExit(f"{command[-1]} ended with status {process.returncode}; run this again to go on")


# The table ------------------------------------------------------------------------------------------------------


def ratio(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[float, float]:
    """Give the respondents that we need for one of theirs, and the standard error of that."""
    value = ours["n_mse"] / theirs["n_mse"]
    relative = math.hypot(ours["se"] / ours["n_mse"], theirs["se"] / theirs["n_mse"])
    return value, value * relative


def measured_row(case: Case, epsilon: float, ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Put one case at one epsilon into the data file's form."""
    peers = []
    for peer in PEERS:
        one = theirs[peer, case.name, epsilon]
        value, error = ratio(ours, one)
        kept = {key: one[key] for key in ("mechanism", "n_mse", "se", "repetitions")}
        peers.append({"peer": peer, **_rounded(kept), "ratio": round(value, 4), "ratio_se": round(error, 4)})
    return {
        "case": case.name,
        "question": case.label,
        "epsilon": epsilon,
        "n": case.n,
        "ours": _rounded(ours),
        "peers": peers,
    }


def _rounded(one: dict[str, Any]) -> dict[str, Any]:
    return {key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in one.items()}


def show(row: dict[str, Any]) -> list[str]:
    """Print one line for each peer, and give what does not hold."""
    failed = []
    for one in row["peers"]:
        off, chance = one["ratio"] - 1.0, SIGMAS * one["ratio_se"]
        verdict = "more" if off > chance else "fewer" if off < -chance else "as many"
        print(
            f"{row['question']:50} {row['epsilon']:4g}  {row['ours']['n_mse']:9.4g} ±{row['ours']['se']:<8.2g} "
            f"{row['ours']['mechanism']:22} {one['peer']:16} {one['n_mse']:9.4g} ±{one['se']:<8.2g} "
            f"{one['ratio']:6.3f} ±{one['ratio_se']:.3f} {verdict:8} {one['mechanism']}"
        )
        if verdict == "more":
            failed.append(
                f"{row['question']}, epsilon {row['epsilon']:g}: {one['ratio']:.3f} of {one['peer']}"
            )
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilons", default=",".join(map(str, EPSILONS)), help="separated by commas")
    parser.add_argument("--cases", default=",".join(case.name for case in CASES), help="separated by commas")
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    parser.add_argument(
        "--out", type=Path, help="write the figures to this file, for docs/tools/efficiency.py"
    )
    given = parser.parse_args()
    epsilons = [float(one) for one in given.epsilons.split(",")]
    cases = [case for case in CASES if case.name in given.cases.split(",")]
    if given.quick:
        cases = [replace(case, repetitions=max(case.repetitions // 10, 8)) for case in cases]
    theirs = peer_figures(cases, epsilons)
    rows, failed = [], []
    print(
        "n times the mean squared error, ours and theirs, and the respondents that we need for one of theirs"
    )
    for case in cases:
        for epsilon in epsilons:
            rows.append(measured_row(case, epsilon, Ours(case, epsilon).measure(), theirs))
            failed += show(rows[-1])
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        packages = [one for one in PACKAGES if one.split("==")[0] in {peer.lower() for peer in PEERS}]
        text = json.dumps({"packages": packages, "rows": rows}, indent=1)
        given.out.write_text(text + "\n", "utf-8")
    for problem in failed:
        print(f"we need more respondents: {problem}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
