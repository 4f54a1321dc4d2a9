"""Help addresses as text: one per line, a label and an address separated by a bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def help_text(help: Sequence[Mapping[str, Any]]) -> str:
    """Return help addresses as text."""
    return "\n".join(f"{entry['label']} | {entry['url']}" for entry in help)


def read_help_lines(text: str) -> list[dict[str, str]]:
    """Return the help addresses of a text; a line without a bar is both label and address."""
    entries = []
    for line in filter(str.strip, text.splitlines()):
        label, _, url = line.rpartition("|")
        entries.append({"label": (label or url).strip(), "url": url.strip()})
    return entries
