"""What stands around the questions: who asks, consent, thanks, help, sections, the look. All of it is hashed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hushpoll_client.errors import SurveyError
from hushpoll_client.fields import Place, read_fields, read_text, short
from hushpoll_client.messages import msg

__all__ = [
    "KEYS",
    "MAX_HELP",
    "PAPER",
    "contrast",
    "read_help",
    "read_lines",
    "read_presentation",
    "read_url",
]

KEYS = ("asked_by", "consent", "thanks", "help", "sections", "look")
"""Keys of the document, all optional, that say nothing about privacy and everything about who asks."""
MAX_HELP = 20
_MOST_URL = 1000
_URLS = re.compile(
    r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?([/?#][!-~]*)?"
    r"|tel:\+?[0-9().-]{2,40}"
    r"|mailto:[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+"
)
_HASH = re.compile(r"[0-9a-f]{64}")
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_LAYOUTS = ("page", "steps")
PAPER = "#f6f4ee"
"""The darkest paper of the light scheme; in the dark one the page lightens the colour itself."""
_LEAST_CONTRAST = 4.5


def read_presentation(fields: Mapping[str, Any], ids: Sequence[str], published: bool) -> dict[str, Any]:
    """Read what stands around the questions, given their ids in the survey's order; only what is there."""
    readers: dict[str, Callable[[Any, Place, bool], Any]] = {
        "asked_by": _asked_by,
        "consent": lambda value, at, strict: read_text(value, at, "text", strict),
        "thanks": read_lines,
        "help": read_help,
        "sections": lambda value, at, strict: _sections(value, at, ids, strict),
        "look": _look,
    }
    return {key: reader(fields[key], (key,), published) for key, reader in readers.items() if key in fields}


def read_lines(value: object, at: Place, published: bool) -> str:
    """Read a text of several lines that says something."""
    text = read_text(value, at, "intro", published)
    if not text.strip():
        raise SurveyError(at, "is empty", "leave it out")
    return text


def read_url(value: object, at: Place) -> str:
    """Read an address that people can open without harm: https, tel or mailto."""
    if not isinstance(value, str) or len(value) > _MOST_URL or not _URLS.fullmatch(value):
        raise SurveyError(
            at,
            msg("{value} is not an address that can be opened here", value=short(value)),
            "write https://..., tel:+49... or mailto:name@example.org, without spaces",
        )
    return value


def read_help(value: object, at: Place, published: bool) -> list[dict[str, str]]:
    """Read addresses where people find help."""
    if not isinstance(value, list) or len(value) > MAX_HELP:
        raise SurveyError(
            at,
            msg("must be a list of 1 to {most} addresses", most=MAX_HELP),
            'write [{"label": ..., "url": ...}]',
        )
    entries = []
    for index, entry in enumerate(value):
        here = (*at, index)
        fields = read_fields(entry, here, ("label", "url"), published=published)
        label = read_text(fields["label"], (*here, "label"), "option", published)
        entries.append({"label": label, "url": read_url(fields["url"], (*here, "url"))})
    return entries


def _asked_by(value: object, at: Place, published: bool) -> dict[str, str]:
    omittable = ("contact", "approval", "notice")
    fields = read_fields(value, at, ("name",), published=published, omittable=omittable)
    asked_by = {"name": read_text(fields["name"], (*at, "name"), "title", published)}
    for key in omittable:
        if key in fields:
            asked_by[key] = read_text(fields[key], (*at, key), "text", published)
    if asked_by.get("notice", "").lower().startswith(("http:", "https:", "javascript:", "data:")):
        read_url(asked_by["notice"], (*at, "notice"))
    return asked_by


def _sections(value: object, at: Place, ids: Sequence[str], published: bool) -> list[dict[str, str]]:
    if not isinstance(value, list):
        raise SurveyError(
            at, msg("must be a list, got {value}", value=short(value)), "write [ ... ] with one section each"
        )
    sections: list[dict[str, str]] = []
    last = -1
    for index, entry in enumerate(value):
        here = (*at, index)
        fields = read_fields(entry, here, ("before", "title"), published=published, omittable=("text",))
        before = fields["before"]
        if before not in ids:
            raise SurveyError(
                (*here, "before"),
                msg("{before} is not a question of this survey", before=short(before)),
                "name its id",
            )
        if ids.index(before) <= last:
            raise SurveyError(
                (*here, "before"), "comes after a later section", "write sections in the survey's order"
            )
        last = ids.index(before)
        section = {
            "before": before,
            "title": read_text(fields["title"], (*here, "title"), "title", published),
        }
        if "text" in fields:
            section["text"] = read_lines(fields["text"], (*here, "text"), published)
        sections.append(section)
    return sections


def _look(value: object, at: Place, published: bool) -> dict[str, Any]:
    fields = read_fields(
        value, at, (), published=published, omittable=("accent", "logo", "layout", "quick_exit")
    )
    if "accent" in fields:
        _check_accent(fields["accent"], (*at, "accent"))
    if "logo" in fields and not (isinstance(fields["logo"], str) and _HASH.fullmatch(fields["logo"])):
        raise SurveyError(
            (*at, "logo"), "must be the picture's SHA-256, 64 hexadecimal digits", "upload it anew"
        )
    if "layout" in fields and fields["layout"] not in _LAYOUTS:
        raise SurveyError(
            (*at, "layout"),
            msg("{layout} is not known", layout=short(fields["layout"])),
            msg("use one of: {known}", known=", ".join(_LAYOUTS)),
        )
    if "quick_exit" in fields and fields["quick_exit"] is not True:
        raise SurveyError(
            (*at, "quick_exit"),
            msg("must be true, got {quick_exit}", quick_exit=short(fields["quick_exit"])),
            "leave it out",
        )
    return fields


def _check_accent(value: object, at: Place) -> None:
    if not isinstance(value, str) or not _COLOUR.fullmatch(value):
        raise SurveyError(
            at, msg("{value} is not a colour", value=short(value)), "write it like #17605d, in lower case"
        )
    ratio = contrast(value, PAPER)
    if ratio < _LEAST_CONTRAST:
        raise SurveyError(
            at,
            msg(
                "has a contrast of {found:.2f} to the page, less than {least}",
                found=int(100 * ratio) / 100,
                least=_LEAST_CONTRAST,
            ),
            "choose a darker colour, so that everybody can read it",
        )


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours by WCAG 2.2: (lighter + .05) / (darker + .05) of their luminances."""
    dark, light = sorted(map(_luminance, (first, second)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    shares = (int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5))
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
