"""Published documents that a client must refuse, each with one fault, and controls that it must accept.

A document is a list of parts: text, {"hex": ...} for bytes that are no text, or [text, times] for a repetition.
Unless a fault is about the hash, the expected hash is the document's own, so that nothing else can catch it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import hostile_blocks
import hostile_groups
import hostile_kinds
import hostile_presentation
from bad_channels import bad_forms
from hushpoll_client import SCALE, Channel, Survey
from hushpoll_client.exact import exp_below, read_decimal, spell
from hushpoll_client.strict_json import dumps
from surveys import choice, survey, yes_no

Case = tuple[str, list[Any], dict[str, str]]
DECOY = {"decoy": "Brittany?", "decoy_counts": [412, 1000]}
BASE = Survey.from_draft(
    survey(
        yes_no("warner", {"name": "warner", "epsilon": 1}),
        choice("krr", ["a", "b", "c"], {"name": "krr", "epsilon": 1}),
        yes_no("or_poll", {"name": "or_poll", **DECOY}),
        yes_no("forced", {"name": "forced", "forced": [0, "1/6"]}),
        yes_no("flip", {"name": "or_poll", **DECOY, "epsilon": 1}),
        yes_no("truth", {"name": "warner", "truth": "3/4"}),
        title="Exam",
    )
).document
WARNER, KRR, OR_POLL, FORCED, FLIP, TRUTH = range(6)
TEXT = dumps(BASE).decode()
LIMIT = exp_below(read_decimal("1", "epsilon"))


def assemble(pieces: list[Any]) -> bytes:
    """Return the bytes of a document written as parts."""
    data = b""
    for piece in pieces:
        if isinstance(piece, dict):
            data += bytes.fromhex(piece["hex"])
        elif isinstance(piece, list):
            data += piece[0].encode() * piece[1]
        else:
            data += piece.encode()
    return data


def put(*path_and_value: Any) -> list[Any]:
    """The base document with one value put at a path."""
    *path, last, value = path_and_value
    document = copy.deepcopy(BASE)
    target: Any = document
    for key in path:
        target = target[key]
    target[last] = value
    return [dumps(document).decode()]


def drop(*path: Any) -> list[Any]:
    """The base document without the value at a path."""
    document = copy.deepcopy(BASE)
    target: Any = document
    for key in path[:-1]:
        target = target[key]
    del target[path[-1]]
    return [dumps(document).decode()]


def of(number: int, *path_and_value: Any) -> list[Any]:
    """The base document with a change in one question."""
    return put("questions", number, *path_and_value)


def mechanism(number: int, value: Any) -> list[Any]:
    """The base document with another mechanism in one question, its channel left."""
    return of(number, "mechanism", value)


def swap(old: str, new: str) -> list[Any]:
    """The base document's text with one place changed."""
    assert old in TEXT, old
    return [TEXT.replace(old, new, 1)]


def documents() -> Iterator[Case]:
    """Return fault, parts, and the expected hash or the cap where they are not the usual ones."""
    for fault, parts in [*bytes_at_fault(), *shapes_at_fault(), *texts_at_fault(), *mechanisms_at_fault()]:
        yield fault, parts, {}
    for fault, parts in channels_at_fault():
        yield fault, parts, {}
    for fault, parts in checked_at_fault():
        yield fault, parts, {}
    for fault, parts in hostile_kinds.documents():
        yield fault, parts, {}
    # What "kind_unknown" was before there were scales.
    yield "kind_scale_without_points", of(WARNER, "kind", "scale"), {}
    yield "hash_of_another_document", [TEXT], {"expected_hash": "0" * 64}
    yield "hash_in_capitals", [TEXT], {"expected_hash": surveys_hash().upper()}
    yield "hash_shortened", [TEXT], {"expected_hash": surveys_hash()[:32]}
    yield "hash_empty", [TEXT], {"expected_hash": ""}
    yield "hash_not_ascii", [TEXT], {"expected_hash": "é"}
    yield "epsilon_above_cap_by_one_weight", at_the_cap(1), {}
    yield "epsilon_total_above_cap_by_a_hair", totals("10", "10", "0.00000001"), {}
    yield "epsilon_total_far_above_cap", totals(*["20"] * 100), {}
    yield "epsilon_above_a_smaller_cap", totals("1", "1"), {"cap": "1.999999999"}
    yield "epsilon_above_cap_beside_unbounded", with_an_unbounded_question("0.0000001"), {}
    for fault, parts in (
        *hostile_blocks.documents(),
        *hostile_groups.documents(),
        *hostile_presentation.documents(),
    ):
        yield fault, parts, {}


