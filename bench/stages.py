"""Where the time of a stored report goes: microseconds of each stage, outside of the web server.

    .venv/bin/python bench/stages.py [--reports 20000] [--together 16]

Stages as `intake.py` and `writer.py` do them: read and check the body, hash the id, lock the record, and one statement
that stores so many together and waits for the disk. Printed beside them: parsing the same body with `json`, which is
all that the bare route of bench/submit.py does.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hushpoll_client import Report
from hushpoll_server.collect.accept import Incoming, store_new
from hushpoll_server.config import Config
from hushpoll_server.store.surveys import open_store

from tests.serving import make_survey


def timed(action: Callable[[Any], Any], items: list[Any]) -> tuple[float, float, list[Any]]:
    """Give the microseconds of the clock and of the processor for each item, and the results."""
    start, used = time.perf_counter(), time.process_time()
    found = [action(item) for item in items]
    return (
        1e6 * (time.perf_counter() - start) / len(items),
        1e6 * (time.process_time() - used) / len(items),
        found,
    )


def main() -> None:
    """Time one stage after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reports", type=int, default=20_000)
    parser.add_argument("--together", type=int, default=16)
    given = parser.parse_args()
    survey = make_survey()
    blank = Report.new(survey, [0, 0, 0]).reports
    bodies = [Report(secrets.token_hex(16), blank).to_bytes() for _ in range(given.reports)]
    with tempfile.TemporaryDirectory(prefix="stages") as folder:
        store = open_store(Config(data=Path(folder) / "data"))
        store.publish(survey)
        known = store.published(survey.hash)
        assert known is not None
        lines = {"parse as JSON (bare)": timed(json.loads, bodies)}
        lines["read and check the body"] = read = timed(known.format.read_body, bodies)
        ids = [bytes.fromhex(name.decode()) for name, _ in read[2]]
        lines["hash the id"] = digests = timed(lambda one: store.id_digest(survey.hash, one), ids)
        record = known.format.pack(blank)
        lines["lock the record"] = timed(
            lambda digest: store.waiting.lock(known.number, digest, record), digests[2]
        )
        incoming = [Incoming(known.number, digest, record, None) for digest in digests[2]]
        commits = [incoming[at : at + given.together] for at in range(0, len(incoming), given.together)]
        with store.database.autocommit() as connection:
            clock, used, _ = timed(lambda some: store_new(connection, store.waiting, some), commits)
        lines[f"store {given.together} together (locks included), each"] = (
            clock / given.together,
            used / given.together,
            [],
        )
        store.close()
    print(f"{'stage':<44} {'clock':>9} {'processor':>10}")
    for name, (clock, used, _) in lines.items():
        print(f"{name:<44} {clock:>6.1f} us {used:>7.1f} us")


if __name__ == "__main__":
    main()
