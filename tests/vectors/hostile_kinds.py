"""Hostile documents of the later kinds, forms and rules, each with one fault, and controls that are accepted."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hushpoll_client import SCALE, Survey, mechanisms
from hushpoll_client.strict_json import dumps, loads
from surveys import choice, skip_rules, survey, two_valued, yes_no

TICKS = {"kind": "multiple", "text": "Which?", "options": [*"abcd"]}
NUMBER = {"kind": "number", "text": "How many?", "min": 0, "max": 80, "step": 1}
BASE = Survey.from_draft(
    survey(
        choice("set", [*"abcdef"], {"name": "subset", "epsilon": 1, "size": 2}),
        {"id": "joint", **TICKS, "mechanism": {"name": "sampled", "epsilon": 1, "ask": 2}},
        {"id": "item", **TICKS, "at_most": 2, "mechanism": {"name": "padded", "epsilon": 1}},
        {
            "id": "scale",
            "kind": "scale",
            "text": "How often?",
            "points": 5,
            "labels": ["Never", "Always"],
            "mechanism": {"name": "designed", "epsilon": 1, "target": "cumulative"},
            "channel": two_valued(5, 9, "1"),
        },
        {"id": "mean", **NUMBER, "unit": "hours", "mechanism": {"name": "krr", "epsilon": 1}},
        {"id": "bins", **NUMBER, "mechanism": {"name": "krr", "epsilon": 1, "target": "distribution"}},
        *skip_rules(),
        title="Kinds",
    )
).document
SET, JOINT, ITEM, SCALE_QUESTION, MEAN, BINS, CHEATED, CAUGHT, WHY, FEAR = range(10)


def of(number: int, *path_and_value: Any) -> list[Any]:
    """The base document with a change in one question; without a value, with something left out."""
    *path, last, value = path_and_value
    document = copy.deepcopy(BASE)
    target: Any = document["questions"][number]
    for key in path:
        target = target[key]
    if value is _GONE:
        del target[last]
    else:
        target[last] = value
    return [dumps(document).decode()]


_GONE = object()


def first_points_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Scales that begin at something else than 0, and a number that has a first point."""
    for value in (1, 2, -1, "0", True, False, None, [], 0.5):
        yield f"first_{value}", of(SCALE_QUESTION, "first", value)
    yield "first_of_a_number", of(MEAN, "first", 0)


