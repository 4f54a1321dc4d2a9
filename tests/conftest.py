"""Options and fixtures that every room's tests share."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# The machines that run the tests are shared and noisy: how long an example takes says nothing. The short run tries the
# same examples each time, so that it fails for those who broke something; the long one looks for new ones.
settings.register_profile(
    "same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("new", deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("new" if config.getoption("--long") else "same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests that take minutes")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Leave word of how the run ended: `make` tells a test that failed from a run that broke off no more."""
    if not hasattr(session.config, "workerinput") and getattr(session.config, "cache", None) is not None:
        session.config.cache.set("tests/ended", int(exitstatus))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    # Deselected, not skipped: the short run reports only what it really ran.
    kept = [item for item in items if "long" not in item.keywords]
    config.hook.pytest_deselected(items=[item for item in items if "long" in item.keywords])
    items[:] = kept
