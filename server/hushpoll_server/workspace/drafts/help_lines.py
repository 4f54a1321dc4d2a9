"""Addresses where people find help, as they are typed: one a line, a label and an address with a bar between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def help_text(help: Sequence[Mapping[str, Any]]) -> str:
    """Write addresses one a line."""
    return "\n".join(f"{entry['label']} | {entry['url']}" for entry in help)


def read_help_lines(text: str) -> list[dict[str, str]]:
    """Read addresses, one a line; what has no bar is taken for an address, and the survey's own check looks at both."""
    entries = []
    for line in filter(str.strip, text.splitlines()):
        label, _, url = line.rpartition("|")
        entries.append({"label": (label or url).strip(), "url": url.strip()})
    return entries