def kinds_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Keys of kinds, and skip rules."""
    for value in (1, 12, 0, -1, "5", True, None, [5], 2**53):
        yield f"points_{value}", of(SCALE_QUESTION, "points", value)
    yield "points_missing", of(SCALE_QUESTION, "points", _GONE)
    for name, labels in {
        "three": ["a", "b", "c"],
        "one": ["a"],
        "empty": [],
        "null": None,
        "twice": ["a", "a"],
        "number": ["a", 1],
        "blank": ["a", " "],
        "text": "ab",
    }.items():
        yield f"labels_{name}", of(SCALE_QUESTION, "labels", labels)
    for value in ("median", "", None, 1, ["mean"]):
        yield f"target_{value}", of(SCALE_QUESTION, "mechanism", "target", value)
    yield "target_of_a_number_under_a_scale", of(SCALE_QUESTION, "mechanism", "target", "distribution")
    yield "target_missing", of(SCALE_QUESTION, "mechanism", "target", _GONE)
    yield "target_on_a_choice", of(SET, "mechanism", "target", "shares")
    yield "target_cumulative_under_one_bit", _one_bit(SCALE_QUESTION, 5, {"target": "cumulative"})
    yield "target_shares_under_one_bit", _one_bit(SCALE_QUESTION, 5, {"target": "shares"})
    yield "target_distribution_under_one_bit", _one_bit(BINS, 20, {"target": "distribution", "bins": 20})
    yield "bins_on_a_scale", of(SCALE_QUESTION, "mechanism", "bins", 5)
    for key in ("min", "max", "step"):
        yield f"{key}_missing", of(MEAN, key, _GONE)
        for value in (0, None, "", "x", "1.0", "01", "1e1", "1/2", "--1", "+1", True, ["1"], "-0"):
            yield f"{key}_{value}", of(MEAN, key, value)
    for key, value in (
        ("min", "80"),
        ("min", "81"),
        ("max", "0"),
        ("step", "0"),
        ("step", "-1"),
        ("step", "3"),
    ):
        yield f"{key}_{value}_in_the_range", of(MEAN, key, value)
    yield "step_makes_a_million_and_one_steps", of(MEAN, "max", "1000001")
    yield "step_too_small_for_the_range", of(MEAN, "step", "0.00001")
    for name, value in {"empty": "", "null": None, "long": "h" * 41, "newline": "a\nb", "number": 1}.items():
        yield f"unit_{name}", of(MEAN, "unit", value)
    yield "bins_beside_a_mean", of(MEAN, "mechanism", "bins", 20)
    for value in (1, 65, 82, "20", None, True, 0):
        yield f"bins_{value}", of(BINS, "mechanism", "bins", value)
    yield "bins_missing", of(BINS, "mechanism", "bins", _GONE)
    yield "bins_other_than_the_channel_s", of(BINS, "mechanism", "bins", 19)
    for value in (0, 5, -1, "2", None, True, [2], {}):
        yield f"at_most_{value}", of(ITEM, "at_most", value)
    yield "at_most_missing_under_padded", of(ITEM, "at_most", _GONE)
    yield "at_most_other_than_the_channel_s", of(ITEM, "at_most", 3)
    yield "ticks_under_warner", of(JOINT, "mechanism", {"name": "warner", "epsilon": "1"})
    yield "ticks_under_krr", of(JOINT, "mechanism", {"name": "krr", "epsilon": "1"})
    yield "choice_under_sampled", of(SET, "mechanism", {"name": "sampled", "epsilon": "1", "ask": 2})
    yield "choice_under_designed", of(SET, "mechanism", {"name": "designed", "epsilon": "1"})
    yield "ticks_with_one_option", of(JOINT, "options", ["a"])
    yield "ticks_with_an_option_twice", of(JOINT, "options", [*"abca"])


def rules_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Skip rules that point forward, in a circle or nowhere."""
    rule = {"question": "cheated", "answers": ["Yes"]}
    for name, value in {
        "null": None,
        "empty": {},
        "list": ["cheated"],
        "text": "cheated",
        "without_answers": {"question": "cheated"},
        "with_more": {**rule, "not": True},
        "forward": {"question": "why", "answers": ["Fear"]},
        "to_itself": {"question": "caught", "answers": ["Yes"]},
        "to_nobody": {**rule, "question": "nobody"},
        "to_a_number": {**rule, "question": 6},
        "to_a_scale": {"question": "scale", "answers": ["2"]},
        "to_ticks": {"question": "joint", "answers": ["a"]},
        "no_answer": {**rule, "answers": []},
        "answer_unknown": {**rule, "answers": ["Maybe"]},
        "answer_number": {**rule, "answers": [1]},
        "answer_text": {**rule, "answers": "Yes"},
        "answer_twice": {**rule, "answers": ["Yes", "Yes"]},
        "all_answers": {**rule, "answers": ["No", "Yes"]},
    }.items():
        yield f"after_{name}", of(CAUGHT, "after", value)
    yield "after_answers_in_another_order", of(FEAR, "after", "answers", ["Fear", "Time"])
    yield "after_left_out_but_the_channel_has_its_answer", of(CAUGHT, "after", _GONE)
    yield "after_on_a_question_whose_channel_lacks_its_answer", of(CHEATED, "after", rule)
    yield "after_on_a_scale", of(SCALE_QUESTION, "after", {"question": "set", "answers": ["a"]})
    yield "after_on_a_number", of(MEAN, "after", {"question": "set", "answers": ["a"]})
    yield "after_on_ticks", of(ITEM, "after", {"question": "set", "answers": ["a"]})


