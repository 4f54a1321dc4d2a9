"""Survey documents: both forms, canonical bytes, hash, epsilons, what is refused and where."""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from typing import Any

import pytest
from hushpoll_client import Report, ReportError, Survey, SurveyError, mechanisms, read_answers
from hushpoll_client.fields import read_fields
from hushpoll_client.kind import KINDS
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_client.survey.series import changed_question

from tests.client.documents import exam, one_question


def test_the_example_of_the_contract() -> None:
    survey = Survey.from_draft(exam())
    assert [question.mechanism.name for question in survey.questions] == ["warner", "krr", "or_poll"]
    assert survey.hash == hashlib.sha256(survey.canonical).hexdigest()
    assert math.isinf(survey.epsilon_total)
    assert survey.questions[0].options == ("No", "Yes")
    assert survey.questions[2].decoy == "Have you ever visited Brittany?"


def test_canonical_bytes_are_sorted_unspaced_and_hold_no_float() -> None:
    survey = Survey.from_draft(exam(title="Élan \U0001f600"))
    text = survey.canonical.decode()
    assert "Élan \U0001f600" in text
    parsed = json.loads(text, parse_float=lambda value: pytest.fail(f"float {value}"))
    assert json.dumps(parsed, ensure_ascii=False, sort_keys=True, separators=(",", ":")) == text
    assert parsed["questions"][0]["mechanism"] == {"name": "warner", "epsilon": "1"}
    assert parsed["settings"] == {"invitation": False, "kiosk": False}


def test_the_published_form_is_read_back_and_both_forms_have_one_hash() -> None:
    survey = Survey.from_draft(exam())
    again = Survey.from_published(survey.canonical, survey.hash)
    assert again == survey
    assert again.canonical == survey.canonical
    assert Survey.parse(survey.canonical) == survey
    assert Survey.parse(survey.canonical + b"\n") == survey
    assert Survey.from_draft(survey.as_document(published=False)).hash == survey.hash


@pytest.mark.parametrize(("left", "right"), [(1, 1.0), ("1", 1), ("1.00", 1.0), ("1e0", 1)])
def test_spellings_of_one_number_have_one_hash(left: object, right: object) -> None:
    pair = [one_question(mechanism={"name": "warner", "epsilon": value}) for value in (left, right)]
    assert Survey.from_draft(pair[0]).hash == Survey.from_draft(pair[1]).hash


def test_a_float_in_json_is_read_as_its_decimal() -> None:
    text = json.dumps(one_question()).replace("1.0", "0.1")
    assert Survey.from_draft(text).questions[0].mechanism.parameters == {"epsilon": "0.1"}


def test_text_is_composed_at_publish_and_left_alone_by_clients() -> None:
    decomposed = unicodedata.normalize("NFD", "Élève")
    survey = Survey.from_draft(exam(title=decomposed))
    assert survey.title == "Élève"
    foreign = survey.canonical.replace("Élève".encode(), decomposed.encode())
    assert Survey.from_published(foreign).title == decomposed


def test_a_mechanism_without_a_name_is_the_recommended_one() -> None:
    yes_no = Survey.from_draft(one_question(mechanism={"epsilon": 1}))
    choice = Survey.from_draft(one_question(kind="choice", options=["A", "B", "C"], mechanism={"epsilon": 1}))
    assert yes_no.questions[0].mechanism.name == "warner"
    assert choice.questions[0].mechanism.name == "krr"
    assert b'"name":"warner"' in yes_no.canonical


def test_epsilons_add_up() -> None:
    document = exam()
    document["questions"] = document["questions"][:2]
    assert Survey.from_draft(document).epsilon_total == pytest.approx(2, abs=1e-9)


