"""A study with a known truth: made-up respondents answer the demo survey through the real HTTP API.

Each of them does what a device does: fetch the published document, check its hash, randomize once, send the report.
Only here is the truth known as well, so that the estimates can be held against it.
"""

from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hushpoll_client import HushpollError, Report, Survey, read_answers

# Persons in a thousand, and what they would truly answer: cheated, reason, copied (see demo.DRAFT).
GROUPS = (
    (90, "Yes", "Too little time", "Yes"),
    (60, "Yes", "Too little time", "No"),
    (50, "Yes", "Fear of failing", "Yes"),
    (40, "Yes", "Everybody does it", "No"),
    (160, "No", "Too little time", "No"),
    (200, "No", "Fear of failing", "No"),
    (60, "No", "Everybody does it", "Yes"),
    (340, "No", "I would not", "No"),
)
DECOY_SHARE = 412  # in a thousand: what the decoy's count of other people says
SENDERS = 8


@dataclass(frozen=True)
class Comparison:
    """One option: the hidden truth next to the estimate from randomized reports."""

    question: str
    option: str
    truth: float
    estimate: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.truth <= self.high


def respondents(n: int) -> list[dict[str, Any]]:
    """Return n people the groups' answers, in their shares; the decoy's answer has nothing to do with the rest."""
    people: list[dict[str, Any]] = []
    reached = 0
    for weight, cheated, reason, copied in GROUPS:
        reached += weight
        while len(people) < round(n * reached / 1000):
            decoy = "Yes" if int.from_bytes(os.urandom(7), "big") < DECOY_SHARE * 2**56 // 1000 else "No"
            copied_answer = {"answer": copied, "decoy": decoy}
            people.append({"cheated": cheated, "reason": reason, "copied": copied_answer})
    return people


def true_share(people: list[dict[str, Any]], question: str, option: str) -> float:
    """Return the true share of an option among these people, which only this study knows."""
    chosen = [person[question] for person in people]
    hits = sum(
        bool((answer["answer"] if isinstance(answer, dict) else answer) == option) for answer in chosen
    )
    return hits / len(people)


def fetch_survey(address: str, survey_hash: str) -> Survey:
    """Fetch and verify the published survey, as a client does before it shows a question."""
    status, body = Sender(address).request("GET", f"/api/surveys/{survey_hash}")
    if status != 200:
        raise HushpollError(
            f"{address} answered {status} for survey {survey_hash[:12]}", "is it published there?"
        )
    return Survey.from_published(body, survey_hash)


def send_all(
    address: str, survey: Survey, people: list[dict[str, Any]], progress: Callable[[int], Any]
) -> None:
    """Let every person randomize and send, several at a time, each report acknowledged before it counts."""
    thread_data = threading.local()

    def send(person: dict[str, Any]) -> None:
        if not hasattr(thread_data, "sender"):
            thread_data.sender = Sender(address)
        report = Report.new(survey, read_answers(survey, person))
        status, _ = thread_data.sender.request(
            "POST", f"/api/surveys/{survey.hash}/reports", report.to_body(survey)
        )
        if status not in (200, 201):
            raise HushpollError(f"{address} answered {status} to a report", "see the server's log")

    with ThreadPoolExecutor(SENDERS) as pool:
        for _ in pool.map(send, people):
            progress(1)


def compare(people: list[dict[str, Any]], results: dict[str, Any]) -> Iterator[Comparison]:
    """Hold every estimate against the truth; intervals are the unclipped ones."""
    for question in results["questions"]:
        for entry in question["estimates"]:
            truth = true_share(people, question["id"], entry["option"])
            yield Comparison(
                question["id"], entry["option"], truth, entry["estimate"], entry["low"], entry["high"]
            )


class Sender:
    """One connection to the server that is kept open, and opened again when it breaks."""

    def __init__(self, address: str) -> None:
        self.host = urlsplit(address).netloc
        self.connection = http.client.HTTPConnection(self.host, timeout=60)

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Send and read the answer; a broken connection is tried once more with the same bytes."""
        headers = {"Content-Type": "application/json"} if body is not None else {}
        for attempt in (1, 2):
            try:
                self.connection.request(method, path, body, headers)
                with self.connection.getresponse() as response:
                    return response.status, response.read()
            except (http.client.HTTPException, OSError) as error:
                self.connection.close()
                if attempt == 2:
                    raise HushpollError(
                        f"http://{self.host} does not answer ({type(error).__name__})"
                    ) from None
        raise AssertionError  # not reached: the second attempt returns or raises