def controls() -> Iterator[Case]:
    """Return name, parts, and the cap where it is not the usual one."""
    for name, parts in hostile_kinds.controls():
        yield name, parts, {}
    yield "base", [TEXT], {}
    yield "one_weight_below_the_cap", at_the_cap(0), {}
    yield "total_at_the_cap", totals("10", "10"), {}
    yield "total_at_a_smaller_cap", totals("1", "1"), {"cap": "2"}
    yield "unbounded_beside_the_cap", with_an_unbounded_question(), {}
    # Text is composed at publish, and clients never normalise: decomposed text is another text, not a fault.
    yield "decomposed_text", put("title", "Re\u0301sume\u0301"), {}
    yield "options_equal_but_for_composition", of(KRR, "options", ["é", "e\u0301", "c"]), {}
    yield "two_hundred_characters_beyond_the_first_plane", put("title", "\U0001f600" * 200), {}
    yield "byte_order_mark_inside_text", put("title", "\ufeff"), {}
    yield "newline_in_introduction", put("intro", "a\nb"), {}
    yield "separators_in_text", put("title", "a\u2028b\u2029c\u00a0"), {}
    yield "a_question_called_constructor", of(WARNER, "id", "constructor"), {}
    # Integers that are checked, not computed anew: any form and any number of reports, within the epsilon stated.
    yield "checked_at_its_epsilon_to_one_integer", checked(table(least())), {}
    yield "checked_in_the_other_form", checked(BASE["questions"][WARNER]["channel"]), {}
    yield "checked_with_a_smaller_epsilon", checked(table(least() + 10**6)), {}
    yield "checked_with_more_reports_than_answers", checked(wide(least())), {}
    yield "checked_with_fewer_reports_than_answers", checked(narrow(least()), options=["a", "b", "c"]), {}
    yield "checked_with_a_report_that_never_comes", checked(never(least())), {}
    yield "checked_for_three_options", checked(BASE["questions"][KRR]["channel"], options=["a", "b", "c"]), {}
    for name, parts in (
        *hostile_blocks.controls(),
        *hostile_groups.controls(),
        *hostile_presentation.controls(),
    ):
        yield name, parts, {}


def surveys_hash() -> str:
    """The base document's own hash."""
    return Survey.from_draft(
        {**BASE, "questions": [{k: v for k, v in q.items() if k != "channel"} for q in BASE["questions"]]}
    ).hash


def totals(*epsilons: str) -> list[Any]:
    """A survey of warner questions with these epsilons."""
    questions = [yes_no(f"q{n}", {"name": "warner", "epsilon": e}) for n, e in enumerate(epsilons)]
    return [Survey.from_draft(survey(*questions)).canonical.decode()]


def with_an_unbounded_question(*more: str) -> list[Any]:
    """Twenty and an unbounded question: the cap holds for the finite ones."""
    flips = [yes_no(f"q{n}", {"name": "warner", "epsilon": e}) for n, e in enumerate(("20", *more))]
    return [Survey.from_draft(survey(*flips, yes_no("p", {"name": "or_poll", **DECOY}))).canonical.decode()]


