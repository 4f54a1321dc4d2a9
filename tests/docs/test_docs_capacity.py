"""The tables of docs/scale.md are what the measurements give."""

from __future__ import annotations

import importlib.util
import json
from copy import deepcopy
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def capacity() -> ModuleType:
    spec = importlib.util.spec_from_file_location("capacity", DOCS / "tools" / "capacity.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_measurements(capacity: ModuleType) -> None:
    page, measurements = (
        (DOCS / "scale.md").read_text("utf-8"),
        json.loads((DOCS / "data" / "scale.json").read_text()),
    )
    assert capacity.page_with_tables(page, measurements) == page, "run: python docs/tools/capacity.py"
    for bench, changed in (
        ("crowd", "visit_processor_ms"),
        ("scale", "ns_each"),
        ("models", "most_megabytes"),
        ("weighted", "most_megabytes"),
        ("submit", "sqlite_bytes_each"),
    ):
        other = deepcopy(measurements)
        other[bench][changed] *= 2
        assert capacity.page_with_tables(page, other) != page, f"nothing follows from {changed}"


def test_the_cost_of_a_million_is_the_sum_of_its_parts(capacity: ModuleType) -> None:
    measurements = {
        "crowd": {"visit_processor_ms": 36.0},
        "results": {"counting_us": 0.0},
        "scale": {"ns_each": 0.0, "bytes_each": 0.0},
        "submit": {"sqlite_bytes_each": 1000.0},
    }
    costs = capacity.per_million(measurements)
    assert costs["visit"] == pytest.approx(36_000)  # ten hours of a core
    assert costs["database"] == 1e9
    assert capacity.money(costs, 1_000_000) == pytest.approx(10 * 0.05 + 3 * 0.10)
    assert capacity.money(costs, 2_000_000) == pytest.approx(2 * capacity.money(costs, 1_000_000))