QUESTIONS: dict[str, dict[str, Any]] = {
    "yes_no": {},
    "choice": {"options": ["A", "B", "C"]},
    "scale": {"points": 3},
    "number": {"min": 0, "max": 2, "step": 1},
    "multiple": {"options": ["A", "B", "C"], "at_most": 2},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_mechanism_of_a_kind_compiles_and_publishes(kind: str) -> None:
    samples: dict[str, dict[str, Any]] = {
        "warner": {"truth": "3/4"},
        "forced": {"forced": ["1/6"] * 3},
        "or_poll": {"decoy": "D?", "decoy_share": 0.4, "epsilon": 2},
        "unrelated": {"decoy": "D?", "decoy_share": 0.4, "truth": 0.7},
        "crosswise": {"decoy": "D?", "decoy_share": 0.25},
        "mangat": {"truth": 0.6},
        "subset": {"epsilon": 1, "size": 2},
    }
    table = mechanisms.matrix([["1/2", "1/4", "1/4"], ["1/3", "1/3", "1/3"], ["1/4", "1/4", "1/2"]])
    rows = 2 if KINDS[kind].yes_or_no else 3
    for name in (mechanism.name for mechanism in KINDS[kind].fitting(rows)):
        entry = {"name": name, **samples.get(name, {"epsilon": 2})}
        if name == "forced":
            entry["forced"] = ["1/6"] * rows
        if MECHANISMS[name].tells_only:
            entry["target"] = MECHANISMS[name].tells_only
        draft = one_question(kind=kind, mechanism=entry, **QUESTIONS[kind])
        if MECHANISMS[name] in (MECHANISMS["matrix"], MECHANISMS["designed"]):
            two = mechanisms.matrix([["3/4", "1/4"], ["1/3", "2/3"]])
            draft["questions"][0]["channel"] = (two if rows == 2 else table).device.to_json()
        survey = Survey.from_draft(draft)
        assert Survey.from_published(survey.canonical, survey.hash) == survey


@pytest.mark.parametrize(
    ("document", "path", "problem"),
    [
        ([], (), "must be an object"),
        (exam(hushpoll=2), ("hushpoll",), "version 2"),
        (exam(hushpoll=True), ("hushpoll",), "version True"),
        (exam(title=""), ("title",), "is empty"),
        (exam(title="x" * 201), ("title",), "201 characters"),
        (exam(intro="x" * 4001), ("intro",), "4001 characters"),
        (exam(title="a\nb"), ("title",), "control character"),
        (exam(intro="a\tb"), ("intro",), "control character"),
        (exam(questions=[]), ("questions",), "at least one"),
        (exam(questions=[one_question()["questions"][0]] * 10_000), ("questions",), "10000 questions"),
        (exam(more=1), (), 'unknown key "more"'),
        (exam(settings={"kiosk": 1}), ("settings", "kiosk"), "true or false"),
        (exam(settings={"other": True}), ("settings",), "unknown key"),
        (one_question(id="1st"), ("questions", 0, "id"), "not an id"),
        (one_question(id=None), ("questions", 0, "id"), "is missing"),
        (one_question(text="x" * 1001), ("questions", 0, "text"), "1001 characters"),
        (one_question(text="a\x00b"), ("questions", 0, "text"), "control character"),
        (one_question(text=5), ("questions", 0, "text"), "must be text"),
        (one_question(kind="essay"), ("questions", 0, "kind"), "not a known kind"),
        (one_question(options=["A", "B"]), ("questions", 0), 'unknown key "options"'),
        (one_question(kind="choice"), ("questions", 0, "options"), "is missing"),
        (one_question(kind="choice", options=[]), ("questions", 0, "options"), "at least two"),
        (one_question(kind="choice", options=["A"]), ("questions", 0, "options"), "at least two"),
        (one_question(kind="choice", options=["A", "A"]), ("questions", 0, "options", 1), "appears twice"),
        (one_question(kind="choice", options=["A", "x" * 201]), ("questions", 0, "options", 1), "201"),
        (one_question(kind="choice", options=["A"] * 1001), ("questions", 0, "options"), "1001 options"),
        (one_question(mechanism="warner"), ("questions", 0, "mechanism"), "must be an object"),
        (one_question(mechanism={"name": "magic"}), ("questions", 0, "mechanism", "name"), "'magic'"),
        (one_question(mechanism={}), ("questions", 0, "mechanism", "name"), "is missing"),
        (one_question(mechanism={"name": "krr"}), ("questions", 0, "mechanism", "epsilon"), "missing"),
        (one_question(mechanism={"epsilon": 0}), ("questions", 0, "mechanism", "epsilon"), "greater than 0"),
        (one_question(mechanism={"epsilon": -1}), ("questions", 0, "mechanism", "epsilon"), "greater than 0"),
        (one_question(mechanism={"epsilon": True}), ("questions", 0, "mechanism", "epsilon"), "a number"),
        (one_question(mechanism={"epsilon": [1]}), ("questions", 0, "mechanism", "epsilon"), "wrong shape"),
        (one_question(mechanism={"epsilon": 1, "x": 1}), ("questions", 0, "mechanism", "x"), "unknown key"),
        (
            one_question(mechanism={"epsilon": 1, "decoy": "D"}),
            ("questions", 0, "mechanism", "decoy"),
            "no decoy",
        ),
        (
            one_question(mechanism={"name": "or_poll", "decoy_share": 0.4}),
            ("questions", 0, "mechanism", "decoy"),
            "is missing",
        ),
        (
            one_question(mechanism={"name": "forced", "forced": [0.1]}),
            ("questions", 0, "mechanism", "forced"),
            "each of 2 options",
        ),
        (
            one_question(kind="choice", options=["A", "B", "C"], mechanism={"name": "warner", "epsilon": 1}),
            ("questions", 0, "mechanism", "name"),
            "exactly two options",
        ),
    ],
)
def test_a_broken_draft_is_refused_at_its_place(
    document: Any, path: tuple[str | int, ...], problem: str
) -> None:
    with pytest.raises(SurveyError, match=problem) as caught:
        Survey.from_draft(document)
    assert caught.value.path == path
    assert caught.value.remedy


def test_ids_used_twice_are_refused() -> None:
    document = exam()
    document["questions"][1]["id"] = "cheated"
    with pytest.raises(SurveyError, match=r'question 2.*"cheated" is used twice; give every question'):
        Survey.from_draft(document)


def test_a_total_above_the_cap_is_refused_by_a_hair() -> None:
    def survey(last: str) -> Survey:
        questions = [
            one_question(id=f"q{k}", mechanism={"epsilon": e})["questions"][0]
            for k, e in enumerate(["10", last])
        ]
        return Survey.from_draft(exam(questions=questions))

    survey("10").check_cap()
    Survey.from_published(survey("10").canonical)
    above = survey("10.000000001")
    for refuse in (
        lambda: above.check_cap(),
        lambda: Survey.from_published(above.canonical),
        lambda: Survey.parse(above.canonical),
    ):
        with pytest.raises(SurveyError, match="above 20"):
            refuse()
    with pytest.raises(SurveyError, match=r"above 1\.5"):
        Survey.from_published(Survey.from_draft(one_question(mechanism={"epsilon": 2})).canonical, cap="1.5")


def test_a_survey_too_large_for_a_client_is_refused_before_it_is_published() -> None:
    options = [f"{number:03} {'x' * 196}" for number in range(1000)]
    large = one_question(kind="choice", options=options, mechanism={"name": "krr", "epsilon": 1})[
        "questions"
    ][0]
    fits = Survey.from_draft(exam(questions=[large | {"id": f"q{k}"} for k in range(5)]))
    assert Survey.from_published(fits.canonical) == fits
    with pytest.raises(SurveyError, match="more than 1048576"):
        Survey.from_draft(exam(questions=[large | {"id": f"q{k}"} for k in range(6)]))
    with pytest.raises(SurveyError, match="more than 1048576"):
        Survey.from_published(b" " * (2**20 + 1))


def test_a_changed_byte_changes_the_hash_and_is_refused() -> None:
    survey = Survey.from_draft(exam())
    with pytest.raises(SurveyError, match="hash is not the one in the link"):
        Survey.from_published(survey.canonical.replace(b"Exam", b"Exan"), survey.hash)


def test_answers_are_read_by_option_and_decoys_combined() -> None:
    survey = Survey.from_draft(exam())
    answers = {"cheated": "Yes", "reason": "Habit", "tax": {"answer": "No", "decoy": "Yes"}}
    assert read_answers(survey, answers) == [1, 2, 1]
    assert read_answers(survey, answers | {"tax": "No"}) == [1, 2, 0]
    for wrong, message in [
        (answers | {"other": "Yes"}, "no question 'other'"),
        ({"cheated": "Yes"}, '"reason" has no answer'),
        (answers | {"reason": "Hunger"}, "not one of: Time"),
        (answers | {"tax": {"answer": "No"}}, "give"),
    ]:
        with pytest.raises(ReportError, match=message):
            read_answers(survey, wrong)


def test_a_report_is_one_draw_for_each_answer_and_the_same_bytes_each_time() -> None:
    survey = Survey.from_draft(exam())
    requests: list[int] = []

    def source(count: int) -> bytes:
        requests.append(count)
        return b"\xff" * count

    report = Report.new(survey, [1, 2, 1], source)
    assert requests == [16, 7, 7, 7]
    assert report.reports == (0, 1, 1)
    assert report.to_bytes() == b'{"id":"' + b"f" * 32 + b'","reports":[0,1,1]}'
    assert Report.parse(survey, report.to_bytes("code")) == (report, "code")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"[]", "must be an object"),
        (b'{"id":"%s"}' % (b"a" * 32), "reports: must be a list of 3"),
        (b'{"id":"A","reports":[0,0,0]}', "id: must be 32"),
        (b'{"id":"%s","reports":[0,0]}' % (b"a" * 32), "list of 3"),
        (
            b'{"id":"%s","reports":[0,0,2]}' % (b"a" * 32),
            r'reports\[2\] \("tax"\): must be a whole number from 0 to 1',
        ),
        (b'{"id":"%s","reports":[0,0,true]}' % (b"a" * 32), r"reports\[2\]"),
        (b'{"id":"%s","reports":[0,0,1.0]}' % (b"a" * 32), "only whole numbers"),
        (b'{"id":"%s","reports":[0,0,1],"at":1}' % (b"a" * 32), "unknown key 'at'"),
        (b'{"id":"%s","id":"%s","reports":[0,0,1]}' % (b"a" * 32, b"b" * 32), "appears twice"),
        (b'{"id":"%s","reports":[0,0,NaN]}' % (b"a" * 32), "NaN is not JSON"),
        (b"[" * 30_000, "nested deeper"),
        (b'{"id":"%s","reports":[0,0,1],"invitation":""}' % (b"a" * 32), "invitation"),
        (b'{"id":"\\ud800"}', "lone surrogate"),
        (b"\xff", "not UTF-8"),
        (b'{"id":1%s}' % (b"0" * 5000), "thousands of digits"),
        (b"\xef\xbb\xbf{}", "not JSON"),
    ],
)
def test_reports_that_do_not_fit_are_refused(body: bytes, message: str) -> None:
    with pytest.raises(ReportError, match=message):
        Report.parse(Survey.from_draft(exam()), body)


