"""Yes or no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushpoll_client.fields import Place
from hushpoll_client.messages import msg

from .base import Answers, Kind

__all__ = ["YesNo"]

LABELS = (msg("No"), msg("Yes"))


class YesNo(Kind):
    """Two answers, No and Yes in this order."""

    name = "yes_no"
    in_base_bundle = True
    label = msg("Yes or no")
    help = msg("Two answers. The most precise kind.")
    widget = "options"
    fixed_words = True
    yes_or_no = True
    may_be_skipped = True
    in_blocks = True

    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> Answers:
        """Return the two answers: the document says nothing more."""
        return Answers(LABELS)

    def recommend(self, answers: Answers, rows: int, epsilon: object) -> dict[str, Any]:
        """Recommend Warner's coin, or K-ary response where the question may also not apply."""
        return {"name": "warner" if rows == 2 else "krr", "epsilon": epsilon}

    def shown(self, options: int) -> tuple[int, ...]:
        """Show Yes alone: No is what remains, unless the question may also not apply."""
        if options == 2:
            return (1,)
        return tuple(range(options))
