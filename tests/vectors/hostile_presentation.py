"""Hostile documents with a presentation: who asks, help, sections, look, languages; each with one fault."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hushpoll_client import Survey
from hushpoll_client.strict_json import dumps
from surveys import about_draft, survey, translated, yes_no

BASE = Survey.from_draft(about_draft()).document
_GONE = object()
EMPTY = {"null": None, "false": False, "text": "", "list": [], "object": {}}
KEYS = ("language", "translations", "asked_by", "consent", "thanks", "help", "sections", "look")
ADDRESSES = {
    "javascript": "javascript:alert(1)",
    "javascript_in_capitals": "JavaScript:alert(1)",
    "javascript_after_a_newline": "\njavascript:alert(1)",
    "data": "data:text/html,<script>1</script>",
    "http": "http://example.org",
    "ftp": "ftp://example.org",
    "relative": "/help",
    "no_host": "https://",
    "user": "https://a@example.org",
    "space": "https://example.org/a b",
    "backslash": "https://example.org\\@evil.example",
    "not_ascii": "https://exämple.org/",
    "tel_with_letters": "tel:HELP",
    "mailto_without_at": "mailto:help",
    "mailto_with_query": "mailto:a@example.org?bcc=b@example.org",
    "too_long": "https://example.org/" + "a" * 1000,
    "number": 110,
    "null": None,
}


def of(*path_and_value: Any) -> list[Any]:
    """The base document with one value put at a path; without a value, with something left out."""
    *path, last, value = path_and_value
    document = copy.deepcopy(BASE)
    target: Any = document
    for key in path:
        target = target[key]
    if value is _GONE:
        del target[last]
    else:
        target[last] = value
    return [dumps(document).decode()]


def texts() -> Iterator[tuple[str, list[Any]]]:
    """Who asks, consent, thanks and addresses."""
    for key in KEYS:
        for name, value in EMPTY.items():
            yield f"{key}_empty_{name}", of(key, value)
        yield f"{key}_number", of(key, 7)
    for key in ("contact", "approval", "notice"):
        yield f"asked_by_{key}_empty", of("asked_by", key, "")
    yield "asked_by_without_a_name", of("asked_by", "name", _GONE)
    yield "asked_by_unknown_key", of("asked_by", "logo", "x")
    yield "asked_by_name_too_long", of("asked_by", "name", "n" * 201)
    yield "asked_by_notice_javascript", of("asked_by", "notice", "javascript:alert(1)")
    yield "asked_by_notice_http", of("asked_by", "notice", "http://example.org")
    yield "consent_blank", of("consent", "  ")
    yield "consent_with_a_newline", of("consent", "a\nb")
    yield "consent_too_long", of("consent", "c" * 1001)
    yield "thanks_blank", of("thanks", " \n ")
    yield "thanks_too_long", of("thanks", "t" * 4001)
    yield "thanks_control", of("thanks", "a\u0007")
    yield "help_too_many", of("help", [{"label": "x", "url": "tel:112"}] * 21)
    yield "help_not_an_object", of("help", 0, "tel:112")
    yield "help_unknown_key", of("help", 0, "note", "x")
    yield "help_without_a_label", of("help", 0, "label", _GONE)
    yield "help_label_empty", of("help", 0, "label", "")
    for name, url in ADDRESSES.items():
        yield f"help_url_{name}", of("help", 0, "url", url)


def looks() -> Iterator[tuple[str, list[Any]]]:
    """Sections, colours, pictures and layouts."""
    yield "section_not_an_object", of("sections", 0, "a")
    yield "section_unknown_question", of("sections", 0, "before", "nobody")
    yield "section_before_a_list", of("sections", 0, "before", ["a"])
    yield "sections_out_of_order", of("sections", 1, "before", "a")
    yield "section_without_a_title", of("sections", 0, "title", _GONE)
    yield "section_text_empty", of("sections", 1, "text", "")
    yield "section_text_blank", of("sections", 1, "text", "  ")
    yield "section_unknown_key", of("sections", 0, "after", "a")
    yield "look_unknown_key", of("look", "font", "x")
    accents = ("#17605D", "17605d", "#abc", "red", "#17605d;", "url(x)", 0x17605D, None, "")
    for accent in accents:
        yield f"accent_{accent}", of("look", "accent", accent)
    for accent in ("#ffffff", "#84cdc4", "#767b7b", "#ff0000"):
        yield f"accent_too_pale_{accent}", of("look", "accent", accent)
    for name, logo in {
        "short": "0" * 63,
        "capitals": "A" * 64,
        "url": "https://example.org/a.png",
        "list": ["0"],
    }.items():
        yield f"logo_{name}", of("look", "logo", logo)
    for layout in ("cards", "", None, ["page"]):
        yield f"layout_{layout}", of("look", "layout", layout)
    for flag in (False, 1, "true", None):
        yield f"quick_exit_{flag}", of("look", "quick_exit", flag)


def languages() -> Iterator[tuple[str, list[Any]]]:
    """Translations that lack something, or have more than the survey."""
    for tag in ("EN", "english", "e", "en_GB", "x-klingon", "../fr", 1):
        yield f"language_{tag}", of("language", tag)
    yield "translations_without_a_language", of("language", _GONE)
    yield "translation_of_its_own_language", of("translations", "en", translated("en"))
    yield "translation_of_an_unknown_tag", of("translations", "Fr", translated("fr"))
    tags = [first + second for first in "abcdefgh" for second in "vwxyz"]
    yield "translations_40", of("translations", {tag: translated(tag) for tag in tags})
    yield "translations_12_beside_its_own", of("translations", {tag: translated(tag) for tag in tags[:12]})
    yield "translation_a_list", of("translations", "fr", [])
    fr = ("translations", "fr")
    for key in ("title", "intro", "consent", "thanks", "help", "sections", "questions"):
        yield f"translation_without_{key}", of(*fr, key, _GONE)
        yield f"translation_{key}_null", of(*fr, key, None)
    yield "translation_with_asked_by", of(*fr, "asked_by", BASE["asked_by"])
    yield "translation_title_empty", of(*fr, "title", "")
    yield "translation_help_javascript", of(*fr, "help", 0, "url", "javascript:alert(1)")
    yield "translation_sections_fewer", of(*fr, "sections", [{"title": "x"}])
    yield "translation_section_with_a_text_more", of(*fr, "sections", 0, "text", "x")
    yield "translation_section_without_its_text", of(*fr, "sections", 1, "text", _GONE)
    yield "translation_without_a_question", of(*fr, "questions", "a", _GONE)
    yield "translation_with_a_question_more", of(*fr, "questions", "z", {"text": "x"})
    yield "translation_question_without_text", of(*fr, "questions", "a", "text", _GONE)
    yield "translation_question_with_options_more", of(*fr, "questions", "a", "options", ["x", "y"])
    yield "translation_options_fewer", of(*fr, "questions", "b", "options", ["x"])
    yield "translation_options_more", of(*fr, "questions", "b", "options", ["x", "y", "z"])
    yield "translation_options_twice", of(*fr, "questions", "b", "options", ["x", "x"])
    yield "translation_options_text", of(*fr, "questions", "b", "options", "xy")
    yield "translation_option_empty", of(*fr, "questions", "b", "options", ["x", ""])
    yield "translation_labels_fewer", of(*fr, "questions", "c", "labels", ["x"])
    yield "translation_with_points", of(*fr, "questions", "c", "points", 5)
    yield "translation_without_the_decoy", of(*fr, "questions", "d", "decoy", _GONE)
    yield "translation_decoy_more", of(*fr, "questions", "a", "decoy", "x")


def documents() -> Iterator[tuple[str, list[Any]]]:
    """Return fault and parts."""
    yield from texts()
    yield from looks()
    yield from languages()


def controls() -> Iterator[tuple[str, list[Any]]]:
    """Return name and parts of documents that are right."""
    yield "around_the_questions", [dumps(BASE).decode()]
    tags = [first + second for first in "abc" for second in "wxyz"]
    yield "translations_11_beside_its_own", of("translations", {tag: translated(tag) for tag in tags[:11]})
    for key in ("translations", "asked_by", "look"):
        yield f"without_{key}", of(key, _GONE)
    draft = survey(
        yes_no("q", {"name": "warner", "epsilon": 1}), language="zh-Hant-TW", look={"quick_exit": True}
    )
    yield "a_language_with_script_and_region", [Survey.from_draft(draft).canonical.decode()]
    plain = {"name": "Somebody", "notice": "Ask at the desk."}
    yield "a_notice_in_words", of("asked_by", plain)