@pytest.mark.parametrize("empty", [None, False, "", [], {}])
def test_an_optional_key_is_absent_or_has_a_value(empty: object) -> None:
    fields = {"required": ("a",), "optional": ("b",), "omittable": ("c",)}
    for published in (False, True):
        assert read_fields({"a": 1, "b": 2}, (), published=published, **fields) == {"a": 1, "b": 2}
        assert read_fields({"a": 1, "b": 2, "c": 3}, (), published=published, **fields)["c"] == 3
        with pytest.raises(SurveyError, match="c: is empty; leave it out"):
            read_fields({"a": 1, "b": 2, "c": empty}, (), published=published, **fields)
    with pytest.raises(SurveyError, match="b: is missing"):
        read_fields({"a": 1}, (), published=True, **fields)


@pytest.mark.parametrize("sign", [*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))])
def test_signs_that_turn_the_direction_of_writing_are_refused(sign: str) -> None:
    with pytest.raises(SurveyError, match="direction"):
        Survey.from_draft(exam(title=f"Exam{sign}"))


@pytest.mark.parametrize("number", [1, 2])
def test_a_wave_that_leaves_questions_out_has_changed(number: int) -> None:
    before = Survey.from_draft(exam())
    after = Survey.from_draft({**exam(), "questions": exam()["questions"][:number]})
    assert f"it has {number} question" in changed_question(before, after)


def test_a_place_in_a_question_is_counted_from_one() -> None:
    document = exam()
    document["questions"][1]["options"][2] = ""
    with pytest.raises(SurveyError, match=r'^question 2 \("reason"\), options 3: '):
        Survey.from_draft(document)
