"""One choice out of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushpoll_client.document import Place, read_text
from hushpoll_client.errors import SurveyError
from hushpoll_client.limits import MAX_OPTIONS
from hushpoll_client.mechanism.subset import recommended_subset

from .base import Answers, Kind

__all__ = ["Choice", "ChoiceAnswers", "read_options"]


@dataclass(frozen=True)
class ChoiceAnswers(Answers):
    """Options, one of them chosen."""

    def document(self) -> dict[str, Any]:
        """Give the options."""
        return {"options": list(self.labels)}


class Choice(Kind):
    """Two or more options, one of them chosen."""

    name = "choice"
    label = "One choice out of several"
    help = "Two or more options, one of them chosen."
    widget = "options"
    keys = ("options",)
    may_be_skipped = True
    in_blocks = True

    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> Answers:
        """Read the options, all different."""
        return ChoiceAnswers(read_options(fields["options"], (*at, "options"), published))

    def recommend(self, answers: Answers, rows: int, epsilon: Any) -> dict[str, Any]:
        """Recommend what is best for all shares: subset selection, or K-ary response where sets of one are best."""
        made = recommended_subset(rows, epsilon)
        return {"name": made.name, **made.parameters}


def read_options(value: object, at: Place, published: bool) -> tuple[str, ...]:
    """Read a list of options, all different."""
    if not isinstance(value, list) or len(value) < 2:
        count = len(value) if isinstance(value, list) else 0
        raise SurveyError(
            at, f"needs at least two options, has {count}", "list two or more different options"
        )
    if len(value) > MAX_OPTIONS:
        raise SurveyError(at, f"has {len(value)} options", f"keep at most {MAX_OPTIONS}")
    options = tuple(
        read_text(option, (*at, place), "option", published) for place, option in enumerate(value)
    )
    seen: set[str] = set()
    for place, option in enumerate(options):
        if option in seen:
            raise SurveyError((*at, place), f'"{option}" stands twice', "make every option different")
        seen.add(option)
    return options