def forms_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Channels of the later forms that are not their mechanism's, or that break the epsilon stated."""
    weight = BASE["questions"][SET]["channel"]["weight"]
    yield "subset_weight_above_by_one", of(SET, "channel", "weight", weight + 1)
    yield "subset_weight_below_by_one", of(SET, "channel", "weight", weight - 1)
    yield "subset_size_other_than_stated", of(SET, "channel", "size", 3)
    yield "subset_size_stated_otherwise", of(SET, "mechanism", "size", 3)
    for value in (0, 1, 6, 7, "2", None, True):
        yield f"subset_size_{value}", of(SET, "mechanism", "size", value)
    yield "subset_size_missing", of(SET, "mechanism", "size", _GONE)
    yield "subset_options_fewer_than_the_question_s", of(SET, "channel", "options", 5)
    pair = BASE["questions"][JOINT]["channel"]["weights"][0]
    yield "sampled_weight_below_by_one", of(JOINT, "channel", "weights", [[pair[0], pair[1] - 1]])
    yield "sampled_weight_above_by_one", of(JOINT, "channel", "weights", [[pair[0], pair[1] + 1]])
    for value in (0, 5, "2", None, True, 1):
        yield f"sampled_ask_{value}", of(JOINT, "mechanism", "ask", value)
    yield "sampled_ask_missing", of(JOINT, "mechanism", "ask", _GONE)
    yield "sampled_sizes_of_three", of(JOINT, "channel", "sizes", [2, 2, 3, 2])
    weight = BASE["questions"][ITEM]["channel"]["weight"]
    yield "padded_weight_above_by_one", of(ITEM, "channel", "weight", weight + 1)
    yield "padded_weight_below_by_one", of(ITEM, "channel", "weight", weight - 1)
    good = BASE["questions"][SCALE_QUESTION]["channel"]
    for end in (0, -1):
        high = list(good["high"])
        high[end] = 3 * high[end]
        yield f"columns_ratio_too_large_{end}", of(SCALE_QUESTION, "channel", "high", high)
    yield "columns_ratio_too_large_in_the_last", of(SCALE_QUESTION, "channel", _squeezed(good))
    yield "columns_of_four_answers", of(SCALE_QUESTION, "channel", two_valued(4, 9, "1"))
    yield "columns_epsilon_stated_smaller", of(SCALE_QUESTION, "mechanism", "epsilon", "0.01")
    yield "designed_without_epsilon", of(SCALE_QUESTION, "mechanism", "epsilon", _GONE)
    joint, item = (BASE["questions"][number]["channel"] for number in (JOINT, ITEM))
    for name, channel in (("sampled", joint), ("padded", item)):
        yield f"{name}_under_designed", of(SCALE_QUESTION, "channel", channel)
    yield from _ordered_at_fault()


