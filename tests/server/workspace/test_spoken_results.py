"""Pages of results in the language of brackets: reports, groups, cross-tables, waves, public results."""

from __future__ import annotations

import json
import secrets
from typing import Any

import pytest
from hushpoll_analysis import resolve
from hushpoll_analysis.simulation.groups import simulate_columns
from hushpoll_analysis.simulation.respondents import simulate_survey
from hushpoll_client import Survey
from hushpoll_server.collect import closing
from hushpoll_server.store.surveys import Store
from hushpoll_server.workspace.drafts import documents

from tests.server.workspace.walking import Walk, left_over, questions_of_every_kind
from tests.serving import post_batch

COUNTED = {"name": "or_poll", "decoy": "¿?", "decoy_counts": [40, 100]}
MORE = [
    {"id": "c1", "kind": "yes_no", "text": "¿11?", "mechanism": COUNTED},
    {
        "id": "c2",
        "kind": "yes_no",
        "text": "¿12?",
        "mechanism": {"name": "or_poll", "decoy": "¿?", "decoy_share": "0.4", "epsilon": "2"},
    },
    {
        "id": "c3",
        "kind": "choice",
        "text": "¿13?",
        "options": [f"§{n}" for n in range(30)],
        "mechanism": {"epsilon": "3"},
    },
    {
        "id": "c4",
        "kind": "multiple",
        "text": "¿14?",
        "options": ["§1", "§2", "§3"],
        "mechanism": {"name": "sampled", "ask": 2, "epsilon": "2"},
    },
]


def truth_of(survey: Survey) -> dict[str, Any]:
    """Shares of each answer, whatever the kind."""
    truths: dict[str, Any] = {}
    for question in survey.questions:
        options = len(question.options)
        if question.kind.name == "number":
            truths[question.id] = {"values": [1, 30, 60], "shares": [0.3, 0.4, 0.3]}
        elif question.kind.several:
            truths[question.id] = {"sets": [["§1"], ["§2", "§3"], []], "shares": [0.4, 0.3, 0.3]}
        else:
            truths[question.id] = [1 / options] * options
    return truths


def made_of(document: dict[str, Any]) -> Survey:
    """Return a survey with a unique title."""
    return Survey.from_draft(resolve({**documents.blank(f"№ {secrets.randbelow(10**9)}"), **document}))


def answered(walk: Walk, document: dict[str, Any], n: int, closed: bool = True, **more: Any) -> Survey:
    """Return a survey with a number of reports."""
    survey = made_of(document)
    assert walk.store.publish(survey, "owner", target_n=100, **more)
    columns = [codes.tolist() for _, codes in simulate_survey(survey, n, truth_of(survey), 5)]
    send(walk, survey, [{"reports": list(row)} for row in zip(*columns, strict=True)])
    if closed:
        closing.close(walk.store, survey.hash)
    return survey


def send(walk: Walk, survey: Survey, reports: list[dict[str, Any]]) -> None:
    lines = [json.dumps({"id": secrets.token_hex(16), **report_entry}) for report_entry in reports]
    if lines:
        answer = post_batch(walk.people["owner"], survey, "\n".join(lines).encode())
        assert answer.status_code == 201, answer.text


def test_reports_on_every_kind_are_all_said(walk: Walk) -> None:
    anchor = {"question": "q10", "share": "0"}
    survey = answered(walk, {"questions": [*questions_of_every_kind(), *MORE], "anchor": anchor}, 600)
    at = f"/surveys/{survey.hash}/report"
    walk.look(at)
    walk.look(f"{at}?level=80")
    for by in ("q1", "q2", "q3", "q6", "q7", "q8"):
        walk.look(f"{at}?by={by}")
    for outcome, by in (("q1", "q2"), ("q6", "q1"), ("q5", "q1"), ("q4", "q9"), ("q7", "q2"), ("c4", "q6")):
        walk.look(f"{at}/table?outcome={outcome}&by={by}")
    walk.look(f"{at}/table?outcome=q1&by=q2&reference=§2")
    walk.look(f"{at}/table?outcome=q1&by=q2&reference=§9", status=422)
    walk.check()


