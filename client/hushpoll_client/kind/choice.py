"""One choice out of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hushpoll_client.errors import SurveyError
from hushpoll_client.fields import Place, read_text
from hushpoll_client.limits import MAX_OPTIONS
from hushpoll_client.mechanism.subset import recommended_subset
from hushpoll_client.messages import msg

from .base import Answers, Kind

__all__ = ["Choice", "ChoiceAnswers", "read_options", "refuse_alike"]

_DECLINED = (msg("No"), msg("Yes"), msg("Prefer not to say"))
"""What a yes/no question offers that may be declined: words of ours, which every page says in its own language."""


@dataclass(frozen=True)
class ChoiceAnswers(Answers):
    """Options, one of them chosen."""

    def document(self) -> dict[str, Any]:
        """Return the options."""
        return {"options": list(self.labels)}


class Choice(Kind):
    """Two or more options, one of them chosen."""

    name = "choice"
    in_base_bundle = True
    label = msg("One choice out of several")
    help = msg("Two or more options, one of them chosen.")
    widget = "options"
    keys = ("options",)
    may_be_skipped = True
    in_blocks = True

    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> Answers:
        """Read the options, all different."""
        return ChoiceAnswers(_own_words(read_options(fields["options"], (*at, "options"), published)))

    def recommend(self, answers: Answers, rows: int, epsilon: Any) -> dict[str, Any]:
        """Recommend what is best for all shares: subset selection, or K-ary response where sets of one are best."""
        mechanism = recommended_subset(rows, epsilon)
        return {"name": mechanism.name, **mechanism.parameters}


def _own_words(options: tuple[str, ...]) -> tuple[str, ...]:
    """Return options with the words that are ours as sentences, which can be said in another language."""
    if options == _DECLINED:
        return _DECLINED
    return tuple(_DECLINED[-1] if option == _DECLINED[-1] else option for option in options)


def read_options(value: object, at: Place, published: bool) -> tuple[str, ...]:
    """Read a list of options, all different."""
    if not isinstance(value, list) or len(value) < 2:
        count = 0
        if isinstance(value, list):
            count = len(value)
        raise SurveyError(
            at,
            msg("needs at least two options, has {count}", count=count),
            "list two or more different options",
        )
    if len(value) > MAX_OPTIONS:
        raise SurveyError(
            at, msg("has {count} options", count=len(value)), msg("keep at most {most}", most=MAX_OPTIONS)
        )
    options = tuple(
        read_text(option, (*at, index), "option", published) for index, option in enumerate(value)
    )
    seen: set[str] = set()
    for index, option in enumerate(options):
        if option in seen:
            raise SurveyError(
                (*at, index), msg('"{option}" appears twice', option=option), "make every option different"
            )
        seen.add(option)
    # Published surveys keep their hash, whatever their options are.
    if not published:
        refuse_alike(options, at)
    return options


def refuse_alike(options: Sequence[str], at: Place) -> None:
    """Refuse options that read the same: those that differ only in case or in how many spaces there are."""
    first: dict[str, str] = {}
    for index, option in enumerate(options):
        other = first.setdefault(" ".join(option.split()).casefold(), option)
        if other != option:
            raise SurveyError(
                (*at, index),
                msg('"{option}" and "{other}" differ only in case or spaces', option=option, other=other),
                "make every option different",
            )
