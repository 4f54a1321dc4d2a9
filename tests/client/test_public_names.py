"""The names outsiders rely on."""

from __future__ import annotations

from pathlib import Path

import hushpoll_client
import pytest
from hushpoll_client import channel, errors, kind, mechanism


def test_all_is_complete() -> None:
    names = hushpoll_client.__all__
    assert len(set(names)) == len(names)
    assert all(hasattr(hushpoll_client, name) for name in names)
    assert set(errors.__all__) <= set(names)


def test_every_file_of_a_family_is_one_of_its_things() -> None:
    """A mechanism, form or kind whose file is not listed could not be used."""
    shared = {"__init__", "base", "by_hand", "decoy", "member", "ordered", "parameters", "profile", "wire"}
    for package, things in (
        (mechanism, {thing.__module__ for thing in mechanism.MECHANISMS.values()}),
        (channel, {thing.__module__ for thing in channel.Channel.forms.values()}),
        (kind, {type(thing).__module__ for thing in kind.KINDS.values()}),
    ):
        written = {file.stem for file in Path(str(package.__file__)).parent.glob("*.py")} - shared
        assert written == {name.rpartition(".")[2] for name in things if name.startswith("hushpoll_client")}
    for name in mechanism.MECHANISMS:
        assert name in mechanism.__all__ or not callable(getattr(mechanism, name, None))


@pytest.mark.parametrize("name", ["Channel", "Survey", "mechanisms", "randomize"])
def test_the_contracts_names_are_there(name: str) -> None:
    assert name in hushpoll_client.__all__


def test_randomize_is_a_function_even_after_its_module_is_imported() -> None:
    import hushpoll_client.randomize

    assert callable(hushpoll_client.randomize)
    channel = hushpoll_client.mechanisms.warner(truth="3/4").device
    assert hushpoll_client.randomize(channel, 1, lambda count: b"\x00" * count) == 1
