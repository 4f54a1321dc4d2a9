"""Options and fixtures that every room's tests share."""

from __future__ import annotations

import pytest
from hypothesis import settings

# The machines that run the tests are shared and noisy: how long an example takes says nothing.
settings.register_profile("hushpoll", deadline=None)
settings.load_profile("hushpoll")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests that take minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    # Deselected, not skipped: the short run reports only what it really ran.
    kept = [item for item in items if "long" not in item.keywords]
    config.hook.pytest_deselected(items=[item for item in items if "long" in item.keywords])
    items[:] = kept