def at_the_cap(above: int) -> list[Any]:
    """One warner question whose truth weight is the largest within the cap, plus `above`."""
    limit = exp_below(read_decimal("20", "cap"))
    weight = int(SCALE * limit / (1 + limit)) + above
    assert (Channel.krr(2, SCALE - weight).ratio or 0) > limit if above else True
    truth = read_decimal(str(-(-weight * 10**30 // SCALE)) + "e-30", "truth")
    drafted = Survey.from_draft(survey(yes_no("q", {"name": "warner", "truth": spell(truth)})))
    assert drafted.questions[0].channel.weight == SCALE - weight
    return [drafted.canonical.decode()]


def bytes_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Bytes that are not canonical JSON."""
    weight = str(BASE["questions"][WARNER]["channel"]["weight"])
    yield "empty", []
    yield "not_json", ["survey"]
    yield "truncated", [TEXT[:-1]]
    yield "newline_at_end", [TEXT, "\n"]
    yield "byte_at_end", [TEXT, {"hex": "00"}]
    yield "two_documents", [TEXT, TEXT]
    yield "byte_order_mark", [{"hex": "efbbbf"}, TEXT]
    yield "not_utf8", [TEXT[:-2], {"hex": "ff"}, TEXT[-2:]]
    yield "overlong_utf8", [TEXT.split("Exam")[0], {"hex": "c180"}, TEXT.split("Exam")[1]]
    yield "surrogate_in_utf8", [TEXT.split("Exam")[0], {"hex": "eda080"}, TEXT.split("Exam")[1]]
    yield "utf16", [{"hex": TEXT.encode("utf-16").hex()}]
    yield "space_after_colon", swap('"hushpoll":1', '"hushpoll": 1')
    yield "space_at_start", [" ", TEXT]
    yield (
        "keys_unsorted",
        [json.dumps(dict(reversed(BASE.items())), separators=(",", ":"), ensure_ascii=False)],
    )
    yield "key_twice_same_value", swap('"hushpoll":1', '"hushpoll":1,"hushpoll":1')
    yield "key_twice_other_weight", swap(f'"weight":{weight}', f'"weight":1,"weight":{weight}')
    yield "letter_escaped", swap("Exam", "\\u0045xam")
    yield "slash_escaped", swap("Exam", "a\\/b")
    yield "pair_escaped", swap("Exam", "\\ud83d\\ude00")
    yield "escape_in_capitals", swap('"intro":""', '"intro":"\\u000A"')
    yield "lone_high_surrogate", swap("Exam", "\\ud800")
    yield "lone_low_surrogate", swap("Exam", "\\udc00x")
    yield "lone_surrogate_in_key", swap('"title"', '"\\udfff":1,"title"')
    yield "control_unescaped", swap("Exam", "a\x01b")
    yield "whole_number_as_float", swap('"hushpoll":1', '"hushpoll":1.0')
    yield "whole_number_with_exponent", swap('"hushpoll":1', '"hushpoll":1e0')
    yield "minus_zero", swap(f"[{SCALE - -(-SCALE // 6)},", "[-0,")
    yield "weight_with_point", swap(f'"weight":{weight}', f'"weight":{weight}.0')
    yield "weight_half", swap(f'"weight":{weight}', '"weight":0.5')
    yield "weight_2_53_plus_1", swap(f'"weight":{weight}', f'"weight":{SCALE + 1}')
    yield "identity_2_53_plus_1", swap(f"[{SCALE},0]", f"[{SCALE + 1},0]")
    yield "weight_nan", swap(f'"weight":{weight}', '"weight":NaN')
    yield "weight_infinity", swap(f'"weight":{weight}', '"weight":Infinity')
    yield "weight_1e400", swap(f'"weight":{weight}', '"weight":1e400')
    yield "weight_of_five_thousand_digits", [TEXT.split(weight)[0], ["9", 5000], TEXT.split(weight, 1)[1]]
    yield "nested_30000_deep", [["[", 30000], ["]", 30000]]
    yield "objects_nested_30000_deep", [['{"a":', 30000], "1", ["}", 30000]]
    yield "nested_9_deep_in_rows", swap(f"[[{SCALE},0],", f"[[[[[[[{SCALE}]]]]],0],")
    yield "larger_than_a_mebibyte", [TEXT.split("Exam")[0], ["x", 1 << 20], TEXT.split("Exam")[1]]


def shapes_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Keys, types and counts."""
    for name, value in {
        "list": "[]",
        "text": '"x"',
        "null": "null",
        "number": "1",
        "true": "true",
        "object": "{}",
    }.items():
        yield f"document_is_{name}", [value]
    for key in ("hushpoll", "intro", "questions", "settings", "title"):
        yield f"without_{key}", drop(key)
    for key in ("channel", "id", "kind", "mechanism", "text"):
        yield f"question_without_{key}", drop("questions", WARNER, key)
    yield "choice_without_options", drop("questions", KRR, "options")
    yield "yes_no_with_options", of(WARNER, "options", ["No", "Yes"])
    yield "settings_without_kiosk", drop("settings", "kiosk")
    yield "unknown_key", put("epsilon", "1")
    yield "unknown_key_in_settings", put("settings", "debug", True)
    yield "unknown_key_in_question", of(WARNER, "weight", 1)
    yield "key_proto", put("__proto__", {})
    yield "key_constructor", of(WARNER, "constructor", 1)
    for name, value in {"2": 2, "0": 0, "true": True, "text": "1", "null": None}.items():
        yield f"version_{name}", put("hushpoll", value)
    yield "kiosk_is_1", put("settings", "kiosk", 1)
    yield "kiosk_is_null", put("settings", "kiosk", None)
    yield "settings_is_list", put("settings", [])
    yield "questions_empty", put("questions", [])
    yield "questions_is_object", put("questions", {"0": BASE["questions"][0]})
    yield "question_is_text", put("questions", 1, "warner")
    yield "question_is_null", put("questions", 1, None)
    small = Survey.from_draft(survey(yes_no("q", {"name": "warner", "epsilon": "0.1"}))).document[
        "questions"
    ][0]
    many = [{**small, "id": f"q{number}"} for number in range(101)]
    yield "questions_101", put("questions", many)
    yield "questions_10000", put("questions", [0] * 10000)
    yield "id_twice", of(KRR, "id", "warner")
    for name, value in {
        "space": "a b",
        "digit_first": "1a",
        "empty": "",
        "65_long": "a" * 65,
        "number": 1,
        "accent": "é",
        "newline": "a\n",
    }.items():
        yield f"id_{name}", of(WARNER, "id", value)
    for name, value in {
        "unknown": "essay",
        "list": ["yes_no"],
        "object": {},
        "null": None,
        "inherited": "toString",
    }.items():
        yield f"kind_{name}", of(WARNER, "kind", value)
    for name, value in {
        "one": ["a"],
        "none": [],
        "text": "abc",
        "null": None,
        "twice": ["a", "b", "a"],
        "number": ["a", "b", 3],
        "empty_text": ["a", "b", ""],
    }.items():
        yield f"options_{name}", of(KRR, "options", value)
    yield "options_1001", of(KRR, "options", [f"o{number}" for number in range(1001)])
    yield "options_more_than_channel", of(KRR, "options", ["a", "b", "c", "d"])


def texts_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Lengths in code points, control characters, emptiness."""
    for name, value in {
        "empty": "",
        "spaces": " \u00a0\u3000\u2028",
        "number": 1,
        "list": ["x"],
        "null": None,
        "newline": "a\nb",
        "tab": "a\tb",
    }.items():
        yield f"title_{name}", put("title", value)
    yield "title_201_long", put("title", "é" * 201)
    yield "title_201_beyond_first_plane", put("title", "\U0001f600" * 201)
    yield "title_delete_character", put("title", "a\x7fb")
    yield "title_c1_control", put("title", "a\x85b")
    yield "title_nul", put("title", "a\0b")
    yield "intro_4001_long", put("intro", "i" * 4001)
    yield "intro_carriage_return", put("intro", "a\r\nb")
    yield "intro_is_null", put("intro", None)
    yield "text_1001_long", of(WARNER, "text", "t" * 1001)
    yield "text_newline", of(WARNER, "text", "a\nb")
    yield "text_empty", of(WARNER, "text", "")
    yield "option_201_long", of(KRR, "options", ["o" * 201, "b", "c"])
    yield "option_control", of(KRR, "options", ["a\x1b[0m", "b", "c"])


def mangat_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Mangat's design with a parameter that it does not take, or not so."""
    for truth in ("0", "1", "3/2", 0.75, None):
        yield f"mangat_truth_{truth!r}", mechanism(TRUTH, {"name": "mangat", "truth": truth})
    yield "mangat_with_epsilon", mechanism(TRUTH, {"name": "mangat", "truth": "0.75", "epsilon": "1"})
    yield "mangat_for_choice", mechanism(KRR, {"name": "mangat", "truth": "0.75"})


def mechanisms_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Mechanisms that are unknown, do not fit, or are not in their published spelling."""
    for name, value in {"list": ["warner"], "text": "warner", "null": None}.items():
        yield f"mechanism_is_{name}", mechanism(WARNER, value)
    yield "mechanism_without_name", mechanism(WARNER, {"epsilon": "1"})
    for name, value in {
        "unknown": "laplace",
        "inherited": "constructor",
        "list": ["warner"],
        "capital": "Warner",
        "null": None,
    }.items():
        yield f"name_{name}", mechanism(WARNER, {"name": value, "epsilon": "1"})
    yield "name_of_the_analysis_only", mechanism(TRUTH, {"name": "mangat", "truth": "0.75"})
    yield "name_of_the_library_only", mechanism(TRUTH, {"name": "triangular", "decoy_share": "0.75"})
    yield from mangat_at_fault()
    yield "warner_for_three_options", mechanism(KRR, {"name": "warner", "epsilon": "1"})
    yield "or_poll_for_choice", mechanism(KRR, {"name": "or_poll", **DECOY})
    spellings = [
        "1.0",
        "01",
        "1e0",
        " 1",
        "+1",
        "1.",
        "-1",
        "0",
        "",
        "NaN",
        "Infinity",
        "20.000001",
        "1/1",
        "2/2",
        "１",
        "1\n",
    ]
    for value in [*spellings, 1, True, None, ["1"], {"value": "1"}]:
        yield f"epsilon_{value!r}", mechanism(WARNER, {"name": "warner", "epsilon": value})
    yield (
        "epsilon_too_small_for_integers",
        mechanism(WARNER, {"name": "warner", "epsilon": "0.00000000000000001"}),
    )
    yield "epsilon_as_fraction", mechanism(WARNER, {"name": "warner", "epsilon": "1/3"})
    yield "epsilon_missing", mechanism(KRR, {"name": "krr"})
    yield "epsilon_and_truth", mechanism(WARNER, {"name": "warner", "epsilon": "1", "truth": "0.75"})
    for value in ("3/4", "75/100", "0.750", "0.5", "1", "0", "1.5", "0.25", "0/0", "3/0", 0.75):
        if value != 0.75:
            yield f"truth_{value}", mechanism(TRUTH, {"name": "warner", "truth": value})
    for name, values in {
        "over_1": ["0.5", "0.6"],
        "three": ["0", "1/6", "0"],
        "zero": ["0", "0"],
        "numbers": [0, 1],
        "text": "1/6",
        "swapped": ["1/6", "0"],
        "missing": None,
    }.items():
        yield f"forced_{name}", mechanism(FORCED, {"name": "forced", "forced": values})
    yield "parameter_of_another_mechanism", mechanism(KRR, {"name": "krr", "epsilon": "1", "truth": "0.75"})
    yield "parameter_unknown", mechanism(WARNER, {"name": "warner", "epsilon": "1", "seed": "7"})
    yield "decoy_on_warner", mechanism(WARNER, {"name": "warner", "epsilon": "1", "decoy": "x"})
    yield "decoy_missing", mechanism(OR_POLL, {"name": "or_poll", "decoy_counts": [412, 1000]})
    for name, value in {
        "empty": "",
        "list": ["x"],
        "null": None,
        "1001_long": "d" * 1001,
        "newline": "a\nb",
    }.items():
        yield f"decoy_{name}", mechanism(OR_POLL, {"name": "or_poll", **DECOY, "decoy": value})
    yield "decoy_share_and_counts", mechanism(OR_POLL, {"name": "or_poll", **DECOY, "decoy_share": "0.412"})
    yield "decoy_share_missing", mechanism(OR_POLL, {"name": "or_poll", "decoy": "x"})
    for value in ("0", "1", "1.1", "0.50", "0.0000000000000000001", 1, ["0.5"]):
        yield (
            f"decoy_share_{value!r}",
            mechanism(OR_POLL, {"name": "or_poll", "decoy": "x", "decoy_share": value}),
        )
    for name, counts in {
        "none": [0, 9],
        "all": [9, 9],
        "over": [10, 9],
        "negative": [-1, 9],
        "text": ["1", "9"],
        "true": [True, 9],
        "three": [1, 2, 9],
        "object": {"0": 1},
        "2_53": [1, SCALE],
    }.items():
        yield (
            f"decoy_counts_{name}",
            mechanism(OR_POLL, {"name": "or_poll", "decoy": "x", "decoy_counts": counts}),
        )
    yield "crosswise_with_half", mechanism(OR_POLL, {"name": "crosswise", "decoy": "x", "decoy_share": "0.5"})
    yield "unrelated_without_truth", mechanism(OR_POLL, {"name": "unrelated", **DECOY})


def channels_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Channels that are none, or that are another mechanism's."""
    for fault, value in bad_forms():
        yield f"channel_{fault}", of(WARNER, "channel", value)
    identity, warner_channel = Channel.identity(2).to_json(), BASE["questions"][WARNER]["channel"]
    weight = warner_channel["weight"]
    yield "epsilon_above_the_stated_by_one_weight", of(WARNER, "channel", "weight", weight - 1)
    yield "epsilon_below_the_stated_by_one_weight", of(WARNER, "channel", "weight", weight + 1)
    yield "epsilon_of_another_question", of(WARNER, "channel", BASE["questions"][TRUTH]["channel"])
    yield "unbounded_under_the_name_of_warner", of(WARNER, "channel", identity)
    yield "unbounded_under_the_name_of_krr", of(KRR, "channel", Channel.identity(3).to_json())
    yield "unbounded_under_or_poll_with_epsilon", of(FLIP, "channel", identity)
    yield "unbounded_forced_where_none_is_stated", of(FORCED, "channel", identity)
    yield "bounded_under_or_poll_without_epsilon", of(OR_POLL, "channel", warner_channel)
    yield "answers_swapped", of(OR_POLL, "channel", {"form": "matrix", "rows": [[0, SCALE], [SCALE, 0]]})
    yield (
        "same_weights_in_the_other_form",
        of(
            WARNER,
            "channel",
            {"form": "matrix", "rows": [list(r) for r in Channel.from_json(warner_channel).rows]},
        ),
    )
    yield (
        "rows_of_forced_swapped",
        of(FORCED, "channel", "rows", BASE["questions"][FORCED]["channel"]["rows"][::-1]),
    )
    yield "one_row_of_another_person", of(FORCED, "channel", "rows", [[0, SCALE], [0, SCALE]])


def least() -> int:
    """The least weight w of a table [[2^53 - w, w], [w, 2^53 - w]] whose exact ratio keeps epsilon 1."""
    weight = -int(-SCALE // (LIMIT + 1))
    assert Channel.krr(2, weight).ratio <= LIMIT < Channel.krr(2, weight - 1).ratio
    return weight


def table(weight: int) -> dict[str, Any]:
    """Two answers, two reports."""
    return {"form": "matrix", "rows": [[SCALE - weight, weight], [weight, SCALE - weight]]}


def wide(weight: int) -> dict[str, Any]:
    """Two answers, four reports: each column of the table is cut in half."""
    low = -(-weight // 2)
    high = SCALE // 2 - low
    return {"form": "matrix", "rows": [[high, high, low, low], [low, low, high, high]]}


def narrow(weight: int) -> dict[str, Any]:
    """Three answers, two reports."""
    return {"form": "matrix", "rows": [*table(weight)["rows"], [SCALE // 2, SCALE // 2]]}


def never(weight: int) -> dict[str, Any]:
    """A third report that no answer leads to."""
    return {"form": "matrix", "rows": [[*row, 0] for row in table(weight)["rows"]]}


def checked(channel: Any, options: list[str] | None = None, **mechanism: Any) -> list[Any]:
    """The base document with one more question, whose integers are checked against the epsilon that it states."""
    question = {"id": "table", "kind": "yes_no", "text": "Did you?", "channel": channel}
    if options:
        question |= {"kind": "choice", "options": options}
    question["mechanism"] = {"name": "matrix", **({"epsilon": "1"} | mechanism)}
    return put("questions", [*BASE["questions"], question])


def checked_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Tables that are no channel, do not fit their question, or break the epsilon that they state."""
    good = table(least())
    three = ["a", "b", "c"]
    yield "checked_rows_too_few", checked(good, options=three)
    yield "checked_rows_too_many", checked(narrow(least()))
    yield "checked_options_too_few", checked(BASE["questions"][KRR]["channel"])
    yield (
        "checked_row_sum_below",
        checked({"form": "matrix", "rows": [[SCALE - least() - 1, least()], good["rows"][1]]}),
    )
    yield (
        "checked_row_sum_above",
        checked({"form": "matrix", "rows": [good["rows"][0], [least() + 1, SCALE - least()]]}),
    )
    yield "checked_weight_negative", checked({"form": "matrix", "rows": [[SCALE, 0], [-1, SCALE]]})
    yield "checked_epsilon_above_by_one_integer", checked(table(least() - 1))
    for row in (0, 1):
        rows = [list(weights) for weights in good["rows"]]
        rows[row][row] += 2
        rows[row][1 - row] -= 2
        yield f"checked_epsilon_above_in_row_{row + 1}_only", checked({"form": "matrix", "rows": rows})
    yield "checked_krr_above_by_one_integer", checked({"form": "krr", "options": 2, "weight": least() - 1})
    yield "checked_unbounded", checked(Channel.identity(2).to_json())
    yield "checked_unbounded_in_one_report", checked({"form": "matrix", "rows": [[SCALE, 0], [SCALE - 1, 1]]})
    yield "checked_unbounded_at_the_largest_epsilon", checked(Channel.identity(2).to_json(), epsilon="20")
    yield "checked_lies_above_its_epsilon", checked(table(SCALE - least() + 1))
    yield "checked_without_form", checked({"rows": good["rows"]})
    yield "checked_channel_is_null", checked(None)
    missing = checked(good)[0].replace(
        '"mechanism":{"epsilon":"1","name":"matrix"}', '"mechanism":{"name":"matrix"}'
    )
    yield "checked_epsilon_missing", [missing]
    for value in (1, True, None, ["1"], "0", "-1", "20.1", "1/2", "", "x"):
        yield f"checked_epsilon_{value!r}", checked(good, epsilon=value)
    yield "checked_epsilon_in_another_spelling", checked(good, epsilon="1.0")
    yield "checked_parameter_rows", checked(good, rows=good["rows"])
    yield "checked_parameter_truth", checked(good, truth="0.75")
    yield "checked_with_a_decoy", checked(good, decoy="Brittany?")
    yield "checked_under_another_name", checked(good, name="table")
    yield "checked_total_above_the_cap", crowded()


def crowded() -> list[Any]:
    """Nineteen and a table that keeps its epsilon of 1.5: the total does not."""
    weight = -int(-SCALE // (exp_below(read_decimal("1.5", "epsilon")) + 1))
    flip = Survey.from_draft(survey(yes_no("q", {"name": "warner", "epsilon": "19"}))).document
    question = {"id": "t", "kind": "yes_no", "text": "?", "channel": table(weight)}
    flip["questions"].append(question | {"mechanism": {"name": "matrix", "epsilon": "1.5"}})
    return [dumps(flip).decode()]
