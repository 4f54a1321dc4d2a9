"""What an import gives: a draft document, and a line for everything that is not in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hushpoll_client import HushpollError

__all__ = ["Builder", "Imported", "plain_text"]

TITLE, TEXT, INTRO = 200, 1000, 4000


@dataclass(frozen=True)
class Imported:
    """A draft, and what could not be carried over."""

    document: dict[str, Any]
    left_out: tuple[str, ...]


class Builder:
    """Collect questions and remarks."""

    def __init__(self, title: str, epsilon: float) -> None:
        self.title, self.epsilon, self.intro = title, epsilon, ""
        self.questions: list[dict[str, Any]] = []
        self.left_out: list[str] = []
        self._taken: set[str] = set()

    def name(self, wanted: str) -> str:
        """Make an id of letters, digits and underscores that nobody has yet."""
        base = re.sub(r"[^A-Za-z0-9_]+", "_", wanted).strip("_").lower() or "question"
        base = (base if base[0].isalpha() else f"q_{base}")[:40]
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name

    def add(self, kind: str, name: str, text: str, **keys: Any) -> None:
        """Add a question; mechanisms are the recommended ones at the draft's epsilon."""
        question = {"id": self.name(name), "kind": kind, "text": plain_text(text)[:TEXT] or name, **keys}
        self.questions.append({**question, "mechanism": {"epsilon": self.epsilon}})

    def skip(self, where: str, why: str) -> None:
        """Note what is not carried over."""
        self.left_out.append(f"{where}: {why}")

    def finish(self) -> Imported:
        """Give the draft."""
        if not self.questions:
            raise HushpollError(
                "no question of this file can be carried over", "see the list of kinds in docs/designers.md"
            )
        document: dict[str, Any] = {"hushpoll": 1, "title": self.title[:TITLE]}
        if self.intro:
            document["intro"] = self.intro[:INTRO]
        return Imported({**document, "questions": self.questions}, tuple(self.left_out))


def plain_text(text: str) -> str:
    """Take markup and control characters out."""
    without = re.sub(r"<[^>]*>", " ", text or "")
    for sign, plain in (("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        without = without.replace(sign, plain)
    return " ".join("".join(c if c.isprintable() else " " for c in without).split())