@pytest.mark.parametrize("n", [0, 3, 40])
def test_reports_on_few_are_all_said(walk: Walk, n: int) -> None:
    questions = [*questions_of_every_kind(), *MORE]
    for closed in (True, False):
        survey = answered(walk, {"questions": questions}, n, closed=closed)
        at = f"/surveys/{survey.hash}/report"
        for path in (at, f"{at}?by=q2", f"{at}/table?outcome=q1&by=q2", f"{at}/trend"):
            walk.look(path)
    walk.check()


def test_a_report_that_one_sided_answers_unbind_is_all_said(walk: Walk) -> None:
    unbound = {**questions_of_every_kind()[7], "id": "u"}
    one_sided = {"id": "m", "kind": "yes_no", "text": "¿?", "mechanism": {"name": "mangat", "truth": "1/2"}}
    for question in ([unbound], [one_sided], [unbound, one_sided, questions_of_every_kind()[0]]):
        survey = answered(walk, {"questions": question}, 200)
        walk.look(f"/surveys/{survey.hash}/report")
    walk.check()


def test_a_report_on_a_block_is_all_said(walk: Walk) -> None:
    questions = [{"id": f"b{n}", "kind": "yes_no", "text": f"¿{n}?"} for n in range(3)]
    for ask in (1, 3):
        block = {"questions": ["b0", "b1", "b2"], "ask": ask, "epsilon": "2"}
        survey = answered(walk, {"questions": questions, "blocks": [block]}, 500)
        walk.look(f"/surveys/{survey.hash}/report")
        walk.look(f"/surveys/{survey.hash}/report?by=b0")
    walk.check()


def test_reports_by_group_are_all_said(walk: Walk) -> None:
    document = {"questions": questions_of_every_kind()[:6], "groups": ["§1", "§2", "§3"]}
    survey = made_of(document)
    walk.store.publish(survey, "owner", target_n=100)
    shares = {"group": [0.6, 0.36, 0.04]}
    columns = simulate_columns(survey, 900, truth_of(survey) | shares, 5)
    names = columns.pop("group")
    rows = zip(names, *(column.tolist() for column in columns.values()), strict=True)
    send(walk, survey, [{"reports": list(row), "group": survey.groups.index(name)} for name, *row in rows])
    closing.close(walk.store, survey.hash)
    at = f"/surveys/{survey.hash}"
    for path in ("/report?by=group", "/report/table?outcome=q2&by=group", "/report/trend?group=§1"):
        walk.look(at + path)
    sizes = {f"size_{n}": size for n, size in enumerate(("2000", "1000", "500"))}
    walk.send(f"{at}/sizes", at, status=200, **sizes)
    walk.look(f"{at}/report")
    walk.look(f"{at}/report?by=group")
    walk.check()


def test_waves_are_all_said(walk: Walk) -> None:
    name = f"№ {secrets.randbelow(10**9)}"
    document: dict[str, Any] = {"title": name, "questions": [*questions_of_every_kind(), *MORE]}
    first = answered(walk, document, 600)
    document["questions"] = [
        {**question, "mechanism": {**question["mechanism"], "epsilon": "2"}}
        if question["id"] == "q1"
        else question
        for question in document["questions"]
    ]
    second = answered(walk, {**document, "series": wave(name, 2, first)}, 600)
    answered(walk, {**document, "series": wave(name, 3, second)}, 3)
    walk.look(f"/surveys/{second.hash}/report")
    for level in (80, 95):
        walk.look(f"/surveys/{second.hash}/report/trend?level={level}")
    walk.check()


def wave(name: str, number: int, previous: Survey) -> dict[str, Any]:
    return {"name": name, "wave": number, "previous": previous.hash}


def test_what_everybody_reads_is_all_said(walk: Walk, store: Store) -> None:
    survey = answered(walk, {"questions": [*questions_of_every_kind(), *MORE]}, 600)
    at = f"/surveys/{survey.hash}"
    walk.send(f"{at}/results", at, status=200, public="yes")
    walk.send(f"{at}/embedding", at, status=200, embed="yes")
    walk.look(f"/results/{survey.hash}?lang=de", None)
    walk.look(f"/results/{survey.hash}/embed?lang=de", None)
    file = walk.people[None].get(f"/results/{survey.hash}/report.html?lang=de")
    assert left_over(file.text) == []
    walk.check()
