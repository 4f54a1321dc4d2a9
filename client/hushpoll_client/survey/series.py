"""Waves: a survey that asks again what an earlier one asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hushpoll_client.errors import SurveyError
from hushpoll_client.exact import is_whole
from hushpoll_client.fields import read_fields, read_text, short
from hushpoll_client.messages import joined, msg

__all__ = ["MOST_WAVES", "Series", "changed_groups", "changed_question", "read_series"]

MOST_WAVES = 1000
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Series:
    """The place of a survey in a series; the first wave has none: it was published before there was a second."""

    name: str
    wave: int
    previous: str
    """The hash of the wave before."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"name": self.name, "wave": self.wave, "previous": self.previous}


def read_series(value: object, published: bool) -> Series:
    """Read which wave of what a survey is."""
    fields = read_fields(value, ("series",), ("name", "wave", "previous"), published=published)
    name = read_text(fields["name"], ("series", "name"), "title", published)
    wave, previous = fields["wave"], fields["previous"]
    if not is_whole(wave) or not 2 <= int(wave) <= MOST_WAVES:
        raise SurveyError(
            ("series", "wave"),
            msg("must be a whole number from 2 to {most}, got {wave}", most=MOST_WAVES, wave=short(wave)),
            "the first wave has no series",
        )
    if not isinstance(previous, str) or not _HASH.fullmatch(previous):
        raise SurveyError(
            ("series", "previous"),
            "must be 64 lower-case hexadecimal digits",
            "write the hash of the wave before",
        )
    return Series(name, int(wave), previous)


def changed_question(before: Any, after: Any) -> str:
    """Return what a survey asks otherwise than the one of the wave before; nothing where only the privacy changed."""
    old, new = before.questions, after.questions
    for number, (earlier, later) in enumerate(zip(old, new, strict=False), 1):
        if _without_mechanism(earlier) != _without_mechanism(later):
            return msg(
                'question {place} ("{other}") {how}', place=number, other=later.id, how=_how(earlier, later)
            )
    if len(old) != len(new):
        return msg(
            "it has {count} questions, and the wave before had {before}", count=len(new), before=len(old)
        )
    return ""


def changed_groups(before: Any, after: Any) -> str:
    """Return which groups of a wave are not those of the wave before; nothing where all are."""
    new = [name for name in after.groups if name not in before.groups]
    gone = [name for name in before.groups if name not in after.groups]
    if not new and not gone:
        return ""
    changes = [msg("new: {names}", names=", ".join(new))] * bool(new)
    changes += [msg("no longer there: {names}", names=", ".join(gone))] * bool(gone)
    return msg(
        "The groups are not those of the wave before ({told}). Waves compare groups of the same name only.",
        told=joined("; ", changes),
    )


def _how(earlier: Any, later: Any) -> str:
    """Return how a question differs from that of the wave before: by what is reported of it alone, or by more."""
    was, now = (question.answers.target for question in (earlier, later))
    if {**_without_mechanism(earlier), "own": None} == {
        **_without_mechanism(later),
        "own": None,
    } and was != now:
        return msg('reports another target ("{now}") than in the wave before ("{was}")', now=now, was=was)
    return msg("is not the one of the wave before")


def _without_mechanism(question: Any) -> dict[str, Any]:
    """Return what is asked, without how the answer is randomized."""
    written = question.document(published=False)
    kind_keys = set(question.kind.in_mechanism)
    targets = {key: value for key, value in written.get("mechanism", {}).items() if key in kind_keys}
    return {key: value for key, value in written.items() if key not in ("mechanism", "channel")} | {
        "own": targets
    }
