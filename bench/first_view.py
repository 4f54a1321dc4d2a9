"""How long a phone on a slow network waits until it can press Start.

    .venv/bin/python bench/first_view.py [--rounds 7] [--latency 400] [--kbps 500] [--requests]

A server as `hushpoll serve` runs it, Chromium with an empty cache and an emulated network, from opening the link until
the button can be pressed: a plain survey of three questions, and one with all that can stand around the questions.
Printed: the median and the range, requests and bytes. With --requests also when each request began and ended.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hushpoll_client import Survey
from hushpoll_client.delivery.link import survey_link
from hushpoll_server.workspace.drafts import documents
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import FLAGS, chromium_path
from tests.serving import LiveServer
from tests.vectors.surveys import about_draft

MOST_SECONDS = 1.92
PLAIN = [
    {"id": "cheated", "kind": "yes_no", "text": "Did you cheat at this exam?", "mechanism": {"epsilon": "1"}},
    {
        "id": "reason",
        "kind": "choice",
        "text": "What was the main reason?",
        "options": ["Time", "Fear", "Habit", "None"],
        "mechanism": {"epsilon": "1"},
    },
    {
        "id": "tax",
        "kind": "yes_no",
        "text": "Did you cheat with your taxes?",
        "mechanism": {
            "name": "or_poll",
            "decoy": "Have you been to Brittany?",
            "decoy_share": "0.4",
            "epsilon": "1",
        },
    },
]


def opened(browser: Browser, link: str, latency: int, kbps: int) -> tuple[float, dict[str, list[Any]]]:
    """Open the page once; give the seconds until Start can be pressed, and what each request did."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    speed = kbps * 1000 / 8
    network = {"offline": False, "latency": latency, "downloadThroughput": speed, "uploadThroughput": speed}
    session.send("Network.emulateNetworkConditions", network)
    seen: dict[str, list[Any]] = {}
    start = time.perf_counter()

    def began(event: dict[str, Any]) -> None:
        seen[event["requestId"]] = [event["request"]["url"], time.perf_counter() - start, None, 0.0]

    def ended(event: dict[str, Any]) -> None:
        seen[event["requestId"]][2:] = [time.perf_counter() - start, event["encodedDataLength"]]

    session.on("Network.requestWillBeSent", began)
    session.on("Network.loadingFinished", ended)
    page.goto(link, wait_until="commit")
    page.locator(".bar button").click(trial=True)
    took = time.perf_counter() - start
    page.wait_for_load_state("networkidle")
    context.close()
    return took, seen


def main() -> int:
    """Measure both surveys; status 1 where the plain one takes longer than it may."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--latency", type=int, default=400)
    parser.add_argument("--kbps", type=int, default=500)
    parser.add_argument("--requests", action="store_true")
    given = parser.parse_args()
    slow = False
    with tempfile.TemporaryDirectory(prefix="first-view") as folder, sync_playwright() as playwright:
        live = LiveServer(Path(folder))
        surveys = {
            "plain": Survey.from_draft({**documents.blank("Exam honesty"), "questions": PLAIN}),
            "with all around": Survey.from_draft({**documents.blank(), **about_draft()}),
        }
        for survey in surveys.values():
            live.store.publish(survey)
        live.start()
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=FLAGS)
        for title, survey in surveys.items():
            link = survey_link(live.url, survey.hash)
            found = [opened(browser, link, given.latency, given.kbps) for _ in range(given.rounds)]
            times = sorted(seconds for seconds, _ in found)
            seen = found[-1][1]
            size = sum(one[3] for one in seen.values())
            print(
                f"{title:16} Start after {statistics.median(times):.2f} s ({times[0]:.2f} to {times[-1]:.2f});"
                f" {len(seen)} requests, {size / 1000:.1f} KB"
            )
            if given.requests:
                for url, begun, over, weight in seen.values():
                    print(
                        f"  {begun:6.2f} {over or 0:6.2f} {weight / 1000:6.1f} KB  {'/'.join(url.split('/')[-2:])[:70]}"
                    )
            slow |= title == "plain" and statistics.median(times) > MOST_SECONDS
        browser.close()
        live.close()
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
