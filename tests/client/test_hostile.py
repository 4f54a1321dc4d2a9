"""Documents with one fault each are refused at their place; similar ones without a fault are accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hushpoll_client import Survey, SurveyError

FOLDER = Path(__file__).parents[1] / "vectors"


def corpus(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / name).read_text(encoding="ascii"))


def assemble(pieces: list[Any]) -> bytes:
    """Text, {"hex": bytes that are no text} or [text, times]."""
    data = b""
    for piece in pieces:
        if isinstance(piece, dict):
            data += bytes.fromhex(piece["hex"])
        else:
            text, times = piece if isinstance(piece, list) else (piece, 1)
            data += text.encode() * times
    return data


def test_the_corpus_is_large_and_names_each_fault_once() -> None:
    faults = [document["fault"] for document in corpus("hostile.json")]
    assert len(faults) >= 50
    assert len(set(faults)) == len(faults)


@pytest.mark.parametrize("document", corpus("hostile.json"), ids=lambda document: document["fault"])
def test_refused(document: dict[str, Any]) -> None:
    data = assemble(document["parts"])
    with pytest.raises(SurveyError) as refusal:
        Survey.from_published(data, document["hash"], document["cap"])
    assert list(refusal.value.path) == document["path"]
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 600


@pytest.mark.parametrize("document", corpus("controls.json"), ids=lambda document: document["name"])
def test_accepted(document: dict[str, Any]) -> None:
    data = assemble(document["parts"])
    assert Survey.from_published(data, document["hash"], document["cap"]).canonical == data
