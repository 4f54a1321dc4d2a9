"""The assurance page holds the threat model to account: a figure for each line, from a command that exists."""

from __future__ import annotations

import datetime
import json
import re
from typing import NamedTuple

import pytest
from hushpoll_client.cli.registry import registered

from tests.docs.blocks import ROOT
from tests.prove.__main__ import HARNESSES

# Each line of the threat model's table, and each further promise of its text, with the promise that answers for it.
ANSWERED_BY = {
    "the server's owner, a thief or a court reads everything stored": "only indices of randomized reports",
    "a weaker survey is served to one person": "a weaker survey is refused",
    "the same question comes back in several surveys under other titles": "the same question asked again",
    "a survey of one person shows that person's report": "a small survey gives only its number",
    "results of a small group show its members": "results of a small group do not show it",
    "a redirect puts another survey": "a redirect or a changed sentence does not deceive",
    "changed sentences on the page": "a redirect or a changed sentence does not deceive",
    "the JavaScript is changed": "a changed script is found",
    "averaging over repeated answers": "repeated answers cannot be averaged",
    "linking an invitation to a report": "an invitation and a report cannot be linked",
    "logs": "no log holds what was sent",
    "timing and length": "the time does not tell the answer",
    "a retry, a double click, a crash": "an acknowledged report is stored, once",
    "connections that are silent, drip": "connections that are silent, drip or do not read stall no one else",
    "dishonest reports (poisoning)": "one dishonest report counts the stated number",
    "hostile text in a survey, hostile CSV cells": "hostile text is text",
    "a stolen account": "a stolen password or session opens little",
    "two nodes with different keys, a lost key": "two nodes do not count a report twice",
    "many reports at once, to isolate another's": "many reports at once need an account",
    "weak randomness": "without a safe source of chance nothing is sent",
}
SECTIONS = {
    "## The promise": "every epsilon is what it says",
    "**The first load of the page.**": "what is served is what was released",
    "**The key, before sealing.**": "what still links is what is stated",
    "**A server that watches.**": "what still links is what is stated",
    "**Results read twice.**": "one arrival does not show in results",
    "## Copies of the database": "an invitation and a report cannot be linked",
    "### Addresses that invitations were sent to": "addresses of letters lead to no one's code",
    "### Deleting": "what is deleted is gone",
    "### Results on another site": "only public results can be framed",
}
DAY = datetime.date(2026, 11, 1)
VECTORS = ROOT / "tests" / "vectors"


class Row(NamedTuple):
    """One promise."""

    promise: str
    against: str
    figure: str
    command: str
    run: str


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def table(text: str) -> list[list[str]]:
    """Read the first table of a page, without its head."""
    lines = text[text.index("\n|") + 1 :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


ROWS = [Row(*cells) for cells in table(page("assurance.md"))]


def answer(promise: str) -> Row:
    (row,) = [row for row in ROWS if row.promise.startswith(promise)]
    return row


def test_each_line_of_the_threat_model_has_a_promise_with_a_figure() -> None:
    threats = [cells[0] for cells in table(page("threat-model.md"))]
    assert len(threats) == len(ANSWERED_BY)
    for threat in threats:
        (beginning,) = [start for start in ANSWERED_BY if threat.startswith(start)]
        assert answer(ANSWERED_BY[beginning]).figure
    for start, promise in SECTIONS.items():
        assert f"\n{start}" in page("threat-model.md"), start
        assert answer(promise).figure


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.promise[:40])
def test_each_promise_names_threat_evidence_and_date(row: Row) -> None:
    assert row.against
    assert re.search(r"\d", row.figure), "no figure"
    assert DAY <= datetime.date.fromisoformat(row.run) <= datetime.date.today()
    commands = re.findall(r"`([^`]+)`", row.command)
    assert commands
    for command in commands:
        check(command.split())


def check(words: list[str]) -> None:
    """See that a command names what exists."""
    program, *rest = words
    if program == "pytest":
        named = [word for word in rest if not word.startswith("-")]
        assert named
        for word in named:
            path, _, test = word.partition("::")
            assert (ROOT / path).exists(), word
            assert f"def {test}(" in (ROOT / path).read_text("utf-8") if test else True, word
    elif program == "python" and rest[0] == "-m":
        assert rest[1] == "tests.prove"
        names = rest[2 : rest.index("--size")] if "--size" in rest else rest[2:]
        assert names
        assert set(names) <= set(HARNESSES)
    elif program == "python":
        assert (ROOT / rest[0]).is_file(), rest
    else:
        assert program == "hushpoll"
        assert rest[0] in registered()


def figure_of(promise: str, words: str) -> int:
    """Read a number out of a figure."""
    match = re.search(rf"(\d+) {words}", answer(promise).figure)
    assert match, (promise, words)
    return int(match[1])


def test_no_figure_exceeds_the_current_one() -> None:
    """Vectors are only ever added, so a figure on the page may be lower than today's, never higher."""
    sizes = {path.stem: len(json.loads(path.read_text("utf-8"))) for path in VECTORS.glob("*.json")}
    hostile = sizes.pop("hostile")
    engines = "Python and JavaScript agree"
    assert 800 < figure_of("a weaker survey is refused", "hostile documents") <= hostile
    assert 800 < figure_of(engines, "hostile documents") <= hostile
    assert 700 < figure_of(engines, "vectors") <= sum(sizes.values())
