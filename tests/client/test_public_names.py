"""The names outsiders rely on."""

from __future__ import annotations

import hushpoll_client
import pytest


def test_all_is_complete() -> None:
    names = hushpoll_client.__all__
    assert len(set(names)) == len(names)
    assert all(hasattr(hushpoll_client, name) for name in names)


@pytest.mark.parametrize("name", ["Channel", "Survey", "mechanisms", "randomize"])
def test_the_contracts_names_are_there(name: str) -> None:
    assert name in hushpoll_client.__all__


def test_randomize_is_a_function_even_after_its_module_is_imported() -> None:
    import hushpoll_client.randomize

    assert callable(hushpoll_client.randomize)
    channel = hushpoll_client.mechanisms.warner(truth="3/4").device
    assert hushpoll_client.randomize(channel, 1, lambda count: b"\x00" * count) == 1
