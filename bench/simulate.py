"""Time `simulate` against its peers and against plain numpy, in one run.

    python bench/simulate.py [--n 1000000]

Peers (pure-ldp 1.2.0, multi-freq-ldpy 0.2.5) live in their own environment, bench/peers, which is made at the first
run. Each is called as its own documentation does, once per answer, on fewer answers; figures are nanoseconds of the
processor per answer, which a busy neighbour changes least, the best of five rounds. First K-ary response, then every
form; where no peer has the form, its mechanism for the same question stands beside it. Exit status 1 when a bound does
not hold: at least 10x faster than each peer, K-ary response at most 1.5x plain numpy fed by os.urandom.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from hushpoll_analysis import design, simulate
from hushpoll_client import mechanisms
from hushpoll_client.channel import SCALE
from peer_packages import peers_python

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
            start = time.process_time()
            run()
            best = min(best, time.process_time() - start)
        found.setdefault(name, []).append(best / n * 1e9)
print(json.dumps(found))
"""


FORMS_SCRIPT = """
import json, sys, time
import numpy as np
from multi_freq_ldpy.mdim_freq_est.SMP_solution import SMP_GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
n, rounds, epsilon = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
rng = np.random.default_rng(1)
sizes = [2] * 8
calls = {
    "GRR": lambda x, k: GRR_Client(x, k, epsilon),
    "subset selection": lambda x, k: SS_Client(x, k, epsilon),
    "SMP[GRR]": lambda row, k: SMP_GRR_Client(row, sizes, k, epsilon),
}
found = {}
for asked in sys.argv[4:]:
    name, options = asked.rsplit(":", 1)
    options, call = int(options), calls[name]
    if name == "SMP[GRR]":
        answers = rng.integers(0, 2, (n, options)).tolist()
    else:
        answers = rng.integers(0, options, n).tolist()
    call(answers[0], options)
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        reports = [call(x, options) for x in answers]
        best = min(best, time.process_time() - start)
    found[asked] = best / n * 1e9
print(json.dumps(found))
"""


def best(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Give the shortest of several times, in seconds of the processor."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def plain_numpy(answers: np.ndarray, options: int, weight: int) -> np.ndarray:
    """The same rule as somebody would write it with numpy and os.urandom."""
    draws = np.frombuffer(os.urandom(8 * len(answers)), dtype=np.uint64) >> np.uint64(11)
    truth = SCALE - (options - 1) * weight
    offset = np.where(draws < truth, 0, 1 + (draws - np.uint64(truth)) // np.uint64(weight))
    return (answers + offset.astype(np.int64)) % options


def in_peers(script: str, *arguments: object) -> Any:
    """Run a script in the peers' environment."""
    command = [str(peers_python()), "-c", script, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def forms() -> list[tuple[str, Any, np.ndarray, str]]:
    """Give every other form with answers, and the peer's mechanism of the same kind or for the same question."""
    rng = np.random.default_rng(1)
    ticks = rng.integers(0, 2, (200_000, 8))
    few = ticks * (np.cumsum(ticks, axis=1) <= 3)
    listed = [
        (
            "columns, 11 points",
            design(options=11, epsilon=EPSILON, target="cumulative").mechanism,
            11,
            "GRR:11",
        ),
        (
            "columns, 20 bins",
            design(options=20, epsilon=EPSILON, target="cumulative").mechanism,
            20,
            "GRR:20",
        ),
        *(
            (f"subset, {size} options", mechanisms.subset(size, EPSILON), size, f"subset selection:{size}")
            for size in (10, 24, 64, 100, 1000)
        ),
    ]
    found = [
        (label, made, rng.integers(0, size, 200_000 if size <= 100 else 30_000), peer)
        for label, made, size, peer in listed
    ]
    return [
        *found,
        ("sampled, 1 of 8 boxes", mechanisms.sampled([2] * 8, EPSILON, 1), ticks, "SMP[GRR]:8"),
        ("sampled, 2 of 8 boxes", mechanisms.sampled([2] * 8, EPSILON, 2), ticks, "SMP[GRR]:8"),
        ("padded, 3 of 8 boxes", mechanisms.padded(8, EPSILON, 3), few, "SMP[GRR]:8"),
    ]


def show_forms(peer_n: int) -> list[str]:
    """Print the table of forms, and give what does not hold."""
    failed, listed = [], forms()
    peers = in_peers(FORMS_SCRIPT, peer_n, ROUNDS, EPSILON, *sorted({peer for *_, peer in listed}))
    print(f"\n{'form':24} {'hushpoll':>9} {'multi-freq-ldpy':>16} {'times':>7}  its mechanism")
    for label, made, answers, peer in listed:
        ours = best(lambda m=made, a=answers: simulate(m, a)) / len(answers) * 1e9
        times = peers[peer] / ours
        print(f"{label:24} {ours:>9.1f} {peers[peer]:>16.1f} {times:>6.0f}x  {peer.rsplit(':', 1)[0]}")
        if times < 10:
            failed.append(f"{label}: only {times:.1f}x faster than multi-freq-ldpy, less than 10x")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--n", type=int, default=1_000_000, help="answers for hushpoll and numpy (default 1,000,000)"
    )
    parser.add_argument("--peer-n", type=int, default=50_000, help="answers for the peers (default 50,000)")
    options = parser.parse_args()
    peers: dict[str, list[float]] = in_peers(PEER_SCRIPT, options.peer_n, 3, EPSILON, *OPTIONS)
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
    failed += show_forms(options.peer_n // 5)
    for problem in failed:
        print(problem, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