def _ordered_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Tables of mechanisms for ordered answers that are made for a larger epsilon than the document states."""
    points = BASE["questions"][SCALE_QUESTION]["points"]
    target = {key: BASE["questions"][SCALE_QUESTION]["mechanism"][key] for key in ("target",)}
    for constructor in (mechanisms.geometric, mechanisms.exponential, mechanisms.square_wave):
        mechanism = constructor(points, "1.001")
        stated = {"name": mechanism.name, "epsilon": "1", **target}
        changed = of(SCALE_QUESTION, "mechanism", stated)
        document = loads(changed[0])
        document["questions"][SCALE_QUESTION]["channel"] = mechanism.device.to_json()
        yield f"{mechanism.name}_ratio_too_large", [dumps(document).decode()]


def _one_bit(number: int, rows: int, target: dict[str, Any]) -> list[Any]:
    """A question under the one bit for a mean, whose integers keep its epsilon."""
    mechanism = mechanisms.one_bit(rows, 1)
    document = copy.deepcopy(BASE)
    document["questions"][number] |= {
        "mechanism": {"name": mechanism.name, "epsilon": "1", **target},
        "channel": mechanism.device.to_json(),
    }
    return [dumps(document).decode()]


def _squeezed(channel: dict[str, Any]) -> dict[str, Any]:
    """Columns within the epsilon whose remainder is not: they leave next to nothing to the answers in many sets."""
    low = SCALE // 10
    return channel | {"sets": ["01"] * 8, "low": [low] * 8, "high": [int(low * 1.24)] * 8}


def controls() -> Iterator[tuple[str, list[Any]]]:
    """Documents close to the hostile ones that every client accepts."""
    yield "kinds", [dumps(BASE).decode()]
    yield "a_scale_without_labels", of(SCALE_QUESTION, "labels", _GONE)
    yield "a_scale_with_a_label_for_each_point", of(SCALE_QUESTION, "labels", [*"abcde"])
    yield "another_target", of(SCALE_QUESTION, "mechanism", "target", "mean")
    yield "target_mean_under_one_bit", _one_bit(SCALE_QUESTION, 5, {"target": "mean"})
    yield (
        "a_designed_table",
        of(SCALE_QUESTION, "channel", {"form": "krr", "options": 5, "weight": SCALE // 6}),
    )
    document = copy.deepcopy(BASE)
    document["anchor"] = {"question": "cheated", "share": "1/3"}
    yield "an_anchor", [dumps(document).decode()]
    document = copy.deepcopy(BASE)
    document["series"] = {"name": "Exam honesty", "wave": 1000, "previous": "0123456789abcdef" * 4}
    yield "a_series", [dumps(document).decode()]
    yield "a_number_without_unit", of(MEAN, "unit", _GONE)
    yield "a_negative_minimum", of(MEAN, "min", "-80")
    yield "a_rule_of_more_answers", of(CAUGHT, "after", {"question": "set", "answers": [*"abc"]})
    yield "a_rule_behind_a_rule_with_all_answers", of(FEAR, "after", "answers", ["Time", "Fear", "Habit"])


def bad_forms() -> Iterator[tuple[str, Any]]:
    """Channels that break the rules of their own form."""
    half = SCALE // 2
    columns = two_valued(5, 4, "1")
    for key, values in {
        "options": [1, 65, 0, "5", None, True, 9],
        "sets": [
            None,
            [],
            ["1f"] * 2,
            ["1f", "1f", "3f"],
            ["1F"] * 3,
            ["01f"] * 3,
            ["1"] * 3,
            [1, 2, 3],
            ["0g"] * 3,
        ],
        "low": [None, [], [1, 1], [0, 1, 1], [-1, 1, 1], [True, 1, 1], ["1", 1, 1], [half, half, half]],
        "high": [None, [1] * 4, [0, 1, 1], [half, half, half], [1.5, 1, 1]],
    }.items():
        for number, value in enumerate(values):
            yield f"columns_{key}_{number}", columns | {key: value}
    many = two_valued(5, 64, "1")
    extended = {key: [*many[key], many[key][0]] for key in ("sets", "low", "high")}
    yield "columns_65_outcomes", many | extended
    yield "columns_with_rows", columns | {"rows": []}
    subset = {"form": "subset", "options": 6, "size": 2, "weight": half}
    for key, values in {
        "options": [2, 1, 1001, "6", None, True],
        "size": [0, 1, 6, 7, "2", None, True],
        "weight": [0, -1, SCALE, "1", None, True],
    }.items():
        for value in values:
            yield f"subset_{key}_{value}", subset | {key: value}
    sampled = {"form": "sampled", "sizes": [2, 3, 2], "ask": 2, "weights": [[4, 10**12], [6, 10**12]]}
    for key, values in {
        "sizes": [None, [], [2], [1, 3, 2], [2, 3, "2"], [True, 3, 2], [2, 3, 100_001], [2] * 1001],
        "ask": [0, 4, -1, "2", None, True],
        "weights": [
            None,
            [],
            [[4, 10**12]],
            [[6, 10**12], [4, 10**12]],
            [[4, 10**12], [6, 0]],
            [[4, 10**12], [6]],
            [[4, 10**12], [6, SCALE // 6 + 1]],
            [[4, SCALE // 4], [6, 10**12]],
            [[4, 10**12], [6, 10**12], [9, 10**12]],
            [[4, 10**12], [7, 10**12]],
            [4, 6],
        ],
    }.items():
        for number, value in enumerate(values):
            yield f"sampled_{key}_{number}", sampled | {key: value}
    twos = {"form": "sampled", "sizes": [2] * 60, "ask": 17, "weights": [[2**17, 10**6]]}
    yield "sampled_more_than_100000_joint_answers", twos
    wide = {"form": "sampled", "sizes": [2] * 100, "ask": 16, "weights": [[2**16, 10**6]]}
    yield "sampled_more_than_2_53_reports", wide
    padded = {"form": "padded", "options": 4, "at_most": 2, "weight": half}
    for key, values in {
        "options": [1, 0, 1001, "4", None, True],
        "at_most": [0, 5, -1, "2", None, True],
        "weight": [0, -1, SCALE, "1", None, True],
    }.items():
        for value in values:
            yield f"padded_{key}_{value}", padded | {key: value}


def anchors_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Anchors on a question that is not asked of all, or with a share that gives no information."""
    good = {"question": "cheated", "share": "0"}
    for name, value in {
        "null": None,
        "empty": {},
        "text": "cheated",
        "list": ["cheated"],
        "without_share": {"question": "cheated"},
        "with_more": {**good, "option": "Yes"},
        "of_nobody": {**good, "question": "nobody"},
        "of_a_scale": {**good, "question": "scale"},
        "of_a_choice": {**good, "question": "set"},
        "of_a_skipped_question": {**good, "question": "caught"},
        "of_a_number": {**good, "question": 6},
        "share_number": {**good, "share": 0},
        "share_half": {**good, "share": "0.5"},
        "share_above_one": {**good, "share": "1.1"},
        "share_negative": {**good, "share": "-0.1"},
        "share_in_another_spelling": {**good, "share": "0.0"},
        "share_null": {**good, "share": None},
        "with_the_answer_yes": {**good, "answer": "Yes"},
        "with_an_empty_answer": {**good, "answer": ""},
        "of_a_scale_without_answer": {"question": "scale", "share": "1"},
        "of_a_scale_and_no_point_of_it": {"question": "scale", "share": "1", "answer": "9"},
        "of_a_scale_by_a_number": {"question": "scale", "share": "1", "answer": 2},
        "of_a_list_by_subsets": {"question": "set", "share": "1", "answer": "a"},
        "of_one_share_among_points": {"question": "scale", "share": "0.2", "answer": "2"},
        "of_ticks": {"question": "joint", "share": "1", "answer": "a"},
    }.items():
        document = copy.deepcopy(BASE)
        document["anchor"] = value
        yield f"anchor_{name}", [dumps(document).decode()]


