"""Time `simulate` against its peers and against plain numpy, in one run.

    python bench/simulate.py [--n 1000000]

Peers (pure-ldp 1.2.0, multi-freq-ldpy 0.2.5) pin what they need badly, so they live in their own environment,
bench/peers, which is made at the first run. Each is called as its own documentation does, once per answer, on fewer
answers; figures are nanoseconds per answer, the best of five rounds. Exit status 1 when a bound does not hold:
at least 10x faster than each peer, at most 1.5x plain numpy fed by os.urandom.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hushpoll_analysis import simulate
from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE

HERE = Path(__file__).resolve().parent
PEERS = HERE / "peers"
PACKAGES = [
    "pure-ldp==1.2.0",
    "multi-freq-ldpy==0.2.5",
    "scikit-learn",
    "statsmodels",
    "xxhash<4",
    "setuptools",
]
OPTIONS = (2, 10, 100)
EPSILON = 1.0
ROUNDS = 5

PEER_SCRIPT = """
import json, sys, time
import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from pure_ldp.frequency_oracles.direct_encoding import DEClient
n, rounds, epsilon = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
found = {}
for options in map(int, sys.argv[4:]):
    answers = np.random.default_rng(options).integers(0, options, n).tolist()
    client = DEClient(epsilon, options, index_mapper=lambda x: x)
    GRR_Client(answers[0], options, epsilon)
    runs = {
        "pure-ldp": lambda: [client.privatise(x) for x in answers],
        "multi-freq-ldpy": lambda: [GRR_Client(x, options, epsilon) for x in answers],
    }
    for name, run in runs.items():
        best = float("inf")
        for _ in range(rounds):
            start = time.perf_counter()
            run()
            best = min(best, time.perf_counter() - start)
        found.setdefault(name, []).append(best / n * 1e9)
print(json.dumps(found))
"""


def best(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Give the shortest of several times, in seconds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def plain_numpy(answers: np.ndarray, options: int, weight: int) -> np.ndarray:
    """The same rule as somebody would write it with numpy and os.urandom."""
    draws = np.frombuffer(os.urandom(8 * len(answers)), dtype=np.uint64) >> np.uint64(11)
    truth = SCALE - (options - 1) * weight
    offset = np.where(draws < truth, 0, 1 + (draws - np.uint64(truth)) // np.uint64(weight))
    return (answers + offset.astype(np.int64)) % options


def peer_times(n: int) -> dict[str, list[float]]:
    """Run the peers in their own environment, which is made when it is not there."""
    python = PEERS / "bin" / "python"
    if not python.exists():
        print("making bench/peers (once) ...", file=sys.stderr)
        venv.create(PEERS, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    arguments = [str(n), "3", str(EPSILON), *map(str, OPTIONS)]
    done = subprocess.run([python, "-c", PEER_SCRIPT, *arguments], check=True, capture_output=True, text=True)
    result: dict[str, list[float]] = json.loads(done.stdout)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--n", type=int, default=1_000_000, help="answers for hushpoll and numpy (default 1,000,000)"
    )
    parser.add_argument("--peer-n", type=int, default=50_000, help="answers for the peers (default 50,000)")
    options = parser.parse_args()
    peers = peer_times(options.peer_n)
    failed = []
    print(f"ns per answer, epsilon {EPSILON:g}, n = {options.n:,} (peers {options.peer_n:,})")
    print(
        f"{'K':>4} {'hushpoll':>9} {'numpy':>9} {'of numpy':>9}"
        + "".join(f" {name:>16} {'times':>7}" for name in peers)
    )
    for place, size in enumerate(OPTIONS):
        answers = np.random.default_rng(size).integers(0, size, options.n)
        mechanism = mechanisms.krr(options=size, epsilon=EPSILON)
        weight = mechanism.device.weight
        assert weight is not None
        # Alternating rounds: a busy neighbour then slows both alike.
        ours = plain = math.inf
        for _ in range(ROUNDS):
            ours = min(ours, best(lambda a=answers, m=mechanism: simulate(m, a), 1))
            plain = min(plain, best(lambda a=answers, k=size, w=weight: plain_numpy(a, k, w), 1))
        ours, plain = ours / options.n * 1e9, plain / options.n * 1e9
        line = f"{size:>4} {ours:>9.1f} {plain:>9.1f} {ours / plain:>8.2f}x"
        if ours > 1.5 * plain:
            failed.append(f"K={size}: {ours / plain:.2f}x plain numpy, more than 1.5x")
        for name, times in peers.items():
            line += f" {times[place]:>16.1f} {times[place] / ours:>6.0f}x"
            if times[place] < 10 * ours:
                failed.append(f"K={size}: only {times[place] / ours:.1f}x faster than {name}, less than 10x")
        print(line)
    for problem in failed:
        print(problem, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
