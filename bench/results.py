"""Time a results page of a survey with many reports, whose counts were kept while sealing.

    python bench/results.py [--respondents 10000000] [--rounds 15]

A database gets the counts that sealing leaves of ten questions and so many reports; one question by another is asked
for too. Then each page is asked for again and again, beside one of a survey with 1,000 reports. Printed: the median
and the slowest in milliseconds, and what a report costs while it is sealed because counts are kept. Exit status 1
where a median is above 150 ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from flask.testing import FlaskClient
from hushpoll_client import Survey
from hushpoll_server import create_app
from hushpoll_server.config import Config
from hushpoll_server.people import accounts
from hushpoll_server.people.sign_in import sign_in
from hushpoll_server.store.counts import ALONE, Place, Recount, keep_pairs, write_counts
from hushpoll_server.store.schema import surveys
from hushpoll_server.store.surveys import Store, open_store
from kept import keep
from report import ten_questions
from sqlalchemy import update

MOST_MILLISECONDS = 150.0
BY = "q1"
SMALL = 1_000


def fill(store: Store, survey: Survey, n: int) -> None:
    """Leave what sealing n reports leaves, but for the reports themselves."""
    store.publish(survey, "ada")
    state = store.state(survey.hash)
    assert state is not None
    generator = np.random.default_rng(1)
    cells = {}
    for question in survey.questions:
        outcomes = question.channel.outcomes
        cells[Place(0, ALONE, question.id)] = generator.multinomial(n, np.full(outcomes, 1 / outcomes))
    (groups,) = (kept for place, kept in cells.items() if place.part == BY)
    for by, part in keep_pairs(survey, BY):
        width = len(cells[Place(0, ALONE, part)])
        rows = [generator.multinomial(count, np.full(width, 1 / width)) for count in groups]
        # The totals of both tables are of the same reports.
        cells[Place(0, by, part)], cells[Place(0, ALONE, part)] = np.concatenate(rows), np.sum(rows, axis=0)
    with store.write() as tx:
        write_counts(tx, state.number, {place: kept.tolist() for place, kept in cells.items()})
        tx.execute(update(surveys).where(surveys.c.number == state.number).values(sealed_n=n))


def visit(client: FlaskClient, address: str, rounds: int) -> list[float]:
    """Ask for a page again and again; give the milliseconds."""
    taken = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        answer = client.get(address)
        taken.append(1000 * (time.perf_counter() - start))
        assert answer.status_code == 200, (address, answer.status_code)
    return taken[1:]  # the first one imports the analysis


def counting_cost(survey: Survey, n: int = 200_000) -> float:
    """Give the microseconds that counting adds to a report while it is sealed."""
    outcomes = np.array([question.channel.outcomes for question in survey.questions])
    drawn = np.random.default_rng(2).integers(0, 2**16, (n, len(outcomes))) % outcomes
    records, made = drawn.astype(np.uint8).tobytes(), Recount(survey)
    start = time.process_time()
    made.add(records)
    return 1e6 * (time.process_time() - start) / n


def main() -> int:
    """Measure both surveys."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--respondents", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--out", type=Path, help="write the figures into this file of measurements")
    given = parser.parse_args()
    slow: list[str] = []
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        config = Config(data=Path(folder) / "data", testing=True)
        store = open_store(config)
        app = create_app(config)
        begun = sign_in(store, "ada", accounts.add_user(store, "ada", "designer"))
        client = app.test_client()
        with client.session_transaction() as session:
            session["token"] = begun.token
        large = ten_questions()
        small = ten_questions("Few")
        print(f"{'respondents':>12}  {'page':<22} {'median':>9} {'slowest':>9}")
        for survey, n in ((small, SMALL), (large, given.respondents)):
            fill(store, survey, n)
            pages = {
                "results page": f"/surveys/{survey.hash}/report",
                "results API": f"/api/surveys/{survey.hash}/results",
                "one question by another": f"/surveys/{survey.hash}/report/table?outcome=q2&by={BY}",
            }
            for name, address in pages.items():
                taken = visit(client, address, given.rounds)
                middle = statistics.median(taken)
                print(f"{n:>12,}  {name:<22} {middle:>6.0f} ms {max(taken):>6.0f} ms", flush=True)
                figures.setdefault("page_ms" if n == given.respondents else "", middle)
                if n == given.respondents and middle > MOST_MILLISECONDS:
                    slow.append(f"{name}: {middle:.0f} ms, more than {MOST_MILLISECONDS:.0f} ms")
        figures["counting_us"] = counting_cost(large)
        print(f"counting while sealing: {figures['counting_us']:.2f} us of the processor for ten questions")
        figures.pop("")
        keep(given.out, "results", figures)
        store.close()
    for problem in slow:
        print(problem, file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
