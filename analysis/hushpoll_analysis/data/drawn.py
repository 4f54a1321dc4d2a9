"""What results have in common: a tidy frame, a picture of it in one style, and a table in notebooks."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from .whiskers import draw_whiskers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Drawn", "flat"]


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """Put what is shown beside the rest, in columns of its own."""
    shown = row.pop("shown", None)
    values = shown if isinstance(shown, dict) or shown is None else vars(shown)
    return row | {f"shown_{key}": value for key, value in (values or {}).items()}


class Drawn:
    """A result that draws itself, as far as it can be shown, and shows itself in a notebook.

    By default it is a dataclass of one row. `drawn` names the column of the dots; without limits there are no whiskers.
    """

    drawn: ClassVar[str] = "estimate"
    words: ClassVar[str] = "estimate"

    def to_frame(self) -> pd.DataFrame:
        """Give the result as a pandas table of one row."""
        import pandas as pd

        row = {one.name: getattr(self, one.name) for one in fields(self) if one.repr}  # type: ignore[arg-type]
        frame = pd.DataFrame([flat(row)])
        return frame.set_index("option") if "option" in frame else frame.rename({0: type(self).drawn})

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        frame = self.to_frame()
        before = "shown_" if f"shown_{self.drawn}" in frame else ""
        middle = frame[before + self.drawn]
        low, high = (frame.get(before + end, middle) for end in ("low", "high"))
        return draw_whiskers(frame.index, middle, low, high, self._words(), axes)

    def _words(self) -> str:
        level = getattr(self, "level", None)
        return self.words if level is None else f"{self.words}, {level:.0%} interval"

    def _repr_html_(self) -> str:
        table: str = self.to_frame().to_html(float_format=lambda value: f"{value:.4f}")
        return table
