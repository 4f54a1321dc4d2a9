"""Yes or no."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hushpoll_client.document import Place

from .base import Kind

__all__ = ["YesNo"]


class YesNo(Kind):
    """Two answers, No and Yes in this order."""

    name = "yes_no"
    label = "Yes or no"
    help = "Two answers. The most precise kind."
    widget = "options"
    recommended = "warner"
    fixed_words = True
    yes_or_no = True

    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> tuple[str, ...]:
        """Give the two answers: the document says nothing more."""
        return ("No", "Yes")

    def document(self, options: Sequence[str]) -> dict[str, Any]:
        """Give nothing: the answers are known."""
        return {}

    def shown(self, options: int) -> tuple[int, ...]:
        """Show Yes alone: No is what remains."""
        return (1,)
