"""One choice out of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hushpoll_client.document import Place, read_text
from hushpoll_client.errors import SurveyError
from hushpoll_client.limits import MAX_OPTIONS

from .base import Kind

__all__ = ["Choice"]


class Choice(Kind):
    """Two or more options, one of them chosen."""

    name = "choice"
    label = "One choice out of several"
    help = "Two or more options, one of them chosen."
    widget = "options"
    keys = ("options",)
    recommended = "krr"

    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> tuple[str, ...]:
        """Read the options, all different."""
        at, value = (*at, "options"), fields["options"]
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

    def document(self, options: Sequence[str]) -> dict[str, Any]:
        """Give the options."""
        return {"options": list(options)}
