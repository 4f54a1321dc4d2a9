"""Channels that break the rules of their own form, each with one fault."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hostile_kinds
from hushpoll_client import SCALE


def bad_forms() -> Iterator[tuple[str, Any]]:
    """Channels that break the rules of their own form."""
    half = SCALE // 2
    yield "null", None
    yield "list", []
    yield "text", "krr"
    yield "empty", {}
    yield "form_unknown", {"form": "laplace", "options": 2, "weight": half}
    yield "form_list", {"form": ["krr"], "options": 2, "weight": half}
    yield "key_unknown", {"form": "krr", "options": 2, "weight": 1, "seed": 7}
    yield "key_missing", {"form": "krr", "options": 2}
    yield "keys_of_the_other_form", {"form": "krr", "rows": [[half, half], [half, half]]}
    for name, value in {
        "zero": 0,
        "negative": -1,
        "true": True,
        "text": "5",
        "null": None,
        "list": [5],
        "2_53": SCALE,
    }.items():
        yield f"weight_{name}", {"form": "krr", "options": 2, "weight": value}
    yield "weight_leaves_nothing", {"form": "krr", "options": 3, "weight": half}
    for name, value in {"one": 1, "zero": 0, "negative": -2, "text": "2", "true": True, "three": 3}.items():
        if name != "three":
            yield f"options_{name}", {"form": "krr", "options": value, "weight": 1}
    rows: dict[str, Any] = {
        "null": None,
        "empty": [],
        "object": {"0": [half, half], "1": [half, half]},
        "one": [[half, half]],
        "one_column": [[SCALE], [SCALE]],
        "ragged": [[half, half], [half, half, 0]],
        "of_text": ["ab", "cd"],
        "of_null": [None, None],
        "weights_text": [[str(half), half], [half, half]],
        "weights_true": [[True, SCALE - 1], [half, half]],
        "weight_negative": [[-1, half, half + 1], [0, half, half]],
        "sum_above_by_one": [[half, half + 1], [half, half]],
        "sum_below_by_one": [[half, half], [half, half - 1]],
        "sum_zero": [[0, 0], [0, 0]],
        "65_rows": [[half, half]] * 65,
        "65_columns": [[SCALE, *[0] * 64]] * 2,
    }
    yield "rows_beside_a_weight", {"form": "matrix", "rows": [[half, half], [half, half]], "weight": 1}
    for name, value in rows.items():
        yield f"rows_{name}", {"form": "matrix", "rows": value}


def bad_channels() -> list[dict[str, Any]]:
    """The same channels outside a survey."""
    forms = [*bad_forms(), *hostile_kinds.bad_forms()]
    return [{"fault": fault, "channel": value} for fault, value in forms]