def series_at_fault() -> Iterator[tuple[str, list[Any]]]:
    """Series that are none: no later wave, no hash of the wave before, no name."""
    good = {"name": "Exam honesty", "wave": 2, "previous": "ab" * 32}
    for name, value in {
        "null": None,
        "empty": {},
        "text": "Exam honesty",
        "without_previous": {"name": "Exam honesty", "wave": 2},
        "with_more": {**good, "of": 3},
        "name_empty": {**good, "name": ""},
        "name_number": {**good, "name": 2},
        "name_too_long": {**good, "name": "x" * 201},
        "wave_zero": {**good, "wave": 0},
        "wave_first": {**good, "wave": 1},
        "wave_too_many": {**good, "wave": 1001},
        "wave_text": {**good, "wave": "2"},
        "wave_true": {**good, "wave": True},
        "previous_null": {**good, "previous": None},
        "previous_short": {**good, "previous": "ab" * 31},
        "previous_upper": {**good, "previous": "AB" * 32},
        "previous_with_a_newline": {**good, "previous": "ab" * 32 + "\n"},
        "previous_list": {**good, "previous": ["ab" * 32]},
    }.items():
        document = copy.deepcopy(BASE)
        document["series"] = value
        yield f"series_{name}", [dumps(document).decode()]


def documents() -> Iterator[tuple[str, list[Any]]]:
    """Return fault and parts."""
    yield from kinds_at_fault()
    yield from first_points_at_fault()
    yield from rules_at_fault()
    yield from forms_at_fault()
    for fault, value in bad_forms():
        yield f"channel_{fault}", of(CHEATED, "channel", value)
    yield from anchors_at_fault()
    yield from series_at_fault()
    # A rule that points to a decoy: the device may know only the combination of two answers.
    decoy = yes_no("cheated", {"name": "or_poll", "decoy": "Brittany?", "decoy_counts": [412, 1000]})
    document = copy.deepcopy(BASE)
    document["questions"][CHEATED] = Survey.from_draft(survey(decoy)).document["questions"][0]
    yield "after_to_a_decoy", [dumps(document).decode()]
