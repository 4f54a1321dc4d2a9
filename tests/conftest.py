"""Options and fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from hatch_build import TRANSLATIONS, compile_catalogues
from tests.environment import MEMORY

# The machines that run the tests are shared and noisy: how long an example takes says nothing. The short run tries the
# same examples each time, so that it fails for those who broke something; the long one looks for new ones.
settings.register_profile(
    "same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("new", deadline=None, suppress_health_check=[HealthCheck.too_slow])


# Workers take whole files from the front. Files with slow tests come first, so that both workers end together.
SLOW_FIRST = ("test_packaging.py", "docs", "browser", "analysis", "server")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        # Once, before any worker: also where a catalogue has changed since the installation.
        compile_catalogues(Path(__file__).parent.parent / TRANSLATIONS)
    settings.load_profile("new" if config.getoption("--long") else "same")
    # Whatever the machine's own server has as its settings.
    os.environ["HUSHPOLL_CONFIG"] = os.devnull
    if MEMORY is not None:
        # Read when the first temporary folder is made: SQLite then waits for no disk.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests that take minutes")


def _rank(item: pytest.Item) -> int:
    """Return how early a test's file is given to a worker."""
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    return SLOW_FIRST.index(folder) if folder in SLOW_FIRST else len(SLOW_FIRST)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=_rank)
    if config.getoption("--long"):
        return
    # Deselected, not skipped: the short run reports only what it really ran.
    selected = [item for item in items if "long" not in item.keywords]
    config.hook.pytest_deselected(items=[item for item in items if "long" in item.keywords])
    items[:] = selected
