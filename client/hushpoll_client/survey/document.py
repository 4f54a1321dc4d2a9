"""The bytes of a survey document: strict JSON within its limits, and which of the two forms it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushpoll_client import strict_json
from hushpoll_client.errors import DocumentError, SurveyError
from hushpoll_client.fields import read_fields, short
from hushpoll_client.limits import MAX_BYTES, VERSION
from hushpoll_client.mechanism import MECHANISMS
from hushpoll_client.messages import msg

__all__ = ["Settings", "check_version", "is_published", "parse_document", "read_settings", "too_large"]

_MAX_DRAFT_BYTES = 1 << 22


@dataclass(frozen=True)
class Settings:
    """Choices of the designer that are part of the hash."""

    kiosk: bool = False
    invitation: bool = False


def parse_document(data: str | bytes, *, floats: bool = True) -> Any:
    """Return the JSON value of a document; raise SurveyError if it is too large or no strict JSON."""
    if len(data) > _MAX_DRAFT_BYTES:
        raise too_large(len(data))
    try:
        # A draft's NaN is refused by the field that holds it, so that the message names the question.
        return strict_json.loads(data, floats=floats, constants=floats)
    except DocumentError as error:
        raise SurveyError((), error.problem, error.remedy) from None


def too_large(size: int) -> SurveyError:
    """Return the error for a document of `size` bytes."""
    return SurveyError(
        (),
        msg("it has {size} bytes, more than {most} as published", size=size, most=MAX_BYTES),
        "ask fewer questions or shorten texts",
    )


def is_published(value: object, data: bytes) -> bool:
    """Return whether a document is in its published form, where every question has a channel.

    A draft's question may have one too, if its channel was computed by the analysis.
    """
    if not isinstance(value, Mapping):
        return False
    questions = value.get("questions")
    if not isinstance(questions, list) or not questions:
        return False
    blocks = [block for block in _as_list(value.get("blocks")) if isinstance(block, Mapping)]
    members = [name for block in blocks for name in _as_list(block.get("questions"))]
    carriers = [*(item for item in questions if _id_of(item) not in members), *blocks]
    if not all(isinstance(item, Mapping) and "channel" in item for item in carriers):
        return False
    computed = sum(map(_is_computed, questions))
    return computed < len(questions) or strict_json.dumps(value) == data


def check_version(version: object) -> None:
    """Raise SurveyError unless this client can read the document's version."""
    if type(version) is not int or version != VERSION:
        raise SurveyError(
            ("hushpoll",),
            msg("version {version} is not known", version=short(version)),
            msg('write "hushpoll": {version}', version=VERSION),
        )


def read_settings(value: object, published: bool) -> Settings:
    """Return the settings, each true or false."""
    settings = read_fields(value, ("settings",), (), ("kiosk", "invitation"), published)
    for key, flag in settings.items():
        if type(flag) is not bool:
            raise SurveyError(
                ("settings", key),
                msg("must be true or false, got {flag}", flag=short(flag)),
                "write true or false",
            )
    return Settings(**settings)


def _is_computed(question: object) -> bool:
    """Return whether a question's mechanism has a channel that clients check and do not compute."""
    mechanism = None
    if isinstance(question, Mapping):
        mechanism = question.get("mechanism")
    name = None
    if isinstance(mechanism, Mapping):
        name = mechanism.get("name")
    return isinstance(name, str) and name in MECHANISMS and not MECHANISMS[name].recompiled


def _id_of(question: object) -> object:
    if isinstance(question, Mapping):
        return question.get("id")
    return None


def _as_list(value: object) -> list[Any]:
    if isinstance(value, list):
        return value
    return []
