"""The result of an import: a draft document, and a line for everything that was left out."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushpoll_client import HushpollError
from hushpoll_client.fields import short
from hushpoll_client.kind import KINDS
from hushpoll_client.kind.number import MAX_STEPS

from .rules import Condition, read_condition

TITLE, TEXT, INTRO = 200, 1000, 4000


@dataclass(frozen=True)
class Imported:
    """A draft, and what was left out."""

    document: dict[str, Any]
    left_out: tuple[str, ...]


class NothingImportedError(HushpollError):
    """Raised for a file without a question that can be imported; `left_out` has the reasons."""

    def __init__(self, left_out: Sequence[str]) -> None:
        super().__init__(
            "no question of this file can be carried over", "see the list of kinds in docs/designers.md"
        )
        self.left_out = tuple(left_out)


class Builder:
    """Collect questions and remarks."""

    def __init__(self, title: str, epsilon: float, placeholder: str) -> None:
        """Begin a draft; `placeholder` is the pattern by which the program's texts show another answer."""
        self.title, self.epsilon, self.intro = title, epsilon, ""
        self._placeholder = re.compile(placeholder)
        self.questions: list[dict[str, Any]] = []
        self.left_out: list[str] = []
        self._notes: list[tuple[str, str]] = []
        self._taken: set[str] = set()
        self._known: dict[str, tuple[str, dict[str, str]]] = {}

    def name(self, label: str) -> str:
        """Make an id of letters, digits and underscores that no other question has."""
        base = re.sub(r"[^A-Za-z0-9_]+", "_", label).strip("_").lower() or "question"
        base = (base if base[0].isalpha() else f"q_{base}")[:40]
        name, number = base, 2
        while name in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name)
        return name

    def add(self, kind: str, name: str, text: str, codes: Sequence[str] = (), **keys: Any) -> None:
        """Add a question; mechanisms are the recommended ones at the draft's epsilon.

        `codes` are what the other program calls the answers, in the order of the options (No and Yes).
        """
        self._put_notes_first()
        where = f"question {name}"
        question = {"id": self.name(name), "kind": kind, "text": self._cut(text, TEXT, where) or name, **keys}
        if question["id"] != name:
            self.skip(where, f"its id becomes {question['id']}")
        for option in (*keys.get("options", ()), *keys.get("labels", ())):
            self._refer(option, f"{where}, answer {short(option)}")
        self.questions.append({**question, "mechanism": {"epsilon": self.epsilon}})
        options = keys.get("options", ("No", "Yes"))
        self._known[name] = (question["id"], dict(zip(codes, options, strict=False)))

    def note(self, where: str, text: str) -> None:
        """Add a text that is no question: to the introduction before all questions, to the thanks at the end."""
        if self.questions:
            self._notes.append((where, text))
        else:
            self.intro = " ".join(filter(None, [self.intro, text]))

    def _put_notes_first(self) -> None:
        """Move texts between questions to the introduction, and list them as moved."""
        for where, text in self._notes:
            self.intro = " ".join(filter(None, [self.intro, text]))
            self.skip(where, "a text between questions stands in the introduction")
        self._notes = []

    def add_ticks(self, name: str, text: str, options: list[str], most: int | None) -> bool:
        """Add options to tick, with a maximum number of ticks if that limit makes sense."""
        limited = most is not None and 1 <= most <= len(options)
        keys: dict[str, Any] = {"at_most": most} if limited else {}
        self.add("multiple", name, text, options=options, **keys)
        return limited

    def add_number(
        self, name: str, text: str, low: float, high: float, step: float, where: str, unit: str = ""
    ) -> None:
        """Add a number in a range."""
        steps = (Fraction(str(high)) - Fraction(str(low))) / Fraction(str(step))
        if low >= high or steps.denominator != 1 or steps > MAX_STEPS:
            self.skip(where, f"steps of {step:g} do not lead from {low:g} to {high:g}; add it by hand")
            return
        keys: dict[str, Any] = {"min": _short(low), "max": _short(high), "step": _short(step)}
        self.add("number", name, text, **keys, **({"unit": unit} if unit else {}))

    def condition(self, where: str, text: str) -> None:
        """Add the skip rule of a condition to the last question, or list the condition as left out."""
        question = self.questions[-1]
        why = self._rule(question, read_condition(text))
        if why:
            self.skip(where, f"the skip rule {text!r} is left out: {why}")

    def _rule(self, question: dict[str, Any], rule: Condition | None) -> str:
        """Add the rule to the last question; return why that is impossible, or ""."""
        if rule is None:
            return "only answers to one earlier question can decide"
        if not KINDS[question["kind"]].may_be_skipped:
            return f"a {question['kind']} question is always asked"
        decider, labels = self._known.get(rule.question, ("", {}))
        kind = next((question["kind"] for question in self.questions[:-1] if question["id"] == decider), None)
        if kind is None or not KINDS[kind].may_be_skipped:
            return f"{rule.question} is not an earlier choice or yes/no question of the draft"
        if any(code not in labels for code in rule.codes):
            return f"it names an answer that {rule.question} does not have"
        chosen = {labels[code] for code in rule.codes}
        answers = [label for label in labels.values() if (label in chosen) == rule.shown]
        if not answers or len(answers) == len(labels):
            return "it names all answers or none"
        question["after"] = {"question": decider, "answers": answers}
        return ""

    def leave(self, where: str, cells: Mapping[str, str], used: Collection[str] = ()) -> None:
        """List every cell that was not used."""
        for key, value in cells.items():
            if value and key not in used:
                self.skip(where, f"{key} {short(value)} is left out")

    def _cut(self, text: str, most: int, where: str) -> str:
        """Cut a text to the length limit of surveys, and list the cut."""
        plain = plain_text(text)
        if len(plain) > most:
            self.skip(where, f"its text is cut after {most:,} characters, before {short(plain[most:])}")
        self._refer(plain, where)
        return plain[:most]

    def _refer(self, text: str, where: str) -> None:
        """List placeholders for other answers in a text; they stay in it as written."""
        placeholders = dict.fromkeys(match[0] for match in self._placeholder.finditer(text))
        if placeholders:
            self.skip(where, f"its text refers to another answer ({', '.join(placeholders)}): write it anew")

    def skip(self, where: str, why: str) -> None:
        """List something that is left out."""
        self.left_out.append(f"{where}: {why}")

    def finish(self) -> Imported:
        """Return the draft."""
        if not self.questions:
            raise NothingImportedError(self.left_out)
        document: dict[str, Any] = {"hushpoll": 1, "title": self._cut(self.title, TITLE, "the title")}
        if self.intro:
            document["intro"] = self._cut(self.intro, INTRO, "the introduction")
        thanks = " ".join(text for _, text in self._notes if text)
        if thanks:
            document["thanks"] = self._cut(thanks, INTRO, "the thanks")
        return Imported({**document, "questions": self.questions}, tuple(self.left_out))


def _short(value: float) -> int | float:
    if value == int(value):
        return int(value)
    return value


def plain_text(text: str) -> str:
    """Return a text without markup and control characters."""
    without = re.sub(r"<[^>]*>", " ", text or "")
    for sign, plain in (("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        without = without.replace(sign, plain)
    return " ".join("".join(c if c.isprintable() else " " for c in without).split())
